/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"


/* A random number below a limit; the same numbers in each run of a test */
static uint64_t random_below(uint64_t *seed, uint64_t limit)
{
    *seed = *seed * 6364136223846793005ul + 1442695040888963407ul;
    return (*seed >> 33) % limit;
}

/* Buffers in turns, whose steps are longer and shorter at random: the time between two uses
 * of a buffer varies by the sum of all steps, that after the buffer before by one */
class test_companions_in_turns : public helper_test {
protected:
    static constexpr uint64_t STEP = 20 * MSEC;

    void step(unsigned number)
    {
        uint64_t start = now();

        use(buffer(number), 64 * KB, MSEC, context(1));
        run_until(start + STEP - 4 * MSEC + random_below(&m_seed, 8 * MSEC));
    }

    void turns(unsigned count, unsigned buffers = 8)
    {
        for (unsigned i = 0; i < count * buffers; ++i) {
            step(i % buffers);
        }
    }

    /* For how long a buffer was registered on average for each use, ns */
    double registered()
    {
        return (double)since_mark(&stats_t::byte_ns) /
               (64 * KB * since_mark(&stats_t::regs_helper));
    }

    uint64_t m_seed = 1;
};

TEST_F(test_companions_in_turns, are_registered_shortly_before)
{
    turns(20);
    mark();
    turns(50);
    EXPECT_GE(since_mark(&stats_t::hits), 380u);
    /* A use takes 1 ms, one step varies by 4 ms; the eight of a turn by 32 */
    EXPECT_LE(registered(), 8.0 * MSEC);
}

/* Rounds of two buffers, the second 20 ms after the first */
class test_companion_is_late : public helper_test {
protected:
    void rounds()
    {
        uint64_t seed = 1;

        for (unsigned i = 0; i < 30; ++i) {
            run(60 * MSEC + random_below(&seed, 80 * MSEC));
            use(buffer(0), 64 * KB, MSEC, context(1));
            run(19 * MSEC);
            use(buffer(1), 64 * KB, MSEC, context(2));
        }
        m_last = now();
        mark();
    }

    bool is_registered(unsigned number)
    {
        return m_world.num_live_at(buffer(number)) > 0;
    }

    uint64_t m_last;
};

/* The region was registered, since its companion had not come for long, and its use is
 * awaited until then. Then the companion comes */
TEST_F(test_companion_is_late, region_is_awaited_for_longer)
{
    uint64_t given_up;

    rounds();
    while (since_mark(&stats_t::wasted) < 2) {
        run(MSEC);
    }
    given_up = now() - m_last;

    recreate();
    rounds();
    run(given_up - 5 * MSEC);
    ASSERT_TRUE(is_registered(1));
    use(buffer(0), 64 * KB, MSEC, context(1));
    run(19 * MSEC);
    EXPECT_TRUE(is_registered(1));

    /* Though not as long as the companion is used */
    for (unsigned i = 0; i < 100; ++i) {
        use(buffer(0), 64 * KB, MSEC, context(1));
        run(9 * MSEC);
    }
    EXPECT_FALSE(is_registered(1));
}

/* How long the program waits in a use of the companion is no part of the distance: the
 * helper looks at the DQ while the use goes on, or is woken by its end */
TEST_F(test_companion_is_late, waits_in_its_uses_do_not_matter)
{
    uint64_t seed = 1;

    for (unsigned i = 0; i < 60; ++i) {
        if (i == 20) {
            mark();
        }
        run(100 * MSEC);
        use(buffer(0), 64 * KB, MSEC + random_below(&seed, 80 * MSEC), context(1));
        run(20 * MSEC);
        use(buffer(1), 64 * KB, 2 * MSEC, context(2));
    }
    EXPECT_GE(since_mark(&stats_t::hits), 70u);
    /* Buffer 0: 1 to 81 ms used, and up to 80 ahead; buffer 1: 2 used, and 1 ahead */
    EXPECT_LE((double)since_mark(&stats_t::byte_ns) / (64 * KB * 40),
              150.0 * MSEC);
}

/* When does a use of 5 ms end, as far as the helper knows? */
class test_known_end : public helper_test {
protected:
    uint64_t last_ended()
    {
        ucs_rcache_pred_predictor_t *predictor = &m_pred->predictor;

        return predictor->heard[(predictor->num_heard - 1) % UCS_RCACHE_PRED_HEARD]
                ->ended;
    }

    /* Another use ends meanwhile, so that the helper looks at the DQ at intervals */
    void long_use_while_helper_looks()
    {
        m_memh = begin(buffer(0), 64 * KB);
        run(5 * MSEC);
        use(buffer(1), 64 * KB);
        m_heard = now();
        poll();
    }

    void *m_memh;
    uint64_t m_heard;
};

TEST_F(test_known_end, end_wakes_helper)
{
    m_memh = begin(buffer(0), 64 * KB);
    run_until_asleep();
    run(5 * MSEC);
    end(m_memh);
    m_heard = now();
    poll();
    EXPECT_EQ(m_heard, last_ended());
}

/* Somebody else wakes the helper before its next look: the use has ended before */
TEST_F(test_known_end, others_wake_helper)
{
    long_use_while_helper_looks();
    m_world.advance(200 * USEC);
    end(m_memh);
    m_world.advance(300 * USEC);
    poll();
    ASSERT_EQ(2u, m_pred->predictor.num_heard);
    EXPECT_GE(last_ended(), m_heard);
    EXPECT_LE(last_ended(), m_heard + 200 * USEC);
}

/* The end wakes the helper, which would wake up by itself a little later, but gets to its
 * work late */
TEST_F(test_known_end, helper_wakes_up_late)
{
    uint64_t next;

    expect_predicted(buffer(1), 200 * MSEC, 5);
    m_memh = begin(buffer(0), 64 * KB);
    do {
        run(100 * USEC);
        next = poll();
    } while (next < now() + 5 * MSEC);
    ASSERT_NE(UCS_RCACHE_PRED_TIME_INF, next);
    m_world.advance(next - 10 * USEC - now());
    end(m_memh);
    m_world.advance(20 * USEC);
    m_heard = now();
    poll();
    EXPECT_EQ(m_heard, last_ended());
}

/* Where the program does the helper's work, nobody would act on a deadline in time */
TEST_F(test_companions_in_turns, not_in_progress_mode)
{
    m_params.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    recreate();
    turns(30);
    EXPECT_EQ(0u, m_pred->predictor.num_heard);
}
