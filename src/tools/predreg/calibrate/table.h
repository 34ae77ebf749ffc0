/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CALIBRATE_TABLE_H_
#define PREDREG_CALIBRATE_TABLE_H_

#include <ucs/reuse/costs.h>

BEGIN_C_DECLS

/** @file table.h
 *
 * What follows from measured costs, length by length. Pure. output.c calls
 * this. */

#define PREDREG_CALIBRATE_ROWS 11

typedef struct {
    size_t   bytes;
    double   copy;       /**< C_m, ns */
    double   reg;        /**< R_m, ns */
    uint32_t break_even; /**< UCS_REUSE_NEVER, or more sends than this pay */
    uint32_t after;      /**< UCS_REUSE_NEVER, or after so many it is
                              registered */
} predreg_calibrate_row_t;

/** Fill in the rows of the paper's Table 2, and those of shorter messages.
 *  @param [in] fraction  See ucs_reuse_thresholds(). */
void predreg_calibrate_table(const ucs_reuse_costs_t *costs, double fraction,
                             predreg_calibrate_row_t *rows);

/** @return the least length from which on it pays, bytes; 0: it never does. */
size_t predreg_calibrate_pays_from(const ucs_reuse_costs_t *costs);

END_C_DECLS

#endif
