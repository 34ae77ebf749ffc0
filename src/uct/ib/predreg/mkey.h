/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MKEY_H_
#define UCT_PREDREG_MKEY_H_

#include <uct/api/uct.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file mkey.h
 *
 * Packs keys to registered memory, which peers access by them. One thread at a
 * time is in a domain (md/domain.h).
 *
 * Memory that UCP wants a key to, and that does not fit the bounds, has a
 * *keyless* handle (iface/iface.h). The key that UCP packs with it is
 * withdrawn (compat/packed_key.h), so that the peer looks for another way.
 * Packing leaves the handle as it is: UCP may pack keys any number of times.
 * Any thread may call these functions.
 */

/** To be called before UCX packs a key for a peer: UCX then makes the key, if
 *  the memory has none yet, and so changes the domain.
 *  @return UCS_OK, and the thread is in the domain, which it has to leave; or
 *  UCS_ERR_UNSUPPORTED, and the reason is logged, if the handle is a pieces
 *  handle, which has no key. */
ucs_status_t
uct_predreg_mkey_begin(uct_predreg_domain_t *domain, uct_mem_h memh);

/** Pack a key, or a part of one, see hooks.h. @return what UCX returns;
 *  UCS_ERR_UNSUPPORTED as above; UCS_ERR_EXCEEDS_LIMIT, and the reason is
 *  logged, if the key cannot be withdrawn. */
ucs_status_t
uct_predreg_mkey_pack_v2(uct_predreg_core_t *core, uct_md_h md, uct_mem_h memh,
                         const uintptr_t *args, int is_ucp);

END_C_DECLS

#endif
