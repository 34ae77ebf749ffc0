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
 * Exposed memory page by page: what the program has unmapped of it, and what of
 * that is kept mapped until no peer has a firehose on it any more.
 *
 * A page is exposed first. The program unmaps it, or puts something else in its
 * place; its owner takes it, withdraws it, and releases it. If the program has
 * unmapped it, it is kept until then, and is unmapped by its release.
 *
 * No locks: the caller has one for all calls that concern a mapping. None of
 * them allocates, except ucp_fh_mapping_init(). Addresses are bytes; ranges
 * that are not of whole pages are extended to such.
 */

/** Exposed memory. */
typedef struct ucp_fh_mapping {
    uint64_t start;      /**< First byte of the first page */
    uint64_t end;        /**< The byte after the last page */
    unsigned page_shift; /**< Logarithm of the size of a page */
    uint8_t  *pages;     /**< What is known of each */
    uint64_t first;      /**< No page before it is to be taken */
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
 *  @return whether there is something to be taken. */
int ucp_fh_mapping_unmap(ucp_fh_mapping_t *mapping, uint64_t start, uint64_t end,
                         int is_kept);

/** Find the next memory that the program has unmapped or replaced, to be
 * withdrawn.
 *
 *  @return whether there is any. */
int ucp_fh_mapping_next(ucp_fh_mapping_t *mapping, uint64_t *start_p,
                        uint64_t *end_p);

/** That is being done. */
void ucp_fh_mapping_take(ucp_fh_mapping_t *mapping, uint64_t start,
                         uint64_t end);

/** Find the next memory to be unmapped of a range that was withdrawn.
 *  ucp_fh_mapping_released() has to follow.
 *
 *  @return whether there is any. */
int ucp_fh_mapping_release(ucp_fh_mapping_t *mapping, uint64_t *start_p,
                           uint64_t *end_p);

/** What is kept there was unmapped. */
void ucp_fh_mapping_released(ucp_fh_mapping_t *mapping, uint64_t start,
                             uint64_t end);

END_C_DECLS

#endif
