/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WINDOWS_PRELOAD_H_
#define UCP_WINDOWS_PRELOAD_H_

#include <ucp/api/ucp.h>
#include <ucp/api/ucp_compat.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file windows/preload.h
 *
 * The interface between libuct_predreg.so and libucp_windows.so. Where
 * UCX_RCACHE_PRED_WINDOWS=firehose, the core loads the second library, and operations on
 * windows, the memory that the program maps for its peers, go through Firehose. Else no
 * overriding function calls anything of the interface.
 *
 * Any thread may call all functions, as the functions of UCP that they replace.
 */

/** Name of libucp_windows.so's only exported function. A change of a structure that
 *  passes between the two libraries raises the number at the end of the name. */
#define PREDREG_WINDOWS_INIT "ucp_windows_init_4"


/** Functions of libuct_predreg.so for libucp_windows.so. */
typedef struct predreg_windows_env {
    const char *num_procs; /**< Processes of the job, as text; NULL: not known */
    int        index;      /**< Number of this process in the job; -1: not known */

    /** As ucp_mem_map(), but managed memory domains register a page at most.
     *
     *  @param [out] num_p  How many domains have registered a page in place of all
     *  memory. */
    ucs_status_t (*map)(ucp_context_h context,
                        const ucp_mem_map_params_t *params, ucp_mem_h *memh_p,
                        unsigned *num_p);

    /** As ucp_rkey_pack().
     *
     *  @param [out] parts_p  Bit i: a managed domain has packed part i of the key,
     *                        counted from 0 in the order of the packing. */
    ucs_status_t (*pack)(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                         size_t *length_p, uint64_t *parts_p);

    /** @return whether the thread is in ucp_worker_progress(), as in a callback of UCP:
     *          then the thread must not progress a worker. */
    int          (*is_in_progress)(void);

    /** Until end_whole(), this thread posts parts of a put or get whose local data are
     *  the @a length bytes at @a buffer. When UCP registers the data of a part, managed
     *  domains register all of the data: all parts share one registration, as without
     *  Firehose. If a domain refuses to register all of the data, it registers the part
     *  alone.
     *
     *  @param [in] length  Bytes, 1 and more. */
    void         (*begin_whole)(void *buffer, size_t length);

    /** @return whether a domain has refused to register all of the data: the further
     *          parts are to be posted without begin_whole(). */
    int          (*end_whole)(void);
} predreg_windows_env_t;


/** Functions of UCP for puts and gets of the program, with a key. */
#define PREDREG_WINDOWS_ACCESS(_f) \
    _f(ucp_put_nbx) \
    _f(ucp_put_nb) \
    _f(ucp_put_nbi) \
    _f(ucp_put) \
    _f(ucp_get_nbx) \
    _f(ucp_get_nb) \
    _f(ucp_get_nbi) \
    _f(ucp_get)

#define PREDREG_WINDOWS_ATOMICS(_f) \
    _f(ucp_atomic_op_nbx) \
    _f(ucp_atomic_post) \
    _f(ucp_atomic_fetch_nb) \
    _f(ucp_atomic_add32) \
    _f(ucp_atomic_add64) \
    _f(ucp_atomic_fadd32) \
    _f(ucp_atomic_fadd64) \
    _f(ucp_atomic_swap32) \
    _f(ucp_atomic_swap64) \
    _f(ucp_atomic_cswap32) \
    _f(ucp_atomic_cswap64)

/* In C++ the plain name would mean the member of the structure */
#ifdef __cplusplus
#  define PREDREG_WINDOWS_MEMBER(_name) __typeof__(&::_name) _name;
#else
#  define PREDREG_WINDOWS_MEMBER(_name) __typeof__(&_name) _name;
#endif


/** Functions of libucp_windows.so for libuct_predreg.so, called in place of functions of
 *  UCP, or in addition. */
