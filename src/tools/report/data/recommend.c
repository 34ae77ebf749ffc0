/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "recommend.h"


/* Whether a policy needs so much less memory than leave-pinned that it
 * matters */
static int recommend_saves(const predreg_findings_t *findings,
                           predreg_replay_policy_t policy)
{
    const predreg_outcome_t *outcome = &findings->outcomes[policy];
    const predreg_outcome_t *pinned =
            &findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED];

    return (outcome->ranks > 0) &&
           (predreg_outcome_average(outcome) <=
            PREDREG_SAVES_PART * predreg_outcome_average(pinned));
}

/* Whether a policy takes at most slightly more time than leave-pinned */
static int recommend_costs_nothing(const predreg_findings_t *findings,
                                   predreg_replay_policy_t policy)
{
    const predreg_outcome_t *outcome = &findings->outcomes[policy];
    const predreg_outcome_t *pinned =
            &findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED];

    return outcome->duration <= (1 + PREDREG_COSTS_PART) * pinned->duration;
}

static int recommend_pays(const predreg_findings_t *findings,
                          predreg_replay_policy_t policy)
{
    return recommend_saves(findings, policy) &&
           recommend_costs_nothing(findings, policy);
}

static int recommend_as_good_as_predict(const predreg_findings_t *findings,
                                        predreg_replay_policy_t policy)
{
    const predreg_outcome_t *outcome = &findings->outcomes[policy];
    const predreg_outcome_t *predict =
            &findings->outcomes[PREDREG_REPLAY_PREDICT];

    return (predict->ranks == 0) ||
           ((predreg_outcome_average(outcome) <=
             PREDREG_AS_GOOD_MEMORY * predreg_outcome_average(predict)) &&
            ((double)outcome->waited <=
             predict->waited + PREDREG_AS_GOOD_WAITED * predict->duration));
}

static int recommend_is_tiny(const predreg_findings_t *findings)
{
    double pools = (findings->pool_bytes != 0) ? findings->pool_bytes :
                                                 PREDREG_USUAL_POOLS;

    return predreg_outcome_average(
                   &findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED]) <
           PREDREG_TINY_PART * pools;
}

/* Whether memory is in use for so much of the time that no policy could save
 * memory */
static int recommend_is_in_use(const predreg_outcome_t *pinned)
{
    return pinned->by_cause[PREDREG_CAUSE_USE] >
           PREDREG_SAVES_PART * pinned->byte_seconds;
}

static int recommend_is_regular(const predreg_outcome_t *predict)
{
    return (predict->ranks > 0) &&
           (predict->hits >= PREDREG_REGULAR_PART * predict->uses);
}

static void recommend_set(predreg_advice_t *advice, predreg_setting_t setting,
                          predreg_reason_t reason)
{
    advice->setting = setting;
    advice->reason  = reason;
}

/* Recommend registration on demand if it saves memory at no cost in time, or,
 * if that is @a enough, if it saves memory at all; else UCX as it is */
static void recommend_simple(const predreg_findings_t *findings,
                             predreg_reason_t reason, int saving_is_enough,
                             predreg_advice_t *advice)
{
    int on_demand = saving_is_enough ?
                    recommend_saves(findings, PREDREG_REPLAY_ON_DEMAND) :
                    recommend_pays(findings, PREDREG_REPLAY_ON_DEMAND);

    recommend_set(advice, on_demand ? PREDREG_SETTING_ON_DEMAND :
                                      PREDREG_SETTING_LEAVE_PINNED, reason);
}

