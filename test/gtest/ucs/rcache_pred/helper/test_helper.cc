/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pred_test.h>

#include <chrono>
#include <random>
#include <thread>


/* Rounds of the helper: what is registered when, while programs run */
class test_helper : public pred_test {
protected:
    static constexpr uint64_t TRANSFER = 2 * MSEC;

    void SetUp() override { create(); }

    /* A program whose communications take TRANSFER */
    program make_program()
    {
        return program([this](void *address, size_t length,
                              const context_t &ctx) {
            use(address, length, TRANSFER, ctx);
        });
    }

    /* Use a buffer periodically; begins are exactly so far apart, unless the
     * helper is in the way of the program on this one clock */
    void periodic(void *address, uint64_t period, unsigned times,
                  const context_t &ctx = context(1))
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use(address, 64 * KB, MSEC, ctx);
            run_until(start + period);
        }
    }

    /* A use in a thread of its own that waits for a registration under way */
    std::thread start_waiting_use(void **memh_p)
    {
        unsigned yields = test_num_yields();
        std::thread thread([this, memh_p] {
            *memh_p = begin(buffer(0), 64 * KB);
        });

        while (test_num_yields() == yields) {
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
        return thread;
    }

    /* Counters of what happens from now on */
    void mark() { m_mark = stats(); }

    uint64_t since_mark(uint64_t stats_t::*counter)
    {
        return stats().*counter - m_mark.*counter;
    }

    stats_t m_mark = {};
};

/* The program of figure 1: three buffers, and computation in between */

TEST_F(test_helper, figure_1_with_reuse)
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

    /* Leave-pinned would hold all three from their first use on */
    EXPECT_LE(stats().byte_ns, 3 * length * (now() - start) / 4);
    EXPECT_LE(stats().bytes_peak, 2 * length);

    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_helper, figure_1_registered_little)
{
    const size_t length = 5 * MB;
    program prog        = make_program();

    for (unsigned i = 0; i < 20; ++i) {
        for (unsigned b = 0; b < 3; ++b) {
            prog.communicate(0x400000 + b, buffer(b), length);
            run(100 * MSEC);
        }
    }

    /* 6 transfers of 2 ms in 306 ms could not do with less than 2 % */
    EXPECT_LE(stats().byte_ns, 3 * length * stats().duration / 10);
}

TEST_F(test_helper, figure_1_without_reuse)
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

class test_helper_nested : public test_helper {
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

    /* Of two inner loops in half of the outer iterations */
    static constexpr unsigned ALL = 2 * OUTER / 2;

    unsigned m_inner           = 5;  /* Iterations of the inner loops */
    unsigned m_hits[MAX_INNER] = {}; /* By iteration of the inner loop */
};

TEST_F(test_helper_nested, contexts_tell_first_iterations_apart)
{
    run_loops(1);
    EXPECT_EQ(ALL, m_hits[0]);
}

TEST_F(test_helper_nested, without_contexts_phases_tell_them_apart)
{
    run_loops(0);
    EXPECT_GE(m_hits[0], ALL - 1);
}

TEST_F(test_helper_nested, phases_of_long_loops_are_not_told_apart)
{
    m_inner = MAX_INNER;
    run_loops(0);
    EXPECT_EQ(0u, m_hits[0]);
}

TEST_F(test_helper_nested, contexts_of_long_loops_are)
{
    m_inner = MAX_INNER;
    run_loops(1);
    EXPECT_EQ(ALL, m_hits[0]);
}

TEST_F(test_helper_nested, all_iterations_hit)
{
    run_loops(2);
    for (unsigned j = 0; j < m_inner; ++j) {
        EXPECT_EQ(ALL, m_hits[j]) << "iteration " << j << " of inner loops";
    }
}

TEST_F(test_helper_nested, most_memory_is_not_registered)
{
    run_loops(2);
    EXPECT_LE(since_mark(&stats_t::byte_ns),
              2 * MB * since_mark(&stats_t::duration) / 4);
}

