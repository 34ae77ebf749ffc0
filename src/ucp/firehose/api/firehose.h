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

/* The library hides all other symbols */
#pragma GCC visibility push(default)

/** @file firehose.h
 *
 * One-sided access to memory that nobody registered beforehand: Firehose (Bell
 * and Nishtala 2004) over UCP. Memory is exposed, not pinned. Buckets are pinned
 * while peers access them, and for as long as there is room; a process
 * never has more than M + MAXVICTIM bytes pinned. See docs/firehose.md.
 *
 * THREADS. All functions may be called by any thread at any time, except:
 * ucp_fh_init() comes before and ucp_fh_finalize() after all others; functions
 * with a @ref ucp_fh_worker_h may be called only by threads that may
 * use its UCP worker, see ucp_fh_worker_create(). Callbacks may begin
 * operations and release pins, but not wait, and neither create nor destroy a
 * worker. No function may be called in the child of a fork.
 */

/** The library's state in a process. */
typedef struct ucp_fh *ucp_fh_h;

/** A UCP worker of the program, for accesses to memory of peers. */
typedef struct ucp_fh_worker *ucp_fh_worker_h;

/** Memory that peers may access. */
typedef struct ucp_fh_mem *ucp_fh_mem_h;

/** A pin: memory is pinned until ucp_fh_release(). */
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


/** Parameters of ucp_fh_init(). Fields with a bit in @a field_mask are optional;
 *  their defaults are in parentheses. */
typedef struct ucp_fh_init_params {
    uint64_t      field_mask; /**< Of @ref ucp_fh_init_params_field: which of
                                   the optional fields are set */
    /** Made with UCP_FEATURE_AM, UCP_FEATURE_RMA, for atomics UCP_FEATURE_AMO32
     *  and UCP_FEATURE_AMO64, and with mt_workers_shared, since the library has
     *  a thread. With UCP_FEATURE_WAKEUP the thread sleeps until there is
     *  work; without, the thread looks every 100 us, and UCX may complain
     *  once of the missing feature. */
    ucp_context_h context;
    uint32_t      num_procs;  /**< Processes of the job, 1 to 1048576. All have
                                   to say the same */
    uint32_t      index;      /**< Number of this one, below @a num_procs */
    uint64_t      m;          /**< M: bytes that peers may have pinned here, the same
                                   part for each; up to 1 TiB (256 MiB,
                                   or UCX_RCACHE_PRED_FIREHOSE_M) */
    uint64_t      max_victim; /**< MAXVICTIM: most bytes pinned for this
                                   process itself, or still pinned
                                   without a user; a bucket to 1 TiB
                                   (64 MiB, or
                                   UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM).
                                   Both are lowered to fit the bounds of
                                   libuct_predreg.so */
    uint64_t      bucket;     /**< Bytes of a bucket: the unit of pinning, with a
                                   key of its own, as far as exposed: a
                                   power of 2, a page and more (256 KiB, or less for
                                   8 firehoses of each process and 8
                                   buckets of MAXVICTIM, but a page at least) */
    uint32_t      max_region; /**< Without effect; other values than 1 are
                                   warned about once. How many buckets were
                                   registered together */
    uint64_t      slack;      /**< Without effect; other values than 0 are
                                   warned about once. Bytes of M for unused
                                   buckets registered with others */
    /** Of all endpoints (UCP_ERR_HANDLING_MODE_PEER; without support by
     *  transports, UCP_ERR_HANDLING_MODE_NONE): whether the end of a peer is noticed.
     *  From 1.16 on, UCX emulates no atomics on such endpoints. */
    ucp_err_handling_mode_t err_mode;
} ucp_fh_init_params_t;


/** Counters so far: see ucp_fh_query(). */
typedef struct ucp_fh_stats {
    uint64_t requests;    /**< firehose_requests: requests for
                               firehoses */
    uint64_t hits;        /**< firehose_hits: requests that were granted at once */
    uint64_t moves;       /**< Messages with moves of firehoses */
    uint64_t moved;       /**< Firehoses moved to other memory */
    uint64_t bytes;       /**< firehose_bytes: pinned by this process, now */
    uint64_t bytes_peak;  /**< firehose_bytes_peak: the peak so far */
    uint64_t bytes_limit; /**< M + MAXVICTIM, rounded down to buckets */
    uint64_t answered;    /**< Answers to messages of peers */
    uint64_t damaged;     /**< Messages of nonsense */
} ucp_fh_stats_t;


