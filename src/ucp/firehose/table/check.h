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

/** @return whether what a span has of each bucket of a run is pinned and may be
 *          used. */
int ucp_fh_check_is_hit(const ucp_fh_local_t *table, const ucp_fh_run_t *run,
                        const ucp_fh_span_t *span);

/** What a pin needs of its buckets. @return UCS_ERR_INVALID_ADDR if a peer may
 *  not have them. */
ucs_status_t ucp_fh_check_span(const ucp_fh_local_t *table,
                               const ucp_fh_pin_t *pin, ucp_fh_span_t *span);

/**
 * @return UCS_OK if a pin may be let in; UCS_INPROGRESS if it has to wait, for
 *         room or for what is being unpinned; or the error with which
 *         it ends. Its span is known.
 */
ucs_status_t ucp_fh_check(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin);

#endif
