/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "page_program.h"

#include <common/log_watch.h>


/* Clairvoyant replays programs of a few uses, for which the best schedule is
 * known */
class test_clairvoyant : public ::testing::Test {
};

TEST_F(test_clairvoyant, nothing)
{
    page_program program;
    clairvoyant result(program);

    EXPECT_EQ(0u, result.page_ns());
    EXPECT_EQ(0u, result->uses);
    EXPECT_EQ(0u, result->regs);
    EXPECT_EQ(0u, result->pinned.num_steps);
    EXPECT_EQ(1000u, result->duration);
}

TEST_F(test_clairvoyant, one_use)
{
    page_program program({2, 10}, {1, 5});
    program.use(100, 200, 7, 10);
    clairvoyant result(program);

    EXPECT_EQ(3 * 100, result.page_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(3 * (3 * 2 + 10), result.page_ns(PREDREG_CAUSE_REG));
    EXPECT_EQ(3 * (3 * 1 + 5), result.page_ns(PREDREG_CAUSE_DEREG));
    EXPECT_EQ(3 * (100 + 16 + 8), result.page_ns());
    EXPECT_EQ(3 * PAGE, result->pinned.peak_bytes);
    EXPECT_EQ(1u, result->uses);
    EXPECT_EQ(1u, result->hits);
    EXPECT_EQ(1u, result->regs);
    EXPECT_EQ(16u + 8u, result->helper);
    EXPECT_EQ(0u, result->waited);
    ASSERT_EQ(1u, result->num_sites);
    EXPECT_EQ(result->pinned.byte_seconds, result->sites[0].byte_seconds);
}

TEST_F(test_clairvoyant, curve)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 0, 1).use(150, 210, 4, 6);
    clairvoyant result(program);

    ASSERT_EQ(4u, result->pinned.num_steps);
    const std::pair<int64_t, uint64_t> steps[] = {
        {90, PAGE}, {140, 3 * PAGE}, {205, 2 * PAGE}, {215, 0}
    };
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(steps[i].first, result->pinned.curve[i].time);
        EXPECT_EQ(steps[i].second, result->pinned.curve[i].bytes);
    }
}

/* In a gap that is not longer than both operations it does not pay to
 * deregister */
TEST_F(test_clairvoyant, short_gap)
{
    for (uint64_t gap : {0, 1, 14, 15, 16, 100}) {
        page_program program({0, 10}, {0, 5});
        program.use(100, 200, 0, 1).use(200 + gap, 300 + gap, 0, 1);
        clairvoyant result(program);

        EXPECT_EQ(200 + 15 + std::min(gap, uint64_t(15)), result.page_ns());
        EXPECT_EQ((gap <= 15) ? gap : 0, result.page_ns(PREDREG_CAUSE_KEPT));
        EXPECT_EQ((gap <= 15) ? 10u : 20u, result.page_ns(PREDREG_CAUSE_REG));
        EXPECT_EQ((gap <= 15) ? 1u : 2u, result->regs);
        EXPECT_EQ((gap <= 15) ? 15u : 30u, result->helper);
    }
}

TEST_F(test_clairvoyant, uses_at_the_same_time)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 300, 0, 1).use(150, 200, 0, 1).use(250, 350, 0, 1);
    clairvoyant result(program);

    EXPECT_EQ(250, result.page_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(265, result.page_ns());
    EXPECT_EQ(1u, result->regs);
}

/* The long registration for the later of two uses begins before that for the
 * earlier one */
TEST_F(test_clairvoyant, later_use_of_more_pages)
{
    page_program program({10, 0}, {0, 0});
    program.use(100, 101, 0, 1).use(102, 110, 0, 5);
    clairvoyant result(program);

    EXPECT_EQ(5 * (110 - 52), result.page_ns());
    EXPECT_EQ(2u, result->regs);
}

/* The long deregistration after the earlier of two uses ends after that of the
 * later one */
TEST_F(test_clairvoyant, earlier_use_of_more_pages)
{
    page_program program({0, 0}, {10, 0});
    program.use(100, 101, 0, 5).use(102, 110, 0, 1);
    clairvoyant result(program);

    EXPECT_EQ(5 * 51, result.page_ns());
}

