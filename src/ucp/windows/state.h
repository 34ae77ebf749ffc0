/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_STATE_H_
#define UCP_WIN_STATE_H_

#include "key.h"
#include "preload.h"

#include <ucp/firehose/access/way.h>
#include <ucs/base/map.h>

/** @file state.h
 *
 * Windows in this process: workers, endpoints, and the begin and end of Firehose.
 *
 * LOCKS. win.lock comes before ucp_fh::lock, and is not taken under other locks of
 * Firehose (ucp/firehose/core/core.h). UCP is called under start_lock, but not under
 * win.lock.
 */

/** The way of an endpoint of the program, whose context is for one-sided communication.
 *  Each key to a window that the program has unpacked has a reference to the way. */
typedef struct ucp_win_way {
    ucp_fh_way_t    super;   /**< First member, see ucp_fh_way_put() */
    ucp_context_h   context; /**< Does not change */
    atomic_int      is_slow; /**< Whether the last call of ucp_win_way_wait() waited in
                                  vain: the next one does not wait. Relaxed */
    ucp_ep_h        closing_ep; /**< The endpoint about to be closed, to be put back if
                                     UCP refuses. Used by the closing thread */
    ucs_list_link_t link;    /**< In ucp_win_t::open_ways or closing_ways. Protected by
                                  win.lock */
    int             is_unflushed; /**< UCP had no memory for the flush before the endpoint
                                       was closed. Written by the closing thread, before
                                       the way is in closing_ways */
    int             is_abandoned; /**< Its worker is destroyed without a further wait for
                                       its flushes. Protected by ucp_fh::lock */
} ucp_win_way_t;


/** A worker of the program. Its thread mode decides who may use the worker, whichever
 *  thread has made the worker. */
typedef struct ucp_win_worker {
    ucs_list_link_t link;      /**< In ucp_win_t::workers */
    ucp_worker_h    worker;    /**< Does not change, like @a context, @a is_multi and
                                    @a is_shared */
    ucp_context_h   context;
    int             is_multi;  /**< Whether any thread may use the worker */
    int             is_shared; /**< Whether several threads may use the context, each with a
                                    worker of its own */
    unsigned        num_users; /**< Threads between ucp_win_worker_get() and
                                    ucp_win_worker_put(). Protected by ucp_win::lock */
} ucp_win_worker_t;


