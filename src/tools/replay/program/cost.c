/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cost.h"

#include <ucs/rcache_pred/predict/cost.h>

/* The most that an operation can take, ns: 36 years. So sums of times fit into
 * 64 bits. */
#define MAX_COST   (UINT64_MAX >> 4)


uint64_t predreg_cost_of(const predreg_cost_t *cost, uint64_t address,
                         uint64_t length)
{
    double pages = ucs_rcache_pred_pages(address, length, PREDREG_PAGE_SIZE);
    double time  = (cost->page * pages) + cost->op + 0.5; /* Rounded */

    return (time >= MAX_COST) ? MAX_COST : time;
}
