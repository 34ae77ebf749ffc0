/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CALIBRATE_OPTIONS_H_
#define PREDREG_CALIBRATE_OPTIONS_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file options.h
 *
 * Reads the arguments of the sub-command calibrate. calibrate.c calls this. */

typedef struct {
    int         json;
    const char  *library; /**< NULL: the one that 'run' would preload */
    char *const *command; /**< With its arguments, up to a NULL; if there is
                               none, this is only the NULL */
} predreg_calibrate_opts_t;


/** Read the arguments. Knobs that are set go to the environment at once; their
 *  values are not checked.
 *  @return 0, or the exit status, and the reason has been printed. */
int predreg_calibrate_parse(int argc, char **argv,
                            predreg_calibrate_opts_t *opts);

END_C_DECLS

#endif