/** The memory of a pin: see ucp_fh_hold_query(). */
typedef struct ucp_fh_hold_attr {
    uint64_t  address; /**< First pinned byte */
    uint64_t  length;  /**< Pinned bytes: of a local pin whole pages,
                            of a remote one whole buckets, as far as the peer
                            has exposed the memory */
    ucp_mem_h memh;    /**< Of a local pin of one bucket: its memory handle.
                            Else NULL */
} ucp_fh_hold_attr_t;


/**
 * The end of a pin that had to wait. Called by a thread of the
 * library, or of the program in another function of the library,
 * without any lock. The callback may call functions of the library that do not wait,
 * except functions with a @ref ucp_fh_worker_h.
 *
 * @param [in] hold    The pin, to be released; NULL on error.
 * @param [in] status  UCS_OK, or an error.
 * @param [in] arg     The caller's.
 */
typedef void (*ucp_fh_pin_callback_t)(ucp_fh_hold_h hold, ucs_status_t status,
                                      void *arg);


/**
 * Start the library in this process (GASNet: firehose_init()), with a UCP
 * worker and a thread of its own that answers peers.
 *
 * Bounds hold where UCX's caches of registrations are off: beside libuct_predreg.so, or
 * with UCX_IB_REG_METHODS=direct up to UCX 1.15 and UCX_RCACHE_ENABLE=n from 1.16 on,
 * before ucp_init().
 *
 * @return UCS_ERR_INVALID_PARAM for a parameter out of range, or
 *         UCS_ERR_EXCEEDS_LIMIT if M is less than a bucket for
 *         each process, this one included, both explained in the log;
 *         UCS_ERR_NO_MEMORY; or an error of UCP.
 */
ucs_status_t ucp_fh_init(const ucp_fh_init_params_t *params, ucp_fh_h *fh_p);

/**
 * End the library (GASNet: firehose_fini()), and tell peers: their further
 * requests end with UCS_ERR_UNREACHABLE. Workers must
 * have been destroyed and pins released before. Exposed memory need not be
 * withdrawn. To be called by all processes after a synchronisation: a peer
 * loses an access in progress.
 */
void ucp_fh_finalize(ucp_fh_h fh);

/**
 * Get the address of this process. The program brings the address to peers.
 *
 * @param [out] address_p  To be released by ucp_fh_release_address().
 * @param [out] length_p   Bytes.
 * @return UCS_OK, or UCS_ERR_NO_MEMORY.
 */
ucs_status_t
ucp_fh_get_address(ucp_fh_h fh, void **address_p, size_t *length_p);

/** Free an address of ucp_fh_get_address(). */
void ucp_fh_release_address(ucp_fh_h fh, void *address);

/**
 * Connect to a peer, by its address. Both processes have to: an earlier request of the
 * peer is answered afterwards. A process may connect to itself.
 *
 * @return UCS_ERR_INVALID_PARAM for another address than that of process @a peer,
 *         or for one of another version of the library; UCS_ERR_ALREADY_EXISTS; or an
 *         error of UCP.
 */
ucs_status_t ucp_fh_connect(ucp_fh_h fh, uint32_t peer, const void *address,
                            size_t length);

/** Get the counters so far, and the number of pinned bytes.
 *
 *  @param [out] stats  All of its fields are set. */
void ucp_fh_query(ucp_fh_h fh, ucp_fh_stats_t *stats);


/**
 * Let peers access memory. Nothing is pinned yet. Whole pages get pinned, so
 * that a peer against the rules could reach the rest of the first and the
 * last page. Outside of these pages nothing needs to be mapped, also with buckets of
 * more than a page.
 *
 * If the program unmaps the memory, UCX's memory hooks tell, and the library withdraws
 * the memory: peers get UCS_ERR_INVALID_ADDR. The memory stays mapped as long as a peer has
 * firehoses there. If the program exposes other memory in the same place, the
 * function waits for the end of the withdrawal.
 *
 * @return UCS_ERR_INVALID_PARAM for an empty range; UCS_ERR_ALREADY_EXISTS if
 *         other exposed memory shares a bucket, which the log
 *         tells; UCS_ERR_BUSY if the other memory is
 *         just being withdrawn; UCS_ERR_NO_MEMORY.
 */
ucs_status_t ucp_fh_expose(ucp_fh_h fh, void *address, size_t length,
                           ucp_fh_mem_h *mem_p);

