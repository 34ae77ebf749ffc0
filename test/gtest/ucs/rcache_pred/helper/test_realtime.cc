/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include <functional>


/* Threads of the program belong to a real-time class, and the helper to the
 * usual one. All of them are bound to one processor: whoever has a higher
 * priority and does not sleep keeps the others from running. The kernel lets
 * the usual class run for 50 ms a second all the same (sched(7)), so that
 * nothing here hangs for ever if it fails. */
class test_realtime : public helper_test {
protected:
    static constexpr int LOW = 10, HIGH = 20;
    /* A thread that waits without sleeping has used more processor time than
     * this when the kernel lets others run */
    static constexpr uint64_t PATIENCE = 300 * MSEC;

    void SetUp() override
    {
        struct sched_param param = {LOW};
        bool may;

        if (THREAD_SANITIZER) {
            /* A thread of the highest priority would wait for ever for a lock of
             * the sanitizer that one of a lower priority has */
            GTEST_SKIP() << "the thread sanitizer's locks lend no priority";
        }

        std::thread([&may, &param] {
            may = sched_setscheduler(0, SCHED_FIFO, &param) == 0;
        }).join();
        if (!may) {
            GTEST_SKIP() << "needs the right to use real-time classes";
        }

        ASSERT_EQ(0, sched_getaffinity(0, sizeof(m_before), &m_before));
        sem_init(&m_user_may_run, 0, 0);
        sem_init(&m_hog_may_run, 0, 0);
        create();
    }

    void TearDown() override
    {
        join();
        helper_test::TearDown();
    }

    static uint64_t cpu_time()
    {
        struct timespec ts;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return ts.tv_sec * SEC + ts.tv_nsec;
    }

    /* Keep this thread on the processor that all share */
    void share_cpu()
    {
        cpu_set_t one;
        int cpu = 0;

        while (!CPU_ISSET(cpu, &m_before)) {
            ++cpu;
        }
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        EXPECT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
    }

    /* Start a thread of the real-time class on that processor. It has that
     * class, and sleeps, when this function returns: becoming so while others
     * spin there would take as long as the kernel likes. */
    std::thread start_realtime(int priority, sem_t *may_run,
                               std::function<void()> body)
    {
        std::atomic<bool> ready(false);
        std::thread thread([this, priority, may_run, body, &ready] {
            struct sched_param param = {priority};

            share_cpu();
            EXPECT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &param));
            ready = true;
            sem_wait(may_run);
            body();
        });

        while (!ready) {
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
        return thread;
    }

    /* A thread of the program that begins a use of what the helper registers
     * ahead */
    void start_user()
    {
        m_user = start_realtime(HIGH, &m_user_may_run, [this] {
            uint64_t start = cpu_time();

            end(begin(buffer(0), 64 * KB));
            m_user_time = cpu_time() - start;
            m_used      = true;
        });
    }

    /* A thread of the program that computes until that use has begun */
    void start_hog()
    {
        m_hog = start_realtime(LOW, &m_hog_may_run, [this] {
            uint64_t start = cpu_time();

            while (!m_used && !m_hog_lost) {
                m_hog_lost = cpu_time() - start > PATIENCE;
            }
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

    void wake()
    {
        sem_post(&m_user_may_run);
        sem_post(&m_hog_may_run);
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

        std::thread helper([this] {
            share_cpu();
            m_armed = true;
            run_rounds(200 * MSEC);
        });
        helper.join();
        EXPECT_FALSE(m_armed) << "nothing was registered ahead";
        join();
    }

    /* Wait for the end of the program's threads, also if a test has failed
     * before it let them run */
    void join()
    {
        wake();
        for (std::thread *thread : {&m_user, &m_hog}) {
            if (thread->joinable()) {
                thread->join();
            }
        }
    }

    /* Emitted by the helper, which has the lock of the cache */
    static void emitted(void *arg, const ucs_rcache_pred_event_t*)
    {
        static_cast<test_realtime*>(arg)->let_program_run();
    }

    cpu_set_t             m_before;
    std::thread           m_user, m_hog;
    sem_t                 m_user_may_run, m_hog_may_run;
    bool                  m_armed = false; /* The helper lets others run */
    std::atomic<bool>     m_used{false}, m_hog_lost{false};
    std::atomic<uint64_t> m_user_time{0};
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
    m_user = start_realtime(HIGH, &m_user_may_run, [this] {
        uint64_t start = cpu_time(), rounds = stats().helper_rounds;

        while ((stats().helper_rounds == rounds) &&
               (cpu_time() - start < PATIENCE)) {
            m_world.advance(SEC);
            ucs_rcache_pred_progress(m_pred);
        }
        m_user_time = cpu_time() - start;
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