typedef struct ucp_win {
    const predreg_windows_env_t *env; /**< Written once, before all else */
    uint64_t        job;              /**< Tells this job from other jobs. Written with
                                           @a env */
    uint32_t        num_procs;        /**< 0: not known. Written with @a env */

    ucs_map_t       by_ep;    /**< ucp_win_way_t by endpoint */
    /** Contexts for one-sided communication, by the context itself and by each of its
     *  workers. By the context itself, the value is not the context, but another one, if
     *  the program has made the context with mt_workers_shared */
    ucs_map_t       contexts;
    ucs_map_t       windows;  /**< Windows of this process (expose.c), by memory handle */
    ucs_map_t       remotes;  /**< ucp_win_remote_t by key */

    ucs_mutex_t lock;
    /* Protected by lock */
    ucs_list_link_t open_ways;
    ucs_list_link_t closing_ways; /**< Ways whose endpoints are closed, and whose keys are
                                       not destroyed yet */
    ucs_list_link_t workers;     /**< ucp_win_worker_t */
    int             hides_multi; /**< Whether a worker of mode MULTI is not in @a workers,
                                      since there was no memory. Never cleared */
    pthread_cond_t  unused;      /**< Signalled when num_users of a worker becomes 0 */

    /** Held while Firehose is started, and to note that Firehose ends. Taken before
     *  @a lock: at the start, UCP is called under start_lock, and may call this library,
     *  which takes @a lock */
    ucs_mutex_t start_lock;
    /* Protected by start_lock, until the end of the list */
    ucp_context_h   context;     /**< Of Firehose's own messages */
    ucp_context_h   mem_context; /**< The context of the program whose windows are served.
                                      Written once, before @a fh: a thread that has seen
                                      @a fh reads mem_context without lock */
    void            *address;    /**< Address of this process in Firehose */
    size_t          address_length;
    int             is_over;     /**< Firehose could not be started, or has ended */
    /* The end of the fields that start_lock protects */

    /** Whether a thread may wait for firehoses in use by operations that only another
     *  thread can flush: there are several contexts, or a shared context, or a worker of
     *  mode MULTI. Relaxed: a thread sees at least what the flag says of its own context
     *  and worker */
    atomic_int      is_threaded;

    /** Firehose; NULL: not running. Written with release: at its begin under start_lock,
     *  at its end under @a lock and ucp_fh::lock. The value does not change while a
     *  thread is in a call, see ucp_win_enter() */
    _Atomic(ucp_fh_t*) fh;
    /** Used in place of Firehose while Firehose does not run: has a lock, and empty
     *  lists */
    ucp_fh_t        none;

    ucp_fh_ways_t   ways;
    /** Number of ways in closing_ways. Written under @a lock; read without lock, relaxed:
     *  a thread that has closed an endpoint sees at least its own way counted */
    atomic_uint     num_closing;

    /* Firehose ends with mem_context, while other threads may be in calls for other
     * contexts, see ucp_win_enter() */
    /** Number of contexts for one-sided communication made so far. Relaxed: a thread with
     *  a context sees at least its own context counted */
    atomic_uint     num_contexts;
    /** Whether Firehose is about to end. is_ending and num_calls are sequentially
     *  consistent: a call counts itself before reading is_ending, and the thread that
     *  ends Firehose sets is_ending before reading num_calls. So one of both threads sees
     *  the other one */
    atomic_int      is_ending;
    atomic_uint     num_calls; /**< Threads in calls that are counted */
} ucp_win_t;

extern ucp_win_t ucp_win;


/** The result of ucp_win_enter(). */
typedef enum {
    UCP_WIN_REFUSED,  /**< Firehose is about to end, or has ended: the call must not use
                           Firehose */
    UCP_WIN_ENTERED,  /**< The call may use Firehose */
    UCP_WIN_COUNTED   /**< The call may use Firehose, which does not end before
                           ucp_win_leave() */
} ucp_win_entry_t;


/** Number of counted calls that this thread is in: a callback in a call may begin another
 *  call. Only the outermost call may be refused: once it is counted, the end of Firehose
 *  waits for it, and so for all calls within. */
extern __thread unsigned ucp_win_depth;


/** Enter a call that uses Firehose. Calls are counted only if there are several contexts:
 *  a single context, and Firehose with it, does not end during calls for this context. */
static inline ucp_win_entry_t ucp_win_enter(void)
{
    if (ucs_likely(ucs_relaxed_load(&ucp_win.num_contexts) < 2)) {
        return UCP_WIN_ENTERED;
    }

    if (ucp_win_depth++ > 0) {
        return UCP_WIN_COUNTED;
    }

    atomic_fetch_add(&ucp_win.num_calls, 1);
    if (ucs_likely(!atomic_load(&ucp_win.is_ending))) {
        return UCP_WIN_COUNTED;
    }

    ucp_win_depth = 0;
    atomic_fetch_sub(&ucp_win.num_calls, 1);
    return UCP_WIN_REFUSED;
}

static inline void ucp_win_leave(ucp_win_entry_t entry)
{
    if (ucs_unlikely(entry == UCP_WIN_COUNTED) && (--ucp_win_depth == 0)) {
        atomic_fetch_sub(&ucp_win.num_calls, 1);
    }
}

/** Enter a call that ends or releases something: refused only if Firehose has ended. Does
 *  not wait for the end of Firehose: the caller may be a callback of UCP, under the lock
 *  of a worker that other calls need before Firehose can end. Without any lock of this
 *  library. */
ucp_win_entry_t ucp_win_enter_always(void);

/** @return Firehose, or NULL. A thread that has not entered a call may only compare the
 *          result with NULL. */
