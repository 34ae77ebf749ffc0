/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>



class test_policy : public ::testing::Test {
protected:
    test_policy() : m_times{10000, 2000, 300, 40, 5} {}

    static constexpr uint64_t T_P = 10000 + 2000 + 300 + 40 + 5;

    ucs_rcache_pred_times_t m_times;
};

TEST_F(test_policy, deregister_if_there_is_just_time)
{
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, SEC, SEC + T_P));
    EXPECT_FALSE(ucs_rcache_pred_may_deregister(&m_times, SEC, SEC + T_P - 1));
    EXPECT_FALSE(ucs_rcache_pred_may_deregister(&m_times, SEC, SEC - 1));
}

TEST_F(test_policy, deregister_if_no_use_is_predicted)
{
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, SEC, NEVER));
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, NEVER - 1, NEVER));
}

TEST_F(test_policy, turns_of_others_count_in_both_conditions)
{
    m_times.share = 8000000; /* Inequality (2) */
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, SEC,
                                               SEC + T_P + 8000000));
    EXPECT_FALSE(ucs_rcache_pred_may_deregister(&m_times, SEC,
                                                SEC + T_P + 8000000 - 1));
    EXPECT_EQ(SEC - T_P - 8000000, ucs_rcache_pred_due_time(&m_times, SEC));
    EXPECT_EQ(0u, ucs_rcache_pred_due_time(&m_times, 8000000));
}

TEST_F(test_policy, margin_is_for_deregistration_alone)
{
    m_times.margin = 64 * (10000 + 2000);
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, SEC,
                                               SEC + T_P + m_times.margin));
    EXPECT_FALSE(ucs_rcache_pred_may_deregister(&m_times, SEC,
                                                SEC + T_P + m_times.margin -
                                                1));
    EXPECT_EQ(SEC - T_P, ucs_rcache_pred_due_time(&m_times, SEC));
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, SEC, NEVER));
}

TEST_F(test_policy, helper_with_a_processor_of_its_own_shares_nothing)
{
    ucs_rcache_pred_seat_t seat = {1, 1, 4 * MSEC, 1};

    EXPECT_EQ(0u, ucs_rcache_pred_share(&seat));
    seat.sharers = 3;
    EXPECT_EQ(12 * MSEC, ucs_rcache_pred_share(&seat));
    /* There is one helper, but it shares its processor with a rank */
    seat.idle    = 0;
    seat.sharers = 1;
    EXPECT_EQ(4 * MSEC, ucs_rcache_pred_share(&seat));
}

static ucs_rcache_pred_mode_t choose(ucs_rcache_pred_helper_t helper, double idle,
                                     ucs_rcache_pred_mode_t mode, unsigned *votes,
                                     bool is_short = false)
{
    ucs_rcache_pred_seat_t seat = {idle, 1, 4 * MSEC, 1};

    return ucs_rcache_pred_choose_mode(helper, &seat, is_short, mode, votes);
}

TEST_F(test_policy, conservative_helps_where_there_is_a_processor)
{
    static const unsigned last = UCS_RCACHE_PRED_MODE_VOTES - 1;

    for (double idle : {0., .5, 1.}) {
        for (auto mode : {UCS_RCACHE_PRED_MODE_THREAD,
                          UCS_RCACHE_PRED_MODE_PROGRESS}) {
            unsigned votes = last;
            EXPECT_EQ((idle > 0) ? UCS_RCACHE_PRED_MODE_THREAD :
                                   UCS_RCACHE_PRED_MODE_PROGRESS,
                      choose(UCS_RCACHE_PRED_HELPER_CONSERVATIVE, idle, mode,
                             &votes));
            EXPECT_EQ(0u, votes);
        }
    }
}

TEST_F(test_policy, thread_works_while_memory_is_short)
{
    unsigned votes = 0;

    for (auto mode : {UCS_RCACHE_PRED_MODE_THREAD, UCS_RCACHE_PRED_MODE_PROGRESS}) {
        EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD,
                  choose(UCS_RCACHE_PRED_HELPER_CONSERVATIVE, 0, mode, &votes, true));
    }
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS,
              choose(UCS_RCACHE_PRED_HELPER_PROGRESS, 0,
                     UCS_RCACHE_PRED_MODE_PROGRESS, &votes, true));
}

