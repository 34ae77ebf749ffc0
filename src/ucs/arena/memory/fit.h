/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_MEMORY_FIT_H_
#define UCS_ARENA_MEMORY_FIT_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file fit.h
 *
 * Finding a free block of pages that is long enough, in constant time: a
 * two-level segregated fit (Masmano, Ripoll, Crespo and Real, "TLSF: a new
 * dynamic memory allocator for real-time systems", 2004). Blocks are in lists
 * by length. The lengths from one power of 2 to the next have 32 lists: the
 * longest block of a list is at most 1/32 longer than the shortest. The tags of
 * blocks are in a table outside of the memory, which may be inaccessible.
 * The caller has a lock around all calls.
 */

/** No page. */
#define UCS_ARENA_NO_PAGE    UINT32_MAX

/** Longest block, pages. */
#define UCS_ARENA_FIT_MAX    (1u << 20)

#define UCS_ARENA_FIT_COLUMNS 32

/** Rows of lists. Row 0 has the lengths below 32, each further row the lengths from one
 *  power of 2 to the next. */
#define UCS_ARENA_FIT_ROWS   17


/** The tag of a page. The tags of the first and the last page of a block have
 *  its length and kind, so that the neighbours find the block from either side. */
typedef struct ucs_arena_tag {
    uint32_t length; /**< Length of the block, pages */
    uint32_t kind;   /**< Kind and flags of the block, see blocks.c; 0 on all
                          pages that are neither the first nor the last one of
                          a block */
    uint32_t next;   /**< In the tag of a block's first page: the next block in
                          the list, or in a chain, see
                          ucs_arena_blocks_chain() */
    uint32_t prev;   /**< In the tag of a block's first page: the block before
                          in the list */
} ucs_arena_tag_t;


typedef struct ucs_arena_fit {
    /** Bit i: row i has a list that is not empty. */
    uint32_t rows;
    /** Bit i: list i of the row is not empty. */
    uint32_t columns[UCS_ARENA_FIT_ROWS];
    /** First page of the first block of each list; undefined if the list is empty. */
    uint32_t heads[UCS_ARENA_FIT_ROWS][UCS_ARENA_FIT_COLUMNS];
} ucs_arena_fit_t; /* All zero: empty */


/** Add a block, by its first page. The block is found before others of its
 *  length. */
void ucs_arena_fit_add(ucs_arena_fit_t *fit, ucs_arena_tag_t *tags,
                       uint32_t block);

void ucs_arena_fit_remove(ucs_arena_fit_t *fit, ucs_arena_tag_t *tags,
                          uint32_t block);

/**
 * Find a block with room. The function looks at the first 8 blocks of the list for this
 * length, some of which may be too short; if none has room, it takes the first block of
 * the next list that is not empty, where all blocks have room.
 *
 * @param [in] length  Pages, 1 to UCS_ARENA_FIT_MAX.
 * @return the first page of the block, or UCS_ARENA_NO_PAGE.
 */
uint32_t ucs_arena_fit_find(const ucs_arena_fit_t *fit,
                            const ucs_arena_tag_t *tags, uint32_t length);

/** @return the first page of a block from the list of the longest blocks, or
 *  UCS_ARENA_NO_PAGE. */
uint32_t ucs_arena_fit_longest(const ucs_arena_fit_t *fit);

END_C_DECLS

#endif
