/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_POLICIES_H_
#define PREDREG_POLICIES_H_

#include <tools/replay/account/account.h>
#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file policies.h
 *
 * The policies of the replay, as one table. The command's options, output and help, the
 * report, and the tests of the documentation read this table.
 *
 * To add a policy, write its function in a file here, declare the function below, and
 * give the policy a row in rows.h. The row makes the number of the policy and the entry
 * in the table.
 */

/** The numbers of the policies, such as PREDREG_REPLAY_PREDICT, in the order of
 *  playing and printing. */
typedef enum {
#define PREDREG_POLICY_ROW(_number, _func, ...) PREDREG_REPLAY_##_number,
#include "rows.h"
    PREDREG_REPLAY_LAST
} predreg_replay_policy_t;


typedef struct predreg_replay_params {
    predreg_replay_policy_t  policy;
    uint64_t                 limit;      /**< LRU: bytes; REGIONS: regions; 0:
                                              half of leave-pinned's peak.
                                              ARENA: size, bytes; 0: as large as
                                              needed */
    size_t                   arena_slab; /**< ARENA: length of the longest slab,
                                              a power of 2, bytes */
    predreg_cost_t           reg;        /**< Cost of registrations, usually the cost
                                              in the timeline */
    predreg_cost_t           dereg;
    uint64_t                 wakeup;     /**< PREDICT, ARENA: time of the helper
                                              to wake up, ns */
    int                      shared;     /**< PREDICT: not 0: the helper has no
                                              processor of its own, and stops
                                              the program while it runs. The
                                              program does the work of a
                                              conservative helper */
    uint64_t                 max_steps;  /**< CLAIRVOYANT: the most steps, of
                                              some 0.1 us each, that a replay
                                              may take, see
                                              predreg_segments_steps() */
    struct predreg_flow      *flow;      /**< PREDICT, ON_DEMAND: the flow of a rank
                                              that is replayed together with others;
                                              NULL: by itself */
    ucs_rcache_pred_params_t cache;      /**< PREDICT, ON_DEMAND, ARENA: parameters of
                                              the cache, from the knobs. The replay
                                              ignores ops, arg and policy. The
                                              sink, if any, gets the events of the
                                              cache; the cache's clock, which gives
                                              their times, is ahead of the program's */
} predreg_replay_params_t;

/**
 * Plays a policy. predreg_replay() has checked the parameters, and has set all of the
 * result to 0, except the policy and an infinite budget. After a failure the result needs
 * no cleanup.
 *
 * @return UCS_ERR_UNSUPPORTED (logged) if the policy would take longer than the
 *         parameters allow.
 */
typedef ucs_status_t
predreg_policy_func_t(const predreg_timeline_t *timeline,
                      const predreg_replay_params_t *params,
                      predreg_replay_result_t *result);


/** The unit of a policy's limit. */
typedef enum {
    PREDREG_LIMIT_NONE,    /**< The policy has no limit */
    PREDREG_LIMIT_BYTES,
    PREDREG_LIMIT_REGIONS,
    PREDREG_LIMIT_LAST
} predreg_limit_t;

/** How options write a limit, as in "lru=64m". For PREDREG_LIMIT_NONE, the strings are
 *  NULL. */
typedef struct predreg_limit_kind {
    const char *placeholder; /**< Stands for the number in help texts */
    const char *example;
} predreg_limit_kind_t;

extern const predreg_limit_kind_t predreg_limit_kinds[PREDREG_LIMIT_LAST];


/** A row of the table. */
typedef struct predreg_policy {
    const char            *name;  /**< Name of the policy in options, tables and JSON */
    const char            *label; /**< Name of the policy in a report */
    const char            *brief; /**< A description in a few words */
    const char            *note;  /**< A sentence on how the policy works; a report
                                       appends the bounds, if any */
    predreg_limit_t       limit;
    unsigned              place;  /**< Place in a report, from 0. A report begins with
                                       the policy that shows how programs run today,
                                       and goes on with the possible gain, and then the
                                       least memory */
    int                   is_bounded; /**< Whether the policy shows what is possible under
                                           the bounds of predict: without a bound, there
                                           is nothing to show */
    int                   is_extra; /**< Whether the policy is played only if the user
                                         names the policy; a report never does */
    int                   is_key; /**< Whether a report shows the policy also
                                       among the most important ones */
    predreg_policy_func_t *replay;
} predreg_policy_t;

/** The table, indexed by predreg_replay_policy_t. */
extern const predreg_policy_t predreg_policies[PREDREG_REPLAY_LAST];


/** @return the policy whose name is the first @a length characters of @a name, or
 *          PREDREG_REPLAY_LAST. */
predreg_replay_policy_t predreg_policy_find(const char *name, size_t length);

/** @return the policy at a place of a report. */
predreg_replay_policy_t predreg_policy_at(unsigned place);


/** Plays predict, on-demand and arena, the policies of this library's own cache. */
predreg_policy_func_t predreg_replay_cache;

/** Plays leave-pinned, merging, lru and regions, the policies of UCX's cache. */
predreg_policy_func_t predreg_replay_ucx_cache;

/** Plays strict-lru and bounded. */
predreg_policy_func_t predreg_replay_strict;

/** Plays clairvoyant. */
predreg_policy_func_t predreg_replay_clairvoyant;

END_C_DECLS

#endif
