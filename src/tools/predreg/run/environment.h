/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_ENVIRONMENT_H_
#define PREDREG_RUN_ENVIRONMENT_H_

#include <tools/predreg/common/knob.h>

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file environment.h
 *
 * Changes the environment of this program, which the command inherits: the
 * knobs of the library, and the library itself in LD_PRELOAD. The other files
 * of this folder call this, as long as there is only one thread.
 */

#define PREDREG_KNOB_POLICY  PREDREG_KNOB_PREFIX "POLICY"
#define PREDREG_KNOB_SUMMARY PREDREG_KNOB_PREFIX "SUMMARY"
#define PREDREG_KNOB_OUTPUT  PREDREG_KNOB_PREFIX "SUMMARY_FILE"
#define PREDREG_KNOB_EAGER   PREDREG_KNOB_PREFIX "EAGER"
#define PREDREG_KNOB_TRACE   PREDREG_KNOB_PREFIX "TRACE"


/** Set a variable, also if it has a value already. */
void predreg_env_set(const char *name, const char *value);


/**
 * Set a knob as --set names it.
 *
 * @param [in] arg  KNOB=VALUE, with or without the prefix that all knobs have.
 *
 * @return 0, or -1 if there is no such knob, or if it does not accept the
 *         value, and the reason has been printed.
 */
int predreg_env_set_knob(const char *arg);


/** Remove all knobs. If the library is not loaded, UCX would warn that nobody
 *  reads these variables. */
void predreg_env_unset_knobs(void);


/**
 * List the variables that ranks need to have in their environment.
 *
 * @param [in] library  Path of the library, to be the first in LD_PRELOAD.
 *
 * @return a vector of "NAME=VALUE" up to a NULL: LD_PRELOAD first, then every
 *         knob that is set. The caller may free it and its strings, or leave
 *         them to the end of the program.
 */
char **predreg_env_vars(const char *library);


/**
 * Make a path absolute, so that ranks that run in another folder find it.
 *
 * @param [in] what  Option it was given with, for messages.
 *
 * @return a string to be freed by the caller, or NULL, and the reason has been
 *         printed.
 */
char *predreg_env_absolute_path(const char *what, const char *path);

END_C_DECLS

#endif
