/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <string.h>


const predreg_limit_kind_t predreg_limit_kinds[PREDREG_LIMIT_LAST] = {
    [PREDREG_LIMIT_BYTES]   = { "BYTES", "64m" },
    [PREDREG_LIMIT_REGIONS] = { "N", "100" }
};

const predreg_policy_t predreg_policies[PREDREG_REPLAY_LAST] = {
#define PREDREG_POLICY_ROW(_number, _func, ...) \
    [PREDREG_REPLAY_##_number] = { \
        .replay = predreg_replay_##_func, \
        __VA_ARGS__ \
    },
#include "rows.h"
};


predreg_replay_policy_t predreg_policy_find(const char *name, size_t length)
{
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if ((strlen(predreg_policies[policy].name) == length) &&
            !strncmp(predreg_policies[policy].name, name, length)) {
            break;
        }
    }

    return policy;
}

predreg_replay_policy_t predreg_policy_at(unsigned place)
{
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (predreg_policies[policy].place == place) {
            break;
        }
    }

    return policy;
}
