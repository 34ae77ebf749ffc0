/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "threads_test.h"

#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>


static void wait_for(const std::atomic<unsigned> &turn, unsigned value)
{
    while (turn != value) {
        std::this_thread::yield();
    }
}

void threads_test::make_lanes()
{
    create();
    run_in_turns([this] { use(0); }, [this] { use(1); });
}

void threads_test::run_in_turns(std::function<void()> here,
                                std::function<void()> there)
{
    std::atomic<unsigned> turn{0};
    std::thread other([&] {
        for (unsigned i = 1; i < 2 * TURNS; i += 2) {
            wait_for(turn, i);
            there();
            ++turn;
        }
    });

    for (unsigned i = 0; i < 2 * TURNS; i += 2) {
        wait_for(turn, i);
        here();
        ++turn;
    }
    other.join();
}

void threads_test::run_in_child(std::function<void()> func)
{
    auto child = [&func] {
        alarm(60); /* A test that got into an endless loop fails as well */
        func();

        /* googletest does not print the failures of a child */
        auto *result = ::testing::UnitTest::GetInstance()
                               ->current_test_info()->result();
        for (int i = 0; i < result->total_part_count(); ++i) {
            fprintf(stderr, "%s\n", result->GetTestPartResult(i).message());
        }
        _exit(result->Failed());
    };

    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

void threads_test::run_in_child(unsigned num_users, unsigned num_pollers,
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

void threads_test::run_user(unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<use_under_way> uses;

    for (unsigned i = 0; i < m_num_uses; ++i) {
        use_under_way u;

        u.b          = pick(random, seed);
        u.offset     = (random() % 2) ? 0 : (random() % (3 * PAGE));
        u.length     = 1 + random() % (4 * PAGE - u.offset);
        u.min_serial = m_min_serial[u.b];
        if (try_begin(buffer(u.b, u.offset), u.length, &u.memh, random() % 4, NULL,
                      context(random() % 3)) != UCS_OK) {
            fail("no registration should have failed");
        }
        check_use(u);
        uses.push_back(u);

        while (uses.size() > random() % 3) {
            u = uses.front();
            uses.erase(uses.begin());
            check_use(u);
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
        check_use(u);
        ucs_rcache_pred_end(domain(), u.memh);
    }
}

void threads_test::run_users(unsigned num_threads)
{
    std::vector<std::thread> users;

    for (unsigned i = 0; i < num_threads; ++i) {
        users.emplace_back([this, i] { run_user(i); });
    }
    for (auto &user : users) {
        user.join();
    }
}

void threads_test::run_bounded_user(unsigned seed)
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

void threads_test::run_bounded_users(unsigned num_threads)
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

void threads_test::start_poller()
{
    m_threads.emplace_back([this] {
        while (!m_stop) {
            ucs_rcache_pred_poll(m_pred);
            std::this_thread::yield();
        }
    });
}

/* A thread of the program waits for communication, and uses nothing itself */
void threads_test::start_progress()
{
    m_threads.emplace_back([this] {
        while (!m_stop) {
            ucs_rcache_pred_progress(m_pred);
            std::this_thread::yield();
        }
    });
}

void threads_test::start_unmapper()
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

void threads_test::finish()
{
    m_stop = true;
    for (auto &thread : m_threads) {
        thread.join();
    }

    m_world.set_tick(0);
    /* What was refused once stays registered otherwise */
    ucs_rcache_pred_unguard(m_pred);
    /* Helper and progress may take over from each other while the rest of the
     * work is done */
    do {
        while ((ucs_rcache_pred_get_mode(m_pred) ==
                UCS_RCACHE_PRED_MODE_PROGRESS) &&
               (m_pred->handshake.due != NEVER)) {
            m_world.advance(MSEC);
            ucs_rcache_pred_progress(m_pred);
        }

        if (ucs_rcache_pred_get_mode(m_pred) == UCS_RCACHE_PRED_MODE_THREAD) {
            poll();
            /* The clock went on with each look at it, so that the uses of a
             * thread that waited long for a processor are hours apart */
            run_until_asleep(1000 * 3600 * SEC);
        }
    } while ((ucs_rcache_pred_get_mode(m_pred) ==
              UCS_RCACHE_PRED_MODE_PROGRESS) &&
             (m_pred->handshake.due != NEVER));
    validate();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(m_world.num_regs(), stats().regs_critical +
                                  stats().regs_helper + stats().pieces);
    EXPECT_EQ(m_world.num_deregs(), stats().deregs);
    EXPECT_EQ(m_invalidated, m_called);
    destroy();
    m_world.check();
}
