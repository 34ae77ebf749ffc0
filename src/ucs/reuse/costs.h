/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_COSTS_H_
#define UCS_REUSE_COSTS_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

BEGIN_C_DECLS

/** @file costs.h
 *
 * When it pays to register a small buffer that is sent again and again, instead
 * of copying it each time: the break-even number of sends of Rashti and Afsahi,
 * "Exploiting application buffer reuse to improve MPI small message transfer
 * protocols over RDMA-enabled networks" (2011), section 3.3.1, inequality (3).
 * Pure: times are arguments.
 *
 * This file has the copy itself, too: by memcpy(), or by the string instruction
 * of x86. The processor and the length decide which of the two is faster: for 8
 * KB the instruction was seen to take from half to seven times the time of
 * memcpy().
 */

/** Longest small message, bytes: the eager limit of the paper is 9 KB, and UCX's is
 *  8 KB over adapters. */
#define UCS_REUSE_MAX_LENGTH 8192

/** Lengths are told apart in steps of this many bytes. */
#define UCS_REUSE_STEP       128

/** Number of classes of lengths. Class i has the lengths from i * STEP + 1 to
 *  (i + 1) * STEP. */
#define UCS_REUSE_NUM_CLASSES (UCS_REUSE_MAX_LENGTH / UCS_REUSE_STEP)

/** Break-even number of sends where registering never pays. */
#define UCS_REUSE_NEVER      UINT32_MAX

/** Size of the longest text of costs, its terminating zero included. */
#define UCS_REUSE_COSTS_TEXT_MAX 2048

/** Key of the costs of small sends among the metadata of a trace. */
#define UCS_REUSE_COSTS_META "eager_costs"

/** The string instruction is not used for shorter copies, bytes. UCX has the
 *  same limit (UCX_BUILTIN_MEMCPY_MIN, cpu.c of UCS, 1.13 to 1.23). */
#define UCS_REUSE_COPY_STRING_MIN 1024


/** What operations cost on a machine, nanoseconds. */
typedef struct ucs_reuse_costs {
    double reg_call;  /**< R_m: registration and deregistration of a buffer,
                           without the part of its pages */
    double reg_page;  /**< R_m: the part of each page of the buffer */
    double lookup;    /**< V: finding a buffer in the table, and all other work
                           of a send without the copy that a copied send does
                           not have */
    double copy[UCS_REUSE_NUM_CLASSES]; /**< C_m: copying as many bytes as the
                                             longest length of a class has */
} ucs_reuse_costs_t;

/** The lengths that the string instruction copies: bit i for the lengths of class
 *  i (ucs_reuse_class()). */
typedef uint64_t ucs_reuse_copy_classes_t;

/** All lengths above UCS_REUSE_COPY_STRING_MIN. */
#define UCS_REUSE_COPY_ALL_STRING \
    (~UCS_MASK(UCS_REUSE_COPY_STRING_MIN / UCS_REUSE_STEP))


/** @return the class of a length from 1 to UCS_REUSE_MAX_LENGTH bytes. */
static UCS_F_ALWAYS_INLINE unsigned ucs_reuse_class(size_t length)
{
    return (length - 1) / UCS_REUSE_STEP;
}

/**
 * Time of a registration and a deregistration, R_m, nanoseconds. A buffer may
 * begin anywhere in a page: the result is the mean.
 *
 * @param [in] length  1 and more, bytes.
 */
double ucs_reuse_registration(const ucs_reuse_costs_t *costs, size_t length);

/** Set costs that nobody has measured yet: all are infinite. */
void ucs_reuse_costs_init(ucs_reuse_costs_t *costs);

/** Take the lesser value of two measurements for each part, but the two parts of a
 *  registration from one measurement: other programs on the processor, and the first
 *  run of some code, only ever add time. */
void ucs_reuse_costs_refine(ucs_reuse_costs_t *costs,
                            const ucs_reuse_costs_t *other);

/**
 * Compute the break-even number of sends.
 *
 * @param [in] length  1 to UCS_REUSE_MAX_LENGTH, bytes.
 * @return the least n > R_m / (C_m - V); UCS_REUSE_NEVER if V >= C_m, or if n
 *         is no number of 32 bits.
 */
uint32_t ucs_reuse_break_even(const ucs_reuse_costs_t *costs, size_t length);

/**
 * Compute after how many sends a buffer is registered, for each class of length: a
 * fraction of the break-even number, since a program that has sent a buffer that
 * often is expected to go on (section 3.3.1 of the paper).
 *
 * @param [in]  fraction  Above 0, at most 1; the paper uses 0.25.
 * @param [out] sends     Filled with at least 1 for each class, or
 *                        UCS_REUSE_NEVER.
 */
void ucs_reuse_thresholds(const ucs_reuse_costs_t *costs, double fraction,
                          uint32_t sends[UCS_REUSE_NUM_CLASSES]);

/** Print costs as a line of text, for traces and tools: whole numbers of
 *  picoseconds with spaces between them, whatever the locale. First come call,
 *  page and lookup, then the copies of all classes. Costs are finite and not
 *  negative; a second stands for any longer time. */
void ucs_reuse_costs_print(const ucs_reuse_costs_t *costs,
                           char text[UCS_REUSE_COSTS_TEXT_MAX]);

/**
 * Read costs.
 *
 * @return whether @ref ucs_reuse_costs_print may have printed the text: all the
 *         numbers and no others, none of more than a second, and copies that do
 *         not get cheaper with the length. Else the costs are undefined.
 */
int ucs_reuse_costs_parse(const char *text, ucs_reuse_costs_t *costs);


/** Copy by the string instruction where the processor has one. */
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

/** Copy by the string instruction, or by memcpy().
 *  @param [in] length     Not 0. The last class stands for all longer messages too.
 *  @param [in] by_string  The classes of length for which the instruction is faster. */
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
