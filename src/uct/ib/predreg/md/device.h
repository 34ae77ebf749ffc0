/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_DEVICE_H_
#define UCT_PREDREG_DEVICE_H_

#include "types.h"

#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>
#include <uct/ib/predreg/compat/uct_v2.h>

BEGIN_C_DECLS

/** @file device.h
 *
 * Memory of devices, such as GPUs, in a managed domain. It is no memory of the
 * host that could be saved, and costs much to register, so it stays registered
 * until it is freed, as in the cache of UCX that is switched off in a managed
 * domain: in a cache of the same kind, one for each domain. It counts against
 * no bound.
 *
 * Any thread may call the functions that register; they may block. The domain
 * is opened and closed under core.lock.
 */

/** Make the cache of a domain. @return NULL if it cannot be made, because UCM
 *  does not tell when memory is freed, or there is no memory. */
uct_predreg_devices_t *uct_predreg_devices_create(uct_predreg_domain_t *domain,
                                                  const char *name);

/** Deregister all memory, and forget the cache; NULL: do nothing. */
void uct_predreg_devices_destroy(uct_predreg_devices_t *devices);

/** Begin a use of memory of a device. */
ucs_status_t uct_predreg_devices_reg(uct_predreg_devices_t *devices,
                                     void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p);

/** End a use. The memory stays registered, unless the program invalidates it.
 *  @return UCS_ERR_NO_ELEM if the handle is not one of this cache. */
ucs_status_t
uct_predreg_devices_dereg(uct_predreg_devices_t *devices,
                          const uct_md_mem_dereg_params_t *params);

END_C_DECLS

#endif
