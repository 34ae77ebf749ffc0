/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_JOB_H_
#define PREDREG_REPLAY_JOB_H_

#include "rank.h"

#include <tools/replay/budgets.h>
#include <tools/replay/sends.h>

BEGIN_C_DECLS

/** @file job.h
 *
 * A job that was recorded: its ranks, and what comes of each policy. It grows
 * by a rank at a time (load.c), is put in order (order.c) and summed up, and is
 * then printed.
 */

/** How many results of a rank there may be: one for each policy, by its number,
 *  and from PREDREG_REPLAY_LAST on those of predict with the budgets of a
 *  curve, but for the usual budget, which is that of the policy. */
#define PREDREG_JOB_RESULTS (PREDREG_REPLAY_LAST + PREDREG_BUDGETS_MAX)

typedef struct predreg_job {
    predreg_rank_t          *ranks;   /**< As they were loaded; once they are in
                                           order: by path given, then by rank,
                                           those without one last, then by
                                           name */
    size_t                  num_ranks;
    int64_t                 *offsets; /**< By how much later each rank lies in
                                           time, ns; NULL before the ranks are
                                           in order */
    int                     aligned;  /**< Whether the offsets are known */
    predreg_damage_t        damage;   /**< Of all ranks together. Before the job
                                           is summed up, its left_out only */
    predreg_sends_t         sends;    /**< Small sends of all ranks */
    predreg_replay_result_t *results[PREDREG_JOB_RESULTS];
                                      /**< For each policy or budget, the
                                           results of the ranks, then that of
                                           all together;
                                           NULL: it was not asked for, or would
                                           have taken too long */
} predreg_job_t;


void predreg_job_init(predreg_job_t *job);
void predreg_job_cleanup(predreg_job_t *job);

/** Make room for a result, of a policy or budget, for the next rank, before
 *  that is added, and for that of all ranks together. Results that are not
 *  there yet are all 0.
 *  @return the result of the next rank. It moves with the next call. */
predreg_replay_result_t *
predreg_job_add_result(predreg_job_t *job, unsigned index);

/** Add a rank, once its results are there.
 *  @return the rank, to be filled in. It moves with the next call. */
predreg_rank_t *predreg_job_add_rank(predreg_job_t *job);

/** Drop the results of the next rank, which will not be added. */
void predreg_job_drop_next(predreg_job_t *job);

/** Drop all results of a policy or budget, if there are any. */
void predreg_job_drop_results(predreg_job_t *job, unsigned index);

/** @return the results with one of the budgets of the curve. */
const predreg_replay_result_t *
predreg_job_budget_results(const predreg_job_t *job,
                           const predreg_budgets_t *budgets, unsigned index);

/** Sum up the damage and the results of all ranks, which are in order.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_job_sum_up(predreg_job_t *job);

END_C_DECLS

#endif
