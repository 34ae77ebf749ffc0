/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "name.h"
#include "names.h"
#include "place.h"

#include <stdlib.h>


UCS_RCACHE_PROFILE_PLACES(names, uint64_t)

struct ucs_rcache_profile_names {
    const ucs_rcache_trace_t *trace;
    khash_t(names)           names;
};


ucs_rcache_profile_names_t *
ucs_rcache_profile_names_create(const ucs_rcache_trace_t *trace)
{
    ucs_rcache_profile_names_t *names = malloc(sizeof(*names));

    if (names != NULL) {
        names->trace = trace;
        kh_init_inplace(names, &names->names);
    }
    return names;
}

void ucs_rcache_profile_names_destroy(ucs_rcache_profile_names_t *names)
{
    kh_destroy_inplace(names, &names->names);
    free(names);
}

ucs_status_t
ucs_rcache_profile_names_find(ucs_rcache_profile_names_t *names,
                              const ucs_rcache_pred_context_t *context,
                              uint64_t *name_p)
{
    ucs_rcache_profile_place_t place = {context->caller, context->stack};
    const ucs_rcache_trace_site_t *site;
    khiter_t iter;
    int result;

    iter = kh_put(names, &names->names, place, &result);
    if (result == UCS_KH_PUT_FAILED) {
        return UCS_ERR_NO_MEMORY;
    }

    if (result != UCS_KH_PUT_KEY_PRESENT) {
        site = ucs_rcache_trace_find_site(names->trace, context);
        kh_value(&names->names, iter) =
                (site == NULL) ?
                0 : ucs_rcache_profile_name(site, names->trace->modules,
                                            names->trace->num_modules);
    }
    *name_p = kh_value(&names->names, iter);
    return UCS_OK;
}
