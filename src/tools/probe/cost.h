/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROBE_COST_H_
#define PREDREG_PROBE_COST_H_

#include "ucx.h"

BEGIN_C_DECLS

/** @file cost.h
 *
 * What a registration costs here, measured. */

/** How often a buffer is registered and deregistered; the first time does not
 *  count. */
#define PREDREG_PROBE_REPEAT 21

/** Register and deregister a small and a large buffer and say what each of both
 *  costs. */
void predreg_probe_cost(const predreg_probe_ucx_t *ucx, uct_md_h md);

END_C_DECLS

#endif
