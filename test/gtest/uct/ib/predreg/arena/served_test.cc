/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served_test.h"

#include <chrono>
#include <thread>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>


served_test::served_test() :
    m_served(nullptr), m_reserved(0), m_room(SIZE_MAX),
    m_published(0), m_last_memh(0), m_page(sysconf(_SC_PAGESIZE))
{
}

served_test::~served_test()
{
    if (m_served != nullptr) {
        uct_predreg_arena_destroy(m_served);
        EXPECT_EQ(0u, m_reserved);
    }
    for (auto &domain : m_domains) {
        EXPECT_TRUE(domain->regs.empty());
    }
}

void served_test::make(bool is_strict, bool is_registered)
{
    const test_served_ops_t ops = {mem_reg, mem_dereg, reserve, release, publish,
                                   attract, this};
    uct_mem_h memh;
    void *address;

    attracted = SIZE_MAX;
    ASSERT_EQ(UCS_OK, served_make(SLABS * SLAB, SLAB, MIN, is_strict, ACCESS,
                                  &ops, &m_served));
    ASSERT_EQ(0, add());
    tend();
    if (is_registered) {
        address = map(SLAB);
        EXPECT_FALSE(uct_predreg_arena_begin(m_served, 0, address, 1, ACCESS, &memh));
        tend();
        EXPECT_EQ(SLAB, m_reserved);
        EXPECT_EQ(0, served_munmap(m_served, address, SLAB));
        tend(2 * LAZY);
    }
}

int served_test::add()
{
    m_domains.emplace_back(new domain_t);
    m_domains.back()->test = this;
    return uct_predreg_arena_add(m_served, m_domains.back().get());
}

void served_test::tend(uint64_t later)
{
    for (unsigned i = 0; i < 100; ++i) {
        served_tend(m_served, later);
    }
}

std::atomic<size_t> served_test::attracted;

void served_test::attract(size_t length, int is_eager)
{
    attracted = length;
}

void *served_test::map(size_t length)
{
    void *address = served_mmap(m_served, nullptr, length, RW,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1);

    EXPECT_NE(MAP_FAILED, address);
    EXPECT_TRUE(served_has(m_served, address));
    EXPECT_TRUE(reads_as(address, length, 0));
    return address;
}

ucs_arena_stats_t served_test::stats()
{
    ucs_arena_stats_t stats;

    ucs_arena_stats_get(m_served->served.arena, &stats);
    return stats;
}

bool served_test::is_readable(const void *address, size_t length)
{
    std::vector<char> bytes(length);
    struct iovec local  = {bytes.data(), length};
    struct iovec remote = {const_cast<void*>(address), length};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
           (ssize_t)length;
}

bool served_test::is_writable(void *address)
{
    char byte           = 1;
    struct iovec local  = {&byte, 1};
    struct iovec remote = {address, 1};

    return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == 1;
}

bool served_test::reads_as(const void *address, size_t length, int value)
{
    const unsigned char *bytes = static_cast<const unsigned char*>(address);

    for (size_t i = 0; i < length; ++i) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}

ucs_status_t served_test::mem_reg(void *domain, void *address, size_t length,
                                  unsigned flags, uct_mem_h *memh_p)
{
    domain_t *self = static_cast<domain_t*>(domain);

    std::this_thread::sleep_for(
            std::chrono::milliseconds(self->test->m_delay));
    if (self->test->m_on_reg) {
        self->test->m_on_reg();
    }
    EXPECT_EQ(ACCESS, flags);
    EXPECT_GE(SLAB, length);
    /* As the kernel does not pin what nobody may access */
    if (self->fails || !is_readable(address, length)) {
        return UCS_ERR_NO_MEMORY;
    }

    std::lock_guard<std::mutex> guard(self->test->m_lock);
    *memh_p             = (uct_mem_h)(self->test->m_last_memh += 64);
    self->regs[*memh_p] = address;
    return UCS_OK;
}

ucs_status_t served_test::mem_dereg(void *domain, uct_mem_h memh)
{
    domain_t *self = static_cast<domain_t*>(domain);

    EXPECT_EQ(1u, self->regs.erase(memh));
    return UCS_OK;
}

ucs_status_t served_test::reserve(void *arg, size_t length)
{
    served_test *self = static_cast<served_test*>(arg);
    std::lock_guard<std::mutex> guard(self->m_lock);

    if (self->m_reserved + length > self->m_room) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    self->m_reserved += length;
    return UCS_OK;
}

void served_test::release(void *arg, size_t length)
{
    served_test *self = static_cast<served_test*>(arg);
    std::lock_guard<std::mutex> guard(self->m_lock);

    EXPECT_LE(length, self->m_reserved);
    self->m_reserved -= length;
}

void served_test::publish(void *arg)
{
    ++static_cast<served_test*>(arg)->m_published;
}
