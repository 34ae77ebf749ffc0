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

ucs_status_t uct_predreg_mem_dereg(uct_predreg_domain_t *domain,
                                   const uct_md_mem_dereg_params_t *params);

/** Check that a key can be packed for a peer.
 *  @return UCS_ERR_UNSUPPORTED, and the reason is logged, if the handle is a
 *  pieces handle, which has no key. */
ucs_status_t uct_predreg_mkey_check(uct_predreg_domain_t *domain,
                                    uct_mem_h memh);

END_C_DECLS

#endif
