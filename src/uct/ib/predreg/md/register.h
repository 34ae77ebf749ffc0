/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_REGISTER_H_
#define UCT_PREDREG_REGISTER_H_

#include "types.h"

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>
#include <uct/ib/predreg/compat/uct_v2.h>

#include <stdatomic.h>

/** @file register.h
 *
 * Registers memory with a memory domain of UCT, and tells memory of the host
 * from that of devices. The cache registers through a table of operations; the
 * functions that pass a registration on to UCX register directly. One thread
 * at a time is in a domain (domain.h). Any thread may call these functions;
 * they may block in the kernel.
 */

/** The operations by which the cache reads its clock, waits, registers memory,
 *  finds its seat and publishes its counters. Their argument is the state of
 *  the core; that of registrations is the domain. */
extern const ucs_rcache_pred_ops_t uct_predreg_pred_ops;

/** @return whether this is memory of the host. No other memory is managed: see
 *  kept.h. */
int uct_predreg_is_host_memory(const void *address, size_t length);

/** Register memory with the domain exactly as the program asked for it. If the
 *  flags ask for errors to be hidden, nothing is logged of a failure. */
ucs_status_t uct_predreg_pass_mem_reg(uct_predreg_domain_t *domain,
                                      void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p);

/** The same through UCT's second interface, which UCX has from 1.14 on. */
ucs_status_t uct_predreg_pass_mem_reg_v2(uct_predreg_domain_t *domain,
                                         void *address, size_t length,
                                         const uct_md_mem_reg_params_t *params,
                                         uct_mem_h *memh_p);

/**
 * Register any kind of memory with the domain, as above.
 * @return UCS_ERR_NO_MEMORY if there may be no room for it.
 */
ucs_status_t uct_predreg_try_mem_reg(uct_predreg_domain_t *domain,
                                     void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p);

/** Deregister memory with the domain exactly as the program asked for it. */
ucs_status_t
uct_predreg_pass_mem_dereg(uct_predreg_domain_t *domain,
                           const uct_md_mem_dereg_params_t *params);

#endif
