/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_ARENA_TEST_H_
#define PREDREG_GTEST_ARENA_TEST_H_

#include <ucs/arena/arena.h>
#include <ucs/arena/arena_int.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/* An arena in memory of its own; nullptr if the parameters are not accepted */
ucs_arena_t *arena_make(const ucs_arena_params_t *params, const ucs_arena_ops_t *ops);
void arena_destroy(ucs_arena_t *arena);

/* A system for an arena: real memory, whose protection is only noted, and a
 * record of what every page of it went through. Pages are small, so that all of
 * it can be looked at often. Each operation checks that it may do what it does;
 * a violation fails the test.
 *
 * Pages are known to be the program's from when take() was called until give():
 * no operation may touch them meanwhile. */
class fake_memory {
public:
    /* What the arena may know of the protection of a page */
    enum access_t { NO, YES, UNKNOWN };

    struct page_t {
        bool     is_mapped     = false;
        bool     is_registered = false;
        bool     is_taken      = false; /* The program's */
        bool     is_spoilt     = false; /* Of a slab that was spoilt, and not
                                           opened since */
        bool     is_dirty      = false; /* Was the program's since it was last
                                           filled with zeros */
        bool     is_inherited  = true;  /* Whether a child has it */
        access_t access        = NO;
        uint64_t freed_at      = 0;
    };

    static constexpr size_t PAGE = 64;

    fake_memory(unsigned num_slabs, size_t slab_pages);

    ucs_arena_params_t params() const;
    ucs_arena_ops_t ops();

    uint8_t *base() const
    {
        return m_base;
    }

    size_t num_pages() const
    {
        return m_pages.size();
    }

    /* Bytes that are registered */
    uint64_t registered() const
    {
        return m_registered;
    }

    /* Pages of the slab that a page is in; 0: it has no memory */
    size_t length_of(size_t page) const
    {
        return m_lengths[page / m_slab_pages];
    }

    size_t slab_pages() const
    {
        return m_slab_pages;
    }

    page_t &at(size_t page)
    {
        return m_pages[page];
    }

    size_t page_of(const void *address) const
    {
        return ((const uint8_t*)address - m_base) / PAGE;
    }

    void *address_of(size_t page) const
    {
        return m_base + (page * PAGE);
    }

    /* The program has got memory: it must be of one slab, accessible and read as
     * zero. Fills it with something else */
    void take(void *address, size_t length);

    /* The program is about to free memory: what it has written must be in it.
     * Pages that are not the program's are left out */
    void give(void *address, size_t length, uint64_t now);

    /* The program has mapped memory of its own */
    void put(void *address, size_t length);

    /* Operations fail if this says so; by name */
    std::function<bool(const char *name)> m_fails;

    /* What is called during an operation, without any lock of the arena */
    std::function<void(const char *name)> m_during;

    /* Calls of protect(): first page, number of pages, accessible */
    struct protect_t {
        size_t first;
        size_t pages;
        bool   is_accessible;

        bool operator==(const protect_t &other) const
        {
            return (first == other.first) && (pages == other.pages) &&
                   (is_accessible == other.is_accessible);
        }
    };

    std::vector<protect_t> m_protects; /* If noted */
    bool     m_notes_protects = true;
    uint64_t m_num_inherits   = 0;          /* Calls of inherit() */
    uint64_t m_room           = UINT64_MAX; /* Bytes that may be
                                               registered */
    uint64_t m_num_registered = 0;          /* Slabs */
    uint64_t m_mapped         = 0;          /* Bytes of slabs, but what was
                                               taken away of spoilt ones */
    uint64_t m_zeroed         = 0;          /* Bytes */
    uint64_t m_discarded      = 0;          /* Bytes */
    uint64_t m_num_wakes      = 0;          /* Calls of wake() */
    uint64_t m_num_inaccessible = 0;        /* Registrations that failed because
                                               of that */

private:
    ucs_status_t begin(const char *name);
    void expect(bool condition, const char *what, size_t page);
    void each(void *start, size_t length, std::function<void(size_t)> func);

    static ucs_status_t map(void *arg, void *start, size_t length);
    static ucs_status_t unmap(void *arg, void *start, size_t length);
    static ucs_status_t
    protect(void *arg, void *start, size_t length, int is_accessible);
    static ucs_status_t
    inherit(void *arg, void *start, size_t length, int is_inherited);
    void cut(void *start, size_t length);
    static ucs_status_t discard(void *arg, void *start, size_t length);
    static ucs_status_t
    reg(void *arg, void *start, size_t length, void **handle_p);
    static ucs_status_t dereg(void *arg, void *handle);
    static void zero(void *arg, void *start, size_t length);
    static void wake(void *arg);

    size_t                     m_slab_pages;
    std::vector<size_t>        m_lengths; /* Pages of each slab */
    uint64_t                   m_registered = 0; /* Bytes */
    std::vector<page_t>        m_pages;
    std::unique_ptr<uint8_t[]> m_memory;
    uint8_t                    *m_base;
};


/* An arena in such a system, with a clock that moves when a test moves it */
class arena_test : public ::testing::Test {
protected:
    static constexpr size_t PAGE      = fake_memory::PAGE;
    static constexpr unsigned SLABS   = 8;
    static constexpr size_t SLAB      = 64; /* Pages */
    static constexpr uint64_t LAZY    = 1000;
    static constexpr uint64_t IDLE    = 100000;
    static constexpr uint64_t RETRY   = 5000;

    arena_test();
    ~arena_test();

    /* With parameters that the test has changed. What is freed is kept
     * (ucs_arena_keep()), whether it is registered or not, if nothing else is said */
    void make(bool is_kept = true);

    /* Sizes are in pages */
    void *allocate(size_t pages);

    /* In a slab that is registered then, as far as it was needed by then */
    void *allocate_registered(size_t pages = SLAB);

    void free(void *address, size_t pages);
    void free_page(size_t page, size_t pages);
    void spoil(size_t page, size_t pages);

    /* Call the helper as long as it has something to do at once. @return when
     * it wants to be called next */
    uint64_t tend();

    /* The same while another thread may ask for work, which makes ucs_arena_due()
     * earlier than what the helper was told */
    uint64_t tend_beside_thread();

    ucs_arena_stats_t stats();

    /* Pages of each state, in a string such as "live 3 fresh 61". From the
     * arena; it must agree with what the system has recorded */
    std::string states();

    /* That they agree */
    void check();

    fake_memory        m_memory;
    ucs_arena_params_t m_params;
    ucs_arena_t       *m_arena;
    uint64_t           m_now;
};

#endif