typedef struct predreg_windows {
    /** @return whether operations with a key are to be handed to the functions
     *          below. Takes no lock. */
    int (*serves)(ucp_rkey_h rkey);

    /** In place of the functions of UCP with the same names, if the key is served. */
    PREDREG_WINDOWS_ACCESS(PREDREG_WINDOWS_MEMBER)
    PREDREG_WINDOWS_ATOMICS(PREDREG_WINDOWS_MEMBER)

    /** In place of ucp_mem_map(). @return 0: UCP's function is to be called; else *@a
     *  status_p is the status. */
    int  (*mem_map)(ucp_context_h context, const ucp_mem_map_params_t *params,
                    ucp_mem_h *memh_p, ucs_status_t *status_p);

    /** Memory is about to be unmapped. */
    void (*mem_unmapping)(ucp_context_h context, ucp_mem_h memh);

    /** @return whether a handle is that of a window: managed domains have registered only
     *          a page of its memory. */
    int  (*is_window)(ucp_mem_h memh);

    /** In place of ucp_rkey_pack(), as mem_map. */
    int  (*rkey_pack)(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                      size_t *length_p, ucs_status_t *status_p);

    /** Release a packed key, if rkey_pack has made the key. @return 0 if UCP has made the
     *  key, and UCP's function is to be called. */
    int  (*packed_release)(void *packed);

    /** In place of ucp_ep_rkey_unpack(), as mem_map. */
    int  (*rkey_unpack)(ucp_ep_h ep, const void *packed, ucp_rkey_h *rkey_p,
                        ucs_status_t *status_p);

    /** Compare two keys that UCP takes for equal. @param [inout] result_p  As of
     *  ucp_rkey_compare(); unchanged if UCP does not take the keys for equal, or neither
     *  is the key to a window. */
    void (*rkey_compare)(ucp_rkey_h rkey1, ucp_rkey_h rkey2, int *result_p);

    /** A key is about to be destroyed. */
    void (*rkey_destroying)(ucp_rkey_h rkey);

    /** The program frees a request. @return whether UCP still has to call the request's
     *          callback, which is one of libucp_windows.so: ucp_request_release() is to
     *          be called then, since ucp_request_free() drops the callback. */
    int  (*request_freeing)(void *request);

    /** A context for one-sided communication was made. libucp_windows.so may call functions
     *  of UCP for the context in threads of its own. @param [in] is_shared  Whether the
     *  program has asked for mt_workers_shared. */
    void (*context_made)(ucp_context_h context, int is_shared);

    /** A worker was made; a worker or context is about to be destroyed. */
    void (*worker_made)(ucp_context_h context, ucp_worker_h worker);
    void (*worker_destroying)(ucp_worker_h worker);
    void (*cleaning)(ucp_context_h context);

    /** An endpoint was made. */
    void (*ep_made)(ucp_worker_h worker, ucp_ep_h ep);

    /** An endpoint is about to be closed. @return the first argument for ep_closed();
     *  NULL: ep_closed() is not to be called. */
    void *(*ep_closing)(ucp_ep_h ep);

    /** UCP was told to close the endpoint. @param [in] is_refused  Whether UCP has
     *  refused, so that the endpoint is still open. */
    void (*ep_closed)(void *closing, int is_refused);

    /** @return whether a flush of the endpoint, or of the worker if the endpoint is NULL,
     *          has to complete operations that the functions above have begun: such a
     *          flush goes to the functions below, which also release the firehoses of
     *          these operations. Takes no lock if there are no such operations. */
    int  (*needs_flush)(ucp_worker_h worker, ucp_ep_h ep);

    /** As ucp_worker_flush_nbx(), or ucp_ep_flush_nbx() if the endpoint is not
     *  NULL. */
    ucs_status_ptr_t (*flush_nbx)(ucp_worker_h worker, ucp_ep_h ep,
                                  const ucp_request_param_t *param);

    /** As ucp_worker_flush_nb(), or ucp_ep_flush_nb(). */
    ucs_status_ptr_t (*flush_nb)(ucp_worker_h worker, ucp_ep_h ep,
                                 ucp_send_callback_t cb);

    /** As ucp_worker_flush(), or ucp_ep_flush(). */
    ucs_status_t (*flush)(ucp_worker_h worker, ucp_ep_h ep);

    /** A worker was progressed. @param [in] is_idle  There was nothing to do. */
    void (*progressed)(ucp_worker_h worker, int is_idle);
} predreg_windows_t;


/** @return the functions, or NULL: the library does nothing in this process, and has
 *          logged why. */
typedef const predreg_windows_t*
(*predreg_windows_init_func_t)(const predreg_windows_env_t *env);

END_C_DECLS

#endif
