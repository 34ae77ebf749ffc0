/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "send.h"
#include "cold.h"
#include "context.h"
#include "endpoints.h"
#include "hot.h"
#include "thresholds.h"
#include "zcopy.h"

#include <ucs/base/clock.h>
#include <uct/ib/predreg/core/state.h>


/* Fields and flags of a request that say that the program has something else in
 * mind than a plain send: these are left alone */
#define SPECIAL_FIELDS \
    (UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL | \
     UCT_PREDREG_UNKNOWN_FIELDS)

/* Those that say so or not, by their value */
#define AMBIGUOUS_FIELDS \
    (UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE)


/* The datatype of cold sends, for all contexts. Written by the first context
 * that is made, before it is listed */
static ucp_datatype_t cold_datatype;

/* What a transport sends without a copy, of a send that UCP was called for
 * before: there was no room for it, or UCP was still connecting */
typedef struct late {
    const uct_iov_t *iov;
    int             is_hot; /* Whether it is of a hot buffer */
} late_t;

static void find_late(uct_predreg_eager_context_t *context, void *arg)
{
    late_t *late = arg;
    const ucs_reuse_buffer_t *buffer;
    ucs_reuse_slot_t *slot;
    uint32_t handle;

    buffer = ucs_reuse_table_find(&context->table, late->iov->buffer);
    handle = (buffer == NULL) ? 0 : ucs_reuse_buffer_handle(buffer);
    if (handle == 0) {
        return;
    }

    slot = ucs_reuse_slots_at(&context->slots, handle);
    if (ucs_reuse_slot_is_sent(slot)) {
        uct_predreg_hot_prove(slot);
        late->is_hot = 1;
    }
}

static void count_late(const uct_iov_t *iov)
{
    late_t late = {.iov = iov};

    uct_predreg_eager_for_each(find_late, &late);
    if (late.is_hot) {
        uct_predreg_count_late(iov->length);
    }
}

/* A transport has sent this without a copy */
static void zcopy_seen(const uct_iov_t *iov, size_t iovcnt)
{
    size_t i;

    if (uct_predreg_hot_see(iov, iovcnt)) {
        return;
    }

    for (i = 0; i < iovcnt; ++i) {
        if (iov[i].length <= UCS_REUSE_MAX_LENGTH) {
            count_late(&iov[i]);
        }
    }
}

void uct_predreg_eager_start(void)
{
    uct_predreg_zcopy_set_func(zcopy_seen);
}

void uct_predreg_eager_iface_opened(uct_iface_h iface)
{
    uct_predreg_zcopy_watch(iface);
}

ucs_status_t uct_predreg_eager_make_datatype(const uct_predreg_real_t *real)
{
    return (cold_datatype != 0) ?
           UCS_OK :
           real->ucp_dt_create_generic(&uct_predreg_cold_ops, NULL,
                                       &cold_datatype);
}

/* Whether the memory is the host's as far as anybody knows */
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

/* Have UCP copy a message. @return what is to be changed for that */
static UCS_F_ALWAYS_INLINE unsigned
send_cold(const uct_predreg_eager_context_t *context, const void *buffer,
          size_t length, const ucp_request_param_t *param,
          uct_predreg_send_t *send)
{
    /* UCX 1.15 and later refuse a send with both flags
     * (UCP_REQUEST_CHECK_PARAM()) */
    if (context->flag_decides && (send->message == UCT_PREDREG_MESSAGE_TAG) &&
        !(param->op_attr_mask & UCP_OP_ATTR_FLAG_MULTI_SEND)) {
        return uct_predreg_eager_is_hasty(param) ? 0 : UCT_PREDREG_SEND_FAST;
    }

    if (!uct_predreg_cold_can_send(buffer, length)) {
        return 0;
    }

    send->datatype = cold_datatype;
    return UCT_PREDREG_SEND_DATATYPE;
}

