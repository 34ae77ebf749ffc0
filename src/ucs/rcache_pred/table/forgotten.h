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
 * How many regions are remembered, and which ones were forgotten. The number
 * follows the program: it grows when memory is used again whose region was
 * forgotten, and only then, up to a bound. A program that uses ever new memory
 * is remembered no better with more regions, and keeps the first number. Of a
 * forgotten region there remains a mark of four bytes. The caller holds the
 * cache's lock, but for the making and the end.
 */

/** So many regions are remembered before any has come back. With their call
 *  sites they take some 10 MB. */
#define UCS_RCACHE_PRED_FIRST_REGIONS 8192


typedef struct ucs_rcache_pred_forgotten {
    uint32_t *marks;   /**< Of the starts of regions that were forgotten, each
                            in the place of its start; a later one overwrites
                            an earlier one in the same place. 0: there is
                            none */
    unsigned bits;     /**< There are 2^bits places */
    unsigned limit;    /**< How many regions are remembered now, of those that
                            are not registered */
    unsigned bound;    /**< The highest value of limit */
} ucs_rcache_pred_forgotten_t;


/** Nothing was forgotten yet. Allocates memory, of which only the pages with a
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
 * A region is made that starts at @a start. If one that started there was
 * forgotten, more regions are remembered from now on.
 *
 * @return 1 if it was forgotten, and the bound does not let more be remembered;
 *         0 otherwise.
 */
int ucs_rcache_pred_forgotten_return(ucs_rcache_pred_forgotten_t *forgotten,
                                     uintptr_t start);

#endif
