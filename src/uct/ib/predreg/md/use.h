/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_USE_H_
#define UCT_PREDREG_USE_H_

#include "types.h"

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file use.h
 *
 * The begin and the end of uses of memory: the registrations and
 * deregistrations that UCP asks a domain of the table for. Those of managed
 * domains go to the cache, those of watched domains to UCX. The overridden
 * functions of UCT call these functions on any thread, see entry.h.
 */

ucs_status_t uct_predreg_mem_reg(uct_predreg_domain_t *domain, void *address,
                                 size_t length, unsigned flags,
                                 uct_predreg_purpose_t purpose,
                                 uct_mem_h *memh_p);

/** The same through UCT's second interface, where something besides flags is asked
 *  for: memory of a device, by its type or its dmabuf. */
ucs_status_t
uct_predreg_device_mem_reg(uct_predreg_domain_t *domain, void *address,
                           size_t length, const uct_md_mem_reg_params_t *params,
                           uct_predreg_purpose_t purpose, uct_mem_h *memh_p);

ucs_status_t uct_predreg_mem_dereg(uct_predreg_domain_t *domain,
                                   const uct_md_mem_dereg_params_t *params);

/** The same for a domain that is not in the table. UCX deregisters, unless the
 *  handle is a pieces handle that a forked child has inherited: its copy is
 *  freed, and the use goes on in the parent. */
ucs_status_t
uct_predreg_unknown_mem_dereg(uct_predreg_core_t *core, uct_md_h md,
                              const uct_md_mem_dereg_params_t *params);

END_C_DECLS

#endif
