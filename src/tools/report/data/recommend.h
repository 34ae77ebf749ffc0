/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RECOMMEND_H_
#define PREDREG_RECOMMEND_H_

#include "findings.h"

BEGIN_C_DECLS

/** @file recommend.h
 *
 * Recommends a setting for a program, and tells the reason, from the findings.
 * recommend.c tries the rules in the order of predreg_reason_t; choices.c has
 * the settings to choose from, and the causes of misses. docs/report.md tells
 * the rules in words.
 *
 * A report plays predict twice: with its defaults and a helper with a processor
 * of its own, and with several budgets and a helper without one. If the traces tell
 * whether the job had a processor for each helper, the advice is for the same case.
 * Otherwise it is predict with the budget that @ref predreg_budgets_choose finds among
 * these several budgets, so that predict keeps its promise in both cases.
 *
 * The rules compare the average of memory over time, and times as parts of the
 * run time of the slowest rank. The constants are our own choice, unless a
 * comment names a goal of the project.
 */

/** A setting saves memory if it needs at most this part of the memory of leave-pinned. */
#define PREDREG_SAVES_PART        0.75
/** A program with less than this part of the registered memory of UCX's own
 *  pools has too little memory for a noticeable saving. */
#define PREDREG_TINY_PART         0.1
/** The usual registered memory of UCX's own pools, bytes, as measured with UCX
 *  1.13, the transport rc and two ranks. The page shows it beside the memory of
 *  a program whose traces do not have the number; the advice does not depend on
 *  it. */
#define PREDREG_USUAL_POOLS       (66ul << 20)
/** A rank with fewer uses than this teaches predict next to nothing: a history
 *  needs two intervals, and finds a period after eight. */
#define PREDREG_FEW_USES          20
/** This part of the run time is too much to pay for memory, unless the program
 *  could not run otherwise. */
#define PREDREG_TOO_SLOW_PART     0.25
/** A simpler policy that is as good as predict has at most this multiple of predict's
 *  memory. */
#define PREDREG_AS_GOOD_MEMORY    1.1
/** A simpler policy that is as good as predict waits longer than predict by at most this
 *  part of the run time. */
#define PREDREG_AS_GOOD_WAITED    0.001
/** The report has a caveat if more than this part of the uses is late. */
#define PREDREG_LATE_PART         0.05
/** The report has a caveat if registrations cost more than this multiple of the cost in
 *  another rank. */
#define PREDREG_COSTS_SPREAD      4
/** The report has a caveat if more than this part of the events was lost. */
#define PREDREG_LOST_PART         0.01
/** A cause explains the misses if at least this part of the misses has this cause. */
#define PREDREG_CAUSE_PART        0.5
/** The helper is busy if its load is higher than this while it has work. */
#define PREDREG_BUSY_PART         0.25
/** Number of uses of a buffer that predict cannot predict: the first use, and the second
 *  use, before which predict knows no interval. */
#define PREDREG_NEW_USES          2
/** Predict has few hits if fewer than this part of the uses hit. */
#define PREDREG_FEW_HITS_PART     0.5
/** With at least this part of hits, the misses need no explanation. */
#define PREDREG_MANY_HITS_PART    0.9

/** If no RDMA device was opened, the advice is "Check that" and this text. */
#define PREDREG_CHECK_DEVICE \
    "ucx_info -d lists one with the transport rc or dc, that UCX_TLS and " \
    "UCX_NET_DEVICES allow it, and that MPI uses UCX (Open MPI: --mca pml ucx)."


typedef enum {
    PREDREG_SETTING_PREDICT,
    PREDREG_SETTING_ON_DEMAND,
    PREDREG_SETTING_BOUND,       /**< UCX's own cache, with a bound in bytes */
    PREDREG_SETTING_LEAVE_PINNED /**< UCX as it is */
} predreg_setting_t;

