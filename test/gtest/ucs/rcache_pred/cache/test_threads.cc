/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "threads_test.h"

#include <unistd.h>


/* Uses, unmaps and the helper in several threads at once */
class test_threads : public threads_test {
};

TEST_F(test_threads, uses_and_progress)
{
    m_params.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    run_in_child([this] {
        create();
        start_progress();
        start_progress();
        start_unmapper();
        run_users(3);
        finish();
    });
}

TEST_F(test_threads, helper_that_comes_and_goes)
{
    /* Time passes fast, so that the cache asks for its seat often */
    m_world.set_tick(100 * USEC * SANITIZER_SLOWDOWN);
    m_world.seat_turns = UCS_RCACHE_PRED_MODE_VOTES + 1;
    m_num_uses        *= 2;
    run_in_child([this] {
        create();
        start_poller();
        start_progress();
        start_unmapper();
        run_users(2);
        EXPECT_GE(m_world.num_seats(), 2 * m_world.seat_turns);
        finish();
    });
}

TEST_F(test_threads, uses_and_helper)
{
    run_in_child(3, 1, 0);
}

TEST_F(test_threads, uses_unmaps_and_helper)
{
    run_in_child(3, 1, 1);
}

TEST_F(test_threads, more_buffers_than_are_remembered)
{
    /* The helper forgets three out of four buffers soon after their use, and
     * now and then the one that a use begins on at that moment */
    m_params.known_regions = 16;
    m_num_uses            *= 2;
    run_in_child(3, 1, 0);
}

TEST_F(test_threads, small_queue)
{
    m_params.dq_size = 2;
    run_in_child(3, 1, 1);
}

TEST_F(test_threads, few_call_sites)
{
    m_params.max_sites = 16;
    run_in_child(2, 1, 0);
}

TEST_F(test_threads, not_enough_memory)
{
    /* Two threads have three uses of up to 5 pages each. What a longer use
     * replaces is registered as well until its last use ends, so that there are
     * evictions all the time. */
    m_world.limit_bytes(48 * PAGE);
    run_in_child(2, 1, 0);
}

TEST_F(test_threads, helper_played_by_several_threads)
{
    /* This is so when several worker threads make progress */
    run_in_child(2, 2, 0);
}

TEST_F(test_threads, on_demand)
{
    m_params.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    run_in_child(3, 0, 1);
}

TEST_F(test_threads, purge_and_statistics)
{
    run_in_child([this] {
        create();
        start_poller();
        m_threads.emplace_back([this] {
            while (!m_stop) {
                ucs_rcache_pred_purge(m_pred);
                stats();
                ucs_rcache_pred_quiesce(m_pred);
                ucs_rcache_pred_resume(m_pred);
                std::this_thread::yield();
            }
        });
        run_users(2);
        finish();
    });
}

/* One thread uses an array, others ever other slices of it, which begin while it waits */
TEST_F(test_threads, use_does_not_wait_for_slices_that_come_after_it)
{
    static constexpr unsigned SLICES = 3;
    std::atomic<bool> is_coming[SLICES] = {}, is_there[SLICES] = {};
    std::atomic<bool> has_begun{false};
    void *memhs[SLICES] = {}, *all = nullptr;

    create();
    auto slice   = [](unsigned i) { return buffer(0, (1 + 2 * i) * PAGE); };
    auto wait    = [](const std::atomic<bool> &flag) {
        for (unsigned ms = 0; !flag && (ms < 5000); ++ms) {
            usleep(1000);
        }
        EXPECT_TRUE(flag);
    };
    m_world.on_reg = [&](const auto &r) {
        for (unsigned i = 0; i < SLICES; ++i) {
            if (r.address == (uintptr_t)slice(i)) {
                is_coming[i] = true;
                wait(is_there[i]);
            }
        }
    };

    auto begin_slice = [&](unsigned i) {
        m_threads.emplace_back([&, i] { memhs[i] = begin(slice(i), PAGE); });
        wait(is_coming[i]);
    };
    begin_slice(0);
    unsigned yields = test_num_yields();
    m_threads.emplace_back([&] {
        all       = begin(buffer(0), 64 * PAGE);
        has_begun = true;
    });
    while (test_num_yields() == yields) {
        usleep(10);
    }
    for (unsigned i = 1; i < SLICES; ++i) {
        begin_slice(i);
    }
    is_there[0] = true;
    wait(has_begun);
    for (std::atomic<bool> &flag : is_there) {
        flag = true;
    }
    for (std::thread &thread : m_threads) {
        thread.join();
    }
    m_threads.clear();
    m_world.on_reg = nullptr;

    /* What is registered twice now is given up once its last use has ended */
    for (void *memh : memhs) {
        end(memh);
    }
    EXPECT_EQ(1u, m_world.num_live());
    end(all);
}

