/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "world.h"
#include "coroutine.h"
#include "memory.h"

#include <ucs/rcache_pred/predict/budget.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/* What the cache's clock shows at time 0 of the account, ns. It is not 0, since
 * for the cache a time of 0 means that there is no time. */
#define EPOCH 1000000000ul

/* How long the helper lets the program go on when it waits for it, ns */
#define HELPER_YIELD 1000


typedef enum {
    HELPER_NONE,    /* There is no helper */
    HELPER_RUNNING, /* The helper is the flow that runs */
    HELPER_ASLEEP,  /* It sleeps until helper_next or until it is woken */
    HELPER_BUSY     /* It registers or deregisters until helper_next */
} helper_state_t;

struct predreg_world {
    predreg_cost_t         reg;
    predreg_cost_t         dereg;
    int                    shared;
    uint64_t               stolen;      /* How long the helper has used the
                                           program's processor, which the program
                                           has not noticed yet */
    uint64_t               wakeup;
    predreg_account_t      *account;
    ucs_rcache_pred_time_t now;         /* Time of the flow that runs */
    ucs_rcache_pred_time_t horizon;     /* Until when the program does nothing
                                           but let the helper go on; 0: the
                                           program does something */
    ucs_status_t           status;      /* UCS_ERR_NO_MEMORY if memory was
                                           missing */
    int                    over;        /* Whether the program is over, so that
                                           nothing takes time */
    predreg_memories_t     memories;

    ucs_rcache_pred_t      *pred;
    predreg_coroutine_t    *helper;
    helper_state_t         helper_state;
    ucs_rcache_pred_time_t helper_next; /* When it goes on; INF: not by
                                           itself */
    int                    helper_woken; /* Whether its next sleep ends at
                                            once */
    ucs_rcache_pred_time_t helper_since; /* Since when it is asleep or busy */
    uint64_t               helper_time;
};


static int is_helper(const predreg_world_t *world)
{
    return world->helper_state == HELPER_RUNNING;
}

/* Set the clock to the time at which the helper goes on. On a processor that it
 * shares, it takes the time of two switches from the program if it was asleep */
static void helper_pass_time(predreg_world_t *world)
{
    world->now         = ucs_max(world->now, world->helper_next);
    world->helper_next = UCS_RCACHE_PRED_TIME_INF;
    if (world->shared && (world->helper_state == HELPER_ASLEEP)) {
        world->stolen += UCS_RCACHE_PRED_SWITCHES_COST;
    }
}

/* Let the helper's coroutine stop here until it is due. The program's
 * coroutine, which had resumed it, goes on, unless it would do nothing before
 * that time but resume it again: each switch between coroutines makes a system
 * call. Only the helper calls this. */
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

/* Let the helper's coroutine go on from the time at which it is due, and wait
 * until it stops again. Only the program calls this. */
static void helper_resume(predreg_world_t *world)
{
    helper_pass_time(world);
    predreg_coroutine_resume(world->helper);
}

static void helper_main(void *arg)
{
    predreg_world_t *world = arg;

    for (;;) {
        predreg_world_ops.wait(world, ucs_rcache_pred_poll(world->pred));
    }
}

static void program_advance(predreg_world_t *world,
                            ucs_rcache_pred_time_t until)
{
    world->horizon = until;
    while (world->helper_next <= until) {
        helper_resume(world);
    }
    world->horizon = 0;
    world->now     = ucs_max(world->now, until);
}

/* Let the flow that runs spend this time on a registration or a
 * deregistration */
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
    world->stolen += world->shared ? time : 0;
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

predreg_holding_t *predreg_world_holding(predreg_world_t *world, void *memh)
{
    return &world->memories.memory[(size_t)memh].holding;
}

