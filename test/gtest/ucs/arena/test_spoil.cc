/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include <common/child.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

extern "C" {
#include <common/c_access.h>
}

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

    test_arena_slab_t *find(size_t page)
    {
        return arena_find(m_arena, m_memory.address_of(page), PAGE);
    }

    /* The slab is spoilt by another thread in the midst of an operation */
    void spoil_during(const std::string &name, size_t page, size_t pages)
    {
        m_memory.m_during = [=](const char *now) {
            if ((name != now) || m_thread.joinable()) {
                return;
            }
            m_thread = std::thread([=]() {
                EXPECT_EQ(UCS_OK, arena_spoil(m_arena,
                                              m_memory.address_of(page),
                                              pages * PAGE));
            });
            while (!arena_is_spoilt(m_arena, m_memory.address_of(page),
                                    PAGE)) {
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

    void expect_freed_in_a_handler()
    {
        make_one();
        allocate(SLAB / 2);
        arena_lock(m_arena);
        free_page(4, 4);
        /* For the handler it is free already */
        EXPECT_FALSE(arena_live(m_arena, m_memory.address_of(4), PAGE));
        EXPECT_TRUE(arena_live(m_arena, m_memory.address_of(8), PAGE));
        arena_unlock(m_arena);
        EXPECT_FALSE(arena_live(m_arena, m_memory.address_of(4), PAGE));
        EXPECT_EQ(28 * PAGE, stats().live);
        m_retired = stats().retired;
        m_dark    = stats().dark;

        arena_lock(m_arena);
        free_page(10, 2);
        spoil(10, 1);
        free_page(12, 2);
        arena_unlock(m_arena);
        EXPECT_TRUE(arena_live(m_arena, m_memory.address_of(10), PAGE));
        EXPECT_FALSE(arena_live(m_arena, m_memory.address_of(11), PAGE));
        EXPECT_FALSE(arena_live(m_arena, m_memory.address_of(12), PAGE));
        EXPECT_EQ(25 * PAGE, stats().live);
    }

    uint64_t m_retired = 0; /* After the first of it */
    uint64_t m_dark    = 0;
};

TEST_F(test_arena_spoil, live_memory) {
    make_registered();
    free_page(10, SLAB - 10);
    spoil(2, 3);
    EXPECT_EQ(nullptr, find(0));
    EXPECT_EQ("live 10 clean 64", states());
    EXPECT_EQ(1u, stats().slabs_spoilt);

    /* The next slab takes over; this one is not registered any more */
    tend();
    EXPECT_EQ("live 10 clean 64", states());
    EXPECT_FALSE(m_memory.at(0).is_registered);
    EXPECT_EQ(m_memory.address_of(SLAB), allocate(1));

    /* What is freed is taken away at once, and the slab when all of it is */
    free_page(0, 9);
    EXPECT_FALSE(m_memory.at(0).is_mapped);
    EXPECT_TRUE(m_memory.at(9).is_mapped);
    tend();
    EXPECT_TRUE(arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));
    free_page(9, 1);
    tend();
    EXPECT_FALSE(arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));

    /* It is opened anew */
    EXPECT_EQ("live 1 clean 127", states());
    EXPECT_NE(nullptr, allocate(SLAB));
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
    EXPECT_EQ("live 20 retired 4 blank 40", states());
    spoil(30, 5);
    EXPECT_EQ("live 25", states());
    free_page(0, SLAB);
    tend();
    EXPECT_EQ(0u, m_memory.registered());
    EXPECT_EQ("clean 64", states()); /* It is opened anew */
}

TEST_F(test_arena_spoil, a_slab_that_was_never_open) {
    make_one();
    spoil(3 * SLAB + 5, 2);
    EXPECT_EQ("live 2 clean 64", states());
    for (unsigned i = 0; i < SLABS; ++i) {
        allocate(SLAB);
        m_now += RETRY;
        tend();
    }
    EXPECT_EQ(stats().committed, (SLABS - 1) * SLAB * PAGE);
    EXPECT_FALSE(m_memory.at(3 * SLAB).is_mapped);
    free_page(3 * SLAB + 5, 2);
    tend();
    EXPECT_FALSE(arena_is_spoilt(m_arena, m_memory.address_of(3 * SLAB), 1));
    EXPECT_NE(nullptr, allocate(1));
    EXPECT_EQ(stats().committed, SLABS * SLAB * PAGE);
}

