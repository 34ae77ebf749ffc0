/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay_int.h"

#include <tools/predreg/common/command.h>

#include <math.h>
#include <stdio.h>

/** @file output.c
 *
 * Rows, sentences and JSON objects with the results of a job that was replayed.
 */

/* Stands for the number of a rank where a result is the total of all ranks */
#define ALL_RANKS (-1)

#define MIB          (1024. * 1024.)
#define NSEC_PER_SEC 1000000000ul


/* Put a time in seconds exactly, without rounding */
static void put_seconds(ucs_json_t *json, const char *name, uint64_t time)
{
    ucs_json_printf(json, name, "%lu.%09lu", time / NSEC_PER_SEC, time % NSEC_PER_SEC);
}

void predreg_replay_put_damage(ucs_json_t *json, const predreg_damage_t *damage)
{
    JSON_BOOL(damage, guessed);
    JSON_UINT(damage, lost);
    JSON_BOOL(damage, truncated);
    if (damage->left_out > 0) {
        JSON_UINT(damage, left_out);
    }
}

/* Put how long the program waits, and for which causes memory is registered */
static void put_times(ucs_json_t *json, const predreg_replay_result_t *result)
{
    unsigned i;

    put_seconds(json, "critical_path_seconds", result->waited);
    put_seconds(json, "duration_seconds", result->duration);
    ucs_json_begin(json, "causes", '{');
    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        ucs_json_printf(json, predreg_cause_names[i], "%.6f", result->pinned.by_cause[i]);
    }
    ucs_json_end(json, '}');
}

/* Put the budget, and how much of it is spent, under the names that the summary of a real
 * run has */
static void put_budget(ucs_json_t *json, const predreg_replay_result_t *result)
{
    unsigned i;

    put_seconds(json, "helper_seconds", result->helper);
    predreg_json_known(json, "budget", !isinf(result->budget), 100 * result->budget, 6);
    put_seconds(json, "budget_spent_seconds", result->spent);
    ucs_json_begin(json, "prediction_errors", '[');
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        ucs_json_uint(json, NULL, result->prediction_errors[i]);
    }
    ucs_json_end(json, ']');
}

/* Print a result as a JSON object on a line.
 * @param [in] damage  What is missing in the traces of which this is the result.
 * @param [in] rank    Number of the rank, or ALL_RANKS. */
static void print_json(const predreg_replay_result_t *result,
                       const predreg_damage_t *damage, size_t num_ranks,
                       long rank, predreg_recommended_t recommended)
{
    ucs_json_t *json = predreg_json_begin("replay");

    ucs_json_string(json, "policy", predreg_policies[result->policy].name);
    ucs_json_printf(json, "pinned_avg_bytes", "%.0f", result->pinned_avg_bytes);
    ucs_json_uint(json, "pinned_peak_bytes", result->pinned.peak_bytes);
    ucs_json_printf(json, "byte_seconds", "%.6f", result->pinned.byte_seconds);
    JSON_UINT(result, uses);
    JSON_UINT(result, hits);
    JSON_UINT(result, late);
    JSON_UINT(result, early);
    JSON_UINT(result, wasted);
    put_times(json, result);
    JSON_UINT(result, regs);
    JSON_UINT(result, refused);
    JSON_UINT(result, answered);
    JSON_UINT(result, forgotten);
    put_budget(json, result);
    ucs_json_uint(json, "ranks", num_ranks);
    JSON_UINT(result, bound_bytes);
    JSON_UINT(result, bound_regions);
    predreg_replay_put_damage(json, damage);
    if (rank != ALL_RANKS) {
        ucs_json_uint(json, "rank", rank);
    }
    if (recommended != PREDREG_NO_BUDGET) {
        ucs_json_bool(json, "recommended", recommended == PREDREG_RECOMMENDED);
    }
    predreg_json_print(json);
}

void predreg_replay_print_head(void)
{
    static const char head[] = "%-12s  %10s  %10s  %12s  %6s  %6s  %6s  %6s  %10s  %10s\n";

    printf(head, "policy", "average", "peak", "MiB * s", "hits", "late", "early", "wasted",
           "waits", "run time");
    printf(head, "", "MiB", "MiB", "", "%", "", "", "", "ms", "s");
}

