/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PRELOAD_STATE_H_
#define UCT_PREDREG_PRELOAD_STATE_H_

#include <ucp/windows/preload.h>
#include <ucs/base/relaxed.h>
#include <uct/ib/predreg/core/hooks.h>

#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stdint.h>

/** @file preload/state.h
 *
 * What the overriding functions know of the process and of their thread.
 */

/** How many numbers there are for the UCXs of a process. All UCXs that find no other
 *  number free share the last one: their functions are searched for at each call, and the
 *  core is told of no call of them. */
#define PREDREG_MAX_UCX  4
#define PREDREG_UCX_REST (PREDREG_MAX_UCX - 1)


/** Hooks of the core for each UCX of this process; NULL until the core is started, and
 *  for each UCX that the core does not work with. Each is written once with the hooks,
 *  after the hooks were filled in (release). */
extern _Atomic(const uct_predreg_hooks_t*) predreg_hooks_of[PREDREG_MAX_UCX];

/** Number of UCXs called so far; it only grows. Relaxed: the first call of a further UCX
 *  makes a configuration or a domain, and counts the UCX; a thread has that object, or
 *  one made from it, before calling anything else of the UCX. */
extern _Atomic(unsigned) predreg_num_ucx;


/** The parts of a key under packing by UCP, counted in the order of their packing, and a
 *  note of the parts of managed domains. */
typedef struct predreg_packing {
    unsigned num;   /**< Parts so far */
    uint64_t parts; /**< Bit i: a managed domain has packed part i */
} predreg_packing_t;

/** State of a thread: its present call, for the overriding functions within the call, and
 *  notes for its next calls. Only the thread itself uses it. All 0 at first. */
typedef struct predreg_thread {
    /** Purpose of registrations. The overriding functions of UCP set the purpose around
     *  their calls. */
    uct_predreg_purpose_t  purpose;
    unsigned               in_init;       /**< Not 0: the thread is in ucp_init_version(),
                                               where UCP has opened in_init - 1 memory
                                               domains */
    unsigned               depth;         /**< Calls of communications that the thread is
                                               in, nested in each other */
    unsigned               in_progress;   /**< Not 0: the thread is in
                                               ucp_worker_progress(), while
                                               libucp_windows.so is loaded */
    unsigned               window_pages;  /**< Registrations of a page of a window, in the
                                               present call of ucp_mem_map() */
    const void             *allocated;    /**< Memory that UCX has allocated, and will
                                               register or has registered in some domains;
                                               NULL: none */
    predreg_packing_t      *packing;      /**< The parts of the key of a window, while the
                                               thread packs the key; else NULL */
    const void             *dynamic_keys; /**< Where the thread has read the keys of a
                                               dynamic window of Open MPI 4 to, see
                                               preload_memory.c; NULL: nowhere */
    struct {
        void               *address;
        size_t             length;        /**< Bytes; 0: the thread posts no part, or a
                                               domain has refused to register the data */
    } whole;                              /**< Local data of a put or get of which the
                                               thread posts a part */
    uct_predreg_sender_t   *sender;       /**< What the core remembers of the thread's
                                               small sends; NULL: there were none */
    ucs_rcache_pred_idle_t idle;          /**< How many of the thread's next waits the
                                               core need not be told of */
    uct_predreg_issuer_t   issuer;        /**< The thread's preceding communications, and
                                               the paths of calls to them */
} predreg_thread_t;

/** The state of this thread. With the TLS model initial-exec one instruction finds the
 *  state. The model is possible because this library is preloaded, so that its thread-
 *  local storage is part of each thread from the start. */
extern __thread __attribute__((tls_model("initial-exec"))) predreg_thread_t predreg_thread;


/** Whether the program has ever asked UCP for a context with one-sided communication.
 *  Relaxed, as predreg_bypassed: no other data is read because of the flag, and nobody
 *  resets it. */
extern _Atomic(int) predreg_one_sided;

/** Whether the program has called a function of UCP without the overriding function of
 *  this library. Callbacks from UCP's progress may then do the same: memory that is
 *  registered during progress may be for one-sided communication, too. */
extern _Atomic(int) predreg_bypassed;

/** @ref uct_predreg_hooks_t::alter, which the overriding functions of libc call; NULL:
 *  nobody needs to know of their calls. Written with release when the core was
 *  started. */
typedef int (*predreg_alter_t)(const void *address, size_t length, int prot);
extern _Atomic(predreg_alter_t) predreg_alter;

/** An address in the code of the core, by which mallopt() tells whether the core calls;
 *  NULL: the core is not loaded. Relaxed: nothing is read through the address. */
extern _Atomic(const void*) predreg_core;


/** Functions of libucp_windows.so in place of UCP's; NULL: the library is not loaded, or
 *  does nothing in this process. Written once, with release. */
extern _Atomic(const predreg_windows_t*) predreg_windows_table;

/** @return the hooks of a UCX, or NULL if the core is not told of calls of this UCX. */
static UCS_F_ALWAYS_INLINE const uct_predreg_hooks_t *
predreg_hooks(unsigned ucx)
{
    /* Acquire: pairs with the release in predreg_load() */
    return atomic_load_explicit(&predreg_hooks_of[ucx], memory_order_acquire);
}

/** @return the hooks of the only UCX of this process; NULL if the process has more than
 *          one, or the core is not told of the UCX. For overriding functions that each
 *          message calls: for NULL such a function calls another one that is not inlined,
 *          and so saves no registers on the stack in the usual case. */
static UCS_F_ALWAYS_INLINE const uct_predreg_hooks_t *predreg_only_hooks(void)
{
    return ucs_likely(ucs_relaxed_load(&predreg_num_ucx) == 1) ?
           predreg_hooks(0) : NULL;
}

/** @return whether libucp_windows.so is loaded. The work for windows is in functions that
 *          are not inlined: messages without a window save no registers for the work. */
static UCS_F_ALWAYS_INLINE int predreg_has_windows(void)
{
    /* Relaxed: predreg_windows() looks again */
    return ucs_unlikely(ucs_relaxed_load(&predreg_windows_table) != NULL);
}

/** @return the functions of libucp_windows.so for a UCX, or NULL. */
static UCS_F_ALWAYS_INLINE const predreg_windows_t *predreg_windows(unsigned ucx)
{
    /* Acquire: pairs with the release when the library was loaded */
    return (predreg_has_windows() && (predreg_hooks(ucx) != NULL)) ?
           atomic_load_explicit(&predreg_windows_table, memory_order_acquire) : NULL;
}

/** Where in memory the UCP of the core's UCX begins and ends. There is no lock, since the
 *  thread that holds the lock may be missing in a forked child: all threads that find UCP
 *  write the same addresses. The end is written with release, after the start; NULL: not
 *  known. */
extern _Atomic(const char*) predreg_ucp_start;
extern _Atomic(const char*) predreg_ucp_end;

/** @return whether an address of code is in the UCP of the UCX that the core works
 *  with. */
static UCS_F_ALWAYS_INLINE int predreg_is_ucp(const void *caller)
{
    /* An end that is not known is NULL, and no caller is below NULL */
    return ((const char*)caller < atomic_load_explicit(&predreg_ucp_end,
                                                       memory_order_acquire)) &&
           ((const char*)caller >= ucs_relaxed_load(&predreg_ucp_start));
}

#endif
