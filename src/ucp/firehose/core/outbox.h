/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_OUTBOX_H_
#define UCP_FH_OUTBOX_H_

#include "state.h"

/** @file outbox.h
 *
 * Messages on their way out, and the wake-up of the library's thread. */

/** The active message of all of the library's messages. The workers that they
 *  go to are the library's own. */
#define UCP_FH_AM_ID 0

/** Give a message its number, and put it where ucp_fh_settle() finds it. Under
 *  ucp_fh::lock. Messages are handled in the order in which they are posted. */
void ucp_fh_outbox_post(ucp_fh_t *fh, ucp_fh_parcel_t *parcel);

/** Send a message that was taken out of the outbox. Without lock.
 *
 *  @return UCS_OK: it is under way, and freed when it is not needed any more.
 *          Else it is freed, and the peer cannot be reached. */
ucs_status_t ucp_fh_outbox_send(ucp_fh_t *fh, ucp_fh_parcel_t *parcel);

/** Wake the library's thread. Async-signal-safe; under any lock. */
void ucp_fh_wake(ucp_fh_t *fh);

#endif
