/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SEND_H_
#define UCT_PREDREG_SEND_H_

#include <uct/ib/predreg/core/comm.h>
#include <uct/ib/predreg/core/sender.h>
#include <uct/ib/predreg/compat/real.h>

#include <ucp/api/ucp.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file send.h
 *
 * Reused small sends without the copy: what the overridden functions of UCP
 * tell. A buffer is cold, and copied as it would be without this library, until
 * it was sent so often that registering it pays (ucs/reuse). Nothing of this is
 * called unless UCX_RCACHE_PRED_EAGER is set.
 */

/** Switch this on, once, when the core starts. */
void uct_predreg_eager_start(void);

/** Make the datatype of sends that are copied, unless that was done. */
ucs_status_t uct_predreg_eager_make_datatype(const uct_predreg_real_t *real);

/** An interface was opened. */
void uct_predreg_eager_iface_opened(uct_iface_h iface);

/**
 * @return whether the program waits for a send (UCP_OP_ATTR_FLAG_FAST_CMPL, as
 * of MPI_Send()). Such a send is copied, even from a hot buffer: the program
 * asks for the local completion to be fast even if that delays the message.
 * A copied send is over at once, and one without the copy only when the peer has
 * acknowledged it (openucx/ucx #3113), which takes longer than a copy.
 */
static UCS_F_ALWAYS_INLINE int
uct_predreg_eager_is_hasty(const ucp_request_param_t *param)
{
    return !!(param->op_attr_mask & UCP_OP_ATTR_FLAG_FAST_CMPL);
}

/** @return whether a program has nothing else in mind than a plain send, of the
 *  host's memory as far as anybody knows: others are left alone. */
int uct_predreg_eager_is_plain(const ucp_request_param_t *param);

/**
 * This thread is about to send a message of bytes in a row, of
 * UCT_PREDREG_SEND_MIN to UCT_PREDREG_SEND_MAX bytes.
 *
 * @param [inout] sender_p  What this thread remembers; NULL at first.
 * @param [inout] send      Its message is set; filled with the changes.
 * @return which changes there are, UCT_PREDREG_SEND_*; 0: it is left alone.
 */
unsigned uct_predreg_eager_send(uct_predreg_sender_t **sender_p, ucp_ep_h ep,
                                const void *buffer, size_t length,
                                const ucp_request_param_t *param,
                                uct_predreg_send_t *send);

/** UCP has returned from a send with UCT_PREDREG_SEND_HOT. */
void uct_predreg_eager_sent(uct_predreg_sender_t *sender,
                            const uct_predreg_send_t *send, size_t length,
                            ucs_status_ptr_t result);

/** The progress of a worker found nothing to do: there is time to deregister
 *  what was unmapped, and to look again at what sends cost.
 *  @param [in] now  The cache's clock, ns; 0: there is no cache, and the system is
 *                   asked. */
void uct_predreg_eager_idle(uct_predreg_sender_t **sender_p,
                            ucp_worker_h worker, uint64_t now);

/** In a forked child, where there is no other thread: the parent's contexts are
 *  not the child's. */
void uct_predreg_eager_fork(void);

END_C_DECLS

#endif
