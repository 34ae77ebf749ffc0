/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_TALLY_H_
#define UCS_REUSE_TALLY_H_

#include "costs.h"
#include "sends.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file tally.h
 *
 * How often each small buffer was sent, by class of length, for a trace: the
 * statistics of Tables 1 and 3 of Rashti and Afsahi (2011). The table that
 * decides which buffers are hot (table.h) does not suffice for that: it forgets
 * buffers, stops counting those that are hot, and tells no lengths apart.
 *
 * A tally has a bounded size, and forgets nothing. Sends of buffers that it has
 * no room for are counted together, by class of length.
 *
 * Threads: any number of threads may note sends, without a lock. Nothing is
 * allocated for that. Pure: knows neither UCX nor the clock.
 */

/** A tally of a process has 2^16 rows, 2 MiB. */
#define UCS_REUSE_TALLY_BITS 16


/** How often a buffer was sent with the lengths of a class, in a tally. All
 *  fields are relaxed: they are numbers that nothing else depends on. */
typedef struct ucs_reuse_tally_row {
    /** The address of the buffer, and the class in the low bits; 0: this row is
     *  free. Changes once, by a compare-and-swap of the thread that adds the
     *  buffer. */
    _Atomic(uint64_t) key;
    _Atomic(uint64_t) count;  /**< Sends */
    _Atomic(uint64_t) copied; /**< Of these, those that are copied anyway */
    _Atomic(uint64_t) length; /**< The longest one, bytes */
} ucs_reuse_tally_row_t;


typedef struct ucs_reuse_tally {
    /* These two are constant */
    ucs_reuse_tally_row_t *rows; /**< 2^bits */
    unsigned              bits;
    /** Sends of buffers without a row of their own. Their keys stay 0. */
    ucs_reuse_tally_row_t others[UCS_REUSE_NUM_CLASSES];
} ucs_reuse_tally_t;


/** @param [in] bits  4 to 24: the tally has 2^bits rows, of which the kernel
 *                    provides those that are used. */
ucs_status_t ucs_reuse_tally_init(ucs_reuse_tally_t *tally, unsigned bits);

/** No other thread may use the tally. */
void ucs_reuse_tally_cleanup(ucs_reuse_tally_t *tally);

/** Begin anew. No other thread may use the tally. */
void ucs_reuse_tally_reset(ucs_reuse_tally_t *tally);

/**
 * Count a send.
 *
 * @param [in] length     1 to UCS_REUSE_MAX_LENGTH, bytes.
 * @param [in] is_copied  Whether it is copied even if its buffer is hot.
 */
void ucs_reuse_tally_note(ucs_reuse_tally_t *tally, const void *address,
                          size_t length, int is_copied);

/** Call a function for each buffer and class that was sent, in no particular
 *  order, and then for what is counted together. Other threads may note sends
 *  meanwhile. */
void ucs_reuse_tally_for_each(const ucs_reuse_tally_t *tally,
                              void (*func)(void *arg,
                                           const ucs_reuse_sends_t *sends),
                              void *arg);

END_C_DECLS

#endif
