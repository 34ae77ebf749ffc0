/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_INT_H_
#define PREDREG_REPLAY_INT_H_

#include <tools/replay/gains.h>
#include <tools/replay/replay.h>
#include <tools/replay/scale/scale.h>
#include <ucs/base/json.h>
#include <uct/ib/predreg/core/knobs.h>

BEGIN_C_DECLS

/** @file replay_int.h
 *
 * The parts of `ucx_predreg replay`: the options (opts.c), the job with its results
 * (job.c), and the output (output.c, scale.c). command.c calls all of them.
 */

/** Cost of an operation, as an option gives it. */
typedef struct {
    predreg_cost_t cost;
    int            is_given;
} predreg_given_cost_t;

typedef struct {
    int                  policies[PREDREG_REPLAY_LAST]; /**< Whether each policy is to be
                                                             replayed */
    int                  policies_given; /**< Whether the user has named policies */
    uint64_t             limits[PREDREG_REPLAY_LAST]; /**< Limit of each policy; 0: not
                                                           given */
    uct_predreg_knobs_t  knobs;
    predreg_given_cost_t reg;
    predreg_given_cost_t dereg;
    int                  shared_processor; /**< Whether the helper has no processor of
                                                its own */
    unsigned             num_ranks;      /**< Number of ranks of a larger job; 0: there
                                              is no larger job */
    unsigned             ranks_per_node; /**< Ranks of the larger job on a node; 0: not
                                              given */
    unsigned             cores_per_node; /**< Cores of a node of the larger job; 0: not
                                              given */
    uint64_t             node_max;       /**< Bound of a node of the larger job, bytes;
                                              0: not given */
    int                  curve;          /**< Whether predict is played with several
                                              budgets */
    predreg_budgets_t    budgets;        /**< The budgets of the curve; the usual one is
                                              the value of the knob BUDGET */
    int                  json;
    int                  per_rank;
    int                  num_paths;
    char                 **paths;        /**< Folders of traces, and traces */
} predreg_replay_opts_t;

/**
 * Read the options. If help is asked for, print it and end the program.
 *
 * @param [out] opts  To be cleaned up in any case.
 * @return 0, or the exit status if an option is wrong, and the reason has been
 *         printed.
 */
int predreg_replay_opts_parse(int argc, char **argv,
                              predreg_replay_opts_t *opts);

void predreg_replay_opts_cleanup(predreg_replay_opts_t *opts);


/** How much a trace says of the cost of an operation. */
typedef enum {
    PREDREG_KNOWN_NOT,    /**< Nothing: the operation was not recorded */
    PREDREG_KNOWN_SIZE,   /**< The cost of an operation on one size of memory. The cost
                               of a page is a guess */
    PREDREG_KNOWN_ALL
} predreg_known_t;

/** Missing parts of a program in its traces. */
typedef struct {
    int      guessed;   /**< Whether costs are a guess, at least in part: neither
                             recorded nor given */
    uint64_t lost;      /**< Events dropped by the recording */
    int      truncated; /**< Whether the end of a trace is missing */
    size_t   left_out;  /**< Unreadable traces */
} predreg_damage_t;

/** A rank whose trace was replayed and freed. */
typedef struct {
    char                 *path;       /**< Path of the trace */
    long                 number;      /**< Number of the rank in the job. If the trace
                                           does not tell the number: -1 at first, and
                                           the index of the rank after sorting */
    unsigned             input;       /**< Index, among the paths given by the user, of
                                           the path with this trace */
    size_t               order;       /**< Index in the order in which ranks were
                                           loaded */
    predreg_rank_start_t start;
    size_t               num_uses;
    uint64_t             duration;    /**< Recorded run time without the waits, ns */
    uint64_t             waited;      /**< Sum of the recorded waits, ns */
    predreg_cost_t       reg;         /**< Cost of registrations, fitted to the
                                           recording */
    predreg_cost_t       dereg;
    predreg_known_t      reg_known;
    predreg_known_t      dereg_known;
    predreg_damage_t     damage;      /**< Missing parts of its trace; left_out is 0 */
} predreg_rank_t;

/** Number of results of a rank. First comes a result for each policy, by the number of
 *  the policy, and then a result of predict for each budget of a curve. The usual budget
 *  has no result among these: the policy predict has the same one. */
#define PREDREG_JOB_RESULTS (PREDREG_REPLAY_LAST + PREDREG_BUDGETS_MAX)

