/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include <common/library.h>

#include <algorithm>
#include <map>
#include <random>

/* Hundreds of thousands of random steps beside a model that knows every page:
 * what was allocated (by the system that the arena is in, see arena_test.h,
 * which checks each operation as well) and when it was freed. */
class test_arena_random : public arena_test,
                          public ::testing::WithParamInterface<unsigned> {
protected:
    static constexpr unsigned STEPS = 200000 / SANITIZER_SLOWDOWN;

    test_arena_random() : m_random(GetParam())
    {
        m_memory.m_notes_protects = false;
    }

    unsigned pick(unsigned count)
    {
        return m_random() % count;
    }

    /* Lengths of all magnitudes; few are as long as a slab */
    size_t pick_length()
    {
        return 1 + pick(1u << pick(7));
    }

    void step_allocate()
    {
        size_t pages  = std::min<size_t>(pick_length(), SLAB);
        void *address = allocate(pages);

        if (address != nullptr) {
            m_live[m_memory.page_of(address)] = pages;
        }
    }

    void step_free()
    {
        auto it = m_live.lower_bound(pick(m_memory.num_pages()));

        if (it == m_live.end()) {
            return;
        }

        size_t first = it->first, pages = it->second;

        m_live.erase(it);
        if (pick(3) == 0) {
            /* A part, which may leave two */
            size_t begin = pick(pages), end = begin + 1 + pick(pages - begin);

            free_page(first + begin, end - begin);
            if (begin > 0) {
                m_live[first] = begin;
            }
            if (end < pages) {
                m_live[first + end] = pages - end;
            }
        } else {
            free_page(first, pages);
        }
    }

    /* Whatever is in a range, which may span slabs */
    void step_free_range()
    {
        size_t first = pick(m_memory.num_pages());
        size_t end   = std::min<size_t>(first + 1 + pick(3 * SLAB),
                                        m_memory.num_pages());

        free_page(first, end - first);
        forget(first, end);
    }

    /* The end of a live range moves, if there is room behind it */
    void step_extend()
    {
        auto it      = m_live.lower_bound(pick(m_memory.num_pages()));
        size_t pages = pick_length();

        if (it == m_live.end()) {
            return;
        }

        void *end = m_memory.address_of(it->first + it->second);
        if (ucs_arena_extend(m_arena, end, pages * PAGE) == UCS_OK) {
            m_memory.take(end, pages * PAGE);
            it->second += pages;
            ++m_num_extended;
        }
    }

    /* Forget live ranges, or parts of them */
    void forget(size_t first, size_t end)
    {
        std::map<size_t, size_t> left;

        for (auto &live : m_live) {
            size_t live_end = live.first + live.second;

            if (live.first < first) {
                left[live.first] = std::min(live_end, first) - live.first;
            }
            if (live_end > end) {
                left[std::max(live.first, end)] =
                        live_end - std::max(live.first, end);
            }
        }
        m_live.swap(left);
    }

    void step_spoil()
    {
        size_t first = pick(m_memory.num_pages());
        size_t end   = std::min<size_t>(first + 1 + pick(SLAB),
                                        m_memory.num_pages());

        spoil(first, end - first);
        forget(first, end);
        m_live[first] = end - first;
    }

    /* Others go on while the process forks */
    void step_fork()
    {
        ucs_arena_before_fork(m_arena);
        for (unsigned i = pick(10); i > 0; --i) {
            switch (pick(3)) {
            case 0:
                step_allocate();
                break;
            case 1:
                step_free();
                break;
            default:
                ucs_arena_tend(m_arena, m_now);
                break;
            }
        }
        ucs_arena_after_fork(m_arena);
    }

    void step_tend()
    {
        uint64_t due = ucs_arena_tend(m_arena, m_now);

        EXPECT_EQ(due, ucs_arena_due(m_arena));
        if (pick(4) != 0) {
            return; /* Looking at all pages takes long */
        }

        /* All that was freed so long ago is protected */
        for (size_t page = 0; page < m_memory.num_pages(); ++page) {
            const fake_memory::page_t &state = m_memory.at(page);

            if (!state.is_spoilt && !state.is_taken && state.is_dirty &&
                (state.access == fake_memory::YES)) {
                ASSERT_LT(m_now, state.freed_at + LAZY) << "page " << page;
            }
        }
        check();
    }

    void step_find()
    {
        size_t offset = pick(m_memory.num_pages() * PAGE);
        size_t length = 1 + pick(2 * SLAB * PAGE);
        size_t slab   = offset / (SLAB * PAGE);
        size_t end    = slab * SLAB + m_memory.length_of(slab * SLAB);
        bool is_known = (offset + length <= end * PAGE) &&
                        m_memory.at(slab * SLAB).is_registered &&
                        !m_memory.at(slab * SLAB).is_spoilt;
        ucs_arena_slab_t *found;

        found = ucs_arena_find(m_arena, m_memory.base() + offset, length);
        ASSERT_EQ(is_known, found != nullptr);
        if (is_known) {
            ASSERT_EQ(m_memory.address_of(slab * SLAB),
                      found->handle);
        } else if (ucs_arena_want(m_arena, m_memory.base() + offset, length)) {
            ASSERT_FALSE(m_memory.at(slab * SLAB).is_registered);
            ASSERT_FALSE(m_memory.at(slab * SLAB).is_spoilt);
        }
    }

    void step()
    {
        unsigned choice = pick(1000);

        m_now += pick(100);
        if (choice < 450) {
            step_allocate();
        } else if (choice < 780) {
            step_free();
        } else if (choice < 785) {
            step_free_range();
        } else if (choice < 830) {
            step_find();
        } else if (choice < 850) {
            step_extend();
        } else if (m_spoils && (choice == 850)) {
            step_spoil();
        } else if (choice < 855) {
            step_fork();
        } else if (choice < 995) {
            step_tend();
        } else {
            switch (pick(4)) {
            case 0:
                ucs_arena_shrink(m_arena, (pick(4) + 1) * SLAB * PAGE, m_now);
                break;
            case 1:
                m_now += IDLE;
                break;
            case 2:
                m_memory.m_room = pick(SLABS + 1) * SLAB * PAGE;
                m_memory.m_room = std::max(m_memory.m_room,
                                           m_memory.registered());
                break;
            default:
                free_page(0, m_memory.num_pages());
                m_live.clear();
                break;
            }
        }
    }

    void run()
    {
        make(pick(2) == 0);
        for (unsigned i = 0; (i < STEPS) && !HasFailure(); ++i) {
            step();
            if (i % 1000 == 0) {
                check();
            }
        }

        /* Otherwise nothing was tested */
        ucs_arena_stats_t now = stats();
        EXPECT_GT(now.allocations, STEPS / 20);
        EXPECT_GT(now.refused, 0u);
        EXPECT_GT(m_num_extended, 0u);
        EXPECT_GT(m_memory.m_num_inherits, 0u);
        EXPECT_GT(now.slabs_opened, 10u / SANITIZER_SLOWDOWN);
        EXPECT_GE(now.slabs_closed, 6u / SANITIZER_SLOWDOWN);
        EXPECT_GT(m_memory.m_discarded, 0u);
        EXPECT_GT(now.slabs_enrolled, 5u);
        EXPECT_GT(now.zeroed, 0u);
    }

    std::mt19937             m_random;
    std::map<size_t, size_t> m_live; /* First page and number of pages */
    bool                     m_spoils       = false;
    unsigned                 m_num_extended = 0;
};

