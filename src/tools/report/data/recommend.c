/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "recommend.h"


static const predreg_outcome_t *
recommend_pinned(const predreg_findings_t *findings)
{
    return &findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED];
}

/* @param [in] predict  The outcome of predict to compare with. */
static int recommend_as_good_as_predict(const predreg_findings_t *findings,
                                        const predreg_outcome_t *predict,
                                        const predreg_outcome_t *outcome)
{
    return !predreg_is_played(findings, predict) ||
           ((predreg_outcome_average(outcome) <=
             PREDREG_AS_GOOD_MEMORY * predreg_outcome_average(predict)) &&
            ((double)outcome->waited <=
             predict->waited + PREDREG_AS_GOOD_WAITED * predict->duration));
}

/* Whether the program registers little beside pools of this size */
static int recommend_is_tiny(const predreg_findings_t *findings, double pools)
{
    return predreg_outcome_average(recommend_pinned(findings)) <
           PREDREG_TINY_PART * pools;
}

/* Whether memory is in use for so much of the time that no policy could save
 * memory */
static int recommend_is_in_use(const predreg_outcome_t *pinned)
{
    return pinned->by_cause[PREDREG_CAUSE_USE] >
           PREDREG_SAVES_PART * pinned->byte_seconds;
}

/* Recommend a choice, or, if it is NULL, UCX as it is */
static void recommend_set(const predreg_findings_t *findings,
                          predreg_advice_t *advice,
                          const predreg_choice_t *choice,
                          predreg_reason_t reason)
{
    const predreg_choice_t untouched = {
        .setting = PREDREG_SETTING_LEAVE_PINNED,
        .budget  = -1,
        .outcome = recommend_pinned(findings)
    };

    advice->choice = (choice == NULL) ? untouched : *choice;
    advice->reason = reason;
}

/* Recommend what is left if nothing pays */
static void recommend_no_one_pays(const predreg_findings_t *findings,
                                  const predreg_choices_t *choices,
                                  predreg_advice_t *advice)
{
    const predreg_choice_t *cheapest =
            predreg_choices_cheapest(findings, choices);

    if (cheapest == NULL) {
        recommend_set(findings, advice, NULL, PREDREG_REASON_NO_SAVING);
    } else if (predreg_extra_time(findings, cheapest->outcome) <=
               PREDREG_TOO_SLOW_PART) {
        recommend_set(findings, advice, cheapest, PREDREG_REASON_COSTS);
    } else {
        recommend_set(findings, advice, NULL, PREDREG_REASON_TOO_SLOW);
        advice->cheapest = *cheapest;
    }
}

/* Recommend a policy that is simpler than predict, if one pays and is as good.
 *
 * @param [in] on_demand  On-demand if it pays, or NULL.
 * @param [in] bound      The best bound that pays, or NULL.
 * @param [in] predict    The outcome of predict to compare them with.
 * @return whether one is recommended. */
static int recommend_simpler(const predreg_findings_t *findings,
                             const predreg_choice_t *on_demand,
                             const predreg_choice_t *bound,
                             const predreg_outcome_t *predict,
                             predreg_advice_t *advice)
{
    if ((on_demand != NULL) &&
        recommend_as_good_as_predict(findings, predict, on_demand->outcome)) {
        recommend_set(findings, advice, on_demand,
                      PREDREG_REASON_ON_DEMAND_AS_GOOD);
    } else if ((on_demand != NULL) && predreg_has_few_hits(predict)) {
        recommend_set(findings, advice, on_demand,
                      PREDREG_REASON_PREDICT_WORSE);
    } else if ((bound != NULL) &&
               recommend_as_good_as_predict(findings, predict,
                                            bound->outcome)) {
        recommend_set(findings, advice, bound, PREDREG_REASON_BOUND_AS_GOOD);
    } else {
        return 0;
    }

    return 1;
}

/* Whether there is not even time to deregister memory for a policy that knows
 * the future */
static int recommend_has_no_gaps(const predreg_findings_t *findings)
{
    const predreg_outcome_t *clairvoyant =
            &findings->outcomes[PREDREG_REPLAY_CLAIRVOYANT];

    return predreg_is_played(findings, clairvoyant) &&
           !predreg_saves(findings, clairvoyant);
}

/* Recommend one of the policies for a program in which memory could be saved */
static void recommend_policy(const predreg_findings_t *findings,
                             predreg_advice_t *advice)
{
    const predreg_outcome_t *pinned = recommend_pinned(findings);
    const predreg_choice_t *on_demand, *bound, *simple;
    predreg_choice_t idle, busy; /* Predict with an idle processor, and with
                                    none */
    const predreg_outcome_t *rival;
    int idle_pays, busy_pays;
    predreg_choices_t choices;

    predreg_choices_list(findings, &choices);
    on_demand = predreg_choices_find(findings, &choices,
                                     PREDREG_SETTING_ON_DEMAND);
    bound     = predreg_choices_find(findings, &choices, PREDREG_SETTING_BOUND);
    simple    = (on_demand != NULL) ? on_demand : bound;
    idle_pays = predreg_choose_predict(findings, &idle);
    busy_pays = predreg_choose_budget(findings, &busy);
    rival     = idle_pays ? idle.outcome : busy_pays ? busy.outcome :
                &findings->outcomes[PREDREG_REPLAY_PREDICT];

    if ((simple == NULL) && !idle_pays && !busy_pays &&
        recommend_has_no_gaps(findings)) {
        recommend_set(findings, advice, NULL, PREDREG_REASON_NO_GAPS);
    } else if (pinned->uses < (uint64_t)PREDREG_FEW_USES * pinned->ranks) {
        recommend_set(findings, advice, on_demand, PREDREG_REASON_FEW_USES);
    } else if (recommend_simpler(findings, on_demand, bound, rival, advice)) {
        return;
    } else if (idle_pays || busy_pays) {
        recommend_set(findings, advice, busy_pays ? &busy : &idle,
                      PREDREG_REASON_PAYS);
    } else if (simple != NULL) {
        recommend_set(findings, advice, simple, PREDREG_REASON_PREDICT_WORSE);
    } else {
        recommend_no_one_pays(findings, &choices, advice);
    }
}

