/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "costs.h"

#include <ucs/base/page.h>

#include <math.h>


double ucs_reuse_registration(const ucs_reuse_costs_t *costs, size_t length)
{
    /* Beyond its first byte, each one is the first of a further page in one
     * case out of the size of a page */
    return costs->reg_call +
           (costs->reg_page *
            (1 + ((length - 1.) / ucs_rcache_pred_page_size())));
}

void ucs_reuse_costs_init(ucs_reuse_costs_t *costs)
{
    unsigned i;

    costs->reg_call = costs->reg_page = costs->lookup = INFINITY;
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs->copy[i] = INFINITY;
    }
}

void ucs_reuse_costs_refine(ucs_reuse_costs_t *costs,
                            const ucs_reuse_costs_t *other)
{
    unsigned i;

    if (other->reg_call + other->reg_page < costs->reg_call + costs->reg_page) {
        costs->reg_call = other->reg_call;
        costs->reg_page = other->reg_page;
    }

    costs->lookup = fmin(costs->lookup, other->lookup);
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs->copy[i] = fmin(costs->copy[i], other->copy[i]);
    }
}

uint32_t ucs_reuse_break_even(const ucs_reuse_costs_t *costs, size_t length)
{
    double gain = costs->copy[ucs_reuse_class(length)] - costs->lookup;
    double sends;

    /* What is no number is not above 0, and not below another number */
    if (!(gain > 0)) {
        return UCS_REUSE_NEVER;
    }

    sends = floor(ucs_reuse_registration(costs, length) / gain) + 1;
    return (sends < UCS_REUSE_NEVER) ? (uint32_t)sends : UCS_REUSE_NEVER;
}

void ucs_reuse_thresholds(const ucs_reuse_costs_t *costs, double fraction,
                          uint32_t sends[UCS_REUSE_NUM_CLASSES])
{
    uint32_t break_even;
    unsigned i;

    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        break_even = ucs_reuse_break_even(costs, (i + 1) * UCS_REUSE_STEP);
        sends[i]   = (break_even == UCS_REUSE_NEVER) ? UCS_REUSE_NEVER :
                     (uint32_t)ceil(fraction * break_even);
    }
}
