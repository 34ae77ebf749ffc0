/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FIREHOSE_H_
#define UCP_FIREHOSE_H_

#include <ucp/api/ucp.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/* The library hides all that is not declared here */
#pragma GCC visibility push(default)

/** @file firehose.h
 *
 * One-sided access to memory that nobody registered beforehand: Firehose (Bell
 * and Nishtala 2004) over UCP. Memory is exposed, not pinned. What a peer
 * touches is pinned while it does, and for as long as there is room; a process
 * never has more than M + MAXVICTIM bytes pinned. See docs/firehose.md.
 *
 * THREADS. All functions may be called by any thread at any time, except:
 * ucp_fh_init() comes before and ucp_fh_finalize() after all others; functions
 * that take a @ref ucp_fh_worker_h may be called by those threads only that may
 * use the UCP worker in it, see ucp_fh_worker_create(). Callbacks may begin
 * operations and release pins, but not wait, and neither create nor destroy a
 * worker. No function may be called in the child of a fork.
 */

/** The library's state in a process. */
typedef struct ucp_fh *ucp_fh_h;

/** A UCP worker of the program, through which it accesses memory of peers. */
typedef struct ucp_fh_worker *ucp_fh_worker_h;

/** Memory that peers may access. */
typedef struct ucp_fh_mem *ucp_fh_mem_h;

/** Memory that is pinned until ucp_fh_release(). */
typedef struct ucp_fh_hold *ucp_fh_hold_h;


/** Which fields of ucp_fh_init_params_t are set. */
enum ucp_fh_init_params_field {
    UCP_FH_PARAM_FIELD_M          = UCS_BIT(0),
    UCP_FH_PARAM_FIELD_MAXVICTIM  = UCS_BIT(1),
    UCP_FH_PARAM_FIELD_BUCKET     = UCS_BIT(2),
    UCP_FH_PARAM_FIELD_MAX_REGION = UCS_BIT(3),
    UCP_FH_PARAM_FIELD_SLACK      = UCS_BIT(4),
    UCP_FH_PARAM_FIELD_ERR_MODE   = UCS_BIT(5)
};


/** Parameters of ucp_fh_init(). Fields that @a field_mask names are optional;
 *  without them, what stands in parentheses holds. */
typedef struct ucp_fh_init_params {
    uint64_t      field_mask; /**< Of @ref ucp_fh_init_params_field: which of
                                   the optional fields are set */
    /** Made with UCP_FEATURE_AM, UCP_FEATURE_RMA, for atomics UCP_FEATURE_AMO32
     *  and UCP_FEATURE_AMO64, and with mt_workers_shared, since the library has
     *  a thread. With UCP_FEATURE_WAKEUP this thread sleeps until there is
     *  something to do; without, it looks every 100 us, and UCX may complain
     *  once that there is no such feature. */
    ucp_context_h context;
    uint32_t      num_procs;  /**< Processes of the job, 1 to 1048576. All have
                                   to say the same */
    uint32_t      index;      /**< Number of this one, below @a num_procs */
    uint64_t      m;          /**< M: bytes that peers may have pinned here, as
                                   many for each of them; up to 1 TiB (256 MiB,
                                   or what UCX_RCACHE_PRED_FIREHOSE_M says) */
    uint64_t      max_victim; /**< MAXVICTIM: bytes that are pinned for this
                                   process at most, and that stay pinned
                                   although nobody uses them; a bucket to 1 TiB
                                   (64 MiB, or what
                                   UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM says).
                                   Both are lowered to what the bounds of
                                   libuct_predreg.so leave */
    uint64_t      bucket;     /**< Bytes of a bucket, which is what is pinned, or
                                   what of it is exposed, with a key of its own: a
                                   power of 2, a page and more (256 KiB, or what
                                   makes 8 firehoses of each process and 8
                                   buckets of MAXVICTIM, but a page at least) */
    uint32_t      max_region; /**< Without effect; other values than 1 are
                                   warned about once. How many buckets were
                                   registered together */
    uint64_t      slack;      /**< Without effect; other values than 0 are
                                   warned about once. Bytes of M that such
                                   buckets could take without being used */
    /** Of all endpoints (UCP_ERR_HANDLING_MODE_PEER; where no transport can do
     *  that, UCP_ERR_HANDLING_MODE_NONE): whether it is noticed that a peer is
     *  gone. From 1.16 on, UCX emulates no atomics on endpoints that notice
     *  it. */
    ucp_err_handling_mode_t err_mode;
} ucp_fh_init_params_t;


