/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_CORE_H_
#define UCP_FH_CORE_H_

#include <ucp/firehose/api/firehose.h>
#include <ucp/firehose/memory/watch.h>
#include <ucp/firehose/table/local.h>
#include <ucp/firehose/table/remote.h>
#include <ucp/firehose/wire/wire.h>

#include <ucs/base/align.h>
#include <ucs/base/mutex.h>
#include <ucs/base/relaxed.h>
#include <ucs/sys/math.h>

#include <pthread.h>
#include <stdlib.h>

BEGIN_C_DECLS

/** @file core.h
 *
 * Both tables at work: the state of the library in a process, messages, pins, and exposed
 * memory.
 *
 * LOCKS. Three, in this order:
 *   drive_lock  around the handling of messages of peers, to keep their order
 *   send_lock   around each call of UCP for the library's own worker and its endpoints
 *   lock        for all fields with such a note. No function of UCP or of the program is
 *               called under lock; memory may be allocated
 * The library's worker calls functions for a message and for a failed endpoint: these run
 * under send_lock and may take lock. Functions of completions of the tables
 * (ucp_fh_comp_t::func) run under lock. "Under lock" means the third lock.
 */

/** Most buckets of a message. A reply then has some 50 KB. */
#define UCP_FH_MOVE_BUCKETS 256

/** Most messages of a peer in its inbox. A sound peer never has nearly as many under way;
 *  the bound keeps a peer that sends nonsense from filling the memory. */
#define UCP_FH_MAX_INBOX    65536


typedef struct ucp_fh ucp_fh_t;


/** The argument of the error handler of an endpoint to a peer. Does not change. */
typedef struct ucp_fh_peer_arg {
    ucp_fh_t *fh;
    uint32_t slot;
} ucp_fh_peer_arg_t;


/** A message, received or to be sent. */
typedef struct ucp_fh_parcel {
    ucs_list_link_t link;
    uint32_t        slot;   /**< Number of the other process: receiver or sender */
    size_t          length;
    uint64_t        data[]; /**< Begins with a ucp_fh_header_t */
} ucp_fh_parcel_t;

static inline ucp_fh_header_t *ucp_fh_parcel_header(const ucp_fh_parcel_t *parcel)
{
    return (ucp_fh_header_t*)parcel->data;
}


/** Another process. Fields without a note are protected by lock. */
typedef struct ucp_fh_link {
    ucp_ep_h        ep;       /**< Of the library's worker; NULL before the peer is
                                   connected. Set once, under send_lock and lock */
    ucp_address_t   *address; /**< Of the worker of the peer's library. Set with @a ep */
    unsigned        shift;    /**< Logarithm of the size of the peer's buckets */
    uint64_t        cookie;
    uint64_t        next_out; /**< Number of the next message to the peer */
    uint64_t        next_in;  /**< Number of the next message from the peer */
    atomic_int      status;   /**< UCS_OK, or why the peer is gone. Operations read the
                                   status without lock, relaxed: if the peer is gone and
                                   an operation does not see so, UCP fails the
                                   operation */
    ucs_list_link_t inbox;    /**< Messages from the peer, in the order of their
                                   numbers */
    uint32_t        num_inbox;
    ucs_list_link_t mail;     /**< In ucp_fh::mail, or in no list */
    ucs_list_link_t sent;     /**< Moves that the peer has not answered yet, in the order
                                   of the numbers of their messages */
    ucp_fh_peer_arg_t peer_arg; /**< Argument of the error handlers of @a ep and of
                                     endpoints of public workers to the peer. Set with
                                     @a ep */
    ucp_fh_parcel_t *bye;     /**< The last message to the peer, allocated at the
                                   connection, since there may be no memory at the end;
                                   NULL: the message is posted, or the peer is not
                                   connected */
} ucp_fh_link_t;


/** A function to be called without any lock. */
typedef struct ucp_fh_call {
    ucs_list_link_t link;
    void            (*func)(struct ucp_fh_call *self);
} ucp_fh_call_t;


