/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_SERVED_TEST_H_
#define PREDREG_GTEST_SERVED_TEST_H_

#include "served_access.h"

#include <gtest/gtest.h>

#include <map>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

/* An arena in real memory of the kernel, whose slabs are registered with domains
 * that only note it */
class served_test : public ::testing::Test {
protected:
    static constexpr size_t SLAB      = 1 << 20;
    static constexpr unsigned SLABS   = 8;
    static constexpr size_t MIN       = 64 << 10;
    static constexpr unsigned ACCESS  = UCT_MD_MEM_ACCESS_RMA |
                                        UCT_MD_MEM_ACCESS_LOCAL_READ |
                                        UCT_MD_MEM_ACCESS_LOCAL_WRITE;
    static constexpr int RW           = 3; /* PROT_READ and PROT_WRITE */
    static constexpr uint64_t LAZY    = UCS_ARENA_DEF_LAZY;
    static constexpr uint64_t IDLE    = UCS_ARENA_DEF_IDLE;

    /* A domain: what is registered in it */
    struct domain_t {
        served_test *test;
        std::map<uct_mem_h, void*> regs;
        bool fails = false;
    };

    served_test();
    ~served_test();

    /* With a slab that is registered, all of it free, or one that is not */
    void make(bool is_strict = false, bool is_registered = true);

    /* The helper has done all that is due, some time later */
    void tend(uint64_t later = 0);

    void *map(size_t length);
    int add();
    ucs_arena_stats_t stats();

    /* What the kernel does when a program reads, or writes, at an address */
    static bool is_readable(const void *address, size_t length = 1);
    static bool is_writable(void *address);

    /* Whether memory has one value throughout */
    static bool reads_as(const void *address, size_t length, int value);

    static ucs_status_t mem_reg(void *domain, void *address, size_t length,
                                unsigned flags, uct_mem_h *memh_p);
    static ucs_status_t mem_dereg(void *domain, uct_mem_h memh);
    static ucs_status_t reserve(void *arg, size_t length);
    static void release(void *arg, size_t length);
    static void publish(void *arg);
    static void attract(size_t length, int is_eager);

    static std::atomic<size_t> attracted; /* The least length of allocations that the
                                             program was asked to map; SIZE_MAX: it
                                             was not */

    uct_predreg_arena_t         *m_served;
    std::vector<std::unique_ptr<domain_t>> m_domains;
    std::mutex            m_lock;     /* Around the next three */
    size_t                m_reserved; /* Bytes */
    size_t                m_room;     /* Bytes that may be reserved */
    std::atomic<unsigned> m_published; /* How often statistics were shown */
    uintptr_t             m_last_memh;
    size_t                m_page;
    std::function<void()> m_on_reg;   /* Called before a registration. Does not
                                         change while the helper runs */
    unsigned              m_delay = 0; /* Of a registration, ms. Does not change
                                          while the helper runs */
};

#endif
