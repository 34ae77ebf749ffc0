/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

/* What a child has of the arena's memory, and what others may do while the
 * process forks */
class test_arena_fork : public arena_test {
protected:
    /* One slab */
    void make_one()
    {
        make();
    }

    /* One slab that is registered, all of it live, and no room for more */
    void make_registered()
    {
        m_params.limit = SLAB * PAGE;
        make_one();
        EXPECT_EQ(m_memory.address_of(0), allocate_registered());
    }

    /* The pages that a child has, of a range: as many characters, "x" for those
     * that it has */
    std::string inherited(size_t page, size_t pages)
    {
        std::string text;

        for (; pages > 0; --pages, ++page) {
            text += m_memory.at(page).is_inherited ? 'x' : '.';
        }
        return text;
    }

    std::string all(char what, size_t pages = SLAB)
    {
        return std::string(pages, what);
    }

    void fail(const std::string &what)
    {
        m_memory.m_fails = [=](const char *name) { return name == what; };
    }
};

/* A handler of the fork that maps something over free memory does not wait for its own
 * thread, which keeps that from the child */
TEST_F(test_arena_fork, memory_is_spoilt_by_the_thread_that_forks) {
    make_one();
    allocate(20);
    ucs_arena_before_fork(m_arena);
    EXPECT_EQ(UCS_OK, ucs_arena_spoil(m_arena, m_memory.address_of(30), 2 * PAGE));
    EXPECT_TRUE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(30), PAGE));
    ucs_arena_after_fork(m_arena);
    EXPECT_TRUE(ucs_arena_live(m_arena, m_memory.address_of(30), 2 * PAGE));
    EXPECT_EQ(22 * PAGE, stats().live);
    EXPECT_EQ(0u, stats().held);
    m_memory.put(m_memory.address_of(30), 2 * PAGE);
    free_page(0, SLAB);
    tend();
    EXPECT_FALSE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(30), PAGE));
}

TEST_F(test_arena_fork, a_child_has_what_the_program_has) {
    make_one();
    allocate(20);
    ucs_arena_before_fork(m_arena);
    EXPECT_EQ(all('x', 20) + all('.', 44), inherited(0, SLAB));
    EXPECT_EQ(44u * PAGE, stats().held);
    ucs_arena_after_fork(m_arena);
    EXPECT_EQ(all('x'), inherited(0, SLAB));
    EXPECT_EQ("live 20 fresh 44", states());
}

/* Whatever the free memory went through */
TEST_F(test_arena_fork, free_memory_of_every_kind) {
    make_registered();
    free_page(0, 16);
    m_now += LAZY;
    ucs_arena_tend(m_arena, m_now);
    free_page(16, 16);
    free_page(40, 15);
    EXPECT_EQ("live 17 dirty 31 muzzy 16", states());
    ucs_arena_before_fork(m_arena);
    EXPECT_EQ(all('.', 32) + all('x', 32), inherited(0, SLAB));
    EXPECT_EQ(2u, m_memory.m_num_inherits);
    ucs_arena_after_fork(m_arena);
    EXPECT_EQ("live 17 dirty 31 muzzy 16", states());
    EXPECT_EQ(all('x'), inherited(0, SLAB));
}

/* A request that is refused meanwhile has no slab opened */
TEST_F(test_arena_fork, nobody_gets_it_meanwhile) {
    make_one();
    allocate(20);
    uint64_t due = ucs_arena_tend(m_arena, m_now);
    ucs_arena_before_fork(m_arena);
    EXPECT_EQ(nullptr, allocate(1));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              ucs_arena_extend(m_arena, m_memory.address_of(20), PAGE));
    EXPECT_EQ(due, ucs_arena_due(m_arena));
    EXPECT_EQ(0u, ucs_arena_shrink(m_arena, SLAB * PAGE, m_now));
    m_now += IDLE;
    ucs_arena_tend(m_arena, m_now);
    EXPECT_EQ(44u * PAGE, stats().held);
    EXPECT_EQ(SLAB * PAGE, stats().committed);
    ucs_arena_after_fork(m_arena);
    EXPECT_EQ("live 20 fresh 44", states());
    EXPECT_EQ(m_memory.address_of(20), allocate(1));
}

