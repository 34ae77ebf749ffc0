/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_BENCH_SITE_COUNT_H_
#define TEST_BENCH_SITE_COUNT_H_

#include <stddef.h>
#include <stdint.h>

/** @file site_count.h
 *
 * How well one way of telling contexts apart does what another one does.
 */

/** A call as both ways see it. Plain data. */
typedef struct site_call {
    uint64_t exact;   /**< Context by the way that is taken for the truth */
    uint64_t cheap;   /**< Context by the other way */
} site_call_t;


typedef struct site_counts {
    size_t exact;     /**< Contexts there are */
    size_t cheap;     /**< Contexts the cheap way sees */
    size_t merged;    /**< Of the latter: those that stand for several exact */
    size_t split;     /**< Of the former: those that are several cheap ones */
    size_t right;     /**< Calls in contexts neither merged nor split */
} site_counts_t;


/**
 * @param [inout] calls  Changes its order.
 * @return 0, or -1 if there is no memory.
 */
int site_count(site_call_t *calls, size_t num_calls, site_counts_t *counts);

#endif
