/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_BUDGETS_H_
#define PREDREG_BUDGETS_H_

#include <tools/replay/policies/policies.h>

BEGIN_C_DECLS

/** @file budgets.h
 *
 * The curve of registered memory against run time: which budgets a program is
 * replayed with under predict, and which of them to use. `ucx_predreg replay
 * --curve` and the report call this, so that they agree.
 *
 * All functions are pure, but for @ref predreg_budgets_play, which replays.
 */

/** The part of the run time that a setting may cost and still be said to cost
 *  nothing. The project's goal is to stay within 1 % of leave-pinned. */
#define PREDREG_COSTS_PART 0.01

/** Memory that differs by less than this part is the same: tables show three
 *  digits. */
#define PREDREG_SAME_MEMORY_PART 0.001

/** The most budgets of a curve. */
#define PREDREG_BUDGETS_MAX 8

/** Bytes for the name of a budget. */
#define PREDREG_BUDGET_NAME_MAX 16


/** The budgets of a curve. */
typedef struct predreg_budgets {
    unsigned num;
    unsigned usual;                      /**< Index of the one that is used
                                              unless another one is set */
    double   rates[PREDREG_BUDGETS_MAX]; /**< Ascending, parts of the run time;
                                              the last is INFINITY */
} predreg_budgets_t;

/** What a setting comes to. */
typedef struct predreg_budget_point {
    double   memory; /**< Registered on average, bytes */
    uint64_t time;   /**< Run time, ns */
} predreg_budget_point_t;


/** List 0, 0.2, 0.5, 1, 2 and 5 % and no bound, and the usual budget if it is
 *  another one.
 *  @param [in] usual  Part of the run time. */
void predreg_budgets_list(double usual, predreg_budgets_t *budgets);

/** @return the budget as the knob BUDGET takes it, in percent or "inf"; it is
 *          in buf, which has PREDREG_BUDGET_NAME_MAX bytes. */
char *predreg_budget_name(double rate, char *buf);

/**
 * Choose a budget: that with the least memory of those under which the program
 * takes at most PREDREG_COSTS_PART longer than under leave-pinned. If several
 * have the same memory, it is the usual one if that is among them, and else the
 * smallest, since that is the one that can cost least.
 *
 * @param [in] points  For each budget, what it comes to.
 * @param [in] pinned  What leave-pinned comes to.
 * @return its index, or the number of budgets if none of them saves memory.
 */
unsigned predreg_budgets_choose(const predreg_budgets_t *budgets,
                                const predreg_budget_point_t *points,
                                const predreg_budget_point_t *pinned);

/**
 * Replay a program under predict with one of the budgets.
 *
 * @param [in] params  Of PREDICT. Their budget does not matter.
 * @return the status of @ref predreg_replay.
 */
ucs_status_t predreg_budgets_play(const predreg_timeline_t *timeline,
                                  const predreg_replay_params_t *params,
                                  double rate, predreg_replay_result_t *result);

END_C_DECLS

#endif
