/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

/* Overriding functions for those that libucp imports from libuct. Each calls
 * the function that it overrides. But registrations and deregistrations of
 * memory go to the core, which decides whether to call the overridden
 * function. */


PREDREG_EXPORT ucs_status_t
uct_md_config_read(uct_component_h component, const char *env_prefix,
                   const char *filename, uct_md_config_t **config_p)
{
    unsigned ucx                     = predreg_find_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_load(ucx, PREDREG_CALLER);
    ucs_status_t status;

    status = PREDREG_REAL(ucx, uct_md_config_read)(component, env_prefix,
                                                   filename, config_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->md_config(component, *config_p);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
uct_md_open(uct_component_h component, const char *md_name,
            const uct_md_config_t *config, uct_md_h *md_p)
{
    unsigned ucx                     = predreg_find_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_load(ucx, PREDREG_CALLER);
    ucs_status_t status;

    if (predreg_is_ucp(PREDREG_CALLER) && !predreg_in_init) {
        atomic_store_explicit(&predreg_bypassed, 1, memory_order_relaxed);
    }

    status = PREDREG_REAL(ucx, uct_md_open)(component, md_name, config, md_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->md_opened(*md_p, md_name);
    }

    return status;
}

PREDREG_EXPORT void uct_md_close(uct_md_h md)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    if (hooks != NULL) {
        hooks->md_closing(md);
    }

    PREDREG_REAL(ucx, uct_md_close)(md);
}

PREDREG_EXPORT ucs_status_t uct_md_query(uct_md_h md, uct_md_attr_t *md_attr)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    ucs_status_t status;

    status = PREDREG_REAL(ucx, uct_md_query)(md, md_attr);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->md_query(md, md_attr);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
uct_iface_open(uct_md_h md, uct_worker_h worker,
               const uct_iface_params_t *params,
               const uct_iface_config_t *config, uct_iface_h *iface_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    ucs_status_t status;

    status = PREDREG_REAL(ucx, uct_iface_open)(md, worker, params, config,
                                               iface_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->iface_opened(md, worker, *iface_p);
    }

    return status;
}

/* What memory is registered for. A program that uses UCT by itself gets exactly
 * the registration that it asks for. */
static UCS_F_ALWAYS_INLINE uct_predreg_purpose_t purpose_of(const void *caller)
{
    if (!predreg_is_ucp(caller)) {
        return UCT_PREDREG_PURPOSE_MAPPED;
    }

    if (ucs_unlikely(predreg_purpose == UCT_PREDREG_PURPOSE_UNKNOWN) &&
        atomic_load_explicit(&predreg_one_sided, memory_order_relaxed)) {
        atomic_store_explicit(&predreg_bypassed, 1, memory_order_relaxed);
    }

    return predreg_purpose;
}

PREDREG_EXPORT ucs_status_t
uct_md_mem_reg(uct_md_h md, void *address, size_t length, unsigned flags,
               uct_mem_h *memh_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    if (hooks == NULL) {
        return PREDREG_REAL(ucx, uct_md_mem_reg)(md, address, length, flags,
                                                 memh_p);
    }

    return hooks->mem_reg(md, address, length, flags,
                          purpose_of(PREDREG_CALLER), memh_p);
}

PREDREG_EXPORT ucs_status_t uct_md_mem_dereg(uct_md_h md, uct_mem_h memh)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    uct_md_mem_dereg_params_t params;

    if (hooks == NULL) {
        return PREDREG_REAL(ucx, uct_md_mem_dereg)(md, memh);
    }

    params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH;
    params.memh       = memh;
    return hooks->mem_dereg(md, &params);
}

PREDREG_EXPORT ucs_status_t
uct_md_mem_dereg_v2(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    if (hooks == NULL) {
        return PREDREG_REAL(ucx, uct_md_mem_dereg_v2)(md, params);
    }

    return hooks->mem_dereg(md, params);
}

PREDREG_EXPORT ucs_status_t
uct_md_mkey_pack(uct_md_h md, uct_mem_h memh, void *rkey_buffer)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    ucs_status_t status;

    if (hooks == NULL) {
        return PREDREG_REAL(ucx, uct_md_mkey_pack)(md, memh, rkey_buffer);
    }

    status = hooks->mkey_begin(md, memh);
    if (status == UCS_OK) {
        status = PREDREG_REAL(ucx, uct_md_mkey_pack)(md, memh, rkey_buffer);
        hooks->mkey_end(md);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh,
                    const uct_md_mkey_pack_params_t *params, void *rkey_buffer)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    ucs_status_t status;

    if (hooks == NULL) {
        return PREDREG_REAL(ucx, uct_md_mkey_pack_v2)(md, memh, params,
                                                      rkey_buffer);
    }

    status = hooks->mkey_begin(md, memh);
    if (status == UCS_OK) {
        status = PREDREG_REAL(ucx, uct_md_mkey_pack_v2)(md, memh, params,
                                                        rkey_buffer);
        hooks->mkey_end(md);
    }

    return status;
}
