/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "thresholds.h"
#include "calibrate.h"
#include "cold.h"
#include "costs_key.h"
#include "map.h"
#include "measure.h"

#include <ucs/base/mutex.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_DOMAINS 16

/* From the start to the first further look at the costs, ns; each further one comes so many
 * times as long after the one before it, up to the last number. Looks of 0.5 ms are then
 * 1 % of the first 50 ms at most, and 0.1 % of the first 2 s */
#define FIRST_LOOK 50000000ull
#define LOOK_TIMES 4
#define MAX_LOOK   60000000000ull

/* After so many looks it is told if no length gains */
#define SURE_LOOKS 3

/* Instrumented by a sanitizer, finding a buffer takes longer than copying it by
 * the C library, which is not instrumented: nothing would be sent without a
 * copy. There, what finding takes is not measured */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_INSTRUMENTED 1
#else
#define IS_INSTRUMENTED 0
#endif

/* Names of the domains that were opened; of more than these, only the first
 * ones count */
static char names[MAX_DOMAINS][32];
static unsigned num_names;

/* Protects the names */
static ucs_mutex_t lock = UCS_MUTEX_INITIALIZER(UCS_RANK_THRESHOLDS);


void uct_predreg_thresholds_add_domain(const char *name)
{
    unsigned i;

    ucs_mutex_lock(&lock);
    for (i = 0; (i < num_names) && strcmp(names[i], name); ++i);
    if ((i == num_names) && (num_names < MAX_DOMAINS)) {
        strncpy(names[num_names], name, sizeof(names[0]) - 1);
        ++num_names;
    }
    ucs_mutex_unlock(&lock);
}

static void make_key(const uct_predreg_real_t *real,
                     char key[UCT_PREDREG_COSTS_KEY_MAX])
{
    const char *domains[MAX_DOMAINS];
    unsigned major, minor, release, i;

    real->ucp_get_version(&major, &minor, &release);

    ucs_mutex_lock(&lock);
    for (i = 0; i < num_names; ++i) {
        domains[i] = names[i];
    }
    uct_predreg_costs_key(major, minor, release, domains, num_names, key);
    ucs_mutex_unlock(&lock);
}

/* The functions that the measurement calls to register memory, and their argument */

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

/* Whether it was told that no length gains */
static atomic_flag told = ATOMIC_FLAG_INIT;

void uct_predreg_thresholds_tell_useless(const uct_predreg_core_t *core)
{
    if ((core->rank <= 0) && !atomic_flag_test_and_set(&told)) {
        ucs_warn("UCX_RCACHE_PRED_EAGER=y: small sends are copied, since finding "
                 "their buffers takes as long as copying them on this machine; "
                 "'ucx_predreg calibrate' shows the figures");
    }
}

/* See uct_predreg_thresholds_gain_from(). Constant after the first call */
static size_t gain_from;

static void measure_gain(void)
{
    ucs_reuse_copy_classes_t by_string;

    gain_from = uct_predreg_measure_gain_from(NULL, &by_string);
    uct_predreg_cold_set_copies(by_string);
}

size_t uct_predreg_thresholds_gain_from(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, measure_gain);
    return gain_from;
}

/* What the measurement calls and is handed */
static uct_predreg_calibrate_params_t
measure_params(owner_t *owner, const ucs_reuse_table_t *table)
{
    return (uct_predreg_calibrate_params_t){
        .map        = map,
        .unmap      = unmap,
        .arg        = owner,
        .lookup     = IS_INSTRUMENTED ? NULL : lookup,
        .lookup_arg = (void*)table
    };
}

/* Decide by all that was measured so far. @return whether any length gains */
static int decide(const uct_predreg_core_t *core,
                  uct_predreg_thresholds_t *thresholds)
{
    uint32_t sends[UCS_REUSE_NUM_CLASSES];
    int gains = 0;
    unsigned i;

    ucs_reuse_thresholds(&thresholds->costs, core->knobs.eager_fraction / 100,
                         sends);
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        atomic_store_explicit(&thresholds->sends[i], sends[i],
                              memory_order_relaxed);
        gains |= (sends[i] != UCS_REUSE_NEVER);
    }
    return gains;
}

