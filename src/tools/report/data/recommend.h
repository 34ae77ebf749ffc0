/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RECOMMEND_H_
#define PREDREG_RECOMMEND_H_

#include "choices.h"
#include "misses.h"

BEGIN_C_DECLS

/** @file recommend.h
 *
 * Recommends a policy for a program, and tells the reason, from the results of
 * all policies in replay. The rules are tried in the order of predreg_reason_t;
 * docs/report.md tells them in words.
 *
 * Predict is played twice: with its defaults and a helper that has a processor
 * of its own, and with several budgets and a helper that has none. It is
 * recommended with the budget of the second that @ref predreg_budgets_choose
 * finds, so that it keeps its promise in both cases.
 *
 * Memory is compared by its average over time, and times as parts of the run
 * time, which is that of the rank that takes longest. The constants below are
 * our own choice; the comment of a constant says if it follows from a goal of
 * the project.
 */

/** A program that registers less than this part of what UCX's own pools
 *  register has so little memory that nobody would notice a saving. */
#define PREDREG_TINY_PART         0.1
/** What UCX's own pools usually register, bytes, as measured with UCX 1.13, the
 *  transport rc and two ranks. If the traces do not tell what it was, the
 *  advice does not depend on this; the page has it beside what the program
 *  registers. */
#define PREDREG_USUAL_POOLS       (66ul << 20)
/** A rank with fewer uses than this gives predict next to nothing to learn
 *  from: a history needs two intervals, and finds a period after eight. */
#define PREDREG_FEW_USES          20
/** The part of the run time that is too much to pay for memory, unless the
 *  program could not run otherwise. */
#define PREDREG_TOO_SLOW_PART     0.25
/** A simpler policy is as good as predict if it needs at most this many times
 *  the memory of predict ... */
#define PREDREG_AS_GOOD_MEMORY    1.1
/** ... and if it waits longer by at most this part of the run time. */
#define PREDREG_AS_GOOD_WAITED    0.001
/** If more than this part of the uses are late, the report says so. */
#define PREDREG_LATE_PART         0.05
/** If registrations cost more than this many times what they do in another
 *  rank, the report says so. */
#define PREDREG_COSTS_SPREAD      4
/** If more than this part of the events were lost, all figures are doubtful. */
#define PREDREG_LOST_PART         0.01

/** What to look at if no RDMA device was opened, after "Check that". */
#define PREDREG_CHECK_DEVICE \
    "ucx_info -d lists one with the transport rc or dc, that UCX_TLS and " \
    "UCX_NET_DEVICES allow it, and that MPI uses UCX (Open MPI: --mca pml ucx)."


typedef enum {
    /* There is nothing to gain, so leave-pinned is recommended */
    PREDREG_REASON_NO_USES,   /**< Nothing was registered for communication */
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
    PREDREG_REASON_ON_DEMAND_AS_GOOD, /**< On-demand */
    PREDREG_REASON_BOUND_AS_GOOD,     /**< A bound */
    PREDREG_REASON_PREDICT_WORSE,     /**< On-demand or a bound: it pays, and
                                           predict does not or has few hits */

    /* Predict */
    PREDREG_REASON_PAYS,          /**< Predict saves memory, and costs no time,
                                       with some budget */

    /* No policy pays */
    PREDREG_REASON_COSTS,     /**< The cheapest policy of those that save
                                   memory */
    PREDREG_REASON_TOO_SLOW,  /**< That costs too much: leave-pinned */
    PREDREG_REASON_NO_SAVING, /**< No policy saves memory: leave-pinned */
    PREDREG_REASON_LAST
} predreg_reason_t;


typedef enum {
    PREDREG_ANSWER_YES,
    PREDREG_ANSWER_IF_SHORT, /**< Only if memory is short, because it costs
                                  time */
    PREDREG_ANSWER_NO
} predreg_answer_t;


/** Bits for what has to be said with the recommendation. */
enum {
    PREDREG_CAVEAT_LOST      = 1 << 0, /**< Many events were lost */
    PREDREG_CAVEAT_TRUNCATED = 1 << 1, /**< The end of a trace is missing */
    PREDREG_CAVEAT_GUESSED   = 1 << 2, /**< Costs of registering are guessed */
    PREDREG_CAVEAT_LATE      = 1 << 3, /**< Predict has many late uses */
    PREDREG_CAVEAT_UNENDED   = 1 << 4, /**< Processes were killed */
    PREDREG_CAVEAT_LEFT_OUT  = 1 << 5, /**< Traces are damaged */
    PREDREG_CAVEAT_POOLS     = 1 << 6, /**< The program may be TINY, but what
                                            pools register is not known */
    PREDREG_CAVEAT_SPREAD    = 1 << 7, /**< Registrations cost far more in some
                                            ranks than in others */
    PREDREG_CAVEAT_IDLE      = 1 << 8  /**< Predict pays only if each helper has
                                            a processor of its own, or costs as
                                            little as that only then */
};


typedef struct predreg_advice {
    predreg_choice_t choice;
    predreg_choice_t cheapest; /**< TOO_SLOW: what costs least of all that saves
                                    memory */
    predreg_reason_t reason;
    predreg_misses_t misses;   /**< Why uses miss under predict */
    predreg_answer_t answer;
    unsigned         caveats;
} predreg_advice_t;


/**
 * @param [in]  findings  LEAVE_PINNED must have been played. A policy that was
 *                        not played of all ranks is never recommended. The
 *                        advice points into this.
 */
void predreg_recommend(const predreg_findings_t *findings,
                       predreg_advice_t *advice);

END_C_DECLS

#endif