TEST_F(test_arena_fork, what_is_freed_meanwhile_is_inherited) {
    make_one();
    allocate(32);
    ucs_arena_before_fork(m_arena);
    free_page(0, 32);
    EXPECT_EQ(all('x', 32) + all('.', 32), inherited(0, SLAB));
    EXPECT_EQ(m_memory.address_of(0), allocate(16));
    ucs_arena_after_fork(m_arena);
    EXPECT_EQ("live 16 dirty 16 fresh 32", states());
}

/* Freed memory is protected in time, whatever the helper has seen meanwhile */
TEST_F(test_arena_fork, what_was_freed_before_is_protected_in_time) {
    make_registered();
    free_page(0, 16);
    uint64_t freed_at = m_now;
    ucs_arena_before_fork(m_arena);
    m_now += LAZY / 2;
    free_page(20, 2);
    ucs_arena_tend(m_arena, m_now);
    EXPECT_EQ(m_now + LAZY, ucs_arena_due(m_arena));
    ucs_arena_after_fork(m_arena);
    EXPECT_EQ(0u, ucs_arena_due(m_arena));
    EXPECT_LT(m_now, freed_at + LAZY);
    ucs_arena_tend(m_arena, m_now);
    EXPECT_EQ(0u, stats().dirty);
}

/* Many blocks, of two kinds in turns */
TEST_F(test_arena_fork, all_slabs) {
    make();
    for (unsigned i = 0; i < SLABS; ++i) {
        m_now += RETRY;
        tend();
        allocate(SLAB);
    }
    for (size_t page = 0; page < SLABS * SLAB; page += 32) {
        free_page(page, 16);
    }
    for (unsigned i = 0; i < 2; ++i) {
        ucs_arena_before_fork(m_arena);
        for (size_t page = 0; page < SLABS * SLAB; page += 32) {
            EXPECT_EQ(all('.', 16) + all('x', 16), inherited(page, 32));
        }
        ucs_arena_after_fork(m_arena);
        EXPECT_EQ(all('x', SLABS * SLAB), inherited(0, SLABS * SLAB));
        /* The others, too: twice as many runs of two kinds */
        m_now += LAZY;
        ucs_arena_tend(m_arena, m_now);
    }
    EXPECT_EQ(0u, stats().held);
}

/* Then the child has a copy */
TEST_F(test_arena_fork, keeping_it_fails) {
    make_one();
    allocate(20);
    fail("dontfork");
    ucs_arena_before_fork(m_arena);
    EXPECT_EQ(all('x'), inherited(0, SLAB));
    ucs_arena_after_fork(m_arena);
    EXPECT_EQ("live 20 fresh 44", states());
}

/* Nobody gets memory that a later child would not have */
TEST_F(test_arena_fork, giving_it_back_fails) {
    make_one();
    allocate(20);
    fail("dofork");
    ucs_arena_before_fork(m_arena);
    ucs_arena_after_fork(m_arena);
    m_memory.m_fails = nullptr;
    EXPECT_TRUE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));
    m_memory.put(m_memory.address_of(0), PAGE); /* Notes that it is spoilt */
    EXPECT_EQ("live 20", states());
    EXPECT_EQ(m_memory.address_of(SLAB), allocate(1));
    tend();

    /* When the program has nothing in it any more, its memory is new */
    free_page(0, 20);
    tend();
    EXPECT_FALSE(ucs_arena_is_spoilt(m_arena, m_memory.address_of(0), PAGE));
    EXPECT_EQ(all('x'), inherited(0, SLAB));
}

TEST_F(test_arena_fork, of_what_is_off) {
    make_one();
    ucs_arena_abandon(m_arena);
    ucs_arena_before_fork(m_arena);
    EXPECT_EQ(all('x'), inherited(0, SLAB));
    ucs_arena_after_fork(m_arena);
    EXPECT_EQ(0u, m_memory.m_num_inherits);
}

/* Another thread calls exit() while this one forks */
TEST_F(test_arena_fork, the_process_exits_meanwhile) {
    make_one();
    allocate(20);
    m_memory.m_during = [&](const char *name) {
        EXPECT_STREQ("dontfork", name);
        ASSERT_EQ(0u, m_memory.m_num_inherits);
        ucs_arena_abandon(m_arena);
    };
    ucs_arena_before_fork(m_arena);
    m_memory.m_during = nullptr;
    ucs_arena_after_fork(m_arena);
    EXPECT_EQ(2u, m_memory.m_num_inherits);
    EXPECT_EQ(all('x'), inherited(0, SLAB));
    EXPECT_EQ(0u, stats().held);
}
