/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "report_data.h"

#include <string.h>


const char *const report_policy_labels[] = {
    [PREDREG_REPLAY_PREDICT]      = "predict",
    [PREDREG_REPLAY_ON_DEMAND]    = "on-demand",
    [PREDREG_REPLAY_LEAVE_PINNED] = "leave-pinned",
    [PREDREG_REPLAY_LRU]          = "bound on bytes",
    [PREDREG_REPLAY_REGIONS]      = "bound on regions",
    [PREDREG_REPLAY_PERIODICITY]  = "periodicity",
    [PREDREG_REPLAY_CLAIRVOYANT]  = "clairvoyant"
};

const predreg_replay_policy_t report_policy_order[PREDREG_REPLAY_LAST] = {
    PREDREG_REPLAY_LEAVE_PINNED, PREDREG_REPLAY_PREDICT,
    PREDREG_REPLAY_CLAIRVOYANT,  PREDREG_REPLAY_ON_DEMAND,
    PREDREG_REPLAY_LRU,          PREDREG_REPLAY_REGIONS,
    PREDREG_REPLAY_PERIODICITY
};


const char *report_meta(const report_data_t *report, const char *key)
{
    unsigned i;

    for (i = 0; i < report->num_metas; ++i) {
        if (!strcmp(report->metas[i].key, key)) {
            return report->metas[i].value;
        }
    }

    return NULL;
}
