/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_SENDS_H_
#define UCS_REUSE_SENDS_H_

#include <stdint.h>

/** @file sends.h
 *
 * How often a small buffer was sent: what a tally counts (tally.h), a trace
 * keeps, and a gain is estimated from (gain.h).
 */

typedef struct ucs_reuse_sends {
    uint64_t address; /**< Of the buffer; 0: of buffers that are not told
                           apart */
    uint64_t length;  /**< The longest of these sends, bytes. Other lengths of
                           its class (costs.h) count as it */
    uint64_t count;   /**< How many sends there were */
    uint64_t copied;  /**< How many of them are copied even from a hot buffer:
                           the program waits for them, or no context was made
                           for messages */
} ucs_reuse_sends_t;

#endif
