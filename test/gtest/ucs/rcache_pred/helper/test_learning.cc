/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <random>


/* What is learned of periods, costs and delays */
class test_learning : public helper_test {
};

TEST_F(test_learning, jitter_is_tolerated)
{
    std::mt19937 random(1);
    std::uniform_real_distribution<double> jitter(0.95, 1.05);

    for (unsigned i = 0; i < 410; ++i) {
        if (i == 10) {
            mark();
        }
        uint64_t start = now();
        use(buffer(0), MB, MSEC);
        run_until(start + 200 * MSEC * jitter(random));
    }

    EXPECT_GE(since_mark(&stats_t::hits), 0.95 * 400);
    EXPECT_LE(since_mark(&stats_t::wasted), 0.05 * 400);
    EXPECT_LE(since_mark(&stats_t::byte_ns),
              MB * since_mark(&stats_t::duration) / 4);
}

TEST_F(test_learning, jitter_in_every_of_several_buffers)
{
    std::mt19937 random(2);
    std::uniform_real_distribution<double> jitter(0.95, 1.05);
    program prog = make_program();

    for (unsigned i = 0; i < 110; ++i) {
        if (i == 10) {
            mark();
        }
        for (unsigned b = 0; b < 6; ++b) {
            prog.communicate(0x400000 + b, buffer(b), MB);
            run(50 * MSEC * jitter(random));
        }
    }

    EXPECT_GE(since_mark(&stats_t::hits), 0.95 * 600);
}

TEST_F(test_learning, burst_is_forgotten)
{
    periodic(buffer(0), 200 * MSEC, 5);
    periodic(buffer(0), 2 * MSEC, 4);
    periodic(buffer(0), 200 * MSEC, m_params.history + 4);

    mark();
    periodic(buffer(0), 200 * MSEC, 20);
    EXPECT_EQ(20u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::wasted));
    EXPECT_LE(since_mark(&stats_t::byte_ns),
              64 * KB * since_mark(&stats_t::duration) / 10);
}

TEST_F(test_learning, change_of_period_is_learnt)
{
    for (uint64_t period : {200 * MSEC, 60 * MSEC, 500 * MSEC}) {
        periodic(buffer(0), period, m_params.history + 4);
        mark();
        periodic(buffer(0), period, 10);
        EXPECT_EQ(10u, since_mark(&stats_t::hits)) << period;
    }
}

TEST_F(test_learning, communication_phase_does_not_pile_up)
{
    /* All buffers are used at once: their deadlines have to be moved apart, or
     * each but the first would be late by the registrations before its own */
    const unsigned count = 20;
    void *memhs[count];

    m_world.set_reg_cost(0, 500 * USEC);
    m_world.set_dereg_cost(0, 100 * USEC);
    for (unsigned i = 0; i < 20; ++i) {
        if (i == 10) {
            mark();
        }
        uint64_t start = now();
        for (unsigned b = 0; b < count; ++b) {
            memhs[b] = begin(buffer(b), PAGE, 0, NULL, context(b));
        }
        for (unsigned b = 0; b < count; ++b) {
            end(memhs[b]);
        }
        run_until(start + 300 * MSEC);
    }

    EXPECT_EQ(10u * count, since_mark(&stats_t::hits));
}

TEST_F(test_learning, own_work_is_not_taken_for_registration)
{
    /* Costs vary. The time by which a registration is shorter than expected
     * must not be taken for work on the queues, which takes no time on this
     * clock. */
    std::mt19937 random(1);

    for (unsigned i = 0; i < 300; ++i) {
        m_world.set_reg_cost(0, 80 * USEC + random() % (40 * USEC));
        m_world.set_dereg_cost(0, 40 * USEC + random() % (20 * USEC));
        uint64_t start = now();
        use(buffer(0), PAGE, MSEC);
        run_until(start + 100 * MSEC);
    }

    EXPECT_LE(m_pred->rounds.times.rq_item, 20 * USEC);
    EXPECT_LE(m_pred->rounds.times.dq_item, 10 * USEC);
}

TEST_F(test_learning, costs_are_learnt)
{
    m_world.set_reg_cost(400, 70000);
    for (unsigned i = 0; i < 200; ++i) {
        unsigned which = i % 10;
        use(buffer(which), (1 + which % 7) * 20 * PAGE, MSEC);
        run(10 * MSEC);
    }
    EXPECT_NEAR(400 * 64 + 70000, ucs_rcache_pred_cost_estimate(&domain()->reg_cost, NULL,
                                                                64), 2000);
}

TEST_F(test_learning, costs_of_a_region_are_its_own)
{
    /* To register one of two buffers takes most of its period, 30 us the other one */
    m_world.on_reg = [this](const fake_world::registration &r) {
        if (r.address == (uintptr_t)buffer(1)) {
            m_world.advance(4 * MSEC);
        }
    };
    for (unsigned i = 0; i < 140; ++i) {
        uint64_t start = now();
        if (i == 40) {
            mark();
        }
        use(buffer(0), MB, 100 * USEC, context(1));
        use(buffer(1), MB, 100 * USEC, context(2));
        run_until(start + 7 * MSEC);
    }

    /* The first one stays registered, the other one does not */
    EXPECT_EQ(200u, since_mark(&stats_t::hits));
    EXPECT_GE(since_mark(&stats_t::regs_helper), 100u);
    EXPECT_LE(since_mark(&stats_t::regs_helper), 120u);
    EXPECT_LE(since_mark(&stats_t::byte_ns), 1.2 * MB * since_mark(&stats_t::duration));
}

TEST_F(test_learning, late_sleep_is_allowed_for)
{
    /* The sleep ends half a millisecond too late each time */
    for (unsigned i = 0; i < 40; ++i) {
        uint64_t start = now();
        use(buffer(0), PAGE, MSEC);
        for (uint64_t next = poll(); next < start + 100 * MSEC;
             next = poll()) {
            m_world.advance_to(next + 500 * USEC);
        }
        m_world.advance_to(start + 100 * MSEC);
        if (i == 20) {
            mark();
        }
    }

    EXPECT_EQ(19u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::late));
    EXPECT_GE(m_pred->rounds.times.wakeup, 400 * USEC);
}
