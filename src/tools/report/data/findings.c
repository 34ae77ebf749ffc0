/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "findings.h"


int predreg_is_played(const predreg_findings_t *findings,
                      const predreg_outcome_t *outcome)
{
    return (outcome->ranks > 0) &&
           (outcome->ranks ==
            findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED].ranks);
}

int predreg_has_curve(const predreg_findings_t *findings)
{
    unsigned i;

    for (i = 0; i < findings->budgets.num; ++i) {
        if (!predreg_is_played(findings, &findings->curve[i])) {
            return 0;
        }
    }

    return i > 0;
}

double predreg_extra_time(const predreg_findings_t *findings,
                          const predreg_outcome_t *outcome)
{
    double pinned = findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED].longest;

    return (pinned == 0) ? 0 : ((outcome->longest - pinned) / pinned);
}
