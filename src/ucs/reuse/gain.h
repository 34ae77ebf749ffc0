/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_GAIN_H_
#define UCS_REUSE_GAIN_H_

#include "costs.h"
#include "sends.h"

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file gain.h
 *
 * What it would save to send reused small buffers without the copy, by how
 * often each was sent. Pure: times are arguments.
 *
 * A tally does not tell in which order a buffer was sent with several lengths.
 * So it is taken for hot from as many sends on as the length of them that pays
 * first is registered after, and what is hot for as evenly spread over its
 * lengths. There is taken to be room for all hot buffers.
 */

typedef struct ucs_reuse_gain {
    uint64_t hot_buffers; /**< Buffers that would be registered */
    uint64_t sends;       /**< Sends without the copy */
    double   bytes;       /**< Bytes that would not be copied */
    double   saved;       /**< Time, ns. Below 0: it would take longer, since
                               buffers are looked for that do not become hot */
} ucs_reuse_gain_t;


/**
 * Find what a buffer would add.
 *
 * @param [in]  thresholds  After how many sends a buffer is registered, see
 *                          ucs_reuse_thresholds().
 * @param [in]  sends       The classes of length it was sent with, each at most
 *                          once; none longer than UCS_REUSE_MAX_LENGTH.
 * @param [in]  num         How many, 1 and more.
 * @param [out] gain        Of this buffer alone.
 */
void ucs_reuse_gain_find(const ucs_reuse_costs_t *costs,
                         const uint32_t thresholds[UCS_REUSE_NUM_CLASSES],
                         const ucs_reuse_sends_t *sends, unsigned num,
                         ucs_reuse_gain_t *gain);

/** Add one to another. */
void ucs_reuse_gain_add(ucs_reuse_gain_t *sum, const ucs_reuse_gain_t *gain);

END_C_DECLS

#endif
