/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORD_MODULES_H_
#define UCS_RCACHE_RECORD_MODULES_H_

#include <trace/format/writer.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file modules.h
 *
 * The program and the libraries that are mapped into this process. Uses
 * trace/format/writer.h; file.c calls it, one thread at a time.
 */

typedef struct ucs_rcache_record_modules ucs_rcache_record_modules_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t
ucs_rcache_record_modules_create(ucs_rcache_record_modules_t **modules_p);

/** Free what is known of the modules. */
void ucs_rcache_record_modules_destroy(ucs_rcache_record_modules_t *modules);

/**
 * Put those modules into the trace that are mapped now and were not put before.
 * Does not allocate; of more than 1024 modules in all, the last ones are left
 * out.
 */
void ucs_rcache_record_modules_put(ucs_rcache_record_modules_t *modules,
                                   ucs_rcache_trace_writer_t *writer);

/**
 * @return all modules that were found so far, those that were unloaded since included.
 *         The list is valid until the next call.
 *
 * @param [in] is_anew  Whether to look for modules that are mapped now; else none are
 *                      found but those of the last look.
 */
const ucs_rcache_trace_module_t *
ucs_rcache_record_modules_list(ucs_rcache_record_modules_t *modules,
                               int is_anew, unsigned *num_p);

END_C_DECLS

#endif
