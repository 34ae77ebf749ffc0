/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "report_int.h"

#include <ucs/sys/math.h>

#include <math.h>
#include <stdlib.h>


/* Write a number of an outcome as a member, by the unit of the number */
#define WRITE_COUNT(_name, _number) ucs_json_uint(json, _name, _number);
#define WRITE_NSEC(_name, _number)  report_write_seconds(json, _name, _number);
#define WRITE_NUMBER(_field, _name, _unit) \
    WRITE_##_unit(_name, outcome->_field)


/* Write the members of a setting's object for its outcome */
static void write_outcome(ucs_json_t *json, const report_data_t *report,
                          const predreg_outcome_t *outcome)
{
    const predreg_findings_t *findings = &report->findings;
    const predreg_advice_t *advice     = &report->advice;
    unsigned i;

    ucs_json_bool(json, "chosen", outcome == advice->choice.outcome);
    JSON_UINT(outcome, ranks);
    ucs_json_real(json, "pinned_avg_bytes", predreg_outcome_average(outcome));
    ucs_json_uint(json, "pinned_peak_bytes", outcome->peak);
    JSON_REAL(outcome, byte_seconds);
    PREDREG_RESULT_NUMBERS(WRITE_NUMBER)
    report_write_seconds(json, "duration_seconds", outcome->longest);
    report_write_seconds(json, "all_ranks_seconds", outcome->duration);
    ucs_json_real(json, "extra_time", predreg_extra_time(findings, outcome));
    ucs_json_real(json, "helper_load", predreg_outcome_load(outcome));
    ucs_json_begin(json, "causes", '{');
    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        ucs_json_real(json, predreg_cause_names[i], outcome->by_cause[i]);
    }
    ucs_json_end(json, '}');
}

/* Whether only the arena is judged, with which the job was recorded */
static int is_in_arena(const report_data_t *report)
{
    return report->advice.reason == PREDREG_REASON_ARENA;
}

static void write_policies(ucs_json_t *json, const report_data_t *report)
{
    const predreg_outcome_t *outcome;
    const predreg_policy_t *row;
    predreg_replay_policy_t policy;
    unsigned i;

    ucs_json_begin(json, "policies", '{');
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy  = predreg_policy_at(i);
        row     = &predreg_policies[policy];
        outcome = report_outcome(report, policy);
        if (report_has(report, policy) &&
            (!is_in_arena(report) || (policy == PREDREG_REPLAY_ARENA))) {
            ucs_json_begin(json, row->name, '{');
            ucs_json_string(json, "policy", row->name);
            JSON_STRING(row, label);
            JSON_STRING(row, brief);
            JSON_STRING(row, note);
            ucs_json_bool(json, "key", row->is_key);
            ucs_json_bool(json, "in_first_table", row->is_key ||
                          (outcome == report->advice.choice.outcome) ||
                          (outcome == report->advice.cheapest.outcome));
            JSON_UINT(outcome, bound_bytes);
            JSON_UINT(outcome, bound_regions);
            write_outcome(json, report, outcome);
            ucs_json_end(json, '}');
        }
    }
    ucs_json_end(json, '}');
}

/* Whether there is a curve of budgets to show */
static int report_has_curve(const report_data_t *report)
{
    return predreg_has_curve(&report->findings) && !is_in_arena(report) &&
           (report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED)->uses > 0);
}

/* Write the outcomes of predict with each budget, for a job whose processors are all
 * busy */
static void write_budgets(ucs_json_t *json, const report_data_t *report)
{
    const predreg_budgets_t *budgets = &report->findings.budgets;
    char name[PREDREG_BUDGET_NAME_MAX];
    unsigned i;

    ucs_json_bool(json, "has_curve", report_has_curve(report));
    ucs_json_begin(json, "budgets", '[');
    for (i = 0; report_has_curve(report) && (i < budgets->num); ++i) {
        ucs_json_begin(json, NULL, '{');
        ucs_json_string(json, "budget",
                        predreg_budget_name(budgets->rates[i], name));
        ucs_json_bool(json, "default", i == budgets->usual);
        write_outcome(json, report, &report->findings.curve[i]);
        ucs_json_end(json, '}');
    }
    ucs_json_end(json, ']');
}

