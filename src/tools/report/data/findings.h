/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FINDINGS_H_
#define PREDREG_FINDINGS_H_

#include <tools/replay/replay.h>
#include <ucs/stat/stats.h>

BEGIN_C_DECLS

/** @file findings.h
 *
 * The results of a job in replay, over all ranks: the outcome of each setting,
 * and the facts about the ranks. The report adds them up; the advice follows
 * from them.
 */

/** The number of parts of a run, for the load of the helper by time. */
#define PREDREG_OUTCOME_SLOTS 1000

/** The results of a setting, over all ranks: sums, unless a comment says
 *  otherwise. */
typedef struct predreg_outcome {
    unsigned ranks;        /**< Number of added ranks; 0: not played */
    uint64_t bound_bytes;  /**< Highest bounds of a rank, if any */
    uint64_t bound_regions;
    double   average;      /**< Average of registered memory, bytes */
    uint64_t peak;         /**< Highest peak of a rank, bytes */
    double   byte_seconds;
    double   by_cause[PREDREG_CAUSE_LAST]; /**< byte * s */
    PREDREG_RESULT_NUMBERS(PREDREG_NUMBER_FIELD)
    uint64_t duration;     /**< Sum over the ranks of their run times, ns */
    uint64_t longest;      /**< Highest duration of a rank, ns */
    double   helper_crowded; /**< The sum over parts of the run: the working time of
                                  the helper in a part, ns, times the load of the
                                  helper in this part */
    uint64_t prediction_errors[UCS_RCACHE_PRED_ERROR_CLASSES];
} predreg_outcome_t;


/** Add the result of a rank. */
void predreg_outcome_add(predreg_outcome_t *outcome,
                         const predreg_replay_result_t *result);

/** Add an outcome, of one rank or of several. */
void predreg_outcome_add_outcome(predreg_outcome_t *sum,
                                 const predreg_outcome_t *more);

/** @return the average of registered memory in a rank, bytes. */
static inline double predreg_outcome_average(const predreg_outcome_t *outcome)
{
    return (outcome->ranks == 0) ? 0 : (outcome->average / outcome->ranks);
}

/** @return the load of the helper while it has work, 0 .. 1. The load over the whole run
 *          would say less: a helper with too much work for a while may be idle for most
 *          of the run. */
static inline double predreg_outcome_load(const predreg_outcome_t *outcome)
{
    return (outcome->helper == 0) ?
           0 : (outcome->helper_crowded / outcome->helper);
}


/*
 * The bounds on UCX's own cache that a report tries: 2 MiB, 3 MiB, 4 MiB, 6 MiB, and so
 * on. The bounds are the same for all ranks, since a job has one setting. For each rank,
 * a report plays the largest bounds below the peak of the rank. It does not play smaller
 * bounds, and a larger bound changes nothing for this rank.
 */

/** Number of bounds, from 2 MiB to 6 PiB. */
#define PREDREG_NUM_BOUNDS 64
/** Number of played bounds of a rank; the smallest of 8 is a sixteenth to an
 *  eighth of the peak. */
#define PREDREG_MAX_TRIED  8


/** @return the bytes of a bound. */
uint64_t predreg_bound_bytes(unsigned index);

/**
 * List the bounds on UCX's cache under which a rank is to be played.
 *
 * @param [in]  peak    Peak of the rank under leave-pinned, bytes.
 * @param [out] limits  Room for PREDREG_MAX_TRIED bounds. The largest comes first.
 * @return the number of bounds.
 */
unsigned predreg_bounds_to_try(uint64_t peak, uint64_t *limits);

/**
 * Add a rank to the outcomes of the bounds whose result is known for the rank.
 *
 * @param [in,out] outcomes  PREDREG_NUM_BOUNDS outcomes, indexed by bound. If a bound is
 *                           not known for all ranks, its outcome has fewer ranks than the
 *                           job.
 * @param [in]     pinned    Result under leave-pinned, which is also the result of each
 *                           bound that is not below the peak.
 * @param [in]     tried     Results of smaller bounds, in any order.
 */
void predreg_bounds_add(predreg_outcome_t *outcomes,
                        const predreg_replay_result_t *pinned,
                        const predreg_replay_result_t *tried,
                        unsigned num_tried);


/** Whether a job had idle processors while it was recorded. */
typedef enum {
    PREDREG_PROCESSORS_UNKNOWN, /**< The trace of some rank does not tell */
    PREDREG_PROCESSORS_IDLE,    /**< One for the helper of each rank */
    PREDREG_PROCESSORS_BUSY     /**< Not for each: none counts */
} predreg_processors_t;

