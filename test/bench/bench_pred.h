/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_BENCH_BENCH_PRED_H_
#define TEST_BENCH_BENCH_PRED_H_

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/host/thread.h>

#include <stddef.h>

/** @file bench_pred.h
 *
 * The predictive cache over bench_reg.h, with the library's clock but without a
 * helper thread, in a state in which every use is a hit.
 *
 * The deregistration queue has to be emptied from time to time, and that is the
 * moment when the policy deregisters. Here its budget is 0, so that it keeps
 * everything. Without a budget the helper also pauses, and the clock leaps over
 * these pauses: see @ref bench_pred_drain.
 */

typedef struct bench_region {
    void   *address;
    size_t length;
} bench_region_t;

typedef struct bench_pred {
    ucs_rcache_pred_thread_t  *thread;   /* Never started */
    uint64_t                  leaps;     /* How far the clock has leapt, ns.
                                            Written while no use is under way */
    ucs_rcache_pred_t         *pred;
    ucs_rcache_pred_domain_t  *domain;
    ucs_rcache_pred_context_t context;
    unsigned                  num_regions;
} bench_pred_t;


/**
 * Registers all regions.
 *
 * @param [in]  max_uses  Uses ended between two calls of bench_pred_drain.
 * @param [in]  sink      Told of what happens, or NULL.
 */
void bench_pred_init(bench_pred_t *self, const bench_region_t *regions,
                     unsigned num_regions, unsigned max_uses,
                     const ucs_rcache_pred_sink_t *sink);

/** Ends the program if any use was not a hit, or any entry was lost. */
void bench_pred_cleanup(bench_pred_t *self);

/** Empty the queue between timed parts. No other thread may use the cache
 *  meanwhile. */
void bench_pred_drain(bench_pred_t *self);

#endif
