/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PRELOAD_H_
#define UCT_PREDREG_PRELOAD_H_

#include "windows.h"

#include <uct/ib/predreg/core/hooks.h>

#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stdint.h>

/** @file preload.h
 *
 * Finds the core, and the function of UCX that an overriding function overrides.
 *
 * A process may have more than one UCX: the system's, and others of plug-ins under names
 * of their own, as repaired Python wheels have. An overriding function forwards a call
 * to the UCX whose function the caller would have got without this library. The core is
 * told of the call only if the core is linked with the same UCX.
 *
 * Each object of UCX descends from a configuration or a domain, so calls for these
 * notice a further UCX: they look up their caller's UCX, and other calls do so only if
 * there is more than one.
 */

#define PREDREG_EXPORT __attribute__((visibility("default")))

/** The function that called the present one; to be used in an overriding
 *  function itself. */
#define PREDREG_CALLER __builtin_return_address(0)

/** How many UCXs of a process are told apart. All further ones share the last
 *  number: their functions are searched for at each call, and none of them is
 *  told to the core. */
#define PREDREG_MAX_UCX  4
#define PREDREG_UCX_REST (PREDREG_MAX_UCX - 1)


/** Hooks of the core for each UCX of this process; NULL until the core is loaded, and for
 *  a UCX that the core steps aside for. Written once each, after the hooks were filled in
 *  (release). */
extern _Atomic(const uct_predreg_hooks_t*) predreg_hooks_of[PREDREG_MAX_UCX];

/** Number of UCXs called so far; it only grows. Relaxed: a thread that calls a further
 *  UCX got an object from a counted call. */
extern _Atomic(unsigned) predreg_num_ucx;


/**
 * Find the UCX that the caller would have got without this library. Any thread;
 * takes the lock of the dynamic loader if the caller is not known yet.
 *
 * @return its number, less than PREDREG_MAX_UCX.
 */
unsigned predreg_find_ucx(const void *caller);

/** As predreg_find_ucx(), if the process has more than one UCX. */
static UCS_F_ALWAYS_INLINE unsigned predreg_ucx(const void *caller)
{
    return ucs_likely(atomic_load_explicit(&predreg_num_ucx,
                                           memory_order_relaxed) == 1) ?
           0 : predreg_find_ucx(caller);
}


/**
 * Find a function of the UCX that the caller would have got.
 *
 * @param [in]  ucx     Number of that UCX.
 * @param [in]  name    Name of the function.
 * @param [out] real_p  Filled with the function, if it is the same for all callers of the
 *                      UCX.
 * @return the function. Without a function of the name, an error is printed, and a function
 *         is returned that returns UCS_ERR_UNSUPPORTED.
 */
void *predreg_resolve(unsigned ucx, const void *caller, const char *name,
                      _Atomic(void*) *real_p);


/**
 * The overridden function of a UCX. Each use of this macro in the code resolves the name
 * once for each UCX; several threads that do so at the same time find the same address.
 */
#define PREDREG_REAL_OF(_ucx, _caller, _name) \
    ({ \
        static _Atomic(void*) real_##_name[PREDREG_MAX_UCX]; \
        /* Relaxed: the code is loaded before anybody has its address */ \
        void *addr_##_name = atomic_load_explicit(&real_##_name[_ucx], \
                                                  memory_order_relaxed); \
        if (ucs_unlikely(addr_##_name == NULL)) { \
            addr_##_name = predreg_resolve(_ucx, _caller, #_name, \
                                           &real_##_name[_ucx]); \
        } \
        (__typeof__(&_name))addr_##_name; \
    })

/** The same in an overriding function itself. */
#define PREDREG_REAL(_ucx, _name) PREDREG_REAL_OF(_ucx, PREDREG_CALLER, _name)


/** Parts of a key, in the order in which UCP packs them, and the parts of managed domains
 *  among them. */