/* Print a result as a row of the table */
static void print_row(const predreg_replay_result_t *result, const char *name)
{
    printf("%-12s  %10.3f  %10.3f  %12.4f  %6.2f  %6lu  %6lu  %6lu  %10.3f  "
           "%10.4f\n", name, result->pinned_avg_bytes / MIB,
           result->pinned.peak_bytes / MIB, result->pinned.byte_seconds / MIB,
           (result->uses == 0) ? 0 : (100. * result->hits / result->uses),
           result->late, result->early, result->wasted, result->waited / 1e6,
           (double)result->duration / NSEC_PER_SEC);
}

void predreg_replay_print_results(const predreg_job_t *job,
                                  const predreg_replay_opts_t *opts,
                                  const char *label,
                                  predreg_recommended_t recommended,
                                  const predreg_replay_result_t *results)
{
    const predreg_replay_result_t *total = &results[job->num_ranks];
    char name[32];
    size_t i;

    if (opts->json) {
        print_json(total, &job->damage, job->num_ranks, ALL_RANKS, recommended);
    } else {
        print_row(total, label);
    }

    for (i = 0; opts->per_rank && (i < job->num_ranks); ++i) {
        if (opts->json) {
            print_json(&results[i], &job->ranks[i].damage, 1,
                       job->ranks[i].number, PREDREG_NO_BUDGET);
        } else {
            snprintf(name, sizeof(name), "  rank %ld", job->ranks[i].number);
            print_row(&results[i], name);
        }
    }
}

void predreg_replay_print_forgotten(const predreg_replay_result_t *result)
{
    if (result->forgotten > 0) {
        printf("\n%lu of %lu uses come to buffers that predict had to forget: a "
               "larger\n  KNOWN_REGIONS would remember them\n",
               result->forgotten, result->uses);
    }
}

void predreg_replay_print_excess(const predreg_replay_result_t *predict,
                                 const predreg_replay_result_t *clairvoyant)
{
    /* The cause for which memory is registered, printed after the share of the cause */
    static const char *causes[] = {
        [PREDREG_CAUSE_USE]     = "while uses last",
        [PREDREG_CAUSE_REG]     = "while it is being registered",
        [PREDREG_CAUSE_DEREG]   = "while it is being deregistered",
        [PREDREG_CAUSE_AHEAD]   = "registered ahead, until the use comes",
        [PREDREG_CAUSE_KEPT]    = "kept from one use to the next",
        [PREDREG_CAUSE_RELEASE] = "after a use, until it is deregistered",
        [PREDREG_CAUSE_WASTED]  = "registered for uses that do not come"
    };
    double least = clairvoyant->pinned.byte_seconds;
    int is_first = 1;
    double part;
    unsigned i;

    if (least <= 0) {
        return;
    }

    printf("\npredict registers %.2f times the byte-seconds of clairvoyant",
           predict->pinned.byte_seconds / least);
    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        part = 100 * (predict->pinned.by_cause[i] -
                      clairvoyant->pinned.by_cause[i]) / least;
        if (fabs(part) >= 0.05) {
            printf("%s  %+7.1f %%  %s\n",
                   is_first ? "; in percent of those,\n"
                              "it has more (+) or less (-):\n" : "", part,
                   causes[i]);
            is_first = 0;
        }
    }

    if (is_first) {
        printf("\n");
    }
}

static void print_json_arena(const predreg_gain_t *gain)
{
    ucs_json_t *json = predreg_json_begin("arena");

    predreg_gain_put(json, gain);
    ucs_json_printf(json, "pinned_avg_bytes", "%.0f", gain->average);
    ucs_json_printf(json, "predict_avg_bytes", "%.0f", gain->predict_average);
    ucs_json_printf(json, "leave_pinned_avg_bytes", "%.0f", gain->pinned_average);
    ucs_json_printf(json, "seconds_saved", "%.9f", (double)gain->saved / NSEC_PER_SEC);
    ucs_json_printf(json, "seconds", "%.9f", (double)gain->time / NSEC_PER_SEC);
    predreg_json_print(json);
}

