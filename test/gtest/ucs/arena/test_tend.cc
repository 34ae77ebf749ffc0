/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include <algorithm>

/* What the helper does: slabs come and go, and dirty memory becomes clean */
class test_arena_tend : public arena_test {
protected:
    void make_with(size_t low_water, size_t high_water)
    {
        m_params.low_water  = low_water * PAGE;
        m_params.high_water = high_water * PAGE;
        make();
        tend();
    }

    void fail(const std::string &what)
    {
        m_memory.m_fails = [what](const char *name) { return name == what; };
    }

    /* Free all of a slab, and let it be protected */
    void darken(size_t slab)
    {
        free_page(slab * SLAB, SLAB);
        m_now += LAZY;
    }
};

TEST_F(test_arena_tend, one_slab_a_call) {
    m_params.low_water = 2 * SLAB * PAGE + 1;
    make();
    for (unsigned i = 1; i <= 3; ++i) {
        EXPECT_EQ((i < 3) ? m_now : UCS_ARENA_NEVER,
                  arena_tend(m_arena, m_now));
        EXPECT_EQ(i, m_memory.m_num_registered);
    }
    EXPECT_EQ("clean 192", states());
    EXPECT_EQ(3u, stats().slabs_opened);
}

TEST_F(test_arena_tend, a_slab_is_opened_ahead_of_demand) {
    make_with(SLAB, SLABS * SLAB);
    EXPECT_EQ(UCS_ARENA_NEVER, arena_due(m_arena));
    EXPECT_NE(nullptr, allocate(1));
    EXPECT_EQ(0u, arena_due(m_arena)); /* At once */
    tend();
    EXPECT_EQ("live 1 clean 127", states());
    EXPECT_NE(nullptr, allocate(63));
    EXPECT_EQ(UCS_ARENA_NEVER, arena_due(m_arena));
    EXPECT_NE(nullptr, allocate(2));
    EXPECT_EQ(0u, arena_due(m_arena));
    tend();
    EXPECT_EQ("live 66 clean 126", states());
    EXPECT_EQ(0u, stats().refused);
}

TEST_F(test_arena_tend, what_was_refused_is_provided_for) {
    make_with(0, SLABS * SLAB);
    EXPECT_EQ("", states());
    EXPECT_EQ(UCS_ARENA_NEVER, arena_due(m_arena));
    EXPECT_EQ(nullptr, allocate(10));
    EXPECT_EQ(nullptr, allocate(5));
    EXPECT_EQ(0u, arena_due(m_arena));
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ("clean 64", states());
    EXPECT_NE(nullptr, allocate(10));
    EXPECT_EQ(2u, stats().refused);
}

TEST_F(test_arena_tend, what_is_aligned_is_provided_for) {
    make_with(0, SLABS * SLAB);
    allocate(1);
    tend();
    EXPECT_EQ(m_memory.address_of(0), allocate(SLAB / 2 + 1));
    EXPECT_EQ(nullptr, allocate(1, SLAB / 2));
    tend();
    EXPECT_NE(nullptr, allocate(1, SLAB / 2));
}

/* No further slab is opened if pages that follow each other can be made blank,
 * whatever they went through */
TEST_F(test_arena_tend, room_is_made_of_neighbours) {
    make_with(SLAB / 2, SLABS * SLAB);
    allocate(SLAB);
    m_memory.m_room = m_memory.registered();
    free_page(0, 8);
    m_now += LAZY;
    tend();
    EXPECT_EQ("live 56 blank 8", states());
    free_page(8, 40);
    m_now += LAZY;
    tend();
    EXPECT_EQ("live 16 blank 48", states());
    free_page(48, 4);
    EXPECT_EQ("live 12 retired 4 blank 48", states());
    EXPECT_EQ(nullptr, allocate(52));

    m_now += RETRY;
    arena_tend(m_arena, m_now);
    EXPECT_EQ("live 12 blank 52", states());
    EXPECT_NE(nullptr, allocate(52));
    EXPECT_EQ(52u * PAGE, stats().zeroed_helper);
    EXPECT_EQ(0u, stats().zeroed_callers);
}

