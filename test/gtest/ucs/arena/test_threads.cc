/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

/* Threads allocate and free, while the helper tends. Each thread fills what it
 * gets, and finds it unchanged when it frees it. The operations look whether
 * anything of what they are called for is a thread's. */
class test_arena_threads : public ::testing::Test {
protected:
    static constexpr size_t PAGE         = 256;
    static constexpr size_t SLAB         = 128 * PAGE;
    static constexpr size_t SLABS        = 8;
    static constexpr unsigned NUM        = 3;
    static constexpr unsigned NUM_TAKEN  = 30000; /* By each thread */

    typedef std::vector<std::pair<uint8_t*, size_t>> live_t;

    test_arena_threads() :
        m_memory(new uint8_t[(SLABS + 1) * SLAB]), m_owners(SLABS * SLAB / PAGE)
    {
        uintptr_t start = (uintptr_t)m_memory.get();

        m_base = m_memory.get() + ((SLAB - start % SLAB) % SLAB);
    }

    void make(int is_strict)
    {
        ucs_arena_params_t params = {};
        ucs_arena_ops_t ops       = {
            [](void *arg, void *start, size_t length) {
                memset(start, 0, length);
                return UCS_OK;
            },
            [](void *arg, void *start, size_t length) {
                ((test_arena_threads*)arg)->look(start, length);
                return UCS_OK;
            },
            [](void *arg, void *start, size_t length, int is_accessible) {
                ((test_arena_threads*)arg)->look(start, length);
                return UCS_OK;
            },
            [](void *arg, void *start, size_t length, int is_inherited) {
                ((test_arena_threads*)arg)->look(start, length);
                return UCS_OK;
            },
            [](void *arg, void *start, size_t length) {
                ((test_arena_threads*)arg)->look(start, length);
                memset(start, 0, length);
                return UCS_OK;
            },
            [](void *arg, void *start, size_t length, void **handle_p) {
                *handle_p = start;
                return UCS_OK;
            },
            [](void *arg, void *handle) {
                return UCS_OK;
            },
            [](void *arg, void *start, size_t length) {
                ((test_arena_threads*)arg)->look(start, length);
                memset(start, 0, length);
            },
            [](void *arg) {},
            this
        };

        params.start      = (uintptr_t)m_base;
        params.size       = SLABS * SLAB;
        params.page_size  = PAGE;
        params.slab_size  = SLAB;
        params.first_slab = SLAB / 4;
        params.limit      = params.size;
        params.lazy       = 50;
        params.idle       = 200;
        params.retry      = 100;
        params.is_strict  = is_strict;
        m_arena           = arena_make(&params, &ops);
        ASSERT_NE(nullptr, m_arena);
    }

    std::atomic<int> &owner(const void *address)
    {
        return m_owners[((const uint8_t*)address - m_base) / PAGE];
    }

    void look(const void *start, size_t length)
    {
        for (size_t i = 0; i < length; i += PAGE) {
            m_errors += (owner((const uint8_t*)start + i) != 0);
        }
    }

    /* Whether it has only this value */
    static bool is_filled(const uint8_t *start, size_t length, uint8_t value)
    {
        return (start[0] == value) && !memcmp(start, start + 1, length - 1);
    }

    void take(uint8_t *start, size_t length, int thread)
    {
        ucs_arena_slab_t *slab;

        for (size_t i = 0; i < length; i += PAGE) {
            m_errors += (owner(start + i).exchange(thread) != 0);
        }
        m_errors += !is_filled(start, length, 0);
        memset(start, thread, length);

        slab = ucs_arena_find(m_arena, start, length);
        if (slab == nullptr) {
            ucs_arena_want(m_arena, start, length);
            return;
        }

        /* It may be given up while it is looked for */
        if (ucs_arena_slab_acquire(slab)) {
            m_errors += (slab->handle > start);
            ucs_arena_slab_release(slab);
        }
    }

