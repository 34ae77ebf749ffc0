/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/no_memory.h>
#include <common/timelines.h>

#include <gtest/gtest.h>

extern "C" {
#include <common/c_access.h>
#include "../../periodicity/pattern.h"
#include "../../periodicity/periodicity.h"
}


class test_pattern : public ::testing::Test {
protected:
    void init(unsigned window)
    {
        ASSERT_EQ(UCS_OK, predreg_pattern_init(&m_pattern, window));
    }

    void TearDown() override { predreg_pattern_cleanup(&m_pattern); }

    /* Add a sample for each letter, each so much later than the one before */
    void add(const std::string &values, uint64_t step = 10)
    {
        for (char value : values) {
            m_time += step;
            predreg_pattern_add(&m_pattern, value, m_time);
        }
    }

    unsigned period() const { return predreg_pattern_period(&m_pattern); }
    uint64_t interval() const { return predreg_pattern_interval(&m_pattern); }

    predreg_pattern_t m_pattern;
    uint64_t          m_time = 0;
};

TEST_F(test_pattern, takes_a_window_and_a_period_to_learn)
{
    init(4);
    add("abcabc");
    EXPECT_EQ(0u, period());
    EXPECT_EQ(0u, interval());
    add("a");
    EXPECT_EQ(3u, period());
    EXPECT_EQ(30u, interval());
}

TEST_F(test_pattern, shortest_period)
{
    init(8);
    add("aaaaaaaaa");
    EXPECT_EQ(1u, period());
    add("abababababab");
    EXPECT_EQ(2u, period());
}

TEST_F(test_pattern, ends_with_another_value)
{
    init(4);
    add("abababab");
    EXPECT_EQ(2u, period());
    add("b");
    EXPECT_EQ(0u, period());
    add("abab");
    EXPECT_EQ(0u, period()) << "a full window is compared again";
    add("ab");
    EXPECT_EQ(2u, period());
}

TEST_F(test_pattern, period_is_less_than_the_window)
{
    init(3);
    add("abcabcabcabcabc");
    EXPECT_EQ(0u, period());
    predreg_pattern_cleanup(&m_pattern);

    init(4);
    add("abcabcabcabcabc");
    EXPECT_EQ(3u, period());
}

/* A value may come several times in a period. What is expected after it is what
 * followed it a period ago. */
TEST_F(test_pattern, intervals_by_position)
{
    init(6);
    add("aabcaabcaab", 10);
    EXPECT_EQ(4u, period());
    add("c");
    EXPECT_EQ(40u, interval());
    add("a");
    EXPECT_EQ(10u, interval());
    add("a");
    EXPECT_EQ(30u, interval());
}

TEST_F(test_pattern, times_of_the_last_period)
{
    init(2);
    add("aaaa", 10);
    EXPECT_EQ(10u, interval());
    add("a", 50);
    EXPECT_EQ(50u, interval());
}


class test_periodicity : public ::testing::Test {
protected:
    static constexpr uint64_t USEC = made_program::USEC;
    static constexpr uint64_t MSEC = made_program::MSEC;
    static constexpr uint64_t PAGE = made_program::PAGE;

    /* Its result for a program */
    class replayed : public ::replayed {
    public:
        replayed(made_program &program, unsigned window) :
            ::replayed([&](predreg_replay_result_t *result) {
                return play(program, window, result);
            })
        {
        }
    };

    static ucs_status_t play(made_program &program, unsigned window,
                             predreg_replay_result_t *result)
    {
        auto params = replay_params(program.timeline(), PREDREG_REPLAY_PREDICT);

        return periodicity_replay(program.timeline(), &params, window, result);
    }

    /* 100 us to register, 50 us to deregister */
    static void set_costs(made_program &program)
    {
        program.reg   = {0, 100.0 * USEC};
        program.dereg = {0, 50.0 * USEC};
    }
};

