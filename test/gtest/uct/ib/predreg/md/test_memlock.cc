/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/library.h>

#include <sched.h>
#include <sys/resource.h>


extern "C" {
#include <uct/ib/predreg/md/memlock.h>
}


class test_memlock : public ::testing::Test {
protected:
    static constexpr uint64_t NONE = UINT64_MAX;

    test_memlock() : m_memlock{&sys}
    {
        privileged = 0;
        limit      = {64 * MB, 64 * MB};
        get_error  = 0;
    }

    uint64_t bound(uint64_t max_pinned = NONE)
    {
        return uct_predreg_memlock_bound(&m_memlock, max_pinned);
    }

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

    uct_predreg_memlock_t m_memlock;
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
    m_memlock.bytes += 100 * MB;
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
    m_memlock.bytes += 20 * MB;
    m_memlock.bytes += 4 * MB;
    EXPECT_EQ(40 * MB, bound());
    m_memlock.bytes -= 20 * MB;
    EXPECT_EQ(60 * MB, bound());
    m_memlock.bytes -= 4 * MB;
    EXPECT_EQ(64 * MB, bound());
}

TEST_F(test_memlock, nothing_works_with_less_than_the_least)
{
    m_memlock.bytes += 64 * MB - PAGE;
    EXPECT_EQ(UCS_RCACHE_PRED_MIN_BYTES, bound());
    m_memlock.bytes += 64 * MB;
    EXPECT_EQ(UCS_RCACHE_PRED_MIN_BYTES, bound()) << "not below 0";
    EXPECT_EQ(PAGE, bound(PAGE)) << "but the user's bound is the user's";
}
