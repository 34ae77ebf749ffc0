/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"

#include <ucs/rcache_pred/table/known.h>

#include <ucs/sys/math.h>

#include <math.h>

/*
 * How long the helper's work takes: registrations and deregistrations as fitted
 * for each domain, and the helper's own steps as measured.
 */


/* Where the program does the helper's work, and no budget alone bounds what that costs, a
 * region has to stay deregistered for this many times the cost of the registration and the
 * deregistration. So they take at most 1/64 of the region's period, 1.6 %, from the program,
 * even if all of them are on its critical path. The factor is not the paper's */
#define OWN_MARGIN 64

/* Each measurement changes a cost by this part of the difference, 1/8 */
#define COST_FADE 8

/* The helper remembers the delay of a sleep that ended late. The remembered delay falls
 * by this part, 1/16, with each sleep that ends less late. It is WAKEUP_MAX at most, ns,
 * so that one long stall does not keep all regions registered. */
#define WAKEUP_FADE 16
#define WAKEUP_MAX  5000000

/* A sleep that ends so late, ns, tells that the helper's processor is shared, see seat.c.
 * Measured, sleeps of 0.5 ms of a SCHED_BATCH thread (AMD EPYC, Linux 6.18, 250 Hz): on an
 * idle processor 0.2 % end more than 1 ms late, beside a thread that computes 99.8 %,
 * 3.5 ms on average */
#define LATE_TIME 1000000


/* Whether OWN_MARGIN counts: the program does the work, and there is no budget; or the
 * process has to keep a bound, or one of the node or of the system is full. Then what it
 * gives up costs more than the budget counts: there may be no room when the region is
 * needed again */
static int has_own_margin(const ucs_rcache_pred_t *pred)
{
    return (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_PROGRESS) &&
           (isinf(pred->params.budget) || (pred->bound.max_bytes != UINT64_MAX) ||
            (pred->params.max_regions != UINT64_MAX) ||
            (pred->rounds.last < pred->rounds.full));
}

void pred_range_times(ucs_rcache_pred_t *pred, const ucs_rcache_pred_region_t *region,
                      const ucs_rcache_pred_range_t *range,
                      ucs_rcache_pred_times_t *times)
{
    const ucs_rcache_pred_domain_t *domain = region->extent.domain;
    size_t pages                           = pred_pages(pred, range);

    *times        = pred->rounds.times;
    times->reg    = ucs_rcache_pred_cost_estimate(&domain->reg_cost, &region->own_reg,
                                                  pages);
    times->reg   += pred->shortage.page_time * pages;
    times->dereg  = ucs_rcache_pred_cost_estimate(&domain->dereg_cost, &region->own_dereg,
                                                  pages);
    times->margin = (times->reg + times->dereg) *
                    (has_own_margin(pred) ? OWN_MARGIN : 1);
}

void pred_region_times(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_times_t *times)
{
    ucs_rcache_pred_range_t expected = ucs_rcache_pred_region_expected(region);

    pred_range_times(pred, region, &expected, times);
}

void pred_step_begin(ucs_rcache_pred_t *pred)
{
    pred->rounds.now          = pred_now(pred);
    pred->rounds.outside_step = pred->rounds.outside;
}

void pred_step_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t *cost)
{
    pred_rounds_t *rounds        = &pred->rounds;
    ucs_rcache_pred_time_t begin = rounds->now + rounds->outside -
                                   rounds->outside_step;

    pred_step_begin(pred);
    *cost = (*cost * (COST_FADE - 1) + pred_elapsed(begin, rounds->now)) /
            COST_FADE;
}

void pred_measure_wakeup(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t *wakeup = &pred->rounds.times.wakeup;
    ucs_rcache_pred_time_t late;

    if (now < pred->rounds.next) {
        return; /* Somebody has woken the helper early */
    }

    late            = now - pred->rounds.next;
    pred->seat.late = (late < LATE_TIME) ? 0 : (pred->seat.late + 1);
    *wakeup        -= *wakeup / WAKEUP_FADE;
    *wakeup         = ucs_min(ucs_max(*wakeup, late),
                              (ucs_rcache_pred_time_t)WAKEUP_MAX);
}