TEST_F(test_periodicity, periodic)
{
    made_program program = made_program::periodic(100, 10 * MSEC, 1 * MSEC,
                                                  PAGE);
    set_costs(program);
    replayed result(program, 4);

    /* It takes 5 uses until there is a pattern */
    EXPECT_EQ(100u, result->uses);
    EXPECT_EQ(95u, result->hits);
    EXPECT_EQ(0u, result->late);
    EXPECT_EQ(0u, result->early);
    EXPECT_EQ(0u, result->wasted);
    /* One registration is for the use that does not come */
    EXPECT_EQ(101u, result->regs);
    EXPECT_EQ(5 * 100 * USEC, result->waited);
    EXPECT_EQ(100 * 1 * MSEC * PAGE, result.byte_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(101 * 100 * USEC * PAGE, result.byte_ns(PREDREG_CAUSE_REG));
    EXPECT_EQ(100 * 50 * USEC * PAGE, result.byte_ns(PREDREG_CAUSE_DEREG));
}

/* The time for which the program waits does not change what is predicted */
TEST_F(test_periodicity, errors)
{
    made_program program = made_program::periodic(100, 10 * MSEC, 1 * MSEC,
                                                  PAGE);
    set_costs(program);
    replayed result(program, 4);

    EXPECT_EQ(95u, result->prediction_errors[0]);
    for (unsigned i = 1; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        EXPECT_EQ(0u, result->prediction_errors[i]);
    }
}

TEST_F(test_periodicity, kept_if_the_gap_is_short)
{
    made_program program = made_program::periodic(100, 1140 * USEC, 1 * MSEC,
                                                  PAGE);
    set_costs(program);
    replayed result(program, 4);

    EXPECT_EQ(95u, result->hits);
    EXPECT_EQ(5u, result->regs);
    EXPECT_EQ(95 * 140 * USEC * PAGE, result.byte_ns(PREDREG_CAUSE_KEPT));
}

TEST_F(test_periodicity, on_demand_without_a_pattern)
{
    made_program program = made_program::periodic(100, 10 * MSEC, 1 * MSEC,
                                                  PAGE);
    set_costs(program);
    replayed result(program, 100);

    EXPECT_EQ(0u, result->hits);
    EXPECT_EQ(100 * 100 * USEC, result->waited);
}

/* The use that was expected never comes: its registration is given up after a
 * quarter of a period */
TEST_F(test_periodicity, wasted)
{
    made_program program = made_program::periodic(10, 10 * MSEC, 1 * MSEC,
                                                  PAGE);
    set_costs(program);
    program.last_until(1000 * MSEC);
    replayed result(program, 4);

    EXPECT_EQ(1u, result->wasted);
    EXPECT_EQ(2500 * USEC * PAGE, result.byte_ns(PREDREG_CAUSE_WASTED));
    EXPECT_EQ(11u, result->regs);
    EXPECT_EQ(5u, result->hits);
}

/* One use comes while its memory is being registered */
TEST_F(test_periodicity, late)
{
    made_program program = made_program::periodic(10, 10 * MSEC, 1 * MSEC,
                                                  PAGE);
    set_costs(program);
    program.use(100 * MSEC - 40 * USEC, 101 * MSEC, program.buffer(0), PAGE);
    replayed result(program, 4);

    EXPECT_EQ(1u, result->late);
    EXPECT_EQ(5u, result->hits);
    EXPECT_EQ(5 * 100 * USEC + 40 * USEC, result->waited);
    EXPECT_EQ(0u, result->wasted);
    EXPECT_EQ(6u, result->prediction_errors[0]) << "the last one of 0.4 %";
}

/* Another one comes before its memory is registered at all */
TEST_F(test_periodicity, too_late)
{
    made_program program = made_program::periodic(10, 10 * MSEC, 1 * MSEC,
                                                  PAGE);
    set_costs(program);
    program.use(98 * MSEC, 99 * MSEC, program.buffer(0), PAGE);
    replayed result(program, 4);

    EXPECT_EQ(0u, result->late);
    EXPECT_EQ(5u, result->hits);
    EXPECT_EQ(6 * 100 * USEC, result->waited);
    EXPECT_EQ(11u, result->regs);
    EXPECT_EQ(1u, result->prediction_errors[4]) << "25 %";
}

TEST_F(test_periodicity, unmap)
{
    made_program program = made_program::periodic(20, 10 * MSEC, 1 * MSEC,
                                                  PAGE);
    set_costs(program);
    program.unmap(95 * MSEC, program.buffer(0), PAGE);  /* Idle */
    /* The region is idle, or in use */
    program.unmap(155500 * USEC, program.buffer(0), 1);
    replayed result(program, 4);

    EXPECT_EQ(20u, result->uses);
    EXPECT_EQ(20u - 5 - 2, result->hits);
}

TEST_F(test_periodicity, unmap_in_use)
{
    made_program program;
    set_costs(program);
    for (unsigned i = 0; i < 10; ++i) {
        program.use(i * 10 * MSEC, i * 10 * MSEC + MSEC, program.buffer(0),
                    PAGE);
    }
    program.use(100 * MSEC, 109 * MSEC, program.buffer(0), PAGE);
    program.unmap(105 * MSEC, program.buffer(0), PAGE);
    program.use(107 * MSEC, 108 * MSEC, program.buffer(0), PAGE);
    replayed result(program, 4);

    /* There are two registrations at once: the old one still serves its use */
    EXPECT_EQ(2 * PAGE, result->pinned.peak_bytes);
    EXPECT_EQ(6u, result->hits);
}

/* The program ends while memory that was unmapped is still being registered:
 * what would have come of it does not count */
TEST_F(test_periodicity, unmap_while_registering_at_the_end)
{
    made_program program;

    set_costs(program);
    for (unsigned i = 0; i < 20; ++i) {
        program.use(i * 10 * MSEC, i * 10 * MSEC + MSEC, program.buffer(0),
                    PAGE);
    }
    program.unmap(200 * MSEC - 50 * USEC, program.buffer(0), PAGE);
    program.last_until(200 * MSEC - 40 * USEC);
    replayed result(program, 4);

    /* 5 uses wait before there is a pattern, and all after them is later */
    EXPECT_EQ(5 * 100 * USEC, result->waited);
    EXPECT_EQ(21u, result->regs);
    EXPECT_EQ((20 * 100 + 60) * USEC * PAGE,
              result.byte_ns(PREDREG_CAUSE_REG));
    EXPECT_EQ(20 * 50 * USEC * PAGE, result.byte_ns(PREDREG_CAUSE_DEREG));
    EXPECT_EQ((int64_t)result->duration, result.curve().back().first);
    ASSERT_EQ(1u, result->num_sites);
    EXPECT_GE(result->pinned.byte_seconds, result->sites[0].byte_seconds);
}

/* Nothing counts twice, or after the end: the sites have all of the memory but
 * what was registered in vain */
TEST_F(test_periodicity, counts_memory_once)
{
    for (unsigned seed = 1; seed <= 100; ++seed) {
        made_program program = made_program::random(seed, 300);

        set_costs(program);
        replayed result(program, 2 + seed % 8);
        double sites = 0;

        for (unsigned i = 0; i < result->num_sites; ++i) {
            sites += result->sites[i].byte_seconds;
        }
        EXPECT_GE(result->pinned.byte_seconds * (1 + 1e-9), sites) << seed;
        EXPECT_GE((int64_t)result->duration, result.curve().back().first)
                << seed;
    }
}

TEST_F(test_periodicity, memory_runs_out)
{
    made_program program = made_program::periodic(20, 10 * MSEC, 1 * MSEC,
                                                  PAGE);
    program.unmap(105500 * USEC, program.buffer(0), PAGE);

    auto params = replay_params(program.timeline(), PREDREG_REPLAY_PREDICT);
    unsigned count = end_without_memory([&]() {
        predreg_replay_result_t result;

        return periodicity_replay(program.timeline(), &params, 20, &result) ==
               UCS_ERR_NO_MEMORY;
    });
    EXPECT_GE(count, 20u);
}
