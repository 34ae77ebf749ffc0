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

        return served_begin(m_served, number, address, length, ACCESS, &memh) ?
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
    EXPECT_TRUE(served_end(m_served, memh, 0));
    EXPECT_TRUE(served_end(m_served, memh, 0));
    EXPECT_FALSE(served_end(m_served, (uct_mem_h)0x10, 0));
    EXPECT_EQ(2u, stats().answered);

    /* Outside, across the end of a slab, and with more access than there is */
    char local;
    EXPECT_EQ(nullptr, begin(0, &local));
    EXPECT_EQ(nullptr, begin(0, buffer, SLAB + 1));
    EXPECT_EQ(nullptr, begin(0, buffer, 0));
    EXPECT_FALSE(served_begin(m_served, 0, buffer, 1,
                              UCT_MD_MEM_ACCESS_REMOTE_ATOMIC, &memh));
    served_munmap(m_served, buffer, MIN);
}

TEST_F(test_arena_register, domains_come_and_go) {
    make();
    void *buffer = map(MIN);
    ASSERT_EQ(1, add());
    EXPECT_EQ(2 * SLAB, m_reserved);
    uct_mem_h memh = begin(1, buffer);
    EXPECT_EQ(1u, m_domains[1]->regs.count(memh));
    EXPECT_TRUE(served_end(m_served, memh, 0));

    /* A slab that is opened later is registered in both */
    for (unsigned i = 0; i < 2 * SLAB / MIN; ++i) {
        map(MIN);
        tend();
    }
    EXPECT_GE(m_domains[0]->regs.size(), 3u);
    EXPECT_EQ(m_domains[0]->regs.size(), m_domains[1]->regs.size());

    served_remove(m_served, 0);
    EXPECT_TRUE(m_domains[0]->regs.empty());
    EXPECT_EQ(nullptr, begin(0, buffer));
    memh = begin(1, buffer);
    EXPECT_TRUE(served_end(m_served, memh, 0));

    /* Its number is free again */
    EXPECT_EQ(0, add());
    for (int i = 2; i < 8; ++i) {
        EXPECT_EQ(i, add());
    }
    EXPECT_EQ(-1, add());
}

/* If strict, what a thread frees while a slab is registered in a further domain
 * cannot be registered: it is tried again. Nothing stays accessible after that */
TEST_F(test_arena_register, a_domain_comes_late_strict) {
    make(true);
    char *buffer = (char*)map(4 * MIN);
    ASSERT_EQ(0, served_munmap(m_served, buffer, MIN));
    ASSERT_FALSE(is_readable(buffer));
    unsigned num_regs = 0;
    m_on_reg          = [&]() {
        if (num_regs++ == 0) {
            EXPECT_EQ(0, served_munmap(m_served, buffer + MIN, MIN));
        }
    };
    ASSERT_EQ(1, add());
    EXPECT_EQ(2u, num_regs);
    EXPECT_EQ(m_domains[0]->regs.size(), m_domains[1]->regs.size());
    EXPECT_EQ(2 * SLAB, m_reserved);
    EXPECT_FALSE(is_readable(buffer));
    EXPECT_FALSE(is_readable(buffer + MIN));

    /* Where it cannot be, that is noticed */
    m_domains.emplace_back(new domain_t);
    m_domains.back()->test  = this;
    m_domains.back()->fails = true;
    EXPECT_EQ(2, served_add(m_served, m_domains.back().get()));
    EXPECT_GT(10u, num_regs);
    EXPECT_EQ(2 * SLAB, m_reserved);
}

/* What was freed is not accessible any more, and that cannot be registered */
TEST_F(test_arena_register, a_domain_comes_late) {
    make();
    char *buffer = (char*)map(4 * MIN);
    ASSERT_EQ(0, served_munmap(m_served, buffer, MIN));
    ASSERT_EQ(0, served_munmap(m_served, buffer + (2 * MIN), MIN));
    tend(2 * LAZY);
    ASSERT_FALSE(is_readable(buffer));

    ASSERT_EQ(1, add());
    uct_mem_h memh = begin(1, buffer + MIN);
    EXPECT_NE(nullptr, memh);
    EXPECT_TRUE(served_end(m_served, memh, 0));

    /* Soon it is inaccessible again */
    tend(2 * LAZY);
    EXPECT_FALSE(is_readable(buffer));
    EXPECT_FALSE(is_readable(buffer + (2 * MIN)));
    EXPECT_EQ(nullptr, begin(1, buffer + SLAB));
    served_munmap(m_served, buffer, 4 * MIN);
}

TEST_F(test_arena_register, no_room_in_one_domain) {
    make();
    void *buffer = map(MIN);
    m_room       = m_reserved;
    ASSERT_EQ(1, add());
    EXPECT_EQ(nullptr, begin(1, buffer));
    uct_mem_h memh = begin(0, buffer);
    EXPECT_TRUE(served_end(m_served, memh, 0));

    /* No further slab is opened where it cannot be registered everywhere */
    m_room = m_reserved + SLAB;
    for (unsigned i = 0; i < SLAB / MIN; ++i) {
        served_mmap(m_served, nullptr, MIN, RW, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1);
    }
    tend();
    EXPECT_EQ(SLAB, m_reserved);
    EXPECT_EQ(1u, m_domains[0]->regs.size());
    m_room                = SIZE_MAX;
    m_domains[1]->fails   = true;
    tend(100 * IDLE);
    EXPECT_EQ(SLAB, m_reserved);
    m_domains[1]->fails = false;
    tend(1000 * IDLE);
    EXPECT_EQ(1u, m_domains[1]->regs.size());
}

