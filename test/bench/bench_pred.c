/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_pred.h"
#include "bench_util.h"
#include "uring_reg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Entries of the deregistration queue, where that is enough: the library's
 * default. A larger one costs more cache misses. */
#define BENCH_DQ_SIZE 1024


static ucs_status_t bench_ops_mem_reg(void *domain_arg, void *address,
                                      size_t length, unsigned flags,
                                      void **memh_p)
{
    return uring_reg(address, length, memh_p);
}

static ucs_status_t bench_ops_mem_dereg(void *domain_arg, void *memh)
{
    return uring_dereg(memh);
}

static const ucs_rcache_pred_ops_t bench_ops = {
    .now       = ucs_rcache_pred_thread_now,
    .wait      = ucs_rcache_pred_thread_wait,
    .wake      = ucs_rcache_pred_thread_wake,
    .mem_reg   = bench_ops_mem_reg,
    .mem_dereg = bench_ops_mem_dereg
};

void bench_pred_hold(bench_pred_t *self, unsigned first, unsigned count)
{
    unsigned i;

    for (i = first; i < (first + count); ++i) {
        BENCH_CHECK(ucs_rcache_pred_begin(self->domain,
                                          self->regions[i].address,
                                          self->regions[i].length, 0,
                                          &self->context,
                                          &self->regions[i].memh));
    }
}

void bench_pred_release(bench_pred_t *self, unsigned first, unsigned count)
{
    unsigned i;

    for (i = first; i < (first + count); ++i) {
        BENCH_CHECK(ucs_rcache_pred_end(self->domain, self->regions[i].memh));
    }
}

void bench_pred_poll(bench_pred_t *self)
{
    /* A round takes so many entries; as long as it leaves some, the next one is
     * due at once */
    while (ucs_rcache_pred_poll(self->pred) <=
           ucs_rcache_pred_thread_now(self->thread)) {
    }
}

void bench_pred_drain(bench_pred_t *self)
{
    bench_pred_hold(self, 0, self->num_regions);
    bench_pred_poll(self);
    bench_pred_release(self, 0, self->num_regions);
}

void bench_pred_init(bench_pred_t *self, bench_region_t *regions,
                     unsigned num_regions, unsigned max_uses,
                     const ucs_rcache_pred_sink_t *sink)
{
    ucs_rcache_pred_params_t params = {
        .ops         = &bench_ops,
        .sink        = sink,
        .policy      = UCS_RCACHE_PRED_POLICY_PREDICT,
        .budget      = INFINITY,
        .history     = 8,
        .max_sites   = 16384,
        .known_regions = 8192,
        .max_bytes     = UINT64_MAX,
        .max_regions   = UINT64_MAX,
        .dq_size     = BENCH_DQ_SIZE
    };

    /* Besides the timed uses, the uses that hold the regions end as well */
    while (params.dq_size < (num_regions + max_uses)) {
        params.dq_size *= 2;
    }

    memset(self, 0, sizeof(*self));
    self->regions        = regions;
    self->num_regions    = num_regions;
    self->context.caller = (uintptr_t)bench_pred_init;
    self->context.stack  = (uintptr_t)&params;
    BENCH_CHECK(ucs_rcache_pred_thread_create(&self->thread));
    params.arg           = self->thread;
    BENCH_CHECK(ucs_rcache_pred_create(&params, &self->pred));
    BENCH_CHECK(ucs_rcache_pred_domain_create(self->pred, "uring", NULL,
                                              &self->domain));
    bench_pred_hold(self, 0, num_regions);
    bench_pred_release(self, 0, num_regions);
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
