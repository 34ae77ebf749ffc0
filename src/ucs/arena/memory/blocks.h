/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_MEMORY_BLOCKS_H_
#define UCS_ARENA_MEMORY_BLOCKS_H_

#include "bits.h"
#include "fit.h"
#include "types.h"

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file blocks.h
 *
 * The pages of all slabs, numbered from the beginning of the arena. A page of a
 * slab with memory is either live, which means the program's, or part of a
 * block: a run of free pages of one slab and of one kind. A block is idle if no
 * thread works at it. Idle blocks are found by their length, and two idle
 * neighbours of one kind become one block. A block that a thread works at is
 * held: only this thread may touch the pages, and nobody else finds the block
 * or joins the block with others. A live page has one bit and nothing else, so
 * that a part of an allocation, or several allocations, are freed as easily as
 * one allocation.
 *
 * The caller of each function holds the lock of the arena. Most functions take a
 * step for each 64 pages at most; ucs_arena_blocks_has_held() may take one for
 * each page of a slab.
 */

/** The state of the pages of a block, see docs/design/arena.md. The pages of a held
 *  block are on their way from one kind to another. The order is the one in which a
 *  request looks for room. */
typedef enum ucs_arena_kind {
    UCS_ARENA_KIND_DIRTY,    /**< Accessible, contents unknown: freed just now */
    UCS_ARENA_KIND_MUZZY,    /**< Not accessible, contents unknown */
    UCS_ARENA_KIND_RETAINED, /**< Not accessible; would read as zero */
    UCS_ARENA_KIND_FRESH,    /**< Accessible, reads as zero: never allocated */
    UCS_ARENA_KIND_LAST
} ucs_arena_kind_t;


/** A slab's pages. All under the lock of the arena. */
typedef struct ucs_arena_usage {
    uint32_t         pages;       /**< Pages of the slab; 0: the slab has no
                                       memory */
    uint32_t         live;        /**< Live pages */
    uint32_t         idle;        /**< Pages of idle blocks */
    uint32_t         held;        /**< Pages of held blocks */
    uint8_t          is_spoilt;   /**< Whether the slab is spoilt: no page is
                                       allocated or becomes idle any more */
    ucs_arena_time_t empty_since; /**< When the last live page was freed; undefined
                                       while there are some */
} ucs_arena_usage_t;


/** The pages of all slabs. All but constant fields are accessed under the lock
 *  of the arena. */
typedef struct ucs_arena_blocks {
    ucs_arena_tag_t   *tags;      /**< A tag for each page. The pointer is
                                       constant */
    uint64_t          *live;      /**< A bit for each page. The pointer is
                                       constant */
    ucs_arena_usage_t *usage;     /**< One for each slab. The pointer is
                                       constant */
    uint32_t          slab_pages; /**< Pages for which each slab has addresses;
                                       a slab may have less memory. Constant */
    unsigned          slab_shift; /**< Logarithm of slab_pages. Constant */
    uint64_t          num[UCS_ARENA_KIND_LAST]; /**< Pages of the idle blocks of
                                                     each kind */
    uint64_t          num_held;   /**< Pages of held blocks */
    uint64_t          num_live;   /**< Pages that are live */
    ucs_arena_fit_t   fit[UCS_ARENA_KIND_LAST]; /**< Finds the idle blocks of each kind
                                       by their lengths */
} ucs_arena_blocks_t;


/** Put a held block in front of a chain of held blocks. The chain belongs to the holder.
 *
 * @param [in] next  First block of the chain; UCS_ARENA_NO_PAGE: the chain is
 *                   empty. */
static UCS_F_ALWAYS_INLINE void
ucs_arena_blocks_chain(ucs_arena_blocks_t *blocks, uint32_t block,
                       uint32_t next)
{
    blocks->tags[block].next = next;
}

/** @return the block after a held block in the chain; UCS_ARENA_NO_PAGE: there
 *          is none. */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_arena_blocks_next(const ucs_arena_blocks_t *blocks, uint32_t block)
{
    return blocks->tags[block].next;
}

/** @return how many pages a block has, by its first page. */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_arena_blocks_length(const ucs_arena_blocks_t *blocks, uint32_t block)
{
    return blocks->tags[block].length;
}

/** @return the number of the slab that a page is in. */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_arena_blocks_slab(const ucs_arena_blocks_t *blocks, uint32_t page)
{
    return page >> blocks->slab_shift;
}

