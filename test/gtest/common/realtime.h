/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_REALTIME_H_
#define PREDREG_GTEST_REALTIME_H_

#include "sanitizer.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

/* Threads of the program belong to a real-time class, and a helper to the usual
 * one. All of them are bound to one processor: whoever has a higher priority and
 * does not sleep keeps the others from running. The kernel lets the usual class
 * run for 50 ms a second all the same (sched(7)), so that nothing here hangs for
 * ever if it fails. */
class realtime_threads {
public:
    static constexpr int LOW = 10, HIGH = 20;
    /* A thread that waits without sleeping has used more processor time than
     * this, ns, when the kernel lets others run */
    static constexpr uint64_t PATIENCE = 300000000;

    /* Why a test is to be skipped; NULL: it is not */
    const char *init()
    {
        struct sched_param param = {LOW};
        bool may;

        /* join() wakes threads that a test which is skipped does not have */
        sem_init(&m_user_may_run, 0, 0);
        sem_init(&m_hog_may_run, 0, 0);
        if (THREAD_SANITIZER) {
            /* A thread of the highest priority would wait for ever for a lock of
             * the sanitizer that one of a lower priority has */
            return "the thread sanitizer's locks lend no priority";
        }

        std::thread([&may, &param] {
            may = sched_setscheduler(0, SCHED_FIFO, &param) == 0;
        }).join();
        if (!may) {
            return "needs the right to use real-time classes";
        }

        EXPECT_EQ(0, sched_getaffinity(0, sizeof(m_before), &m_before));
        return NULL;
    }

    static uint64_t cpu_time()
    {
        struct timespec ts;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return ts.tv_sec * 1000000000ul + ts.tv_nsec;
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

    /* A thread of the program does something when wake() lets it. m_user_time is
     * the processor time that took */
    void start_user(std::function<void()> body)
    {
        m_user = start(HIGH, &m_user_may_run, [this, body] {
            uint64_t start = cpu_time();

            body();
            m_user_time = cpu_time() - start;
            m_used      = true;
        });
    }

    /* A thread of the program computes until that is done */
    void start_hog()
    {
        m_hog = start(LOW, &m_hog_may_run, [this] {
            uint64_t start = cpu_time();

            while (!m_used && !m_hog_lost) {
                m_hog_lost = cpu_time() - start > PATIENCE;
            }
        });
    }

    /* Now the program goes on */
    void wake()
    {
        sem_post(&m_user_may_run);
        sem_post(&m_hog_may_run);
    }

    /* Do something in a thread of the usual class on that processor, which is to
     * call wake() in the midst of it, and wait for all threads */
    void run_helper(std::function<void()> body)
    {
        std::thread helper([this, body] {
            share_cpu();
            body();
        });

        helper.join();
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

    std::atomic<bool>     m_used{false}, m_hog_lost{false};
    std::atomic<uint64_t> m_user_time{0};

private:
    /* Start a thread of the real-time class on that processor. It has that
     * class, and sleeps, when this function returns: becoming so while others
     * spin there would take as long as the kernel likes. */
    std::thread start(int priority, sem_t *may_run, std::function<void()> body)
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

    cpu_set_t   m_before;
    std::thread m_user, m_hog;
    sem_t       m_user_may_run, m_hog_may_run;
};

#endif
