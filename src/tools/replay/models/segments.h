/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SEGMENTS_H_
#define PREDREG_SEGMENTS_H_

#include "cover.h"

#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file segments.h
 *
 * The memory of a program, divided into segments where uses and unmaps begin
 * and end: all pages of a segment share their fate. Called by the policy
 * clairvoyant.
 */

typedef struct predreg_segments {
    const predreg_timeline_t *timeline;
    predreg_range_t          *uses;     /**< Ranges of the uses, by domain,
                                             first, end, index */
    predreg_range_t          *unmaps;   /**< Those of unmaps that are not empty,
                                             likewise */
    size_t                   num_unmaps;
    uint64_t                 *cuts;     /**< Pages where segments begin, each
                                             once, by number */
    size_t                   num_cuts;
} predreg_segments_t;

/**
 * Called for each segment of a domain that is in use at any time.
 *
 * @param [in] uses    The uses that cover it, by index.
 * @param [in] unmaps  Likewise, the unmaps.
 * @param [in] bytes   Size of the segment.
 */
typedef void (*predreg_segment_func_t)(void *arg, const predreg_cover_t *uses,
                                       const predreg_cover_t *unmaps,
                                       uint64_t bytes);


/** @param [out] segments  To be cleaned up, whatever is returned.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_segments_init(predreg_segments_t *segments,
                                   const predreg_timeline_t *timeline);

void predreg_segments_cleanup(predreg_segments_t *segments);

/** Visit all segments, domain by domain and upwards in memory.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_segments_visit(const predreg_segments_t *segments,
                                    predreg_segment_func_t func, void *arg);

END_C_DECLS

#endif
