/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RANGES_H_
#define PREDREG_RANGES_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file ranges.h
 *
 * A set of disjoint ranges of memory, from which unmaps cut parts: a tree made
 * by tsearch(). An empty set is NULL.
 */

typedef struct predreg_range {
    uint64_t start;
    uint64_t end;    /**< > start */
    unsigned domain;
    uint64_t place;  /**< Address chosen by the caller, which stands for start */
} predreg_range_t;


/** @return a range of the set that overlaps the given range, in the same domain, or
 *          NULL. */
predreg_range_t *predreg_ranges_find(void *const *ranges,
                                     const predreg_range_t *range);

/** Add a range, which overlaps no range of the set. */
void predreg_ranges_insert(void **ranges, const predreg_range_t *range);

/** Remove a range of the set, and free it. */
void predreg_ranges_remove(void **ranges, predreg_range_t *range);

/** Remove a part of a range of the set. The rest before and the rest after the
 *  part become ranges of their own. */
void predreg_ranges_cut(void **ranges, predreg_range_t *range, uint64_t start,
                        uint64_t end);

void predreg_ranges_cleanup(void **ranges);

END_C_DECLS

#endif
