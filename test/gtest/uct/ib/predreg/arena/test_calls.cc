/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served_test.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#ifndef MADV_DONTNEED_LOCKED
#  define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MREMAP_DONTUNMAP
#  define MREMAP_DONTUNMAP 4
#endif

/* What the program's calls mean for memory of the arena: a test for each row of
 * the table in docs/design/arena.md */
class test_arena_calls : public served_test {
protected:
    static constexpr int ANON  = MAP_PRIVATE | MAP_ANONYMOUS;
    static constexpr int FIXED = ANON | MAP_FIXED;

    /* Memory of the program, filled with a value */
    char *filled(size_t length, int value)
    {
        char *buffer = (char*)map(length);

        memset(buffer, value, length);
        return buffer;
    }

    bool is_served(void *address)
    {
        bool result = served_has(m_served, address);

        EXPECT_EQ(0, served_munmap(m_served, address, MIN));
        return result;
    }

    /* Whether any page of a range is mapped, whatever its protection */
    bool is_mapped(char *start, size_t length)
    {
        unsigned char in_memory;

        for (char *page = start; page < start + length; page += m_page) {
            if (mincore(page, 1, &in_memory) == 0) {
                return true;
            }
        }
        return false;
    }

    /* Whether a use is answered, or the next one is, when the helper has done what the
     * first one has asked for */
    bool is_answered(const void *address)
    {
        uct_mem_h memh;

        for (unsigned i = 0; i < 2; ++i) {
            if (uct_predreg_arena_begin(m_served, 0, address, 1, ACCESS, &memh)) {
                uct_predreg_arena_end(m_served, memh, 0);
                return true;
            }
            tend();
        }
        return false;
    }

    /* All that was done to memory is undone when it is the program's again: a
     * whole slab is */
    void expect_renewed(char *buffer)
    {
        ASSERT_EQ(0, served_munmap(m_served, buffer, MIN));
        tend(2 * LAZY);
        void *all = map(SLAB);
        EXPECT_EQ(buffer, all);
        EXPECT_EQ(0, served_munmap(m_served, all, SLAB));
    }

    /* How many pages are in memory */
    size_t resident(void *start, size_t length) const
    {
        std::vector<unsigned char> pages(length / m_page);

        EXPECT_EQ(0, mincore(start, length, pages.data()));
        return std::count_if(pages.begin(), pages.end(),
                             [](unsigned char page) { return page & 1; });
    }
};

TEST_F(test_arena_calls, mmap_that_is_served) {
    make();
    EXPECT_TRUE(is_served(served_mmap(m_served, nullptr, MIN, RW, ANON, -1)));
    EXPECT_TRUE(is_served(served_mmap(m_served, nullptr, MIN, RW,
                                      ANON | MAP_POPULATE, -1)));
    /* As jemalloc maps */
    EXPECT_TRUE(is_served(served_mmap(m_served, nullptr, MIN, RW,
                                      ANON | MAP_NORESERVE, -1)));
}

TEST_F(test_arena_calls, mmap_that_is_not_served) {
    static const int others[] = {
        MAP_SHARED | MAP_ANONYMOUS, ANON | MAP_STACK, ANON | MAP_GROWSDOWN,
        ANON | MAP_LOCKED, ANON | MAP_32BIT
    };

    make();
    for (auto flags : others) {
        EXPECT_FALSE(is_served(served_mmap(m_served, nullptr, MIN, RW, flags,
                                           -1)))
                << flags;
    }
    for (auto prot : {PROT_NONE, PROT_READ, RW | PROT_EXEC}) {
        EXPECT_FALSE(is_served(served_mmap(m_served, nullptr, MIN, prot, ANON,
                                           -1)));
    }
    EXPECT_FALSE(is_served(served_mmap(m_served, nullptr, MIN - 1, RW, ANON,
                                       -1)));
    EXPECT_FALSE(is_served(served_mmap(m_served, (void*)0x100000000000, MIN,
                                       RW, ANON, -1)));
    int fd = memfd_create("test", 0);
    ASSERT_EQ(0, ftruncate(fd, MIN));
    EXPECT_FALSE(is_served(served_mmap(m_served, nullptr, MIN, RW, MAP_PRIVATE,
                                       fd)));
    close(fd);
    EXPECT_EQ(MAP_FAILED, served_mmap(m_served, nullptr, 0, RW, ANON, -1));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(0u, stats().live);
}

TEST_F(test_arena_calls, mmap_without_room) {
    make();
    void *large = served_mmap(m_served, nullptr, SLAB + 1, RW, ANON, -1);
    EXPECT_FALSE(served_has(m_served, large));
    EXPECT_EQ(0, served_munmap(m_served, large, SLAB + 1));
}

