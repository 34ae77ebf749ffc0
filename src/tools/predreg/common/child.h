/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_CHILD_H_
#define PREDREG_COMMON_CHILD_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file child.h
 *
 * Runs another program to the end, or to a time limit, and keeps what it
 * prints. Whatever happens to it, this program goes on. probe.c and target.c of
 * `info` call this. Not thread safe: the caller has a single thread.
 */

/** The descriptor through which a program may say what is not for people. */
#define PREDREG_CHILD_FD 3

/** A change of the environment; a value of NULL removes the variable. */
typedef struct {
    const char *name;
    const char *value;
} predreg_child_var_t;

typedef struct {
    const char                *const *argv; /**< Up to a NULL; execvp() takes
                                                 it */
    const predreg_child_var_t *vars;        /**< Up to a name that is NULL; may
                                                 be NULL */
    int                       timeout;      /**< How long it may take, ms */
} predreg_child_params_t;

/** What came of it. */
typedef struct {
    int  is_ended;   /**< Whether it was started, and ended in time */
    int  is_good;    /**< Whether it did so by itself, with the status 0 */
    char end[128];   /**< Else, how it ended; may follow the program's name */
    char *printed;   /**< Its standard output and standard error */
    char *said;      /**< What it wrote to @ref PREDREG_CHILD_FD */
} predreg_child_t;


/** Run a program. The caller has to clean up what came of it. */
void predreg_child_run(const predreg_child_params_t *params,
                       predreg_child_t *child);

void predreg_child_cleanup(predreg_child_t *child);

END_C_DECLS

#endif
