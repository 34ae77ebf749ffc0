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
 * What was registered when, and what for. Entries may be made in any order, and
 * are summed up when all have been made.
 *
 * Times are nanoseconds, and may be before 0; sizes are bytes.
 */

/** What memory is registered for at an instant. */
typedef enum {
    PREDREG_CAUSE_USE,      /**< It is in use */
    PREDREG_CAUSE_REG,      /**< It is being registered */
    PREDREG_CAUSE_DEREG,    /**< It is being deregistered */
    PREDREG_CAUSE_AHEAD,    /**< Registered ahead, and waits for the use that
                                 then comes */
    PREDREG_CAUSE_KEPT,     /**< Was used, and stays registered to its next use */
    PREDREG_CAUSE_RELEASE,  /**< Was used, and is deregistered before it is used
                                 again */
    PREDREG_CAUSE_WASTED,   /**< Registered ahead of a use that never came */
    PREDREG_CAUSE_LAST
} predreg_cause_t;

extern const char *predreg_cause_names[];

typedef struct predreg_ledger predreg_ledger_t;


ucs_status_t predreg_ledger_create(predreg_ledger_t **ledger_p);
void predreg_ledger_destroy(predreg_ledger_t *ledger);

/** Memory is registered for this cause, from begin to end. If end is not after
 *  begin, there is no entry. If there is no memory for it, the sum fails. */
void predreg_ledger_add(predreg_ledger_t *ledger, int64_t begin, int64_t end,
                        uint64_t bytes, predreg_cause_t cause);


/** A step of the curve of registered memory: so much is registered from this
 *  time on. */
typedef struct predreg_step {
    int64_t  time;
    uint64_t bytes;
} predreg_step_t;

typedef struct predreg_sum {
    double         byte_seconds;
    double         by_cause[PREDREG_CAUSE_LAST]; /**< byte * s; sums up to
                                                      byte_seconds */
    uint64_t       peak_bytes;
    predreg_step_t *curve;   /**< By time, each once; from 0 bytes to 0 bytes */
    size_t         num_steps;
} predreg_sum_t;

/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_ledger_sum(predreg_ledger_t *ledger, predreg_sum_t *sum);

/**
 * What several have registered together.
 *
 * @param [in] offsets  Added to the times of each, ns.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_sum_merge(const predreg_sum_t *const *sums,
                               const int64_t *offsets, size_t num_sums,
                               predreg_sum_t *total);

/**
 * Bytes on average from 0 to the given time, and as long before as any were
 * registered. 0 of no time.
 */
double predreg_sum_average(const predreg_sum_t *sum, uint64_t duration);

void predreg_sum_cleanup(predreg_sum_t *sum);

END_C_DECLS

#endif
