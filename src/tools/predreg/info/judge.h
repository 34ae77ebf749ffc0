/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_JUDGE_H_
#define PREDREG_INFO_JUDGE_H_

#include "facts.h"

BEGIN_C_DECLS

/** @file judge.h
 *
 * What is in the way, and what to do about it, by all that was found out. Pure, but for
 * the setting of Open MPI in the environment.
 */

/** Something that is in the way, or worth knowing. */
typedef struct {
    char *what;
    char *advice; /**< What to do about it */
    int  stops;   /**< Whether nothing is managed because of it */
} predreg_problem_t;

typedef struct {
    predreg_problem_t *list; /**< Those that stop the library come first */
    unsigned          count;
} predreg_problems_t;

/** @param [out] problems  Empty at first; to be cleaned up. */
void predreg_judge(const predreg_facts_t *facts, predreg_problems_t *problems);

/** @return whether memory would be managed in spite of them. */
int predreg_problems_works(const predreg_problems_t *problems);

void predreg_problems_cleanup(predreg_problems_t *problems);

END_C_DECLS

#endif
