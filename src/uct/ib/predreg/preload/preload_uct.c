/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

#include <ucs/memory/rcache.h>
#include <ucs/sys/math.h>

/*
 * Overriding functions of UCT, imported by libucp, and one of UCS. Each calls the function
 * that it overrides. But registrations and deregistrations of memory go to the core, which
 * decides whether to call the overridden function.
 *
 * libuct implements some of the functions by others, called by their exported names, so
 * that a call comes through here again: the allocation of memory of a domain's own, and
 * from UCX 1.14 on the plain registration and the plain packing of a key, by the second
 * interface. The core is told of a registration once, since the core registers by the
 * second interface itself; the packing of a key comes through here twice, one call within
 * the other, which does no harm, since the lock of a domain is recursive.
 */


/* How many bytes of a window a managed domain registers: one page, of the smallest
 * size */
#define MIN_PAGE 4096


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
uct_md_iface_config_read(uct_md_h md, const char *tl_name, const char *env_prefix,
                         const char *filename, uct_iface_config_t **config_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    ucs_status_t status;

    status = PREDREG_REAL(ucx, uct_md_iface_config_read)(md, tl_name, env_prefix,
                                                         filename, config_p);
    /* Without a name the configuration is one of connections by socket addresses */
    if ((status == UCS_OK) && (hooks != NULL) && (tl_name != NULL) &&
        (hooks->iface_config != NULL)) {
        hooks->iface_config(tl_name, *config_p);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
uct_md_open(uct_component_h component, const char *md_name,
            const uct_md_config_t *config, uct_md_h *md_p)
{
    unsigned ucx                     = predreg_find_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_load(ucx, PREDREG_CALLER);
    unsigned count                   = 0;
    ucs_status_t status;

    if (predreg_is_ucp(PREDREG_CALLER)) {
        if (predreg_thread.in_init) {
            count = predreg_thread.in_init++;
        } else {
            ucs_relaxed_store(&predreg_bypassed, 1);
        }
    }

    status = PREDREG_REAL(ucx, uct_md_open)(component, md_name, config, md_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->md_opened(*md_p, md_name, count);
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

/* Define an overriding function that calls what it overrides, and tells the core of the
 * result by a hook */
#define TELL(_name, _params, _args, _hook) \
    PREDREG_EXPORT ucs_status_t _name _params \
    { \
        unsigned ucx                     = predreg_ucx(PREDREG_CALLER); \
        const uct_predreg_hooks_t *hooks = predreg_hooks(ucx); \
        ucs_status_t status; \
        \
        status = PREDREG_REAL(ucx, _name) _args; \
        if ((status == UCS_OK) && (hooks != NULL)) { \
            hooks->_hook; \
        } \
        \
        return status; \
    }

TELL(uct_md_query, (uct_md_h md, uct_md_attr_t *md_attr), (md, md_attr),
     md_query(md, md_attr))

TELL(uct_md_query_v2, (uct_md_h md, uct_md_attr_v2_t *md_attr), (md, md_attr),
     md_query_v2(md, md_attr))

TELL(uct_iface_open,
     (uct_md_h md, uct_worker_h worker, const uct_iface_params_t *params,
      const uct_iface_config_t *config, uct_iface_h *iface_p),
     (md, worker, params, config, iface_p),
     iface_opened(md, worker, *iface_p))

PREDREG_EXPORT ucs_status_t
uct_iface_query(uct_iface_h iface, uct_iface_attr_t *iface_attr)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    ucs_status_t status;

    status = PREDREG_REAL(ucx, uct_iface_query)(iface, iface_attr);
    if ((status == UCS_OK) && (hooks != NULL) && (hooks->iface_query != NULL)) {
        hooks->iface_query(iface_attr);
    }

    return status;
}

/* Whether a registration is the usual one, with the purpose of the thread: UCP registers
 * memory for a communication, has not allocated the memory just before, and does not
 * register a part of the local data of a larger put or get (predreg_thread_t::whole) */
static UCS_F_ALWAYS_INLINE int is_usual(const void *caller)
{
    UCS_STATIC_ASSERT((UCT_PREDREG_PURPOSE_MESSAGE + 2 ==
                       UCT_PREDREG_PURPOSE_ONE_SIDED) &&
                      (UCT_PREDREG_PURPOSE_MESSAGE + 1 ==
                       UCT_PREDREG_PURPOSE_SEND));
    return ucs_likely((unsigned)predreg_thread.purpose - UCT_PREDREG_PURPOSE_MESSAGE <=
                      UCT_PREDREG_PURPOSE_ONE_SIDED -
                      UCT_PREDREG_PURPOSE_MESSAGE) &&
           ucs_likely(predreg_thread.allocated == NULL) &&
           ucs_likely(predreg_thread.whole.length == 0) &&
           ucs_likely(predreg_is_ucp(caller));
}

/* Purpose of a registration. A program that calls UCT itself gets exactly the
 * registration asked for. */
static uct_predreg_purpose_t
purpose_of(const void *caller, const void *address)
{
    if (!predreg_is_ucp(caller) ||
        (predreg_thread.purpose == UCT_PREDREG_PURPOSE_MAPPED)) {
        return UCT_PREDREG_PURPOSE_MAPPED;
    }

    if ((predreg_thread.purpose == UCT_PREDREG_PURPOSE_PINNED) ||
        (predreg_thread.purpose == UCT_PREDREG_PURPOSE_WINDOW)) {
        return predreg_thread.purpose;
    }

    /* UCP registers allocated memory with each domain, one after the other */
    if (predreg_thread.allocated != NULL) {
        if (predreg_thread.allocated == address) {
            return UCT_PREDREG_PURPOSE_POOL;
        }
        predreg_thread.allocated = NULL;
    }

    if ((predreg_thread.purpose == UCT_PREDREG_PURPOSE_UNKNOWN) &&
        ucs_relaxed_load(&predreg_one_sided)) {
        ucs_relaxed_store(&predreg_bypassed, 1);
    }

    return predreg_thread.purpose;
}

/* @return whether memory is a part of the local data of the put or get at hand
 *         (predreg_thread_t::whole) */
static int is_part(uct_predreg_purpose_t purpose, const void *address, size_t length)
{
    uintptr_t offset = (uintptr_t)address - (uintptr_t)predreg_thread.whole.address;

    return (purpose == UCT_PREDREG_PURPOSE_ONE_SIDED) &&
           (offset < predreg_thread.whole.length) &&
           (length <= predreg_thread.whole.length - offset);
}

/* Register all local data of a put or get in place of a part. @return whether all data is
 * registered. After a refusal the data is forgotten, so that no further domain tries */
static int has_registered_whole(const uct_predreg_hooks_t *hooks, uct_md_h md,
                                unsigned flags, uct_mem_h *memh_p)
{
    ucs_status_t status = hooks->mem_reg(md, predreg_thread.whole.address,
                                         predreg_thread.whole.length, flags,
                                         UCT_PREDREG_PURPOSE_WHOLE, memh_p);

    if (status != UCS_OK) {
        predreg_thread.whole.length = 0;
    }
    return status == UCS_OK;
}

/* Register memory through the core. Of a window, a managed domain registers the first
 * page only, so that UCP has a handle like any other. Peers get no key made from this
 * handle, see ucp/windows */
static ucs_status_t
mem_reg(const uct_predreg_hooks_t *hooks, uct_md_h md, void *address,
        size_t length, unsigned flags, const void *caller, uct_mem_h *memh_p)
{
    uct_predreg_purpose_t purpose = purpose_of(caller, address);

    if (purpose == UCT_PREDREG_PURPOSE_WINDOW) {
        purpose = UCT_PREDREG_PURPOSE_MAPPED;
        if (hooks->is_managed(md, address, length)) {
            length = ucs_min(length, MIN_PAGE);
            ++predreg_thread.window_pages;
        }
    }

    if (is_part(purpose, address, length) &&
        hooks->is_managed(md, address, length) &&
        has_registered_whole(hooks, md, flags, memh_p)) {
        return UCS_OK;
    }

    return hooks->mem_reg(md, address, length, flags, purpose, memh_p);
}

static UCS_F_NOINLINE ucs_status_t
mem_reg_rare(const void *caller, uct_md_h md, void *address, size_t length,
             unsigned flags, uct_mem_h *memh_p)
{
    unsigned ucx                     = predreg_ucx(caller);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    return (hooks == NULL) ?
           PREDREG_REAL_OF(ucx, caller, uct_md_mem_reg)(md, address, length,
                                                        flags, memh_p) :
           mem_reg(hooks, md, address, length, flags, caller, memh_p);
}

PREDREG_EXPORT ucs_status_t
uct_md_mem_reg(uct_md_h md, void *address, size_t length, unsigned flags,
               uct_mem_h *memh_p)
{
    const uct_predreg_hooks_t *hooks = predreg_only_hooks();

    return (ucs_likely(hooks != NULL) && is_usual(PREDREG_CALLER)) ?
           hooks->mem_reg(md, address, length, flags, predreg_thread.purpose,
                          memh_p) :
           mem_reg_rare(PREDREG_CALLER, md, address, length, flags, memh_p);
}

static UCS_F_NOINLINE ucs_status_t
mem_reg_v2_rare(const void *caller, uct_md_h md, void *address, size_t length,
                const uct_md_mem_reg_params_t *params, uct_mem_h *memh_p)
{
    unsigned ucx                     = predreg_ucx(caller);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    unsigned flags;

    if (hooks == NULL) {
        return PREDREG_REAL_OF(ucx, caller, uct_md_mem_reg_v2)(md, address, length,
                                                               params, memh_p);
    }

    return uct_predreg_compat_read_params(params, &flags) ?
           mem_reg(hooks, md, address, length, flags, caller, memh_p) :
           hooks->device_mem_reg(md, address, length, params,
                                 purpose_of(caller, address), memh_p);
}

PREDREG_EXPORT ucs_status_t
uct_md_mem_reg_v2(uct_md_h md, void *address, size_t length,
                  const uct_md_mem_reg_params_t *params, uct_mem_h *memh_p)
{
    const uct_predreg_hooks_t *hooks = predreg_only_hooks();
    unsigned flags;

    return (ucs_likely(hooks != NULL) && is_usual(PREDREG_CALLER) &&
            uct_predreg_compat_read_params(params, &flags)) ?
           hooks->mem_reg(md, address, length, flags, predreg_thread.purpose,
                          memh_p) :
           mem_reg_v2_rare(PREDREG_CALLER, md, address, length, params, memh_p);
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

static UCS_F_NOINLINE ucs_status_t
mem_dereg_v2_rare(const void *caller, uct_md_h md,
                  const uct_md_mem_dereg_params_t *params)
{
    unsigned ucx                     = predreg_ucx(caller);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    return (hooks == NULL) ?
           PREDREG_REAL_OF(ucx, caller, uct_md_mem_dereg_v2)(md, params) :
           hooks->mem_dereg(md, params);
}

PREDREG_EXPORT ucs_status_t
uct_md_mem_dereg_v2(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    const uct_predreg_hooks_t *hooks = predreg_only_hooks();

    return ucs_likely(hooks != NULL) ?
           hooks->mem_dereg(md, params) :
           mem_dereg_v2_rare(PREDREG_CALLER, md, params);
}

/* Enter a domain before a function of UCX: one thread at a time may be in a domain.
 * @return the hooks, for leave() */
static const uct_predreg_hooks_t *enter(unsigned ucx, uct_md_h md)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    if (hooks != NULL) {
        hooks->md_enter(md);
    }
    return hooks;
}

/* Leave a domain after a function of UCX. @return the function's status */
static ucs_status_t
leave(const uct_predreg_hooks_t *hooks, uct_md_h md, ucs_status_t status)
{
    if (hooks != NULL) {
        hooks->md_leave(md);
    }
    return status;
}

/* UCP has a domain pack its part of a key. If the key is that of a window, count the
 * part, and note whether the domain is managed */
static UCS_F_ALWAYS_INLINE void
note_part(const uct_predreg_hooks_t *hooks, uct_md_h md, const void *caller)
{
    predreg_packing_t *packing = predreg_thread.packing;

    if (ucs_likely(packing == NULL) || !predreg_is_ucp(caller)) {
        return;
    }

    if ((packing->num < 64) && hooks->is_managed(md, NULL, 0)) {
        packing->parts |= UCS_BIT(packing->num);
    }
    ++packing->num;
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

    note_part(hooks, md, PREDREG_CALLER);
    status = hooks->mkey_begin(md, memh);
    return (status != UCS_OK) ? status :
           leave(hooks, md, PREDREG_REAL(ucx, uct_md_mkey_pack)(md, memh, rkey_buffer));
}

PREDREG_EXPORT ucs_status_t
uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh, uintptr_t arg2, uintptr_t arg3,
                    uintptr_t arg4, uintptr_t arg5)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    const uintptr_t args[]           = {arg2, arg3, arg4, arg5};

    if (hooks == NULL) {
        return PREDREG_REAL(ucx, uct_md_mkey_pack_v2)(md, memh, arg2, arg3,
                                                      arg4, arg5);
    }

    note_part(hooks, md, PREDREG_CALLER);
    return hooks->mkey_pack_v2(md, memh, args, predreg_is_ucp(PREDREG_CALLER));
}

/* Note memory that UCX allocates, and then registers with one domain after the other */
PREDREG_EXPORT ucs_status_t
uct_mem_alloc(size_t length, const uct_alloc_method_t *methods,
              unsigned num_methods, const uct_mem_alloc_params_t *params,
              uct_allocated_memory_t *mem)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    ucs_status_t status;

    status            = PREDREG_REAL(ucx, uct_mem_alloc)(length, methods,
                                                         num_methods, params, mem);
    predreg_thread.allocated = (status == UCS_OK) ? mem->address : NULL;
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->allocated(mem->address,
                         (params->field_mask & UCT_MEM_ALLOC_PARAM_FIELD_NAME) ?
                         params->name : "");
    }
    return status;
}