/* How wrong predictions are, as it is counted */

TEST_F(test_helper_nested, contexts_make_predictions_right)
{
    run_loops(2);
    EXPECT_EQ(since_mark(&stats_t::uses),
              stats().prediction_errors[0] - m_mark.prediction_errors[0]);
}

TEST_F(test_helper_nested, without_contexts_first_iterations_are_not_predicted)
{
    m_inner = MAX_INNER;
    run_loops(0);
    EXPECT_EQ(since_mark(&stats_t::uses) - ALL,
              stats().prediction_errors[0] - m_mark.prediction_errors[0]);
    for (unsigned i = 1; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        EXPECT_EQ(m_mark.prediction_errors[i], stats().prediction_errors[i]);
    }
}

TEST_F(test_helper, errors_are_counted_by_class)
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

TEST_F(test_helper, first_uses_have_no_error)
{
    /* Neither a buffer's first use, nor its second */
    for (unsigned i = 0; i < 8; ++i) {
        use(buffer(i % 4), PAGE, 10 * USEC);
        run(100 * MSEC);
    }

    for (unsigned i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        EXPECT_EQ(0u, stats().prediction_errors[i]) << "class " << i;
    }
}

/* Deadlines met and unmet */

TEST_F(test_helper, first_use_is_always_deregistered)
{
    use(buffer(0), MB);
    run(10 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, test_pred_rq_length(m_pred));
}

TEST_F(test_helper, predicted_region_waits_unregistered)
{
    periodic(buffer(0), 200 * MSEC, 1);
    use(buffer(0), 64 * KB, MSEC);
    run(20 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(1u, test_pred_rq_length(m_pred));
}

TEST_F(test_helper, registration_ahead_is_just_in_time)
{
    periodic(buffer(0), 200 * MSEC, 8);
    /* It began 200 ms ago, and is about to begin again */
    EXPECT_EQ(1u, m_world.num_live_at(buffer(0)));
    EXPECT_LE(test_pred_num_regions(m_pred), 1u);

    uint64_t predicted = now();
    void *memh         = begin(buffer(0), 64 * KB);
    EXPECT_LE(now() - predicted, 0u);
    EXPECT_EQ(0u, stats().early);
    EXPECT_EQ(0u, stats().late);
    end(memh);
}

TEST_F(test_helper, registration_ahead_has_all_the_flags)
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

TEST_F(test_helper, registration_ahead_is_as_long_as_recent_uses)
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

TEST_F(test_helper, period_too_short_keeps_the_region)
{
    /* Less than a registration and a deregistration take */
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

    run_until_asleep(); /* and not for ever */
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, since_mark(&stats_t::wasted)) << "nothing came from ahead";
}

