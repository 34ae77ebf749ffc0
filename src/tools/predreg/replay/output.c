/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "output.h"

#include <math.h>
#include <stdio.h>

/* Functions that print a result of one rank get the rank's number. For the sum
 * over all ranks they get this instead */
#define ALL_RANKS (-1)

#define MIB          (1024. * 1024.)
#define NSEC_PER_SEC 1000000000ul


/* Print a time in seconds exactly, without rounding */
static void print_seconds(const char *name, uint64_t time)
{
    printf("\"%s\":%lu.%09lu,", name, time / NSEC_PER_SEC, time % NSEC_PER_SEC);
}

static void print_causes(const predreg_replay_result_t *result)
{
    unsigned i;

    printf("\"causes\":{");
    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        printf("%s\"%s\":%.6f", (i == 0) ? "" : ",", predreg_cause_names[i],
               result->pinned.by_cause[i]);
    }
    printf("},");
}

/* Print the budget of a result, and what of it was spent, under the names that
 * the summary of a real run has for them */
static void print_budget(const predreg_replay_result_t *result)
{
    if (isinf(result->budget)) {
        printf("\"budget\":null,");
    } else {
        printf("\"budget\":%.6f,", 100 * result->budget);
    }
    print_seconds("budget_spent_seconds", result->spent);
}

void predreg_replay_print_damage(const predreg_damage_t *damage)
{
    printf(",\"guessed\":%s,\"lost\":%lu,\"truncated\":%s",
           damage->guessed ? "true" : "false", damage->lost,
           damage->truncated ? "true" : "false");
    if (damage->left_out > 0) {
        printf(",\"left_out\":%zu", damage->left_out);
    }
}

/* Print a result as a JSON object on a line.
 * @param [in] damage  What is missing in the traces of the result.
 * @param [in] rank    Number of the rank, or ALL_RANKS.
 * @param [in] more    Further fields. */
static void print_json(const predreg_replay_result_t *result,
                       const predreg_damage_t *damage, size_t num_ranks,
                       long rank, const char *more)
{
    unsigned i;

    printf("{\"policy\":\"%s\",\"pinned_avg_bytes\":%.0f,"
           "\"pinned_peak_bytes\":%lu,\"byte_seconds\":%.6f,\"uses\":%lu,"
           "\"hits\":%lu,\"late\":%lu,\"early\":%lu,\"wasted\":%lu,",
           predreg_policies[result->policy].name,
           result->pinned_avg_bytes, result->pinned.peak_bytes,
           result->pinned.byte_seconds, result->uses, result->hits,
           result->late, result->early, result->wasted);
    print_seconds("critical_path_seconds", result->waited);
    print_seconds("duration_seconds", result->duration);
    print_causes(result);
    printf("\"regs\":%lu,\"refused\":%lu,\"answered\":%lu,"
           "\"forgotten\":%lu,", result->regs, result->refused,
           result->answered, result->forgotten);
    print_seconds("helper_seconds", result->helper);
    print_budget(result);
    printf("\"prediction_errors\":[");
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        printf("%s%lu", (i == 0) ? "" : ",", result->prediction_errors[i]);
    }
    printf("],\"ranks\":%zu,\"limit\":%lu", num_ranks, result->limit);
    predreg_replay_print_damage(damage);
    if (rank != ALL_RANKS) {
        printf(",\"rank\":%ld", rank);
    }
    printf("%s}\n", more);
}