/* A run begins again behind what is live */
TEST_F(test_arena_tend, room_is_found_behind_live_pages) {
    make_with(SLAB / 4, SLABS * SLAB);
    allocate(SLAB);
    m_memory.m_room = m_memory.registered();
    free_page(0, 20);
    free_page(21, 20);
    m_now += LAZY;
    tend();
    free_page(41, 20);
    EXPECT_EQ("live 4 retired 20 blank 40", states());
    EXPECT_EQ(nullptr, allocate(40));
    m_now += LAZY / 2;
    while (arena_due(m_arena) > m_now) {
        m_now += RETRY;
    }
    arena_tend(m_arena, m_now);
    EXPECT_EQ(m_memory.address_of(21), allocate(40));
}

/* Others allocate and free while the helper has only a part of the run */
TEST_F(test_arena_tend, room_is_not_made_of_what_was_allocated) {
    make_with(SLAB / 2, SLABS * SLAB);
    allocate(SLAB);
    m_memory.m_room = m_memory.registered();
    free_page(0, SLAB / 2);
    m_now += LAZY;
    tend();
    EXPECT_EQ("live 32 blank 32", states());
    free_page(SLAB / 2, 8);
    EXPECT_EQ("live 24 retired 8 blank 32", states());
    EXPECT_EQ(nullptr, allocate(40));

    m_now             = std::max(m_now, arena_due(m_arena));
    m_memory.m_during = [&](const char *name) {
        /* What was blank already can be had again while the helper works at
         * the rest */
        m_memory.m_during = nullptr;
        EXPECT_EQ(m_memory.address_of(0), allocate(1));
    };
    arena_tend(m_arena, m_now);
    EXPECT_EQ("live 25 blank 39", states());
}

/* A run ends at pages that another thread is protecting */
TEST_F(test_arena_tend, room_is_not_made_of_held_pages) {
    m_params.is_strict = 1;
    make_with(SLAB / 4, SLABS * SLAB);
    allocate(SLAB);
    m_memory.m_room = m_memory.registered();
    free_page(0, 20);
    tend();
    free_page(24, 20);
    tend();
    free_page(44, 20);
    EXPECT_EQ("live 4 dark 20 blank 40", states());
    EXPECT_EQ(nullptr, allocate(40));
    m_now              = std::max(m_now, arena_due(m_arena));
    m_memory.m_during  = [&](const char *name) {
        m_memory.m_during = nullptr;
        arena_tend(m_arena, m_now);
        EXPECT_EQ(m_memory.address_of(24), allocate(40));
    };
    free_page(20, 4);
    EXPECT_EQ("live 40 dark 4 blank 20", states());
}

TEST_F(test_arena_tend, no_more_than_the_budget_is_zeroed_in_a_call) {
    make_with(0, SLABS * SLAB);
    allocate(1);
    tend();
    allocate(SLAB);
    darken(0);
    EXPECT_EQ(m_now, arena_tend(m_arena, m_now));
    EXPECT_EQ("dark 32 blank 32", states());
    EXPECT_EQ(UCS_ARENA_NEVER, arena_tend(m_arena, m_now));
    EXPECT_EQ("blank 64", states());
    EXPECT_EQ(SLAB * PAGE, stats().zeroed_helper);
}

/* However little is ready: whoever uses it is stopped, and does not write to what others
 * get */
