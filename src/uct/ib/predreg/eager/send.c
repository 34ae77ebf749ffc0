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

#include <uct/ib/predreg/core/state.h>


/* Fields and flags of a request that say that the program has something else in
 * mind than a plain send: these are left alone */
#define SPECIAL_FIELDS \
    (UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL)


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

static int is_plain(const uct_predreg_comm_t *comm)
{
    const ucp_request_param_t *param = comm->param;

    return !(param->op_attr_mask &
             (SPECIAL_FIELDS | UCT_PREDREG_UNKNOWN_FIELDS)) &&
           (!(param->op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) ||
            !(param->flags & UCP_AM_SEND_FLAG_RNDV)) && is_host(param);
}

/* Have UCP copy a message */
static void send_cold(const uct_predreg_eager_context_t *context,
                      uct_predreg_comm_t *comm, size_t length)
{
    if (context->flag_decides &&
        (comm->message == UCT_PREDREG_MESSAGE_TAG)) {
        if (!(comm->param->op_attr_mask & UCP_OP_ATTR_FLAG_FAST_CMPL)) {
            comm->changed |= UCT_PREDREG_COMM_FAST;
        }
    } else if (uct_predreg_cold_can_send(comm->buffer, length)) {
        comm->datatype = cold_datatype;
        comm->count    = length;
        comm->changed |= UCT_PREDREG_COMM_DATATYPE;
    }
}

/*
 * Whether sending without the copy would keep the program from going on. A send
 * that the program waits for (UCP_OP_ATTR_FLAG_FAST_CMPL) is over at once if it
 * is copied, and else only when the peer has acknowledged it (openucx/ucx
 * #3113). A program that has found nothing to do between its sends, as one that
 * waits for an answer, does not lose by that; one that sends one message after
 * the other does.
 */
static int is_hasty(uct_predreg_eager_context_t *context,
                    const uct_predreg_comm_t *comm)
{
    /* Relaxed: it only decides how a send goes */
    if (!(comm->param->op_attr_mask & UCP_OP_ATTR_FLAG_FAST_CMPL)) {
        return 0;
    }

    if (atomic_load_explicit(&context->has_waited, memory_order_relaxed)) {
        atomic_store_explicit(&context->has_waited, 0, memory_order_relaxed);
        return 0;
    }
    return 1;
}

/* Whether a buffer is to be registered that was sent so often. If that fails,
 * as it does where the program may only read the memory, it is tried again more
 * and more rarely, since each attempt takes as long as many copies */
static int is_due(uint32_t count, uint32_t threshold)
{
    return (count == threshold) || ucs_is_pow2(count);
}

/* Count a send. @return the handle of the buffer if it is hot, or 0 */
static uint32_t
count_send(uct_predreg_eager_context_t *context, const void *address,
           size_t length)
{
    uint32_t threshold = context->thresholds[ucs_reuse_class(length)];
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
        if (ucs_unlikely(length > ucs_reuse_buffer_length(buffer))) {
            ucs_reuse_buffer_count(buffer, length); /* Notes the length */
        }
        return handle;
    }

    count = ucs_reuse_buffer_count(buffer, length);
    if (ucs_likely(count < threshold) || !is_due(count, threshold) ||
        !uct_predreg_hot_make(context, buffer, address)) {
        return 0;
    }
    return ucs_reuse_buffer_handle(buffer);
}

/* Prepare a message to be sent from its buffer without a copy. @return 0 if the
 * buffer is not hot, or cannot be sent from now: then it is to be copied. */
static int send_hot(uct_predreg_eager_context_t *context,
                    uct_predreg_comm_t *comm, size_t length)
{
    uint32_t handle;

    if (is_hasty(context, comm)) {
        return 0;
    }

    handle = count_send(context, comm->buffer, length);
    if (ucs_likely(handle == 0)) {
        return 0;
    }

    if (!uct_predreg_hot_begin(context, handle, comm, length)) {
        uct_predreg_hot_reap(context);
        return 0;
    }

    if (context->flag_decides) {
        comm->changed |= UCT_PREDREG_COMM_NOT_FAST;
    }
    return 1;
}

void uct_predreg_eager_send(uct_predreg_sender_t **sender_p,
                            uct_predreg_comm_t *comm)
{
    size_t length = comm->count * (comm->datatype >> UCP_DATATYPE_SHIFT);
    uct_predreg_eager_context_t *context;

    if (ucs_unlikely(*sender_p == NULL)) {
        *sender_p = uct_predreg_sender_take();
        if (*sender_p == NULL) {
            return;
        }
    }

    /* The first word of an endpoint is its worker, from UCX 1.13 to 1.23
     * (ucp_ep.h). If it were not, no context would be found by it */
    context = uct_predreg_eager_find(*sender_p, *(ucp_worker_h*)comm->ep);
    if ((context == NULL) || (length < context->min_length) ||
        uct_predreg_endpoint_has_no_zcopy(comm->ep, comm->message, length) ||
        !is_plain(comm)) {
        return;
    }

    uct_predreg_sender_add(&(*sender_p)->sends, 1);
    if (!send_hot(context, comm, length)) {
        send_cold(context, comm, length);
    }
}

void uct_predreg_eager_sent(uct_predreg_sender_t *sender,
                            uct_predreg_comm_t *comm, ucs_status_ptr_t result)
{
    /* The count is as it was: only a cold send has another one */
    size_t length = comm->count * (comm->datatype >> UCP_DATATYPE_SHIFT);

    if (uct_predreg_hot_issued(comm, result)) {
        uct_predreg_sender_add(&sender->hot, 1);
        uct_predreg_sender_add(&sender->bytes_saved, length);
    }
}

void uct_predreg_eager_idle(uct_predreg_sender_t **sender_p,
                            ucp_worker_h worker)
{
    uct_predreg_eager_context_t *context;

    if (*sender_p == NULL) {
        return; /* This thread sends nothing */
    }

    context = uct_predreg_eager_find(*sender_p, worker);
    if (context == NULL) {
        return;
    }

    /* Read first: the line stays shared among threads that wait */
    if (!atomic_load_explicit(&context->has_waited, memory_order_relaxed)) {
        atomic_store_explicit(&context->has_waited, 1, memory_order_relaxed);
    }
    uct_predreg_hot_reap(context);
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
