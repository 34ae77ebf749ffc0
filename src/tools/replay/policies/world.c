/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sim.h"

#include <tools/base/memory.h>
#include <ucs/rcache_pred/predict/budget.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/* The cache's clock at time 0 of the account, ns. Not 0: for the cache a time
 * of 0 means no time. */
#define EPOCH 1000000000ul

/* For how long a helper that waits for the program lets the program go on, ns */
#define HELPER_YIELD 1000

/* How much later each reading of the clock is within a round that the program does, ns. A
 * round reads the clock three times, and two or three times more for each entry of a queue.
 * In runs of cg, mg and wavefront a round has taken 2.5 to 11 us beside its registrations,
 * the longer the more entries it found (AMD EPYC, Linux 6.18, virtual machine). Replays with
 * 1 and 2 us differ from these runs as much */
#define ROUND_STEP 1500


typedef enum {
    HELPER_NONE,    /* There is no helper */
    HELPER_RUNNING, /* The helper is the flow that runs */
    HELPER_ASLEEP,  /* It sleeps until helper_next or a wake */
    HELPER_BUSY     /* It registers or deregisters until helper_next */
} helper_state_t;

/* Registered memory. The cache gets the number of the memory in this world as its handle:
 * an address would differ from run to run */
typedef struct memory {
    predreg_holding_t holding;
    uint64_t          address;
    uint64_t          length;
    int               is_used;   /* Whether the number has a registration */
    size_t            next_free; /* The next number without a registration; 0: none */
} memory_t;

struct predreg_world {
    const predreg_replay_params_t *params;
    predreg_account_t      *account;
    uint64_t               stolen;      /* For how long the helper's work has kept the
                                           program from its own since the program took
                                           note the last time, ns */
    const predreg_timeline_t *timeline;
    size_t                 num_regs;    /* How many registrations were made so far */
    size_t                 num_deregs;  /* Likewise, deregistrations */
    uint64_t               fresh;       /* How much longer the program's next registration
                                           takes, ns */
    ucs_rcache_pred_time_t now;         /* Time of the running flow */
    ucs_rcache_pred_time_t horizon;     /* While the program only lets the helper go
                                           on, the time until which it does so; 0: the
                                           program does something else */
    unsigned               readings;    /* How often the program's round has read the
                                           clock, plus 1; 0: the program does no round */
    uint64_t               ahead;       /* How long the program's round has taken since
                                           the time now, ns */
    int                    over;        /* The program is over: operations take
                                           no time */
    memory_t               *memories;   /* Indexed by number; number 0 is not used */
    size_t                 num_memories; /* Number of elements, with element 0 */
    size_t                 first_free;  /* The first number without a registration; 0:
                                           none */

    ucs_rcache_pred_t      *pred;
    predreg_coroutine_t    *helper;
    helper_state_t         helper_state;
    ucs_rcache_pred_time_t helper_next; /* When the helper goes on; INF: only after a
                                           wake */
    int                    helper_woken; /* Whether somebody woke the helper
                                            while it was awake, so that its
                                            next sleep ends at once */
    ucs_rcache_pred_time_t helper_since; /* When the helper's sleep or operation began */
    uint64_t               helper_time;
};


static int is_helper(const predreg_world_t *world)
{
    return world->helper_state == HELPER_RUNNING;
}

/* Move the clock on, once all ranks of the node have come as far */
static void move_clock(predreg_world_t *world, ucs_rcache_pred_time_t time)
{
    if (time <= world->now) {
        return;
    }

    if (world->params->flow != NULL) {
        predreg_flow_reach(world->params->flow, time - EPOCH);
    }
    world->now = time;
}

/* Set the clock to the time when the helper goes on. If the helper shares the program's
 * processor and was asleep, the program loses the time of two switches of threads */
static void helper_pass_time(predreg_world_t *world)
{
    move_clock(world, world->helper_next);
    world->helper_next = UCS_RCACHE_PRED_TIME_INF;
    if (world->params->shared && (world->helper_state == HELPER_ASLEEP)) {
        world->stolen += UCS_RCACHE_PRED_SWITCHES_COST;
    }
}

/* Stop the flow of the helper until it is due, and let the flow of the program go on. If
 * the helper is due within the horizon, the program would only resume it at once. Then
 * the flows are not switched, since a switch makes a system call. Only the helper calls
 * this. */
static void helper_suspend(predreg_world_t *world, helper_state_t state,
                           ucs_rcache_pred_time_t until)
{
    world->helper_state = state;
    world->helper_since = world->now;
    world->helper_next  = until;
    if (until <= world->horizon) {
        helper_pass_time(world);
    } else {
        predreg_coroutine_suspend(world->helper);
    }
    world->helper_state = HELPER_RUNNING;
}

