/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node_test.h"

#include <common/fake_root.h>

#include <pthread.h>

#include <functional>


/* What processes of a node learn of its processors, from a kernel that the test plays.
 * Which helper gets which processor is tested with the pure function */
class test_seats : public node_test {
protected:
    static constexpr uint64_t MSEC = 1000000;

    test_seats() : m_idle(4, 0)
    {
        m_root.stat(m_idle);
        m_params.root = m_root.path();
    }

    /* A process that may run on these processors */
    ucs_rcache_pred_node_t *join_on(int first, int last)
    {
        cpu_set_t usable = cpus(0, 3);

        m_params.affinity            = cpus(first, last);
        ucs_rcache_pred_node_t *node = join();
        node->usable = usable;
        pred_slot_set_cpus(node->slot->usable, &usable);
        m_now = std::max(m_now, ucs_monotonic_ns());
        return node;
    }

    /* Time passes, in which some processors are idle */
    void pass(uint64_t msec, const std::vector<unsigned> &idle)
    {
        m_now += msec * MSEC;
        for (unsigned cpu : idle) {
            m_idle[cpu] += msec / 10;
        }
        m_root.stat(m_idle);
    }

    ucs_rcache_pred_node_seat_t seat(ucs_rcache_pred_node_t *node, uint64_t demand = 0,
                                     uint64_t busy = 0)
    {
        /* A look that has taken long, as under a sanitizer, puts off the next one */
        ucs_relaxed_store(&node->shm->watch.cost, 0);
        return update_at(node, m_now, demand, busy);
    }

    static void expect_cpus(int first, int last,
                            const ucs_rcache_pred_node_seat_t &seat)
    {
        cpu_set_t expected = cpus(first, last);

        EXPECT_TRUE(CPU_EQUAL(&expected, &seat.cpus));
    }

    fake_root             m_root;
    std::vector<unsigned> m_idle;
};

TEST_F(test_seats, processor_is_idle_if_nobody_uses_it)
{
    auto a = join_on(0, 1), b = join_on(2, 3);

    pass(1000, {1, 3});
    EXPECT_EQ(0, seat(a).idle == 0 && seat(b).idle == 0);
    expect_cpus(1, 1, seat(a));
    expect_cpus(3, 3, seat(b));
    EXPECT_EQ(1, seat(a).idle);
    EXPECT_EQ(2u, seat(b).procs);
    EXPECT_EQ(1u, seat(b).sharers);
}

TEST_F(test_seats, program_that_uses_all_of_its_mask_leaves_nothing_idle)
{
    auto a = join_on(0, 3);

    pass(1000, {});
    auto s = seat(a);
    EXPECT_EQ(0, s.idle);
    expect_cpus(0, 3, s);

    /* Its threads end a phase, and begin another one */
    pass(250, {1, 2, 3});
    EXPECT_EQ(1, seat(a).idle);
    pass(250, {});
    EXPECT_EQ(0, seat(a).idle);
}

TEST_F(test_seats, before_the_first_look_nothing_is_idle)
{
    auto a = join_on(0, 1);

    auto s = seat(a);
    EXPECT_EQ(0, s.idle);
    EXPECT_EQ(1, s.share);
    expect_cpus(0, 1, s);
}

TEST_F(test_seats, looks_are_rare)
{
    auto a = join_on(0, 1);

    pass(50, {1});
    EXPECT_EQ(1, seat(a).idle) << "it has just begun";
    pass(2000, {1});
    EXPECT_EQ(1, seat(a).idle);
    pass(150, {});
    EXPECT_EQ(1, seat(a).idle) << "too soon for another look";
    pass(50, {});
    EXPECT_EQ(0, seat(a).idle);
}

TEST_F(test_seats, what_helpers_use_is_still_idle)
{
    auto a = join_on(0, 1), b = join_on(0, 1);

    pass(1000, {3});
    ASSERT_EQ(1, seat(a, 10).idle);
    ASSERT_EQ(0, seat(b, 5).idle);

    /* The helper has used all of it, which both see */
    pass(1000, {});
    EXPECT_EQ(1, seat(a, 10, 1000 * MSEC).idle);
    expect_cpus(3, 3, seat(a, 10, 1000 * MSEC));
    expect_cpus(3, 3, seat(b, 5));

    /* Another program has used half of it */
    pass(1000, {});
    EXPECT_EQ(0, seat(a, 10, 1500 * MSEC).idle);
}

