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

#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_DOMAINS 16

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
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;


void uct_predreg_thresholds_add_domain(const char *name)
{
    unsigned i;

    pthread_mutex_lock(&lock);
    for (i = 0; (i < num_names) && strcmp(names[i], name); ++i);
    if ((i == num_names) && (num_names < MAX_DOMAINS)) {
        strncpy(names[num_names], name, sizeof(names[0]) - 1);
        ++num_names;
    }
    pthread_mutex_unlock(&lock);
}

static void make_key(const uct_predreg_real_t *real,
                     char key[UCT_PREDREG_COSTS_KEY_MAX])
{
    const char *domains[MAX_DOMAINS];
    unsigned major, minor, release, i;

    real->ucp_get_version(&major, &minor, &release);

    pthread_mutex_lock(&lock);
    for (i = 0; i < num_names; ++i) {
        domains[i] = names[i];
    }
    uct_predreg_costs_key(major, minor, release, domains, num_names, key);
    pthread_mutex_unlock(&lock);
}

/* What the measurement calls, and what it hands to that */

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

void uct_predreg_thresholds_tell_useless(const uct_predreg_core_t *core)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;

    if ((core->rank <= 0) && !atomic_flag_test_and_set(&told)) {
        ucs_warn("UCX_RCACHE_PRED_EAGER=y: small sends are copied, since finding "
                 "their buffers takes as long as copying them on this machine; "
                 "'ucx_predreg calibrate' shows the figures");
    }
}

static void
tell_if_useless(const uct_predreg_core_t *core, const uint32_t *sends)
{
    unsigned i;

    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        if (sends[i] != UCS_REUSE_NEVER) {
            return;
        }
    }

    uct_predreg_thresholds_tell_useless(core);
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

void uct_predreg_thresholds_find(const uct_predreg_core_t *core,
                                 const uct_predreg_real_t *real,
                                 ucp_context_h ucp,
                                 const ucs_reuse_table_t *table,
                                 uint32_t sends[UCS_REUSE_NUM_CLASSES])
{
    owner_t owner = {real, ucp};
    char key[UCT_PREDREG_COSTS_KEY_MAX];
    const uct_predreg_calibrate_params_t params = {
        .map        = map,
        .unmap      = unmap,
        .arg        = &owner,
        .key        = key,
        .lookup     = IS_INSTRUMENTED ? NULL : lookup,
        .lookup_arg = (void*)table
    };
    ucs_reuse_costs_t costs;
    ucs_status_t status;
    unsigned i;

    make_key(real, key);
    status = uct_predreg_calibrate(&params, &costs);
    if (status == UCS_OK) {
        ucs_reuse_thresholds(&costs, core->knobs.eager_fraction / 100, sends);
        tell_if_useless(core, sends);
        return;
    }

    ucs_warn("small sends are copied in spite of UCX_RCACHE_PRED_EAGER=y: what a "
             "registration costs could not be measured (%s)",
             ucs_status_string(status));
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        sends[i] = UCS_REUSE_NEVER;
    }
}

void uct_predreg_thresholds_reset(void)
{
    pthread_mutex_init(&lock, NULL);
    num_names = 0;
}
