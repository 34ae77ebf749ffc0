/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_EAGER_INT_H_
#define UCT_PREDREG_EAGER_INT_H_

#include "eager.h"
#include "measure.h"
#include "sender.h"

#include <ucs/reuse/buffers.h>

#include <stdatomic.h>

BEGIN_C_DECLS

/** @file eager_int.h
 *
 * Contexts of UCP with their tables, hot sends in flight and registrations of hot
 * buffers, for the files of this folder.
 */

/** How many hot sends there may be at a time. */
#define UCT_PREDREG_MAX_FLIGHTS 4096

/** A registration of a buffer goes through each managed domain. Registrations in
 *  further domains cannot give way. */
#define UCT_PREDREG_HOT_DOMAINS 8

/** Longest message of the datatype of cold sends, bytes. */
#define UCT_PREDREG_COLD_MAX_LENGTH 65535


/** A hot send. Its fields belong to the thread that has taken the send, and to UCP
 *  until UCP calls back. */
typedef struct uct_predreg_flight {
    ucs_reuse_slot_t        *slot;
    ucp_send_nbx_callback_t cb;         /**< The program's; NULL: it has none */
    void                    *user_data; /**< The program's */
    struct uct_predreg_flights *owner;
    /** The request of the send; NULL: UCP has not returned yet, or the send is not
     *  taken; or one of the values below. It is written after the call of UCP, and in UCP's
     *  callback: the later of the two gives the send back. Acquire and release, since two
     *  threads may write */
    _Atomic(void*)          request;
    /** Number of the next free send plus one; 0: there is none. Relaxed: a thread
     *  may read the number of a send that another thread takes meanwhile, and then
     *  finds that the list has changed */
    _Atomic(uint32_t)        next;
} uct_predreg_flight_t;

/** UCP has called back. */
#define UCT_PREDREG_FLIGHT_OVER  ((void*)1)

/** The program has freed the request, and is not to be called back. */
#define UCT_PREDREG_FLIGHT_FREED ((void*)2)

typedef struct uct_predreg_flights {
    uct_predreg_flight_t *flights; /**< Constant */
    /** Number of the first free send plus one in the low 32 bits, and above them a
     *  count of changes, for compare-and-swap to notice. Acquire and release: a
     *  thread takes a send after another one gave it back. */
    _Atomic(uint64_t)     first;
} uct_predreg_flights_t;


/** The registration of a slot. */
typedef struct uct_predreg_registration {
    ucp_mem_h           memh;

    /* The last message of the slot. Relaxed, and not written together: if threads
     * send from the slot at a time, a part may be of one thread's message and a
     * part of another's. Then another endpoint is taken for one that copies, and
     * its messages are left alone */
    _Atomic(ucp_ep_h)   ep;
    _Atomic(int)         message; /**< uct_predreg_message_t */
    _Atomic(size_t)      length;

    /** UCT's handles. Written during the registration, and by the thread that has
     *  taken the slot */
    struct {
        void      *domain;
        uct_mem_h memh;
    }                   parts[UCT_PREDREG_HOT_DOMAINS];
    unsigned            num_parts;
    int                 is_detached; /**< The uses of the parts have ended already, and the
                                          memory gave way */
} uct_predreg_registration_t;


/** After how many sends a buffer of a context is hot. */
typedef struct uct_predreg_thresholds {
    /** By class of length; UCS_REUSE_NEVER. Relaxed: no other memory is read by
     *  them */
    _Atomic(uint32_t)  sends[UCS_REUSE_NUM_CLASSES];

    /** When to look again at the costs, ns by the caller's clock; UINT64_MAX: a thread
     *  looks just now, which has the fields below to itself. Acquire and release */
    _Atomic(uint64_t)  next;
    uint64_t          interval; /**< From the last look to the next one, ns */
    unsigned          looks;    /**< How many looks there were */
    ucs_reuse_costs_t costs;    /**< The least of all looks */
} uct_predreg_thresholds_t;


/** A context of UCP whose small sends are looked at. Its memory handles are its own, so
 *  the context has its own table of buffers. */
typedef struct uct_predreg_eager_context {
    /* Constant while the context is listed */
    ucp_context_h      ucp;
    uct_predreg_core_t *core;
    const uct_predreg_real_t *real; /**< Functions of its UCP */
    ucp_datatype_t     cold_datatype;
    ucs_reuse_table_t  table;
    ucs_reuse_slots_t  slots;
    uct_predreg_flights_t flights;
    size_t             min_length; /**< Shorter messages are left alone, bytes */
    size_t             max_length; /**< Longer messages are left alone, bytes */
    int                flag_decides; /**< Whether UCP chooses between the copy and
                                          zero-copy of a tag send by
                                          UCP_OP_ATTR_FLAG_FAST_CMPL, not by its
                                          cost model */
    int                has_rma; /**< See @ref uct_predreg_making_t */

    /** Measured by the first thread that makes a worker of the context, under the lock of
     *  the list, before the worker is listed. */
    uct_predreg_thresholds_t thresholds;
    int                is_calibrated;

    /** The next one of the list. Written under its lock; sequentially
     *  consistent, see context.c */
    _Atomic(struct uct_predreg_eager_context*) next;
} uct_predreg_eager_context_t;


