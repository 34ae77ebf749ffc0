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

/* Add predict with so many regions, with a helper on its own processor and with
 * all budgets of a curve */
static void add_predict(const predreg_findings_t *findings,
                        predreg_choices_t *choices, uint64_t regions,
                        const predreg_outcome_t *predict,
                        const predreg_outcome_t *curve)
{
    unsigned i;

    add(findings, choices, PREDREG_SETTING_PREDICT, regions, -1, predict);
    for (i = 0; i < findings->budgets.num; ++i) {
        add(findings, choices, PREDREG_SETTING_PREDICT, regions,
            findings->budgets.rates[i], &curve[i]);
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

    add_predict(findings, choices, 0,
                &findings->outcomes[PREDREG_REPLAY_PREDICT], findings->curve);
    if (findings->larger_regions > 0) {
        add_predict(findings, choices, findings->larger_regions,
                    &findings->larger, findings->larger_curve);
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

/* Make a choice of predict with these settings. If they do not save memory, or
 * cost time, it has no outcome, by which the caller sees that */
static predreg_choice_t predict_if_pays(const predreg_findings_t *findings,
                                        uint64_t regions, double budget,
                                        const predreg_outcome_t *outcome)
{
    return (predreg_choice_t){
        .setting = PREDREG_SETTING_PREDICT,
        .number  = regions,
        .budget  = budget,
        .outcome = predreg_pays(findings, outcome) ? outcome : NULL
    };
}

/* Whether predict saves so much more, or hits so much more often, by remembering
 * more regions that a user should set KNOWN_REGIONS */
static int are_regions_worth_it(const predreg_findings_t *findings,
                                const predreg_outcome_t *usual,
                                const predreg_outcome_t *larger)
{
    double margin = PREDREG_WORTH_PART *
                    predreg_outcome_average(pinned_of(findings));
    double saved  = predreg_outcome_average(usual) -
                    predreg_outcome_average(larger);

    return (saved >= margin) ||
           ((saved > -margin) &&
            (larger->hits >= usual->hits + PREDREG_WORTH_PART * larger->uses));
}

/* Choose between two choices of predict, the second of which remembers more
 * regions.
 *
 * @return whether one of them has an outcome. */
static int choose_regions(const predreg_findings_t *findings,
                          const predreg_choice_t *usual,
                          const predreg_choice_t *larger,
                          predreg_choice_t *choice)
{
    if ((larger->outcome != NULL) &&
        ((usual->outcome == NULL) ||
         are_regions_worth_it(findings, usual->outcome, larger->outcome))) {
        *choice = *larger;
        return 1;
    }

    if (usual->outcome != NULL) {
        *choice = *usual;
        return 1;
    }

    return 0;
}

int predreg_choose_predict(const predreg_findings_t *findings,
                           predreg_choice_t *choice)
{
    const predreg_choice_t usual  =
            predict_if_pays(findings, 0, -1,
                            &findings->outcomes[PREDREG_REPLAY_PREDICT]);
    const predreg_choice_t larger =
            predict_if_pays(findings, findings->larger_regions, -1,
                            &findings->larger);

    return choose_regions(findings, &usual, &larger, choice);
}

/* Choose a budget of a curve: all its outcomes are with so many regions */
static predreg_choice_t choose_of_curve(const predreg_findings_t *findings,
                                        uint64_t regions,
                                        const predreg_outcome_t *curve)
{
    const predreg_outcome_t *pinned        = pinned_of(findings);
    const predreg_budget_point_t as_pinned = {
        predreg_outcome_average(pinned), pinned->longest
    };
    predreg_budget_point_t points[PREDREG_BUDGETS_MAX];
    unsigned i;

    for (i = 0; i < findings->budgets.num; ++i) {
        points[i].memory = predreg_outcome_average(&curve[i]);
        points[i].time   = curve[i].longest;
    }

    i = predreg_budgets_choose(&findings->budgets, points, &as_pinned);
    if (i == findings->budgets.num) {
        return (predreg_choice_t){ .outcome = NULL };
    }

    return predict_if_pays(findings, regions, findings->budgets.rates[i],
                           &curve[i]);
}

int predreg_choose_budget(const predreg_findings_t *findings,
                          predreg_choice_t *choice)
{
    predreg_choice_t usual  = { .outcome = NULL };
    predreg_choice_t larger = { .outcome = NULL };

    if (predreg_has_curve(findings)) {
        usual = choose_of_curve(findings, 0, findings->curve);
    }
    if (predreg_has_larger_curve(findings)) {
        larger = choose_of_curve(findings, findings->larger_regions,
                                 findings->larger_curve);
    }

    return choose_regions(findings, &usual, &larger, choice);
}

const predreg_outcome_t *
predreg_with_usual_regions(const predreg_findings_t *findings,
                           const predreg_choice_t *choice)
{
    unsigned i;

    for (i = 0; i < findings->budgets.num; ++i) {
        if (findings->budgets.rates[i] == choice->budget) {
            return &findings->curve[i];
        }
    }

    return &findings->outcomes[PREDREG_REPLAY_PREDICT];
}