TEST_F(test_arena_calls, munmap_whole) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN - 1));
    EXPECT_EQ(0u, stats().live);

    /* Soon it cannot be accessed */
    tend(LAZY);
    EXPECT_FALSE(is_readable(buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN)); /* As the kernel */
}

TEST_F(test_arena_calls, the_clock_goes_back) {
    make();
    char *buffer = filled(MIN, 1);
    char *other  = filled(MIN, 2);
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
    served_set_back(LAZY * 1000);
    tend(LAZY);
    EXPECT_FALSE(is_readable(buffer));

    /* Again, before anybody has looked at it */
    EXPECT_EQ(0, served_munmap(m_served, other, MIN));
    served_set_back(LAZY * 1000);
    tend(LAZY);
    EXPECT_FALSE(is_readable(other));
}

TEST_F(test_arena_calls, munmap_strict) {
    make(true);
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
    EXPECT_FALSE(is_readable(buffer));
}

TEST_F(test_arena_calls, munmap_in_part) {
    make();
    char *buffer = filled(4 * MIN, 1);
    EXPECT_EQ(0, served_munmap(m_served, buffer + MIN, 2 * MIN));
    tend(LAZY);
    EXPECT_FALSE(is_readable(buffer + MIN));
    EXPECT_FALSE(is_readable(buffer + 3 * MIN - 1));
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_TRUE(reads_as(buffer + 3 * MIN, MIN, 1));
    EXPECT_TRUE(is_answered(buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, 4 * MIN));
    EXPECT_EQ(0u, stats().live);
}

TEST_F(test_arena_calls, munmap_of_what_is_not_accepted) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(-1, served_munmap(m_served, buffer + 1, MIN));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(-1, served_munmap(m_served, buffer, 0));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(-1, served_munmap(m_served, buffer, SIZE_MAX));
    EXPECT_EQ(MIN, stats().live);
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

/* Memory of the kernel before and behind the arena goes as well */
TEST_F(test_arena_calls, munmap_beyond_the_arena) {
    make();
    char *base = (char*)map(MIN);
    size_t all = SLABS * SLAB;
    int flags  = ANON | MAP_FIXED_NOREPLACE;

    ASSERT_TRUE(served_has(m_served, base));
    ASSERT_FALSE(served_has(m_served, base - 1));
    char *before = (char*)served_mmap(m_served, base - m_page, m_page, RW,
                                      flags, -1);
    if (before != base - m_page) {
        GTEST_SKIP() << "something else is before the arena";
    }
    EXPECT_EQ(0, served_munmap(m_served, before, m_page + MIN));
    EXPECT_FALSE(is_readable(before));
    EXPECT_EQ(0u, stats().live);
    EXPECT_FALSE(served_has(m_served, base + all));
}

TEST_F(test_arena_calls, mremap_that_shrinks) {
    make();
    char *buffer = filled(2 * MIN, 1);
    EXPECT_EQ(buffer, served_mremap(m_served, buffer, 2 * MIN, MIN, 0,
                                    nullptr));
    EXPECT_EQ(MIN, stats().live);
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_EQ(buffer, served_mremap(m_served, buffer, MIN, MIN, 0, nullptr));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

TEST_F(test_arena_calls, mremap_that_grows_in_place) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(buffer, served_mremap(m_served, buffer, MIN, 3 * MIN, 0,
                                    nullptr));
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_TRUE(reads_as(buffer + MIN, 2 * MIN, 0));
    EXPECT_EQ(0, served_munmap(m_served, buffer, 3 * MIN));
}

TEST_F(test_arena_calls, mremap_that_moves) {
    make();
    char *buffer = filled(MIN, 1);
    char *behind = filled(MIN, 2);
    ASSERT_EQ(buffer + MIN, behind);
    EXPECT_EQ(MAP_FAILED, served_mremap(m_served, buffer, MIN, 2 * MIN, 0,
                                        nullptr));
    EXPECT_EQ(ENOMEM, errno);
    char *moved = (char*)served_mremap(m_served, buffer, MIN, 2 * MIN,
                                       MREMAP_MAYMOVE, nullptr);
    ASSERT_NE(MAP_FAILED, moved);
    EXPECT_TRUE(served_has(m_served, moved));
    EXPECT_TRUE(reads_as(moved, MIN, 1));
    EXPECT_TRUE(reads_as(moved + MIN, MIN, 0));
    EXPECT_TRUE(reads_as(behind, MIN, 2));
    EXPECT_EQ(3 * MIN, stats().live);
    tend(LAZY);
    EXPECT_FALSE(is_readable(buffer));

    /* To the kernel's memory, where the arena has no room */
    char *outside = (char*)served_mremap(m_served, moved, 2 * MIN, 2 * SLAB,
                                         MREMAP_MAYMOVE, nullptr);
    ASSERT_NE(MAP_FAILED, outside);
    EXPECT_FALSE(served_has(m_served, outside));
    EXPECT_TRUE(reads_as(outside, MIN, 1));
    EXPECT_EQ(0, served_munmap(m_served, outside, 2 * SLAB));
    EXPECT_EQ(0, served_munmap(m_served, behind, MIN));
}

