/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_COSTS_H_
#define UCS_REUSE_COSTS_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file costs.h
 *
 * When it pays to register a small buffer that is sent again and again, instead
 * of copying it each time: the break-even number of sends of Rashti and Afsahi,
 * "Exploiting application buffer reuse to improve MPI small message transfer
 * protocols over RDMA-enabled networks" (2011), section 3.3.1, inequality (3).
 * Pure: times are arguments.
 */

/** Longest message that is looked at, bytes: the eager limit of the paper is
 *  9 KB, and UCX's is 8 KB over adapters. */
#define UCS_REUSE_MAX_LENGTH 8192

/** Lengths are told apart in steps of this many bytes. */
#define UCS_REUSE_STEP       128

/** Number of classes of lengths. Class i has the lengths from i * STEP + 1 to
 *  (i + 1) * STEP. */
#define UCS_REUSE_NUM_CLASSES (UCS_REUSE_MAX_LENGTH / UCS_REUSE_STEP)

/** Break-even number of sends where registering never pays. */
#define UCS_REUSE_NEVER      UINT32_MAX


/** What a machine takes, in nanoseconds. */
typedef struct ucs_reuse_costs {
    double reg_call;  /**< R_m: registration and deregistration of a buffer, */
    double reg_page;  /**< and of each of its pages in addition */
    double lookup;    /**< V: finding a buffer in the table, and all else that
                           only a send without the copy does */
    double copy[UCS_REUSE_NUM_CLASSES]; /**< C_m: copying as many bytes as the
                                             longest length of a class has */
} ucs_reuse_costs_t;


/** @return the class of a length from 1 to UCS_REUSE_MAX_LENGTH bytes. */
static UCS_F_ALWAYS_INLINE unsigned ucs_reuse_class(size_t length)
{
    return (length - 1) / UCS_REUSE_STEP;
}

/**
 * What a registration and a deregistration take, R_m, nanoseconds. A buffer may
 * begin anywhere in a page: this is the mean.
 *
 * @param [in] length  1 and more, bytes.
 */
double ucs_reuse_registration(const ucs_reuse_costs_t *costs, size_t length);

/** Set costs of which nothing is known yet: all are infinite. */
void ucs_reuse_costs_init(ucs_reuse_costs_t *costs);

/** Take in what was measured another time: others that have the processor meanwhile, and
 *  what is done for the first time, only ever add time. */
void ucs_reuse_costs_refine(ucs_reuse_costs_t *costs,
                            const ucs_reuse_costs_t *other);

/**
 * The break-even number of sends.
 *
 * @param [in] length  1 to UCS_REUSE_MAX_LENGTH, bytes.
 * @return the least n > R_m / (C_m - V); UCS_REUSE_NEVER if V >= C_m, or if n
 *         is no number of 32 bits.
 */
uint32_t ucs_reuse_break_even(const ucs_reuse_costs_t *costs, size_t length);

/**
 * After how many sends a buffer is registered, by class of length: a fraction
 * of the break-even number, since a buffer that was used so often is expected
 * to be used more often still (section 3.3.1 of the paper).
 *
 * @param [in]  fraction  Above 0, at most 1; the paper uses 0.25.
 * @param [out] sends     Filled with at least 1 for each class, or
 *                        UCS_REUSE_NEVER.
 */
void ucs_reuse_thresholds(const ucs_reuse_costs_t *costs, double fraction,
                          uint32_t sends[UCS_REUSE_NUM_CLASSES]);

END_C_DECLS

#endif
