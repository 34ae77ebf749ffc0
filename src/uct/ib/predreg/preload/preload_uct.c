/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

#include <dlfcn.h>
#include <string.h>

/* Overriding functions for those that libucp imports from libuct. Each calls
 * the function that it overrides. But registrations and deregistrations of
 * memory go to the core, which decides whether to call the overridden
 * function. */


PREDREG_EXPORT ucs_status_t
uct_md_config_read(uct_component_h component, const char *env_prefix,
                   const char *filename, uct_md_config_t **config_p)
{
    const uct_predreg_hooks_t *hooks = predreg_load();
    ucs_status_t status;

    status = PREDREG_REAL(uct_md_config_read)(component, env_prefix, filename,
                                              config_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->md_config(*config_p);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
uct_md_open(uct_component_h component, const char *md_name,
            const uct_md_config_t *config, uct_md_h *md_p)
{
    const uct_predreg_hooks_t *hooks = predreg_load();
    ucs_status_t status;

    status = PREDREG_REAL(uct_md_open)(component, md_name, config, md_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->md_opened(*md_p, md_name);
    }

    return status;
}

PREDREG_EXPORT void uct_md_close(uct_md_h md)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();

    if (hooks != NULL) {
        hooks->md_closing(md);
    }

    PREDREG_REAL(uct_md_close)(md);
}

PREDREG_EXPORT ucs_status_t uct_md_query(uct_md_h md, uct_md_attr_t *md_attr)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();
    ucs_status_t status;

    status = PREDREG_REAL(uct_md_query)(md, md_attr);
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
    const uct_predreg_hooks_t *hooks = predreg_hooks();
    ucs_status_t status;

    status = PREDREG_REAL(uct_iface_open)(md, worker, params, config, iface_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->iface_opened(md, worker, *iface_p);
    }

    return status;
}

/*
 * Whether the caller is UCP. A program that uses UCT by itself is not, and gets
 * exactly the registration that it asks for. UCP calls from few places, most
 * often from the same one, which is remembered.
 */
static int is_ucp(const void *caller)
{
    static _Atomic(const void*) known;
    const char *name;
    Dl_info info;

    /* Relaxed: the address is only compared, and nothing is read through it */
    if (ucs_likely(atomic_load_explicit(&known, memory_order_relaxed) ==
                   caller)) {
        return 1;
    }

    if (!dladdr(caller, &info) || (info.dli_fname == NULL)) {
        return 0;
    }

    name = strrchr(info.dli_fname, '/');
    name = (name == NULL) ? info.dli_fname : (name + 1);
    if (strncmp(name, "libucp.so", 9)) {
        return 0;
    }

    atomic_store_explicit(&known, caller, memory_order_relaxed);
    return 1;
}

PREDREG_EXPORT ucs_status_t
uct_md_mem_reg(uct_md_h md, void *address, size_t length, unsigned flags,
               uct_mem_h *memh_p)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();

    if (hooks == NULL) {
        return PREDREG_REAL(uct_md_mem_reg)(md, address, length, flags, memh_p);
    }

    return hooks->mem_reg(md, address, length, flags,
                          is_ucp(__builtin_return_address(0)) ?
                          predreg_purpose : UCT_PREDREG_PURPOSE_MAPPED, memh_p);
}

PREDREG_EXPORT ucs_status_t uct_md_mem_dereg(uct_md_h md, uct_mem_h memh)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();
    uct_md_mem_dereg_params_t params;

    if (hooks == NULL) {
        return PREDREG_REAL(uct_md_mem_dereg)(md, memh);
    }

    params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH;
    params.memh       = memh;
    return hooks->mem_dereg(md, &params);
}

PREDREG_EXPORT ucs_status_t
uct_md_mem_dereg_v2(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();

    if (hooks == NULL) {
        return PREDREG_REAL(uct_md_mem_dereg_v2)(md, params);
    }

    return hooks->mem_dereg(md, params);
}

PREDREG_EXPORT ucs_status_t
uct_md_mkey_pack(uct_md_h md, uct_mem_h memh, void *rkey_buffer)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();
    ucs_status_t status              = UCS_OK;

    if (hooks != NULL) {
        status = hooks->mkey_check(md, memh);
    }

    return (status != UCS_OK) ?
           status : PREDREG_REAL(uct_md_mkey_pack)(md, memh, rkey_buffer);
}

PREDREG_EXPORT ucs_status_t
uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh,
                    const uct_md_mkey_pack_params_t *params, void *rkey_buffer)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();
    ucs_status_t status              = UCS_OK;

    if (hooks != NULL) {
        status = hooks->mkey_check(md, memh);
    }

    return (status != UCS_OK) ?
           status :
           PREDREG_REAL(uct_md_mkey_pack_v2)(md, memh, params, rkey_buffer);
}