/**
 * Withdraw memory, best before munmap(). Peers are asked for their
 * firehoses on the memory; the function returns when no part is pinned any more, and
 * unmapped parts are gone. This waits for operations in flight,
 * and a peer without progress of its workers keeps the memory:
 * there is no time limit. The function does not wait for a dead peer.
 *
 * @return UCS_OK, or the error of a part that could not be unpinned; @a
 *         mem is gone in any case.
 */
ucs_status_t ucp_fh_unexpose(ucp_fh_mem_h mem);


/**
 * Pin memory of this process (GASNet: firehose_local_pin()), exposed or not.
 *
 * @param [in]  callback  Called at the end of a pin in progress.
 *                        NULL: the function waits.
 * @param [out] hold_p    To be released by ucp_fh_release(). Set before the
 *                        callback is called.
 * @return UCS_OK: the memory is pinned, without a call of @a callback. UCS_INPROGRESS:
 *         the callback will be called. UCS_ERR_EXCEEDS_LIMIT for more than MAXVICTIM;
 *         UCS_ERR_INVALID_ADDR during a withdrawal; UCS_ERR_INVALID_PARAM
 *         for an empty range; UCS_ERR_NO_MEMORY; an error of ucp_mem_map().
 */
ucs_status_t ucp_fh_pin_local(ucp_fh_h fh, const void *address, size_t length,
                              ucp_fh_pin_callback_t callback, void *arg,
                              ucp_fh_hold_h *hold_p);

/** As ucp_fh_pin_local(), for memory that is pinned already (GASNet:
 *  firehose_try_local_pin()).
 *
 *  @return As ucp_fh_pin_local(), but UCS_ERR_NO_RESOURCE for other memory. */
ucs_status_t ucp_fh_try_pin_local(ucp_fh_h fh, const void *address,
                                  size_t length, ucp_fh_hold_h *hold_p);

/** As ucp_fh_try_pin_local(), for the longest pinned part (GASNet:
 *  firehose_partial_local_pin()): see ucp_fh_hold_query().
 *
 *  @return As ucp_fh_try_pin_local(), but UCS_ERR_NO_RESOURCE without such a part. */
ucs_status_t ucp_fh_partial_pin_local(ucp_fh_h fh, const void *address,
                                      size_t length, ucp_fh_hold_h *hold_p);

/**
 * Get firehoses on memory of a peer (GASNet: firehose_remote_pin()). Puts and
 * gets there are hits until ucp_fh_release(). Firehoses of writes
 * are in use until a flush, and a worker begins a flush by itself only while
 * progressed (see ucp_fh_worker_create()): a thread flushes before
 * the wait for a pin, or progresses its workers meanwhile.
 *
 * @return As ucp_fh_pin_local(), but UCS_ERR_EXCEEDS_LIMIT for more firehoses than the
 *         peer gives; UCS_ERR_INVALID_ADDR for memory that is not
 *         exposed; UCS_ERR_INVALID_PARAM also if there is no such peer;
 *         UCS_ERR_NOT_CONNECTED; UCS_ERR_UNREACHABLE or
 *         UCS_ERR_ENDPOINT_TIMEOUT if the peer is gone; the peer's error of
 *         pinning.
 */
ucs_status_t ucp_fh_pin_remote(ucp_fh_h fh, uint32_t peer, uint64_t address,
                               size_t length, ucp_fh_pin_callback_t callback,
                               void *arg, ucp_fh_hold_h *hold_p);

/** As ucp_fh_pin_remote(), if all firehoses are there (GASNet:
 *  firehose_try_remote_pin()).
 *
 *  @return As ucp_fh_pin_remote(), but UCS_ERR_NO_RESOURCE if not. */
ucs_status_t ucp_fh_try_pin_remote(ucp_fh_h fh, uint32_t peer,
                                   uint64_t address, size_t length,
                                   ucp_fh_hold_h *hold_p);

/** As ucp_fh_try_pin_remote(), for the longest part with firehoses (GASNet:
 *  firehose_partial_remote_pin()): see ucp_fh_hold_query().
 *
 *  @return As ucp_fh_try_pin_remote(), but UCS_ERR_NO_RESOURCE without such a part. */
ucs_status_t ucp_fh_partial_pin_remote(ucp_fh_h fh, uint32_t peer,
                                       uint64_t address, size_t length,
                                       ucp_fh_hold_h *hold_p);

/** Get the memory of a pin.
 *
 *  @param [out] attr  All of its fields are set. */
