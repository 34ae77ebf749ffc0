/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_START_H_
#define UCP_WIN_START_H_

#include "state.h"

/** @file start.h
 *
 * Firehose in this process: it is started when the first window is mapped, or
 * the first key of a window unpacked, and ends with the program's context. */

/** Find out which job this is. To be called once, before all else. */
void ucp_win_start_init(const predreg_windows_env_t *env);

/** A context for one-sided communication was made. @a is_shared as
 *  ucp_win_context_add(). */
void ucp_win_start_context(ucp_context_h context, int is_shared);

/** Start Firehose for a context of the program, if it was not.
 *
 *  @return NULL if it cannot be, for this context; the log says why, once. */
ucp_fh_t *ucp_win_start(ucp_context_h context);

/** The same for accesses alone, for which any context will do.
 *
 *  @return NULL: it is not there, and cannot be started. */
ucp_fh_t *ucp_win_start_access(ucp_context_h context);

/** A context is about to be destroyed: if windows of it were served, Firehose
 *  ends. */
void ucp_win_end(ucp_context_h context);

/** Tell once that memory is pinned as if there were no windows.
 *
 *  @param [in] why  Follows "since ". */
void ucp_win_tell_pinned(const char *why);

#endif
