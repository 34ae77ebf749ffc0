/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"


/* The programs of the paper's figures, and how wrong predictions about them
 * are */
class test_figures : public helper_test {
};

/* The program of figure 1: three buffers, and computation in between */

TEST_F(test_figures, figure_1_with_reuse)
{
    const size_t length = 5 * MB;
    program prog        = make_program();
    uint64_t start      = now();

    for (unsigned i = 0; i < 20; ++i) {
        if (i == 2) {
            mark();
        }
        for (unsigned b = 0; b < 3; ++b) {
            prog.communicate(0x400000 + b, buffer(b), length);
            run(100 * MSEC);
        }
    }

    EXPECT_EQ(18u * 3, since_mark(&stats_t::uses));
    EXPECT_EQ(18u * 3, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::late));
    EXPECT_EQ(0u, since_mark(&stats_t::time_critical));

    /* Leave-pinned would have all three registered from their first use on */
    EXPECT_LE(stats().byte_ns, 3 * length * (now() - start) / 4);
    EXPECT_LE(stats().bytes_peak, 2 * length);

    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_figures, figure_1_registered_little)
{
    const size_t length = 5 * MB;
    program prog        = make_program();

    for (unsigned i = 0; i < 20; ++i) {
        for (unsigned b = 0; b < 3; ++b) {
            prog.communicate(0x400000 + b, buffer(b), length);
            run(100 * MSEC);
        }
    }

    /* Three transfers of 2 ms in 306 ms cannot do with less than 2 % */
    EXPECT_LE(stats().byte_ns, 3 * length * stats().duration / 10);
}

TEST_F(test_figures, figure_1_without_reuse)
{
    const size_t length = 5 * MB;
    program prog        = make_program();

    for (unsigned i = 0; i < 60; ++i) {
        prog.communicate(0x400000 + i % 3, buffer(i), length);
        run(100 * MSEC);
        EXPECT_EQ(0u, m_world.num_live());
    }

    EXPECT_EQ(60u, stats().deregs);
    EXPECT_EQ(0u, stats().regs_helper);
    EXPECT_EQ(0u, stats().wasted);
    EXPECT_EQ(length, stats().bytes_peak);
}

/* Figure 4: the first iteration of an inner loop comes after another loop */

class test_figures_nested : public test_figures {
protected:
    static constexpr unsigned MAX_INNER = 12;
    static constexpr unsigned OUTER     = 12;

    void run_loops(unsigned window_length)
    {
        program prog([this](void *address, size_t length,
                            const context_t &ctx) {
            use(address, length, MSEC, ctx);
        }, window_length);

        for (unsigned i = 0; i < OUTER; ++i) {
            if (i == OUTER / 2) {
                mark();
            }
            run_inner(prog, i, 0, 50 * MSEC);
            run_inner(prog, i, 1, 80 * MSEC);
        }
    }

    void run_inner(program &prog, unsigned i, unsigned b, uint64_t period)
    {
        for (unsigned j = 0; j < m_inner; ++j) {
            uint64_t hits = stats().hits;
            prog.communicate(0x401000 + b, buffer(b), MB);
            run(period);
            if (i >= OUTER / 2) {
                m_hits[j] += stats().hits - hits;
            }
        }
    }

    /* The uses of one inner iteration: in two inner loops, in half of the outer
     * iterations */
    static constexpr unsigned ALL = 2 * OUTER / 2;

    unsigned m_inner           = 5;  /* Iterations of the inner loops */
    unsigned m_hits[MAX_INNER] = {}; /* By iteration of the inner loop */
};

TEST_F(test_figures_nested, contexts_tell_first_iterations_apart)
{
    run_loops(1);
    EXPECT_EQ(ALL, m_hits[0]);
}

TEST_F(test_figures_nested, without_contexts_phases_tell_them_apart)
{
    run_loops(0);
    EXPECT_GE(m_hits[0], ALL - 1);
}

TEST_F(test_figures_nested, phases_of_long_loops_are_not_told_apart)
{
    m_inner = MAX_INNER;
    run_loops(0);
    EXPECT_EQ(0u, m_hits[0]);
}

TEST_F(test_figures_nested, contexts_of_long_loops_are)
{
    m_inner = MAX_INNER;
    run_loops(1);
    EXPECT_EQ(ALL, m_hits[0]);
}

TEST_F(test_figures_nested, all_iterations_hit)
{
    run_loops(2);
    for (unsigned j = 0; j < m_inner; ++j) {
        EXPECT_EQ(ALL, m_hits[j]) << "iteration " << j << " of inner loops";
    }
}

TEST_F(test_figures_nested, most_memory_is_not_registered)
{
    run_loops(2);
    EXPECT_LE(since_mark(&stats_t::byte_ns),
              2 * MB * since_mark(&stats_t::duration) / 4);
}

/* The statistics count how wrong predictions are */

TEST_F(test_figures_nested, contexts_make_predictions_right)
{
    run_loops(2);
    EXPECT_EQ(since_mark(&stats_t::uses),
              stats().prediction_errors[0] - m_mark.prediction_errors[0]);
}

TEST_F(test_figures_nested, without_contexts_first_iterations_are_not_predicted)
{
    m_inner = MAX_INNER;
    run_loops(0);
    EXPECT_EQ(since_mark(&stats_t::uses) - ALL,
              stats().prediction_errors[0] - m_mark.prediction_errors[0]);
    for (unsigned i = 1; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        EXPECT_EQ(m_mark.prediction_errors[i], stats().prediction_errors[i]);
    }
}

TEST_F(test_figures, errors_are_counted_by_class)
{
    /* 100 ms are predicted from the third use on, but not 400 ms later */
    const uint64_t intervals[] = {100, 100, 104, 120, 400, 60};
    const uint64_t expected[UCS_RCACHE_PRED_ERROR_CLASSES] = {1, 0, 1, 0, 1, 1};

    for (uint64_t interval : intervals) {
        uint64_t start = now();
        use(buffer(0), PAGE, 10 * USEC);
        run_until(start + interval * MSEC);
    }
    use(buffer(0), PAGE, 10 * USEC);
    run(MSEC);

    for (unsigned i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        EXPECT_EQ(expected[i], stats().prediction_errors[i]) << "class " << i;
    }
}

TEST_F(test_figures, first_uses_have_no_error)
{
    /* Neither the first use of a buffer nor its second one was predicted, if no
     * other buffer is used in the same place */
    for (unsigned i = 0; i < 8; ++i) {
        use(buffer(i % 4), PAGE, 10 * USEC, context(1 + i % 4));
        run(100 * MSEC);
    }

    for (unsigned i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        EXPECT_EQ(0u, stats().prediction_errors[i]) << "class " << i;
    }
}
