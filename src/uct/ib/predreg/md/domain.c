/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "domain.h"
#include "md.h"

#include <ucs/base/wait.h>
#include <ucs/host/pressure.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/iface.h>
#include <uct/ib/predreg/stat/stat.h>

#include <ucs/debug/log_def.h>
#include <ucs/memory/memtype_cache.h>

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>


_Atomic(uct_predreg_domain_t*) uct_predreg_domains;


/* Add an empty place at the end of the table: most uses are in the domain that was opened
 * first, so this domain is to be found first */
static uct_predreg_domain_t *add_place(void)
{
    _Atomic(uct_predreg_domain_t*) *link = &uct_predreg_domains;
    uct_predreg_domain_t *place          = calloc(1, sizeof(*place));

    if (place == NULL) {
        return NULL;
    }

    /* Relaxed: all writers hold core.lock */
    while (ucs_relaxed_load(link) != NULL) {
        link = &ucs_relaxed_load(link)->next;
    }
    atomic_store_explicit(link, place, memory_order_release);
    return place;
}

static uct_predreg_domain_t *first_domain(void)
{
    return atomic_load_explicit(&uct_predreg_domains, memory_order_acquire);
}

static uct_predreg_domain_t *next_domain(const uct_predreg_domain_t *domain)
{
    return atomic_load_explicit(&domain->next, memory_order_acquire);
}

uct_predreg_domain_t *uct_predreg_domain_new(uct_predreg_core_t *core,
                                             uct_md_h md)
{
    /* NULL is the key of a free place */
    uct_predreg_domain_t *domain = uct_predreg_domain_find(NULL);

    uct_predreg_domain_disown(md);
    if (domain == NULL) {
        domain = add_place();
    }

    if (domain != NULL) {
        domain->md       = md;
        domain->core     = core;
        domain->cache    = NULL;
        domain->node     = NULL;
        domain->group    = NULL;
        domain->answerer = NULL;
        uct_predreg_settings_init(&domain->settings);
        ucs_relaxed_store(&domain->kept, NULL);
        ucs_relaxed_store(&domain->is_kept_refused, 0);
        ucs_relaxed_store(&domain->whole, 0);
        /* A forked child does not free the parent's map of owners: another thread of the
         * parent may have been in the allocator at the fork */
        memset(&domain->owners, 0, sizeof(domain->owners));
        ucs_mutex_init(&domain->owners.lock, UCS_RANK_OWNERS, 0);
        ucs_mutex_init(&domain->entered, UCS_RANK_DOMAIN, UCS_MUTEX_LENDS | UCS_MUTEX_RECURSIVE);
    }
    return domain;
}

void uct_predreg_domain_add(uct_predreg_domain_t *domain)
{
    ucs_relaxed_store(&domain->key, domain->md);
}

void uct_predreg_domain_remove(uct_predreg_domain_t *domain)
{
    ucs_relaxed_store(&domain->key, NULL);
    ucs_map_cleanup(&domain->owners);
    uct_predreg_refused_cleanup(domain);
}

void uct_predreg_domains_for_each(void (*func)(uct_predreg_domain_t *domain, void *arg),
                                  void *arg)
{
    uct_predreg_domain_t *domain;

    for (domain = first_domain(); domain != NULL; domain = next_domain(domain)) {
        if (ucs_relaxed_load(&domain->key) != NULL) {
            func(domain, arg);
        }
    }
}

/* In a forked child: take a domain out of the table, and note that it is inherited from the
 * parent */
static void inherit(uct_predreg_domain_t *domain, void *arg)
{
    ucs_relaxed_store(&domain->inherited, domain->md);
    ucs_relaxed_store(&domain->key, NULL);
    /* The parent's slot counts the parent's registrations: the child counts none there */
    domain->node = NULL;
}

void uct_predreg_domains_reset(void)
{
    uct_predreg_domains_for_each(inherit, NULL);
}

