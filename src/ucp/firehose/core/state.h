/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_STATE_H_
#define UCP_FH_STATE_H_

#include <ucp/firehose/api/firehose.h>
#include <ucp/firehose/memory/watch.h>
#include <ucp/firehose/table/local.h>
#include <ucp/firehose/table/remote.h>
#include <ucp/firehose/wire/message.h>

#include <ucs/base/mutex.h>
#include <ucs/base/page.h>
#include <ucs/sys/math.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

BEGIN_C_DECLS

/** @file state.h
 *
 * What the library knows in a process.
 *
 * LOCKS. Three, in this order:
 *   drive_lock  around messages of peers being taken and handled, so that they are
 *               in their order
 *   send_lock   around each call of UCP that concerns the library's own worker
 *               and its endpoints
 *   lock        for all fields that say so. Nothing of UCP and no function of
 *               the program is called under it; memory may be allocated
 * Functions that the library's worker calls (a message has come, an endpoint
 * has failed) run under send_lock and may take lock. Functions of completions
 * of the tables (ucp_fh_comp_t::func) run under lock.
 */

/** Buckets that a message moves at most. A reply then has some 50 KB. */
#define UCP_FH_MOVE_BUCKETS 256

/** Messages of a peer that are kept until their turn: more than a peer ever has
 *  under way by far, so that one which sends nonsense does not fill the
 *  memory. */
#define UCP_FH_MAX_INBOX    65536


typedef struct ucp_fh ucp_fh_t;


/** What the error handler of an endpoint to a peer is handed. Does not
 *  change. */
typedef struct ucp_fh_peer_arg {
    ucp_fh_t *fh;
    uint32_t slot;
} ucp_fh_peer_arg_t;


/** A message that has come, or is to be sent. */
typedef struct ucp_fh_parcel {
    ucs_list_link_t link;
    ucp_fh_t        *fh;
    uint32_t        slot;   /**< Of the other process */
    size_t          length;
    uint64_t        data[]; /**< Begins with a ucp_fh_header_t */
} ucp_fh_parcel_t;


/** A message that has been sent and has to be answered. */
typedef struct ucp_fh_sent {
    ucs_list_link_t link;
    uint64_t        number; /**< Of the message */
    ucp_fh_move_t   *move;
} ucp_fh_sent_t;


/** Another process. All fields but the first two are protected by lock. */
typedef struct ucp_fh_link {
    ucp_ep_h        ep;       /**< Of the library's worker; NULL before it is
                                   connected. Set once, under both locks */
    ucp_address_t   *address; /**< Of its library's worker. As @a ep */
    unsigned        shift;    /**< Logarithm of its buckets' size */
    uint32_t        limit;    /**< f: firehoses that it gives this process */
    uint64_t        cookie;
    uint64_t        next_out; /**< Number of the next message to it */
    uint64_t        next_in;  /**< Number of its message that is next */
    atomic_int      status;   /**< UCS_OK, or why it is gone. Operations read it
                                   without lock, relaxed: what is posted a
                                   moment later fails anyway */
    ucs_list_link_t inbox;    /**< Its messages, by number */
    uint32_t        num_inbox;
    ucs_list_link_t mail;     /**< In ucp_fh::mail, or empty */
    ucs_list_link_t sent;     /**< Messages to it that it has not answered */
    ucp_fh_peer_arg_t peer_arg; /**< Of its endpoint. As @a ep */
    ucp_fh_parcel_t *bye;     /**< The last message to it, which needs no memory
                                   that way when there is none; NULL: it has been
                                   posted, or the peer is not connected */
} ucp_fh_link_t;


/** Something to be called without any lock. */
typedef struct ucp_fh_call {
    ucs_list_link_t link;
    void            (*func)(struct ucp_fh_call *self);
} ucp_fh_call_t;


