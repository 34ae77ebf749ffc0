/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pred_test.h>

#include <unistd.h>


/* Who does the helper's work, and what the program does of it */
class test_mode : public pred_test {
protected:
    void create_with(ucs_rcache_pred_helper_t helper)
    {
        m_params.helper = helper;
        create();
    }

    void progress() { ucs_rcache_pred_progress(m_pred); }

    /* The program waits for a communication: nothing but progress */
    void spin_until(uint64_t time)
    {
        while (now() < time) {
            m_world.advance(20 * USEC);
            progress();
        }
    }

    /* The program does not communicate; its helper thread, if any, runs */
    void compute_until(uint64_t time) { run_until(time); }

    /* Use a buffer periodically, and compute or wait in between */
    void periodic(uint64_t period, unsigned times, bool spins,
                  void *address = buffer(0), size_t length = 64 * KB)
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use(address, length, 10 * USEC);
            if (spins) {
                spin_until(start + period);
            } else {
                compute_until(start + period);
            }
        }
    }

    /* Time for so many looks at the seat, with uses going on */
    void seats(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            compute_until(now() + 250 * MSEC);
            use(buffer(50), PAGE);
            compute_until(now() + 5 * MSEC);
        }
    }

    ucs_rcache_pred_mode_t mode() { return ucs_rcache_pred_get_mode(m_pred); }
};

/* Progress */

TEST_F(test_mode, progress_lets_go_at_the_end_of_a_use)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(i), 64 * KB));
        EXPECT_EQ(0u, m_world.num_live());
    }
    EXPECT_EQ(0u, m_world.num_wakes());
}

/* Others could ask for what is kept: no reason to wait for them to */
TEST_F(test_mode, progress_lets_go_within_a_bound_of_the_node)
{
    ucs_rcache_pred_node_params_t params = {
        .max_bytes       = 1024 * MB,
        .max_regions     = UCS_RCACHE_PRED_NODE_UNLIMITED,
        .reserve         = UCS_RCACHE_PRED_NODE_RESERVE,
        .reserve_regions = UCS_RCACHE_PRED_NODE_RESERVE_REGIONS
    };
    ucs_rcache_pred_node_t *node;

    ASSERT_EQ(UCS_OK,
              test_node_join_as(&params, 0x6d6f6465ul << 32 | getpid(),
                                ucs_rcache_pred_procid_self(), &node));
    m_params.node = node;
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);

    periodic(500 * USEC, 20, true);
    ASSERT_EQ(1u, m_world.num_live()) << "its period is too short";
    use(buffer(1), 16 * MB);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(1)));

    destroy();
    ucs_rcache_pred_node_leave(node);
}

TEST_F(test_mode, progress_leaves_the_thread_nothing)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    uint64_t rounds = stats().helper_rounds;
    EXPECT_EQ(NEVER, ucs_rcache_pred_poll(m_pred));
    EXPECT_EQ(rounds, stats().helper_rounds);
}

TEST_F(test_mode, program_that_waits_registers_ahead)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    periodic(100 * MSEC, 10, true);
    stats_t before = stats();
    periodic(100 * MSEC, 10, true);

    stats_t after = stats();
    EXPECT_EQ(10u, after.hits - before.hits);
    EXPECT_EQ(10u, after.regs_helper - before.regs_helper);
    EXPECT_EQ(0u, after.time_critical - before.time_critical);
    /* And not long ahead: registered for less than a tenth of the time */
    EXPECT_LE(after.byte_ns - before.byte_ns,
              64 * KB * (after.duration - before.duration) / 10);
}

TEST_F(test_mode, program_that_computes_registers_on_demand)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    for (unsigned i = 0; i < 20; ++i) {
        periodic(100 * MSEC, 1, false);
        EXPECT_EQ(0u, m_world.num_live());
    }
    EXPECT_EQ(20u, stats().regs_critical);
    EXPECT_EQ(0u, stats().wasted);
}

TEST_F(test_mode, program_keeps_what_is_not_worth_its_time)
{
    /* 16 pages: 16.0 us both ways. Worth it from 1.02 ms on */
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    periodic(900 * USEC, 20, false);
    stats_t before = stats();
    periodic(900 * USEC, 20, false);
    EXPECT_EQ(20u, stats().hits - before.hits);
    EXPECT_EQ(0u, stats().deregs - before.deregs);

    /* A thread of its own would not keep it */
    destroy();
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    periodic(900 * USEC, 100, false);
    before = stats();
    periodic(900 * USEC, 20, false);
    EXPECT_LT(0u, stats().deregs - before.deregs);
}

