/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <map>
#include <thread>
#include <vector>


class test_sites : public ::testing::Test {
protected:
    static constexpr unsigned MAX = 64;

    test_sites() : m_sites(NULL), m_caller(0), m_solver(0)
    {
        EXPECT_EQ(UCS_OK, ucs_rcache_record_sites_create(MAX, &m_sites));
    }

    ~test_sites() { ucs_rcache_record_sites_destroy(m_sites); }

    void note(uint64_t caller, uint64_t stack)
    {
        ucs_rcache_pred_context_t context = {caller, stack, 0};

        ucs_rcache_record_sites_note(m_sites, &context);
    }

    const ucs_rcache_trace_site_t *next()
    {
        return ucs_rcache_record_sites_next(m_sites);
    }

    /* A communication as the overriding function sees it: its return address
     * and frame */
    UCS_F_NOINLINE void communicate(ucs_rcache_pred_comm_t comm)
    {
        ucs_rcache_pred_window_t window = {};
        ucs_rcache_pred_context_t context;

        ucs_rcache_pred_context_add(&window, 0, comm, NULL,
                                    __builtin_return_address(0),
                                    (uintptr_t)__builtin_frame_address(0),
                                    &context);
        m_caller = (uintptr_t)__builtin_return_address(0);
        ucs_rcache_record_sites_note(m_sites, &context);
    }

    /* The program's own functions */
    UCS_F_NOINLINE void solve()
    {
        /* A site is noted at its first communication: later frames do not
         * matter */
        if (m_solver == 0) {
            m_solver = (uintptr_t)__builtin_return_address(0);
        }
        communicate(UCS_RCACHE_PRED_COMM_SEND);
        asm volatile(""); /* This keeps the call from being a tail call */
    }

    UCS_F_NOINLINE void iterate()
    {
        for (unsigned i = 0; i < 3; ++i) {
            solve();
        }
        asm volatile("");
    }

    UCS_F_NOINLINE void recurse(unsigned depth)
    {
        if (depth == 0) {
            iterate();
        } else {
            recurse(depth - 1);
        }
        asm volatile("");
    }

    ucs_rcache_record_sites_t *m_sites;
    uintptr_t                 m_caller, m_solver;
};


TEST_F(test_sites, stack_begins_at_the_caller)
{
    const ucs_rcache_trace_site_t *site;

    iterate();
    site = next();
    ASSERT_TRUE(site != NULL);
    EXPECT_EQ(m_caller + ((uint64_t)UCS_RCACHE_PRED_COMM_SEND << 56),
              site->caller);
    ASSERT_GE(site->num_frames, 3u);
    EXPECT_LE(site->num_frames, (unsigned)UCS_RCACHE_TRACE_MAX_FRAMES);
    EXPECT_EQ(m_caller, site->frames[0]);
    EXPECT_EQ(m_solver, site->frames[1]);

    /* Three communications from one place have one site */
    EXPECT_TRUE(next() == NULL);
}

TEST_F(test_sites, other_kind_is_another_site)
{
    for (unsigned i = 0; i < 2; ++i) {
        communicate(i ? UCS_RCACHE_PRED_COMM_SEND : UCS_RCACHE_PRED_COMM_RECV);
    }
    EXPECT_TRUE(next() != NULL);
    EXPECT_TRUE(next() != NULL);
    EXPECT_TRUE(next() == NULL);
}

TEST_F(test_sites, other_stack_is_another_site)
{
    note(0x1000, 0x7000);
    note(0x1000, 0x7010);
    note(0x1000, 0x7000);
    ASSERT_TRUE(next() != NULL);
    ASSERT_TRUE(next() != NULL);
    EXPECT_TRUE(next() == NULL);
}

TEST_F(test_sites, caller_that_is_not_on_the_stack)
{
    const ucs_rcache_trace_site_t *site;

    note(0x1234 + ((uint64_t)UCS_RCACHE_PRED_COMM_GET << 56), 0x7000);
    site = next();
    ASSERT_TRUE(site != NULL);
    EXPECT_EQ(1u, site->num_frames);
    EXPECT_EQ(0x1234u, site->frames[0]);
}

TEST_F(test_sites, deep_stack_is_cut_off)
{
    const ucs_rcache_trace_site_t *site;

    recurse(100);
    site = next();
    ASSERT_TRUE(site != NULL);
    EXPECT_EQ((unsigned)UCS_RCACHE_TRACE_MAX_FRAMES, site->num_frames);
    EXPECT_EQ(m_caller, site->frames[0]);
}

TEST_F(test_sites, full)
{
    std::map<uint64_t, unsigned> seen;
    unsigned count = 0;

    for (uint64_t i = 1; i <= 10 * MAX; ++i) {
        EXPECT_EQ(i > MAX, ucs_rcache_record_sites_is_full(m_sites) != 0);
        note(i, 0x7000);
        note(i, 0x7000);
    }
    for (const ucs_rcache_trace_site_t *site; (site = next()) != NULL;) {
        /* The first sites are there, in their order */
        EXPECT_EQ(++count, site->caller);
    }
    EXPECT_EQ(MAX, count);
}

TEST_F(test_sites, threads)
{
    /* Several threads may exceed the limit by some */
    const unsigned num_sites = MAX - 8;
    std::map<uint64_t, unsigned> seen;
    std::vector<std::thread> threads;

    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([&]() {
            for (unsigned round = 0; round < 100; ++round) {
                for (unsigned i = 1; i <= num_sites; ++i) {
                    note(i, 0x7000);
                }
            }
        });
    }
    /* Sites are taken out meanwhile: each that comes is complete */
    while (seen.size() < num_sites) {
        const ucs_rcache_trace_site_t *site = next();
        if (site == NULL) {
            std::this_thread::yield();
            continue;
        }
        EXPECT_EQ(site->caller, site->frames[0]);
        EXPECT_EQ(0x7000u, site->stack);
        ++seen[site->caller];
    }
    for (auto &thread : threads) {
        thread.join();
    }

    EXPECT_TRUE(next() == NULL);
    for (const auto &site : seen) {
        EXPECT_EQ(1u, site.second) << "site " << site.first;
    }
}

TEST_F(test_sites, no_memory)
{
    unsigned nth;

    for (nth = 1;; ++nth) {
        ucs_rcache_record_sites_t *sites = NULL;

        test_alloc_fail_nth(nth);
        ucs_status_t status = ucs_rcache_record_sites_create(MAX, &sites);
        bool failed         = test_alloc_failed();
        test_alloc_fail_nth(0);
        if (!failed) {
            ASSERT_EQ(UCS_OK, status);
            ucs_rcache_record_sites_destroy(sites);
            break;
        }
        EXPECT_EQ(UCS_ERR_NO_MEMORY, status);
    }
    EXPECT_EQ(4u, nth);
}
