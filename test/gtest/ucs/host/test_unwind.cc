/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <ucs/host/unwind.h>
}

#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <thread>
#include <vector>

class test_unwind : public ::testing::Test {
protected:
    static constexpr unsigned MAX = 64;

    test_unwind()
    {
        EXPECT_EQ(UCS_OK, ucs_callpath_table_create(&ops, &m_table));
        num_unwinds = 0;
    }

    ~test_unwind() { ucs_callpath_table_destroy(m_table); }

    static unsigned unwind(const void *caller, ucs_callpath_frame_t *frames,
                           unsigned max)
    {
        ++num_unwinds;
        return ucs_host_unwind(caller, frames, max);
    }

    /* What stands for a communication */
    UCS_F_NOINLINE uint64_t communicate()
    {
        return ucs_callpath_find(m_table, &m_thread,
                                 __builtin_return_address(0),
                                 __builtin_frame_address(0));
    }

    UCS_F_NOINLINE uint64_t library()
    {
        uint64_t path = communicate();

        asm volatile(""); /* This keeps the call from being a tail call */
        return path;
    }

    /* Two places in one function: the depth is the same */
    UCS_F_NOINLINE uint64_t solve(bool is_second)
    {
        uint64_t path;

        if (is_second) {
            path = library();
            asm volatile("nop");
        } else {
            path = library();
        }
        return path;
    }

    /* The frame between is larger by so much */
    UCS_F_NOINLINE uint64_t vary(unsigned size)
    {
        volatile char *room = (volatile char*)alloca(size);
        uint64_t path;

        room[0] = 1;
        path    = solve(false);
        room[0] = 2;
        return path;
    }

    static const ucs_callpath_ops_t ops;
    static unsigned                 num_unwinds;

    ucs_callpath_table_t            *m_table  = NULL;
    ucs_callpath_thread_t           m_thread = {};
};

const ucs_callpath_ops_t test_unwind::ops = {ucs_host_stack,
                                             test_unwind::unwind};
unsigned test_unwind::num_unwinds;

TEST_F(test_unwind, the_stack_of_a_thread) {
    for (unsigned i = 0; i < 2; ++i) {
        auto check = [] {
            ucs_callpath_stack_t stack = ucs_host_stack();
            uintptr_t frame            = (uintptr_t)__builtin_frame_address(0);

            EXPECT_LE(stack.low, frame);
            EXPECT_GT(stack.high, frame);
        };

        if (i == 0) {
            check();
        } else {
            std::thread(check).join();
        }
    }
}

UCS_F_NOINLINE static unsigned
inner(ucs_callpath_frame_t *frames, unsigned max, std::vector<void*> *all)
{
    unsigned count = ucs_host_unwind(__builtin_return_address(0), frames, max);

    all->resize(128);
    all->resize(backtrace(all->data(), 128));
    all->erase(all->begin(),
               std::find(all->begin(), all->end(),
                         __builtin_return_address(0)) + 1);
    return count;
}

UCS_F_NOINLINE static unsigned
outer(ucs_callpath_frame_t *frames, unsigned max, std::vector<void*> *all)
{
    unsigned count = inner(frames, max, all);

    asm volatile("");
    return count;
}

TEST_F(test_unwind, it_finds_what_backtrace_finds) {
    ucs_callpath_frame_t frames[MAX];
    std::vector<void*> all;
    unsigned count = outer(frames, MAX, &all);

    ASSERT_GT(count, 5u);
    for (unsigned i = 0; i < count; ++i) {
        ASSERT_LT(i, all.size());
        EXPECT_EQ((uintptr_t)all[i], frames[i].address) << i;
        if (i > 0) {
            EXPECT_LT(frames[i - 1].slot, frames[i].slot) << i;
        }
    }
}

TEST_F(test_unwind, not_more_than_asked_for) {
    ucs_callpath_frame_t frames[MAX];
    std::vector<void*> all;

    memset(frames, 0, sizeof(frames));
    EXPECT_EQ(2u, outer(frames, 2, &all));
    EXPECT_EQ(0u, frames[2].address);
}

TEST_F(test_unwind, a_caller_that_is_not_on_the_stack) {
    ucs_callpath_frame_t frames[MAX];

    EXPECT_EQ(0u, ucs_host_unwind((const void*)16, frames, MAX));
}

TEST_F(test_unwind, places_in_one_function_are_told_apart) {
    std::set<uint64_t> paths;

    for (unsigned i = 0; i < 100; ++i) {
        paths.insert(solve(i % 2));
    }
    EXPECT_EQ(2u, paths.size());
    EXPECT_EQ(2u, num_unwinds);
}

TEST_F(test_unwind, a_frame_of_any_size_between) {
    std::set<uint64_t> paths;

    for (unsigned i = 0; i < 100; ++i) {
        paths.insert(vary(1 + i % 4 * 1000));
    }
    EXPECT_EQ(4u, paths.size()) << "depths are told apart";
    EXPECT_EQ(4u, num_unwinds);

    /* Always another size */
    for (unsigned i = 0; i < 5000; ++i) {
        vary(16 * (i % 5000) + 5000);
    }
    EXPECT_LE(num_unwinds, UCS_CALLPATH_MAX_CREDIT +
                           5000u / UCS_CALLPATH_CREDIT_PERIOD + 1);
}

/* A fiber has a stack of its own, whose end nobody knows */
TEST_F(test_unwind, on_another_stack_only_the_depth_is_known) {
    static std::vector<char> memory(256 * 1024);
    static std::function<void()> body;
    static ucontext_t here, there;
    uint64_t first = 0, second = 0;

    body = [&] {
        first  = solve(false);
        second = solve(true);
    };
    ASSERT_EQ(0, getcontext(&there));
    there.uc_stack.ss_sp   = memory.data();
    there.uc_stack.ss_size = memory.size();
    there.uc_link          = &here;
    makecontext(&there, [] { body(); }, 0);
    ASSERT_EQ(0, swapcontext(&here, &there));

    EXPECT_NE(0u, first);
    EXPECT_EQ(first, second);
    EXPECT_EQ(0u, num_unwinds);
}
