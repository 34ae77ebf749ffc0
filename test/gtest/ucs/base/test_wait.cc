/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "common/realtime.h"

#include <ucs/base/wait.h>

#include <cerrno>

/* A thread of a real-time class waits for one of the usual class beside it */
class test_wait : public ::testing::Test, protected realtime_threads {
protected:
    void SetUp() override
    {
        const char *reason = init();

        if (reason != NULL) {
            GTEST_SKIP() << reason;
        }
        ucs_mutex_init(&m_mutex, UCS_RANK_HELPER, UCS_MUTEX_LENDS);
    }

    void TearDown() override
    {
        join();
    }

    void wait(ucs_mutex_t *holder)
    {
        start_user([this, holder] {
            while (!m_is_done) {
                ucs_give_way(holder);
            }
        });
        run_helper([this] {
            ucs_mutex_lock(&m_mutex);
            wake();
            m_is_done = true;
            ucs_mutex_unlock(&m_mutex);
        });
        EXPECT_LT(m_user_time, PATIENCE);
    }

    ucs_mutex_t       m_mutex;
    std::atomic<bool> m_is_done{false};
};

TEST_F(test_wait, for_nobody_in_particular)
{
    wait(NULL);
}

TEST_F(test_wait, priority_is_lent)
{
    start_hog();
    wait(&m_mutex);
    EXPECT_FALSE(m_hog_lost) << "the other thread did not get the processor";
}

TEST_F(test_wait, thread_that_has_the_mutex)
{
    start_user([this] {
        ucs_mutex_lock(&m_mutex);
        errno = EPERM;
        ucs_give_way(&m_mutex);
        EXPECT_EQ(EPERM, errno);
        ucs_mutex_unlock(&m_mutex);
    });
    wake();
}