TEST_F(test_arena_calls, mremap_to_an_address) {
    make();
    char *buffer = filled(MIN, 1);
    char *target = (char*)served_mmap(m_served, nullptr, MIN, PROT_NONE,
                                      ANON | MAP_NORESERVE, -1);

    EXPECT_EQ(target, served_mremap(m_served, buffer, MIN, MIN,
                                    MREMAP_MAYMOVE | MREMAP_FIXED, target));
    EXPECT_TRUE(reads_as(target, MIN, 1));
    EXPECT_EQ(0u, stats().live);

    /* From there to memory of the arena: its slab is not registered any more */
    char *other = filled(2 * MIN, 2);
    EXPECT_EQ(other + MIN, served_mremap(m_served, target, MIN, MIN,
                                         MREMAP_MAYMOVE | MREMAP_FIXED,
                                         other + MIN));
    EXPECT_TRUE(reads_as(other, MIN, 2));
    EXPECT_TRUE(reads_as(other + MIN, MIN, 1));
    EXPECT_FALSE(is_answered(other));
    EXPECT_FALSE(is_readable(target));
    EXPECT_EQ(0, served_munmap(m_served, other, 2 * MIN));
    tend(IDLE);
    EXPECT_EQ(0u, stats().live);
}

/* What the kernel does is no business of the registered pages of another slab */
TEST_F(test_arena_calls, mremap_of_spoilt_memory_to_an_address) {
    make();
    char *spoilt = filled(2 * MIN, 1);
    ASSERT_EQ(spoilt, served_mmap(m_served, spoilt, MIN, PROT_READ, FIXED, -1));
    tend();
    char *target = filled(2 * MIN, 2);
    ASSERT_TRUE(is_answered(target));
    EXPECT_EQ(target, served_mremap(m_served, spoilt + MIN, MIN, MIN,
                                    MREMAP_MAYMOVE | MREMAP_FIXED, target));
    EXPECT_TRUE(reads_as(target, MIN, 1));
    EXPECT_TRUE(reads_as(target + MIN, MIN, 2));
    EXPECT_FALSE(is_answered(target));
    EXPECT_EQ(0, served_munmap(m_served, target, 2 * MIN));
    EXPECT_EQ(0, served_munmap(m_served, spoilt, 2 * MIN));
    tend(IDLE);
    EXPECT_EQ(0u, stats().live);
}

/* Memory of the arena stays where it is, and gets the bytes */
TEST_F(test_arena_calls, mremap_within_the_arena) {
    make();
    char *buffer = filled(MIN, 1), *target = filled(2 * MIN, 2);
    EXPECT_EQ(target, served_mremap(m_served, buffer, MIN, MIN,
                                    MREMAP_MAYMOVE | MREMAP_FIXED, target));
    EXPECT_TRUE(reads_as(target, MIN, 1));
    EXPECT_TRUE(reads_as(target + MIN, MIN, 2));
    EXPECT_TRUE(is_answered(target));
    EXPECT_EQ(0, served_munmap(m_served, target, 2 * MIN));
    EXPECT_EQ(0u, stats().live);
}

