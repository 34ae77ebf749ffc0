/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

extern "C" {
#include "../../tables/memory.h"
}


static const uint64_t MB   = 1048576;
static const int64_t  MSEC = 1000000;

class test_memory : public ::testing::Test {
protected:
    ~test_memory()
    {
        free(memory.curve);
    }

    /* What a process has pinned (MB), at 10 ms, 20 ms, ... */
    void sample(pid_t pid, std::initializer_list<double> pinned)
    {
        int64_t time = 0;

        for (double mb : pinned) {
            time += 10 * MSEC;
            samples.push_back({time, pid, (uint64_t)(mb * MB)});
        }
    }

    std::string analyse(std::vector<uint64_t> pools)
    {
        const char *error;

        for (uint64_t &pool : pools) {
            pool *= MB;
        }
        error = memory_analyse(samples.data(), samples.size(), pools.data(),
                               pools.size(), &memory);
        return (error == NULL) ? "" : error;
    }

    std::vector<memory_sample_t> samples;
    memory_t                     memory = {};
};

TEST_F(test_memory, average_from_first_use_to_end_of_pools)
{
    /* Connecting and ending do not count: 4, 0, 6 MB for 10 ms each */
    sample(1, {2, 8, 8, 12, 8, 14, 8, 3});

    EXPECT_EQ("", analyse({8}));
    EXPECT_DOUBLE_EQ(10.0 / 3 * MB, memory.average);
    EXPECT_EQ(6.0 * MB, memory.peak);
    EXPECT_EQ(30 * MSEC, memory.duration);
    ASSERT_EQ(4u, memory.num_steps);
    EXPECT_EQ(0, memory.curve[0].time);
    EXPECT_EQ(4 * MB, memory.curve[0].bytes);
    EXPECT_EQ(10 * MSEC, memory.curve[1].time);
    EXPECT_EQ(0u, memory.curve[1].bytes);
}

TEST_F(test_memory, ranks_by_process_id)
{
    /* With the pools the other way round, both would have less than them */
    sample(20, {7, 8, 7});
    sample(3, {1, 3, 1});

    EXPECT_EQ("", analyse({1, 7}));
    EXPECT_DOUBLE_EQ(1.5 * MB, memory.average);
    EXPECT_EQ(2.0 * MB, memory.peak);
    EXPECT_EQ(2 * MB, memory.curve[0].bytes); /* of rank 0 */
}

TEST_F(test_memory, a_page_is_no_user_memory)
{
    sample(1, {8, 8 + 4096.0 / MB, 8});

    EXPECT_EQ("", analyse({8}));
    EXPECT_EQ(0, memory.average);
    EXPECT_EQ(0, memory.peak);
    EXPECT_EQ(0u, memory.num_steps);
}

TEST_F(test_memory, one_sample_lasts_no_time)
{
    sample(1, {8, 8, 9});

    EXPECT_EQ("", analyse({8}));
    EXPECT_EQ(0, memory.average);
    EXPECT_EQ(0, memory.peak);
}

TEST_F(test_memory, other_numbers_of_processes_and_pools)
{
    EXPECT_NE("", analyse({}));
    EXPECT_NE("", analyse({8}));
    sample(1, {8, 9, 8});
    EXPECT_NE("", analyse({}));
    EXPECT_NE("", analyse({8, 8}));
    sample(2, {8, 9, 8});
    EXPECT_NE("", analyse({8}));
    EXPECT_EQ("", analyse({8, 8}));
}

TEST_F(test_memory, pools_that_were_never_there)
{
    sample(1, {8, 9, 8});
    sample(2, {3, 4, 3});

    EXPECT_EQ("a rank never had all its pools registered", analyse({8, 8}));
    EXPECT_EQ(nullptr, memory.curve);
}
