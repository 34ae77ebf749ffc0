/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_FLUSH_H_
#define UCT_PREDREG_FLUSH_H_

#include "wrapped.h"

/** @file flush.h
 *
 * Flushes of endpoints that have transfers in pieces. The interface knows of
 * the pieces in flight, but not of those that are still to come. So a flush of
 * such an endpoint waits here until the transfers that started before it have
 * ended, and is then handed to the interface by the next progress.
 *
 * Only the thread that is in the interface may call these functions.
 */

/**
 * Flush an endpoint as soon as its present transfers, of which there has to be
 * one, have ended.
 *
 * @param [in] comp  Completed when the flush is; NULL: the caller asks again.
 * @return UCS_INPROGRESS, UCS_ERR_NO_MEMORY, or UCS_ERR_CANCELED if the
 *         endpoint is being destroyed.
 */
ucs_status_t uct_predreg_flush_start(uct_predreg_iface_t *iface, uct_ep_h ep,
                                     unsigned flags, uct_completion_t *comp);

/**
 * Hand those flushes to the interface whose transfers have all ended. Flushes
 * for which there is no place in the send queue go on waiting; some of them are
 * tried each time.
 *
 * @return how many flushes were handed to the interface.
 */
unsigned uct_predreg_flush_retry(uct_predreg_iface_t *iface);

/** End the waiting flushes of an endpoint with UCS_ERR_CANCELED. */
void uct_predreg_flush_cancel(uct_predreg_iface_t *iface, uct_ep_h ep);

/** End all waiting flushes of an interface with UCS_ERR_CANCELED. */
void uct_predreg_flush_cancel_all(uct_predreg_iface_t *iface);

#endif