static void write_bounds(ucs_json_t *json, const report_data_t *report)
{
    const predreg_outcome_t *bound;
    unsigned i;

    ucs_json_begin(json, "bounds", '[');
    for (i = PREDREG_NUM_BOUNDS; i-- > 0;) {
        bound = &report->findings.bounds[i];
        /* A bound above the peaks of all ranks changes nothing */
        if (predreg_is_played(&report->findings, bound) && !is_in_arena(report) &&
            (bound->bound_bytes <
             report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED)->peak)) {
            ucs_json_begin(json, NULL, '{');
            ucs_json_uint(json, "bound_bytes", predreg_bound_bytes(i));
            write_outcome(json, report, bound);
            ucs_json_end(json, '}');
        }
    }
    ucs_json_end(json, ']');
}

/* Write a setting and its outcome, if any */
static void write_choice(ucs_json_t *json, const char *name,
                         const report_data_t *report,
                         const predreg_choice_t *choice)
{
    static const char *const settings[] = {
        [PREDREG_SETTING_PREDICT]      = "predict",
        [PREDREG_SETTING_ON_DEMAND]    = "on-demand",
        [PREDREG_SETTING_BOUND]        = "bound",
        [PREDREG_SETTING_LEAVE_PINNED] = "leave-pinned"
    };
    const predreg_budgets_t *budgets = &report->findings.budgets;
    char budget[PREDREG_BUDGET_NAME_MAX];

    if (choice->outcome == NULL) {
        return;
    }

    ucs_json_begin(json, name, '{');
    ucs_json_string(json, "setting", settings[choice->setting]);
    ucs_json_string(json, "budget", (choice->budget < 0) ? NULL :
                    predreg_budget_name(choice->budget, budget));
    ucs_json_bool(json, "default", (choice->budget >= 0) &&
                  (choice->budget == budgets->rates[budgets->usual]));
    ucs_json_uint(json, "bound_bytes", choice->number);
    ucs_json_bool(json, "is_policy", (choice->number == 0) &&
                  (choice->budget < 0));
    write_outcome(json, report, choice->outcome);
    ucs_json_end(json, '}');
}

static void write_caveats(ucs_json_t *json, unsigned caveats)
{
    static const struct {
        unsigned   bit;
        const char *name;
    } names[] = {
        {PREDREG_CAVEAT_LOST, "lost"}, {PREDREG_CAVEAT_TRUNCATED, "truncated"},
        {PREDREG_CAVEAT_LATE, "late"}, {PREDREG_CAVEAT_UNENDED, "unended"},
        {PREDREG_CAVEAT_LEFT_OUT, "left_out"},
        {PREDREG_CAVEAT_POOLS, "pools"}, {PREDREG_CAVEAT_SPREAD, "spread"},
        {PREDREG_CAVEAT_IDLE, "idle"}
    };
    unsigned count = 0;
    unsigned i;

    ucs_json_begin(json, "caveats", '{');
    for (i = 0; i < ucs_static_array_size(names); ++i) {
        if (caveats & names[i].bit) {
            ucs_json_bool(json, names[i].name, 1);
            ++count;
        }
    }
    ucs_json_end(json, '}');
    ucs_json_uint(json, "num_caveats", count);
}

/* Whether the page explains the misses under predict */
static int explains_misses(const report_data_t *report)
{
    const predreg_advice_t *advice   = &report->advice;
    const predreg_outcome_t *predict =
            report_outcome(report, PREDREG_REPLAY_PREDICT);

    if (!report_has(report, PREDREG_REPLAY_PREDICT)) {
        return 0;
    }

    switch (advice->reason) {
    case PREDREG_REASON_COSTS:
    case PREDREG_REASON_TOO_SLOW:
        return 1;
    case PREDREG_REASON_PREDICT_WORSE:
        return predreg_saves(&report->findings, predict);
    case PREDREG_REASON_PAYS:
        return predreg_has_few_hits(advice->choice.outcome);
    default:
        return 0;
    }
}

