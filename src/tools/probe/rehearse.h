/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROBE_REHEARSE_H_
#define PREDREG_PROBE_REHEARSE_H_

#include "ucx.h"

BEGIN_C_DECLS

/** @file rehearse.h
 *
 * Starts UCX as a program does that exchanges messages. With the library
 * preloaded, the library says itself what it will do. */

/** Say how UCP would choose its protocols by the configuration that a program
 *  gets here, without starting it. */
void predreg_probe_protocols(const predreg_probe_ucx_t *ucx);

/**
 * Initialise UCP and a worker, say how UCP chooses its protocols and how much is
 * pinned then, and end both.
 *
 * @param [in] managed  NULL, or names of memory domains that are managed, with a
 *                      comma after each: then say instead of the worker what
 *                      small sends cost, if UCP uses one of these.
 */
void predreg_probe_rehearse(const predreg_probe_ucx_t *ucx,
                            const char *managed);

END_C_DECLS

#endif
