/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mode_test.h"


/* What the helper does while processes wait for memory. It has no processor of its own, and
 * a budget that buys nothing worth mentioning */
class test_helper_shortage : public mode_test {
protected:
    static constexpr uint64_t REG_COST   = 200 * USEC;
    static constexpr uint64_t DEREG_COST = 100 * USEC;

    void open(ucs_rcache_pred_helper_t helper = UCS_RCACHE_PRED_HELPER_CONSERVATIVE,
              double budget = 1e-6)
    {
        m_world.seat.idle = 0;
        m_params.ops      = &m_ops;
        m_world.set_reg_cost(0, REG_COST);
        m_world.set_dereg_cost(0, DEREG_COST);
        m_params.budget = budget;
        create_with(helper);
    }

    /* From now on, since_mark() tells what has happened since */
    void mark() { m_mark = stats(); }

    uint64_t since_mark(uint64_t stats_t::*counter)
    {
        return stats().*counter - m_mark.*counter;
    }

    /* Use so many buffers, and compute for a second, so many times */
    void iterate(unsigned times, unsigned num_buffers = 16)
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            for (unsigned j = 0; j < num_buffers; ++j) {
                use(buffer(j), 64 * KB, 10 * USEC, context(1 + j));
            }
            compute_until(start + SEC);
        }
    }

    const ucs_rcache_pred_ops_t m_ops = fake_world::ops_with_waits();
    stats_t                     m_mark;
};

TEST_F(test_helper_shortage, nothing_is_given_up_without_need)
{
    open();
    iterate(20);
    EXPECT_EQ(16u, stats().regions_now);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
}

/* The thread gives up what the program kept, while the program computes */
TEST_F(test_helper_shortage, thread_gives_up_while_the_program_computes)
{
    open();
    iterate(5);
    ASSERT_EQ(16u, stats().regions_now);
    m_world.waits = .5;
    compute_until(now() + 4 * SEC);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    EXPECT_EQ(0u, stats().regions_now);
}

/* And goes on from iteration to iteration, and registers ahead of the uses */
TEST_F(test_helper_shortage, memory_is_registered_around_its_uses)
{
    open();
    iterate(5);
    m_world.waits = .2;
    iterate(10);
    mark();
    iterate(10);
    EXPECT_GE(since_mark(&stats_t::hits), 150u);
    EXPECT_GE(since_mark(&stats_t::deregs), 150u);
    /* The program has its processor back when nobody waits any more */
    m_world.waits = 0;
    iterate(40);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_GE(stats().regions_now, 15u);
}

TEST_F(test_helper_shortage, no_more_is_spent_than_processes_wait)
{
    open();
    m_world.waits = .002;
    mark();
    iterate(60);
    EXPECT_LE(since_mark(&stats_t::budget_spent), .0025 * since_mark(&stats_t::duration));
    EXPECT_GE(since_mark(&stats_t::budget_spent), .0005 * since_mark(&stats_t::duration));
}

TEST_F(test_helper_shortage, user_said_nothing_shall_be_given_up)
{
    open(UCS_RCACHE_PRED_HELPER_CONSERVATIVE, 0);
    m_world.waits = .5;
    iterate(20);
    EXPECT_EQ(16u, stats().regions_now);
    EXPECT_EQ(0u, stats().deregs);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
}

/* Without a thread the program gives up what it can when it communicates */
TEST_F(test_helper_shortage, progress_has_no_thread)
{
    open(UCS_RCACHE_PRED_HELPER_PROGRESS);
    m_world.waits = .5;
    iterate(20);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_GT(stats().deregs, 0u);
}

/* The kernel has taken the memory that was given up: what it takes to have the pages back
 * is no cost of registrations, and is not worth giving up more */
TEST_F(test_helper_shortage, pages_from_swap)
{
    open();
    iterate(5);
    m_world.waits    = .02;
    m_world.on_reg   = [&](const fake_world::registration&) {
        m_world.faults += 16;
        m_world.advance(20 * MSEC);
    };
    iterate(20);
    mark();
    iterate(20);
    /* 16 buffers would wait for 320 ms a second. What is expected to wait fades, so that some
     * are tried again */
    EXPECT_LE(since_mark(&stats_t::deregs), 70u);
    m_world.on_reg = nullptr;
    m_world.waits  = 0;
    iterate(60);
    m_world.waits  = .2;
    iterate(10);
    mark();
    iterate(10);
    EXPECT_GE(since_mark(&stats_t::deregs), 150u);
}

TEST_F(test_helper_shortage, thread_sleeps_while_nothing_is_registered)
{
    open(UCS_RCACHE_PRED_HELPER_AGGRESSIVE, INFINITY);
    iterate(3);
    compute_until(now() + 10 * SEC);
    ASSERT_EQ(0u, stats().regions_now);
    uint64_t rounds = stats().helper_rounds;
    compute_until(now() + 1000 * SEC);
    EXPECT_LE(stats().helper_rounds - rounds, 1u);
}
