/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pieces_use.h>

#include <atomic>
#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <thread>
#include <unistd.h>


/*
 * Uses, unmaps and the helper, all at once. A use knows that its memory must be
 * registered, by a registration no older than the last unmap, until it ends.
 *
 * Each test runs in a process of its own, so that one that crashes is one that
 * fails.
 */
class test_threads : public pred_test {
protected:
    static constexpr unsigned NUM_BUFFERS = 64;

    test_threads()
    {
        m_params.dq_size = 1 << 16; /* Nothing is lost, unless a test says so */
        m_world.set_tick(200);
        m_world.set_reg_cost(5, 1000);
        m_world.set_dereg_cost(1, 500);
    }

    void run_in_child(std::function<void()> func);
    void run_in_child(unsigned num_users, unsigned num_pollers,
                      unsigned num_unmappers);

    /* In the child: begin and end uses, two at a time, in so many threads */
    void run_users(unsigned num_threads);
    void run_user(unsigned seed);
    /* In the child: one use after the other, whole or in pieces, under a bound
     * that does not hold them all */
    void run_bounded_user(unsigned seed);
    void run_bounded_users(unsigned num_threads);
    void start_poller();
    void start_progress();
    void start_unmapper();
    /* Stop the poller and the unmapper, and see that all is in order */
    void finish();

    void fail(const char *what)
    {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }

    void check_use(void *memh, unsigned b, size_t length, uint64_t min_serial)
    {
        if (!m_world.covers(memh, buffer(b), length)) {
            fail("memory in use is not registered");
        }
        if (m_world.get(memh).serial <= min_serial) {
            fail("registered before its memory was unmapped");
        }
    }

    struct use_under_way {
        void     *memh;
        unsigned b;
        size_t   length;
        uint64_t min_serial;
    };

    unsigned                 m_num_buffers = NUM_BUFFERS;
    unsigned                 m_num_uses    = 50000 / SANITIZER_SLOWDOWN;
    size_t                   m_min_length  = 1;
    std::atomic<bool>        m_stop{false};
    std::vector<std::thread> m_threads;
    std::atomic<uint64_t>    m_min_serial[NUM_BUFFERS] = {};
    std::atomic<unsigned>    m_refused{0};
    std::atomic<unsigned>    m_invalidated{0};
    std::atomic<unsigned>    m_called{0};
};

void test_threads::run_in_child(std::function<void()> func)
{
    auto child = [&func] {
        alarm(60); /* What got into an endless loop fails as well */
        func();

        /* googletest keeps quiet about failures in a child */
        auto *result = ::testing::UnitTest::GetInstance()
                               ->current_test_info()->result();
        for (int i = 0; i < result->total_part_count(); ++i) {
            fprintf(stderr, "%s\n", result->GetTestPartResult(i).message());
        }
        _exit(result->Failed());
    };

    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

void test_threads::run_in_child(unsigned num_users, unsigned num_pollers,
                                unsigned num_unmappers)
{
    run_in_child([=]() mutable {
        create();
        while (num_pollers-- > 0) {
            start_poller();
        }
        while (num_unmappers-- > 0) {
            start_unmapper();
        }
        run_users(num_users);
        finish();
    });
}

void test_threads::run_user(unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<use_under_way> uses;

    for (unsigned i = 0; i < m_num_uses; ++i) {
        use_under_way u;

        u.b          = random() % m_num_buffers;
        u.length     = 1 + random() % (4 * PAGE);
        u.min_serial = m_min_serial[u.b];
        if (try_begin(buffer(u.b), u.length, &u.memh, random() % 4, NULL,
                      context(random() % 3)) != UCS_OK) {
            fail("no registration should have failed");
        }
        check_use(u.memh, u.b, u.length, u.min_serial);
        uses.push_back(u);

        while (uses.size() > random() % 3) {
            u = uses.front();
            uses.erase(uses.begin());
            check_use(u.memh, u.b, u.length, u.min_serial);
            if (random() % 64 == 0) {
                ++m_invalidated;
                ucs_rcache_pred_invalidate(domain(), u.memh, [](void *arg) {
                    ++*(std::atomic<unsigned>*)arg;
                }, &m_called);
            } else if (ucs_rcache_pred_end(domain(), u.memh) != UCS_OK) {
                fail("a handle in use was not known");
            }
        }
    }

    for (const use_under_way &u : uses) {
        check_use(u.memh, u.b, u.length, u.min_serial);
        ucs_rcache_pred_end(domain(), u.memh);
    }
}

void test_threads::run_users(unsigned num_threads)
{
    std::vector<std::thread> users;

    for (unsigned i = 0; i < num_threads; ++i) {
        users.emplace_back([this, i] { run_user(i); });
    }
    for (auto &user : users) {
        user.join();
    }
}

void test_threads::run_bounded_user(unsigned seed)
{
    std::mt19937 random(seed);
    auto wait = [] { std::this_thread::yield(); return true; };

    for (unsigned i = 0; i < m_num_uses; ++i) {
        void *address = buffer(random() % m_num_buffers);
        size_t length = m_min_length + random() % (m_params.max_bytes / 4);
        context_t ctx = context(random() % 3);
        void *memh;

        if (random() % 2 == 0) {
            pieces_use use(m_world, domain(), address, 4 * length, 0, ctx);
            if ((use.begin() != UCS_OK) && !use.is_in_pieces()) {
                fail("a use in pieces was refused");
            }
            if (use.finish(wait) != UCS_OK) {
                fail("a piece failed");
            }
        } else if (try_begin(address, length, &memh, 0, NULL, ctx) == UCS_OK) {
            if (!m_world.covers(memh, address, length)) {
                fail("memory in use is not registered");
            }
            std::this_thread::yield();
            if (ucs_rcache_pred_end(domain(), memh) != UCS_OK) {
                fail("a handle in use was not known");
            }
        } else {
            ++m_refused;
        }
    }
}

void test_threads::run_bounded_users(unsigned num_threads)
{
    std::vector<std::thread> users;

    m_world.set_bound(m_params.max_bytes, m_params.max_regions);
    for (unsigned i = 0; i < num_threads; ++i) {
        users.emplace_back([this, i] { run_bounded_user(i); });
    }
    for (auto &user : users) {
        user.join();
    }
}

void test_threads::start_poller()
{
    m_threads.emplace_back([this] {
        while (!m_stop) {
            ucs_rcache_pred_poll(m_pred);
            std::this_thread::yield();
        }
    });
}

/* The program waits, in a thread that uses nothing itself */
void test_threads::start_progress()
{
    m_threads.emplace_back([this] {
        while (!m_stop) {
            ucs_rcache_pred_progress(m_pred);
            std::this_thread::yield();
        }
    });
}

void test_threads::start_unmapper()
{
    m_threads.emplace_back([this] {
        std::mt19937 random(99);

        while (!m_stop) {
            unsigned b      = random() % m_num_buffers;
            uint64_t serial = m_world.serial();

            ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(b),
                                     (uintptr_t)buffer(b, 4 * PAGE));
            m_min_serial[b] = serial;
            std::this_thread::yield();
        }
    });
}