struct ucp_fh {
    ucp_context_h   context;     /**< Of the library's own worker */
    ucp_context_h   mem_context; /**< Memory for peers is pinned in this context:
                                      @a context or another one. Set before any memory is
                                      exposed */
    int             says_hello;  /**< Whether the first message to each peer introduces
                                      this process, and the first message of a peer
                                      connects this process to the peer. Set before the
                                      first connection */
    uint32_t        num_procs;
    uint32_t        index;
    ucp_err_handling_mode_t err_mode; /**< Of endpoints to peers */
    uint64_t        cookie;
    unsigned        shift;     /**< Logarithm of the size of this process's buckets */
    ucp_worker_h    worker;    /**< The library's own worker. Protected by send_lock */
    ucs_mutex_t     drive_lock;
    ucs_mutex_t     send_lock;
    ucs_mutex_t     lock;
    pthread_cond_t  cond;      /**< Used with @a lock. Wakes waiting threads when a pin or
                                    a withdrawal has ended */
    /* Protected by lock, until the end of the list */
    ucp_fh_remote_t remote;
    ucp_fh_local_t  local;
    ucp_fh_link_t   *links;    /**< By number of the process */
    ucs_list_link_t outbox;    /**< Messages to be sent */
    ucs_list_link_t calls;     /**< Callbacks of the program to be called,
                                    ucp_fh_call_t */
    ucs_list_link_t mems;      /**< Exposed memory, ucp_fh_mem */
    ucs_tree_t      leaving;   /**< Parts of exposed memory that leave, by their buckets */
    ucs_list_link_t withdrawn; /**< Parts on which no peer has a firehose any more:
                                    ucp_fh_unmap_finish() is to unmap these parts */
    ucs_list_link_t mail;      /**< All links with the next message perhaps in the
                                    inbox */
    int             is_working; /**< Whether a thread pins or unpins a bucket. Set and
                                     cleared by that thread */
    uint64_t        pinned_peak; /**< Most buckets that were pinned at a time */
    uint64_t        num_answered;
    uint64_t        num_damaged;
    uint64_t        refused_number; /**< ucp_fh_reg_t::number of the registration that
                                         waits, or waited last, for the system to have
                                         room */
    uint64_t        refused_since;  /**< When that registration began to wait, ns */
    int             is_waiting;     /**< Whether that registration still waits */
    uint64_t        recalled_at;    /**< Time of the last recall for room, ns */
    uint64_t        told_requests; /**< Counters of the remote table at the last call of
                                        @a report */
    uint64_t        told_hits;
    /* The end of the fields that lock protects */
    void            (*report)(ucp_fh_t *fh); /**< ucp_fh_report(), by a pointer for the
                                                  inline ucp_fh_unlock() */
    ucp_address_t   *address;  /**< Address of @a worker */
    size_t          address_length;
    ucs_mutex_t     workers_lock; /**< Taken before send_lock. Held while the library's
                                       thread progresses workers of the program */
    ucp_fh_watcher_t watcher;  /**< Of exposed memory. Its eventfd wakes the library's
                                    thread */
    ucs_list_link_t workers;   /**< Workers of the program, ucp_fh_worker. Protected by
                                    workers_lock */
    int             has_acted; /**< Whether a message was sent, or a thread of the program
                                    has progressed @a worker with success, since the
                                    library's thread last wanted to sleep. This field and
                                    the next two are protected by send_lock */
    int             is_armed;  /**< Whether the library's thread sleeps until it is woken,
                                    or is about to */
    ucp_fh_parcel_t *spare;    /**< For a message that comes while there is no memory;
                                    NULL: used, and not allocated anew yet */
    atomic_uint     num_helps; /**< How often threads of the program have done the work of the
                                    library's thread. Written by threads of the program, read
                                    by the library's thread, relaxed */
    pthread_t       thread;
    int             worker_fd; /**< Event descriptor of @a worker; -1: it has none */
    atomic_int      is_ending; /**< Tells the library's thread to end. Relaxed: the thread
                                    that sets the flag then joins the library's thread */
};