TEST_F(test_helper, unmet_deadline_is_waste)
{
    periodic(buffer(0), 200 * MSEC, 4);
    int confidence = test_pred_confidence(m_pred, (uintptr_t)buffer(0));
    EXPECT_EQ(1u, m_world.num_live());

    run(SEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(1u, stats().wasted);
    EXPECT_EQ(confidence - 1,
              test_pred_confidence(m_pred, (uintptr_t)buffer(0)));

    run_until_asleep();
    EXPECT_EQ(1u, stats().wasted) << "one use that never came";
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_helper, region_that_keeps_disappointing_is_left_alone)
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

TEST_F(test_helper, doubted_region_has_to_be_regular_for_a_while)
{
    std::mt19937 random(1);

    /* Every other prediction is wrong, and nobody can tell which */
    for (unsigned i = 0; i < 40; ++i) {
        use(buffer(0), 64 * KB, MSEC);
        run((random() % 2) ? (100 * MSEC) : (2 * SEC));
    }
    EXPECT_LE(stats().wasted, 7u) << "each doubles the doubt";

    mark();
    periodic(buffer(0), 101 * MSEC, 3);
    EXPECT_EQ(0u, since_mark(&stats_t::regs_helper));
    periodic(buffer(0), 101 * MSEC, 20);
    EXPECT_GE(since_mark(&stats_t::hits), 13u);
}

TEST_F(test_helper, kept_region_loses_confidence_too)
{
    m_world.set_reg_cost(0, 2 * MSEC);
    m_world.set_dereg_cost(0, 2 * MSEC);
    periodic(buffer(0), 5 * MSEC, 20);
    mark();
    periodic(buffer(0), 5 * MSEC, 5);
    ASSERT_EQ(5u, since_mark(&stats_t::hits));
    ASSERT_EQ(0u, since_mark(&stats_t::regs_helper));

    int confidence = test_pred_confidence(m_pred, (uintptr_t)buffer(0));
    run_until_asleep();
    EXPECT_EQ(confidence - 1,
              test_pred_confidence(m_pred, (uintptr_t)buffer(0)));
    EXPECT_EQ(0u, since_mark(&stats_t::wasted));
}

TEST_F(test_helper, use_whose_entry_is_on_the_way_has_come)
{
    periodic(buffer(0), 200 * MSEC, 3);
    ASSERT_EQ(1u, test_pred_watch_length(m_pred));
    int confidence = test_pred_confidence(m_pred, (uintptr_t)buffer(0));

    /* The helper comes late: another entry is first, and the wait is over */
    end(begin(buffer(1), 64 * KB));
    end(begin(buffer(0), 64 * KB));
    m_world.advance(SEC);
    poll();

    EXPECT_EQ(0u, stats().wasted);
    EXPECT_EQ(confidence + 1,
              test_pred_confidence(m_pred, (uintptr_t)buffer(0)));
}

TEST_F(test_helper, use_before_its_registration_is_late)
{
    periodic(buffer(0), 200 * MSEC, 4);
    use(buffer(0), 64 * KB, MSEC);
    run(50 * MSEC);
    mark();
    use(buffer(0), 64 * KB, MSEC); /* A quarter into the period */

    EXPECT_EQ(0u, since_mark(&stats_t::hits));
    EXPECT_EQ(1u, since_mark(&stats_t::late));
    EXPECT_EQ(1u, since_mark(&stats_t::regs_critical));
}

TEST_F(test_helper, miss_that_nobody_predicted_is_not_late)
{
    use(buffer(0), 64 * KB);
    run(SEC);
    use(buffer(0), 64 * KB);
    EXPECT_EQ(0u, stats().late);
}

TEST_F(test_helper, use_waits_for_the_registration_under_way)
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

TEST_F(test_helper, use_waiting_for_another_use_is_not_late)
{
    std::thread thread;
    void *memh = NULL;

    /* Late is what came before a registration predicted for it */
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

TEST_F(test_helper, registration_long_before_its_use_is_early)
{
    periodic(buffer(0), 200 * MSEC, 4);

    /* A tenth of a period after its time is no fault of ours */
    mark();
    use(buffer(0), 64 * KB, MSEC);
    run(200 * MSEC + 15 * MSEC);
    use(buffer(0), 64 * KB, MSEC);
    EXPECT_EQ(2u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::early));

    /* After a use that came at half the time, much is prepared too early */
    run(100 * MSEC);
    use(buffer(0), 64 * KB, MSEC);
    mark();
    for (unsigned i = 0; i < 3; ++i) {
        run(130 * MSEC);
        use(buffer(0), 64 * KB, MSEC);
    }
    EXPECT_GE(since_mark(&stats_t::early), 1u);
}

/* Learning */

TEST_F(test_helper, jitter_is_tolerated)
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

TEST_F(test_helper, jitter_in_every_of_several_buffers)
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

TEST_F(test_helper, burst_is_forgotten)
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

TEST_F(test_helper, change_of_period_is_learnt)
{
    for (uint64_t period : {200 * MSEC, 60 * MSEC, 500 * MSEC}) {
        periodic(buffer(0), period, m_params.history + 4);
        mark();
        periodic(buffer(0), period, 10);
        EXPECT_EQ(10u, since_mark(&stats_t::hits)) << period;
    }
}

TEST_F(test_helper, communication_phase_does_not_pile_up)
{
    /* All buffers at once: deadlines have to be moved apart, or all but the
     * first would be late by the registrations before theirs */
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

TEST_F(test_helper, own_work_is_not_taken_for_registration)
{
    /* Costs that vary: what a registration takes less than expected is not
     * work on the queues, of which there is none on this clock */
    std::mt19937 random(1);

    for (unsigned i = 0; i < 300; ++i) {
        m_world.set_reg_cost(0, 80 * USEC + random() % (40 * USEC));
        m_world.set_dereg_cost(0, 40 * USEC + random() % (20 * USEC));
        uint64_t start = now();
        use(buffer(0), PAGE, MSEC);
        run_until(start + 100 * MSEC);
    }

    EXPECT_LE(test_pred_times(m_pred)->rq_item, 20 * USEC);
    EXPECT_LE(test_pred_times(m_pred)->dq_item, 10 * USEC);
}

TEST_F(test_helper, costs_are_learnt)
{
    m_world.set_reg_cost(400, 70000);
    for (unsigned i = 0; i < 200; ++i) {
        use(buffer(i % 10), (1 + i % 7) * 20 * PAGE, MSEC);
        run(10 * MSEC);
    }
    EXPECT_NEAR(400 * 64 + 70000, test_pred_reg_estimate(domain(), 64), 2000);
}

TEST_F(test_helper, late_sleep_is_allowed_for)
{
    /* Half a millisecond too late, every time */
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
    EXPECT_GE(test_pred_times(m_pred)->wakeup, 400 * USEC);
}

/* Sleep */

TEST_F(test_helper, nothing_to_do_is_deep_sleep)
{
    EXPECT_EQ(NEVER, poll());
    EXPECT_EQ(NEVER, poll());
    EXPECT_EQ(0u, m_world.num_wakes());
}

TEST_F(test_helper, use_wakes_once)
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

TEST_F(test_helper, no_wake_while_uses_keep_coming)
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

TEST_F(test_helper, unmap_wakes)
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

TEST_F(test_helper, sleep_ends_in_time_for_a_deadline)
{
    periodic(buffer(0), 10 * SEC, 3);
    use(buffer(0), 64 * KB);
    run(SEC);

    /* Asleep, but with a time to wake up */
    uint64_t next = poll();
    EXPECT_TRUE(test_pred_is_asleep(m_pred));
    EXPECT_GT(next, now() + 5 * SEC);
    EXPECT_NE(NEVER, next);

    unsigned wakes = m_world.num_wakes();
    use(buffer(1), PAGE); /* and anything before that wakes it */
    EXPECT_EQ(wakes + 1, m_world.num_wakes());
}

TEST_F(test_helper, rounds_are_few_when_nothing_happens)
{
    periodic(buffer(0), 100 * MSEC, 4);
    uint64_t looks = m_world.num_now();

    run(3600 * SEC);
    EXPECT_LE(m_world.num_now() - looks, 200u);
}

/* Rounds interrupt whoever runs on the helper's processor */

TEST_F(test_helper, rounds_are_few_while_short_periods_are_kept)
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
    /* 90 ms: one in 4 ms */
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 25u);
}

