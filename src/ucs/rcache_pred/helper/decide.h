/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_DECIDE_H_
#define UCS_RCACHE_PRED_HELPER_DECIDE_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/decide.h
 *
 * What the helper does about a region: deregister it, register it again before
 * its next use, or keep it (CF'11, section 3.2).
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/**
 * Decide about a region, unless it is in use. Either it is deregistered, and
 * registered again before its deadline; or it is kept, and looked at again if
 * its use does not come in time. A region that is not registered, since its
 * last use was in pieces, will be registered for its next use.
 *
 * The decision, and what it takes of the region, is made under one hold of the lock.
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

#endif
