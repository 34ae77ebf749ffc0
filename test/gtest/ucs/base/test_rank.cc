/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "common/sanitizer.h"

#include <ucs/base/mutex.h>

#include <gtest/gtest.h>

#include <thread>

/* The order of locks is asserted in builds for debugging, and by sanitizers */
class test_rank : public ::testing::Test {
protected:
    void SetUp() override
    {
#if !UCS_ASSERT_RANKS
        GTEST_SKIP() << "needs configure --enable-debug";
#endif
        ucs_mutex_init(&m_core, UCS_RANK_CORE, 0);
        ucs_mutex_init(&m_core2, UCS_RANK_CORE, 0);
        ucs_mutex_init(&m_trace, UCS_RANK_TRACE, UCS_MUTEX_LENDS);
        for (ucs_mutex_t &domain : m_domains) {
            ucs_mutex_init(&domain, UCS_RANK_DOMAIN,
                           UCS_MUTEX_LENDS | UCS_MUTEX_RECURSIVE);
        }
    }

    /* Locks that are taken one after the other */
    static void take(std::initializer_list<ucs_mutex_t*> mutexes)
    {
        for (ucs_mutex_t *mutex : mutexes) {
            ucs_mutex_lock(mutex);
        }
    }

    static void drop(std::initializer_list<ucs_mutex_t*> mutexes)
    {
        for (ucs_mutex_t *mutex : mutexes) {
            ucs_mutex_unlock(mutex);
        }
    }

    ucs_mutex_t m_core, m_core2, m_trace, m_domains[2];
};

TEST_F(test_rank, in_order) {
    take({&m_core, &m_domains[0], &m_domains[0], &m_trace});
    drop({&m_core, &m_trace, &m_domains[0], &m_domains[0]});
    take({&m_core});
    drop({&m_core});
}

TEST_F(test_rank, out_of_order) {
    EXPECT_DEATH(take({&m_trace, &m_core}),
                 "CORE .* is out of order .* this thread has TRACE");
    EXPECT_DEATH(take({&m_domains[1], &m_domains[0]}), "DOMAIN .* out of order");
    EXPECT_DEATH(take({&m_core, &m_core2}), "CORE .* out of order");
    EXPECT_DEATH(take({&m_core, &m_core}), "CORE .* out of order");

    /* Not if it has been given back, nor in another thread */
    take({&m_trace});
    std::thread([this] {
        take({&m_core});
        drop({&m_core});
    }).join();
    drop({&m_trace});
    take({&m_core});
    drop({&m_core});
}

TEST_F(test_rank, without_waiting) {
    take({&m_trace});
    EXPECT_TRUE(ucs_mutex_trylock(&m_core));
    /* But whoever has it then may not wait */
    drop({&m_trace});
    EXPECT_DEATH(take({&m_core2}), "CORE .* out of order");
    EXPECT_DEATH(ucs_rank_check(UCS_RANK_CORE), "CORE .* out of order");
    ucs_rank_check(UCS_RANK_HELPER);
    drop({&m_core});
    ucs_rank_check(UCS_RANK_CORE);
}

TEST_F(test_rank, in_hooks) {
    int hook;

    take({&m_trace});
    ucs_rank_take(UCS_RANK_HOOK, &hook, UCS_RANK_TRY);
    EXPECT_DEATH(take({&m_core}), "CORE .* this thread has TRACE .* HOOK");
    ucs_rank_drop(&hook);
    drop({&m_trace});
    ucs_rank_take(UCS_RANK_HOOK, &hook, UCS_RANK_TRY);
    EXPECT_DEATH(take({&m_trace}), "TRACE .* this thread has HOOK");
    ucs_rank_drop(&hook);
}

TEST_F(test_rank, what_has_none) {
    ucs_mutex_t zero = {};

    EXPECT_DEATH(take({&zero}), "NONE .* out of order");
}

TEST_F(test_rank, forked) {
    take({&m_trace});
    ucs_rank_forget();
    take({&m_core});
    drop({&m_core, &m_trace});
}