TEST_F(test_helper, rounds_keep_up_with_periods_that_are_worth_it)
{
    /* While uses of another buffer keep the helper from sleeping */
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

    /* Periods of 20 ms: looked at within 1.25 ms, not 4 */
    EXPECT_EQ(199u + 4, since_mark(&stats_t::hits));
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 100u + 20);
    EXPECT_LE(stats().bytes_avg, MB * 3 / 20);
}

/* Clocks that are not as they should be */

TEST_F(test_helper, clock_jumps_forward)
{
    periodic(buffer(0), 100 * MSEC, 10);
    m_world.jump(10 * HOUR);
    mark();
    run(SEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 20u);

    /* One odd interval does not count */
    periodic(buffer(0), 100 * MSEC, 3);
    mark();
    periodic(buffer(0), 100 * MSEC, 10);
    EXPECT_EQ(10u, since_mark(&stats_t::hits));
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
    m_world.set_reg_cost(0, SEC); /* Too long to be given up now */
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

/* What is lost is found again */

TEST_F(test_helper, dropped_entries_are_found_by_the_sweep)
{
    m_params.dq_size = 2;
    recreate();
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(i), PAGE));
    }

    poll();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(8u, stats().dq_dropped);
}

TEST_F(test_helper, region_in_use_is_not_swept)
{
    m_params.dq_size = 2;
    recreate();
    void *memh = begin(buffer(100), PAGE);
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(i), PAGE));
    }

    poll();
    EXPECT_EQ(1u, m_world.num_live());
    end(memh);
    poll();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_helper, dropped_entry_of_a_scheduled_region_is_found)
{
    m_params.dq_size = 2;
    recreate();
    periodic(buffer(0), 200 * MSEC, 3);
    use(buffer(0), 64 * KB, MSEC);
    run(20 * MSEC);
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));

    /* Used before its time, and nobody hears of it */
    end(begin(buffer(0), 64 * KB));
    for (unsigned i = 1; i < 5; ++i) {
        end(begin(buffer(i), PAGE));
    }
    poll();
    ASSERT_EQ(3u, stats().dq_dropped);

    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_helper, dropped_entry_of_a_watched_region_is_found)
{
    m_params.dq_size = 2;
    recreate();
    periodic(buffer(0), 200 * MSEC, 4);
    ASSERT_EQ(1u, test_pred_watch_length(m_pred));

    end(begin(buffer(0), 64 * KB));
    for (unsigned i = 1; i < 5; ++i) {
        end(begin(buffer(i), PAGE));
    }
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, stats().wasted);
}

