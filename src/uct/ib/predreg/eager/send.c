/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_int.h"

#include <ucs/base/clock.h>
#include <uct/ib/predreg/core/state.h>


/* Fields and flags of a request by which the program asks for more than a plain
 * send: sends with any of them are left alone */
#define SPECIAL_FIELDS \
    (UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL | \
     UCT_PREDREG_UNKNOWN_FIELDS)

/* Fields that a plain send may have or not, depending on their values */
#define AMBIGUOUS_FIELDS \
    (UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE)

/* UCP keeps a pointer for the datatype in each cold send, its state. The address of the
 * buffer and the length fit into the pointer, so that nothing is allocated */
#define STATE_LENGTH_SHIFT 48


static void *start_pack(void *context, const void *buffer, size_t count)
{
    return (void*)((uintptr_t)buffer |
                   ((uintptr_t)count << STATE_LENGTH_SHIFT));
}

static size_t packed_size(void *state)
{
    return (uintptr_t)state >> STATE_LENGTH_SHIFT;
}

static size_t pack(void *state, size_t offset, void *dest, size_t max_length)
{
    const char *buffer = (const char*)((uintptr_t)state &
                                       UCS_MASK(STATE_LENGTH_SHIFT));
    size_t length      = ucs_min(packed_size(state) - offset, max_length);

    if (ucs_likely(length > 0)) {
        ucs_reuse_copy(dest, buffer + offset, length,
                       ucs_relaxed_load(&uct_predreg_copies_by_string));
    }
    return length;
}

static void finish(void *state)
{
}

/* The datatype of cold sends is for sending only: its functions for receiving are never
 * called */

static void *start_unpack(void *context, void *buffer, size_t count)
{
    return NULL;
}

static ucs_status_t
unpack(void *state, size_t offset, const void *src, size_t length)
{
    return UCS_ERR_UNSUPPORTED;
}

const ucp_generic_dt_ops_t uct_predreg_cold_ops = {
    .start_pack   = start_pack,
    .start_unpack = start_unpack,
    .packed_size  = packed_size,
    .pack         = pack,
    .unpack       = unpack,
    .finish       = finish
};

ucs_status_t uct_predreg_cold_make_datatype(const uct_predreg_real_t *real,
                                            ucp_datatype_t *datatype_p)
{
    /* Written for the first context, before it is listed */
    static ucp_datatype_t datatype;
    ucs_status_t status = UCS_OK;

    if (datatype == 0) {
        status = real->ucp_dt_create_generic(&uct_predreg_cold_ops, NULL,
                                             &datatype);
    }
    *datatype_p = datatype;
    return status;
}


/* @return whether the memory of a send is the host's, as far as anybody knows */
static int is_host(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) ?
           (param->memory_type == UCS_MEMORY_TYPE_HOST) :
           !uct_predreg_has_devices();
}

UCS_F_NOINLINE int uct_predreg_eager_is_plain(const ucp_request_param_t *param)
{
    return !(param->op_attr_mask & SPECIAL_FIELDS) &&
           (!(param->op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) ||
            !(param->flags & UCP_AM_SEND_FLAG_RNDV)) && is_host(param);
}

static UCS_F_ALWAYS_INLINE int is_plain(const ucp_request_param_t *param)
{
    return ucs_likely(!(param->op_attr_mask &
                        (SPECIAL_FIELDS | AMBIGUOUS_FIELDS)) &&
                      !uct_predreg_has_devices()) ||
           uct_predreg_eager_is_plain(param);
}

/* Have UCP copy a message. @return the changes of the send */
static UCS_F_ALWAYS_INLINE unsigned
send_cold(const uct_predreg_eager_context_t *context, const void *buffer,
          size_t length, const ucp_request_param_t *param,
          uct_predreg_send_t *send)
{
    /* UCX 1.15 and later refuse a send with the flags FAST_CMPL and MULTI_SEND
     * (UCP_REQUEST_CHECK_PARAM()) */
    if (context->flag_decides && (send->message == UCT_PREDREG_MESSAGE_TAG) &&
        !(param->op_attr_mask & UCP_OP_ATTR_FLAG_MULTI_SEND)) {
        return uct_predreg_eager_wants_fast_cmpl(param) ?
               0 : UCT_PREDREG_SEND_FAST;
    }

    if (!uct_predreg_cold_can_send(buffer, length)) {
        return 0;
    }

    send->datatype = context->cold_datatype;
    return UCT_PREDREG_SEND_DATATYPE;
}

/* Register a buffer. @return its slot, acquired for the present message; NULL: the
 * message is to be copied */
static UCS_F_NOINLINE ucs_reuse_slot_t *
heat(uct_predreg_eager_context_t *context, ucs_reuse_buffer_t *buffer,
     const void *address, size_t length)
{
    uint32_t number = uct_predreg_hot_make(context, buffer, address, length);
    uintptr_t start = (uintptr_t)address;

    return (number == 0) ? NULL :
           ucs_reuse_slots_acquire(&context->slots, number, start,
                                   start + length);
}

