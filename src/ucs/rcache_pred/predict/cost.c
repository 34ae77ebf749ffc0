/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cost.h"

/* Weight of a measurement after the next one has come. After some 22 newer ones
 * its weight is one half. So the estimate follows a change of the system, such
 * as another page size or fragmented memory, within a phase of a program */
#define COST_FADE 0.97


static void cost_add(ucs_rcache_pred_cost_t *cost, double x, double y)
{
    cost->n  += 1;
    cost->x  += x;
    cost->y  += y;
    cost->xx += x * x;
    cost->xy += x * y;
}

void ucs_rcache_pred_cost_init(ucs_rcache_pred_cost_t *cost, double a, double b)
{
    *cost = (ucs_rcache_pred_cost_t){ .a = a, .b = b };

    /* Start with two points on the guessed line. Each has the weight of one
     * measurement */
    cost_add(cost, 1, a + b);
    cost_add(cost, 256, a * 256 + b);
}

void ucs_rcache_pred_cost_update(ucs_rcache_pred_cost_t *cost, size_t pages,
                                 ucs_rcache_pred_time_t time)
{
    double det;

    cost->n  *= COST_FADE;
    cost->x  *= COST_FADE;
    cost->y  *= COST_FADE;
    cost->xx *= COST_FADE;
    cost->xy *= COST_FADE;
    cost_add(cost, pages, time);

    det = cost->n * cost->xx - cost->x * cost->x;
    if (det > 1e-6 * cost->n * cost->xx) {
        cost->a = (cost->n * cost->xy - cost->x * cost->y) / det;
        if (cost->a < 0) {
            cost->a = 0;
        }
    }
    /* Otherwise all measurements have about the same size, which says nothing
     * about the slope: keep the slope and move the line */
    cost->b = (cost->y - cost->a * cost->x) / cost->n;
    if (cost->b < 0) {
        /* Put the line through the origin, so that no size has the cost 0 */
        cost->b = 0;
        cost->a = cost->xy / cost->xx;
    }
}

ucs_rcache_pred_time_t
ucs_rcache_pred_cost_estimate(const ucs_rcache_pred_cost_t *cost, size_t pages)
{
    return cost->a * pages + cost->b;
}
