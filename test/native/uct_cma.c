/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "domain.h"
#include "iface.h"
#include "settings.h"
#include "uct_v2.h"

#include <uct/api/uct.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A stand-in for UCT that makes UCX register the memory of every rendezvous
 * without a network adapter. It has the name of UCT's library, and is linked
 * with UCT itself under another name, so that it answers UCP first.
 *
 * UCX's transport between processes of a node, cma, needs no registration. Here
 * its domain says that it does. UCP then registers both sides of a rendezvous;
 * the transport still moves the data, and ignores the handles.
 */

#define EXPORT       __attribute__((visibility("default")))
#define LIBRARY      "libuct.so.0"
#define REAL_LIBRARY "libuct-real.so.0"
#define COMPONENT    "cma"

/* Calls the function of UCT that the caller has the name of */
#define REAL(_name) ((__typeof__(&_name))real_function(#_name))


static void *real_function(const char *name)
{
    static void *_Atomic handle;
    void *address;

    if (handle == NULL) {
        handle = dlopen(REAL_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    }

    address = dlsym(handle, name);
    if (address == NULL) {
        fprintf(stderr, "native rig: no %s in " REAL_LIBRARY "\n", name);
        abort();
    }

    return address;
}

/* UCT calls some of its own functions by name, such as uct_md_query(). The
 * library under test then looks for what its caller would have got. If UCX was
 * loaded with RTLD_LOCAL, that search begins in the real library, and would go
 * past this one from then on, for all callers. So what is here, and in the
 * libraries that this one needs, is for all to find, while UCP stays as it was
 * loaded. */
__attribute__((constructor)) static void make_global(void)
{
    void *self = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);

    if (self == NULL) {
        fprintf(stderr, "native rig: no " LIBRARY ": %s\n", dlerror());
        abort();
    }

    dlclose(self);
}

static int is_cma(uct_component_h component)
{
    uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};

    return (REAL(uct_component_query)(component, &attr) == UCS_OK) &&
           !strcmp(attr.name, COMPONENT);
}

EXPORT ucs_status_t
uct_md_config_read(uct_component_h component, const char *env_prefix,
                   const char *filename, uct_md_config_t **config_p)
{
    ucs_status_t status;

    status = REAL(uct_md_config_read)(component, env_prefix, filename,
                                      config_p);
    if ((status != UCS_OK) || !is_cma(component)) {
        return status;
    }

    status = settings_read(*config_p);
    if (status != UCS_OK) {
        REAL(uct_config_release)(*config_p);
    }
    return status;
}

EXPORT ucs_status_t uct_config_get(void *config, const char *name, char *value,
                                   size_t max)
{
    ucs_status_t status = settings_get(config, name, value, max);

    return (status == UCS_ERR_NO_ELEM) ?
           REAL(uct_config_get)(config, name, value, max) : status;
}

EXPORT ucs_status_t uct_config_modify(void *config, const char *name,
                                      const char *value)
{
    ucs_status_t status = settings_modify(config, name, value);

    return (status == UCS_ERR_NO_ELEM) ?
           REAL(uct_config_modify)(config, name, value) : status;
}

EXPORT void uct_config_release(void *config)
{
    settings_release(config);
    REAL(uct_config_release)(config);
}

EXPORT ucs_status_t uct_md_open(uct_component_h component, const char *md_name,
                                const uct_md_config_t *config, uct_md_h *md_p)
{
    const settings_t *settings = settings_find(config);
    ucs_status_t status;

    status = REAL(uct_md_open)(component, md_name, config, md_p);
    if ((status != UCS_OK) || (settings == NULL)) {
        return status;
    }

    status = domain_add(*md_p, settings);
    if (status != UCS_OK) {
        REAL(uct_md_close)(*md_p);
    }
    return status;
}

EXPORT void uct_md_close(uct_md_h md)
{
    domain_t *domain = domain_find(md);

    if (domain != NULL) {
        domain_remove(domain);
    }
    REAL(uct_md_close)(md);
}

