/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mkey.h"

#include <uct/ib/predreg/compat/packed_key.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/iface.h>
#include <uct/ib/predreg/md/domain.h>

#include <ucs/debug/log_def.h>

#include <stdatomic.h>


/* The key that this thread packs */
static __thread uct_predreg_packed_key_t packed_key;


/* @return the handle of this library behind that of UCP, if it is one */
static uct_predreg_pieces_memh_t *
pieces_of(const uct_predreg_domain_t *domain, uct_mem_h memh)
{
    return (domain->cache == NULL) ? NULL : uct_predreg_memh_to_pieces(memh);
}

static UCS_F_NOINLINE ucs_status_t refuse_pieces(void)
{
    ucs_error("a key was asked for memory that is registered in pieces, which "
              "no peer can access");
    return UCS_ERR_UNSUPPORTED;
}

ucs_status_t
uct_predreg_mkey_begin(uct_predreg_domain_t *domain, uct_mem_h memh)
{
    if (ucs_unlikely(pieces_of(domain, memh) != NULL)) {
        return refuse_pieces();
    }

    uct_predreg_domain_enter(domain);
    return UCS_OK;
}

static int is_keyless(const uct_predreg_domain_t *domain, uct_mem_h memh)
{
    const uct_predreg_pieces_memh_t *pieces = pieces_of(domain, memh);

    return (pieces != NULL) && pieces->keyless;
}

/* Withdraw the key of which UCP packs a part with a keyless handle */
static ucs_status_t withdraw(const uct_predreg_core_t *core)
{
    /* Relaxed: see state.h */
    unsigned num_domains = atomic_load_explicit(&core->max_domains,
                                                memory_order_relaxed);
    ucs_status_t status;

    status = uct_predreg_packed_key_withdraw(&packed_key, num_domains);
    if (status != UCS_OK) {
        ucs_error("memory that does not fit the bounds cannot be received into "
                  "with %u memory domains", num_domains);
    }
    return status;
}

/* Pack a key, as the only thread in the domain if that is managed */
static UCS_F_ALWAYS_INLINE ucs_status_t
pack(const uct_predreg_core_t *core, uct_predreg_domain_t *domain, uct_md_h md,
     uct_mem_h memh, const uintptr_t *args)
{
    ucs_status_t status;

    if (domain != NULL) {
        status = uct_predreg_mkey_begin(domain, memh);
        if (ucs_unlikely(status != UCS_OK)) {
            return status;
        }
    }

    status = core->real.uct_md_mkey_pack_v2(md, memh, args[0], args[1], args[2],
                                            args[3]);
    if (domain != NULL) {
        uct_predreg_domain_leave(domain);
    }
    return status;
}

/* Pack a part of a key of UCP, where there are keyless handles */
static UCS_F_NOINLINE ucs_status_t
pack_part(const uct_predreg_core_t *core, uct_predreg_domain_t *domain,
          uct_md_h md, uct_mem_h memh, const uintptr_t *args)
{
    ucs_status_t status;

    /* The last argument is where the key is written, in those versions of UCX
     * that are given keyless handles */
    uct_predreg_packed_key_part(&packed_key, (void*)args[3]);

    status = ((domain != NULL) && is_keyless(domain, memh)) ?
             withdraw(core) : pack(core, domain, md, memh, args);
    if (status != UCS_OK) {
        uct_predreg_packed_key_fail(&packed_key);
    }
    return status;
}

ucs_status_t
uct_predreg_mkey_pack_v2(uct_predreg_core_t *core, uct_md_h md, uct_mem_h memh,
                         const uintptr_t *args, int is_ucp)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    /* Without keyless handles nobody needs to know which key this is a part of.
     * Relaxed: see state.h */
    return ucs_unlikely(atomic_load_explicit(&core->has_keyless,
                                             memory_order_relaxed) && is_ucp) ?
           pack_part(core, domain, md, memh, args) :
           pack(core, domain, md, memh, args);
}
