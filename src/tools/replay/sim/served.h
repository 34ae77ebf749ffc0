/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SERVED_H_
#define PREDREG_SERVED_H_

#include <tools/replay/account/account.h>
#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file served.h
 *
 * The mappings of a program served by an arena (ucs/arena, the library's own
 * code) in virtual time: which uses it answers, and which slabs are registered
 * meanwhile. Filling memory with zeros and protecting it take no time here, and
 * registering a slab takes time of a helper that has a processor of its own.
 *
 * Times are those of the account, ns, and never go back.
 */

typedef struct predreg_served predreg_served_t;


/** What an arena is played with. */
typedef struct predreg_served_params {
    size_t         size;       /**< Of the arena, bytes; rounded down to slabs, of
                                    which it has one at least */
    size_t         slab_size;  /**< Of the longest slab, a power of 2, bytes */
    size_t         first_slab; /**< Of the shortest one, likewise; the longest one
                                    at most */
    predreg_cost_t reg;        /**< What registering a slab costs */
    predreg_cost_t dereg;
} predreg_served_params_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_served_create(const predreg_served_params_t *params,
                                   predreg_account_t *account,
                                   predreg_served_t **served_p);

void predreg_served_destroy(predreg_served_t *served);

/** @return when predreg_served_tend() is to be called; UINT64_MAX: nothing is to
 *          be done. */
uint64_t predreg_served_due(const predreg_served_t *served);

/** Let the helper do one thing that is due. */
void predreg_served_tend(predreg_served_t *served, uint64_t now);

/** The program maps memory: it is the arena's, if there is room. */
void predreg_served_map(predreg_served_t *served, const predreg_map_t *map,
                        uint64_t now);

void predreg_served_unmap(predreg_served_t *served,
                          const predreg_unmap_t *unmap, uint64_t now);

/** A use begins. @return the slab that answers it, for
 *  predreg_served_end(); NULL: none does. */
void *predreg_served_begin(predreg_served_t *served, const predreg_use_t *use,
                           predreg_site_t *site, uint64_t now);

void predreg_served_end(predreg_served_t *served, void *slab, uint64_t now);

/** End the program: slabs are entered into the account as they are now.
 *
 * @param [out] helper_p  How long the helper has registered and deregistered.
 * @param [out] peak_p    How much memory was registered at a time, at most, bytes.
 * @return UCS_ERR_NO_MEMORY if there was no memory to keep track of a
 *         mapping. */
ucs_status_t predreg_served_finish(predreg_served_t *served, uint64_t now,
                                   uint64_t *helper_p, uint64_t *peak_p);

END_C_DECLS

#endif
