/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ALIGN_H_
#define UCS_ALIGN_H_

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/** @file align.h
 *
 * Rounding to multiples of a unit, which need not be a power of 2, and the size of a
 * page of this machine, to count pages pinned by the kernel. The cache has its page size
 * as a parameter, since a replay may be of another machine. UCX's own macros for
 * rounding are not used: UCX 1.17 moved them to a header that is not installed. Any
 * thread may call the functions, memory hooks included.
 */

/** @return the largest multiple of @a unit that is not above a number. */
static inline uint64_t ucs_round_down(uint64_t number,
                                      uint64_t unit)
{
    return number - (number % unit);
}

/** @return the smallest multiple of @a unit that is not below a number. */
static inline uint64_t ucs_round_up(uint64_t number, uint64_t unit)
{
    return ucs_round_down(number + unit - 1, unit);
}

/** @return the size of a page, bytes; 4 KiB on x86, up to 64 KiB on ARM and
 *          POWER. */
static inline size_t ucs_page_size(void)
{
    return sysconf(_SC_PAGESIZE); /* Cannot fail: libc has it from the kernel's
                                     auxiliary vector */
}

#endif
