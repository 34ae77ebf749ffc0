/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/pred_test.h>


/* When the cache says that there is something to show */
class test_publish : public pred_test {
protected:
    test_publish() : m_shown{}, m_count(0)
    {
        s_test        = this;
        m_ops         = fake_world::ops;
        m_ops.publish = [](void*) {
            ++s_test->m_count;
            s_test->m_shown = s_test->stats();
        };
        m_params.ops = &m_ops;
    }

    void SetUp() override { create(); }

    /* Expect that others see the counters as they are */
    void expect_shown()
    {
        stats_t now = stats();

        EXPECT_EQ(now.uses, m_shown.uses);
        EXPECT_EQ(now.hits, m_shown.hits);
        EXPECT_EQ(now.bytes_now, m_shown.bytes_now);
        EXPECT_EQ(now.deregs, m_shown.deregs);
        EXPECT_EQ(now.refused, m_shown.refused);
        EXPECT_EQ(now.time_critical, m_shown.time_critical);
    }

    static test_publish  *s_test;
    ucs_rcache_pred_ops_t m_ops;
    stats_t               m_shown;
    unsigned              m_count;
};

test_publish *test_publish::s_test;

TEST_F(test_publish, not_on_a_hit)
{
    void *first, *second;
    unsigned count;

    first = begin(buffer(0), MB);
    expect_shown();
    count  = m_count;
    second = begin(buffer(0), MB);
    end(second);
    EXPECT_EQ(1u, stats().hits);
    EXPECT_EQ(count, m_count);
    end(first);
}

TEST_F(test_publish, idle_process_has_shown_its_last_state)
{
    for (unsigned i = 0; i < 20; ++i) {
        use(buffer(i % 3), MB);
        run(5 * MSEC);
    }
    run_until_asleep();
    expect_shown();
    EXPECT_EQ(20u, m_shown.uses);
    EXPECT_EQ(0u, m_shown.bytes_now);
}

TEST_F(test_publish, on_demand)
{
    void *memh;

    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    memh = begin(buffer(0), MB);
    expect_shown();
    EXPECT_EQ(MB, m_shown.bytes_now);
    end(memh);
    expect_shown();
    EXPECT_EQ(0u, m_shown.bytes_now);
}

TEST_F(test_publish, refused_use)
{
    void *memh;

    m_params.max_bytes = MB;
    recreate();
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_begin(buffer(0), 2 * MB, &memh));
    EXPECT_EQ(1u, m_shown.refused);
    expect_shown();
}

TEST_F(test_publish, lower_bound)
{
    end(begin(buffer(0), MB));
    ucs_rcache_pred_set_max_bytes(m_pred, MB / 2);
    expect_shown();
    EXPECT_EQ(0u, m_shown.bytes_now);
}

TEST_F(test_publish, after_fork)
{
    end(begin(buffer(0), MB));
    ucs_rcache_pred_purge(m_pred);
    expect_shown();
    EXPECT_EQ(0u, m_shown.bytes_now);
}
