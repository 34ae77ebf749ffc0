/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sites.h"

#include <ucs/base/strb.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/* The top byte of a context's field caller is the kind of the communication */
#define KIND_SHIFT 56


static void place_cleanup(predreg_place_t *place)
{
    free(place->key);
    free(place->function);
    free(place->source);
}

void predreg_sites_cleanup(predreg_sites_t *sites)
{
    unsigned i;

    for (i = 0; i < sites->num_places; ++i) {
        place_cleanup(&sites->places[i]);
    }

    kh_destroy_inplace(predreg_places, &sites->index);
    free(sites->places);
    predreg_symbols_cleanup(&sites->symbols);
}

static const char *kind_name(uint64_t caller)
{
    switch (caller >> KIND_SHIFT) {
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

static void print_function(ucs_string_buffer_t *strb,
                           const predreg_frame_t *frame)
{
    if (frame->function != NULL) {
        ucs_string_buffer_appendf(strb, "%s", frame->function);
    } else if (frame->offset == 0) {
        /* There is no caller: the memory was not registered for a single communication */
        ucs_string_buffer_appendf(strb, "(unknown)");
    } else {
        ucs_string_buffer_appendf(strb, "%s%s0x%lx",
                                  (frame->module == NULL) ? "" :
                                  basename(frame->module),
                                  (frame->module == NULL) ? "" : "+",
                                  (unsigned long)frame->offset);
    }
}

static void print_path(ucs_string_buffer_t *strb, const predreg_frame_t *frames,
                       unsigned count)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        print_function(strb, &frames[i]);
        if (frames[i].file != NULL) {
            ucs_string_buffer_appendf(strb, " at %s:%d", frames[i].file,
                                      frames[i].line);
        } else if ((frames[i].function != NULL) && (frames[i].module != NULL)) {
            ucs_string_buffer_appendf(strb, " in %s",
                                      basename(frames[i].module));
        }
        ucs_string_buffer_appendf(strb, "\n");
    }
}

/* Find all functions on the call path of a site or, if the trace has no path,
 * the functions at its caller's address */
static unsigned find_frames(predreg_sites_t *sites,
                            const ucs_rcache_trace_t *trace,
                            const predreg_replay_site_t *result,
                            predreg_frame_t *frames)
{
    ucs_rcache_pred_context_t context = { .caller = result->caller,
                                          .stack  = result->stack };
    uint64_t caller     = result->caller & UCS_MASK(KIND_SHIFT);
    unsigned count      = 0;
    const ucs_rcache_trace_site_t *site;
    const uint64_t *addresses;
    unsigned i, num_addresses;

    site          = ucs_rcache_trace_find_site(trace, &context);
    num_addresses = (site == NULL) ? 0 : site->num_frames;
    addresses     = (num_addresses == 0) ? &caller : site->frames;
    num_addresses = ucs_max(num_addresses, 1);
    for (i = 0; (i < num_addresses) && (count < PREDREG_SITES_MAX_FRAMES);
         ++i) {
        count += predreg_symbols_find(&sites->symbols, trace, addresses[i],
                                      frames + count,
                                      PREDREG_SITES_MAX_FRAMES - count);
    }

    return count;
}

static const predreg_frame_t *
program_frame(const predreg_frame_t *frames, unsigned count)
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

static void place_init(predreg_place_t *place, const char *kind,
                       const predreg_frame_t *frames, unsigned count)
{
    const predreg_frame_t *frame = program_frame(frames, count);
    UCS_STRB(function, 512);
    UCS_STRB(source, 256);
    ucs_string_buffer_t key;

    print_function(&function, frame);
    if (frame->file != NULL) {
        ucs_string_buffer_appendf(&source, "%s:%d", basename(frame->file),
                                  frame->line);
    }
    ucs_string_buffer_init(&key);
    ucs_string_buffer_appendf(&key, "%s\n", kind);
    print_path(&key, frames, count);

    *place = (predreg_place_t){
        .key      = predreg_format("%s", ucs_string_buffer_cstr(&key)),
        .kind     = kind,
        .function = predreg_format("%s", ucs_string_buffer_cstr(&function)),
        .source   = predreg_format("%s", ucs_string_buffer_cstr(&source))
    };
    ucs_string_buffer_cleanup(&key);
    place->path = place->key + strlen(kind) + 1;
}

/* @return the place with the same key as the candidate. If there is none, the candidate
 *         becomes this place. */
static predreg_place_t *take_place(predreg_sites_t *sites,
                                   predreg_place_t *candidate)
{
    predreg_place_t *place;
    khiter_t iter;
    int ret;

    iter = predreg_kh_put(predreg_places, &sites->index, candidate->key, &ret);
    if (ret == UCS_KH_PUT_KEY_PRESENT) {
        place_cleanup(candidate);
        return &sites->places[kh_val(&sites->index, iter)];
    }

    kh_val(&sites->index, iter) = sites->num_places;
    place                       = predreg_add(sites->places, sites->num_places);
    *place                      = *candidate;
    return place;
}

void predreg_sites_add(predreg_sites_t *sites, const ucs_rcache_trace_t *trace,
                       const predreg_replay_result_t *result)
{
    predreg_frame_t frames[PREDREG_SITES_MAX_FRAMES];
    const predreg_replay_site_t *site;
    predreg_place_t candidate, *place;
    unsigned count, i;

    for (i = 0; i < result->num_sites; ++i) {
        site  = &result->sites[i];
        count = find_frames(sites, trace, site, frames);
        place_init(&candidate, kind_name(site->caller), frames, count);
        place                = take_place(sites, &candidate);
        place->uses         += site->uses;
        place->hits         += site->hits;
        place->late         += site->late;
        place->waited       += site->waited;
        place->byte_seconds += site->byte_seconds;
    }
}

static int compare(const void *a, const void *b)
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

void predreg_sites_sort(predreg_sites_t *sites)
{
    if (sites->num_places > 0) {
        qsort(sites->places, sites->num_places, sizeof(*sites->places),
              compare);
    }
}