void test_threads::finish()
{
    m_stop = true;
    for (auto &thread : m_threads) {
        thread.join();
    }

    m_world.set_tick(0);
    /* The work may change hands while it is brought to an end */
    do {
        while ((ucs_rcache_pred_get_mode(m_pred) ==
                UCS_RCACHE_PRED_MODE_PROGRESS) &&
               (test_pred_due(m_pred) != NEVER)) {
            m_world.advance(MSEC);
            ucs_rcache_pred_progress(m_pred);
        }

        if (ucs_rcache_pred_get_mode(m_pred) == UCS_RCACHE_PRED_MODE_THREAD) {
            poll();
            run_until_asleep();
        }
    } while ((ucs_rcache_pred_get_mode(m_pred) ==
              UCS_RCACHE_PRED_MODE_PROGRESS) &&
             (test_pred_due(m_pred) != NEVER));
    validate();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(m_world.num_regs(), stats().regs_critical +
                                  stats().regs_helper + stats().pieces);
    EXPECT_EQ(m_world.num_deregs(), stats().deregs);
    EXPECT_EQ(m_invalidated, m_called);
    destroy();
    m_world.check();
}

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
    /* Time passes fast, so that there are many seats */
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
    /* The helper forgets regions, and now and then just the one that a use
     * begins on */
    m_params.known_regions = 16;
    m_num_buffers          = 20;
    m_num_uses            *= 20;
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
    /* Two threads hold 3 uses of 5 pages each at most, but what a longer use
     * replaces is still there; evictions all the time */
    m_world.limit_bytes(48 * PAGE);
    run_in_child(2, 1, 0);
}

TEST_F(test_threads, helper_played_by_several_threads)
{
    /* As when worker threads do the helper's work */
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

TEST_F(test_threads, domain_waits_for_an_eviction_to_end)
{
    run_in_child([this] {
        domain_t *other = (create(), new_domain("fake1"));
        std::atomic<bool> destroyed{false};
        std::thread thread;

        /* A use of one domain evicts a region of the other, which is destroyed
         * in the middle of it */
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
    /* Less than the pieces of all threads: the system refuses, and whoever is
     * refused has others to wait for. Nothing is registered whole. */
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
    /* One use at a time, of all the room there is: the helper may be giving up
     * the last region, but nothing else is in the way */
    m_params.max_bytes = MB;
    m_num_uses        *= 10;
    run_in_child([this] {
        void *memh;

        create();
        m_world.set_bound(MB);
        start_poller();
        for (unsigned i = 0; i < m_num_uses; ++i) {
            void *address = buffer(i % 2);
            if (try_begin(address, MB - 128 * KB, &memh) != UCS_OK) {
                fail("refused for what was about to be deregistered");
            }
            end(memh);
        }
        finish();
    });
}