/** Exposed memory. Protected by ucp_fh::lock. */
struct ucp_fh_mem {
    ucp_fh_t         *fh;
    ucs_list_link_t  link;        /**< In ucp_fh::mems */
    ucs_list_link_t  parts;       /**< Parts that are still exposed, ucp_fh_part_t */
    ucp_fh_watched_t watched;     /**< Notes what the program unmaps of the memory; has a
                                       lock of its own */
    unsigned         num_leaving; /**< Number of parts that leave, and are not freed
                                       yet */
    ucs_status_t     status;      /**< The first error of a withdrawal */
};


/** A part: a range of exposed memory. At first one part has all of the memory, and peers
 *  may access the part. A part leaves when the program unmaps or withdraws its memory:
 *  peers give back their firehoses there; then the library unmaps the pages that it kept
 *  mapped for peers alone, and frees the part. Protected by ucp_fh::lock. */
typedef struct ucp_fh_part {
    struct ucp_fh_mem *mem;
    uint64_t          start;       /**< First byte */
    uint64_t          end;         /**< The byte after the last */
    ucp_fh_exposed_t  exposed;     /**< Its @a place is in ucp_fh::leaving once the part
                                        leaves */
    ucp_fh_withdraw_t withdraw;    /**< Used once the part leaves */
    int               has_buckets; /**< Whether the part is in ucp_fh::leaving. Used once
                                        the part leaves */
    ucs_list_link_t   link;        /**< In ucp_fh_mem::parts, then in
                                        ucp_fh::withdrawn */
} ucp_fh_part_t;


/** @return a part of exposed memory that has a bucket of a run, or NULL. Under lock. */
static inline ucp_fh_part_t *
ucp_fh_part_find(const ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    ucp_fh_exposed_t *exposed = ucp_fh_local_exposed(&fh->local, run);

    return (exposed == NULL) ?
                   NULL : ucs_container_of(exposed, ucp_fh_part_t, exposed);
}


/** The handle of the local table for a pinned bucket. Does not change. */
typedef struct ucp_fh_handle {
    ucp_mem_h memh;
    void      *packed; /**< Its key */
    size_t    packed_length;
} ucp_fh_handle_t;


/** Find the pages of a range of memory.
 *
 *  @return UCS_ERR_INVALID_PARAM if the range is empty or wraps around the end of the
 *          address space. */
static inline ucs_status_t
ucp_fh_span_pages(uint64_t address, uint64_t length, ucp_fh_span_t *span)
{
    unsigned shift = ucs_ilog2(ucs_page_size());
    ucs_status_t status;
    ucp_fh_run_t run;

    status = ucp_fh_run_cover(shift, address, length, &run);
    if (status == UCS_OK) {
        *span = ucp_fh_span_of(shift, &run);
    }
    return status;
}

static inline void ucp_fh_lock(ucp_fh_t *fh)
{
    ucs_mutex_lock(&fh->lock);
}

/** Leave ucp_fh::lock. First calls the functions of all completions that have ended,
 *  under the lock: so, for example, the answer to a peer is written before anybody can
 *  unpin the buckets of the answer. */
static inline void ucp_fh_unlock(ucp_fh_t *fh)
{
    ucp_fh_comp_t *comp;

    while (((comp = ucp_fh_comp_next(&fh->remote.ended)) != NULL) ||
           ((comp = ucp_fh_comp_next(&fh->local.ended)) != NULL)) {
        comp->func(comp);
    }
    if (fh->remote.stats.requests != fh->told_requests) {
        fh->report(fh);
    }
    ucs_mutex_unlock(&fh->lock);
}

/** @return a message to a peer with a header, but without a number, which
 *          ucp_fh_outbox_post() gives it; NULL: there is no memory. */
static inline ucp_fh_parcel_t *
ucp_fh_parcel_make(ucp_fh_t *fh, uint32_t slot, ucp_fh_message_type_t type,
                   size_t length)
{
    ucp_fh_parcel_t *parcel = (ucp_fh_parcel_t*)malloc(sizeof(*parcel) +
                                                       length);
    ucp_fh_header_t *header;

    if (parcel == NULL) {
        return NULL;
    }

    parcel->slot    = slot;
    parcel->length  = length;
    header          = (ucp_fh_header_t*)parcel->data;
    *header         = (ucp_fh_header_t){
        .magic   = UCP_FH_MESSAGE_MAGIC,
        .version = UCP_FH_MESSAGE_VERSION,
        .type    = (uint8_t)type,
        .sender  = fh->index,
        .cookie  = fh->cookie
    };
    return parcel;
}


