/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/** @file rows.h
 *
 * The policies, one row each, in the order of playing and printing. policies.h
 * and policies.c define PREDREG_POLICY_ROW() for their part of a row, and
 * include this file, which has no guard and undefines the macro.
 *
 * A row has the policy's number (after PREDREG_REPLAY_), its function (after
 * predreg_replay_), and the fields of predreg_policy_t.
 */

/* Prediction, by this library's own code */
PREDREG_POLICY_ROW(PREDICT, cache,
                   .name   = "predict",
                   .label  = "predict",
                   .brief  = "this library",
                   .note   = "Deregistered after use, and registered again "
                             "before the predicted next one",
                   .place  = 1,
                   .is_key = 1)

/* Registration on demand, by this library's own code */
PREDREG_POLICY_ROW(ON_DEMAND, cache,
                   .name   = "on-demand",
                   .label  = "on-demand",
                   .brief  = "at each use",
                   .note   = "Registered at each use, deregistered after it",
                   .place  = 3)

/* PREDICT, with large mappings served from registered memory */
PREDREG_POLICY_ROW(ARENA, cache,
                   .name   = "arena",
                   .label  = "arena",
                   .brief  = "this library, arena",
                   .note   = "predict, but large allocations come from memory "
                             "that is registered already, up to ",
                   .limit  = PREDREG_LIMIT_BYTES,
                   .place  = 6)

/* UCX's cache without a limit: memory stays registered */
PREDREG_POLICY_ROW(LEAVE_PINNED, ucx_cache,
                   .name   = "leave-pinned",
                   .label  = "leave-pinned",
                   .brief  = "UCX today",
                   .note   = "Never deregistered: UCX's own cache",
                   .place  = 0,
                   .is_key = 1)

/* UCX's cache, with a limit on the bytes in the cache */
PREDREG_POLICY_ROW(LRU, ucx_cache,
                   .name   = "lru",
                   .label  = "bound on bytes",
                   .brief  = "UCX, bounded",
                   .note   = "UCX's cache, up to ",
                   .limit  = PREDREG_LIMIT_BYTES,
                   .place  = 4)

/* UCX's cache, with a limit on the number of regions */
PREDREG_POLICY_ROW(REGIONS, ucx_cache,
                   .name   = "regions",
                   .label  = "bound on regions",
                   .brief  = "UCX, bounded",
                   .note   = "UCX's cache, up to ",
                   .limit  = PREDREG_LIMIT_REGIONS,
                   .place  = 5)

/* Knows the future: no schedule without waiting uses fewer byte-seconds */
PREDREG_POLICY_ROW(CLAIRVOYANT, clairvoyant,
                   .name   = "clairvoyant",
                   .label  = "clairvoyant",
                   .brief  = "least without waiting",
                   .note   = "Knows the future: less is not possible without "
                             "waiting",
                   .place  = 2,
                   .is_key = 1)

#undef PREDREG_POLICY_ROW
