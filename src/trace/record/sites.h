/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORD_SITES_H_
#define UCS_RCACHE_RECORD_SITES_H_

#include <trace/content/content.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file sites.h
 *
 * The places in the program that communications were called from. The stack of
 * each place is unwound once, in the program's own thread, when a communication
 * comes from there for the first time; each later one costs one look into a
 * table.
 *
 * Threads: any number of threads may note sites, and one at a time takes them
 * out. Uses trace/content and ucs/base; recorder.c and file.c call it.
 */

typedef struct ucs_rcache_record_sites ucs_rcache_record_sites_t;


/**
 * Create the table, and load the library that unwinding needs. Pages of the
 * table are touched only as sites are added.
 *
 * @param [in] max  How many sites are kept, a power of 2; later ones are left
 *                  out.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t
ucs_rcache_record_sites_create(unsigned max,
                               ucs_rcache_record_sites_t **sites_p);

/** Free the table. No thread may use it any more. */
void ucs_rcache_record_sites_destroy(ucs_rcache_record_sites_t *sites);

/**
 * Note the site of a communication. Called by the thread that issues it, with
 * the caller of the communication on the stack. Lock-free. If the site is not
 * known yet, the stack is unwound, which may take some microseconds.
 *
 * @return whether it was not known yet, and is in the table now.
 */
int ucs_rcache_record_sites_note(ucs_rcache_record_sites_t *sites,
                                 const ucs_rcache_pred_context_t *context);

/** Take out the next site. @return NULL if there is no further one yet. The
 *  site stays valid as long as the table. */
const ucs_rcache_trace_site_t *
ucs_rcache_record_sites_next(ucs_rcache_record_sites_t *sites);

/** @return whether the table has no room for further sites. Any thread. */
int ucs_rcache_record_sites_is_full(ucs_rcache_record_sites_t *sites);

END_C_DECLS

#endif
