/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "threads_test.h"

#include "../helper/forget_access.h"

#include <ucs/rcache_pred/api/rcache_pred.h>

/* Uses of several threads that do not wait for each other */
class test_lanes : public threads_test {
protected:
    void in_another_thread(std::function<void()> func)
    {
        std::thread(func).join();
    }

    /* Make lanes. From then on, uses of so many new buffers each end whenever
     * the helper deregisters something */
    void make_busy_helper(unsigned num_uses)
    {
        make_lanes();
        run_until_asleep(10 * SEC);
        m_world.on_dereg = [this, num_uses](const auto&) {
            for (unsigned i = 0; m_is_busy && (i < num_uses); ++i) {
                use(m_next_buffer++);
            }
        };
    }

    /* Use so many buffers, so that the last use of each ends in the lane of
     * this thread: they belong to it before that, and the helper has no
     * entries */
    void end_in_lane(unsigned num_buffers)
    {
        std::vector<void*> memhs;

        for (unsigned b = 0; b < num_buffers; ++b) {
            memhs.push_back(begin(buffer(b), PAGE));
        }
        for (unsigned i = 0; i < 10 * TURNS; ++i) {
            use(i % num_buffers);
        }
        for (void *memh : memhs) {
            end(memh);
        }
    }

    /* Expect that the helper gets to these buffers */
    void expect_gone(unsigned num_buffers)
    {
        m_is_busy = true;
        for (unsigned i = 0; i < 10; ++i) {
            use(m_next_buffer++);
            poll();
        }
        for (unsigned b = 0; b < num_buffers; ++b) {
            EXPECT_EQ(0u, m_world.num_live_at(buffer(b))) << b;
        }
        EXPECT_GT(m_next_buffer, 1000u);
        m_is_busy = false;
    }

    uint64_t registrations()
    {
        return stats().regs_critical;
    }

    bool     m_is_busy     = false;
    unsigned m_next_buffer = NUM_BUFFERS;
};

TEST_F(test_lanes, one_thread_has_none)
{
    create();
    for (unsigned i = 0; i < 10 * TURNS; ++i) {
        use(i % NUM_BUFFERS);
    }
    EXPECT_EQ(0u, test_pred_num_lanes(m_pred));
}

TEST_F(test_lanes, two_threads_have_two)
{
    make_lanes();
    EXPECT_EQ(2u, test_pred_num_lanes(m_pred));
    EXPECT_EQ(2u, test_pred_num_in_lanes(m_pred));
    EXPECT_EQ(2 * TURNS, stats().uses);
    EXPECT_EQ(2 * TURNS - 2, stats().hits);
    EXPECT_EQ(2u, stats().regs_critical);
}

TEST_F(test_lanes, none_where_events_are_in_order)
{
    ucs_rcache_pred_sink_t sink = {
        [](void*, const ucs_rcache_pred_event_t*) {}, nullptr
    };

    m_params.sink = &sink;
    make_lanes();
    EXPECT_EQ(0u, test_pred_num_lanes(m_pred));
    destroy();
}

TEST_F(test_lanes, none_on_demand)
{
    m_params.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    m_params.helper = UCS_RCACHE_PRED_HELPER_OFF;
    make_lanes();
    EXPECT_EQ(0u, test_pred_num_lanes(m_pred));
}

TEST_F(test_lanes, another_thread_takes_a_region_out)
{
    make_lanes();
    in_another_thread([this] { use(0); });
    EXPECT_EQ(1u, test_pred_num_in_lanes(m_pred));
    /* It is this thread's again after some uses in a row */
    for (unsigned i = 0; i < TURNS; ++i) {
        use(0);
    }
    EXPECT_EQ(2u, test_pred_num_in_lanes(m_pred));
    EXPECT_EQ(2u, stats().regs_critical);
}

/* A use that began in a lane ends under the lock, if another thread ends it */
TEST_F(test_lanes, another_thread_ends_a_use)
{
    make_lanes();
    for (unsigned i = 0; i < TURNS; ++i) {
        void *memh = begin(buffer(0), PAGE);
        in_another_thread([this, memh] { end(memh); });
    }
    EXPECT_EQ(3 * TURNS, stats().uses);
    EXPECT_EQ(2u, stats().regs_critical);
}

TEST_F(test_lanes, helper_learns_of_all_uses)
{
    make_lanes();
    poll();
    for (unsigned i = 0; i < 20; ++i) {
        m_world.advance(MSEC);
        use(0);
        poll();
    }
    EXPECT_TRUE(test_pred_validate(m_pred) == nullptr);
    run_until_asleep(10 * SEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, stats().dq_dropped);
}

TEST_F(test_lanes, unmap_is_seen_by_the_next_use)
{
    make_lanes();
    for (unsigned i = 0; i < TURNS; ++i) {
        uint64_t before = registrations();

        use(0);
        EXPECT_EQ(before + (i > 0), registrations());
        unmap(buffer(0), PAGE);
        poll();
    }
}

/* The handler of a signal that has interrupted a thread in its lane */
TEST_F(test_lanes, unmap_in_a_handler)
{
    uint64_t before;

    make_lanes();
    /* More than there is room to remember, too */
    for (unsigned num : {1, 3, 40}) {
        use(0);
        before = registrations();
        ASSERT_TRUE(test_pred_enter_lane(m_pred));
        for (unsigned i = 0; i < num; ++i) {
            unmap(buffer(i == 0 ? 0 : 2 + i), PAGE);
        }
        test_pred_leave_lane(m_pred);
        use(0);
        EXPECT_EQ(before + 1, registrations());
    }
}

