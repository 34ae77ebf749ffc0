/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PRELOAD_H_
#define UCT_PREDREG_PRELOAD_H_

#include <uct/ib/predreg/core/hooks.h>

#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>

/** @file preload.h
 *
 * Finds the function of UCX that an overriding function overrides, and the
 * core.
 */

#define PREDREG_EXPORT __attribute__((visibility("default")))


/**
 * Find a function in the UCX library of this process, wherever it was loaded:
 * Open MPI loads UCX as a plug-in's dependency, out of sight of RTLD_NEXT.
 *
 * @param [in]  name  Name of the function, whose prefix tells the library.
 * @return the function. If there is none of that name, an error is printed, and
 *         a function that returns UCS_ERR_UNSUPPORTED is returned instead.
 */
void *predreg_resolve(const char *name);


/**
 * The function that is overridden. Each place in the code that uses this macro
 * resolves the name once; several threads that do so at the same time find the
 * same address.
 */
#define PREDREG_REAL(_name) \
    ({ \
        static _Atomic(void*) real_##_name; \
        /* Relaxed: the code is loaded before anybody has its address */ \
        void *addr_##_name = atomic_load_explicit(&real_##_name, \
                                                  memory_order_relaxed); \
        if (ucs_unlikely(addr_##_name == NULL)) { \
            addr_##_name = predreg_resolve(#_name); \
            atomic_store_explicit(&real_##_name, addr_##_name, \
                                  memory_order_relaxed); \
        } \
        (__typeof__(&_name))addr_##_name; \
    })


/** What this thread registers memory for. The overriding functions of UCP set
 *  it while the thread is in them. With the TLS model initial-exec the variable
 *  is found with one instruction. The model is possible because this library is
 *  preloaded, so that its thread-local storage is part of each thread from the
 *  start. */
extern __thread __attribute__((tls_model("initial-exec")))
uct_predreg_purpose_t predreg_purpose;


/** Written once by predreg_load(), after the hooks were filled in (release). */
extern _Atomic(const uct_predreg_hooks_t*) predreg_active;

/** @return the hooks, or NULL as long as the core is not loaded, or if it
 *  stepped aside. */
static UCS_F_ALWAYS_INLINE const uct_predreg_hooks_t *predreg_hooks(void)
{
    /* Acquire: pairs with the release in predreg_load() */
    return atomic_load_explicit(&predreg_active, memory_order_acquire);
}

/** @return the functions of UCX, including those of UCP, which must have been
 *  loaded. */
const uct_predreg_real_t *predreg_real_ucp(void);

/** Load the core, if that was not tried yet. @return what predreg_hooks()
 *  returns then. */
const uct_predreg_hooks_t *predreg_load(void);


/** @return the datatype of the elements that a request of UCP is about. */
static UCS_F_ALWAYS_INLINE ucp_datatype_t
predreg_request_datatype(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ?
           param->datatype : ucp_dt_make_contig(1);
}

/** @return whether so many elements of a datatype are too few bytes to count as
 *  a communication. If the datatype is not contiguous, its length is not known
 *  here, and the communication counts. */
static UCS_F_ALWAYS_INLINE int
predreg_comm_is_short(size_t count, ucp_datatype_t datatype)
{
    return ((datatype & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG) &&
           (count * (datatype >> UCP_DATATYPE_SHIFT) < UCT_PREDREG_MIN_LENGTH);
}

#endif
