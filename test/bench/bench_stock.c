/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_reg.h"
#include "bench_stock.h"
#include "bench_util.h"

#include <ucm/api/ucm.h>

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* A cache line, UCX's default */
#define BENCH_RCACHE_ALIGNMENT 64

static unsigned num_regs;


static ucs_status_t stock_mem_reg(void *context, ucs_rcache_t *rcache,
                                  void *arg, ucs_rcache_region_t *region,
                                  uint16_t flags)
{
    bench_stock_region_t *self = (bench_stock_region_t*)region;

    ++num_regs;
    return bench_reg((void*)region->super.start,
                     region->super.end - region->super.start, &self->memh);
}

static void stock_mem_dereg(void *context, ucs_rcache_t *rcache,
                            ucs_rcache_region_t *region)
{
    BENCH_CHECK(bench_dereg(((bench_stock_region_t*)region)->memh));
}

static void stock_dump_region(void *context, ucs_rcache_t *rcache,
                              ucs_rcache_region_t *region, char *buf,
                              size_t max)
{
    snprintf(buf, max, "slot %p", ((bench_stock_region_t*)region)->memh);
}

static const ucs_rcache_ops_t stock_ops = {
    .mem_reg     = stock_mem_reg,
    .mem_dereg   = stock_mem_dereg,
    .dump_region = stock_dump_region
};

ucs_rcache_t *bench_stock_create(void)
{
    /* Defaults of UCX_IB_RCACHE_*, see uct_md_set_rcache_params of UCX */
    ucs_rcache_params_t params = {
        .region_struct_size = sizeof(bench_stock_region_t),
#if UCP_API_VERSION < UCP_VERSION(1, 17)
        .alignment          = BENCH_RCACHE_ALIGNMENT,
        .max_alignment      = sysconf(_SC_PAGESIZE),
#endif
        .ucm_events         = UCM_EVENT_VM_UNMAPPED,
        .ucm_event_priority = 1000,
        .ops                = &stock_ops,
        .flags              = UCS_RCACHE_FLAG_PURGE_ON_FORK,
        .max_regions        = ULONG_MAX,
        .max_size           = SIZE_MAX,
        .max_unreleased     = 512ul << 20
    };
    ucs_rcache_t *rcache;

    BENCH_CHECK(ucs_rcache_create(&params, "bench", NULL, &rcache));
    return rcache;
}

unsigned bench_stock_num_regs(void)
{
    return num_regs;
}
