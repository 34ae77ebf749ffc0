/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RECOMMEND_H_
#define PREDREG_RECOMMEND_H_

#include "outcome.h"

#include <tools/replay/policies/policies.h>

BEGIN_C_DECLS

/** @file recommend.h
 *
 * Which policy to use for a program, by what each came to in replay, and why.
 * Pure rules, in the order of predreg_reason_t; docs/report.md has them in
 * words.
 *
 * Memory is compared by its average over time, times by what they are of the
 * run time. The bounds are ours; where they follow from the project's marks, it
 * is said.
 */

/** Below this part of what UCX's own pools register, nobody would notice. */
#define PREDREG_TINY_PART         0.1
/** What those pools register, where the trace does not say: UCX 1.13 with rc,
 *  two ranks, bytes. */
#define PREDREG_USUAL_POOLS       (66ul << 20)
/** Uses in a rank below which there is next to nothing to learn from: a history
 *  of predict needs two intervals, and takes a period from eight. */
#define PREDREG_FEW_USES          20
/** A policy saves memory if it has this part of leave-pinned's, or less. */
#define PREDREG_SAVES_PART        0.75
/** Run time a policy may cost: the mark is within 1 % of leave-pinned. */
#define PREDREG_COSTS_PART        0.01
/** A simpler policy is as good as predict if it has at most so many times its
 *  memory ... */
#define PREDREG_AS_GOOD_MEMORY    1.1
/** ... and waits longer by this part of the run time at most. */
#define PREDREG_AS_GOOD_WAITED    0.001
/** A program repeats itself if this part of its uses, or more, hit under
 *  predict. */
#define PREDREG_REGULAR_PART      0.5
/** More late uses than this part are worth a word. */
#define PREDREG_LATE_PART         0.05
/** More lost events than this part make all figures doubtful. */
#define PREDREG_LOST_PART         0.01


typedef enum {
    PREDREG_SETTING_PREDICT,
    PREDREG_SETTING_ON_DEMAND,
    PREDREG_SETTING_BOUND,       /**< UCX's own cache, with a bound in bytes */
    PREDREG_SETTING_LEAVE_PINNED /**< UCX as it is */
} predreg_setting_t;


typedef enum {
    /* Nothing to gain: leave-pinned */
    PREDREG_REASON_NO_USES,   /**< Nothing was registered for communication */
    PREDREG_REASON_TINY,      /**< Hardly any memory, beside UCX's own */
    PREDREG_REASON_IN_USE,    /**< It is in use most of the time: MPI windows,
                                   long transfers */
    PREDREG_REASON_NO_GAPS,   /**< Not even the clairvoyant saves memory: uses
                                   come too soon after each other */

    /* Simpler ones */
    PREDREG_REASON_FEW_USES,  /**< Too few uses to learn from; on-demand if it
                                   pays, else leave-pinned */
    PREDREG_REASON_ON_DEMAND_AS_GOOD, /**< On-demand */
    PREDREG_REASON_BOUND_AS_GOOD,     /**< A bound */

    /* Predict */
    PREDREG_REASON_PAYS,      /**< Saves memory, and costs no time */
    PREDREG_REASON_IRREGULAR, /**< The program does not repeat itself, and
                                   predict does not pay or on-demand does, too:
                                   on-demand if that saves memory, else
                                   leave-pinned */
    PREDREG_REASON_COSTS,     /**< Predict saves memory, and costs time */
    PREDREG_REASON_NO_SAVING, /**< It does not save memory: leave-pinned */
    PREDREG_REASON_LAST
} predreg_reason_t;


typedef enum {
    PREDREG_ANSWER_YES,
    PREDREG_ANSWER_IF_SHORT, /**< Only if memory is short: it costs time */
    PREDREG_ANSWER_NO
} predreg_answer_t;


/** What has to be said with it: bits. */
enum {
    PREDREG_CAVEAT_LOST      = 1 << 0, /**< Many events were lost */
    PREDREG_CAVEAT_TRUNCATED = 1 << 1, /**< The end of a trace is missing */
    PREDREG_CAVEAT_GUESSED   = 1 << 2, /**< Costs of registering are guessed */
    PREDREG_CAVEAT_LATE      = 1 << 3  /**< Predict has many late uses */
};


typedef struct predreg_findings {
    predreg_outcome_t outcomes[PREDREG_REPLAY_LAST]; /**< By policy */
    uint64_t          pool_bytes;  /**< Registered by UCX's own pools, mean of
                                        the ranks; 0: not known */
    uint64_t          events;      /**< Recorded, all ranks */
    uint64_t          lost;        /**< Not recorded, all ranks */
    int               truncated;   /**< Any trace is */
    int               guessed;     /**< Costs of any rank are */
} predreg_findings_t;


typedef struct predreg_advice {
    predreg_setting_t setting;
    predreg_reason_t  reason;
    predreg_answer_t  answer;
    unsigned          caveats;
} predreg_advice_t;


/**
 * @param [in]  findings  LEAVE_PINNED must have been played. Policies that were
 *                        not are not recommended.
 */
void predreg_recommend(const predreg_findings_t *findings,
                       predreg_advice_t *advice);

/** The policy that is played for a setting. */
predreg_replay_policy_t predreg_setting_policy(predreg_setting_t setting);

END_C_DECLS

#endif
