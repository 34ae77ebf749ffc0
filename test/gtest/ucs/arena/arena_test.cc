/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include <algorithm>
#include <cstring>
#include <sstream>


ucs_arena_t *arena_make(const ucs_arena_params_t *params, const ucs_arena_ops_t *ops)
{
    size_t size  = ucs_arena_memory_size(params);
    void *memory = NULL;
    ucs_arena_t *arena;

    if ((size == 0) || (posix_memalign(&memory, 64, size) != 0)) {
        return nullptr;
    }

    memset(memory, 0, size);
    arena = ucs_arena_init(params, ops, memory);
    if (arena == nullptr) {
        free(memory);
    }
    return arena;
}

void arena_destroy(ucs_arena_t *arena)
{
    ucs_arena_cleanup(arena);
    free(arena);
}

fake_memory::fake_memory(unsigned num_slabs, size_t slab_pages) :
    m_slab_pages(slab_pages), m_lengths(num_slabs), m_pages(num_slabs * slab_pages)
{
    size_t slab = slab_pages * PAGE;
    uintptr_t start;

    /* Two slabs more, so that the first one is aligned and bytes beyond the
     * last one can be addressed */
    m_memory.reset(new uint8_t[(num_slabs + 2) * slab]);
    start  = reinterpret_cast<uintptr_t>(m_memory.get());
    m_base = m_memory.get() + ((slab - start % slab) % slab);
}

ucs_arena_params_t fake_memory::params() const
{
    ucs_arena_params_t params = {};

    params.start      = reinterpret_cast<uintptr_t>(m_base);
    params.size       = m_pages.size() * PAGE;
    params.page_size  = PAGE;
    params.slab_size  = m_slab_pages * PAGE;
    params.first_slab = params.slab_size;
    params.limit      = params.size;
    return params;
}

ucs_arena_ops_t fake_memory::ops()
{
    return {map, unmap, protect, inherit, discard, reg, dereg, zero, wake, this};
}

void fake_memory::expect(bool condition, const char *what, size_t page)
{
    if (!condition) {
        ADD_FAILURE() << "page " << page << " " << what;
    }
}

void fake_memory::each(void *start, size_t length,
                       std::function<void(size_t)> func)
{
    size_t first = page_of(start), end = first + length / PAGE;

    EXPECT_GE((uint8_t*)start, m_base);
    EXPECT_LE(end, m_pages.size());
    EXPECT_GT(length, 0u);
    EXPECT_EQ(0u, length % PAGE);
    for (size_t page = first; page < end; ++page) {
        func(page);
    }
}

