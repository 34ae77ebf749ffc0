/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <ucs/sys/math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What this process tells of itself.
 */


/* What the launchers call the rank: Open MPI, PMIx, PMI (MPICH, Slurm) */
int uct_predreg_process_rank(void)
{
    static const char *names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                  "PMI_RANK", "SLURM_PROCID"};
    const char *value;
    unsigned i;

    for (i = 0; i < ucs_static_array_size(names); ++i) {
        value = getenv(names[i]);
        if (value != NULL) {
            return atoi(value);
        }
    }

    return -1;
}

void uct_predreg_note_pinned(void)
{
    unsigned long kib = 0;
    char line[128];
    FILE *status;

    if ((uct_predreg_core.knobs.summary == UCT_PREDREG_SUMMARY_NONE) &&
        (uct_predreg_core.recorder == NULL)) {
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

    /* Relaxed: a number */
    if (kib * 1024 > atomic_load_explicit(&uct_predreg_core.kernel_pinned,
                                          memory_order_relaxed)) {
        atomic_store_explicit(&uct_predreg_core.kernel_pinned, kib * 1024,
                              memory_order_relaxed);
    }
}

void uct_predreg_snapshot(ucs_rcache_pred_snapshot_t *snapshot)
{
    ucs_rcache_pred_t *pred = uct_predreg_core.pred;

    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->rank   = uct_predreg_core.rank;
    snapshot->pid    = uct_predreg_core.pid;
    snapshot->policy = uct_predreg_policy();
    /* Relaxed: numbers */
    snapshot->pool_bytes =
            atomic_load_explicit(&uct_predreg_core.pool_bytes,
                                 memory_order_relaxed);
    snapshot->kernel_pinned =
            atomic_load_explicit(&uct_predreg_core.kernel_pinned,
                                 memory_order_relaxed);
    if (pred == NULL) {
        snapshot->stats.uses = uct_predreg_num_passed();
        return;
    }

    ucs_rcache_pred_get_stats(pred, &snapshot->stats);
    snapshot->mode       = ucs_rcache_pred_get_mode(pred);
    snapshot->helper_cpu =
            ucs_rcache_pred_thread_cpu_time(uct_predreg_core.thread);
}
