/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_pred.h"
#include "bench_reg.h"
#include "bench_util.h"

#include <ucs/rcache_pred/cache/lanes.h>

#include <inttypes.h>
#include <string.h>

/* Entries of the deregistration queue, where that is enough: the library's
 * default. A larger one costs more cache misses. */
#define BENCH_DQ_SIZE 1024


/* How many regions are registered from one round of the helper to the next */
#define BENCH_INIT_STEPS 512


static ucs_rcache_pred_time_t bench_ops_now(void *arg)
{
    const bench_pred_t *self = arg;

    return ucs_rcache_pred_thread_now(self->thread) + self->leaps;
}

static void bench_ops_wait(void *arg, ucs_rcache_pred_time_t until)
{
}

static void bench_ops_wake(void *arg)
{
}

static ucs_status_t bench_ops_mem_reg(void *domain_arg, void *address,
                                      size_t length, unsigned flags,
                                      void **memh_p)
{
    return bench_reg(address, length, memh_p);
}

static ucs_status_t bench_ops_mem_dereg(void *domain_arg, void *memh)
{
    return bench_dereg(memh);
}

static const ucs_rcache_pred_ops_t bench_ops = {
    .now       = bench_ops_now,
    .wait      = bench_ops_wait,
    .wake      = bench_ops_wake,
    .mem_reg   = bench_ops_mem_reg,
    .mem_dereg = bench_ops_mem_dereg
};

void bench_pred_drain(bench_pred_t *self)
{
    ucs_rcache_pred_time_t now, quiet_until;

    /* A round takes so many entries, and begins a pause */
    while (!pred_dq_is_empty(self->pred)) {
        now          = bench_ops_now(self);
        quiet_until  = self->pred->rounds.quiet_until;
        self->leaps += ucs_max(now, quiet_until) - now;
        (void)ucs_rcache_pred_poll(self->pred);
    }
}

/* Begin and end a use of each region, which registers it */
static void bench_pred_register(bench_pred_t *self,
                                const bench_region_t *regions)
{
    unsigned i;
    void *memh;

    for (i = 0; i < self->num_regions; ++i) {
        BENCH_CHECK(ucs_rcache_pred_begin(self->domain, regions[i].address,
                                          regions[i].length, 0, &self->context,
                                          &memh));
        BENCH_CHECK(ucs_rcache_pred_end(self->domain, memh));
        if (i % BENCH_INIT_STEPS == 0) {
            bench_pred_drain(self);
        }
    }
    bench_pred_drain(self);
}

void bench_pred_init(bench_pred_t *self, const bench_region_t *regions,
                     unsigned num_regions, unsigned max_uses,
                     const ucs_rcache_pred_sink_t *sink)
{
    ucs_rcache_pred_params_t params = {
        .ops         = &bench_ops,
        .sink        = sink,
        .policy      = UCS_RCACHE_PRED_POLICY_PREDICT,
        .budget      = 0,
        .history     = 8,
        .max_sites   = 16384,
        .known_regions = 8192,
        .max_bytes     = UINT64_MAX,
        .max_regions   = UINT64_MAX,
        .dq_size     = BENCH_DQ_SIZE
    };

    while (params.dq_size < max_uses) {
        params.dq_size *= 2;
    }

    memset(self, 0, sizeof(*self));
    self->num_regions    = num_regions;
    self->context.caller = (uintptr_t)bench_pred_init;
    self->context.stack  = (uintptr_t)&params;
    BENCH_CHECK(ucs_rcache_pred_thread_create(&self->thread));
    params.arg           = self;
    BENCH_CHECK(ucs_rcache_pred_create(&params, &self->pred));
    BENCH_CHECK(ucs_rcache_pred_domain_create(self->pred, "uring", NULL,
                                              &self->domain));
    bench_pred_register(self, regions);
}

void bench_pred_cleanup(bench_pred_t *self)
{
    ucs_rcache_pred_stats_t stats;

    ucs_rcache_pred_get_stats(self->pred, &stats);
    if (((stats.uses - stats.hits) != self->num_regions) ||
        (stats.regs_critical != self->num_regions) ||
        (stats.dq_dropped != 0)) {
        fprintf(stderr,
                "not a benchmark of hits: %" PRIu64 " uses, %" PRIu64
                " hits, %" PRIu64 " registrations, %" PRIu64
                " entries lost, with %u regions\n",
                stats.uses, stats.hits, stats.regs_critical, stats.dq_dropped,
                self->num_regions);
        exit(1);
    }

    ucs_rcache_pred_domain_destroy(self->domain);
    ucs_rcache_pred_destroy(self->pred);
    ucs_rcache_pred_thread_destroy(self->thread);
}