typedef struct predreg_packing {
    unsigned num;   /**< Parts so far */
    uint64_t parts; /**< Bit i: part i is that of a managed domain */
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
    predreg_packing_t      *packing;      /**< The key of a window that the thread packs;
                                               NULL: none */
    const void             *dynamic_keys; /**< Where the thread has read the keys of a
                                               dynamic window of Open MPI 4 to, see
                                               preload_windows.c; NULL: nowhere */
    struct {
        void               *address;
        size_t             length;        /**< Bytes; 0: no such data, or its registration
                                               was refused */
    } whole;                              /**< Local data of a put or get of which the
                                               thread posts a part */
    uct_predreg_sender_t   *sender;       /**< The core's state of small sends; NULL: the
                                               thread has sent none */
    ucs_rcache_pred_idle_t idle;          /**< How often the thread, while it waits, tells
                                               the core so */
    uct_predreg_issuer_t   issuer;        /**< The preceding communications, and where on
                                               the stack calls come from */
} predreg_thread_t;

/** The state of this thread. With the TLS model initial-exec one instruction finds the
 *  state. The model is possible because this library is preloaded, so that its thread-
 *  local storage is part of each thread from the start. */
extern __thread __attribute__((tls_model("initial-exec"))) predreg_thread_t predreg_thread;


/** Whether the program has asked a context for one-sided communication. Relaxed, as the
 *  next one: nothing else depends on the flag, and nobody resets it. */
extern _Atomic(int) predreg_one_sided;

/** Whether the program has called UCP past this library. Then a callback of UCP's
 *  progress may do so as well, and progress may register memory for one-sided
 *  communication, too. */
extern _Atomic(int) predreg_bypassed;

/** @ref uct_predreg_hooks_t::alter, for the functions of libc; NULL: nobody needs
 *  to know. Written with release when the core was started. */
typedef int (*predreg_alter_t)(const void *address, size_t length, int prot);
extern _Atomic(predreg_alter_t) predreg_alter;

/** An address in the core, for mallopt(); NULL: the core is not loaded. Relaxed: nothing
 *  is read through the address. */
extern _Atomic(const void*) predreg_core;


/** Functions of libucp_windows.so in place of UCP's; NULL: the library is not loaded.
 *  Written once, with release. */
extern _Atomic(const predreg_windows_t*) predreg_windows_table;

/** As ucp_mem_map() of a UCX, but managed domains register a page at most.
 *
 *  @param [out] num_p  How many have registered something. */
ucs_status_t
predreg_map_window(unsigned ucx, ucp_context_h context,
                   const ucp_mem_map_params_t *params, ucp_mem_h *memh_p,
                   unsigned *num_p);


/** Bytes of the keys of a dynamic window: the number of entries, and 32 entries, each of an
 *  address, a length and 1024 bytes for a key (osc_ucx.h of Open MPI 4.0 and 4.1). */
#define PREDREG_DYNAMIC_ENTRY (2 * sizeof(uint64_t) + 1024)
#define PREDREG_DYNAMIC_KEYS  (sizeof(uint64_t) + 32 * PREDREG_DYNAMIC_ENTRY)

/** Load libucp_windows.so, beside this library, once. */
void predreg_windows_load(void);

/** Find the file of a library beside this library.
 *  @return 0 if the name of the file is not known. */
int predreg_sibling(const char *name, char *path, size_t max);


/** @return the hooks of a UCX, or NULL if the core is not told of it. */
static UCS_F_ALWAYS_INLINE const uct_predreg_hooks_t *
predreg_hooks(unsigned ucx)
{
    /* Acquire: pairs with the release in predreg_load() */
    return atomic_load_explicit(&predreg_hooks_of[ucx], memory_order_acquire);
}

/** @return the hooks of the only UCX of this process; NULL if the process has more than
 *          one, or the core is not told of the UCX. For functions that each message
 *          calls: other cases go to a function of their own, so that the usual case saves
 *          no registers. */
static UCS_F_ALWAYS_INLINE const uct_predreg_hooks_t *predreg_only_hooks(void)
{
    return ucs_likely(atomic_load_explicit(&predreg_num_ucx,
                                           memory_order_relaxed) == 1) ?
           predreg_hooks(0) : NULL;
}

