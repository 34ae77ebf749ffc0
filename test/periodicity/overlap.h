/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_OVERLAP_H_
#define PREDREG_OVERLAP_H_

#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file overlap.h
 *
 * Finds which of a program's buffers overlap a piece of memory, among those
 * that are switched on. Each step takes a time that grows with the logarithm of
 * the number of buffers. periodicity.c calls these functions.
 */

/** Stands for no buffer. */
#define PREDREG_OVERLAP_NONE SIZE_MAX

typedef struct predreg_buffer {
    uint64_t start;
    uint64_t end;
    unsigned domain;
} predreg_buffer_t;

typedef struct predreg_overlap {
    predreg_buffer_t *buffers;    /**< Each range that is used in a domain, once,
                                       sorted by start, end, domain */
    size_t           num_buffers;
    size_t           num_leaves;  /**< num_buffers, rounded up to a power of
                                       2 */
    uint64_t         *ends;       /**< A binary tree. Node i has the children 2i
                                       and 2i + 1, the root is 1. Leaf num_leaves
                                       + i has the end of buffer i if it is
                                       switched on, else 0; any other node has
                                       the highest end of its children */
} predreg_overlap_t;


/** Collect the buffers that the program uses. All are switched off.
 *  @param [out] overlap  To be cleaned up if this returns UCS_OK.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_overlap_init(predreg_overlap_t *overlap,
                                  const predreg_timeline_t *timeline);

void predreg_overlap_cleanup(predreg_overlap_t *overlap);

/** @return the number of the buffer of a use, which is below num_buffers. */
size_t predreg_overlap_find(const predreg_overlap_t *overlap,
                            const predreg_use_t *use);

/** Switch a buffer on or off. */
void predreg_overlap_set(predreg_overlap_t *overlap, size_t buffer, int is_on);

/** @return the first buffer from this number on that is switched on and
 *          overlaps [start, end), in whatever domain, or
 *          PREDREG_OVERLAP_NONE. */
size_t predreg_overlap_next(const predreg_overlap_t *overlap, size_t from,
                            uint64_t start, uint64_t end);

END_C_DECLS

#endif
