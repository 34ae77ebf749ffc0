/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calibrate.h"
#include "costs_file.h"
#include "costs_key.h"

#include <ucs/debug/log_def.h>


ucs_status_t
uct_predreg_calibrate(const uct_predreg_calibrate_params_t *params,
                      ucs_reuse_costs_t *costs)
{
    const char *reason = "there is no key";
    const char *kept   = "not kept";
    char depends[UCT_PREDREG_COSTS_KEY_MAX];
    ucs_status_t status;

    if (params->key != NULL) {
        uct_predreg_costs_depends(params->key, depends);
        reason = uct_predreg_costs_load(depends, costs);
        if (reason == NULL) {
            /* Who has measured may not have had the table */
            if (params->lookup != NULL) {
                costs->lookup = uct_predreg_measure_lookup(params);
            }
            return UCS_OK;
        }
    }

    status = uct_predreg_measure(params, costs);
    if ((status != UCS_OK) && (status != UCS_INPROGRESS)) {
        ucs_debug("the costs of small sends cannot be measured: status %d",
                  status);
        return status;
    }

    /* A later process may have the time for better ones */
    if ((params->key != NULL) && (status == UCS_OK) &&
        (uct_predreg_costs_store(depends, costs) == NULL)) {
        kept = "kept";
    }

    ucs_debug("the costs of small sends are measured, and %s: %s", kept, reason);
    return UCS_OK;
}