TEST_F(test_policy, others_do_not_look_at_their_seat)
{
    unsigned votes = 0;

    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD,
              choose(UCS_RCACHE_PRED_HELPER_AGGRESSIVE, 0,
                     UCS_RCACHE_PRED_MODE_THREAD, &votes));
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS,
              choose(UCS_RCACHE_PRED_HELPER_PROGRESS, 1,
                     UCS_RCACHE_PRED_MODE_PROGRESS, &votes));
    EXPECT_EQ(0u, votes);
}

TEST_F(test_policy, thread_gets_the_work_after_several_seats_in_a_row)
{
    auto conservative = UCS_RCACHE_PRED_HELPER_CONSERVATIVE;
    auto mode         = UCS_RCACHE_PRED_MODE_PROGRESS;
    unsigned votes    = 0;

    /* A program that rests every other time */
    for (unsigned i = 0; i < 100; ++i) {
        mode = choose(conservative, i % UCS_RCACHE_PRED_MODE_VOTES, mode, &votes);
        ASSERT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode);
    }

    votes = 0;
    for (unsigned i = 1; i <= UCS_RCACHE_PRED_MODE_VOTES; ++i) {
        mode = choose(conservative, 1, mode, &votes);
        ASSERT_EQ((i < UCS_RCACHE_PRED_MODE_VOTES) ? UCS_RCACHE_PRED_MODE_PROGRESS :
                                                     UCS_RCACHE_PRED_MODE_THREAD, mode);
    }

    /* It gives it back at once */
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, choose(conservative, 0, mode, &votes));
}

TEST_F(test_policy, due_when_one_more_item_would_make_it_late)
{
    EXPECT_EQ(SEC - T_P, ucs_rcache_pred_due_time(&m_times, SEC));
}

TEST_F(test_policy, due_at_once_if_the_deadline_is_too_close)
{
    EXPECT_EQ(0u, ucs_rcache_pred_due_time(&m_times, T_P));
    EXPECT_EQ(0u, ucs_rcache_pred_due_time(&m_times, T_P - 1));
    EXPECT_EQ(0u, ucs_rcache_pred_due_time(&m_times, 0));
    EXPECT_EQ(1u, ucs_rcache_pred_due_time(&m_times, T_P + 1));
}

TEST_F(test_policy, what_may_be_deregistered_is_not_due_yet)
{
    /* Otherwise it would be registered again in the same round */
    for (uint64_t deadline = SEC; deadline < SEC + 3 * T_P; deadline += 7) {
        if (ucs_rcache_pred_may_deregister(&m_times, SEC, deadline)) {
            ASSERT_GE(ucs_rcache_pred_due_time(&m_times, deadline), SEC);
        }
    }
}

TEST_F(test_policy, each_cost_counts)
{
    uint64_t *costs[] = {&m_times.reg, &m_times.dereg, &m_times.dq_item,
                         &m_times.rq_item, &m_times.wakeup};

    for (uint64_t *cost : costs) {
        ++*cost;
        EXPECT_FALSE(ucs_rcache_pred_may_deregister(&m_times, SEC, SEC + T_P));
        EXPECT_EQ(SEC - T_P - 1, ucs_rcache_pred_due_time(&m_times, SEC));
        --*cost;
    }
}

TEST_F(test_policy, spacing_is_an_item_of_each_queue)
{
    EXPECT_EQ(10000u + 2000 + 300 + 40, ucs_rcache_pred_spacing(&m_times));
}

/* Pieces */

static uint64_t bound_reserve(uint64_t max_bytes, size_t page_size = PAGE)
{
    return ucs_rcache_pred_bound_reserve(max_bytes, page_size);
}

TEST(test_policy_pieces, reserve_is_a_share_of_the_bound)
{
    EXPECT_EQ(1 * MB, bound_reserve(16 * MB));
    EXPECT_EQ(2 * MB + 1, bound_reserve(32 * MB + 16));
    EXPECT_EQ(2 * MB, bound_reserve(32 * MB + 15));
}

TEST(test_policy_pieces, reserve_holds_two_small_pieces)
{
    EXPECT_EQ(128 * KB, bound_reserve(2 * MB));
    EXPECT_EQ(128 * KB, bound_reserve(2 * MB + 15));
    EXPECT_EQ(128 * KB + 1, bound_reserve(2 * MB + 16));
    EXPECT_EQ(128 * KB, bound_reserve(UCS_RCACHE_PRED_MIN_BYTES));
    /* Of two pages each, where pages are large */
    EXPECT_EQ(256 * KB, bound_reserve(2 * MB, 64 * KB));
    /* The least bound has no room for whole regions then, but for one piece less */
    EXPECT_EQ(128 * KB, bound_reserve(UCS_RCACHE_PRED_MIN_BYTES, 64 * KB));
}

