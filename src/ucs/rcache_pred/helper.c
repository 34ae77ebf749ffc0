/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "predict.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>

/*
 * One round of the helper (CF'11, section 3.2). Everything here runs under
 * helper_mutex; what it shares with uses is touched under the lock.
 *
 * A region is on one queue at most: on the RQ while it is not registered and a
 * use is predicted, on the watch list while it is registered and a use is
 * awaited. Uses do not touch the queues: the helper finds out when it takes the
 * region off.
 */

/* The DQ is looked at again, while entries come in, after this part of the
 * shortest time until a predicted use of a region that was given up in this
 * round: such a region, when its use ends, stays registered by so much of its
 * period too long. What was kept, or is not predicted, can wait longest. */
#define POLL_PART 16
/* But not more often than this, ns: each round interrupts whoever runs on the
 * helper's processor ... */
#define POLL_MIN  1000000
/* ... and less and less often while none come in. When it was empty for so long
 * the helper sleeps until it is woken. A use then pays for the waking, one
 * system call after more than this time without communication. */
#define POLL_MAX  4000000

/* A sleep that ended late is remembered, and fades by 1/16 with each that did
 * not. One long stall must not keep all regions registered: at most 5 ms. */
#define WAKEUP_FADE 16
#define WAKEUP_MAX  5000000


/* The counters of two processors differ by less than this, ns. A clock that
 * goes back further has jumped. */
#define CLOCK_SLACK 1000000


static ucs_rcache_pred_region_t *queue_region(ucs_rcache_pred_timeq_elem_t *elem)
{
    return ucs_container_of(elem, ucs_rcache_pred_region_t, queue_elem);
}

/* The region leaves the queue it is on. A use that finds it unregistered from
 * now on was not predicted. */
static void region_dequeue(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region)
{
    if (!region->queued) {
        return;
    }

    region->queued = 0;
    ucs_list_del(&region->queue_elem.list);
    ucs_spin_lock(&pred->lock);
    region->scheduled = 0;
    ucs_spin_unlock(&pred->lock);
}

static void region_enqueue(ucs_rcache_pred_t *pred, ucs_list_link_t *queue,
                           ucs_rcache_pred_region_t *region,
                           ucs_rcache_pred_time_t time)
{
    ucs_rcache_pred_timeq_insert(queue, &region->queue_elem, time);
    region->queued = 1;
    ucs_spin_lock(&pred->lock);
    region->scheduled = (queue == &pred->rq);
    ucs_spin_unlock(&pred->lock);
}

void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_site_t *site, *tmp;

    region_dequeue(pred, region);
    ucs_list_for_each_safe(site, tmp, &region->sites, region_link) {
        ucs_rcache_pred_site_remove(&pred->sites, site);
    }

    ucs_spin_lock(&pred->lock);
    ucs_rcache_pred_region_free(&pred->table, region);
    ucs_spin_unlock(&pred->lock);
}

/* Watch for a use that is expected no later than this. The helper is not woken
 * for each of many short periods that go by: nothing is urgent here. */
static void region_watch(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region,
                         ucs_rcache_pred_time_t now,
                         ucs_rcache_pred_time_t expiry)
{
    region_enqueue(pred, &pred->watch, region, ucs_max(expiry, now + POLL_MAX));
}

/* What things cost for this region: as fitted and measured */
static void region_times(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region,
                         ucs_rcache_pred_times_t *times)
{
    size_t pages;

    *times = pred->times;
    ucs_spin_lock(&pred->lock);
    pages        = ucs_rcache_pred_pages(
                           region->start,
                           ucs_max(ucs_rcache_pred_region_expected_length(region),
                                   1ul));
    times->reg   = ucs_rcache_pred_cost_estimate(&region->domain->reg_cost,
                                                 pages);
    times->dereg = ucs_rcache_pred_cost_estimate(&region->domain->dereg_cost,
                                                 pages);
    ucs_spin_unlock(&pred->lock);
    if (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        times->margin = ucs_rcache_pred_own_margin(times);
    }
}

