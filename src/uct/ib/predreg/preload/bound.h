/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_BOUND_H_
#define UCT_PREDREG_BOUND_H_

#include <ucs/sys/compiler_def.h>

#include <link.h>

/** @file bound.h
 *
 * Reads which UCX the dynamic loader has bound a library to. What all may use changes
 * while a process runs, so a later search does not tell: a library that was bound
 * before keeps the UCX that it had then.
 */

BEGIN_C_DECLS

/** So long is the beginning of a name that says which library of UCX has it. */
#define PREDREG_PREFIX_LENGTH 4

/** A function of UCX that a library calls. */
typedef struct predreg_bound {
    const char            *name;     /**< NULL: the library has none, or none is
                                          bound yet */
    const void            *function; /**< What the name is bound to */
    const struct link_map *library;  /**< Where that function is */
} predreg_bound_t;


/**
 * Find such a function in the tables of a library. Any thread; takes the lock of the
 * dynamic loader.
 *
 * @param [in] map     The loader's description of the library, or of the program.
 * @param [in] prefix  Its name has the same beginning as this one: "ucp_", "uct_" or
 *                     "ucs_".
 * @param [in] except  Functions that are bound to this library do not count.
 */
predreg_bound_t
predreg_find_bound(const struct link_map *map, const char *prefix,
                   const struct link_map *except);

END_C_DECLS

#endif