TEST_F(test_arena_spoil, several_slabs) {
    make_one();
    allocate(SLAB);
    spoil(SLAB - 1, SLAB + 2);
    EXPECT_EQ("live 129", states());
    EXPECT_EQ(3u, stats().slabs_spoilt);
    EXPECT_FALSE(arena_is_spoilt(m_arena, m_memory.address_of(3 * SLAB), 1));
    EXPECT_TRUE(arena_is_spoilt(m_arena, m_memory.address_of(2 * SLAB), 1));
}

/* It stays registered as long as a use needs it, and is not found meanwhile */
TEST_F(test_arena_spoil, in_use) {
    make_registered();
    test_arena_slab_t *slab = find(0);
    ASSERT_TRUE(arena_acquire(slab));
    spoil(0, 1);
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_TRUE(m_memory.at(0).is_registered);
    EXPECT_FALSE(arena_acquire(slab));
    arena_release(slab);
    m_now += RETRY;
    tend();
    EXPECT_FALSE(m_memory.at(0).is_registered);
}

/* All of its memory stays the program's, and is not registered any more when no
 * use needs it */
TEST_F(test_arena_spoil, withdrawn) {
    make_registered();
    free_page(10, SLAB - 10);
    test_arena_slab_t *slab = find(0);
    ASSERT_TRUE(arena_acquire(slab));
    EXPECT_EQ(UCS_OK, arena_withdraw(m_arena, slab));
    m_memory.put(m_memory.address_of(0), PAGE); /* Notes that it is spoilt */
    EXPECT_EQ(nullptr, find(0));
    tend();
    EXPECT_EQ("live 10 clean 64", states());
    EXPECT_TRUE(m_memory.at(0).is_registered);
    arena_release(slab);
    m_now += RETRY;
    tend();
    EXPECT_FALSE(m_memory.at(0).is_registered);
    EXPECT_TRUE(m_memory.at(0).is_mapped);
    free_page(0, 10);
    tend();
    EXPECT_FALSE(arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));

    arena_child(m_arena);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, arena_withdraw(m_arena, slab));
}

TEST_F(test_arena_spoil, what_is_live) {
    make_one();
    allocate(10);
    uint8_t *start = (uint8_t*)m_memory.address_of(0);
    EXPECT_TRUE(arena_live(m_arena, start, 10 * PAGE));
    EXPECT_TRUE(arena_live(m_arena, start + 1, 10 * PAGE - 1));
    EXPECT_FALSE(arena_live(m_arena, start + 1, 10 * PAGE));
    EXPECT_FALSE(arena_live(m_arena, start - 1, 2));
    free_page(4, 1);
    EXPECT_FALSE(arena_live(m_arena, start, 10 * PAGE));
    EXPECT_TRUE(arena_live(m_arena, start, 4 * PAGE));
    EXPECT_TRUE(arena_live(m_arena, start + 5 * PAGE, 5 * PAGE));
    EXPECT_FALSE(arena_live(m_arena, start - PAGE, PAGE));
}

TEST_F(test_arena_spoil, abandoned) {
    make_one();
    allocate(10);
    arena_abandon(m_arena);
    EXPECT_EQ(nullptr, arena_allocate(m_arena, PAGE));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              arena_free(m_arena, m_memory.address_of(0), PAGE, m_now));
    /* The caller unmaps it, and something else may be there next */
    EXPECT_EQ(nullptr, find(0));
}

TEST_F(test_arena_spoil, what_is_not_accepted) {
    make_one();
    EXPECT_EQ(UCS_ERR_NO_ELEM, arena_spoil(m_arena, m_memory.base() - PAGE,
                                           PAGE));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              arena_spoil(m_arena, m_memory.base() + 1, PAGE));
    EXPECT_FALSE(arena_is_spoilt(m_arena, m_memory.base() - PAGE, PAGE));
    arena_child(m_arena);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              arena_spoil(m_arena, m_memory.base(), PAGE));
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
    EXPECT_EQ("live 15 clean 64", states());
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
        EXPECT_EQ(UCS_OK, arena_stop(m_arena));
        arena_destroy(m_arena);
        m_arena = nullptr;
    }
}

