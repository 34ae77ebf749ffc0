/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

/* Allocating, and finding what was allocated */
class test_arena_allocate : public arena_test {
protected:
    void make_open()
    {
        make();
        tend();
        EXPECT_EQ("", states());
    }
};

TEST_F(test_arena_allocate, parameters_are_checked) {
    ucs_arena_ops_t ops = m_memory.ops();

    auto is_accepted = [&](std::function<void(ucs_arena_params_t&)> change) {
        ucs_arena_params_t params = m_params;
        ucs_arena_t *arena;

        change(params);
        arena = arena_make(&params, &ops);
        if (arena != nullptr) {
            arena_destroy(arena);
        }
        return arena != nullptr;
    };

    EXPECT_TRUE(is_accepted([](ucs_arena_params_t &p) {}));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.page_size = 96; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.page_size = 32; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.slab_size += 64; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.slab_size = 32; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.first_slab = 32; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.first_slab += 64; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.first_slab *= 2; }));
    EXPECT_FALSE(is_accepted(
            [](ucs_arena_params_t &p) { p.limit = p.first_slab - 1; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.start += 64; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.size += 64; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.size = 0; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.retry = 0; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.retry = -1; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.lazy = -1; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) { p.idle = -1; }));
    EXPECT_FALSE(is_accepted([](ucs_arena_params_t &p) {
        p.slab_size = p.size = 8ul << 30;
    }));
}

TEST_F(test_arena_allocate, whole_pages) {
    uint8_t *address;

    make_open();
    address = (uint8_t*)ucs_arena_allocate(m_arena, 3 * PAGE - 1);
    ASSERT_NE(nullptr, address);
    m_memory.take(address, 3 * PAGE);
    EXPECT_EQ("live 3 fresh 61", states());
    EXPECT_EQ(nullptr, ucs_arena_allocate(m_arena, 0));
    EXPECT_EQ(nullptr, ucs_arena_allocate(m_arena, SIZE_MAX));
    EXPECT_EQ(1u, stats().too_large);
    EXPECT_EQ(1u, stats().allocations);
}

TEST_F(test_arena_allocate, a_slab_and_no_more) {
    make_open();
    EXPECT_EQ(nullptr, allocate(SLAB + 1));
    EXPECT_EQ(1u, stats().too_large);
    EXPECT_EQ(0u, stats().refused);
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_EQ("live 128", states());
}

TEST_F(test_arena_allocate, the_registration_is_found) {
    uint8_t *base = m_memory.base();
    ucs_arena_slab_t *slab;

    make_open();
    EXPECT_EQ(base, allocate_registered());
    EXPECT_EQ(base + SLAB * PAGE, allocate_registered());
    slab = ucs_arena_find(m_arena, base, 1);
    ASSERT_NE(nullptr, slab);
    EXPECT_EQ(base, slab->handle);
    EXPECT_EQ(slab, ucs_arena_find(m_arena, base + 5, SLAB * PAGE - 5));
    EXPECT_EQ(base + SLAB * PAGE,
              (ucs_arena_find(m_arena, base + SLAB * PAGE, PAGE))->handle);

    /* Across two slabs, nothing, too much, and outside */
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, base + 5, SLAB * PAGE - 4));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, base, 0));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, base + 5, SIZE_MAX));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, base - 1, 1));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, base - 1, 2));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, base + 2 * SLAB * PAGE, 1));
    EXPECT_EQ(nullptr,
              ucs_arena_find(m_arena, base + SLABS * SLAB * PAGE, 1));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, nullptr, 1));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, (void*)UINTPTR_MAX, 1));

    ucs_arena_count_answered(m_arena);
    ucs_arena_count_answered(m_arena);
    EXPECT_EQ(2u, stats().answered);
}

/* The thread that gets memory which was freed just now fills it with zeros */
TEST_F(test_arena_allocate, freed_memory_is_reused) {
    void *all;

    make_open();
    all = allocate(SLAB);
    free(all, SLAB);
    EXPECT_EQ("dirty 64", states());
    EXPECT_EQ(all, allocate(SLAB));
    EXPECT_EQ("live 64", states());
    EXPECT_EQ(SLAB * PAGE, stats().zeroed);
}

/* What is fresh would be more to have in memory */
TEST_F(test_arena_allocate, freed_memory_comes_before_fresh_memory) {
    make_open();
    free(allocate(4), 4);
    EXPECT_EQ("dirty 4 fresh 60", states());
    EXPECT_EQ(m_memory.address_of(0), allocate(4));
    EXPECT_EQ(4 * PAGE, stats().zeroed);
}

/* The lock is free while a thread fills what it gets with zeros, and nobody
 * else gets it */
TEST_F(test_arena_allocate, filling_with_zeros_keeps_nobody_waiting) {
    void *first, *inner = nullptr;

    make_open();
    first             = allocate(SLAB);
    free(first, SLAB / 2);
    m_memory.m_during = [&](const char *name) {
        m_memory.m_during = nullptr;
        inner             = allocate(SLAB / 4);
    };
    EXPECT_EQ(first, allocate(SLAB / 4));
    ASSERT_NE(nullptr, inner);
    EXPECT_NE(first, inner);
    EXPECT_EQ("live 64", states());
}

TEST_F(test_arena_allocate, protected_memory_becomes_accessible) {
    m_params.limit = SLAB * PAGE;
    make_open();
    free(allocate_registered(), SLAB);
    m_now += LAZY;
    tend();
    EXPECT_EQ("muzzy 64", states());
    EXPECT_EQ(nullptr, allocate(SLAB + 1));
    EXPECT_NE(nullptr, allocate(SLAB / 2));
    EXPECT_EQ("live 32 muzzy 32", states());
    EXPECT_EQ(SLAB / 2 * PAGE, stats().zeroed);

    /* If it cannot be, nobody gets it */
    m_memory.m_fails = [](const char *name) {
        return name == std::string("access");
    };
    EXPECT_EQ(nullptr, allocate(SLAB / 2));
    m_memory.m_fails = nullptr;
    EXPECT_EQ("live 32 muzzy 32", states());
    EXPECT_NE(nullptr, allocate(SLAB / 2));
    EXPECT_EQ(SLAB * PAGE, stats().zeroed);
    EXPECT_EQ("live 64", states());
}

/* What was freed just now is in the caches still, and comes first; then what is in memory
 * anyway, and what was; what nobody has had comes last */
TEST_F(test_arena_allocate, the_order_of_states) {
    make(false);
    allocate_registered();
    allocate(SLAB - 4);
    free_page(SLAB, 10);
    free_page(0, 20);
    m_now += LAZY;
    tend();
    free_page(30, 10);
    EXPECT_EQ("live 84 dirty 10 muzzy 20 retained 10 fresh 4", states());
    EXPECT_EQ(m_memory.address_of(30), allocate(4));
    EXPECT_EQ(4u * PAGE, stats().zeroed);
    EXPECT_EQ(m_memory.address_of(0), allocate(20));
    EXPECT_EQ(24u * PAGE, stats().zeroed);
    EXPECT_EQ(m_memory.address_of(34), allocate(6));
    EXPECT_EQ(m_memory.address_of(SLAB), allocate(4));
    EXPECT_EQ(m_memory.address_of(SLAB + 4), allocate(6));
    EXPECT_EQ(m_memory.address_of(2 * SLAB - 4), allocate(4));
    EXPECT_EQ(30u * PAGE, stats().zeroed);
    EXPECT_EQ("live 128", states());
}
