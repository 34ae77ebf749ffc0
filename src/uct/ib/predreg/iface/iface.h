/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_IFACE_H_
#define UCT_PREDREG_IFACE_H_

#include "env.h"

/** @file iface.h
 *
 * Transport interfaces on managed memory domains. This library replaces some of
 * their operations by its own, which understand the handles of memory that is
 * registered in pieces (pieces_memh.h) and pass everything else on. See
 * README.md for the other files of this folder.
 */

/**
 * Replace the operations of a new interface, until it is closed. Thread safe,
 * but nobody may use the interface before this returns.
 *
 * @param [in] worker  The worker that the interface was opened on.
 * @param [in] env     What it needs of UCX and the clock; copied.
 * @return UCS_ERR_UNSUPPORTED if the interface has an operation that could be
 *         handed a pieces handle, would not understand it and is not replaced;
 *         UCS_ERR_NO_MEMORY. In both cases the interface is left as it is, and
 *         pieces handles must not be given out in its domain.
 */
ucs_status_t uct_predreg_iface_wrap(uct_iface_h iface, uct_worker_h worker,
                                    const uct_predreg_env_t *env);

/** In a forked child, where there is no other thread: interfaces that were
 *  wrapped so far are inherited. They can be used and destroyed as those of UCX
 *  can; their transfers in pieces end with UCS_ERR_CANCELED, and nothing is
 *  done to the cache and the registrations, which are the parent's. Neither
 *  allocates nor frees. */
void uct_predreg_ifaces_reset(void);

#endif
