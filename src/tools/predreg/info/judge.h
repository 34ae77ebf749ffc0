/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_JUDGE_H_
#define PREDREG_INFO_JUDGE_H_

#include "facts.h"
#include "problems.h"

BEGIN_C_DECLS

/** @file judge.h
 *
 * What of the facts keeps the library from working, or is to be known, and what
 * to do about it. Pure. info.c calls this. */

/** Append the problems, and put those first that stop the library. */
void predreg_judge(const predreg_facts_t *facts, predreg_problems_t *problems);

END_C_DECLS

#endif
