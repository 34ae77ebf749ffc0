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
 * Decide about a region, unless it is in use. Either the helper deregisters the region,
 * and registers it again before its deadline; or it keeps the region, and looks at it
 * again if its use does not come in time. A region whose last use was in pieces is not
 * registered: the helper will register it for its next use.
 *
 * The decision to give a region up and the taking of its handle are under the same hold
 * of the lock, so that no use begins in between.
 *
 * @return UCS_INPROGRESS if a use of the region is under way, or UCS_ERR_BUSY if an entry
 *         of its last use will come into the DQ: nothing was decided then.
 */
ucs_status_t pred_region_decide(ucs_rcache_pred_t *pred,
                                ucs_rcache_pred_region_t *region);

/** Process an entry of the DQ that is current (pred_entry_is_current()): learn when the
 *  use began, and then decide about the region, unless another entry of the region will
 *  follow.
 *  @param [in] is_news  What @ref pred_region_learn_needs has returned for the entry. */
void pred_process_dq_entry(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry, int is_news);

/** Process the head of the registration queue, which is due: register the region ahead
 *  of its use, unless that is not worth it any more, and await the use. */
void pred_process_rq_head(ucs_rcache_pred_t *pred);

/** Process the head of the awaited list, whose time is over: decide about the region
 *  again. Its use has not come in time, or has come and has its entry in the DQ; or the
 *  region was kept until now for lack of budget, or for its burst. */
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
 * @return whether the caller shall go on with @ref pred_region_learn for this use; 0: the
 *         helper has learned of a later use of the region already.
 */
int pred_region_learn_needs(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_dq_entry_t *entry);

/**
 * Add a use to the histories of its region, and count how wrong the prediction for it
 * was. Called under helper_mutex and without the lock.
 *
 * @return the way of use for which there is a new precedent now, so that the caller tells
 *         regions that wait for it; 0: there is no new precedent.
 */
uint64_t pred_region_learn(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry);

/** Predict the next use of a region that was used once only: after the interval that has
 *  passed between the uses of other regions used in the same way, the precedent. Called
 *  under helper_mutex and without the lock. @return whether there is a precedent; if not,
 *  the region may wait for one. */
int pred_region_follow(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region);


/* join.c
 *
 * Slices that touch each other and are used in one burst: segments of a
 * pipelined message, or faces in one array. The helper joins them: it makes a region of
 * the burst, which is registered with the memory of all slices, by the helper ahead of
 * the burst or by the first use of the burst, and deregistered after the burst. Uses of
 * any of the slices are uses of that region, until it is stale: memory was unmapped, or
 * the slices were parted (pred_part_slices()). Then uses find the regions of the slices.
 */

/** @return whether a region can be joined and touches another region that can be, or is
 *          busy: then the caller calls @ref pred_join_slices. Under the lock. */
int pred_may_join(const ucs_rcache_pred_t *pred,
                  const ucs_rcache_pred_region_t *region,
                  ucs_rcache_pred_time_t now);

/**
 * Join a region, whose next use is predicted and which is not in use, with slices
 * around it, if that is a gain and there is budget to give all of them up now. Then all
 * slices are deregistered, and the region of the burst is put on the registration queue.
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
 * Note how much of the expected memory a burst has left out; or, if the region is not
 * that of a burst, a use of it, of which a burst of joined slices would have one. Takes no
 * lock.
 *
 * @param [in] used      Length of the use, or of all uses of the burst, bytes.
 * @param [in] expected  What is expected, bytes.
 */
void pred_burst_note(ucs_rcache_pred_region_t *region, size_t used,
                     size_t expected);

/**
 * @return the trust in the regions being slices of one burst:
 *         UCS_RCACHE_PRED_TRUST_TOGETHER if lately at least half of the memory of all
 *         regions was used in each burst, else less. Slices are joined with that trust,
 *         and parted when they are doubted. Takes no lock.
 *
 * @param [in] expected  For each region, the range that is expected to be used.
 */
ucs_rcache_pred_trust_t
pred_burst_trust(ucs_rcache_pred_region_t *const *regions,
                 const ucs_rcache_pred_range_t *expected, unsigned count);

/** The helper learns of a use of the region of a burst. If the use is the first one of a
 *  burst, the burst is under way from now on.
 *  @return whether the use belongs to the same burst as a use before it. Then the caller
 *          does not add it to the history, which is that of bursts. */
int pred_burst_has(ucs_rcache_pred_region_t *region, ucs_rcache_pred_time_t begin);

/**
 * Find out whether the burst of its region, which is not in use, goes on. The burst has
 * ended if all slices were used, or if it has taken twice as long as it did when the
 * slices were joined. Then it is also noted, see pred_burst_note(). Under the lock.
 *
 * @return when to look again; 0: no burst is under way.
 */
ucs_rcache_pred_time_t pred_burst_end(ucs_rcache_pred_region_t *region,
                                      ucs_rcache_pred_time_t now);


