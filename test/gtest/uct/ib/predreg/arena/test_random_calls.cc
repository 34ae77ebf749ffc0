/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served_test.h"

#include <ucs/sys/math.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

namespace {

/* What a program does with its memory, with two memories at once: one of the
 * arena, and one of the kernel alone. Whatever it does, both must read the same */
class program {
public:
    program(uct_predreg_arena_t *served, unsigned seed, size_t page, size_t min) :
        m_served(served), m_random(seed), m_page(page), m_min(min / page)
    {
    }

    void run(unsigned steps)
    {
        for (unsigned step = 0; step < steps; ++step) {
            SCOPED_TRACE(step);
            do_something();
            if (::testing::Test::HasFailure()) {
                return;
            }
        }
        while (!m_areas.empty()) {
            end(m_areas.size() - 1);
        }
    }

    uint64_t num_lost() const
    {
        return m_num_lost;
    }

    uint64_t num_served() const
    {
        return m_num_served;
    }

private:
    static constexpr int RW       = PROT_READ | PROT_WRITE;
    static constexpr int ANON     = MAP_PRIVATE | MAP_ANONYMOUS;
    static constexpr size_t AREAS = 12;

    struct page_t {
        bool exists   = true;
        int  prot     = RW;
        bool is_plain = true; /* Nothing but writes and discards since it was
                                 mapped */
    };

    struct area_t {
        char                *arena;
        char                *kernel;
        std::vector<page_t> pages;
    };

    /* Pages of an area, from first up to end - 1 */
    struct part_t {
        area_t *area;
        size_t first;
        size_t end;
    };

    /* The thread sanitizer does not know that memory which a thread has unmapped
     * is mapped by another one after that. To be called before and after */
    static void sync()
    {
        static std::mutex lock;
        std::lock_guard<std::mutex> guard(lock);
    }

    size_t any(size_t limit)
    {
        return std::uniform_int_distribution<size_t>(0, limit - 1)(m_random);
    }

    void begin()
    {
        area_t area;

        area.pages.resize(m_min + any(2 * m_min));
        size_t length = area.pages.size() * m_page;
        area.arena    = (char*)served_mmap(m_served, nullptr, length, RW, ANON,
                                           -1);
        area.kernel   = (char*)mmap(nullptr, length, RW, ANON, -1, 0);
        sync();
        ASSERT_NE(MAP_FAILED, area.arena);
        ASSERT_NE(MAP_FAILED, area.kernel);
        m_num_served += served_has(m_served, area.arena);
        m_areas.push_back(area);
        check(m_areas.back());
    }

    void end(size_t index)
    {
        area_t &area  = m_areas[index];
        size_t length = area.pages.size() * m_page;
        size_t page   = 0;

        check(area);
        sync();
        /* Its holes are others' by now */
        while (page < area.pages.size()) {
            size_t first = page;
            while ((page < area.pages.size()) && area.pages[page].exists) {
                ++page;
            }
            if (page > first) {
                ASSERT_EQ(0, served_munmap(m_served,
                                           area.arena + (first * m_page),
                                           (page - first) * m_page));
            }
            page += (page == first);
        }
        ASSERT_EQ(0, munmap(area.kernel, length));
        m_areas.erase(m_areas.begin() + index);
    }

    /* Pages of an area that are all there */
    bool pick(part_t *part)
    {
        if (m_areas.empty()) {
            return false;
        }
        part->area   = &m_areas[any(m_areas.size())];
        size_t pages = part->area->pages.size();
        part->first  = any(pages);
        part->end    = part->first + 1 + any(ucs_min(pages - part->first,
                                                     12ul));
        for (size_t i = part->first; i < part->end; ++i) {
            if (!part->area->pages[i].exists) {
                return false;
            }
        }
        return true;
    }

    char *arena_of(const part_t &part) const
    {
        return part.area->arena + (part.first * m_page);
    }

    char *kernel_of(const part_t &part) const
    {
        return part.area->kernel + (part.first * m_page);
    }

    size_t length_of(const part_t &part) const
    {
        return (part.end - part.first) * m_page;
    }

    void each(const part_t &part, const std::function<void(page_t&)> &func)
    {
        for (size_t i = part.first; i < part.end; ++i) {
            func(part.area->pages[i]);
        }
    }

    void check(const area_t &area)
    {
        for (size_t i = 0; i < area.pages.size(); ++i) {
            if (area.pages[i].exists && (area.pages[i].prot & PROT_READ)) {
                ASSERT_EQ(0, memcmp(area.arena + (i * m_page),
                                    area.kernel + (i * m_page), m_page))
                        << "page " << i;
            }
        }
    }

