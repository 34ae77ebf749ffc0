/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_COPY_H_
#define UCS_REUSE_COPY_H_

#include "costs.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

BEGIN_C_DECLS

/** @file copy.h
 *
 * Two ways to copy a small message: memcpy(), and the string instruction of x86.
 * Which of them is faster depends on the processor and the length: at 8 KB the
 * instruction was seen to take from half to seven times as long.
 */

/** The instruction is for no shorter copies, bytes. UCX has the same limit
 *  (UCX_BUILTIN_MEMCPY_MIN, cpu.c of UCS, 1.13 to 1.23). */
#define UCS_REUSE_COPY_STRING_MIN 1024

/** The lengths that are copied by the instruction: bit i for the lengths of class
 *  i (ucs_reuse_class()). */
typedef uint64_t ucs_reuse_copy_classes_t;

/** All lengths above UCS_REUSE_COPY_STRING_MIN. */
#define UCS_REUSE_COPY_ALL_STRING \
    (~UCS_MASK(UCS_REUSE_COPY_STRING_MIN / UCS_REUSE_STEP))

/** Copy by the instruction where there is one. */
static UCS_F_ALWAYS_INLINE void
ucs_reuse_copy_string(void *dest, const void *src, size_t length)
{
#ifdef __x86_64__
    asm volatile("rep movsb"
                 : "+D"(dest), "+S"(src), "+c"(length)
                 :
                 : "memory");
#else
    memcpy(dest, src, length);
#endif
}

/** Copy in the way that is the faster one.
 *  @param [in] length  Not 0. The last class is for all that is longer, too. */
static UCS_F_ALWAYS_INLINE void
ucs_reuse_copy(void *dest, const void *src, size_t length,
               ucs_reuse_copy_classes_t by_string)
{
    unsigned bit = (length > UCS_REUSE_MAX_LENGTH) ?
                   (UCS_REUSE_NUM_CLASSES - 1) : ucs_reuse_class(length);

    if (by_string & UCS_BIT(bit)) {
        ucs_reuse_copy_string(dest, src, length);
    } else {
        memcpy(dest, src, length);
    }
}

END_C_DECLS

#endif