ucs_status_t fake_memory::begin(const char *name)
{
    if (m_during) {
        m_during(name);
    }
    return (m_fails && m_fails(name)) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

ucs_status_t fake_memory::map(void *arg, void *start, size_t length)
{
    fake_memory *self   = static_cast<fake_memory*>(arg);
    ucs_status_t status = self->begin("map");

    EXPECT_GE(self->m_slab_pages * PAGE, length);
    if (status != UCS_OK) {
        return status;
    }

    self->m_lengths[self->page_of(start) / self->m_slab_pages] = length / PAGE;
    self->each(start, self->m_slab_pages * PAGE, [self](size_t page) {
        self->m_pages[page].is_spoilt = false;
    });
    self->each(start, length, [self](size_t page) {
        self->expect(!self->m_pages[page].is_mapped, "is mapped twice", page);
        self->expect(!self->m_pages[page].is_taken, "is the program's", page);
        self->m_pages[page]           = {};
        self->m_pages[page].is_mapped = true;
        self->m_pages[page].access    = YES;
    });
    memset(start, 0, length);
    self->m_mapped += length;
    return UCS_OK;
}

ucs_status_t fake_memory::unmap(void *arg, void *start, size_t length)
{
    fake_memory *self   = static_cast<fake_memory*>(arg);
    ucs_status_t status = self->begin("unmap");
    bool is_spoilt      = self->at(self->page_of(start)).is_spoilt;
    bool was_mapped     = self->at(self->page_of(start)).is_mapped;

    if (status != UCS_OK) {
        return status;
    }

    size_t mapped = self->length_of(self->page_of(start));
    size_t first  = self->page_of(start) % self->m_slab_pages;

    if (first > 0 && !is_spoilt) {
        self->cut(start, length);
        return UCS_OK;
    }
    if (!is_spoilt) {
        EXPECT_EQ(self->m_slab_pages * PAGE, length);
        self->m_mapped -= mapped * PAGE;
    }

    self->each(start, length, [=](size_t page) {
        page_t &state = self->m_pages[page];

        self->expect(!state.is_taken, "is unmapped and in use", page);
        if (!is_spoilt && (page % self->m_slab_pages >= mapped)) {
            self->expect(!state.is_mapped, "is mapped behind a slab", page);
            return;
        }
        if (is_spoilt) {
            state.access       = NO;
            state.is_mapped    = false;
            state.is_inherited = true;
            return;
        }

        self->expect(was_mapped && state.is_mapped, "is unmapped twice", page);
        self->expect(!state.is_registered, "is unmapped and registered", page);
        self->expect(state.is_inherited, "is unmapped at a fork", page);
        state = {};
    });
    memset(start, 0xee, length);
    return UCS_OK;
}

/* The end of a slab goes, before the slab is registered */
void fake_memory::cut(void *start, size_t length)
{
    size_t first = page_of(start);

    EXPECT_EQ(length_of(first) * PAGE,
              (first % m_slab_pages) * PAGE + length);
    each(start, length, [this](size_t page) {
        page_t &state = m_pages[page];

        expect(state.is_mapped, "is cut off and not mapped", page);
        expect(!state.is_registered, "is cut off and registered", page);
        expect(!state.is_taken, "is cut off and in use", page);
        expect(!state.is_dirty, "is cut off and dirty", page);
        state = {};
    });
    m_lengths[first / m_slab_pages]  = first % m_slab_pages;
    m_mapped                        -= length;
    memset(start, 0xee, length);
}

ucs_status_t fake_memory::discard(void *arg, void *start, size_t length)
{
    fake_memory *self   = static_cast<fake_memory*>(arg);
    ucs_status_t status = self->begin("discard");

    if (status != UCS_OK) {
        return status;
    }

    self->each(start, length, [self](size_t page) {
        page_t &state = self->m_pages[page];

        self->expect(state.is_mapped, "is discarded and not mapped", page);
        self->expect(!state.is_registered, "is discarded and registered", page);
        self->expect(!state.is_taken, "is discarded and in use", page);
        self->expect(state.is_inherited, "is discarded at a fork", page);
        state.is_dirty = false;
    });
    memset(start, 0, length);
    self->m_discarded += length;
    return UCS_OK;
}

ucs_status_t
fake_memory::protect(void *arg, void *start, size_t length, int is_accessible)
{
    fake_memory *self   = static_cast<fake_memory*>(arg);
    ucs_status_t status = self->begin(is_accessible ? "access" : "protect");
    size_t first        = self->page_of(start);

    if (self->m_notes_protects) {
        self->m_protects.push_back({first, length / PAGE, is_accessible != 0});
    }

    self->each(start, length, [=](size_t page) {
        page_t &state = self->m_pages[page];

        self->expect(state.is_mapped, "is protected and not mapped", page);
        self->expect(!state.is_taken, "is protected and in use", page);
        self->expect(state.is_inherited, "is protected at a fork", page);
        if (is_accessible) {
            /* What is retired may have been protected by the program */
            self->expect((state.access != YES) || state.is_dirty,
                         "is made accessible and is already", page);
        } else {
            self->expect(state.access != NO, "is protected and is already",
                         page);
        }
        state.access = (status != UCS_OK) ? UNKNOWN : is_accessible ? YES : NO;
    });
    return status;
}

ucs_status_t
fake_memory::inherit(void *arg, void *start, size_t length, int is_inherited)
{
    fake_memory *self   = static_cast<fake_memory*>(arg);
    ucs_status_t status = self->begin(is_inherited ? "dofork" : "dontfork");

    ++self->m_num_inherits;
    self->each(start, length, [=](size_t page) {
        page_t &state = self->m_pages[page];

        self->expect(state.is_mapped, "is not mapped at a fork", page);
        self->expect(!state.is_taken, "is in use and kept from children", page);
        if (status == UCS_OK) {
            state.is_inherited = is_inherited;
        }
    });
    return status;
}

ucs_status_t
fake_memory::reg(void *arg, void *start, size_t length, void **handle_p)
{
    fake_memory *self   = static_cast<fake_memory*>(arg);
    ucs_status_t status = self->begin("reg");

    EXPECT_EQ(self->length_of(self->page_of(start)) * PAGE, length);
    if (status != UCS_OK) {
        return status;
    }
    if (self->m_room < self->registered() + length) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    /* As the kernel, which does not pin what may not be accessed */
    for (size_t page = self->page_of(start);
         page < self->page_of(start) + length / PAGE; ++page) {
        if (self->m_pages[page].access != YES) {
            ++self->m_num_inaccessible;
            return UCS_ERR_INVALID_ADDR;
        }
    }

    self->each(start, length, [self](size_t page) {
        self->expect(self->m_pages[page].is_mapped,
                     "is registered and not mapped", page);
        self->m_pages[page].is_registered = true;
    });
    *handle_p = start;
    ++self->m_num_registered;
    self->m_registered += length;
    return UCS_OK;
}

ucs_status_t fake_memory::dereg(void *arg, void *handle)
{
    fake_memory *self   = static_cast<fake_memory*>(arg);
    ucs_status_t status = self->begin("dereg");
    size_t length       = self->length_of(self->page_of(handle)) * PAGE;

    if (status != UCS_OK) {
        return status;
    }

    self->each(handle, length, [self](size_t page) {
        self->expect(self->m_pages[page].is_registered,
                     "is deregistered twice", page);
        self->m_pages[page].is_registered = false;
    });
    --self->m_num_registered;
    self->m_registered -= length;
    return UCS_OK;
}

void fake_memory::zero(void *arg, void *start, size_t length)
{
    fake_memory *self = static_cast<fake_memory*>(arg);

    self->begin("zero");
    self->each(start, length, [self](size_t page) {
        page_t &state = self->m_pages[page];

        self->expect(state.access == YES, "is zeroed and not accessible", page);
        self->expect(!state.is_taken, "is zeroed and in use", page);
        self->expect(state.is_inherited, "is zeroed at a fork", page);
        state.is_dirty = false;
    });
    memset(start, 0, length);
    __atomic_fetch_add(&self->m_zeroed, length, __ATOMIC_RELAXED);
}

void fake_memory::wake(void *arg)
{
    fake_memory *self = static_cast<fake_memory*>(arg);

    __atomic_fetch_add(&self->m_num_wakes, 1, __ATOMIC_RELAXED);
}

/* What the program writes to a page */
static uint8_t mark_of(size_t page)
{
    return (page % 255) + 1;
}

static bool is_filled(const void *address, uint8_t value)
{
    const uint8_t *bytes = static_cast<const uint8_t*>(address);

    return (bytes[0] == value) && !memcmp(bytes, bytes + 1, fake_memory::PAGE - 1);
}

void fake_memory::take(void *address, size_t length)
{
    size_t first = page_of(address);

    EXPECT_EQ(first / m_slab_pages,
              (first + length / PAGE - 1) / m_slab_pages);
    each(address, length, [this](size_t page) {
        page_t &state = m_pages[page];

        expect(!state.is_taken, "is allocated twice", page);
        expect(state.is_mapped, "is allocated and not mapped", page);
        expect(state.access == YES, "is allocated and not accessible", page);
        expect(state.is_inherited, "is allocated and kept from children", page);
        expect(!state.is_dirty, "is allocated and dirty", page);
        expect(is_filled(address_of(page), 0), "does not read as zero", page);
        state.is_taken = true;
        memset(address_of(page), mark_of(page), PAGE);
    });
}

void fake_memory::give(void *address, size_t length, uint64_t now)
{
    each(address, length, [=](size_t page) {
        page_t &state = m_pages[page];

        if (state.is_taken) {
            expect(is_filled(address_of(page), mark_of(page)),
                   "was changed by others", page);
            state.is_taken = false;
            state.is_dirty = true;
            state.freed_at = now;
        }
    });
}


void fake_memory::put(void *address, size_t length)
{
    each(address, length, [this](size_t page) {
        size_t first = page - page % m_slab_pages;

        m_pages[page].is_taken = true;
        m_pages[page].access   = YES;
        memset(address_of(page), mark_of(page), PAGE);
        if (!m_pages[page].is_spoilt) {
            m_mapped -= m_pages[first].is_mapped ? length_of(page) * PAGE : 0;
            for (size_t i = first; i < first + m_slab_pages; ++i) {
                m_pages[i].is_spoilt = true;
            }
        }
    });
}


arena_test::arena_test() :
    m_memory(SLABS, SLAB), m_params(m_memory.params()), m_arena(nullptr),
    m_now(1000000)
{
    m_params.lazy  = LAZY;
    m_params.idle  = IDLE;
    m_params.retry = RETRY;
}

arena_test::~arena_test()
{
    if (m_arena != nullptr) {
        m_memory.m_fails = nullptr;
        for (size_t page = 0; page < m_memory.num_pages(); ++page) {
            m_memory.at(page).is_taken = false;
        }
        EXPECT_EQ(UCS_OK, ucs_arena_stop(m_arena));
        EXPECT_EQ(0u, m_memory.m_num_registered);
        arena_destroy(m_arena);
    }
}

void arena_test::make(bool is_kept)
{
    ucs_arena_ops_t ops = m_memory.ops();

    m_arena = arena_make(&m_params, &ops);
    ASSERT_NE(nullptr, m_arena);
    if (is_kept) {
        ucs_arena_keep(m_arena);
    }
}

void *arena_test::allocate(size_t pages)
{
    void *address = ucs_arena_allocate(m_arena, pages * PAGE);

    if (address != nullptr) {
        m_memory.take(address, pages * PAGE);
    }
    return address;
}

void *arena_test::allocate_registered(size_t pages)
{
    void *address = allocate(pages);

    EXPECT_NE(nullptr, address);
    EXPECT_TRUE(ucs_arena_want(m_arena, address, 1));
    tend();
    EXPECT_NE(nullptr, ucs_arena_find(m_arena, address, pages * PAGE));
    return address;
}

void arena_test::free(void *address, size_t pages)
{
    m_memory.give(address, pages * PAGE, m_now);
    EXPECT_EQ(UCS_OK,
              ucs_arena_free(m_arena, address, pages * PAGE, m_now));
}

void arena_test::free_page(size_t page, size_t pages)
{
    free(m_memory.address_of(page), pages);
}

void arena_test::spoil(size_t page, size_t pages)
{
    void *address = m_memory.address_of(page);

    EXPECT_EQ(UCS_OK, ucs_arena_spoil(m_arena, address, pages * PAGE));
    EXPECT_TRUE(ucs_arena_is_spoilt(m_arena, address, pages * PAGE));
    m_memory.put(address, pages * PAGE);
}

uint64_t arena_test::tend_beside_thread()
{
    unsigned calls = 0;
    uint64_t due;

    do {
        due = ucs_arena_tend(m_arena, m_now);
    } while ((due <= m_now) && (++calls < 1000));

    EXPECT_LT(calls, 1000u) << "the helper has always something to do";
    return due;
}

uint64_t arena_test::tend()
{
    uint64_t due = tend_beside_thread();

    EXPECT_EQ(due, ucs_arena_due(m_arena));
    return due;
}

ucs_arena_stats_t arena_test::stats()
{
    ucs_arena_stats_t stats;

    ucs_arena_stats_get(m_arena, &stats);
    return stats;
}

void arena_test::check()
{
    uint64_t live = 0, dirty = 0, hidden = 0, fresh = 0;
    bool has_spoilt       = false;
    ucs_arena_stats_t now = stats();

    for (size_t page = 0; page < m_memory.num_pages(); ++page) {
        const fake_memory::page_t &state = m_memory.at(page);

        if (state.is_spoilt) {
            live       += state.is_taken;
            has_spoilt  = true;
            continue;
        }
        if (!state.is_mapped) {
            continue;
        }
        if (state.is_taken) {
            ++live;
        } else if (state.access == fake_memory::YES) {
            ++(state.is_dirty ? dirty : fresh);
        } else {
            ++hidden;
        }
    }

    EXPECT_EQ(live, now.live / PAGE);
    EXPECT_EQ(fresh, now.fresh / PAGE);
    EXPECT_EQ(dirty, now.dirty / PAGE);
    EXPECT_EQ(hidden, (now.muzzy + now.retained) / PAGE);
    EXPECT_EQ(0u, now.held);
    EXPECT_EQ(m_memory.registered(), now.registered);
    if (!has_spoilt) {
        EXPECT_EQ(m_memory.m_mapped, now.committed);
    }
    EXPECT_EQ(m_memory.m_zeroed, now.zeroed);
}

std::string arena_test::states()
{
    ucs_arena_stats_t now = stats();
    std::ostringstream text;

    check();
    for (auto &state : std::vector<std::pair<const char*, uint64_t>>{
                 {"live", now.live}, {"dirty", now.dirty},
                 {"muzzy", now.muzzy}, {"retained", now.retained},
                 {"fresh", now.fresh}}) {
        if (state.second > 0) {
            text << (text.tellp() > 0 ? " " : "") << state.first << " "
                 << state.second / PAGE;
        }
    }
    return text.str();
}
