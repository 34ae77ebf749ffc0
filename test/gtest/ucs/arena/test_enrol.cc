/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

/* Slabs that are registered when a use asks for that */
class test_arena_enrol : public arena_test {
protected:
    static constexpr size_t FIRST = SLAB / 2; /* Pages; a 16th are two */

    void make_late()
    {
        m_params.first_slab = FIRST * PAGE;
        make(false);
        tend();
    }

    bool want(const void *address, size_t length = 1)
    {
        return ucs_arena_want(m_arena, address, length);
    }

    bool is_found(const void *address, size_t length = 1)
    {
        return ucs_arena_find(m_arena, address, length) != nullptr;
    }

    size_t length_of(const void *address)
    {
        return m_memory.length_of(m_memory.page_of(address));
    }
};

TEST_F(test_arena_enrol, memory_is_not_registered_before_it_is_used) {
    make_late();
    char *address = (char*)allocate(4);
    ASSERT_NE(nullptr, address);
    tend();
    EXPECT_EQ(0u, m_memory.m_num_registered);
    EXPECT_FALSE(is_found(address));

    /* Once is enough, for memory of the slab alone */
    EXPECT_FALSE(want(address + FIRST * PAGE));
    EXPECT_FALSE(want(address, FIRST * PAGE + 1));
    EXPECT_FALSE(want(address, 0));
    EXPECT_FALSE(want(m_memory.base() - 1));
    EXPECT_FALSE(want(m_memory.base() + SLABS * SLAB * PAGE));
    EXPECT_EQ(UCS_ARENA_NEVER, ucs_arena_due(m_arena));
    EXPECT_TRUE(want(address, 4 * PAGE));
    EXPECT_FALSE(want(address, 4 * PAGE));
    EXPECT_EQ(0u, ucs_arena_due(m_arena));
    tend();
    EXPECT_EQ(1u, m_memory.m_num_registered);
    EXPECT_EQ(1u, stats().slabs_enrolled);
    EXPECT_TRUE(is_found(address, 4 * PAGE));
    EXPECT_FALSE(want(address, 4 * PAGE));
    check();
}

