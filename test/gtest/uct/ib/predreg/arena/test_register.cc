/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served_test.h"

#include <common/log_watch.h>
#include <common/sanitizer.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <chrono>
#include <thread>

/* Registrations of slabs, and uses that are answered by them */
class test_arena_register : public served_test {
protected:
    uct_mem_h begin(unsigned number, const void *address, size_t length = 1)
    {
        uct_mem_h memh = nullptr;

        return uct_predreg_arena_begin(m_served, number, address, length, ACCESS,
                                       &memh) ?
                       memh :
                       nullptr;
    }
};

TEST_F(test_arena_register, uses_are_answered) {
    make();
    char *buffer   = (char*)map(MIN);
    uct_mem_h memh = begin(0, buffer + 5, 100);
    ASSERT_NE(nullptr, memh);
    EXPECT_EQ(1u, m_domains[0]->regs.count(memh));
    EXPECT_EQ(memh, begin(0, buffer + MIN - 1, 1));
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));
    EXPECT_FALSE(uct_predreg_arena_end(m_served, (uct_mem_h)0x10, 0));
    EXPECT_EQ(2u, stats().answered);

    /* Outside, across the end of a slab, and with more access than there is */
    char local;
    EXPECT_EQ(nullptr, begin(0, &local));
    EXPECT_EQ(nullptr, begin(0, buffer, SLAB + 1));
    EXPECT_EQ(nullptr, begin(0, buffer, 0));
    EXPECT_FALSE(uct_predreg_arena_begin(m_served, 0, buffer, 1,
                                         UCT_MD_MEM_ACCESS_REMOTE_ATOMIC, &memh));
    served_munmap(m_served, buffer, MIN);
}

TEST_F(test_arena_register, domains_come_and_go) {
    make(false, false);
    void *buffer = map(SLAB);
    EXPECT_EQ(nullptr, begin(0, buffer));
    tend();
    uct_mem_h memh = begin(0, buffer);
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));

    /* What is registered is so in both when it is used again */
    ASSERT_EQ(1, add());
    EXPECT_EQ(0u, m_reserved);
    EXPECT_EQ(nullptr, begin(1, buffer));
    tend();
    EXPECT_EQ(2 * SLAB, m_reserved);
    memh = begin(1, buffer);
    EXPECT_EQ(1u, m_domains[1]->regs.count(memh));
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));
    EXPECT_EQ(m_domains[0]->regs.size(), m_domains[1]->regs.size());

    uct_predreg_arena_regs_remove(&m_served->regs, 0);
    EXPECT_TRUE(m_domains[0]->regs.empty());
    EXPECT_EQ(nullptr, begin(0, buffer));
    memh = begin(1, buffer);
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));

    /* Its number is free again */
    EXPECT_EQ(0, add());
    for (int i = 2; i < 8; ++i) {
        EXPECT_EQ(i, add());
    }
    EXPECT_EQ(-1, add());
}

/* A slab in use stays what it is: uses in the new domain register for themselves */
TEST_F(test_arena_register, a_domain_comes_while_a_slab_is_used) {
    make();
    void *buffer   = map(MIN);
    uct_mem_h memh = begin(0, buffer);
    ASSERT_NE(nullptr, memh);
    ASSERT_EQ(1, add());
    EXPECT_EQ(nullptr, begin(1, buffer));
    EXPECT_EQ(memh, begin(0, buffer));
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));
}

/* If strict, what a thread frees while a slab is being registered cannot be: it is tried
 * again. Nothing stays accessible after that */
TEST_F(test_arena_register, memory_is_freed_while_a_slab_is_registered_strict) {
    make(true, false);
    char *buffer = (char*)map(SLAB);
    ASSERT_EQ(0, served_munmap(m_served, buffer, MIN));
    ASSERT_FALSE(is_readable(buffer));
    unsigned num_regs = 0;
    m_on_reg          = [&]() {
        if (num_regs++ == 0) {
            EXPECT_EQ(0, served_munmap(m_served, buffer + MIN, MIN));
        }
    };
    EXPECT_EQ(nullptr, begin(0, buffer + 2 * MIN));
    tend();
    EXPECT_EQ(2u, num_regs);
    EXPECT_EQ(SLAB, m_reserved);
    EXPECT_FALSE(is_readable(buffer));
    EXPECT_FALSE(is_readable(buffer + MIN));
}

/* A slab is registered in all domains or in none */
TEST_F(test_arena_register, no_room_in_one_domain) {
    make(false, false);
    void *buffer = map(SLAB);
    ASSERT_EQ(1, add());
    m_room = SLAB;
    EXPECT_EQ(nullptr, begin(1, buffer));
    tend();
    EXPECT_EQ(0u, m_reserved);
    EXPECT_TRUE(m_domains[0]->regs.empty());
    m_room              = SIZE_MAX;
    m_domains[1]->fails = true;
    EXPECT_EQ(nullptr, begin(0, buffer));
    tend(IDLE);
    EXPECT_EQ(0u, m_reserved);
    m_domains[1]->fails = false;
    EXPECT_EQ(nullptr, begin(0, buffer));
    tend(100 * IDLE);
    EXPECT_EQ(1u, m_domains[1]->regs.size());
}

