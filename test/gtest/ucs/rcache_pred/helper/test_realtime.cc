/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include "common/realtime.h"


/* The program uses what the helper registers, see realtime_threads */
class test_realtime : public helper_test, protected realtime_threads {
protected:
    void SetUp() override
    {
        const char *reason = init();

        if (reason != NULL) {
            GTEST_SKIP() << reason;
        }
        create();
    }

    void TearDown() override
    {
        join();
        helper_test::TearDown();
    }

    /* A thread of the program that begins a use of what the helper registers
     * ahead */
    void start_user()
    {
        realtime_threads::start_user([this] {
            end(begin(buffer(0), 64 * KB));
        });
    }

    /* The helper is in the middle of something: now the program goes on */
    void let_program_run()
    {
        if (m_armed) {
            m_armed = false;
            wake();
        }
    }

    /* Enter the lane of this thread, which gets it by turns with others */
    void enter_lane()
    {
        while (!test_pred_enter_lane(m_pred)) {
            end(begin(buffer(1), 64 * KB));
            std::thread([this] { end(begin(buffer(1), 64 * KB)); }).join();
        }
    }

    /* As run(), which also looks whether the cache is sound, and must be alone
     * for that */
    void run_rounds(uint64_t time)
    {
        uint64_t last = now() + time, next;

        while ((next = ucs_rcache_pred_poll(m_pred)) <= last) {
            m_world.advance_to(next);
        }
    }

    /* Let the helper learn from uses in this thread. Then run its rounds in a
     * thread of the usual class, on that processor, until it has registered
     * ahead of the next use. */
    void run_helper()
    {
        periodic(buffer(0), 100 * MSEC, 3);
        use(buffer(0), 64 * KB, MSEC);
        realtime_threads::run_helper([this] {
            m_armed = true;
            run_rounds(200 * MSEC);
        });
        EXPECT_FALSE(m_armed) << "nothing was registered ahead";
    }

    /* Emitted by the helper, which has the lock of the cache */
    static void emitted(void *arg, const ucs_rcache_pred_event_t*)
    {
        static_cast<test_realtime*>(arg)->let_program_run();
    }

    bool m_armed = false; /* The helper lets others run */
};

TEST_F(test_realtime, use_sleeps_while_the_helper_registers)
{
    start_user();
    m_world.on_reg = [this](const auto&) {
        let_program_run();
    };
    run_helper();
    EXPECT_LT(m_user_time, PATIENCE);
}

TEST_F(test_realtime, helper_that_registers_inherits_the_priority)
{
    start_user();
    start_hog();
    m_world.on_reg = [this](const auto&) {
        let_program_run();
    };
    run_helper();
    EXPECT_LT(m_user_time, PATIENCE);
    EXPECT_FALSE(m_hog_lost) << "the helper did not get the processor";
}

TEST_F(test_realtime, helper_that_has_the_lock_inherits_the_priority)
{
    ucs_rcache_pred_sink_t sink;

    sink.arg   = this;
    sink.event = emitted;
    m_params.sink = &sink;
    recreate();
    start_user();
    start_hog();
    run_helper();
    EXPECT_LT(m_user_time, PATIENCE);
    EXPECT_FALSE(m_hog_lost) << "the helper did not get the processor";
    destroy();
}

/* The helper was set aside in the middle of a round, and the program, which
 * never sleeps, takes over its work. The helper must come to the end of that
 * round first. */
TEST_F(test_realtime, program_that_takes_over_lets_the_round_end)
{
    m_params.helper = UCS_RCACHE_PRED_HELPER_AGGRESSIVE;
    recreate();
    realtime_threads::start_user([this] {
        uint64_t start = cpu_time(), rounds = stats().helper_rounds;

        while ((stats().helper_rounds == rounds) &&
               (cpu_time() - start < PATIENCE)) {
            m_world.advance(SEC);
            ucs_rcache_pred_progress(m_pred);
        }
    });
    m_world.on_reg = [this](const auto&) {
        let_program_run();
    };
    run_helper();
    EXPECT_LT(m_user_time, PATIENCE);
    EXPECT_NE("", log_watch::take());
}

/* The helper has the lock and waits for a thread of the usual class, which the
 * program's real-time thread has set aside in its lane. While that one lends
 * the helper its priority, the helper must not keep the processor. */
TEST_F(test_realtime, helper_that_waits_for_a_lane_sleeps)
{
    std::atomic<bool> is_inside{false};
    std::atomic<uint64_t> helper_time{0};

    start_user();
    std::thread other([this, &is_inside] {
        unsigned yields;

        share_cpu();
        enter_lane();
        yields    = test_num_yields();
        is_inside = true;
        while (test_num_yields() == yields) {
        }
        wake();
        test_pred_leave_lane(m_pred);
    });
    std::thread helper([this, &is_inside, &helper_time] {
        uint64_t start;

        while (!is_inside) {
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
        share_cpu();
        start = cpu_time();
        ucs_rcache_pred_poll(m_pred);
        helper_time = cpu_time() - start;
    });
    helper.join();
    other.join();
    join();
    EXPECT_LT(helper_time, PATIENCE);
    EXPECT_LT(m_user_time, PATIENCE);
}
