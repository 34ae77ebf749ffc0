/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/log_watch.h>

#include <gtest/gtest.h>

extern "C" {
#include <common/c_access.h>
#include "way_access.h"
}

/* Which workers a thread may use */
class test_win_way : public ::testing::Test {
protected:
    void SetUp() override
    {
        test_win_reset();
        test_win_context_add(context(), 0);
    }

    void TearDown() override
    {
        test_alloc_fail_nth(0);
        test_win_reset();
    }

    ucp_context_h context()
    {
        return (ucp_context_h)this;
    }

    void add(char &worker, ucs_thread_mode_t mode)
    {
        test_win_worker_add(context(), (ucp_worker_h)&worker, mode);
    }

    bool is_usable(char &worker)
    {
        return test_win_is_usable(context(), (ucp_worker_h)&worker);
    }

    char m_workers[3];
};

TEST_F(test_win_way, all_of_a_context_or_those_of_mode_multi) {
    add(m_workers[0], UCS_THREAD_MODE_SINGLE);
    add(m_workers[1], UCS_THREAD_MODE_SERIALIZED);
    EXPECT_TRUE(is_usable(m_workers[0]));
    EXPECT_TRUE(is_usable(m_workers[1]));
    add(m_workers[2], UCS_THREAD_MODE_MULTI);
    EXPECT_FALSE(is_usable(m_workers[0]));
    EXPECT_FALSE(is_usable(m_workers[1]));
    EXPECT_TRUE(is_usable(m_workers[2]));
}

/* One of mode MULTI tells that others belong to threads of their own, also where there
 * is no memory to note it */
TEST_F(test_win_way, no_memory_hides_none_of_mode_multi) {
    for (unsigned nth = 1;; ++nth) {
        test_win_reset();
        add(m_workers[0], UCS_THREAD_MODE_SINGLE);
        test_alloc_fail_nth(nth);
        add(m_workers[1], UCS_THREAD_MODE_MULTI);
        if (!test_alloc_failed()) {
            break;
        }
        EXPECT_FALSE(is_usable(m_workers[0])) << "allocation " << nth;
        log_watch::take();
    }
    EXPECT_TRUE(is_usable(m_workers[1]));
}
