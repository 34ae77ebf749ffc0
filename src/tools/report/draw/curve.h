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
 * A curve of any number of steps, as wide as it is drawn: a column of pixels
 * keeps the least and the most that was registered in its time, so that no peak
 * is lost, however short.
 */

/** Columns of a curve that is drawn: a pixel each on a wide screen. */
#define PREDREG_CURVE_COLUMNS 1000

typedef struct predreg_column {
    uint64_t min;  /**< bytes */
    uint64_t max;
    uint64_t last; /**< At the end of the column's time */
} predreg_column_t;

/**
 * @param [in]  steps    By time. Before the first one there is nothing.
 * @param [in]  begin    Time of the left edge, ns.
 * @param [in]  end      Time of the right edge, ns, > begin. What is outside is
 *                       left out, but for what begins just at the right edge:
 *                       it counts in the last column.
 * @param [in]  num_columns  > 0.
 */
void predreg_curve_columns(const predreg_step_t *steps, size_t num_steps,
                           int64_t begin, int64_t end,
                           predreg_column_t *columns, unsigned num_columns);

END_C_DECLS

#endif
