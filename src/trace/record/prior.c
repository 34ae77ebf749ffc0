/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "places.h"
#include "prior.h"

#include <trace/profile/profile.h>

#include <stdlib.h>


struct ucs_rcache_record_prior {
    ucs_rcache_profile_t       profile;
    ucs_rcache_record_places_t *places;
};


ucs_status_t ucs_rcache_record_prior_create(const char *path,
                                            ucs_rcache_record_prior_t **prior_p)
{
    ucs_rcache_record_prior_t *prior;
    ucs_status_t status;

    prior = malloc(sizeof(*prior));
    if (prior == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err;
    }

    ucs_rcache_profile_init(&prior->profile);
    if (path != NULL) {
        status = ucs_rcache_profile_load(path, &prior->profile);
        if (status != UCS_OK) {
            goto err_free;
        }
    }

    status = ucs_rcache_record_places_create(&prior->places);
    if (status != UCS_OK) {
        goto err_free_profile;
    }

    *prior_p = prior;
    return UCS_OK;

err_free_profile:
    ucs_rcache_profile_free(&prior->profile);
err_free:
    free(prior);
err:
    return status;
}

void ucs_rcache_record_prior_destroy(ucs_rcache_record_prior_t *prior)
{
    ucs_rcache_record_places_destroy(prior->places);
    ucs_rcache_profile_free(&prior->profile);
    free(prior);
}

void ucs_rcache_record_prior_note(ucs_rcache_record_prior_t *prior,
                                  const ucs_rcache_pred_context_t *context)
{
    ucs_rcache_record_places_note(prior->places, context);
}

unsigned
ucs_rcache_record_prior_ask(ucs_rcache_record_prior_t *prior,
                            const ucs_rcache_pred_context_t *context,
                            uint64_t length, ucs_rcache_pred_time_t *intervals)
{
    uint64_t name = ucs_rcache_record_places_name(prior->places, context);

    return (name == 0) ? 0 :
           ucs_rcache_profile_ask(&prior->profile, name, length, intervals);
}

uint64_t ucs_rcache_record_prior_name(ucs_rcache_record_prior_t *prior,
                                      const ucs_rcache_pred_context_t *context)
{
    return ucs_rcache_record_places_name(prior->places, context);
}
