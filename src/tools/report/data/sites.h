/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SITES_H_
#define PREDREG_SITES_H_

#include "symbols.h"

#include <tools/replay/account/result.h>

BEGIN_C_DECLS

/** @file sites.h
 *
 * The places in a program that communications are called from, over all ranks.
 * Addresses differ from rank to rank; places are the same if the functions on
 * the way to them are.
 */

/** Frames of a call path that are named. */
#define PREDREG_SITES_MAX_FRAMES 48

typedef struct predreg_place {
    char       *key;      /**< What tells it apart: kind and path */
    const char *kind;     /**< "send", "receive", ... */
    const char *path;     /**< All functions, innermost first, a line each; in
                               the key */
    char       *function; /**< Innermost one outside communication libraries;
                               module+0xoffset if it has no name */
    char       *source;   /**< Where in it, "file:line"; empty: not known */
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

/** Add those of a rank.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_sites_add(predreg_sites_t *sites,
                               const ucs_rcache_trace_t *trace,
                               const predreg_replay_result_t *result);

/** Put those first that most is waited at, of equal ones those that use most
 *  memory. The last call: none can be added any more.
 *  @return number of places. */
unsigned predreg_sites_sort(predreg_sites_t *sites,
                            const predreg_place_t **places_p);

/** What was asked for names. */
const predreg_symbols_t *predreg_sites_symbols(const predreg_sites_t *sites);

END_C_DECLS

#endif
