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
 * Flushes of endpoints that have transfers: the interface knows of the pieces
 * in flight, but not of those that are still to come. Such a flush waits until
 * the transfers that started before it have ended, and is then handed to the
 * interface.
 *
 * For the thread that is in the interface.
 */

/**
 * Flush the endpoint when its present transfers have ended.
 *
 * @param [in] comp  Completed then; NULL: the caller asks again.
 * @return UCS_INPROGRESS or UCS_ERR_NO_MEMORY.
 */
ucs_status_t uct_predreg_flush_start(uct_predreg_iface_t *iface, uct_ep_h ep,
                                     unsigned flags, uct_completion_t *comp);

/**
 * Hand the flushes that wait for no transfer any more to the interface. Those
 * for which there is no place in the send queue go on waiting.
 *
 * @return how many were tried.
 */
unsigned uct_predreg_flush_retry(uct_predreg_iface_t *iface);

/** Whether no flush waits. */
int uct_predreg_flush_is_idle(uct_predreg_iface_t *iface);

/** The endpoint goes, or all if it is NULL: its flushes end with
 *  UCS_ERR_CANCELED. */
void uct_predreg_flush_forget(uct_predreg_iface_t *iface, uct_ep_h ep);

#endif
