/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LEDGER_H_
#define PREDREG_LEDGER_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file ledger.h
 *
 * A ledger of which memory was registered when, and what for. Entries may be
 * added in any order, and are summed up when all have been added.
 *
 * Times are nanoseconds, and may be negative; sizes are bytes.
 */

/** Why memory is registered at an instant. */
typedef enum {
    PREDREG_CAUSE_USE,      /**< The memory is in use */
    PREDREG_CAUSE_REG,      /**< The memory is being registered */
    PREDREG_CAUSE_DEREG,    /**< The memory is being deregistered */
    PREDREG_CAUSE_AHEAD,    /**< It was registered ahead of a use, which then
                                 comes */
    PREDREG_CAUSE_KEPT,     /**< It stays registered from one use to the next */
    PREDREG_CAUSE_RELEASE,  /**< It was used, and is deregistered before it is
                                 used again */
    PREDREG_CAUSE_WASTED,   /**< It was registered ahead of a use that never
                                 came */
    PREDREG_CAUSE_LAST
} predreg_cause_t;

extern const char *predreg_cause_names[];

typedef struct predreg_ledger predreg_ledger_t;


ucs_status_t predreg_ledger_create(predreg_ledger_t **ledger_p);
void predreg_ledger_destroy(predreg_ledger_t *ledger);

/** Add an entry: so many bytes are registered for this cause, from begin to
 *  end. If end is not after begin, nothing is added. If there is no memory for
 *  the entry, predreg_ledger_sum() fails later. */
void predreg_ledger_add(predreg_ledger_t *ledger, int64_t begin, int64_t end,
                        uint64_t bytes, predreg_cause_t cause);

/**
 * The two halves of that, for memory whose cause changes while it stays
 * registered: when so many bytes are registered, once, and under which causes,
 * in any number of parts. An entry of the first half costs far more than one of
 * the second. What is added by all causes must be what is held.
 */
void predreg_ledger_hold(predreg_ledger_t *ledger, int64_t begin, int64_t end,
                         uint64_t bytes);
void predreg_ledger_attribute(predreg_ledger_t *ledger, uint64_t time,
                              uint64_t bytes, predreg_cause_t cause);


/** A step of the curve of registered memory: from this time on, so many bytes
 *  are registered. */
typedef struct predreg_step {
    int64_t  time;
    uint64_t bytes;
} predreg_step_t;

typedef struct predreg_sum {
    double         byte_seconds;
    double         by_cause[PREDREG_CAUSE_LAST]; /**< byte * s; sums up to
                                                      byte_seconds */
    uint64_t       peak_bytes;
    predreg_step_t *curve;   /**< Sorted by time, each time once; it begins and
                                  ends at 0 bytes */
    size_t         num_steps;
} predreg_sum_t;

/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_ledger_sum(predreg_ledger_t *ledger, predreg_sum_t *sum);

/**
 * Add up what several ranks have registered, as one sum.
 *
 * @param [in] offsets  For each sum, what is added to its times, ns.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_sum_merge(const predreg_sum_t *const *sums,
                               const int64_t *offsets, size_t num_sums,
                               predreg_sum_t *total);

/**
 * @return how many bytes are registered on average, from the first
 * registration, if it is before 0, else from 0, to the given time. The average
 * over no time is 0.
 */
double predreg_sum_average(const predreg_sum_t *sum, uint64_t duration);

void predreg_sum_cleanup(predreg_sum_t *sum);

END_C_DECLS

#endif
