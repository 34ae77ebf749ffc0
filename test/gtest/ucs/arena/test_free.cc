/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

/* Freeing, whole and in parts, and what becomes of it */
class test_arena_free : public arena_test {
protected:
    /* Two slabs that are registered, all of them live */
    void make_open(int is_strict = 0)
    {
        m_params.is_strict = is_strict;
        m_params.limit     = 2 * SLAB * PAGE;
        make();
        EXPECT_EQ(m_memory.address_of(0), allocate_registered());
        EXPECT_EQ(m_memory.address_of(SLAB), allocate_registered());
        m_memory.m_protects.clear();
    }

    std::vector<fake_memory::protect_t> protects()
    {
        std::vector<fake_memory::protect_t> calls;

        calls.swap(m_memory.m_protects);
        return calls;
    }
};

using protects_t = std::vector<fake_memory::protect_t>;

TEST_F(test_arena_free, what_is_not_of_the_arena) {
    uint8_t *base = m_memory.base();
    uintptr_t start, end;

    make();
    tend();
    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_arena_free(m_arena, base - PAGE, PAGE, 1));
    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_arena_free(m_arena, base, 0, 1));
    EXPECT_EQ(UCS_ERR_NO_ELEM,
              ucs_arena_free(m_arena, base + SLABS * SLAB * PAGE, PAGE, 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucs_arena_free(m_arena, base + 1, PAGE, 1));
    EXPECT_EQ(UCS_OK, ucs_arena_free(m_arena, base - PAGE, 2 * PAGE, 1));

    start = (uintptr_t)base - 1;
    end   = start + 10;
    EXPECT_TRUE(ucs_arena_slabs_clip(&m_arena->slabs, &start, &end));
    EXPECT_EQ((uintptr_t)base, start);
    EXPECT_EQ((uintptr_t)base + 9, end);
    end = UINTPTR_MAX;
    EXPECT_TRUE(ucs_arena_slabs_clip(&m_arena->slabs, &start, &end));
    EXPECT_EQ((uintptr_t)base + SLABS * SLAB * PAGE, end);
    start = end;
    EXPECT_FALSE(ucs_arena_slabs_clip(&m_arena->slabs, &start, &end));
    EXPECT_EQ(0u, stats().frees);
}

TEST_F(test_arena_free, what_is_free_stays_free) {
    make();
    tend();
    EXPECT_EQ(UCS_OK, ucs_arena_free(m_arena, m_memory.base(), SLABS * SLAB * PAGE,
                                     m_now));
    EXPECT_EQ("", states());
    free(allocate(3), 3);
    free_page(0, 3);
    EXPECT_EQ("dirty 3 fresh 61", states());
    EXPECT_EQ(1u, stats().frees);
}

TEST_F(test_arena_free, any_part) {
    size_t page;

    make();
    tend();
    page = m_memory.page_of(allocate(10));
    free_page(page + 4, 2); /* Amid */
    EXPECT_EQ("live 8 dirty 2 fresh 54", states());
    free_page(page, 1); /* The beginning */
    free_page(page + 9, 1); /* The end */
    EXPECT_EQ("live 6 dirty 4 fresh 54", states());
    free_page(page, 10); /* The rest, in two runs */
    EXPECT_EQ("dirty 10 fresh 54", states());
    EXPECT_EQ(4u, stats().frees);
    EXPECT_EQ(m_memory.address_of(page), allocate(2));
}

TEST_F(test_arena_free, several_in_two_slabs) {
    make_open();
    free_page(SLAB - 10, 20);
    EXPECT_EQ("live 108 dirty 20", states());
    EXPECT_EQ(nullptr, allocate(11)); /* They are not one */
    EXPECT_NE(nullptr, allocate(10));
    EXPECT_NE(nullptr, allocate(10));
    free_page(0, SLABS * SLAB);
    EXPECT_EQ("dirty 128", states());
}

/* More runs than are freed under one hold of the lock */
TEST_F(test_arena_free, many_runs) {
    for (int is_strict : {0, 1}) {
        if (m_arena != nullptr) {
            EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
            arena_destroy(m_arena);
        }
        make_open(is_strict);
        m_memory.m_zeroed = 0;
        for (size_t page = 0; page < 2 * SLAB; page += 2) {
            free_page(page, 1);
        }
        free_page(0, 2 * SLAB);
        EXPECT_EQ(is_strict ? "muzzy 128" : "dirty 128", states());
    }
}

