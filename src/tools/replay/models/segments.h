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
 * Divides the memory of a program into segments, at the addresses where uses
 * and unmaps begin and end. So all pages of a segment belong to the same uses
 * and unmaps. The policy clairvoyant calls these functions.
 */

typedef struct predreg_segments {
    const predreg_timeline_t *timeline;
    predreg_range_t          *uses;     /**< Ranges of the uses, sorted by
                                             domain, first, end, index */
    predreg_range_t          *unmaps;   /**< Ranges of the unmaps that are not
                                             empty, sorted likewise */
    size_t                   num_unmaps;
    uint64_t                 *cuts;     /**< Pages where segments begin, each
                                             once, sorted */
    size_t                   num_cuts;
} predreg_segments_t;

/**
 * Called for each segment of a domain that is ever in use.
 *
 * @param [in] uses    The uses that cover the segment, sorted by index.
 * @param [in] unmaps  The unmaps that cover it, sorted likewise.
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

/** @return how many uses cover a segment, added up over all segments. A visit
 *          of all segments takes so many steps. It is n for n uses of buffers
 *          that do not overlap, and up to 2 n^2 if all of them do. */
uint64_t predreg_segments_steps(const predreg_segments_t *segments);

/** Visit all segments, domain by domain and upwards in memory.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_segments_visit(const predreg_segments_t *segments,
                                    predreg_segment_func_t func, void *arg);

END_C_DECLS

#endif