/* The peer's access ends when the last use in the slab does */
TEST_F(test_arena_register, invalidated) {
    make();
    void *buffer    = map(MIN);
    uct_mem_h first = begin(0, buffer), second = begin(0, buffer);
    ASSERT_NE(nullptr, first);
    EXPECT_TRUE(uct_predreg_arena_end(m_served, first, 1));
    tend();
    EXPECT_EQ(1u, m_domains[0]->regs.count(second));
    EXPECT_EQ(nullptr, begin(0, buffer));
    EXPECT_TRUE(uct_predreg_arena_end(m_served, second, 0));
    tend(IDLE);
    EXPECT_EQ(0u, m_domains[0]->regs.count(second));
    EXPECT_TRUE(is_writable(buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

TEST_F(test_arena_register, slabs_give_way) {
    make();
    EXPECT_EQ(SLAB, m_reserved);
    EXPECT_TRUE(uct_predreg_arena_give_way(m_served));
    EXPECT_EQ(0u, m_reserved);
    EXPECT_FALSE(uct_predreg_arena_give_way(m_served));

    /* Also those that the program has memory of, but not while that is used */
    void *buffer = map(SLAB);
    EXPECT_EQ(nullptr, begin(0, buffer));
    tend(2 * IDLE);
    EXPECT_EQ(SLAB, m_reserved);
    uct_mem_h memh = begin(0, buffer);
    ASSERT_NE(nullptr, memh);
    EXPECT_FALSE(uct_predreg_arena_give_way(m_served));
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));
    EXPECT_TRUE(uct_predreg_arena_give_way(m_served));
    EXPECT_EQ(0u, m_reserved);
    served_munmap(m_served, buffer, SLAB);
}

/* Where all uses are answered nobody but the helper can show how many they are, and
 * it does so again and again */
TEST_F(test_arena_register, statistics_are_shown) {
    make();
    EXPECT_EQ(0u, m_published);
    ASSERT_EQ(UCS_OK, served_start(m_served));
    /* It takes a second. Half a minute is given up after */
    for (unsigned i = 0; (i < 3000) && (m_published < 2); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    served_stop(m_served);
    EXPECT_LE(2u, m_published);
}

/* The helper thread, threads that use memory, and domains that come and go */
TEST_F(test_arena_register, threads) {
    make();
    ASSERT_EQ(UCS_OK, served_start(m_served));
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) {
        threads.emplace_back([this, i]() {
            for (unsigned round = 0; round < 500 / SANITIZER_SLOWDOWN; ++round) {
                size_t length = MIN + (((round * 7 + i) % 16) * MIN / 2);
                char *buffer  = (char*)served_mmap(
                        m_served, nullptr, length, RW,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1);
                ASSERT_NE(MAP_FAILED, buffer);
                ASSERT_TRUE(reads_as(buffer, length, 0));
                memset(buffer, 1 + i, length);
                uct_mem_h memh = begin(0, buffer, length);
                if (memh != nullptr) {
                    ASSERT_TRUE(uct_predreg_arena_end(m_served, memh, round % 50 == 0));
                }
                ASSERT_TRUE(reads_as(buffer, length, 1 + i));
                ASSERT_EQ(0, served_munmap(m_served, buffer, length));
            }
        });
    }
    for (unsigned i = 0; i < 20; ++i) {
        ASSERT_EQ(1, add());
        std::this_thread::yield();
        uct_predreg_arena_regs_remove(&m_served->regs, 1);
    }
    for (auto &thread : threads) {
        thread.join();
    }
    served_stop(m_served);
    EXPECT_EQ(0u, stats().live);
}

/* A slab is registered when it is used, and no more of it than was needed */
TEST_F(test_arena_register, late) {
    make(false, false);
    char *buffer = (char*)map(MIN);
    tend();
    EXPECT_EQ(0u, m_reserved);
    EXPECT_EQ(nullptr, begin(0, buffer));
    tend();
    EXPECT_EQ(MIN, m_reserved);
    uct_mem_h memh = begin(0, buffer, MIN);
    EXPECT_EQ(1u, m_domains[0]->regs.count(memh));
    EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, 0));

}

/* What the arena cannot allow does not ask for anything */
TEST_F(test_arena_register, late_access) {
    make(false, false);
    uct_mem_h memh;
    EXPECT_FALSE(uct_predreg_arena_begin(m_served, 0, map(MIN), MIN,
                                         UCT_MD_MEM_ACCESS_REMOTE_ATOMIC, &memh));
    tend();
    EXPECT_EQ(0u, m_reserved);
}

/* All of the program's allocations are asked for until some were unmapped, and then those as
 * long as what it has communicated */
TEST_F(test_arena_register, allocations_are_attracted) {
    char *outside = (char*)mmap(nullptr, 4 * MIN, RW,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto await    = [](size_t length) {
        for (unsigned i = 0; (i < 3000) && (attracted != length); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(length, attracted);
    };

    make(false, false);
    ASSERT_EQ(UCS_OK, served_start(m_served));
    await(MIN);
    EXPECT_EQ(nullptr, begin(0, outside, MIN - 1));
    EXPECT_EQ(nullptr, begin(0, map(MIN), MIN));
    for (unsigned i = 0; i < UCT_PREDREG_ATTRACT_TRIAL; ++i) {
        EXPECT_EQ(0, served_munmap(m_served, map(MIN), MIN));
    }
    await(UCT_PREDREG_ATTRACT_NONE);
    for (size_t length : {3 * MIN, 4 * MIN, MIN}) {
        EXPECT_EQ(nullptr, begin(0, outside, length));
        await(std::min(length, 3 * MIN));
    }
    served_stop(m_served);
    munmap(outside, 4 * MIN);
}
