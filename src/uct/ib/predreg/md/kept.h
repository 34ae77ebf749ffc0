/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_KEPT_H_
#define UCT_PREDREG_KEPT_H_

#include "types.h"

#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>
#include <uct/ib/predreg/compat/uct_v2.h>

BEGIN_C_DECLS

/** @file kept.h
 *
 * Memory that stays registered until it is freed, because nothing would be won by
 * deregistering it and its registration is dear. In a managed domain that is
 * memory of devices, such as GPUs, also by its dmabuf; memory that is registered
 * without pinning it; and, where nobody tells it from that of devices
 * (UCX_MEMTYPE_CACHE=n), memory of the host. In some domains that are not managed
 * (@ref uct_predreg_compat_t), such as those of knem and cuda_ipc, it is all. UCX
 * keeps it in a cache that is switched off for the sake of the managed domains;
 * this is a cache of the same kind and settings, one for each domain. The memory
 * counts against no bound of ours.
 *
 * Any thread may call the functions that register; they may block. The domain
 * is opened and closed under core.lock.
 */

/** Make the cache of a domain. @return NULL if it cannot be made, because UCM
 *  does not tell when memory is freed, or there is no memory. */
uct_predreg_kept_t *uct_predreg_kept_create(uct_predreg_domain_t *domain);

/** @return the cache of a domain; NULL: the domain has none. Any thread may call
 *          this, and the next one. */
uct_predreg_kept_t *uct_predreg_kept_of(uct_predreg_domain_t *domain);

/** @return the cache of a domain; that of a managed domain is made by the first call,
 *          under core.lock. NULL: the domain has none, or it could not be made, which is
 *          said once. */
uct_predreg_kept_t *uct_predreg_kept_need(uct_predreg_domain_t *domain);

/** Deregister all memory, and forget the cache; NULL: do nothing. */
void uct_predreg_kept_destroy(uct_predreg_kept_t *kept);

/**
 * Begin a use.
 *
 * @param [in] params  What it asks for besides flags, as a dmabuf, see @ref
 *                     uct_predreg_compat_is_of_device; NULL: nothing. If what the
 *                     cache would register is not all in the dmabuf, as where it is
 *                     one with other memory, exactly what is asked for is registered,
 *                     for this use alone.
 * @return what the registration returned, if it takes one.
 */
ucs_status_t uct_predreg_kept_reg(uct_predreg_kept_t *kept, void *address,
                                  size_t length, unsigned flags,
                                  const uct_md_mem_reg_params_t *params,
                                  uct_mem_h *memh_p);

/** End a use. The memory stays registered, unless the program invalidates it.
 *  @return UCS_ERR_NO_ELEM if the handle is not one of this cache. */
ucs_status_t uct_predreg_kept_dereg(uct_predreg_kept_t *kept,
                                    const uct_md_mem_dereg_params_t *params);

END_C_DECLS

#endif
