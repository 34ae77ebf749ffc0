/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "watch.h"
#include "cpus.h"
#include "idle.h"
#include "slot.h"

#include <ucs/base/clock.h>
#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>


/* The least time from one look to the next, ns, and that during the first second of a
 * process, which has to know soon whether its helper has a processor */
#define WATCH_INTERVAL       200000000
#define WATCH_INTERVAL_YOUNG 50000000

/* Looks take at most this part of a processor, 1/200, but there is one after so long, ns:
 * a single look that took long, as in a virtual machine that was stopped, says little */
#define WATCH_COST_SHARE   200
#define WATCH_INTERVAL_MAX 5000000000ull

/* What a look knows of all processes. It is too large for the stack: the program's
 * threads look, too, and some have stacks of 16 KiB */
typedef struct {
    ucs_rcache_pred_cpus_t      cpus;
    unsigned                    num_users;
    ucs_rcache_pred_cpu_user_t  *users;
    ucs_rcache_pred_cpu_seat_t  *seats;
    ucs_rcache_pred_node_slot_t **slots;
    uint64_t                    busy[CPU_SETSIZE]; /* What helpers have used of each
                                                      processor since the last look, ns */
    uint64_t                    before[CPU_SETSIZE]; /* See idle.h */
    uint64_t                    after[CPU_SETSIZE];
} look_t;


pred_node_word_t pred_node_get_seat(const ucs_rcache_pred_node_t *node)
{
    return (pred_node_word_t){
        .word = atomic_load_explicit(&node->slot->seat, memory_order_relaxed)
    };
}

/* Become the one who looks, if it is time to. @return whether it is, and when the last
 * look was: 0 if there was none. */
static int begin_look(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t *last_p)
{
    pred_node_watch_t *watch = &node->shm->watch;
    uint64_t last            = atomic_load_explicit(&watch->time,
                                                    memory_order_acquire);
    uint64_t interval;

    interval = (now - node->joined < UCS_NSEC_PER_SEC) ? WATCH_INTERVAL_YOUNG :
                                                     WATCH_INTERVAL;
    interval = ucs_max(interval,
                       WATCH_COST_SHARE *
                       atomic_load_explicit(&watch->cost, memory_order_relaxed));
    interval = ucs_min(interval, WATCH_INTERVAL_MAX);
    *last_p  = last;
    /* A time that is still to come is of another time name space */
    return ((last == 0) || (now < last) || (now - last >= interval)) &&
           atomic_compare_exchange_strong(&watch->time, &last, now);
}

/* Add the processor time that the helper of a process has used, since the last look, of
 * the processor which that look has given it */
static void add_helper(look_t *look, const ucs_rcache_pred_node_slot_t *slot)
{
    pred_node_helper_t seen, now;

    now.word  = atomic_load_explicit(&slot->helper, memory_order_relaxed);
    seen.word = atomic_load_explicit(&slot->helper_seen, memory_order_relaxed);
    if ((now.cpu == seen.cpu) && (now.cpu > 0) && (now.usec >= seen.usec)) {
        look->busy[now.cpu - 1] += (now.usec - seen.usec) * 1000;
    }
}

/* Collect what is known of a process */
static void add_user(look_t *look, ucs_rcache_pred_node_slot_t *slot)
{
    ucs_rcache_pred_cpu_user_t *user = &look->users[look->num_users];
    pred_node_word_t seat;

    add_helper(look, slot);
    seat.word = atomic_load_explicit(&slot->seat, memory_order_relaxed);
    pred_slot_get_cpus(slot->affinity, &user->affinity);
    pred_slot_get_cpus(slot->usable, &user->usable);
    user->demand = atomic_load_explicit(&slot->demand, memory_order_relaxed);
    user->cpu    = seat.has_cpu ? ((int)seat.cpu - 1) : -1;
    look->slots[look->num_users++] = slot;
}

static void collect_users(ucs_rcache_pred_node_t *node, unsigned max_users,
                          look_t *look)
{
    ucs_rcache_pred_node_slot_t *slot;
    unsigned i;

    for (i = 0; i < max_users; ++i) {
        slot = &node->shm->slots[i];
        if (atomic_load_explicit(&slot->owner, memory_order_relaxed) != 0) {
            add_user(look, slot);
        }
    }
}

/* Find the processors that nobody but helpers has used since the last look. None is
 * idle if there was none */
static void find_idle(ucs_rcache_pred_node_t *node, uint64_t elapsed, look_t *look)
{
    pred_node_watch_t *watch = &node->shm->watch;
    unsigned cpu;

    ucs_rcache_pred_idle_read(node->params.root, look->after);
    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        look->before[cpu] = atomic_exchange_explicit(&watch->idle[cpu],
                                                     look->after[cpu],
                                                     memory_order_relaxed);
    }
    ucs_rcache_pred_idle_find(look->before, look->after, elapsed, look->busy,
                              &look->cpus.idle);
}

static void tell_seats(const look_t *look)
{
    const ucs_rcache_pred_cpu_seat_t *seat;
    pred_node_helper_t helper;
    pred_node_word_t word;
    unsigned i;

    for (i = 0; i < look->num_users; ++i) {
        seat = &look->seats[i];
        word = (pred_node_word_t){
            .cpu     = seat->cpu + 1,
            .has_cpu = (seat->idle > 0),
            .is_half = (seat->idle < 1),
            .sharers = seat->sharers,
            .rank    = seat->rank,
            .procs   = look->num_users,
            .share   = ucs_max(seat->share * UCS_RCACHE_PRED_NODE_SHARE_ONE, 1)
        };
        atomic_store_explicit(&look->slots[i]->seat, word.word, memory_order_relaxed);

        /* The helper will soon be there */
        helper.word = atomic_load_explicit(&look->slots[i]->helper,
                                           memory_order_relaxed);
        helper.cpu  = seat->cpu + 1;
        atomic_store_explicit(&look->slots[i]->helper_seen, helper.word,
                              memory_order_relaxed);
    }
}

/* Write the seats of all processes anew. If no memory can be allocated, each process keeps
 * the seat that it has */
static void look_at_all(ucs_rcache_pred_node_t *node, uint64_t elapsed)
{
    unsigned max_users = pred_node_num_used(node);
    look_t *look       = calloc(1, sizeof(*look));

    if (look == NULL) {
        return;
    }

    look->users = malloc(max_users * sizeof(*look->users));
    look->seats = malloc(max_users * sizeof(*look->seats));
    look->slots = malloc(max_users * sizeof(*look->slots));
    if ((look->users != NULL) && (look->seats != NULL) && (look->slots != NULL)) {
        collect_users(node, max_users, look);
        find_idle(node, elapsed, look);
        memcpy(look->cpus.core, node->cores, sizeof(look->cpus.core));
        if (ucs_rcache_pred_cpus_seats(&look->cpus, look->users, look->num_users,
                                       look->seats)) {
            tell_seats(look);
        }
    }
    free(look->slots);
    free(look->seats);
    free(look->users);
    free(look);
}

void pred_node_watch(ucs_rcache_pred_node_t *node, uint64_t now)
{
    uint64_t begin, last;

    if (!begin_look(node, now, &last)) {
        return;
    }

    begin = ucs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pred_node_reap(node);
    look_at_all(node, ((last == 0) || (now < last)) ? 0 : (now - last));
    atomic_store_explicit(&node->shm->watch.cost,
                          ucs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin,
                          memory_order_relaxed);
}
