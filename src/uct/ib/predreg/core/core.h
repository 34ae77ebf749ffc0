/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_CORE_H_
#define UCT_PREDREG_CORE_H_

#include "hooks.h"
#include "knobs.h"

#include <trace/record/recorder.h>
#include <ucs/host/live.h>
#include <ucs/host/thread.h>
#include <ucs/host/vfs.h>
#include <ucs/node/node.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/rcache_pred/stats.h>

#include <pthread.h>
#include <stdatomic.h>

/** @file core.h
 *
 * State of the core, one a process.
 */

/** Memory domains managed at a time; more are left alone. */
#define UCT_PREDREG_MAX_DOMAINS 16


/** A memory domain of UCT that is managed, or under the leave-pinned policy
 *  watched. */
typedef struct uct_predreg_domain {
    /** Key. Written under core.lock; NULL: free. Read without: a thread that
     *  uses a memory domain has been handed it after it was opened. */
    _Atomic(uct_md_h)        md;
    ucs_rcache_pred_domain_t *super; /**< NULL: watched only */
    unsigned                 number; /**< In events: in the order in which they
                                          were opened, from 0 */
    /** No pieces handles: an interface of the domain would not understand them.
     *  Relaxed, see uct_predreg_iface_opened(). */
    _Atomic int              whole;
} uct_predreg_domain_t;


typedef struct uct_predreg_core {
    /* Constant after initialisation */
    uct_predreg_real_t       real;
    uct_predreg_knobs_t      knobs;
    int                      rank;    /**< In the job; -1: not known */

    /* Written under lock, before a domain is opened and in a forked child,
     * which has none of them until it opens a domain of its own. The unmap
     * hook reads them without: it may miss a cache that is being made, in
     * which there is nothing to find yet. */
    _Atomic(ucs_rcache_pred_t*) pred; /**< NULL under leave-pinned. Sequentially
                                           consistent: what it points to is
                                           seen by who sees it */
    ucs_rcache_pred_thread_t *thread; /**< Clock and helper of pred; the clock
                                           of the recorder, too */
    pid_t                    pid;     /**< Process that all of this belongs
                                           to */
    _Atomic(ucs_rcache_recorder_t*) recorder; /**< NULL: no trace is recorded.
                                                   Sequentially consistent, as
                                                   pred */
    ucs_rcache_pred_node_t   *node;   /**< The node's processes; NULL: not
                                           known. Written under lock, before
                                           the first domain; read in rounds of
                                           the helper, which come after it */

    /** What others see of this process; NULL: nothing. Written under lock,
     *  before the first domain, with release, since a round of the helper may
     *  be under way; in a forked child when there is nobody else */
    _Atomic(ucs_rcache_pred_live_t*) live;
    ucs_rcache_pred_vfs_t    vfs;     /**< Under lock */

    /** A cache of UCX was forced on by the user: nothing is managed.
     *  Relaxed: written while UCX is being configured, read later. */
    _Atomic int              aside;

    /** Under lock, but see uct_predreg_domain_t */
    pthread_mutex_t          lock;
    uct_predreg_domain_t     domains[UCT_PREDREG_MAX_DOMAINS];
    /** A domain was opened that knows memory of devices. Relaxed: such memory
     *  is there later than that. */
    _Atomic int              devices;
    /** UCP chooses protocols by its cost model (UCX_PROTO_ENABLE): it fences
     *  puts of messages instead of waiting for them. Relaxed, as aside. */
    _Atomic int              fenced_puts;
    unsigned                 num_opened; /**< Domains ever managed or watched
                                              by this process */

    /* Counters; relaxed, numbers */
    _Atomic unsigned         num_managed;   /**< Domains managed now */
    _Atomic uint64_t         passed_uses;   /**< Left to UCX's cache, where
                                                 they are not counted in
                                                 live */
    _Atomic uint64_t         pool_bytes;    /**< Most registered at a time
                                                 by UCX's own pools (flag
                                                 LOCK); under leave-pinned,
                                                 ever. Written by memlock.c,
                                                 under its lock */
    _Atomic uint64_t         kernel_pinned; /**< Largest VmPin seen, bytes */
} uct_predreg_core_t;

extern uct_predreg_core_t uct_predreg_core;


/**
 * Work only beside the UCX this was built for.
 * @return UCS_ERR_UNSUPPORTED, having stepped aside, beside another one.
 */
ucs_status_t uct_predreg_check_version(const uct_predreg_real_t *real);

/** Whether memory is to be managed in this process; the cache is there then. */
int uct_predreg_is_managing(void);

/** The policy in force, @ref ucs_rcache_pred_policy_t. */
unsigned uct_predreg_policy(void);

/** Join the processes of the node, if this is to be the first domain, and start
 *  the helper thread, if there is to be one and it is not running. If it cannot
 *  start, memory is registered on demand. Under core.lock */
void uct_predreg_helper_start(void);

/** In a forked child: abandon all that belongs to the parent. */
void uct_predreg_core_reset(void);

/** Say once why nothing is managed, and manage nothing. */
void uct_predreg_step_aside(const char *fmt, ...) UCS_F_PRINTF(1, 2);

/* caches.c: UCX's own registration caches */
void uct_predreg_ucp_config(const uct_predreg_real_t *real,
                            ucp_config_t *config);
void uct_predreg_md_config(uct_md_config_t *config);

/* domain.c: memory domains */
extern const ucs_rcache_pred_ops_t uct_predreg_pred_ops;
void uct_predreg_md_opened(uct_md_h md, const char *name);
void uct_predreg_md_closing(uct_md_h md);
void uct_predreg_md_query(uct_md_h md, uct_md_attr_t *attr);
void uct_predreg_iface_opened(uct_md_h md, uct_worker_h worker,
                              uct_iface_h iface);
ucs_status_t uct_predreg_mem_reg(uct_md_h md, void *address, size_t length,
                                 unsigned flags, uct_predreg_purpose_t purpose,
                                 uct_mem_h *memh_p);
ucs_status_t uct_predreg_mkey_check(uct_md_h md, uct_mem_h memh);
ucs_status_t uct_predreg_mem_dereg(uct_md_h md,
                                   const uct_md_mem_dereg_params_t *params);

/* seat.c: this process among those of its node */
void uct_predreg_seat_init(void);
void uct_predreg_node_join(void);
void uct_predreg_seat(void *arg, uint64_t demand,
                      ucs_rcache_pred_seat_t *seat);

/* process.c: events of the process */
ucs_status_t uct_predreg_vm_events_start(void);
ucs_status_t uct_predreg_fork_handlers_install(void);

/* snapshot.c: what this process tells of itself */
int uct_predreg_process_rank(void);
/** Remember what the kernel counts as pinned, if it is the most so far */
void uct_predreg_note_pinned(void);
void uct_predreg_snapshot(ucs_rcache_pred_snapshot_t *snapshot);

/* live.c: what others see of this process */
/** Under core.lock, before the first domain; if that fails, before the next */
void uct_predreg_live_start(void);
void uct_predreg_live_stop(void);
/** In a forked child: not the parent's */
void uct_predreg_live_reset(void);
/** The counters have changed. Any thread; waits for nobody */
void uct_predreg_publish(void *arg);
/** A use was left to UCX's cache */
void uct_predreg_count_passed(void);
uint64_t uct_predreg_num_passed(void);

/* summary.c */
void uct_predreg_summary_print(void);

#endif
