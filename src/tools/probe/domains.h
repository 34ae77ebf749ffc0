/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROBE_DOMAINS_H_
#define PREDREG_PROBE_DOMAINS_H_

#include "ucx.h"

BEGIN_C_DECLS

/** @file domains.h
 *
 * The memory domains of UCX, and what registrations cost in some of them. */

/** Says what a domain costs. */
typedef void (*predreg_probe_measure_t)(const predreg_probe_ucx_t *ucx,
                                        uct_md_h md);

/**
 * Open each memory domain and say what it is. In one that registers, whose
 * transports need the handles, and whose component is asked for, measure as
 * well.
 *
 * @param [in] components  Names of components, with a comma after each.
 */
void predreg_probe_domains(const predreg_probe_ucx_t *ucx,
                           const char *components,
                           predreg_probe_measure_t measure);

END_C_DECLS

#endif