/** A recorded job. Initialize with zeros. */
typedef struct {
    predreg_rank_t          *ranks;   /**< Sorted by the path given, then by rank, with
                                           ranks without a number last, then by name */
    size_t                  num_ranks;
    int64_t                 *offsets; /**< How much later than the first rank each rank
                                           starts, ns */
    int                     aligned;  /**< Whether the offsets are known */
    predreg_damage_t        damage;   /**< Missing parts of all ranks together */
    predreg_sends_t         sends;    /**< Small sends of all ranks */
    int                     in_arena; /**< Whether a rank was recorded with an arena */
    predreg_replay_result_t *results[PREDREG_JOB_RESULTS];
                                      /**< For each policy or budget, the results of all
                                       *   ranks, and then the total. NULL: the user has
                                       *   not asked for it, or its replay would have
                                       *   taken too long */
} predreg_job_t;

/** Get the parameters for the replay of a rank under a policy: the values given by
 *  options, and defaults for all others. */
void predreg_job_params(const predreg_replay_opts_t *opts,
                        const predreg_timeline_t *timeline,
                        predreg_replay_policy_t policy, predreg_replay_params_t *params);

/** After a success, keep the parts of a result that are needed later; after an error, keep
 *  nothing. */
void predreg_job_keep(const predreg_replay_opts_t *opts, ucs_status_t status,
                      predreg_replay_result_t *result);

/** @return whether the options have a bound of the node. */
int predreg_job_has_node_bound(const predreg_replay_opts_t *opts);

/** @return whether a policy keeps the bounds of the node, and so is replayed for all ranks
 *          together, once all of them are loaded. */
int predreg_job_is_together(const predreg_replay_opts_t *opts, unsigned policy);

/**
 * Replay each policy and budget that keeps the bounds of the node, and write the results of
 * its ranks. The ranks are sorted, and their starts are known.
 *
 * @param [in] timelines  In the order of loading.
 * @return the first error; the reason has been printed.
 */
ucs_status_t predreg_job_replay_node(const predreg_replay_opts_t *opts,
                                     const predreg_job_t *job,
                                     predreg_timeline_t *const *timelines);

/**
 * Replay the traces of a job, sort the ranks, find when each rank starts, and sum up the
 * results. Each trace is loaded, replayed under all policies and freed before the next
 * one is loaded, unless a policy keeps a bound of the node. So a job of any size fits into memory, which keeps some numbers of each
 * rank and, for each policy, its curve of registered memory.
 *
 * Damaged traces are left out with a warning, unless there are no others. A policy whose
 * replay would take too long for one of the ranks is left out for all ranks.
 *
 * @param [out] job  Has at least one rank if this returns UCS_OK. To be cleaned up in any
 *                   case.
 * @return the first error; the reason has been printed.
 */
ucs_status_t predreg_job_replay(const predreg_replay_opts_t *opts,
                                predreg_job_t *job);

void predreg_job_cleanup(predreg_job_t *job);

/** @return the results of predict with one of the budgets of the curve. */
const predreg_replay_result_t *
predreg_job_budget_results(const predreg_job_t *job,
                           const predreg_budgets_t *budgets, unsigned index);


/** Whether a result is of the budget that the curve recommends. */
typedef enum {
    PREDREG_NO_BUDGET = -1, /**< The results are not of a curve */
    PREDREG_NOT_RECOMMENDED,
    PREDREG_RECOMMENDED
} predreg_recommended_t;

/** Print the head of the table. */
void predreg_replay_print_head(void);

/**
 * Print the results of a policy, or of predict with a budget: of all ranks
 * together and, if the options say so, of each.
 *
 * @param [in] label    Name in the table.
 * @param [in] results  Of each rank, and then the total.
 */
void predreg_replay_print_results(const predreg_job_t *job,
                                  const predreg_replay_opts_t *opts,
                                  const char *label,
                                  predreg_recommended_t recommended,
                                  const predreg_replay_result_t *results);

/** Put the missing parts of traces into a JSON object. */
void predreg_replay_put_damage(ucs_json_t *json, const predreg_damage_t *damage);

/** Print in words how many uses are of buffers that predict has forgotten; print nothing
 *  if there are none. */
void predreg_replay_print_forgotten(const predreg_replay_result_t *result);

/** Print in words how much more memory predict registers than clairvoyant. */
void predreg_replay_print_excess(const predreg_replay_result_t *predict,
                                 const predreg_replay_result_t *clairvoyant);

/** Print the effect of an arena: a JSON object on a line, or sentences. Print nothing if
 *  the program has no mappings for an arena. */
void predreg_replay_print_gain(const predreg_gain_t *gain, int is_json);

/** Print the small sends, and the gain of sending them without the copy: a JSON object
 *  on a line, or sentences. Print nothing if there are none. */
void predreg_replay_print_sends(const predreg_sends_t *sends, int is_json);

/** Print the memory registered by the nodes of a larger job (--ranks). */
ucs_status_t predreg_replay_scale(const predreg_job_t *job,
                                  const predreg_replay_opts_t *opts);

END_C_DECLS

#endif
