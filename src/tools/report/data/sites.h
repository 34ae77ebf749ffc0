/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SITES_H_
#define PREDREG_SITES_H_

#include "symbols.h"

#include <tools/replay/account/account.h>

BEGIN_C_DECLS

/** @file sites.h
 *
 * The places in a program that communications are called from, added up over
 * all ranks. Addresses differ from rank to rank, so two sites are the same
 * place if the functions on their call paths are the same.
 */

/** How many frames of a call path are named, at most. */
#define PREDREG_SITES_MAX_FRAMES 48

typedef struct predreg_place {
    char       *key;      /**< Identifies the place: kind and path */
    const char *kind;     /**< "send", "receive", ... */
    const char *path;     /**< All functions of the call path, innermost first,
                               each on a line; part of the key */
    char       *function; /**< Innermost function outside of communication
                               libraries; module+0xoffset if it has no name */
    char       *source;   /**< Where in the function, "file:line"; empty: not
                               known */
    uint64_t   uses;
    uint64_t   hits;
    uint64_t   late;
    uint64_t   waited;    /**< On the critical path, ns */
    double     byte_seconds;
} predreg_place_t;

typedef struct predreg_sites predreg_sites_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_sites_create(predreg_sites_t **sites_p);
void predreg_sites_destroy(predreg_sites_t *sites);

/** Add the call sites of a rank.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_sites_add(predreg_sites_t *sites,
                               const ucs_rcache_trace_t *trace,
                               const predreg_replay_result_t *result);

/** Sort the places by how long the program waits at them, longest first, and
 *  places with equal waits by their memory. After this no rank can be added.
 *  @return the number of places. */
unsigned predreg_sites_sort(predreg_sites_t *sites,
                            const predreg_place_t **places_p);

/** @return the symbols that the names of functions were taken from. */
const predreg_symbols_t *predreg_sites_symbols(const predreg_sites_t *sites);

END_C_DECLS

#endif
