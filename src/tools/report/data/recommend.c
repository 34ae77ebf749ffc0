/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "recommend.h"


/* @return whether an outcome has hardly more memory and waits than predict, or there is
 *         nothing to compare with, since predict was not played.
 * @param [in] predict  The outcome of predict. */
static int as_good_as_predict(const predreg_findings_t *findings,
                              const predreg_outcome_t *predict,
                              const predreg_outcome_t *outcome)
{
    return !predreg_is_played(findings, predict) ||
           ((predreg_outcome_average(outcome) <=
             PREDREG_AS_GOOD_MEMORY * predreg_outcome_average(predict)) &&
            ((double)outcome->waited <=
             predict->waited + PREDREG_AS_GOOD_WAITED * predict->duration));
}

/* @return whether the program registers little memory in comparison with UCX's own pools,
 *         of @a pools bytes */
static int is_tiny(const predreg_findings_t *findings, double pools)
{
    return predreg_outcome_average(predreg_pinned(findings)) <
           PREDREG_TINY_PART * pools;
}

/* @return whether no policy can save memory, since the memory is in use for most of the
 *         time for which it is registered */
static int is_in_use(const predreg_outcome_t *pinned)
{
    return pinned->by_cause[PREDREG_CAUSE_USE] >
           PREDREG_SAVES_PART * pinned->byte_seconds;
}

/* Recommend a choice, for a reason. choice NULL: recommend to leave UCX as it is */
static void recommend(const predreg_findings_t *findings,
                      predreg_advice_t *advice, const predreg_choice_t *choice,
                      predreg_reason_t reason)
{
    const predreg_choice_t untouched = {
        .setting = PREDREG_SETTING_LEAVE_PINNED,
        .budget  = -1,
        .outcome = predreg_pinned(findings)
    };

    advice->choice = (choice == NULL) ? untouched : *choice;
    advice->reason = reason;
}

/* Recommend a setting for a program with which no setting pays */
static void recommend_without_pay(const predreg_findings_t *findings,
                                  predreg_advice_t *advice)
{
    predreg_choice_t cheapest;

    if (predreg_choose_cheapest(findings, &cheapest) == NULL) {
        recommend(findings, advice, NULL, PREDREG_REASON_NO_SAVING);
    } else if (predreg_extra_time(findings, cheapest.outcome) <=
               PREDREG_TOO_SLOW_PART) {
        recommend(findings, advice, &cheapest, PREDREG_REASON_COSTS);
    } else {
        recommend(findings, advice, NULL, PREDREG_REASON_TOO_SLOW);
        advice->cheapest = cheapest;
    }
}

/* Recommend a policy simpler than predict, if it pays and is as good as predict, or if it
 * is on-demand and predict has few hits.
 *
 * @param [in] on_demand  On-demand if it pays, or NULL.
 * @param [in] bound      The best bound that pays, or NULL.
 * @param [in] predict    The outcome of predict to compare with.
 * @return whether a simpler policy is recommended. */
static int recommend_simpler(const predreg_findings_t *findings,
                             const predreg_choice_t *on_demand,
                             const predreg_choice_t *bound,
                             const predreg_outcome_t *predict,
                             predreg_advice_t *advice)
{
    if ((on_demand != NULL) &&
        as_good_as_predict(findings, predict, on_demand->outcome)) {
        recommend(findings, advice, on_demand,
                  PREDREG_REASON_ON_DEMAND_AS_GOOD);
    } else if ((on_demand != NULL) && predreg_has_few_hits(predict)) {
        recommend(findings, advice, on_demand, PREDREG_REASON_PREDICT_WORSE);
    } else if ((bound != NULL) &&
               as_good_as_predict(findings, predict, bound->outcome)) {
        recommend(findings, advice, bound, PREDREG_REASON_BOUND_AS_GOOD);
    } else {
        return 0;
    }

    return 1;
}

/* @return whether even clairvoyant, a policy that knows the future, saves no memory: then
 *         no gap between uses is long enough for a deregistration */
static int has_no_gaps(const predreg_findings_t *findings)
{
    const predreg_outcome_t *clairvoyant =
            &findings->outcomes[PREDREG_REPLAY_CLAIRVOYANT];

    return predreg_is_played(findings, clairvoyant) &&
           !predreg_saves(findings, clairvoyant);
}

/* Recommend a setting for a program with memory to save */
static void recommend_policy(const predreg_findings_t *findings,
                             predreg_advice_t *advice)
{
    const predreg_outcome_t *pinned = predreg_pinned(findings);
    const predreg_choice_t *on_demand, *bound, *simple;
    predreg_choice_t idle, busy; /* Predict with the default budget and a processor for
                                    each helper, and predict without one */
    predreg_choice_t choices[2];
    const predreg_outcome_t *rival;
    int idle_pays, busy_pays;

    on_demand = predreg_choose(findings, PREDREG_SETTING_ON_DEMAND,
                               &choices[0]);
    bound     = predreg_choose(findings, PREDREG_SETTING_BOUND, &choices[1]);
    simple    = (on_demand != NULL) ? on_demand : bound;
    idle_pays = predreg_choose_predict(findings, &idle);
    busy_pays = predreg_choose_budget(findings, &busy);
    rival     = idle_pays ? idle.outcome : busy_pays ? busy.outcome :
                &findings->outcomes[PREDREG_REPLAY_PREDICT];

    if ((simple == NULL) && !idle_pays && !busy_pays && has_no_gaps(findings)) {
        recommend(findings, advice, NULL, PREDREG_REASON_NO_GAPS);
    } else if (pinned->uses < (uint64_t)PREDREG_FEW_USES * pinned->ranks) {
        recommend(findings, advice, on_demand, PREDREG_REASON_FEW_USES);
    } else if (recommend_simpler(findings, on_demand, bound, rival, advice)) {
        return;
    } else if (idle_pays || busy_pays) {
        recommend(findings, advice, busy_pays ? &busy : &idle,
                  PREDREG_REASON_PAYS);
    } else if (simple != NULL) {
        recommend(findings, advice, simple, PREDREG_REASON_PREDICT_WORSE);
    } else {
        recommend_without_pay(findings, advice);
    }
}