PREDREG_EXPORT ucs_status_t uct_mem_free(const uct_allocated_memory_t *mem)
{
    unsigned ucx = predreg_ucx(PREDREG_CALLER);

    predreg_thread.allocated = NULL;
    return PREDREG_REAL(ucx, uct_mem_free)(mem);
}

/* Define an overriding function that enters a domain. A domain with memory of its own
 * registers the memory inside of UCX, so the functions for that enter the domain.
 * uct_mem_alloc() enters no domain: UCX may map memory instead, and no thread waits for a
 * mapping while it is in a domain. */
#define ENTER(_name, _params, _args) \
    PREDREG_EXPORT ucs_status_t _name _params \
    { \
        unsigned ucx                     = predreg_ucx(PREDREG_CALLER); \
        const uct_predreg_hooks_t *hooks = enter(ucx, md); \
        \
        return leave(hooks, md, PREDREG_REAL(ucx, _name) _args); \
    }

ENTER(uct_md_mem_attach,
      (uct_md_h md, const void *mkey_buffer, uct_md_mem_attach_params_t *params,
       uct_mem_h *memh_p),
      (md, mkey_buffer, params, memh_p))

ENTER(uct_md_mem_alloc,
      (uct_md_h md, uintptr_t arg1, uintptr_t arg2, uintptr_t arg3, uintptr_t arg4,
       uintptr_t arg5, uintptr_t arg6, uintptr_t arg7),
      (md, arg1, arg2, arg3, arg4, arg5, arg6, arg7))

ENTER(uct_md_mem_free, (uct_md_h md, uct_mem_h memh), (md, memh))


/*
 * From UCX 1.16 to 1.21 UCP asks its registration cache to invalidate the memory of a
 * request whose peer has failed (ucp_request_memh_invalidate()), even if the cache is
 * off, and so crashes. For a cache that is off, this function calls UCP's callback at
 * once. That is not too early: right after this call UCP ends the use of the memory, with
 * the flag for invalidation, and the request completes later, when the worker makes
 * progress.
 */
PREDREG_EXPORT void
ucs_rcache_region_invalidate(ucs_rcache_t *rcache, ucs_rcache_region_t *region,
                             ucs_rcache_invalidate_comp_func_t cb, void *arg)
{
    unsigned ucx = predreg_ucx(PREDREG_CALLER);

    if (ucs_unlikely(rcache == NULL)) {
        cb(arg);
        return;
    }

    PREDREG_REAL(ucx, ucs_rcache_region_invalidate)(rcache, region, cb, arg);
}
