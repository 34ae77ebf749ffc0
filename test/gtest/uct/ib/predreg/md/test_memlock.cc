/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/library.h>

#include <sched.h>
#include <sys/resource.h>

#include <map>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
#include <uct/ib/predreg/md/memlock.h>
}


class test_memlock : public ::testing::Test {
protected:
    static constexpr uint64_t NONE = UINT64_MAX;

    test_memlock() : m_memlock{&sys}
    {
        uct_predreg_memlock_reset(&m_memlock);
        privileged = 0;
        limit      = {64 * MB, 64 * MB};
        get_error  = 0;
    }

    ~test_memlock()
    {
        while (!m_added.empty()) {
            remove(m_added.begin()->first);
        }
        EXPECT_EQ(0u, m_memlock.bytes);
    }

    void add(unsigned number, size_t length, bool is_pool = false)
    {
        m_added[number] = {length, is_pool ? length : 0};
        uct_predreg_memlock_add(&m_memlock, length, m_added[number].second);
    }

    void remove(unsigned number)
    {
        uct_predreg_memlock_remove(&m_memlock, m_added[number].first,
                                   m_added[number].second);
        m_added.erase(number);
    }

    uint64_t bound(uint64_t max_pinned = NONE)
    {
        return uct_predreg_memlock_bound(&m_memlock, max_pinned);
    }

    uint64_t pool_peak() { return uct_predreg_memlock_pool_peak(&m_memlock); }

    static int may_lock_anything() { return privileged; }

    static int get_limit(struct rlimit *l)
    {
        *l = limit;
        return get_error;
    }

    static constexpr uct_predreg_memlock_sys_t sys = {may_lock_anything,
                                                      get_limit};
    static int                                 privileged;
    static struct rlimit                       limit;
    static int                                 get_error;

    uct_predreg_memlock_t                          m_memlock;
    std::map<unsigned, std::pair<uint64_t, size_t>> m_added;
};

constexpr uct_predreg_memlock_sys_t test_memlock::sys;
int test_memlock::privileged;
struct rlimit test_memlock::limit;
int test_memlock::get_error;

/* Limits */

TEST_F(test_memlock, limit_of_the_system)
{
    EXPECT_EQ(64 * MB, uct_predreg_memlock_limit(&m_memlock));
    limit.rlim_max = RLIM_INFINITY;
    EXPECT_EQ(64 * MB, uct_predreg_memlock_limit(&m_memlock))
            << "the soft one counts";
    EXPECT_EQ(64 * MB, bound());
}

TEST_F(test_memlock, no_limit)
{
    limit.rlim_cur = RLIM_INFINITY;
    EXPECT_EQ(NONE, bound());
    EXPECT_EQ(5 * MB, bound(5 * MB));
}

TEST_F(test_memlock, privileged_process_has_no_limit)
{
    privileged = 1;
    EXPECT_EQ(NONE, bound());
    add(1, 100 * MB);
    EXPECT_EQ(NONE, bound());
}

TEST_F(test_memlock, limit_is_not_known)
{
    get_error = -1;
    EXPECT_EQ(NONE, bound());
}

TEST_F(test_memlock, lesser_bound_is_in_force)
{
    EXPECT_EQ(10 * MB, bound(10 * MB));
    EXPECT_EQ(64 * MB, bound(100 * MB));
}

TEST_F(test_memlock, this_process)
{
    uct_predreg_memlock_t memlock = {&uct_predreg_memlock_linux};
    struct rlimit own, told;

    uct_predreg_memlock_reset(&memlock);
    ASSERT_EQ(0, getrlimit(RLIMIT_MEMLOCK, &own));
    ASSERT_EQ(0, uct_predreg_memlock_linux.get_limit(&told));
    EXPECT_EQ(own.rlim_cur, told.rlim_cur);
    EXPECT_EQ((uct_predreg_memlock_linux.may_lock_anything() ||
               (own.rlim_cur == RLIM_INFINITY)) ? NONE : own.rlim_cur,
              uct_predreg_memlock_limit(&memlock));
}

/* The kernel does not ask what a process may do in a user name space of its own */
TEST_F(test_memlock, root_of_another_user_namespace)
{
    static const int NOT_PERMITTED = 77;
    child process([]() -> int {
        return (unshare(CLONE_NEWUSER) != 0) ?
               NOT_PERMITTED : uct_predreg_memlock_linux.may_lock_anything();
    });
    int status = process.reap();

    if (WIFEXITED(status) && (WEXITSTATUS(status) == NOT_PERMITTED)) {
        GTEST_SKIP() << "no user name space of its own";
    }
    EXPECT_EQ(0, status);
}

/* Foreign registrations */

TEST_F(test_memlock, foreign_registrations_count_against_the_limit)
{
    add(1, 20 * MB);
    add(2, 4 * MB);
    EXPECT_EQ(40 * MB, bound());
    remove(1);
    EXPECT_EQ(60 * MB, bound());
    remove(2);
    EXPECT_EQ(64 * MB, bound());
}

TEST_F(test_memlock, nothing_works_with_less_than_the_least)
{
    add(1, 64 * MB - PAGE);
    EXPECT_EQ(UCS_RCACHE_PRED_MIN_BYTES, bound());
    add(2, 64 * MB);
    EXPECT_EQ(UCS_RCACHE_PRED_MIN_BYTES, bound()) << "not below 0";
    EXPECT_EQ(PAGE, bound(PAGE)) << "but the user's bound is the user's";
}

/* Pools */

TEST_F(test_memlock, most_that_pools_had_at_a_time)
{
    add(1, 10 * MB, true);
    add(2, 5 * MB, false);
    add(3, 7 * MB, true);
    EXPECT_EQ(17 * MB, pool_peak());
    remove(1);
    add(4, 2 * MB, true);
    EXPECT_EQ(17 * MB, pool_peak());
    add(5, 9 * MB, true);
    EXPECT_EQ(18 * MB, pool_peak());
}

TEST_F(test_memlock, pools_of_watched_domains_count_for_good)
{
    uct_predreg_memlock_add_pool(&m_memlock, 3 * MB);
    uct_predreg_memlock_add_pool(&m_memlock, 4 * MB);
    EXPECT_EQ(7 * MB, pool_peak());
    EXPECT_EQ(64 * MB, bound()) << "but not against the limit";
}

TEST_F(test_memlock, forked_child_starts_anew)
{
    uct_predreg_memlock_t parents;

    add(1, 10 * MB, true);
    parents = m_memlock;
    ucs_mutex_lock(&m_memlock.lock); /* As another thread may have */
    ucs_rank_forget(); /* As this thread does in the child */
    uct_predreg_memlock_reset(&m_memlock);
    EXPECT_EQ(64 * MB, bound());
    EXPECT_EQ(0u, pool_peak());

    m_memlock = parents;
}

TEST_F(test_memlock, concurrent)
{
    std::vector<std::thread> threads;

    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([this] {
            for (unsigned i = 0; i < 2000 / SANITIZER_SLOWDOWN; ++i) {
                uct_predreg_memlock_add(&m_memlock, MB, MB);
                EXPECT_LE(60 * MB, bound());
                EXPECT_GE(63 * MB, bound());
                uct_predreg_memlock_remove(&m_memlock, MB, MB);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(64 * MB, bound());
    EXPECT_GE(4 * MB, pool_peak());
}
