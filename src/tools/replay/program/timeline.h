/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TIMELINE_H_
#define PREDREG_TIMELINE_H_

#include "points.h"

#include <trace/trace.h>

BEGIN_C_DECLS

/** @file timeline.h
 *
 * A recorded program without the effects of its registrations: when each use
 * would have begun and ended, if the program had never waited for a
 * registration. play.h plays a policy over it.
 *
 * Times are nanoseconds from the first event, sizes are bytes.
 */

typedef struct predreg_use {
    uint64_t                  begin;
    uint64_t                  end;     /**< >= begin. A use whose end was not
                                            recorded lasts until the end of the
                                            timeline */
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

/** Memory that the program maps and an arena could serve. */
typedef struct predreg_map {
    uint64_t time;
    uint64_t start;
    uint64_t end;
} predreg_map_t;

typedef struct predreg_timeline {
    predreg_use_t   *uses;    /**< Sorted by begin */
    size_t          num_uses;
    predreg_unmap_t *unmaps;  /**< Sorted by time */
    size_t          num_unmaps;
    predreg_map_t   *maps;    /**< Sorted by time */
    size_t          num_maps;
    unsigned        num_domains; /**< >= 1 */
    uint64_t        duration; /**< Time of the last event, without waits */
    uint64_t        waited;   /**< Sum of the waits that were taken out */
    predreg_cost_t  reg;      /**< Cost of registrations, fitted to what was
                                   recorded */
    predreg_cost_t  dereg;
    predreg_points_t first_uses; /**< If no registration was recorded, what reg
                                      was fitted to: how long first uses of
                                      memory took to begin */
    int             reg_known; /**< Whether it was fitted; if not, no
                                    registration was recorded, and it is a first
                                    guess */
    int             dereg_known;
    int             reg_page_known; /**< Whether what was recorded says what a
                                         page costs; if not, that is a first
                                         guess: all had the same size */
    int             dereg_page_known;
} predreg_timeline_t;


/** @return UCS_ERR_NO_MEMORY, or UCS_ERR_INVALID_PARAM (logged) if the trace
 *          makes no sense. */
ucs_status_t predreg_timeline_create(const ucs_rcache_trace_t *trace,
                                     predreg_timeline_t **timeline_p);

/** Fit what registrations cost to the first uses of one rank, as in its timeline,
 *  or of several, which are more.
 *  @param [in,out] first_uses    Sorted by this.
 *  @param [out]    page_known_p  Whether they say what a page costs.
 *  @return whether there are any; if not, the cost is a first guess. */
int predreg_timeline_fit_reg(predreg_points_t *first_uses, predreg_cost_t *cost,
                             int *page_known_p);

void predreg_timeline_destroy(predreg_timeline_t *timeline);

END_C_DECLS

#endif
