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

#include <ucs/base/mutex.h>
#include <ucs/base/relaxed.h>
#include <ucs/callpath/callpath.h>
#include <ucs/host/thread.h>
#include <ucs/node/node.h>
#include <ucs/rcache_pred/api/event.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/stat/live.h>
#include <uct/ib/predreg/compat/rcache.h>
#include <uct/ib/predreg/status/aside.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>
#include <uct/api/uct.h>

#include <stdatomic.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file state.h
 *
 * The state of the core, one for each process, and the functions that need nothing but the
 * state. Everything else of the core may use state.h.
 *
 * entry.h names the state of the process. All functions below the entry points get the
 * state as an argument, so that a unit test can hand in a state of its own.
 */

/** The functions of an add-on that observes. */
typedef struct uct_predreg_observer {
    ucs_rcache_pred_sink_t super; /**< The cache calls it at each use and each
                                       registration, in memory hooks, too. Its argument is
                                       also the argument of site() */
    /** The context of a communication that is about to be issued. */
    void         (*site)(void *arg, const ucs_rcache_pred_context_t *context);
    /** Under leave-pinned: have UCX register memory in a watched domain, as the begin of a
     *  use of a @a kind (ucs_rcache_pred_use_kind_t). */
    ucs_status_t (*mem_reg)(uct_predreg_domain_t *domain, void *address, size_t length,
                            unsigned flags, unsigned kind, uct_mem_h *memh_p);
} uct_predreg_observer_t;


struct uct_predreg_core {
    /* The fields from here to paths are written while the library is initialised,
     * by one thread, and any thread reads them later without a lock */
    uct_predreg_real_t       real;
    const uct_predreg_compat_t *compat; /**< Facts about the UCX in this
                                             process */
    uct_predreg_knobs_t      knobs;
    /** The add-ons, see addon.h; NULL at the end. */
    const uct_predreg_addon_t *const *addons;
    int                      rank;    /**< Rank in the job; -1: not known */
    ucs_callpath_table_t     *paths;  /**< Paths of calls; NULL: only their depth
                                           is looked at. Never freed */

    /* The next four fields are written under the lock, before a domain is opened. A
     * forked child clears the fields, and sets them again when opening a domain of its
     * own. The unmap hook reads pred without the lock, and may miss a cache that another
     * thread is making: such a cache has no regions yet. */
    _Atomic(ucs_rcache_pred_t*) pred; /**< NULL under leave-pinned. Sequentially
                                           consistent: a reader of the pointer sees the
                                           cache behind the pointer */
    ucs_rcache_pred_thread_t *thread; /**< Helper of pred */
    pid_t                    pid;     /**< The process that the state belongs to */
    /** NULL: no add-on observes. Sequentially consistent, for the same reason as pred.
     *  Constant once it is set. */
    _Atomic(const uct_predreg_observer_t*) observer;

    /** The live counters for other processes; NULL: none. Written under the lock, before
     *  the first domain enters the table; with release, since a round of the helper may
     *  be under way and read the pointer. A forked child clears the pointer while
     *  single-threaded. */
    _Atomic(ucs_rcache_pred_live_t*) live;
    ucs_rcache_pred_vfs_t    vfs;     /**< The place of the live counters in UCX's virtual
                                           file system. Under the lock */

    /** Why the library has stepped aside, @ref uct_predreg_aside_t: nothing is managed
     *  then. Relaxed: written while UCX is being configured, and read later. */
    _Atomic(int)              aside;
    /** The logged message about the reason. Written by the thread that has set the
     *  reason, and read by a tool alone (status/aside.h). */
    char                     why_aside[UCT_PREDREG_ASIDE_MAX];

