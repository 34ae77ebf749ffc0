/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "run.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than ranks run where the programs are run */
#define MAX_RANKS 64

/* The summaries of a run, by rank */
typedef struct {
    json_object *ranks[MAX_RANKS];
    unsigned    num_ranks;
} summaries_t;


static void __attribute__((noreturn)) fatal(const char *what, const char *why)
{
    fprintf(stderr, "tables: %s: %s\n", what, why);
    exit(2);
}

static void *grow(void *array, size_t num, size_t size)
{
    /* A power of two of elements is room for as many again */
    if ((num & (num - 1)) == 0) {
        array = realloc(array, ((num == 0) ? 1 : (2 * num)) * size);
        if (array == NULL) {
            fatal("memory", strerror(ENOMEM));
        }
    }

    return array;
}

/* Opens raw/PROGRAM.POLICY.REPETITION.SUFFIX */
static FILE *open_raw(const char *dir, const run_t *run, const char *suffix)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/raw/%s.%s.%d.%s", dir, run->program,
             run->policy, run->rep, suffix);
    return fopen(path, "r");
}

/* A number of an object; NAN if it is missing or null */
static double get_number(json_object *object, const char *name)
{
    json_object *value;

    if (!json_object_object_get_ex(object, name, &value) || (value == NULL)) {
        return NAN;
    }

    return json_object_get_double(value);
}

/* Calls a function with each line of a file that is an object, which belongs to
 * the function then */
static void for_each_object(FILE *file,
                            void (*function)(json_object *object, void *arg),
                            void *arg)
{
    char *line  = NULL;
    size_t size = 0;
    json_object *object;

    while (getline(&line, &size, file) > 0) {
        object = (line[0] == '{') ? json_tokener_parse(line) : NULL;
        if (object != NULL) {
            function(object, arg);
        }
    }

    free(line);
}

static int compare_ranks(const void *a, const void *b)
{
    double x = get_number(*(json_object**)a, "rank");
    double y = get_number(*(json_object**)b, "rank");

    return (x > y) - (x < y);
}

static void add_summary(json_object *object, void *arg)
{
    summaries_t *summaries = arg;

    if (summaries->num_ranks == MAX_RANKS) {
        fatal("summaries", "too many ranks");
    }

    summaries->ranks[summaries->num_ranks++] = object;
}

static void load_summaries(FILE *file, summaries_t *summaries)
{
    summaries->num_ranks = 0;
    for_each_object(file, add_summary, summaries);
    qsort(summaries->ranks, summaries->num_ranks, sizeof(*summaries->ranks),
          compare_ranks);
}

/* The average over the ranks that know it */
static double rank_average(const summaries_t *summaries, const char *name)
{
    unsigned num = 0, i;
    double sum   = 0;
    double value;

    for (i = 0; i < summaries->num_ranks; ++i) {
        value = get_number(summaries->ranks[i], name);
        if (!isnan(value)) {
            sum += value;
            ++num;
        }
    }

    return (num == 0) ? NAN : (sum / num);
}

static void add_errors(json_object *rank, double *errors)
{
    json_object *list;
    unsigned i;

    if (!json_object_object_get_ex(rank, "prediction_errors", &list) ||
        !json_object_is_type(list, json_type_array)) {
        return;
    }

    for (i = 0; i < RUN_ERROR_CLASSES; ++i) {
        errors[i] = (isnan(errors[i]) ? 0 : errors[i]) +
                    json_object_get_double(json_object_array_get_idx(list, i));
    }
}

static memory_sample_t *load_samples(FILE *file, size_t *num_p)
{
    memory_sample_t *samples = NULL;
    unsigned long kb;
    char line[256];
    double ms;
    int pid;

    *num_p = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        /* The first line has the names of the columns */
        if (sscanf(line, "%lf,%d,%lu", &ms, &pid, &kb) != 3) {
            continue;
        }

        samples                 = grow(samples, *num_p, sizeof(*samples));
        samples[*num_p].time    = llrint(ms * 1e6);
        samples[*num_p].pid     = pid;
        samples[*num_p].pinned  = kb * 1024ull;
        ++*num_p;
    }

    return samples;
}

/* Pools are those of the ranks, in their order */
static void load_memory(const char *dir, const uint64_t *pools,
                        unsigned num_ranks, run_t *run)
{
    FILE *file = open_raw(dir, run, "csv");
    memory_sample_t *samples;
    const char *error;
    size_t num;

    if (file == NULL) {
        return;
    }

    samples = load_samples(file, &num);
    fclose(file);
    error = memory_analyse(samples, num, pools, num_ranks, &run->memory);
    free(samples);
    if (error != NULL) {
        fprintf(stderr, "tables: no memory of %s under %s: %s\n", run->program,
                run->policy, error);
        return;
    }

    run->average = run->memory.average;
    run->peak    = run->memory.peak;
}

static void load_library(const char *dir, run_t *run)
{
    FILE *file = open_raw(dir, run, "json");
    uint64_t pools[MAX_RANKS];
    summaries_t summaries;
    unsigned i;

    if (file == NULL) {
        return;
    }

    load_summaries(file, &summaries);
    fclose(file);
    run->uses       = rank_average(&summaries, "uses");
    run->hits       = rank_average(&summaries, "hits");
    run->critical   = rank_average(&summaries, "regs_critical");
    run->critical_s = rank_average(&summaries, "critical_path_seconds");
    run->helper_s   = rank_average(&summaries, "helper_cpu_seconds");
    for (i = 0; i < summaries.num_ranks; ++i) {
        add_errors(summaries.ranks[i], run->errors);
        pools[i] = llrint(get_number(summaries.ranks[i], "pool_bytes"));
        json_object_put(summaries.ranks[i]);
    }

    load_memory(dir, pools, summaries.num_ranks, run);
}

