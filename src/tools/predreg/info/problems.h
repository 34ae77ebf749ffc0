/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_PROBLEMS_H_
#define PREDREG_INFO_PROBLEMS_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file problems.h
 *
 * A list of what is in the way, and what to do about it. judge.c and messages.c
 * fill it; info.c, text.c and json.c read it. */

typedef struct {
    char *what;
    char *advice; /**< What to do about it */
    int  stops;   /**< Whether nothing is managed because of it */
} predreg_problem_t;

/** Initialised with zeros; to be cleaned up. */
typedef struct {
    predreg_problem_t *list;
    unsigned          count;
} predreg_problems_t;


/** Append a problem. The list takes over both strings. */
void predreg_problems_add(predreg_problems_t *problems, int stops, char *what,
                          char *advice);

/** Put those first that stop the library; else the order stays. */
void predreg_problems_sort(predreg_problems_t *problems);

/** @return whether there is none in a sorted list that stops the library. */
int predreg_problems_works(const predreg_problems_t *problems);

void predreg_problems_cleanup(predreg_problems_t *problems);

END_C_DECLS

#endif