/* It ends where the program has had nothing yet */
TEST_F(test_arena_enrol, what_nobody_has_had_is_cut_off) {
    make_late();
    void *first = allocate(3), *second = allocate(4);
    free(second, 4);
    EXPECT_TRUE(want(first));
    tend();
    EXPECT_EQ(8u, length_of(first)); /* Whole steps */
    EXPECT_EQ(8 * PAGE, m_memory.registered());
    EXPECT_FALSE(is_found(first, 8 * PAGE + 1));
    check();

    /* What is left goes with the slab */
    free(first, 3);
    EXPECT_EQ(8 * PAGE, ucs_arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_EQ(0u, m_memory.registered());
    check();
}

/* The more is registered, the more is at once */
TEST_F(test_arena_enrol, registrations_grow) {
    make_late();
    for (int i = 0; i < 3; ++i) {
        void *address = allocate(SLAB);
        ASSERT_NE(nullptr, address);
        EXPECT_TRUE(want(address));
        tend();
        EXPECT_EQ(SLAB, length_of(address));
    }
    void *address = allocate(1);
    EXPECT_TRUE(want(address));
    tend();
    EXPECT_EQ(3 * SLAB / 8, length_of(address));
    check();
}

/* Long memory has a slab of its own at once, since that costs nothing */
TEST_F(test_arena_enrol, a_slab_is_opened_at_once) {
    make_late();
    void *address = allocate(SLAB);
    EXPECT_NE(nullptr, address);
    EXPECT_EQ(0u, stats().refused);
    check();

    /* Also while the helper is at work; not where the process forks */
    void *other      = nullptr;
    m_memory.m_during = [&](const char *name) {
        if (name == std::string("reg")) {
            other = allocate(SLAB - 1);
        }
    };
    EXPECT_TRUE(want(address));
    tend();
    EXPECT_NE(nullptr, other);
    EXPECT_EQ(0u, stats().refused);
    m_memory.m_during = nullptr;
    ucs_arena_before_fork(m_arena);
    EXPECT_EQ(nullptr, allocate(SLAB));
    ucs_arena_after_fork(m_arena);
    EXPECT_NE(nullptr, allocate(SLAB));
    check();
}

TEST_F(test_arena_enrol, there_may_be_no_room_for_a_slab) {
    m_params.limit = SLAB * PAGE;
    make_late();
    EXPECT_NE(nullptr, allocate(FIRST));
    EXPECT_EQ(nullptr, allocate(SLAB));
    m_memory.m_fails = [](const char *name) {
        return name == std::string("map");
    };
    EXPECT_EQ(nullptr, allocate(SLAB / 2));
    m_memory.m_fails = nullptr;
    EXPECT_NE(nullptr, allocate(SLAB / 2));
    check();
}

/* Memory that was freed is the kernel's again, and not zeroed */
TEST_F(test_arena_enrol, free_memory_is_discarded) {
    make_late();
    void *address = allocate(8);
    free(address, 8);
    m_now += LAZY;
    tend();
    EXPECT_EQ(8 * PAGE, m_memory.m_discarded);
    EXPECT_EQ(0u, m_memory.m_zeroed);
    EXPECT_EQ(fake_memory::NO, m_memory.at(m_memory.page_of(address)).access);
    check();

    /* If the kernel does not take it, it is for the next request */
    address          = allocate(8);
    m_memory.m_fails = [](const char *name) {
        return name == std::string("discard");
    };
    free(address, 8);
    m_now += LAZY;
    tend();
    EXPECT_EQ(0u, m_memory.m_zeroed);
    EXPECT_EQ(fake_memory::NO, m_memory.at(m_memory.page_of(address)).access);
    EXPECT_EQ(address, allocate(8));
    EXPECT_EQ(8 * PAGE, m_memory.m_zeroed);
    check();
}

/* Memory that is unmapped from then on goes to the kernel, which may map it anew */
TEST_F(test_arena_enrol, the_process_exits_meanwhile) {
    make_late();
    void *address     = allocate(8);
    m_memory.m_during = [&](const char *name) {
        if (name == std::string("reg")) {
            ucs_arena_abandon(m_arena);
        }
    };
    EXPECT_TRUE(want(address));
    ucs_arena_tend(m_arena, m_now);
    m_memory.m_during = nullptr;
    EXPECT_EQ(1u, m_memory.m_num_registered);
    EXPECT_FALSE(is_found(address));
}

/* A late write of the program would be found by the next owner */
TEST_F(test_arena_enrol, what_is_discarded_is_inaccessible) {
    bool is_protected = true;

    make_late();
    void *address = allocate(8);
    auto page     = m_memory.page_of(address);

    m_memory.m_during = [&](const char *name) {
        is_protected &= (name != std::string("discard")) ||
                        (m_memory.at(page).access == fake_memory::NO);
    };
    free(address, 8);
    m_now += LAZY;
    tend();
    EXPECT_TRUE(is_protected);
    EXPECT_EQ(8 * PAGE, m_memory.m_discarded);

    /* What cannot be protected is not zero for sure */
    m_memory.m_during = nullptr;
    EXPECT_EQ(address, allocate(8));
    m_memory.m_fails = [](const char *name) {
        return name == std::string("protect");
    };
    free(address, 8);
    m_now += LAZY;
    ucs_arena_tend(m_arena, m_now);
    m_memory.m_fails = nullptr;
    EXPECT_EQ(8 * PAGE, stats().muzzy);
    EXPECT_EQ(0u, stats().retained);
}

/* All of a slab has to be accessible when it is registered, and is not for long */
TEST_F(test_arena_enrol, free_memory_is_registered_as_well) {
    make_late();
    void *parts[8];
    for (auto &part : parts) {
        part = allocate(2);
    }
    for (int i = 0; i < 8; i += 2) {
        free(parts[i], 2);
    }
    m_now += LAZY;
    tend();
    size_t freed = m_memory.page_of(parts[0]);
    ASSERT_EQ(fake_memory::NO, m_memory.at(freed).access);

    EXPECT_TRUE(want(parts[1]));
    tend();
    EXPECT_TRUE(is_found(parts[1]));
    EXPECT_EQ(0u, m_memory.m_num_inaccessible);
    m_now += LAZY;
    tend();
    EXPECT_EQ(fake_memory::NO, m_memory.at(freed).access);
    check();
}

TEST_F(test_arena_enrol, what_has_failed_is_tried_again_when_it_is_used) {
    make_late();
    void *address   = allocate(4);
    m_memory.m_room = 0;
    EXPECT_TRUE(want(address));
    EXPECT_EQ(UCS_ARENA_NEVER, tend());
    EXPECT_FALSE(is_found(address));
    EXPECT_EQ(1u, stats().failures);

    /* Not at once */
    m_memory.m_room = UINT64_MAX;
    EXPECT_TRUE(want(address));
    EXPECT_EQ(m_now + RETRY, tend());
    EXPECT_FALSE(is_found(address));
    m_now += RETRY;
    tend();
    EXPECT_TRUE(is_found(address));
    check();
}

/* The thread that forks holds pages that a registration would need */
TEST_F(test_arena_enrol, what_has_failed_during_a_fork_is_tried_again_at_once) {
    make_late();
    void *address = allocate(4);
    ucs_arena_before_fork(m_arena);
    m_memory.m_room = 0;
    EXPECT_TRUE(want(address));
    tend();
    EXPECT_FALSE(is_found(address));
    m_memory.m_room = UINT64_MAX;
    ucs_arena_after_fork(m_arena);

    EXPECT_TRUE(want(address));
    tend();
    EXPECT_TRUE(is_found(address));
    check();
}

/* When memory is short nothing is registered for a while, and what is not
 * registered is nothing to give back */
TEST_F(test_arena_enrol, memory_is_short) {
    make_late();
    void *address = allocate(4);
    EXPECT_EQ(0u, ucs_arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_TRUE(want(address));
    tend();
    EXPECT_FALSE(is_found(address));
    m_now += IDLE;
    tend();
    EXPECT_TRUE(is_found(address));
    check();
}

TEST_F(test_arena_enrol, spoilt) {
    make_late();
    void *address = allocate(4);
    EXPECT_TRUE(want(address));
    spoil(m_memory.page_of(address), 1);
    tend();
    EXPECT_FALSE(is_found(address));
    EXPECT_FALSE(want(address));
    EXPECT_EQ(0u, m_memory.m_num_registered);

    /* While it is registered */
    void *other       = allocate(4);
    m_memory.m_during = [&](const char *name) {
        if (name == std::string("reg")) {
            m_memory.m_during = nullptr;
            spoil(m_memory.page_of(other), 1);
        }
    };
    EXPECT_TRUE(want(other));
    tend();
    EXPECT_FALSE(is_found(other));
    EXPECT_EQ(0u, m_memory.m_num_registered);

    /* It is opened anew when all of it is gone */
    free(address, 4);
    free(other, 4);
    m_now += IDLE;
    tend();
    EXPECT_NE(nullptr, allocate(4));
    check();
}

/* At the end the program's memory stays */
TEST_F(test_arena_enrol, the_end) {
    make_late();
    void *plain = allocate(4), *registered = allocate(SLAB);
    EXPECT_TRUE(want(registered));
    tend();
    EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
    EXPECT_EQ(0u, m_memory.m_num_registered);
    EXPECT_FALSE(is_found(registered));
    EXPECT_FALSE(want(plain));
    m_memory.give(plain, 4 * PAGE, m_now);
    m_memory.give(registered, SLAB * PAGE, m_now);
}

/* If registrations are to give way, slabs in which the program has memory are plain again,
 * unless a use needs them, and are registered anew some time later */
TEST_F(test_arena_enrol, slabs_are_laid_off) {
    make_late();
    void *first = allocate(FIRST), *second = allocate(FIRST);
    ASSERT_NE(nullptr, second);
    EXPECT_TRUE(want(first));
    EXPECT_TRUE(want(second));
    tend();
    EXPECT_EQ(2u, m_memory.m_num_registered);
    free(second, 1);
    tend();

    ucs_arena_slab_t *used = ucs_arena_find(m_arena, first, 1);
    ASSERT_TRUE(ucs_arena_slab_acquire(used));
    EXPECT_EQ(FIRST * PAGE, ucs_arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_EQ(1u, m_memory.m_num_registered);
    EXPECT_TRUE(is_found(first));
    EXPECT_FALSE(is_found((char*)second + PAGE));
    ucs_arena_slab_release(used);
    EXPECT_EQ(FIRST * PAGE, ucs_arena_shrink(m_arena, SIZE_MAX, m_now));
    EXPECT_EQ(0u, m_memory.registered());
    check();

    EXPECT_TRUE(want((char*)second + PAGE));
    tend();
    EXPECT_EQ(0u, m_memory.m_num_registered);
    m_now += IDLE;
    tend();
    EXPECT_EQ(1u, m_memory.m_num_registered);
    EXPECT_TRUE(is_found((char*)second + PAGE));
    check();
    free((char*)second + PAGE, FIRST - 1);
    free(first, FIRST);
    tend();
    check();
}
