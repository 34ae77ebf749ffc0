/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TIMELINE_H_
#define PREDREG_TIMELINE_H_

#include "cost.h"

#include <trace/trace.h>

BEGIN_C_DECLS

/** @file timeline.h
 *
 * A recorded program without what its registrations did to it: when each use
 * would have begun and ended, had nothing ever been waited for. play.h plays a
 * policy over it.
 *
 * Times are nanoseconds from the first event, sizes are bytes.
 */

typedef struct predreg_use {
    uint64_t                  begin;
    uint64_t                  end;     /**< >= begin. A use without a recorded
                                            end lasts until the timeline's */
    uint64_t                  address;
    uint64_t                  length;
    ucs_rcache_pred_context_t context;
    uint32_t                  flags;
    uint16_t                  domain;
    uint8_t                   kind;    /**< ucs_rcache_pred_use_kind_t */
} predreg_use_t;

typedef struct predreg_unmap {
    uint64_t time;
    uint64_t start;
    uint64_t end;
} predreg_unmap_t;

typedef struct predreg_timeline {
    predreg_use_t   *uses;    /**< By begin */
    size_t          num_uses;
    predreg_unmap_t *unmaps;  /**< By time */
    size_t          num_unmaps;
    unsigned        num_domains; /**< >= 1 */
    uint64_t        duration; /**< Up to the last event, without waits */
    uint64_t        waited;   /**< That were taken out */
    predreg_cost_t  reg;      /**< Fitted to what was recorded */
    predreg_cost_t  dereg;
    int             reg_known; /**< 0: nothing was recorded to fit it to, these
                                    are first guesses */
    int             dereg_known;
} predreg_timeline_t;


/** @return UCS_ERR_NO_MEMORY, or UCS_ERR_INVALID_PARAM (logged) if the trace
 *          makes no sense. */
ucs_status_t predreg_timeline_create(const ucs_rcache_trace_t *trace,
                                     predreg_timeline_t **timeline_p);

void predreg_timeline_destroy(predreg_timeline_t *timeline);

END_C_DECLS

#endif