typedef struct predreg_findings {
    predreg_outcome_t outcomes[PREDREG_REPLAY_LAST]; /**< Outcome of each policy,
                                                          indexed by
                                                          predreg_replay_policy_t */
    predreg_outcome_t bounds[PREDREG_NUM_BOUNDS]; /**< Outcome of each bound on UCX's
                                                       own cache */
    predreg_budgets_t budgets;     /**< Played budgets of predict, with a helper
                                        on the program's processor; none: num is
                                        0 */
    predreg_outcome_t curve[PREDREG_BUDGETS_MAX]; /**< Outcome of predict with each of
                                                       the budgets */
    uint64_t          known_regions; /**< The most regions that predict remembers; 0:
                                          not known */
    uint64_t          max_buffers; /**< The largest number of buffers used in a rank */
    uint64_t          sum_buffers; /**< Sum over the ranks of the numbers of used
                                        buffers */
    double            in_use;      /**< Bytes of uses times their duration, byte
                                        * s, of all ranks */
    double            in_long_use; /**< The same sum, but only of uses longer than half
                                        of the program */
    int               pools_known; /**< Whether a trace has pool_bytes */
    uint64_t          pool_bytes;  /**< Registered bytes of UCX's own pools,
                                        mean of the ranks with this number */
    uint64_t          pool_kinds[UCS_RCACHE_PRED_POOL_LAST]; /**< Likewise, by kind */
    uint64_t          keys_peak;   /**< The most registrations at a time of a rank while
                                        it was recorded; 0: not known */
    uint64_t          keys_limit;  /**< The least number of keys of a device to which the
                                        ranks of a node kept; 0: not known */
    unsigned          domains;     /**< The largest number of memory domains opened in
                                        a rank */
    uint64_t          events;      /**< Recorded events, all ranks */
    uint64_t          lost;        /**< Lost events, all ranks */
    unsigned          truncated;   /**< Ranks whose trace has no end */
    unsigned          unended;     /**< Ranks that did not come to their end */
    unsigned          left_out;    /**< Damaged traces, which are not among the ranks */
    unsigned          tell_idle;   /**< Ranks whose trace tells how many processors were
                                        idle */
    unsigned          have_idle;   /**< Of these, ranks whose node had an idle processor for
                                        each of its ranks */
    unsigned          in_arena;    /**< Ranks that were recorded with an arena */
    unsigned          reg_guessed; /**< Ranks with uses and a guessed cost of
                                        registrations */
    unsigned          dereg_guessed; /**< Ranks with uses and a guessed cost of
                                          deregistrations */
    uint64_t          use_bytes;   /**< Mean length of a use, bytes */
    uint64_t          least_reg;   /**< Time of a registration of use_bytes in the
                                        fastest rank, by the ranks' own measurements,
                                        ns; 0: not measured */
    uint64_t          most_reg;    /**< The same time in the slowest rank */
    uint64_t          common_reg;  /**< Time of a registration of use_bytes in the
                                        replay of ranks recorded under leave-pinned,
                                        ns; 0: there are no such ranks */
    uint64_t          guessed_dereg; /**< Guessed time of a deregistration of
                                          use_bytes, ns; 0: no guess */
} predreg_findings_t;


/** @return the outcome of leave-pinned, with which all others are compared. */
static inline const predreg_outcome_t *
predreg_pinned(const predreg_findings_t *findings)
{
    return &findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED];
}

/** @return what the job had of idle processors. */
static inline predreg_processors_t
predreg_processors(const predreg_findings_t *findings)
{
    unsigned ranks = predreg_pinned(findings)->ranks;

    return (findings->tell_idle < ranks)  ? PREDREG_PROCESSORS_UNKNOWN :
           (findings->have_idle == ranks) ? PREDREG_PROCESSORS_IDLE :
                                            PREDREG_PROCESSORS_BUSY;
}

/** @return whether all ranks were played under a setting. */
int predreg_is_played(const predreg_findings_t *findings,
                      const predreg_outcome_t *outcome);

/** @return whether all ranks were played under predict with all budgets. */
int predreg_has_curve(const predreg_findings_t *findings);

/** @return the increase of the run time against leave-pinned, as a part of the
 *          run time of leave-pinned; negative for a decrease. */
double predreg_extra_time(const predreg_findings_t *findings,
                          const predreg_outcome_t *outcome);

END_C_DECLS

#endif