static ucs_status_t op_reg(void *arg, void *address, size_t length,
                           unsigned flags, void **memh_p)
{
    predreg_world_t *world = arg;
    size_t number          = predreg_memories_new(&world->memories);
    predreg_memory_t *memory;

    if (number == 0) {
        world->status = UCS_ERR_NO_MEMORY;
        return UCS_ERR_NO_MEMORY;
    }

    memory          = &world->memories.memory[number];
    memory->address = (uintptr_t)address;
    memory->length  = length;
    if (!world->over) {
        predreg_holding_reg(world->account, &memory->holding, memory->address,
                            length, predreg_world_now(world));
    }

    pass(world, predreg_cost_of(&world->reg, memory->address, length), 1);
    if (!world->over) {
        /* The array may have moved while time passed */
        memory = &world->memories.memory[number];
        predreg_holding_registered(world->account, &memory->holding,
                                   predreg_world_now(world));
    }

    *memh_p = (void*)number;
    return UCS_OK;
}

static ucs_status_t op_dereg(void *arg, void *memh)
{
    predreg_world_t *world   = arg;
    size_t number            = (size_t)memh;
    predreg_memory_t *memory = &world->memories.memory[number];

    if (!world->over) {
        predreg_holding_dereg(world->account, &memory->holding,
                              predreg_world_now(world));
    }

    pass(world, predreg_cost_of(&world->dereg, memory->address, memory->length),
         0);
    memory = &world->memories.memory[number];
    if (!world->over) {
        predreg_holding_close(world->account, &memory->holding,
                              predreg_world_now(world));
    }

    predreg_memories_free(&world->memories, number);
    return UCS_OK;
}

static ucs_rcache_pred_time_t op_now(void *arg)
{
    predreg_world_t *world = arg;

    return world->now;
}

/* Let the helper sleep. A sleep ends later by the time that waking takes, both
 * if its time has come and if the helper is woken. */
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
                   until : (until + world->wakeup));
}

static void op_wake(void *arg)
{
    predreg_world_t *world = arg;

    if (world->helper_state == HELPER_ASLEEP) {
        world->helper_next = ucs_min(world->helper_next,
                                     world->now + world->wakeup);
    } else {
        world->helper_woken = 1;
    }
}

/* Let the other flow go on, because the flow that runs waits for something it
 * does. Only registrations and deregistrations take time here, so the other
 * flow is in one. */
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
        .idle    = world->shared ? 0 : 1,
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

ucs_status_t predreg_world_create(const predreg_sim_params_t *params,
                                  predreg_account_t *account,
                                  predreg_world_t **world_p)
{
    predreg_world_t *world = calloc(1, sizeof(*world));

    if (world == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    world->reg         = params->reg;
    world->dereg       = params->dereg;
    world->shared      = params->shared;
    world->wakeup      = params->wakeup;
    world->account     = account;
    world->now         = EPOCH;
    world->helper_next = UCS_RCACHE_PRED_TIME_INF;
    world->status      = UCS_OK;
    *world_p           = world;
    return UCS_OK;
}

ucs_status_t predreg_world_start_helper(predreg_world_t *world,
                                        ucs_rcache_pred_t *pred)
{
    ucs_status_t status;

    status = predreg_coroutine_create(helper_main, world, &world->helper);
    if (status != UCS_OK) {
        return status;
    }

    world->pred         = pred;
    world->helper_state = HELPER_ASLEEP;
    world->helper_next  = world->now;
    return UCS_OK;
}

ucs_status_t predreg_world_finish(predreg_world_t *world, uint64_t *helper_p)
{
    uint64_t now = predreg_world_now(world);
    predreg_memory_t *memory;
    size_t i;

    for (i = 1; i < world->memories.count; ++i) {
        memory = &world->memories.memory[i];
        if (memory->is_used) {
            predreg_holding_close(world->account, &memory->holding, now);
        }
    }

    if (world->helper_state == HELPER_BUSY) {
        world->helper_time += world->now - world->helper_since;
    }
    *helper_p   = world->helper_time;
    world->over = 1;
    while (world->helper_state == HELPER_BUSY) {
        predreg_coroutine_resume(world->helper);
    }
    return world->status;
}

void predreg_world_destroy(predreg_world_t *world)
{
    if (world->helper != NULL) {
        predreg_coroutine_destroy(world->helper);
    }
    predreg_memories_cleanup(&world->memories);
    free(world);
}
