/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_OPTIONS_H_
#define PREDREG_INFO_OPTIONS_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file options.h
 *
 * Reads the arguments of the sub-command info, and of calibrate, which takes the
 * same. info.c and calibrate.c call this. */

typedef struct {
    int         json;
    const char  *library; /**< NULL: the one that 'run' would preload */
    char *const *command; /**< With its arguments, up to a NULL; if there is
                               none, this is only the NULL */
} predreg_info_opts_t;


/** Read the arguments. Knobs that are set go to the environment at once; their
 *  values are not checked.
 *  @return 0, or the exit status, and the reason has been printed. */
int predreg_info_parse(int argc, char **argv, predreg_info_opts_t *opts);

/** The same for a sub-command of another name that takes the same arguments.
 *  @param [in] usage  Prints the text of --help. */
int predreg_info_parse_as(const char *name, void (*usage)(void), int argc,
                          char **argv, predreg_info_opts_t *opts);

/** @return how many processes a launcher was told to start (-np and so on); 1
 *  if it was not told. */
unsigned predreg_info_processes(char *const *command);

/** @return whether a command's options choose the way in which Open MPI
 *  communicates (--mca pml ucx). */
int predreg_info_chooses_pml(char *const *command);

END_C_DECLS

#endif
