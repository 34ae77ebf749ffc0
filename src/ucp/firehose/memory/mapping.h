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
 * Exposed memory, a mapping, page by page: which pages the program has unmapped, and which
 * of these the library keeps mapped until no peer has a firehose on them any more.
 *
 * A page is exposed at first. The program unmaps the page, or puts something else in its
 * place. Then the owner of the mapping takes the page, withdraws it from peers, and releases
 * it. A page that the program has unmapped is kept, that is, stays mapped for peers, until
 * its release unmaps it.
 *
 * No locks: the caller holds one lock around all calls for a mapping. No function allocates
 * memory, except ucp_fh_mapping_init(). Addresses are those of bytes; a range that begins or
 * ends within a page has all of that page.
 */

/** Exposed memory. */
typedef struct ucp_fh_mapping {
    uint64_t start;      /**< First byte of the first page */
    uint64_t end;        /**< The byte after the last page */
    unsigned page_shift; /**< Logarithm of the size of a page */
    uint8_t  *pages;     /**< The state of each page */
    uint64_t first;      /**< No page before this one is to be taken */
} ucp_fh_mapping_t;


/** @return UCS_ERR_NO_MEMORY. A byte is needed for each page. */
ucs_status_t ucp_fh_mapping_init(ucp_fh_mapping_t *mapping, uint64_t start,
                                 uint64_t end, unsigned page_shift);

void ucp_fh_mapping_cleanup(ucp_fh_mapping_t *mapping);

/** A question about a page, which has a number from 0 on. */
typedef int (*ucp_fh_page_is_t)(const ucp_fh_mapping_t *mapping, uint64_t page);

/** @return whether the page is to be left to this mapping if the program unmaps it: the page
 *          is exposed, or kept already. */
int ucp_fh_page_is_watched(const ucp_fh_mapping_t *mapping, uint64_t page);

/** @return whether the program has unmapped the page, and the page is mapped for peers. */
int ucp_fh_page_is_kept(const ucp_fh_mapping_t *mapping, uint64_t page);

/** @return whether a thread is about to unmap the page: the program has to wait before it puts
 *          something in the place of the page. */
int ucp_fh_page_is_releasing(const ucp_fh_mapping_t *mapping, uint64_t page);

/**
 * Ask about the first pages of a range.
 *
 * @param [in]    start  Where the range begins.
 * @param [inout] end_p  The end of the range; afterwards, the end of the pages with the same
 *                       answer.
 * @return the answer; 0 outside of the mapping.
 */
int ucp_fh_mapping_first(const ucp_fh_mapping_t *mapping, uint64_t start,
                         uint64_t *end_p, ucp_fh_page_is_t holds);

/** @return whether the answer is 1 for any page of a range. */
int ucp_fh_mapping_any(const ucp_fh_mapping_t *mapping, uint64_t start,
                       uint64_t end, ucp_fh_page_is_t holds);

/** The program unmaps memory, puts something else in its place, or moves the memory away.
 *
 *  @param [in] is_kept  1: the memory stays mapped for peers from now on. 0: nothing is kept
 *                       there any more.
 *  @return whether there are pages to be taken. */
int ucp_fh_mapping_unmap(ucp_fh_mapping_t *mapping, uint64_t start, uint64_t end,
                         int is_kept);

/** Find the next pages that the program has unmapped or replaced and the owner has not taken.
 *
 *  @return whether there are any. */
int ucp_fh_mapping_next(ucp_fh_mapping_t *mapping, uint64_t *start_p,
                        uint64_t *end_p);

/** The owner withdraws the unmapped pages of a range. */
void ucp_fh_mapping_take(ucp_fh_mapping_t *mapping, uint64_t start,
                         uint64_t end);

/** Find the next pages to be unmapped in a range that was withdrawn: those that are kept. The
 *  caller unmaps them, and calls ucp_fh_mapping_released().
 *
 *  @return whether there are any. */
int ucp_fh_mapping_release(ucp_fh_mapping_t *mapping, uint64_t *start_p,
                           uint64_t *end_p);

/** The kept pages of a range were unmapped, or others keep them. */
void ucp_fh_mapping_released(ucp_fh_mapping_t *mapping, uint64_t start,
                             uint64_t end);

END_C_DECLS

#endif
