/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_DECIDE_H_
#define UCS_RCACHE_PRED_HELPER_DECIDE_H_

#include <ucs/rcache_pred/cache/cache.h>
#include <ucs/rcache_pred/cache/bound.h>

/** @file helper/decide.h
 *
 * What the helper does about one region.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/* decide.c
 *
 * What the helper does about a region: deregister it, register it again before
 * its next use, or keep it (CF'11, section 3.2).
 */

/**
 * Decide about a region, unless it is in use. Either it is deregistered, and
 * registered again before its deadline; or it is kept, and looked at again if
 * its use does not come in time. A region that is not registered, since its
 * last use was in pieces, will be registered for its next use.
 *
 * One hold of the lock has the decision and the handle of a region to give up.
 *
 * @return UCS_INPROGRESS if a use is under way, or UCS_ERR_BUSY if an entry of
 *         the last one will follow: nothing was decided then.
 */
ucs_status_t pred_region_decide(ucs_rcache_pred_t *pred,
                                ucs_rcache_pred_region_t *region);

/** Process an entry of the DQ whose region is current: learn when the use
 *  began, and then decide about the region, unless another entry of it will
 *  follow.
 *  @param [in] is_news  What @ref pred_region_learn_needs has returned about it. */
void pred_process_dq_entry(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry, int is_news);

/** Process the head of the registration queue, which is due: register it ahead
 *  of its use, and await the use. */
void pred_process_rq_head(ucs_rcache_pred_t *pred);

/** Process the head of the awaited list, whose time is over. Either its use has
 *  not come in time, or it has come and its entry is still in the DQ. */
void pred_process_awaited_head(ucs_rcache_pred_t *pred);


/* learn.c
 *
 * What the helper learns from a use that has ended. decide.c calls this.
 */

/**
 * Remember what memory and what access a use has needed, for the registration ahead of
 * the next one, and for the demand of the process. Called under helper_mutex and the
 * lock.
 *
 * @return whether to go on with @ref pred_region_learn; 0: the helper has learned of a
 *         later use already.
 */
int pred_region_learn_needs(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_dq_entry_t *entry);

/**
 * Add a use to the histories of its region, and count how wrong the prediction for it
 * was. Called under helper_mutex and without the lock.
 *
 * @return for which way of use there is a precedent now;
 *         0: for none. Other regions may wait for it.
 */
uint64_t pred_region_learn(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry);

/** Predict the next use of a region, of which nothing is known, as it followed
 *  other uses like its last one, if any did. Called under helper_mutex and
 *  without the lock. @return
 *  whether any did; else the region waits for that. */
int pred_region_follow(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region);


/* join.c
 *
 * Slices that touch each other and are used in one burst: segments of a
 * pipelined message, or faces in one array. They are joined, which means that
 * one of their regions stands for all of them from then on. It is registered
 * with all of their memory, ahead of the burst or by the first use of it, and
 * given up once after it. Uses of any of the slices are uses of that region.
 */

/** @return whether a region could be joined and other regions touch the region, so that
 *          @ref pred_join_slices has to look. Under the lock. */
int pred_may_join(const ucs_rcache_pred_t *pred,
                  const ucs_rcache_pred_region_t *region,
                  ucs_rcache_pred_time_t now);

/**
 * Join a region, whose next use is predicted and which is not in use, with slices
 * around it if that is a gain and there is budget to give all of them up now. If
 * so, all are deregistered, and that one of them is put on the registration
 * queue which stands for all.
 *
 * @return whether the region was joined. If not, nothing has changed.
 */
int pred_join_slices(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                     ucs_rcache_pred_time_t now);


/* burst.c
 *
 * Bursts of uses of slices that were joined, see helper/join.c.
 */

/**
 * A use of a region has begun, of which the helper learns now: note how much it leaves
 * out of what is expected to be used. Takes no lock.
 *
 * @param [in] used      Length of the use, bytes.
 * @param [in] expected  What is expected, bytes.
 */
void pred_burst_note_use(ucs_rcache_pred_region_t *region, size_t used,
                         size_t expected);

/**
 * Find out whether the last uses of regions, one of each in a burst, took most of the
 * memory of all. If not, they would have to be parted again once they were joined. Takes
 * no lock.
 *
 * @param [in] expected  What is expected to be used of each of them.
 */
int pred_bursts_are_whole(ucs_rcache_pred_region_t *const *regions,
                          const ucs_rcache_pred_range_t *expected,
                          unsigned count);

/**
 * A use of a region has begun, of which the helper learns now. The history of a
 * region that stands for slices is that of its bursts. If the use is the first of
 * a burst, that is under way from now on.
 *
 * @param [in,out] range  What was used. If it is the first use of a burst: all
 *                        slices, so that it does not matter which is the first.
 * @return whether the use belongs to the same burst as one before it.
 */
int pred_burst_has(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                   ucs_rcache_pred_time_t begin,
                   ucs_rcache_pred_range_t *range);

/**
 * Find out whether the burst of uses of a region goes on, which is not in use.
 * It has ended if all slices were used, or if it takes twice as long as the
 * longest one before. Then it is also judged: where hardly any slices were used
 * they are no burst any more, if that happens several times.
 *
 * @return when to look again; 0: no burst is under way.
 */
