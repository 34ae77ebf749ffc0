/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SIM_MEMORY_H_
#define PREDREG_SIM_MEMORY_H_

#include <tools/replay/account/account.h>

BEGIN_C_DECLS

/** @file memory.h
 *
 * The memory that is registered in a simulated world. A handle is a number, and
 * not an address, because addresses differ between runs. world.c calls this.
 */

typedef struct predreg_memory {
    predreg_holding_t holding;
    uint64_t          address;
    uint64_t          length;
    int               is_used;   /**< Whether its number is that of a
                                      registration */
    size_t            next_free; /**< Number of the next one that is not used; 0:
                                      none */
} predreg_memory_t;

/** All of it. Nothing but zeros is one without any memory. */
typedef struct predreg_memories {
    predreg_memory_t *memory;    /**< Indexed by number; 0 is not used */
    size_t           count;      /**< Numbers given so far, and 0 */
    size_t           capacity;
    size_t           first_free; /**< Number; 0: none */
} predreg_memories_t;


/** @return a number that is not used, or 0 if there is no memory for it. The
 *          array may have moved. */
size_t predreg_memories_new(predreg_memories_t *memories);

/** Give a number back. */
void predreg_memories_free(predreg_memories_t *memories, size_t number);

void predreg_memories_cleanup(predreg_memories_t *memories);

END_C_DECLS

#endif