static void helper_main(void *arg)
{
    predreg_world_t *world = arg;

    for (;;) {
        predreg_world_ops.wait(world, ucs_rcache_pred_poll(world->pred));
    }
}

/* Let the program go on until this time */
static void program_advance(predreg_world_t *world,
                            ucs_rcache_pred_time_t until)
{
    /* With other ranks, each flow suspends from its own stack */
    world->horizon = (world->params->flow == NULL) ? until : 0;
    while (world->helper_next <= until) {
        helper_pass_time(world);
        predreg_coroutine_resume(world->helper);
    }
    world->horizon = 0;
    move_clock(world, until);
}

/* Let the clock show what the program's round has read. op_now() cannot: the cache may hold a
 * lock that the helper or another rank waits for */
static void catch_up(predreg_world_t *world)
{
    uint64_t ahead = world->ahead;

    if (!is_helper(world)) {
        world->ahead = 0;
        program_advance(world, world->now + ahead);
    }
}

/* Let the running flow spend this time on a registration or deregistration */
static void pass(predreg_world_t *world, uint64_t time, int is_reg)
{
    if (world->over || (time == 0)) {
        return;
    }

    if (!is_helper(world)) {
        program_advance(world, world->now + time);
        return;
    }

    helper_suspend(world, HELPER_BUSY, world->now + time);
    world->stolen += world->params->shared ? time : 0;
    if (!world->over) {
        world->helper_time += world->now - world->helper_since;
        predreg_account_helper(world->account, world->helper_since - EPOCH,
                               predreg_world_now(world), is_reg);
    }
}

uint64_t predreg_world_now(const predreg_world_t *world)
{
    return world->now - EPOCH;
}

uint64_t predreg_world_time(ucs_rcache_pred_time_t time)
{
    return (time == UCS_RCACHE_PRED_TIME_INF) ? UINT64_MAX :
           (time - ucs_min(time, EPOCH));
}

void predreg_world_steal(predreg_world_t *world, uint64_t time)
{
    world->stolen += time;
}

uint64_t predreg_world_take_stolen(predreg_world_t *world)
{
    uint64_t stolen = world->stolen;

    world->stolen = 0;
    return stolen;
}

void predreg_world_advance(predreg_world_t *world, uint64_t until)
{
    program_advance(world, until + EPOCH);
}

void predreg_world_set_fresh(predreg_world_t *world, uint64_t time)
{
    world->fresh = time;
}

predreg_holding_t *predreg_world_holding(predreg_world_t *world, void *memh)
{
    return &world->memories[(size_t)memh].holding;
}

/* @return an unused number. The array may move. */
static size_t take_number(predreg_world_t *world)
{
    size_t number = world->first_free;

    if (number != 0) {
        world->first_free = world->memories[number].next_free;
    } else {
        number = world->num_memories;
        predreg_add(world->memories, world->num_memories);
    }

    world->memories[number].is_used = 1;
    return number;
}

static ucs_status_t op_reg(void *arg, void *address, size_t length,
                           unsigned flags, void **memh_p)
{
    predreg_world_t *world = arg;
    memory_t *memory;
    uint64_t time;
    size_t number;

    catch_up(world);
    number = take_number(world);
    memory = &world->memories[number];
    time   = predreg_cost_of(&world->params->reg, (uintptr_t)address, length) *
             predreg_spread_of(&world->timeline->reg_spread, world->num_regs++);

    memory->address = (uintptr_t)address;
    memory->length  = length;
    if (!is_helper(world)) {
        time        += world->fresh;
        world->fresh = 0;
    }
    if (!world->over) {
        predreg_holding_reg(world->account, &memory->holding, memory->address,
                            length, predreg_world_now(world));
    }

    pass(world, time, 1);
    if (!world->over) {
        /* The array may have moved while time passed */
        predreg_holding_registered(world->account,
                                   &world->memories[number].holding,
                                   predreg_world_now(world));
    }

    *memh_p = (void*)number;
    return UCS_OK;
}

static ucs_status_t op_dereg(void *arg, void *memh)
{
    predreg_world_t *world = arg;
    size_t number          = (size_t)memh;
    memory_t *memory;

    catch_up(world);
    memory = &world->memories[number];
    if (!world->over) {
        predreg_holding_dereg(world->account, &memory->holding,
                              predreg_world_now(world));
    }

    pass(world, predreg_cost_of(&world->params->dereg, memory->address, memory->length) *
                predreg_spread_of(&world->timeline->dereg_spread, world->num_deregs++), 0);
    memory = &world->memories[number];
    if (!world->over) {
        predreg_holding_close(world->account, &memory->holding,
                              predreg_world_now(world));
    }

    memory->is_used   = 0;
    memory->next_free = world->first_free;
    world->first_free = number;
    return UCS_OK;
}

