/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PROFILE_H_
#define UCS_RCACHE_PROFILE_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file profile.h
 *
 * A profile: for each place in a program and length of memory, how long it took until the
 * same memory was used again. docs/profile.md describes the file. Uses the times of
 * ucs/rcache_pred/api.
 *
 * Threads: a loaded profile does not change, so that any number of threads may look at it.
 */

/** The version of the file that is written, and read. */
#define UCS_RCACHE_PROFILE_VERSION 1

/** So many rows a profile may have. */
#define UCS_RCACHE_PROFILE_MAX_ROWS (1u << 20)

/** What is known of one place and length. */
typedef struct ucs_rcache_profile_row {
    uint64_t               name;   /**< Of the place, see name.h */
    uint64_t               length; /**< Of the memory, bytes */
    uint64_t               uses;   /**< After so many of them the memory was used
                                        again */
    unsigned               num_intervals; /**< 1..UCS_RCACHE_PRED_MAX_PRIOR */
    ucs_rcache_pred_time_t intervals[UCS_RCACHE_PRED_MAX_PRIOR]; /**< ns, each > 0,
                                        the last one being the most likely */
} ucs_rcache_profile_row_t;


typedef struct ucs_rcache_profile {
    ucs_rcache_profile_row_t *rows; /**< By name, then by length; no two of both are
                                         alike */
    size_t                   num_rows;
} ucs_rcache_profile_t;


/** Make a profile without rows, which ucs_rcache_profile_free() frees. */
void ucs_rcache_profile_init(ucs_rcache_profile_t *profile);

/** Free the rows of a profile. */
void ucs_rcache_profile_free(ucs_rcache_profile_t *profile);

/** Add a row, in any order. ucs_rcache_profile_sort() is to be called after the last one.
 *  @return UCS_ERR_NO_MEMORY, or UCS_ERR_EXCEEDS_LIMIT if there are too many. */
ucs_status_t ucs_rcache_profile_add(ucs_rcache_profile_t *profile,
                                    const ucs_rcache_profile_row_t *row);

/** Put rows into their order. @return UCS_ERR_ALREADY_EXISTS if two are alike. */
ucs_status_t ucs_rcache_profile_sort(ucs_rcache_profile_t *profile);

/** @return the row of a place and a length; NULL if there is none. */
const ucs_rcache_profile_row_t *
ucs_rcache_profile_find(const ucs_rcache_profile_t *profile, uint64_t name,
                        uint64_t length);

/** Say what a profile has of a place and a length.
 *
 *  @param [out] intervals  As in the row; room for UCS_RCACHE_PRED_MAX_PRIOR.
 *  @return how many; 0 if there is no row. */
unsigned ucs_rcache_profile_ask(const ucs_rcache_profile_t *profile,
                                uint64_t name, uint64_t length,
                                ucs_rcache_pred_time_t *intervals);

/**
 * Read a profile. What is wrong with it is logged, with the line.
 *
 * @return UCS_ERR_IO_ERROR if it cannot be read or is no regular file,
 *         UCS_ERR_INVALID_PARAM if it is damaged or of another version,
 *         UCS_ERR_NO_MEMORY, UCS_ERR_EXCEEDS_LIMIT. Then there is
 *         nothing to free.
 */
ucs_status_t ucs_rcache_profile_load(const char *path,
                                     ucs_rcache_profile_t *profile);

/** Write a profile. @return UCS_ERR_IO_ERROR. */
ucs_status_t ucs_rcache_profile_write(const ucs_rcache_profile_t *profile,
                                      FILE *stream);

END_C_DECLS

#endif
