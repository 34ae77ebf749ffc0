/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_MODE_TEST_H_
#define PREDREG_GTEST_MODE_TEST_H_

#include <common/pred_test.h>

/* Who does the helper's work, and what the program does of it */
class mode_test : public pred_test {
protected:
    void create_with(ucs_rcache_pred_helper_t helper)
    {
        m_params.helper = helper;
        create();
    }

    void progress() { ucs_rcache_pred_progress(m_pred); }

    /* The program waits for a communication: it does nothing but call
     * progress */
    void spin_until(uint64_t time)
    {
        while (now() < time) {
            m_world.advance(20 * USEC);
            progress();
        }
    }

    /* The program waits for so long, but calls progress more rarely */
    void wait(uint64_t time)
    {
        for (uint64_t end = now() + time; now() < end;) {
            m_world.advance(100 * MSEC);
            progress();
        }
    }

    /* The program does not communicate; its helper thread, if any, runs */
    void compute_until(uint64_t time) { run_until(time); }

    /* Use a buffer periodically, and compute or wait in between */
    void periodic(uint64_t period, unsigned times, bool spins,
                  void *address = buffer(0), size_t length = 64 * KB)
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use(address, length, 10 * USEC);
            if (spins) {
                spin_until(start + period);
            } else {
                compute_until(start + period);
            }
        }
    }

    /* Let so much time pass that the cache asks for its seat so many times,
     * with a use before each */
    void seats(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            compute_until(now() + 250 * MSEC);
            use(buffer(50), PAGE);
            compute_until(now() + 5 * MSEC);
        }
    }

    ucs_rcache_pred_mode_t mode() { return ucs_rcache_pred_get_mode(m_pred); }
};

#endif