/** @return the kind of the idle block that begins with a page; UCS_ARENA_KIND_LAST:
 *          there is none. */
ucs_arena_kind_t
ucs_arena_blocks_idle_kind(const ucs_arena_blocks_t *blocks, uint32_t page);

/** @return whether a page is the first one of a held block. */
int ucs_arena_blocks_is_held(const ucs_arena_blocks_t *blocks, uint32_t page);

/** @return the kind of a held block, by its first page. */
ucs_arena_kind_t
ucs_arena_blocks_held_kind(const ucs_arena_blocks_t *blocks, uint32_t block);

/** Add the pages of a plain slab, as one fresh block.
 *
 * @param [in] pages  Their number, at most slab_pages. */
void ucs_arena_blocks_open(ucs_arena_blocks_t *blocks, uint32_t slab,
                           uint32_t pages, ucs_arena_time_t now);

/** Make the first pages of an idle block live. The rest stays idle.
 *
 * @param [in] block   The first page.
 * @param [in] length  Pages to make live. */
void ucs_arena_blocks_make_live(ucs_arena_blocks_t *blocks, uint32_t block,
                                uint32_t length);

/** Free live pages of one slab. All pages of the range are live.
 *
 * @param [in] is_held  Whether the pages become a held block; else they become an
 *                      idle dirty block, joined with dirty neighbours. */
void ucs_arena_blocks_retire(ucs_arena_blocks_t *blocks, uint32_t first,
                             uint32_t length, ucs_arena_time_t now,
                             int is_held);

/** Find the first run of live pages in a range, as far as the range is within its first
 *  slab.
 *
 * @param [inout] page_p  The beginning of the range; then the end of the run.
 * @param [in]    end     The end of the range.
 * @return the first page of the run; if there is no run, the same page as in
 *         @a page_p then. */
uint32_t ucs_arena_blocks_live_run(const ucs_arena_blocks_t *blocks,
                                   size_t *page_p, size_t end);

/** Hold an idle block, or only its first pages. @return how many pages are
 *  held.
 *
 * @param [in] length  How many pages to hold at most. */
uint32_t ucs_arena_blocks_hold(ucs_arena_blocks_t *blocks, uint32_t block,
                               uint32_t length);

/** Make a held block idle, of a new kind or of its former one. In a spoilt slab
 *  the block is dropped: its pages are in no block any more. */
void ucs_arena_blocks_release(ucs_arena_blocks_t *blocks, uint32_t block,
                              ucs_arena_kind_t kind);

/** Forget a held block of a slab that is about to be unmapped, or is spoilt. */
void ucs_arena_blocks_drop(ucs_arena_blocks_t *blocks, uint32_t block);

/** Forget a slab, after all of its blocks were dropped. */
void ucs_arena_blocks_close(ucs_arena_blocks_t *blocks, uint32_t slab);

/** @return the length of the fresh idle block at the end of a slab, pages; 0:
 *          there is none. */
uint32_t
ucs_arena_blocks_rest(const ucs_arena_blocks_t *blocks, uint32_t slab);

/** Cut off the last pages of a slab, which belong to its fresh block at the end.
 *
 *  @param [in] length  How many pages; at most ucs_arena_blocks_rest(). */
void ucs_arena_blocks_cut(ucs_arena_blocks_t *blocks, uint32_t slab,
                          uint32_t length);

/** @return the first page of the first idle block that begins in a range of pages;
 *          the end of the range if there is none. */
uint32_t ucs_arena_blocks_next_idle(const ucs_arena_blocks_t *blocks,
                                    uint32_t first, uint32_t end);

/** Make a slab spoilt, with memory or without. Its idle blocks are dropped:
 *  their pages are in no block any more. */
void ucs_arena_blocks_spoil(ucs_arena_blocks_t *blocks, uint32_t slab);

/** @return whether a page of a range, all of it in one slab, is held. */
int ucs_arena_blocks_has_held(const ucs_arena_blocks_t *blocks, uint32_t first,
                              uint32_t end);

/** Make pages of a spoilt slab live, whether they are live already or not. */
void ucs_arena_blocks_claim(ucs_arena_blocks_t *blocks, uint32_t first,
                            uint32_t end);

/** @return whether no page of a spoilt slab is live or held. */
int ucs_arena_blocks_is_gone(const ucs_arena_blocks_t *blocks, uint32_t slab);

END_C_DECLS

#endif
