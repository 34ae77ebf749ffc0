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
 * The predictive cache over io_uring's registered buffers, with the library's
 * clock but without a helper thread, in a state in which every use is a hit.
 *
 * The deregistration queue has to be emptied from time to time, and that is the
 * moment when the policy deregisters. Between timed parts all regions are
 * therefore in use while the helper's round is done in @ref bench_pred_drain.
 * The timed part itself finds every region registered and idle.
 */

typedef struct bench_region {
    void   *address;
    size_t length;
    void   *memh;      /**< Of the use that holds the region */
} bench_region_t;

typedef struct bench_pred {
    ucs_rcache_pred_thread_t  *thread;   /* Never started */
    ucs_rcache_pred_t         *pred;
    ucs_rcache_pred_domain_t  *domain;
    ucs_rcache_pred_context_t context;
    bench_region_t            *regions;
    unsigned                  num_regions;
} bench_pred_t;


/**
 * Registers all regions.
 *
 * @param [in]  max_uses  Uses ended between two calls of bench_pred_drain.
 * @param [in]  sink      Told of what happens, or NULL.
 */
void bench_pred_init(bench_pred_t *self, bench_region_t *regions,
                     unsigned num_regions, unsigned max_uses,
                     const ucs_rcache_pred_sink_t *sink);

/** Ends the program if any use was not a hit, or any entry was lost. */
void bench_pred_cleanup(bench_pred_t *self);

/** Empty the queue between timed parts. */
void bench_pred_drain(bench_pred_t *self);

/** The three steps of that, for several threads: each begins uses of some
 *  regions, one thread does the helper's rounds, and then each ends its uses. */
void bench_pred_hold(bench_pred_t *self, unsigned first, unsigned count);
void bench_pred_poll(bench_pred_t *self);
void bench_pred_release(bench_pred_t *self, unsigned first, unsigned count);

#endif