    /** The core's lock (core.lock). It protects the fields whose comments say "under the
     *  lock", and the table of domains. */
    ucs_mutex_t              lock;
    /** Whether UCP chooses its protocols by its cost model (UCX_PROTO_ENABLE). Then UCP
     *  uses fences to order the puts of messages, instead of waiting for completions.
     *  Relaxed, for the same reason as aside. */
    _Atomic(int)              fenced_puts;
    /** Whether the library has switched UCP's cache off. Then the library keeps memory of
     *  unmanaged domains registered, see md/kept.c. Set after reading a configuration of
     *  UCP, and never cleared. Relaxed: domains are opened later, by the thread that has
     *  read the configuration or by one that got the configuration from this thread. */
    _Atomic(int)              ucp_cache_is_off;
    /** Number of domains ever opened by the process, of any component. Relaxed: only the
     *  message at the exit has the number. */
    _Atomic(unsigned)         num_seen;
    /** Whether the library ever gave UCP a keyless handle, see entry.h. Relaxed: a thread
     *  with a keyless handle got it from the thread that has set the flag. */
    _Atomic(int)              has_keyless;
    /** The most domains opened by UCP for one context. Relaxed: a context is used after
     *  its domains are opened. */
    _Atomic(unsigned)         max_domains;
    /** The settings of UCX's caches, taken over by the library. This field and the next
     *  two are under the lock */
    uct_predreg_cache_settings_t settings[UCT_PREDREG_SETTINGS_CACHES];
    unsigned                 num_settings;
    char                     told_settings[512]; /**< The settings without UCX's defaults,
                                                      as text */
    unsigned                 num_opened; /**< Number of domains ever managed or watched by
                                              the process. Under the lock */

    /* The counters from here on are relaxed: nothing else depends on their values. */
    _Atomic(unsigned)         num_managed;   /**< How many domains are managed
                                                 now */
    _Atomic(uint64_t)         passed_uses;   /**< Uses that were left to UCX's own cache
                                                 before live was set. The live counters have
                                                 the later ones */
    _Atomic(uint64_t)         pool_bytes;    /**< The most bytes that UCX's own
                                                 pools had registered at a time;
                                                 under leave-pinned, the sum of
                                                 all pools. Written by
                                                 md/pools.c, as the next one */
    _Atomic(uint64_t)         pool_kinds[UCS_RCACHE_PRED_POOL_LAST]; /**< Likewise, of
                                                                          each kind */
    _Atomic(uint64_t)         kernel_pinned; /**< Largest VmPin seen, bytes */
    _Atomic(uint64_t)         keys_now;      /**< Registrations in managed domains
                                                 now, whoever asked for them. Written
                                                 by md/domain.c, in the thread that
                                                 registers */
    _Atomic(uint64_t)         keys_peak;     /**< Most of these at a time; likewise */
    _Atomic(uint64_t)         pressure;      /**< How long processes of full control
                                                 groups have waited for memory, ns,
                                                 relaxed. Written by the thread that
                                                 does the helper's work */
};

/** Initialises the state of a new process. */
#define UCT_PREDREG_CORE_INITIALIZER \
    { \
        .addons = uct_predreg_no_addons, \
        .lock   = UCS_MUTEX_INITIALIZER(UCS_RANK_CORE) \
    }

/** The list of add-ons before a core starts: there are none. */
extern const uct_predreg_addon_t *const uct_predreg_no_addons[];


/** Whether a domain with memory of devices was opened. Relaxed: memory of a device can be
 *  allocated only later. */
extern _Atomic(int) uct_predreg_devices;


static UCS_F_ALWAYS_INLINE int uct_predreg_has_devices(void)
{
    return ucs_relaxed_load(&uct_predreg_devices);
}


/** Room for the text of a version of UCX, bytes */
#define UCT_PREDREG_UCX_VERSION_MAX 64


/**
 * Find the facts about the UCX of the process.
 *
 * @return NULL if the library does not work with the UCX; the library has stepped aside
 * then, and logged why.
 */
const uct_predreg_compat_t *
uct_predreg_find_compat(uct_predreg_core_t *core,
                        const uct_predreg_real_t *real);

/** Write the version of the process's UCX, such as "1.18.1". As long as the process uses
 *  UCT without UCP, only the first version of the facts is known, such as "1.13". */
