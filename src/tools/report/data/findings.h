/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FINDINGS_H_
#define PREDREG_FINDINGS_H_

#include "bounds.h"
#include "outcome.h"

#include <tools/replay/replay.h>

BEGIN_C_DECLS

/** @file findings.h
 *
 * What the replay of a job came to, over all ranks. The report adds it up, and
 * the advice follows from it.
 */

typedef struct predreg_findings {
    predreg_outcome_t outcomes[PREDREG_REPLAY_LAST]; /**< By policy */
    predreg_outcome_t bounds[PREDREG_NUM_BOUNDS]; /**< Bounds on UCX's cache */
    predreg_budgets_t budgets;     /**< Budgets that predict was played with by
                                        a helper that shares the program's
                                        processor; none: num is 0 */
    predreg_outcome_t curve[PREDREG_BUDGETS_MAX]; /**< By budget */
    uint64_t          known_regions; /**< How many regions predict remembers
                                          at most; 0: not known */
    uint64_t          max_buffers; /**< Most buffers that a rank uses */
    uint64_t          sum_buffers; /**< Of all ranks */
    double            in_use;      /**< Bytes of uses times how long they last,
                                        byte * s, of all ranks */
    double            in_long_use; /**< The same, of uses longer than half of
                                        the program */
    int               pools_known; /**< Whether the trace of a rank tells
                                        that */
    uint64_t          pool_bytes;  /**< Bytes registered by UCX's own pools,
                                        mean of the ranks that tell it */
    unsigned          domains;     /**< Most memory domains that a rank
                                        opened */
    uint64_t          events;      /**< Events recorded, all ranks */
    uint64_t          lost;        /**< Events that were lost, all ranks */
    unsigned          truncated;   /**< Ranks with a trace whose end is
                                        missing */
    unsigned          unended;     /**< Ranks that did not come to their end */
    unsigned          left_out;    /**< Damaged traces, which are none of these
                                        ranks */
    unsigned          reg_guessed; /**< Ranks with uses for which it is a guess
                                        what registrations cost */
    unsigned          dereg_guessed; /**< The same of deregistrations */
    uint64_t          use_bytes;   /**< Mean length of a use, bytes */
    uint64_t          least_reg;   /**< What a registration of that length
                                        takes, by the ranks' own measurements,
                                        in the rank where it takes least, ns; 0:
                                        not measured */
    uint64_t          most_reg;    /**< The same, where it takes most */
    uint64_t          common_reg;  /**< What it takes in the replay of all ranks
                                        that were recorded under leave-pinned,
                                        ns; 0: there is none */
    uint64_t          guessed_dereg; /**< What a deregistration of that length
                                          takes where that is a guess, ns; 0:
                                          nowhere */
} predreg_findings_t;


/** @return whether a policy or bound was played of all ranks. */
int predreg_is_played(const predreg_findings_t *findings,
                      const predreg_outcome_t *outcome);

/** @return whether predict was played with all budgets, of all ranks. */
int predreg_has_curve(const predreg_findings_t *findings);

/** @return by what part the run takes longer than under leave-pinned; negative
 *  if it does not take as long. */
double predreg_extra_time(const predreg_findings_t *findings,
                          const predreg_outcome_t *outcome);

END_C_DECLS

#endif