/* context.c: the list of contexts, and their workers */

/**
 * List a new context.
 *
 * @return UCS_ERR_NO_MEMORY if there is no memory for the tables.
 */
ucs_status_t uct_predreg_eager_add(uct_predreg_core_t *core,
                                   const uct_predreg_real_t *real,
                                   ucp_context_h ucp,
                                   const uct_predreg_making_t *making,
                                   ucp_datatype_t cold_datatype);

/** Take a context off the list before its cleanup, and wait until nobody walks it
 *  any more (uct_predreg_eager_for_each()).
 *  @return the context, for the caller to free; NULL: the context is not listed. */
uct_predreg_eager_context_t *uct_predreg_eager_remove(ucp_context_h ucp);

/** Free the tables of a context, after its memory was deregistered, and the context. */
void uct_predreg_eager_free(uct_predreg_eager_context_t *context);

/** @return the context of a worker; NULL: its sends are left alone. Takes a lock
 *  if this thread did not use the worker of late. */
uct_predreg_eager_context_t *
uct_predreg_eager_find(uct_predreg_sender_t *sender, ucp_worker_h worker);

/** Call a function for each context. May be called in a memory hook, and waits
 *  for nobody: contexts that are being added or removed may be missed. */
void uct_predreg_eager_for_each(void (*func)(uct_predreg_eager_context_t *ctx,
                                             void *arg), void *arg);

/** @return whether this thread is making a worker of a context for puts and gets as
 *  well (has_rma). */
int uct_predreg_eager_is_making_rma(void);

/** In a forked child, where there is no other thread: forget all contexts. */
void uct_predreg_eager_reset(void);


/* thresholds.c */

/** The lengths that cold sends copy by the string instruction; at first all lengths
 *  from the instruction's minimum on. Relaxed: with any value, all bytes of a send are
 *  copied. */
extern _Atomic(ucs_reuse_copy_classes_t) uct_predreg_copies_by_string;

/** Measure the costs of a context, which takes some milliseconds, and find its thresholds.
 *  Registers memory with UCP. No buffer becomes hot if the costs cannot be found. */
void uct_predreg_thresholds_find(uct_predreg_eager_context_t *context);

/**
 * Look again at the costs if it is time to: a busy start of the program may have made the
 * measured costs many times too high. A look takes less than a millisecond, and the longer
 * ago the start is, the fewer looks there are. To be called where the program waits; any
 * thread.
 *
 * @param [in] now  A clock that is the same in each call, ns; not 0.
 */
void uct_predreg_thresholds_look(uct_predreg_eager_context_t *context, uint64_t now);

/** Say once that no length gains. Of a job, the first rank speaks for all. */
void uct_predreg_thresholds_tell_useless(const uct_predreg_core_t *core);

/** In a forked child, where there is no other thread: nothing was told yet. */
void uct_predreg_thresholds_reset(void);


/* hot.c: registrations of hot buffers */

/** Register memory of the host with a context of UCP. Hot buffers and measured memory are
 *  registered by the same call. */
static inline ucs_status_t
uct_predreg_eager_map(const uct_predreg_real_t *real, ucp_context_h ucp,
                      void *address, size_t length, ucp_mem_h *memh_p)
{
    const ucp_mem_map_params_t params = {
        .field_mask  = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                       UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                       UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address     = address,
        .length      = length,
        .memory_type = UCS_MEMORY_TYPE_HOST
    };

    return real->ucp_mem_map(ucp, &params, memh_p);
}

/**
 * Register a buffer that this thread is about to send.
 *
 * @param [in] buffer  Its entry of the table.
 * @param [in] length  Of the message, bytes. The pages of the message are
 *                     registered: as long as the program sends from them it does
 *                     not unmap them. Another thread may be unmapping further pages
 *                     of earlier messages just now, having called the memory hook
 *                     before there was a slot.
 * @return the number of the slot; 0: the buffer is not hot. Without room for it,
 *         its sends are counted from 0 again; if its memory cannot be registered,
 *         the count goes on.
 */
uint32_t uct_predreg_hot_make(uct_predreg_eager_context_t *context,
                              ucs_reuse_buffer_t *buffer, const void *address,
                              size_t length);

/** A message of a hot buffer has no slot that registers all of its bytes. If the
 *  buffer's slot is too short, register all of the message for the next ones. */