EXPORT ucs_status_t
uct_iface_open(uct_md_h md, uct_worker_h worker,
               const uct_iface_params_t *params,
               const uct_iface_config_t *config, uct_iface_h *iface_p)
{
    ucs_status_t status;

    status = REAL(uct_iface_open)(md, worker, params, config, iface_p);
    if ((status == UCS_OK) && (domain_find(md) != NULL)) {
        iface_complete(*iface_p);
    }
    return status;
}

EXPORT ucs_status_t uct_md_query(uct_md_h md, uct_md_attr_t *attr)
{
    const domain_t *domain = domain_find(md);
    ucs_status_t status;

    status = REAL(uct_md_query)(md, attr);
    if ((status == UCS_OK) && (domain != NULL)) {
        domain_query(domain, attr);
    }
    return status;
}

#if UCT_API >= UCT_VERSION(1, 14)
EXPORT ucs_status_t uct_md_query_v2(uct_md_h md, uct_md_attr_v2_t *attr)
{
    const domain_t *domain = domain_find(md);
    ucs_status_t status;

    status = REAL(uct_md_query_v2)(md, attr);
    if ((status == UCS_OK) && (domain != NULL)) {
        domain_query_v2(domain, (attr_v2_t*)attr);
    }
    return status;
}

/* UCT's own uct_md_mem_reg() calls this function, through the PLT */
EXPORT ucs_status_t uct_md_mem_reg_v2(uct_md_h md, void *address, size_t length,
                                      const uct_md_mem_reg_params_t *params,
                                      uct_mem_h *memh_p)
{
    domain_t *domain = domain_find(md);
    uint64_t flags   = (params->field_mask & UCT_MD_MEM_REG_FIELD_FLAGS) ?
                       params->flags : 0;

    return (domain == NULL) ?
           REAL(uct_md_mem_reg_v2)(md, address, length, params, memh_p) :
           domain_mem_reg(domain, address, length, flags, memh_p);
}
#endif

EXPORT ucs_status_t uct_md_mem_reg(uct_md_h md, void *address, size_t length,
                                   unsigned flags, uct_mem_h *memh_p)
{
    domain_t *domain = domain_find(md);

    return (domain == NULL) ?
           REAL(uct_md_mem_reg)(md, address, length, flags, memh_p) :
           domain_mem_reg(domain, address, length, flags, memh_p);
}

EXPORT ucs_status_t
uct_md_mem_dereg_v2(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    domain_t *domain = domain_find(md);

    return (domain == NULL) ? REAL(uct_md_mem_dereg_v2)(md, params) :
                              domain_mem_dereg(domain, params);
}

EXPORT ucs_status_t uct_md_mem_dereg(uct_md_h md, uct_mem_h memh)
{
    const uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH,
        .memh       = memh
    };

    return uct_md_mem_dereg_v2(md, &params);
}

/* From UCX 1.19 on cma refuses to make a key for peers, and to read one. It needs
 * none: one of no bytes will do */
#if UCT_API >= UCT_VERSION(1, 19)
EXPORT ucs_status_t
uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh, uintptr_t address, uintptr_t length,
                    uintptr_t params, uintptr_t buffer)
{
    return (domain_find(md) != NULL) ?
           UCS_OK :
           REAL(uct_md_mkey_pack_v2)(md, memh, address, length, params, buffer);
}

EXPORT ucs_status_t
uct_rkey_unpack_v2(uct_component_h component, const void *buffer,
                   const uct_rkey_unpack_params_t *params,
                   uct_rkey_bundle_t *bundle)
{
    if (!is_cma(component)) {
        return REAL(uct_rkey_unpack_v2)(component, buffer, params, bundle);
    }

    bundle->rkey   = UCT_INVALID_RKEY;
    bundle->handle = NULL;
    bundle->type   = component;
    return UCS_OK;
}
#endif
