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

/** In how many managed domains the registration of a buffer is noted. A buffer that is
 *  registered in as many or more cannot give way. */
#define UCT_PREDREG_HOT_DOMAINS 8

/** Longest message that can be sent with the datatype of cold sends, bytes. */
#define UCT_PREDREG_COLD_MAX_LENGTH 65535


/** The record of a hot send, here called a flight. Its fields belong to the thread that
 *  has taken it, and to UCP until UCP calls the library's callback. */
typedef struct uct_predreg_flight {
    ucs_reuse_slot_t        *slot;
    ucp_send_nbx_callback_t cb;         /**< The program's; NULL: it has none */
    void                    *user_data; /**< The program's */
    struct uct_predreg_flights *owner;
    /** The request of the send; NULL: UCP's call has not returned yet; or one of the
     *  values below. Written after the call of UCP, and in the library's callback: the
     *  later of the two writers gives the flight back. Acquire and release, since the
     *  writers may be two threads */
    _Atomic(void*)          request;
    /** Number of the next free flight plus one; 0: there is none. Relaxed: a thread
     *  may read the number in a flight that another thread takes meanwhile, and then
     *  finds that the list has changed */
    _Atomic(uint32_t)        next;
} uct_predreg_flight_t;

/** UCP has called the library's callback. */
#define UCT_PREDREG_FLIGHT_OVER  ((void*)1)

/** The program has freed the request, so its callback is not to be called. */
#define UCT_PREDREG_FLIGHT_FREED ((void*)2)

typedef struct uct_predreg_flights {
    uct_predreg_flight_t *flights; /**< Constant */
    /** Number of the first free flight plus one in the low 32 bits, and above them a
     *  count of changes, for compare-and-swap to notice. Acquire and release: a
     *  thread takes a flight after another thread gave it back. */
    _Atomic(uint64_t)     first;
} uct_predreg_flights_t;


/** The registration of a hot buffer. The buffer's slot (ucs/reuse) points to it. */
typedef struct uct_predreg_registration {
    ucp_mem_h           memh;

    /* The last message from the slot, written until the slot is proven. Relaxed, and not
     * together: if several threads send from the slot at a time, parts may be of
     * different messages. Then the wrong endpoint or length is taken for one that is
     * copied, and its messages are left alone */
    _Atomic(ucp_ep_h)   ep;
    _Atomic(int)         message; /**< uct_predreg_message_t */
    _Atomic(size_t)      length;

    /** The handles of the domains. Written during the registration, and read by the
     *  thread that has taken the slot to end it */
    struct {
        void      *domain;
        uct_mem_h memh;
    }                   parts[UCT_PREDREG_HOT_DOMAINS];
    unsigned            num_parts;
    int                 is_detached; /**< Whether the uses of the parts were ended to make
                                          room, while UCP still has memh */
} uct_predreg_registration_t;


/** After how many sends a buffer of a context becomes hot. */
typedef struct uct_predreg_thresholds {
    /** For each class of lengths; UCS_REUSE_NEVER: no buffer of the class becomes hot.
     *  Relaxed: no other memory is read through the numbers */
    _Atomic(uint32_t)  sends[UCS_REUSE_NUM_CLASSES];

    /** When to look again at the costs, ns by the caller's clock; UINT64_MAX: a thread is
     *  looking, and alone uses the fields below. Acquire and release */
    _Atomic(uint64_t)  next;
    uint64_t          interval; /**< From the last look to the next one, ns */
    unsigned          looks;    /**< How many looks there were */
    ucs_reuse_costs_t costs;    /**< The least costs of all looks */
} uct_predreg_thresholds_t;


/** A context of UCP whose small sends are looked at. A memory handle of UCP belongs to
 *  one context, so each context has a table of buffers. */
