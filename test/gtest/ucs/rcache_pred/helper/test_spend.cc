/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <cmath>


/* What the helper spends of the budget. It has no processor of its own here,
 * unless a test gives it one. */
class test_spend : public helper_test {
protected:
    static constexpr uint64_t REG_COST   = 20 * USEC;
    static constexpr uint64_t DEREG_COST = 10 * USEC;

    void SetUp() override { open(0.01); }

    void open(double budget, unsigned idle_cpus = 0)
    {
        m_world.seat.idle = idle_cpus;
        m_world.set_reg_cost(0, REG_COST);
        m_world.set_dereg_cost(0, DEREG_COST);
        m_params.budget = budget;
        m_params.helper = UCS_RCACHE_PRED_HELPER_AGGRESSIVE;
        if (m_pred == NULL) {
            create();
        } else {
            recreate();
        }
    }

    /* Use so many buffers, once a period */
    void loop(unsigned num_buffers, uint64_t period, unsigned periods,
              size_t length = 64 * KB)
    {
        for (unsigned i = 0; i < periods; ++i) {
            uint64_t begin = now();
            for (unsigned j = 0; j < num_buffers; ++j) {
                use(buffer(j), length, USEC, context(1 + j));
            }
            run_until(begin + period);
        }
    }

    /* What registrations and deregistrations have taken since the mark besides
     * the first of each buffer, as a part of the time */
    double cost(unsigned num_buffers)
    {
        return ((since_mark(&stats_t::regs_critical) +
                 since_mark(&stats_t::regs_helper)) * REG_COST +
                since_mark(&stats_t::deregs) * DEREG_COST) /
               (double)since_mark(&stats_t::duration);
    }
};

TEST_F(test_spend, zero_keeps_everything)
{
    open(0);
    loop(3, 100 * MSEC, 20);
    loop(0, SEC, 10);
    EXPECT_EQ(0u, stats().deregs);
    EXPECT_EQ(3u, stats().regions_now);
    EXPECT_EQ(57u, stats().hits);
}

TEST_F(test_spend, rare_uses_are_given_up_as_without_a_bound)
{
    loop(1, SEC, 30, 16 * MB);
    EXPECT_GE(stats().hits, 26u);
    EXPECT_LE(stats().bytes_avg, MB);
}

/* What was paid ahead for a registration that a use makes itself is given back, and not
 * what it is expected to take by now: the helper would have earned something */
TEST_F(test_spend, no_more_is_given_back_than_was_paid)
{
    unsigned other = 1;

    open(INFINITY);
    for (unsigned i = 0; i < 5; ++i) {
        loop(1, 200 * MSEC, 10, 16 * MB);
        uint64_t spent = stats().budget_spent;

        use(buffer(0), 16 * MB, USEC, context(1));
        run_until(now() + 20 * MSEC);
        EXPECT_EQ(0u, stats().bytes_now);
        /* Others take long, and the next use of this one does not */
        m_world.set_reg_cost(0, 1000 * REG_COST);
        for (unsigned j = 0; j < 3; ++j) {
            use(buffer(other), KB, USEC, context(1 + other));
            ++other;
        }
        m_world.set_reg_cost(0, REG_COST);
        use(buffer(0), 16 * MB, USEC, context(1));
        run_until(now() + 20 * MSEC);
        EXPECT_LT(spent, stats().budget_spent);
    }
}

/* What others tell of a buffer that was given up without a prediction has the helper
 * register it: that is paid then, and no sooner given back */
TEST_F(test_spend, what_is_told_later_is_paid_then)
{
    open(INFINITY);
    m_world.set_reg_cost(0, 10 * MSEC);
    use(buffer(0), 16 * MB, USEC, context(1));
    use(buffer(1), 16 * MB, USEC, context(1));
    run_until(now() + 200 * MSEC);
    use(buffer(0), 16 * MB, USEC, context(1));
    uint64_t spent = stats().budget_spent;
    run_until(now() + MSEC);
    ASSERT_EQ(1u, stats().precedents);
    /* The use's own registration, and one ahead for each buffer */
    EXPECT_NEAR(30 * MSEC, stats().budget_spent - spent, 2 * MSEC);
}

/* Where no use was predicted, something was set aside, which flows back by itself. If a
 * use is predicted since, as it followed the uses of others, and comes before it was
 * registered, it pays for its registration all the same */
