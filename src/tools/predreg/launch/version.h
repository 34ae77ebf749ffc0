/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LAUNCH_VERSION_H_
#define PREDREG_LAUNCH_VERSION_H_

#include "launcher.h"

BEGIN_C_DECLS

/** @file version.h
 *
 * Asks a launcher what it is, if its name does not tell: several launchers are
 * called mpiexec. This is called before the command is run.
 */

/** How long a launcher may take to tell its version, ms. One that takes longer
 *  is started like any program. */
#define PREDREG_VERSION_TIMEOUT 10000


/**
 * Run a command with --version, and recognise it by its output. If it takes too
 * long, it is ended, and a message is printed.
 *
 * @param [in] command  The command, as execvp() takes it.
 * @param [in] timeout  How long to wait, ms.
 *
 * @return the launcher, or PREDREG_LAUNCHER_NONE if the output does not tell.
 */
predreg_launcher_t predreg_launcher_ask(char *command, int timeout);

END_C_DECLS

#endif
