/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "domain.h"
#include <uct/ib/predreg/core/comm.h>

#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>

#include <stdatomic.h>
#include <stdlib.h>

/*
 * Watching under the leave-pinned policy. UCX's own cache lies below the library, and
 * uses pass through here, not registrations. Their handles belong to the regions of UCX's
 * cache, which stay registered; so all uses of a region have the same handle.
 */


/* The owner of a handle with uses under way. UCX's own pools have handles, too, and the end
 * of a pool must not be taken for the end of a use. */
typedef struct watched {
    uct_predreg_owner_t owner;
    unsigned            uses; /* Above 0. Under core.lock */
} watched_t;

/* The shortest use so far, bytes. Shorter memory was never used, so its unmapping need
 * not be recorded. Relaxed: the number only decreases, and nothing else depends on it. */
static _Atomic(uint64_t) shortest = UINT64_MAX;


void uct_predreg_watch_open(uct_predreg_core_t *core)
{
    if (!uct_predreg_is_traced(&core->knobs) || (core->recorder != NULL)) {
        return;
    }

    if (ucs_rcache_pred_thread_create(&core->thread) != UCS_OK) {
        ucs_warn("no trace is recorded: out of memory");
        return;
    }

    uct_predreg_record_create(core);
}

static uint64_t now(uct_predreg_core_t *core)
{
    return ucs_rcache_pred_thread_now(core->thread);
}

static uint64_t elapsed(uct_predreg_core_t *core, uint64_t begin)
{
    uint64_t end = now(core);

    /* The end may be less than the begin, if the thread has moved to a
     * processor whose counter is behind */
    return (end > begin) ? (end - begin) : 0;
}

static watched_t *find(uct_predreg_domain_t *domain, uct_mem_h memh)
{
    return ucs_map_find(&domain->owners, memh);
}

/* Note the end of a use with the handle. @return 0 if there was no memory to note its
 * begin. */
static int use_forget(uct_predreg_domain_t *domain, uct_mem_h memh)
{
    watched_t *watched;

    uct_predreg_core_lock(domain->core);
    watched = find(domain, memh);
    if ((watched != NULL) && (--watched->uses == 0)) {
        uct_predreg_disown(domain, memh);
        free(watched);
    }
    uct_predreg_core_unlock(domain->core);
    return watched != NULL;
}

static ucs_status_t use_end(uct_predreg_owner_t *owner, uct_predreg_domain_t *domain,
                            const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_core_t *core      = domain->core;
    ucs_rcache_pred_event_t event = {
        .type   = UCS_RCACHE_PRED_EVENT_USE_END,
        .domain = domain->number,
        .id     = (uintptr_t)params->memh
    };
    int is_recorded               = use_forget(domain, params->memh);
    ucs_status_t status;

    event.time     = now(core);
    status         = core->real.uct_md_mem_dereg_v2(domain->md, params);
    event.duration = elapsed(core, event.time);
    if (is_recorded) {
        ucs_rcache_recorder_event(core->recorder, &event);
    }
    return status;
}

static watched_t *watched_new(uct_predreg_domain_t *domain, uct_mem_h memh)
{
    watched_t *watched = calloc(1, sizeof(*watched));

    if (watched == NULL) {
        return NULL;
    }

    watched->owner.end = use_end;
    if (uct_predreg_own(domain, memh, &watched->owner) != UCS_OK) {
        free(watched);
        return NULL;
    }
    return watched;
}

/* Note the begin of a use with the handle. @return 0 if there is no memory for the note;
 * the use is not recorded then. */
static int use_remember(uct_predreg_domain_t *domain, uct_mem_h memh)
{
    watched_t *watched;

    uct_predreg_core_lock(domain->core);
    watched = find(domain, memh);
    if (watched == NULL) {
        watched = watched_new(domain, memh);
    }
    if (watched != NULL) {
        ++watched->uses;
    }
    uct_predreg_core_unlock(domain->core);
    return watched != NULL;
}

/* Remember the length of a use, if the use is the shortest so far */
static void shortest_update(size_t length)
{
    uint64_t value = atomic_load_explicit(&shortest, memory_order_relaxed);

    while ((length < value) &&
           !atomic_compare_exchange_weak_explicit(&shortest, &value, length,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed));
}

ucs_status_t uct_predreg_watch_mem_reg(uct_predreg_domain_t *domain,
                                       void *address, size_t length,
                                       unsigned flags, unsigned kind,
                                       uct_mem_h *memh_p)
{
    uct_predreg_core_t *core        = domain->core;
    ucs_rcache_recorder_t *recorder = core->recorder;
    uct_md_h md                     = domain->md;
    ucs_rcache_pred_event_t event   = {
        .type    = UCS_RCACHE_PRED_EVENT_USE_BEGIN,
        .kind    = kind,
        .domain  = domain->number,
        .flags   = flags,
        .address = (uintptr_t)address,
        .length  = length
    };
    ucs_status_t status;

    if (ucs_likely(recorder == NULL)) {
        return core->compat->mem_reg(&core->real, md, address, length, flags,
                                     memh_p);
    }

    uct_predreg_posted_get(address, &event.context);
    event.time     = now(core);
    status         = core->compat->mem_reg(&core->real, md, address, length,
                                           flags, memh_p);
    event.duration = elapsed(core, event.time);
    if (status != UCS_OK) {
        event.result = UCS_RCACHE_PRED_RESULT_FAILED;
    } else if (use_remember(domain, *memh_p)) {
        event.id = (uintptr_t)*memh_p;
        shortest_update(length);
    } else {
        return status;
    }

    ucs_rcache_recorder_event(recorder, &event);
    return status;
}

void uct_predreg_watch_unmapped(uct_predreg_core_t *core, uintptr_t start,
                                size_t length)
{
    ucs_rcache_recorder_t *recorder = core->recorder;
    ucs_rcache_pred_event_t event   = {
        .type    = UCS_RCACHE_PRED_EVENT_UNMAP,
        .address = start,
        .length  = length
    };

    if ((recorder == NULL) ||
        (length < atomic_load_explicit(&shortest, memory_order_relaxed))) {
        return;
    }

    event.time = now(core);
    ucs_rcache_recorder_event(recorder, &event);
}
