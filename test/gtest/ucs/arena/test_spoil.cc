/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include <ucs/base/hook.h>

/* What the program maps over memory of the arena, and memory that grows where
 * it is */
class test_arena_spoil : public arena_test {
protected:
    void make_one()
    {
        make();
        tend();
    }

    /* One that is registered, and all of which is live */
    void make_registered()
    {
        make();
        EXPECT_EQ(m_memory.address_of(0), allocate_registered());
    }

    ucs_arena_slab_t *find(size_t page)
    {
        return ucs_arena_find(m_arena, m_memory.address_of(page), PAGE);
    }

    /* The slab is spoilt by another thread in the midst of an operation */
    void spoil_during(const std::string &name, size_t page, size_t pages)
    {
        m_memory.m_during = [=](const char *now) {
            if ((name != now) || m_thread.joinable()) {
                return;
            }
            m_thread = std::thread([=]() {
                EXPECT_EQ(UCS_OK, ucs_arena_spoil(m_arena, m_memory.address_of(page),
                                                  pages * PAGE));
            });
            while (!ucs_arena_is_spoilt(m_arena, m_memory.address_of(page), PAGE)) {
                std::this_thread::yield();
            }
        };
    }

    /* Only then the system may note what the other thread has got: this thread
     * has looked at it meanwhile */
    void join(size_t page, size_t pages)
    {
        ASSERT_TRUE(m_thread.joinable());
        m_thread.join();
        m_memory.m_during = nullptr;
        m_memory.put(m_memory.address_of(page), pages * PAGE);
    }

    std::thread m_thread;

    /* A signal comes in the midst of an operation */
    void at_signal(const char *name, std::function<void()> handler)
    {
        struct sigaction action = {};

        m_is_handled      = false;
        s_handler         = [this, handler]() {
            m_is_handled = true;
            handler();
        };
        action.sa_handler = [](int) { s_handler(); };
        sigaction(SIGUSR1, &action, nullptr);
        m_memory.m_during = [this, name](const char *now) {
            if (std::string(name) == now) {
                m_memory.m_during = nullptr;
                raise(SIGUSR1);
                EXPECT_FALSE(m_is_handled) << "in the midst of " << now;
            }
        };
    }

    void expect_freed_beside_a_handler(const char *during)
    {
        void *all = m_memory.address_of(0);

        at_signal(during, [this]() {
            spoil(1, 1); /* Was just freed */
            free_page(8, 4);
            EXPECT_FALSE(ucs_arena_live(m_arena, m_memory.address_of(8), PAGE));
        });
        free_page(0, 4);
        EXPECT_TRUE(m_is_handled);
        EXPECT_EQ((SLAB - 4 - 4 + 1) * PAGE, stats().live);
        free_page(0, SLAB);
        tend();
        EXPECT_FALSE(ucs_arena_is_spoilt(m_arena, all, PAGE));
    }

    static std::function<void()> s_handler;
    bool                         m_is_handled = false;
};

std::function<void()> test_arena_spoil::s_handler;

TEST_F(test_arena_spoil, live_memory) {
    make_registered();
    free_page(10, SLAB - 10);
    spoil(2, 3);
    EXPECT_EQ(nullptr, find(0));
    EXPECT_EQ("live 10", states());
    EXPECT_EQ(1u, stats().slabs_spoilt);

    /* The next slab takes over; this one is not registered any more */
    tend();
    EXPECT_EQ("live 10", states());
    EXPECT_FALSE(m_memory.at(0).is_registered);
    EXPECT_EQ(m_memory.address_of(SLAB), allocate(1));

    /* What is freed is taken away at once, and the slab when all of it is */
    free_page(0, 9);
    EXPECT_FALSE(m_memory.at(0).is_mapped);
    EXPECT_TRUE(m_memory.at(9).is_mapped);
    tend();
    EXPECT_TRUE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));
    free_page(9, 1);
    tend();
    EXPECT_FALSE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));

    /* It is opened anew */
    EXPECT_EQ("live 1 fresh 63", states());
    EXPECT_EQ(m_memory.address_of(0), allocate_registered());
    EXPECT_NE(nullptr, find(0));
}

TEST_F(test_arena_spoil, free_memory_of_every_kind) {
    m_params.limit = SLAB * PAGE;
    make_registered();
    free_page(0, 40);
    m_now += LAZY;
    tend();
    free_page(50, 4);
    EXPECT_EQ("live 20 dirty 4 muzzy 40", states());
    spoil(30, 5);
    EXPECT_EQ("live 25", states());
    free_page(0, SLAB);
    tend();
    EXPECT_EQ(0u, m_memory.registered());
    EXPECT_EQ("", states());
    EXPECT_NE(nullptr, allocate(SLAB)); /* It is opened anew */
}

