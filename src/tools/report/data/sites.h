/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SITES_H_
#define PREDREG_SITES_H_

#include <tools/replay/account/account.h>
#include <tools/trace/trace.h>

BEGIN_C_DECLS

/** @file sites.h
 *
 * The places in a program with calls of communications, summed up over all
 * ranks, and the names of their functions (symbols.c). Addresses differ between
 * ranks, so two sites are the same place if the functions on their call paths
 * are the same.
 *
 * The functions come from the programs and libraries at the paths in the
 * traces, by libdw. A file that is missing now, or has another build ID, is not
 * used.
 */

/** The most frames of a call path with a name. */
#define PREDREG_SITES_MAX_FRAMES 48


typedef enum {
    PREDREG_MODULE_READ,    /**< The symbols of the module are used */
    PREDREG_MODULE_MISSING, /**< There is no such program or library */
    PREDREG_MODULE_CHANGED, /**< The file is not the recorded one */
    PREDREG_MODULE_NOT_READ /**< This program was built without libdw */
} predreg_module_state_t;

/** A program or library of some trace. */
typedef struct predreg_module {
    char                   *path;
    uint8_t                build_id[UCS_RCACHE_TRACE_MAX_BUILD_ID];
    unsigned               build_id_length; /**< 0: not known */
    predreg_module_state_t state;
    struct Dwfl            *dwfl;   /**< Handle of libdw for the module, if the state
                                         is READ */
    struct Dwfl_Module     *symbols;
} predreg_module_t;

/** The modules of all traces that have been needed. All fields are 0 before the first
 *  module. */
typedef struct predreg_symbols {
    predreg_module_t *modules;
    unsigned         num_modules;
} predreg_symbols_t;

/** A function on the call path of a communication. Its strings live as long as
 *  the symbols. */
typedef struct predreg_frame {
    const char *module;   /**< Path of the module; NULL: the trace lists no
                               module with the address */
    uint64_t   offset;    /**< Address in the module's file; without a module,
                               address in memory */
    const char *function; /**< NULL: not known */
    const char *file;     /**< Source file; NULL: not known */
    int        line;
} predreg_frame_t;


void predreg_symbols_cleanup(predreg_symbols_t *symbols);

/**
 * Find the functions of a call.
 *
 * @param [in]  trace    The trace with the address, and with the module of the
 *                       address.
 * @param [in]  address  Return address of the call.
 * @param [out] frames   The frames, innermost first: inlined functions, then
 *                       the function around them. Without enough room, the last
 *                       ones are missing.
 * @param [in]  max      > 0.
 *
 * @return the number of frames, at least 1. A single frame may have no name.
 */
unsigned predreg_symbols_find(predreg_symbols_t *symbols,
                              const ucs_rcache_trace_t *trace, uint64_t address,
                              predreg_frame_t *frames, unsigned max);

/** @return whether a module is, by its name, a communication library: UCX, Open MPI,
 *          MPICH, OpenSHMEM, libfabric, or this project. Such a library cannot contain
 *          the program's own call. */
int predreg_module_is_communication(const char *path);


typedef struct predreg_place {
    char       *key;      /**< Kind and path, which identify the place */
    const char *kind;     /**< "send", "receive", ... */
    const char *path;     /**< All functions of the call path, innermost first,
                               each on a line; part of the key */
    char       *function; /**< Innermost function outside of communication
                               libraries; without a name, module+0xoffset */
    char       *source;   /**< Line in the function, "file:line"; empty: not
                               known */
    uint64_t   uses;
    uint64_t   hits;
    uint64_t   late;
    uint64_t   waited;    /**< Waits of the program for registrations, ns */
    double     byte_seconds;
} predreg_place_t;

KHASH_MAP_INIT_STR(predreg_places, unsigned)

/** The places of all ranks. All fields are 0 before the first rank. */
typedef struct predreg_sites {
    predreg_symbols_t       symbols;
    predreg_place_t         *places;
    unsigned                num_places;
    khash_t(predreg_places) index;   /**< Index in places of each place, by its key */
} predreg_sites_t;


void predreg_sites_cleanup(predreg_sites_t *sites);

/** Add the call sites of a rank. */
void predreg_sites_add(predreg_sites_t *sites, const ucs_rcache_trace_t *trace,
                       const predreg_replay_result_t *result);

/** Sort the places by the waits of the program, longest first, and places with
 *  equal waits by their memory. The caller adds no rank afterwards. */
void predreg_sites_sort(predreg_sites_t *sites);

END_C_DECLS

#endif
