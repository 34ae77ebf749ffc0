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
                   .place  = 5)

/* PREDICT, with large mappings served from registered memory */
PREDREG_POLICY_ROW(ARENA, cache,
                   .name   = "arena",
                   .label  = "arena",
                   .brief  = "this library, arena",
                   .note   = "predict, but large allocations come from memory "
                             "that is registered already",
                   .limit  = PREDREG_LIMIT_BYTES,
                   .place  = 8)

/* UCX's cache without a limit: memory stays registered */
PREDREG_POLICY_ROW(LEAVE_PINNED, ucx_cache,
                   .name   = "leave-pinned",
                   .label  = "leave-pinned",
                   .brief  = "UCX today",
                   .note   = "Never deregistered: UCX's own cache",
                   .place  = 0,
                   .is_key = 1)

/* UCX's cache without a limit, with adjacent regions merged, as proposed to UCX */
PREDREG_POLICY_ROW(MERGING, ucx_cache,
                   .name     = "merging",
                   .label    = "merging",
                   .brief    = "UCX, as proposed",
                   .note     = "Never deregistered: UCX's own cache, adjacent memory "
                               "merged",
                   .place    = 9,
                   .is_extra = 1)

/* UCX's cache, with a limit on the bytes in the cache */
PREDREG_POLICY_ROW(LRU, ucx_cache,
                   .name   = "lru",
                   .label  = "bound on bytes",
                   .brief  = "UCX, bounded",
                   .note   = "UCX's cache",
                   .limit  = PREDREG_LIMIT_BYTES,
                   .place  = 6)

/* UCX's cache, with a limit on the number of regions */
PREDREG_POLICY_ROW(REGIONS, ucx_cache,
                   .name   = "regions",
                   .label  = "bound on regions",
                   .brief  = "UCX, bounded",
                   .note   = "UCX's cache",
                   .limit  = PREDREG_LIMIT_REGIONS,
                   .place  = 7)

/* Registration on demand, least recently used memory gives way, under strict bounds */
PREDREG_POLICY_ROW(STRICT_LRU, strict,
                   .name       = "strict-lru",
                   .label      = "strict LRU",
                   .brief      = "on demand, bounded",
                   .note       = "Registered at each use; the least recently used gives "
                                 "way before",
                   .place      = 2,
                   .is_bounded = 1)

/* The same, but who gives way is known from the future */
PREDREG_POLICY_ROW(BOUNDED, strict,
                   .name       = "bounded",
                   .label      = "bounded",
                   .brief      = "least waits, bounded",
                   .note       = "Knows the future: registered at each use, with hardly "
                                 "more waits than it takes",
                   .place      = 3,
                   .is_bounded = 1)

/* Knows the future: no schedule without waiting uses fewer byte-seconds */
PREDREG_POLICY_ROW(CLAIRVOYANT, clairvoyant,
                   .name   = "clairvoyant",
                   .label  = "clairvoyant",
                   .brief  = "least without waiting",
                   .note   = "Knows the future: less is not possible without "
                             "waiting",
                   .place  = 4,
                   .is_key = 1)

#undef PREDREG_POLICY_ROW