static predreg_answer_t find_answer(const predreg_findings_t *findings,
                                    const predreg_advice_t *advice)
{
    if (advice->choice.setting == PREDREG_SETTING_LEAVE_PINNED) {
        return PREDREG_ANSWER_NO;
    }

    return predreg_costs_nothing(findings, advice->choice.outcome) ?
           PREDREG_ANSWER_YES : PREDREG_ANSWER_IF_SHORT;
}

/* @return whether the advice depends on a comparison of run times */
static int compares_times(const predreg_advice_t *advice)
{
    return (advice->reason != PREDREG_REASON_NO_USES) &&
           (advice->reason != PREDREG_REASON_ARENA) &&
           (advice->reason != PREDREG_REASON_TINY) &&
           (advice->reason != PREDREG_REASON_IN_USE);
}

/* Whether the reason already tells of late uses */
static int tells_late(const predreg_advice_t *advice)
{
    return (advice->reason == PREDREG_REASON_COSTS) &&
           predreg_misses_matter(advice->choice.outcome) &&
           ((advice->misses == PREDREG_MISSES_BUSY) ||
            (advice->misses == PREDREG_MISSES_LATE));
}

static unsigned find_caveats(const predreg_findings_t *findings,
                             const predreg_advice_t *advice)
{
    const predreg_outcome_t *outcome = advice->choice.outcome;
    int is_predict = advice->choice.setting == PREDREG_SETTING_PREDICT;
    int has_times  = compares_times(advice);
    const struct {
        unsigned bit;
        int      holds;
    } caveats[] = {
        {PREDREG_CAVEAT_LOST, findings->lost > PREDREG_LOST_PART *
                              ((double)findings->events + findings->lost)},
        {PREDREG_CAVEAT_TRUNCATED, findings->truncated > 0},
        {PREDREG_CAVEAT_UNENDED, findings->unended > 0},
        {PREDREG_CAVEAT_LEFT_OUT, findings->left_out > 0},
        {PREDREG_CAVEAT_GUESSED, has_times && ((findings->reg_guessed > 0) ||
                                               (findings->dereg_guessed > 0))},
        {PREDREG_CAVEAT_SPREAD, has_times &&
                                (findings->most_reg > PREDREG_COSTS_SPREAD *
                                 (double)findings->least_reg)},
        {PREDREG_CAVEAT_LATE, is_predict && !tells_late(advice) &&
                              (outcome->late >
                               PREDREG_LATE_PART * outcome->uses)},
        {PREDREG_CAVEAT_IDLE, is_predict && (advice->choice.budget < 0) &&
                              predreg_has_curve(findings) &&
                              (predreg_processors(findings) ==
                               PREDREG_PROCESSORS_UNKNOWN)},
        {PREDREG_CAVEAT_POOLS, (advice->answer != PREDREG_ANSWER_NO) &&
                               !findings->pools_known &&
                               is_tiny(findings, PREDREG_USUAL_POOLS)}
    };
    unsigned bits = 0;
    unsigned i;

    for (i = 0; i < ucs_static_array_size(caveats); ++i) {
        bits |= caveats[i].holds ? caveats[i].bit : 0;
    }

    return bits;
}

void predreg_recommend(const predreg_findings_t *findings,
                       predreg_advice_t *advice)
{
    const predreg_outcome_t *pinned = predreg_pinned(findings);

    *advice = (predreg_advice_t){ .misses = predreg_misses_find(findings) };
    if (pinned->uses == 0) {
        recommend(findings, advice, NULL, PREDREG_REASON_NO_USES);
    } else if (findings->in_arena > 0) {
        recommend(findings, advice, NULL, PREDREG_REASON_ARENA);
    } else if (findings->pools_known &&
               is_tiny(findings, findings->pool_bytes)) {
        recommend(findings, advice, NULL, PREDREG_REASON_TINY);
    } else if (is_in_use(pinned)) {
        recommend(findings, advice, NULL, PREDREG_REASON_IN_USE);
    } else {
        recommend_policy(findings, advice);
    }

    if (compares_times(advice) && predreg_has_curve(findings) &&
        (predreg_processors(findings) != PREDREG_PROCESSORS_UNKNOWN)) {
        predreg_choose_elsewhere(findings, &advice->other);
    }
    advice->answer  = find_answer(findings, advice);
    advice->caveats = find_caveats(findings, advice);
}
