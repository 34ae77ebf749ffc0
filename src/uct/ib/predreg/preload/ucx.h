/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCX_H_
#define UCT_PREDREG_UCX_H_

#include <ucs/sys/compiler_def.h>

#include <link.h>
#include <stdio.h>

/** @file ucx.h
 *
 * Asks the dynamic loader for the functions of UCX. callers.c and preload.c call these
 * functions, in any thread. Each function takes the loader's lock, so no thread calls it
 * with a lock of this library held: another thread may load a plug-in, and hold the
 * loader's lock while the plug-in's constructor calls UCX and waits for the lock of this
 * library.
 */

BEGIN_C_DECLS

/** Print a message to standard error: UCS, which has a log, may not be in the
 *  process. */
#define PREDREG_COMPLAIN(_fmt, ...) \
    fprintf(stderr, "ucx-predreg: " _fmt "\n", ##__VA_ARGS__)

/** The core's libucs, and a function of every version of libucs. */
#define PREDREG_UCS_LIBRARY  "libucs.so.0"
#define PREDREG_UCS_FUNCTION "ucs_status_string"

/** Each UCX of a process has a function of this name: its address tells the UCXs
 *  apart. */
#define PREDREG_UCX_FUNCTION "uct_md_open"


/** Where a library is in memory. */
typedef struct predreg_range {
    const char *start; /**< NULL: not known */
    const char *end;
} predreg_range_t;

static UCS_F_ALWAYS_INLINE int
predreg_range_has(const predreg_range_t *range, const void *address)
{
    return ((const char*)address >= range->start) &&
           ((const char*)address < range->end);
}


/**
 * Find the function that the loader would give a caller for a name if this library were
 * not there.
 *
 * @param [in] caller  An address in a library or in the program; NULL: no caller in
 *                     particular.
 * @return the address; NULL if there is no such name.
 */
void *predreg_lookup(const void *caller, const char *name);

/** Find where the library is that an address belongs to. @return a range with the start
 *  NULL if the address belongs to no library. */
predreg_range_t predreg_library_range(const void *address);

/** @return the name of the file that an address belongs to. */
const char *predreg_library_name(const void *address);

/** @return whether an address belongs to another copy of this library. */
int predreg_is_other_copy(const void *address);

/** Keep the library that an address belongs to until the process ends. */
void predreg_keep_library(const void *address);

/**
 * @return whether the core works with the caller's UCX. The core is linked with
 *         libucs.so.0: its UCX is the UCX with the same libucs, which must be in the
 *         process already. The answer stays the same while the process runs.
 */
int predreg_is_cores_ucx(const void *caller);

/** @return whether a library that is linked with @a library, and would be loaded now, would
 *          call the function @a name of @a library. If not, the loader finds another
 *          function of the name first: in the program, or in a library of global scope, as
 *          LD_PRELOAD and RTLD_GLOBAL give. */
int predreg_is_bound_to(const char *library, const char *name);

/** Length of the beginning of a name that tells which library of UCX has the function:
 *  "ucp_", "uct_" or "ucs_". */
#define PREDREG_PREFIX_LENGTH 4

/** A function of UCX that a library calls. */
typedef struct predreg_bound {
    const char            *name;     /**< NULL: the library calls no such function,
                                          or the loader has bound none yet */
    const void            *function; /**< What the name is bound to */
    const struct link_map *library;  /**< The library that the function is in */
} predreg_bound_t;


/**
 * Find a function of UCX that a library calls, in the tables of the library. Any thread;
 * takes the lock of the dynamic loader.
 *
 * @param [in] map     The loader's description of the library, or of the program.
 * @param [in] prefix  The name of the function begins as this name does, with "ucp_",
 *                     "uct_" or "ucs_".
 * @param [in] except  Functions that are bound to this library do not count.
 */
predreg_bound_t
predreg_find_bound(const struct link_map *map, const char *prefix,
                   const struct link_map *except);

END_C_DECLS

#endif
