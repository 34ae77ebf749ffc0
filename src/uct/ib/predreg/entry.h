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
 * The top of the core: its entry points, which the preloaded library calls through its table of
 * hooks, and events of the process. The preloaded library has no state of the core to give to
 * the entry points. So the entry points, and the start and exit of the core, name the one state
 * of the process, and pass it on. Nothing below them names it.
 */

/** The state of this process. */
extern uct_predreg_core_t uct_predreg_core;

/** Functions for the preloaded library, without those of add-ons. Any thread may call them. */
extern const uct_predreg_hooks_t uct_predreg_hooks;

/**
 * Remember the context of a communication that this thread is about to issue, so that the
 * registration of its buffer finds the context. Where no domain is managed and no trace
 * recorded, nobody looks for the context, and nothing is done.
 *
 * @param [inout] issuer  The communications of this thread; this one is added.
 */
void uct_predreg_comm(uct_predreg_core_t *core, uct_predreg_issuer_t *issuer,
                      const uct_predreg_comm_t *comm);

/** Use the time while the program waits, since UCP's progress found nothing to do, for due work
 *  of the cache. */
void uct_predreg_idle(uct_predreg_core_t *core, ucs_rcache_pred_idle_t *idle);

/** To be called before UCX packs a key for a peer: UCX then makes the key, if the memory has
 *  none yet, and so changes the domain. Any thread.
 *  @return UCS_OK, and the thread is in the domain (md/domain.h), which the thread has to leave;
 *          or UCS_ERR_UNSUPPORTED, and the reason is logged, if the handle is a pieces handle,
 *          which has no key. */
ucs_status_t
uct_predreg_mkey_begin(uct_predreg_domain_t *domain, uct_mem_h memh);

/**
 * Pack a key, or a part of one, see hooks.h. Any thread.
 *
 * Memory that UCP wants a key to, and that does not fit the bounds, has a *keyless* handle
 * (iface/iface.h). The key that UCP packs with such a handle is withdrawn
 * (compat/packed_key.h), so that the peer looks for another way. Packing leaves the handle as
 * it is: UCP may pack keys any number of times.
 *
 * @return what UCX returns; UCS_ERR_UNSUPPORTED as uct_predreg_mkey_begin();
 *         UCS_ERR_EXCEEDS_LIMIT, and the reason is logged, if the key cannot be withdrawn.
 */
ucs_status_t
uct_predreg_mkey_pack_v2(uct_predreg_core_t *core, uct_md_h md, uct_mem_h memh,
                         const uintptr_t *args, int is_ucp);


/* process.c */

/** Install fork handlers: from now on a forked child starts without anything of its
 *  parent's. The handlers stay for good, so @a core has to be the state of the process. */
ucs_status_t uct_predreg_fork_handlers_install(uct_predreg_core_t *core);

END_C_DECLS

#endif
