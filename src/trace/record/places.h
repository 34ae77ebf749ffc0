/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORD_PLACES_H_
#define UCS_RCACHE_RECORD_PLACES_H_

#include <ucs/rcache_pred/api/context.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file places.h
 *
 * The names (trace/profile/name.h) of the places in this process that communications were
 * called from. A place gets its name when a communication from there is noted for the first
 * time, in the program's own thread; to note a later one costs one look into a table. Who
 * knows by other means that a place has its name need not note it again.
 *
 * Uses sites.h, modules.h, trace/profile/name.h and khash of UCS; the core of
 * uct/ib/predreg calls it.
 */

typedef struct ucs_rcache_record_places ucs_rcache_record_places_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t
ucs_rcache_record_places_create(ucs_rcache_record_places_t **places_p);

/** Free the names. No thread may use them any more. */
void ucs_rcache_record_places_destroy(ucs_rcache_record_places_t *places);

/**
 * Note the place of a communication. Called by the thread that issues it, with its caller on
 * the stack, as ucs_rcache_record_sites_note(). Any number of threads. If the place is not
 * known yet, this may wait for the dynamic loader.
 */
void ucs_rcache_record_places_note(ucs_rcache_record_places_t *places,
                                   const ucs_rcache_pred_context_t *context);

/**
 * @return the name of the place of a communication that was noted; 0 if it has none: there
 *         are too many places, or no memory, or another thread is about to name it.
 *         Any thread. Waits for nothing but other such looks.
 */
uint64_t
ucs_rcache_record_places_name(ucs_rcache_record_places_t *places,
                              const ucs_rcache_pred_context_t *context);

END_C_DECLS

#endif
