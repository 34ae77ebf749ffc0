/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LEDGER_H_
#define PREDREG_LEDGER_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file ledger.h
 *
 * A ledger of registered memory by time and cause, its sum, and the sum over
 * several ranks. Entries come in any order; the caller sums them up after the
 * last one.
 *
 * Times are nanoseconds, and may be negative; sizes are bytes.
 */

/** The cause of registered memory at an instant. */
typedef enum {
    PREDREG_CAUSE_USE,      /**< The memory is in use */
    PREDREG_CAUSE_REG,      /**< The memory is being registered */
    PREDREG_CAUSE_DEREG,    /**< The memory is being deregistered */
    PREDREG_CAUSE_AHEAD,    /**< Registered ahead, before a use that then comes */
    PREDREG_CAUSE_KEPT,     /**< Kept registered from one use to the next */
    PREDREG_CAUSE_RELEASE,  /**< Between the last use and the deregistration */
    PREDREG_CAUSE_WASTED,   /**< Registered ahead of a use that never comes */
    PREDREG_CAUSE_LAST
} predreg_cause_t;

/** Names of the causes, indexed by predreg_cause_t, with a NULL at the end. */
extern const char *predreg_cause_names[];


/** The change of the registered bytes at a time. */
typedef struct predreg_change {
    int64_t  time;
    uint64_t bytes; /**< The rise of the registered bytes, modulo 2^64: a fall is a
                         negative rise */
} predreg_change_t;

/** A ledger. All fields are 0 before the first entry. Only the functions below access
 *  them. */
typedef struct predreg_ledger {
    predreg_change_t  *changes;
    size_t            num_changes;
    size_t            room;   /**< Number of changes that the array has room for */
    unsigned __int128 by_cause[PREDREG_CAUSE_LAST]; /**< Bytes times ns for each cause */
} predreg_ledger_t;

/** A step of the curve of registered memory: the bytes from this time on. */
typedef struct predreg_step {
    int64_t  time;
    uint64_t bytes;
} predreg_step_t;

typedef struct predreg_sum {
    double         byte_seconds;
    double         by_cause[PREDREG_CAUSE_LAST]; /**< byte * s; the sum is
                                                      byte_seconds */
    uint64_t       peak_bytes;
    predreg_step_t *curve;   /**< Sorted by time, with one step for each time; the
                                  bytes begin and end at 0 */
    size_t         num_steps;
} predreg_sum_t;


void predreg_ledger_cleanup(predreg_ledger_t *ledger);

/** Add an entry: @a bytes are registered for this cause, from begin to end. If end is not
 *  after begin, nothing is added. */
void predreg_ledger_add(predreg_ledger_t *ledger, int64_t begin, int64_t end,
                        uint64_t bytes, predreg_cause_t cause);

/**
 * The two halves of an entry, for memory whose cause changes while it is registered.
 * predreg_ledger_hold() adds the memory to the curve, once for the whole time, and takes
 * far longer than the other half. predreg_ledger_attribute() adds a part of the time to a
 * cause. The parts of an entry must add up to its whole time.
 */
void predreg_ledger_hold(predreg_ledger_t *ledger, int64_t begin, int64_t end,
                         uint64_t bytes);
void predreg_ledger_attribute(predreg_ledger_t *ledger, uint64_t time,
                              uint64_t bytes, predreg_cause_t cause);

/** Sum up all entries. The sum takes over the memory of the ledger, which is empty
 *  afterwards. */
void predreg_ledger_sum(predreg_ledger_t *ledger, predreg_sum_t *sum);

/**
 * Add up the sums of several ranks.
 *
 * @param [in] offsets  For each sum, the shift of its times, ns.
 */
void predreg_sum_merge(const predreg_sum_t *const *sums, const int64_t *offsets,
                       size_t num_sums, predreg_sum_t *total);

/**
 * @return the average of the registered bytes from time 0 until @a duration. If the first
 *         registration begins before time 0, the average begins there. The average over
 *         no time is 0.
 */
double predreg_sum_average(const predreg_sum_t *sum, uint64_t duration);

void predreg_sum_cleanup(predreg_sum_t *sum);

END_C_DECLS

#endif