static predreg_answer_t recommend_answer(const predreg_findings_t *findings,
                                         const predreg_advice_t *advice)
{
    if (advice->choice.setting == PREDREG_SETTING_LEAVE_PINNED) {
        return PREDREG_ANSWER_NO;
    }

    return predreg_costs_nothing(findings, advice->choice.outcome) ?
           PREDREG_ANSWER_YES : PREDREG_ANSWER_IF_SHORT;
}

/* Whether times had a say in the advice */
static int recommend_compares_times(const predreg_advice_t *advice)
{
    return (advice->reason != PREDREG_REASON_NO_USES) &&
           (advice->reason != PREDREG_REASON_TINY) &&
           (advice->reason != PREDREG_REASON_IN_USE);
}

/* Whether the reason tells already that uses are late */
static int recommend_tells_late(const predreg_advice_t *advice)
{
    return (advice->reason == PREDREG_REASON_COSTS) &&
           predreg_misses_matter(advice->choice.outcome) &&
           ((advice->misses == PREDREG_MISSES_BUSY) ||
            (advice->misses == PREDREG_MISSES_LATE));
}

/* Caveats about what was recorded: what is missing */
static unsigned recommend_missing(const predreg_findings_t *findings)
{
    unsigned caveats = 0;

    if (findings->lost >
        PREDREG_LOST_PART * ((double)findings->events + findings->lost)) {
        caveats |= PREDREG_CAVEAT_LOST;
    }
    if (findings->truncated > 0) {
        caveats |= PREDREG_CAVEAT_TRUNCATED;
    }
    if (findings->unended > 0) {
        caveats |= PREDREG_CAVEAT_UNENDED;
    }
    if (findings->left_out > 0) {
        caveats |= PREDREG_CAVEAT_LEFT_OUT;
    }

    return caveats;
}

/* Caveats about what registrations cost */
static unsigned recommend_doubts(const predreg_findings_t *findings,
                                 const predreg_advice_t *advice)
{
    unsigned caveats = 0;

    if (!recommend_compares_times(advice)) {
        return 0;
    }

    if ((findings->reg_guessed > 0) || (findings->dereg_guessed > 0)) {
        caveats |= PREDREG_CAVEAT_GUESSED;
    }
    if (findings->most_reg >
        PREDREG_COSTS_SPREAD * (double)findings->least_reg) {
        caveats |= PREDREG_CAVEAT_SPREAD;
    }

    return caveats;
}

static unsigned recommend_caveats(const predreg_findings_t *findings,
                                  const predreg_advice_t *advice)
{
    const predreg_outcome_t *outcome = advice->choice.outcome;
    unsigned caveats                 = 0;

    if ((advice->choice.setting == PREDREG_SETTING_PREDICT) &&
        !recommend_tells_late(advice) &&
        (outcome->late > PREDREG_LATE_PART * outcome->uses)) {
        caveats |= PREDREG_CAVEAT_LATE;
    }
    if ((advice->choice.setting == PREDREG_SETTING_PREDICT) &&
        predreg_has_curve(findings) && (advice->choice.budget < 0)) {
        caveats |= PREDREG_CAVEAT_IDLE;
    }
    if ((advice->answer != PREDREG_ANSWER_NO) && !findings->pools_known &&
        recommend_is_tiny(findings, PREDREG_USUAL_POOLS)) {
        caveats |= PREDREG_CAVEAT_POOLS;
    }

    return caveats | recommend_missing(findings) |
           recommend_doubts(findings, advice);
}

void predreg_recommend(const predreg_findings_t *findings,
                       predreg_advice_t *advice)
{
    const predreg_outcome_t *pinned = recommend_pinned(findings);

    *advice = (predreg_advice_t){ .misses = predreg_misses_find(findings) };
    if (pinned->uses == 0) {
        recommend_set(findings, advice, NULL, PREDREG_REASON_NO_USES);
    } else if (findings->pools_known &&
               recommend_is_tiny(findings, findings->pool_bytes)) {
        recommend_set(findings, advice, NULL, PREDREG_REASON_TINY);
    } else if (recommend_is_in_use(pinned)) {
        recommend_set(findings, advice, NULL, PREDREG_REASON_IN_USE);
    } else {
        recommend_policy(findings, advice);
    }

    advice->answer  = recommend_answer(findings, advice);
    advice->caveats = recommend_caveats(findings, advice);
}
