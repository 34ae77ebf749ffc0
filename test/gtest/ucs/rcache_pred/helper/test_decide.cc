/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <random>


/* Deadlines that are met and that are not */
class test_decide : public helper_test {
};

TEST_F(test_decide, first_use_is_always_deregistered)
{
    use(buffer(0), MB);
    run(10 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, test_pred_rq_length(m_pred));
}

TEST_F(test_decide, predicted_region_waits_unregistered)
{
    periodic(buffer(0), 200 * MSEC, 1);
    use(buffer(0), 64 * KB, MSEC);
    run(20 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(1u, test_pred_rq_length(m_pred));
}

TEST_F(test_decide, registration_ahead_is_just_in_time)
{
    periodic(buffer(0), 200 * MSEC, 8);
    /* The last use began 200 ms ago, and the next one is about to begin */
    EXPECT_EQ(1u, m_world.num_live_at(buffer(0)));
    EXPECT_LE(m_pred->table.count, 1u);

    uint64_t predicted = now();
    void *memh         = begin(buffer(0), 64 * KB);
    EXPECT_LE(now() - predicted, 0u);
    EXPECT_EQ(0u, stats().early);
    EXPECT_EQ(0u, stats().late);
    end(memh);
}

TEST_F(test_decide, registration_ahead_has_all_the_flags)
{
    for (unsigned i = 0; i < 3; ++i) {
        end(begin(buffer(0), PAGE, (i == 0) ? ACCESS_WRITE :
                                              (ACCESS_READ | HINT)));
        run(100 * MSEC);
    }

    void *memh = begin(buffer(0), PAGE, ACCESS_READ | HINT);
    ASSERT_GE(stats().regs_helper, 1u);
    EXPECT_EQ(ACCESS_READ | ACCESS_WRITE | HINT | HELPER_FLAG,
              m_world.get(memh).flags);
    end(memh);
}

TEST_F(test_decide, registration_ahead_is_as_long_as_recent_uses)
{
    const size_t lengths[] = {PAGE, 8 * PAGE, 2 * PAGE, PAGE};

    for (unsigned i = 0; i < 12; ++i) {
        if (i == 8) {
            mark();
        }
        use(buffer(0), lengths[i % 4], MSEC, context(i % 4));
        run(99 * MSEC);
    }

    EXPECT_EQ(4u, since_mark(&stats_t::hits));
    EXPECT_EQ(8 * PAGE, stats().bytes_peak);
}

TEST_F(test_decide, period_too_short_keeps_the_region)
{
    /* The period is shorter than a registration and a deregistration take */
    m_world.set_reg_cost(0, MSEC);
    m_world.set_dereg_cost(0, MSEC);
    for (unsigned i = 0; i < 100; ++i) {
        if (i == 20) {
            mark();
        }
        uint64_t start = now();
        use(buffer(0), PAGE, 10 * USEC);
        run_until(start + 500 * USEC);
    }

    EXPECT_EQ(80u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::regs_helper));
    EXPECT_EQ(0u, since_mark(&stats_t::deregs));

    run_until_asleep(); /* The region is not kept for ever */
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, since_mark(&stats_t::wasted)) << "nothing came from ahead";
}

