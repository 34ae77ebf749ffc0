/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_access.h"

#include <uct/ib/predreg/eager/eager_int.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>


/* A context that is looked for */
typedef struct search {
    ucp_context_h        ucp;
    uct_predreg_eager_context_t *found;
} search_t;

static void search_one(uct_predreg_eager_context_t *context, void *arg)
{
    search_t *search = arg;

    if (context->ucp == search->ucp) {
        search->found = context;
    }
}

uct_predreg_eager_context_t *test_eager_listed(ucp_context_h ucp)
{
    search_t search = {.ucp = ucp};

    uct_predreg_eager_for_each(search_one, &search);
    return search.found;
}

uct_predreg_eager_context_t *
test_eager_add(uct_predreg_core_t *core, const uct_predreg_real_t *real,
               ucp_context_h ucp, size_t min_length, int flag_decides,
               unsigned threshold)
{
    const uct_predreg_making_t making = {
        .min_length   = min_length,
        .max_length   = UCS_REUSE_MAX_LENGTH,
        .flag_decides = flag_decides
    };
    uct_predreg_eager_context_t *context;
    ucp_datatype_t datatype;
    unsigned i;

    if ((uct_predreg_cold_make_datatype(real, &datatype) != UCS_OK) ||
        (uct_predreg_eager_add(core, real, ucp, &making, datatype) != UCS_OK)) {
        return NULL;
    }

    /* Nothing is measured */
    context                = test_eager_listed(ucp);
    context->is_calibrated = 1;
    atomic_init(&context->thresholds.next, UINT64_MAX);
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        atomic_init(&context->thresholds.sends[i], threshold);
    }
    return context;
}

void test_eager_set_costs(uct_predreg_eager_context_t *context,
                          const ucs_reuse_costs_t *costs)
{
    uct_predreg_thresholds_t *thresholds = &context->thresholds;
    unsigned i;

    thresholds->costs    = *costs;
    thresholds->interval = 50000000;
    thresholds->looks    = 0;
    atomic_init(&thresholds->next, 0);
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        atomic_init(&thresholds->sends[i], UCS_REUSE_NEVER);
    }
}

int test_eager_heat(uct_predreg_eager_context_t *context, const void *address,
                    uint32_t handle)
{
    ucs_reuse_buffer_t *buffer = ucs_reuse_table_find(&context->table, address);

    return ucs_reuse_table_heat(&context->table, buffer, address, handle);
}

void test_eager_counts(uint64_t *sends_p, uint64_t *hot_p, uint64_t *bytes_p)
{
    static ucs_rcache_pred_snapshot_t last;
    ucs_rcache_pred_snapshot_t stats;

    uct_predreg_count_sends(&stats);
    *sends_p = stats.eager_sends - last.eager_sends;
    *hot_p   = stats.eager_hot - last.eager_hot;
    *bytes_p = stats.eager_bytes_saved - last.eager_bytes_saved;
    last     = stats;
}

/* What the threads share: sends that UCP has, by number */
typedef struct flying {
    _Atomic(uct_predreg_flight_t*) *flights;
    unsigned                       count;
    unsigned                       silent; /* The program was not called back */
} flying_t;

static void *call_back_for_all(void *arg)
{
    flying_t *flying = arg;
    uct_predreg_flight_t *flight;
    unsigned i;

    for (i = 0; i < flying->count; ++i) {
        while ((flight = atomic_load(&flying->flights[i])) == NULL) {
            sched_yield();
        }
        flying->silent += !uct_predreg_flight_over(flight);
    }
    return NULL;
}

unsigned test_flights_of_two_threads(unsigned sends, unsigned *freed_p,
                                     unsigned *silent_p)
{
    flying_t flying = {calloc(sends, sizeof(*flying.flights)), sends, 0};
    unsigned left   = UCT_PREDREG_MAX_FLIGHTS;
    uct_predreg_flights_t flights;
    uct_predreg_flight_t *flight;
    pthread_t thread;
    uintptr_t i;

    uct_predreg_flights_init(&flights);
    pthread_create(&thread, NULL, call_back_for_all, &flying);
    *freed_p = 0;
    for (i = 0; i < sends; ++i) {
        while ((flight = uct_predreg_flight_take(&flights)) == NULL) {
            sched_yield();
        }
        atomic_store(&flying.flights[i], flight);
        uct_predreg_flight_issued(flight, (void*)(16 * (i + 1)));
        *freed_p += uct_predreg_flight_free(&flights, (void*)(16 * (i + 1)));
    }
    pthread_join(thread, NULL);

    *silent_p = flying.silent;
    while (uct_predreg_flight_take(&flights) != NULL) {
        --left;
    }
    uct_predreg_flights_cleanup(&flights);
    free(flying.flights);
    return left;
}

int test_endpoint_has_no_zcopy(ucp_ep_h ep, uct_predreg_message_t message,
                               size_t length)
{
    uct_predreg_sender_range_t range = uct_predreg_endpoint_lengths(
            ep, message, 1, UCS_REUSE_MAX_LENGTH);

    return (length < range.min) || (length > range.min + range.span);
}