/** What has happened so far: see ucp_fh_query(). */
typedef struct ucp_fh_stats {
    uint64_t requests;    /**< firehose_requests: how often firehoses were asked
                               for */
    uint64_t hits;        /**< firehose_hits: how often all were there */
    uint64_t moves;       /**< Messages sent that moved firehoses */
    uint64_t moved;       /**< Firehoses that were moved to other memory */
    uint64_t bytes;       /**< firehose_bytes: pinned by this process, now */
    uint64_t bytes_peak;  /**< firehose_bytes_peak: the most of it so far */
    uint64_t bytes_limit; /**< M + MAXVICTIM, rounded down to buckets */
    uint64_t answered;    /**< Messages of peers that were answered */
    uint64_t damaged;     /**< Messages that were not understood */
} ucp_fh_stats_t;


/** What a pin has got: see ucp_fh_hold_query(). */
typedef struct ucp_fh_hold_attr {
    uint64_t  address; /**< First byte that is pinned */
    uint64_t  length;  /**< Bytes that are pinned: of a local pin whole pages,
                            of a remote one whole buckets, of which the peer
                            pins what it has exposed */
    ucp_mem_h memh;    /**< Of a local pin of one bucket: a memory handle for
                            it. Else NULL */
} ucp_fh_hold_attr_t;


/**
 * To be called when a pin has ended that had to wait. Called by a thread of the
 * library or of the program which is in another function of the library,
 * without any lock. It may call functions of the library that do not wait,
 * except those that take a @ref ucp_fh_worker_h.
 *
 * @param [in] hold    What the function that pins has returned, to be released;
 *                     NULL on error.
 * @param [in] status  UCS_OK, or an error.
 * @param [in] arg     The caller's.
 */
typedef void (*ucp_fh_pin_callback_t)(ucp_fh_hold_h hold, ucs_status_t status,
                                      void *arg);


/**
 * Start the library in this process (GASNet: firehose_init()). It makes a UCP
 * worker and a thread of its own, which answers peers.
 *
 * Bounds hold where UCX's caches of registrations are off: beside libuct_predreg.so, or
 * with UCX_IB_REG_METHODS=direct up to UCX 1.15 and UCX_RCACHE_ENABLE=n from 1.16 on,
 * before ucp_init().
 *
 * @return UCS_ERR_INVALID_PARAM for a parameter that is not accepted, or
 *         UCS_ERR_EXCEEDS_LIMIT if M is less than a bucket for
 *         each process, this one included, both explained in the log;
 *         UCS_ERR_NO_MEMORY; or an error of UCP.
 */
ucs_status_t ucp_fh_init(const ucp_fh_init_params_t *params, ucp_fh_h *fh_p);

/**
 * End it (GASNet: firehose_fini()). Peers are told that this process is gone:
 * what they ask for from now on ends with UCS_ERR_UNREACHABLE. Workers must
 * have been destroyed and pins released before. What is exposed need not be
 * withdrawn. To be called by all processes after they have synchronised: a peer
 * whose access is not complete loses it.
 */
void ucp_fh_finalize(ucp_fh_h fh);

/**
 * What peers have to know of this process. The program brings it to them.
 *
 * @param [out] address_p  To be released by ucp_fh_release_address().
 * @param [out] length_p   Bytes.
 * @return UCS_OK, or UCS_ERR_NO_MEMORY.
 */
