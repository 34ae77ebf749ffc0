/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound_test.h"

/* Limits of a domain, which idle regions heed and uses do not */
class test_limits : public bound_test {
protected:
    static constexpr size_t LIMIT = 256 * KB;

    void SetUp() override
    {
        m_world.set_bound(UINT64_MAX);
        create();
        limit(LIMIT);
    }

    void limit(uint64_t max_bytes, uint64_t max_regions = UINT64_MAX,
               int keeps_at_fork = 0, domain_t *dom = NULL)
    {
        const ucs_rcache_pred_limits_t limits = {max_bytes, max_regions,
                                                 keeps_at_fork};

        ucs_rcache_pred_domain_limit((dom == NULL) ? domain() : dom, &limits);
    }

    /* Use so many buffers of so many bytes, one after the other */
    void use_each(unsigned count, size_t length, domain_t *dom = NULL)
    {
        for (unsigned i = 0; i < count; ++i) {
            end(begin(buffer(i), length, 0, dom), dom);
        }
    }
};

TEST_F(test_limits, idle_regions_give_way)
{
    use_each(10, 64 * KB);
    EXPECT_EQ(LIMIT, m_world.bytes_now());
    EXPECT_EQ(LIMIT, m_world.bytes_peak());
    EXPECT_EQ(6u, stats().evictions);
    EXPECT_EQ(0u, stats().refused);
}

TEST_F(test_limits, registrations_are_counted_as_well)
{
    limit(UINT64_MAX, 3);
    use_each(10, PAGE);
    EXPECT_EQ(3u, m_world.num_live());
}

TEST_F(test_limits, lengths_count_not_pages)
{
    limit(10 * 16);
    use_each(10, 16);
    EXPECT_EQ(10u, m_world.num_live());
    EXPECT_EQ(0u, stats().evictions);
}

TEST_F(test_limits, nothing_in_use_is_refused)
{
    void *window = begin(buffer(100), 4 * LIMIT);
    void *memhs[8];

    for (unsigned i = 0; i < 8; ++i) {
        memhs[i] = begin(buffer(i), 64 * KB);
    }
    EXPECT_EQ(4 * LIMIT + 8 * 64 * KB, m_world.bytes_now());
    for (void *memh : memhs) {
        end(memh);
    }

    /* Nothing idle is kept beside the window */
    end(begin(buffer(50), PAGE));
    EXPECT_EQ(4 * LIMIT + PAGE, m_world.bytes_now());
    end(window);
    EXPECT_EQ(0u, stats().refused);
}

TEST_F(test_limits, none_may_be_kept)
{
    limit(0, 0);
    use_each(3, PAGE);
    EXPECT_EQ(1u, m_world.num_live()) << "as UCX's own cache, until the next";
}

TEST_F(test_limits, each_domain_has_its_own)
{
    domain_t *other = new_domain("other");

    use_each(4, 64 * KB, other);
    use_each(4, 64 * KB);
    EXPECT_EQ(8u, m_world.num_live());

    end(begin(buffer(9), 64 * KB));
    EXPECT_EQ(8u, m_world.num_live());
    for (unsigned i = 0; i < 4; ++i) {
        /* Those of the other domain have waited for longer */
        end(begin(buffer(i), 64 * KB, 0, other), other);
    }
    EXPECT_EQ(4u + 4 + 1, stats().regs_critical);
}

/* However many there are: limits refuse nothing, so that they may be exceeded */
TEST_F(test_limits, others_do_not_give_way)
{
    domain_t *other = new_domain("other");

    use_each(2000, PAGE, other);
    use_each(4, 64 * KB);
    end(begin(buffer(2001), 64 * KB));
    EXPECT_LE(2004u, m_world.num_live());
    EXPECT_EQ(0u, stats().refused);
}

TEST_F(test_limits, what_is_registered_ahead_heeds_them)
{
    void *near = buffer(0), *far = buffer(1);

    keep_two(near, far);
    limit(PAGE);
    for (unsigned i = 0; i < 20; ++i) {
        m_world.set_bound(2 * PAGE);
        use(near, PAGE);
        use(far, PAGE);
        run(100 * MSEC);
        EXPECT_GE(PAGE, m_world.bytes_now());
    }
}

TEST_F(test_limits, at_a_fork_only_what_is_not_kept_goes)
{
    domain_t *other = new_domain("other");

    limit(UINT64_MAX, UINT64_MAX, 1);
    use_each(2, PAGE);
    use_each(3, PAGE, other);
    ucs_rcache_pred_quiesce(m_pred);
    EXPECT_EQ(2u, m_world.num_live());
    ucs_rcache_pred_resume(m_pred);
    ucs_rcache_pred_purge(m_pred);
    EXPECT_EQ(0u, m_world.num_live());
}
