/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_THREADS_TEST_H_
#define PREDREG_GTEST_THREADS_TEST_H_

#include <common/pieces_use.h>

#include <atomic>
#include <thread>
#include <vector>

/* Uses, unmaps and the helper run in several threads. Until it ends, every use
 * checks that its memory is registered, by a registration that is not older
 * than the last unmap. Each test runs in a process of its own, so that a crash
 * fails that test only. */
class threads_test : public pred_test {
protected:
    static constexpr unsigned NUM_BUFFERS = 64;
    /* More turns of two threads than are needed until there are lanes */
    static constexpr unsigned TURNS       = 100;

    threads_test()
    {
        /* The DQ is so large that nothing is lost, unless a test says so */
        m_params.dq_size = 1 << 16;
        m_world.set_tick(200);
        m_world.set_reg_cost(5, 1000);
        m_world.set_dereg_cost(1, 500);
    }

    using pred_test::use;

    void use(unsigned b)
    {
        end(begin(buffer(b), PAGE));
    }

    /* Create the cache, and let two threads take turns, so that each gets a
     * lane. This one has used the first buffer, and the other one the second */
    void make_lanes();
    /* Run one function here and another one in another thread, by turns */
    void run_in_turns(std::function<void()> here, std::function<void()> there);

    void run_in_child(std::function<void()> func);
    void run_in_child(unsigned num_users, unsigned num_pollers,
                      unsigned num_unmappers);

    /* In the child: begin and end uses, up to three at a time, in each of so
     * many threads */
    void run_users(unsigned num_threads);
    void run_user(unsigned seed);
    /* In the child: begin and end one use after the other, as a whole or in
     * pieces, under a bound that has no room for those of all threads */
    void run_bounded_user(unsigned seed);
    void run_bounded_users(unsigned num_threads);
    void start_poller();
    void start_progress();
    void start_unmapper();
    /* Stop the poller and the unmapper, and check that nothing is left and that
     * the statistics are right */
    void finish();

    void fail(const char *what)
    {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }

    /* A slice of a buffer of four pages */
    struct use_under_way {
        void     *memh;
        unsigned b;
        size_t   offset;
        size_t   length;
        uint64_t min_serial;
    };

    void check_use(const use_under_way &u)
    {
        if (!m_world.covers(u.memh, buffer(u.b, u.offset), u.length)) {
            fail("memory in use is not registered");
        }
        if (m_world.get(u.memh).serial <= u.min_serial) {
            fail("registered before its memory was unmapped");
        }
    }

    /* The buffer of the next use of a thread: 15 times of 16 one of its own, if
     * threads have such */
    template<typename R> unsigned pick(R &random, unsigned thread)
    {
        return ((m_num_own > 0) && (random() % 16 > 0)) ?
               (thread * m_num_own + random() % m_num_own) % m_num_buffers :
               random() % m_num_buffers;
    }

    unsigned                 m_num_buffers = NUM_BUFFERS;
    unsigned                 m_num_own     = 0;
    unsigned                 m_num_uses    = 50000 / SANITIZER_SLOWDOWN;
    size_t                   m_min_length  = 1;
    std::atomic<bool>        m_stop{false};
    std::vector<std::thread> m_threads;
    std::atomic<uint64_t>    m_min_serial[NUM_BUFFERS] = {};
    std::atomic<unsigned>    m_refused{0};
    std::atomic<unsigned>    m_invalidated{0};
    std::atomic<unsigned>    m_called{0};
};

#endif
