/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "result.h"

#include <stdlib.h>


void predreg_replay_result_cleanup(predreg_replay_result_t *result)
{
    free(result->helper_ops);
    free(result->sites);
    predreg_sum_cleanup(&result->pinned);
}

void predreg_replay_result_shrink(predreg_replay_result_t *result)
{
    predreg_sum_t *sum = &result->pinned;
    predreg_step_t *curve;

    free(result->helper_ops);
    free(result->sites);
    result->helper_ops     = NULL;
    result->num_helper_ops = 0;
    result->sites          = NULL;
    result->num_sites      = 0;

    if (sum->num_steps > 0) {
        curve = realloc(sum->curve, sum->num_steps * sizeof(*curve));
        if (curve != NULL) {
            sum->curve = curve;
        }
    }
}
