/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_ucx.h"

#include <common/child.h>

#include <gtest/gtest.h>

#include <malloc.h>

/* What a program has told malloc() is not changed by the core. In processes of their own,
 * since malloc() does not forget it */
class test_preload_libc : public ::testing::Test {
protected:
    static constexpr int NO_PARAMETERS = 77; /* Exit status of a child */

    /* Whether malloc() takes a parameter from the core, after the program has set
     * another one, or none */
    template <typename F> static void expect_core_may(bool may, F program)
    {
        child process([program]() -> int {
            int result;

            if (!mallopt(M_ARENA_MAX, 4)) {
                return NO_PARAMETERS;
            }
            program();
            fake_set_core(1);
            result = mallopt(M_MMAP_THRESHOLD, 128 * 1024);
            /* It is the program's later on as well */
            fake_set_core(0);
            return mallopt(M_MMAP_MAX, 65536) ? result : 2;
        });
        int status = process.reap();

        ASSERT_TRUE(WIFEXITED(status));
        if (WEXITSTATUS(status) == NO_PARAMETERS) {
            GTEST_SKIP() << "that of a sanitizer";
        }
        EXPECT_EQ(may ? 1 : 0, WEXITSTATUS(status));
    }
};

TEST_F(test_preload_libc, malloc_is_told_by_the_core)
{
    expect_core_may(true, [] {});
}

TEST_F(test_preload_libc, what_the_program_has_told_malloc_stays)
{
    expect_core_may(false, [] { mallopt(M_MMAP_THRESHOLD, 1024 * 1024); });
    expect_core_may(false, [] { mallopt(M_TRIM_THRESHOLD, 1024 * 1024); });
}

TEST_F(test_preload_libc, other_parameters_do_not_matter)
{
    expect_core_may(true, [] { mallopt(M_ARENA_MAX, 4); });
}
