/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_SPEND_H_
#define UCS_RCACHE_PRED_HELPER_SPEND_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/spend.h
 *
 * What the helper spends of the budget: the time to give up a region, the time that uses
 * wait for regions that were given up, and the time of the rounds themselves.
 * predict/budget.h has the account.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** Open the account. Called once, before there is a helper. */
void pred_spend_init(ucs_rcache_pred_t *pred);

/** Let the budget be a part of the processor time that the process can have by its seat,
 *  and let the helper's time cost only as much as the program lacks it. */
void pred_spend_set_seat(ucs_rcache_pred_t *pred, const ucs_rcache_pred_seat_t *seat);

/** Let the budget be a part of the processor time that the process can have, and what a
 *  shortage of memory makes worth spending. A budget of 0 stays 0. */
void pred_spend_set_rate(ucs_rcache_pred_t *pred);

/** From now on the program does the helper's work instead of the thread, or the reverse.
 *  Let rounds come as often as at the beginning: they were made rarer for reasons that do
 *  not hold any more. */
void pred_spend_begin_anew(pred_rounds_t *rounds);

/** Begin a round at @a now: let the time since the last round flow into the account, and
 *  pay for what the program has waited since then. */
void pred_spend_round_begin(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_time_t now);

/** End a round: pay for it, and put off the next look at the DQ accordingly. */
void pred_spend_round_end(ucs_rcache_pred_t *pred);

/** @return whether the helper may look at entries of the DQ now: the pause that pays for
 *          the rounds before is over. */
int pred_spend_may_look(const ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_time_t now);

/** @return whether a bound counts as full: regions had to be evicted lately to make room, or
 *          room was refused. */
int pred_spend_is_full(const ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** @return whether the helper had predicted the next use of at least half of the regions
 *          that gave way lately. Then predictions tell which regions to give up for room. */
int pred_spend_is_foretold(const ucs_rcache_pred_t *pred);

/** @return whether the helper is a thread with a processor of its own. */
int pred_spend_has_own_cpu(const ucs_rcache_pred_t *pred);

/**
 * Decide whether the budget allows to give up @a bytes registered bytes that are not in
 * use. If it does, spend their cost.
 *
 * @param [in] region    The region, or that of a burst, that has these bytes.
 * @param [in] times     What it takes to deregister and to register all of the bytes.
 * @param [in] deadline  When the next use is predicted; UCS_RCACHE_PRED_TIME_INF: no use
 *                       is predicted.
 * @return whether to give the bytes up.
 */
int pred_spend_on_bytes(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region, uint64_t bytes,
                        const ucs_rcache_pred_times_t *times,
                        ucs_rcache_pred_time_t now,
                        ucs_rcache_pred_time_t deadline);

/** Decide whether the budget allows to merge registrations. If it does, spend the cost.
 *  The merged registration is expected to be kept for as long as the process has been
 *  running.
 *  @param [in] bytes  Bytes that are pinned twice, and once after the merge.
 *  @param [in] time   How long the merge takes, ns.
 *  @return whether to merge. */
int pred_spend_on_merge(ucs_rcache_pred_t *pred, uint64_t bytes,
                        ucs_rcache_pred_time_t time);

/** @return the least worth of the helper's time at present, bytes: a step of the helper
 *          has to unpin so much memory for as long as the step itself takes; 0 if the
 *          budget has no bound. */
double pred_spend_worth(const ucs_rcache_pred_t *pred);

/** @return for how long @a bytes bytes have to be idle, once they are given up, to make
 *          up for the cost of giving them up and of a use that registers them again, ns:
 *          by the present worth of memory in the account, and at most a second. 0 if the
 *          budget has no bound. */
ucs_rcache_pred_time_t
pred_spend_least_idle(const ucs_rcache_pred_t *pred, uint64_t bytes,
                      const ucs_rcache_pred_times_t *times);

/** @return when to decide again about a region that was kept for lack of
 *          budget. */
ucs_rcache_pred_time_t
pred_spend_look_again(const ucs_rcache_pred_t *pred,
                      const ucs_rcache_pred_region_t *region,
                      ucs_rcache_pred_time_t now,
                      ucs_rcache_pred_time_t deadline);

/** A use of the region has come. If the region was given up, and not registered ahead of
 *  the use, take back what was paid or set aside for the registration: the use has
 *  registered the region itself, and pred->lost charges that. */
void pred_refund_on_use(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);

/** A region was given up when no use was predicted, and its next use is predicted now:
 *  pay for the registration ahead of that use, and take back what was set aside for a
 *  registration by the use. The former costs no more than the latter. */
void pred_spend_on_ahead(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region,
                         const ucs_rcache_pred_times_t *times);

/** Pay for the registration ahead of an evicted region. If the helper has a processor of
 *  its own, the budget pays; otherwise the time counts in stats.room_lost. */
void pred_spend_on_evicted(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region);

/** Pay in advance for a use of a region that is about to be forgotten: when the use comes
 *  and registers the memory, nobody will know that it was registered before. Under the
 *  lock. */
void pred_spend_on_forgotten(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_region_t *region);

#endif
