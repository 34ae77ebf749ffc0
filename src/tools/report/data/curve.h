/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CURVE_H_
#define PREDREG_CURVE_H_

#include <tools/replay/account/ledger.h>

BEGIN_C_DECLS

/** @file curve.h
 *
 * Reduces a curve of any number of steps to the columns of pixels that it is
 * drawn in. A column keeps the least and the most that was registered in its
 * time, so that even the shortest peak is drawn.
 */

/** How many columns a curve is drawn in: on a wide screen each is a pixel. */
#define PREDREG_CURVE_COLUMNS 1000

typedef struct predreg_column {
    uint64_t min;  /**< bytes */
    uint64_t max;
    uint64_t last; /**< Bytes at the end of the column's time */
} predreg_column_t;

/**
 * @param [in]  steps    Sorted by time. Before the first step nothing is
 *                       registered.
 * @param [in]  begin    Time of the left edge, ns.
 * @param [in]  end      Time of the right edge, ns, > begin. Steps outside of
 *                       the edges are left out, but a step exactly at the right
 *                       edge counts in the last column.
 * @param [in]  num_columns  > 0.
 */
void predreg_curve_columns(const predreg_step_t *steps, size_t num_steps,
                           int64_t begin, int64_t end,
                           predreg_column_t *columns, unsigned num_columns);

END_C_DECLS

#endif
