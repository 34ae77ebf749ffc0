/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_JSON_H_
#define PREDREG_INFO_JSON_H_

#include "facts.h"
#include "problems.h"

#include <stdio.h>

BEGIN_C_DECLS

/** @file json.h
 *
 * Prints the facts for programs. info.c calls this. */

/** Print everything on standard output, as one JSON object on a line. */
void predreg_info_print_json(const predreg_facts_t *facts,
                             const predreg_problems_t *problems);

/** Print a string as JSON has it, in quotes. What is no ASCII is left as it is;
 *  bytes that are no UTF-8 become question marks. */
void predreg_json_string(FILE *stream, const char *string);

END_C_DECLS

#endif
