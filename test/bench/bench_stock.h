/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_BENCH_BENCH_STOCK_H_
#define TEST_BENCH_BENCH_STOCK_H_

#include <ucp/api/ucp_version.h>
#include <ucs/memory/rcache.h>

/** @file bench_stock.h
 *
 * The registration cache of the installed UCX over bench_reg.h, set up as the
 * InfiniBand memory domain sets it up by default.
 */

typedef struct bench_stock_region {
    ucs_rcache_region_t super;
    void                *memh;
} bench_stock_region_t;


/** @return The cache, or the program ends. */
ucs_rcache_t *bench_stock_create(void);

/** Registrations made by the cache since the program started. */
unsigned bench_stock_num_regs(void);

static inline ucs_status_t
bench_stock_get(ucs_rcache_t *rcache, void *address, size_t length,
                ucs_rcache_region_t **region_p)
{
#if UCP_API_VERSION >= UCP_VERSION(1, 17)
    return ucs_rcache_get(rcache, address, length, UCS_PGT_ADDR_ALIGN,
                          PROT_READ | PROT_WRITE, NULL, region_p);
#else
    return ucs_rcache_get(rcache, address, length, PROT_READ | PROT_WRITE,
                          NULL, region_p);
#endif
}

#endif
