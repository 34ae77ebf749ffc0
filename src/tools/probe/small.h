/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROBE_SMALL_H_
#define PREDREG_PROBE_SMALL_H_

#include "ucx.h"

BEGIN_C_DECLS

/** @file small.h
 *
 * What small sends cost here, measured: registrations, copies, lookups. */

/** Measure with registrations of a memory domain, and say the result. */
void predreg_probe_small_domain(const predreg_probe_ucx_t *ucx, uct_md_h md);

/** Measure with memory handles of a context of UCP, as the library has for
 *  small sends, and say the result. */
void predreg_probe_small_context(const predreg_probe_ucx_t *ucx,
                                 ucp_context_h context);

END_C_DECLS

#endif
