/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "table.h"


void predreg_calibrate_table(const ucs_reuse_costs_t *costs, double fraction,
                             predreg_calibrate_row_t *rows)
{
    static const size_t lengths[PREDREG_CALIBRATE_ROWS] = {
        128, 256, 512, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192
    };
    uint32_t after[UCS_REUSE_NUM_CLASSES];
    unsigned i;

    ucs_reuse_thresholds(costs, fraction, after);
    for (i = 0; i < PREDREG_CALIBRATE_ROWS; ++i) {
        rows[i] = (predreg_calibrate_row_t){
            .bytes      = lengths[i],
            .copy       = costs->copy[ucs_reuse_class(lengths[i])],
            .reg        = ucs_reuse_registration(costs, lengths[i]),
            .break_even = ucs_reuse_break_even(costs, lengths[i]),
            .after      = after[ucs_reuse_class(lengths[i])]
        };
    }
}

size_t predreg_calibrate_pays_from(const ucs_reuse_costs_t *costs)
{
    unsigned i;

    /* A longer copy never takes less time, so registering pays for all lengths
     * from the first one on for which it does */
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        if (ucs_reuse_break_even(costs, (i + 1) * UCS_REUSE_STEP) !=
            UCS_REUSE_NEVER) {
            return (i * UCS_REUSE_STEP) + 1;
        }
    }

    return 0;
}
