/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "counters.h"
#include "state.h"

#include <stdio.h>


void uct_predreg_count_passed(uct_predreg_core_t *core)
{
    ucs_rcache_pred_live_t *live =
            atomic_load_explicit(&core->live, memory_order_acquire);

    if (live != NULL) {
        ucs_rcache_pred_live_count_use(live);
    } else {
        /* Relaxed: nothing else depends on this number */
        atomic_fetch_add_explicit(&core->passed_uses, 1,
                                  memory_order_relaxed);
    }
}

uint64_t uct_predreg_num_passed(uct_predreg_core_t *core)
{
    ucs_rcache_pred_live_t *live =
            atomic_load_explicit(&core->live, memory_order_acquire);

    /* Relaxed: nothing else depends on this number */
    return (live != NULL) ? ucs_rcache_pred_live_get_uses(live) :
                            atomic_load_explicit(&core->passed_uses,
                                                 memory_order_relaxed);
}

void uct_predreg_note_pinned(uct_predreg_core_t *core)
{
    unsigned long kib = 0;
    char line[128];
    FILE *status;

    if ((core->knobs.summary == UCT_PREDREG_SUMMARY_NONE) &&
        (core->recorder == NULL)) {
        return;
    }

    status = fopen("/proc/self/status", "r");
    if (status == NULL) {
        return;
    }

    while (fgets(line, sizeof(line), status) != NULL) {
        if (sscanf(line, "VmPin: %lu kB", &kib) == 1) {
            break;
        }
    }
    fclose(status);

    /* Relaxed: nothing else depends on this number */
    if (kib * 1024 > atomic_load_explicit(&core->kernel_pinned,
                                          memory_order_relaxed)) {
        atomic_store_explicit(&core->kernel_pinned, kib * 1024,
                              memory_order_relaxed);
    }
}
