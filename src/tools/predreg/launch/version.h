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
 * Asking a launcher what it is, where its name does not tell: several are
 * called mpiexec. Called before the command is run.
 */

/** How long a launcher may take to tell its version, ms. One that takes longer
 *  is started like any program. */
#define PREDREG_VERSION_TIMEOUT 10000


/**
 * Run a command with --version, and tell what it is from what it prints. It is
 * ended if it takes too long, which is said.
 *
 * @param [in] command  As execvp() takes it.
 * @param [in] timeout  How long to wait, ms.
 *
 * @return PREDREG_LAUNCHER_NONE if it does not say.
 */
predreg_launcher_t predreg_launcher_ask(char *command, int timeout);

END_C_DECLS

#endif
