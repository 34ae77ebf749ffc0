/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_EAGER_COSTS_H_
#define PREDREG_COMMON_EAGER_COSTS_H_

#include <trace/trace.h>
#include <ucs/reuse/costs.h>

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file eager_costs.h
 *
 * What small sends take on the machine where a trace was recorded: the recorded process
 * has measured it. report and replay call this.
 */

/**
 * @param [out] costs  Undefined unless they were found.
 * @return NULL, or why they were not found.
 */
const char *predreg_eager_costs_find(const ucs_rcache_trace_t *trace,
                                     ucs_reuse_costs_t *costs);
END_C_DECLS

#endif
