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

#include <trace/recorder.h>
#include <ucs/base/mutex.h>
#include <ucs/callpath/callpath.h>
#include <ucs/host/live.h>
#include <ucs/host/thread.h>
#include <ucs/node/node.h>
#include <ucs/rcache_pred/api/event.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/rcache_pred/stats.h>
#include <uct/ib/predreg/arena/events.h>
#include <uct/ib/predreg/compat/rcache.h>
#include <uct/ib/predreg/status/aside.h>

#include <ucs/datastruct/khash.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>
#include <uct/api/uct.h>

#include <stdatomic.h>
#include <stdint.h>

BEGIN_C_DECLS

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

/*
 * Memory that libucp_firehose.so has registered by way of UCP. The cache does
 * not manage it, but it counts within the bounds: UCX deregisters by handle
 * alone, so the room of each handle is noted here.
 *
 * Any thread may call these functions. None waits for more than the lock, under
 * which memory may be allocated.
 */

/* Bytes of pages by handle. Handles of all managed domains are addresses of
 * what UCX has allocated for them, so that no two are the same */
KHASH_MAP_INIT_INT64(uct_predreg_firehose, uint64_t)


/** What is known of all Firehoses of the process. Initialised by zeros and
 *  UCS_MUTEX_INITIALIZER(UCS_RANK_FH_BOUND). */
typedef struct uct_predreg_firehose {
    ucs_mutex_t                   lock;
    khash_t(uct_predreg_firehose) bytes;    /**< Under the lock */
    /* Relaxed: numbers that nothing else depends on */
    _Atomic(uint64_t)              requests; /**< That the program has made */
    _Atomic(uint64_t)              hits;     /**< Of these, that sent no
                                                 message */
} uct_predreg_firehose_t;


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
     *  alone (status/aside.h). */
    char                     why_aside[UCT_PREDREG_ASIDE_MAX];

    /** Protects the fields whose comments name it, and the table of domains. */
    ucs_mutex_t              lock;
    /** Whether UCP chooses its protocols by its cost model (UCX_PROTO_ENABLE).
     *  Then it orders the puts of messages by fences, instead of waiting for
     *  them to complete. Relaxed, for the same reason as aside. */
    _Atomic(int)              fenced_puts;
    /** Whether this library has switched UCP's cache off. Then memory is kept in
     *  domains that are not managed, see md/kept.c. Set when a
     *  configuration of UCP was read, and never cleared. Relaxed: domains are
     *  opened later, by the thread that has read the configuration or by one
     *  that got it from there. */
    _Atomic(int)              ucp_cache_is_off;
    /** How many domains this process has ever opened, of whatever component.
     *  Relaxed: it is only told at the exit. */
    _Atomic(unsigned)         num_seen;
    /** Whether UCP was ever given a keyless handle, see entry.h. Relaxed: whoever
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


/*
 * Numbers that the core counts, besides those that the cache counts: uses that
 * were left to UCX's own cache, and how much memory the kernel counts as
 * pinned. This module uses the core's state only. Any thread may call its
 * functions; they wait for nobody.
 */

/** Count a use that was left to UCX's own cache. */
void uct_predreg_count_passed(uct_predreg_core_t *core);

/** @return how many uses were left to UCX's own cache so far. */
uint64_t uct_predreg_num_passed(uct_predreg_core_t *core);

/**
 * Read how much memory the kernel counts as pinned by this process (VmPin), and
 * remember it if it is the most so far. Nothing is read if neither a summary
 * nor a trace is asked for, since these alone show it.
 */
void uct_predreg_note_pinned(uct_predreg_core_t *core);


/*
 * A snapshot of all numbers that this process tells of itself. The live
 * counters, the summary and the trace ask for it. Any thread may take one.
 */

void uct_predreg_snapshot(uct_predreg_core_t *core,
                          ucs_rcache_pred_snapshot_t *snapshot);


/*
 * This process's live counters: what other processes (ucx_predreg stat) and
 * UCX's virtual file system see of it while it runs.
 */

/** Make the live counters, unless they exist already. If that fails, other
 *  processes do not see this one, and the next call tries again. To be called
 *  under core.lock, before the first domain is entered. */
void uct_predreg_live_start(uct_predreg_core_t *core);

/** Take the live counters out of UCX's virtual file system, which must not ask
 *  for them any more once the process exits. */
void uct_predreg_live_stop(uct_predreg_core_t *core);

/** Forget the live counters in a forked child: they are the parent's. */
void uct_predreg_live_reset(uct_predreg_core_t *core);

/** Show the present values of the counters to other processes. Any thread may
 *  call this; it waits for nobody. */
void uct_predreg_publish(uct_predreg_core_t *core);


