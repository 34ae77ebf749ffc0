/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_FORGOTTEN_H_
#define UCS_RCACHE_PRED_FORGOTTEN_H_

#include <ucs/type/status.h>

#include <stdint.h>

/** @file forgotten.h
 *
 * How many regions the cache remembers, and which ones it has forgotten. The number
 * grows only when the program uses memory again whose region was forgotten, up to a
 * bound. To remember more regions would not help a program that uses ever new memory, and
 * for such a program the number stays as it began. A mark of four bytes remains of a
 * forgotten region. The caller holds the lock of the cache, except in
 * ucs_rcache_pred_forgotten_init() and ucs_rcache_pred_forgotten_cleanup().
 */

/** How many regions are remembered before the program has used a forgotten one again.
 *  With their call sites they take some 10 MB. */
#define UCS_RCACHE_PRED_FIRST_REGIONS 8192


typedef struct ucs_rcache_pred_forgotten {
    uint32_t *marks;   /**< Marks of the starts of forgotten regions. The hash of
                            a start says in which place its mark is; a later mark
                            overwrites an earlier one in the same place. 0: no
                            mark is there */
    unsigned bits;     /**< There are 2^bits places */
    unsigned limit;    /**< The helper forgets regions that are not registered
                            while the table has more regions than this */
    unsigned bound;    /**< The highest value of limit */
} ucs_rcache_pred_forgotten_t;


/** Begin without forgotten regions. Allocates memory, of which only the pages with a
 *  mark are ever touched.
 *  @param [in] bound  How many regions may be remembered, 1..2^30. */
ucs_status_t
ucs_rcache_pred_forgotten_init(ucs_rcache_pred_forgotten_t *forgotten,
                               unsigned bound);

/** Free what was allocated. */
void ucs_rcache_pred_forgotten_cleanup(ucs_rcache_pred_forgotten_t *forgotten);

/** A region that starts at @a start is forgotten for lack of room. */
void ucs_rcache_pred_forgotten_add(ucs_rcache_pred_forgotten_t *forgotten,
                                   uintptr_t start);

/**
 * A new region is made that starts at @a start. If a region that started there was
 * forgotten, let more regions be remembered from now on.
 *
 * @return 1 if such a region was forgotten, and the number is at its bound already, so
 *         that the caller counts a use of a forgotten region; else 0.
 */
int ucs_rcache_pred_forgotten_return(ucs_rcache_pred_forgotten_t *forgotten,
                                     uintptr_t start);

#endif