TEST_P(test_arena_random, lazy) {
    run();
    EXPECT_EQ(m_memory.m_room == UINT64_MAX, stats().failures == 0);
}

TEST_P(test_arena_random, strict) {
    m_params.is_strict = 1;
    run();
}

/* Slabs are spoilt now and then, and opened anew */
TEST_P(test_arena_random, spoilt) {
    m_spoils           = true;
    m_params.is_strict = GetParam() % 2;
    run();
    EXPECT_GT(stats().slabs_spoilt, 20u / SANITIZER_SLOWDOWN);
}

/* Slabs are of all lengths, and spoilt now and then as well */
TEST_P(test_arena_random, short_slabs) {
    m_spoils            = true;
    m_params.is_strict  = GetParam() % 2;
    m_params.first_slab = SLAB * PAGE / 16;
    m_params.limit      = (SLABS - 2) * SLAB * PAGE - PAGE;
    run();
    EXPECT_LE(stats().committed, m_params.limit);
    EXPECT_GT(stats().slabs_spoilt, 20u / SANITIZER_SLOWDOWN);
}

/* Each operation fails now and then */
TEST_P(test_arena_random, failures) {
    m_spoils           = true;
    m_params.is_strict = GetParam() % 2;
    /* But the end of a fork, at which slabs are spoilt */
    m_params.first_slab = SLAB * PAGE >> (GetParam() % 3);
    /* Nor taking memory away, of which nobody knows any more */
    m_memory.m_fails    = [this](const char *name) {
        return (name != std::string("dofork")) &&
               (name != std::string("unmap")) && (pick(5) == 0);
    };
    run();
    EXPECT_GT(stats().failures, 100u);
}

INSTANTIATE_TEST_SUITE_P(seeds, test_arena_random,
                         ::testing::Values(1, 2, 3));