/* Whether a buffer is to be registered that was sent so often. If that fails,
 * as it does where the program may only read the memory, it is tried again more
 * and more rarely, since each attempt takes as long as many copies */
static int is_due(uint32_t count, uint32_t threshold)
{
    return (count == threshold) || ucs_is_pow2(count);
}

/* Count a send. @return the handle of the buffer if it is hot, or 0 */
static UCS_F_ALWAYS_INLINE uint32_t
count_send(uct_predreg_eager_context_t *context, const void *address,
           size_t length)
{
    uint32_t threshold = atomic_load_explicit(
            &context->thresholds.sends[ucs_reuse_class(length)],
            memory_order_relaxed);
    ucs_reuse_buffer_t *buffer;
    uint32_t handle, count;

    if (threshold == UCS_REUSE_NEVER) {
        return 0;
    }

    buffer = ucs_reuse_table_find(&context->table, address);
    if (ucs_unlikely(buffer == NULL)) {
        buffer = ucs_reuse_table_add(&context->table, address);
        if (buffer == NULL) {
            return 0;
        }
    }

    handle = ucs_reuse_buffer_handle(buffer);
    if (handle != 0) {
        return handle;
    }

    count = ucs_reuse_buffer_count(buffer);
    if (ucs_likely(count < threshold) || !is_due(count, threshold) ||
        !uct_predreg_hot_make(context, buffer, address, length)) {
        return 0;
    }
    return ucs_reuse_buffer_handle(buffer);
}

/* Note what there is to know of an endpoint */
static UCS_F_NOINLINE void
find_ep(uct_predreg_sender_t *sender, uct_predreg_sender_ep_t *known,
        ucp_ep_h ep, ucp_worker_h worker)
{
    uct_predreg_message_t message;

    known->ep         = ep;
    known->worker     = worker;
    /* Acquire: see the variable */
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
    ucp_worker_h worker;
    uint32_t handle;

    if (ucs_unlikely(sender == NULL)) {
        *sender_p = sender = uct_predreg_sender_take();
        if (sender == NULL) {
            return 0;
        }
    }

    /* The first word of an endpoint is its worker, from UCX 1.13 to 1.23
     * (ucp_ep.h). If it were not, no context would be found by it */
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
    if (!uct_predreg_eager_is_hasty(param)) {
        handle = count_send(context, buffer, length);
        if ((handle != 0) &&
            uct_predreg_hot_begin(context, sender, handle, ep, buffer, length,
                                  param, send)) {
            return UCT_PREDREG_SEND_HOT;
        }
    }

    return send_cold(context, buffer, length, param, send);
}

void uct_predreg_eager_sent(uct_predreg_sender_t *sender,
                            const uct_predreg_send_t *send, size_t length,
                            ucs_status_ptr_t result)
{
    if (uct_predreg_hot_issued(sender, send, result)) {
        uct_predreg_sender_add(&sender->hot, 1);
        uct_predreg_sender_add(&sender->bytes_saved, length);
    }
}

void uct_predreg_eager_idle(uct_predreg_sender_t **sender_p,
                            ucp_worker_h worker, uint64_t now)
{
    uct_predreg_eager_context_t *context;

    if (*sender_p == NULL) {
        return; /* This thread sends nothing */
    }

    context = uct_predreg_eager_find(*sender_p, worker);
    if (context != NULL) {
        uct_predreg_hot_reap(context);
        uct_predreg_thresholds_look(context->core, context->real, context->ucp,
                                    &context->table, &context->thresholds,
                                    (now != 0) ? now : ucs_monotonic_ns());
    }
}

void uct_predreg_eager_fork(void)
{
    uct_predreg_eager_reset();
    uct_predreg_senders_reset();
    uct_predreg_endpoints_forget();
    uct_predreg_hot_reset();
    uct_predreg_zcopy_reset();
    uct_predreg_thresholds_reset();
}
