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

/**
 * See to the first pages of a range.
 *
 * @param [in]    start  Where the range begins.
 * @param [inout] end_p  Its end; afterwards, that of pages for which the same
 * holds.
 * @return whether these are to be left to this mapping if the program unmaps
 *         them: they are exposed, or kept already.
 */
int ucp_fh_mapping_has(const ucp_fh_mapping_t *mapping, uint64_t start,
                       uint64_t *end_p);

/** The program unmaps memory, which is kept from now on.
 *
 *  @return whether there is something to be taken. */
int ucp_fh_mapping_keep(ucp_fh_mapping_t *mapping, uint64_t start,
                        uint64_t end);

/**
 * See to the first pages of a range.
 *
 * @param [in]    start  Where the range begins.
 * @param [inout] end_p  Its end; afterwards, that of pages for which the same
 * holds.
 * @return whether these are kept.
 */
int ucp_fh_mapping_keeps(const ucp_fh_mapping_t *mapping, uint64_t start,
                         uint64_t *end_p);

/** Whether some of a range is kept. */
int ucp_fh_mapping_is_kept(const ucp_fh_mapping_t *mapping, uint64_t start,
                           uint64_t end);

/** Whether memory is just being released, and the program has to wait before it
 *  puts something in its place. */
int ucp_fh_mapping_is_releasing(const ucp_fh_mapping_t *mapping, uint64_t start,
                                uint64_t end);

/** The program puts something else in the place of memory, or moves it away.
 *  Nothing is kept there any more.
 *
 *  @return whether there is something to be taken. */
int ucp_fh_mapping_replace(ucp_fh_mapping_t *mapping, uint64_t start,
                           uint64_t end);

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
