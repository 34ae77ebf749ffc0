/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "name.h"
#include "names.h"

#include <ucs/base/hash.h>
#include <ucs/datastruct/khash.h>

#include <stdlib.h>


/* What tells places of one process apart */
typedef struct {
    uint64_t caller;
    uint64_t stack;
} place_t;

static inline khint_t place_hash(place_t place)
{
    return ucs_rcache_pred_hash_pair(place.caller, place.stack);
}

static inline int place_is_equal(place_t a, place_t b)
{
    return (a.caller == b.caller) && (a.stack == b.stack);
}

KHASH_INIT(names, place_t, uint64_t, 1, place_hash, place_is_equal)

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
    place_t place = {context->caller, context->stack};
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
