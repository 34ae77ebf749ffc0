/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "sites.h"

#include <ucs/base/strb.h>

#include <ucs/datastruct/khash.h>
#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/* A context holds the kind of the communication in the top byte of its field
 * caller */
#define SITES_KIND_SHIFT 56


/* Maps the key of a place to its index */
KHASH_MAP_INIT_STR(places, unsigned)

struct predreg_sites {
    predreg_symbols_t *symbols;
    predreg_place_t   *places;
    unsigned          num_places;
    khash_t(places)   index;
};


ucs_status_t predreg_sites_create(predreg_sites_t **sites_p)
{
    predreg_sites_t *sites = calloc(1, sizeof(*sites));
    ucs_status_t status;

    if (sites == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    kh_init_inplace(places, &sites->index);
    status = predreg_symbols_create(&sites->symbols);
    if (status != UCS_OK) {
        free(sites);
        return status;
    }

    *sites_p = sites;
    return UCS_OK;
}

static void sites_place_cleanup(predreg_place_t *place)
{
    free(place->key);
    free(place->function);
    free(place->source);
}

void predreg_sites_destroy(predreg_sites_t *sites)
{
    unsigned i;

    for (i = 0; i < sites->num_places; ++i) {
        sites_place_cleanup(&sites->places[i]);
    }

    kh_destroy_inplace(places, &sites->index);
    free(sites->places);
    predreg_symbols_destroy(sites->symbols);
    free(sites);
}

static const char *sites_kind_name(uint64_t caller)
{
    switch (caller >> SITES_KIND_SHIFT) {
    case UCS_RCACHE_PRED_COMM_SEND:
        return "send";
    case UCS_RCACHE_PRED_COMM_RECV:
        return "receive";
    case UCS_RCACHE_PRED_COMM_PUT:
        return "put";
    case UCS_RCACHE_PRED_COMM_GET:
        return "get";
    default:
        return "mapped memory"; /* MPI windows, for example */
    }
}

static const char *sites_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return (slash == NULL) ? path : (slash + 1);
}

static void sites_print_function(ucs_string_buffer_t *strb,
                                 const predreg_frame_t *frame)
{
    if (frame->function != NULL) {
        ucs_string_buffer_appendf(strb, "%s", frame->function);
    } else if (frame->offset == 0) {
        /* What is not registered for one communication has no caller */
        ucs_string_buffer_appendf(strb, "(unknown)");
    } else {
        ucs_string_buffer_appendf(strb, "%s%s0x%lx",
                                  (frame->module == NULL) ? "" :
                                  sites_basename(frame->module),
                                  (frame->module == NULL) ? "" : "+",
                                  (unsigned long)frame->offset);
    }
}

static void sites_print_source(ucs_string_buffer_t *strb,
                               const predreg_frame_t *frame)
{
    if (frame->file != NULL) {
        ucs_string_buffer_appendf(strb, "%s:%d", sites_basename(frame->file),
                                  frame->line);
    }
}

static void sites_print_path(ucs_string_buffer_t *strb,
                             const predreg_frame_t *frames, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        sites_print_function(strb, &frames[i]);
        if (frames[i].file != NULL) {
            ucs_string_buffer_appendf(strb, " at %s:%d", frames[i].file,
                                      frames[i].line);
        } else if ((frames[i].function != NULL) && (frames[i].module != NULL)) {
            ucs_string_buffer_appendf(strb, " in %s",
                                      sites_basename(frames[i].module));
        }
        ucs_string_buffer_appendf(strb, "\n");
    }
}

/* Find all functions on the call path of a site or, if the trace has no path,
 * those of its caller's address */
static ucs_status_t sites_find_frames(predreg_sites_t *sites,
                                      const ucs_rcache_trace_t *trace,
                                      const predreg_replay_site_t *result,
                                      predreg_frame_t *frames,
                                      unsigned *count_p)
{
    ucs_rcache_pred_context_t context = { .caller = result->caller,
                                          .stack  = result->stack };
    uint64_t caller     = result->caller & UCS_MASK(SITES_KIND_SHIFT);
    const ucs_rcache_trace_site_t *site;
    const uint64_t *addresses;
    ucs_status_t status;
    unsigned i, num_addresses, count;

    site          = ucs_rcache_trace_find_site(trace, &context);
    num_addresses = (site == NULL) ? 0 : site->num_frames;
    addresses     = (num_addresses == 0) ? &caller : site->frames;
    num_addresses = ucs_max(num_addresses, 1);

    *count_p = 0;
    for (i = 0; (i < num_addresses) && (*count_p < PREDREG_SITES_MAX_FRAMES);
         ++i) {
        status = predreg_symbols_find(sites->symbols, trace, addresses[i],
                                      frames + *count_p,
                                      PREDREG_SITES_MAX_FRAMES - *count_p,
                                      &count);
        if (status != UCS_OK) {
            return status;
        }
        *count_p += count;
    }

    return UCS_OK;
}

