/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/timelines.h>

#include <gtest/gtest.h>


/* Leave-pinned with adjacent regions merged. A page is written as its number in a piece of
 * memory, most of which a recorded mapping has made */
class test_ucx_merge : public ::testing::Test {
protected:
    static constexpr uint64_t PAGE = made_program::PAGE;
    static constexpr uint64_t MB   = made_program::MB;
    static constexpr uint64_t GB   = 1024 * MB;

    static uint64_t page(uint64_t number)
    {
        return made_program::buffer(4) + number * PAGE;
    }

    void map(uint64_t first, uint64_t pages)
    {
        m_program.map(m_now++, page(first), pages * PAGE);
    }

    void unmap(uint64_t first, uint64_t pages)
    {
        m_program.unmap(m_now++, page(first), pages * PAGE);
    }

    /* Nothing else happens during the use */
    predreg_use_t &use(uint64_t first, uint64_t pages = 1)
    {
        uint64_t begin = m_now;

        m_now += 10;
        return m_program.use(begin, begin + 5, page(first), pages * PAGE);
    }

    replayed replay(predreg_replay_policy_t policy = PREDREG_REPLAY_MERGING)
    {
        const predreg_timeline_t *timeline;

        m_program.last_until(m_now);
        timeline = m_program.timeline();
        return replayed(timeline, replay_params(timeline, policy));
    }

    /* Pages that are registered at the end */
    uint64_t pages_left()
    {
        auto curve = replay().curve();

        return curve[curve.size() - 2].second / PAGE;
    }

    /* At the end these pages are registered, in one region, and no others */
    void expect_registered(uint64_t first, uint64_t pages)
    {
        uint64_t hits        = replay()->hits;
        made_program program = m_program;
        uint64_t now         = m_now;

        EXPECT_EQ(pages, pages_left());
        use(first, pages);
        EXPECT_EQ(hits + 1, replay()->hits) << "page " << first << " + " << pages;
        m_program = program;
        m_now     = now;
    }

    made_program m_program;
    uint64_t     m_now = 0;
};

/* Two buffers that touch have one region, whichever is used first; today they have two */
TEST_F(test_ucx_merge, touching_buffers)
{
    for (uint64_t first : {0, 1}) {
        m_program = made_program();
        use(first);
        use(1 - first);
        expect_registered(0, 2);
        use(first);
        use(0, 2);
        EXPECT_EQ(2u, replay()->hits);
        EXPECT_EQ(2u, replay()->regs);
        EXPECT_EQ(1u, replay(PREDREG_REPLAY_LEAVE_PINNED)->hits);
        EXPECT_EQ(3u, replay(PREDREG_REPLAY_LEAVE_PINNED)->regs);
    }
}

/* Buffers of malloc() have a head of 16 bytes between them, which is enough */
TEST_F(test_ucx_merge, buffers_with_a_gap)
{
    m_program.use(0, 5, page(0) + 16, PAGE - 32);
    m_program.use(10, 15, page(1), PAGE);
    m_program.use(20, 25, page(2) + 16, PAGE);
    m_program.use(30, 35, page(4), PAGE);
    m_now = 40;
    EXPECT_EQ(replay(PREDREG_REPLAY_LEAVE_PINNED).text(), replay().text());
}

/* Regions end at multiples of 16 bytes, where also buffers may touch that do not */
TEST_F(test_ucx_merge, alignment)
{
    m_program.use(0, 5, page(0) + 8, 100);
    m_program.use(10, 15, page(0) + 117, 100);
    m_program.use(20, 25, page(0), 208);
    m_now = 30;
    EXPECT_EQ(1u, replay()->hits);
}

/* Regions double: 16 buffers in order take 5 registrations, of 31 pages in all */
TEST_F(test_ucx_merge, chain)
{
    m_program.reg = {1, 0};
    for (unsigned i = 0; i < 16; ++i) {
        use(i);
    }
    use(0, 16);

    replayed r = replay();
    EXPECT_EQ(5u, r->regs);
    EXPECT_EQ(12u, r->hits);
    EXPECT_EQ(31u, r->waited);
    EXPECT_EQ(16 * PAGE, r->pinned.peak_bytes);
}

/* A new region goes to the next power of 2, to the side of the merged region, if this
 * side has room */
TEST_F(test_ucx_merge, growth)
{
    map(0, 16);
    use(4, 2);
    use(6);
    expect_registered(3, 4);

    m_program = made_program();
    map(0, 16);
    use(5, 2);
    use(4);
    expect_registered(4, 4);
}

TEST_F(test_ucx_merge, growth_at_the_ends_of_a_mapping)
{
    map(0, 16);
    use(0, 2);
    use(2, 3);
    expect_registered(0, 8);

    m_program = made_program();
    map(0, 16);
    use(14, 2);
    use(11, 3);
    expect_registered(8, 8);

    /* More than the mapping has */
    m_program = made_program();
    map(0, 7);
    use(1, 2);
    use(3, 2);
    use(5, 1);
    expect_registered(0, 7);
}

/* Between two regions, it grows to the side with more room */
TEST_F(test_ucx_merge, fill_a_gap)
{
    map(0, 16);
    use(4);
    use(6);
    use(5);
    expect_registered(4, 4);

    m_program = made_program();
    map(0, 16);
    use(10);
    use(12);
    use(11);
    expect_registered(9, 4);
}

