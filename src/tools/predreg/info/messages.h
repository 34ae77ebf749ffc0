/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_MESSAGES_H_
#define PREDREG_INFO_MESSAGES_H_

#include "facts.h"
#include "problems.h"

BEGIN_C_DECLS

/** @file messages.h
 *
 * What the library and UCX have complained about in the rehearsal, and what to
 * do about it. The library knows its reasons best: they are not found a second
 * time here. Pure. judge.c calls this. */

/** Append what was complained about to the problems. */
void predreg_messages_judge(const predreg_facts_t *facts,
                            predreg_problems_t *problems);

END_C_DECLS

#endif
