/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cold.h"

#include <ucs/sys/math.h>

#include <stdatomic.h>
#include <stdint.h>

/* The state of a send that is being packed is a pointer to UCP. The address of
 * the buffer and its length fit into it, so that nothing is allocated */
#define STATE_LENGTH_SHIFT 48

/* Relaxed: each of its values copies all bytes */
static _Atomic(ucs_reuse_copy_classes_t) by_string =
        UCS_REUSE_COPY_ALL_STRING;


void uct_predreg_cold_set_copies(ucs_reuse_copy_classes_t classes)
{
    atomic_store_explicit(&by_string, classes, memory_order_relaxed);
}

static void *start_pack(void *context, const void *buffer, size_t count)
{
    return (void*)((uintptr_t)buffer |
                   ((uintptr_t)count << STATE_LENGTH_SHIFT));
}

static const char *buffer_of(void *state)
{
    return (const char*)((uintptr_t)state & UCS_MASK(STATE_LENGTH_SHIFT));
}

static size_t packed_size(void *state)
{
    return (uintptr_t)state >> STATE_LENGTH_SHIFT;
}

static size_t pack(void *state, size_t offset, void *dest, size_t max_length)
{
    size_t length = ucs_min(packed_size(state) - offset, max_length);

    if (ucs_likely(length > 0)) {
        ucs_reuse_copy(dest, buffer_of(state) + offset, length,
                       atomic_load_explicit(&by_string, memory_order_relaxed));
    }
    return length;
}

static void finish(void *state)
{
}

/* Nothing is ever received with this datatype */

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