void predreg_replay_print_head(void)
{
    printf("%-12s  %10s  %10s  %12s  %6s  %6s  %6s  %6s  %10s  %10s\n",
           "policy", "average", "peak", "MiB * s", "hits", "late", "early",
           "wasted", "waits", "run time");
    printf("%-12s  %10s  %10s  %12s  %6s  %6s  %6s  %6s  %10s  %10s\n", "",
           "MiB", "MiB", "", "%", "", "", "", "ms", "s");
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

/* The same of a rank */
static void print_rank_row(const predreg_replay_result_t *result, long rank)
{
    char name[32];

    snprintf(name, sizeof(name), "  rank %ld", rank);
    print_row(result, name);
}

void predreg_replay_print_results(const predreg_job_t *job,
                                  const predreg_replay_opts_t *opts,
                                  const char *label, const char *more,
                                  const predreg_replay_result_t *results)
{
    const predreg_replay_result_t *total = &results[job->num_ranks];
    size_t i;

    if (opts->json) {
        print_json(total, &job->damage, job->num_ranks, ALL_RANKS, more);
    } else {
        print_row(total, label);
    }

    for (i = 0; opts->per_rank && (i < job->num_ranks); ++i) {
        if (opts->json) {
            print_json(&results[i], &job->ranks[i].damage, 1,
                       job->ranks[i].number, "");
        } else {
            print_rank_row(&results[i], job->ranks[i].number);
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

/* @return words that tell the user when memory counts for this cause, to be
 *         printed behind its share */
static const char *cause_phrase(predreg_cause_t cause)
{
    static const char *phrases[] = {
        [PREDREG_CAUSE_USE]     = "while uses last",
        [PREDREG_CAUSE_REG]     = "while it is being registered",
        [PREDREG_CAUSE_DEREG]   = "while it is being deregistered",
        [PREDREG_CAUSE_AHEAD]   = "registered ahead, until the use comes",
        [PREDREG_CAUSE_KEPT]    = "kept from one use to the next",
        [PREDREG_CAUSE_RELEASE] = "after a use, until it is deregistered",
        [PREDREG_CAUSE_WASTED]  = "registered for uses that do not come"
    };

    return phrases[cause];
}

void predreg_replay_print_excess(const predreg_replay_result_t *predict,
                                 const predreg_replay_result_t *clairvoyant)
{
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
                   cause_phrase(i));
            is_first = 0;
        }
    }

    if (is_first) {
        printf("\n");
    }
}

static void print_json_arena(const predreg_gain_t *gain)
{
    printf("{\"arena\":\"%s\",\"ranks\":%u,\"size\":%lu,\"uses\":%lu,"
           "\"answered\":%lu,\"pinned_avg_bytes\":%.0f,"
           "\"predict_avg_bytes\":%.0f,\"seconds_saved\":%.9f,"
           "\"seconds\":%.9f}\n",
           predreg_gain_advice_name(predreg_gain_advise(gain)), gain->ranks,
           gain->size, gain->uses, gain->answered, gain->average,
           gain->predict_average, (double)gain->saved / NSEC_PER_SEC,
           (double)gain->time / NSEC_PER_SEC);
}

/* @return the words that end the sentence about what an arena would save */
static const char *gain_phrase(predreg_gain_advice_t advice)
{
    static const char *phrases[] = {
        [PREDREG_GAIN_UNUSED] = "of no use: no use is of its memory.\n  What is "
                                "longer than 64M does not come from it, "
                                "nor what malloc() has in its\n  heap: record "
                                "with MALLOC_MMAP_THRESHOLD_=131072",
        [PREDREG_GAIN_LOSES]  = "not recommended: the program would wait longer",
        [PREDREG_GAIN_LITTLE] = "not needed: less than 0.1 % of the run time",
        [PREDREG_GAIN_YES]    = "recommended, if there is memory to pin"
    };

    return phrases[advice];
}

void predreg_replay_print_gain(const predreg_gain_t *gain, int is_json)
{
    if (gain->ranks == 0) {
        return;
    }

    if (is_json) {
        print_json_arena(gain);
        return;
    }

    printf("\nlarge allocations: UCX_RCACHE_PRED_ARENA=%luM would answer %lu of "
           "%lu uses\n  without a registration, and save %.3f ms of waiting: "
           "%s\n", gain->size >> 20, gain->answered, gain->uses,
           gain->saved / 1e6, gain_phrase(predreg_gain_advise(gain)));
}

/* Print the numbers of an estimate, or nothing known */
static void print_json_gain(const predreg_sends_t *sends)
{
    const ucs_reuse_gain_t *gain = &sends->gain;

    if (sends->calibrated == 0) {
        printf("\"hot_buffers\":null,\"hot_sends\":null,\"bytes_saved\":null,"
               "\"seconds_saved\":null,");
        return;
    }

    printf("\"hot_buffers\":%lu,\"hot_sends\":%lu,\"bytes_saved\":%.0f,"
           "\"seconds_saved\":%.9f,", gain->hot_buffers, gain->sends,
           gain->bytes, gain->saved / NSEC_PER_SEC);
}

static void print_json_sends(const predreg_sends_t *sends)
{
    printf("{\"eager\":\"%s\",\"ranks\":%u,\"calibrated\":%u,\"buffers\":%lu,"
           "\"sends\":%lu,\"copied\":%lu,\"others\":%lu,\"went\":%lu,"
           "\"most_sends\":%lu,\"length\":%.0f,\"reused_percent\":%.4f,",
           predreg_eager_advice_name(predreg_sends_advise(sends)), sends->ranks,
           sends->calibrated, sends->buffers, sends->sends, sends->copied,
           sends->others, sends->went, sends->most.most,
           sends->length.sum / sends->ranks,
           100 * sends->reused / sends->ranks);
    print_json_gain(sends);
    printf("\"seconds\":%.9f}\n", (double)sends->time / NSEC_PER_SEC);
}

/* @return the words that end the sentence about what UCX_RCACHE_PRED_EAGER=y
 *         would save: whether the user is advised to set it, and why not */
static const char *eager_phrase(predreg_eager_advice_t advice)
{
    static const char *phrases[] = {
        [PREDREG_EAGER_UNKNOWN] = "",
        [PREDREG_EAGER_NEVER]   = "of no use: no buffer is sent often enough",
        [PREDREG_EAGER_LOSES]   = "not recommended: it would take longer",
        [PREDREG_EAGER_LITTLE]  = "not needed: less than 0.1 % of the run time",
        [PREDREG_EAGER_YES]     = "recommended"
    };

    return phrases[advice];
}

static void print_gain(const predreg_sends_t *sends)
{
    const ucs_reuse_gain_t *gain = &sends->gain;

    if (sends->calibrated < sends->ranks) {
        printf("  what they cost is not in the traces of %u of %u ranks: record "
               "them anew\n", sends->ranks - sends->calibrated, sends->ranks);
    }

    if (sends->calibrated > 0) {
        printf("  UCX_RCACHE_PRED_EAGER=y would send %lu of %lu without the "
               "copy, %.3f MiB,\n  and save %.3f ms: %s\n", gain->sends,
               sends->known_sends, gain->bytes / MIB, gain->saved / 1e6,
               eager_phrase(predreg_sends_advise(sends)));
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
           sends->most.most);
    print_gain(sends);
}
