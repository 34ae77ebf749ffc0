/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_HOT_H_
#define UCT_PREDREG_HOT_H_

#include "context.h"

#include <uct/ib/predreg/core/comm.h>

#include <uct/api/uct.h>

/** @file hot.h
 *
 * The registrations of hot buffers: memory handles of UCP, made when a buffer
 * becomes hot, so that its sends need neither UCP's cache nor ours. They pass
 * through the memory domains as other registrations do, and count in the
 * bounds.
 *
 * UCP is called from its entry points alone, before and after the program's own
 * call, never from memory hooks or from within a registration. Where a bound
 * needs room at once, idle handles are deregistered underneath UCP, which hands
 * them back later (uct_predreg_hot_give_way()).
 */

/**
 * Register a buffer, which this thread is about to send.
 *
 * @param [in] buffer  Its place in the table.
 * @param [in] length  Of the message, bytes. The pages of that are registered, which
 *                     the program does not unmap as long as it sends: of what was sent
 *                     before, more may be unmapped just now, by a thread that has
 *                     called the memory hook before there was a slot.
 * @return whether it is hot now. If there is no room for it, its sends are counted
 *         from 0 again; if its memory cannot be registered, they are not.
 */
int uct_predreg_hot_make(uct_predreg_eager_context_t *context,
                         ucs_reuse_buffer_t *buffer, const void *address,
                         size_t length);

/** In a forked child, where there is no other thread. */
void uct_predreg_hot_reset(void);

/**
 * Prepare a send of a hot buffer: hand its memory handle to UCP, and have UCP
 * tell when it is over.
 *
 * @param [in]  number  Handle of the buffer in the table.
 * @param [in]  sender  That of this thread.
 * @param [out] send    The fields of UCT_PREDREG_SEND_HOT are filled in.
 * @return 0 if its registration cannot be used, so that it is to be copied; what
 *         is dead was deregistered then.
 */
int uct_predreg_hot_begin(uct_predreg_eager_context_t *context,
                          uct_predreg_sender_t *sender, uint32_t number,
                          ucp_ep_h ep, const void *buffer, size_t length,
                          const ucp_request_param_t *param,
                          uct_predreg_send_t *send);

/** A transport has sent a message of a slot without copying it. */
static UCS_F_ALWAYS_INLINE void uct_predreg_hot_prove(ucs_reuse_slot_t *slot)
{
    /* Read first: the line stays shared among threads that use the slot */
    if (ucs_unlikely(!atomic_load_explicit(&slot->is_proven,
                                           memory_order_relaxed))) {
        atomic_store_explicit(&slot->is_proven, 1, memory_order_relaxed);
    }
}

/** A transport has sent this without copying it.
 *  @return whether it is what this thread sends from a hot buffer just now. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_hot_see(const uct_iov_t *iov, size_t iovcnt)
{
    uct_predreg_sender_t *sender = uct_predreg_sender_mine;
    size_t i;

    if ((sender == NULL) || (sender->issuing.slot == NULL)) {
        return 0;
    }

    for (i = 0; i < iovcnt; ++i) {
        if (iov[i].buffer == sender->issuing.buffer) {
            uct_predreg_hot_prove(sender->issuing.slot);
            sender->issuing.is_zcopy = 1;
            return 1;
        }
    }

    return 0;
}

/** A send that was prepared is over. */
void uct_predreg_hot_over(const uct_predreg_send_t *send, ucs_status_t status);

/** UCP has returned from a send that was prepared.
 *  @param [in] result  What it has returned: it calls back for a request.
 *  @return whether a transport has sent the message by now, without a copy. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_hot_issued(uct_predreg_sender_t *sender,
                       const uct_predreg_send_t *send, ucs_status_ptr_t result)
{
    int is_zcopy = sender->issuing.is_zcopy;

    if (UCS_PTR_IS_PTR(result)) {
        uct_predreg_flight_issued(send->flight, result);
    } else {
        uct_predreg_hot_over(send, UCS_PTR_RAW_STATUS(result));
    }

    sender->issuing = send->outer;
    return is_zcopy;
}

/** The program frees a request that is not complete. UCP would forget the callback by which
 *  it tells that the buffer is not needed any more.
 *  @return whether UCP has to release the request instead, so that it calls back: the
 *  program is not. */
int uct_predreg_hot_freeing(void *request);

/** Deregister what is dead and not in flight. To be called where the program
 *  calls UCP. */
void uct_predreg_hot_reap(uct_predreg_eager_context_t *context);

/** Deregister all, since the context goes. */
void uct_predreg_hot_close(uct_predreg_eager_context_t *context);

/** Mark what is registered of a range of memory dead, or of all memory. May be
 *  called in a memory hook. */
void uct_predreg_hot_unmapped(uintptr_t start, uintptr_t end);


/** A registration of this thread is one of a hot buffer, if it is inside
 *  uct_predreg_hot_make(). To be called when it was made, by the domain that
 *  made it. */
void uct_predreg_hot_registered(void *domain, uct_mem_h memh);

/** Ends the use of a registration in a domain. */
typedef void (*uct_predreg_hot_end_func_t)(void *domain, uct_mem_h memh);

/**
 * Deregister a buffer that is not being sent, to make room. It is done behind
 * UCP's back: the handles that UCP returns later are to be ignored, see
 * uct_predreg_hot_is_returning(). Any thread, also inside of a registration.
 *
 * @return whether there is more room now.
 */
int uct_predreg_hot_give_way(uct_predreg_hot_end_func_t end);

/** @return whether UCP is returning handles, in this thread, whose uses were
 *  ended before. */
int uct_predreg_hot_is_returning(void);

#endif
