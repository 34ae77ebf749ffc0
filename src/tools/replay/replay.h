/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_H_
#define PREDREG_REPLAY_H_

#include <tools/replay/policies/policies.h>
#include <ucs/node/node.h>

BEGIN_C_DECLS

/** @file replay.h
 *
 * Plays a recorded program under another policy, on a virtual clock; and the
 * curve of registered memory against run time, by budgets of predict. The same
 * trace and parameters always give the same result, bit for bit.
 *
 * The functions on budgets are pure. `replay --curve` and the report call the same
 * functions, and so agree.
 */

/** Set the default parameters of a policy: the defaults of the library's own
 *  knobs, and the costs of the timeline. */
void predreg_replay_params_default(const predreg_timeline_t *timeline,
                                   predreg_replay_policy_t policy,
                                   predreg_replay_params_t *params);

/**
 * Play the policy of the parameters.
 *
 * @param [out] result  The caller has to clean it up after UCS_OK.
 * @return UCS_ERR_INVALID_PARAM if a parameter is out of range (logged, with the value
 *         and the accepted range), or UCS_ERR_UNSUPPORTED (logged) if the policy would
 *         take longer than the parameters allow.
 */
ucs_status_t predreg_replay(const predreg_timeline_t *timeline,
                            const predreg_replay_params_t *params,
                            predreg_replay_result_t *result);


/** A rank that is replayed together with others of its node. */
typedef struct predreg_together {
    const predreg_timeline_t *timeline;
    predreg_replay_params_t  params;  /**< The replay sets flow and cache.node */
    uint64_t                 start;   /**< When the rank starts, on the clock of all
                                           ranks, ns */
    predreg_replay_result_t  *result;
    ucs_status_t             status;  /**< Out: as of predreg_replay() */
} predreg_together_t;

/**
 * Play the policy predict or on-demand for all ranks of a node at the same time, under the
 * bounds of the node. A wait of a rank makes its own further events later, and no events of
 * other ranks.
 *
 * @return as @ref ucs_rcache_pred_node_simulate; if UCS_OK, each rank has a status.
 */
ucs_status_t predreg_replay_together(predreg_together_t *ranks, size_t num,
                                     const ucs_rcache_pred_node_params_t *bounds);


/** A setting costs nothing if it increases the run time by at most this part: the goal of
 *  the project is to stay within 1 % of leave-pinned. */
#define PREDREG_COSTS_PART 0.01

/** Two sizes of memory with a smaller difference count as equal: tables show three
 *  digits. */
#define PREDREG_SAME_MEMORY_PART 0.001

/** The most budgets of a curve. */
#define PREDREG_BUDGETS_MAX 8

/** Bytes for the name of a budget. */
#define PREDREG_BUDGET_NAME_MAX 16


/** The budgets of a curve. */
typedef struct predreg_budgets {
    unsigned num;
    unsigned usual;                      /**< Index of the default budget */
    double   rates[PREDREG_BUDGETS_MAX]; /**< Parts of the run time, ascending; the
                                              last one is INFINITY, that is, no bound */
} predreg_budgets_t;

/** The memory and run time under a setting. */
typedef struct predreg_budget_point {
    double   memory; /**< Average of registered memory, bytes */
    uint64_t time;   /**< ns */
} predreg_budget_point_t;


/** List the budgets 0, 0.2, 0.5, 1, 2 and 5 %, no bound, and the usual budget.
 *  @param [in] usual  The usual budget, as a part of the run time. */
void predreg_budgets_list(double usual, predreg_budgets_t *budgets);

/** @return the budget in the form of the knob BUDGET, in percent or "inf"; in
 *          buf, which has PREDREG_BUDGET_NAME_MAX bytes. */
char *predreg_budget_name(double rate, char *buf);

/**
 * Choose a budget with which predict takes at most PREDREG_COSTS_PART more time than
 * leave-pinned. Of such budgets, choose the one with the least memory. Of budgets with
 * the same memory, choose the usual one, or else the smallest, which can cost least.
 *
 * @param [in] points  Memory and run time with each budget.
 * @param [in] pinned  Memory and run time under leave-pinned.
 * @return the index, or the number of budgets if no budget saves memory.
 */
unsigned predreg_budgets_choose(const predreg_budgets_t *budgets,
                                const predreg_budget_point_t *points,
                                const predreg_budget_point_t *pinned);

END_C_DECLS

#endif