static void write_advice(ucs_json_t *json, const report_data_t *report)
{
    static const char *const answers[] = {
        [PREDREG_ANSWER_YES]      = "yes",
        [PREDREG_ANSWER_IF_SHORT] = "if-short",
        [PREDREG_ANSWER_NO]       = "no"
    };
    static const char *const misses[]  = {
        [PREDREG_MISSES_NONE]      = NULL,
        [PREDREG_MISSES_FORGOTTEN] = "forgotten",
        [PREDREG_MISSES_BUSY]      = "busy",
        [PREDREG_MISSES_LATE]      = "late",
        [PREDREG_MISSES_NEW]       = "new",
        [PREDREG_MISSES_IRREGULAR] = "irregular",
        [PREDREG_MISSES_OTHER]     = "other"
    };
    static const char *const reasons[PREDREG_REASON_LAST] = {
        [PREDREG_REASON_NO_USES]           = "no-uses",
        [PREDREG_REASON_ARENA]             = "arena",
        [PREDREG_REASON_TINY]              = "tiny",
        [PREDREG_REASON_IN_USE]            = "in-use",
        [PREDREG_REASON_NO_GAPS]           = "no-gaps",
        [PREDREG_REASON_FEW_USES]          = "few-uses",
        [PREDREG_REASON_ON_DEMAND_AS_GOOD] = "on-demand-as-good",
        [PREDREG_REASON_BOUND_AS_GOOD]     = "bound-as-good",
        [PREDREG_REASON_PREDICT_WORSE]     = "predict-worse",
        [PREDREG_REASON_PAYS]              = "pays",
        [PREDREG_REASON_COSTS]             = "costs",
        [PREDREG_REASON_TOO_SLOW]          = "too-slow",
        [PREDREG_REASON_NO_SAVING]         = "no-saving"
    };
    static const char *const processors[] = {
        [PREDREG_PROCESSORS_UNKNOWN] = NULL,
        [PREDREG_PROCESSORS_IDLE]    = "idle",
        [PREDREG_PROCESSORS_BUSY]    = "busy"
    };
    const predreg_advice_t *advice     = &report->advice;
    const predreg_outcome_t *predict   =
            report_outcome(report, PREDREG_REPLAY_PREDICT);

    ucs_json_begin(json, "advice", '{');
    ucs_json_string(json, "answer", answers[advice->answer]);
    ucs_json_string(json, "reason", reasons[advice->reason]);
    ucs_json_bool(json, "few_hits",
                  predreg_has_few_hits(advice->choice.outcome));
    ucs_json_bool(json, "predict_saves",
                  predreg_saves(&report->findings, predict));
    ucs_json_bool(json, "predict_few_hits", predreg_has_few_hits(predict));
    ucs_json_string(json, "misses", predreg_misses_matter(predict) ?
                    misses[advice->misses] : NULL);
    ucs_json_uint(json, "irregular_misses",
                  report_has(report, PREDREG_REPLAY_PREDICT) ?
                  predreg_misses_irregular(&report->findings) : 0);
    ucs_json_bool(json, "explain_misses", explains_misses(report));
    ucs_json_bool(json, "guessed", advice->caveats & PREDREG_CAVEAT_GUESSED);
    ucs_json_string(json, "processors",
                    processors[predreg_processors(&report->findings)]);
    write_caveats(json, advice->caveats);
    ucs_json_end(json, '}');

    ucs_json_begin(json, "choices", '{');
    write_choice(json, "best", report, &advice->choice);
    write_choice(json, "cheapest", report, &advice->cheapest);
    write_choice(json, "other", report, &advice->other);
    ucs_json_end(json, '}');
}

/* Write the registered memory of UCX's own pools by kind; null if no trace has it */
static void write_pools(ucs_json_t *json, const uint64_t *kinds)
{
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        sum += kinds[i];
    }

    if (sum == 0) {
        ucs_json_string(json, "pool_kinds", NULL);
        return;
    }

    ucs_json_begin(json, "pool_kinds", '{');
    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        ucs_json_uint(json, ucs_rcache_pred_pool_names[i], kinds[i]);
    }
    ucs_json_end(json, '}');
}

