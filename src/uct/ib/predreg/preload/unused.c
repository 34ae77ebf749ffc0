/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"
#include "ucx.h"

#include <ucs/host/own_fd.h>
#include <uct/ib/predreg/core/job.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Says at exit that MPI has not used UCX, if a summary or a trace was asked
 * for: who finds nothing would look for the reason. The core is not even loaded
 * then. Debian's Open MPI is set up so that it uses UCX only where it is told
 * to.
 */


/* Which process loaded this library. A forked child says nothing: all that this
 * file asks is its parent's. */
static pid_t loaded_by;

/* Standard error of that time. What is there at the end may be a file of the program */
static ucs_rcache_pred_own_fd_t first_stderr;


/* @return whether a variable is set, and not to nothing */
static int is_set(const char *name)
{
    const char *value = getenv(name);

    return (value != NULL) && (value[0] != '\0') && strcmp(value, "none");
}

/* @return whether MPI was started in this process. This may be asked at any
 * time, also after the end of MPI, and each MPI has the same function for it */
static int is_mpi_started(void)
{
    int (*initialized)(int*) = (int (*)(int*))dlsym(RTLD_DEFAULT,
                                                    "PMPI_Initialized");
    int flag                 = 0;

    return (initialized != NULL) && (initialized(&flag) == 0) && flag;
}

/* @return whether another copy of this library comes before this one, which
 * then sees the calls of UCX */
static int is_another_first(void)
{
    const void *first = dlsym(RTLD_DEFAULT, PREDREG_UCX_FUNCTION);

    return (first != NULL) && predreg_is_other_copy(first);
}

UCS_F_CTOR static void predreg_unused_constructor(void)
{
    loaded_by = getpid();
    (void)ucs_rcache_pred_own_fd_init(&first_stderr, STDERR_FILENO);
}

UCS_F_DTOR static void predreg_unused_destructor(void)
{
    /* Of a job, the first rank speaks for all */
    if ((atomic_load(&predreg_num_ucx) > 0) || (getpid() != loaded_by) ||
        (uct_predreg_job_rank() > 0) ||
        (!is_set("UCX_RCACHE_PRED_SUMMARY") &&
         !is_set("UCX_RCACHE_PRED_TRACE")) ||
        !ucs_rcache_pred_own_fd_is_ours(&first_stderr) || is_another_first() ||
        !is_mpi_started()) {
        return;
    }

    PREDREG_COMPLAIN("nothing to manage: MPI has not used UCX (Open MPI: "
                     "mpirun --mca pml ucx, or OMPI_MCA_pml=ucx, insists on it)");
}