void uct_predreg_hot_refit(uct_predreg_eager_context_t *context,
                           ucs_reuse_buffer_t *buffer, const void *address,
                           size_t length);

/** Deregister dead memory that is not in flight. To be called where the program
 *  calls UCP. */
void uct_predreg_hot_reap(uct_predreg_eager_context_t *context);

/** Deregister all hot buffers of a context that is about to be destroyed. */
void uct_predreg_hot_close(uct_predreg_eager_context_t *context);

/** In a forked child, where there is no other thread. */
void uct_predreg_hot_reset(void);

/** A transport has sent a message of a slot without copying it. */
static UCS_F_ALWAYS_INLINE void uct_predreg_hot_prove(ucs_reuse_slot_t *slot)
{
    /* Read first: the line stays shared among threads that use the slot */
    if (ucs_unlikely(!atomic_load_explicit(&slot->is_proven,
                                           memory_order_relaxed))) {
        atomic_store_explicit(&slot->is_proven, 1, memory_order_relaxed);
    }
}


/* flight.c: hot sends, and endpoints whose transports copy messages from registered
 * buffers, too. Any thread takes a flight and gives it back, without waiting */

/* Transports within a node copy all messages, and UCP sends by rendezvous from a
 * length on, and does not tell from which. Both show when a message from a
 * registered buffer is sent and no transport's zero-copy operation was called.
 * Messages of such lengths are left alone, and their buffers are not registered. */

/** @return the lengths of messages of an endpoint that may go without a copy, of
 *  the lengths from min_length to max_length. */
uct_predreg_sender_range_t
uct_predreg_endpoint_lengths(ucp_ep_h ep, uct_predreg_message_t message,
                             size_t min_length, size_t max_length);

/** A message was copied; shorter ones are copied as well. */
void uct_predreg_endpoint_copies(ucp_ep_h ep, uct_predreg_message_t message,
                                 size_t length);

/** A message was sent by rendezvous; longer ones go by rendezvous as well. */
void uct_predreg_endpoint_has_rndv(ucp_ep_h ep, uct_predreg_message_t message,
                                   size_t length);

/** Forget all endpoints, also in the memory of senders. */
void uct_predreg_endpoints_forget(void);

ucs_status_t uct_predreg_flights_init(uct_predreg_flights_t *flights);

void uct_predreg_flights_cleanup(uct_predreg_flights_t *flights);

/** @return a send to be filled in; NULL: all are in flight. */
uct_predreg_flight_t *uct_predreg_flight_take(uct_predreg_flights_t *flights);

/** UCP has returned a request for a send. */
void uct_predreg_flight_issued(uct_predreg_flight_t *flight, void *request);

/** UCP calls back; nobody needs the send any more when the function returns.
 *  @return whether the program may be called back. */
int uct_predreg_flight_over(uct_predreg_flight_t *flight);

/** The program frees a request, and will not be called back. Looks at all flights.
 *  @return whether a send in flight has the request, so that UCP has to call back. */
int uct_predreg_flight_free(uct_predreg_flights_t *flights, void *request);

/**
 * Begin a hot send: hand the memory handle of its slot to UCP, and have UCP call
 * back at its end.
 *
 * @param [in]  slot    Acquired for this send.
 * @param [in]  sender  Of this thread.
 * @param [out] send    The fields of UCT_PREDREG_SEND_HOT are filled in.
 * @return 0 if too many sends are in flight: the message is to be copied, and the
 *         slot was released.
 */
int uct_predreg_flight_begin(uct_predreg_eager_context_t *context,
                             uct_predreg_sender_t *sender, ucs_reuse_slot_t *slot,
                             ucp_ep_h ep, const void *buffer, size_t length,
                             const ucp_request_param_t *param,
                             uct_predreg_send_t *send);


/* send.c */

/** Operations of the datatype of sends that are to be copied, for
 *  ucp_dt_create_generic(). No protocol of UCP sends a generic datatype without copying it
 *  (ucp_proto_common_find_lanes() of 1.16 and later, ucp_proto_get_zcopy_threshold()
 *  before); the same bytes go over the wire. The datatype can be packed only. Its count is
 *  the number of bytes, at most UCT_PREDREG_COLD_MAX_LENGTH; its buffer must have an
 *  address of 48 bits. No operation allocates memory; any thread may call them. */
extern const ucp_generic_dt_ops_t uct_predreg_cold_ops;

/** @return whether a buffer can be sent with the datatype of cold sends. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_cold_can_send(const void *buffer, size_t length)
{
    return (((uintptr_t)buffer >> 48) == 0) &&
           (length <= UCT_PREDREG_COLD_MAX_LENGTH);
}

/** Make the datatype of cold sends for all contexts, once. */
ucs_status_t uct_predreg_cold_make_datatype(const uct_predreg_real_t *real,
                                            ucp_datatype_t *datatype_p);

END_C_DECLS

#endif
