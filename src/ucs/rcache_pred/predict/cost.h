/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_COST_H_
#define UCS_RCACHE_PRED_COST_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/sys/math.h>

/** @file cost.h
 *
 * The cost of a registration or a deregistration as a linear function of its
 * size, a * pages + b (CF'11, section 3.2). The function is fitted to
 * measurements while the program runs.
 */

/** Costs that are assumed before anything was measured, in ns for each page and
 *  in ns for each operation. They are of the order that was measured on
 *  Soft-RoCE and on io_uring. The first real measurements outweigh them. */
#define UCS_RCACHE_PRED_REG_COST_PER_PAGE   50.
#define UCS_RCACHE_PRED_REG_COST_PER_OP     10000.
#define UCS_RCACHE_PRED_DEREG_COST_PER_PAGE 10.
#define UCS_RCACHE_PRED_DEREG_COST_PER_OP   5000.


/**
 * A least-squares line through the measurements, in which old ones fade.
 * Updated and read under the lock of the cache.
 */
typedef struct ucs_rcache_pred_cost {
    double n;   /**< Weight of all measurements */
    double x;   /**< Weighted sums of pages, time, pages^2 and pages * time */
    double y;
    double xx;
    double xy;
    double a;   /**< Cost of each page, ns */
    double b;   /**< Cost of each operation, ns */
} ucs_rcache_pred_cost_t;


/** @param [in] a, b  First guess of the cost of a page and of an operation,
 *  ns. */
void
ucs_rcache_pred_cost_init(ucs_rcache_pred_cost_t *cost, double a, double b);

/** Add one measurement: an operation on so many pages has taken this time. */
void ucs_rcache_pred_cost_update(ucs_rcache_pred_cost_t *cost, size_t pages,
                                 ucs_rcache_pred_time_t time);

/** @return the time that an operation on so many pages is expected to take,
 *  ns. */
ucs_rcache_pred_time_t
ucs_rcache_pred_cost_estimate(const ucs_rcache_pred_cost_t *cost, size_t pages);


/** @return the number of pages that [address, address + length) touches. The
 *          kernel pins whole pages. A range that would go on beyond the top of
 *          the address space ends there.
 *  @param [in] length     > 0.
 *  @param [in] page_size  Bytes. */
static inline size_t
ucs_rcache_pred_pages(uintptr_t address, size_t length, size_t page_size)
{
    uintptr_t more = ucs_min(length - 1, UINTPTR_MAX - address);

    return ((address + more) / page_size) - (address / page_size) + 1;
}

#endif
