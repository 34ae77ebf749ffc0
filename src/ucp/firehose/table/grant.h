/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_GRANT_H_
#define UCP_FH_GRANT_H_

#include "reg.h"

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

/** Give a firehose to a peer that has none on this bucket.
 *
 *  @return UCS_ERR_NO_MEMORY, or UCS_OK. */
ucs_status_t
ucp_fh_grant_add(ucp_fh_local_t *table, uint32_t peer, ucp_fh_reg_t *reg);

/** Take a firehose back and free it. */
void ucp_fh_grant_drop(ucp_fh_local_t *table, ucp_fh_grant_t *grant);

#endif