static const predreg_frame_t *
sites_program_frame(const predreg_frame_t *frames, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        if ((frames[i].module != NULL) &&
            !predreg_module_is_communication(frames[i].module)) {
            return &frames[i];
        }
    }

    return &frames[0];
}

static ucs_status_t sites_place_init(predreg_place_t *place, const char *kind,
                                     const predreg_frame_t *frames,
                                     unsigned count)
{
    const predreg_frame_t *frame = sites_program_frame(frames, count);
    UCS_RCACHE_PRED_STRB(function, 512);
    UCS_RCACHE_PRED_STRB(source, 256);
    ucs_string_buffer_t key;

    sites_print_function(&function, frame);
    sites_print_source(&source, frame);
    ucs_string_buffer_init(&key);
    ucs_string_buffer_appendf(&key, "%s\n", kind);
    sites_print_path(&key, frames, count);

    *place = (predreg_place_t){
        .key      = strdup(ucs_string_buffer_cstr(&key)),
        .kind     = kind,
        .function = strdup(ucs_string_buffer_cstr(&function)),
        .source   = strdup(ucs_string_buffer_cstr(&source))
    };
    ucs_string_buffer_cleanup(&key);
    if ((place->key == NULL) || (place->function == NULL) ||
        (place->source == NULL)) {
        sites_place_cleanup(place);
        return UCS_ERR_NO_MEMORY;
    }

    place->path = place->key + strlen(kind) + 1;
    return UCS_OK;
}

/* @return the place that has the candidate's key. If there is none yet, the
 * candidate becomes a new place */
static predreg_place_t *sites_take_place(predreg_sites_t *sites,
                                         predreg_place_t *candidate)
{
    predreg_place_t *places;
    khiter_t iter;
    int ret;

    iter = kh_get(places, &sites->index, candidate->key);
    if (iter != kh_end(&sites->index)) {
        sites_place_cleanup(candidate);
        return &sites->places[kh_val(&sites->index, iter)];
    }

    places = realloc(sites->places, (sites->num_places + 1) * sizeof(*places));
    if (places == NULL) {
        goto err;
    }

    sites->places = places;
    iter          = kh_put(places, &sites->index, candidate->key, &ret);
    if (ret < 0) {
        goto err;
    }

    kh_val(&sites->index, iter) = sites->num_places;
    places[sites->num_places]   = *candidate;
    return &places[sites->num_places++];

err:
    sites_place_cleanup(candidate);
    return NULL;
}

ucs_status_t predreg_sites_add(predreg_sites_t *sites,
                               const ucs_rcache_trace_t *trace,
                               const predreg_replay_result_t *result)
{
    predreg_frame_t frames[PREDREG_SITES_MAX_FRAMES];
    const predreg_replay_site_t *site;
    predreg_place_t candidate, *place;
    ucs_status_t status;
    unsigned count, i;

    for (i = 0; i < result->num_sites; ++i) {
        site   = &result->sites[i];
        status = sites_find_frames(sites, trace, site, frames, &count);
        if (status != UCS_OK) {
            return status;
        }

        status = sites_place_init(&candidate, sites_kind_name(site->caller),
                                  frames, count);
        if (status != UCS_OK) {
            return status;
        }

        place = sites_take_place(sites, &candidate);
        if (place == NULL) {
            return UCS_ERR_NO_MEMORY;
        }

        place->uses         += site->uses;
        place->hits         += site->hits;
        place->late         += site->late;
        place->waited       += site->waited;
        place->byte_seconds += site->byte_seconds;
    }

    return UCS_OK;
}

static int sites_compare(const void *a, const void *b)
{
    const predreg_place_t *left  = a;
    const predreg_place_t *right = b;

    if (left->waited != right->waited) {
        return (left->waited < right->waited) ? 1 : -1;
    } else if (left->byte_seconds != right->byte_seconds) {
        return (left->byte_seconds < right->byte_seconds) ? 1 : -1;
    }

    return strcmp(left->key, right->key);
}

unsigned predreg_sites_sort(predreg_sites_t *sites,
                            const predreg_place_t **places_p)
{
    if (sites->num_places > 0) {
        qsort(sites->places, sites->num_places, sizeof(*sites->places),
              sites_compare);
    }
    *places_p = sites->places;
    return sites->num_places;
}

const predreg_symbols_t *predreg_sites_symbols(const predreg_sites_t *sites)
{
    return sites->symbols;
}