/* A measured cost follows its measurements by 1/8 */
static void times_update(ucs_rcache_pred_time_t *cost,
                         ucs_rcache_pred_time_t measured)
{
    *cost = (*cost * 7 + measured) / 8;
}

/* Deregister the region, unless a use has begun */
static void region_deregister(ucs_rcache_pred_t *pred,
                              ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t begin;
    pred_handle_t handle;

    ucs_spin_lock(&pred->lock);
    if ((region->state != UCS_RCACHE_PRED_REGION_REGISTERED) ||
        (region->refs > 0)) {
        ucs_spin_unlock(&pred->lock);
        return;
    }

    handle = pred_take_handle(pred, region);
    ucs_spin_unlock(&pred->lock);

    begin = pred_now(pred);
    pred_deregister(&handle);
    pred->outside += pred_elapsed(begin, pred_now(pred));
}

static void trace_decision(const ucs_rcache_pred_region_t *region,
                           ucs_rcache_pred_time_t now,
                           ucs_rcache_pred_time_t deadline,
                           const ucs_rcache_pred_history_t *history)
{
    if (history == NULL) {
        ucs_debug("%s: %p: no use predicted", region->domain->name,
                  (void*)region->start);
        return;
    }

    ucs_debug("%s: %p: predicted in %.3f ms, %s, period %.3f ms of %u "
              "intervals, lead %.3f, grace %.3f, confidence %u",
              region->domain->name, (void*)region->start,
              ((double)deadline - now) / 1e6,
              (region->source == 0) ? "region" :
              region->source_next ? "next use" : "call site",
              history->period / 1e6, history->count,
              ucs_rcache_pred_history_lead(history) / 1e6,
              ucs_rcache_pred_history_grace(history) / 1e6,
              history->confidence);
}

/*
 * Decide about a region without a use: deregister it, and register it again
 * before its deadline; or keep it and look again when its use has not come. One
 * that is not registered, after a lazy use, is registered for the next one.
 */
static void region_decide(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t now = pred_now(pred);
    ucs_rcache_pred_history_t *history;
    ucs_rcache_pred_time_t deadline;
    ucs_rcache_pred_times_t times;
    int registered;

    region_dequeue(pred, region);
    region_times(pred, region, &times);
    deadline = pred_region_deadline(pred, region, now, &history);

    region->predicted = (deadline != UCS_RCACHE_PRED_TIME_INF);
    ucs_spin_lock(&pred->lock);
    region->deadline = deadline;
    registered       = (region->state != UCS_RCACHE_PRED_REGION_IDLE);
    ucs_spin_unlock(&pred->lock);

    trace_decision(region, now, deadline, history);
    if (registered &&
        !ucs_rcache_pred_may_deregister(&times, now, deadline)) {
        region_watch(pred, region, now, pred_region_expiry(region, history));
        return;
    }

    if (deadline != UCS_RCACHE_PRED_TIME_INF) {
        pred->patience = ucs_min(pred->patience,
                                 pred_elapsed(now, deadline) / POLL_PART);
        region_enqueue(pred, &pred->rq, region, deadline);
        ucs_rcache_pred_space_deadlines(&pred->rq, &region->queue_elem,
                                        ucs_rcache_pred_spacing(&times));
    }
    region_deregister(pred, region);
}

/* Whether the region is still what an entry of the DQ is about */
static int region_is_current(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_region_t *region,
                             uint64_t generation)
{
    int current;

    ucs_spin_lock(&pred->lock);
    current = (region->generation == generation) && !region->stale;
    ucs_spin_unlock(&pred->lock);
    return current;
}

/* Whether a use has begun that is not in the histories yet. Under the lock */
static int region_has_news(const ucs_rcache_pred_region_t *region)
{
    return region->begin > region->history.last;
}

