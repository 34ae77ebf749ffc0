/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fit.h"

#include <ucs/rcache_pred/predict/cost.h>

#include <ucs/sys/math.h>

/* If the spread of the sizes is a smaller part of sum(x^2) than this, they
 * differ too little to say what a page costs. The same number is in
 * src/ucs/rcache_pred/predict/cost.c */
#define MIN_SPREAD 1e-6



void predreg_fit_add(predreg_fit_t *fit, uint64_t address, uint64_t length,
                     uint64_t time)
{
    double pages = ucs_rcache_pred_pages(address, length, PREDREG_PAGE_SIZE);

    fit->n  += 1;
    fit->x  += pages;
    fit->y  += time;
    fit->xx += pages * pages;
    fit->xy += pages * time;
}

static double spread_of(const predreg_fit_t *fit)
{
    return (fit->n * fit->xx) - (fit->x * fit->x);
}

int predreg_fit_knows_page(const predreg_fit_t *fit)
{
    return spread_of(fit) > MIN_SPREAD * fit->n * fit->xx;
}

int predreg_fit_line(const predreg_fit_t *fit, const predreg_cost_t *guess,
                     predreg_cost_t *cost)
{
    *cost = *guess;
    if (fit->n == 0) {
        return 0;
    }

    if (predreg_fit_knows_page(fit)) {
        cost->page = ucs_max(((fit->n * fit->xy) - (fit->x * fit->y)) /
                             spread_of(fit), 0.);
    }

    cost->op = (fit->y - (cost->page * fit->x)) / fit->n;
    if (cost->op < 0) {
        cost->op   = 0;
        cost->page = fit->xy / fit->xx;
    }

    return 1;
}