TEST_F(test_seats, others_read_what_one_has_found)
{
    auto a = join_on(0, 1), b = join_on(2, 3);

    pass(1000, {1, 3});
    seat(a, 10);
    auto s = seat(b, 20); /* It does not look itself */
    EXPECT_EQ(1, s.idle);
    EXPECT_EQ(1u, s.rank) << "its demand was not known";
    pass(1000, {1, 3});
    seat(a, 10);
    EXPECT_EQ(0u, seat(b, 20).rank);
}

TEST_F(test_seats, shares_follow_who_comes_and_goes)
{
    auto a = join_on(0, 0);

    pass(1000, {});
    EXPECT_EQ(1, seat(a).share);
    auto b = join_on(0, 0);
    pass(1000, {});
    EXPECT_EQ(.5, seat(a).share);
    EXPECT_EQ(.5, seat(b).share);
    EXPECT_EQ(2u, seat(a).sharers);
    leave(b);
    pass(1000, {});
    EXPECT_EQ(1, seat(a).share);
    EXPECT_EQ(1u, seat(a).procs);
}

TEST_F(test_seats, slot_that_is_taken_over_has_no_seat_yet)
{
    auto a = join_on(0, 0), b = join_on(1, 1);

    pass(1000, {2, 3});
    seat(a);
    ASSERT_EQ(1, seat(b).idle);
    leave(b);
    b = join_on(1, 1);
    EXPECT_EQ(0, seat(b).idle);
}

TEST_F(test_seats, clock_of_another_name_space_is_not_trusted)
{
    auto a = join_on(0, 1);

    pass(1000, {1});
    ASSERT_EQ(1, seat(a).idle);
    m_now -= 500 * MSEC;
    EXPECT_EQ(0, seat(a).idle);
    pass(1000, {1});
    EXPECT_EQ(1, seat(a).idle);
}

TEST_F(test_seats, kernel_that_does_not_tell_has_nothing_idle)
{
    auto a = join_on(0, 1);

    m_root.write("/proc/stat", "");
    m_now += 1000 * MSEC;
    EXPECT_EQ(0, seat(a).idle);
    m_now += 1000 * MSEC;
    EXPECT_EQ(0, seat(a).idle);
}

TEST_F(test_seats, without_memory_all_keep_what_they_have)
{
    auto a = join_on(0, 1);

    pass(1000, {1});
    ASSERT_EQ(1, seat(a).idle);
    for (unsigned nth = 1; nth <= 4; ++nth) {
        pass(1000, {});
        test_alloc_fail_nth(nth);
        EXPECT_EQ(1, seat(a).idle);
        EXPECT_TRUE(test_alloc_failed());
    }
    pass(1000, {});
    EXPECT_EQ(0, seat(a).idle);
}

/* Threads of the program look, too, and a library for such threads may have given them
 * 16 KiB of stack. Sanitizers make frames larger */
TEST_F(test_seats, look_takes_little_stack)
{
    auto node = join_on(0, 3);
    double idle = 0;
    std::function<void()> look = [&] { idle = seat(node).idle; };
    std::vector<char> stack(64 * 1024, 0);
    pthread_attr_t attr;
    pthread_t thread;

    if (SANITIZER_SLOWDOWN > 1) {
        GTEST_SKIP() << "sanitizers take stack themselves";
    }
    pass(1000, {1});
    pthread_attr_init(&attr);
    ASSERT_EQ(0, pthread_attr_setstack(&attr, stack.data(), stack.size()));
    ASSERT_EQ(0, pthread_create(&thread, &attr, [](void *arg) -> void* {
        (*(std::function<void()>*)arg)();
        return NULL;
    }, &look));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);

    size_t untouched = std::find_if(stack.begin(), stack.end(),
                                    [](char c) { return c != 0; }) - stack.begin();
    EXPECT_EQ(1, idle);
    EXPECT_LE(stack.size() - untouched, 20u * 1024);
}
