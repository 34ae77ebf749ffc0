/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mode_test.h"

#include <unistd.h>

#include <cmath>


/* The program does the helper's work while it waits for communication */
class test_progress : public mode_test {
protected:
    /* A poll for messages that finds none, and takes so long. @return whether the
     * cache was told. */
    bool poll(uint64_t ns)
    {
        m_world.advance(ns);
        if (m_idle.skip > 0) {
            --m_idle.skip;
            return false;
        }

        ucs_rcache_pred_idle(m_pred, &m_idle);
        return true;
    }

    /* How often the cache is told in so many polls, and how late at most, if polls
     * take as long as ever */
    unsigned polls(unsigned count, uint64_t ns, uint64_t *longest_p = nullptr)
    {
        uint64_t longest = 0;
        uint64_t last    = now();
        unsigned told    = 0;

        while (count-- > 0) {
            if (poll(ns)) {
                longest = std::max(longest, now() - last);
                last    = now();
                ++told;
            }
        }
        if (longest_p != nullptr) {
            *longest_p = longest;
        }
        return told;
    }

    ucs_rcache_pred_idle_t m_idle = {};
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
              pred_node_join_as(&params, 0x6d6f6465ul << 32 | getpid(),
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

/* While a round waits for budget, nobody is asleep, so that no use asks for one */
TEST_F(test_progress, rounds_go_on_when_the_clock_goes_back)
{
    m_params.budget = .01;
    m_world.jump(100000 * SEC);
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    m_world.set_tick(100);

    for (unsigned way = 0; way < 3; ++way) {
        for (unsigned i = 0; m_pred->handshake.asleep ||
                             (m_pred->handshake.due <= now()); ++i) {
            ASSERT_LT(i, 100000u);
            use(buffer(i % 64), 64 * KB, 20 * USEC);
            m_world.advance(100 * USEC);
            progress();
        }

        m_world.jump(-10000 * SEC);
        uint64_t rounds = stats().helper_rounds;
        for (unsigned i = 0; i < 1000; ++i) {
            use(buffer(i % 64), 64 * KB, 20 * USEC);
            m_world.advance(100 * USEC);
            if (way == 1) {
                progress();
            } else if (way == 2) {
                poll(USEC);
            }
        }
        EXPECT_LT(rounds, stats().helper_rounds) << way;
    }
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
    EXPECT_EQ(NEVER, m_pred->handshake.due);
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

/* A thread that waits looks at the clock once a microsecond, whatever a poll takes */
TEST_F(test_progress, idle_polls_are_counted)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    for (uint64_t ns : {20, 70, 300, 900, 1100, 50000}) {
        uint64_t longest;

        polls(200, ns); /* Find out how long they take */
        uint64_t looks = m_world.num_now();
        unsigned told  = polls(10000, ns, &longest);
        looks          = m_world.num_now() - looks;
        EXPECT_LE(longest, std::max(1000ul, ns)) << ns;
        EXPECT_LE(told, std::max(10000 * ns / 500, 10000ul / 60)) << ns;
        EXPECT_LE(looks, told + 10) << ns << ": one each, and those of rounds";
    }
}

/* Polls that become rare at once: it takes a few of them at most to notice */
TEST_F(test_progress, idle_polls_that_become_rare)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    polls(1000, 20);
    unsigned i = 0;
    while (!poll(10 * MSEC)) {
        ++i;
    }
    EXPECT_LT(i, UCS_RCACHE_PRED_IDLE_MAX);
    EXPECT_EQ(10u, polls(10, 10 * MSEC));

    /* And one that took no time, or an age, tells little of the next ones */
    polls(10, 0);
    EXPECT_LE(m_idle.skip, UCS_RCACHE_PRED_IDLE_MAX - 1u);
    EXPECT_LT(0u, polls(UCS_RCACHE_PRED_IDLE_MAX, SEC));
}

/* A message that was found between two looks makes polls look longer than they
 * are: the clock is looked at sooner, for a while */
TEST_F(test_progress, idle_polls_between_messages)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    polls(200, 20);
    unsigned told = 0;
    for (unsigned i = 0; i < 1000; ++i) {
        m_world.advance(3 * USEC);
        told += polls(50, 20);
    }
    EXPECT_LE(told, 8000u) << "of 50000";
    EXPECT_GE(told, 1000u);
}

