/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SYMBOLS_H_
#define PREDREG_SYMBOLS_H_

#include <trace/trace.h>

BEGIN_C_DECLS

/** @file symbols.h
 *
 * Names of the places a trace speaks of. The programs and libraries are opened
 * where the trace says they were; one that is not there any more, or not the
 * same by its build ID, is not asked.
 */

typedef enum {
    PREDREG_MODULE_READ,    /**< Its symbols are used */
    PREDREG_MODULE_MISSING, /**< Is not there, or is no program */
    PREDREG_MODULE_CHANGED, /**< Is not the one that was recorded */
    PREDREG_MODULE_NOT_READ /**< This was built without libdw */
} predreg_module_state_t;


typedef struct predreg_symbols predreg_symbols_t;

/** A function on the way to a communication. Strings live as long as the
 *  symbols they came from. */
typedef struct predreg_frame {
    const char *module;   /**< Path; NULL: in none of the trace's */
    uint64_t   offset;    /**< Address in the module's file; without a module,
                               in memory */
    const char *function; /**< NULL: not known */
    const char *file;     /**< Source file; NULL: not known */
    int        line;
} predreg_frame_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_symbols_create(predreg_symbols_t **symbols_p);
void predreg_symbols_destroy(predreg_symbols_t *symbols);

/**
 * The functions a call was made from.
 *
 * @param [in]  trace    Whose modules are looked at.
 * @param [in]  address  Return address of the call.
 * @param [out] frames   Innermost first: functions that were inlined, then the
 *                       one they were inlined in. The last one may be missing
 *                       for lack of room.
 * @param [in]  max      > 0.
 * @param [out] count_p  Number of frames, at least 1: without a name if there
 *                       is none.
 *
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_symbols_find(predreg_symbols_t *symbols,
                                  const ucs_rcache_trace_t *trace,
                                  uint64_t address, predreg_frame_t *frames,
                                  unsigned max, unsigned *count_p);

/** Modules that were needed. */
unsigned predreg_symbols_num_modules(const predreg_symbols_t *symbols);
const char *predreg_symbols_module(const predreg_symbols_t *symbols,
                                   unsigned index,
                                   predreg_module_state_t *state_p);

/** Whether a module belongs to what programs communicate with (UCX, Open MPI,
 *  MPICH, OpenSHMEM, libfabric, this project): not a place to look for a
 *  program's own call. Told by its name. */
int predreg_module_is_communication(const char *path);

END_C_DECLS

#endif