/* The grown region also takes regions that it overlaps, of which it takes all */
TEST_F(test_ucx_merge, growth_over_other_regions)
{
    map(0, 16);
    use(7, 5);
    use(4, 2);
    use(3);
    EXPECT_EQ(4u + 5, pages_left());
    use(2);
    expect_registered(2, 10);
    EXPECT_EQ(4u, replay()->regs);
}

/* A merged region of a use that has not ended goes at its end */
TEST_F(test_ucx_merge, in_use)
{
    m_program.use(0, 100, page(0), PAGE);
    m_program.use(50, 60, page(1), PAGE);
    m_program.use(70, 80, page(0), PAGE);
    m_now = 200;
    EXPECT_EQ((replayed::curve_t{{0, PAGE}, {50, 3 * PAGE}, {100, 2 * PAGE}, {200, 0}}),
              replay().curve());
    EXPECT_EQ(1u, replay()->hits);
}

/* The program waits for the deregistration of each merged region */
TEST_F(test_ucx_merge, costs)
{
    m_program.reg   = {1, 10};
    m_program.dereg = {2, 3};
    use(0);
    use(2);
    use(1);
    EXPECT_EQ(11 + 11 + 2 * 5 + 13u, replay()->waited);
}

/* Up to 1 GiB merge and grow, but overlapping regions merge without a limit */
TEST_F(test_ucx_merge, limit)
{
    constexpr uint64_t PAGES = GB / PAGE;

    map(0, 4 * PAGES);
    use(0, PAGES - 100);
    use(PAGES - 100, 50);
    expect_registered(0, PAGES);
    use(PAGES);
    EXPECT_EQ(PAGES + 1, pages_left());
    use(PAGES + 1);
    EXPECT_EQ(PAGES + 2, pages_left());
    use(PAGES - 1, 2);
    expect_registered(0, PAGES + 2);
}

/* One neighbour is too large, the other is not */
TEST_F(test_ucx_merge, limit_on_one_side)
{
    constexpr uint64_t PAGES = GB / PAGE;

    map(0, 4 * PAGES);
    use(0, PAGES);
    use(PAGES + 1);
    use(PAGES);
    EXPECT_EQ(PAGES + 2, pages_left());
    use(PAGES, 2);
    EXPECT_EQ(1u, replay()->hits);
}

/* Without a recorded mapping, regions grow over memory that the program uses */
TEST_F(test_ucx_merge, growth_over_used_memory)
{
    use(0);
    use(1, 2);
    expect_registered(0, 3);

    use(3);
    EXPECT_EQ(1u, replay()->hits);
    expect_registered(0, 4);
}

/* Memory that is mapped only later is none to grow over */
TEST_F(test_ucx_merge, later_mapping)
{
    use(0);
    use(1, 2);
    map(3, 13);
    use(3);
    EXPECT_EQ(0u, replay()->hits);
    expect_registered(0, 4);
}

/* Used memory is mapped until it is unmapped, and when it is used again */
TEST_F(test_ucx_merge, unmapped_memory)
{
    use(0);
    use(1, 3);
    EXPECT_EQ(4u, pages_left());
    unmap(3, 1);
    use(0);
    use(1, 2);
    EXPECT_EQ(3u, pages_left());
    use(3);
    expect_registered(0, 4);
}

/* An unmap of a part takes the whole region, and the rest is registered again buffer by
 * buffer. The next registration deregisters it */
TEST_F(test_ucx_merge, unmap_of_a_part)
{
    m_program.dereg = {0, 5};
    for (unsigned i = 0; i < 4; ++i) {
        use(i);
    }
    unmap(3, 1);
    EXPECT_EQ(10u, replay()->waited);
    use(1);
    EXPECT_EQ(15u, replay()->waited);
    EXPECT_EQ(1u, replay()->hits);
    expect_registered(1, 1);
}

/* The asynchronous thread does not clean up: unmapped regions wait for the next
 * registration, however large they are */
TEST_F(test_ucx_merge, unreleased)
{
    use(0, GB / PAGE);
    unmap(0, 1);
    unmap(100, 1);
    m_now += 10;
    EXPECT_EQ((int64_t)m_now, replay().curve().back().first);
    EXPECT_GT((int64_t)m_now, replay(PREDREG_REPLAY_LEAVE_PINNED).curve().back().first);
}

/* Each domain has its own regions */
TEST_F(test_ucx_merge, domains)
{
    use(0);
    use(1).domain = 1;
    EXPECT_EQ(2u, replay()->regs);
    use(0, 2);
    EXPECT_EQ(0u, replay()->hits);
}

/* Each use is a hit or registers, and nothing else takes time */
TEST_F(test_ucx_merge, random)
{
    for (unsigned seed = 1; seed <= 20; ++seed) {
        m_program  = made_program::random(seed, 300);
        replayed r = replay();
        EXPECT_EQ(300u, r->hits + r->regs) << "seed " << seed;
        EXPECT_EQ(m_program.timeline()->duration + r->waited, r->duration);
    }
}

TEST_F(test_ucx_merge, no_memory)
{
    map(0, 16);
    use(0);
    use(1);
    use(2);
    unmap(1, 1);
    expect_ends_without_memory(m_program.timeline(), PREDREG_REPLAY_MERGING, 15);
}
