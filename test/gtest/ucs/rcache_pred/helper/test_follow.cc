/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"


/* What has followed the uses of some buffers in a place stands for what is not known
 * yet of others that are used there */
class test_follow : public helper_test {
protected:
    static constexpr uint64_t GAP = 20 * MSEC;

    /* One use of each buffer, in turns. All begin GAP apart, whatever the helper does
     * meanwhile. */
    void round(unsigned first, unsigned num, const context_t &ctx = context(1),
               size_t length = 64 * KB)
    {
        for (unsigned b = first; b < first + num; ++b) {
            uint64_t start = now();
            use(buffer(b), length, MSEC, ctx);
            run_until(start + GAP);
        }
    }
};

/* The second use of the first buffer tells about those that wait for theirs */
TEST_F(test_follow, second_uses_in_a_loop)
{
    round(0, 10);
    mark();
    round(0, 10);
    EXPECT_EQ(9u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::wasted));
    /* They were not simply kept */
    EXPECT_LE(since_mark(&stats_t::byte_ns),
              10 * 64 * KB * since_mark(&stats_t::duration) / 4);
    EXPECT_GE(since_mark(&stats_t::precedents), 9u);
}

/* Buffers that come later are predicted from their first use on */
TEST_F(test_follow, later_buffers)
{
    for (unsigned i = 0; i < 4; ++i) {
        round(0, 10);
    }
    mark();
    round(20, 10);
    EXPECT_EQ(0u, since_mark(&stats_t::hits)) << "nobody can know these";
    mark();
    round(20, 10);
    EXPECT_EQ(10u, since_mark(&stats_t::hits));
}

/* Neither another place nor another length says anything */
TEST_F(test_follow, other_ways_of_use)
{
    round(0, 10);
    round(20, 5, context(2));
    round(30, 5, context(1), 128 * KB);
    mark();
    round(0, 1);
    round(0, 1);
    EXPECT_EQ(0u, since_mark(&stats_t::wasted));
    mark();
    round(20, 1, context(2));
    round(30, 1, context(1), 128 * KB);
    EXPECT_EQ(0u, since_mark(&stats_t::hits));
}

/* More buffers than are told at a time: all of them are, those first that are used
 * first */
TEST_F(test_follow, more_than_are_told_at_a_time)
{
    round(0, 100);
    mark();
    round(0, 100);
    EXPECT_EQ(99u, since_mark(&stats_t::hits));
}

/* What others do counts until a buffer has shown what it does itself */
TEST_F(test_follow, wrong_precedent)
{
    for (unsigned i = 0; i < 20; ++i) {
        round(0, 1);
        run_until(now() + 10 * MSEC);
    }
    mark();
    for (unsigned i = 0; i < 100; ++i) {
        round(1, 1);
        run_until(now() + 400 * MSEC);
    }
    EXPECT_GE(since_mark(&stats_t::hits), 96u);
    EXPECT_LE(since_mark(&stats_t::wasted), 2u);
}

/* Where uses come at random, what others do is not believed for long */
TEST_F(test_follow, random_uses)
{
    uint64_t seed = 1;

    mark();
    for (unsigned i = 0; i < 2000; ++i) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        round((seed >> 33) % 200, 1);
    }
    EXPECT_LE(since_mark(&stats_t::wasted), 40u);
}

/* A buffer that is forgotten does not wait any more */
TEST_F(test_follow, unmapped_while_it_waits)
{
    round(0, 10);
    for (unsigned b = 1; b < 10; b += 2) {
        unmap(buffer(b), 64 * KB);
    }
    run_until(now() + GAP);
    mark();
    round(0, 1);
    run_until(now() + 30 * GAP);
    /* 4 of the others were registered ahead, once at least, and none of those that were
     * unmapped, which would be used for as long */
    EXPECT_GE(since_mark(&stats_t::regs_helper), 4u);
    EXPECT_LE(since_mark(&stats_t::regs_helper), 12u);
}

/* Where a loop has ended counts once against its place: the buffers of the next loop
 * there are predicted as well */
TEST_F(test_follow, loops_of_a_few_rounds)
{
    unsigned first = 0;

    for (unsigned rounds : {3, 4, 3, 4}) {
        for (unsigned i = 0; i < rounds; ++i) {
            mark();
            round(first, 40);
            EXPECT_GE(since_mark(&stats_t::hits), (i == 0) ? 0u : 39u)
                    << "round " << i << " of the loop at " << first;
            EXPECT_LE(since_mark(&stats_t::wasted), 40u);
        }
        first += 40;
    }
}

/* Buffers that were used once, and are not any more, do not stand in the way of those
 * that are, however many there are */
TEST_F(test_follow, after_buffers_that_are_used_once)
{
    round(100, 200);
    run_until(now() + 100 * GAP);
    round(0, 40);
    mark();
    round(0, 40);
    /* With each of the first 13 uses, 16 of the others stop waiting */
    EXPECT_EQ(27u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::wasted));
}
