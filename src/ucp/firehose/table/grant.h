/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_GRANT_H_
#define UCP_FH_GRANT_H_

#include "region.h"

/** @file grant.h
 *
 * The firehoses that peers have on buckets of this process. Under the lock of
 * the table. */

/** A number that is the same for the same bucket and peer, and rarely for
 *  others. */
static inline uint64_t ucp_fh_grant_key(uint32_t peer, ucp_fh_bucket_t bucket)
{
    return bucket + ucs_rcache_pred_hash_word(peer);
}

/** @return the firehose of a peer on a bucket, or NULL. */
ucp_fh_grant_t *ucp_fh_grant_find(const ucp_fh_local_t *table, uint32_t peer,
                                  ucp_fh_bucket_t bucket);

/** @return memory for firehoses, linked by page_link, into a list.
 *  UCS_ERR_NO_MEMORY if there is not enough; the list is empty then. */
ucs_status_t ucp_fh_grant_alloc(ucs_list_link_t *list, uint64_t num);

/** Give a firehose to a peer that has none on this bucket; its memory is one of
 *  the list of ucp_fh_grant_alloc(). */
void ucp_fh_grant_add(ucp_fh_local_t *table, ucs_list_link_t *list,
                      uint32_t peer, ucp_fh_page_t *page);

/** Take a firehose back and free it. */
void ucp_fh_grant_drop(ucp_fh_local_t *table, ucp_fh_grant_t *grant);

#endif