void predreg_replay_print_gain(const predreg_gain_t *gain, int is_json)
{
    /* The end of the sentence that begins with the time saved */
    static const char *advice[] = {
        [PREDREG_GAIN_UNUSED] = "of no use: no use is of its memory.\n  What is "
                                "longer than 64M does not come from it, "
                                "nor what malloc() has in its\n  heap: record "
                                "with MALLOC_MMAP_THRESHOLD_=131072",
        [PREDREG_GAIN_RECORDED] = "as it was recorded; without an arena the\n"
                                  "  program would have other memory: record that to "
                                  "compare",
        [PREDREG_GAIN_LOSES]  = "not recommended: the program would wait longer",
        [PREDREG_GAIN_MEMORY] = "not recommended: it would have more\n  memory registered "
                                "than leave-pinned",
        [PREDREG_GAIN_LITTLE] = "not needed: less than 0.1 % of the run time",
        [PREDREG_GAIN_YES]    = "recommended, if there is memory to pin"
    };

    if (gain->ranks == 0) {
        return;
    }

    if (is_json) {
        print_json_arena(gain);
        return;
    }

    printf("\nlarge allocations: UCX_RCACHE_PRED_ARENA=%luM would answer %lu of "
           "%lu uses\n  without a registration", gain->size >> 20, gain->answered,
           gain->uses);
    if (gain->recorded == 0) {
        printf(", save %.3f ms of waiting, and have %.3f MiB\n  registered in place of "
               "%.3f under leave-pinned", gain->saved / 1e6, gain->average / MIB,
               gain->pinned_average / MIB);
    }
    printf(": %s\n", advice[predreg_gain_advise(gain)]);
}

static void print_json_sends(const predreg_sends_t *sends)
{
    const ucs_reuse_gain_t *gain = &sends->gain;
    int is_known                 = (sends->calibrated > 0);
    ucs_json_t *json             = predreg_json_begin("sends");

    predreg_sends_put(json, sends);
    ucs_json_printf(json, "length", "%.0f", sends->length_sum / sends->ranks);
    ucs_json_printf(json, "reused_percent", "%.4f", 100 * sends->reused / sends->ranks);
    predreg_json_known(json, "hot_buffers", is_known, gain->hot_buffers, 0);
    predreg_json_known(json, "hot_sends", is_known, gain->sends, 0);
    predreg_json_known(json, "bytes_saved", is_known, gain->bytes, 0);
    predreg_json_known(json, "seconds_saved", is_known, gain->saved / NSEC_PER_SEC, 9);
    ucs_json_printf(json, "seconds", "%.9f", (double)sends->time / NSEC_PER_SEC);
    predreg_json_print(json);
}

/* Print the gain of sending small messages without the copy */
static void print_sends_gain(const predreg_sends_t *sends)
{
    /* The end of the sentence about UCX_RCACHE_PRED_EAGER=y */
    static const char *advice[]  = {
        [PREDREG_EAGER_UNKNOWN] = "",
        [PREDREG_EAGER_NEVER]   = "of no use: no buffer is sent often enough",
        [PREDREG_EAGER_LOSES]   = "not recommended: it would take longer",
        [PREDREG_EAGER_LITTLE]  = "not needed: less than 0.1 % of the run time",
        [PREDREG_EAGER_YES]     = "recommended"
    };
    const ucs_reuse_gain_t *gain = &sends->gain;

    if (sends->calibrated < sends->ranks) {
        printf("  what they cost is not in the traces of %u of %u ranks: record "
               "them anew\n", sends->ranks - sends->calibrated, sends->ranks);
    }

    if (sends->calibrated > 0) {
        printf("  UCX_RCACHE_PRED_EAGER=y would send %lu of %lu without the "
               "copy, %.3f MiB,\n  and save %.3f ms: %s\n", gain->sends,
               sends->known_sends, gain->bytes / MIB, gain->saved / 1e6,
               advice[predreg_sends_advise(sends)]);
    }
}

void predreg_replay_print_sends(const predreg_sends_t *sends, int is_json)
{
    if (sends->ranks == 0) {
        return;
    }

    if (is_json) {
        print_json_sends(sends);
        return;
    }

    printf("\nsmall sends: %lu, of %lu buffers; %.2f %% of a buffer that was "
           "sent before,\n  one of them %lu times\n", sends->sends,
           sends->buffers, 100 * sends->reused / sends->ranks,
           sends->most);
    print_sends_gain(sends);
}
