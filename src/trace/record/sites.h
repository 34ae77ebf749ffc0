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
 * The places in the program that communications were called from. Each is
 * unwound once, when it is met for the first time, in the program's own thread;
 * from then on it costs one look into a table.
 *
 * Threads: any number note sites, one takes them out.
 */

typedef struct ucs_rcache_record_sites ucs_rcache_record_sites_t;


/**
 * Loads what unwinding needs. Memory of the table is touched as sites come.
 *
 * @param [in] max  Sites kept, a power of 2; later ones are left out.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t
ucs_rcache_record_sites_create(unsigned max,
                               ucs_rcache_record_sites_t **sites_p);

void ucs_rcache_record_sites_destroy(ucs_rcache_record_sites_t *sites);

/**
 * A communication is being issued. Called by the thread that does, with its
 * caller on the stack. Lock-free; a site that is not known yet is unwound,
 * which may take some microseconds.
 */
void ucs_rcache_record_sites_note(ucs_rcache_record_sites_t *sites,
                                  const ucs_rcache_pred_context_t *context);

/** @return a site that was not taken out yet, or NULL. It stays where it is. */
const ucs_rcache_trace_site_t *
ucs_rcache_record_sites_next(ucs_rcache_record_sites_t *sites);

/** Whether there is no room for sites that are not known yet. Any thread. */
int ucs_rcache_record_sites_is_full(ucs_rcache_record_sites_t *sites);

END_C_DECLS

#endif
