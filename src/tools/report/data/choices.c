/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "recommend.h"

#include <ucs/sys/math.h>

#include <math.h>

/* Each choice that the advice can make has a number: first on-demand, then the bounds,
 * then predict with its defaults, and last predict with each budget */
enum {
    NUMBER_ON_DEMAND,
    NUMBER_BOUNDS,
    NUMBER_PREDICT = NUMBER_BOUNDS + PREDREG_NUM_BOUNDS,
    NUMBER_BUDGETS
};


int predreg_saves(const predreg_findings_t *findings,
                  const predreg_outcome_t *outcome)
{
    return predreg_is_played(findings, outcome) &&
           (predreg_outcome_average(outcome) <=
            PREDREG_SAVES_PART * predreg_outcome_average(predreg_pinned(findings)));
}

int predreg_costs_nothing(const predreg_findings_t *findings,
                          const predreg_outcome_t *outcome)
{
    return predreg_extra_time(findings, outcome) <= PREDREG_COSTS_PART;
}

/* Make the choice with this number */
static void make_choice(const predreg_findings_t *findings, unsigned number,
                        predreg_choice_t *choice)
{
    unsigned index;

    *choice = (predreg_choice_t){ .budget = -1 };
    if (number == NUMBER_ON_DEMAND) {
        choice->setting = PREDREG_SETTING_ON_DEMAND;
        choice->outcome = &findings->outcomes[PREDREG_REPLAY_ON_DEMAND];
    } else if (number < NUMBER_PREDICT) {
        index           = number - NUMBER_BOUNDS;
        choice->setting = PREDREG_SETTING_BOUND;
        choice->number  = predreg_bound_bytes(index);
        choice->outcome = &findings->bounds[index];
    } else if (number == NUMBER_PREDICT) {
        choice->outcome = &findings->outcomes[PREDREG_REPLAY_PREDICT];
    } else {
        index           = number - NUMBER_BUDGETS;
        choice->budget  = findings->budgets.rates[index];
        choice->outcome = &findings->curve[index];
    }
}

/* Whether a choice is predict as it would run on other processors than the recorded job
 * had */
static int is_elsewhere(const predreg_findings_t *findings, unsigned number)
{
    switch (predreg_processors(findings)) {
    case PREDREG_PROCESSORS_IDLE:
        return number >= NUMBER_BUDGETS;
    case PREDREG_PROCESSORS_BUSY:
        return number == NUMBER_PREDICT;
    default:
        return 0;
    }
}

/* Find the choice with the least memory among the choices that save memory.
 * @param [in] setting     Only choices of this setting count; negative: all do.
 * @param [in] extra_time  Only choices count whose run time is at most this part longer
 *                         than the run time of leave-pinned. */
static const predreg_choice_t *
find_least(const predreg_findings_t *findings, int setting, double extra_time,
           predreg_choice_t *least)
{
    unsigned end = NUMBER_BUDGETS + findings->budgets.num;
    predreg_choice_t choice;
    unsigned number;

    least->outcome = NULL;
    for (number = 0; number < end; ++number) {
        make_choice(findings, number, &choice);
        if (predreg_saves(findings, choice.outcome) && !is_elsewhere(findings, number) &&
            ((setting < 0) || ((int)choice.setting == setting)) &&
            (predreg_extra_time(findings, choice.outcome) <= extra_time) &&
            ((least->outcome == NULL) ||
             (choice.outcome->average < least->outcome->average))) {
            *least = choice;
        }
    }

    return (least->outcome == NULL) ? NULL : least;
}

const predreg_choice_t *predreg_choose(const predreg_findings_t *findings,
                                       predreg_setting_t setting,
                                       predreg_choice_t *choice)
{
    return find_least(findings, setting, PREDREG_COSTS_PART, choice);
}

