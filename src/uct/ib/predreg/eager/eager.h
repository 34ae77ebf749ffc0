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
 * Reused small sends without the copy. A buffer is cold, and copied as UCX alone
 * would copy it, until it was sent so often that a registration pays (ucs/reuse).
 * A hot buffer has a memory handle of UCP, which passes through the memory domains
 * as other registrations do, and counts in the bounds.
 *
 * UCP is called from its entry points alone, before and after the program's own
 * call, never from memory hooks or from within a registration. Where a bound needs
 * room at once, idle handles are deregistered underneath UCP, and UCP returns them
 * later (uct_predreg_hot_give_way()).
 *
 * Unless something else is said, any thread may call a function, and only if
 * UCX_RCACHE_PRED_EAGER is set.
 */

/** The add-on: it calls the functions below. */
extern const uct_predreg_addon_t uct_predreg_eager_addon;

/**
 * @return whether the program asks for a send to be complete locally soon, even if
 * that delays the message (UCP_OP_ATTR_FLAG_FAST_CMPL, as MPI_Send() does). Such a
 * send is copied, also from a hot buffer: a copied send is complete at once, and
 * one without the copy only when the peer has acknowledged it (openucx/ucx #3113),
 * which takes longer than a copy. Also without EAGER.
 */
static UCS_F_ALWAYS_INLINE int
uct_predreg_eager_wants_fast_cmpl(const ucp_request_param_t *param)
{
    return !!(param->op_attr_mask & UCP_OP_ATTR_FLAG_FAST_CMPL);
}

/** @return whether a send is a plain one, from memory of the host as far as anybody
 *  knows: other sends are left alone. Also without EAGER. */
int uct_predreg_eager_is_plain(const ucp_request_param_t *param);

/** @return whether a context is for messages, so that its sends are looked at. Also
 *  without EAGER. */
int uct_predreg_eager_has_messages(const ucp_params_t *params);


/* Contexts, workers and interfaces of UCP. Only while UCP makes a context, it reads
 * the length from which messages go without the copy (UCX_ZCOPY_THRESH). */

/**
 * UCP is about to make a context. Changes its configuration, if its sends are to be
 * looked at.
 *
 * @param [in] gain_from  Tells the shortest message that may gain, as
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
 *  UCP chooses the protocol of a send, and a transport may lack the operation, as
 *  transports within a node do. */
void uct_predreg_eager_iface_opened(uct_iface_h iface);


/* Sends */

/**
 * This thread is about to send a contiguous message of UCT_PREDREG_SEND_MIN to
 * UCT_PREDREG_SEND_MAX bytes.
 *
 * @param [inout] sender_p  What this thread remembers of its sends; NULL at first.
 * @param [inout] send      Its message is set; filled with the changes.
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

/** The program frees a request that is not complete. UCP would forget the callback,
 *  which tells when nobody needs the buffer any more.
 *  @return whether UCP has to release the request instead, so that UCP calls back;
 *  the program is not called back. */
int uct_predreg_hot_freeing(void *request);

/** The progress of a worker found nothing to do: there is time to deregister
 *  unmapped memory, and to look again at what sends cost.
 *  @param [in] now  The cache's clock, ns; 0: there is no cache, and the system is
 *                   asked. */
void uct_predreg_eager_idle(uct_predreg_sender_t **sender_p,
                            ucp_worker_h worker, uint64_t now);


/* Registrations of hot buffers, for the memory domains */

/** A domain has made a registration in this thread. If the thread is registering a hot
 *  buffer, the registration is noted as a part of the buffer's. */
void uct_predreg_hot_registered(void *domain, uct_mem_h memh);

/** Mark registrations that overlap a range of memory as dead: nothing is sent from them any
 *  more, and uct_predreg_hot_reap() deregisters them later. May be called in a memory
 *  hook. */
void uct_predreg_hot_unmapped(uintptr_t start, uintptr_t end);

/** Ends the use of a registration in a domain. */
typedef void (*uct_predreg_hot_end_func_t)(void *domain, uct_mem_h memh);

/**
 * Deregister a buffer that is not being sent, to make room. UCP does not notice:
 * the domains ignore the handles of UCP later, see uct_predreg_hot_is_returning().
 * Also inside of a registration.
 *
 * @return whether there is more room now.
 */
int uct_predreg_hot_give_way(uct_predreg_hot_end_func_t end);

/** @return whether this thread is in a call by which UCP returns handles whose uses
 *  have ended before. */
int uct_predreg_hot_is_returning(void);


/* Costs */

/** Whether this thread measures registrations. Used by the thread alone. */
extern __thread int uct_predreg_is_measuring
        __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** @return from which length on messages may gain, bytes; 0: none does. See
 *  uct_predreg_measure_gain_from(); the first call measures. */
size_t uct_predreg_eager_gain_from(void);

/**
 * Measure the costs of small sends in a context, lookups apart. UCP registers the
 * memory, by memory domains that do not manage the memory meanwhile: it is in no
 * count and no trace, and is deregistered at once. Also without EAGER.
 *
 * @param [inout] costs  Each cost becomes the least of its present value and the measured
 *                       one.
 * @return as uct_predreg_measure(); UCS_OK if the costs are a guess.
 */
ucs_status_t uct_predreg_eager_measure(const uct_predreg_real_t *real,
                                       ucp_context_h ucp, ucs_reuse_costs_t *costs);

/** Tell the costs of each context that has made a worker. */
void uct_predreg_eager_tell(uct_predreg_tell_t tell, void *arg);


/** In a forked child, where there is no other thread: the parent's contexts are
 *  not the child's. */
void uct_predreg_eager_fork(void);

END_C_DECLS

#endif