TEST_F(test_spend, what_was_set_aside_is_given_back_once)
{
    static constexpr unsigned NUM = 4;

    open(0.01, 1);
    for (unsigned i = 1; i <= 5; ++i) {
        uint64_t start = now();

        use(buffer(10 * i), 16 * MB, USEC, context(i));
        run_until(start + 150 * MSEC);
        for (unsigned j = 1; j <= NUM; ++j) {
            use(buffer(10 * i + j), 16 * MB, USEC, context(i));
        }
        run_until(start + 200 * MSEC);
        mark();
        use(buffer(10 * i), 16 * MB, USEC, context(i));
        run_until(start + 250 * MSEC);
        EXPECT_EQ(NUM, since_mark(&stats_t::precedents));

        mark();
        for (unsigned j = 1; j <= NUM; ++j) {
            use(buffer(10 * i + j), 16 * MB, USEC, context(i));
        }
        run(TRANSFER);
        EXPECT_EQ(NUM, since_mark(&stats_t::regs_critical));
        EXPECT_GE(since_mark(&stats_t::budget_spent), NUM * REG_COST);
        run(3 * SEC);
    }
}

TEST_F(test_spend, sum_of_the_work_is_bounded)
{
    loop(100, 10 * MSEC, 100);
    mark();
    loop(100, 10 * MSEC, 1000);
    EXPECT_LE(cost(100), 0.01);
    EXPECT_GE(since_mark(&stats_t::hits), 98000u);
    EXPECT_LE(since_mark(&stats_t::budget_spent),
              0.0101 * since_mark(&stats_t::duration));
}

TEST_F(test_spend, without_a_bound_the_sum_is_not)
{
    open(INFINITY);
    loop(100, 10 * MSEC, 100);
    mark();
    loop(100, 10 * MSEC, 200);
    EXPECT_GE(cost(100), 0.03);
}

TEST_F(test_spend, own_processor_may_do_more)
{
    loop(40, 10 * MSEC, 100);
    mark();
    loop(40, 10 * MSEC, 300);
    uint64_t shared = since_mark(&stats_t::deregs);

    open(0.01, 1);
    loop(40, 10 * MSEC, 100);
    mark();
    loop(40, 10 * MSEC, 300);
    EXPECT_GE(since_mark(&stats_t::deregs), 5 * shared);
}

TEST_F(test_spend, first_uses_are_bounded_too)
{
    m_params.known_regions = 100000;
    recreate();
    for (unsigned i = 0; i < 2000; ++i) {
        use(buffer(i), 64 * KB, 10 * USEC);
        run(200 * USEC);
    }
    EXPECT_LE(stats().deregs * DEREG_COST, 0.0105 * stats().duration);
    EXPECT_GE(stats().deregs, 20u);
}

TEST_F(test_spend, wrong_predictions_are_paid_for)
{
    std::srand(1);
    loop(20, 100 * MSEC, 5);
    mark();
    for (unsigned i = 0; i < 20000; ++i) {
        use(buffer(std::rand() % 20), 64 * KB, USEC);
        run((std::rand() % 1000) * USEC);
    }
    EXPECT_LE(cost(20), 0.0102);
}

/* Slices of one array that move a little from one use to the next: what one has
 * registered is merged into others, or is not quite where it is needed */
TEST_F(test_spend, slices_that_slide_are_paid_for)
{
    static constexpr unsigned SLICES = 8;
    std::srand(1);

    for (unsigned i = 0; i < 1000; ++i) {
        uint64_t start = now();
        if (i == 500) {
            mark();
        }
        for (unsigned j = 0; j < SLICES; ++j) {
            use(buffer(0, j * 64 * KB + std::rand() % 100), 64 * KB, 10 * USEC);
        }
        run_until(start + 20 * MSEC);
    }
    uint64_t cost = since_mark(&stats_t::time_critical) +
                    since_mark(&stats_t::regs_helper) * REG_COST;
    EXPECT_LE(cost, 100 * MSEC);
    EXPECT_GE(since_mark(&stats_t::budget_spent), cost - cost / 10);
    EXPECT_LE(since_mark(&stats_t::budget_spent), 120 * MSEC);
}

/* Leave-pinned would have tried as well */
TEST_F(test_spend, registrations_that_fail_are_not_paid_for)
{
    void *memh;

    loop(1, 100 * MSEC, 5);
    mark();
    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_IO_ERROR);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(UCS_ERR_IO_ERROR, try_begin(buffer(7), 64 * KB, &memh));
        run(MSEC);
    }
    EXPECT_LE(since_mark(&stats_t::budget_spent), MSEC);
}