/* Find the place of an inherited domain. @return NULL if there is none. */
static uct_predreg_domain_t *find_inherited(uct_md_h md)
{
    uct_predreg_domain_t *domain = first_domain();

    while ((domain != NULL) &&
           (ucs_relaxed_load(&domain->inherited) != md)) {
        domain = next_domain(domain);
    }
    return domain;
}

int uct_predreg_domain_is_inherited(uct_md_h md)
{
    return find_inherited(md) != NULL;
}

void uct_predreg_domain_disown(uct_md_h md)
{
    uct_predreg_domain_t *domain = find_inherited(md);

    if (domain != NULL) {
        ucs_relaxed_store(&domain->inherited, NULL);
    }
}


/* The source file of UCP that logs the message about a failed registration */
#define UCP_FILE "ucp_mm.c"

/* Number of nested calls of uct_predreg_quiet_begin() in the thread: above 0, warnings
 * and errors of the thread are dropped */
static __thread unsigned quiet_depth;

/* Whether to drop the next error in the thread, if UCP_FILE logs it */
static __thread int is_quiet_once;


static int is_of_ucp(const char *file)
{
    const char *name = strrchr(file, '/');

    return !strcmp((name == NULL) ? file : name + 1, UCP_FILE);
}

/* UCX's log calls the handler before writing a message */
static ucs_log_func_rc_t
handle_message(const char *file, unsigned line, const char *function,
               ucs_log_level_t level,
               const ucs_log_component_config_t *comp_conf, const char *message,
               va_list ap)
{
    if (ucs_unlikely(is_quiet_once) && (level == UCS_LOG_LEVEL_ERROR)) {
        is_quiet_once = 0;
        if (is_of_ucp(file)) {
            return UCS_LOG_FUNC_RC_STOP;
        }
    }

    return ((quiet_depth > 0) && (level <= UCS_LOG_LEVEL_WARN)) ?
           UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

void uct_predreg_quiet_install(void)
{
    ucs_log_push_handler(handle_message);
}

void uct_predreg_quiet_begin(void)
{
    ++quiet_depth;
}

void uct_predreg_quiet_once(void)
{
    is_quiet_once = 1;
}

void uct_predreg_quiet_end(void)
{
    --quiet_depth;
}


void uct_predreg_invalidated(void *comp)
{
    if (comp != NULL) {
        uct_predreg_completion_invoke(comp, UCS_OK);
    }
}

/* Say once why memory of the host is not managed: UCX's cache of memory types is off, and
 * nobody else tells the host's memory from a device's */
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
    /* Room for more than the structure of the version that the library is compiled with:
     * later versions of UCX fill in more, 1.22 one field at the end */
    union {
        ucs_memory_info_t info;
        char              room[128];
    } memory;

    /* Without devices all memory is the host's. UCX's cache of memory types would not say
     * so of recently mapped memory, whose type it does not know yet */
    if (ucs_likely(!uct_predreg_has_devices())) {
        return 1;
    }

    switch (ucs_memtype_cache_lookup(address, length, &memory.info)) {
    case UCS_OK:
        return memory.info.type == UCS_MEMORY_TYPE_HOST;
    case UCS_ERR_NO_ELEM:
        return 1; /* UCX's cache of memory types knows memory of devices only */
    default:
        tell_of_types(); /* UCX's cache of memory types is switched off */
        return 0;
    }
}

/* Enter a domain before UCX registers memory. @param is_quiet  Drop UCX's messages about
 * a failure of the registration */
static void pass_begin(uct_predreg_domain_t *domain, int is_quiet)
{
    uct_predreg_domain_enter(domain);
    if (is_quiet) {
        uct_predreg_quiet_begin();
    }
}

/* Count a registration of a managed domain: all of them pass here, the cache's as well as
 * those of UCX's pools, of kept memory and of the add-ons */
static void count_key(const uct_predreg_domain_t *domain)
{
    uct_predreg_core_t *core = domain->core;
    uint64_t now;

    if (domain->cache != NULL) {
        now = ucs_relaxed_add(&core->keys_now, 1) + 1;
        ucs_relaxed_raise(&core->keys_peak, now);
    }

    if (domain->node != NULL) {
        ucs_rcache_pred_node_key_taken(domain->node, domain->device);
    }
}

