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
 * Transport interfaces on managed memory domains. Some of their operations are
 * replaced by ours, which understand the handles of memory that is registered
 * in pieces (pieces_memh.h) and pass everything else on. See README.md for the
 * files behind this one.
 */

/**
 * Replace the operations of a new interface, until it is closed. Thread safe;
 * nobody may use the interface meanwhile.
 *
 * @param [in] worker  The worker that the interface was opened on.
 * @param [in] env     Copied.
 * @return UCS_ERR_UNSUPPORTED if it has an operation that could be handed a
 *         pieces handle and does not understand it; UCS_ERR_EXCEEDS_LIMIT if
 *         there are too many interfaces. It is left as it is then, and pieces
 *         handles must not be given out in its domain.
 */
ucs_status_t uct_predreg_iface_wrap(uct_iface_h iface, uct_worker_h worker,
                                    const uct_predreg_env_t *env);

/** In a forked child: none of the parent's interfaces is here. */
void uct_predreg_ifaces_reset(void);

#endif