TEST_F(test_progress, what_is_due_is_done_by_an_idle_poll)
{
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    periodic(100 * MSEC, 10, true);
    use(buffer(0), 64 * KB, 10 * USEC);
    ASSERT_EQ(0u, m_world.num_live());
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));
    uint64_t due = 0, looked = 0;
    for (uint64_t end = now() + SEC; m_world.num_live() == 0;) {
        due    = m_pred->handshake.due;
        looked = now() + 25;
        ASSERT_LT(looked, end);
        ASSERT_LE(looked, due + USEC);
        poll(25);
    }
    EXPECT_GE(looked, due);
}

/* The end of a use does what was due at its begin, without a look at the clock.
 * What has become due since waits for a poll, or the next end */
TEST_F(test_progress, the_end_of_a_use_needs_no_clock)
{
    m_params.budget = 0.01;
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    m_world.set_tick(200);
    periodic(20 * USEC, 10000, false); /* Rounds make up for the start, see above */
    uint64_t first = stats().helper_rounds;
    for (unsigned i = 0; i < 10000; ++i) {
        void *memh      = begin(buffer(0), 64 * KB);
        uint64_t begun  = now();
        uint64_t due    = m_pred->handshake.due;
        uint64_t rounds = stats().helper_rounds;
        uint64_t looks  = m_world.num_now();
        m_world.advance(USEC);
        end(memh);
        if (due > begun) {
            EXPECT_EQ(looks, m_world.num_now());
        } else {
            EXPECT_EQ(rounds + 1, stats().helper_rounds);
        }
        compute_until(now() + 10 * USEC);
    }
    EXPECT_GT(stats().helper_rounds, first);
    EXPECT_LT(stats().helper_rounds, first + 500);
}

/* A program that does nothing but communicate makes few rounds, each of which
 * would delay a message, since they find nothing */
TEST_F(test_progress, rounds_in_vain_become_rare)
{
    m_params.budget = 0.01;
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    m_world.set_tick(200);
    auto messages = [this](unsigned count) {
        uint64_t rounds = stats().helper_rounds;
        uint64_t start  = now();
        for (unsigned i = 0; i < count; ++i) {
            use(buffer(i % 4), 64 * KB, USEC);
            polls(40, 25);
        }
        return (double)(stats().helper_rounds - rounds) * SEC / (now() - start);
    };

    double first = messages(2000);
    messages(100000);
    double last = messages(100000);
    EXPECT_LE(last * 8, first);
    EXPECT_GT(last, 0);

    /* Once it computes, its rounds are as frequent as ever */
    compute_until(now() + 300 * MSEC);
    EXPECT_GE(messages(2000) * 1.1, first);
}

/* However small the budget is, uses are looked at once a second, and their demand does
 * not fade to nothing */
TEST_F(test_progress, rounds_in_vain_look_once_a_second)
{
    m_params.budget = 1e-6;
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    m_world.set_tick(200);
    uint64_t start = now();
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; now() < start + (20 * SEC); ++i) {
        use(buffer(i % 4), 64 * KB, USEC);
        polls(2, 500);
        if (now() > start + (5 * SEC)) {
            least = std::min(least, m_world.demand());
        }
    }
    EXPECT_GE(least, 64 * KB / 2);
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
    EXPECT_EQ(NEVER, m_pred->handshake.due);
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

/* A round that seems to take long was interrupted: it costs 50 us, as the longest one does */
TEST_F(test_progress, an_interrupted_round_costs_no_more_than_a_long_one)
{
    m_params.budget = INFINITY;
    create_with(UCS_RCACHE_PRED_HELPER_PROGRESS);
    end(begin(buffer(0), 64 * KB));
    ASSERT_EQ(0u, m_world.num_live());

    const stats_t before = stats();
    unmap(buffer(0), 64 * KB);
    m_world.set_tick(10 * MSEC);
    ucs_rcache_pred_progress(m_pred);
    m_world.set_tick(0);
    EXPECT_EQ(before.helper_rounds + 1, stats().helper_rounds);
    EXPECT_EQ(before.budget_spent + 50 * USEC, stats().budget_spent);
}
