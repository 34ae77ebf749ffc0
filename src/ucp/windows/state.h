/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_STATE_H_
#define UCP_WIN_STATE_H_

#include "key.h"

#include <ucp/firehose/core/state.h>
#include <ucs/base/map.h>
#include <ucs/base/mutex.h>
#include <uct/ib/predreg/preload/windows.h>

/** @file state.h
 *
 * What the library knows in a process.
 *
 * LOCKS. win.lock comes before ucp_fh::lock, and is not taken under other locks of
 * Firehose (ucp/firehose/core/state.h).
 * UCP is called under it while Firehose is started or ended, and else not.
 */

/** An endpoint of the program, of a context that does one-sided
 *  communication. */
typedef struct ucp_win_way {
    ucp_context_h   context; /**< The first four do not change */
    ucp_worker_h    worker;
    int             is_multi; /**< Whether several threads may use the worker */
    ucp_ep_h        ep;      /**< Not valid any more once UCP has closed it, and
                                  then maybe that of another way */
    /** The program's keys that were unpacked for it, pieces, flushes, calls that look
     *  at it, and one until it has ended. The last one frees the way, so that going
     *  down is acquire and release, and going up, by who has one, relaxed */
    atomic_uint     refs;
    atomic_int      is_slow; /**< Whether the last call that waited for a flush has done so
                                  in vain. Relaxed: nothing depends on it but how long the
                                  next one waits */
    /* Protected by win.lock */
    ucs_list_link_t link;      /**< In ucp_win_t::open_ways or closing_ways, until
                                    it ends */
    /* Protected by ucp_win_lock() */
    ucs_list_link_t unflushed; /**< Pieces that something was begun through,
                                    which no flush covers yet */
    uint32_t        num_unflushed;
    ucs_list_link_t flushing;  /**< Pieces that flushes of the library cover */
    uint32_t        num_flushes; /**< How many of these are under way: one, and
                                      another one when the endpoint is closed */
    ucs_list_link_t dirty;     /**< In ucp_win_t::dirty if one of both lists is
                                    not empty; else empty */
    struct ucp_win_piece **slots; /**< Pieces by bucket; see pieces.c */
    uint32_t        num_slots; /**< A power of two, or 0: there are none yet */
    uint32_t        num_noted; /**< How many slots its pieces want */
    uint32_t        peer;      /**< Whose firehoses they have; 0 until a key was
                                    unpacked or a piece noted */
    int             is_closing; /**< Nothing is held for it any more, and only the
                                     library's last flush ends what it has */
    int             needs_flush; /**< That flush was refused, and has to be tried
                                      again */
    int             is_abandoned; /**< Nobody waits for its flushes any more */
    ucs_list_link_t rkeys;     /**< Keys to buckets, unpacked */
    ucs_list_link_t trash;     /**< Of these, those to be destroyed, by a thread
                                    that may use the worker */
} ucp_win_way_t;


/** A worker of the program. Who may use it is known by what the program has said when it
 *  made the worker and its context, and not by which thread has made it. */
typedef struct ucp_win_worker {
    ucs_list_link_t link;      /**< In ucp_win_t::workers */
    ucp_worker_h    worker;    /**< The next four do not change */
    ucp_context_h   context;
    int             is_multi;  /**< Whether any thread may use it */
    int             is_shared; /**< Whether several threads may use the context, each of
                                    them a worker of its own */
    unsigned        num_users; /**< Threads that help it. Protected by ucp_win::lock */
} ucp_win_worker_t;