TEST_F(test_helper, producer_that_does_not_come_back_delays_but_blocks_nothing)
{
    test_dq_take_ticket(test_pred_dq(m_pred));
    end(begin(buffer(0), PAGE));
    EXPECT_EQ(1u, m_world.num_live());

    run(SEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(1u, stats().dq_dropped);
    run_until_asleep();
}

TEST_F(test_helper, steady_uses_do_not_starve_the_rest)
{
    /* Every deregistration ends another use, so that the DQ is never empty
     * while one round lasts: what is due must be done all the same */
    unsigned next = 1000, given_up = 0;

    periodic(buffer(0), 200 * MSEC, 4);
    ASSERT_EQ(1u, m_world.num_live_at(buffer(0)));
    m_world.set_dereg_cost(0, MSEC);
    m_world.on_dereg = [&](const auto &r) {
        if (r.address == (uintptr_t)buffer(0)) {
            given_up = next;
        } else if (next < 3000) {
            end(begin(buffer(next++), PAGE));
        }
    };
    end(begin(buffer(next++), PAGE));
    while (m_world.num_live_at(buffer(0)) && (next < 3000)) {
        m_world.advance_to(ucs_rcache_pred_poll(m_pred));
    }
    m_world.on_dereg = nullptr;

    /* Its prediction expired after 225 ms: 225 deregistrations */
    EXPECT_GT(given_up, 1000u);
    EXPECT_LT(given_up, 1300u);
    run_until_asleep();
}

/* Bounds on what is remembered */

TEST_F(test_helper, garbage_is_collected)
{
    m_params.known_regions = 16;
    recreate();
    for (unsigned i = 0; i < 1000; ++i) {
        use(buffer(0, i * PAGE), PAGE, 10 * USEC);
        run(MSEC);
        ASSERT_LE(test_pred_num_regions(m_pred), 100u);
    }
}

TEST_F(test_helper, garbage_is_collected_before_sleep)
{
    m_params.known_regions = 16;
    m_params.dq_size     = 2048;
    recreate();
    for (unsigned i = 0; i < 1000; ++i) {
        end(begin(buffer(0, i * PAGE), PAGE));
    }

    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_LE(test_pred_num_regions(m_pred), 16u);
}

TEST_F(test_helper, predicted_regions_are_not_garbage)
{
    m_params.known_regions = 16;
    recreate();
    for (unsigned i = 0; i < 20; ++i) {
        if (i == 3) {
            mark();
        }
        uint64_t start = now();
        use(buffer(0), PAGE, MSEC);
        for (unsigned b = 0; (b < 40) && (i >= 2); ++b) {
            /* Much that is used once only */
            use(buffer(1, (i * 40 + b) * PAGE), PAGE, MSEC);
        }
        run_until(start + 500 * MSEC);
    }

    EXPECT_EQ(17u, since_mark(&stats_t::hits));
}

TEST_F(test_helper, few_call_sites_are_enough_to_live)
{
    m_params.max_sites = 16;
    recreate();
    for (unsigned i = 0; i < 5; ++i) {
        uint64_t start = now();
        for (unsigned b = 0; b < 100; ++b) {
            use(buffer(0, b * PAGE), PAGE, 100 * USEC, context(b));
        }
        EXPECT_LE(test_pred_num_sites(m_pred), 16u);
        run_until(start + SEC);
    }

    /* Regions remember on their own */
    EXPECT_GE(stats().hits, 200u);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_helper, forgotten_region_takes_its_call_sites_along)
{
    for (unsigned i = 0; i < 10; ++i) {
        use(buffer(0), PAGE, MSEC, context(i));
    }
    run(10 * MSEC);
    EXPECT_EQ(10u + 9, test_pred_num_sites(m_pred)) << "all but one in a phase";

    ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(0),
                             (uintptr_t)buffer(0, PAGE));
    run(10 * MSEC);
    EXPECT_EQ(0u, test_pred_num_sites(m_pred));
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
}

