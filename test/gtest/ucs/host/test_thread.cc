/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pred_test.h>

extern "C" {
#include <ucs/rcache_pred/api/rcache_pred.h>
}

#include <sched.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>


/* The real helper thread. What it does when is tested elsewhere with a fake
 * clock; here the tests only see that it does it at all. */
class test_thread : public pred_test {
protected:
    test_thread() : m_thread(NULL) {}

    void SetUp() override
    {
        ASSERT_EQ(UCS_OK, ucs_rcache_pred_thread_create(&m_thread));
        m_ops           = fake_world::ops;
        m_ops.now       = ucs_rcache_pred_thread_now;
        m_ops.wait      = ucs_rcache_pred_thread_wait;
        m_ops.wake      = ucs_rcache_pred_thread_wake;
        m_ops.mem_dereg = mem_dereg;
        m_ops.seat      = NULL; /* The fake world's needs the world as arg */
        m_params.ops    = &m_ops;
        m_params.arg    = m_thread;
        create();
    }

    void TearDown() override
    {
        EXPECT_EQ(UCS_OK, stop());
        pred_test::TearDown();
        ucs_rcache_pred_thread_destroy(m_thread);
    }

    void start()
    {
        ASSERT_EQ(UCS_OK, run());
    }

    ucs_status_t run()
    {
        return ucs_rcache_pred_thread_start(m_thread, "predreg", poll, m_pred);
    }

    static ucs_rcache_pred_time_t poll(void *pred)
    {
        return ucs_rcache_pred_poll(static_cast<ucs_rcache_pred_t*>(pred));
    }

    /* A deregistration that does not return as long as it is told so */
    static ucs_status_t mem_dereg(void *arg, void *memh)
    {
        while (blocks) {
            is_blocked = 1;
            sched_yield();
        }
        return fake_world::ops.mem_dereg(arg, memh);
    }

    ucs_status_t stop(uint64_t patience = 30000000000)
    {
        return ucs_rcache_pred_thread_stop(m_thread, patience);
    }

    /* Whether the condition comes true before patience ends */
    static bool eventually(std::function<bool()> condition)
    {
        for (unsigned i = 0; i < 30000; ++i) {
            if (condition()) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    }

    bool all_deregistered()
    {
        return eventually([this] { return stats().bytes_now == 0; });
    }

    static std::atomic<int>  blocks, is_blocked;
    ucs_rcache_pred_ops_t    m_ops;
    ucs_rcache_pred_thread_t *m_thread;
};

std::atomic<int> test_thread::blocks, test_thread::is_blocked;

TEST_F(test_thread, deregisters_after_use)
{
    start();
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(i), PAGE));
    }
    EXPECT_TRUE(all_deregistered());
}

TEST_F(test_thread, does_what_was_left_before_it_started)
{
    end(begin(buffer(0), PAGE));
    start();
    EXPECT_TRUE(all_deregistered());
}

TEST_F(test_thread, wakes_from_deep_sleep)
{
    start();
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_TRUE(eventually([this] { return m_pred->handshake.asleep != 0; }));
        end(begin(buffer(i), PAGE));
        EXPECT_TRUE(all_deregistered());
    }
}

TEST_F(test_thread, unmap_wakes_it)
{
    start();
    void *memh = begin(buffer(0), PAGE);
    end(memh);
    EXPECT_TRUE(eventually([this] { return m_pred->handshake.asleep != 0; }));
    ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(0),
                             (uintptr_t)buffer(0, PAGE));
    EXPECT_TRUE(eventually([this] { return stats().unmapped == 1; }));
    EXPECT_TRUE(all_deregistered());
}

TEST_F(test_thread, does_not_preempt_the_program)
{
    std::atomic<int> scheduler(-1);

    m_world.on_dereg = [&](const auto&) { scheduler = sched_getscheduler(0); };
    start();
    end(begin(buffer(0), PAGE));
    EXPECT_TRUE(all_deregistered());
    EXPECT_EQ(SCHED_BATCH, scheduler);
    EXPECT_NE(SCHED_BATCH, sched_getscheduler(0));
}

