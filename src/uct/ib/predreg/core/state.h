/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_STATE_H_
#define UCT_PREDREG_STATE_H_

#include "hooks.h"
#include "knobs.h"
#include "types.h"

#include <trace/record/recorder.h>
#include <ucs/base/mutex.h>
#include <ucs/callpath/callpath.h>
#include <ucs/host/live.h>
#include <ucs/host/thread.h>
#include <ucs/host/vfs.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <uct/ib/predreg/arena/events.h>
#include <uct/ib/predreg/compat/settings.h>
#include <uct/ib/predreg/firehose/firehose.h>
#include <uct/ib/predreg/status/aside.h>

#include <stdatomic.h>

/** @file state.h
 *
 * The state of the core, of which each process has one, and the functions that
 * need nothing but this state. Everything else of the core may use this module;
 * it uses nothing else of the core.
 *
 * The one state of a process is named in entry.h. All functions below the entry
 * points get what they work on as an argument, so that a unit test can hand
 * them a state of its own.
 */

struct uct_predreg_core {
    /* The fields from here to paths are written while the library is initialised,
     * by one thread, and any thread reads them later without a lock */
    uct_predreg_real_t       real;
    const uct_predreg_compat_t *compat; /**< Facts about the UCX in this
                                             process */
    uct_predreg_knobs_t      knobs;
    int                      rank;    /**< Rank in the job; -1: not known */
    ucs_callpath_table_t     *paths;  /**< Paths of calls; NULL: only their depth
                                           is looked at. Never freed */

    /* The next five fields are written under the lock, before a domain is
     * opened. A forked child clears them, and sets them again when it opens a
     * domain of its own. The unmap hook reads them without the lock: it may
     * miss a cache that is just being made, which has no regions yet. */
    _Atomic(ucs_rcache_pred_t*) pred; /**< NULL under leave-pinned. Sequentially
                                           consistent: whoever sees the pointer
                                           sees what it points to */
    ucs_rcache_pred_thread_t *thread; /**< Clock and helper of pred, and the
                                           clock of the recorder */
    pid_t                    pid;     /**< Process that all of this belongs
                                           to */
    _Atomic(ucs_rcache_recorder_t*) recorder; /**< NULL: no trace is recorded.
                                                   Sequentially consistent, for
                                                   the same reason as pred */
    int                      is_trace_begun; /**< Whether the file of the trace
                                                  was made, or could not be.
                                                  Under the lock, but at exit */
    ucs_rcache_pred_sink_t   sink;    /**< Hands the events of pred to recorder.
                                           Written before pred is made */

    /** The live counters, which other processes see; NULL: they see nothing.
     *  Written under the lock, before the first domain is entered; with
     *  release, since a round of the helper may be under way, which reads it. A
     *  forked child clears it while it has a single thread. */
    _Atomic(ucs_rcache_pred_live_t*) live;
    ucs_rcache_pred_vfs_t    vfs;     /**< Their place in UCX's virtual file
                                           system. Under the lock */

    /** The pre-registered arena. A forked child clears it while it has a single
     *  thread. */
    uct_predreg_arena_events_t arena;
    int                      is_arena_tried; /**< Whether it was made, or could
                                                  not be. Under the lock, as the
                                                  next one */
    int                      has_arena;

    /** What is registered for Firehose. A forked child clears it while it has a
     *  single thread. */
    uct_predreg_firehose_t   firehose;

    /** Why this library has stepped aside, so that nothing is managed,
     *  @ref uct_predreg_aside_t. Relaxed: it is written while UCX is being configured,
     *  and read later. */
    _Atomic(int)              aside;
    /** The message of that. Written by the thread that has set it, and read by a tool
     *  alone (status/status.h). */
    char                     why_aside[UCT_PREDREG_ASIDE_MAX];

