/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_STATE_H_
#define UCT_PREDREG_STATE_H_

#include "hooks.h"
#include "knobs.h"

#include <trace/record/recorder.h>
#include <ucs/host/live.h>
#include <ucs/host/thread.h>
#include <ucs/host/vfs.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <pthread.h>
#include <stdatomic.h>

/** @file state.h
 *
 * The state of the core, one a process, and what can be told from it alone.
 * Everything else of the core may use this; this uses nothing else of it.
 */

typedef struct uct_predreg_core {
    /* Constant after initialisation */
    uct_predreg_real_t       real;
    const uct_predreg_compat_t *compat; /**< Facts of the UCX in this process */
    uct_predreg_knobs_t      knobs;
    int                      rank;    /**< In the job; -1: not known */

    /* Written under lock, before a domain is opened, and in a forked child,
     * which has none of them until it opens a domain of its own. The unmap
     * hook reads them without the lock: it may miss a cache that is being made,
     * in which there is nothing to find yet. */
    _Atomic(ucs_rcache_pred_t*) pred; /**< NULL under leave-pinned. Sequentially
                                           consistent: whoever sees the pointer
                                           sees what it points to */
    ucs_rcache_pred_thread_t *thread; /**< Clock and helper of pred, and the
                                           clock of the recorder */
    pid_t                    pid;     /**< Process that all of this belongs
                                           to */
    _Atomic(ucs_rcache_recorder_t*) recorder; /**< NULL: no trace is recorded.
                                                   Sequentially consistent, as
                                                   pred */

    /** What others see of this process; NULL: nothing. Written under lock,
     *  before the first domain, with release, since a round of the helper may
     *  be under way. A forked child writes it when it has no other thread. */
    _Atomic(ucs_rcache_pred_live_t*) live;
    ucs_rcache_pred_vfs_t    vfs;     /**< Under lock */

    /** This library stepped aside: nothing is managed. Relaxed: it is written
     *  while UCX is being configured, and read later. */
    _Atomic int              aside;

    /** Protects what says so here, and the tables of domains and interfaces. */
    pthread_mutex_t          lock;
    /** UCP chooses protocols by its cost model (UCX_PROTO_ENABLE): it fences
     *  puts of messages instead of waiting for them. Relaxed, as aside. */
    _Atomic int              fenced_puts;
    unsigned                 num_opened; /**< Domains ever managed or watched
                                              by this process. Under lock */

    /* Counters. Relaxed: each is a number that nothing else depends on. */
    _Atomic unsigned         num_managed;   /**< Domains managed now */
    _Atomic uint64_t         passed_uses;   /**< Uses that were left to UCX's
                                                 cache before live was there to
                                                 count them */
    _Atomic uint64_t         pool_bytes;    /**< Most that UCX's own pools had
                                                 registered at a time; under
                                                 leave-pinned, the sum of all.
                                                 Written by foreign.c */
    _Atomic uint64_t         kernel_pinned; /**< Largest VmPin seen, bytes */
} uct_predreg_core_t;

extern uct_predreg_core_t uct_predreg_core;


/**
 * Find the facts of the UCX in this process. As long as it uses UCT only, which
 * tells no version, they are those of the version this was built for.
 *
 * @return NULL, having stepped aside, beside a UCX that this does not work
 * with.
 */
const uct_predreg_compat_t *
uct_predreg_find_compat(const uct_predreg_real_t *real);

/** The policy in force, @ref ucs_rcache_pred_policy_t. It is not the one asked
 *  for if there is no helper. Any thread. */
unsigned uct_predreg_policy(void);

/** Say once why nothing is managed, and manage nothing from now on. Any
 *  thread. */
void uct_predreg_step_aside(const char *fmt, ...) UCS_F_PRINTF(1, 2);

#endif
