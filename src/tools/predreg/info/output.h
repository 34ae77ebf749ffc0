/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_OUTPUT_H_
#define PREDREG_INFO_OUTPUT_H_

#include "facts.h"
#include "judge.h"

BEGIN_C_DECLS

/** @file output.h
 *
 * Prints all that was found out on standard output. info.c calls this.
 */

/** Print it for people. */
void predreg_info_print_text(const predreg_facts_t *facts,
                             const predreg_problems_t *problems);

/** Print it as one JSON object on a line. */
void predreg_info_print_json(const predreg_facts_t *facts,
                             const predreg_problems_t *problems);

END_C_DECLS

#endif