/** @return whether libucp_windows.so is loaded. The work for windows is in functions that
 *          are not inlined, so that other messages save no registers for the work. */
static UCS_F_ALWAYS_INLINE int predreg_has_windows(void)
{
    /* Relaxed: predreg_windows() looks again */
    return ucs_unlikely(atomic_load_explicit(&predreg_windows_table,
                                             memory_order_relaxed) != NULL);
}

/** @return the functions of libucp_windows.so for a UCX, or NULL. */
static UCS_F_ALWAYS_INLINE const predreg_windows_t *predreg_windows(unsigned ucx)
{
    /* Acquire: pairs with the release when the library was loaded */
    return (predreg_has_windows() && (predreg_hooks(ucx) != NULL)) ?
           atomic_load_explicit(&predreg_windows_table, memory_order_acquire) : NULL;
}

/** @return what libucp_windows.so does for operations with a key; NULL: the key is none of
 *          a window, and the operation goes to UCP. */
const predreg_windows_t *predreg_serving(unsigned ucx, ucp_rkey_h rkey);

/** In an overriding function of an operation with a key: the function that the operation
 *  goes to. */
#define PREDREG_ROUTE(_ucx, _rkey, _name) \
    ({ \
        const unsigned routed            = _ucx; \
        const predreg_windows_t *serving = predreg_has_windows() ? \
                                           predreg_serving(routed, _rkey) : NULL; \
        \
        ucs_likely(serving == NULL) ? PREDREG_REAL(routed, _name) : serving->_name; \
    })

/** Load and start the core, if the core works with this UCX and nobody has tried yet;
 *  else say once that nothing of the UCX is managed.
 *  @return the hooks, as predreg_hooks(). */
const uct_predreg_hooks_t *predreg_load(unsigned ucx, const void *caller);

/** @return the functions of the core's UCX, UCP's included. UCP must have been loaded. */
const uct_predreg_real_t *predreg_real_ucp(unsigned ucx, const void *caller);

/** Where UCP is, of the core's UCX. There is no lock, since the thread that holds the
 *  lock may be missing in a forked child: all threads that find UCP write the same
 *  addresses. The end is written with release, after the start; NULL: not known. */
extern _Atomic(const char*) predreg_ucp_start;
extern _Atomic(const char*) predreg_ucp_end;

/** @return whether the caller is UCP, of the UCX that the core works with. */
static UCS_F_ALWAYS_INLINE int predreg_is_ucp(const void *caller)
{
    /* No caller is before an end that is not known */
    return ((const char*)caller < atomic_load_explicit(&predreg_ucp_end,
                                                       memory_order_acquire)) &&
           ((const char*)caller >= atomic_load_explicit(&predreg_ucp_start,
                                                        memory_order_relaxed));
}


/** The length of a communication with a datatype that is not contiguous. The length is
 *  not known here, so it is taken to be as long as can be. */
#define PREDREG_LENGTH_UNKNOWN SIZE_MAX

/** @return the length of so many elements of a datatype, bytes. */
static UCS_F_ALWAYS_INLINE size_t
predreg_length(size_t count, ucp_datatype_t datatype)
{
    size_t length;

    return (((datatype & UCP_DATATYPE_CLASS_MASK) != UCP_DATATYPE_CONTIG) ||
            __builtin_mul_overflow(count, datatype >> UCP_DATATYPE_SHIFT,
                                   &length)) ?
           PREDREG_LENGTH_UNKNOWN : length;
}

/** @return the datatype of the elements that a request of UCP is about. */
static UCS_F_ALWAYS_INLINE ucp_datatype_t
predreg_request_datatype(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ?
           param->datatype : ucp_dt_make_contig(1);
}

/** @return how many bytes a request of UCP is about. */
static UCS_F_ALWAYS_INLINE size_t
predreg_request_length(size_t count, const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ?
           predreg_length(count, param->datatype) : count;
}

#endif