TEST_F(test_mode, what_was_kept_and_is_not_used_is_let_go_of)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    periodic(900 * USEC, 20, false);
    ASSERT_EQ(1u, m_world.num_live());
    spin_until(now() + 20 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(NEVER, test_pred_due(m_pred));
}

TEST_F(test_mode, progress_without_work_is_a_load)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    progress(); /* The first time it looks for its seat */
    uint64_t looks = m_world.num_now();
    progress();
    EXPECT_EQ(looks, m_world.num_now());

    /* And with work for later, one look at the clock */
    periodic(100 * MSEC, 5, true);
    use(buffer(0), 64 * KB, 10 * USEC);
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));
    looks = m_world.num_now();
    progress();
    EXPECT_EQ(looks + 1, m_world.num_now());
}

TEST_F(test_mode, progress_takes_little_at_a_time)
{
    m_params.dq_size = 16;
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    void *memh[100];

    /* All end while somebody else holds the helper's place, most are lost, and
     * some are unmapped */
    for (unsigned i = 0; i < 100; ++i) {
        memh[i] = begin(buffer(i), PAGE);
    }
    ucs_rcache_pred_quiesce(m_pred);
    for (unsigned i = 0; i < 100; ++i) {
        end(memh[i]);
    }
    ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(40),
                             (uintptr_t)buffer(60));
    EXPECT_EQ(100u, m_world.num_live());
    ucs_rcache_pred_resume(m_pred);

    for (unsigned i = 0; (i < 1000) && (m_world.num_live() > 0); ++i) {
        unsigned deregs = m_world.num_deregs();
        m_world.advance(100 * USEC);
        progress();
        /* Of the DQ, of the stale ones, and of those swept */
        EXPECT_LE(m_world.num_deregs() - deregs, 6u);
    }
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(100u - 16, stats().dq_dropped);
    spin_until(now() + 10 * MSEC);
    EXPECT_EQ(NEVER, test_pred_due(m_pred));
}

TEST_F(test_mode, progress_does_not_wait)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    void *memh = begin(buffer(0), PAGE);

    ucs_rcache_pred_quiesce(m_pred);
    end(memh);
    progress();
    EXPECT_EQ(1u, m_world.num_live());
    ucs_rcache_pred_resume(m_pred);
    progress();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_mode, progress_does_not_enter_itself)
{
    unsigned depth = 0, deepest = 0;

    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    m_world.on_dereg = [&](const auto &r) {
        deepest = std::max(deepest, ++depth);
        if (r.address == (uintptr_t)buffer(0)) {
            end(begin(buffer(1), PAGE));
            progress();
        }
        --depth;
    };
    end(begin(buffer(0), PAGE));
    spin_until(now() + 10 * MSEC);
    m_world.on_dereg = nullptr;
    EXPECT_EQ(1u, deepest);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_mode, unmapped_memory_is_let_go_of_in_progress)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    periodic(900 * USEC, 20, false);
    ASSERT_EQ(1u, m_world.num_live());
    ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(0),
                             (uintptr_t)buffer(0, MB));
    EXPECT_EQ(0u, m_world.num_wakes());
    progress();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_mode, clock_jumps_in_progress)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    m_world.jump(20 * HOUR);
    for (int64_t jump : {10 * (int64_t)HOUR, -15 * (int64_t)HOUR}) {
        periodic(100 * MSEC, 5, true);
        m_world.jump(jump);
        stats_t before = stats();
        spin_until(now() + 100 * MSEC);
        EXPECT_LE(stats().helper_rounds - before.helper_rounds, 20u);
        periodic(100 * MSEC, 5, true);
        before = stats();
        periodic(100 * MSEC, 10, true);
        EXPECT_EQ(10u, stats().hits - before.hits);
    }
    spin_until(now() + SEC);
    EXPECT_EQ(0u, m_world.num_live());
}

/* Off, and failing */

TEST_F(test_mode, off_is_on_demand)
{
    create_with(UCS_RCACHE_PRED_HELPER_OFF);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_NONE, mode());
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_ON_DEMAND,
              ucs_rcache_pred_get_policy(m_pred));
    periodic(100 * MSEC, 10, true);
    EXPECT_EQ(10u, stats().regs_critical);
    EXPECT_EQ(10u, stats().deregs);
    EXPECT_EQ(0u, stats().hits);
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
    EXPECT_EQ(0u, m_world.num_wakes());
}