TEST_F(test_thread, start_may_fail)
{
    sigset_t before, after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    test_thread_fail();
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, run());
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < SIGRTMAX; ++signal) {
        EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
    }
    EXPECT_EQ(0u, ucs_rcache_pred_thread_cpu_time(m_thread));

    /* This is what the caller does then, see helper_start() in md/open.c */
    destroy();
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_create(&m_params, &m_pred));
    test_thread_fail();
    ASSERT_EQ(UCS_ERR_NO_RESOURCE, run());
    ucs_rcache_pred_without_helper(m_pred);
    new_domain("fake0");
    for (unsigned i = 0; i < 3; ++i) {
        end(begin(buffer(0), PAGE));
        EXPECT_EQ(0u, m_world.num_live());
    }
    EXPECT_EQ(3u, stats().regs_critical);
    EXPECT_EQ(UCS_OK, stop()); /* The thread is not running */
}

TEST_F(test_thread, is_pinned_by_itself)
{
    cpu_set_t before, first, seen;

    ASSERT_EQ(0, sched_getaffinity(0, sizeof(before), &before));
    CPU_ZERO(&first);
    for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu) {
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &first);
        }
    }

    CPU_ZERO(&seen);
    m_world.on_dereg = [&](const auto&) {
        ucs_rcache_pred_thread_pin(m_thread, &first);
        sched_getaffinity(0, sizeof(seen), &seen);
    };
    start();
    end(begin(buffer(0), PAGE));
    EXPECT_TRUE(all_deregistered());
    EXPECT_TRUE(CPU_EQUAL(&first, &seen));

    /* No other thread is the helper, whoever calls */
    ucs_rcache_pred_thread_pin(m_thread, &first);
    ASSERT_EQ(0, sched_getaffinity(0, sizeof(seen), &seen));
    EXPECT_TRUE(CPU_EQUAL(&before, &seen));
    EXPECT_EQ(UCS_OK, stop());
    m_world.on_dereg = nullptr;
}

TEST_F(test_thread, processors_that_are_not_there_are_refused)
{
    cpu_set_t none;

    CPU_ZERO(&none);
    m_world.on_dereg = [&](const auto&) {
        ucs_rcache_pred_thread_pin(m_thread, &none);
        CPU_SET(CPU_SETSIZE - 1, &none);
        ucs_rcache_pred_thread_pin(m_thread, &none);
    };
    start();
    for (unsigned i = 0; i < 3; ++i) {
        end(begin(buffer(i), PAGE));
        EXPECT_TRUE(all_deregistered());
    }
    EXPECT_EQ(UCS_OK, stop());
    m_world.on_dereg = nullptr;
}

TEST_F(test_thread, turn_is_as_long_as_turns_are)
{
    EXPECT_GE(ucs_rcache_pred_thread_slice(m_thread), 100 * USEC);
    EXPECT_LE(ucs_rcache_pred_thread_slice(m_thread), SEC);
    start();
    EXPECT_GE(ucs_rcache_pred_thread_slice(m_thread), 100 * USEC);
    EXPECT_LE(ucs_rcache_pred_thread_slice(m_thread), SEC);
}

TEST_F(test_thread, parks_and_comes_back)
{
    /* The work goes from the thread to the program as the seat changes, and
     * back */
    static std::atomic<double> idle;

    idle       = 0;
    m_ops.seat = [](void*, uint64_t, ucs_rcache_pred_seat_t *seat) {
        *seat = {idle, 1, 4 * MSEC, 1};
    };
    destroy();
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_create(&m_params, &m_pred));
    new_domain("fake0");
    start();
    EXPECT_TRUE(eventually([this] {
        return ucs_rcache_pred_get_mode(m_pred) ==
               UCS_RCACHE_PRED_MODE_PROGRESS;
    }));
    end(begin(buffer(0), PAGE));
    EXPECT_TRUE(eventually([this] {
        ucs_rcache_pred_progress(m_pred);
        return stats().bytes_now == 0;
    }));

    idle = 1;
    EXPECT_TRUE(eventually([this] {
        end(begin(buffer(0), PAGE));
        return ucs_rcache_pred_get_mode(m_pred) == UCS_RCACHE_PRED_MODE_THREAD;
    }));
    end(begin(buffer(1), PAGE));
    EXPECT_TRUE(all_deregistered());
}

TEST_F(test_thread, stops_and_starts_again)
{
    for (unsigned i = 0; i < 3; ++i) {
        start();
        end(begin(buffer(i), PAGE));
        EXPECT_TRUE(all_deregistered());
        EXPECT_EQ(UCS_OK, stop());
    }

    /* The thread has stopped: nobody deregisters this */
    end(begin(buffer(10), PAGE));
    EXPECT_EQ(PAGE, stats().bytes_now);
}

