/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_EXPOSE_H_
#define UCP_FH_EXPOSE_H_

#include "state.h"

/** @file expose.h
 *
 * Memory that peers may access. */

/** As ucp_fh_expose(), for those who have another way if the memory does not have its
 *  buckets for itself: the log says nothing of that. */
ucs_status_t ucp_fh_expose_apart(ucp_fh_t *fh, void *address, size_t length,
                                 ucp_fh_mem_h *mem_p);

/** As ucp_fh_unexpose(), and while that waits for peers, call a function of this thread,
 *  which may wait for the same peers in another way. Without lock.
 *
 *  @param [in] help  Called again and again; NULL: nothing is called. */
ucs_status_t ucp_fh_unexpose_with(ucp_fh_mem_h mem, void (*help)(void *arg), void *arg);

#endif