/* Where shared memory gets a second address, no old length is given */
TEST_F(test_arena_calls, mremap_of_shared_memory_to_an_address) {
    make();
    char *shared = (char*)served_mmap(m_served, nullptr, MIN, RW,
                                      MAP_SHARED | MAP_ANONYMOUS, -1);
    char *buffer = filled(MIN, 1);
    memset(shared, 2, MIN);
    EXPECT_EQ(buffer, served_mremap(m_served, shared, 0, MIN,
                                    MREMAP_MAYMOVE | MREMAP_FIXED, buffer));
    EXPECT_TRUE(reads_as(buffer, MIN, 2));
    EXPECT_FALSE(is_answered(buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
    EXPECT_EQ(0, served_munmap(m_served, shared, MIN));
}

/* The hooks of UCX 1.13 do not tell it, nor does the kernel get it */
TEST_F(test_arena_calls, mremap_to_an_unknown_address_is_refused) {
    make();
    char *outside = (char*)served_mmap(m_served, nullptr, MIN, RW,
                                       MAP_SHARED | MAP_ANONYMOUS, -1);
    char *buffer  = filled(MIN, 1);

    memset(outside, 2, MIN);
    for (char *old : {outside, buffer}) {
        errno = 0;
        EXPECT_EQ(MAP_FAILED, served_mremap(m_served, old, MIN, MIN,
                                            MREMAP_MAYMOVE | MREMAP_FIXED, nullptr));
        EXPECT_EQ(EINVAL, errno);
    }
    EXPECT_TRUE(reads_as(outside, MIN, 2));
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_TRUE(is_answered(buffer));
    EXPECT_EQ(0, served_munmap(m_served, outside, MIN));
}

TEST_F(test_arena_calls, mremap_that_leaves_the_addresses) {
    make();
    char *buffer = filled(MIN, 1);
    char *moved  = (char*)served_mremap(m_served, buffer, MIN, MIN,
                                        MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
                                        nullptr);
    ASSERT_NE(MAP_FAILED, moved);
    EXPECT_TRUE(reads_as(moved, MIN, 1));
    EXPECT_TRUE(reads_as(buffer, MIN, 0));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
    EXPECT_EQ(0, served_munmap(m_served, moved, MIN));
}

TEST_F(test_arena_calls, mremap_that_is_not_accepted) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(MAP_FAILED, served_mremap(m_served, buffer, MIN, 0, 0, nullptr));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(MAP_FAILED, served_mremap(m_served, buffer, MIN, MIN, 64,
                                        nullptr));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(MAP_FAILED, served_mremap(m_served, buffer, MIN, MIN,
                                        MREMAP_FIXED, buffer + SLAB));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(MAP_FAILED, served_mremap(m_served, buffer, MIN, MIN,
                                        MREMAP_MAYMOVE | MREMAP_FIXED,
                                        buffer + m_page));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(MAP_FAILED, served_mremap(m_served, buffer, MIN, 2 * MIN,
                                        MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
                                        nullptr));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(MAP_FAILED, served_mremap(m_served, buffer + 1, MIN, MIN, 0,
                                        nullptr));
    EXPECT_EQ(EINVAL, errno);

    /* What is not the program's */
    EXPECT_EQ(MAP_FAILED, served_mremap(m_served, buffer, 2 * MIN, 3 * MIN,
                                        MREMAP_MAYMOVE, nullptr));
    EXPECT_EQ(EFAULT, errno);
    EXPECT_EQ(MIN, stats().live);
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

/* What the program has done to memory goes with it, and is so for what it grows by: the
 * kernel does that, and where the memory was nothing stays */
class test_arena_calls_altered : public test_arena_calls {
protected:
    void expect_moved()
    {
        char *buffer = filled(MIN, 1);
        filled(MIN, 2);
        EXPECT_EQ(0, served_mprotect(m_served, buffer, MIN, PROT_READ));
        char *moved = (char*)served_mremap(m_served, buffer, MIN, 2 * MIN,
                                           MREMAP_MAYMOVE, nullptr);
        ASSERT_NE(MAP_FAILED, moved);
        EXPECT_TRUE(reads_as(moved, MIN, 1));
        EXPECT_FALSE(is_writable(moved));
        EXPECT_FALSE(is_writable(moved + MIN));
        EXPECT_FALSE(served_has(m_served, moved));
        EXPECT_EQ(0, munmap(moved, 2 * MIN));
    }
};

TEST_F(test_arena_calls_altered, mremap) {
    make();
    expect_moved();
}

TEST_F(test_arena_calls_altered, mremap_in_a_plain_slab) {
    make(false, false);
    expect_moved();
}

TEST_F(test_arena_calls, mremap_of_altered_memory_that_leaves_the_addresses) {
    make();
    char *buffer = filled(MIN, 1);
    filled(MIN, 2);
    EXPECT_EQ(0, served_mprotect(m_served, buffer, MIN, RW));
    char *moved = (char*)served_mremap(m_served, buffer, MIN, MIN,
                                       MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
                                       nullptr);
    ASSERT_NE(MAP_FAILED, moved);
    EXPECT_TRUE(reads_as(moved, MIN, 1));
    EXPECT_TRUE(reads_as(buffer, MIN, 0));
    EXPECT_EQ(0, munmap(moved, MIN));
}

/* What was unmapped is not there any more, and may be somebody else's */
TEST_F(test_arena_calls, memory_that_was_unmapped_is_not_altered) {
    make();
    char *buffer = filled(2 * MIN, 1);
    EXPECT_EQ(0, served_munmap(m_served, buffer + MIN, MIN));
    for (char *start : {buffer, buffer + MIN}) {
        EXPECT_EQ(-1, served_mprotect(m_served, start, 2 * MIN, PROT_READ));
        EXPECT_EQ(ENOMEM, errno);
        EXPECT_EQ(-1, served_mlock(m_served, start, 2 * MIN));
        EXPECT_EQ(ENOMEM, errno);
    }
    EXPECT_EQ(buffer + MIN, map(MIN));
    EXPECT_TRUE(is_writable(buffer + MIN));
    EXPECT_TRUE(is_writable(buffer));
}

/* The kernel refuses such lengths, and nothing is unmapped */
TEST_F(test_arena_calls, munmap_of_too_much) {
    make();
    char *buffer = filled(MIN, 1);
    for (size_t length : {1ul << 60, 1ul << 63, 1ul << 47}) {
        EXPECT_EQ(-1, served_munmap(m_served, buffer, length));
        EXPECT_EQ(EINVAL, errno);
    }
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_EQ(MIN, stats().live);
}

/* Of slabs that are not registered pages are given back and moved, as by the kernel */
TEST_F(test_arena_calls, plain_memory) {
    make(false, false);
    char *buffer = filled(2 * MIN, 1);
    EXPECT_EQ(2 * MIN / m_page, resident(buffer, 2 * MIN));
    EXPECT_EQ(0, served_madvise(m_served, buffer, MIN, MADV_DONTNEED));
    EXPECT_EQ(MIN / m_page, resident(buffer, 2 * MIN));
    EXPECT_TRUE(reads_as(buffer, MIN, 0));
    EXPECT_TRUE(reads_as(buffer + MIN, MIN, 1));
    memset(buffer, 1, MIN);

    char *moved = (char*)served_mremap(m_served, buffer, 2 * MIN, SLAB,
                                       MREMAP_MAYMOVE, nullptr);
    ASSERT_NE(MAP_FAILED, moved);
    EXPECT_TRUE(served_has(m_served, moved));
    EXPECT_EQ(2 * MIN / m_page, resident(moved, SLAB));
    EXPECT_TRUE(reads_as(moved, 2 * MIN, 1));
    EXPECT_EQ(SLAB, stats().live);

    EXPECT_EQ(0, served_munmap(m_served, moved, SLAB));
    EXPECT_FALSE(is_readable(moved));
    EXPECT_EQ(0u, resident(moved, SLAB));
    EXPECT_EQ(0u, m_reserved);
}

TEST_F(test_arena_calls, mprotect) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(0, served_mprotect(m_served, buffer, MIN, PROT_READ));
    EXPECT_FALSE(is_writable(buffer));
    EXPECT_TRUE(is_answered(buffer));
    EXPECT_EQ(0, served_mprotect(m_served, buffer, MIN, PROT_NONE));
    EXPECT_FALSE(is_readable(buffer));
    expect_renewed(buffer);

    /* Also if it is used again before anything was done about it */
    tend();
    buffer = filled(SLAB, 1);
    EXPECT_EQ(0, served_mprotect(m_served, buffer, SLAB, PROT_NONE));
    EXPECT_EQ(0, served_munmap(m_served, buffer, SLAB));
    EXPECT_EQ(buffer, map(SLAB));
    EXPECT_EQ(0, served_munmap(m_served, buffer, SLAB));
}

/* Memory that a program has made read-only, and frees like that */
class test_arena_calls_read_only : public test_arena_calls {
protected:
    /* Whoever gets it may write to it, at once and when the helper was there */
    void expect_writable(int (*protect)(char *buffer))
    {
        for (uint64_t later : {uint64_t(0), LAZY}) {
            char *buffer = filled(SLAB, 1);
            bool is_had  = false;

            ASSERT_EQ(0, protect(buffer));
            EXPECT_EQ(0, served_munmap(m_served, buffer, SLAB));
            if (later > 0) {
                tend(later);
            }
            for (unsigned i = 0; i < SLABS; ++i) {
                void *next = served_mmap(m_served, nullptr, SLAB, RW, ANON, -1);
                EXPECT_TRUE(is_writable(next));
                is_had |= (next == buffer);
                m_next.push_back(next);
            }
            EXPECT_TRUE(is_had);
            for (void *next : m_next) {
                EXPECT_EQ(0, served_munmap(m_served, next, SLAB));
            }
            m_next.clear();
            tend(LAZY);
        }
    }

    void expect_seen()
    {
        s_served = m_served;
        expect_writable([](char *buffer) {
            return served_mprotect(s_served, buffer, SLAB, PROT_READ);
        });
    }

    /* By a system call that no function of libc has made */
    void expect_unseen()
    {
        expect_writable([](char *buffer) {
            return int(syscall(SYS_mprotect, buffer, SLAB, PROT_READ));
        });
    }

    static uct_predreg_arena_t *s_served;
    std::vector<void*>   m_next;
};

uct_predreg_arena_t *test_arena_calls_read_only::s_served;

TEST_F(test_arena_calls_read_only, is_writable_again) {
    make();
    expect_seen();
}

TEST_F(test_arena_calls_read_only, is_writable_again_in_plain_slabs) {
    make(false, false);
    expect_seen();
}

TEST_F(test_arena_calls_read_only, is_writable_again_where_the_arena_is_strict) {
    make(true);
    expect_seen();
    expect_unseen();
}

TEST_F(test_arena_calls, mlock) {
    struct rlimit limit;

    make();
    char *buffer = filled(MIN, 1);
    ASSERT_EQ(0, getrlimit(RLIMIT_MEMLOCK, &limit));
    if (served_mlock(m_served, buffer, MIN) != 0) {
        GTEST_SKIP() << "memory cannot be locked";
    }

    /* As the kernel, which leaves locked memory where it is */
    EXPECT_EQ(-1, served_madvise(m_served, buffer, MIN, MADV_DONTNEED));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

TEST_F(test_arena_calls, mlock_is_undone) {
    make();
    char *buffer = filled(MIN, 1);
    if (served_mlock(m_served, buffer, MIN) != 0) {
        GTEST_SKIP() << "memory cannot be locked";
    }
    expect_renewed(buffer);
    EXPECT_EQ(0, madvise(buffer, MIN, MADV_DONTNEED)); /* EINVAL if locked */
}

TEST_F(test_arena_calls, madvise_that_discards) {
    make();
    for (auto advice : {MADV_DONTNEED, MADV_DONTNEED_LOCKED}) {
        char *buffer = filled(3 * MIN, 1);
        EXPECT_EQ(0, served_madvise(m_served, buffer + MIN, MIN, advice));
        EXPECT_TRUE(reads_as(buffer, MIN, 1));
        EXPECT_TRUE(reads_as(buffer + MIN, MIN, 0));
        EXPECT_TRUE(reads_as(buffer + 2 * MIN, MIN, 1));
        EXPECT_TRUE(is_answered(buffer));
        EXPECT_EQ(0, served_munmap(m_served, buffer, 3 * MIN));
    }
}

/* The kernel discards what the program may not write to just now */
TEST_F(test_arena_calls, madvise_that_discards_protected_memory) {
    make();
    char *buffer = filled(2 * MIN, 1);
    EXPECT_EQ(0, served_mprotect(m_served, buffer, MIN, PROT_NONE));
    EXPECT_EQ(0, served_madvise(m_served, buffer, MIN, MADV_DONTNEED));
    EXPECT_FALSE(is_answered(buffer));
    EXPECT_EQ(0, served_mprotect(m_served, buffer, MIN, RW));
    EXPECT_TRUE(reads_as(buffer, MIN, 0));
    EXPECT_TRUE(reads_as(buffer + MIN, MIN, 1));
    EXPECT_EQ(0, served_munmap(m_served, buffer, 2 * MIN));
}

TEST_F(test_arena_calls, madvise_free) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(0, served_madvise(m_served, buffer, MIN, MADV_FREE));
    EXPECT_TRUE(is_answered(buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

TEST_F(test_arena_calls, madvise_that_lasts) {
    make();
    char *buffer = filled(MIN, 1);
    for (auto advice : {MADV_DONTFORK, MADV_DONTDUMP, MADV_SEQUENTIAL,
                        MADV_NOHUGEPAGE, MADV_WIPEONFORK}) {
        EXPECT_EQ(0, served_madvise(m_served, buffer, MIN, advice)) << advice;
    }
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_TRUE(is_answered(buffer));
    expect_renewed(buffer);

    /* A child has it again */
    char *again = filled(SLAB, 7);
    ASSERT_EQ(buffer, again);
    pid_t child = fork();
    if (child == 0) {
        _exit(is_readable(again) && reads_as(again, SLAB, 7) ? 0 : 1);
    }
    int status;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_EQ(0, served_munmap(m_served, again, SLAB));
}

TEST_F(test_arena_calls, madvise_that_changes_nothing) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(0, served_madvise(m_served, buffer, MIN, MADV_WILLNEED));
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_TRUE(is_answered(buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

TEST_F(test_arena_calls, madvise_that_is_not_known) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(-1, served_madvise(m_served, buffer, MIN, 99999));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_FALSE(is_answered(buffer));
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

TEST_F(test_arena_calls, madvise_of_what_is_not_the_programs) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(-1, served_madvise(m_served, buffer, 2 * MIN, MADV_DONTNEED));
    EXPECT_EQ(ENOMEM, errno);
    EXPECT_EQ(-1, served_madvise(m_served, buffer + 1, MIN, MADV_DONTNEED));
    EXPECT_EQ(EINVAL, errno);
    EXPECT_EQ(0, served_madvise(m_served, buffer, 0, MADV_DONTNEED));
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

/* What the kernel takes away of a slab must not stay registered because it is
 * another one that is spoilt */
TEST_F(test_arena_calls, madvise_across_a_spoilt_slab) {
    make();
    char *whole  = filled(SLAB, 1);
    tend();
    char *spoilt = filled(SLAB, 2);
    ASSERT_EQ(whole + SLAB, spoilt);
    ASSERT_EQ(spoilt + MIN,
              served_mmap(m_served, spoilt + MIN, MIN, PROT_READ, FIXED, -1));
    char *across = spoilt - MIN;
    ASSERT_TRUE(is_answered(across));
    EXPECT_EQ(0, served_madvise(m_served, across, 2 * MIN, MADV_DONTNEED));
    EXPECT_TRUE(reads_as(across, 2 * MIN, 0));
    EXPECT_TRUE(reads_as(whole, SLAB - MIN, 1));
    EXPECT_FALSE(is_answered(across));
    EXPECT_EQ(0, served_munmap(m_served, spoilt, MIN));
    EXPECT_EQ(-1, served_madvise(m_served, across, 2 * MIN, MADV_DONTNEED));
    EXPECT_EQ(ENOMEM, errno);
    EXPECT_EQ(0, served_munmap(m_served, whole, 2 * SLAB));
    tend(IDLE);
    EXPECT_EQ(0u, stats().live);
}

TEST_F(test_arena_calls, mremap_across_a_spoilt_slab) {
    make();
    char *whole  = filled(SLAB, 1);
    tend();
    char *spoilt = filled(SLAB, 2);
    ASSERT_EQ(whole + SLAB, spoilt);
    EXPECT_EQ(-1, served_madvise(m_served, spoilt, MIN, 99999));
    char *across = spoilt - MIN;
    ASSERT_TRUE(is_answered(across));
    void *moved = served_mremap(m_served, across, 2 * MIN, 4 * MIN,
                                MREMAP_MAYMOVE, nullptr);
    EXPECT_FALSE(is_answered(whole));
    EXPECT_TRUE(reads_as(whole, SLAB - MIN, 1));
    /* The kernel refuses two mappings that it could not join */
    if (moved != MAP_FAILED) {
        EXPECT_TRUE(reads_as(moved, MIN, 1));
        EXPECT_EQ(0, served_munmap(m_served, moved, 4 * MIN));
    }
    EXPECT_EQ(0, served_munmap(m_served, whole, 2 * SLAB));
    tend(IDLE);
    EXPECT_EQ(0u, stats().live);
}

TEST_F(test_arena_calls, map_fixed_of_new_memory) {
    make();
    char *buffer = filled(3 * MIN, 1);
    EXPECT_EQ(0, served_mprotect(m_served, buffer + MIN, MIN, PROT_READ));
    EXPECT_EQ(buffer + MIN, served_mmap(m_served, buffer + MIN, MIN, RW, FIXED,
                                        -1));
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_TRUE(reads_as(buffer + MIN, MIN, 0));
    EXPECT_TRUE(is_writable(buffer + MIN));
    EXPECT_TRUE(is_answered(buffer + MIN));
    EXPECT_EQ(0, served_munmap(m_served, buffer, 3 * MIN));
}

TEST_F(test_arena_calls, map_fixed_of_something_else) {
    make();
    char *buffer = filled(3 * MIN, 1);
    int fd       = memfd_create("test", 0);
    ASSERT_EQ(0, ftruncate(fd, MIN));
    ASSERT_EQ(1, pwrite(fd, "x", 1, 0));
    EXPECT_EQ(buffer + MIN, served_mmap(m_served, buffer + MIN, MIN, RW,
                                        MAP_SHARED | MAP_FIXED, fd));
    EXPECT_EQ('x', buffer[MIN]);
    buffer[MIN] = 'y';
    char byte;
    EXPECT_EQ(1, pread(fd, &byte, 1, 0));
    EXPECT_EQ('y', byte);
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_FALSE(is_answered(buffer));

    /* A part of it can be moved away, as the kernel does */
    char *moved = (char*)served_mremap(m_served, buffer + MIN, MIN, 2 * MIN,
                                       MREMAP_MAYMOVE, nullptr);
    ASSERT_NE(MAP_FAILED, moved);
    EXPECT_EQ('y', moved[0]);
    EXPECT_EQ(0, served_munmap(m_served, moved, 2 * MIN));
    EXPECT_EQ(0, served_munmap(m_served, buffer, 3 * MIN));
    close(fd);

    /* The slab is opened anew */
    tend(IDLE);
    EXPECT_TRUE(is_answered(map(MIN)));
}

TEST_F(test_arena_calls, map_fixed_without_replacing) {
    make();
    char *buffer = filled(MIN, 1);
    EXPECT_EQ(MAP_FAILED, served_mmap(m_served, buffer, MIN, RW,
                                      ANON | MAP_FIXED_NOREPLACE, -1));
    EXPECT_EQ(EEXIST, errno);
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
}

/* The child has the memory, and no arena */
TEST_F(test_arena_calls, fork) {
    make();
    char *buffer = filled(2 * MIN, 1);
    pid_t child  = ::fork();
    if (child == 0) {
        bool is_ok = reads_as(buffer, 2 * MIN, 1);
        /* Before there are holes that the kernel may use */
        void *other = served_mmap(m_served, nullptr, MIN, RW, ANON, -1);
        is_ok &= !served_has(m_served, other);
        memset(buffer, 2, 2 * MIN);
        is_ok &= served_munmap(m_served, buffer, MIN) == 0;
        is_ok &= !is_readable(buffer);
        is_ok &= served_madvise(m_served, buffer + MIN, MIN,
                                MADV_DONTNEED) == 0;
        is_ok &= reads_as(buffer + MIN, MIN, 0);
        _exit(is_ok ? 0 : 1);
    }
    int status;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_TRUE(reads_as(buffer, 2 * MIN, 1));
    EXPECT_EQ(0, served_munmap(m_served, buffer, 2 * MIN));
}

/* What the program has not, the child has not, and may map something else
 * there */
TEST_F(test_arena_calls, fork_without_free_memory) {
    make();
    char *buffer = filled(4 * MIN, 1);
    ASSERT_EQ(0, served_munmap(m_served, buffer + MIN, MIN));
    tend(LAZY);
    ASSERT_EQ(0, served_munmap(m_served, buffer + 3 * MIN, MIN));

    ucs_arena_before_fork(m_served->served.arena);
    pid_t child = ::fork();
    if (child == 0) {
        bool is_ok = reads_as(buffer, MIN, 1) &&
                     reads_as(buffer + 2 * MIN, MIN, 1);
        is_ok &= !is_mapped(buffer + MIN, MIN);
        is_ok &= !is_mapped(buffer + 3 * MIN, SLAB - 3 * MIN);
        void *other = served_mmap(m_served, buffer + MIN, MIN, RW, FIXED, -1);
        is_ok &= (other == buffer + MIN) && reads_as(other, MIN, 0);
        memset(other, 3, MIN);
        is_ok &= served_munmap(m_served, buffer, 4 * MIN) == 0;
        is_ok &= !is_mapped(buffer, 4 * MIN);
        _exit(is_ok ? 0 : 1);
    }
    ucs_arena_after_fork(m_served->served.arena);
    int status;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);

    /* What the program gets after this, the next child has */
    char *next[3];
    for (auto &address : next) {
        address = filled(MIN, 2);
    }
    ucs_arena_before_fork(m_served->served.arena);
    child = ::fork();
    if (child == 0) {
        bool is_ok = true;
        for (auto address : next) {
            is_ok &= reads_as(address, MIN, 2);
        }
        _exit(is_ok ? 0 : 1);
    }
    ucs_arena_after_fork(m_served->served.arena);
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    for (auto address : next) {
        EXPECT_EQ(0, served_munmap(m_served, address, MIN));
    }
    EXPECT_EQ(0, served_munmap(m_served, buffer, 4 * MIN));
}

/* At the end of the process its memory is the kernel's */
TEST_F(test_arena_calls, exit) {
    make();
    char *buffer = filled(MIN, 1);
    served_stop(m_served);
    EXPECT_TRUE(reads_as(buffer, MIN, 1));
    void *other = served_mmap(m_served, nullptr, MIN, RW, ANON, -1);
    EXPECT_FALSE(served_has(m_served, other));
    EXPECT_EQ(0, served_munmap(m_served, other, MIN));
    EXPECT_FALSE(is_answered(buffer));
    EXPECT_EQ(0, served_munmap(m_served, buffer, MIN));
    EXPECT_FALSE(is_readable(buffer));
    /* Nobody else is to be there when the arena goes */
    EXPECT_EQ(buffer, mmap(buffer, MIN, PROT_NONE, FIXED, -1, 0));
}
