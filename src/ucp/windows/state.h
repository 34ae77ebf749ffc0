/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_STATE_H_
#define UCP_WIN_STATE_H_

#include "key.h"

#include <ucp/firehose/access/way.h>
#include <ucs/base/map.h>
#include <uct/ib/predreg/preload/windows.h>

/** @file state.h
 *
 * Windows in this process: workers, endpoints, and the begin and end of Firehose.
 *
 * LOCKS. win.lock comes before ucp_fh::lock, and is not taken under other locks of
 * Firehose (ucp/firehose/core/core.h). UCP is called under start_lock, but not under
 * win.lock.
 */

/** An endpoint of the program, of a context for one-sided communication. Unpacked keys of
 *  the program have a reference to its way. */
typedef struct ucp_win_way {
    ucp_fh_way_t    super;   /**< First member, see ucp_fh_way_put() */
    ucp_context_h   context; /**< Does not change */
    atomic_int      is_slow; /**< Whether the last call that waited for a request waited in
                                  vain: the next call does not wait. Relaxed */
    ucp_ep_h        closing_ep; /**< The endpoint that is about to be closed, for the case that
                                     UCP refuses. Of the thread that closes it */
    ucs_list_link_t link;    /**< In ucp_win_t::open_ways or closing_ways. Protected by
                                  win.lock */
    int             is_unflushed; /**< UCP had no memory for the last flush. Written by the
                                       thread that closes the endpoint, before the way is in
                                       closing_ways */
    int             is_abandoned; /**< Nobody waits for its flushes any more. Protected by
                                       ucp_fh::lock */
} ucp_win_way_t;


/** A worker of the program. The thread mode that the program has asked for tells which
 *  threads may use the worker, whichever thread has made it. */
typedef struct ucp_win_worker {
    ucs_list_link_t link;      /**< In ucp_win_t::workers */
    ucp_worker_h    worker;    /**< The next four do not change */
    ucp_context_h   context;
    int             is_multi;  /**< Whether any thread may use the worker */
    int             is_shared; /**< Whether several threads may use the context, each with a
                                    worker of its own */
    unsigned        num_users; /**< Threads that help the worker. Protected by
                                    ucp_win::lock */
} ucp_win_worker_t;


typedef struct ucp_win {
    const predreg_windows_env_t *env; /**< Written once, before all else */
    uint64_t        job;              /**< As @a env: tells jobs apart */
    uint32_t        num_procs;        /**< As @a env; 0: not known */

    ucs_map_t       by_ep;    /**< ucp_win_way_t by endpoint */
    /** Contexts by worker, and by themselves: those for one-sided communication. A context
     *  itself has another value if the program has made it with mt_workers_shared */
    ucs_map_t       contexts;
    ucs_map_t       windows;  /**< Those of expose.c, by memory handle */
    ucs_map_t       remotes;  /**< ucp_win_remote_t by key */

    ucs_mutex_t lock;
    /* Protected by lock */
    ucs_list_link_t open_ways;
    ucs_list_link_t closing_ways; /**< Ways whose endpoints are closed, and whose keys are
                                       not destroyed yet */
    ucs_list_link_t workers;     /**< ucp_win_worker_t */
    int             hides_multi; /**< Whether there was no memory to note a worker of mode
                                      MULTI, for good */
    pthread_cond_t  unused;      /**< Signalled when nobody helps a worker any more */

    /** Held while Firehose is started, and to note that Firehose ends. Taken before lock: UCP
     *  is called meanwhile, and may call this library, which takes lock */
    ucs_mutex_t start_lock;
    /* Protected by start_lock, until the end of the list */
    ucp_context_h   context;     /**< Of Firehose's own messages */
    ucp_context_h   mem_context; /**< The program's, whose windows are served. Written
                                      once, before @a fh: a thread that has seen @a fh reads
                                      this one without lock */
    void            *address;    /**< Of Firehose in this process */
    size_t          address_length;
    int             is_over;     /**< Firehose could not be started, or has ended */
    /* Up to here */

    /** Whether a thread may wait for firehoses that another thread has used and alone can
     *  flush: there are several contexts, or one that is shared, or a worker of mode MULTI.
     *  Relaxed: a thread sees the kind of its own worker */
    atomic_int      is_threaded;

    /** Firehose; NULL: not running. Written with release: under start_lock at the begin,
     *  under lock and ucp_fh::lock at the end. A thread that has entered a call finds the
     *  same value all the time, see ucp_win_enter() */
    _Atomic(ucp_fh_t*) fh;
    /** Stands for Firehose where Firehose does not run: has a lock, and empty lists */
    ucp_fh_t        none;

    ucp_fh_ways_t   ways;
    /** Ways in closing_ways. Written under lock; relaxed: a thread that has closed an
     *  endpoint sees its own */
    atomic_uint     num_closing;

    /* Firehose ends with the context of the windows here, while other threads may be in
     * calls for other contexts, see ucp_win_enter() */
    /** Contexts for one-sided communication, made so far. Relaxed: a thread with a context
     *  sees that one counted */
    atomic_uint     num_contexts;
    /** Whether Firehose is about to end. This field and num_calls are sequentially consistent:
     *  a call counts itself before it reads is_ending, and the thread that ends Firehose sets
     *  is_ending before it reads num_calls, so that one of the two sees the other */
    atomic_int      is_ending;
    atomic_uint     num_calls; /**< Threads in calls that are counted */
} ucp_win_t;

