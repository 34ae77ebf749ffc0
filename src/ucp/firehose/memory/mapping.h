/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_MAPPING_H_
#define UCP_FH_MAPPING_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file mapping.h
 *
 * Exposed memory, a mapping, page by page: which pages the program has unmapped, and
 * which of these the library keeps mapped until no peer has a firehose on them any more.
 *
 * A page is exposed at first. The program unmaps the page, or puts something else in its
 * place. Then the owner of the mapping takes the page, withdraws the page from peers, and
 * releases the page. A page that the program has unmapped is kept: it stays mapped for
 * peers until its release unmaps it. A page that the program has replaced is not kept.
 *
 * No locks: the caller holds one lock around all calls for a mapping. No function
 * allocates memory, except ucp_fh_mapping_init(). Addresses are those of bytes; a range
 * that begins or ends within a page has all of that page.
 */

/** Exposed memory. */
typedef struct ucp_fh_mapping {
    uint64_t start;      /**< First byte of the first page */
    uint64_t end;        /**< The byte after the last page */
    unsigned page_shift; /**< Logarithm of the size of a page */
    uint8_t  *pages;     /**< The state of each page */
    uint64_t first;      /**< Number of the first page that may have to be taken */
} ucp_fh_mapping_t;


/** Make a mapping whose pages are all exposed. It needs a byte for each page.
 *
 *  @return UCS_OK, or UCS_ERR_NO_MEMORY. */
ucs_status_t ucp_fh_mapping_init(ucp_fh_mapping_t *mapping, uint64_t start,
                                 uint64_t end, unsigned page_shift);

void ucp_fh_mapping_cleanup(ucp_fh_mapping_t *mapping);

/** A question about a page. @a page is its number in the mapping, from 0 on. */
typedef int (*ucp_fh_page_is_t)(const ucp_fh_mapping_t *mapping, uint64_t page);

/** @return whether the page is exposed, or kept already: if the program unmaps such a
 *          page, the library keeps it mapped. */
int ucp_fh_page_is_watched(const ucp_fh_mapping_t *mapping, uint64_t page);

/** @return whether the program has unmapped the page, and the page is still mapped for
 *          peers. */
int ucp_fh_page_is_kept(const ucp_fh_mapping_t *mapping, uint64_t page);

/** @return whether a thread is about to unmap the page: the program has to wait before it puts
 *          something in the place of the page. */
int ucp_fh_page_is_releasing(const ucp_fh_mapping_t *mapping, uint64_t page);

/**
 * Ask @a holds about the first pages of a range.
 *
 * @param [in] start  The begin of the range.
 * @param [inout] end_p  The end of the range; afterwards, the end of the first pages with
 *                       the same answer.
 * @return the answer about the first page; 0 if the page is outside of the mapping.
 */
int ucp_fh_mapping_first(const ucp_fh_mapping_t *mapping, uint64_t start,
                         uint64_t *end_p, ucp_fh_page_is_t holds);

/** @return whether @a holds returns 1 for any page of a range. */
int ucp_fh_mapping_any(const ucp_fh_mapping_t *mapping, uint64_t start,
                       uint64_t end, ucp_fh_page_is_t holds);

/** The program unmaps memory, puts something else in its place, or moves the memory away.
 *
 *  @param [in] is_kept  1: the library keeps the memory mapped for peers. 0: the old
 *                       memory is gone, and the library keeps none of it.
 *  @return whether any of the pages was exposed: the owner has to take it. */
int ucp_fh_mapping_unmap(ucp_fh_mapping_t *mapping, uint64_t start, uint64_t end,
                         int is_kept);

/** Find the next pages that the program has unmapped or replaced, and that the owner has
 *  not taken yet.
 *
 *  @return whether there are any. */
int ucp_fh_mapping_next(ucp_fh_mapping_t *mapping, uint64_t *start_p,
                        uint64_t *end_p);

/** The owner withdraws the unmapped pages of a range. */
void ucp_fh_mapping_take(ucp_fh_mapping_t *mapping, uint64_t start,
                         uint64_t end);

/** Find the next kept pages in a range that was withdrawn. The caller unmaps these pages,
 *  and then calls ucp_fh_mapping_released().
 *
 *  @return whether there are any. */
int ucp_fh_mapping_release(ucp_fh_mapping_t *mapping, uint64_t *start_p,
                           uint64_t *end_p);

/** The kept pages of a range were unmapped, or are left to other mappings that keep
 *  them. */
void ucp_fh_mapping_released(ucp_fh_mapping_t *mapping, uint64_t start,
                             uint64_t end);

END_C_DECLS

#endif
