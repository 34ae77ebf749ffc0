/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_int.h"

#include <ucs/base/align.h>
#include <ucs/sys/math.h>
#include <uct/ib/predreg/core/state.h>

#include <stdlib.h>

/* The part of a bound on pinned memory that hot buffers may have is 1/BOUND_SHARE: the
 * rest is for messages that cannot be copied */
#define BOUND_SHARE 8

typedef uct_predreg_registration_t registration_t;

/* The registration under way in this thread; NULL: none */
static __thread registration_t *making;

/* See uct_predreg_hot_is_returning() */
static __thread int returning;

void uct_predreg_hot_registered(void *domain, uct_mem_h memh)
{
    if ((making != NULL) && (making->num_parts < UCT_PREDREG_HOT_DOMAINS)) {
        making->parts[making->num_parts].domain = domain;
        making->parts[making->num_parts].memh   = memh;
        ++making->num_parts;
    }
}

int uct_predreg_hot_is_returning(void)
{
    return returning;
}

/* Deregister the memory of a taken slot */
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

/* Deregister the least used buffer. @return 0 if all buffers are being sent */
static int replace_one(uct_predreg_eager_context_t *context)
{
    ucs_reuse_slot_t *slot = ucs_reuse_slots_take_victim(&context->slots);

    if (slot == NULL) {
        return 0;
    }

    slot_unmap(context, slot);
    return 1;
}

/* The bound on pinned bytes: the bound of the cache, which follows the limit of
 * locked memory, or the bound of the node */
static uint64_t max_bytes(const uct_predreg_core_t *core)
{
    return ucs_min((core->pred != NULL) ?
                           ucs_rcache_pred_get_max_bytes(core->pred) :
                           core->knobs.max_pinned,
                   core->knobs.node_max_pinned);
}

/* @return whether hot buffers may have @a length bytes more */
static int is_within_share(const uct_predreg_eager_context_t *context,
                           size_t length)
{
    const uct_predreg_knobs_t *knobs = &context->core->knobs;
    uint64_t bytes = ucs_relaxed_load(&context->slots.bytes) + length;

    return (bytes <= max_bytes(context->core) / BOUND_SHARE) &&
           (bytes / ucs_page_size() <=
            ucs_min(knobs->max_regions, knobs->node_max_regions) / BOUND_SHARE);
}

/* Register memory. @return NULL if UCP refuses, or if there is no memory for the
 * record */
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

uint32_t uct_predreg_hot_make(uct_predreg_eager_context_t *context,
                              ucs_reuse_buffer_t *buffer, const void *address,
                              size_t length)
{
    size_t page     = ucs_page_size();
    uintptr_t start = ucs_round_down((uintptr_t)address, page);
    uintptr_t end   = ucs_round_up((uintptr_t)address + length,
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
        return 0; /* The count of sends goes on: the table asks again ever more rarely */
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
    return number;

err:
    ucs_reuse_buffer_restart(buffer);
    return 0;
}

void uct_predreg_hot_refit(uct_predreg_eager_context_t *context,
                           ucs_reuse_buffer_t *buffer, const void *address,
                           size_t length)
{
    uint32_t number = ucs_reuse_buffer_handle(buffer);
    uintptr_t start = (uintptr_t)address;
    ucs_reuse_slot_t *slot;

    if (number == 0) {
        return; /* Another thread has deregistered the buffer already */
    }

    /* A slot that registers the first byte belongs to this buffer, and is too short. If
     * the number leads to no such slot, another thread has deregistered the slot before
     * the table got its number, and the sends are counted anew */
    slot = ucs_reuse_slots_acquire(&context->slots, number, start, start + 1);
    if (slot != NULL) {
        ucs_reuse_slots_retire(&context->slots, slot);
        ucs_reuse_slot_release(slot);
    }

    ucs_reuse_table_cool(&context->table, buffer, number);
    if (slot != NULL) {
        uct_predreg_hot_make(context, buffer, address, length);
    }
    uct_predreg_hot_reap(context);
}

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

/* A search for a registration that can give way. end() ends a use in a domain; is_made
 * tells whether a registration has given way */
typedef struct room {
    uct_predreg_hot_end_func_t end;
    int                        is_made;
} room_t;

/* End the uses of a registration in all domains. @return whether there were any uses */
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
    /* A registration with UCT_PREDREG_HOT_DOMAINS parts may have further parts, which
     * were not noted. Such a registration stays until UCP returns all of its parts
     * together */
    if (registration->num_parts < UCT_PREDREG_HOT_DOMAINS) {
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
