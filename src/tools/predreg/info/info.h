/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_INFO_H_
#define PREDREG_INFO_INFO_H_

#include "facts.h"

BEGIN_C_DECLS

/** @file info.h
 *
 * `ucx_predreg info`, and its options, which `calibrate` has as well. main.c and
 * calibrate.c call this.
 */

/**
 * Carry out the sub-command.
 *
 * @param [in] argv  Its name, for messages of getopt_long(), and its arguments.
 * @return the exit status: 0 if memory would be managed.
 */
int predreg_info(int argc, char **argv);

/** As predreg_info(), if this program was in another folder, in which ucx_predreg
 *  is. */
int predreg_info_from(const char *folder, int argc, char **argv);

/**
 * Read the options of info, or of another sub-command that has the same.
 *
 * @param [in]  command  Its name, @a intro what it does, and @a end the end of its help.
 * @return 0, or the exit status, and the reason has been printed. The knobs that are set
 *         are in the environment.
 */
int predreg_info_parse(const char *command, const char *intro, const char *end, int argc,
                       char **argv, predreg_info_opts_t *opts);

END_C_DECLS

#endif
