/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_UNMAP_H_
#define UCP_FH_UNMAP_H_

#include "state.h"

/** @file unmap.h
 *
 * Exposed memory that the program unmaps: it is withdrawn, page by page, and
 * unmapped when no peer has a firehose on it any more. */

/** Begin to withdraw what the program has unmapped so far. Under ucp_fh::lock;
 *  ucp_fh_settle() has to follow. Without memory it is tried again by the
 *  library's thread. */
void ucp_fh_unmap_begin(ucp_fh_t *fh);

/** Unmap what was withdrawn. Without lock.
 *
 *  @return whether there was something. */
int ucp_fh_unmap_finish(ucp_fh_t *fh);

/** Both, and what follows from it, if there is news. Without lock; by the
 *  library's thread. */
void ucp_fh_unmap_progress(ucp_fh_t *fh);

/** Whether some of a run is being withdrawn because it was unmapped. Under
 *  ucp_fh::lock. */
int ucp_fh_unmap_concerns(const ucp_fh_t *fh, const ucp_fh_run_t *run);

#endif
