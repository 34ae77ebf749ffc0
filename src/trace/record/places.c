/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "places.h"
#include "modules.h"
#include "sites.h"

#include <trace/profile/name.h>
#include <trace/profile/place.h>
#include <ucs/base/mutex.h>

#include <stdlib.h>

/* As many as a trace has */
#define MAX_PLACES 4096


UCS_RCACHE_PROFILE_PLACES(names, uint64_t)

struct ucs_rcache_record_places {
    ucs_rcache_record_sites_t   *sites;   /* Constant */

    /* Around what comes next, for threads that name places. The loader's lock is taken
     * with it, and the lock of the names */
    ucs_mutex_t                 naming;
    ucs_rcache_record_modules_t *modules;

    /* Around the names. Nothing is waited for with it */
    ucs_mutex_t                 lock;
    khash_t(names)              names;
};


ucs_status_t
ucs_rcache_record_places_create(ucs_rcache_record_places_t **places_p)
{
    ucs_rcache_record_places_t *places;
    ucs_status_t status;

    places = malloc(sizeof(*places));
    if (places == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err;
    }

    status = ucs_rcache_record_sites_create(MAX_PLACES, &places->sites);
    if (status != UCS_OK) {
        goto err_free;
    }

    status = ucs_rcache_record_modules_create(&places->modules);
    if (status != UCS_OK) {
        goto err_destroy_sites;
    }

    ucs_mutex_init(&places->naming, UCS_RANK_NAMING, 0);
    ucs_mutex_init(&places->lock, UCS_RANK_PLACES, 0);
    kh_init_inplace(names, &places->names);
    *places_p = places;
    return UCS_OK;

err_destroy_sites:
    ucs_rcache_record_sites_destroy(places->sites);
err_free:
    free(places);
err:
    return status;
}

void ucs_rcache_record_places_destroy(ucs_rcache_record_places_t *places)
{
    kh_destroy_inplace(names, &places->names);
    ucs_mutex_destroy(&places->lock);
    ucs_mutex_destroy(&places->naming);
    ucs_rcache_record_modules_destroy(places->modules);
    ucs_rcache_record_sites_destroy(places->sites);
    free(places);
}

/* Whether each return address is in a module */
static int has_modules(const ucs_rcache_trace_site_t *site,
                       const ucs_rcache_trace_module_t *modules, unsigned num)
{
    unsigned i;

    for (i = 0; i < site->num_frames; ++i) {
        if (ucs_rcache_profile_find_module(modules, num, site->frames[i]) ==
            NULL) {
            return 0;
        }
    }
    return 1;
}

/* To be called under the lock for naming */
static uint64_t name_of(ucs_rcache_record_places_t *places,
                        const ucs_rcache_trace_site_t *site)
{
    const ucs_rcache_trace_module_t *modules;
    unsigned num;

    modules = ucs_rcache_record_modules_list(places->modules, 0, &num);
    if (!has_modules(site, modules, num)) {
        modules = ucs_rcache_record_modules_list(places->modules, 1, &num);
    }
    return ucs_rcache_profile_name(site, modules, num);
}

static void name_place(ucs_rcache_record_places_t *places,
                       const ucs_rcache_trace_site_t *site)
{
    ucs_rcache_profile_place_t place = {site->caller, site->stack};
    uint64_t name = name_of(places, site);
    khiter_t iter;
    int result;

    ucs_mutex_lock(&places->lock);
    iter = kh_put(names, &places->names, place, &result);
    if (result != UCS_KH_PUT_FAILED) {
        kh_value(&places->names, iter) = name;
    }
    ucs_mutex_unlock(&places->lock);
}

void ucs_rcache_record_places_note(ucs_rcache_record_places_t *places,
                                   const ucs_rcache_pred_context_t *context)
{
    const ucs_rcache_trace_site_t *site;

    if (ucs_likely(!ucs_rcache_record_sites_note(places->sites, context))) {
        return;
    }

    /* Of those that several threads add at a time, the last thread names those that it
     * finds filled in */
    ucs_mutex_lock(&places->naming);
    while ((site = ucs_rcache_record_sites_next(places->sites)) != NULL) {
        name_place(places, site);
    }
    ucs_mutex_unlock(&places->naming);
}

uint64_t
ucs_rcache_record_places_name(ucs_rcache_record_places_t *places,
                              const ucs_rcache_pred_context_t *context)
{
    ucs_rcache_profile_place_t place = {context->caller, context->stack};
    uint64_t name = 0;
    khiter_t iter;

    ucs_mutex_lock(&places->lock);
    iter = kh_get(names, &places->names, place);
    if (iter != kh_end(&places->names)) {
        name = kh_value(&places->names, iter);
    }
    ucs_mutex_unlock(&places->lock);
    return name;
}
