/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "error.h"
#include "content.h"

#include <ucs/debug/log_def.h>

#include <stdarg.h>
#include <stdio.h>


ucs_status_t trace_error(const trace_source_t *source, size_t place,
                         const char *format, ...)
{
    char message[256];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);

    ucs_error("%s: %s %zu: %s", source->name, source->unit, place, message);
    return UCS_ERR_INVALID_PARAM;
}

ucs_status_t trace_check_version(const trace_source_t *source,
                                 uint64_t version)
{
    if ((version == 0) || (version > UCS_RCACHE_TRACE_VERSION)) {
        ucs_error("%s: a trace of version %lu; accepted are versions up to %u",
                  source->name, (unsigned long)version,
                  UCS_RCACHE_TRACE_VERSION);
        return UCS_ERR_UNSUPPORTED;
    }

    return UCS_OK;
}
