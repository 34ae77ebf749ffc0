/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_CHECK_H_
#define UCP_FH_CHECK_H_

#include "local.h"

/** @file check.h
 *
 * Whether a pin may be let in. Changes nothing. Under the lock of the table. */

/** @return whether all buckets of a run are pinned and may be used. */
int ucp_fh_check_is_hit(const ucp_fh_local_t *table, const ucp_fh_run_t *run);

/** @return whether peers may have a firehose on a bucket. */
int ucp_fh_check_is_allowed(const ucp_fh_local_t *table,
                            ucp_fh_bucket_t bucket);

/**
 * @return UCS_OK if a pin may be let in; UCS_INPROGRESS if it has to wait, for
 *         room or for a region that is being unpinned; or the error with which
 *         it ends.
 */
ucs_status_t ucp_fh_check(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin);

#endif