/* peer.c: links to other processes, and messages to them */

/** The id of UCP's active messages between the libraries' workers. */
#define UCP_FH_AM_ID 0

/** Keep messages that UCX logs in this thread out of the log, from now on.
 *
 *  @param [in] text  Messages with this text are kept out; "": all; NULL: none.
 *  @return the text of the last call, for the caller to restore. */
const char *ucp_fh_hush(const char *text);

/** Tell libuct_predreg.so, if it is preloaded, how many requests and hits the remote
 *  table has counted since the last call: libuct_predreg.so prints the sums in its
 *  summary. Under lock. */
void ucp_fh_report(ucp_fh_t *fh);

/** Wake the library's thread. Async-signal-safe; under any lock. */
void ucp_fh_wake(ucp_fh_t *fh);

/** Give a message its number, and put the message into the outbox for ucp_fh_settle(). The
 *  peer handles messages in the order of these calls. Under lock. */
void ucp_fh_outbox_post(ucp_fh_t *fh, ucp_fh_parcel_t *parcel);

/** Send a message of the outbox, and free the message when it is sent or lost. Without
 *  lock.
 *
 *  @return UCS_OK: the message is under way; an error: the peer cannot be reached. */
ucs_status_t ucp_fh_outbox_send(ucp_fh_t *fh, ucp_fh_parcel_t *parcel);

/** Put a link into ucp_fh::mail, since the next message to handle may be in its inbox: a
 *  message has come, or the peer is connected now. Under lock. */
void ucp_fh_peer_look(ucp_fh_t *fh, ucp_fh_link_t *link);

/** A peer is gone: take back all its firehoses, and end all requests to the peer with
 *  this status. Nothing is done if the peer was gone already. Under lock; ucp_fh_settle()
 *  has to follow. */
void ucp_fh_peer_fail(ucp_fh_t *fh, uint32_t slot, ucs_status_t status);

/** Post the last message to a peer, ucp_fh_link_t::bye, unless it was posted: this
 *  process ends, or gives the peer up. Under lock; ucp_fh_settle() has to follow. */
void ucp_fh_peer_bye(ucp_fh_t *fh, uint32_t slot);

/** Give a peer up, since there is no memory to go on with it: ucp_fh_peer_fail() with
 *  UCS_ERR_UNREACHABLE, and ucp_fh_peer_bye(), without which the peer would wait for
 *  ever. Under lock; ucp_fh_settle() has to follow. */
void ucp_fh_peer_give_up(ucp_fh_t *fh, uint32_t slot);

/** Give a peer up, since it has sent nonsense: as ucp_fh_peer_give_up(), with another
 *  message in the log. Under lock. */
void ucp_fh_peer_damaged(ucp_fh_t *fh, uint32_t slot);

/**
 * Make an endpoint to the worker of a peer's library. The endpoint calls its error
 * handler at the end of the peer, if the transports notice that end.
 *
 * @param [in]  arg               Argument of the error handler; has to be valid as long
 *                                as the endpoint.
 * @param [out] has_no_handler_p  Whether no transport notices the end.
 */
ucs_status_t ucp_fh_peer_ep(ucp_worker_h worker, const ucp_address_t *address,
                            ucp_fh_peer_arg_t *arg, ucp_ep_h *ep_p,
                            int *has_no_handler_p);


/* moves.c: messages about firehoses of this process on peers (mover), and of peers on
 * this process (target). Functions that handle a message are called without lock, and
 * return UCS_ERR_INVALID_PARAM for a damaged message or a peer out of step; their caller
 * then calls ucp_fh_settle() */

/** Post the message for a move of the remote table. Under lock. */
void ucp_fh_mover_post(ucp_fh_t *fh, ucp_fh_move_t *move);