TEST_F(test_arena_spoil, while_it_is_opened) {
    make();
    spoil_during("map", 7, 3);
    arena_tend(m_arena, m_now);
    join(7, 3);
    tend();
    EXPECT_TRUE(m_memory.at(7).is_taken);
    EXPECT_EQ("live 3 clean 64", states());
    free_page(7, 3);
    tend();
    EXPECT_EQ("clean 64", states());
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
                EXPECT_EQ(UCS_OK, arena_spoil(m_arena, m_memory.address_of(7),
                                              3 * PAGE));
            });
            while (!is_there) {
                std::this_thread::yield();
            }
            std::this_thread::sleep_for(std::chrono::microseconds(5));
        };
        arena_tend(m_arena, m_now);
        join(7, 3);
        tend();
        ASSERT_TRUE(arena_is_spoilt(m_arena, m_memory.address_of(7), PAGE));
        ASSERT_EQ(3u * PAGE, stats().live);
        free_page(7, 3);
        tend();
        EXPECT_EQ(UCS_OK, arena_stop(m_arena));
        arena_destroy(m_arena);
        m_arena = nullptr;
    }
}

/* The handler of a signal may have interrupted its thread in the arena. Uses do
 * not find the slab from then on, and the memory is the program's when the thread
 * leaves the arena */
TEST_F(test_arena_spoil, in_a_handler) {
    make_registered();
    free_page(10, SLAB - 10);
    arena_lock(m_arena);
    spoil(2, 3);
    EXPECT_EQ(nullptr, find(0));
    spoil(SLAB - 2, 4);
    EXPECT_TRUE(arena_live(m_arena, m_memory.address_of(0), 10 * PAGE));
    EXPECT_FALSE(arena_live(m_arena, m_memory.address_of(0), 11 * PAGE));
    arena_unlock(m_arena);
    EXPECT_EQ("live 14", states());
    EXPECT_EQ(2u, stats().slabs_spoilt);
    tend();
    EXPECT_FALSE(m_memory.at(0).is_registered);

    free_page(0, SLAB + 2);
    tend();
    EXPECT_EQ("clean 64", states());
    EXPECT_FALSE(arena_is_spoilt(m_arena, m_memory.address_of(0), 2 * SLAB));
}

/* What a handler frees is freed when the thread leaves the arena, in the order in which
 * it spoils and frees */
TEST_F(test_arena_spoil, freed_in_a_handler) {
    expect_freed_in_a_handler();
    EXPECT_EQ(4 * PAGE, m_retired);
}

TEST_F(test_arena_spoil, freed_in_a_handler_strict) {
    m_params.is_strict = 1;
    expect_freed_in_a_handler();
    EXPECT_EQ(4 * PAGE, m_dark);
}

/* A handler may go on to map something where it has freed memory. While its thread waits for
 * the lock, others who have it do not work at that memory */
TEST_F(test_arena_spoil, freed_in_a_handler_while_others_work) {
    m_params.is_strict = 1;
    make_one();
    allocate(SLAB / 2);
    arena_lock(m_arena);
    free_page(4, 4);
    arena_await_lock(m_arena);
    std::thread([this]() {
        EXPECT_EQ(m_memory.address_of(SLAB / 2), allocate(1));
        m_now += LAZY;
        tend();
        EXPECT_EQ(0u, stats().dark);
    }).join();
    arena_get_lock(m_arena);
    spoil(4, 2);
    arena_unlock(m_arena);
    EXPECT_TRUE(arena_live(m_arena, m_memory.address_of(4), 2 * PAGE));
    EXPECT_FALSE(arena_live(m_arena, m_memory.address_of(6), PAGE));
    EXPECT_EQ((SLAB / 2 - 1) * PAGE, stats().live);
}

/* However often it does so */
TEST_F(test_arena_spoil, often_freed_in_a_handler) {
    make_one();
    allocate(SLAB);
    arena_lock(m_arena);
    for (size_t page = 0; page < SLAB / 2; ++page) {
        free_page(2 * page, 1);
    }
    arena_unlock(m_arena);
    EXPECT_EQ(SLAB / 2 * PAGE, stats().live);
    EXPECT_EQ(0u, stats().slabs_spoilt);
    arena_lock(m_arena);
    free_page(0, SLAB);
    arena_unlock(m_arena);
    EXPECT_EQ(0u, stats().live);
    EXPECT_EQ("retired 64", states());
}