    /** Protects the fields whose comments name it, and the table of domains. */
    ucs_mutex_t              lock;
    /** Whether UCP chooses its protocols by its cost model (UCX_PROTO_ENABLE).
     *  Then it orders the puts of messages by fences, instead of waiting for
     *  them to complete. Relaxed, for the same reason as aside. */
    _Atomic(int)              fenced_puts;
    /** Whether this library has switched UCP's cache off. Then memory is kept in
     *  domains that are not managed, see md/kept.h. Set when a
     *  configuration of UCP was read, and never cleared. Relaxed: domains are
     *  opened later, by the thread that has read the configuration or by one
     *  that got it from there. */
    _Atomic(int)              ucp_cache_is_off;
    /** How many domains this process has ever opened, of whatever component.
     *  Relaxed: it is only told at the exit. */
    _Atomic(unsigned)         num_seen;
    /** Whether UCP was ever given a keyless handle, see mkey.h. Relaxed: whoever
     *  packs a key with one got it from the thread that has set this. */
    _Atomic(int)              has_keyless;
    /** How many domains UCP has opened for one context, at most. Relaxed: those
     *  of a context are opened before it is used. */
    _Atomic(unsigned)         max_domains;
    /** The settings of UCX's caches, of which this library takes the place. Under
     *  the lock, as the next two */
    uct_predreg_cache_settings_t settings[UCT_PREDREG_SETTINGS_CACHES];
    unsigned                 num_settings;
    char                     told_settings[512]; /**< Those that are not UCX's
                                                      defaults, as text */
    unsigned                 num_opened; /**< How many domains this process has
                                              ever managed or watched. Under the
                                              lock */

    /* The counters from here on are relaxed: each is a number that nothing else
     * depends on. */
    _Atomic(unsigned)         num_managed;   /**< How many domains are managed
                                                 now */
    _Atomic(uint64_t)         passed_uses;   /**< Uses that were left to UCX's
                                                 own cache before live was set,
                                                 which counts the later ones */
    _Atomic(uint64_t)         pool_bytes;    /**< The most bytes that UCX's own
                                                 pools had registered at a time;
                                                 under leave-pinned, the sum of
                                                 all pools. Written by
                                                 foreign.c */
    _Atomic(uint64_t)         kernel_pinned; /**< Largest VmPin seen, bytes */
};

/** Initialises the state of a process in which nothing has happened yet. */
#define UCT_PREDREG_CORE_INITIALIZER \
    { \
        .lock     = UCS_MUTEX_INITIALIZER(UCS_RANK_CORE), \
        .firehose = {.lock = UCS_MUTEX_INITIALIZER(UCS_RANK_FH_BOUND)} \
    }


/** Whether a domain was opened that knows memory of devices. Relaxed: such
 *  memory can be allocated only later. */
extern _Atomic(int) uct_predreg_devices;


static UCS_F_ALWAYS_INLINE int uct_predreg_has_devices(void)
{
    return atomic_load_explicit(&uct_predreg_devices, memory_order_relaxed);
}


/** Room for the text of a version of UCX, bytes */
#define UCT_PREDREG_UCX_VERSION_MAX 64


/**
 * Find the facts about the UCX in this process.
 *
 * @return NULL if this library does not work with that UCX; then it has stepped
 * aside and logged why.
 */
const uct_predreg_compat_t *
uct_predreg_find_compat(uct_predreg_core_t *core,
                        const uct_predreg_real_t *real);

/** Write the version of the process's UCX, such as "1.18.1"; as long as it uses
 *  UCT only, the first version that the facts are about, such as "1.13". */
void uct_predreg_ucx_version(const uct_predreg_core_t *core, char *text,
                             size_t max);

/** @return the policy in force, @ref ucs_rcache_pred_policy_t. It differs from
 *  the one asked for if the helper could not be started. Any thread may call
 *  this. */
unsigned uct_predreg_policy(uct_predreg_core_t *core);

/** Manage nothing from now on, and log the reason, if this is the first call.
 *  Any thread may call this. @param [in] detail  See uct_predreg_aside_print(). */
void uct_predreg_step_aside(uct_predreg_core_t *core, uct_predreg_aside_t reason,
                            const char *detail);

/** How many locks of the core and of domains this thread has, or is about to take or to give
 *  back: a handler of a signal which comes to it must wait for none, see process.c. The
 *  mutexes themselves do not tell: one may be taken already, and have no owner yet. Only the
 *  thread and its handlers use it. */
extern __thread unsigned uct_predreg_within
        __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** To be called before such a lock is taken. */
static inline void uct_predreg_enter(void)
{
    ++uct_predreg_within;
    atomic_signal_fence(memory_order_seq_cst);
}

/** To be called when it was given back. */
static inline void uct_predreg_leave(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    --uct_predreg_within;
}

/** Take the lock of the core. A fork does so without these functions: its own handlers
 *  must not take it for one that was interrupted. */
static inline void uct_predreg_core_lock(uct_predreg_core_t *core)
{
    uct_predreg_enter();
    ucs_mutex_lock(&core->lock);
}

static inline void uct_predreg_core_unlock(uct_predreg_core_t *core)
{
    ucs_mutex_unlock(&core->lock);
    uct_predreg_leave();
}

#endif
