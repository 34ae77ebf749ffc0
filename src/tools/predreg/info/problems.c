/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "problems.h"

#include <tools/predreg/common/message.h>

#include <stdlib.h>


void predreg_problems_add(predreg_problems_t *problems, int stops, char *what,
                          char *advice)
{
    problems->list = predreg_check_memory(
            realloc(problems->list,
                    (problems->count + 1) * sizeof(*problems->list)));
    problems->list[problems->count++] = (predreg_problem_t){
        .what   = what,
        .advice = advice,
        .stops  = stops
    };
}

void predreg_problems_sort(predreg_problems_t *problems)
{
    predreg_problem_t problem;
    unsigned i, j;

    for (i = 1; i < problems->count; ++i) {
        problem = problems->list[i];
        for (j = i; (j > 0) && problem.stops && !problems->list[j - 1].stops;
             --j) {
            problems->list[j] = problems->list[j - 1];
        }
        problems->list[j] = problem;
    }
}

int predreg_problems_works(const predreg_problems_t *problems)
{
    return (problems->count == 0) || !problems->list[0].stops;
}

void predreg_problems_cleanup(predreg_problems_t *problems)
{
    unsigned i;

    for (i = 0; i < problems->count; ++i) {
        free(problems->list[i].what);
        free(problems->list[i].advice);
    }
    free(problems->list);
}