void ucp_fh_hold_query(ucp_fh_hold_h hold, ucp_fh_hold_attr_t *attr);

/** Release a pin (GASNet: firehose_release()), which must have ended. */
void ucp_fh_release(ucp_fh_hold_h hold);


/**
 * Access memory of peers through a UCP worker of the context of ucp_fh_init().
 * The library makes its own endpoints on the worker, to its
 * own workers: so the library's thread at the peer carries out the peer's part of
 * emulated operations.
 *
 * With the thread mode UCS_THREAD_MODE_MULTI of the worker, any thread may call the
 * functions below, and operations go on by themselves.
 * Otherwise operations need ucp_fh_worker_progress(), and a thread must flush its puts
 * before a wait for other threads in another way: until
 * then its firehoses are not free for them.
 *
 * @param [in] worker  Of the context of ucp_fh_init(), or of another one
 *                     with the same domains. UCP does not tell the context of a worker:
 *                     no check.
 * @return UCS_OK; UCS_ERR_INVALID_PARAM for no worker, which the log explains; or
 *         UCS_ERR_NO_MEMORY.
 */
ucs_status_t ucp_fh_worker_create(ucp_fh_h fh, ucp_worker_h worker,
                                  ucp_fh_worker_h *worker_p);

/** Complete all operations and close the endpoints. All requests must have been
 *  freed, or have completed; completed ones may be freed until the end of the UCP worker,
 *  which stays. */
void ucp_fh_worker_destroy(ucp_fh_worker_h worker);

/** Progress the UCP worker, and operations of the functions below.
 *
 *  @return 0 if there was nothing to do. */
unsigned ucp_fh_worker_progress(ucp_fh_worker_h worker);

/**
 * Put, get: as ucp_put_nbx() and ucp_get_nbx(), with the number of a peer in
 * place of an endpoint and a key. Both go through firehoses, and ask the peer for
 * missing ones. An operation on more memory than the firehoses of a peer allow
 * goes in parts. The firehose of a write stays in use until a flush proves the
 * arrival of the data; the library flushes by itself for other
 * requests.
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
 *         exposed, UCS_ERR_NO_MEMORY, why the peer is gone, or the peer's
 *         error of pinning. All of these may also come later.
 *         After an error some parts may be done.
 */
ucs_status_ptr_t ucp_fh_put_nbx(ucp_fh_worker_h worker, uint32_t peer,
                                const void *buffer, size_t count,
                                uint64_t remote_address,
                                const ucp_request_param_t *param);

ucs_status_ptr_t ucp_fh_get_nbx(ucp_fh_worker_h worker, uint32_t peer,
                                void *buffer, size_t count,
                                uint64_t remote_address,
                                const ucp_request_param_t *param);

/** As ucp_atomic_op_nbx(), of one element; with a reply buffer the operation fetches,
 *  and swaps need one. The address must be a multiple of the size, 4 or 8, and
 *  @a param has the size as its datatype.
 *
 *  @return As ucp_fh_put_nbx(), but UCS_ERR_INVALID_PARAM also if the
 *          datatype, the address, or a missing reply buffer breaks
 *          these rules. */
ucs_status_ptr_t
ucp_fh_atomic_op_nbx(ucp_fh_worker_h worker, uint32_t peer,
                     ucp_atomic_op_t opcode, const void *buffer,
                     uint64_t remote_address, const ucp_request_param_t *param);

/** Complete all operations of a worker so far, here and at the peers.
 *  Of @a param, callback and user data are used. Only an operation itself tells its
 *  error.
 *
 *  @return As ucp_fh_put_nbx(); an error pointer is UCS_ERR_UNSUPPORTED for
 *          other parameters, UCS_ERR_NO_MEMORY, or an error of UCP. */
ucs_status_ptr_t ucp_fh_flush_nbx(ucp_fh_worker_h worker,
                                  const ucp_request_param_t *param);

/** Get the status of an operation. No operation goes on by this call.
 *
 *  @return UCS_INPROGRESS; UCS_OK, or the error. */
ucs_status_t ucp_fh_request_check_status(void *request);

/** Free a request, at once or when the operation completes; the callback is not called
 *  then, as after ucp_request_free(). This function and
 *  ucp_fh_request_check_status() may be called by the threads that may use the
 *  worker. */
void ucp_fh_request_free(void *request);

#pragma GCC visibility pop

END_C_DECLS

#endif
