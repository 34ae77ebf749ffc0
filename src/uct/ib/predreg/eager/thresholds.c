/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_int.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <uct/ib/predreg/core/state.h>

#include <pthread.h>
#include <stdlib.h>

/* From the first chance to look to the first further look at the costs, ns. Each later
 * interval is LOOK_TIMES as long as the one before, up to MAX_LOOK. If a look takes 0.5
 * ms, looks then take 1 % of the first 50 ms at most, and 0.1 % of the first 2 s */
#define FIRST_LOOK 50000000ull
#define LOOK_TIMES 4
#define MAX_LOOK   60000000000ull

/* If registering pays for no length after SURE_LOOKS looks, the library logs a message */
#define SURE_LOOKS 3

/* Tests of the project set the costs by this variable, in the form that
 * ucs_reuse_costs_parse() reads: then the number of hot sends does not depend on the
 * machine */
#define TEST_COSTS "PREDREG_TEST_EAGER_COSTS"

/* With a sanitizer a lookup takes longer than a copy, since the sanitizer instruments the
 * lookup and not memcpy() of the C library. All sends would be copied, so lookups are not
 * measured there */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_INSTRUMENTED 1
#else
#define IS_INSTRUMENTED 0
#endif

__thread int uct_predreg_is_measuring
        __attribute__((tls_model("initial-exec")));

_Atomic(ucs_reuse_copy_classes_t) uct_predreg_copies_by_string =
        UCS_REUSE_COPY_ALL_STRING;


/* Functions for the measurement: map() and unmap() register memory, with an owner_t as
 * their argument, and lookup() looks up a buffer */

typedef struct {
    const uct_predreg_real_t *real;
    ucp_context_h            ucp;
} owner_t;

static ucs_status_t
map(void *arg, void *address, size_t length, void **handle_p)
{
    const owner_t *owner = arg;

    return uct_predreg_eager_map(owner->real, owner->ucp, address, length,
                                 (ucp_mem_h*)handle_p);
}

static void unmap(void *arg, void *handle)
{
    const owner_t *owner = arg;

    owner->real->ucp_mem_unmap(owner->ucp, handle);
}

static void lookup(void *table, const void *buffer)
{
    const ucs_reuse_buffer_t *volatile found;

    found = ucs_reuse_table_find(table, buffer);
    (void)found;
}

/* Whether the library has logged that registering pays for no length */
static atomic_flag told = ATOMIC_FLAG_INIT;

void uct_predreg_thresholds_tell_useless(const uct_predreg_core_t *core)
{
    if ((core->rank <= 0) && !atomic_flag_test_and_set(&told)) {
        ucs_warn("UCX_RCACHE_PRED_EAGER=y: small sends are copied, since finding "
                 "their buffers takes as long as copying them on this machine; "
                 "'ucx_predreg calibrate' shows the figures");
    }
}

/* See uct_predreg_eager_gain_from(). Constant after the first call */
static size_t gain_from;

static void measure_gain(void)
{
    ucs_reuse_copy_classes_t by_string;

    gain_from = uct_predreg_measure_gain_from(NULL, &by_string);
    ucs_relaxed_store(&uct_predreg_copies_by_string, by_string);
}

size_t uct_predreg_eager_gain_from(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, measure_gain);
    return gain_from;
}

/* As uct_predreg_eager_measure(), but in at most max_nsec (0: the usual time), and with
 * lookups in a table unless the table is NULL */
static ucs_status_t
measure(const uct_predreg_real_t *real, ucp_context_h ucp,
        const ucs_reuse_table_t *table, uint64_t max_nsec,
        ucs_reuse_costs_t *costs)
{
    owner_t owner                             = {real, ucp};
    const uct_predreg_measure_params_t params = {
        .map        = map,
        .unmap      = unmap,
        .arg        = &owner,
        .lookup     = (IS_INSTRUMENTED || (table == NULL)) ? NULL : lookup,
        .lookup_arg = (void*)table,
        .max_nsec   = max_nsec
    };
    const char *given = getenv(TEST_COSTS);
    ucs_reuse_costs_t measured;
    ucs_status_t status;

    if ((given != NULL) && ucs_reuse_costs_parse(given, &measured)) {
        ucs_reuse_costs_refine(costs, &measured);
        return UCS_OK;
    }

    uct_predreg_is_measuring = 1;
    status                   = uct_predreg_measure(&params, &measured);
    uct_predreg_is_measuring = 0;
    if ((status == UCS_OK) || (status == UCS_INPROGRESS)) {
        ucs_reuse_costs_refine(costs, &measured);
        status = UCS_OK;
    }
    return status;
}

ucs_status_t uct_predreg_eager_measure(const uct_predreg_real_t *real,
                                       ucp_context_h ucp, ucs_reuse_costs_t *costs)
{
    return measure(real, ucp, NULL, 0, costs);
}

/* Set the thresholds by the costs of all looks so far. @return whether registering pays
 * for any length */
static int decide(uct_predreg_eager_context_t *context)
{
    uct_predreg_thresholds_t *thresholds = &context->thresholds;
    uint32_t sends[UCS_REUSE_NUM_CLASSES];
    int gains = 0;
    unsigned i;

    ucs_reuse_thresholds(&thresholds->costs,
                         context->core->knobs.eager_fraction / 100, sends);
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        ucs_relaxed_store(&thresholds->sends[i], sends[i]);
        gains |= (sends[i] != UCS_REUSE_NEVER);
    }
    return gains;
}

void uct_predreg_thresholds_find(uct_predreg_eager_context_t *context)
{
    uct_predreg_thresholds_t *thresholds = &context->thresholds;
    ucs_status_t status;

    ucs_reuse_costs_init(&thresholds->costs);
    status = measure(context->real, context->ucp, &context->table, 0,
                     &thresholds->costs);
    if (status != UCS_OK) {
        ucs_warn("small sends are copied for now in spite of "
                 "UCX_RCACHE_PRED_EAGER=y: what a registration costs could not "
                 "be measured (%s)", ucs_status_string(status));
    }

    decide(context);
    thresholds->interval = FIRST_LOOK;
    thresholds->looks    = 0;
    /* The first call of uct_predreg_thresholds_look() only sets the time of the first
     * further look, since there is no clock here */
    atomic_store_explicit(&thresholds->next, 0, memory_order_release);
}

void uct_predreg_thresholds_look(uct_predreg_eager_context_t *context, uint64_t now)
{
    uct_predreg_thresholds_t *thresholds = &context->thresholds;
    uint64_t next = ucs_relaxed_load(&thresholds->next);

    if (ucs_likely(now < next) ||
        !atomic_compare_exchange_strong_explicit(&thresholds->next, &next,
                                                 UINT64_MAX,
                                                 memory_order_acquire,
                                                 memory_order_relaxed)) {
        return;
    }

    if (next > 0) {
        ++thresholds->looks;
        /* If measuring fails, the next look tries again */
        (void)measure(context->real, context->ucp, &context->table,
                      UCT_PREDREG_MEASURE_LOOK_MAX_NSEC, &thresholds->costs);
        if (!decide(context) && (thresholds->looks == SURE_LOOKS)) {
            uct_predreg_thresholds_tell_useless(context->core);
        }
        thresholds->interval = ucs_min(thresholds->interval * LOOK_TIMES,
                                       MAX_LOOK);
    }

    atomic_store_explicit(&thresholds->next, now + thresholds->interval,
                          memory_order_release);
}

void uct_predreg_thresholds_reset(void)
{
    atomic_flag_clear(&told);
}
