/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core_test.h"

#include <uct/ib/predreg/core/job.h>

TEST(test_job, without_a_launcher_nothing_is_known) {
    EXPECT_EQ(-1, uct_predreg_job_rank());
    EXPECT_EQ(nullptr, uct_predreg_job_size());
    EXPECT_EQ(1u, uct_predreg_job_local_size());
}

TEST(test_job, launchers_tell_how_many_are_on_the_node) {
    for (auto name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                      "SLURM_STEP_TASKS_PER_NODE"}) {
        scoped_variable size(name, "4(x2),3");
        EXPECT_EQ(4u, uct_predreg_job_local_size()) << name;
    }

    scoped_variable size("MPI_LOCALNRANKS", "nonsense");
    EXPECT_EQ(1u, uct_predreg_job_local_size());
}

TEST(test_job, each_launcher_tells_the_rank) {
    for (auto name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                      "SLURM_PROCID"}) {
        scoped_variable rank(name, "7");
        EXPECT_EQ(7, uct_predreg_job_rank()) << name;
    }
}

TEST(test_job, launchers_tell_the_size) {
    for (auto name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}) {
        scoped_variable size(name, "16");
        EXPECT_STREQ("16", uct_predreg_job_size()) << name;
    }
}

TEST(test_job, the_inner_launcher_counts) {
    scoped_variable slurm("SLURM_PROCID", "0");
    scoped_variable mpi("OMPI_COMM_WORLD_RANK", "3");

    EXPECT_EQ(3, uct_predreg_job_rank());
}
