/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/log_watch.h>

#include <uct/ib/predreg/md/md.h>

#include <ucs/debug/log_def.h>

#include "../core/core_test.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

/* Errors that nobody is told of. UCX asks for good, so that it is in a child */
TEST(test_quiet, nests) {
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        uct_predreg_quiet_install();
        uct_predreg_quiet_begin();
        uct_predreg_quiet_begin();
        ucs_error("within both");
        uct_predreg_quiet_end();
        ucs_error("within one");
        uct_predreg_quiet_end();
        EXPECT_EQ("", log_watch::take());
        ucs_error("within none");
        EXPECT_EQ("within none", log_watch::take());
        _exit(child_status());
    }
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
}