TEST(test_policy_pieces, reserve_is_not_more_than_it_takes)
{
    EXPECT_EQ(4 * MB, bound_reserve(64 * MB));
    EXPECT_EQ(4 * MB, bound_reserve(UINT64_MAX - 1));
}

TEST(test_policy_pieces, reserve_is_not_more_than_half_of_the_bound)
{
    for (uint64_t bound : {0ul, 1ul, 128 * KB - 1, 128 * KB}) {
        EXPECT_EQ(bound / 2, bound_reserve(bound));
    }
}

TEST(test_policy_pieces, no_bound_needs_no_reserve)
{
    EXPECT_EQ(0u, bound_reserve(UINT64_MAX));
}

static size_t piece_pages(double a, double b, double dereg_b, size_t pages)
{
    ucs_rcache_pred_cost_t reg = {}, dereg = {};

    reg.a   = a;
    reg.b   = b;
    dereg.a = 1e6; /* Does not matter: each page is deregistered once anyway */
    dereg.b = dereg_b;
    return ucs_rcache_pred_piece_pages(&reg, &dereg, pages);
}

TEST(test_policy_pieces, size_is_the_root)
{
    EXPECT_EQ(400u, piece_pages(50, 5000, 3000, 1000)); /* Of 1000 * 160 */
    EXPECT_EQ(10u, piece_pages(100, 100, 0, 100));
    EXPECT_EQ(10u, piece_pages(100, 0, 100, 100));
}

TEST(test_policy_pieces, size_is_the_best_there_is)
{
    /* What passes before the first byte moves, and what pieces cost more */
    auto cost = [](double c, double pages) {
        return 50 * c + 15000 * pages / c;
    };

    for (size_t pages : {301, 1000, 5000, 100000}) {
        size_t best = piece_pages(50, 10000, 5000, pages);
        for (size_t other = 1; other <= pages; other += 1 + pages / 1000) {
            /* But for the fraction of a page */
            EXPECT_LE(cost(best, pages), cost(other, pages) + 50) << pages;
        }
    }
}

TEST(test_policy_pieces, size_is_no_more_than_all)
{
    EXPECT_EQ(1u, piece_pages(50, 10000, 5000, 1));
    EXPECT_EQ(300u, piece_pages(50, 10000, 5000, 300));
    EXPECT_EQ(300u, piece_pages(50, 10000, 5000, 301));
}

TEST(test_policy_pieces, size_is_at_least_a_page)
{
    EXPECT_EQ(1u, piece_pages(50, 0, 0, 1000));
    EXPECT_EQ(1u, piece_pages(1e9, 1, 1, 1000));
}

TEST(test_policy_pieces, one_piece_where_pages_cost_nothing)
{
    EXPECT_EQ(1000u, piece_pages(0, 10000, 5000, 1000));
    EXPECT_EQ(1000u, piece_pages(0, 0, 0, 1000));
    EXPECT_EQ(1000u, piece_pages(1e-300, 1e300, 0, 1000));
}

TEST_F(test_policy, pieces_pay_if_they_cost_less_than_they_save)
{
    /* 100 ns a page; 5000 ns more for each piece */
    ucs_rcache_pred_cost_t reg = {}, dereg = {};

    reg.a   = 100;
    reg.b   = 4000;
    dereg.b = 1000;
    /* The best size is sqrt(5000 * 5000 / 100) = 500 pages */
    EXPECT_TRUE(ucs_rcache_pred_pieces_pay(&reg, &dereg, 5000, 500));
    /* 16 pages: 313 pieces cost 1.56 ms, the whole 0.5 ms */
    EXPECT_FALSE(ucs_rcache_pred_pieces_pay(&reg, &dereg, 5000, 16));
    /* A single piece, or little more, saves nothing */
    EXPECT_FALSE(ucs_rcache_pred_pieces_pay(&reg, &dereg, 5000, 5000));
    EXPECT_FALSE(ucs_rcache_pred_pieces_pay(&reg, &dereg, 5000, 2501));
    /* Nor does registration that costs nothing a page */
    reg.a = 0;
    EXPECT_FALSE(ucs_rcache_pred_pieces_pay(&reg, &dereg, 5000, 500));
}