void uct_predreg_ucx_version(const uct_predreg_core_t *core, char *text,
                             size_t max);

/** @return the policy in force, @ref ucs_rcache_pred_policy_t: another than the knob's if
 *  the helper could not be started. Any thread. */
unsigned uct_predreg_policy(uct_predreg_core_t *core);

/** Manage nothing from now on. The first call logs its reason. Any thread. @param
 *  [in] detail  See uct_predreg_aside_print(). */
void uct_predreg_step_aside(uct_predreg_core_t *core, uct_predreg_aside_t reason,
                            const char *detail);

/** Number of locks of the core and of domains that the thread has, or is about to take or
 *  to give back: the handler of a signal in the thread must wait for none of the locks,
 *  see process.c. The mutexes themselves do not tell: a mutex may be taken already, and
 *  have no owner yet. Only the thread and its handlers use the number. */
extern __thread unsigned uct_predreg_within
        __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** To be called before a lock of the core or of a domain is taken. */
static inline void uct_predreg_enter(void)
{
    ++uct_predreg_within;
    atomic_signal_fence(memory_order_seq_cst);
}

/** To be called after the lock was given back. */
static inline void uct_predreg_leave(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    --uct_predreg_within;
}

/** Take the lock of the core. A fork takes the lock without these functions: its handlers
 *  would mistake a counted lock for one that the fork has interrupted. */
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
 * Counters of the core, besides the cache's: uses left to UCX's own cache, and the
 * kernel's count of pinned memory. Any thread; the functions wait for nobody.
 */

/** Count a use left to UCX's own cache. */
void uct_predreg_count_passed(uct_predreg_core_t *core);

/** @return how many uses were left to UCX's own cache so far. */
uint64_t uct_predreg_num_passed(uct_predreg_core_t *core);

/**
 * Read the kernel's count of memory pinned by the process (VmPin), and remember the
 * largest count. The function reads nothing if there is neither a summary nor an
 * observer, since only they show the count.
 */
void uct_predreg_note_pinned(uct_predreg_core_t *core);


/*
 * The process among the processes of its node. All of them together keep to the node's
 * bounds. Each has a seat, which says what processor time its helper may use.
 */

/** Remember which processors the launcher gave this process. To be called once,
 *  before the program has threads of its own. */
void uct_predreg_seat_init(void);

/**
 * Make the process one of the node's processes, if the knobs set a bound for all
 * processes of the node together. To be called under core.lock. @return UCS_OK, also if
 * the knobs set no such bound.
 */
ucs_status_t
uct_predreg_node_join_bounds(const uct_predreg_knobs_t *knobs);

/** Make the process one of the node's processes, so that it has a seat, unless it is one
 *  of them already. If that fails, the core knows of no idle processor, and the program
 *  does the helper's work. To be called under core.lock. */
void uct_predreg_node_join(void);

/** @return the node's processes, or NULL if the process is none of them. To be called
 *  after the first domain was opened, or under core.lock. */
ucs_rcache_pred_node_t *uct_predreg_node(void);

/** Take the process out of the node's processes. To be called under core.lock, before
 *  there is a cache. */
void uct_predreg_node_leave(void);

/** Forget the node's processes in a forked child: the parent is one of the processes, and
 *  the child is not. */
void uct_predreg_node_reset(void);

/**
 * Find out what the helper of this process may use now. The cache calls the function in
 * each round of its helper.
 *
 * @param [in]  thread  The helper's thread.
 * @param [in]  demand  How many bytes the process had registered: its rank among the
 *                      node's processes depends on them.
 * @param [out] seat    What the helper may use now.
 */
void uct_predreg_seat(ucs_rcache_pred_thread_t *thread, uint64_t demand,
                      ucs_rcache_pred_seat_t *seat);

/** @return how long processes have waited for memory since the last call, as waits of
 *          ucs_rcache_pred_ops_t. The thread that does the helper's work calls it. */
double uct_predreg_waits(void *arg, unsigned *procs_p);

END_C_DECLS

#endif