    void write()
    {
        part_t part;

        if (!pick(&part)) {
            return;
        }
        for (size_t i = part.first; i < part.end; ++i) {
            if (part.area->pages[i].prot & PROT_WRITE) {
                size_t offset = (i * m_page) + any(m_page - 8);
                uint64_t word = m_random();
                memcpy(part.area->arena + offset, &word, sizeof(word));
                memcpy(part.area->kernel + offset, &word, sizeof(word));
            }
        }
    }

    /* A peer's use of it */
    void use()
    {
        part_t part;
        uct_mem_h memh;

        if (pick(&part) &&
            uct_predreg_arena_begin(m_served, 0, arena_of(part), length_of(part),
                                    UCT_MD_MEM_ACCESS_LOCAL_READ, &memh)) {
            EXPECT_TRUE(uct_predreg_arena_end(m_served, memh, any(50) == 0));
        }
    }

    void unmap()
    {
        part_t part;

        if (!pick(&part)) {
            return;
        }
        ASSERT_EQ(0, served_munmap(m_served, arena_of(part), length_of(part)));
        /* The hole stays reserved */
        ASSERT_EQ(kernel_of(part), mmap(kernel_of(part), length_of(part),
                                        PROT_NONE, ANON | MAP_FIXED, -1, 0));
        each(part, [](page_t &page) { page.exists = false; });
    }

    void advise()
    {
        static const int advices[] = {
            MADV_DONTNEED, MADV_DONTNEED, MADV_DONTNEED, MADV_WILLNEED,
            MADV_DONTDUMP, MADV_NOHUGEPAGE, MADV_DONTFORK
        };
        int advice = advices[any(sizeof(advices) / sizeof(advices[0]))];
        part_t part;

        if (!pick(&part)) {
            return;
        }
        int expected = madvise(kernel_of(part), length_of(part), advice);
        EXPECT_EQ(expected, served_madvise(m_served, arena_of(part),
                                           length_of(part), advice))
                << "advice " << advice;
        if (advice != MADV_DONTNEED) {
            each(part, [](page_t &page) { page.is_plain = false; });
        }
        check(*part.area);
    }

    void protect()
    {
        static const int prots[] = {PROT_NONE, PROT_READ, RW, RW, RW};
        int prot                 = prots[any(5)];
        part_t part;

        if (!pick(&part)) {
            return;
        }
        ASSERT_EQ(0, mprotect(kernel_of(part), length_of(part), prot));
        ASSERT_EQ(0, served_mprotect(m_served, arena_of(part), length_of(part),
                                     prot));
        each(part, [prot](page_t &page) {
            page.prot     = prot;
            page.is_plain = false;
        });
    }

    void lock()
    {
        part_t part;

        if (!pick(&part)) {
            return;
        }
        /* Sanitizers let the functions of libc do nothing */
        int expected = syscall(SYS_mlock, kernel_of(part), length_of(part));
        EXPECT_EQ(expected, served_mlock(m_served, arena_of(part),
                                         length_of(part)));
        if (any(2)) {
            syscall(SYS_munlock, kernel_of(part), length_of(part));
            syscall(SYS_munlock, arena_of(part), length_of(part));
        }
        each(part, [](page_t &page) { page.is_plain = false; });
    }

    void replace()
    {
        static const int prots[] = {RW, RW, RW, PROT_NONE, PROT_READ};
        int prot                 = prots[any(5)];
        part_t part;

        if (!pick(&part)) {
            return;
        }
        ASSERT_EQ(kernel_of(part), mmap(kernel_of(part), length_of(part), prot,
                                        ANON | MAP_FIXED, -1, 0));
        ASSERT_EQ(arena_of(part), served_mmap(m_served, arena_of(part),
                                              length_of(part), prot,
                                              ANON | MAP_FIXED, -1));
        each(part, [prot](page_t &page) {
            page.prot     = prot;
            page.is_plain = (prot == RW);
        });
        check(*part.area);
    }

    /* Copied, since the thread sanitizer does not know that mremap() unmaps memory, which
     * the arena of another thread may get at once */
    char *move_kernel(char *old, size_t old_length, size_t length)
    {
        char *moved = (char*)mmap(nullptr, length, RW, ANON, -1, 0);

        sync();
        memcpy(moved, old, ucs_min(old_length, length));
        munmap(old, old_length);
        return moved;
    }

    void resize()
    {
        area_t *area = pick_plain();

        if (area == nullptr) {
            return;
        }
        size_t pages      = 1 + any(4 * m_min);
        size_t old_length = area->pages.size() * m_page;
        sync();
        char *arena = (char*)served_mremap(m_served, area->arena, old_length,
                                           pages * m_page, MREMAP_MAYMOVE,
                                           nullptr);
        if (arena == MAP_FAILED) {
            /* Its slab is spoilt, so that the kernel was asked */
            ASSERT_EQ(EFAULT, errno);
            return;
        }
        area->arena  = arena;
        area->kernel = move_kernel(area->kernel, old_length, pages * m_page);
        area->pages.resize(pages);
        sync();
        check(*area);
    }

