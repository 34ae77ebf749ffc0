/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CALIBRATE_CALIBRATE_H_
#define PREDREG_CALIBRATE_CALIBRATE_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file calibrate.h
 *
 * The sub-command that says from which length on, and after how many sends, it
 * pays to register a small buffer instead of copying it. main.c calls this. */

/**
 * Measure, keep the result for the library, and print it.
 *
 * @param [in] argv  The name for messages, then options and a command.
 * @return the exit status: 0 if there is a result.
 */
int predreg_calibrate(int argc, char **argv);

/** As predreg_calibrate(), if this program was in another folder, in which
 *  ucx_predreg is. */
int predreg_calibrate_from(const char *folder, int argc, char **argv);

END_C_DECLS

#endif