/* Whether a use is under way, or its entry of the DQ */
static int region_is_used(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region)
{
    int used;

    ucs_spin_lock(&pred->lock);
    used = (region->refs > 0) || (region->lazies > 0) ||
           region_has_news(region) ||
           (region->state == UCS_RCACHE_PRED_REGION_REGISTERING);
    ucs_spin_unlock(&pred->lock);
    return used;
}

/* Whether a use that began later is in the histories already: lazy uses do not
 * end in the order in which they begin. If the last use itself began before
 * that, it is the clock that went back. */
static int is_overtaken(ucs_rcache_pred_t *pred,
                        const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_time_t last = entry->region->history.last;
    int overtaken;

    ucs_spin_lock(&pred->lock);
    overtaken = (entry->begin < last) && (entry->region->begin >= last);
    ucs_spin_unlock(&pred->lock);
    return overtaken;
}

/* A current entry of the DQ: learn when the use began, then decide about its
 * region, unless another entry will follow */
static void process_dq_entry(ucs_rcache_pred_t *pred,
                             const ucs_rcache_pred_dq_entry_t *entry)
{
    if (!is_overtaken(pred, entry)) {
        pred_region_learn(pred, entry->region, entry);
    }

    pred_note_demand(pred, entry->region, entry->length);
    if (!region_is_used(pred, entry->region)) {
        region_decide(pred, entry->region);
    }
}

/* Take the region into REGISTERING state, if it still wants registering */
static int region_claim(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region)
{
    int claimed;

    ucs_spin_lock(&pred->lock);
    claimed = !region->stale && (region->lazies == 0) &&
              (region->state == UCS_RCACHE_PRED_REGION_IDLE);
    if (claimed) {
        region->state = UCS_RCACHE_PRED_REGION_REGISTERING;
        ++pred->ahead_now;
        ucs_rcache_pred_region_set_length(
                &pred->table, region,
                ucs_rcache_pred_region_expected_length(region));
    }
    ucs_spin_unlock(&pred->lock);
    return claimed;
}

/* Register a claimed region ahead of its use, if there is room among those that
 * are needed earlier */
static ucs_status_t region_register(ucs_rcache_pred_t *pred,
                                    ucs_rcache_pred_region_t *region,
                                    void **memh_p,
                                    ucs_rcache_pred_time_t *end_p)
{
    ucs_status_t status;
    int held;

    *end_p = pred_now(pred);
    if (!pred_reserve(pred, region->start, region->length, PRED_PART_WHOLE,
                      ucs_max(region->deadline, 1ul), &held)) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    status = pred_register(region->domain, region->start, region->length,
                           region->flags | region->access |
                           pred->params.helper_flags, memh_p, end_p);
    if (status != UCS_OK) {
        pred_unreserve(pred, region->start, region->length, held);
    }
    return status;
}

/* The region is due: register it ahead of its use, and watch for the use */
static void process_rq_head(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_timeq_elem_t *elem = ucs_rcache_pred_timeq_head(&pred->rq);
    ucs_rcache_pred_region_t *region   = queue_region(elem);
    ucs_rcache_pred_history_t *history;
    ucs_rcache_pred_time_t begin, end;
    ucs_status_t status;
    void *memh;

    begin = pred_now(pred);
    if (!region_claim(pred, region)) {
        /* Used before its time: its entry of the DQ is on the way, or was
         * dropped and will be missed */
        region_dequeue(pred, region);
        if (!region_is_used(pred, region)) {
            region_decide(pred, region);
        }
        return;
    }

    status         = region_register(pred, region, &memh, &end);
    pred->outside += pred_elapsed(begin, end);
    history        = pred_region_source(pred, region);

    ucs_spin_lock(&pred->lock);
    --pred->ahead_now;
    if (status == UCS_OK) {
        ++pred->stats.regs_helper;
        ucs_rcache_pred_region_set_memh(&pred->table, region, memh);
        region->ahead         = 1;
        region->registered_at = end;
        region->early_after   = (history == NULL) ? 0 : (history->period / 4);
    } else {
        region->state = UCS_RCACHE_PRED_REGION_IDLE;
    }
    ucs_spin_unlock(&pred->lock);

    /* Not before: a use that waited until now was predicted, but late */
    region_dequeue(pred, region);
    if (status == UCS_OK) {
        region_watch(pred, region, end,
                     (history == NULL) ?
                     end : pred_region_expiry(region, history));
    }
}