TEST_F(test_spend, looks_again_at_what_was_kept)
{
    /* The first deregistration shows that there is no budget for all three */
    m_world.set_dereg_cost(0, 5 * MSEC);
    use(buffer(2), MB);
    run(20 * MSEC);
    use(buffer(0), MB);
    use(buffer(1), MB);
    run(20 * MSEC);
    ASSERT_GE(stats().regions_now, 1u);
    run(30 * SEC);
    EXPECT_EQ(0u, stats().regions_now);
}

TEST_F(test_spend, bounds_come_first)
{
    m_params.max_bytes = 8 * MB;
    open(0);
    for (unsigned i = 0; i < 100; ++i) {
        use(buffer(i % 4), 3 * MB);
        run(10 * MSEC);
    }
    EXPECT_EQ(0u, stats().refused);
    EXPECT_GT(stats().evictions, 0u);
    EXPECT_LE(stats().bytes_peak, 8 * MB);
}

/* Without a budget nothing is given up but for room, and nothing registered ahead */
TEST_F(test_spend, zero_gives_up_for_room_only)
{
    m_params.max_bytes = 8 * MB;
    open(0, 1);
    for (unsigned i = 0; i < 240; ++i) {
        use(buffer(i % 4), 3 * MB);
        run(25 * MSEC);
        EXPECT_EQ(stats().evictions, stats().deregs);
        EXPECT_EQ(ucs_min(i + 1, 2u), stats().regions_now);
    }
    EXPECT_EQ(0u, stats().regs_helper);
    EXPECT_EQ(0u, stats().refused);
}

/* What is given up for room a helper with a processor of its own registers again ahead of
 * its use, and pays for that */
TEST_F(test_spend, own_processor_registers_ahead_within_a_full_bound)
{
    m_params.max_bytes = 8 * MB;
    open(0.01, 1);
    for (unsigned i = 0; i < 2400; ++i) {
        if (i == 400) {
            mark();
        }
        use(buffer(i % 4), 3 * MB);
        run(250 * USEC);
    }
    EXPECT_GE(since_mark(&stats_t::hits), 1900u);
    EXPECT_GE(since_mark(&stats_t::regs_helper), 900u);
    EXPECT_GE(since_mark(&stats_t::budget_spent),
              since_mark(&stats_t::regs_helper) * REG_COST / 50);
    EXPECT_LE(since_mark(&stats_t::budget_spent),
              0.0101 * since_mark(&stats_t::duration));
}

/* A full bound is used: the budget is not spent faster because of it, and what uses lose
 * because of it is counted apart */
TEST_F(test_spend, a_full_bound_is_used)
{
    m_params.max_bytes = 16 * MB;
    open(0.01);
    loop(30, 3 * MSEC, 200, MB);
    mark();
    loop(30, 3 * MSEC, 1000, MB);
    EXPECT_GE(stats().bytes_avg, 12 * MB);
    EXPECT_EQ(0u, since_mark(&stats_t::refused));
    EXPECT_GE(since_mark(&stats_t::room_lost),
              since_mark(&stats_t::regs_critical) * REG_COST * 3 / 4);
    EXPECT_LE(since_mark(&stats_t::budget_spent),
              0.0101 * since_mark(&stats_t::duration));
    EXPECT_EQ(0u, stats().evictions_node + stats().evictions_system);
}

/* In turns, the least recently used one is the next: with its predictions the helper does
 * better than that, as far as the best possible choice allows */
TEST_F(test_spend, victims_are_chosen_by_predictions)
{
    m_params.max_bytes = 16 * MB;
    open(0.01);
    loop(30, 30 * MSEC, 20, MB);
    mark();
    loop(30, 30 * MSEC, 100, MB);
    EXPECT_GE(since_mark(&stats_t::hits), 3000u * 12 / 30);
    EXPECT_LE(since_mark(&stats_t::evictions), 3000u * 20 / 30);
}

/* Without a budget too, although then nothing is given up but for room */
TEST_F(test_spend, victims_are_chosen_by_predictions_without_a_budget)
{
    m_params.max_bytes = 16 * MB;
    open(0);
    loop(30, 30 * MSEC, 20, MB);
    mark();
    loop(30, 30 * MSEC, 100, MB);
    EXPECT_GE(since_mark(&stats_t::hits), 3000u * 12 / 30);
    EXPECT_EQ(stats().evictions, stats().deregs);
}

