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
 * What was measured in the runs of a folder that demo-guest.sh or
 * evaluate-guest.sh filled: a file "runs" with a line
 *
 *     PROGRAM POLICY REPETITION [SECONDS]
 *
 * for each good run, and in its folder "raw", for each of them,
 * PROGRAM.POLICY.REPETITION.csv (samples of pinwatch), .json (summaries of the
 * library, a line a rank; missing where it was not loaded) and .out (what the
 * program printed, with a line of JSON if it has that).
 */

#define RUN_NAME_MAX      64
#define RUN_ERROR_CLASSES 6

/** A run. Numbers that nobody knows are NAN; those of the library are averages
 *  over the ranks. */
typedef struct {
    char     program[RUN_NAME_MAX];
    char     policy[RUN_NAME_MAX]; /**< With its knobs, if it has any */
    int      rep;
    double   seconds;       /**< Of the program's own loop; of the whole job if
                                 it does not say, and "runs" does */
    double   communication; /**< Mean time of a communication, seconds */
    double   average;       /**< Registered user memory, see memory.h; bytes */
    double   peak;
    double   uses;
    double   hits;
    double   critical;      /**< Registrations on the critical path */
    double   critical_s;    /**< Time spent on it for registrations */
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
    const run_t *first; /**< The first of them; NULL if there is none */
    unsigned    num_runs;
    series_t    seconds;
    series_t    communication;
    series_t    average;
    series_t    peak;
    series_t    uses;
    series_t    hits;
    series_t    critical;
    series_t    critical_s;
    double      errors[RUN_ERROR_CLASSES]; /**< Sums; what is not known is 0 */
} row_t;


/** Read all runs of a folder; what one of its files lacks is told on standard
 *  error. Ends the program if "runs" cannot be read. */
void runs_load(const char *dir, runs_t *runs);

void runs_cleanup(runs_t *runs);

void runs_find(const runs_t *runs, const char *program, const char *policy,
               row_t *row);

#endif