/* @return the slot to send a message from, acquired; NULL: the message is to be
 * copied */
static UCS_F_ALWAYS_INLINE ucs_reuse_slot_t *
find_slot(uct_predreg_eager_context_t *context, const void *address,
          size_t length)
{
    unsigned class     = ucs_reuse_class(length);
    uint32_t threshold = ucs_relaxed_load(&context->thresholds.sends[class]);
    ucs_reuse_buffer_t *buffer;
    ucs_reuse_slot_t *slot;

    switch (ucs_reuse_decide(&context->table, &context->slots, threshold,
                             address, length, &buffer, &slot)) {
    case UCS_REUSE_HOT:
        return slot;
    case UCS_REUSE_REGISTER:
        return heat(context, buffer, address, length);
    case UCS_REUSE_MISFIT:
        uct_predreg_hot_refit(context, buffer, address, length);
        return NULL;
    default:
        return NULL;
    }
}

/* Look up an endpoint's context and, for each kind of message, the lengths to handle, and
 * remember them in @a known */
static UCS_F_NOINLINE void
find_ep(uct_predreg_sender_t *sender, uct_predreg_sender_ep_t *known,
        ucp_ep_h ep, ucp_worker_h worker)
{
    uct_predreg_message_t message;

    known->ep         = ep;
    known->worker     = worker;
    /* Acquire: see uct_predreg_sender_generation */
    known->generation = atomic_load_explicit(&uct_predreg_sender_generation,
                                             memory_order_acquire);
    known->context    = uct_predreg_eager_find(sender, worker);
    for (message = 0; message < UCT_PREDREG_MESSAGE_LAST; ++message) {
        known->ranges[message] = (known->context == NULL) ?
                uct_predreg_endpoint_lengths(ep, message, SIZE_MAX, 0) :
                uct_predreg_endpoint_lengths(ep, message,
                                             known->context->min_length,
                                             known->context->max_length);
    }
}

unsigned uct_predreg_eager_send(uct_predreg_sender_t **sender_p, ucp_ep_h ep,
                                const void *buffer, size_t length,
                                const ucp_request_param_t *param,
                                uct_predreg_send_t *send)
{
    uct_predreg_sender_t *sender = *sender_p;
    uct_predreg_eager_context_t *context;
    const uct_predreg_sender_range_t *range;
    uct_predreg_sender_ep_t *known;
    ucs_reuse_slot_t *slot;
    ucp_worker_h worker;

    if (ucs_unlikely(sender == NULL)) {
        *sender_p = sender = uct_predreg_sender_take();
        if (sender == NULL) {
            return 0;
        }
    }

    /* The first word of an endpoint is its worker, from UCX 1.13 to 1.23 (ucp_ep.h). If
     * it were another word, no context would be found for it, and the send would be left
     * alone */
    worker = *(ucp_worker_h*)ep;
    known  = uct_predreg_sender_ep(sender, ep);
    if (ucs_unlikely((known->ep != ep) || (known->worker != worker) ||
                     !uct_predreg_sender_is_recent(known->generation))) {
        find_ep(sender, known, ep, worker);
    }

    range = &known->ranges[send->message];
    if ((length - range->min > range->span) || !is_plain(param)) {
        return 0;
    }

    context = known->context;
    uct_predreg_sender_add(&sender->sends, 1);
    if (!uct_predreg_eager_wants_fast_cmpl(param)) {
        slot = find_slot(context, buffer, length);
        if (slot != NULL) {
            if (ucs_likely(uct_predreg_flight_begin(context, sender, slot, ep,
                                                    buffer, length, param,
                                                    send))) {
                return UCT_PREDREG_SEND_HOT;
            }
            uct_predreg_hot_reap(context);
        }
    }

    return send_cold(context, buffer, length, param, send);
}

/* A search for the flight that has a request */
typedef struct search {
    void *request;
    int  is_found;
} search_t;

static void context_freeing(uct_predreg_eager_context_t *context, void *arg)
{
    search_t *search = arg;

    search->is_found = search->is_found ||
                       uct_predreg_flight_free(&context->flights,
                                               search->request);
}

int uct_predreg_hot_freeing(void *request)
{
    search_t search = {.request = request};

    uct_predreg_eager_for_each(context_freeing, &search);
    return search.is_found;
}

void uct_predreg_eager_idle(uct_predreg_sender_t **sender_p,
                            ucp_worker_h worker, uint64_t now)
{
    uct_predreg_eager_context_t *context;

    if (*sender_p == NULL) {
        return; /* The thread sends nothing */
    }

    context = uct_predreg_eager_find(*sender_p, worker);
    if (context != NULL) {
        uct_predreg_hot_reap(context);
        uct_predreg_thresholds_look(context,
                                    (now != 0) ? now : ucs_monotonic_ns());
    }
}