/* If it does so too often, all of the slab is the program's */
TEST_F(test_arena_spoil, often_in_a_handler) {
    make_registered();
    free_page(SLAB / 2, SLAB / 2);
    m_now += LAZY;
    tend();
    arena_lock(m_arena);
    for (unsigned i = 0; i < 20; ++i) {
        spoil(2 * i, 1);
    }
    arena_unlock(m_arena);
    EXPECT_EQ(nullptr, find(0));
    EXPECT_EQ(64 * PAGE, stats().live);
    free_page(0, SLAB);
    tend();
    EXPECT_FALSE(arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));
}

/* The thread that a handler has interrupted waits for one that frees some of what the handler
 * has spoilt. That one is done, and claims all of it, before the first one has the lock
 * again */
TEST_F(test_arena_spoil, another_thread_claims_what_a_handler_has_spoilt) {
    child process([this]() -> int {
        std::promise<void> is_held, may_go;
        std::atomic<bool> is_first{true};

        alarm(10); /* Rather than hang */
        m_params.is_strict = 1;
        make_one();
        allocate(10);
        m_memory.m_during = [&](const char *now) {
            if (is_first.exchange(false)) {
                is_held.set_value();
                may_go.get_future().wait();
            }
        };
        std::thread other([this]() { free_page(0, 4); });
        is_held.get_future().wait();

        std::function<void()> go_on = [&]() {
            may_go.set_value();
            other.join();
        };
        test_on_yield([](void *arg) { (*(std::function<void()>*)arg)(); },
                      &go_on);
        arena_lock(m_arena);
        for (size_t page : {1, 8}) {
            EXPECT_EQ(UCS_OK, arena_spoil(m_arena, m_memory.address_of(page),
                                          PAGE));
        }
        arena_unlock(m_arena);
        EXPECT_FALSE(other.joinable()) << "it has waited";
        EXPECT_TRUE(arena_live(m_arena, m_memory.address_of(1), PAGE));
        EXPECT_EQ(7 * PAGE, stats().live);
        return HasFailure();
    });

    EXPECT_EQ(0, process.reap());
}

/* What is freed strictly is held by its own thread while it is protected */
TEST_F(test_arena_spoil, in_a_handler_while_it_is_freed) {
    m_params.is_strict = 1;
    make_one();
    allocate(10);
    m_memory.m_during = [this](const char *now) {
        m_memory.m_during = nullptr;
        EXPECT_EQ(UCS_OK, arena_spoil(m_arena, m_memory.address_of(1),
                                      PAGE));
    };
    free_page(0, 4);
    EXPECT_TRUE(arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));
    EXPECT_EQ(7 * PAGE, stats().live);
    m_memory.put(m_memory.address_of(1), PAGE);
    free_page(0, 10);
    tend();
    EXPECT_FALSE(arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));
}

TEST_F(test_arena_spoil, memory_grows_where_it_is) {
    make_one();
    EXPECT_EQ(m_memory.address_of(0), allocate(10));
    EXPECT_EQ(UCS_OK,
              arena_extend(m_arena, m_memory.address_of(10), 5 * PAGE));
    m_memory.take(m_memory.address_of(10), 5 * PAGE);
    EXPECT_EQ("live 15 clean 49", states());

    /* There is no room for more than the slab, and none in live memory */
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              arena_extend(m_arena, m_memory.address_of(15), 50 * PAGE));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              arena_extend(m_arena, m_memory.address_of(10), PAGE));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              arena_extend(m_arena, m_memory.address_of(SLABS * SLAB), PAGE));

    /* What was freed there is filled with zeros */
    free_page(10, 5);
    EXPECT_EQ(UCS_OK,
              arena_extend(m_arena, m_memory.address_of(10), 5 * PAGE));
    m_memory.take(m_memory.address_of(10), 5 * PAGE);
    EXPECT_EQ(5u * PAGE, stats().zeroed_callers);
}
