/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"


/* When the helper sleeps, and how often it runs */
class test_pace : public helper_test {
};

TEST_F(test_pace, nothing_to_do_is_deep_sleep)
{
    EXPECT_EQ(NEVER, poll());
    EXPECT_EQ(NEVER, poll());
    EXPECT_EQ(0u, m_world.num_wakes());
}

TEST_F(test_pace, use_wakes_once)
{
    run_until_asleep();
    void *memh0 = begin(buffer(0), PAGE), *memh1 = begin(buffer(1), PAGE);
    EXPECT_EQ(0u, m_world.num_wakes()) << "nothing to do before its end";

    end(memh0);
    EXPECT_EQ(1u, m_world.num_wakes());
    end(memh1);
    EXPECT_EQ(1u, m_world.num_wakes());
    poll();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_pace, no_wake_while_uses_keep_coming)
{
    end(begin(buffer(0), PAGE));
    poll();
    unsigned wakes = m_world.num_wakes();
    for (unsigned i = 0; i < 100; ++i) {
        end(begin(buffer(i), PAGE));
        run(MSEC);
    }
    EXPECT_EQ(wakes, m_world.num_wakes());
}

/* After a silence of a millisecond the end of a use wakes the helper, and does not wait for
 * a look that would come after four */
TEST_F(test_pace, use_after_a_silence_is_given_up_at_once)
{
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(i), PAGE));
        run(200 * USEC);
        EXPECT_EQ(0u, m_world.num_live()) << i;
        run(2 * MSEC);
    }
    EXPECT_LE(m_world.num_wakes(), 10u);
}

TEST_F(test_pace, unmap_wakes)
{
    void *memh = begin(buffer(0), PAGE);

    run_until_asleep();
    ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(0),
                             (uintptr_t)buffer(0, PAGE));
    EXPECT_EQ(1u, m_world.num_wakes());
    end(memh);
    run(10 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_pace, sleep_ends_in_time_for_a_deadline)
{
    periodic(buffer(0), 10 * SEC, 3);
    use(buffer(0), 64 * KB);
    run(SEC);

    /* The helper sleeps, but has a time to wake up at */
    uint64_t next = poll();
    EXPECT_TRUE(m_pred->handshake.asleep);
    EXPECT_GT(next, now() + 5 * SEC);
    EXPECT_NE(NEVER, next);

    unsigned wakes = m_world.num_wakes();
    use(buffer(1), PAGE); /* A use that ends before that wakes it */
    EXPECT_EQ(wakes + 1, m_world.num_wakes());
}

TEST_F(test_pace, rounds_are_few_when_nothing_happens)
{
    periodic(buffer(0), 100 * MSEC, 4);
    uint64_t looks = m_world.num_now();

    run(3600 * SEC);
    EXPECT_LE(m_world.num_now() - looks, 200u);
}

/* Rounds have to be few, since they interrupt what else runs on the helper's
 * processor */

TEST_F(test_pace, rounds_are_few_while_short_periods_are_kept)
{
    m_world.set_reg_cost(0, MSEC);
    for (unsigned i = 0; i < 1000; ++i) {
        use(buffer(i % 4), PAGE, 50 * USEC);
        run(50 * USEC);
        if (i == 100) {
            mark();
        }
    }

    EXPECT_EQ(899u, since_mark(&stats_t::hits));
    /* In 90 ms, one round in 4 ms */
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 25u);
}

TEST_F(test_pace, rounds_keep_up_with_periods_that_are_worth_it)
{
    /* Uses of another buffer keep the helper from sleeping */
    m_world.set_reg_cost(0, 400 * USEC);
    for (unsigned i = 0; i < 400; ++i) {
        if (i % 40 == 0) {
            use(buffer(0), MB, 100 * USEC);
        }
        use(buffer(1), PAGE, 10 * USEC);
        run_until((i + 1) * 500 * USEC + 2 * SEC);
        if (i == 200) {
            mark();
        }
    }

    /* With periods of 20 ms, the helper looks at what was used within 1.25 ms
     * and not 4 ms */
    EXPECT_EQ(199u + 4, since_mark(&stats_t::hits));
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 100u + 20);
    EXPECT_LE(stats().bytes_avg, MB * 3 / 20);
}