/** A setting and its outcome. */
typedef struct predreg_choice {
    predreg_setting_t       setting;
    uint64_t                number;   /**< BOUND: bytes; else 0 */
    double                  budget;   /**< PREDICT: part of the run time; less
                                           than 0: the usual budget, with a
                                           helper on a processor of its own */
    const predreg_outcome_t *outcome; /**< In the findings */
} predreg_choice_t;

/** The cause of most misses under predict. If several causes hold, the first one of this
 *  list counts. */
typedef enum {
    PREDREG_MISSES_NONE,      /**< No misses, or predict was not played */
    PREDREG_MISSES_FORGOTTEN, /**< The program has more buffers than predict
                                   remembers */
    PREDREG_MISSES_BUSY,      /**< The helper has too much work, and uses come
                                   before it registers their memory */
    PREDREG_MISSES_LATE,      /**< Uses come before the helper registers their memory,
                                   although the helper is not busy */
    PREDREG_MISSES_NEW,       /**< Too few uses of a buffer to predict from */
    PREDREG_MISSES_IRREGULAR, /**< Most misses come at another time than
                                   predicted, or without a prediction */
    PREDREG_MISSES_OTHER,
    PREDREG_MISSES_LAST
} predreg_misses_t;

typedef enum {
    /* Nothing to gain: leave-pinned is recommended */
    PREDREG_REASON_NO_USES,   /**< Nothing was registered for communication */
    PREDREG_REASON_ARENA,     /**< Recorded with an arena: malloc() gave the program other
                                   memory than under any other policy */
    PREDREG_REASON_TINY,      /**< Hardly any memory, compared with UCX's own
                                   pools */
    PREDREG_REASON_IN_USE,    /**< Memory is in use most of the time, as in MPI
                                   windows or in long transfers */
    PREDREG_REASON_NO_GAPS,   /**< No policy pays, and the clairvoyant does not
                                   save memory: uses come too soon after each
                                   other */

    /* A simpler policy is recommended */
    PREDREG_REASON_FEW_USES,  /**< Too few uses to learn from; on-demand if it
                                   pays, else leave-pinned */
    PREDREG_REASON_ON_DEMAND_AS_GOOD, /**< On-demand pays, and is as good as predict */
    PREDREG_REASON_BOUND_AS_GOOD,     /**< A bound pays, and is as good as predict */
    PREDREG_REASON_PREDICT_WORSE,     /**< On-demand or a bound pays; predict
                                           does not pay, or has few hits */

    /* Predict */
    PREDREG_REASON_PAYS,      /**< With some budget, predict saves memory at no
                                   costs of time */

    /* No policy pays */
    PREDREG_REASON_COSTS,     /**< Saving memory costs time; the policy with the lowest
                                   costs is recommended */
    PREDREG_REASON_TOO_SLOW,  /**< Saving memory costs too much time, even with the
                                   policy with the lowest costs; leave-pinned is
                                   recommended */
    PREDREG_REASON_NO_SAVING, /**< No policy saves memory; leave-pinned is recommended */
    PREDREG_REASON_LAST
} predreg_reason_t;

typedef enum {
    PREDREG_ANSWER_YES,
    PREDREG_ANSWER_IF_SHORT, /**< Only if memory is short, because the setting
                                  costs time */
    PREDREG_ANSWER_NO
} predreg_answer_t;

/** Bits for remarks on the recommendation. */
enum {
    PREDREG_CAVEAT_LOST      = 1 << 0, /**< Many events were lost */
    PREDREG_CAVEAT_TRUNCATED = 1 << 1, /**< The end of a trace is missing */
    PREDREG_CAVEAT_GUESSED   = 1 << 2, /**< Costs of registering are guessed */
    PREDREG_CAVEAT_LATE      = 1 << 3, /**< Predict has many late uses */
    PREDREG_CAVEAT_UNENDED   = 1 << 4, /**< Processes were killed */
    PREDREG_CAVEAT_LEFT_OUT  = 1 << 5, /**< Traces are damaged */
    PREDREG_CAVEAT_POOLS     = 1 << 6, /**< The program may be TINY; the memory
                                            of pools is not known */
    PREDREG_CAVEAT_SPREAD    = 1 << 7, /**< Registrations cost far more in some
                                            ranks than in others */
    PREDREG_CAVEAT_IDLE      = 1 << 8  /**< Predict does what the report says only with
                                            a processor for each helper: without one,
                                            no budget is recommended */
};