TEST_F(test_arena_spoil, a_slab_that_was_never_open) {
    make_one();
    spoil(3 * SLAB + 5, 2);
    EXPECT_EQ("live 2", states());
    for (unsigned i = 0; i < SLABS; ++i) {
        allocate(SLAB);
        m_now += RETRY;
        tend();
    }
    EXPECT_EQ(stats().committed, (SLABS - 1) * SLAB * PAGE);
    EXPECT_FALSE(m_memory.at(3 * SLAB).is_mapped);
    free_page(3 * SLAB + 5, 2);
    tend();
    EXPECT_FALSE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(3 * SLAB), 1));
    EXPECT_NE(nullptr, allocate(1));
    EXPECT_EQ(stats().committed, SLABS * SLAB * PAGE);
}

TEST_F(test_arena_spoil, several_slabs) {
    make_one();
    allocate(SLAB);
    spoil(SLAB - 1, SLAB + 2);
    EXPECT_EQ("live 129", states());
    EXPECT_EQ(3u, stats().slabs_spoilt);
    EXPECT_FALSE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(3 * SLAB), 1));
    EXPECT_TRUE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(2 * SLAB), 1));
}

/* It stays registered as long as a use needs it, and is not found meanwhile */
TEST_F(test_arena_spoil, in_use) {
    make_registered();
    ucs_arena_slab_t *slab = find(0);
    ASSERT_TRUE(ucs_arena_slab_acquire(slab));
    spoil(0, 1);
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_TRUE(m_memory.at(0).is_registered);
    EXPECT_FALSE(ucs_arena_slab_acquire(slab));
    ucs_arena_slab_release(slab);
    m_now += RETRY;
    tend();
    EXPECT_FALSE(m_memory.at(0).is_registered);
}

/* All of its memory stays the program's, and is not registered any more when no
 * use needs it */
TEST_F(test_arena_spoil, withdrawn) {
    make_registered();
    free_page(10, SLAB - 10);
    ucs_arena_slab_t *slab = find(0);
    ASSERT_TRUE(ucs_arena_slab_acquire(slab));
    EXPECT_EQ(UCS_OK, ucs_arena_withdraw(m_arena, slab));
    m_memory.put(m_memory.address_of(0), PAGE); /* Notes that it is spoilt */
    EXPECT_EQ(nullptr, find(0));
    tend();
    EXPECT_EQ("live 10", states());
    EXPECT_TRUE(m_memory.at(0).is_registered);
    ucs_arena_slab_release(slab);
    m_now += RETRY;
    tend();
    EXPECT_FALSE(m_memory.at(0).is_registered);
    EXPECT_TRUE(m_memory.at(0).is_mapped);
    free_page(0, 10);
    tend();
    EXPECT_FALSE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));

    ucs_arena_abandon(m_arena);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ucs_arena_withdraw(m_arena, slab));
}

TEST_F(test_arena_spoil, what_is_live) {
    make_one();
    allocate(10);
    uint8_t *start = (uint8_t*)m_memory.address_of(0);
    EXPECT_TRUE(ucs_arena_live(m_arena, start, 10 * PAGE));
    EXPECT_TRUE(ucs_arena_live(m_arena, start + 1, 10 * PAGE - 1));
    EXPECT_FALSE(ucs_arena_live(m_arena, start + 1, 10 * PAGE));
    EXPECT_FALSE(ucs_arena_live(m_arena, start - 1, 2));
    free_page(4, 1);
    EXPECT_FALSE(ucs_arena_live(m_arena, start, 10 * PAGE));
    EXPECT_TRUE(ucs_arena_live(m_arena, start, 4 * PAGE));
    EXPECT_TRUE(ucs_arena_live(m_arena, start + 5 * PAGE, 5 * PAGE));
    EXPECT_FALSE(ucs_arena_live(m_arena, start - PAGE, PAGE));
}

TEST_F(test_arena_spoil, abandoned) {
    make_one();
    allocate(10);
    ucs_arena_abandon(m_arena);
    EXPECT_EQ(nullptr, ucs_arena_allocate(m_arena, PAGE));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              ucs_arena_free(m_arena, m_memory.address_of(0), PAGE, m_now));
    /* The caller unmaps it, and something else may be there next */
    EXPECT_EQ(nullptr, find(0));
}

TEST_F(test_arena_spoil, what_is_not_accepted) {
    make_one();
    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_arena_spoil(m_arena, m_memory.base() - PAGE, PAGE));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucs_arena_spoil(m_arena, m_memory.base() + 1, PAGE));
    EXPECT_FALSE(ucs_arena_is_spoilt(m_arena, m_memory.base() - PAGE, PAGE));
    ucs_arena_abandon(m_arena);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              ucs_arena_spoil(m_arena, m_memory.base(), PAGE));
}

/* Whatever the helper is at */
TEST_F(test_arena_spoil, while_it_is_protected) {
    make_one();
    allocate(20);
    free_page(0, 10);
    m_now += LAZY;
    spoil_during("protect", 5, 10);
    tend_beside_thread();
    join(5, 10);
    tend();
    EXPECT_EQ("live 15", states());
}

