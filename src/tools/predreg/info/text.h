/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_TEXT_H_
#define PREDREG_INFO_TEXT_H_

#include "facts.h"
#include "problems.h"

BEGIN_C_DECLS

/** @file text.h
 *
 * Prints the facts for people: sections, a fact a line, problems last. info.c
 * calls this, and what prints calibrations. */

/** Print everything on standard output. */
void predreg_info_print_text(const predreg_facts_t *facts,
                             const predreg_problems_t *problems);

/** @return whether a domain is managed, and if not, why, in words. */
const char *predreg_info_domain_text(const predreg_facts_t *facts,
                                     const predreg_probe_domain_t *domain);

/** @return how UCX was found, in words. */
const char *predreg_info_target_text(const predreg_facts_t *facts);

END_C_DECLS

#endif