typedef struct uct_predreg_eager_context {
    /* Constant while the context is listed */
    ucp_context_h      ucp;
    uct_predreg_core_t *core;
    const uct_predreg_real_t *real; /**< Functions of the UCP that has made the context */
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
     *  the list of contexts, before the worker is listed. */
    uct_predreg_thresholds_t thresholds;
    int                is_calibrated;

    /** The next context of the list. Written under the lock of the list; sequentially
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

/** Take a context off the list before its cleanup, and wait until no thread is in
 *  uct_predreg_eager_for_each() any more.
 *  @return the context, for the caller to free; NULL: the context is not listed. */
uct_predreg_eager_context_t *uct_predreg_eager_remove(ucp_context_h ucp);

/** Free the tables of a context, after its memory was deregistered, and the context. */
void uct_predreg_eager_free(uct_predreg_eager_context_t *context);

/** @return the context of a worker; NULL: the caller leaves its sends alone. Takes a lock
 *  if this thread did not use the worker of late. */
uct_predreg_eager_context_t *
uct_predreg_eager_find(uct_predreg_sender_t *sender, ucp_worker_h worker);

/** Call a function for each context. May be called in a memory hook, and waits
 *  for nobody: contexts that are being added or removed may be missed. */
void uct_predreg_eager_for_each(void (*func)(uct_predreg_eager_context_t *ctx,
                                             void *arg), void *arg);

/** @return whether this thread is making a worker of a context that is for messages and
 *  for puts and gets (has_rma). */
int uct_predreg_eager_is_making_rma(void);

/** In a forked child, where there is no other thread: forget all contexts. */
void uct_predreg_eager_reset(void);


/* thresholds.c */

/** The lengths that the library copies by the string instruction in cold sends; at first
 *  all lengths from the instruction's minimum on. Relaxed: either way of copying copies
 *  all bytes of a send. */
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

/** Log once that registering pays for no length. In a job only the first rank logs it. */
void uct_predreg_thresholds_tell_useless(const uct_predreg_core_t *core);

/** In a forked child, where there is no other thread: nothing was logged yet. */
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
 * @param [in] buffer  The buffer's entry in the table of the context.
 * @param [in] length  Length of the message, bytes. Only the pages of this message are
 *                     registered, since the program does not unmap them while it sends
 *                     from them. Another thread may just be unmapping further pages of
 *                     earlier messages: if its memory hook came before there was a slot,
 *                     nothing would mark the slot as dead.
 * @return the number of the slot; 0: the buffer is not hot. If there is no room for
 *         the buffer, its sends are counted from 0 again; if its memory cannot be
 *         registered, the count goes on.
 */
uint32_t uct_predreg_hot_make(uct_predreg_eager_context_t *context,
                              ucs_reuse_buffer_t *buffer, const void *address,
                              size_t length);

/** Called for a message from a hot buffer whose slot does not register all bytes of the
 *  message. If the slot is only too short, the function registers the whole message, for
 *  the next messages; if the buffer has no slot any more, its sends are counted anew. */
void uct_predreg_hot_refit(uct_predreg_eager_context_t *context,
                           ucs_reuse_buffer_t *buffer, const void *address,
                           size_t length);

/** Deregister dead buffers that are not being sent. To be called where the program
 *  calls UCP. */
void uct_predreg_hot_reap(uct_predreg_eager_context_t *context);

/** Deregister all hot buffers of a context that is about to be destroyed. */
void uct_predreg_hot_close(uct_predreg_eager_context_t *context);

/** In a forked child, where there is no other thread: this thread registers nothing. */
void uct_predreg_hot_reset(void);

/** Note that a transport has sent a message from a slot without copying it. */
static UCS_F_ALWAYS_INLINE void uct_predreg_hot_prove(ucs_reuse_slot_t *slot)
{
    /* Read before writing, so that threads that use the slot share its cache line */
    if (ucs_unlikely(!ucs_relaxed_load(&slot->is_proven))) {
        ucs_relaxed_store(&slot->is_proven, 1);
    }
}


/* flight.c: hot sends, and endpoints whose transports copy messages from registered
 * buffers, too. Any thread takes a flight and gives a flight back, without waiting */

/* Transports within a node copy all messages. UCP sends messages from a length on by
 * rendezvous, and does not tell the length. In both cases a message from a registered
 * buffer is sent without a call of a transport's zero-copy operation. Messages of such
 * lengths are left alone from then on, and their buffers are not registered. */

/** @return which lengths of messages from min_length to max_length may go without a copy
 *  over an endpoint. */
uct_predreg_sender_range_t
uct_predreg_endpoint_lengths(ucp_ep_h ep, uct_predreg_message_t message,
                             size_t min_length, size_t max_length);

/** Note that a message was copied: shorter messages are copied as well. */
void uct_predreg_endpoint_copies(ucp_ep_h ep, uct_predreg_message_t message,
                                 size_t length);

/** Note that a message was sent by rendezvous: longer messages are as well. */
void uct_predreg_endpoint_has_rndv(ucp_ep_h ep, uct_predreg_message_t message,
                                   size_t length);

/** Forget all endpoints, in the table and in all senders. */
void uct_predreg_endpoints_forget(void);

ucs_status_t uct_predreg_flights_init(uct_predreg_flights_t *flights);

void uct_predreg_flights_cleanup(uct_predreg_flights_t *flights);

/** @return a flight to be filled in; NULL: all flights are taken. */
uct_predreg_flight_t *uct_predreg_flight_take(uct_predreg_flights_t *flights);

/** UCP has returned a request for a flight's send. */
void uct_predreg_flight_issued(uct_predreg_flight_t *flight, void *request);

/** UCP has called the library's callback. When the function returns, nobody needs the
 *  flight any more.
 *  @return whether the caller may call the program's callback. */
int uct_predreg_flight_over(uct_predreg_flight_t *flight);

/** The program frees a request: the library will not call the program's callback for it.
 *  Looks at all flights.
 *  @return whether a flight has the request: then UCP must still call the library's
 *  callback, and the caller has the request released, not freed. */
int uct_predreg_flight_free(uct_predreg_flights_t *flights, void *request);

/**
 * Begin a hot send: fill in the slot's memory handle for UCP, and the library's callback,
 * which UCP calls at the end of the send.
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
 *  ucp_dt_create_generic(). No protocol of UCP sends a generic datatype without copying
 *  it (ucp_proto_common_find_lanes() of 1.16 and later, ucp_proto_get_zcopy_threshold()
 *  before); the wire carries the same bytes. Data of the datatype can only be sent. Its
 *  count is the number of bytes, at most UCT_PREDREG_COLD_MAX_LENGTH; the buffer must
 *  have an address of 48 bits. No operation allocates memory; any thread may call
 *  them. */
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