TEST_F(test_clairvoyant, before_the_begin_and_after_the_end)
{
    page_program program({0, 10}, {0, 5}, 98);
    program.use(3, 20, 0, 1).use(90, 95, 1, 2);
    clairvoyant result(program);

    EXPECT_EQ((10 + 17 + 5) + (10 + 5 + 3), result.page_ns());
    EXPECT_EQ(-7, result->pinned.curve[0].time);
    EXPECT_EQ(98, result->pinned.curve[result->pinned.num_steps - 1].time);
    EXPECT_EQ(98u, result->duration);
    EXPECT_DOUBLE_EQ(50. * PAGE / (7 + 98), result->pinned_avg_bytes);
}

/* The memory is registered all the time, most of it before the first event */
TEST_F(test_clairvoyant, average_is_not_above_peak)
{
    page_program program({0, 1000}, {0, 5}, 10);
    program.use(0, 10, 0, 1);
    clairvoyant result(program);

    EXPECT_EQ(PAGE, result->pinned.peak_bytes);
    EXPECT_DOUBLE_EQ(PAGE, result->pinned_avg_bytes);
}

TEST_F(test_clairvoyant, domains_are_apart)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 0, 1, 0).use(100, 200, 0, 1, 1);
    clairvoyant result(program);

    EXPECT_EQ(2 * 115, result.page_ns());
    EXPECT_EQ(2u, result->regs);
}

/* A part of a page counts as a page */
TEST_F(test_clairvoyant, unaligned)
{
    page_program program({0, 10}, {0, 5});
    program.made_program::use(100, 200, PAGE - 1, 2);

    EXPECT_EQ(2 * 115, clairvoyant(program).page_ns());
}

/* Memory that is mapped anew is other memory, which was not there before */
TEST_F(test_clairvoyant, unmap)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 0, 2).unmap(202, 0, 2).use(206, 300, 0, 2);
    clairvoyant result(program);

    EXPECT_EQ(2 * (10 + 100 + 5 + 4 + 94 + 5), result.page_ns());
    EXPECT_EQ(2u, result->regs);
}

TEST_F(test_clairvoyant, unmap_of_other_memory)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 1, 2).unmap(202, 0, 1).unmap(203, 2, 10);
    program.use(206, 300, 1, 2).unmap(400, 1, 2);
    clairvoyant result(program);

    EXPECT_EQ(215, result.page_ns());
    EXPECT_EQ(1u, result->regs);
}

/* If both have the same time, the unmap comes before the use */
TEST_F(test_clairvoyant, unmap_at_the_begin_of_a_use)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 0, 1).unmap(206, 0, 1).use(206, 300, 0, 1);

    EXPECT_EQ(10 + 100 + 5 + 94 + 5, clairvoyant(program).page_ns());
}

/* Only a part of the memory is unmapped: no registration serves both uses, but
 * the rest of the pages need not count twice */
TEST_F(test_clairvoyant, unmap_of_a_part)
{
    page_program program({0, 2}, {0, 5});
    program.use(100, 200, 0, 2).unmap(202, 1, 2).use(206, 300, 0, 2);
    clairvoyant result(program);

    EXPECT_EQ((2u + 200 + 5) + (2 + 100 + 5) + (2 + 94 + 5), result.page_ns());
    EXPECT_EQ(2u, result->regs);
}

/* A step is a use of a segment: here 1, 2, 2, 2, 1, and 1 of another domain */
TEST_F(test_clairvoyant, does_not_begin_what_takes_too_long)
{
    page_program program;
    program.use(100, 200, 0, 4).use(300, 400, 1, 9).use(500, 600, 20, 21, 1);
    program.unmap(450, 2, 3);

    auto params = replay_params(program.timeline(),
                                PREDREG_REPLAY_CLAIRVOYANT);
    predreg_replay_result_t result;

    params.max_steps = 8;
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              predreg_replay(program.timeline(), &params, &result));
    EXPECT_EQ("clairvoyant is left out: so many ranges overlap that it takes "
              "9 steps, 0 s or more, and 8 are allowed", log_watch::take());

    params.max_steps = 9;
    EXPECT_EQ(3u, replayed(program.timeline(), params)->uses);
}

TEST_F(test_clairvoyant, memory_runs_out)
{
    page_program program;
    program.use(100, 200, 0, 2).unmap(300, 0, 2);
    expect_ends_without_memory(program.timeline(),
                               PREDREG_REPLAY_CLAIRVOYANT, 8);
}
