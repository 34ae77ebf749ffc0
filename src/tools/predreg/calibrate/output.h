/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CALIBRATE_OUTPUT_H_
#define PREDREG_CALIBRATE_OUTPUT_H_

#include <tools/predreg/info/facts.h>

BEGIN_C_DECLS

/** @file output.h
 *
 * Prints what was measured, and what follows from it: Table 2 of Rashti and
 * Afsahi. calibrate.c calls this.
 *
 * First come the memory handles of UCP, which are what small sends take, then
 * each memory domain by itself. Two-sided and one-sided communication are not told
 * apart as in the paper: in UCX either has one copy at the sender, so that the
 * inequality is the same. */

/** Print everything on standard output, for people. */
void predreg_calibrate_print_text(const predreg_facts_t *facts);

/** Print everything on standard output, as one JSON object on a line. */
void predreg_calibrate_print_json(const predreg_facts_t *facts);

END_C_DECLS

#endif
