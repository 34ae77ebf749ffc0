/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include <algorithm>

/* What the helper does: freed memory is protected, and slabs come and go */
class test_arena_tend : public arena_test {
protected:
    /* One slab that is registered, all of it live */
    void make_registered()
    {
        make();
        EXPECT_EQ(m_memory.address_of(0), allocate_registered());
    }

    /* The same, and no room for more */
    void make_full()
    {
        m_params.limit = SLAB * PAGE;
        make_registered();
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

/* By the thread that needs it, and not before */
TEST_F(test_arena_tend, a_slab_is_opened_when_it_is_needed) {
    make();
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ("", states());
    EXPECT_NE(nullptr, allocate(1));
    EXPECT_NE(nullptr, allocate(40));
    EXPECT_EQ(UCS_ARENA_NEVER, ucs_arena_due(m_arena));
    EXPECT_EQ("live 41 fresh 23", states());
    EXPECT_NE(nullptr, allocate(40));
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ("live 81 fresh 47", states());
    EXPECT_EQ(0u, stats().refused);
    EXPECT_EQ(2u, stats().slabs_opened);
    EXPECT_EQ(0u, m_memory.m_num_registered);
}

/* Whoever uses it is stopped, and does not write to what others get */
TEST_F(test_arena_tend, what_was_freed_stays_inaccessible) {
    make_registered();
    darken(0);
    for (int i = 0; i < 10; ++i) {
        tend();
        m_now += LAZY;
        for (size_t page = 0; page < SLAB; ++page) {
            EXPECT_EQ(fake_memory::NO, m_memory.at(page).access);
        }
    }
    EXPECT_EQ("muzzy 64", states());
    EXPECT_EQ(m_memory.address_of(0), allocate(SLAB));
    EXPECT_EQ(m_memory.address_of(SLAB), allocate(SLAB));
}

TEST_F(test_arena_tend, empty_slabs_are_given_back) {
    make();
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_NE(nullptr, allocate_registered());
    }
    EXPECT_EQ("live 320", states());
    EXPECT_EQ(5u, m_memory.m_num_registered);

    free_page(SLAB, 4 * SLAB);
    m_now += LAZY;
    EXPECT_EQ(m_now - LAZY + IDLE, tend());
    EXPECT_EQ(5u, m_memory.m_num_registered);
    m_now += IDLE - LAZY;
    EXPECT_EQ(UCS_ARENA_NEVER, tend());

    EXPECT_EQ(1u, m_memory.m_num_registered);
    EXPECT_EQ(SLAB * PAGE, m_memory.m_mapped);
    EXPECT_EQ(4u, stats().slabs_closed);
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, m_memory.address_of(SLAB), 1));
    EXPECT_EQ("live 64", states());

    /* And are opened again */
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_EQ("live 192", states());
}

TEST_F(test_arena_tend, a_slab_in_use_stays) {
    ucs_arena_slab_t *slab;

    make_full();
    slab = ucs_arena_find(m_arena, m_memory.base(), PAGE);
    ASSERT_NE(nullptr, slab);
    EXPECT_TRUE(ucs_arena_slab_acquire(slab));
    darken(0);
    m_now += IDLE;
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_EQ(0u, ucs_arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_EQ("muzzy 64", states());

    ucs_arena_slab_release(slab);
    m_now += RETRY;
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ("", states());
    EXPECT_FALSE(ucs_arena_slab_acquire(slab));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, m_memory.base(), PAGE));
}

TEST_F(test_arena_tend, the_end_waits_for_uses) {
    ucs_arena_slab_t *slab;

    make_full();
    free_page(0, SLAB);
    slab = ucs_arena_find(m_arena, m_memory.base(), PAGE);
    EXPECT_TRUE(ucs_arena_slab_acquire(slab));
    EXPECT_EQ(UCS_ERR_BUSY, ucs_arena_stop(m_arena));
    EXPECT_EQ(1u, m_memory.m_num_registered);
    ucs_arena_slab_release(slab);
    EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
    EXPECT_EQ(0u, m_memory.m_mapped);
}

TEST_F(test_arena_tend, the_end_fails) {
    make_full();
    free_page(0, SLAB);
    fail("dereg");
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ucs_arena_stop(m_arena));
    EXPECT_EQ(1u, m_memory.m_num_registered);
    fail("unmap");
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ucs_arena_stop(m_arena));
    EXPECT_EQ(0u, m_memory.m_num_registered);
}

/* What is registered in fewer domains than there are is not registered, unless it is in
 * use, until it is used again */
TEST_F(test_arena_tend, laid_off) {
    make();
    void *used = allocate_registered(), *other = allocate_registered();
    ucs_arena_slab_t *slab = ucs_arena_find(m_arena, used, 1);

    EXPECT_TRUE(ucs_arena_slab_acquire(slab));
    ucs_arena_lay_off(m_arena);
    EXPECT_EQ(slab, ucs_arena_find(m_arena, used, 1));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, other, 1));
    ucs_arena_slab_release(slab);
    EXPECT_TRUE(ucs_arena_want(m_arena, other, 1));
    tend();
    EXPECT_EQ(2u, m_memory.m_num_registered);
}