TEST_F(test_arena_free, protected_in_time_and_at_once) {
    const size_t a = 0, b = 8;

    make_open();

    m_memory.m_num_wakes = 0;
    free_page(a, 2);
    EXPECT_EQ(m_now + LAZY, ucs_arena_due(m_arena));
    m_now += LAZY / 2;
    free_page(a + 2, 2); /* Beside it: one range */
    free_page(b, 4);
    EXPECT_EQ(m_now + LAZY / 2, ucs_arena_due(m_arena));
    EXPECT_EQ(1u, m_memory.m_num_wakes); /* The helper knows */
    EXPECT_EQ(m_now + LAZY / 2, tend());
    EXPECT_EQ("live 120 dirty 8", states());
    EXPECT_EQ(protects_t(), protects());

    /* All of it when it is due for the first */
    m_now += LAZY / 2;
    tend();
    EXPECT_EQ("live 120 muzzy 8", states());
    EXPECT_EQ((protects_t{{b, 4, false}, {a, 4, false}}), protects());
}

TEST_F(test_arena_free, strict_protects_at_once) {
    make_open(1);
    free_page(SLAB - 3, 5);
    EXPECT_EQ((protects_t{{SLAB - 3, 3, false}, {SLAB, 2, false}}), protects());
    EXPECT_EQ("live 123 muzzy 5", states());
    EXPECT_EQ(nullptr, allocate(4));
    EXPECT_NE(nullptr, allocate(2));
}

/* While a thread protects what it frees, nobody gets it, and what is freed
 * beside it is joined later */
TEST_F(test_arena_free, strict_holds_what_it_protects) {
    make_open(1);
    m_memory.m_during = [&](const char *name) {
        m_memory.m_during = nullptr;
        EXPECT_EQ(4 * PAGE, stats().held);
        EXPECT_EQ(nullptr, allocate(1));
        free_page(10, 2);
        EXPECT_EQ(UCS_OK, ucs_arena_free(m_arena, m_memory.address_of(12), 4 * PAGE,
                                         m_now));
    };
    free_page(12, 4);
    EXPECT_EQ("live 122 muzzy 6", states());
    EXPECT_EQ((protects_t{{10, 2, false}, {12, 4, false}}), protects());
}

/* What could not be protected is not handed out without being made
 * accessible */
TEST_F(test_arena_free, protecting_fails) {
    for (int is_strict : {0, 1}) {
        if (m_arena != nullptr) {
            m_memory.m_fails = nullptr;
            free_page(0, 2 * SLAB);
            EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
            arena_destroy(m_arena);
        }
        make_open(is_strict);
        m_memory.m_zeroed = 0;
        m_memory.m_fails = [](const char *name) {
            return name == std::string("protect");
        };
        free_page(5, 10);
        m_now += LAZY;
        ucs_arena_tend(m_arena, m_now);
        EXPECT_EQ("live 118 muzzy 10", states());
        EXPECT_NE(nullptr, allocate(10));
    }
}

/* Frees between two batches count from when they were made */
TEST_F(test_arena_free, the_next_batch_is_in_time) {
    const size_t page = 0;

    make_open();
    free_page(page, 1);
    m_now            += LAZY;
    m_memory.m_during = [&](const char *name) {
        m_memory.m_during = nullptr;
        free_page(page + 4, 1);
    };
    EXPECT_EQ(m_now + LAZY, tend());
    EXPECT_EQ("live 126 dirty 1 muzzy 1", states());
    m_now += LAZY;
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_EQ("live 126 muzzy 2", states());
}

/* Also if the batch is longer than what is protected under one hold of the
 * lock */
TEST_F(test_arena_free, the_next_batch_is_in_time_after_a_long_one) {
    make_open();
    for (size_t page = 0; page < 80; page += 2) {
        free_page(page, 1);
    }
    m_now             += LAZY;
    m_memory.m_during  = [&](const char *name) {
        if (name == std::string("protect")) {
            m_memory.m_during = nullptr;
            free_page(100, 1);
        }
    };
    ucs_arena_tend(m_arena, m_now);
    m_memory.m_during = nullptr;
    EXPECT_EQ(1u * PAGE, stats().dirty);
    EXPECT_EQ(m_now + LAZY, tend());
}

/* Also for what is left of a range when the arena ends while it is freed */
TEST_F(test_arena_free, the_end_comes_amid) {
    make_open(1);
    for (size_t page = 0; page < 2 * SLAB; page += 2) {
        free_page(page, 1);
    }
    m_memory.m_during = [&](const char *name) {
        m_memory.m_during = nullptr;
        EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
    };
    m_memory.give(m_memory.base(), 2 * SLAB * PAGE, m_now);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              ucs_arena_free(m_arena, m_memory.base(), 2 * SLAB * PAGE, m_now));
}

TEST_F(test_arena_free, after_the_end_the_caller_unmaps) {
    uint8_t *address;

    make();
    address = (uint8_t*)allocate_registered(4);
    EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
    EXPECT_EQ(0u, m_memory.m_num_registered);
    EXPECT_EQ(4 * PAGE, m_memory.m_mapped); /* Live */
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              ucs_arena_free(m_arena, address, 4 * PAGE, m_now));
    EXPECT_EQ(nullptr, ucs_arena_allocate(m_arena, PAGE));
    EXPECT_EQ(UCS_ARENA_NEVER, ucs_arena_tend(m_arena, m_now));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, address, PAGE));
}
