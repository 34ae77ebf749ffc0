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
 * What the helper spends of the budget: what it takes to give up a region, what
 * uses wait for regions that were given up, and the rounds themselves. The
 * account is predict/budget.h.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** Open the account. Called once, before there is a helper. */
void pred_spend_init(ucs_rcache_pred_t *pred);

/** Let the budget be a part of what the process has of the processors by its seat, and
 *  the helper's time cost what the program lacks. */
void pred_spend_set_seat(ucs_rcache_pred_t *pred, const ucs_rcache_pred_seat_t *seat);

/** Another one does the helper's work from now on: what made rounds rare is not true of
 *  it. */
void pred_spend_begin_anew(pred_rounds_t *rounds);

/** Begin a round at @a now: let time flow in, and pay for the waits of the
 *  program since the last round. */
void pred_spend_round_begin(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_time_t now);

/** End a round: pay for it, and put off the next look at the DQ accordingly. */
void pred_spend_round_end(ucs_rcache_pred_t *pred);

/** @return whether there is still budget for entries of the DQ in this
 *          round. */
int pred_spend_may_look(const ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_time_t now);

/** @return whether the budget does not matter now: room was made for other processes of
 *          the node lately, or the system has refused a registration. */
int pred_spend_is_pressed(const ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_time_t now);

/** @return whether a bound of this process is full: room had to be made within it
 *          lately. */
int pred_spend_is_full(const ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** @return whether most of the uses that ended lately were followed by one that was
 *          predicted. */
int pred_spend_is_foretold(const ucs_rcache_pred_t *pred);

/** @return whether the helper is a thread with a processor of its own. */
int pred_spend_has_own_cpu(const ucs_rcache_pred_t *pred);

/**
 * Decide whether to give up so many registered bytes without a use, as far as the
 * budget is concerned. If so, it is spent.
 *
 * @param [in] region    Stands for all of them.
 * @param [in] deadline  When the next use is predicted, or
 *                       UCS_RCACHE_PRED_TIME_INF.
 */
int pred_spend_on_bytes(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region, uint64_t bytes,
                        const ucs_rcache_pred_times_t *times,
                        ucs_rcache_pred_time_t now,
                        ucs_rcache_pred_time_t deadline);

/** Decide whether to merge registrations, in which so many bytes are pinned twice, for so
 *  long as it takes to do so. If so, it is spent. What is kept is expected to be kept for
 *  as long as the process has been running. */
int pred_spend_on_merge(ucs_rcache_pred_t *pred, uint64_t bytes,
                        ucs_rcache_pred_time_t time);

/** @return how many bytes have to be saved for so long as it takes the helper to
 *          give them up, to be worth it at present; 0 if there is no bound. */
double pred_spend_worth(const ucs_rcache_pred_t *pred);

/** @return for how long so many bytes have to be idle, once they are given up, for that to
 *          be worth what it costs if a use has to register them again, ns: as the account is
 *          now, and at most a second. 0 where the budget does not matter. */
ucs_rcache_pred_time_t
pred_spend_least_idle(const ucs_rcache_pred_t *pred, uint64_t bytes,
                      const ucs_rcache_pred_times_t *times,
                      ucs_rcache_pred_time_t now);

/** @return when to decide again about a region that was kept for lack of
 *          budget. */
ucs_rcache_pred_time_t
pred_spend_look_again(const ucs_rcache_pred_t *pred,
                      const ucs_rcache_pred_region_t *region,
                      ucs_rcache_pred_time_t now,
                      ucs_rcache_pred_time_t deadline);

/** A use of the region has come. If the region was given up and not registered
 *  ahead of it, take back what was paid or set aside for a registration: the use
 *  pays for its own, see pred->lost. */
void pred_refund_on_use(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);

/** The next use of a region, which was given up when nobody predicted one, is
 *  predicted by what became known since: pay for the registration ahead of it, and
 *  take back what was set aside. It costs no more than the use would pay. */
void pred_spend_on_ahead(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region,
                         const ucs_rcache_pred_times_t *times);

/** Note whether the next use was predicted after one that has ended. */
void pred_spend_note_foretold(ucs_rcache_pred_t *pred, int foretold);

/** @return whether there is budget for registering a region ahead of its use that was given
 *          up for room: nobody has paid for that then. Where the program's own time is
 *          spent, the use would lose as much: it needs none. */
int pred_spend_may_register(const ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_time_t now);

/** Pay for such a registration: a helper with a processor of its own by the budget, else it
 *  is lost to the lack of room. */
void pred_spend_on_evicted(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region,
                           ucs_rcache_pred_time_t now);

/** Pay for the use that may come once the region is forgotten: it will not be
 *  seen that its memory was registered before. Under the lock. */
void pred_spend_on_forgotten(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_region_t *region);

#endif