/* Somebody finds a slab while the helper is about to close it */
TEST_F(test_arena_tend, a_use_begins_while_a_slab_is_closed) {
    ucs_arena_slab_t *slab;

    make_full();
    darken(0);
    tend();
    slab              = ucs_arena_find(m_arena, m_memory.base(), PAGE);
    m_now            += IDLE;
    m_memory.m_during = [&](const char *name) {
        m_memory.m_during = nullptr;
        EXPECT_STREQ("dereg", name);
        EXPECT_EQ(nullptr, ucs_arena_find(m_arena, m_memory.base(), PAGE));
        EXPECT_FALSE(ucs_arena_slab_acquire(slab));
        EXPECT_EQ(nullptr, allocate(1));
    };
    ucs_arena_tend(m_arena, m_now);
    EXPECT_EQ(0u, m_memory.m_num_registered);
}

TEST_F(test_arena_tend, memory_pressure) {
    make();
    for (unsigned i = 0; i < 4; ++i) {
        allocate_registered();
    }
    free_page(SLAB, 3 * SLAB);
    EXPECT_EQ(SLAB * PAGE, ucs_arena_shrink(m_arena, 1, m_now));
    /* And what the program has is registered no more */
    EXPECT_EQ(3 * SLAB * PAGE, ucs_arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_EQ("live 64", states());
    EXPECT_EQ(0u, m_memory.m_num_registered);

    /* Nor is it registered at once */
    EXPECT_TRUE(ucs_arena_want(m_arena, m_memory.base(), 1));
    EXPECT_EQ(m_now + IDLE, ucs_arena_tend(m_arena, m_now));
    EXPECT_EQ(0u, m_memory.m_num_registered);
    m_now += IDLE;
    tend();
    EXPECT_EQ(1u, m_memory.m_num_registered);
}

/* Free memory of what is not registered any more is the kernel's */
TEST_F(test_arena_tend, memory_pressure_frees_memory) {
    make_full();
    darken(0);
    EXPECT_EQ(UCS_ARENA_NEVER, (allocate(1), tend()));
    EXPECT_EQ("live 1 muzzy 63", states());
    EXPECT_EQ(SLAB * PAGE, ucs_arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_EQ("live 1 retained 63", states());
    EXPECT_EQ(63 * PAGE, m_memory.m_discarded);
}

TEST_F(test_arena_tend, opening_fails) {
    make();
    fail("map");
    for (unsigned i = 1; i <= 3; ++i) {
        EXPECT_EQ(nullptr, allocate(1));
        EXPECT_EQ(i, stats().failures);
        EXPECT_EQ(i, stats().refused);
        EXPECT_TRUE(ucs_arena_is_full(m_arena));
        EXPECT_EQ("", states());
    }
    m_memory.m_fails = nullptr;
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_EQ(m_memory.address_of(SLAB), allocate(SLAB));
    EXPECT_FALSE(ucs_arena_is_full(m_arena));
}

/* Two threads at once open two, and the limit holds */
TEST_F(test_arena_tend, a_slab_is_opened_beside_another_one) {
    m_params.limit = 2 * SLAB * PAGE;
    make();
    m_memory.m_during = [&](const char *name) {
        m_memory.m_during = nullptr;
        EXPECT_STREQ("map", name);
        EXPECT_EQ(m_memory.address_of(SLAB), allocate(SLAB));
        EXPECT_EQ(nullptr, allocate(1));
        EXPECT_EQ(UCS_ARENA_NEVER, ucs_arena_tend(m_arena, m_now + IDLE));
    };
    EXPECT_EQ(m_memory.address_of(0), allocate(SLAB));
    EXPECT_EQ("live 128", states());
    EXPECT_TRUE(ucs_arena_is_full(m_arena));
}

TEST_F(test_arena_tend, all_slabs_are_open) {
    make();
    for (unsigned i = 0; i < SLABS; ++i) {
        EXPECT_NE(nullptr, allocate(SLAB));
    }
    EXPECT_EQ(nullptr, allocate(SLAB));
    EXPECT_EQ(1u, stats().refused);
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
}

TEST_F(test_arena_tend, deregistering_fails) {
    make_full();
    darken(0);
    tend();
    fail("dereg");
    m_now += IDLE;
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_EQ("muzzy 64", states());
    EXPECT_NE(nullptr, ucs_arena_find(m_arena, m_memory.base(), 1));
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_EQ(1u, stats().failures);
}

/* If the kernel does not take memory back, the slab is plain until then */
TEST_F(test_arena_tend, unmapping_fails) {
    m_params.limit = 2 * SLAB * PAGE;
    make_registered();
    EXPECT_NE(nullptr, allocate(SLAB));
    darken(0);
    tend();
    fail("unmap");
    m_now += IDLE;
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_EQ(1u, stats().failures);
    EXPECT_EQ(SLAB * PAGE, stats().live);
    EXPECT_EQ(2 * SLAB * PAGE, stats().committed);
    EXPECT_EQ(0u, stats().registered);
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, m_memory.base(), 1));

    m_memory.m_fails = nullptr;
    m_now           += RETRY;
    tend();
    EXPECT_EQ(SLAB * PAGE, stats().committed);
    EXPECT_EQ(m_memory.address_of(0), allocate(SLAB));
    fail("unmap");
    darken(0);
    m_now += IDLE;
    tend();
    EXPECT_EQ(m_memory.address_of(0), allocate(SLAB));
}
