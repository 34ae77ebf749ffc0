/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "register.h"
#include "domain.h"
#include "quiet.h"

#include <uct/ib/predreg/core/live.h>
#include <uct/ib/predreg/core/seat.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>
#include <ucs/memory/memtype_cache.h>

#include <errno.h>


/* Say once that memory of the host is not managed, since it may be that of a device */
static void tell_of_types(void)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set_explicit(&is_told, memory_order_relaxed)) {
        ucs_warn("UCX's cache of memory types is off (UCX_MEMTYPE_CACHE): nobody "
                 "tells memory of the host from that of devices, so that all "
                 "of it stays registered until it is freed, within the bounds "
                 "of UCX's own cache");
    }
}

int uct_predreg_is_host_memory(const void *address, size_t length)
{
    /* Later versions of UCX fill in more than those that this was compiled for:
     * 1.22 has one field more, at the end */
    union {
        ucs_memory_info_t info;
        char              room[128];
    } memory;

    /* UCX's cache of memory types is not asked in vain: it knows of memory that
     * was mapped of late only that somebody has to look at it */
    if (ucs_likely(!uct_predreg_has_devices())) {
        return 1;
    }

    switch (ucs_memtype_cache_lookup(address, length, &memory.info)) {
    case UCS_OK:
        return memory.info.type == UCS_MEMORY_TYPE_HOST;
    case UCS_ERR_NO_ELEM:
        return 1; /* It holds memory of devices only */
    default:
        tell_of_types(); /* It is switched off */
        return 0;
    }
}

/* Enter a domain for a registration that is passed on, and see to it that nobody hears of
 * its failure if its flags say so */
static void pass_begin(uct_predreg_domain_t *domain, int is_quiet)
{
    uct_predreg_domain_enter(domain);
    if (is_quiet) {
        uct_predreg_quiet_begin();
    }
}

static void pass_end(uct_predreg_domain_t *domain, int is_quiet)
{
    if (is_quiet) {
        uct_predreg_quiet_end();
    }
    uct_predreg_domain_leave(domain);
}

ucs_status_t uct_predreg_pass_mem_reg(uct_predreg_domain_t *domain,
                                      void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p)
{
    const uct_predreg_core_t *core = domain->core;
    int is_quiet                   = flags & core->compat->quiet_flag;
    ucs_status_t status;

    pass_begin(domain, is_quiet);
    status = core->compat->mem_reg(&core->real, domain->md, address, length,
                                   flags, memh_p);
    pass_end(domain, is_quiet);
    return status;
}

ucs_status_t uct_predreg_pass_mem_reg_v2(uct_predreg_domain_t *domain,
                                         void *address, size_t length,
                                         const uct_md_mem_reg_params_t *params,
                                         uct_mem_h *memh_p)
{
    const uct_predreg_core_t *core = domain->core;
    int is_quiet                   = params->flags & core->compat->quiet_flag;
    ucs_status_t status;

    pass_begin(domain, is_quiet);
    status = core->real.uct_md_mem_reg_v2(domain->md, address, length, params,
                                          memh_p);
    pass_end(domain, is_quiet);
    return status;
}

ucs_status_t uct_predreg_try_mem_reg(uct_predreg_domain_t *domain,
                                     void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p)
{
    ucs_status_t status;

    errno  = 0;
    status = uct_predreg_pass_mem_reg(domain, address, length, flags, memh_p);
    return (status == UCS_OK) ?
           UCS_OK : domain->core->compat->reg_error(status, errno);
}

static ucs_status_t domain_mem_reg(void *arg, void *address, size_t length,
                                   unsigned flags, void **memh_p)
{
    return uct_predreg_is_host_memory(address, length) ?
           uct_predreg_try_mem_reg(arg, address, length, flags, memh_p) :
           UCS_ERR_UNSUPPORTED;
}

ucs_status_t
uct_predreg_pass_mem_dereg(uct_predreg_domain_t *domain,
                           const uct_md_mem_dereg_params_t *params)
{
    ucs_status_t status;

    uct_predreg_domain_enter(domain);
    status = domain->core->real.uct_md_mem_dereg_v2(domain->md, params);
    uct_predreg_domain_leave(domain);
    return status;
}

static ucs_status_t domain_mem_dereg(void *arg, void *memh)
{
    const uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH,
        .memh       = memh
    };

    return uct_predreg_pass_mem_dereg(arg, &params);
}

static void domain_enter(void *arg)
{
    uct_predreg_domain_enter(arg);
}

static void domain_leave(void *arg)
{
    uct_predreg_domain_leave(arg);
}

static ucs_rcache_pred_time_t core_now(void *arg)
{
    const uct_predreg_core_t *core = arg;

    return ucs_rcache_pred_thread_now(core->thread);
}

static void core_wait(void *arg, ucs_rcache_pred_time_t until)
{
    const uct_predreg_core_t *core = arg;

    ucs_rcache_pred_thread_wait(core->thread, until);
}

static void core_wake(void *arg)
{
    const uct_predreg_core_t *core = arg;

    ucs_rcache_pred_thread_wake(core->thread);
}

static void
core_seat(void *arg, uint64_t demand, ucs_rcache_pred_seat_t *seat)
{
    const uct_predreg_core_t *core = arg;

    uct_predreg_seat(core->thread, demand, seat);
}

static void core_publish(void *arg)
{
    uct_predreg_publish(arg);
}

const ucs_rcache_pred_ops_t uct_predreg_pred_ops = {
    .now       = core_now,
    .wait      = core_wait,
    .wake      = core_wake,
    .busy      = ucs_rcache_pred_thread_busy,
    .mem_reg   = domain_mem_reg,
    .mem_dereg = domain_mem_dereg,
    .enter     = domain_enter,
    .leave     = domain_leave,
    .seat      = core_seat,
    .publish   = core_publish
};