static inline ucp_fh_t *ucp_win_fh(void)
{
    return atomic_load_explicit(&ucp_win.fh, memory_order_acquire);
}

/** @return the ucp_fh_t whose lock protects ways: Firehose, or ucp_win_t::none. For
 *          threads that have entered a call. */
static inline ucp_fh_t *ucp_win_tables(void)
{
    ucp_fh_t *fh = ucp_win_fh();

    return ucs_likely(fh != NULL) ? fh : &ucp_win.none;
}


/* start.c: Firehose is started when the program maps the first window, or unpacks the
 * first key to a window, and ends with ucp_win_t::mem_context */

/** Find out the job of this process. To be called once, before all else. */
void ucp_win_start_init(const predreg_windows_env_t *env);

/** A context is about to be destroyed: forget the context, and end Firehose if it has
 *  served the windows of the context. */
void ucp_win_end(ucp_context_h context);

/** Start Firehose, if it was not started, for the windows of a context of the program.
 *
 *  @return Firehose, or NULL if windows of this context cannot be served: the log says
 *          why, once. */
ucp_fh_t *ucp_win_start(ucp_context_h context);

/** As ucp_win_start(), but for accesses of a context to windows of peers alone: Firehose
 *  may serve the windows of another context. */
ucp_fh_t *ucp_win_start_access(ucp_context_h context);

/** Log, once in a process, that windows are pinned as a whole.
 *
 *  @param [in] why  The reason, as it follows "since " in a sentence. */
void ucp_win_tell_pinned(const char *why);


/* way.c: workers and endpoints of the program */

/** Note a context for one-sided communication, if there is memory.
 *
 *  @param [in] is_shared  Whether the program has made it with mt_workers_shared. */
void ucp_win_context_add(ucp_context_h context, int is_shared);

/** A context is about to be destroyed: forget the context. @return whether the context
 *  was noted. */
int ucp_win_context_remove(ucp_context_h context);

/** Note a worker of the program. */
void ucp_win_worker_add(ucp_context_h context, ucp_worker_h worker);

/** A worker is about to be destroyed: forget the worker, and wait until no other thread
 *  has the worker by ucp_win_worker_get(). */
void ucp_win_worker_remove(ucp_worker_h worker);

/**
 * Find a worker for this thread to use: any worker of mode MULTI; and any worker of the
 * context, if the program calls UCP for the context by one thread at a time: the context
 * was made without mt_workers_shared, and has no worker of mode MULTI.
 *
 * @param [in] context  The context, or the context of the worker, for which the program
 *                      has called UCP in this thread.
 * @param [in] number   Number of the worker among those for this thread, from 0 on.
 * @return the worker, which is not destroyed before ucp_win_worker_put(); NULL: there are
 *         no more workers.
 */
ucp_win_worker_t *ucp_win_worker_get(ucp_context_h context, unsigned number);
void ucp_win_worker_put(ucp_win_worker_t *worker);

/** Note an endpoint of the program. */
void ucp_win_way_add(ucp_worker_h worker, ucp_ep_h ep);

/** @return the way of an open endpoint, or NULL. Takes no lock. */
static inline ucp_win_way_t *ucp_win_way_find(ucp_ep_h ep)
{
    return (ucp_win_way_t*)ucs_map_find(&ucp_win.by_ep, ep);
}

/** A question about a way. Asked under win.lock and ucp_fh::lock. */
typedef int (*ucp_win_way_is_t)(const ucp_win_way_t *way);

/** Find a way in ucp_win_t::open_ways or closing_ways.
 *
 *  @return the first way of a worker for which @a is returns 1, with a reference for the
 *          caller; or NULL. */
ucp_win_way_t *ucp_win_way_get(const ucs_list_link_t *ways, ucp_worker_h worker,
                               ucp_win_way_is_t is);


/* flush.c: progress and flushes while a thread waits */

/** How long a call of the program waits for operations on endpoints at most, ns: UCP
 *  itself would not wait in such a call, and a peer that makes no progress may wait for
 *  this thread to return from the call. */
