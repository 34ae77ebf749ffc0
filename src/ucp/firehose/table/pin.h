/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_PIN_H_
#define UCP_FH_PIN_H_

#include "grant.h"

/** @file pin.h
 *
 * How pins are let in, wait for their registrations, and end. Under the lock of the
 * table. */

/** Fill in a pin that is in no list, but for what it wants. */
void ucp_fh_pin_init(ucp_fh_pin_t *pin, const ucp_fh_run_t *run, uint32_t peer);

/**
 * Let a pin in, or have it wait until it can be let in.
 *
 * @return UCS_OK: it is pinned. UCS_INPROGRESS: it ends later, by
 *         ucp_fh_pin_end(). An error: it is not in the table.
 */
ucs_status_t ucp_fh_pin_begin(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** As ucp_fh_pin_begin(), for a local pin that is a hit.
 *
 *  @return UCS_OK; UCS_ERR_NO_RESOURCE if it cannot be let in now; or another
 *          error. */
ucs_status_t ucp_fh_pin_hit(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** An active pin goes on until it comes to a registration that is not pinned,
 *  or ends. @return whether it is pinned, so that it has to be told. */
int ucp_fh_pin_advance(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** End a pin, and tell its owner: the operation that waits for it, or the peer's message
 *  that asked for it, which is answered once all of its pins have ended. */
void ucp_fh_pin_end(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                    ucs_status_t status);

/** Undo the counts of a pin. */
void ucp_fh_pin_drop(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** A pin that is queued or active ends with an error. */
void ucp_fh_pin_fail(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                     ucs_status_t status);

/** There may be room, or a registration that pins have waited for: let in those that
 *  wait. */
void ucp_fh_pin_settle(ucp_fh_local_t *table);

#endif
