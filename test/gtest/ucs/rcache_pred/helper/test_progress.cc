/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mode_test.h"

#include <unistd.h>


/* The program does the helper's work while it waits for communication */
class test_progress : public mode_test {
};

TEST_F(test_progress, progress_lets_go_at_the_end_of_a_use)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    EXPECT_EQ(UCS_RCACHE_PRED_MODE_PROGRESS, mode());
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(i), 64 * KB));
        EXPECT_EQ(0u, m_world.num_live());
    }
    EXPECT_EQ(0u, m_world.num_wakes());
}

/* Under a bound of the node others could ask for what is kept. That is no
 * reason to keep it until they do. */
TEST_F(test_progress, progress_lets_go_within_a_bound_of_the_node)
{
    ucs_rcache_pred_node_params_t params = {
        .max_bytes       = 1024 * MB,
        .max_regions     = UCS_RCACHE_PRED_NODE_UNLIMITED,
        .reserve         = ucs_rcache_pred_pieces_reserve(PAGE),
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

/* Rounds that a program could not make while it computed it makes once it
 * communicates. Otherwise the budget would allow one of them in milliseconds,
 * and what the others should have given up would stay registered until the
 * program has computed again. */
TEST_F(test_progress, rounds_after_computation_make_up_for_it)
{
    m_params.budget = 0.01;
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    m_world.set_tick(200);
    for (unsigned i = 0; i < 5; ++i) {
        compute_until(now() + 200 * MSEC);
        for (unsigned j = 0; j < 10; ++j) {
            use(buffer(10 * i + j), 64 * KB);
        }
    }
    EXPECT_LE(m_world.num_live(), 5u) << "of 50; without that, 41";
    EXPECT_LE(stats().budget_spent, 0.01 * stats().duration);
}

TEST_F(test_progress, progress_leaves_the_thread_nothing)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    uint64_t rounds = stats().helper_rounds;
    EXPECT_EQ(NEVER, ucs_rcache_pred_poll(m_pred));
    EXPECT_EQ(rounds, stats().helper_rounds);
}

TEST_F(test_progress, program_that_waits_registers_ahead)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    periodic(100 * MSEC, 10, true);
    stats_t before = stats();
    periodic(100 * MSEC, 10, true);

    stats_t after = stats();
    EXPECT_EQ(10u, after.hits - before.hits);
    EXPECT_EQ(10u, after.regs_helper - before.regs_helper);
    EXPECT_EQ(0u, after.time_critical - before.time_critical);
    /* It registers not long ahead: memory is registered for less than a tenth
     * of the time */
    EXPECT_LE(after.byte_ns - before.byte_ns,
              64 * KB * (after.duration - before.duration) / 10);
}

TEST_F(test_progress, program_that_computes_registers_on_demand)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    for (unsigned i = 0; i < 20; ++i) {
        periodic(100 * MSEC, 1, false);
        EXPECT_EQ(0u, m_world.num_live());
    }
    EXPECT_EQ(20u, stats().regs_critical);
    EXPECT_EQ(0u, stats().wasted);
}

TEST_F(test_progress, program_keeps_what_is_not_worth_its_time)
{
    /* To deregister and register 16 pages takes 16.0 us, which is worth it for
     * periods from 1.02 ms on */
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    periodic(900 * USEC, 20, false);
    stats_t before = stats();
    periodic(900 * USEC, 20, false);
    EXPECT_EQ(20u, stats().hits - before.hits);
    EXPECT_EQ(0u, stats().deregs - before.deregs);

    /* A helper thread would not keep the region */
    destroy();
    create_with(UCS_RCACHE_PRED_HELPER_AGGRESSIVE);
    periodic(900 * USEC, 100, false);
    before = stats();
    periodic(900 * USEC, 20, false);
    EXPECT_LT(0u, stats().deregs - before.deregs);
}

TEST_F(test_progress, what_was_kept_and_is_not_used_is_let_go_of)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    periodic(900 * USEC, 20, false);
    ASSERT_EQ(1u, m_world.num_live());
    spin_until(now() + 20 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(NEVER, test_pred_due(m_pred));
}

TEST_F(test_progress, progress_without_work_is_a_load)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    progress(); /* The first call of progress asks for the seat */
    uint64_t looks = m_world.num_now();
    progress();
    EXPECT_EQ(looks, m_world.num_now());

    /* If there is work for later, it is one look at the clock */
    periodic(100 * MSEC, 5, true);
    use(buffer(0), 64 * KB, 10 * USEC);
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));
    looks = m_world.num_now();
    progress();
    EXPECT_EQ(looks + 1, m_world.num_now());
}

TEST_F(test_progress, progress_takes_little_at_a_time)
{
    m_params.dq_size = 16;
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    void *memh[100];

    /* All uses end while somebody else holds the place of the helper. Most of
     * their entries are lost, and some of their memory is unmapped. */
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
        /* A call does a little of each: entries of the DQ, stale regions, and
         * regions whose entries were lost */
        EXPECT_LE(m_world.num_deregs() - deregs, 6u);
    }
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(100u - 16, stats().dq_dropped);
    spin_until(now() + 10 * MSEC);
    EXPECT_EQ(NEVER, test_pred_due(m_pred));
}

TEST_F(test_progress, progress_does_not_wait)
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

TEST_F(test_progress, progress_does_not_enter_itself)
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

TEST_F(test_progress, unmapped_memory_is_let_go_of_in_progress)
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

TEST_F(test_progress, clock_jumps_in_progress)
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