/* The handler comes to a thread that is about to enter its lane, while another
 * one has the lock and has unmapped what was deferred before. The two do not
 * wait for each other here: only the cache itself orders what they do in the
 * same place. */
TEST_F(test_lanes, unmap_in_a_handler_while_another_thread_has_the_lock)
{
    std::atomic<int> step{0};
    auto wait_for_step = [&step](int number) {
        while (step.load(std::memory_order_relaxed) < number) {
            std::this_thread::yield();
        }
    };
    uint64_t before;

    make_lanes();
    use(0);
    before = registrations();
    ASSERT_TRUE(test_pred_enter_lane(m_pred));
    unmap(buffer(2), PAGE);
    test_pred_leave_lane(m_pred);
    std::thread other([&] {
        pred_lock(m_pred);
        step.store(1, std::memory_order_relaxed);
        wait_for_step(2);
        pred_unlock(m_pred);
    });
    wait_for_step(1);
    test_pred_approach_lane(m_pred);
    unmap(buffer(0), PAGE);
    test_pred_leave_lane(m_pred);
    step.store(2, std::memory_order_relaxed);
    other.join();
    use(0);
    EXPECT_EQ(before + 1, registrations());
}

/* The same in several threads at a time, while uses and a helper go on */
TEST_F(test_lanes, unmaps_in_handlers_of_several_threads)
{
    m_num_own = 16;
    run_in_child([this] {
        make_lanes();
        start_poller();
        for (unsigned t = 0; t < 2; ++t) {
            m_threads.emplace_back([this, t] {
                while (!m_stop) {
                    unsigned b      = 48 + t;
                    uint64_t serial;

                    end(begin(buffer(b), PAGE));
                    if (!test_pred_enter_lane(m_pred)) {
                        continue;
                    }
                    serial = m_world.serial();
                    ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(b),
                                             (uintptr_t)buffer(b, 4 * PAGE));
                    test_pred_leave_lane(m_pred);
                    m_min_serial[b] = serial;
                }
            });
        }
        run_users(3);
        EXPECT_GE(test_pred_num_lanes(m_pred), 2u);
        finish();
    });
}

/* A thread that the handler of a signal keeps in its lane */
TEST_F(test_lanes, lane_that_stays_taken_is_not_waited_for)
{
    make_lanes();
    ASSERT_TRUE(test_pred_enter_lane(m_pred));
    EXPECT_FALSE(ucs_rcache_pred_is_free(m_pred, 0));
    in_another_thread([this] {
        EXPECT_FALSE(ucs_rcache_pred_is_free(m_pred, 50 * MSEC));
    });
    test_pred_leave_lane(m_pred);
    in_another_thread([this] {
        EXPECT_TRUE(ucs_rcache_pred_is_free(m_pred, 0));
    });
}

/* The helper deregisters memory, and each time another use ends under the lock:
 * its queue is never empty */
TEST_F(test_lanes, entries_of_lanes_do_not_wait_for_the_others)
{
    make_busy_helper(1);
    end_in_lane(1);
    expect_gone(1);
}

TEST_F(test_lanes, lost_regions_of_lanes_do_not_wait_for_the_others)
{
    m_params.dq_size = 2;
    make_busy_helper(3);
    end_in_lane(3);
    expect_gone(3);
}

/* Threads with buffers of their own, which others use now and then */
class test_lanes_random : public test_lanes {
protected:
    test_lanes_random()
    {
        m_num_own = 16;
    }
};

TEST_F(test_lanes_random, uses_and_helper)
{
    run_in_child(3, 1, 0);
}

TEST_F(test_lanes_random, uses_unmaps_and_helper)
{
    run_in_child(4, 1, 1);
}

TEST_F(test_lanes_random, small_queue)
{
    m_params.dq_size = 2;
    run_in_child(3, 1, 1);
}

TEST_F(test_lanes_random, fewer_regions_than_buffers)
{
    m_params.known_regions = 16;
    m_params.dq_size       = 16;
    run_in_child(3, 1, 1);
}

TEST_F(test_lanes_random, uses_and_progress)
{
    m_params.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    run_in_child([this] {
        create();
        start_progress();
        start_unmapper();
        run_users(3);
        finish();
    });
}

/* More threads than there are lanes: the rest takes the lock */
TEST_F(test_lanes_random, many_threads)
{
    m_num_own   = 1;
    m_num_uses /= 20;
    run_in_child(100, 1, 1);
}

TEST_F(test_lanes_random, purge_and_statistics)
{
    run_in_child([this] {
        create();
        start_poller();
        m_threads.emplace_back([this] {
            while (!m_stop) {
                auto now = stats();

                EXPECT_LE(now.hits, now.uses);
                ucs_rcache_pred_purge(m_pred);
            }
        });
        run_users(3);
        finish();
    });
}

/* Each time the helper takes the lock, it looks into the lanes of all threads */
TEST_F(test_lanes, an_entry_takes_the_lock_four_times)
{
    unsigned locks[2];

    make_lanes();
    for (unsigned i = 0; i < 2; ++i) {
        unsigned num_entries = i ? 17 : 1;
        run_until_asleep(10 * SEC);
        for (unsigned b = 0; b < num_entries; ++b) {
            use(m_next_buffer++);
        }

        uint64_t deregs = stats().deregs;
        unsigned before = test_num_locks();
        poll();
        locks[i] = test_num_locks() - before;
        EXPECT_EQ(deregs + num_entries, stats().deregs);
    }

    EXPECT_GE(locks[1] - locks[0], 16u);
    EXPECT_LE(locks[1] - locks[0], 4u * 16);
}
