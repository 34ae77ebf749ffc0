/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "choices.h"

#include <ucs/sys/math.h>

#include <math.h>


static const predreg_outcome_t *pinned_of(const predreg_findings_t *findings)
{
    return &findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED];
}

int predreg_saves(const predreg_findings_t *findings,
                  const predreg_outcome_t *outcome)
{
    return predreg_is_played(findings, outcome) &&
           (predreg_outcome_average(outcome) <=
            PREDREG_SAVES_PART * predreg_outcome_average(pinned_of(findings)));
}

int predreg_costs_nothing(const predreg_findings_t *findings,
                          const predreg_outcome_t *outcome)
{
    return predreg_extra_time(findings, outcome) <= PREDREG_COSTS_PART;
}

int predreg_pays(const predreg_findings_t *findings,
                 const predreg_outcome_t *outcome)
{
    return predreg_saves(findings, outcome) &&
           predreg_costs_nothing(findings, outcome);
}

/* Add a setting to the choices if it saves memory */
static void add(const predreg_findings_t *findings, predreg_choices_t *choices,
                predreg_setting_t setting, uint64_t number, double budget,
                const predreg_outcome_t *outcome)
{
    if (predreg_saves(findings, outcome)) {
        choices->list[choices->num++] = (predreg_choice_t){
            .setting = setting,
            .number  = number,
            .budget  = budget,
            .outcome = outcome
        };
    }
}

void predreg_choices_list(const predreg_findings_t *findings,
                          predreg_choices_t *choices)
{
    unsigned i;

    choices->num = 0;
    add(findings, choices, PREDREG_SETTING_ON_DEMAND, 0, -1,
        &findings->outcomes[PREDREG_REPLAY_ON_DEMAND]);
    for (i = 0; i < PREDREG_NUM_BOUNDS; ++i) {
        add(findings, choices, PREDREG_SETTING_BOUND, predreg_bound_bytes(i),
            -1, &findings->bounds[i]);
    }

    add(findings, choices, PREDREG_SETTING_PREDICT, 0, -1,
        &findings->outcomes[PREDREG_REPLAY_PREDICT]);
    for (i = 0; i < findings->budgets.num; ++i) {
        add(findings, choices, PREDREG_SETTING_PREDICT, 0,
            findings->budgets.rates[i], &findings->curve[i]);
    }
}

const predreg_choice_t *
predreg_choices_find(const predreg_findings_t *findings,
                     const predreg_choices_t *choices,
                     predreg_setting_t setting)
{
    const predreg_choice_t *best = NULL;
    const predreg_choice_t *choice;

    for (choice = choices->list; choice < choices->list + choices->num;
         ++choice) {
        if ((choice->setting == setting) &&
            predreg_costs_nothing(findings, choice->outcome) &&
            ((best == NULL) ||
             (choice->outcome->average < best->outcome->average))) {
            best = choice;
        }
    }

    return best;
}

const predreg_choice_t *
predreg_choices_cheapest(const predreg_findings_t *findings,
                         const predreg_choices_t *choices)
{
    const predreg_choice_t *best = NULL;
    double least                 = INFINITY;
    const predreg_choice_t *choice;

    for (choice = choices->list; choice < choices->list + choices->num;
         ++choice) {
        least = ucs_min(least, predreg_extra_time(findings, choice->outcome));
    }

    for (choice = choices->list; choice < choices->list + choices->num;
         ++choice) {
        if ((predreg_extra_time(findings, choice->outcome) <=
             least + PREDREG_COSTS_PART) &&
            ((best == NULL) ||
             (choice->outcome->average < best->outcome->average))) {
            best = choice;
        }
    }

    return best;
}

/* Choose predict with a budget, if that saves memory and costs no time */
static int choose_if_pays(const predreg_findings_t *findings, double budget,
                          const predreg_outcome_t *outcome,
                          predreg_choice_t *choice)
{
    if (!predreg_pays(findings, outcome)) {
        return 0;
    }

    *choice = (predreg_choice_t){
        .setting = PREDREG_SETTING_PREDICT,
        .budget  = budget,
        .outcome = outcome
    };
    return 1;
}

int predreg_choose_predict(const predreg_findings_t *findings,
                           predreg_choice_t *choice)
{
    return choose_if_pays(findings, -1,
                          &findings->outcomes[PREDREG_REPLAY_PREDICT], choice);
}

int predreg_choose_budget(const predreg_findings_t *findings,
                          predreg_choice_t *choice)
{
    const predreg_outcome_t *pinned        = pinned_of(findings);
    const predreg_budget_point_t as_pinned = {
        predreg_outcome_average(pinned), pinned->longest
    };
    predreg_budget_point_t points[PREDREG_BUDGETS_MAX];
    unsigned i;

    if (!predreg_has_curve(findings)) {
        return 0;
    }

    for (i = 0; i < findings->budgets.num; ++i) {
        points[i].memory = predreg_outcome_average(&findings->curve[i]);
        points[i].time   = findings->curve[i].longest;
    }

    i = predreg_budgets_choose(&findings->budgets, points, &as_pinned);
    return (i < findings->budgets.num) &&
           choose_if_pays(findings, findings->budgets.rates[i],
                          &findings->curve[i], choice);
}
