/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ENTRY_H_
#define UCT_PREDREG_ENTRY_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file entry.h
 *
 * The top of the core: the entry points, which the preloaded library calls through the
 * core's table of hooks (core/hooks.h), and the fork handlers. The preloaded library has
 * no state of the core to give to the entry points. So the entry points (entry.c), and
 * the start and the exit of the core (start.c), name the one state of the process and
 * pass the state on; no other function names it.
 */

/** The state of this process. */
extern uct_predreg_core_t uct_predreg_core;

/** The core's own hooks for the preloaded library: add-ons put hooks of theirs in place
 *  of some in a copy of this table. Any thread may call the hooks. */
extern const uct_predreg_hooks_t uct_predreg_hooks;

/**
 * Remember from where in the program, and after which communications, this thread is
 * about to issue a communication (ucs_rcache_pred_context_t): the registration of the
 * buffer looks for this context. Does nothing if no domain is managed and no trace is
 * recorded, since nobody would look for the context.
 *
 * @param [inout] issuer  The thread's earlier communications; adds the new one.
 */
void uct_predreg_comm(uct_predreg_core_t *core, uct_predreg_issuer_t *issuer,
                      const uct_predreg_comm_t *comm);

/** Do due work of the cache in the calling thread, while it waits: UCP's progress has
 *  found nothing to do. */
void uct_predreg_idle(uct_predreg_core_t *core, ucs_rcache_pred_idle_t *idle);

/** To be called before UCX packs a key for a peer: UCX then makes the key, if the memory
 *  has none yet, and so changes the domain. Any thread.
 *  @return UCS_OK: the thread has entered the domain (md/domain.h), and the caller has to
 *          leave the domain after the packing. UCS_ERR_UNSUPPORTED: the handle is a
 *          pieces handle, which has no key; the error is logged, and the domain was not
 *          entered. */
ucs_status_t
uct_predreg_mkey_begin(uct_predreg_domain_t *domain, uct_mem_h memh);

/**
 * Pack a key, or a part of one, see hooks.h. Any thread.
 *
 * Memory that UCP wants a key to, and that does not fit the bounds, has a *keyless*
 * handle (iface/handle.h). If UCP packs a key with such a handle, this function withdraws
 * the key (compat/packed_key.h): the peer finds no domain in the key, and moves the data
 * in another way. Packing leaves the handle as it is: UCP may pack keys any number of
 * times.
 *
 * @return what UCX returns; UCS_ERR_UNSUPPORTED as uct_predreg_mkey_begin();
 *         UCS_ERR_EXCEEDS_LIMIT, and the reason is logged, if the key cannot be
 *         withdrawn.
 */
ucs_status_t
uct_predreg_mkey_pack_v2(uct_predreg_core_t *core, uct_md_h md, uct_mem_h memh,
                         const uintptr_t *args, int is_ucp);


/* process.c */

/** Install fork handlers: from now on a forked child starts without the cache, the
 *  domains and the registrations of its parent. The handlers stay for good, so @a core
 *  has to be the state of the process. */
ucs_status_t uct_predreg_fork_handlers_install(uct_predreg_core_t *core);

END_C_DECLS

#endif