/* The peer's access ends when the last use in the slab does */
TEST_F(test_arena_register, invalidated) {
    make();
    void *buffer    = map(MIN);
    uct_mem_h first = begin(0, buffer), second = begin(0, buffer);
    ASSERT_NE(nullptr, first);
    EXPECT_TRUE(served_end(m_served, first, 1));
    tend();
    EXPECT_EQ(1u, m_domains[0]->regs.count(second));
    EXPECT_EQ(nullptr, begin(0, buffer));
    EXPECT_TRUE(served_end(m_served, second, 0));
    tend(IDLE);
    EXPECT_EQ(0u, m_domains[0]->regs.count(second));
    EXPECT_TRUE(is_writable(buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

TEST_F(test_arena_register, empty_slabs_give_way) {
    make();
    EXPECT_EQ(SLAB, m_reserved);
    EXPECT_TRUE(served_give_way(m_served));
    EXPECT_EQ(0u, m_reserved);
    EXPECT_FALSE(served_give_way(m_served));

    /* They come again when memory was asked for */
    tend(2 * IDLE);
    EXPECT_EQ(0u, m_reserved);
    void *buffer = served_mmap(m_served, nullptr, MIN, RW,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1);
    EXPECT_FALSE(served_has(m_served, buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
    tend(2 * IDLE);

    /* Not while the program has any of it */
    buffer = map(MIN);
    EXPECT_FALSE(served_give_way(m_served));
    served_munmap(m_served, buffer, MIN);
    EXPECT_TRUE(served_give_way(m_served));
}

/* A program that has opened a domain finds memory at once, however long the helper
 * takes to register it */
TEST_F(test_arena_register, first_slab_is_waited_for) {
    make(false, false);
    m_delay = 20;
    ASSERT_EQ(UCS_OK, served_start(m_served));
    served_await_supply(m_served);
    (void)map(MIN);
    served_stop(m_served);
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
                    ASSERT_TRUE(served_end(m_served, memh, round % 50 == 0));
                }
                ASSERT_TRUE(reads_as(buffer, length, 1 + i));
                ASSERT_EQ(0, served_munmap(m_served, buffer, length));
            }
        });
    }
    for (unsigned i = 0; i < 20; ++i) {
        ASSERT_EQ(1, add());
        std::this_thread::yield();
        served_remove(m_served, 1);
    }
    for (auto &thread : threads) {
        thread.join();
    }
    served_stop(m_served);
    EXPECT_EQ(0u, stats().live);
}

/* A slab is registered when it is used, and no more of it than was needed */
TEST_F(test_arena_register, late) {
    make(false, true, true);
    char *buffer = (char*)map(MIN);
    tend();
    EXPECT_EQ(0u, m_reserved);
    EXPECT_EQ(nullptr, begin(0, buffer));
    tend();
    EXPECT_EQ(MIN, m_reserved);
    uct_mem_h memh = begin(0, buffer, MIN);
    EXPECT_EQ(1u, m_domains[0]->regs.count(memh));
    EXPECT_TRUE(served_end(m_served, memh, 0));

    /* In a domain that comes later, only what is registered is */
    char *other = (char*)map(MIN);
    EXPECT_EQ(1, add());
    EXPECT_EQ(2 * MIN, m_reserved);
    EXPECT_EQ(nullptr, begin(1, other));
    tend();
    EXPECT_NE(nullptr, memh = begin(1, other));
    EXPECT_TRUE(served_end(m_served, memh, 0));
    EXPECT_EQ(m_domains[0]->regs.size(), m_domains[1]->regs.size());
}

/* What the arena cannot allow does not ask for anything */
TEST_F(test_arena_register, late_access) {
    make(false, true, true);
    uct_mem_h memh;
    EXPECT_FALSE(served_begin(m_served, 0, map(MIN), MIN,
                              UCT_MD_MEM_ACCESS_REMOTE_ATOMIC, &memh));
    tend();
    EXPECT_EQ(0u, m_reserved);
}

/* The program's allocations are asked for when it has used such memory, and shorter ones
 * when it has used these */
TEST_F(test_arena_register, allocations_are_attracted) {
    char *outside = (char*)mmap(nullptr, 4 * MIN, RW,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    make(false, true, true);
    ASSERT_EQ(UCS_OK, served_start(m_served));
    served_await_supply(m_served);
    EXPECT_EQ(nullptr, begin(0, outside, MIN - 1));
    EXPECT_EQ(nullptr, begin(0, map(MIN), MIN));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(SIZE_MAX, attracted);
    for (size_t length : {3 * MIN, 4 * MIN, MIN}) {
        EXPECT_EQ(nullptr, begin(0, outside, length));
        for (unsigned i = 0; (i < 3000) && (attracted > length); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(std::min(length, 3 * MIN), attracted);
    }
    served_stop(m_served);
    munmap(outside, 4 * MIN);
}
