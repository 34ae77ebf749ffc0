/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CHOICES_H_
#define PREDREG_CHOICES_H_

#include "findings.h"

BEGIN_C_DECLS

/** @file choices.h
 *
 * The settings that a report chooses from: policies, bounds on UCX's own cache,
 * and budgets of predict; which of them save memory, and which of those cost
 * time. recommend.c calls this.
 */

/** A policy saves memory if it needs at most this part of what leave-pinned
 *  does. */
#define PREDREG_SAVES_PART 0.75

/** The most settings that can save memory: on-demand, all bounds, and predict
 *  with its defaults and all budgets. */
#define PREDREG_CHOICES_MAX \
    (1 + PREDREG_NUM_BOUNDS + 1 + PREDREG_BUDGETS_MAX)


typedef enum {
    PREDREG_SETTING_PREDICT,
    PREDREG_SETTING_ON_DEMAND,
    PREDREG_SETTING_BOUND,       /**< UCX's own cache, with a bound in bytes */
    PREDREG_SETTING_LEAVE_PINNED /**< UCX as it is */
} predreg_setting_t;


/** A setting, and what it comes to. */
typedef struct predreg_choice {
    predreg_setting_t       setting;
    uint64_t                number;   /**< BOUND: bytes; else 0 */
    double                  budget;   /**< PREDICT: of the run time; less than
                                           0: the usual one, by a helper with a
                                           processor of its own */
    const predreg_outcome_t *outcome; /**< One of those in the findings */
} predreg_choice_t;

/** Settings that save memory. */
typedef struct predreg_choices {
    unsigned         num;
    predreg_choice_t list[PREDREG_CHOICES_MAX];
} predreg_choices_t;


/** @return whether a setting was played of all ranks, and needs so much less
 *  memory than leave-pinned that it matters. */
int predreg_saves(const predreg_findings_t *findings,
                  const predreg_outcome_t *outcome);

/** @return whether a setting takes at most slightly more time than
 *  leave-pinned. */
int predreg_costs_nothing(const predreg_findings_t *findings,
                          const predreg_outcome_t *outcome);

/** @return whether a setting saves memory, and costs nothing. */
int predreg_pays(const predreg_findings_t *findings,
                 const predreg_outcome_t *outcome);

/** List the settings that save memory, of those that were played. */
void predreg_choices_list(const predreg_findings_t *findings,
                          predreg_choices_t *choices);

/** @return of the choices with this setting that pay, the one with least memory,
 *  or NULL. */
const predreg_choice_t *
predreg_choices_find(const predreg_findings_t *findings,
                     const predreg_choices_t *choices,
                     predreg_setting_t setting);

/** @return of the choices that cost hardly more time than the fastest, the one
 *  with least memory, or NULL. */
const predreg_choice_t *
predreg_choices_cheapest(const predreg_findings_t *findings,
                         const predreg_choices_t *choices);

/** Choose predict, if a helper has a processor of its own and the budget is the
 *  default.
 *  @return whether predict pays then; if not, choice is unchanged. */
int predreg_choose_predict(const predreg_findings_t *findings,
                           predreg_choice_t *choice);

/** Choose the budget of predict, if no processor is idle.
 *  @return whether a budget pays; if not, choice is unchanged. */
int predreg_choose_budget(const predreg_findings_t *findings,
                          predreg_choice_t *choice);

END_C_DECLS

#endif