TEST_F(test_thread, stops_from_deep_sleep)
{
    start();
    EXPECT_TRUE(eventually([this] { return m_pred->handshake.asleep != 0; }));
    EXPECT_EQ(UCS_OK, stop());
}

TEST_F(test_thread, stop_and_start_are_idempotent)
{
    EXPECT_EQ(UCS_OK, stop());
    start();
    start();
    EXPECT_EQ(UCS_OK, stop());
    EXPECT_EQ(UCS_OK, stop());
}

/* As at the end of a program that was interrupted where it has what the thread
 * waits for */
TEST_F(test_thread, that_cannot_end_is_not_waited_for)
{
    blocks = 1;
    start();
    end(begin(buffer(0), PAGE));
    EXPECT_TRUE(eventually([] { return is_blocked == 1; }));
    EXPECT_EQ(UCS_ERR_TIMED_OUT, stop(50000000));
    blocks = 0;
    EXPECT_EQ(UCS_OK, stop());
}

TEST_F(test_thread, cache_that_stays_locked_is_not_waited_for)
{
    pred_lock(m_pred);
    EXPECT_FALSE(ucs_rcache_pred_is_free(m_pred, 50000000));
    pred_unlock(m_pred);
    EXPECT_TRUE(ucs_rcache_pred_is_free(m_pred, 0));
}

TEST_F(test_thread, cpu_time_is_counted_and_stays)
{
    EXPECT_EQ(0u, ucs_rcache_pred_thread_cpu_time(m_thread));
    start();
    end(begin(buffer(0), PAGE));
    EXPECT_TRUE(eventually([this] {
        return ucs_rcache_pred_thread_cpu_time(m_thread) > 0;
    }));
    EXPECT_EQ(UCS_OK, stop());
    EXPECT_GT(ucs_rcache_pred_thread_cpu_time(m_thread), 0u);
}

/* What the thread publishes is what this round has done */
TEST_F(test_thread, cpu_time_is_up_to_date_in_the_thread)
{
    std::atomic<uint64_t> first(0);

    m_world.on_dereg = [&](const auto&) {
        first = ucs_rcache_pred_thread_cpu_time(m_thread);
    };
    end(begin(buffer(0), PAGE));
    start();
    EXPECT_TRUE(all_deregistered());
    EXPECT_GT(first, 0u);
}

TEST_F(test_thread, clock_does_not_go_back)
{
    uint64_t last = ucs_rcache_pred_thread_now(m_thread);

    for (unsigned i = 0; i < 1000; ++i) {
        uint64_t time = ucs_rcache_pred_thread_now(m_thread);
        ASSERT_GE(time, last);
        last = time;
    }
}

/* The rates of two measurements would differ by some 1e-6: by ms, a while after the boot */
TEST_F(test_thread, all_threads_have_one_clock)
{
    for (unsigned i = 0; i < 50; ++i) {
        ucs_rcache_pred_thread_t *thread;
        uint64_t before, between, after;

        ASSERT_EQ(UCS_OK, ucs_rcache_pred_thread_create(&thread));
        before  = ucs_rcache_pred_thread_now(m_thread);
        between = ucs_rcache_pred_thread_now(thread);
        after   = ucs_rcache_pred_thread_now(m_thread);
        ucs_rcache_pred_thread_destroy(thread);
        EXPECT_LE(before, between);
        EXPECT_LE(between, after);
    }
}

TEST_F(test_thread, wake_is_not_lost)
{
    /* A wake that comes before the wait ends the wait: not the end of the longest wait,
     * which is 10 s */
    uint64_t now = ucs_rcache_pred_thread_now(m_thread);

    ucs_rcache_pred_thread_wake(m_thread);
    ucs_rcache_pred_thread_wait(m_thread, now + (8000 * MSEC));
    EXPECT_LT(ucs_rcache_pred_thread_now(m_thread), now + (6000 * MSEC));
}

TEST_F(test_thread, wait_ends_by_itself)
{
    uint64_t until = ucs_rcache_pred_thread_now(m_thread) + MSEC;

    ucs_rcache_pred_thread_wait(m_thread, until);
    EXPECT_GE(ucs_rcache_pred_thread_now(m_thread), until);
    ucs_rcache_pred_thread_wait(m_thread, 0); /* Long past */
}

TEST_F(test_thread, signals_are_left_to_the_program)
{
    sigset_t before, after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    start();
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < SIGRTMAX; ++signal) {
        EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
    }
}
