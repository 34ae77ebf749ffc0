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