typedef struct ucp_win {
    const predreg_windows_env_t *env; /**< Written once, before all else */
    uint64_t        job;              /**< As @a env: tells jobs apart */
    uint32_t        num_procs;        /**< As @a env; 0: not known */

    ucs_map_t       ways;     /**< ucp_win_way_t by endpoint */
    ucs_map_t       contexts; /**< Contexts by worker, and by themselves: those
                                   for one-sided communication */
    ucs_map_t       shared;   /**< Those of these contexts that the program has made with
                                   mt_workers_shared */
    ucs_map_t       windows;  /**< ucp_win_window_t by memory handle */
    ucs_map_t       remotes;  /**< ucp_win_remote_t by key */
    ucs_map_t       packed;   /**< Packed keys: what belongs to one is itself */

    ucs_mutex_t lock;
    /* Protected by lock */
    ucs_list_link_t open_ways;
    ucs_list_link_t closing_ways; /**< Their endpoints are closed, and their keys
                                       are not destroyed */
    ucs_list_link_t workers;     /**< ucp_win_worker_t, see way.c */
    int             hides_multi; /**< Whether there was no memory to note a worker of
                                      mode MULTI, for good */
    pthread_cond_t  unused;      /**< Signalled when nobody helps a worker any more */

    /** Before lock: Firehose begins or ends. Calls of UCP for that come back to
     *  this library, and may take lock */
    ucs_mutex_t start_lock;
    /* Protected by start_lock, until the end of the list */
    ucp_context_h   context;     /**< Of Firehose's own messages */
    ucp_context_h   mem_context; /**< The program's, whose windows are served.
                                      Written once, before @a fh, so that who has
                                      seen that may read it without lock */
    void            *address;    /**< Of Firehose in this process */
    size_t          address_length;
    int             is_over;     /**< It could not be started, or has ended */
    /* Up to here */

    /** Whether a thread may wait for firehoses that another thread has used, and only
     *  that one can flush: there are several contexts, or one that is shared, or a
     *  worker of mode MULTI. Relaxed: a thread sees what its own worker is */
    atomic_int      is_threaded;

    /** Firehose; NULL: it is not running. Written with release: under start_lock when
     *  the fields above are, and NULL under lock and ucp_fh::lock when its context ends.
     *  Whoever has entered a call finds the same all the time, see ucp_win_enter() */
    _Atomic(ucp_fh_t*) fh;

    /** By number of the peer: pieces that are held, the oldest first. Made and
     *  freed with Firehose; what is in them is protected by ucp_fh::lock */
    ucs_list_link_t *held;
    ucs_list_link_t dirty;       /**< Ways. Protected by ucp_fh::lock */
    /** How many. Written under ucp_fh::lock; relaxed: a thread that has begun
     *  something sees its own */
    atomic_uint     num_dirty;
    /** How many are in closing_ways. Written under win.lock; relaxed: a thread that
     *  has closed an endpoint sees its own */
    atomic_uint     num_closing;
    /** Takes the place of ucp_fh::lock where there is no Firehose */
    ucs_mutex_t fh_lock;

    /* Firehose ends with the context of the windows here, while threads may be in calls
     * for other contexts, see ucp_win_enter() */
    /** How many contexts for one-sided communication were made. Relaxed: who has one of
     *  them sees it counted */
    atomic_uint     num_contexts;
    /** Whether Firehose is about to end. With the next one sequentially consistent: a
     *  call is counted before it looks, and who ends Firehose says so before it counts,
     *  so that one of them sees the other */
    atomic_int      is_ending;
    atomic_uint     num_calls; /**< Threads in calls that are counted */
} ucp_win_t;

extern ucp_win_t ucp_win;


/** What ucp_win_enter() has found. */
typedef enum {
    UCP_WIN_REFUSED,  /**< Firehose is about to end, or has ended */
    UCP_WIN_ENTERED,
    UCP_WIN_COUNTED   /**< Likewise, and Firehose does not end before
                           ucp_win_leave() */
} ucp_win_entry_t;


/** In how many counted calls this thread is, one in another one: a callback may begin
 *  something. The inner ones are not refused, as the outer one is waited for. */
extern __thread unsigned ucp_win_depth;


/** Enter a call that uses Firehose. Calls are counted where there are several contexts:
 *  one alone does not end while its calls are under way. */
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

/** The same for what ends something, and cannot be refused as long as there is Firehose.
 *  It does not wait, as a callback of UCP may have a worker's lock that another call
 *  needs. Without any lock of this library. */
ucp_win_entry_t ucp_win_enter_always(void);


/** @return Firehose, for those who have entered a call, or who only look whether it is
 *          there. */
static inline ucp_fh_t *ucp_win_fh(void)
{
    return atomic_load_explicit(&ucp_win.fh, memory_order_acquire);
}

/** Lock what ways have, also where Firehose is not running yet or any more.
 *
 *  @param [in] fh  What ucp_win_fh() has returned. */
static inline void ucp_win_lock(ucp_fh_t *fh)
{
    if (fh != NULL) {
        ucp_fh_lock(fh);
    } else {
        ucs_mutex_lock(&ucp_win.fh_lock);
    }
}

static inline void ucp_win_unlock(ucp_fh_t *fh)
{
    if (fh != NULL) {
        ucp_fh_unlock(fh);
    } else {
        ucs_mutex_unlock(&ucp_win.fh_lock);
    }
}

#endif
