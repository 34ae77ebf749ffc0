/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/*
 * The seat of this process among those of its node: whether there is a processor
 * for its helper.
 */


/* Processors of this process as its launcher bound it: those of its first
 * thread, before the program has threads of its own to bind. Written once */
static cpu_set_t affinity;


void uct_predreg_seat_init(void)
{
    if (sched_getaffinity(getpid(), sizeof(affinity), &affinity) != 0) {
        CPU_ZERO(&affinity); /* More processors than the mask has bits */
        ucs_debug("no processors are known: %s", strerror(errno));
    }
}

/* As if there was nobody else: the program needs one of its processors */
static void seat_alone(ucs_rcache_pred_seat_t *seat)
{
    unsigned count = CPU_COUNT(&affinity);

    seat->idle_cpus = (count > 1) ? (count - 1) : 0;
    seat->rank      = 0;
    seat->sharers   = 1;
}

void uct_predreg_seat(void *arg, uint64_t demand, ucs_rcache_pred_seat_t *seat)
{
    seat->slice = ucs_rcache_pred_thread_slice(arg);
    seat_alone(seat);
}
