/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mode_test.h"


/* Who does the work by the seat that the process has on its node */
class test_seat : public mode_test {
};

TEST_F(test_seat, conservative_without_a_processor_is_progress)
{
    m_world.seat.idle = 0;
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_EQ(NEVER, poll());
    end(begin(buffer(0), PAGE));
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, m_world.num_wakes());
}

TEST_F(test_seat, helper_comes_with_its_processor)
{
    m_world.seat.idle = 0;
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    seats(8);
    m_world.seat.idle = 1;
    seats(UCS_RCACHE_PRED_MODE_VOTES - 1);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_EQ(0u, m_world.num_wakes());
    seats(1);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    EXPECT_EQ(1u, m_world.num_wakes());

    /* The helper predicts from what was learned by progress */
    periodic(100 * MSEC, 4, false);
    stats_t before = stats();
    periodic(100 * MSEC, 10, false);
    EXPECT_EQ(10u, stats().hits - before.hits);
    EXPECT_EQ(0u, stats().late - before.late);
}

TEST_F(test_seat, helper_goes_at_once_when_others_need_its_processor)
{
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    seats(2);
    ASSERT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    m_world.seat.idle = 0;
    seats(1);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    unsigned wakes = m_world.num_wakes();
    end(begin(buffer(0), PAGE));
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(wakes, m_world.num_wakes());
}

TEST_F(test_seat, helper_that_is_late_again_and_again_gives_the_work_back)
{
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    seats(2);
    for (uint64_t late : {500 * USEC, 2 * MSEC}) {
        ASSERT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
        for (unsigned i = 0; i < 10; ++i) {
            use(buffer(i), PAGE);
            uint64_t next = poll();
            if (next != NEVER) {
                m_world.advance_to(next + late);
                poll();
            }
        }
    }
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());

    /* One seat is not enough to have it again */
    seats(1);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    seats(UCS_RCACHE_PRED_MODE_VOTES);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
}

TEST_F(test_seat, aggressive_helper_may_be_late)
{
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    for (unsigned i = 0; i < 20; ++i) {
        use(buffer(i), PAGE, MSEC);
        m_world.advance_to(std::min(poll(), now() + MSEC) + 5 * MSEC);
    }
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
}

TEST_F(test_seat, helper_does_not_come_for_a_moment)
{
    m_world.seat.idle = 0;
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    for (unsigned i = 0; i < 40; ++i) {
        m_world.seat.idle = i % UCS_RCACHE_PRED_MODE_VOTES;
        seats(1);
        ASSERT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    }
}

TEST_F(test_seat, thread_that_gets_the_work_asks_for_its_seat)
{
    m_world.seat.idle = 0;
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    seats(1);
    m_world.seat.idle = 1;
    seats(UCS_RCACHE_PRED_MODE_VOTES - 1);
    unsigned count = m_world.num_seats();
    seats(1);
    ASSERT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    /* Only the thread can bind itself to its processor */
    EXPECT_EQ(count + 2, m_world.num_seats());
}

TEST_F(test_seat, seat_is_asked_for_often_at_first)
{
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    unsigned count = m_world.num_seats();
    periodic(MSEC, 1000, false);
    /* Each 50 ms during the first 200 ms, then after a quarter more of the time */
    EXPECT_GE(m_world.num_seats() - count, 9u);
    EXPECT_LE(m_world.num_seats() - count, 13u);
}

TEST_F(test_seat, budget_is_a_part_of_what_the_process_can_have)
{
    m_params.budget    = .01;
    m_world.seat.idle  = 0;
    m_world.seat.share = .25;
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    uint64_t begin = now();
    periodic(100 * MSEC, 100, false);
    EXPECT_NEAR(now() - begin, 4 * stats().budget_time, 400 * MSEC);
    EXPECT_LE(stats().budget_spent, .01 * stats().budget_time + MSEC);

    /* Others go */
    m_world.seat.share = 1;
    stats_t before     = stats();
    begin              = now();
    periodic(100 * MSEC, 100, false);
    EXPECT_NEAR(now() - begin, stats().budget_time - before.budget_time, 400 * MSEC);
}

TEST_F(test_seat, aggressive_allows_for_the_turns_of_others)
{
    m_world.seat = {1, 2, 4 * MSEC, 1};
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    EXPECT_EQ(8 * MSEC, m_pred->rounds.times.share);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());

    /* A period of less than two turns is kept, one of more is not */
    periodic(7 * MSEC, 20, false);
    stats_t before = stats();
    periodic(7 * MSEC, 20, false);
    EXPECT_EQ(0u, stats().deregs - before.deregs);
    EXPECT_EQ(20u, stats().hits - before.hits);
    periodic(20 * MSEC, 20, false);
    before = stats();
    periodic(20 * MSEC, 20, false);
    EXPECT_EQ(20u, stats().deregs - before.deregs);
    EXPECT_EQ(20u, stats().hits - before.hits);
}

TEST_F(test_seat, seat_is_asked_for_four_times_a_second)
{
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    periodic(MSEC, 1000, false);
    unsigned count = m_world.num_seats();
    periodic(MSEC, 2000, false);
    EXPECT_GE(m_world.num_seats() - count, 7u);
    EXPECT_LE(m_world.num_seats() - count, 8u);

    /* The seat is not asked for when nothing happens */
    run_until_asleep();
    EXPECT_LE(m_world.num_seats() - count, 10u);
}

TEST_F(test_seat, demand_is_what_is_used_whoever_helps)
{
    for (auto helper : {UCS_RCACHE_PRED_HELPER_PROGRESS,
                        UCS_RCACHE_PRED_HELPER_AGGRESSIVE}) {
        create_with(helper);
        for (unsigned i = 0; i < 100; ++i) {
            use(buffer(0), MB);
            use(buffer(i % 2), MB);
            compute_until(now() + 10 * MSEC);
        }
        EXPECT_EQ(2 * MB, m_world.demand());
        for (unsigned i = 0; i < 5; ++i) {
            seats(1);
        }
        EXPECT_LT(m_world.demand(), 2 * MB);
        EXPECT_GT(m_world.demand(), MB * 3 / 4);
        destroy();
    }
}