/* Where nothing can be predicted, the budget is spent as without a bound. What uses lose
 * besides, the bound costs */
TEST_F(test_spend, a_full_bound_at_random_costs_the_budget_no_more)
{
    std::srand(1);
    m_params.max_bytes = 16 * MB;
    open(0.01);
    for (unsigned i = 0; i < 20000; ++i) {
        if (i == 2000) {
            mark();
        }
        use(buffer(std::rand() % 40), MB, USEC);
        run((std::rand() % 1000) * USEC);
    }
    EXPECT_GT(since_mark(&stats_t::evictions), 5000u);
    EXPECT_GT(since_mark(&stats_t::room_lost), 5000u * REG_COST);
    EXPECT_LE(since_mark(&stats_t::budget_spent),
              0.0101 * since_mark(&stats_t::duration));
}

/* A helper with a processor of its own keeps room for uses that nobody predicts: they wait
 * for their own registration only */
TEST_F(test_spend, own_processor_keeps_room_free)
{
    std::srand(1);
    m_params.max_bytes = 16 * MB;
    open(0.01, 1);
    for (unsigned i = 0; i < 20000; ++i) {
        if (i == 10000) {
            mark();
        }
        use(buffer(std::rand() % 600), 64 * KB, USEC);
        run(100 * USEC);
    }
    uint64_t regs = since_mark(&stats_t::regs_critical);

    EXPECT_GE(regs, 1000u);
    EXPECT_GE(since_mark(&stats_t::evictions), 1000u);
    EXPECT_LE(since_mark(&stats_t::time_critical),
              regs * REG_COST + regs / 8 * DEREG_COST);
    EXPECT_GE(stats().bytes_now, 16 * MB * 13 / 16);
}

/* It keeps none where uses are predicted: what it gave up would be needed again before it
 * could register it, one region after the other */
TEST_F(test_spend, own_processor_keeps_no_room_for_predicted_uses)
{
    m_params.max_bytes = 15 * MB;
    open(0.01, 1);
    m_world.set_reg_cost(0, 80 * USEC);
    m_world.set_dereg_cost(0, 32 * USEC);
    for (unsigned i = 0; i < 6000; ++i) {
        if (i == 4000) {
            mark();
        }
        use(buffer(i % 16), MB, USEC);
        run(100 * USEC);
    }
    /* The best choice of what gives way leaves one miss in 15 uses */
    EXPECT_LE(since_mark(&stats_t::regs_critical), 2000u / 15);
}

/* What the system refuses is a bound as well: forecasts choose what gives way for it, and
 * nothing else is given up */
TEST_F(test_spend, a_refusal_by_the_system_is_a_bound)
{
    open(0);
    m_world.limit_bytes(16 * MB);
    loop(30, 30 * MSEC, 20, MB);
    mark();
    loop(30, 30 * MSEC, 100, MB);
    EXPECT_GT(stats().evictions_system, 0u);
    EXPECT_EQ(stats().evictions, stats().evictions_system);
    EXPECT_EQ(stats().deregs, stats().evictions);
    EXPECT_GE(since_mark(&stats_t::hits), 3000u * 12 / 30);
    m_world.limit_bytes(SIZE_MAX);
}

TEST_F(test_spend, rounds_are_few_when_there_is_no_budget)
{
    open(0);
    loop(50, MSEC, 2000);
    mark();
    loop(50, MSEC, 2000);
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 2 * 25u);
    EXPECT_EQ(100000u, since_mark(&stats_t::hits));
}

TEST_F(test_spend, unmapped_memory_is_cleared_away_without_budget)
{
    open(0);
    loop(3, MSEC, 10);
    unmap(buffer(1), 64 * KB);
    run(51 * MSEC);
    EXPECT_EQ(2u, stats().regions_now);
}

TEST_F(test_spend, survives_a_clock_that_goes_back)
{
    loop(3, 10 * MSEC, 100);
    m_world.jump(-(int64_t)(20 * SEC));
    poll();
    mark();
    loop(3, 10 * MSEC, 500);
    EXPECT_GE(since_mark(&stats_t::deregs), 10u);
    EXPECT_LE(cost(3), 0.012);
}
