/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_EVENT_EMIT_H_
#define UCS_RCACHE_PRED_EVENT_EMIT_H_

#include "cache.h"
#include "register.h"

/** @file event.h
 *
 * Telling of events (see api/event.h), for cache/ and helper/. There must be
 * somebody to tell. Under lock, but for decisions.
 */

/** Whether anybody is told of events. */
static inline int pred_has_sink(const ucs_rcache_pred_t *pred)
{
    return ucs_unlikely(pred->params.sink != NULL);
}

/** A use has begun, or was refused.
 *  @param [in] event   Its id is the region's, or 0 if there is none.
 *  @param [in] result  UCS_RCACHE_PRED_RESULT_*, of USE_BEGIN.
 *  @param [in] pieces  The use, if it can go on in pieces; or NULL. */
void pred_emit_begin(const ucs_rcache_pred_domain_t *domain,
                     ucs_rcache_pred_event_t *event, unsigned result,
                     const ucs_rcache_pred_pieces_t *pieces);

void pred_emit_end(const ucs_rcache_pred_domain_t *domain, uint64_t id,
                   ucs_rcache_pred_time_t begin, ucs_rcache_pred_time_t end);

/** @param [in] type  REG or DEREG. */
void pred_emit_registration(ucs_rcache_pred_event_type_t type,
                            ucs_rcache_pred_by_t by,
                            const pred_handle_t *handle,
                            ucs_rcache_pred_time_t begin,
                            ucs_rcache_pred_time_t end, ucs_status_t status);

void pred_emit_unmap(const ucs_rcache_pred_t *pred, uintptr_t start,
                     uintptr_t end);

/** The use that a region was registered for has not come. */
void pred_emit_unmet(const ucs_rcache_pred_region_t *region);

/** The helper has decided. Without the lock.
 *  @param [in] history  Where the deadline comes from; NULL: no use is
 *                       predicted. */
void pred_emit_decision(const ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t now,
                        ucs_rcache_pred_time_t deadline,
                        const ucs_rcache_pred_history_t *history, int kept);

#endif
