/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "hot.h"
#include "endpoints.h"
#include "map.h"

#include <ucs/base/align.h>
#include <ucs/base/page.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/* Hot buffers may have this part of a bound on pinned memory: the rest is for
 * messages that cannot be copied */
#define BOUND_SHARE 8

/* A registration of a buffer goes through each managed domain. Those of further
 * domains cannot give way */
#define MAX_DOMAINS 8


/* What is registered of a slot */
typedef struct registration {
    ucp_mem_h           memh;

    /* The last message that was sent from it. Relaxed, and not written together:
     * if threads send from it at a time, a part may be of one thread's message
     * and a part of another's. Then another endpoint is taken for one that
     * copies, and its messages are left alone */
    _Atomic(ucp_ep_h)   ep;
    _Atomic(int)         message; /* uct_predreg_message_t */
    _Atomic(size_t)      length;

    /* What UCT has returned for it. Written while it is being made, and by
     * whoever has taken the slot */
    struct {
        void      *domain;
        uct_mem_h memh;
    }                   parts[MAX_DOMAINS];
    unsigned            num_parts;
    int                 is_detached; /* The parts are gone already */
} registration_t;

/* The registration that this thread is making; NULL: none */
static __thread registration_t *making;

/* See uct_predreg_hot_is_returning() */
static __thread int returning;


/*
 * A message of a slot is over that no transport was seen to send without a
 * copy. It was not sent so: UCP has copied it, if it is over before UCP has returned
 * from the program's call, and else may have sent it by rendezvous, as it does
 * with all that are as long.
 */
static UCS_F_NOINLINE void not_proven(const ucs_reuse_slot_t *slot)
{
    const uct_predreg_sender_t *sender = uct_predreg_sender_mine;
    registration_t *registration       = slot->handle;
    uct_predreg_message_t message;
    size_t length;
    ucp_ep_h ep;

    ep      = atomic_load_explicit(&registration->ep, memory_order_relaxed);
    message = atomic_load_explicit(&registration->message,
                                   memory_order_relaxed);
    length  = atomic_load_explicit(&registration->length, memory_order_relaxed);
    if ((sender != NULL) && (slot == sender->issuing.slot)) {
        uct_predreg_endpoint_copies(ep, message, length);
    } else {
        uct_predreg_endpoint_has_rndv(ep, message, length);
    }
}

static int is_proven(const ucs_reuse_slot_t *slot)
{
    return ucs_likely(atomic_load_explicit(&slot->is_proven,
                                           memory_order_relaxed));
}

static void send_completed(ucs_reuse_slot_t *slot, ucs_status_t status)
{
    if (!is_proven(slot) && (status == UCS_OK)) {
        not_proven(slot);
    }
    ucs_reuse_slot_release(slot);
}

static void
completed(void *request, ucs_status_t status, void *user_data)
{
    uct_predreg_flight_t *flight = user_data;
    ucp_send_nbx_callback_t cb   = flight->cb;
    void *data                   = flight->user_data;

    send_completed(flight->slot, status);
    if (uct_predreg_flight_over(flight) && (cb != NULL)) {
        cb(request, status, data);
    }
}

/* Have UCP call back. @return 0 if there is no place for the send */
static int call_back(uct_predreg_eager_context_t *context,
                     ucs_reuse_slot_t *slot, const ucp_request_param_t *param,
                     uct_predreg_send_t *send)
{
    uct_predreg_flight_t *flight = uct_predreg_flight_take(&context->flights);

    if (flight == NULL) {
        return 0;
    }

    flight->slot      = slot;
    flight->cb        = (param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) ?
                        param->cb.send : NULL;
    flight->user_data = (param->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) ?
                        param->user_data : NULL;
    atomic_store_explicit(&flight->request, NULL, memory_order_relaxed);
    send->cb          = completed;
    send->user_data   = flight;
    send->flight      = flight;
    return 1;
}

/*
 * A message has no slot, and is copied. If that is since it is longer than what is registered,
 * register all of it for the next ones: the buffer has been hot already. If nothing of it
 * is registered, the sends of the buffer are counted anew: its slot may have
 * been reaped between having been filled and the buffer having become hot, so
 * that nobody has told the table.
 */
