/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_callers.h"

#include <common/sanitizer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>


class test_callers : public ::testing::Test {
protected:
    test_callers() { fake_callers_reset(); }

    static unsigned find(unsigned ucx, unsigned library)
    {
        return fake_callers_find_ucx(fake_caller(ucx, library));
    }
};

TEST_F(test_callers, a_number_for_each_ucx)
{
    EXPECT_EQ(0u, find(7, 1));
    EXPECT_EQ(0u, find(7, 2));
    EXPECT_EQ(1u, fake_callers_num_ucx());
    EXPECT_EQ(1u, find(3, 1));
    EXPECT_EQ(2u, find(5, 0));
    EXPECT_EQ(0u, find(7, 0));
    EXPECT_EQ(3u, fake_callers_num_ucx());
}

TEST_F(test_callers, all_further_ones_share_the_last_number)
{
    for (unsigned ucx = 0; ucx < 10; ++ucx) {
        EXPECT_EQ(std::min(ucx, 3u), find(ucx, 1));
    }
    for (unsigned ucx = 0; ucx < 10; ++ucx) {
        EXPECT_EQ(std::min(ucx, 3u), find(ucx, 2));
    }
}

TEST_F(test_callers, remembered_if_there_are_two)
{
    find(0, 1);
    EXPECT_EQ(0u, fake_callers_count());
    find(1, 1);
    find(0, 1);
    EXPECT_EQ(2u, fake_callers_count());

    unsigned lookups = fake_callers_lookups();
    EXPECT_EQ(1u, find(1, 1));
    EXPECT_EQ(0u, find(0, 1));
    EXPECT_EQ(lookups, fake_callers_lookups());
}

TEST_F(test_callers, more_than_are_remembered)
{
    for (unsigned library = 1; library <= 200; ++library) {
        EXPECT_EQ(0u, find(0, library));
        EXPECT_EQ(1u, find(1, library));
    }
    EXPECT_EQ(64u, fake_callers_count());
    for (unsigned library = 1; library <= 200; ++library) {
        EXPECT_EQ(1u, find(1, library));
        EXPECT_EQ(0u, find(0, library));
    }
}

/* Each thread meets the UCXs in another order, but all have to number them
 * alike */
TEST_F(test_callers, threads_agree)
{
    static const unsigned num_threads = 4, num_libraries = 10;

    for (unsigned round = 0; round < 100; ++round) {
        std::vector<std::vector<unsigned>> found(num_threads);
        std::vector<std::thread> threads;
        std::atomic<unsigned> ready(0);

        fake_callers_reset();
        for (unsigned i = 0; i < num_threads; ++i) {
            found[i].resize(3);
            threads.emplace_back([&, i]() {
                ++ready;
                while (ready < num_threads) {
                    std::this_thread::yield();
                }
                for (unsigned n = 0; n < 3 * num_libraries; ++n) {
                    unsigned ucx  = (n + i) % 3;
                    found[i][ucx] = find(ucx, n % num_libraries);
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }

        ASSERT_EQ(3u, fake_callers_num_ucx());
        for (unsigned i = 1; i < num_threads; ++i) {
            ASSERT_EQ(found[0], found[i]);
        }
        ASSERT_EQ(3u, found[0][0] + found[0][1] + found[0][2]);
    }
}

/* A child is forked while other threads are here. Nobody would release a lock
 * that one of them held. */
TEST_F(test_callers, forked_child_goes_on)
{
    std::atomic<bool> end(false);
    std::vector<std::thread> threads;

    find(0, 1);
    find(1, 1);
    for (unsigned i = 0; i < 2; ++i) {
        threads.emplace_back([&]() {
            while (!end) {
                find(0, 0);
                find(1, 0);
            }
        });
    }

    for (unsigned i = 0; i < 300 / SANITIZER_SLOWDOWN; ++i) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(10);
            _exit((find(0, 0) == 0) && (find(1, 2) == 1) && (find(2, 3) == 2) ?
                  0 : 1);
        }

        int status = -1;
        ASSERT_EQ(pid, waitpid(pid, &status, 0));
        EXPECT_EQ(0, status) << "child " << i;
        if (status != 0) {
            break;
        }
    }

    end = true;
    for (std::thread &thread : threads) {
        thread.join();
    }
}