TEST_F(test_threads, domain_waits_for_an_eviction_to_end)
{
    run_in_child([this] {
        domain_t *other = (create(), new_domain("fake1"));
        std::atomic<bool> destroyed{false};
        std::thread thread;

        /* A use of one domain evicts a region of the other domain, which is
         * destroyed in the middle of that */
        end(begin(buffer(0), PAGE, 0, other), other);
        m_world.limit_bytes(PAGE);
        m_world.on_dereg = [&](const auto &) {
            m_world.on_dereg = nullptr;
            thread = std::thread([&] {
                destroy_domain(1);
                destroyed = true;
            });
            for (unsigned i = 0; i < 10000; ++i) {
                std::this_thread::yield();
            }
            EXPECT_FALSE(destroyed) << "while its memory is deregistered";
        };
        end(begin(buffer(1), PAGE));
        thread.join();
        finish();
    });
}

TEST_F(test_threads, bound_is_kept)
{
    m_params.max_bytes = MB;
    m_num_uses        /= 20;
    run_in_child([this] {
        create();
        start_poller();
        start_unmapper();
        run_bounded_users(8);
        EXPECT_GT(stats().evictions, 0u);
        EXPECT_GT(stats().in_pieces, 0u);
        EXPECT_GE(stats().refused, m_refused);
        finish();
    });
}

TEST_F(test_threads, bound_is_kept_on_demand)
{
    m_params.policy    = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    m_params.max_bytes = MB;
    m_num_uses        /= 20;
    run_in_child([this] {
        create();
        run_bounded_users(8);
        EXPECT_GT(stats().pieces, 0u);
        finish();
    });
}

TEST_F(test_threads, number_of_regions_is_kept)
{
    m_params.max_bytes   = 64 * MB;
    m_params.max_regions = 6;
    m_num_buffers        = 12;
    m_num_uses          /= 20;
    run_in_child([this] {
        create();
        start_poller();
        run_bounded_users(8);
        finish();
        EXPECT_EQ(6u, m_world.regions_peak());
    });
}

TEST_F(test_threads, pieces_wait_for_each_other)
{
    /* There is less room than the pieces of all threads need: the system
     * refuses some, whose threads can wait for those of others. Nothing is
     * registered as a whole. */
    m_world.limit_bytes(6 * 64 * KB);
    m_params.max_bytes = MB;
    m_min_length       = MB;
    m_num_uses        /= 50;
    run_in_child([this] {
        create();
        run_bounded_users(4);
        finish();
    });
}

TEST_F(test_threads, room_on_its_way_is_waited_for)
{
    /* One use at a time takes all the room there is: the helper may be giving
     * up the region of the one before, but nothing else is in the way */
    m_params.max_bytes = MB;
    m_num_uses        *= 10;
    run_in_child([this] {
        static std::atomic<unsigned> yields;
        ucs_rcache_pred_ops_t ops = fake_world::ops;
        void *memh;

        /* A use gives up after so many calls of yield. If the system does not
         * let the helper run for a while, they have to take longer. */
        ops.yield = [](void*) {
            if (++yields < 64) {
                std::this_thread::yield();
            } else {
                usleep(100);
            }
        };
        m_params.ops = &ops;
        create();
        m_world.set_bound(MB);
        start_poller();
        for (unsigned i = 0; i < m_num_uses; ++i) {
            void *address = buffer(i % 2);
            yields        = 0;
            if (try_begin(address, MB - 128 * KB, &memh) != UCS_OK) {
                fail("refused for what was about to be deregistered");
            }
            end(memh);
        }
        finish();
    });
}
