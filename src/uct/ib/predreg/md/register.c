/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "register.h"

#include <uct/ib/predreg/core/live.h>
#include <uct/ib/predreg/core/seat.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/memory/memtype_cache.h>

#include <errno.h>


_Atomic int uct_predreg_devices;


int uct_predreg_is_host_memory(const void *address, size_t length)
{
    ucs_memory_info_t info;

    switch (ucs_memtype_cache_lookup(address, length, &info)) {
    case UCS_OK:
        return info.type == UCS_MEMORY_TYPE_HOST;
    case UCS_ERR_NO_ELEM:
        return 1; /* UCX's cache of memory types holds memory of devices only */
    default:
        return !uct_predreg_has_devices(); /* That cache is switched off */
    }
}

ucs_status_t uct_predreg_pass_mem_reg(uct_md_h md, void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p)
{
    return uct_predreg_core.real.uct_md_mem_reg(md, address, length, flags,
                                                memh_p);
}

ucs_status_t uct_predreg_try_mem_reg(uct_md_h md, void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p)
{
    ucs_status_t status;

    errno  = 0;
    status = uct_predreg_pass_mem_reg(md, address, length, flags, memh_p);
    return (status == UCS_OK) ?
           UCS_OK : uct_predreg_core.compat->reg_error(status, errno);
}

static ucs_status_t domain_mem_reg(void *arg, void *address, size_t length,
                                   unsigned flags, void **memh_p)
{
    return uct_predreg_is_host_memory(address, length) ?
           uct_predreg_try_mem_reg(arg, address, length, flags, memh_p) :
           UCS_ERR_UNSUPPORTED;
}

static ucs_status_t domain_mem_dereg(void *arg, void *memh)
{
    return uct_predreg_core.real.uct_md_mem_dereg(arg, memh);
}

const ucs_rcache_pred_ops_t uct_predreg_pred_ops = {
    .now       = ucs_rcache_pred_thread_now,
    .wait      = ucs_rcache_pred_thread_wait,
    .wake      = ucs_rcache_pred_thread_wake,
    .mem_reg   = domain_mem_reg,
    .mem_dereg = domain_mem_dereg,
    .seat      = uct_predreg_seat,
    .publish   = uct_predreg_publish
};