    void give(uint8_t *start, size_t length, int thread)
    {
        m_errors += !is_filled(start, length, thread);
        for (size_t i = 0; i < length; i += PAGE) {
            m_errors += (owner(start + i).exchange(0) != thread);
        }
        m_errors += (ucs_arena_free(m_arena, start, length, m_now++) !=
                     UCS_OK);
    }

    void free_some(live_t &live, std::mt19937 &random, int thread)
    {
        size_t index  = random() % live.size();
        auto one      = live[index];
        size_t length = one.second;

        live[index] = live.back();
        live.pop_back();
        if ((length > PAGE) && (random() % 3 == 0)) {
            /* The first part now, and the rest later */
            length = PAGE * (1 + random() % (length / PAGE - 1));
            live.push_back({one.first + length, one.second - length});
        }
        give(one.first, length, thread);
    }

    /* The first thread wants long runs, which the helper makes of what the
     * others, who have many short ones, leave */
    void run_thread(int thread)
    {
        unsigned max_log  = (thread == 1) ? 7 : 3;
        unsigned max_live = (thread == 1) ? 4 : 100;
        std::mt19937 random(thread);
        live_t live;

        for (unsigned i = 0; i < NUM_TAKEN;) {
            size_t length = PAGE * (1 + random() % (1 << random() % max_log));
            void *address;

            ++m_now;
            address = ucs_arena_allocate(m_arena, length);
            if (address != nullptr) {
                take((uint8_t*)address, length, thread);
                live.push_back({(uint8_t*)address, length});
                ++m_taken;
                ++i;
            } else {
                std::this_thread::yield();
            }

            /* Now and then all, so that slabs are given back */
            while (!live.empty() &&
                   ((live.size() > max_live) || (random() % 3 == 0) ||
                    (i % 1000 == 0))) {
                free_some(live, random, thread);
            }
        }
        while (!live.empty()) {
            free_some(live, random, thread);
        }
    }

    void run_helper()
    {
        unsigned calls = 0;

        while (!m_is_over) {
            if (ucs_arena_due(m_arena) <= m_now) {
                ucs_arena_tend(m_arena, m_now);
            }
            if (++calls % 5000 == 0) {
                ucs_arena_shrink(m_arena, SLAB, m_now);
                m_now += 200;
            }
            std::this_thread::yield();
        }
    }

    void run_forks()
    {
        while (!m_is_over) {
            ucs_arena_before_fork(m_arena);
            std::this_thread::yield();
            ucs_arena_after_fork(m_arena);
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    }

    void run()
    {
        std::vector<std::thread> threads;
        std::thread helper([this] { run_helper(); });
        std::thread forks([this] { run_forks(); });
        ucs_arena_stats_t stats;

        for (unsigned i = 1; i <= NUM; ++i) {
            threads.emplace_back([this, i] { run_thread(i); });
        }
        for (auto &thread : threads) {
            thread.join();
        }
        m_is_over = true;
        helper.join();
        forks.join();

        EXPECT_EQ(0u, m_errors);
        ucs_arena_stats_get(m_arena, &stats);
        EXPECT_EQ(0u, stats.live);
        EXPECT_EQ(0u, stats.held);
        EXPECT_EQ(stats.committed, stats.fresh + stats.dirty + stats.muzzy +
                                           stats.retained);
        EXPECT_GT(stats.slabs_enrolled, 0u);
        EXPECT_EQ(m_taken, stats.allocations);
        EXPECT_GT(stats.zeroed, 0u);
        EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
        arena_destroy(m_arena);
    }

    std::unique_ptr<uint8_t[]>    m_memory;
    uint8_t                       *m_base;
    std::vector<std::atomic<int>> m_owners; /* A thread, or 0, of each page */
    std::atomic<uint64_t>         m_now{1};
    std::atomic<uint64_t>         m_taken{0};
    std::atomic<unsigned>         m_errors{0};
    std::atomic<bool>             m_is_over{false};
    ucs_arena_t                  *m_arena = nullptr;
};

TEST_F(test_arena_threads, lazy) {
    make(0);
    run();
}

TEST_F(test_arena_threads, strict) {
    make(1);
    run();
}

