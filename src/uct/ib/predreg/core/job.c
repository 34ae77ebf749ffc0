/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "job.h"

#include <ucs/sys/math.h>

#include <stdlib.h>


/* The value of the first variable with a value, or NULL */
static const char *first_set(const char *const *names, unsigned count)
{
    const char *value = NULL;
    unsigned i;

    for (i = 0; (i < count) && (value == NULL); ++i) {
        value = getenv(names[i]);
    }

    return value;
}

/* The variables of Open MPI, PMIx, PMI (MPICH) and Slurm, in this order */
int uct_predreg_job_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK", "SLURM_PROCID"};
    const char *value;

    value = first_set(names, ucs_static_array_size(names));
    return (value == NULL) ? -1 : atoi(value);
}

/* PMIx has no variable for the number of ranks */
const char *uct_predreg_job_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_NTASKS"};

    return first_set(names, ucs_static_array_size(names));
}

/* PMIx has no variable for the local size either. Slurm's is a list with an entry for
 * each node, such as 4(x2),3; the first entry counts */
unsigned uct_predreg_job_local_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "MPI_LOCALNRANKS",
                                        "SLURM_STEP_TASKS_PER_NODE"};
    const char *value                = first_set(names,
                                                 ucs_static_array_size(names));
    int size                         = (value == NULL) ? 1 : atoi(value);

    return ucs_max(size, 1);
}
