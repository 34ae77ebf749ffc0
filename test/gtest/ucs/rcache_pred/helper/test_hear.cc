/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <map>


/* What other processes have seen in the same places stands for what is not known yet */
class test_hear : public helper_test {
protected:
    /* Intervals by name */
    using told_t = std::map<uint64_t, std::vector<uint64_t>>;

    void SetUp() override
    {
        m_ops        = fake_world::ops;
        m_ops.name   = [](void*, const ucs_rcache_pred_context_t *context) {
            return m_unnamed ? 0 : context->caller;
        };
        m_ops.tell   = [](void*, uint64_t name, const uint64_t *intervals,
                          unsigned num) {
            m_told[name].assign(intervals, intervals + num);
            ++m_tells;
        };
        m_ops.hear   = [](void*, uint64_t name, uint64_t *intervals) {
            const std::vector<uint64_t> &told = m_told[name];
            std::copy(told.begin(), told.end(), intervals);
            ++m_hears;
            return (unsigned)told.size();
        };
        m_params.ops = &m_ops;
        m_told.clear();
        m_tells = m_hears = 0;
        m_unnamed         = false;
        create();
        mark();
    }

    /* Another process begins, which knows nothing but what the former one has told */
    void next_process()
    {
        recreate();
        mark();
    }

    /* Another process begins before the former one has told anything. @return what it is
     * going to tell */
    told_t process_before()
    {
        told_t told;

        std::swap(told, m_told);
        next_process();
        return told;
    }

    static told_t   m_told;
    static unsigned m_tells, m_hears;
    static bool     m_unnamed;
    ucs_rcache_pred_ops_t m_ops;
};

test_hear::told_t test_hear::m_told;
unsigned test_hear::m_tells, test_hear::m_hears;
bool test_hear::m_unnamed;

/* The first use of each buffer cannot be known, and the second one is */
TEST_F(test_hear, second_use_is_predicted)
{
    for (unsigned b = 0; b < 5; ++b) {
        uses(b, 200 * MSEC, 3);
    }
    EXPECT_EQ(10u, m_tells);
    EXPECT_EQ(0u, since_mark(&stats_t::heard));

    next_process();
    for (unsigned b = 0; b < 5; ++b) {
        uses(b, 200 * MSEC, 2);
    }
    EXPECT_EQ(5u, since_mark(&stats_t::hits));
    EXPECT_EQ(5u, since_mark(&stats_t::heard));
    /* It is deregistered meanwhile */
    EXPECT_LE(since_mark(&stats_t::byte_ns),
              MB * since_mark(&stats_t::duration) / 2);
}

/* A buffer waits for its second use while another process comes to its own one */
TEST_F(test_hear, while_it_waits)
{
    uses(0, 200 * MSEC, 3);
    auto told = process_before();

    use(buffer(0), MB, MSEC, context(1));
    uint64_t start = now() - MSEC;
    run_until(start + 100 * MSEC);
    EXPECT_EQ(0u, since_mark(&stats_t::heard));
    m_told = told;
    run_until(start + 200 * MSEC);
    EXPECT_EQ(1u, since_mark(&stats_t::heard));
    uses(0, 200 * MSEC, 1);
    EXPECT_EQ(1u, since_mark(&stats_t::hits));
}

/* It is looked for that more and more rarely. If the use of another buffer finds out
 * meanwhile, those that wait are told */
TEST_F(test_hear, those_that_wait_are_told_at_once)
{
    uses(0, SEC, 3);
    auto told = process_before();

    use(buffer(0), MB, MSEC, context(1));
    uint64_t start = now() - MSEC;
    run_until(start + 800 * MSEC);
    m_told = told;
    use(buffer(1), MB, MSEC, context(1));
    run_until(start + 810 * MSEC);
    EXPECT_EQ(1u, since_mark(&stats_t::heard));
    EXPECT_EQ(2u, since_mark(&stats_t::precedents));
    run_until(start + SEC);
    use(buffer(0), MB, MSEC, context(1));
    EXPECT_EQ(1u, since_mark(&stats_t::hits));
}

/* The longer it waits, the rarer is it looked for that */
TEST_F(test_hear, looks_are_few)
{
    use(buffer(0), MB, MSEC, context(1));
    run_until(now() + 100 * MSEC);
    unsigned looks = m_hears;
    EXPECT_GE(looks, 10u);
    EXPECT_LE(looks, 60u);
    run_until(now() + 1000 * SEC);
    EXPECT_LE(m_hears - looks, 100u);
    EXPECT_LE(since_mark(&stats_t::helper_rounds), 250u);
}

/* Once nobody waits any more, nobody looks */
TEST_F(test_hear, nobody_waits)
{
    uses(0, 200 * MSEC, 4);
    run_until(now() + 10 * SEC);
    mark();
    run_until(now() + 1000 * SEC);
    EXPECT_EQ(0u, since_mark(&stats_t::helper_rounds));
}

