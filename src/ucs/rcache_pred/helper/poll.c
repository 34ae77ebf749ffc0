/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"

#include <ucs/rcache_pred/cache/bound.h>

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * Where the helper thread and the program start rounds of the helper
 * (helper.c). helper_mutex lets one of them do a round at a time.
 *
 * The helper thread exists in both modes, unless the parameter helper is HELPER_PROGRESS.
 * While the program does the work, the thread only looks whether memory is short, and
 * answers other processes (stand_by()).
 */

/* How many entries of each queue a round of the thread processes at most, since
 * other threads may be waiting for helper_mutex */
#define THREAD_STEPS    1024

/* How many entries of each queue a round of the program processes at most. A bound on the
 * time of a round could not be kept, since a registration cannot be interrupted. */
#define PROGRESS_STEPS  2

/* The program takes the work from the helper thread when it has found the round of that
 * thread overdue more than ABSENT_CHECKS times, at least ABSENT_INTERVAL ns apart, and no
 * round has gone on meanwhile. Most likely the program's threads have a higher priority,
 * and leave the helper thread no processor */
#define ABSENT_CHECKS   5
#define ABSENT_INTERVAL 1000000000

/* How often the thread looks, while the program does the helper's work, whether the process
 * has registered memory that others may need, ns: nobody wakes the thread for that */
#define STAND_BY_INTERVAL 1000000000

/* How often a thread that polls for messages looks at the clock, ns. A look takes as long
 * as a poll: with a look at each poll, messages would be found later */
#define IDLE_INTERVAL   1000


/* What the thread does while the program does the helper's work, but may compute for long.
 * If helper_mutex is taken, a round does the same, or a fork keeps everybody from
 * deregistering. @return when the thread is to do that again */
static ucs_rcache_pred_time_t stand_by(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t now  = pred_now(pred);
    ucs_rcache_pred_time_t next = UCS_RCACHE_PRED_TIME_INF;

    if (pred->ops.waits != NULL) {
        next = now + STAND_BY_INTERVAL;
    }
    if (ucs_mutex_trylock(&pred->helper_mutex)) {
        now = pred_now(pred); /* A round may have ended in between */
        pred_shortage_look(pred, now);
        if (pred->shortage.state.is_short) {
            pred_take_seat(pred, now); /* The thread may get the work */
        }
        pred_answer_node(pred);
        next = ucs_min(next, pred_shortage_due(pred, now));
        next = ucs_min(next, pred_answer_due(pred, pred_now(pred)));
        ucs_mutex_unlock(&pred->helper_mutex);
    } else {
        next = ucs_min(next, now + PRED_ANSWER_INTERVAL);
    }

    return (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD) ? now : next;
}

ucs_rcache_pred_time_t ucs_rcache_pred_poll(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t next = UCS_RCACHE_PRED_TIME_INF;

    if (pred_is_on_demand(pred)) {
        return next;
    }

    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        ucs_mutex_lock(&pred->helper_mutex);
        next = pred_helper_round(pred, THREAD_STEPS);
        if (atomic_load(&pred->handshake.mode) ==
            UCS_RCACHE_PRED_MODE_PROGRESS) {
            next = UCS_RCACHE_PRED_TIME_INF; /* This was the last round of the
                                                thread */
        }
        ucs_mutex_unlock(&pred->helper_mutex);
    }

    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        next = stand_by(pred);
    }

    /* The helper thread runs here, outside of a round, and so it has a processor and can
     * get the work back. In a round it might run only with a priority that another thread
     * has lent it */
    if (ucs_unlikely(atomic_load(&pred->absence.found))) {
        atomic_store(&pred->absence.found, 0);
    }
    return next;
}

/* Check whether the helper thread, whose round is overdue, gets no processor. A single
 * late round does not show that: the clock may have jumped, or the whole process may have
 * been stopped. Hence several checks, in running threads of the program, have to find the
 * round overdue before the program takes the work from the helper thread. */