TEST_F(test_arena_tend, what_was_freed_stays_inaccessible) {
    make_with(SLAB, SLABS * SLAB);
    allocate(1);
    tend();
    allocate(SLAB - 1);
    m_memory.m_room = m_memory.registered();
    darken(0);
    for (int i = 0; i < 10; ++i) {
        tend();
        m_now += LAZY;
        for (size_t page = 0; page < SLAB; ++page) {
            EXPECT_EQ(fake_memory::NO, m_memory.at(page).access);
        }
    }
    EXPECT_EQ("blank 64 clean 64", states());

    /* What nobody has had comes first */
    EXPECT_EQ(m_memory.address_of(SLAB), allocate(SLAB));
    EXPECT_EQ(m_memory.address_of(0), allocate(SLAB));
}

TEST_F(test_arena_tend, empty_slabs_are_given_back) {
    make_with(SLAB, 2 * SLAB);
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_NE(nullptr, allocate(SLAB));
        tend();
    }
    EXPECT_EQ("live 320 clean 64", states());

    free_page(SLAB, 4 * SLAB);
    m_now += LAZY;
    EXPECT_EQ(m_now - LAZY + IDLE, tend());
    EXPECT_EQ(6u, m_memory.m_num_registered);
    m_now += IDLE - LAZY;
    EXPECT_EQ(UCS_ARENA_NEVER, tend());

    /* The last ones first, as long as more is free than the mark */
    EXPECT_EQ(3u, m_memory.m_num_registered);
    EXPECT_EQ(3 * SLAB * PAGE, m_memory.m_mapped);
    EXPECT_EQ(3u, stats().slabs_closed);
    EXPECT_EQ(nullptr, arena_find(m_arena, m_memory.address_of(3 * SLAB),
                                  1));
    EXPECT_NE(nullptr, arena_find(m_arena, m_memory.address_of(2 * SLAB),
                                  1));
    EXPECT_EQ("live 64 blank 128", states());

    /* And are opened again */
    EXPECT_NE(nullptr, allocate(SLAB));
    tend();
    EXPECT_NE(nullptr, allocate(SLAB));
    tend();
    EXPECT_EQ("live 192 clean 64", states());
}