ucs_status_t
ucp_fh_get_address(ucp_fh_h fh, void **address_p, size_t *length_p);

/** Free what ucp_fh_get_address() has returned. */
void ucp_fh_release_address(ucp_fh_h fh, void *address);

/**
 * Get to know a peer, by what ucp_fh_get_address() has returned there. Both
 * have to: what a peer asks for earlier is answered afterwards. A process may
 * connect to itself.
 *
 * @return UCS_ERR_INVALID_PARAM if this is not an address of process @a peer,
 *         or of another version of the library; UCS_ERR_ALREADY_EXISTS; or an
 *         error of UCP.
 */
ucs_status_t ucp_fh_connect(ucp_fh_h fh, uint32_t peer, const void *address,
                            size_t length);

/** Tell what has happened so far, and what is pinned.
 *
 *  @param [out] stats  All of its fields are set. */
void ucp_fh_query(ucp_fh_h fh, ucp_fh_stats_t *stats);


/**
 * Let peers access memory. Nothing is pinned yet. Whole pages get pinned, so
 * that a peer which breaks the rules could reach the rest of the first and the
 * last page. Beside these, nothing needs to be mapped, also where a bucket is
 * more than a page.
 *
 * If it is unmapped, UCX's memory hooks tell, and it is withdrawn: peers get
 * UCS_ERR_INVALID_ADDR. The memory stays mapped as long as one of them has
 * firehoses on it. If memory is exposed in place of what was unmapped, the
 * function waits for that.
 *
 * @return UCS_ERR_INVALID_PARAM if it is empty; UCS_ERR_ALREADY_EXISTS if it
 *         shares a bucket with other exposed memory, of which the log says where it
 *         is; UCS_ERR_BUSY if that is
 *         just being withdrawn; UCS_ERR_NO_MEMORY.
 */
ucs_status_t ucp_fh_expose(ucp_fh_h fh, void *address, size_t length,
                           ucp_fh_mem_h *mem_p);

/**
 * Withdraw memory. Best called before it is unmapped. Peers are asked for their
 * firehoses on it; the function returns when it is not pinned any more, and
 * what of it was unmapped is gone. That takes until operations in flight are
 * complete, and those who access it without progress of their workers keep it:
 * there is no time limit. A peer that dies meanwhile is not waited for.
 *
 * @return UCS_OK, or the error with which some of it could not be unpinned; @a
 *         mem is gone in any case.
 */
ucs_status_t ucp_fh_unexpose(ucp_fh_mem_h mem);


/**
 * Pin memory of this process (GASNet: firehose_local_pin()), exposed or not.
 *
 * @param [in]  callback  To be called when it is pinned, if that takes longer.
 *                        NULL: wait for it.
 * @param [out] hold_p    To be released by ucp_fh_release(). Set before the
 *                        callback is called.
 * @return UCS_OK: it is pinned, and @a callback is not called. UCS_INPROGRESS:
 *         it will be. UCS_ERR_EXCEEDS_LIMIT if it is more than MAXVICTIM;
 *         UCS_ERR_INVALID_ADDR if it is being withdrawn; UCS_ERR_INVALID_PARAM
 *         if it is empty; UCS_ERR_NO_MEMORY; an error of ucp_mem_map().
 */
ucs_status_t ucp_fh_pin_local(ucp_fh_h fh, const void *address, size_t length,
                              ucp_fh_pin_callback_t callback, void *arg,
                              ucp_fh_hold_h *hold_p);

/** As ucp_fh_pin_local(), if it is pinned already (GASNet:
 *  firehose_try_local_pin()).
 *
 *  @return As ucp_fh_pin_local(), but UCS_ERR_NO_RESOURCE if it is not. */
ucs_status_t ucp_fh_try_pin_local(ucp_fh_h fh, const void *address,
                                  size_t length, ucp_fh_hold_h *hold_p);

