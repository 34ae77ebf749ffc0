/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_DOMAIN_H_
#define TEST_NATIVE_DOMAIN_H_

#include "settings.h"
#include "uct_v2.h"

#include <uct/api/uct.h>

/** @file domain.h
 *
 * Domains of cma in the native rig, in which memory is registered as in a domain
 * of ib of the same version of UCX (ib_md.c): up to 1.15 with a cache of the
 * domain (cache.h), which keeps it registered, or at each use; from 1.16 on at
 * each use, since UCP has the cache. Where a domain of ib calls verbs, it is
 * pinned (pin.h).
 *
 * Any thread may call these functions, those that register as UCX permits it
 * for a domain of ib.
 */

typedef struct domain domain_t;


/** Enter a domain of cma that was opened with these settings.
 *  @return UCS_ERR_UNSUPPORTED if none of their methods works. */
ucs_status_t domain_add(uct_md_h md, const settings_t *settings);

/** @return the domain, or NULL if it is not one of cma. Takes no lock. */
domain_t *domain_find(uct_md_h md);

/** A domain is about to be closed: release all its memory. */
void domain_remove(domain_t *domain);

/** Say in the attributes of the domain that it needs registered memory, and what
 *  that costs. */
void domain_query(const domain_t *domain, uct_md_attr_t *attr);

#if UCT_API >= UCT_VERSION(1, 14)
/** Likewise, in those attributes that are asked for, which must be filled in. */
void domain_query_v2(const domain_t *domain, attr_v2_t *attr);
#endif

/** The flags are those of uct_md_mem_reg(). */
ucs_status_t domain_mem_reg(domain_t *domain, void *address, size_t length,
                            uint64_t flags, uct_mem_h *memh_p);

ucs_status_t domain_mem_dereg(domain_t *domain,
                              const uct_md_mem_dereg_params_t *params);

#endif
