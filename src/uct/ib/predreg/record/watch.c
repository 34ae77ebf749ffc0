/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "record.h"

#include <uct/ib/predreg/core/comm.h>
#include <uct/ib/predreg/md/domain.h>

#include <stdlib.h>

/*
 * Uses under the leave-pinned policy. UCX's own cache lies below the library: so the
 * functions here see each use, but not the registrations. The handle of a use is that of
 * a region of UCX's cache, which stays registered; so all uses of a region have the same
 * handle.
 */


/* The owner of a handle with uses under way. UCX's own pools have handles, too, and the end
 * of a pool must not be taken for the end of a use. */
typedef struct watched {
    uct_predreg_owner_t owner;
    unsigned            uses; /* Above 0. Under core.lock */
} watched_t;

static uint64_t now(void)
{
    return ucs_rcache_pred_thread_now(NULL);
}

static uint64_t elapsed(uint64_t begin)
{
    uint64_t end = now();

    /* The end may be before the begin, if the thread has moved to a processor with a
     * counter that is behind */
    return (end > begin) ? (end - begin) : 0;
}

/* Note the end of a use with the handle. @return 0 if the use has no note, since there
 * was no memory when it began: its end is not recorded either. */
static int use_forget(uct_predreg_domain_t *domain, uct_mem_h memh)
{
    watched_t *watched;

    uct_predreg_core_lock(domain->core);
    watched = ucs_map_find(&domain->owners, memh);
    if ((watched != NULL) && (--watched->uses == 0)) {
        uct_predreg_disown(domain, memh);
        free(watched);
    }
    uct_predreg_core_unlock(domain->core);
    return watched != NULL;
}

static void tell(const uct_predreg_core_t *core, const ucs_rcache_pred_event_t *event)
{
    const uct_predreg_observer_t *observer = core->observer;

    observer->super.event(observer->super.arg, event);
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

    event.time     = now();
    status         = core->real.uct_md_mem_dereg_v2(domain->md, params);
    event.duration = elapsed(event.time);
    if (is_recorded) {
        tell(core, &event);
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
    watched = ucs_map_find(&domain->owners, memh);
    if (watched == NULL) {
        watched = watched_new(domain, memh);
    }
    if (watched != NULL) {
        ++watched->uses;
    }
    uct_predreg_core_unlock(domain->core);
    return watched != NULL;
}

ucs_status_t uct_predreg_record_mem_reg(uct_predreg_domain_t *domain,
                                        void *address, size_t length,
                                        unsigned flags, unsigned kind,
                                        uct_mem_h *memh_p)
{
    uct_predreg_core_t *core      = domain->core;
    ucs_rcache_pred_event_t event = {
        .type    = UCS_RCACHE_PRED_EVENT_USE_BEGIN,
        .kind    = kind,
        .domain  = domain->number,
        .flags   = flags,
        .address = (uintptr_t)address,
        .length  = length
    };
    ucs_status_t status;

    uct_predreg_posted_get(address, &event.context);
    event.time     = now();
    status         = core->compat->mem_reg(&core->real, domain->md, address,
                                           length, flags, memh_p);
    event.duration = elapsed(event.time);
    if (status != UCS_OK) {
        event.result = UCS_RCACHE_PRED_RESULT_FAILED;
    } else if (use_remember(domain, *memh_p)) {
        event.id = (uintptr_t)*memh_p;
    } else {
        return status;
    }

    tell(core, &event);
    return status;
}