/** As ucp_fh_try_pin_local(), for the longest part that is pinned (GASNet:
 *  firehose_partial_local_pin()): see ucp_fh_hold_query().
 *
 *  @return As ucp_fh_try_pin_local(), but UCS_ERR_NO_RESOURCE if none of it
 *          is. */
ucs_status_t ucp_fh_partial_pin_local(ucp_fh_h fh, const void *address,
                                      size_t length, ucp_fh_hold_h *hold_p);

/**
 * Get firehoses on memory of a peer (GASNet: firehose_remote_pin()). Puts and
 * gets there are hits until they are released. Firehoses that were written
 * through are in use until a flush, which a worker begins by itself only while it
 * is progressed (see ucp_fh_worker_create()): a thread that waits for a pin
 * flushes before that, or progresses its workers meanwhile.
 *
 * @return As ucp_fh_pin_local(), but UCS_ERR_EXCEEDS_LIMIT if the peer does not
 *         give so many firehoses; UCS_ERR_INVALID_ADDR if the memory is not
 *         exposed; UCS_ERR_INVALID_PARAM also if there is no such peer;
 *         UCS_ERR_NOT_CONNECTED; UCS_ERR_UNREACHABLE or
 *         UCS_ERR_ENDPOINT_TIMEOUT if the peer is gone; the error with which it
 *         could not pin the memory.
 */
ucs_status_t ucp_fh_pin_remote(ucp_fh_h fh, uint32_t peer, uint64_t address,
                               size_t length, ucp_fh_pin_callback_t callback,
                               void *arg, ucp_fh_hold_h *hold_p);

/** As ucp_fh_pin_remote(), if all firehoses are there (GASNet:
 *  firehose_try_remote_pin()).
 *
 *  @return As ucp_fh_pin_remote(), but UCS_ERR_NO_RESOURCE if they are not. */
ucs_status_t ucp_fh_try_pin_remote(ucp_fh_h fh, uint32_t peer,
                                   uint64_t address, size_t length,
                                   ucp_fh_hold_h *hold_p);

/** As ucp_fh_try_pin_remote(), for the longest part with firehoses (GASNet:
 *  firehose_partial_remote_pin()): see ucp_fh_hold_query().
 *
 *  @return As ucp_fh_try_pin_remote(), but UCS_ERR_NO_RESOURCE if there are
 *          none on it. */
ucs_status_t ucp_fh_partial_pin_remote(ucp_fh_h fh, uint32_t peer,
                                       uint64_t address, size_t length,
                                       ucp_fh_hold_h *hold_p);

/** Tell what a pin has got.
 *
 *  @param [out] attr  All of its fields are set. */
void ucp_fh_hold_query(ucp_fh_hold_h hold, ucp_fh_hold_attr_t *attr);

/** Release what was pinned (GASNet: firehose_release()). It must have ended. */
void ucp_fh_release(ucp_fh_hold_h hold);


/**
 * Access memory of peers through a UCP worker, which is of the context that
 * ucp_fh_init() was given. The library makes its own endpoints on it, to its
 * own workers: so the peer's part of operations that UCX emulates is done by
 * the library's thread there.
 *
 * If the thread mode of the worker is UCS_THREAD_MODE_MULTI, the functions
 * below may be called by any thread, and operations go on without being called
 * for. If not, they need ucp_fh_worker_progress(), and a thread that has put
 * something must flush before it waits for other threads in another way: until
 * then its firehoses are not free for them.
 *
 * @param [in] worker  Of the context that ucp_fh_init() was given, or of one like it
 *                     that knows the same domains. UCP does not tell whose a worker
 *                     is, so that this is not checked.
 * @return UCS_OK; UCS_ERR_INVALID_PARAM for no worker, which the log explains; or
 *         UCS_ERR_NO_MEMORY.
 */
ucs_status_t ucp_fh_worker_create(ucp_fh_h fh, ucp_worker_h worker,
                                  ucp_fh_worker_h *worker_p);

