/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TABLES_RUN_H_
#define TABLES_RUN_H_

#include "memory.h"
#include "series.h"

/** @file run.h
 *
 * What was measured in the runs of a folder that contrib/lib/rounds.sh filled:
 * a file "runs" with a line
 *
 *     PROGRAM POLICY REPETITION [SECONDS]
 *
 * for each good run, and in its folder "raw", for each of them, as far as there
 * is such a thing, PROGRAM.POLICY.REPETITION.csv (samples of pinwatch), .stat
 * (statistics of the native rig, a line of JSON a rank, see
 * test/native/README.md), .json (summaries of the library, a line a rank) and
 * .out (what the program printed, with a line of JSON if it has that).
 *
 * Repetition 0 was sampled, which takes time: there is a curve of it, and
 * nothing else.
 */

#define RUN_NAME_MAX      64
#define RUN_ERROR_CLASSES 6

/** A run. Numbers that nobody knows are NAN; those of the library are averages
 *  over the ranks. */
typedef struct {
    char     program[RUN_NAME_MAX];
    char     policy[RUN_NAME_MAX]; /**< With its knobs, if it has any */
    int      rep;
    double   seconds;       /**< Of the program's own loop. If it does not say:
                                 natively, from the opening of UCX to its end;
                                 else of the whole job, if "runs" says it */
    double   communication; /**< Mean time of a communication, seconds */
    double   average;       /**< Registered user memory, bytes, as the native
                                 rig counts it over those seconds; else by
                                 samples, see memory.h. An average of ranks */
    double   peak;          /**< Likewise, of the rank with the highest */
    double   uses;
    double   hits;
    double   critical;      /**< Registrations on the critical path */
    double   critical_s;    /**< Time spent on it for registrations */
    double   helper_s;      /**< Processor time of the helper */
    double   errors[RUN_ERROR_CLASSES]; /**< Uses that were predicted, by class
                                             of error, of all ranks */
    memory_t memory;        /**< For the curve */
} run_t;

typedef struct {
    run_t  *runs; /**< In the order of the file */
    size_t num_runs;
} runs_t;

/** The repetitions of a run, together. */
typedef struct {
    const run_t *first; /**< The first of them that has a curve; NULL: none */
    unsigned    num_runs; /**< Without repetition 0 */
    series_t    seconds;
    series_t    communication;
    series_t    average;
    series_t    peak;
    series_t    uses;
    series_t    hits;
    series_t    critical;
    series_t    critical_s;
    series_t    helper_s;
    double      errors[RUN_ERROR_CLASSES]; /**< Sums; what is not known is 0 */
} row_t;


/** Read all runs of a folder; what one of its files lacks is told on standard
 *  error. Ends the program if "runs" cannot be read. */
void runs_load(const char *dir, runs_t *runs);

void runs_cleanup(runs_t *runs);

void runs_find(const runs_t *runs, const char *program, const char *policy,
               row_t *row);

#endif