/* Recommend one of the policies for a program in which memory could be saved */
static void recommend_policy(const predreg_findings_t *findings,
                             predreg_advice_t *advice)
{
    const predreg_outcome_t *predict =
            &findings->outcomes[PREDREG_REPLAY_PREDICT];
    const predreg_outcome_t *pinned =
            &findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED];

    if (pinned->uses < (uint64_t)PREDREG_FEW_USES * pinned->ranks) {
        recommend_simple(findings, PREDREG_REASON_FEW_USES, 0, advice);
    } else if (recommend_pays(findings, PREDREG_REPLAY_ON_DEMAND) &&
               recommend_as_good_as_predict(findings,
                                            PREDREG_REPLAY_ON_DEMAND)) {
        recommend_set(advice, PREDREG_SETTING_ON_DEMAND,
                      PREDREG_REASON_ON_DEMAND_AS_GOOD);
    } else if (recommend_pays(findings, PREDREG_REPLAY_ON_DEMAND) &&
               !recommend_is_regular(predict)) {
        recommend_set(advice, PREDREG_SETTING_ON_DEMAND,
                      PREDREG_REASON_IRREGULAR);
    } else if (recommend_pays(findings, PREDREG_REPLAY_LRU) &&
               recommend_as_good_as_predict(findings, PREDREG_REPLAY_LRU)) {
        recommend_set(advice, PREDREG_SETTING_BOUND,
                      PREDREG_REASON_BOUND_AS_GOOD);
    } else if (recommend_pays(findings, PREDREG_REPLAY_PREDICT)) {
        recommend_set(advice, PREDREG_SETTING_PREDICT, PREDREG_REASON_PAYS);
    } else if (!recommend_is_regular(predict)) {
        recommend_simple(findings, PREDREG_REASON_IRREGULAR, 1, advice);
    } else if (recommend_saves(findings, PREDREG_REPLAY_PREDICT)) {
        recommend_set(advice, PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS);
    } else {
        recommend_set(advice, PREDREG_SETTING_LEAVE_PINNED,
                      PREDREG_REASON_NO_SAVING);
    }
}

static predreg_answer_t recommend_answer(const predreg_findings_t *findings,
                                         predreg_setting_t setting)
{
    if (setting == PREDREG_SETTING_LEAVE_PINNED) {
        return PREDREG_ANSWER_NO;
    }

    return recommend_costs_nothing(findings, predreg_setting_policy(setting)) ?
           PREDREG_ANSWER_YES : PREDREG_ANSWER_IF_SHORT;
}

static unsigned recommend_caveats(const predreg_findings_t *findings)
{
    const predreg_outcome_t *predict =
            &findings->outcomes[PREDREG_REPLAY_PREDICT];
    unsigned caveats = 0;

    if (findings->lost >
        PREDREG_LOST_PART * ((double)findings->events + findings->lost)) {
        caveats |= PREDREG_CAVEAT_LOST;
    }
    if (findings->truncated) {
        caveats |= PREDREG_CAVEAT_TRUNCATED;
    }
    if (findings->guessed) {
        caveats |= PREDREG_CAVEAT_GUESSED;
    }
    if (predict->late > PREDREG_LATE_PART * predict->uses) {
        caveats |= PREDREG_CAVEAT_LATE;
    }

    return caveats;
}

void predreg_recommend(const predreg_findings_t *findings,
                       predreg_advice_t *advice)
{
    const predreg_outcome_t *pinned =
            &findings->outcomes[PREDREG_REPLAY_LEAVE_PINNED];
    const predreg_outcome_t *clairvoyant =
            &findings->outcomes[PREDREG_REPLAY_CLAIRVOYANT];

    if (pinned->uses == 0) {
        recommend_set(advice, PREDREG_SETTING_LEAVE_PINNED,
                      PREDREG_REASON_NO_USES);
    } else if (recommend_is_tiny(findings)) {
        recommend_set(advice, PREDREG_SETTING_LEAVE_PINNED,
                      PREDREG_REASON_TINY);
    } else if (recommend_is_in_use(pinned)) {
        recommend_set(advice, PREDREG_SETTING_LEAVE_PINNED,
                      PREDREG_REASON_IN_USE);
    } else if ((clairvoyant->ranks > 0) &&
               !recommend_saves(findings, PREDREG_REPLAY_CLAIRVOYANT)) {
        recommend_set(advice, PREDREG_SETTING_LEAVE_PINNED,
                      PREDREG_REASON_NO_GAPS);
    } else {
        recommend_policy(findings, advice);
    }

    advice->answer  = recommend_answer(findings, advice->setting);
    advice->caveats = recommend_caveats(findings);
}

predreg_replay_policy_t predreg_setting_policy(predreg_setting_t setting)
{
    switch (setting) {
    case PREDREG_SETTING_PREDICT:
        return PREDREG_REPLAY_PREDICT;
    case PREDREG_SETTING_ON_DEMAND:
        return PREDREG_REPLAY_ON_DEMAND;
    case PREDREG_SETTING_BOUND:
        return PREDREG_REPLAY_LRU;
    default:
        return PREDREG_REPLAY_LEAVE_PINNED;
    }
}
