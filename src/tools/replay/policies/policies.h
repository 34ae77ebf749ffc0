/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_POLICIES_H_
#define PREDREG_POLICIES_H_

#include <tools/replay/account/result.h>
#include <tools/replay/program/timeline.h>
#include <tools/replay/sim/sim.h>

BEGIN_C_DECLS

/** @file policies.h
 *
 * The policies that a program can be replayed under, as one table. All code
 * that lists policies, accepts their names or shows their results reads this
 * table: the options and the output of the command, its help, the report, and
 * the tests that compare the documentation with it.
 *
 * To add a policy: write its function in a file here, and give it a row in
 * rows.h. The row makes its number, the declaration of its function, and its
 * entry in the table.
 */

/** The numbers of the policies: PREDREG_REPLAY_PREDICT and so on. They are in
 *  the order in which policies are played and printed. */
typedef enum {
#define PREDREG_POLICY_ROW(_number, _func, ...) PREDREG_REPLAY_##_number,
#include "rows.h"
    PREDREG_REPLAY_LAST
} predreg_replay_policy_t;


typedef struct predreg_replay_params {
    predreg_replay_policy_t  policy;
    uint64_t                 limit;    /**< LRU: bytes; REGIONS: regions; 0:
                                            half of leave-pinned's peak. ARENA:
                                            its size, bytes; 0: as large as
                                            needed */
    size_t                   arena_first; /**< ARENA: of its shortest slab, a power
                                               of 2, bytes */
    size_t                   arena_slab; /**< ARENA: of its longest slab, a power of 2,
                                              bytes */
    predreg_cost_t           reg;      /**< What registering costs, usually
                                            taken from the timeline */
    predreg_cost_t           dereg;
    uint64_t                 wakeup;   /**< PREDICT, ARENA: how long the helper takes
                                            to wake up, ns */
    int                      shared;   /**< PREDICT: not 0: the helper has no
                                            processor of its own; while it runs,
                                            the program does not. If it is
                                            conservative, the program does its
                                            work */
    uint64_t                 max_steps; /**< CLAIRVOYANT: it is not played if it
                                             takes more steps than this, at some
                                             0.1 us each; see
                                             predreg_segments_steps() */
    ucs_rcache_pred_params_t cache;    /**< PREDICT, ON_DEMAND, ARENA: parameters of
                                            the cache, as the knobs set them.
                                            The fields ops, arg, node and policy
                                            are ignored. The sink, if there is
                                            one, gets the cache's events, whose
                                            clock is ahead of the program's */
} predreg_replay_params_t;

/**
 * Plays a policy. predreg_replay() calls this after it has checked the
 * parameters, cleared the result and set the result's policy. On failure there
 * is nothing in the result to clean up.
 *
 * @return UCS_ERR_NO_MEMORY, or UCS_ERR_UNSUPPORTED (logged) if playing it
 *         would take longer than the parameters allow.
 */
typedef ucs_status_t
predreg_policy_func_t(const predreg_timeline_t *timeline,
                      const predreg_replay_params_t *params,
                      predreg_replay_result_t *result);


/** What the limit of a policy counts. */
typedef enum {
    PREDREG_LIMIT_NONE,    /**< The policy has no limit */
    PREDREG_LIMIT_BYTES,
    PREDREG_LIMIT_REGIONS,
    PREDREG_LIMIT_LAST
} predreg_limit_t;

/** How a user writes a limit, as in "lru=64m". The strings are NULL if there is
 *  no limit. */
typedef struct predreg_limit_kind {
    const char *placeholder; /**< Stands for the number in help texts */
    const char *example;     /**< An example of a number */
} predreg_limit_kind_t;

extern const predreg_limit_kind_t predreg_limit_kinds[PREDREG_LIMIT_LAST];


/** A row of the table. */
typedef struct predreg_policy {
    const char            *name;  /**< In options, tables and JSON */
    const char            *label; /**< In a report */
    const char            *brief; /**< What it is, in a few words */
    const char            *note;  /**< What it does. If the policy has a limit,
                                       its number follows this text */
    predreg_limit_t       limit;  /**< What its limit counts */
    unsigned              place;  /**< Its place in a report, from 0. First come
                                       what programs have today, what they could
                                       have, and what is possible */
    int                   is_key; /**< Whether a report shows it also where it
                                       shows only the most important policies */
    predreg_policy_func_t *replay;
} predreg_policy_t;

/** The table, indexed by predreg_replay_policy_t. */
extern const predreg_policy_t predreg_policies[PREDREG_REPLAY_LAST];


/** @return the policy with this name, of so many characters, or
 *          PREDREG_REPLAY_LAST. */
predreg_replay_policy_t predreg_policy_find(const char *name, size_t length);

/** @return the policy at a place of a report. */
predreg_replay_policy_t predreg_policy_at(unsigned place);


/* The functions of the table: predreg_replay_predict() and so on. Those of this
 * library's own cache are in library.c, those of UCX's cache in ucx.c, and the
 * others in the files of their names. */
#define PREDREG_POLICY_ROW(_number, _func, ...) \
    predreg_policy_func_t predreg_replay_##_func;
#include "rows.h"

END_C_DECLS

#endif