/* merge.c
 *
 * Slices that overlap and were in use at the same time have a registration each: the
 * bytes in common are pinned twice (cache/slices.h), and so is the page in common of
 * slices that touch within 16 bytes. After such slices were given up, the next
 * registration of one takes in those that overlap it. While they are kept, all their uses
 * are hits, which register nothing: so the helper merges the slices.
 */

/**
 * Register a kept region anew, together with all extents that overlap or touch it, and
 * all that overlap or touch one of these, if to pin fewer bytes twice is worth the time.
 * The extents that are not in use are deregistered here, the others at the end of their
 * last use. Under helper_mutex and without the lock.
 */
void pred_merge_kept(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/**
 * The helper gives up a merged extent that is registered. Let the extent stand for its
 * slices still, see pred_stands_for(), for the idle time that makes up for the cost of
 * giving it up. A use of a part that begins in this time registers all of the extent
 * again, if that is not much dearer than to register the part. Otherwise each use would
 * register its own part, and the parts would overlap until they were merged again. Under
 * helper_mutex and the lock.
 */
void pred_merge_given_up(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_extent_t *extent,
                         ucs_rcache_pred_time_t now);


/* ahead.c
 *
 * How the helper registers a region.
 */

/** @return whether the helper may claim a region now: the region has the given state, is
 *          neither stale nor guarded, and no use of it is under way, in pieces neither.
 *          Under lock. */
int pred_may_claim_ahead(const ucs_rcache_pred_region_t *region,
                         ucs_rcache_pred_extent_state_t state);

/**
 * Put an IDLE region that may be claimed into the state REGISTERING. From then on an
 * unmap of any part of the range makes the region stale. Under helper_mutex and under
 * lock.
 *
 * @param [in] range  The range to register. The caller must have found it under the
 *                    present hold of the lock. Otherwise a part may have been unmapped
 *                    since without making this region stale, and would be pinned all the
 *                    same if its memory is still there: the hook of unmaps comes before
 *                    the unmap.
 */
void pred_claim_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      const ucs_rcache_pred_range_t *range);

/**
 * Register a claimed region, together with the extents that overlap it and are not in
 * use. Under helper_mutex and without the lock.
 *
 * @return UCS_ERR_BUSY if a part of the region was unmapped since it was claimed;
 *         UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds; or the status of
 *         mem_reg if that failed. On error the region is not registered.
 */
ucs_status_t pred_register_claimed_ahead(ucs_rcache_pred_t *pred,
                                         ucs_rcache_pred_region_t *region);

/**
 * Claim an IDLE region with the range that is expected to be used, and register the
 * region ahead of its use.
 *
 * @return as @ref pred_register_claimed_ahead; UCS_ERR_BUSY also if the region cannot be
 *         claimed, since it is stale, registered, being registered, or used in pieces.
 */
ucs_status_t
pred_register_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** If a bound of this process is full, the helper has a processor of its own and a
 *  budget, and most uses are not predicted: evict idle regions until there is room for as
 *  much as uses have lately registered from one round to the next, but for 1/16 of the
 *  bound or one registration at most, whichever is more. Where most uses are predicted,
 *  the registration ahead of a use makes room for itself instead. Under helper_mutex,
 *  without the lock. */
void pred_keep_room(ucs_rcache_pred_t *pred);


/* queue.c
 *
 * The queues of regions: the registration queue, and the awaited list of regions whose
 * use is awaited. Also how a region is deregistered, and how it is forgotten, since a
 * forgotten region leaves its queue.
 */

/** Take the region off its queue, if it is on one. Under the lock. */
void pred_dequeue(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** Put the region on the registration queue: it will be registered again before
 *  its deadline. Under the lock. */
void pred_enqueue_registration(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region,
                               ucs_rcache_pred_time_t deadline,
                               const ucs_rcache_pred_times_t *times);

/** Put the region on the awaited list until @a expiry, but for AWAIT_MIN (queue.c) at
 *  least. Then the helper decides about the region again. */
void pred_enqueue_awaited(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region,
                          ucs_rcache_pred_time_t now,
                          ucs_rcache_pred_time_t expiry);

/** Have the helper decide anew, now, about all regions that are kept, for lack of budget or
 *  until uses that are awaited. That these uses have not come yet says nothing about
 *  predictions. */
void pred_stop_awaiting(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** @return when the head of the registration queue is due, or
 *          UCS_RCACHE_PRED_TIME_INF if the queue is empty. */
ucs_rcache_pred_time_t pred_rq_due_time(ucs_rcache_pred_t *pred);

/** Take the handle of an extent that is registered and not in use. Under the lock.
 *  @return the handle; for any other extent, a handle whose domain is NULL. */
pred_handle_t pred_take_idle(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_extent_t *extent);

/** Deregister a handle that @ref pred_take_idle has returned, unless its domain is
 *  NULL. */
void pred_handle_deregister(ucs_rcache_pred_t *pred,
                            const pred_handle_t *handle);

/** Deregister the region, unless a use of it is under way. */
void pred_region_deregister(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region);

/** Forget a region: take it off its queue and out of the table. The region must be IDLE,
 *  and no use may find it, because it is stale or its domain is being destroyed. */
void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);

#endif