/* If the clock jumps back, it is not waited until the old time comes again */
TEST_F(test_hear, clock_jumps_back)
{
    uses(0, 200 * MSEC, 3);
    auto told = process_before();

    m_world.jump(20 * HOUR);
    use(buffer(0), MB, MSEC, context(1));
    run_until(now() + 10 * MSEC);
    m_world.jump(-10 * (int64_t)HOUR);
    m_told    = told;
    m_unnamed = true;
    use(buffer(1), MB, MSEC, context(2)); /* The helper sees the clock */
    run_until(now() + 10 * MSEC);
    EXPECT_EQ(1u, since_mark(&stats_t::heard));
}

/* The clocks of two processors are not quite the same */
TEST_F(test_hear, goes_on_after_the_clock_went_back_a_little)
{
    use(buffer(0), MB, MSEC, context(1));
    run(20 * MSEC);

    void *memh = begin(buffer(1), MB, 0, NULL, context(2));
    m_world.advance(60 * MSEC);
    end(memh);
    m_world.on_dereg = [this](const fake_world::registration&) {
        m_world.jump(-(int64_t)(500 * USEC));
    };
    poll(); /* It is time to look, and buffer 1 begins to wait */
    m_world.on_dereg = nullptr;
    unsigned looks = m_hears;
    run(2 * SEC);
    EXPECT_GE(m_hears, looks + 20);
}

/* Nor is it often where each buffer is used once, so that there is always one that has
 * just begun to wait, whether or not others still do */
TEST_F(test_hear, looks_are_few_without_reuse)
{
    for (bool unmaps : {false, true}) {
        next_process();
        for (unsigned b = 0; b < 200; ++b) {
            use(buffer(b), MB, MSEC, context(1));
            if (unmaps) {
                unmap(buffer(b), MB);
            }
            run(20 * MSEC);
        }
        unsigned looks = m_hears;
        mark();
        for (unsigned b = 200; b < 400; ++b) {
            use(buffer(b), MB, MSEC, context(1));
            if (unmaps) {
                unmap(buffer(b), MB);
            }
            run(20 * MSEC);
        }
        /* Each asks for itself */
        EXPECT_LE(m_hears - looks, 200u + 20u) << unmaps;
        EXPECT_LE(since_mark(&stats_t::helper_rounds), 3 * 200u) << unmaps;
    }
}

/* Many wait, each for its own: all are looked for */
TEST_F(test_hear, many_wait)
{
    for (unsigned b = 0; b < 60; ++b) {
        use(buffer(b), MB, MSEC, context(1 + b));
    }
    run_until(now() + 10 * MSEC);
    for (unsigned b = 0; b < 60; ++b) {
        use(buffer(b), MB, MSEC, context(1 + b));
    }
    run_until(now() + 10 * MSEC);
    EXPECT_EQ(60u, m_tells);
    auto told = process_before();

    for (unsigned b = 0; b < 60; ++b) {
        use(buffer(b), MB, MSEC, context(1 + b));
    }
    m_told = told;
    run_until(now() + 10 * MSEC);
    EXPECT_EQ(60u, since_mark(&stats_t::heard));
    EXPECT_EQ(60u, since_mark(&stats_t::precedents));
}

/* Once it is known here, it is not looked for any more, and told now and then */
TEST_F(test_hear, known_here)
{
    uses(0, 200 * MSEC, 4);
    unsigned looks = m_hears, tells = m_tells;
    EXPECT_EQ(2u, tells);
    uses(0, 200 * MSEC, 160);
    EXPECT_EQ(looks, m_hears);
    EXPECT_EQ(tells + 10, m_tells);
}

TEST_F(test_hear, nothing_is_known_of_other_lengths)
{
    uses(0, 200 * MSEC, 3);
    next_process();
    uses(0, 200 * MSEC, 2, 2 * MB);
    EXPECT_EQ(0u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::heard));
}

TEST_F(test_hear, places_without_names)
{
    m_unnamed = true;
    uses(0, 200 * MSEC, 3);
    EXPECT_EQ(0u, m_tells);
    next_process();
    uses(0, 200 * MSEC, 2);
    EXPECT_EQ(0u, m_hears);
    EXPECT_EQ(0u, since_mark(&stats_t::hits));
}

/* What is seen here soon counts for more than what is wrong there */
TEST_F(test_hear, others_are_wrong)
{
    for (uint64_t wrong : {MSEC, 50 * MSEC, 2 * SEC, 1000 * SEC, 1ul << 62}) {
        m_told.clear();
        uses(0, 200 * MSEC, 2);
        for (auto &entry : m_told) {
            entry.second = {wrong, wrong};
        }
        next_process();
        uses(0, 200 * MSEC, 100);
        EXPECT_GE(since_mark(&stats_t::hits), 96u) << wrong;
        EXPECT_LE(since_mark(&stats_t::wasted), 2u) << wrong;
    }
}

/* If none of what others told comes true, it is not followed for long */
TEST_F(test_hear, others_are_wrong_about_many)
{
    uses(0, 200 * MSEC, 2);
    next_process();
    for (unsigned b = 0; b < 100; ++b) {
        use(buffer(b), MB, MSEC, context(1)); /* And never again */
        run_until(now() + 20 * MSEC);
    }
    EXPECT_EQ(1u, since_mark(&stats_t::heard));
    EXPECT_LE(since_mark(&stats_t::wasted),
              (uint64_t)UCS_RCACHE_PRED_PRECEDENT_CREDIT);
}