/* Leave a domain after an attempt to register past the cache, and count the key if there is
 * one now. @return the status of the attempt */
static ucs_status_t
pass_end(uct_predreg_domain_t *domain, int is_quiet, ucs_status_t status)
{
    if (is_quiet) {
        uct_predreg_quiet_end();
    }
    uct_predreg_domain_leave(domain);
    if (status == UCS_OK) {
        count_key(domain);
    }
    return status;
}

/* Count a deregistration in a managed domain. UCP ends the use of memory of another process
 * (uct_md_mem_attach()) as a registration, which nobody has counted: not below 0 */
static void uncount_key(const uct_predreg_domain_t *domain)
{
    if (domain->cache != NULL) {
        ucs_relaxed_lower(&domain->core->keys_now);
    }

    if (domain->node != NULL) {
        ucs_rcache_pred_node_key_given(domain->node, domain->device);
    }
}

ucs_status_t uct_predreg_pass_mem_reg(uct_predreg_domain_t *domain,
                                      void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p)
{
    const uct_predreg_core_t *core = domain->core;
    int is_quiet                   = flags & UCT_MD_MEM_FLAG_HIDE_ERRORS;

    pass_begin(domain, is_quiet);
    return pass_end(domain, is_quiet,
                    core->compat->mem_reg(&core->real, domain->md, address, length,
                                          flags, memh_p));
}

ucs_status_t uct_predreg_pass_mem_reg_v2(uct_predreg_domain_t *domain,
                                         void *address, size_t length,
                                         const uct_md_mem_reg_params_t *params,
                                         uct_mem_h *memh_p)
{
    const uct_predreg_core_t *core = domain->core;
    int is_quiet                   = params->flags & UCT_MD_MEM_FLAG_HIDE_ERRORS;

    pass_begin(domain, is_quiet);
    return pass_end(domain, is_quiet,
                    core->real.uct_md_mem_reg_v2(domain->md, address, length, params,
                                                 memh_p));
}

ucs_status_t uct_predreg_try_mem_reg(uct_predreg_domain_t *domain,
                                     void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p)
{
    ucs_status_t status;

    errno  = 0;
    status = uct_predreg_pass_mem_reg(domain, address, length, flags, memh_p);
    if (status == UCS_OK) {
        return UCS_OK;
    }

    status = uct_predreg_compat_reg_error(status, errno);
    if (status == UCS_ERR_NO_MEMORY) {
        uct_predreg_ask_why_refused(domain, address, length);
    }
    return status;
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
    if (status == UCS_OK) {
        uncount_key(domain);
    }
    return status;
}

ucs_status_t uct_predreg_dereg_handle(void *domain, uct_mem_h memh)
{
    const uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH,
        .memh       = memh
    };

    return uct_predreg_pass_mem_dereg(domain, &params);
}

static void domain_enter(void *arg)
{
    uct_predreg_domain_enter(arg);
}

static void domain_leave(void *arg)
{
    uct_predreg_domain_leave(arg);
}

static int domain_may_lack_keys(void *arg)
{
    return uct_predreg_may_lack_keys(arg);
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

const ucs_rcache_pred_ops_t uct_predreg_pred_ops = {
    .now       = ucs_rcache_pred_thread_now,
    .wait      = core_wait,
    .wake      = core_wake,
    .busy      = ucs_rcache_pred_thread_busy,
    .mem_reg   = domain_mem_reg,
    .mem_dereg = uct_predreg_dereg_handle,
    .enter     = domain_enter,
    .leave     = domain_leave,
    .seat      = core_seat,
    .waits     = uct_predreg_waits,
    .faults    = ucs_rcache_pred_pressure_faults,
    .publish   = uct_predreg_publish,

    .may_lack_keys = domain_may_lack_keys
};
