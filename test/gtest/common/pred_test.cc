/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pred_test.h"

#include <cmath>


pred_test::pred_test() :
    m_params{}, m_pred(NULL), m_next_poll(NEVER), m_wakes_seen(0)
{
    m_params.ops           = &fake_world::ops;
    m_params.arg           = &m_world;
    m_params.policy        = UCS_RCACHE_PRED_POLICY_PREDICT;
    m_params.budget        = INFINITY;
    m_params.history       = 8;
    m_params.max_sites     = 256;
    m_params.known_regions = 256;
    m_params.max_bytes     = UINT64_MAX;
    m_params.max_regions   = UINT64_MAX;
    m_params.dq_size       = 64;
    m_params.page_size     = PAGE;
    m_params.access_mask   = ACCESS_READ | ACCESS_WRITE;
    m_params.helper_flags  = HELPER_FLAG;
}

pred_test::~pred_test()
{
    destroy();
}

void pred_test::TearDown()
{
    if (m_pred != NULL) {
        validate();
        destroy();
    }
    m_world.check();
}

void pred_test::create()
{
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_create(&m_params, &m_pred));
    new_domain("fake0");
    poll(); /* The helper thread begins with a round as well */
}

void pred_test::recreate()
{
    destroy();
    m_world.check();
    m_world.reset_counters();
    create();
}

void pred_test::set_policy(ucs_rcache_pred_policy_t policy)
{
    m_params.policy = policy;
    recreate();
}

pred_test::domain_t *pred_test::new_domain(const char *name)
{
    domain_t *dom = NULL;

    m_fake_domains.push_back({&m_world});
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_domain_create(m_pred, name,
                                            &m_fake_domains.back(), &dom));
    m_domains.push_back(dom);
    return dom;
}

pred_test::domain_t *pred_test::domain(unsigned index)
{
    return m_domains.at(index);
}

void pred_test::destroy_domain(unsigned index)
{
    ucs_rcache_pred_domain_destroy(m_domains.at(index));
    m_domains[index] = NULL;
}

void pred_test::destroy()
{
    if (m_pred == NULL) {
        return;
    }

    for (domain_t *dom : m_domains) {
        if (dom != NULL) {
            ucs_rcache_pred_domain_destroy(dom);
        }
    }
    m_domains.clear();

    ucs_rcache_pred_destroy(m_pred);
    m_pred = NULL;
}

void *pred_test::buffer(unsigned index, size_t offset)
{
    return (void*)(0x100000000ul + index * 64 * MB + offset);
}

pred_test::context_t pred_test::context(uint64_t caller, uint64_t window)
{
    return {caller, 0, window};
}

ucs_status_t pred_test::try_begin(void *address, size_t length, void **memh_p,
                                  unsigned flags, domain_t *dom,
                                  const context_t &ctx)
{
    return ucs_rcache_pred_begin((dom != NULL) ? dom : domain(), address,
                                 length, flags, &ctx, memh_p);
}

void *pred_test::begin(void *address, size_t length, unsigned flags,
                       domain_t *dom, const context_t &ctx)
{
    void *memh = NULL;

    EXPECT_EQ(UCS_OK, try_begin(address, length, &memh, flags, dom, ctx));
    EXPECT_TRUE(m_world.covers(memh, address, length));
    return memh;
}

void pred_test::end(void *memh, domain_t *dom)
{
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_end((dom != NULL) ? dom : domain(), memh));
}

void pred_test::use(void *address, size_t length, uint64_t duration,
                    const context_t &ctx)
{
    void *memh = begin(address, length, 0, NULL, ctx);

    run(duration);
    end(memh);
}

uint64_t pred_test::poll()
{
    m_wakes_seen = m_world.num_wakes();
    m_next_poll  = ucs_rcache_pred_poll(m_pred);
    validate();
    return m_next_poll;
}

void pred_test::run_until(uint64_t time)
{
    for (;;) {
        if (m_world.num_wakes() != m_wakes_seen) {
            m_next_poll = now();
        }

        if (m_next_poll > time) {
            break;
        }

        m_world.advance_to(m_next_poll);
        poll();
    }

    m_world.advance_to(time);
}

void pred_test::run_until_asleep(uint64_t limit)
{
    run(limit);
    EXPECT_EQ(NEVER, m_next_poll);
}

pred_test::stats_t pred_test::stats()
{
    stats_t s;

    ucs_rcache_pred_get_stats(m_pred, &s);
    return s;
}

void pred_test::validate()
{
    const char *error = test_pred_validate(m_pred);

    EXPECT_TRUE(error == NULL) << error;
    EXPECT_EQ(m_world.bytes_now(), stats().bytes_now);
    EXPECT_EQ(m_world.regions_now(), stats().regions_now);
}

void pred_test::check_accounting(bool refusals)
{
    stats_t s = stats();

    EXPECT_EQ(m_world.bytes_now(), s.bytes_now);
    EXPECT_EQ(m_world.bytes_peak(), s.bytes_peak);
    EXPECT_EQ(m_world.regions_now(), s.regions_now);
    EXPECT_EQ(m_world.regions_peak(), s.regions_peak);
    if (refusals) {
        EXPECT_LE(m_world.byte_ns(), s.byte_ns);
    } else {
        EXPECT_EQ(m_world.byte_ns(), s.byte_ns);
    }
    EXPECT_EQ(m_world.num_regs(), s.regs_critical + s.regs_helper + s.pieces);
    EXPECT_EQ(m_world.num_deregs(), s.deregs);
}

void pred_test::unmap(void *address, size_t length)
{
    test_alloc_fail_nth(1);
    ucs_rcache_pred_unmapped(m_pred, (uintptr_t)address,
                             (uintptr_t)address + length);
    EXPECT_FALSE(test_alloc_failed());
    test_alloc_fail_nth(0);
}

void pred_test::keep_two(void *near, void *far)
{
    uint64_t start = now();

    for (unsigned i = 0; i < 41; ++i) {
        m_world.advance_to(start + i * 20 * USEC);
        end(begin(near, PAGE));
        if (i % 2 == 0) {
            end(begin(far, PAGE));
        }
        poll();
    }
    ASSERT_EQ(1u, m_world.num_live_at(near));
    ASSERT_EQ(1u, m_world.num_live_at(far));
}