    /* An area that can be moved; NULL: there is none just now */
    area_t *pick_plain()
    {
        if (m_areas.empty()) {
            return nullptr;
        }
        area_t &area = m_areas[any(m_areas.size())];
        for (const auto &page : area.pages) {
            if (!page.exists || !page.is_plain) {
                return nullptr;
            }
        }
        return &area;
    }

    /* To an address, where new memory is */
    void move()
    {
        area_t *area = pick_plain();

        if (area == nullptr) {
            return;
        }
        size_t length = area->pages.size() * m_page;
        char *target  = (char*)served_mmap(m_served, nullptr, length, RW, ANON,
                                           -1);
        ASSERT_NE(MAP_FAILED, target);
        sync();
        memset(target, 1, length);
        void *moved = served_mremap(m_served, area->arena, length, length,
                                    MREMAP_MAYMOVE | MREMAP_FIXED, target);
        if (moved == MAP_FAILED) {
            /* Several mappings of the kernel, which has unmapped the target before
             * it refused them: another thread may have that by now */
            ASSERT_EQ(EFAULT, errno);
            m_num_lost += served_has(m_served, target);
            return;
        }
        ASSERT_EQ(target, moved);
        area->arena  = target;
        check(*area);
    }

    /* A child has the same memory, and may do with it what it likes */
    void fork_child()
    {
        pid_t child = ::fork();

        if (child == 0) {
            for (const auto &area : m_areas) {
                for (size_t i = 0; i < area.pages.size(); ++i) {
                    if (!area.pages[i].exists || !area.pages[i].is_plain) {
                        continue;
                    }
                    if (memcmp(area.arena + (i * m_page),
                               area.kernel + (i * m_page), m_page) ||
                        served_munmap(m_served, area.arena + (i * m_page),
                                      m_page)) {
                        _exit(1);
                    }
                }
            }
            _exit(0);
        }

        int status;
        ASSERT_EQ(child, waitpid(child, &status, 0));
        ASSERT_EQ(0, status);
    }

    void do_something()
    {
        size_t what = any(1000);

        sync();

        if ((m_areas.size() < 2) || (what < 100)) {
            if (m_areas.size() == AREAS) {
                end(any(AREAS));
            }
            begin();
        } else if (what < 500) {
            write();
        } else if (what < 600) {
            use();
        } else if (what < 700) {
            unmap();
        } else if (what < 800) {
            advise();
        } else if (what < 860) {
            protect();
        } else if (what < 880) {
            lock();
        } else if (what < 920) {
            replace();
        } else if (what < 960) {
            resize();
        } else if (what < 997) {
            move();
        } else {
            fork_child();
        }
    }

    uct_predreg_arena_t       *m_served;
    std::mt19937_64     m_random;
    size_t              m_page;
    size_t              m_min; /* Pages */
    std::vector<area_t> m_areas;
    uint64_t            m_num_served = 0;
    uint64_t            m_num_lost   = 0; /* Areas of the arena that are live for
                                             good */
};

}

class test_arena_random_calls : public served_test {
protected:
    void run(unsigned num_threads, unsigned steps)
    {
        /* Repeated tests are others */
        static std::atomic<unsigned> seed(1);
        std::atomic<uint64_t> num_served(0), num_lost(0);
        std::vector<std::thread> threads;

        ASSERT_EQ(UCS_OK, served_start(m_served));
        for (unsigned i = 0; i < num_threads; ++i) {
            threads.emplace_back([&]() {
                program self(m_served, seed++, m_page, MIN);
                for (int j = 0; (j == 0) || ((j < 20) && !m_is_done()); ++j) {
                    self.run(steps);
                }
                num_served += self.num_served();
                num_lost   += self.num_lost();
            });
        }
        for (auto &thread : threads) {
            thread.join();
        }
        served_stop(m_served);
        EXPECT_TRUE((stats().live == 0) || (num_lost > 0));
        EXPECT_GT(num_served, steps / 50);
    }

    /* Uses ask for registrations of slabs meanwhile: until there was one, since the thread
     * that does it may not get a processor at once */
    void run_late(unsigned num_threads, unsigned steps)
    {
        m_is_done = [this] { return stats().slabs_enrolled > 0; };
        run(num_threads, steps);
        EXPECT_GT(stats().slabs_enrolled, 0u);
    }

    std::function<bool()> m_is_done = [] { return true; };
};

TEST_F(test_arena_random_calls, one_thread) {
    make();
    run(1, 20000);
}

TEST_F(test_arena_random_calls, strict) {
    make(true);
    run(1, 5000);
}

TEST_F(test_arena_random_calls, threads) {
    make();
    run(3, 5000);
}

TEST_F(test_arena_random_calls, late) {
    make(false, false);
    run_late(1, 20000);
}

TEST_F(test_arena_random_calls, late_threads) {
    make(true, false);
    run_late(3, 5000);
}
