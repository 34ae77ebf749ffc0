/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MD_COMM_H_
#define UCT_PREDREG_MD_COMM_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/comm.h>

BEGIN_C_DECLS

/** @file comm.h
 *
 * The program communicates, or waits for it. The entry points of UCP call
 * these, see hooks.h.
 */

/**
 * A communication is about to be issued by this thread: remember its context by
 * its buffer, for when the buffer is registered. Nothing of it is changed.
 *
 * @param [inout] window  The thread's preceding communications.
 */
void uct_predreg_comm(ucs_rcache_pred_window_t *window,
                      uct_predreg_comm_t *comm);

/** Progress of UCP found nothing to do: work that is due can be done. */
void uct_predreg_idle(void);

END_C_DECLS

#endif