/*
 * This process as one of the processes of its node. They keep the node's bounds
 * together, and each has a seat, which says whether there is a processor for
 * the helper of that process.
 */

/** Remember which processors the launcher gave this process. To be called once,
 *  before the program has threads of its own. */
void uct_predreg_seat_init(void);

/**
 * Make this process one of the node's processes, if the knobs set a bound that
 * they keep together. To be called under core.lock.
 * @return UCS_OK, also if there is no such bound.
 */
ucs_status_t
uct_predreg_node_join_bounds(const uct_predreg_knobs_t *knobs);

/** Make this process one of the node's processes, unless it is one already, so
 *  that it has a seat. If that fails, nothing is known of idle
 *  processors, and the program does the helper's work. To be called under core.lock. */
void uct_predreg_node_join(void);

/** @return the node's processes, or NULL if this process is not one of them. To
 *  be called after the first domain was opened, or under core.lock. */
ucs_rcache_pred_node_t *uct_predreg_node(void);

/** Take this process out of the node's processes, if it is one of them. To be
 *  called under core.lock, before there is a cache. */
void uct_predreg_node_leave(void);

/** Forget the node's processes in a forked child: the parent is one of them,
 *  and the child is not. */
void uct_predreg_node_reset(void);

/**
 * Find out what the helper of this process may use now. The cache calls this in
 * each round of its helper.
 *
 * @param [in]  thread  The helper's thread.
 * @param [in]  demand  How many bytes the process had registered, by which it
 *                      is ranked among the node's processes.
 * @param [out] seat    What the helper may use now.
 */
void uct_predreg_seat(ucs_rcache_pred_thread_t *thread, uint64_t demand,
                      ucs_rcache_pred_seat_t *seat);


/*
 * The trace of this process, if there is to be one (UCX_RCACHE_PRED_TRACE).
 */

/** @return whether traces are asked for. */
int uct_predreg_is_traced(const uct_predreg_knobs_t *knobs);

/** Make the recorder, if a trace is asked for. If there is no memory for it, a
 *  warning is logged and nothing is recorded. To be called under core.lock,
 *  before the cache is made, which is given the recorder as its sink. */
void uct_predreg_record_create(uct_predreg_core_t *core);

/** Undo uct_predreg_record_create(), if the cache cannot be made. To be called
 *  under core.lock, before a domain is managed. */
void uct_predreg_record_destroy(uct_predreg_core_t *core);

/** @return the sink that hands the events of the cache to the recorder, or NULL
 *  if there is no recorder. */
const ucs_rcache_pred_sink_t *
uct_predreg_record_sink(uct_predreg_core_t *core);

/** Make the trace file, if there is a recorder and this was not called before.
 *  If the file cannot be made, a single warning is logged, and nothing is
 *  recorded. To be called under core.lock. */
void uct_predreg_record_begin(uct_predreg_core_t *core);

/** Record that a domain is managed or watched from now on, after having begun
 *  the trace. To be called under core.lock, before the domain is used. */
void uct_predreg_record_domain(uct_predreg_core_t *core, unsigned number,
                               const char *name);

/** Write all that is left, and the counters, into the trace before the process
 *  exits. */
void uct_predreg_record_finish(uct_predreg_core_t *core);

/** Forget the recorder in a forked child: the trace file is the parent's. */
void uct_predreg_record_reset(uct_predreg_core_t *core);


/*
 * The summary that a process prints when it exits (UCX_RCACHE_PRED_SUMMARY).
 */

/** Keep standard error as it is now for a summary: later its number may be that of a
 *  file of the program. To be called by one thread, before the functions below. */
void uct_predreg_summary_keep_stderr(void);

/**
 * Print the numbers of a snapshot. This function uses nothing else of the core.
 *
 * @param [in] ucx     Version of the process's UCX, such as "1.18.1".
 * @param [in] settings  What was taken over from UCX's own caches, as text; empty:
 *                       nothing but UCX's defaults.
 * @param [in] nothing  Text in place of numbers that are all 0, if nothing was managed;
 *                      NULL: something was.
 * @param [in] format  UCT_PREDREG_SUMMARY_TEXT or UCT_PREDREG_SUMMARY_JSON.
 * @param [in] path    File that the summary is appended to; NULL or empty:
 *                     standard error as it was kept, if the program has not closed
 *                     it everywhere. If the file cannot be written to, is a
 *                     symbolic link or belongs to another user, a warning is
 *                     logged, and the summary goes to standard error.
 */
void uct_predreg_summary_print(const ucs_rcache_pred_snapshot_t *snapshot,
                               const char *ucx, const char *settings,
                               const char *nothing,
                               uct_predreg_summary_format_t format,
                               const char *path);

END_C_DECLS

#endif