static ucs_rcache_pred_time_t op_now(void *arg)
{
    predreg_world_t *world = arg;

    if (is_helper(world)) {
        /* The helper answers other ranks while the program does a round: the clock of the
         * helper does not move by what the program's round takes */
        return world->now;
    }

    /* The first reading tells whether a round is due */
    if ((world->readings > 0) && (++world->readings > 2)) {
        world->ahead += ROUND_STEP;
    }
    return world->now + world->ahead;
}

/* Let the helper sleep until this time, or until a wake. After either, it takes the
 * helper the time 'wakeup' to go on. */
static void op_wait(void *arg, ucs_rcache_pred_time_t until)
{
    predreg_world_t *world = arg;

    if (!world->over && (until <= world->now)) {
        return;
    }

    if (world->helper_woken) {
        world->helper_woken = 0;
        return;
    }

    helper_suspend(world, HELPER_ASLEEP,
                   (until == UCS_RCACHE_PRED_TIME_INF) ?
                   until : (until + world->params->wakeup));
}

static void op_wake(void *arg)
{
    predreg_world_t *world = arg;

    if (world->helper_state == HELPER_ASLEEP) {
        world->helper_next = ucs_min(world->helper_next,
                                     world->now + world->params->wakeup);
    } else {
        world->helper_woken = 1;
    }
}

/* The running flow waits for the other flow: let the other flow go on. The other flow is
 * within a registration or deregistration, since nothing else takes time. */
static void op_yield(void *arg)
{
    predreg_world_t *world = arg;

    if (is_helper(world)) {
        helper_suspend(world, HELPER_BUSY, world->now + HELPER_YIELD);
    } else if (world->helper_state == HELPER_BUSY) {
        program_advance(world, world->helper_next);
    }
}

static void op_seat(void *arg, uint64_t demand, ucs_rcache_pred_seat_t *seat)
{
    predreg_world_t *world = arg;

    *seat = (ucs_rcache_pred_seat_t){
        .idle    = world->params->shared ? 0 : 1,
        .sharers = 1,
        .share   = 1
    };
}

const ucs_rcache_pred_ops_t predreg_world_ops = {
    .now       = op_now,
    .wait      = op_wait,
    .wake      = op_wake,
    .mem_reg   = op_reg,
    .mem_dereg = op_dereg,
    .seat      = op_seat,
    .yield     = op_yield
};

predreg_world_t *predreg_world_create(const predreg_timeline_t *timeline,
                                      const predreg_replay_params_t *params,
                                      predreg_account_t *account)
{
    predreg_world_t *world = predreg_alloc(1, sizeof(*world));

    world->timeline    = timeline;
    world->params      = params;
    world->account     = account;
    world->now         = EPOCH;
    world->helper_next = UCS_RCACHE_PRED_TIME_INF;
    predreg_add(world->memories, world->num_memories);
    return world;
}

void predreg_world_start_helper(predreg_world_t *world, ucs_rcache_pred_t *pred)
{
    world->helper       = predreg_coroutine_create(helper_main, world);
    world->pred         = pred;
    world->helper_state = HELPER_ASLEEP;
    world->helper_next  = world->now;
}

uint64_t predreg_world_progress(predreg_world_t *world, ucs_rcache_pred_t *pred)
{
    unsigned steps;

    world->readings = 1;
    ucs_rcache_pred_progress(pred);
    steps           = ucs_max(world->readings, 2) - 2;
    world->readings = 0;
    catch_up(world);
    return steps * ROUND_STEP;
}

uint64_t predreg_world_finish(predreg_world_t *world)
{
    uint64_t now = predreg_world_now(world);
    uint64_t time;
    memory_t *memory;
    size_t i;

    for (i = 1; i < world->num_memories; ++i) {
        memory = &world->memories[i];
        if (memory->is_used) {
            predreg_holding_close(world->account, &memory->holding, now);
        }
    }

    if (world->helper_state == HELPER_BUSY) {
        world->helper_time += world->now - world->helper_since;
    }
    time        = world->helper_time;
    world->over = 1;
    while (world->helper_state == HELPER_BUSY) {
        predreg_coroutine_resume(world->helper);
    }
    return time;
}

void predreg_world_destroy(predreg_world_t *world)
{
    if (world->helper != NULL) {
        predreg_coroutine_destroy(world->helper);
    }
    free(world->memories);
    free(world);
}
