/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FUZZ_TRACE_H_
#define PREDREG_FUZZ_TRACE_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/**
 * Any bytes can be parsed as a trace, or are refused. What was parsed, and was
 * written in either form, is parsed as the same trace.
 *
 * @param [out] parsed_p  Whether it was parsed.
 *
 * @return NULL, or what is wrong.
 */
const char *fuzz_trace(const void *data, size_t size, int *parsed_p);

END_C_DECLS

#endif
