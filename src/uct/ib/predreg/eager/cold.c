/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cold.h"

#include <ucs/sys/math.h>

#include <stdint.h>
#include <string.h>

/* From this many bytes on the string instruction of x86 copies faster than
 * memcpy() of glibc, which UCX 1.13 to 1.23 knows as well
 * (UCX_BUILTIN_MEMCPY_MIN, cpu.c of UCS) */
#define STRING_COPY_MIN 1024

/* The state of a send that is being packed is a pointer to UCP. The address of
 * the buffer and its length fit into it, so that nothing is allocated */
#define STATE_LENGTH_SHIFT 48


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

static void copy_bytes(void *dest, const void *src, size_t length)
{
#ifdef __x86_64__
    if (length >= STRING_COPY_MIN) {
        asm volatile("rep movsb"
                     : "+D"(dest), "+S"(src), "+c"(length)
                     :
                     : "memory");
        return;
    }
#endif
    memcpy(dest, src, length);
}

static size_t pack(void *state, size_t offset, void *dest, size_t max_length)
{
    size_t length = ucs_min(packed_size(state) - offset, max_length);

    copy_bytes(dest, buffer_of(state) + offset, length);
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
