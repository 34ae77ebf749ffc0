/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_EAGER_H_
#define UCT_PREDREG_EAGER_H_

#include <ucs/reuse/costs.h>
#include <uct/ib/predreg/compat/ucx_api.h>
#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/comm.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/types.h>

#include <ucp/api/ucp.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file eager.h
 *
 * Reused small sends without the copy. A buffer is cold at first: UCP copies its
 * messages, as without this library. When the buffer was sent so often that a
 * registration pays (ucs/reuse), it becomes hot: the library registers it with UCP. The
 * memory handle of a hot buffer passes through the memory domains as other registrations
 * do, and counts in the bounds.
 *
 * These functions call UCP only in UCP's overridden entry points, before and after the
 * program's own call: never in memory hooks or within a registration. Where a bound needs
 * room at once, the domains deregister idle hot buffers although UCP still has their
 * handles, and UCP returns the handles later (uct_predreg_hot_give_way()).
 *
 * Unless something else is said, any thread may call a function, and only if
 * UCX_RCACHE_PRED_EAGER is set.
 */

/** The add-on. Its hooks call the functions below. */
extern const uct_predreg_addon_t uct_predreg_eager_addon;

/**
 * @return whether the program asks for a send to be complete locally soon, even if that
 * delays the message (UCP_OP_ATTR_FLAG_FAST_CMPL, as MPI_Send() does). Such a send is
 * copied, also from a hot buffer: a copied send is complete at once. A send without the
 * copy is complete only when the peer has acknowledged it (openucx/ucx #3113), which
 * takes longer than a copy. Also without EAGER.
 */
static UCS_F_ALWAYS_INLINE int
uct_predreg_eager_wants_fast_cmpl(const ucp_request_param_t *param)
{
    return !!(param->op_attr_mask & UCP_OP_ATTR_FLAG_FAST_CMPL);
}

/** @return whether a send is a plain one, from memory of the host as far as anybody
 *  knows; 0: the caller leaves the send alone. Also without EAGER. */
int uct_predreg_eager_is_plain(const ucp_request_param_t *param);

/** @return whether a context is for messages; 0: the caller leaves its sends alone. Also
 *  without EAGER. */
int uct_predreg_eager_has_messages(const ucp_params_t *params);


/* Contexts, workers and interfaces of UCP. UCP reads the length from which it sends
 * without a copy (UCX_ZCOPY_THRESH) only while it makes a context, so the library changes
 * the setting for this time. */

/**
 * UCP is about to make a context. If sends of the context are to be looked at, the
 * function changes the configuration.
 *
 * @param [in] gain_from  Finds the shortest message that may gain, as
 *                        uct_predreg_eager_gain_from(). Shorter messages are left
 *                        alone. Not called if the context is for no messages.
 */
void uct_predreg_eager_making(const uct_predreg_core_t *core,
                              const uct_predreg_real_t *real,
                              size_t (*gain_from)(void),
                              const ucp_params_t *params, ucp_config_t *config,
                              uct_predreg_making_t *making);

/** UCP has made a context. Restores the configuration.
 *  @param [in] ucp  NULL: UCP has failed to make a context. */
void uct_predreg_eager_made(uct_predreg_core_t *core,
                            const uct_predreg_real_t *real,
                            const uct_predreg_making_t *making,
                            ucp_config_t *config, ucp_context_h ucp);

/** UCP is about to clean a context up. */
void uct_predreg_eager_closing(ucp_context_h ucp);

/** A worker is about to be made in this thread. */
void uct_predreg_eager_making_worker(ucp_context_h ucp);

/** A worker was made; NULL: UCP has failed. */
void uct_predreg_eager_add_worker(ucp_context_h ucp, ucp_worker_h worker);

/** A worker is about to be destroyed. */
void uct_predreg_eager_remove_worker(ucp_worker_h worker);

/** UCP has queried an interface for a worker that is being made. */
void uct_predreg_eager_iface_query(uct_iface_attr_t *attr);

/** An interface was opened. Replaces its zero-copy operation by one that notes each call:
 *  only a call tells that a message was not copied, since UCP chooses the protocol of a
 *  send, and transports within a node have no such operation. */
