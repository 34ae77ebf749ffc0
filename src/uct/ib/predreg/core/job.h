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
 * What the launcher of a job tells its processes through environment variables.
 * This module uses nothing else of the core. Its functions must not be called
 * while another thread changes the environment.
 */

/** @return the rank of this process in its job, or -1 if it is not known. */
int uct_predreg_job_rank(void);

/** @return the number of ranks of the job, as text of the environment, or NULL
 *  if it is not known. */
const char *uct_predreg_job_size(void);

/** @return the number of ranks of the job on this node, 1 if it is not known. */
unsigned uct_predreg_job_local_size(void);

END_C_DECLS

#endif