static void check_absent(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_absence_t *absence = &pred->absence;
    int mode                = UCS_RCACHE_PRED_MODE_THREAD;
    ucs_rcache_pred_time_t last;

    /* Relaxed: it does no harm if checks by several threads at once count one too many.
     * The clock may have gone back since the last check */
    last = ucs_relaxed_load(&absence->last_check);
    if ((now >= last) && (now - last < ABSENT_INTERVAL)) {
        return;
    }

    ucs_relaxed_store(&absence->last_check, now);
    if (ucs_relaxed_add(&absence->checks, 1) < ABSENT_CHECKS) {
        return;
    }

    atomic_store(&absence->found, 1);
    if (atomic_compare_exchange_strong(&pred->handshake.mode, &mode,
                                       UCS_RCACHE_PRED_MODE_PROGRESS) &&
        !atomic_exchange(&absence->warned, 1)) {
        ucs_warn("the helper thread has found no processor for %d s: its work "
                 "is done while the program communicates", ABSENT_CHECKS);
    }
}

ucs_rcache_pred_time_t ucs_rcache_pred_due(ucs_rcache_pred_t *pred)
{
    /* Relaxed: only a hint. The round finds out under helper_mutex what there is to do */
    return ucs_relaxed_load(&pred->handshake.due);
}

/* How many calls of try_round() this thread is in: one in which it does a round, and
 * perhaps another one inside of that, which finds helper_mutex taken. The mutex does not
 * tell this: while this thread takes it, it may be taken and have no owner yet */
static __thread unsigned in_rounds __attribute__((tls_model("initial-exec")));

int ucs_rcache_pred_is_in_round(void)
{
    return in_rounds > 0;
}

/* Do a round of the helper's work, unless one is being done already. @return who does the
 * helper's work after the round; NONE: helper_mutex was taken, and no round was done */
static int try_round(ucs_rcache_pred_t *pred)
{
    int mode = UCS_RCACHE_PRED_MODE_NONE;

    ++in_rounds;
    atomic_signal_fence(memory_order_seq_cst);
    if (ucs_mutex_trylock(&pred->helper_mutex)) {
        pred_helper_round(pred, PROGRESS_STEPS);
        mode = atomic_load(&pred->handshake.mode);
        ucs_mutex_unlock(&pred->helper_mutex);
    }
    atomic_signal_fence(memory_order_seq_cst);
    --in_rounds;
    return mode;
}

/* Do some of the helper's work, which is due. If the work is the helper thread's, check
 * instead whether that thread gets to it */
static void work(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    int mode;

    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        if (now >= ucs_rcache_pred_due(pred)) {
            check_absent(pred, now);
        } else {
            pred_wake(pred); /* The clock went back while it sleeps */
        }
        return;
    }

    /* If helper_mutex is taken, a round is being done already, by another thread or by
     * this thread further up its stack; or a fork keeps the helper from its work */
    mode = try_round(pred);
    if ((mode == UCS_RCACHE_PRED_MODE_NONE) &&
        (atomic_load(&pred->absence.found) || (pred->params.node != NULL))) {
        /* The program's threads may have kept the helper thread from the processor in the
         * middle of a round, or while it gives up memory for other processes of the node:
         * let it end, since until then nobody else can do a round */
        pred_give_way(pred);
    } else if (mode == UCS_RCACHE_PRED_MODE_THREAD) {
        pred->ops.wake(pred->params.arg); /* This round has given the work to
                                             the thread */
    }
}

void ucs_rcache_pred_progress(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t due = ucs_rcache_pred_due(pred);
    ucs_rcache_pred_time_t now;

    if (ucs_likely(due == UCS_RCACHE_PRED_TIME_INF)) {
        return;
    }

    now = pred_now(pred);
    if (pred_is_due(pred, now)) {
        work(pred, now);
    }
}

/* @return how many polls will take IDLE_INTERVAL, if each poll takes as long as the polls
 * since the last look at the clock did on average; but at most twice as many as these,
 * which may have been short by chance. If a message was found meanwhile, polls seem
 * longer than they are, and the next look comes sooner than need be. */
static unsigned
next_period(const ucs_rcache_pred_idle_t *idle, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t elapsed = pred_elapsed(idle->last, now);
    uint64_t polls;

    polls = ((uint64_t)idle->period * IDLE_INTERVAL) / ucs_max(elapsed, 1ul);
    polls = ucs_min(polls, ucs_min(2 * idle->period, UCS_RCACHE_PRED_IDLE_MAX));
    return ucs_max(polls, 1);
}

void ucs_rcache_pred_idle(ucs_rcache_pred_t *pred, ucs_rcache_pred_idle_t *idle)
{
    ucs_rcache_pred_time_t now = pred_now(pred);

    idle->period = next_period(idle, now);
    idle->skip   = idle->period - 1;
    idle->last   = now;
    if (pred_is_due(pred, now)) {
        work(pred, now);
    }
}
