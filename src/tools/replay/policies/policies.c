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
    [PREDREG_REPLAY_PREDICT] = {
        .name   = "predict",
        .label  = "predict",
        .brief  = "this library",
        .note   = "Deregistered after use, and registered again before the "
                  "predicted next one",
        .place  = 1,
        .is_key = 1,
        .replay = predreg_replay_predict
    },
    [PREDREG_REPLAY_ON_DEMAND] = {
        .name   = "on-demand",
        .label  = "on-demand",
        .brief  = "at each use",
        .note   = "Registered at each use, deregistered after it",
        .place  = 3,
        .replay = predreg_replay_on_demand
    },
    [PREDREG_REPLAY_LEAVE_PINNED] = {
        .name   = "leave-pinned",
        .label  = "leave-pinned",
        .brief  = "UCX today",
        .note   = "Never deregistered: UCX's own cache",
        .place  = 0,
        .is_key = 1,
        .replay = predreg_replay_leave_pinned
    },
    [PREDREG_REPLAY_LRU] = {
        .name   = "lru",
        .label  = "bound on bytes",
        .brief  = "UCX, bounded",
        .note   = "UCX's cache, up to ",
        .limit  = PREDREG_LIMIT_BYTES,
        .place  = 4,
        .replay = predreg_replay_lru
    },
    [PREDREG_REPLAY_REGIONS] = {
        .name   = "regions",
        .label  = "bound on regions",
        .brief  = "UCX, bounded",
        .note   = "UCX's cache, up to ",
        .limit  = PREDREG_LIMIT_REGIONS,
        .place  = 5,
        .replay = predreg_replay_regions
    },
    [PREDREG_REPLAY_PERIODICITY] = {
        .name   = "periodicity",
        .label  = "periodicity",
        .brief  = "another predictor",
        .note   = "The periodicity-based predictor",
        .place  = 6,
        .replay = predreg_replay_periodicity
    },
    [PREDREG_REPLAY_CLAIRVOYANT] = {
        .name   = "clairvoyant",
        .label  = "clairvoyant",
        .brief  = "best possible",
        .note   = "Knows the future: less is not possible without waiting",
        .place  = 2,
        .is_key = 1,
        .replay = predreg_replay_clairvoyant
    }
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
