/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md.h"
#include "domain.h"

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/iface.h>

#include <stdlib.h>

/*
 * The end of a use, for which UCP gives nothing but a handle. Whose handle it is, is
 * found out in this order: a pieces handle has its lowest bit set; then the answerer of
 * the domain, such as the arena, is asked, and the cache; then the map of owners, with
 * kept memory (kept.c), pools and pinned memory (foreign.c) and uses of which an observer
 * is told. A handle that nobody owns is UCX's.
 */


/* End a use of memory in pieces. A use that this process has inherited by a fork belongs
 * to the parent's cache, which is left alone */
static ucs_status_t end_in_pieces(uct_predreg_pieces_memh_t *pieces,
                                  const uct_md_mem_dereg_params_t *params,
                                  int is_inherited)
{
    uct_predreg_copy_cancel(&pieces->copy);
    if (!is_inherited) {
        ucs_rcache_pred_end_in_pieces(&pieces->use);
    }
    free(pieces);
    if (uct_predreg_is_invalidation(params)) {
        uct_predreg_invalidated(params->comp); /* No peer ever had a key to the memory */
    }
    return UCS_OK;
}

ucs_status_t
uct_predreg_unknown_mem_dereg(uct_predreg_core_t *core, uct_md_h md,
                              const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_pieces_memh_t *pieces;

    /* Only in an inherited domain the mark tells a pieces handle: handles of other
     * components may have the same mark */
    pieces = uct_predreg_memh_to_pieces(params->memh);
    if (ucs_unlikely((pieces != NULL) && uct_predreg_domain_is_inherited(md))) {
        return end_in_pieces(pieces, params, 1);
    }

    return core->real.uct_md_mem_dereg_v2(md, params);
}

/* End a use if the answerer of the domain has begun the use. @return whether it has */
static int ends_answered(uct_predreg_domain_t *domain,
                         const uct_md_mem_dereg_params_t *params)
{
    if ((domain->answerer == NULL) || !domain->answerer->end(domain, params)) {
        return 0;
    }

    if (uct_predreg_is_invalidation(params)) {
        uct_predreg_invalidated(params->comp);
    }
    return 1;
}

/* End a use and invalidate its registration. In versions of UCX where UCP's completion
 * must be called before this function returns (waits_for_invalidation), the completion is
 * called even if other uses of the region have not ended. The region stays for these
 * uses, which may access the memory anyway. */
static ucs_status_t invalidate(uct_predreg_domain_t *domain,
                               const uct_md_mem_dereg_params_t *params)
{
    int is_awaited = !domain->core->compat->waits_for_invalidation;
    ucs_status_t status;

    status = ucs_rcache_pred_invalidate(domain->cache, params->memh,
                                        uct_predreg_invalidated,
                                        is_awaited ? params->comp : NULL);
    if ((status == UCS_OK) && !is_awaited) {
        uct_predreg_invalidated(params->comp);
    }
    return status;
}

/* End a use whose handle the cache does not know. UCX deregisters the memory of a handle
 * without an owner: UCX registered the memory before the domain was managed, or in a
 * domain that is only watched */
static UCS_F_NOINLINE ucs_status_t
other_mem_dereg(uct_predreg_domain_t *domain, const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_owner_t *owner = ucs_map_find(&domain->owners, params->memh);

    return (owner == NULL) ? uct_predreg_pass_mem_dereg(domain, params) :
                             owner->end(owner, domain, params);
}

/* End a use for which is_usual_end() is false: the handle may belong to another owner
 * than the cache */
static UCS_F_NOINLINE ucs_status_t
mem_dereg_rare(uct_predreg_domain_t *domain,
               const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_pieces_memh_t *pieces;
    ucs_status_t status;

    if (domain->cache == NULL) {
        return other_mem_dereg(domain, params);
    }

    pieces = uct_predreg_memh_to_pieces(params->memh);
    if (pieces != NULL) {
        return end_in_pieces(pieces, params, 0);
    }

    if (ends_answered(domain, params)) {
        return UCS_OK;
    }

    status = uct_predreg_is_invalidation(params) ?
             invalidate(domain, params) :
             ucs_rcache_pred_end(domain->cache, params->memh);
    return (status != UCS_ERR_NO_ELEM) ?
           status : other_mem_dereg(domain, params);
}

/* Whether the cache is to be asked first about the handle of an ending use: the handle is
 * no pieces handle, the domain has no answerer, and the use ends without an
 * invalidation */
static UCS_F_ALWAYS_INLINE int
is_usual_end(const uct_predreg_domain_t *domain,
             const uct_md_mem_dereg_params_t *params)
{
    return ucs_likely(domain->cache != NULL) &&
           ucs_likely(domain->answerer == NULL) &&
           ucs_likely(!uct_predreg_is_invalidation(params)) &&
           ucs_likely(uct_predreg_memh_to_pieces(params->memh) == NULL);
}

ucs_status_t uct_predreg_mem_dereg(uct_predreg_domain_t *domain,
                                   const uct_md_mem_dereg_params_t *params)
{
    ucs_status_t status;

    if (!is_usual_end(domain, params)) {
        return mem_dereg_rare(domain, params);
    }

    status = ucs_rcache_pred_end(domain->cache, params->memh);
    return ucs_likely(status != UCS_ERR_NO_ELEM) ?
           status : other_mem_dereg(domain, params);
}
