/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <random>


/* Rounds of the helper: clocks that are not as they should be, and domains
 * that come and go */
class test_helper : public helper_test {
};

/* Clocks that are not as they should be */

TEST_F(test_helper, clock_jumps_forward)
{
    periodic(buffer(0), 100 * MSEC, 10);
    m_world.jump(10 * HOUR);
    mark();
    run(SEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 20u);

    /* One odd interval does not change the prediction */
    expect_predicted(buffer(0), 100 * MSEC, 10);
}

TEST_F(test_helper, clock_jumps_forward_while_a_region_waits)
{
    periodic(buffer(0), 100 * MSEC, 10);
    use(buffer(0), 64 * KB, MSEC);
    run(10 * MSEC);
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));
    m_world.jump(10 * HOUR);
    mark();
    run(SEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 20u);
}

TEST_F(test_helper, clock_jumps_back)
{
    m_world.jump(20 * HOUR);
    periodic(buffer(0), 100 * MSEC, 10);
    /* The time was too short for the region to be given up by now */
    m_world.set_reg_cost(0, SEC);
    periodic(buffer(1), 100 * MSEC, 10);
    ASSERT_EQ(1u, m_world.num_live_at(buffer(1)));
    m_world.set_reg_cost(0, 10 * USEC);

    m_world.jump(-10 * (int64_t)HOUR);
    mark();
    for (unsigned i = 0; i < 5; ++i) {
        use(buffer(2), PAGE);
        run(10 * MSEC);
    }
    EXPECT_EQ(0u, m_world.num_live_at(buffer(1)));
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 50u);

    periodic(buffer(0), 100 * MSEC, 5);
    mark();
    periodic(buffer(0), 100 * MSEC, 10);
    EXPECT_EQ(10u, since_mark(&stats_t::hits));
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_helper, clock_jumps_back_before_all_time)
{
    periodic(buffer(0), 100 * MSEC, 10);
    void *memh = begin(buffer(0), 64 * KB);
    m_world.jump(1 - (int64_t)now());
    end(memh);
    poll();
    periodic(buffer(0), 100 * MSEC, 5);
    mark();
    periodic(buffer(0), 100 * MSEC, 10);
    EXPECT_EQ(10u, since_mark(&stats_t::hits));
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

/* What waits for its registration does so for a time of the old clock, and is forgotten all
 * the same; and counters go on */
TEST_F(test_helper, clock_jumps_back_while_regions_wait)
{
    m_world.jump(20 * HOUR);
    periodic(buffer(0), 100 * MSEC, 10);
    use(buffer(0), 64 * KB, MSEC);
    run(10 * MSEC);
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));

    m_world.jump(-10 * (int64_t)HOUR);
    uint64_t duration = stats().duration;
    poll();
    EXPECT_EQ(0u, test_pred_rq_length(m_pred));
    use(buffer(0), PAGE);
    run(SEC);
    use(buffer(0), PAGE);
    EXPECT_LE(duration + SEC, stats().duration);
    EXPECT_GE(duration + 2 * SEC, stats().duration);
}

TEST_F(test_helper, counters_of_processors_differ)
{
    std::mt19937 random(1);

    periodic(buffer(0), 10 * MSEC, 10);
    mark();
    for (unsigned i = 0; i < 200; ++i) {
        /* The program moves to another processor, and back */
        uint64_t start = now();
        int64_t other  = random() % 400;
        m_world.jump(-other);
        use(buffer(0), 64 * KB, MSEC);
        m_world.jump(other);
        run_until(start + 10 * MSEC);
    }
    EXPECT_EQ(200u, since_mark(&stats_t::hits));
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 200u * 15);
}

/* Domains */

TEST_F(test_helper, domain_goes_with_all_it_has)
{
    domain_t *other = new_domain("fake1");

    /* It is registered ahead, and its next use is awaited */
    periodic(buffer(0), 200 * MSEC, 4);
    periodic(buffer(1), 100 * MSEC, 2);
    use(buffer(1), 64 * KB);            /* In the RQ */
    run(10 * MSEC);
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));
    end(begin(buffer(2), PAGE));        /* In the DQ */
    end(begin(buffer(0), PAGE, 0, other), other);

    destroy_domain(0);
    EXPECT_EQ(1u, m_world.num_live());
    EXPECT_EQ(1u, m_pred->table.count);
    EXPECT_EQ(0u, test_pred_rq_length(m_pred));
    EXPECT_EQ(0u, test_pred_awaited_length(m_pred));
    EXPECT_EQ(0u, test_pred_num_sites(m_pred));
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_helper, domains_with_the_same_addresses_are_predicted_apart)
{
    domain_t *other = new_domain("fake1");

    for (unsigned i = 0; i < 20; ++i) {
        if (i == 5) {
            mark();
        }
        uint64_t start = now();
        use(buffer(0), PAGE, MSEC);
        if (i % 2 == 0) { /* Half as often */
            end(begin(buffer(0), 4 * PAGE, 0, other), other);
        }
        run_until(start + 100 * MSEC);
    }

    EXPECT_EQ(15u + 7, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::wasted));
}

TEST_F(test_helper, purge_keeps_predictions)
{
    periodic(buffer(0), 200 * MSEC, 4);
    use(buffer(0), 64 * KB, MSEC);
    run(20 * MSEC);
    ucs_rcache_pred_purge(m_pred);
    run(179 * MSEC);

    mark();
    use(buffer(0), 64 * KB);
    EXPECT_EQ(1u, since_mark(&stats_t::hits));
}

TEST_F(test_helper, purge_of_an_awaited_region)
{
    periodic(buffer(0), 200 * MSEC, 4);
    ASSERT_EQ(1u, test_pred_awaited_length(m_pred));

    ucs_rcache_pred_purge(m_pred);
    EXPECT_EQ(0u, m_world.num_live());
    run_until_asleep();
    EXPECT_EQ(0u, stats().wasted) << "it was taken away";

    expect_predicted(buffer(0), 200 * MSEC, 5);
}

TEST_F(test_helper, failed_registration_ahead_is_made_up_for_by_the_use)
{
    periodic(buffer(0), 200 * MSEC, 3);
    use(buffer(0), 64 * KB, MSEC);
    m_world.fail_nth_reg(1);
    run(199 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, stats().bytes_now);

    mark();
    use(buffer(0), 64 * KB, MSEC);
    EXPECT_EQ(1u, since_mark(&stats_t::regs_critical));
    run(199 * MSEC);
    use(buffer(0), 64 * KB, MSEC); /* The next use is predicted again */
    EXPECT_EQ(1u, since_mark(&stats_t::hits));
}