const predreg_choice_t *
predreg_choose_cheapest(const predreg_findings_t *findings,
                        predreg_choice_t *choice)
{
    double least = INFINITY;
    unsigned number;

    for (number = 0; number < NUMBER_BUDGETS + findings->budgets.num;
         ++number) {
        make_choice(findings, number, choice);
        if (predreg_saves(findings, choice->outcome) && !is_elsewhere(findings, number)) {
            least = ucs_min(least,
                            predreg_extra_time(findings, choice->outcome));
        }
    }

    return find_least(findings, -1, least + PREDREG_COSTS_PART, choice);
}

/* Make the choice with this number. @return whether the choice pays: it saves memory,
 * costs no time, and has the processors of the recorded job. */
static int choose(const predreg_findings_t *findings, unsigned number,
                  predreg_choice_t *choice)
{
    make_choice(findings, number, choice);
    return !is_elsewhere(findings, number) &&
           predreg_saves(findings, choice->outcome) &&
           predreg_costs_nothing(findings, choice->outcome);
}

int predreg_choose_predict(const predreg_findings_t *findings,
                           predreg_choice_t *choice)
{
    return choose(findings, NUMBER_PREDICT, choice);
}

void predreg_choose_elsewhere(const predreg_findings_t *findings,
                              predreg_choice_t *choice)
{
    make_choice(findings, (predreg_processors(findings) == PREDREG_PROCESSORS_IDLE) ?
                NUMBER_BUDGETS + findings->budgets.usual : NUMBER_PREDICT, choice);
}

int predreg_choose_budget(const predreg_findings_t *findings,
                          predreg_choice_t *choice)
{
    const predreg_outcome_t *pinned        = predreg_pinned(findings);
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
           choose(findings, NUMBER_BUDGETS + i, choice);
}

static uint64_t misses_of(const predreg_outcome_t *outcome)
{
    return outcome->uses - ucs_min(outcome->hits, outcome->uses);
}

/* @return the number of uses that come too early in the life of their buffer to be
 *         predicted. */
static uint64_t misses_new(const predreg_findings_t *findings)
{
    return PREDREG_NEW_USES * findings->sum_buffers;
}

/* @return the number of uses that differed from their predicted time by at most a quarter
 *         of the time between two uses. */
static uint64_t misses_predicted(const predreg_outcome_t *outcome)
{
    uint64_t sum = 0;
    unsigned i;

    /* The last class has the errors of more than a quarter */
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES - 1; ++i) {
        sum += outcome->prediction_errors[i];
    }

    return sum;
}

uint64_t predreg_misses_irregular(const predreg_findings_t *findings)
{
    const predreg_outcome_t *predict =
            &findings->outcomes[PREDREG_REPLAY_PREDICT];
    uint64_t misses                  = misses_of(predict);
    uint64_t others                  = predict->late + misses_new(findings);
    uint64_t predicted               = misses_predicted(predict);

    /* The result is the lower one of two upper limits. The number of uses that did not
     * come at a predicted time is a limit, but a high one: such a use is no miss if its
     * memory was still registered. The number of misses without another known cause is
     * the other limit. */
    return ucs_min(misses - ucs_min(others, misses),
                   predict->uses - ucs_min(predicted, predict->uses));
}

predreg_misses_t predreg_misses_find(const predreg_findings_t *findings)
{
    const predreg_outcome_t *predict =
            &findings->outcomes[PREDREG_REPLAY_PREDICT];
    uint64_t misses                  = misses_of(predict);

    if (!predreg_is_played(findings, predict) || (misses == 0)) {
        return PREDREG_MISSES_NONE;
    } else if ((findings->known_regions > 0) &&
               (findings->max_buffers > findings->known_regions)) {
        return PREDREG_MISSES_FORGOTTEN;
    } else if (predict->late >= PREDREG_CAUSE_PART * misses) {
        return (predreg_outcome_load(predict) > PREDREG_BUSY_PART) ?
               PREDREG_MISSES_BUSY : PREDREG_MISSES_LATE;
    } else if (misses_new(findings) >= PREDREG_CAUSE_PART * misses) {
        return PREDREG_MISSES_NEW;
    } else if (predreg_misses_irregular(findings) >=
               PREDREG_CAUSE_PART * misses) {
        return PREDREG_MISSES_IRREGULAR;
    }

    return PREDREG_MISSES_OTHER;
}
