/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_RANGE_H_
#define UCS_RCACHE_PRED_RANGE_H_

#include <ucs/sys/math.h>

#include <stddef.h>
#include <stdint.h>

/** @file range.h
 *
 * Ranges of memory. The functions are pure.
 */

/** Bytes from start to before end. */
typedef struct ucs_rcache_pred_range {
    uintptr_t start;
    uintptr_t end;
} ucs_rcache_pred_range_t;


/** @return the range of @a length bytes from @a start on. A longer range ends before the
 *          last byte of the address space, which no program has. */
static inline ucs_rcache_pred_range_t
ucs_rcache_pred_range(uintptr_t start, size_t length)
{
    return (ucs_rcache_pred_range_t){
        .start = start,
        .end   = start + ucs_min(length, UINTPTR_MAX - start)
    };
}

static inline size_t
ucs_rcache_pred_range_length(const ucs_rcache_pred_range_t *range)
{
    return range->end - range->start;
}

/** @return whether a range has all bytes of another one. */
static inline int
ucs_rcache_pred_range_has(const ucs_rcache_pred_range_t *range,
                          const ucs_rcache_pred_range_t *other)
{
    return (range->start <= other->start) && (range->end >= other->end);
}

/** @return whether two ranges have bytes in common. */
static inline int
ucs_rcache_pred_range_overlaps(const ucs_rcache_pred_range_t *range,
                               const ucs_rcache_pred_range_t *other)
{
    return (range->start < other->end) && (other->start < range->end);
}

/** @return whether no byte lies between two ranges. */
static inline int
ucs_rcache_pred_range_meets(const ucs_rcache_pred_range_t *range,
                            const ucs_rcache_pred_range_t *other)
{
    return (range->start <= other->end) && (other->start <= range->end);
}

/** @return the least range that has all bytes of two others, none of which is
 *          empty. */
static inline ucs_rcache_pred_range_t
ucs_rcache_pred_range_hull(const ucs_rcache_pred_range_t *range,
                           const ucs_rcache_pred_range_t *other)
{
    return (ucs_rcache_pred_range_t){
        .start = ucs_min(range->start, other->start),
        .end   = ucs_max(range->end, other->end)
    };
}

/**
 * @return whether two ranges are most likely the same buffer, used from and to
 *         slightly different places: at least half of the longer one is common
 *         to both.
 *
 * Programs that exchange parts of an array, whose limits depend on the data (a
 * parallel sort, for example), use such ranges. If less than half were enough, slices
 * that a program uses one after the other would become one region, and each use would
 * register more of it.
 */
static inline int
ucs_rcache_pred_range_is_similar(const ucs_rcache_pred_range_t *range,
                                 const ucs_rcache_pred_range_t *other)
{
    uintptr_t start = ucs_max(range->start, other->start);
    uintptr_t end   = ucs_min(range->end, other->end);
    size_t length   = ucs_max(ucs_rcache_pred_range_length(range),
                              ucs_rcache_pred_range_length(other));

    return (start < end) && (end - start >= length - length / 2);
}

#endif