struct ucp_fh {
    ucp_context_h   context;     /**< Of the library's own worker */
    ucp_context_h   mem_context; /**< Whose keys peers get: that of @a context,
                                      or of another one, set before anything is
                                      exposed */
    /** Release what is held of a peer, see ucp_fh_mover_recall(); NULL: nothing is.
     *  Called under lock. Set before it connects to anybody */
    void            (*reclaim)(ucp_fh_t *fh, uint32_t peer);
    int             says_hello;  /**< Whether this process makes itself known to
                                      those that it connects to, and is content
                                      with that if others do. Set before it
                                      connects to anybody */
    uint32_t        num_procs;
    uint32_t        index;
    ucp_err_handling_mode_t err_mode; /**< Of endpoints */
    uint64_t        cookie;
    unsigned        shift;     /**< Logarithm of this process's buckets' size */
    ucp_worker_h    worker;    /**< The library's own. Protected by send_lock */
    ucs_mutex_t     drive_lock;
    ucs_mutex_t     send_lock;
    ucs_mutex_t     lock;
    pthread_cond_t  cond;      /**< With lock: something has ended that a thread
                                    waits for */
    /* Protected by lock, until the end of the list */
    ucp_fh_remote_t remote;
    ucp_fh_local_t  local;
    ucp_fh_link_t   *links;    /**< By number of the process */
    ucs_list_link_t outbox;    /**< Messages to be sent */
    ucs_list_link_t calls;     /**< Functions of the program to be called */
    ucs_list_link_t mems;      /**< Exposed memory, ucp_fh_mem */
    /** What is being withdrawn since the program has unmapped it, see unmap.c,
     *  by its buckets */
    ucs_rcache_pred_tree_t leaving;
    ucs_list_link_t withdrawn; /**< Of that, what was withdrawn, and is to be
                                    unmapped */
    ucs_list_link_t mail;      /**< Links whose inboxes may have a message whose
                                    turn it is: all others have none */
    int             is_working; /**< Whether a thread pins or unpins something. Set
                                     and cleared by it */
    uint64_t        pinned_peak; /**< Buckets */
    uint64_t        num_answered;
    uint64_t        num_damaged;
    uint64_t        refused_number; /**< Of the registration that waits for room
                                         of the system */
    uint64_t        refused_since;  /**< When it began to, or the last one
                                         that did, ns */
    int             is_waiting;     /**< Whether it does */
    uint64_t        recalled_at;    /**< When peers were asked last for firehoses, so
                                         that there is room, ns */
    uint64_t        told_requests; /**< What ucp_fh_report() was told of */
    uint64_t        told_hits;
    /* Up to here */
    ucp_address_t   *address;  /**< Of the worker */
    size_t          address_length;
    ucs_mutex_t     workers_lock; /**< Before send_lock; held by the library's
                                       thread while it looks after workers */
    ucp_fh_watcher_t watcher;  /**< Of exposed memory */
    ucs_list_link_t workers;   /**< The program's, ucp_fh_worker. Protected by
                                    workers_lock */
    int             has_acted; /**< Whether a message was sent, or a thread of the
                                    program has progressed @a worker with
                                    success, since the library's thread last
                                    wanted to sleep. Protected by send_lock, as
                                    the next */
    int             is_armed;  /**< Whether the thread sleeps until it is woken,
                                    or is about to */
    ucp_fh_parcel_t *spare;    /**< For a message that comes when there is no
                                    memory; NULL: none. Protected by send_lock */
    atomic_uint     num_helps; /**< How often threads of the program did what the
                                    library's thread is there for: written by
                                    them, and read by that one, both relaxed */
    pthread_t       thread;
    int             wake_fd;   /**< An eventfd: the thread has something to
                                    do */
    int             worker_fd; /**< Of the worker, or -1 */
    int             is_ending; /**< The thread is to end. Protected by lock */
};


/** Exposed memory. Protected by ucp_fh::lock. */
struct ucp_fh_mem {
    ucp_fh_t         *fh;
    ucs_list_link_t  link;        /**< In ucp_fh::mems */
    ucs_list_link_t  parts;       /**< What of it is exposed still,
                                       ucp_fh_part_t */
    ucp_fh_watched_t watched;     /**< For what the program unmaps; has a lock
                                       of its own */
    unsigned         num_leaving; /**< What of it is being withdrawn: parts, and
                                       what the program has unmapped */
    ucs_status_t     status;      /**< The first error of that */
};


/** A part of exposed memory that peers may access: all of it at first.
 *  Protected by ucp_fh::lock. */
typedef struct ucp_fh_part {
    ucp_fh_withdraw_t withdraw; /**< First member, see expose.c */
    ucp_fh_exposed_t  exposed;
    struct ucp_fh_mem *mem;
    uint64_t          start;    /**< First byte */
    uint64_t          end;      /**< The byte after the last */
    ucs_list_link_t   link;     /**< In ucp_fh_mem::parts, unless it is
                                     withdrawn */
} ucp_fh_part_t;


/** @return a part of exposed memory that has a bucket of a run, or NULL. Under
 *          lock. */
static inline ucp_fh_part_t *
ucp_fh_part_find(const ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    ucp_fh_exposed_t *exposed = ucp_fh_local_exposed(&fh->local, run);

    return (exposed == NULL) ?
                   NULL : ucs_container_of(exposed, ucp_fh_part_t, exposed);
}


/** What a bucket is pinned with: the handle of the local table. Does not
 *  change. */
typedef struct ucp_fh_handle {
    ucp_mem_h memh;
    void      *packed; /**< Its key */
    size_t    packed_length;
} ucp_fh_handle_t;


/** Find the pages that a range of memory is in.
 *
 *  @return UCS_ERR_INVALID_PARAM if it is empty or wraps around the end of the
 *          address space. */
static inline ucs_status_t
ucp_fh_span_pages(uint64_t address, uint64_t length, ucp_fh_span_t *span)
{
    unsigned shift = ucs_ilog2(ucs_rcache_pred_page_size());
    ucs_status_t status;
    ucp_fh_run_t run;

    status = ucp_fh_run_cover(shift, address, length, &run);
    if (status == UCS_OK) {
        *span = ucp_fh_span_of(shift, &run);
    }
    return status;
}

/** Let the summary of libuct_predreg.so have what the remote table has counted,
 *  if that is preloaded. Under lock. */
void ucp_fh_report(ucp_fh_t *fh);

static inline void ucp_fh_lock(ucp_fh_t *fh)
{
    ucs_mutex_lock(&fh->lock);
}

/** Leave ucp_fh::lock. What has ended in the tables is told before: the answer
 *  to a peer, say, is written before anybody can take away what it speaks
 *  of. */
static inline void ucp_fh_unlock(ucp_fh_t *fh)
{
    ucp_fh_comp_t *comp;

    while (((comp = ucp_fh_comp_next(&fh->remote.ended)) != NULL) ||
           ((comp = ucp_fh_comp_next(&fh->local.ended)) != NULL)) {
        comp->func(comp);
    }
    if (fh->remote.stats.requests != fh->told_requests) {
        ucp_fh_report(fh);
    }
    ucs_mutex_unlock(&fh->lock);
}

/** @return a message to a peer with its header, whose number is set when it is
 *          posted, or NULL. */
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

    parcel->fh      = fh;
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

END_C_DECLS

#endif