/** Handle the answer of a peer to a move of this process. */
ucs_status_t ucp_fh_mover_reply(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel);

/** Handle the message of a peer that wants firehoses back. */
ucs_status_t ucp_fh_mover_recall(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel);

/** Handle the message of a peer that moves its firehoses on this process. */
ucs_status_t ucp_fh_target_move(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel);

/** Ask all peers with firehoses on a run to give these firehoses back.
 *
 *  @param [in] run  The run that the local table has withdrawn or picked last. Under
 *                   lock. */
void ucp_fh_target_recall(ucp_fh_t *fh, const ucp_fh_run_t *run);


/* settle.c: the consequences of a call of a table: messages to send, memory to pin and
 * unpin, functions of the program to call */

/** Carry out all consequences. Without lock, by any number of threads at a time; only one
 *  of these pins and unpins, until nothing is left. */
void ucp_fh_settle(ucp_fh_t *fh);

/** @return whether ucp_fh_settle() may have something to do. Under lock. */
int ucp_fh_is_unsettled(const ucp_fh_t *fh);

/** @return the functions by which the local table pins and unpins memory: they call
 *          UCP. */
ucp_fh_pin_ops_t ucp_fh_pinning_ops(ucp_fh_t *fh);

/** @return how many bytes a context could pin within the bounds of libuct_predreg.so if
 *          nothing else were pinned; UINT64_MAX: there are no bounds. */
uint64_t ucp_fh_preloaded_room(ucp_context_h context);


/* drive.c: to drive is to progress the library's worker and to handle the messages that
 * have come. The library's thread drives all the time. A thread of the program drives
 * while it waits for an answer: to wake the library's thread would take longer than a
 * message */

/** UCP calls this function for an active message, under send_lock.
 *
 *  @param [in] arg  The ucp_fh_t. */
ucs_status_t
ucp_fh_inbox_receive(void *arg, const void *header, size_t header_length,
                     void *data, size_t length,
                     const ucp_am_recv_param_t *param);

typedef enum {
    UCP_FH_DRIVE_NOTHING, /**< Nothing has happened */
    UCP_FH_DRIVE_DONE,    /**< There was progress, or a message */
    UCP_FH_DRIVE_TAKEN    /**< Another thread drives */
} ucp_fh_drive_result_t;

/** Drive. Without lock.
 *
 *  @param [in] is_help  Whether the caller is a thread of the program. */
ucp_fh_drive_result_t ucp_fh_drive(ucp_fh_t *fh, int is_help);

/** Drive, by a thread of the program that will soon drive again: until then the library's
 *  thread may sleep. Without lock, and not in a callback of the library's worker.
 *
 *  @return whether anything has happened. */
int ucp_fh_drive_help(ucp_fh_t *fh);


/* expose.c: memory that peers may access. Pages that the program unmaps are withdrawn,
 * stay mapped meanwhile, and are unmapped when no peer has a firehose on them any more */

/** As ucp_fh_expose(), but the log says nothing if other exposed memory shares a bucket
 *  with this memory (UCS_ERR_ALREADY_EXISTS): the caller then exposes less. */
ucs_status_t ucp_fh_expose_apart(ucp_fh_t *fh, void *address, size_t length,
                                 ucp_fh_mem_h *mem_p);

/** As ucp_fh_unexpose(). Without lock.
 *
 *  @param [in] help  Called again and again while this thread waits for peers: it does
 *                    work of this thread for which the peers may wait; NULL: there is no
 *                    such work. */
ucs_status_t ucp_fh_unexpose_with(ucp_fh_mem_h mem, void (*help)(void *arg), void *arg);

/** Unmap all memory in ucp_fh::withdrawn. Without lock. */
void ucp_fh_unmap_finish(ucp_fh_t *fh);

/** Begin to withdraw memory that the program has unmapped since the last call, and call
 *  ucp_fh_unmap_finish(). Without lock. The library's thread calls this in each of its
 *  rounds: so a withdrawal that fails for lack of memory is tried again. */
void ucp_fh_unmap_progress(ucp_fh_t *fh);

END_C_DECLS

#endif
