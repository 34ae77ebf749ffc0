/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_HELPER_TEST_H_
#define PREDREG_GTEST_HELPER_TEST_H_

#include <common/pred_test.h>

#include <chrono>
#include <thread>

/* Programs run, and the rounds of the helper register and deregister their
 * memory */
class helper_test : public pred_test {
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

    /* Use a buffer periodically. Uses begin exactly so far apart, unless
     * work of the helper, which shares the one clock with the program, takes
     * longer. */
    void periodic(void *address, uint64_t period, unsigned times,
                  const context_t &ctx = context(1))
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use(address, 64 * KB, MSEC, ctx);
            run_until(start + period);
        }
    }

    /* Use a buffer periodically, from a place of its own, so that no buffer tells about
     * another */
    void uses(unsigned number, uint64_t period, unsigned times,
              size_t length = MB)
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use(buffer(number), length, MSEC, context(1 + number));
            run_until(start + period);
        }
    }

    /* Begin a use in a thread of its own, and return when it waits for a
     * registration under way */
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

    /* From now on, since_mark() tells what has happened since */
    void mark() { m_mark = stats(); }

    uint64_t since_mark(uint64_t stats_t::*counter)
    {
        return stats().*counter - m_mark.*counter;
    }

    /* Expect so many hits, after three uses from which the helper learns */
    void expect_predicted(void *address, uint64_t period, unsigned times)
    {
        periodic(address, period, 3);
        mark();
        periodic(address, period, times);
        EXPECT_EQ(times, since_mark(&stats_t::hits));
    }

    stats_t m_mark = {};
};

#endif