static double rank_max(const summaries_t *summaries, const char *name)
{
    double max = NAN;
    unsigned i;

    for (i = 0; i < summaries->num_ranks; ++i) {
        max = fmax(max, get_number(summaries->ranks[i], name));
    }

    return max;
}

/* Ends the curve when UCX ended: samples go on until the process exits */
static void cut_curve(run_t *run)
{
    memory_t *memory = &run->memory;
    int64_t end      = llrint(run->seconds * 1e9);

    while ((memory->num_steps > 1) &&
           (memory->curve[memory->num_steps - 1].time > end)) {
        --memory->num_steps;
    }

    if (memory->num_steps > 0) {
        memory->duration = memory->curve[memory->num_steps - 1].time;
    }
}

/* The native rig has no pools, and counts what is pinned at each registration.
 * Uses that it sees where the library is loaded are registrations only. */
static void load_native(const char *dir, run_t *run)
{
    static const uint64_t pools[MAX_RANKS] = {0};
    FILE *file                             = open_raw(dir, run, "stat");
    summaries_t ranks;
    unsigned i;

    if (file == NULL) {
        return;
    }

    load_summaries(file, &ranks);
    fclose(file);
    load_memory(dir, pools, ranks.num_ranks, run);
    run->average = rank_average(&ranks, "pinned_average_bytes");
    run->peak    = rank_max(&ranks, "pinned_peak_bytes");
    run->uses    = isnan(run->uses) ? rank_average(&ranks, "uses") : run->uses;
    run->seconds = rank_max(&ranks, "seconds");
    for (i = 0; i < ranks.num_ranks; ++i) {
        json_object_put(ranks.ranks[i]);
    }
    cut_curve(run);
}

static void add_output(json_object *object, void *arg)
{
    double seconds = get_number(object, "loop_s");
    run_t *run     = arg;

    if (!isnan(seconds)) {
        run->seconds       = seconds;
        run->communication = get_number(object, "comm_avg_s");
    }
    json_object_put(object);
}

static void load_run(const char *dir, run_t *run)
{
    FILE *file;
    unsigned i;

    run->communication = run->average = run->peak     = NAN;
    run->uses          = run->hits    = run->critical = NAN;
    run->critical_s    = NAN;
    run->helper_s      = NAN;
    for (i = 0; i < RUN_ERROR_CLASSES; ++i) {
        run->errors[i] = NAN;
    }

    load_library(dir, run);
    load_native(dir, run);
    /* What the program says of its time is better than what others say */
    file = open_raw(dir, run, "out");
    if (file != NULL) {
        for_each_object(file, add_output, run);
        fclose(file);
    }
}

void runs_load(const char *dir, runs_t *runs)
{
    char path[4096], line[256];
    run_t run;
    FILE *file;

    snprintf(path, sizeof(path), "%s/runs", dir);
    file = fopen(path, "r");
    if (file == NULL) {
        fatal(path, strerror(errno));
    }

    runs->runs     = NULL;
    runs->num_runs = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        memset(&run, 0, sizeof(run));
        run.seconds = NAN;
        if (sscanf(line, "%63s %63s %d %lf", run.program, run.policy, &run.rep,
                   &run.seconds) < 3) {
            fatal(path, "not a line of PROGRAM POLICY REPETITION [SECONDS]");
        }

        load_run(dir, &run);
        runs->runs = grow(runs->runs, runs->num_runs, sizeof(run));
        runs->runs[runs->num_runs++] = run;
    }

    fclose(file);
}

void runs_cleanup(runs_t *runs)
{
    size_t i;

    for (i = 0; i < runs->num_runs; ++i) {
        free(runs->runs[i].memory.curve);
    }
    free(runs->runs);
}

void runs_find(const runs_t *runs, const char *program, const char *policy,
               row_t *row)
{
    const run_t *run;
    unsigned k;
    size_t i;

    memset(row, 0, sizeof(*row));
    for (i = 0; i < runs->num_runs; ++i) {
        run = &runs->runs[i];
        if (strcmp(run->program, program) || strcmp(run->policy, policy)) {
            continue;
        }

        if ((row->first == NULL) && (run->memory.curve != NULL)) {
            row->first = run;
        }
        if (run->rep == 0) {
            continue;
        }

        ++row->num_runs;
        series_add(&row->seconds, run->seconds);
        series_add(&row->communication, run->communication);
        series_add(&row->average, run->average);
        series_add(&row->peak, run->peak);
        series_add(&row->uses, run->uses);
        series_add(&row->hits, run->hits);
        series_add(&row->critical, run->critical);
        series_add(&row->critical_s, run->critical_s);
        series_add(&row->helper_s, run->helper_s);
        for (k = 0; k < RUN_ERROR_CLASSES; ++k) {
            row->errors[k] += isnan(run->errors[k]) ? 0 : run->errors[k];
        }
    }
}
