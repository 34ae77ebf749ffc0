/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_JOB_H_
#define UCT_PREDREG_JOB_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file job.h
 *
 * What the launcher of a job tells its processes in their environment. Uses
 * nothing else of the core. Not while another thread changes the environment.
 */

/** @return the rank of this process in its job, or -1 if it is not known. */
int uct_predreg_job_rank(void);

/** @return the number of ranks as text of the environment, or NULL. */
const char *uct_predreg_job_size(void);

END_C_DECLS

#endif
