/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SEGMENTS_H_
#define PREDREG_SEGMENTS_H_

#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file segments.h
 *
 * Divides the memory of a program into segments, at the addresses where uses
 * and unmaps begin and end, so that all pages of a segment belong to the same
 * uses and unmaps. The policy clairvoyant calls these functions.
 */

/** The pages of a use or unmap. */
typedef struct predreg_pages {
    uint64_t first;
    uint64_t end;    /**< The page after the last one */
    size_t   index;  /**< Index of the use or unmap in the timeline */
    unsigned domain; /**< Domain of the use; not set for an unmap */
} predreg_pages_t;

/** The ranges that hold a page, by a sweep from the lowest page to the
 *  highest. */
typedef struct predreg_cover {
    const predreg_pages_t *next;   /**< First range that the sweep has not
                                        reached yet */
    const predreg_pages_t *end;
    predreg_pages_t       *ranges; /**< Sorted by index */
    size_t                num_ranges;
} predreg_cover_t;

typedef struct predreg_segments {
    const predreg_timeline_t *timeline;
    predreg_pages_t          *uses;     /**< Sorted by domain, first, end,
                                             index */
    predreg_pages_t          *unmaps;   /**< Unmaps of at least one page, sorted in
                                             the same order */
    size_t                   num_unmaps;
    uint64_t                 *cuts;     /**< First pages of segments, sorted,
                                             each once */
    size_t                   num_cuts;
} predreg_segments_t;

/**
 * Called for each used segment of a domain.
 *
 * @param [in] uses    The uses that cover the segment, sorted by index.
 * @param [in] unmaps  The unmaps that cover the segment, sorted by index.
 * @param [in] bytes   Size of the segment.
 */
typedef void (*predreg_segment_func_t)(void *arg, const predreg_cover_t *uses,
                                       const predreg_cover_t *unmaps,
                                       uint64_t bytes);


/** @param [out] segments  For predreg_segments_cleanup(). */
void predreg_segments_init(predreg_segments_t *segments,
                           const predreg_timeline_t *timeline);

void predreg_segments_cleanup(predreg_segments_t *segments);

/** @return the steps that a visit of all segments takes: for each segment, the number of
 *          uses that cover it. n uses of disjoint buffers take n steps, and n overlapping
 *          uses up to 2 n^2. */
uint64_t predreg_segments_steps(const predreg_segments_t *segments);

/** Visit all segments, domain by domain and upwards in memory. */
void predreg_segments_visit(const predreg_segments_t *segments,
                            predreg_segment_func_t func, void *arg);

END_C_DECLS

#endif