ucs_rcache_pred_time_t pred_burst_end(ucs_rcache_pred_t *pred,
                                      ucs_rcache_pred_region_t *region,
                                      ucs_rcache_pred_time_t now);

/** @return whether to part the slices that a region stands for, which is not
 *          registered any more. */
int pred_should_part(const ucs_rcache_pred_region_t *region);

/** Let a region that is on no queue stand for itself alone from now on, if it
 *  stands for other slices. What was learned of the uses of all is forgotten. */
void pred_part_slices(ucs_rcache_pred_t *pred,
                      ucs_rcache_pred_region_t *region);


/* merge.c
 *
 * Slices that overlap and were in use at a time have a registration each, and the
 * bytes in common are pinned twice (cache/slices.h), as is the page where slices touch
 * within 16 bytes. If they are given up, the next registration takes in those that
 * overlap it. If they are kept, all their uses are hits, and no use would ever merge
 * them: the helper does.
 */

/**
 * Register a region that is kept anew, with the memory of all that overlap or touch it,
 * and of all that overlap or touch these, if what is pinned twice is worth the time. Those
 * that are not in use are deregistered, the others at the end of their last use. Under
 * helper_mutex and without the lock.
 */
void pred_merge_kept(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/**
 * A merged extent that was registered is given up. It still stands for its slices, see
 * pred_stands_for(), until it was idle for so long that giving it up was worth the cost. A
 * use of a part that begins earlier registers all of the extent again, if that is not much
 * dearer. Otherwise each use would register its own part, and the parts would overlap until
 * they were merged again. Under helper_mutex and the lock.
 */
void pred_merge_given_up(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_extent_t *extent,
                         ucs_rcache_pred_time_t now);


/* ahead.c
 *
 * How the helper registers a region.
 */

/** @return whether the helper may claim a region of this state now: it is not stale, and no
 *          use of it is under way. Under lock. */
int pred_may_claim_ahead(const ucs_rcache_pred_region_t *region,
                         ucs_rcache_pred_extent_state_t state);

/**
 * Put an IDLE region that may be claimed into the state REGISTERING, so that an unmap of any
 * part of the range makes it stale. Under helper_mutex and under lock.
 *
 * @param [in] range  What to register. The caller has found the range since it took the
 *                    lock. A part of a range that was found earlier may have been unmapped
 *                    since then, without marking this region stale, and could yet be pinned:
 *                    the hook is called before the memory is gone.
 */
void pred_claim_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      const ucs_rcache_pred_range_t *range);

/**
 * Register a region that was claimed, and with it what overlaps it and is not in use. Under
 * helper_mutex and without the lock.
 *
 * @return UCS_ERR_BUSY if some of it was unmapped since it was claimed;
 *         UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds, or the status of
 *         mem_reg if that failed. Then it is not registered.
 */
ucs_status_t pred_register_claimed_ahead(ucs_rcache_pred_t *pred,
                                         ucs_rcache_pred_region_t *region);

/**
 * Register what is expected to be used of a region, ahead of its use, as @ref
 * pred_register_claimed_ahead does.
 *
 * @return UCS_ERR_BUSY also if it is stale, registered, or used in pieces.
 */
ucs_status_t
pred_register_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** If a bound of this process is full, the helper has a processor of its own and a budget,
 *  and most uses are not predicted: give up idle regions until there is room for the uses
 *  that come before it wakes again, as far as they are like those before. That is 1/16 of
 *  the bound at most, or what one registration takes. Where uses are predicted, each
 *  region takes its room itself when it is registered ahead. Under helper_mutex, without
 *  the lock. */
void pred_keep_room(ucs_rcache_pred_t *pred);


/* queue.c
 *
 * The queues of regions: the registration queue, and the list of regions whose
 * use is awaited. Also how a region is deregistered and forgotten, since it
 * leaves its queue then.
 */

/** Take the region off its queue, if it is on one. Under the lock. */
void pred_dequeue(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** Put the region on the registration queue: it will be registered again before
 *  its deadline. Under the lock. */
void pred_enqueue_registration(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region,
                               ucs_rcache_pred_time_t deadline,
                               const ucs_rcache_pred_times_t *times);

/** Put the region on the awaited list: its use is awaited until @a expiry, or
 *  somewhat longer. */
void pred_enqueue_awaited(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region,
                          ucs_rcache_pred_time_t now,
                          ucs_rcache_pred_time_t expiry);

/** @return when the head of the registration queue is due, or
 *          UCS_RCACHE_PRED_TIME_INF if the queue is empty. */
ucs_rcache_pred_time_t pred_rq_due_time(ucs_rcache_pred_t *pred);

/** Take the handle of a registered extent without a use. Of any other extent, the
 *  returned handle has no domain. Under the lock. */
pred_handle_t pred_take_idle(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_extent_t *extent);

/** Deregister a handle that was taken from a region, if it has a domain. */
void pred_handle_deregister(ucs_rcache_pred_t *pred,
                            const pred_handle_t *handle);

/** Deregister the region, unless a use of it is under way. */
void pred_region_deregister(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region);

/** Forget a region: take it off its queue and out of the table. It must be
 *  idle, and no use may find it, because it is stale or its domain is being
 *  destroyed. */
void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);

#endif
