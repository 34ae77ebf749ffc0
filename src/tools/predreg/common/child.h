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
 * Runs another program to its end, or to a time limit, and keeps the text that it prints.
 * If the other program crashes or hangs, this program goes on. probe.c and target.c of
 * `info`, and launcher.c of `run`, call this. Not thread safe: the caller has a single
 * thread.
 */

/** The descriptor to which the other program may write a text that is for this program and
 *  not for people. */
#define PREDREG_CHILD_FD 3

/** A change of the environment; a value of NULL removes the variable. */
typedef struct {
    const char *name;
    const char *value;
} predreg_child_var_t;

typedef struct {
    const char                *const *argv; /**< Arguments for execvp(), up to a
                                                 NULL */
    const predreg_child_var_t *vars;        /**< Changes of the environment, up to a
                                                 name that is NULL; NULL: no changes */
    int                       timeout;      /**< How long the program may
                                                 take, ms */
} predreg_child_params_t;

/** The result of running a program. */
typedef struct {
    int  is_ended;   /**< Whether the program was started, and ended in time */
    int  is_good;    /**< Whether the program was started, ended in time and with the
                          status 0, and by no signal */
    char end[128];   /**< If it is not good: how the program ended, as words that follow
                          the name of the program */
    char *printed;   /**< Standard output and standard error of the program */
    char *said;      /**< The text that the program wrote to @ref PREDREG_CHILD_FD */
} predreg_child_t;


/** Run a program. @param [out] child  To be cleaned up. */
void predreg_child_run(const predreg_child_params_t *params,
                       predreg_child_t *child);

void predreg_child_cleanup(predreg_child_t *child);

END_C_DECLS

#endif
