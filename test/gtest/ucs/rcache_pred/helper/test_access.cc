/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"


/* With which access regions are registered */
class test_access : public helper_test {
protected:
    static constexpr unsigned BOTH   = ACCESS_READ | ACCESS_WRITE;
    static constexpr unsigned RECENT = UCS_RCACHE_PRED_RECENT *
                                       UCS_RCACHE_PRED_RECENT_TIMES;

    /* A use that begins each second. @return the access of its registration */
    unsigned use_with(unsigned access)
    {
        uint64_t start  = now();
        void *memh      = begin(buffer(0), PAGE, access);
        unsigned result = m_world.get(memh).flags & BOTH;

        run(MSEC);
        end(memh);
        run_until(start + SEC);
        return result;
    }
};

TEST_F(test_access, follows_the_recent_uses)
{
    EXPECT_EQ(BOTH, use_with(BOTH));
    for (unsigned i = 0; i < 2 * RECENT; ++i) {
        unsigned access = use_with(ACCESS_READ);
        EXPECT_EQ((i < RECENT) ? BOTH : ACCESS_READ, access) << i;
    }
    EXPECT_GE(stats().hits, 2u * RECENT - 1);

    /* A use that needs more gets it at once, and the next ones find it */
    EXPECT_EQ(BOTH, use_with(ACCESS_WRITE));
    mark();
    EXPECT_EQ(BOTH, use_with(ACCESS_READ));
    EXPECT_EQ(BOTH, use_with(ACCESS_WRITE));
    EXPECT_EQ(2u, since_mark(&stats_t::hits));
}

TEST_F(test_access, follows_the_recent_uses_where_nothing_is_predicted)
{
    use_with(BOTH);
    for (unsigned i = 0; i <= RECENT; ++i) {
        use_with(ACCESS_READ);
        run(i * 17 * SEC);
    }
    ucs_rcache_pred_purge(m_pred);
    EXPECT_EQ(ACCESS_READ, use_with(ACCESS_READ));
}

TEST_F(test_access, uses_in_turns_do_not_take_it_from_each_other)
{
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(0), PAGE, (i % 2) ? ACCESS_WRITE : ACCESS_READ));
    }
    EXPECT_EQ(2u, stats().regs_critical);
    EXPECT_EQ(8u, stats().hits);
}

TEST_F(test_access, uses_at_a_time_count_together)
{
    for (unsigned i = 0; i < 6; ++i) {
        uint64_t start = now();
        void *first    = begin(buffer(0), PAGE, (i == 0) ? BOTH : ACCESS_READ);
        void *second   = begin(buffer(0), PAGE, ACCESS_WRITE);
        EXPECT_EQ(first, second) << i;
        run(MSEC);
        end(first);
        end(second);
        run_until(start + SEC);
    }
    EXPECT_EQ(0u, stats().late);
}

TEST_F(test_access, that_memory_does_not_allow_any_more)
{
    use(buffer(1), PAGE);
    end(begin(buffer(0), PAGE, BOTH));
    poll();

    /* The memory is read-only now */
    mark();
    m_world.fail_nth_reg(1);
    void *memh = begin(buffer(0), PAGE, ACCESS_READ);
    EXPECT_EQ(ACCESS_READ, m_world.get(memh).flags & BOTH);
    EXPECT_EQ(0u, since_mark(&stats_t::reg_failures));

    /* It does not serve a use that needs more */
    void *other = begin(buffer(0), PAGE, ACCESS_WRITE);
    EXPECT_NE(memh, other);
    end(other);
    end(memh);
}
