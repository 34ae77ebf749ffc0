/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_SETTLE_H_
#define UCP_FH_SETTLE_H_

#include "state.h"

/** @file settle.h
 *
 * What follows from a call of a table: messages to be sent, memory to be pinned
 * and unpinned, functions of the program to be called. */

/** Do all of it. Without lock, by any thread, several of them at a time, of which
 *  one at most pins and unpins: that one does so until there is no more. */
void ucp_fh_settle(ucp_fh_t *fh);

/** @return whether there may be something to do. Under ucp_fh::lock. */
int ucp_fh_is_unsettled(const ucp_fh_t *fh);

#endif
