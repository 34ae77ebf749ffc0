/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mode_test.h"


/* Who does the work when nobody helps, and when a thread does not come */
class test_mode : public mode_test {
};

/* Off, and failing */

TEST_F(test_mode, off_is_on_demand)
{
    create_with(UCS_RCACHE_PRED_HELPER_OFF);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_NONE, mode());
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_ON_DEMAND,
              ucs_rcache_pred_get_policy(m_pred));
    periodic(100 * MSEC, 10, true);
    EXPECT_EQ(10u, stats().regs_critical);
    EXPECT_EQ(10u, stats().deregs);
    EXPECT_EQ(0u, stats().hits);
    EXPECT_EQ(0u, m_pred->table.count);
    EXPECT_EQ(0u, m_world.num_wakes());
}

TEST_F(test_mode, without_a_helper_it_is_on_demand)
{
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_create(&m_params, &m_pred));
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_PREDICT,
              ucs_rcache_pred_get_policy(m_pred));
    ucs_rcache_pred_without_helper(m_pred);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_NONE, mode());
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_ON_DEMAND,
              ucs_rcache_pred_get_policy(m_pred));

    new_domain("fake0");
    periodic(100 * MSEC, 10, true);
    EXPECT_EQ(10u, stats().regs_critical);
    EXPECT_EQ(10u, stats().deregs);
    EXPECT_EQ(0u, m_pred->table.count);
}

/* A thread that does not come */

TEST_F(test_mode, work_of_a_thread_that_does_not_come_is_taken_over)
{
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    poll();
    end(begin(buffer(0), PAGE));
    uint64_t start = now();
    spin_until(start + 4 * SEC);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    EXPECT_EQ(1u, m_world.num_live());

    spin_until(start + 7 * SEC);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_NE(std::string::npos,
              log_watch::take().find("found no processor"));

    /* The thread is not given the work again before it has been seen */
    for (unsigned i = 0; i < 10; ++i) {
        m_world.advance(300 * MSEC);
        end(begin(buffer(0), PAGE));
    }
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_EQ(NEVER, poll());
    seats(UCS_RCACHE_PRED_MODE_VOTES);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
}

TEST_F(test_mode, thread_that_comes_is_left_the_work)
{
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    for (unsigned i = 0; i < 20 * 50; ++i) {
        /* Late, but there */
        end(begin(buffer(i % 10), PAGE));
        spin_until(now() + 20 * MSEC);
        poll();
    }
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
}

/* One registration takes 7 s, of 100 GB or of memory that has to be compacted */
TEST_F(test_mode, thread_that_was_busy_gets_the_work_back)
{
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    poll();
    seats(UCS_RCACHE_PRED_MODE_VOTES);
    ASSERT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    for (unsigned i = 0; i < 4; ++i) {
        use(buffer(0), 64 * KB);
        run(10 * MSEC);
    }
    use(buffer(0), 64 * KB);
    m_world.on_reg = [this](const auto &) { wait(7 * SEC); };
    while (mode() == UCS_RCACHE_PRED_MODE_THREAD) {
        run(100 * USEC);
    }
    m_world.on_reg = nullptr;
    EXPECT_NE(std::string::npos,
              log_watch::take().find("found no processor"));
    /* It sleeps until it is woken, and nobody wakes it before it has the work */
    for (unsigned i = 0; i < 10; ++i) {
        m_world.advance(300 * MSEC);
        end(begin(buffer(50), PAGE));
    }
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
}

/* It is not absent while it gets on with a round, although that takes longer */
TEST_F(test_mode, thread_with_a_lot_to_do_keeps_the_work)
{
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    poll();
    m_world.on_dereg = [this](const auto &) { wait(SEC); };
    for (unsigned i = 0; i < 20; ++i) {
        end(begin(buffer(i), PAGE));
    }
    poll();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    m_world.on_dereg = nullptr;
}

TEST_F(test_mode, jump_of_the_clock_is_not_the_threads_fault)
{
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    for (unsigned i = 0; i < 20; ++i) {
        end(begin(buffer(0), PAGE));
        progress();
        m_world.jump(10 * HOUR);
        spin_until(now() + MSEC);
        poll();
        EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    }
}