static UCS_F_NOINLINE void
give_up(uct_predreg_eager_context_t *context, uint32_t number,
        const void *address, size_t length)
{
    ucs_reuse_buffer_t *buffer = ucs_reuse_table_find(&context->table, address);
    uintptr_t start            = (uintptr_t)address;
    ucs_reuse_slot_t *slot;

    /* If it registers the first byte it is the one of this buffer */
    slot = ucs_reuse_slots_acquire(&context->slots, number, start, start + 1);
    if (slot != NULL) {
        ucs_reuse_slots_retire(&context->slots, slot);
        ucs_reuse_slot_release(slot);
    }

    if (buffer != NULL) {
        ucs_reuse_table_cool(&context->table, buffer, number);
        if (slot != NULL) {
            uct_predreg_hot_make(context, buffer, address, length);
        }
    }

    uct_predreg_hot_reap(context);
}

/* Note a message, in case that it is not seen */
static void
note_message(registration_t *registration, ucp_ep_h ep,
             uct_predreg_message_t message, size_t length)
{
    atomic_store_explicit(&registration->ep, ep, memory_order_relaxed);
    atomic_store_explicit(&registration->length, length, memory_order_relaxed);
    atomic_store_explicit(&registration->message, message,
                          memory_order_relaxed);
}

int uct_predreg_hot_begin(uct_predreg_eager_context_t *context,
                          uct_predreg_sender_t *sender, uint32_t number,
                          ucp_ep_h ep, const void *buffer, size_t length,
                          const ucp_request_param_t *param,
                          uct_predreg_send_t *send)
{
    uintptr_t start = (uintptr_t)buffer;
    registration_t *registration;
    ucs_reuse_slot_t *slot;

    slot = ucs_reuse_slots_acquire(&context->slots, number, start,
                                   start + length);
    if (ucs_unlikely(slot == NULL)) {
        give_up(context, number, buffer, length);
        return 0;
    }

    if (ucs_unlikely(!call_back(context, slot, param, send))) {
        ucs_reuse_slot_release(slot);
        uct_predreg_hot_reap(context);
        return 0;
    }

    registration = slot->handle;
    if (!is_proven(slot)) {
        note_message(registration, ep, send->message, length);
    }

    send->memh      = registration->memh;
    send->slot      = slot;
    send->outer     = sender->issuing;
    sender->issuing = (uct_predreg_issuing_t){slot, buffer, 0};
    return 1;
}

void uct_predreg_hot_over(const uct_predreg_send_t *send, ucs_status_t status)
{
    uct_predreg_flight_give_back(send->flight);
    send_completed(send->slot, status);
}

/* A request that is looked for */
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


void uct_predreg_hot_registered(void *domain, uct_mem_h memh)
{
    if ((making != NULL) && (making->num_parts < MAX_DOMAINS)) {
        making->parts[making->num_parts].domain = domain;
        making->parts[making->num_parts].memh   = memh;
        ++making->num_parts;
    }
}

int uct_predreg_hot_is_returning(void)
{
    return returning;
}

/* Deregister the memory of a slot that was taken */
static void slot_unmap(uct_predreg_eager_context_t *context,
                       ucs_reuse_slot_t *slot)
{
    registration_t *registration = slot->handle;

    ucs_reuse_table_cool(&context->table, slot->buffer,
                         ucs_reuse_slots_number(&context->slots, slot));
    returning = registration->is_detached;
    context->real->ucp_mem_unmap(context->ucp, registration->memh);
    returning = 0;
    free(registration);
    ucs_reuse_slots_free(&context->slots, slot);
}

void uct_predreg_hot_reap(uct_predreg_eager_context_t *context)
{
    ucs_reuse_slot_t *slot;

    while (ucs_unlikely((slot = ucs_reuse_slots_take_dead(&context->slots)) !=
                        NULL)) {
        slot_unmap(context, slot);
    }
}

void uct_predreg_hot_close(uct_predreg_eager_context_t *context)
{
    ucs_reuse_slot_t *slot;

    while ((slot = ucs_reuse_slots_take_any(&context->slots)) != NULL) {
        slot_unmap(context, slot);
    }
}

/* Deregister the least used buffer. @return 0 if all are being sent */
static int replace_one(uct_predreg_eager_context_t *context)
{
    ucs_reuse_slot_t *slot = ucs_reuse_slots_take_victim(&context->slots);

    if (slot == NULL) {
        return 0;
    }

    slot_unmap(context, slot);
    return 1;
}

/* The bound on pinned bytes: that of the cache, which follows the limit of locked
 * memory, and that of the node */
static uint64_t max_bytes(const uct_predreg_core_t *core)
{
    return ucs_min((core->pred != NULL) ?
                           ucs_rcache_pred_get_max_bytes(core->pred) :
                           core->knobs.max_pinned,
                   core->knobs.node_max_pinned);
}

