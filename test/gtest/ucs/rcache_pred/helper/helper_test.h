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

/* Rounds of the helper: what is registered when, while programs run */
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

    /* Use a buffer periodically; begins are exactly so far apart, unless the
     * helper is in the way of the program on this one clock */
    void periodic(void *address, uint64_t period, unsigned times,
                  const context_t &ctx = context(1))
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use(address, 64 * KB, MSEC, ctx);
            run_until(start + period);
        }
    }

    /* A use in a thread of its own that waits for a registration under way */
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

    /* Counters of what happens from now on */
    void mark() { m_mark = stats(); }

    uint64_t since_mark(uint64_t stats_t::*counter)
    {
        return stats().*counter - m_mark.*counter;
    }

    stats_t m_mark = {};
};

#endif
