/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COVER_H_
#define PREDREG_COVER_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file cover.h
 *
 * Finds which of many ranges hold a page, by a sweep through memory from the
 * lowest page to the highest.
 */

typedef struct predreg_range {
    uint64_t first;  /**< Its first page */
    uint64_t end;    /**< The page after its last one */
    size_t   index;  /**< Of the use or unmap whose range it is */
    unsigned domain; /**< Domain of that use or unmap. Not used here */
} predreg_range_t;

/** A sweep. It takes three times the memory of the ranges themselves. */
typedef struct predreg_cover {
    const predreg_range_t *next;   /**< First range that the sweep has not
                                        reached yet */
    const predreg_range_t *end;
    predreg_range_t       *ranges; /**< Ranges that hold the page, sorted by
                                        index */
    size_t                num_ranges;
    predreg_range_t       *spare;  /**< Room for as many, used while the sweep
                                        moves on */
    predreg_range_t       *added;  /**< Likewise */
} predreg_cover_t;


/**
 * Find the pages that a piece of memory lies in.
 *
 * @param [in]  length  > 0.
 */
void predreg_range_of(uint64_t address, uint64_t length,
                      predreg_range_t *range);

/**
 * @param [in]  ranges  Sorted by first. They must not change during the sweep.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_cover_init(predreg_cover_t *cover,
                                const predreg_range_t *ranges,
                                size_t num_ranges);

void predreg_cover_cleanup(predreg_cover_t *cover);

/** Move the sweep on to a page, which must be higher than the one before. */
void predreg_cover_move(predreg_cover_t *cover, uint64_t page);

/** @return whether no range holds this page or a higher one. */
static inline int predreg_cover_is_done(const predreg_cover_t *cover)
{
    return (cover->num_ranges == 0) && (cover->next == cover->end);
}

END_C_DECLS

#endif