/* Whether hot buffers may have so many bytes more */
static int is_within_share(const uct_predreg_eager_context_t *context,
                           size_t length)
{
    const uct_predreg_knobs_t *knobs = &context->core->knobs;
    uint64_t bytes = atomic_load_explicit(&context->slots.bytes,
                                          memory_order_relaxed) + length;

    return (bytes <= max_bytes(context->core) / BOUND_SHARE) &&
           (bytes / ucs_rcache_pred_page_size() <=
            ucs_min(knobs->max_regions, knobs->node_max_regions) / BOUND_SHARE);
}

/* Register memory. @return NULL if that is not possible */
static registration_t *
registration_make(uct_predreg_eager_context_t *context, uintptr_t start,
                  uintptr_t end)
{
    registration_t *registration;
    ucs_status_t status;

    registration = calloc(1, sizeof(*registration));
    if (registration == NULL) {
        return NULL;
    }

    making = registration;
    status = uct_predreg_eager_map(context->real, context->ucp, (void*)start,
                                   end - start, &registration->memh);
    making = NULL;
    if (status != UCS_OK) {
        free(registration);
        return NULL;
    }
    return registration;
}

int uct_predreg_hot_make(uct_predreg_eager_context_t *context,
                         ucs_reuse_buffer_t *buffer, const void *address,
                         size_t length)
{
    size_t page     = ucs_rcache_pred_page_size();
    uintptr_t start = ucs_rcache_pred_align_down((uintptr_t)address, page);
    uintptr_t end   = ucs_rcache_pred_align_up((uintptr_t)address + length,
                                               page);
    registration_t *registration;
    uint32_t number;

    uct_predreg_hot_reap(context);
    while (!is_within_share(context, end - start)) {
        if (!replace_one(context)) {
            goto err;
        }
    }

    registration = registration_make(context, start, end);
    if (registration == NULL) {
        return 0; /* The count goes on, so that it is tried more rarely */
    }

    do {
        number = ucs_reuse_slots_fill(&context->slots, start, end, registration,
                                      buffer);
    } while ((number == 0) && replace_one(context));

    if (number == 0) {
        context->real->ucp_mem_unmap(context->ucp, registration->memh);
        free(registration);
        goto err;
    }

    if (!ucs_reuse_table_heat(&context->table, buffer, address, number)) {
        ucs_reuse_slots_retire(&context->slots,
                               ucs_reuse_slots_at(&context->slots, number));
        return 0;
    }

    uct_predreg_count_heated();
    return 1;

err:
    ucs_reuse_buffer_restart(buffer);
    return 0;
}

/* A range of memory */
typedef struct range {
    uintptr_t start, end;
} range_t;

static void context_unmapped(uct_predreg_eager_context_t *context, void *arg)
{
    const range_t *range = arg;

    ucs_reuse_slots_unmapped(&context->slots, range->start, range->end);
}

void uct_predreg_hot_unmapped(uintptr_t start, uintptr_t end)
{
    range_t range = {start, end};

    uct_predreg_eager_for_each(context_unmapped, &range);
}

/* What is to make room */
typedef struct room {
    uct_predreg_hot_end_func_t end;
    int                        is_made;
} room_t;

/* End the uses of a registration. @return whether there were any */
static int
detach(registration_t *registration, uct_predreg_hot_end_func_t end)
{
    unsigned i;

    for (i = 0; i < registration->num_parts; ++i) {
        end(registration->parts[i].domain, registration->parts[i].memh);
    }

    registration->is_detached = (i > 0);
    return registration->is_detached;
}

static void context_give_way(uct_predreg_eager_context_t *context, void *arg)
{
    room_t *room = arg;
    registration_t *registration;
    ucs_reuse_slot_t *slot;

    if (room->is_made) {
        return;
    }

    slot = ucs_reuse_slots_take_victim(&context->slots);
    if (slot == NULL) {
        return;
    }

    registration = slot->handle;
    /* There may be parts that there was no place to note: UCP returns all of
     * them together */
    if (registration->num_parts < MAX_DOMAINS) {
        room->is_made = detach(registration, room->end);
    }
    ucs_reuse_table_cool(&context->table, slot->buffer,
                         ucs_reuse_slots_number(&context->slots, slot));
    ucs_reuse_slots_put_dead(&context->slots, slot);
}

int uct_predreg_hot_give_way(uct_predreg_hot_end_func_t end)
{
    room_t room = {.end = end};

    uct_predreg_eager_for_each(context_give_way, &room);
    return room.is_made;
}

void uct_predreg_hot_reset(void)
{
    making    = NULL;
    returning = 0;
}
