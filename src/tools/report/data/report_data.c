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

int report_shows_bound(const report_data_t *report, unsigned index)
{
    const predreg_outcome_t *bound = &report->findings.bounds[index];

    /* One that is not below any peak is none */
    return predreg_is_played(&report->findings, bound) &&
           (bound->limit <
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED)->peak);
}
