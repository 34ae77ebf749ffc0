/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SYMBOLS_H_
#define PREDREG_SYMBOLS_H_

#include <tools/trace/trace.h>

BEGIN_C_DECLS

/** @file symbols.h
 *
 * Finds the names of the call sites in a trace. The programs and libraries are
 * opened at the paths in the trace. A file that is missing now, or has another
 * build ID, is not used.
 */

typedef enum {
    PREDREG_MODULE_READ,    /**< The symbols of the module are used */
    PREDREG_MODULE_MISSING, /**< The file is missing, or is no program or
                                 library */
    PREDREG_MODULE_CHANGED, /**< The file is not the one that was recorded */
    PREDREG_MODULE_NOT_READ /**< This program was built without libdw */
} predreg_module_state_t;


typedef struct predreg_symbols predreg_symbols_t;

/** A function on the call path of a communication. Its strings live as long as
 *  the predreg_symbols_t that they came from. */
typedef struct predreg_frame {
    const char *module;   /**< Path of the module; NULL: the address is in none
                               that the trace lists */
    uint64_t   offset;    /**< Address in the module's file; if there is no
                               module, address in memory */
    const char *function; /**< NULL: not known */
    const char *file;     /**< Source file; NULL: not known */
    int        line;
} predreg_frame_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_symbols_create(predreg_symbols_t **symbols_p);
void predreg_symbols_destroy(predreg_symbols_t *symbols);

/**
 * Find the functions that a call was made from.
 *
 * @param [in]  trace    The trace that has the address; its modules are
 *                       searched.
 * @param [in]  address  Return address of the call.
 * @param [out] frames   The frames, innermost first: functions that were
 *                       inlined, then the function they were inlined in. If
 *                       there is not enough room, the last ones are missing.
 * @param [in]  max      > 0.
 * @param [out] count_p  Number of frames, at least 1. If nothing is known, that
 *                       one has no name.
 *
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_symbols_find(predreg_symbols_t *symbols,
                                  const ucs_rcache_trace_t *trace,
                                  uint64_t address, predreg_frame_t *frames,
                                  unsigned max, unsigned *count_p);

/** @return how many modules were needed. */
unsigned predreg_symbols_num_modules(const predreg_symbols_t *symbols);
const char *predreg_symbols_module(const predreg_symbols_t *symbols,
                                   unsigned index,
                                   predreg_module_state_t *state_p);

/** @return whether a module is a library that programs communicate with (UCX,
 *  Open MPI, MPICH, OpenSHMEM, libfabric, this project), which cannot contain
 *  the program's own call. It is recognised by its name. */
int predreg_module_is_communication(const char *path);

END_C_DECLS

#endif