TEST_F(test_mode, without_a_helper_it_is_on_demand)
{
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_create(&m_params, &m_pred));
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_PREDICT,
              ucs_rcache_pred_get_policy(m_pred));
    ucs_rcache_pred_without_helper(m_pred);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_NONE, mode());
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_ON_DEMAND,
              ucs_rcache_pred_get_policy(m_pred));

    new_domain("fake0");
    periodic(100 * MSEC, 10, true);
    EXPECT_EQ(10u, stats().regs_critical);
    EXPECT_EQ(10u, stats().deregs);
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
}

/* Conservative and aggressive */

TEST_F(test_mode, conservative_without_a_processor_is_progress)
{
    m_world.seat.idle_cpus = 0;
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_EQ(NEVER, poll());
    end(begin(buffer(0), PAGE));
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, m_world.num_wakes());
}

TEST_F(test_mode, helper_comes_with_its_processor)
{
    m_world.seat.idle_cpus = 0;
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    seats(4);
    m_world.seat.idle_cpus = 1;
    seats(3);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_EQ(0u, m_world.num_wakes());
    seats(1);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    EXPECT_EQ(1u, m_world.num_wakes());

    /* It knows what the program knew */
    periodic(100 * MSEC, 4, false);
    stats_t before = stats();
    periodic(100 * MSEC, 10, false);
    EXPECT_EQ(10u, stats().hits - before.hits);
    EXPECT_EQ(0u, stats().late - before.late);
}

TEST_F(test_mode, helper_goes_when_others_need_it_more)
{
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    seats(2);
    ASSERT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    m_world.seat.rank = 1;
    seats(5);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    unsigned wakes = m_world.num_wakes();
    end(begin(buffer(0), PAGE));
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(wakes, m_world.num_wakes());
}

TEST_F(test_mode, helper_does_not_come_and_go)
{
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    for (unsigned i = 0; i < 40; ++i) {
        m_world.seat.rank = i % 2;
        seats(1);
        ASSERT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    }
}

TEST_F(test_mode, aggressive_allows_for_the_turns_of_others)
{
    m_world.seat = {1, 1, 2, 4 * MSEC};
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    EXPECT_EQ(8 * MSEC, test_pred_times(m_pred)->share);
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

TEST_F(test_mode, seat_is_asked_for_four_times_a_second)
{
    create_with(UCS_RCACHE_PRED_HELPER_CONSERVATIVE);
    unsigned count = m_world.num_seats();
    periodic(MSEC, 2000, false);
    EXPECT_GE(m_world.num_seats() - count, 7u);
    EXPECT_LE(m_world.num_seats() - count, 8u);

    /* And not when nothing happens */
    run_until_asleep();
    EXPECT_LE(m_world.num_seats() - count, 10u);
}

TEST_F(test_mode, demand_is_what_is_used_whoever_helps)
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

/* A thread that does not come */

TEST_F(test_mode, work_of_a_thread_that_does_not_come_is_taken_over)
{
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    poll();
    end(begin(buffer(0), PAGE));
    uint64_t start = now();
    spin_until(start + 4 * SEC);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    EXPECT_EQ(1u, m_world.num_live());

    spin_until(start + 7 * SEC);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_NE(std::string::npos,
              log_watch::take().find("found no processor"));

    /* Not again before it was seen */
    for (unsigned i = 0; i < 10; ++i) {
        m_world.advance(300 * MSEC);
        end(begin(buffer(0), PAGE));
    }
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    EXPECT_EQ(NEVER, poll());
    seats(UCS_RCACHE_PRED_MODE_VOTES);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
}

TEST_F(test_mode, thread_that_comes_is_left_the_work)
{
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    for (unsigned i = 0; i < 20 * 50; ++i) {
        /* Late, but there */
        end(begin(buffer(i % 10), PAGE));
        spin_until(now() + 20 * MSEC);
        poll();
    }
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
}

TEST_F(test_mode, jump_of_the_clock_is_not_the_threads_fault)
{
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    for (unsigned i = 0; i < 20; ++i) {
        end(begin(buffer(0), PAGE));
        progress();
        m_world.jump(10 * HOUR);
        spin_until(now() + MSEC);
        poll();
        EXPECT_EQ(UCS_RCACHE_PRED_MODE_THREAD, mode());
    }
}