typedef struct predreg_advice {
    predreg_choice_t choice;
    predreg_choice_t other;    /**< Predict where processors are idle if the recorded job
                                    had none, or else where none is; no outcome: not
                                    compared */
    predreg_choice_t cheapest; /**< For TOO_SLOW: the setting with the lowest costs, of
                                    the settings that save memory */
    predreg_reason_t reason;
    predreg_misses_t misses;   /**< Cause of the misses under predict */
    predreg_answer_t answer;
    unsigned         caveats;
} predreg_advice_t;


/** @param [in] findings  All ranks were played under LEAVE_PINNED. A policy under which
 *                        some rank was not played is never recommended. The advice points
 *                        into the findings. */
void predreg_recommend(const predreg_findings_t *findings,
                       predreg_advice_t *advice);


/*
 * The settings (choices.c)
 */

/** @return whether all ranks were played under a setting, and the setting needs
 *          noticeably less memory than leave-pinned. */
int predreg_saves(const predreg_findings_t *findings,
                  const predreg_outcome_t *outcome);

/** @return whether a setting takes at most slightly more time than
 *          leave-pinned. */
int predreg_costs_nothing(const predreg_findings_t *findings,
                          const predreg_outcome_t *outcome);

/** Find, for a setting, the choice with the least memory of all choices that save memory
 *  and cost nothing.
 *  @return choice, or NULL if there is none. */
const predreg_choice_t *predreg_choose(const predreg_findings_t *findings,
                                       predreg_setting_t setting,
                                       predreg_choice_t *choice);

/** Find the cheapest choice that saves memory: of the choices that save memory and take
 *  hardly more time than the fastest of such choices, the choice with the least memory.
 *  @return choice, or NULL if there is none. */
const predreg_choice_t *
predreg_choose_cheapest(const predreg_findings_t *findings,
                        predreg_choice_t *choice);

/** Choose predict with the default budget and a processor for each helper.
 *  @return whether predict pays with this choice. */
int predreg_choose_predict(const predreg_findings_t *findings,
                           predreg_choice_t *choice);

/** Choose predict with the default budget, and with the processors that the recorded job
 *  did not have. */
void predreg_choose_elsewhere(const predreg_findings_t *findings,
                              predreg_choice_t *choice);

/** Choose predict with the budget that is best if no processor is idle.
 *  @return whether predict pays with this budget. */
int predreg_choose_budget(const predreg_findings_t *findings,
                          predreg_choice_t *choice);


/*
 * The causes of misses (choices.c), from numbers of the replay that the report
 * shows beside the cause
 */

/** @return whether an outcome has few hits. */
static inline int predreg_has_few_hits(const predreg_outcome_t *outcome)
{
    return outcome->hits < PREDREG_FEW_HITS_PART * outcome->uses;
}

/** @return whether an outcome has so many misses that the report tells their
 *          cause. */
static inline int predreg_misses_matter(const predreg_outcome_t *outcome)
{
    return outcome->hits < PREDREG_MANY_HITS_PART * outcome->uses;
}

/** @return the cause of most misses. */
predreg_misses_t predreg_misses_find(const predreg_findings_t *findings);

/** @return an upper limit on the misses that come without a prediction, or more than a
 *          quarter of the time between two uses before or after the prediction. Late
 *          misses, and misses of new buffers, do not count. */
uint64_t predreg_misses_irregular(const predreg_findings_t *findings);

END_C_DECLS

#endif