TEST_F(test_arena_tend, a_slab_in_use_stays) {
    test_arena_slab_t *slab;

    make_with(0, 0);
    allocate(1);
    tend();
    allocate(SLAB);
    slab = arena_find(m_arena, m_memory.base(), PAGE);
    ASSERT_NE(nullptr, slab);
    EXPECT_TRUE(arena_acquire(slab));
    darken(0);
    m_now += IDLE;
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_EQ(0u, arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_EQ("blank 64", states());

    arena_release(slab);
    m_now += RETRY;
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ("", states());
    EXPECT_FALSE(arena_acquire(slab));
    EXPECT_EQ(nullptr, arena_find(m_arena, m_memory.base(), PAGE));
}

TEST_F(test_arena_tend, the_end_waits_for_uses) {
    test_arena_slab_t *slab;

    make_with(SLAB, SLAB);
    slab = arena_find(m_arena, m_memory.base(), PAGE);
    EXPECT_TRUE(arena_acquire(slab));
    EXPECT_EQ(UCS_ERR_BUSY, arena_stop(m_arena));
    EXPECT_EQ(1u, m_memory.m_num_registered);
    arena_release(slab);
    EXPECT_EQ(UCS_OK, arena_stop(m_arena));
    EXPECT_EQ(0u, m_memory.m_mapped);
}

TEST_F(test_arena_tend, the_end_fails) {
    make_with(SLAB, SLAB);
    fail("dereg");
    EXPECT_EQ(UCS_ERR_NO_MEMORY, arena_stop(m_arena));
    EXPECT_EQ(1u, m_memory.m_num_registered);
    fail("unmap");
    EXPECT_EQ(UCS_ERR_NO_MEMORY, arena_stop(m_arena));
    EXPECT_EQ(0u, m_memory.m_num_registered);
}

/* Somebody finds a slab while the helper is about to close it */
TEST_F(test_arena_tend, a_use_begins_while_a_slab_is_closed) {
    test_arena_slab_t *slab;

    make_with(0, 0);
    allocate(1);
    tend();
    slab              = arena_find(m_arena, m_memory.base(), PAGE);
    m_now            += IDLE;
    m_memory.m_during = [&](const char *name) {
        m_memory.m_during = nullptr;
        EXPECT_STREQ("dereg", name);
        EXPECT_EQ(nullptr, arena_find(m_arena, m_memory.base(), PAGE));
        EXPECT_FALSE(arena_acquire(slab));
        EXPECT_EQ(nullptr, allocate(1));
    };
    arena_tend(m_arena, m_now);
    EXPECT_EQ(0u, m_memory.m_num_registered);
}

TEST_F(test_arena_tend, memory_pressure) {
    make_with(3 * SLAB, SLABS * SLAB);
    allocate(1);
    tend();
    EXPECT_EQ(4u, m_memory.m_num_registered);
    EXPECT_EQ(SLAB * PAGE, arena_shrink(m_arena, 1, m_now));
    EXPECT_EQ(2 * SLAB * PAGE, arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_EQ("live 1 clean 63", states());

    /* It does not take it again while there is enough for what is asked for, nor
     * at once when there is not */
    EXPECT_EQ(UCS_ARENA_NEVER, arena_tend(m_arena, m_now));
    allocate(SLAB - 1);
    EXPECT_EQ(UCS_ARENA_NEVER, arena_tend(m_arena, m_now));
    EXPECT_EQ(nullptr, allocate(1));
    EXPECT_EQ(m_now + IDLE, arena_tend(m_arena, m_now));
    EXPECT_EQ(1u, m_memory.m_num_registered);
    m_now += IDLE;
    tend();
    EXPECT_EQ(4u, m_memory.m_num_registered);
}

/* An idle program does without an arena once memory was short, and has one again
 * when it asks for memory */
TEST_F(test_arena_tend, memory_pressure_while_idle) {
    make_with(SLAB, SLAB);
    EXPECT_EQ(SLAB * PAGE, arena_shrink(m_arena, SIZE_MAX, m_now));
    m_now += 10 * IDLE;
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ(0u, m_memory.m_num_registered);
    EXPECT_EQ(nullptr, allocate(1));
    tend();
    EXPECT_EQ("clean 64", states());
    allocate(1);
    tend();
    EXPECT_EQ("live 1 clean 127", states());
}

/* What fails is tried again after twice the time, and what was made before it
 * is undone */
TEST_F(test_arena_tend, opening_fails) {
    for (std::string what : {"map", "reg"}) {
        uint64_t wait = RETRY;

        make();
        fail(what);
        for (unsigned i = 0; i < 10; ++i) {
            EXPECT_EQ(m_now + wait, arena_tend(m_arena, m_now)) << what;
            EXPECT_EQ(m_now + wait, arena_tend(m_arena, m_now)) << what;
            EXPECT_EQ(nullptr, allocate(1));
            EXPECT_EQ(m_now + wait, arena_due(m_arena));
            EXPECT_EQ("", states());
            m_now += wait;
            wait   = std::min(2 * wait, 64 * RETRY);
        }
        EXPECT_EQ(10u, stats().failures);
        m_memory.m_fails = nullptr;
        EXPECT_EQ(UCS_ARENA_NEVER, tend());
        EXPECT_EQ("clean 64", states());

        /* The time to the next attempt is the first one again */
        fail(what);
        allocate(SLAB);
        EXPECT_EQ(m_now + RETRY, arena_tend(m_arena, m_now));

        m_memory.m_fails = nullptr;
        free_page(0, SLAB);
        EXPECT_EQ(UCS_OK, arena_stop(m_arena));
        arena_destroy(m_arena);
        m_arena = nullptr;
    }
}

/* A bound that is reached: what was refused is provided for when there is
 * room */
TEST_F(test_arena_tend, the_bound) {
    m_memory.m_room = 2 * SLAB * PAGE;
    make_with(SLAB, SLABS * SLAB);
    EXPECT_NE(nullptr, allocate(SLAB));
    tend();
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_EQ(nullptr, allocate(1));
    EXPECT_EQ(m_now + RETRY, tend());
    m_now += RETRY;
    EXPECT_EQ(m_now + 2 * RETRY, tend());
    m_memory.m_room += SLAB * PAGE;
    m_now           += 2 * RETRY;
    tend();
    EXPECT_NE(nullptr, allocate(1));
}

TEST_F(test_arena_tend, all_slabs_are_open) {
    make_with(SLABS * SLAB + 1, SLABS * SLAB + 1);
    EXPECT_EQ(SLABS, m_memory.m_num_registered);
    EXPECT_EQ(UCS_ARENA_NEVER, arena_due(m_arena));
    for (unsigned i = 0; i < SLABS; ++i) {
        EXPECT_NE(nullptr, allocate(SLAB));
    }
    EXPECT_EQ(UCS_ARENA_NEVER, arena_due(m_arena));
    EXPECT_EQ(nullptr, allocate(SLAB));
    EXPECT_EQ(m_now + RETRY, tend());
}

TEST_F(test_arena_tend, making_accessible_fails) {
    make_with(SLAB, SLABS * SLAB);
    m_memory.m_room = m_memory.registered();
    allocate(SLAB);
    fail("access");
    darken(0);
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_EQ("dark 64", states());
    m_now += RETRY;
    EXPECT_EQ(m_now + 2 * RETRY, tend());
    EXPECT_EQ(nullptr, allocate(1));

    m_memory.m_fails  = nullptr;
    m_now            += 2 * RETRY;
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ("blank 64", states());
}

/* Also while room is made of neighbours: what is retired may be half protected
 * then, and is not handed out */
TEST_F(test_arena_tend, making_room_fails) {
    make_with(SLAB / 2, SLABS * SLAB);
    m_memory.m_room = m_memory.registered();
    allocate(SLAB);
    free_page(0, SLAB / 2);
    m_now += LAZY;
    tend();
    free_page(SLAB / 2, SLAB / 4);
    EXPECT_EQ("live 16 retired 16 blank 32", states());
    EXPECT_EQ(nullptr, allocate(SLAB / 2 + 1));
    fail("access");
    m_now += LAZY / 2;
    while (arena_due(m_arena) > m_now) {
        m_now += RETRY;
    }
    arena_tend(m_arena, m_now);
    EXPECT_EQ("live 16 dark 16 blank 32", states());
    m_memory.m_fails  = nullptr;
    m_now            += 64 * RETRY;
    tend();
    EXPECT_EQ("live 16 blank 48", states());
}

TEST_F(test_arena_tend, deregistering_fails) {
    make_with(0, 0);
    allocate(1);
    tend();
    EXPECT_EQ("clean 64", states());
    fail("dereg");
    m_now += IDLE;
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_EQ("clean 64", states());
    EXPECT_NE(nullptr, arena_find(m_arena, m_memory.base(), 1));
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_EQ(1u, stats().failures);
}

/* The kernel does not take memory back: until then the slab cannot be used */
TEST_F(test_arena_tend, unmapping_fails) {
    make_with(0, 0);
    allocate(1);
    tend();
    fail("unmap");
    m_now += IDLE;
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_EQ(1u, stats().failures);
    EXPECT_EQ("", states());
    EXPECT_EQ(SLAB * PAGE, stats().committed);
    EXPECT_EQ(0u, stats().registered);
    EXPECT_EQ(nullptr, arena_find(m_arena, m_memory.base(), 1));

    allocate(1);
    tend();
    EXPECT_EQ(2 * SLAB * PAGE, stats().committed);
    EXPECT_EQ(m_memory.address_of(SLAB), allocate(SLAB));

    m_memory.m_fails = nullptr;
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ(SLAB * PAGE, stats().committed);
    allocate(1);
    tend();
    EXPECT_EQ(m_memory.address_of(0), allocate(SLAB));
}