#define UCP_WIN_PATIENCE (1 * UCS_NSEC_PER_SEC)

/** Progress a worker. If the worker has nothing to do, call ucp_win_ways_help(), and
 *  leave the processor to other threads. */
void ucp_win_worker_progress(ucp_context_h context, ucp_worker_h worker);

/** Progress all workers that this thread may use in a call for a context, and begin the
 *  flushes that are due: a peer may wait for firehoses in use on one of the workers, or
 *  for an operation emulated by UCX in the progress of a worker. Not in a callback. */
void ucp_win_ways_help(ucp_context_h context);

/** Flush all operations on the workers that this thread may use in a call for a context,
 *  and wait for UCP_WIN_PATIENCE at most. In a callback, do nothing. */
void ucp_win_ways_flush(ucp_context_h context);

/** Wait for a request of UCP on a way, for UCP_WIN_PATIENCE at most: the peer may wait
 *  for this very thread. If the last wait on this way was in vain, progress the worker
 *  only once. Not in a callback.
 *
 *  @return the status of the request; UCS_INPROGRESS: the request goes on. */
ucs_status_t ucp_win_way_wait(ucp_win_way_t *way, void *request);


/* close.c: what is due for ways after progress, and the end of endpoints */

/** The program has progressed a worker: now and then, do what is due for its ways. If
 *  progress has found nothing to do a few times in a row, the thread is taken to poll,
 *  maybe for a peer that waits for an answer of this process. The thread then answers
 *  peers, since Firehose's thread may have no other processor than the polling thread. */
void ucp_win_way_progressed(ucp_worker_h worker, int is_idle);

/**
 * The program is about to close an endpoint: begin a last flush, at whose end the
 * firehoses and keys of the endpoint are freed. Does not wait for the flush, and may be
 * called in a callback.
 *
 * @return the first argument for ucp_win_way_closed(); NULL: the caller need not call
 *         ucp_win_way_closed().
 */
void *ucp_win_way_begin_close(ucp_ep_h ep);

/** UCP has closed the endpoint, or has refused to do so. The keys of a closed endpoint
 *  are destroyed once the last flush has ended: in this call, or when the worker is
 *  progressed or destroyed. */
void ucp_win_way_closed(void *closing, int is_refused);

/** A worker is about to be destroyed: begin the last flushes of all its endpoints, wait
 *  for these flushes for UCP_WIN_PATIENCE at most, and destroy the keys. */
void ucp_win_way_close_worker(ucp_worker_h worker);


/* acquire.c: how operations get pieces, and release them */

/**
 * Get the piece of an operation, and the key of its first bucket. Waits for firehoses,
 * and progresses the worker meanwhile, unless this thread is in a callback of the worker.
 *
 * @return UCS_OK; UCS_ERR_INVALID_ADDR if the memory is not exposed any more;
 *         UCS_ERR_NO_RESOURCE if this thread is in a callback, and has waited in vain;
 *         UCS_ERR_CANCELED if a callback has closed the endpoint meanwhile;
 *         UCS_ERR_EXCEEDS_LIMIT if the peer has no room for a minute; UCS_ERR_NO_MEMORY;
 *         or why the peer is gone.
 */
ucs_status_t ucp_win_acquire(ucp_win_way_t *way, uint64_t address, size_t length,
                             ucp_fh_piece_t **piece_p, ucp_fh_chunk_t *chunk);

/** Release and free pieces: all reads through the pieces have completed, or nothing went
 *  through the pieces. After the end of Firehose, only free the pieces. Without lock. */
void ucp_win_pieces_end(ucs_list_link_t *pieces);
void ucp_win_piece_end(ucp_fh_piece_t *piece);

/** @return whether an operation with a piece should be completed before its call returns,
 *          unless to complete takes long: whether ucp_win_t::is_threaded is set, and more
 *          than half of the peer's firehoses are in use, and this thread is not in a
 *          callback. Other threads may need firehoses, and this thread may not call UCP
 *          for its worker again for long. */
int ucp_win_peer_is_scarce(uint32_t peer);

#endif