/* Write the facts about the ranks */
static void write_findings(ucs_json_t *json, const report_data_t *report)
{
    const predreg_findings_t *findings = &report->findings;

    JSON_UINT(findings, left_out);
    JSON_UINT(findings, truncated);
    JSON_UINT(findings, unended);
    JSON_UINT(findings, events);
    JSON_UINT(findings, lost);
    ucs_json_real(json, "lost_part", findings->lost /
                  (double)ucs_max(findings->lost + findings->events, 1ul));
    JSON_UINT(findings, domains);
    ucs_json_uint(json, "most_buffers", findings->max_buffers);
    JSON_UINT(findings, sum_buffers);
    JSON_UINT(findings, known_regions);
    ucs_json_real(json, "pool_bytes", findings->pools_known ?
                  (double)findings->pool_bytes : NAN);
    write_pools(json, findings->pool_kinds);
    ucs_json_real(json, "keys_peak", (findings->keys_peak > 0) ?
                  (double)findings->keys_peak : NAN);
    ucs_json_real(json, "keys_limit", (findings->keys_limit > 0) ?
                  (double)findings->keys_limit : NAN);
    ucs_json_uint(json, "usual_pool_bytes", PREDREG_USUAL_POOLS);
    ucs_json_real(json, "time_limit", PREDREG_COSTS_PART);
    ucs_json_bool(json, "in_long_use",
                  findings->in_long_use > findings->in_use / 2);
    ucs_json_uint(json, "ranks_guessed", ucs_max(findings->reg_guessed,
                  findings->dereg_guessed));
    JSON_UINT(findings, reg_guessed);
    JSON_UINT(findings, dereg_guessed);
    JSON_UINT(findings, use_bytes);
    JSON_SECONDS(findings, least_reg);
    JSON_SECONDS(findings, most_reg);
    JSON_SECONDS(findings, common_reg);
    JSON_SECONDS(findings, guessed_dereg);
}

static void write_arena(ucs_json_t *json, const predreg_gain_t *gain)
{
    if (gain->ranks == 0) {
        return;
    }

    ucs_json_begin(json, "arena", '{');
    predreg_gain_put(json, gain);
    ucs_json_real(json, "pinned_avg_bytes", gain->average / gain->ranks);
    ucs_json_real(json, "predict_avg_bytes",
                  gain->predict_average / gain->ranks);
    ucs_json_real(json, "leave_pinned_avg_bytes",
                  gain->pinned_average / gain->ranks);
    report_write_seconds(json, "seconds_saved", gain->saved);
    ucs_json_end(json, '}');
}

static void write_sends(ucs_json_t *json, const predreg_sends_t *sends)
{
    if (sends->ranks == 0) {
        return;
    }

    ucs_json_begin(json, "sends", '{');
    predreg_sends_put(json, sends);
    ucs_json_real(json, "length", sends->length_sum / sends->ranks);
    ucs_json_real(json, "reused_percent", 100 * sends->reused / sends->ranks);
    JSON_UINT(sends, known_sends);
    JSON_UINT(sends, known_buffers);
    ucs_json_uint(json, "hot_buffers", sends->gain.hot_buffers);
    ucs_json_uint(json, "hot_sends", sends->gain.sends);
    ucs_json_real(json, "bytes_saved", sends->gain.bytes);
    report_write_seconds(json, "seconds_saved", sends->gain.saved);
    report_write_seconds(json, "seconds", sends->time);
    ucs_json_end(json, '}');
}

void report_write_object(const report_data_t *report, ucs_string_buffer_t *strb)
{
    const char *size = report_meta(report, "size");
    ucs_json_t *json = &(ucs_json_t){ .strb = strb };

    ucs_json_begin(json, NULL, '{');
    ucs_json_string(json, "type", "report");
    ucs_json_string(json, "ucx_predreg", PACKAGE_VERSION);
    ucs_json_string(json, "command", report_meta(report, "command"));
    ucs_json_string(json, "recorded_policy", report_meta(report, "policy"));
    ucs_json_uint(json, "job_size",
                  (size == NULL) ? 0 : strtoul(size, NULL, 10));
    JSON_UINT(report, num_ranks);
    write_advice(json, report);
    write_findings(json, report);
    write_policies(json, report);
    write_budgets(json, report);
    write_bounds(json, report);
    write_arena(json, &report->gain);
    write_sends(json, &report->sends);
    report_write_details(json, report);
    ucs_json_end(json, '}');
}
