/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_SENDS_H_
#define UCS_REUSE_SENDS_H_

#include "costs.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file sends.h
 *
 * For reports: how often each small buffer was sent, and what would be gained if
 * these sends went without the copy. A recorded process keeps a tally of its sends,
 * by buffer and class of length: the statistics of Tables 1 and 3 of Rashti and
 * Afsahi (2011). A trace has the rows of the tally, and the gain follows from
 * the rows.
 *
 * The table of hot buffers (buffers.h) does not suffice for reports: the table
 * forgets buffers, stops counting hot buffers, and does not tell lengths apart.
 * A tally forgets nothing. Its size is bounded; the sends of further buffers
 * are counted together, by class of length.
 *
 * A tally does not tell in which order a buffer was sent with several lengths.
 * So the gain is computed as if a buffer became hot after as many sends as the
 * length with the least threshold needs, and as if its hot sends had all its
 * lengths in proportion. Every hot buffer is assumed to get a slot.
 *
 * Threads: any number of threads may note sends, without a lock; nothing is
 * allocated then. Pure: knows neither UCX nor the clock.
 */

/** Sends of a buffer with the lengths of a class. */
typedef struct ucs_reuse_sends {
    uint64_t address; /**< Address of the buffer; 0: the row is for buffers that
                           are not told apart */
    uint64_t length;  /**< Length of the longest of these sends, bytes. Shorter
                           sends of the class (costs.h) count as if they had
                           this length */
    uint64_t count;   /**< How many sends there were */
    uint64_t copied;  /**< How many of the sends are copied even from a hot
                           buffer, since the program waits for them, or no
                           context of UCP was made for messages */
} ucs_reuse_sends_t;


/** A tally of a process has 2^16 rows, 2 MiB. */
#define UCS_REUSE_TALLY_BITS 16

/** Sends of a buffer with the lengths of a class, in a tally. All fields are
 *  relaxed: they are numbers that nothing else depends on. */
typedef struct ucs_reuse_tally_row {
    /** The address of the buffer, and the class in the low bits; 0: this row is
     *  free. Changes once, by a compare-and-swap of the thread that adds the
     *  buffer. */
    _Atomic(uint64_t) key;
    _Atomic(uint64_t) count;  /**< Sends */
    _Atomic(uint64_t) copied; /**< Sends that are copied in any case */
    _Atomic(uint64_t) length; /**< The longest send, bytes */
} ucs_reuse_tally_row_t;

typedef struct ucs_reuse_tally {
    /* Rows and bits are constant */
    ucs_reuse_tally_row_t *rows; /**< Array of 2^bits rows */
    unsigned              bits;
    /** Sends of buffers without a row of their own, one row for each class of
     *  length. The keys of these rows stay 0. */
    ucs_reuse_tally_row_t others[UCS_REUSE_NUM_CLASSES];
} ucs_reuse_tally_t;


/** Make an empty tally.
 *  @param [in] bits  4 to 24: the tally has 2^bits rows; the kernel provides memory
 *                    for the rows that are used. */
ucs_status_t ucs_reuse_tally_init(ucs_reuse_tally_t *tally, unsigned bits);

/** Free the rows of a tally. No other thread may use the tally. */
void ucs_reuse_tally_cleanup(ucs_reuse_tally_t *tally);

/** Forget all sends. No other thread may use the tally. */
void ucs_reuse_tally_reset(ucs_reuse_tally_t *tally);

/**
 * Count a send.
 *
 * @param [in] length     1 to UCS_REUSE_MAX_LENGTH, bytes.
 * @param [in] is_copied  Whether the send is copied even if its buffer is hot.
 */
void ucs_reuse_tally_note(ucs_reuse_tally_t *tally, const void *address,
                          size_t length, int is_copied);

/** Call a function for each buffer and class of length that was sent, in no
 *  particular order, and then for the buffers that are counted together. Other
 *  threads may note sends meanwhile. */
void ucs_reuse_tally_for_each(const ucs_reuse_tally_t *tally,
                              void (*func)(void *arg,
                                           const ucs_reuse_sends_t *sends),
                              void *arg);


/** The gain of sends without the copy. */
typedef struct ucs_reuse_gain {
    uint64_t hot_buffers; /**< Buffers that would be registered */
    uint64_t sends;       /**< Sends without the copy */
    double   bytes;       /**< Bytes that would not be copied */
    double   saved;       /**< Time that sends would save, ns. Below 0: sends
                               would take longer, since buffers that do not
                               become hot are looked up, too */
} ucs_reuse_gain_t;

/**
 * Find the gain of a buffer.
 *
 * @param [in]  thresholds  After how many sends a buffer is registered, see
 *                          ucs_reuse_thresholds().
 * @param [in]  sends       The sends of the buffer, with one element for each
 *                          class of length; none is longer than
 *                          UCS_REUSE_MAX_LENGTH.
 * @param [in]  num         Number of these elements, 1 and more.
 */
void ucs_reuse_gain_find(const ucs_reuse_costs_t *costs,
                         const uint32_t thresholds[UCS_REUSE_NUM_CLASSES],
                         const ucs_reuse_sends_t *sends, unsigned num,
                         ucs_reuse_gain_t *gain);

/** Add one gain to another. */
void ucs_reuse_gain_add(ucs_reuse_gain_t *sum, const ucs_reuse_gain_t *gain);

END_C_DECLS

#endif