TEST_F(test_arena_spoil, while_it_is_given_back) {
    for (auto name : {"dereg", "unmap"}) {
        make_registered();
        allocate_registered();
        free_page(0, 2 * SLAB);
        m_now += LAZY;
        tend();
        m_now += IDLE;
        spoil_during(name, SLAB + 7, 3);
        tend_beside_thread();
        join(SLAB + 7, 3);
        tend();
        EXPECT_TRUE(m_memory.at(SLAB + 7).is_taken) << name;
        EXPECT_EQ(3u * PAGE, stats().live) << name;
        free_page(SLAB + 7, 3);
        tend();
        EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
        arena_destroy(m_arena);
        m_arena = nullptr;
    }
}

TEST_F(test_arena_spoil, while_it_is_opened) {
    make();
    spoil_during("map", 7, 3);
    EXPECT_EQ(nullptr, allocate(5));
    join(7, 3);
    tend();
    EXPECT_TRUE(m_memory.at(7).is_taken);
    EXPECT_EQ("live 3", states());
    free_page(7, 3);
    tend();
    EXPECT_EQ("", states());
    EXPECT_EQ(m_memory.address_of(0), allocate(5));
}

/* A slab that is the arena's again, for which a thread waits to map something there: it
 * sees the slab before it is vacant, or after that, and nothing between. Often, since few
 * threads come in time */
TEST_F(test_arena_spoil, while_it_becomes_vacant) {
    for (unsigned i = 0; i < 2000; ++i) {
        make_one();
        allocate(1);
        tend();
        allocate(1);
        spoil(0, 1);
        free_page(0, SLAB);
        std::atomic<bool> is_there{false};
        m_memory.m_during = [&](const char *now) {
            if ((std::string("unmap") != now) || m_thread.joinable()) {
                return;
            }
            m_thread          = std::thread([&]() {
                is_there = true;
                EXPECT_EQ(UCS_OK, ucs_arena_spoil(m_arena, m_memory.address_of(7),
                                                  3 * PAGE));
            });
            while (!is_there) {
                std::this_thread::yield();
            }
            std::this_thread::sleep_for(std::chrono::microseconds(5));
        };
        ucs_arena_tend(m_arena, m_now);
        join(7, 3);
        tend();
        ASSERT_TRUE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(7), PAGE));
        ASSERT_EQ(3u * PAGE, stats().live);
        free_page(7, 3);
        tend();
        EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
        arena_destroy(m_arena);
        m_arena = nullptr;
    }
}

/* A signal that comes to a thread in the arena is handled when the thread has left it: the
 * handler waits for nothing that its own thread has, and what it unmaps, or maps something
 * over, is free or spoilt when it returns */
TEST_F(test_arena_spoil, in_a_handler) {
    make(false);
    allocate(SLAB);
    expect_freed_beside_a_handler("discard");
}

TEST_F(test_arena_spoil, in_a_handler_strict) {
    m_params.is_strict = 1;
    make_registered();
    expect_freed_beside_a_handler("protect");
}

/* So is one that comes while this thread gives registrations up, or forks */
TEST_F(test_arena_spoil, in_a_handler_of_other_calls) {
    make_registered();
    free_page(SLAB / 2, SLAB / 2);
    at_signal("dereg", [this]() { spoil(SLAB - 1, 1); });
    EXPECT_EQ(SLAB * PAGE, ucs_arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_TRUE(m_is_handled);
    EXPECT_TRUE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));

    allocate(SLAB);
    free_page(SLAB, SLAB);
    at_signal("dontfork", [this]() { spoil(SLAB, 1); });
    ucs_hook_enter();
    ucs_arena_before_fork(m_arena);
    ucs_arena_after_fork(m_arena);
    EXPECT_FALSE(m_is_handled);
    ucs_hook_leave();
    EXPECT_TRUE(m_is_handled);
    EXPECT_TRUE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(SLAB), PAGE));
}

TEST_F(test_arena_spoil, memory_grows_where_it_is) {
    make_one();
    EXPECT_EQ(m_memory.address_of(0), allocate(10));
    EXPECT_EQ(UCS_OK,
              ucs_arena_extend(m_arena, m_memory.address_of(10), 5 * PAGE));
    m_memory.take(m_memory.address_of(10), 5 * PAGE);
    EXPECT_EQ("live 15 fresh 49", states());

    /* There is no room for more than the slab, and none in live memory */
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              ucs_arena_extend(m_arena, m_memory.address_of(15), 50 * PAGE));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              ucs_arena_extend(m_arena, m_memory.address_of(10), PAGE));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              ucs_arena_extend(m_arena, m_memory.address_of(SLABS * SLAB), PAGE));

    /* What was freed there is filled with zeros */
    free_page(10, 5);
    EXPECT_EQ(UCS_OK,
              ucs_arena_extend(m_arena, m_memory.address_of(10), 5 * PAGE));
    m_memory.take(m_memory.address_of(10), 5 * PAGE);
    EXPECT_EQ(5u * PAGE, stats().zeroed);
}