/** Complete all operations and close the endpoints. All requests must have been
 *  freed, or have completed; these may be freed until the UCP worker, which stays,
 *  is destroyed. */
void ucp_fh_worker_destroy(ucp_fh_worker_h worker);

/** Progress the UCP worker, and what was begun on it by the functions below.
 *
 *  @return 0 if there was nothing to do. */
unsigned ucp_fh_worker_progress(ucp_fh_worker_h worker);

/**
 * Put, get: as ucp_put_nbx() and ucp_get_nbx(), with the number of a peer in
 * place of an endpoint and a key. They go through firehoses, which are asked
 * for if they are missing. What is longer than the firehoses of a peer allow
 * goes in parts. A firehose that was written through is kept until a flush has
 * shown that the data have arrived; the library flushes by itself when others
 * want it.
 *
 * @param [in] count  Bytes, or elements of a contiguous datatype.
 * @param [in] param  As in UCP: callback, user data, contiguous datatype,
 *                    memory type and memory handle of @a buffer, the flags
 *                    UCP_OP_ATTR_FLAG_FAST_CMPL and MULTI_SEND.
 * @return NULL: complete, and the callback is not called. A request for
 *         ucp_fh_request_check_status() and ucp_fh_request_free(). An error
 *         pointer: UCS_ERR_UNSUPPORTED for other parameters,
 *         UCS_ERR_INVALID_PARAM if there is no such peer or a memory handle is
 *         NULL, UCS_ERR_NOT_CONNECTED, UCS_ERR_INVALID_ADDR for memory that is not
 *         exposed, UCS_ERR_NO_MEMORY, why the peer is gone, or the error with
 *         which it could not pin the memory. All of these may also come later.
 *         Of an operation that fails some parts may be done.
 */
ucs_status_ptr_t ucp_fh_put_nbx(ucp_fh_worker_h worker, uint32_t peer,
                                const void *buffer, size_t count,
                                uint64_t remote_address,
                                const ucp_request_param_t *param);

ucs_status_ptr_t ucp_fh_get_nbx(ucp_fh_worker_h worker, uint32_t peer,
                                void *buffer, size_t count,
                                uint64_t remote_address,
                                const ucp_request_param_t *param);

/** As ucp_atomic_op_nbx(), of one element; a reply buffer makes it a fetching
 *  one, and swaps need it. The address must be a multiple of its size, 4 or 8,
 *  which @a param has to say by its datatype.
 *
 *  @return As ucp_fh_put_nbx(), but UCS_ERR_INVALID_PARAM also if the
 *          datatype, the address, or a reply buffer that is missing breaks
 *          these rules. */
ucs_status_ptr_t
ucp_fh_atomic_op_nbx(ucp_fh_worker_h worker, uint32_t peer,
                     ucp_atomic_op_t opcode, const void *buffer,
                     uint64_t remote_address, const ucp_request_param_t *param);

/** Complete all operations that were begun on a worker, here and at the peers.
 *  Of @a param, callback and user data are used. Errors of operations are told
 *  to these alone.
 *
 *  @return As ucp_fh_put_nbx(); an error pointer is UCS_ERR_UNSUPPORTED for
 *          other parameters, UCS_ERR_NO_MEMORY, or an error of UCP. */
ucs_status_ptr_t ucp_fh_flush_nbx(ucp_fh_worker_h worker,
                                  const ucp_request_param_t *param);

/** Tell how an operation has ended. Nothing goes on by that.
 *
 *  @return UCS_INPROGRESS if it has not; UCS_OK, or its error. */
ucs_status_t ucp_fh_request_check_status(void *request);

/** Free a request, at once if it has completed, else when it does; then no callback
 *  is called for it, as by ucp_request_free(). This function and
 *  ucp_fh_request_check_status() may be called by the threads that may use the
 *  worker. */
void ucp_fh_request_free(void *request);

#pragma GCC visibility pop

END_C_DECLS

#endif
