/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_EVENT_EMIT_H_
#define UCS_RCACHE_PRED_EVENT_EMIT_H_

#include "state.h"

/** @file event.h
 *
 * Emits events (see api/event.h) for cache/ and helper/. The functions that
 * emit may be called only if somebody receives events, and only under the lock.
 */

/** @return whether anybody receives events. */
static inline int pred_has_sink(const ucs_rcache_pred_t *pred)
{
    return ucs_unlikely(pred->params.sink != NULL);
}

/** Emit that a use has begun, or was refused.
 *  @param [in] event   Has the fields of the use. Its id is the generation of the
 *                      region, or 0 if there is no region.
 *  @param [in] result  Bits of UCS_RCACHE_PRED_RESULT_* that USE_BEGIN can have.
 *  @param [in] pieces  The use in pieces, if the use can go on in pieces; else
 *                      NULL. */
void pred_emit_begin(const ucs_rcache_pred_domain_t *domain,
                     ucs_rcache_pred_event_t *event, unsigned result,
                     const ucs_rcache_pred_pieces_t *pieces);

/** Emit that a use has ended, which has held up the program from @a begin to
 *  @a end.
 *  @param [in] id  Number of the use or of its region in events. */
void pred_emit_end(const ucs_rcache_pred_domain_t *domain, uint64_t id,
                   ucs_rcache_pred_time_t begin, ucs_rcache_pred_time_t end);

/** @param [in] type  REG or DEREG. */
void pred_emit_registration(ucs_rcache_pred_event_type_t type,
                            ucs_rcache_pred_by_t by,
                            const pred_handle_t *handle,
                            ucs_rcache_pred_time_t begin,
                            ucs_rcache_pred_time_t end, ucs_status_t status);

/** Emit that memory was unmapped. */
void pred_emit_unmap(const ucs_rcache_pred_t *pred,
                     const ucs_rcache_pred_range_t *unmapped);

/** Emit that a region was registered ahead of a use, or kept for it, and that the use has
 *  not come. */
void pred_emit_unmet(const ucs_rcache_pred_region_t *region);

/** Emit what the helper has decided about a region.
 *  @param [in] history  The history from which the deadline comes; NULL if no
 *                       use is predicted.
 *  @param [in] kept     Whether the region stays registered. */
void pred_emit_decision(const ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t now,
                        ucs_rcache_pred_time_t deadline,
                        const ucs_rcache_pred_history_t *history, int kept);

#endif