TEST_F(test_helper, entry_of_a_forgotten_region_is_ignored)
{
    end(begin(buffer(0), PAGE));
    destroy_domain(0);
    new_domain("fake1");
    /* The same region structure, recycled, while the old entry is queued */
    void *memh = begin(buffer(1), PAGE, 0, domain(1));

    poll();
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(0u, test_pred_num_sites(m_pred));
    end(memh, domain(1));
}

/* Domains */

TEST_F(test_helper, domain_goes_with_all_it_has)
{
    domain_t *other = new_domain("fake1");

    periodic(buffer(0), 200 * MSEC, 4); /* Registered ahead, watched */
    periodic(buffer(1), 100 * MSEC, 2);
    use(buffer(1), 64 * KB);            /* In the RQ */
    run(10 * MSEC);
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));
    end(begin(buffer(2), PAGE));        /* In the DQ */
    end(begin(buffer(0), PAGE, 0, other), other);

    destroy_domain(0);
    EXPECT_EQ(1u, m_world.num_live());
    EXPECT_EQ(1u, test_pred_num_regions(m_pred));
    EXPECT_EQ(0u, test_pred_rq_length(m_pred));
    EXPECT_EQ(0u, test_pred_watch_length(m_pred));
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

TEST_F(test_helper, purge_of_a_watched_region)
{
    periodic(buffer(0), 200 * MSEC, 4);
    ASSERT_EQ(1u, test_pred_watch_length(m_pred));

    ucs_rcache_pred_purge(m_pred);
    EXPECT_EQ(0u, m_world.num_live());
    run_until_asleep();
    EXPECT_EQ(0u, stats().wasted) << "it was taken away";

    periodic(buffer(0), 200 * MSEC, 3);
    mark();
    periodic(buffer(0), 200 * MSEC, 5);
    EXPECT_EQ(5u, since_mark(&stats_t::hits));
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
    use(buffer(0), 64 * KB, MSEC); /* and the next one is predicted again */
    EXPECT_EQ(1u, since_mark(&stats_t::hits));
}