/* The use that was awaited has not come in time, or has and is on its way here
 * through the DQ */
static void process_watch_head(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_timeq_elem_t *elem =
            ucs_rcache_pred_timeq_head(&pred->watch);
    ucs_rcache_pred_region_t *region   = queue_region(elem);
    int unmet;

    region_dequeue(pred, region);

    ucs_spin_lock(&pred->lock);
    unmet = (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
            (region->refs == 0) &&
            (region->ahead ||
             (region->begin <= region->history.last)); /* No entry on the way */
    pred->stats.wasted += unmet && region->ahead;
    ucs_spin_unlock(&pred->lock);

    if (unmet) {
        pred_region_unmet(pred, region);
    }

    if (!region_is_used(pred, region)) {
        region_decide(pred, region);
    }
}

/* Clear away regions that serve no use any more, at most so many.
 * @return whether there are more. */
static int reap_stale(ucs_rcache_pred_t *pred, unsigned steps)
{
    ucs_rcache_pred_region_t *region;
    unsigned i;

    /* Before looking, so that what is marked meanwhile is looked for again */
    if (!atomic_exchange(&pred->stale, 0)) {
        return 0;
    }

    ucs_spin_lock(&pred->lock);
    for (i = 0; i < pred->table.count;) {
        region = pred->table.sorted[i];
        if (!region->stale || (region->refs > 0) ||
            (region->state == UCS_RCACHE_PRED_REGION_REGISTERING)) {
            ++i;
            continue;
        }

        if (steps-- == 0) {
            atomic_store(&pred->stale, 1);
            ucs_spin_unlock(&pred->lock);
            return 1;
        }

        ucs_spin_unlock(&pred->lock);
        region_deregister(pred, region);
        pred_forget_region(pred, region);
        ucs_spin_lock(&pred->lock);
        /* Go on at i: uses only add regions meanwhile, nobody else frees any */
    }
    ucs_spin_unlock(&pred->lock);
    return 0;
}

/* Its entry of the DQ is lost, or late: that the region was used is known all
 * the same. In what context, is not. Under the lock */
static void region_note_use(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    if (region_has_news(region)) {
        ucs_rcache_pred_history_record(&region->history, region->begin,
                                       pred->params.history);
    }
}

/* The DQ lost entries: find registered regions that nothing is known about, and
 * decide about at most so many.
 * @return whether there are more. */
static int sweep_dropped(ucs_rcache_pred_t *pred, unsigned steps)
{
    ucs_rcache_pred_region_t *region;
    unsigned i;

    if (pred->dq.dropped == pred->dropped_seen) {
        return 0;
    }

    ucs_spin_lock(&pred->lock);
    pred->stats.dq_dropped = pred->dropped_seen = pred->dq.dropped;
    for (i = 0; i < pred->table.count; ++i) {
        region = pred->table.sorted[i];
        if ((region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
            (region->refs == 0) && !region->stale &&
            (!region->queued || region->scheduled ||
             region_has_news(region))) {
            if (steps-- == 0) {
                pred->dropped_seen = UINT64_MAX; /* Come back here */
                ucs_spin_unlock(&pred->lock);
                return 1;
            }

            region_note_use(pred, region);
            ucs_spin_unlock(&pred->lock);
            region_decide(pred, region);
            ucs_spin_lock(&pred->lock);
        }
    }
    ucs_spin_unlock(&pred->lock);
    return 0;
}

/* Forget unregistered regions that were not used for long, if there are too
 * many: the CLOCK algorithm, a bounded number of steps a round.
 * @return whether another round may find more. */
static int collect_garbage(ucs_rcache_pred_t *pred)
{
    int progress   = 0;
    unsigned steps = 64;
    ucs_rcache_pred_region_t *region;

    ucs_spin_lock(&pred->lock);
    while ((pred->table.count > pred->params.known_regions) && (steps-- > 0)) {
        pred->gc_hand = (pred->gc_hand + 1) % pred->table.count;
        region        = pred->table.sorted[pred->gc_hand];
        if ((region->state != UCS_RCACHE_PRED_REGION_IDLE) ||
            (region->refs > 0) || (region->lazies > 0) || region->scheduled) {
            continue;
        }

        progress = 1;
        if (region->referenced) {
            region->referenced = 0;
            continue;
        }

        region->stale = 1; /* No use finds it from here on */
        ucs_spin_unlock(&pred->lock);
        pred_forget_region(pred, region);
        ucs_spin_lock(&pred->lock);
    }
    ucs_spin_unlock(&pred->lock);
    return progress;
}

/* When the head of the RQ is due, or UCS_RCACHE_PRED_TIME_INF */
static ucs_rcache_pred_time_t rq_due_time(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_timeq_elem_t *elem = ucs_rcache_pred_timeq_head(&pred->rq);
    ucs_rcache_pred_times_t times;

    if (elem == NULL) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    region_times(pred, queue_region(elem), &times);
    return ucs_rcache_pred_due_time(&times, elem->time);
}

/* How much later than asked for did the last sleep end? */
static void measure_wakeup(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t late = 0;

    if (now < pred->next_poll) {
        return; /* Woken before its time */
    }

    if (pred->next_poll != UCS_RCACHE_PRED_TIME_INF) {
        late = now - pred->next_poll;
    }
    pred->times.wakeup -= pred->times.wakeup / WAKEUP_FADE;
    pred->times.wakeup  = ucs_min(ucs_max(pred->times.wakeup, late),
                                  (ucs_rcache_pred_time_t)WAKEUP_MAX);
}

/* If the clock has jumped back, what is watched would stay registered until the
 * old time comes again: look at it now. Predictions find out by themselves. */
static void check_clock(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_timeq_elem_t *elem;

    if (now + CLOCK_SLACK < pred->last_round) {
        ucs_list_for_each(elem, &pred->watch, list) {
            elem->time = now;
        }
    }
    pred->last_round = now;
}

static void count_round(ucs_rcache_pred_t *pred)
{
    ucs_spin_lock(&pred->lock);
    ++pred->stats.helper_rounds;
    ucs_spin_unlock(&pred->lock);
}

/* After how long to look at the DQ next if nobody says that there is something
 * in it. More than POLL_MAX: not before */
static ucs_rcache_pred_time_t
helper_poll_interval(ucs_rcache_pred_t *pred, int active)
{
    if (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        return 2 * POLL_MAX; /* The end of a use looks after it by itself */
    }

    return active ? ucs_max(pred->patience, POLL_MIN) :
                    (2 * pred->poll_interval);
}

static ucs_rcache_pred_time_t
helper_come_back(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t next)
{
    /* Relaxed: a time */
    atomic_store_explicit(&pred->due, next, memory_order_relaxed);
    return next;
}

/* Another process of the node was refused room: give up what is idle here, one
 * region for each time it is seen. What it needs is not known, and it asks
 * again. */
static void answer_node(ucs_rcache_pred_t *pred)
{
    if ((pred->params.node != NULL) &&
        ucs_rcache_pred_node_is_asked(pred->params.node)) {
        pred_evict(pred, 0);
    }
}

/* Whether there is anything idle that others of the node could ask for */
static int may_be_asked(ucs_rcache_pred_t *pred)
{
    return (pred->params.node != NULL) && !ucs_list_is_empty(&pred->watch);
}

/*
 * When to come back. Sleeping until woken takes part in a handshake with uses
 * and unmaps: they push to the DQ (or set stale) and then look at asleep; here
 * asleep is set and then the DQ (and stale) looked at. All four are
 * sequentially consistent, so that at least one side sees the other.
 */
static ucs_rcache_pred_time_t helper_sleep(ucs_rcache_pred_t *pred, int active)
{
    ucs_rcache_pred_time_t next;

    next = ucs_min(rq_due_time(pred), ucs_rcache_pred_timeq_first(&pred->watch));

    pred->poll_interval = helper_poll_interval(pred, active);
    if ((pred->poll_interval > POLL_MAX) && !may_be_asked(pred)) {
        pred->poll_interval = POLL_MAX; /* Stay here until there is work */
        helper_come_back(pred, next); /* From here on others may write it */
        atomic_store(&pred->asleep, 1);
        if (ucs_rcache_pred_dq_is_empty(&pred->dq) &&
            !atomic_load(&pred->stale)) {
            return next;
        }
        atomic_store(&pred->asleep, 0);
    }

    pred->poll_interval = ucs_min(pred->poll_interval,
                                  (ucs_rcache_pred_time_t)POLL_MAX);
    return helper_come_back(pred, ucs_min(next, pred_now(pred) +
                                                pred->poll_interval));
}

/* Follow the time since begin, less what was spent on registrations */
static void measure_own_work(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_time_t *cost,
                             ucs_rcache_pred_time_t begin)
{
    times_update(cost, pred_elapsed(begin + pred->outside, pred_now(pred)));
}

/* Take one entry off the DQ, if there is one */
static int helper_dq_step(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t begin = pred_now(pred);
    ucs_rcache_pred_dq_entry_t entry;

    if (!ucs_rcache_pred_dq_pop(&pred->dq, &entry)) {
        return 0;
    }

    pred->outside = 0;
    if (region_is_current(pred, entry.region, entry.generation)) {
        process_dq_entry(pred, &entry);
        measure_own_work(pred, &pred->times.dq_item, begin);
    }
    return 1;
}

/* Register the head of the RQ, if it is due */
static int helper_rq_step(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t begin = pred_now(pred);

    if (rq_due_time(pred) > begin) {
        return 0;
    }

    pred->outside = 0;
    process_rq_head(pred);
    measure_own_work(pred, &pred->times.rq_item, begin);
    return 1;
}

/* Look at the head of the watch list, if its time is over */
static int helper_watch_step(ucs_rcache_pred_t *pred)
{
    if (ucs_rcache_pred_timeq_first(&pred->watch) > pred_now(pred)) {
        return 0;
    }

    process_watch_head(pred);
    return 1;
}

ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps)
{
    unsigned left              = steps;
    ucs_rcache_pred_time_t now = pred_now(pred);
    int active                 = 0, busy, more;

    atomic_store(&pred->asleep, 0);
    /* Relaxed: see check_absent() */
    atomic_store_explicit(&pred->overdue_count, 0, memory_order_relaxed);
    measure_wakeup(pred, now);
    check_clock(pred, now);
    count_round(pred);
    pred_take_seat(pred, now);
    answer_node(pred);
    pred->patience = POLL_MAX;
    more = reap_stale(pred, steps);

    /* In turns, so that no queue makes the other ones late; and not for ever,
     * since others may be waiting for the mutex */
    do {
        busy    = helper_dq_step(pred);
        active |= busy;
        busy   |= helper_rq_step(pred);
        busy   |= helper_watch_step(pred);
    } while (busy && (--left > 0));

    more   |= sweep_dropped(pred, steps);
    active |= collect_garbage(pred);
    if (busy || more) {
        pred->next_poll = helper_come_back(pred, pred_now(pred));
    } else {
        pred->next_poll = helper_sleep(pred, active);
    }
    return pred->next_poll;
}
