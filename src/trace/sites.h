/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORD_SITES_H_
#define UCS_RCACHE_RECORD_SITES_H_

#include "writer.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file sites.h
 *
 * Where communications come from, for the symbols in a report: the call stacks
 * of the program ("sites"), and the program and libraries ("modules") that have
 * the code of these stacks. The stack of a place is unwound once, in the
 * program's own thread, when the first communication comes from there; each
 * later communication costs one look into a table.
 *
 * Threads: any number of threads may note sites, and one at a time takes them
 * out. Uses writer.h and ucs/base; recorder.c calls it.
 */

typedef struct ucs_rcache_record_sites ucs_rcache_record_sites_t;


/**
 * Create the table, and load the library that unwinding needs. Pages of the
 * table are touched only as sites are added.
 *
 * @param [in] max  The number of sites for which the table has room, a power of
 *                  2; later sites are left out.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t
ucs_rcache_record_sites_create(unsigned max,
                               ucs_rcache_record_sites_t **sites_p);

/** Free the table. No thread may use it any more. */
void ucs_rcache_record_sites_destroy(ucs_rcache_record_sites_t *sites);

/**
 * Note the site of a communication. Called by the thread that communicates, with
 * the caller of the communication on the stack. Lock-free. For a new site, the
 * stack is unwound, which may take some microseconds.
 *
 * @return whether the site is new, and is in the table now.
 */
int ucs_rcache_record_sites_note(ucs_rcache_record_sites_t *sites,
                                 const ucs_rcache_pred_context_t *context);

/** Take out the next site. @return NULL if all sites were taken out. The site
 *  is valid as long as the table exists. */
const ucs_rcache_trace_site_t *
ucs_rcache_record_sites_next(ucs_rcache_record_sites_t *sites);

/** @return whether the table has no room for further sites. Any thread. */
int ucs_rcache_record_sites_is_full(ucs_rcache_record_sites_t *sites);


typedef struct ucs_rcache_record_modules ucs_rcache_record_modules_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t
ucs_rcache_record_modules_create(ucs_rcache_record_modules_t **modules_p);

void ucs_rcache_record_modules_destroy(ucs_rcache_record_modules_t *modules);

/**
 * Put all modules into the trace that are mapped now and that no earlier call
 * has put. Does not allocate. From the 1025th module on, modules are left out.
 * One thread at a time.
 */
void ucs_rcache_record_modules_put(ucs_rcache_record_modules_t *modules,
                                   ucs_rcache_trace_writer_t *writer);

END_C_DECLS

#endif