extern ucp_win_t ucp_win;


/** The result of ucp_win_enter(). */
typedef enum {
    UCP_WIN_REFUSED,  /**< Firehose is about to end, or has ended */
    UCP_WIN_ENTERED,
    UCP_WIN_COUNTED   /**< Likewise, and Firehose does not end before
                           ucp_win_leave() */
} ucp_win_entry_t;


/** Number of counted calls that this thread is in: a callback of a call may begin another
 *  call. Only the outermost call may be refused, since the end of Firehose waits for the
 *  outermost calls. */
extern __thread unsigned ucp_win_depth;


/** Enter a call that uses Firehose. Calls are counted where there are several contexts: a
 *  single context does not end during its own calls. */
static inline ucp_win_entry_t ucp_win_enter(void)
{
    if (ucs_likely(atomic_load_explicit(&ucp_win.num_contexts,
                                        memory_order_relaxed) < 2)) {
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

/** Enter a call that ends something, and cannot be refused while Firehose is there. Does
 *  not wait: a callback of UCP may have the lock of a worker that another call needs.
 *  Without any lock of this library. */
ucp_win_entry_t ucp_win_enter_always(void);

/** @return Firehose, or NULL, for threads that have entered a call, or only want to know
 *          whether there is one. */
static inline ucp_fh_t *ucp_win_fh(void)
{
    return atomic_load_explicit(&ucp_win.fh, memory_order_acquire);
}

/** @return the ucp_fh_t whose lock protects ways, for threads that have entered a call. */
static inline ucp_fh_t *ucp_win_tables(void)
{
    ucp_fh_t *fh = ucp_win_fh();

    return ucs_likely(fh != NULL) ? fh : &ucp_win.none;
}


/* start.c: Firehose is started when the first window is mapped, or the first key to a
 * window unpacked, and ends with the program's context */

/** Find out which job this is. To be called once, before all else. */
void ucp_win_start_init(const predreg_windows_env_t *env);

/** A context is about to be destroyed: if its windows were served, Firehose ends. */
void ucp_win_end(ucp_context_h context);

/** Start Firehose for a context of the program, if it was not.
 *
 *  @return NULL: not possible for this context; the log says why, once. */
ucp_fh_t *ucp_win_start(ucp_context_h context);

/** The same for accesses alone, with any context. */
ucp_fh_t *ucp_win_start_access(ucp_context_h context);

/** Tell once that memory is pinned as if there were no windows.
 *
 *  @param [in] why  Follows "since ". */
void ucp_win_tell_pinned(const char *why);


/* way.c: workers and endpoints of the program */

/** Note a context for one-sided communication, if there is memory.
 *
 *  @param [in] is_shared  Whether the program has made it with mt_workers_shared. */
void ucp_win_context_add(ucp_context_h context, int is_shared);

/** A context is about to be destroyed. @return whether it was known. */
int ucp_win_context_remove(ucp_context_h context);

/** Note a worker of the program. */
void ucp_win_worker_add(ucp_context_h context, ucp_worker_h worker);

/** A worker is about to be destroyed: wait until no thread helps it. */
void ucp_win_worker_remove(ucp_worker_h worker);

/**
 * Find a worker that this thread may use: any of mode MULTI; and where the program calls UCP
 * for the context by one thread at a time (made without mt_workers_shared, and without a
 * worker of mode MULTI), all of that context. Any other worker belongs to its threads.
 *
 * @param [in] context  What this thread is in a call for, of itself or of a worker.
 * @param [in] number   From 0 on.
 * @return NULL: no more; else the worker is not destroyed before ucp_win_worker_put().
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

/** A question about a way. Called under win.lock and ucp_fh::lock. */
typedef int (*ucp_win_way_is_t)(const ucp_win_way_t *way);

/** @return the first way of a worker with the answer 1 in a list of ucp_win, with one more
 *          reference, or NULL. */
ucp_win_way_t *ucp_win_way_get(const ucs_list_link_t *ways, ucp_worker_h worker,
                               ucp_win_way_is_t is);


/* flush.c: progress and flushes while a thread waits */

/** How long a call waits for operations on endpoints at most, ns. UCP would not wait in these
 *  calls: a peer that makes no progress may wait for this thread to return from the call. */
#define UCP_WIN_PATIENCE (1 * UCS_NSEC_PER_SEC)

/** Progress a worker. If the worker has nothing to do, call ucp_win_ways_help(). */
void ucp_win_worker_progress(ucp_context_h context, ucp_worker_h worker);

/** Progress and flush all workers that this thread may use in a call for a context: a peer
 *  may wait for firehoses used on another worker, or for emulation by UCX there. Not in a
 *  callback. */
void ucp_win_ways_help(ucp_context_h context);

/** Flush all operations on these workers, for a second at most; in a callback, do
 *  nothing. */
void ucp_win_ways_flush(ucp_context_h context);

/** Wait for a request of UCP on a way, for a second at most, or not at all if the wait before
 *  took longer: a peer may wait for this very thread. Not in a callback.
 *
 *  @return its status; UCS_INPROGRESS: the request goes on. */
ucs_status_t ucp_win_way_wait(ucp_win_way_t *way, void *request);


/* close.c: what is due for ways after progress, and the end of endpoints */

/** A worker was progressed: now and then, do what is due for its ways. A thread whose progress
 *  finds nothing to do a few times in a row polls. It may poll for a process that waits for
 *  this one, on the processor that Firehose's thread would need: so the polling thread answers
 *  peers. */
void ucp_win_way_progressed(ucp_worker_h worker, int is_idle);

/**
 * An endpoint is about to be closed: a flush begins, whose end frees the firehoses and keys
 * of the endpoint. Does not wait for the flush, and may be called in a callback.
 *
 * @return the first argument for ucp_win_way_closed(); NULL: not to be called.
 */
void *ucp_win_way_begin_close(ucp_ep_h ep);

/** UCP has closed the endpoint, or has refused to do so. When the last flush has ended, the
 *  keys are destroyed: in this call, or when the worker is progressed or destroyed. */
void ucp_win_way_closed(void *closing, int is_refused);

/** A worker is about to be destroyed: begin the last flushes of all of its endpoints, wait for
 *  them, a second at most, and destroy the keys. */
void ucp_win_way_close_worker(ucp_worker_h worker);


/* acquire.c */

/**
 * Get the piece of an operation, and the key of its first bucket. Waits for firehoses, and
 * progresses the worker meanwhile, unless this thread is in a callback of the worker.
 *
 * @return UCS_ERR_INVALID_ADDR if the memory is not exposed any more;
 *         UCS_ERR_NO_RESOURCE if a callback waits in vain;
 *         UCS_ERR_CANCELED if a callback has closed the endpoint meanwhile;
 *         UCS_ERR_EXCEEDS_LIMIT if the peer has no room for a minute;
 *         UCS_ERR_NO_MEMORY; or why the peer is gone.
 */
ucs_status_t ucp_win_acquire(ucp_win_way_t *way, uint64_t address, size_t length,
                             ucp_fh_piece_t **piece_p, ucp_fh_chunk_t *chunk);

/** Release and free pieces: all reads have completed, or nothing went through the pieces.
 *  After the end of Firehose, only free them. Without lock. */
void ucp_win_pieces_end(ucs_list_link_t *pieces);
void ucp_win_piece_end(ucp_fh_piece_t *piece);

/** @return whether an operation on memory of a peer, which has its piece, should be
 *          completed before its call returns, if that does not take long: where several
 *          threads may have workers, and others have less than half of the peer's
 *          firehoses left. Nobody can tell when a thread calls UCP for its worker again,
 *          and other threads must not wait for that. */
int ucp_win_peer_is_scarce(uint32_t peer);

#endif
