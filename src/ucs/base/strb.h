/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_STRB_H_
#define UCS_STRB_H_

#include <ucs/datastruct/string_buffer.h>

/** @file strb.h
 *
 * A string buffer of UCS in memory of the caller. UCS's own macros, such as
 * UCS_STRING_BUFFER_ONSTACK, compile the layout of the structure into the
 * caller, and UCX 1.17 moved the bit in the capacity that keeps UCS from giving
 * such memory to realloc(). So a function of the libucs that the process has loaded
 * fills in the structure. Any thread may use the buffer.
 */

static inline ucs_string_buffer_t ucs_strb_fixed(char *memory,
                                                 size_t capacity)
{
    ucs_string_buffer_t strb;

    ucs_string_buffer_init_fixed(&strb, memory, capacity);
    return strb;
}

/** Define an empty string buffer with its memory, two local variables that nobody
 *  frees. A text longer than the capacity is cut off. */
#define UCS_STRB(_var, _capacity) \
    char _var##_memory[_capacity]; \
    ucs_string_buffer_t _var = \
            ucs_strb_fixed(_var##_memory, sizeof(_var##_memory))

#endif