static void set_unknown(ucs_reuse_costs_t *costs)
{
    unsigned i;

    costs->reg_call = costs->reg_page = costs->lookup = INFINITY;
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs->copy[i] = INFINITY;
    }
}

void uct_predreg_thresholds_find(const uct_predreg_core_t *core,
                                 const uct_predreg_real_t *real,
                                 ucp_context_h ucp,
                                 const ucs_reuse_table_t *table,
                                 uct_predreg_thresholds_t *thresholds)
{
    owner_t owner                         = {real, ucp};
    uct_predreg_calibrate_params_t params = measure_params(&owner, table);
    char key[UCT_PREDREG_COSTS_KEY_MAX];
    ucs_reuse_costs_t costs;
    ucs_status_t status;

    make_key(real, key);
    params.key = key;
    set_unknown(&thresholds->costs);
    status = uct_predreg_calibrate(&params, &costs);
    if (status == UCS_OK) {
        ucs_reuse_costs_refine(&thresholds->costs, &costs);
    } else {
        ucs_warn("small sends are copied for now in spite of "
                 "UCX_RCACHE_PRED_EAGER=y: what a registration costs could not "
                 "be measured (%s)", ucs_status_string(status));
    }

    decide(core, thresholds);
    thresholds->interval = FIRST_LOOK;
    thresholds->looks    = 0;
    /* The first look is due when it is first asked for one: that says the time */
    atomic_store_explicit(&thresholds->next, 0, memory_order_release);
}

/* Measure once more, and decide anew */
static void look(const uct_predreg_core_t *core, const uct_predreg_real_t *real,
                 ucp_context_h ucp, const ucs_reuse_table_t *table,
                 uct_predreg_thresholds_t *thresholds)
{
    owner_t owner                         = {real, ucp};
    uct_predreg_calibrate_params_t params = measure_params(&owner, table);
    ucs_reuse_costs_t costs;
    ucs_status_t status;

    params.max_nsec = UCT_PREDREG_MEASURE_LOOK_MAX_NSEC;
    status          = uct_predreg_measure(&params, &costs);
    if ((status == UCS_OK) || (status == UCS_INPROGRESS)) {
        ucs_reuse_costs_refine(&thresholds->costs, &costs);
    }

    if (!decide(core, thresholds) && (thresholds->looks == SURE_LOOKS)) {
        uct_predreg_thresholds_tell_useless(core);
    }
}

void uct_predreg_thresholds_look(const uct_predreg_core_t *core,
                                 const uct_predreg_real_t *real,
                                 ucp_context_h ucp,
                                 const ucs_reuse_table_t *table,
                                 uct_predreg_thresholds_t *thresholds,
                                 uint64_t now)
{
    uint64_t next = atomic_load_explicit(&thresholds->next,
                                         memory_order_relaxed);

    if (ucs_likely(now < next) ||
        !atomic_compare_exchange_strong_explicit(&thresholds->next, &next,
                                                 UINT64_MAX,
                                                 memory_order_acquire,
                                                 memory_order_relaxed)) {
        return;
    }

    if (next > 0) {
        ++thresholds->looks;
        look(core, real, ucp, table, thresholds);
        thresholds->interval = ucs_min(thresholds->interval * LOOK_TIMES,
                                       MAX_LOOK);
    }

    atomic_store_explicit(&thresholds->next, now + thresholds->interval,
                          memory_order_release);
}

void uct_predreg_thresholds_reset(void)
{
    ucs_mutex_init(&lock, UCS_RANK_THRESHOLDS, 0);
    num_names = 0;
    atomic_flag_clear(&told);
}