void uct_predreg_eager_iface_opened(uct_iface_h iface);


/* Sends */

/**
 * This thread is about to send a contiguous message of UCT_PREDREG_SEND_MIN to
 * UCT_PREDREG_SEND_MAX bytes.
 *
 * @param [inout] sender_p  What this thread remembers of its sends; NULL at first.
 * @param [inout] send      The caller has set the kind of the message; the function fills
 *                          in the fields of the changes.
 * @return the changes, UCT_PREDREG_SEND_*; 0: the send is left alone.
 */
unsigned uct_predreg_eager_send(uct_predreg_sender_t **sender_p, ucp_ep_h ep,
                                const void *buffer, size_t length,
                                const ucp_request_param_t *param,
                                uct_predreg_send_t *send);

/** UCP has returned from a send with UCT_PREDREG_SEND_HOT. */
void uct_predreg_eager_sent(uct_predreg_sender_t *sender,
                            const uct_predreg_send_t *send, size_t length,
                            ucs_status_ptr_t result);

/** The program frees a request that is not complete. UCP would then forget the library's
 *  callback, which tells the library when nobody needs the buffer any more.
 *  @return whether the caller has to release the request instead of freeing it: then UCP
 *  keeps the library's callback, and the library does not call the program's. */
int uct_predreg_hot_freeing(void *request);

/** The progress of a worker found nothing to do: there is time to deregister
 *  unmapped memory, and to look again at what sends cost.
 *  @param [in] now  The cache's clock, ns; 0: there is no cache, and the function asks
 *                   the system for the time. */
void uct_predreg_eager_idle(uct_predreg_sender_t **sender_p,
                            ucp_worker_h worker, uint64_t now);


/* Registrations of hot buffers, for the memory domains */

/** A domain has made a registration in this thread. If the thread is registering a hot
 *  buffer, the function notes the domain's registration as a part of the buffer's. */
void uct_predreg_hot_registered(void *domain, uct_mem_h memh);

/** Mark the hot buffers as dead whose registrations overlap a range of memory: nothing is
 *  sent from them any more, and uct_predreg_hot_reap() deregisters them later. May be
 *  called in a memory hook. */
void uct_predreg_hot_unmapped(uintptr_t start, uintptr_t end);

/** A function that ends the use of a registration in a domain. */
typedef void (*uct_predreg_hot_end_func_t)(void *domain, uct_mem_h memh);

/**
 * Deregister a hot buffer that is not being sent, to make room. UCP does not notice, and
 * returns the handles later: the domains then ignore them, see
 * uct_predreg_hot_is_returning(). May be called inside of a registration.
 *
 * @return whether a buffer was deregistered.
 */
int uct_predreg_hot_give_way(uct_predreg_hot_end_func_t end);

/** @return whether UCP is returning, in this thread, the handles of a buffer that has
 *  given way: a domain then ignores the handle, whose use has ended already. */
int uct_predreg_hot_is_returning(void);


/* Costs */

/** Whether this thread measures registrations. Used by the thread alone. */
extern __thread int uct_predreg_is_measuring
        __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** @return the length from which on messages may gain, bytes; 0: no message gains. See
 *  uct_predreg_measure_gain_from(); the first call measures. */
size_t uct_predreg_eager_gain_from(void);

/**
 * Measure the costs of small sends in a context; lookups are not measured. UCP registers
 * memory for the measurement, and the domains pass these registrations on unmanaged: the
 * memory is in no count and no trace, and is deregistered at once. Also without EAGER.
 *
 * @param [inout] costs  Each cost becomes the least of its present value and the measured
 *                       one.
 * @return as uct_predreg_measure(); UCS_OK if the costs are a guess.
 */
ucs_status_t uct_predreg_eager_measure(const uct_predreg_real_t *real,
                                       ucp_context_h ucp, ucs_reuse_costs_t *costs);

/** Tell the costs of each context that has made a worker. */
void uct_predreg_eager_tell(uct_predreg_tell_t tell, void *arg);


/** In a forked child, where there is no other thread: forget the parent's contexts,
 *  workers and sends. */
void uct_predreg_eager_fork(void);

END_C_DECLS

#endif
