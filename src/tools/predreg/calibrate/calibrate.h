/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CALIBRATE_CALIBRATE_H_
#define PREDREG_CALIBRATE_CALIBRATE_H_

#include <tools/predreg/info/facts.h>

BEGIN_C_DECLS

/** @file calibrate.h
 *
 * The sub-command that says from which length on, and after how many sends, it
 * pays to register a small buffer instead of copying it. main.c calls this. */

/**
 * Have a process measure, and print the result.
 *
 * @param [in] argv  The name for messages, then options and a command.
 * @return the exit status: 0 if there is a result.
 */
int predreg_calibrate(int argc, char **argv);

/** As predreg_calibrate(), if this program was in another folder, in which
 *  ucx_predreg is. */
int predreg_calibrate_from(const char *folder, int argc, char **argv);

/** Print what was measured, and what follows from it, for people: Table 2 of Rashti and
 *  Afsahi. First come the memory handles of UCP, which are what small sends take, then
 *  each memory domain by itself. Two-sided and one-sided communication are not told
 *  apart as in the paper: in UCX either has one copy at the sender, so that the
 *  inequality is the same. */
void predreg_calibrate_print_text(const predreg_facts_t *facts);

/** Print the same as one JSON object on a line. */
void predreg_calibrate_print_json(const predreg_facts_t *facts);

/** @return the least length from which on it pays, bytes; 0: it never does. */
size_t predreg_calibrate_pays_from(const ucs_reuse_costs_t *costs);

END_C_DECLS

#endif