TEST_F(test_decide, unmet_deadline_is_waste)
{
    periodic(buffer(0), 200 * MSEC, 4);
    int trust = test_pred_trust(m_pred, (uintptr_t)buffer(0));
    EXPECT_EQ(1u, m_world.num_live());

    run(SEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(1u, stats().wasted);
    EXPECT_GT(trust, test_pred_trust(m_pred, (uintptr_t)buffer(0)));

    run_until_asleep();
    EXPECT_EQ(1u, stats().wasted) << "one use that never came";
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_decide, region_that_keeps_disappointing_is_left_alone)
{
    /* One short interval in eight predicts seven uses that do not come, and
     * one that does */
    for (unsigned i = 0; i < 160; ++i) {
        if (i == 80) {
            mark();
        }
        use(buffer(0), 64 * KB, MSEC);
        run((i % 8 == 0) ? (100 * MSEC) : (2 * SEC));
    }

    EXPECT_LE(since_mark(&stats_t::wasted), 20u) << "of 80 uses";
}

TEST_F(test_decide, doubted_region_has_to_be_regular_for_a_while)
{
    std::mt19937 random(1);

    /* Uses at random */
    for (unsigned i = 0; i < 100; ++i) {
        use(buffer(0), 64 * KB, MSEC);
        run((random() % 2000) * MSEC);
    }
    EXPECT_LE(stats().wasted, 10u);

    mark();
    periodic(buffer(0), 101 * MSEC, 3);
    EXPECT_EQ(0u, since_mark(&stats_t::regs_helper));
    periodic(buffer(0), 101 * MSEC, 30);
    EXPECT_GE(since_mark(&stats_t::hits), 13u);
}

TEST_F(test_decide, kept_region_loses_trust_too)
{
    m_world.set_reg_cost(0, 2 * MSEC);
    m_world.set_dereg_cost(0, 2 * MSEC);
    periodic(buffer(0), 5 * MSEC, 20);
    mark();
    periodic(buffer(0), 5 * MSEC, 5);
    ASSERT_EQ(5u, since_mark(&stats_t::hits));
    ASSERT_EQ(0u, since_mark(&stats_t::regs_helper));

    int trust = test_pred_trust(m_pred, (uintptr_t)buffer(0));
    run_until_asleep();
    EXPECT_GT(trust, test_pred_trust(m_pred, (uintptr_t)buffer(0)));
    EXPECT_EQ(0u, since_mark(&stats_t::wasted));
}

TEST_F(test_decide, use_whose_entry_is_on_the_way_has_come)
{
    periodic(buffer(0), 200 * MSEC, 3);
    ASSERT_EQ(1u, test_pred_awaited_length(m_pred));
    int trust = test_pred_trust(m_pred, (uintptr_t)buffer(0));

    /* The helper comes late: another entry is before that of the use, and the
     * time to wait for the use is over */
    end(begin(buffer(1), 64 * KB));
    end(begin(buffer(0), 64 * KB));
    m_world.advance(SEC);
    poll();

    EXPECT_EQ(0u, stats().wasted);
    EXPECT_LT(trust, test_pred_trust(m_pred, (uintptr_t)buffer(0)));
}

TEST_F(test_decide, use_before_its_registration_is_late)
{
    periodic(buffer(0), 200 * MSEC, 4);
    use(buffer(0), 64 * KB, MSEC);
    run(50 * MSEC);
    mark();
    /* This use comes after a quarter of the period */
    use(buffer(0), 64 * KB, MSEC);

    EXPECT_EQ(0u, since_mark(&stats_t::hits));
    EXPECT_EQ(1u, since_mark(&stats_t::late));
    EXPECT_EQ(1u, since_mark(&stats_t::regs_critical));
}

TEST_F(test_decide, miss_that_nobody_predicted_is_not_late)
{
    use(buffer(0), 64 * KB);
    run(SEC);
    use(buffer(0), 64 * KB);
    EXPECT_EQ(0u, stats().late);
}

TEST_F(test_decide, use_waits_for_the_registration_under_way)
{
    std::thread thread;
    void *memh = NULL;

    periodic(buffer(0), 200 * MSEC, 3);
    use(buffer(0), 64 * KB, MSEC);
    mark();

    /* The helper has half registered the region when the use begins */
    m_world.on_reg = [&](const auto &) {
        thread = start_waiting_use(&memh);
        m_world.advance(7 * USEC);
        m_world.on_reg = nullptr;
    };
    run(200 * MSEC);
    ASSERT_TRUE(thread.joinable());
    thread.join();

    EXPECT_EQ(1u, since_mark(&stats_t::regs_helper));
    EXPECT_EQ(0u, since_mark(&stats_t::regs_critical));
    EXPECT_EQ(0u, since_mark(&stats_t::hits));
    EXPECT_EQ(1u, since_mark(&stats_t::late));
    EXPECT_EQ(0u, since_mark(&stats_t::early)) << "late, hence not early";
    EXPECT_GE(since_mark(&stats_t::time_critical), 7 * USEC);
    end(memh);
}

TEST_F(test_decide, use_waiting_for_another_use_is_not_late)
{
    std::thread thread;
    void *memh = NULL;

    /* Only a use that comes before a registration that was predicted for it is
     * late */
    m_world.on_reg = [&](const auto &) {
        thread = start_waiting_use(&memh);
        m_world.on_reg = nullptr;
    };
    EXPECT_NE((void*)NULL, begin(buffer(0), 64 * KB));
    thread.join();

    EXPECT_EQ(1u, stats().regs_critical);
    EXPECT_EQ(0u, stats().late);
    end(memh);
    end(memh);
}

TEST_F(test_decide, registration_long_before_its_use_is_early)
{
    periodic(buffer(0), 200 * MSEC, 4);

    /* A use that comes a tenth of a period after its time was not registered
     * too early */
    mark();
    use(buffer(0), 64 * KB, MSEC);
    run(200 * MSEC + 15 * MSEC);
    use(buffer(0), 64 * KB, MSEC);
    EXPECT_EQ(2u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::early));

    /* After a use that came at half the time, the next registration is much too
     * early */
    run(100 * MSEC);
    use(buffer(0), 64 * KB, MSEC);
    mark();
    for (unsigned i = 0; i < 3; ++i) {
        run(130 * MSEC);
        use(buffer(0), 64 * KB, MSEC);
    }
    EXPECT_GE(since_mark(&stats_t::early), 1u);
}
