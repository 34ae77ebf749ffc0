/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/no_memory.h>

extern "C" {
#include <common/c_access.h>
}
#include <common/log_watch.h>
#include <common/timelines.h>

#include <gtest/gtest.h>

class test_replay_models : public ::testing::Test {
protected:
    static constexpr uint64_t PAGE = made_program::PAGE;
    static constexpr uint64_t MB   = made_program::MB;

    replayed replay(predreg_replay_policy_t policy, uint64_t limit = 0)
    {
        const predreg_timeline_t *timeline = m_program.timeline();

        return replayed(timeline, replay_params(timeline, policy, limit));
    }

    static uint64_t buffer(unsigned index)
    {
        return made_program::buffer(index);
    }

    made_program m_program;
};

TEST_F(test_replay_models, leave_pinned)
{
    m_program.use(100, 200, buffer(0), PAGE);
    m_program.use(300, 400, buffer(0), PAGE);
    m_program.use(500, 600, buffer(1), 2 * PAGE, 2);
    m_program.last_until(1000);

    replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ((replayed::curve_t{{100, PAGE}, {500, 3 * PAGE}, {1000, 0}}),
              r.curve());
    EXPECT_EQ(3 * PAGE, r->pinned.peak_bytes);
    EXPECT_EQ(900 * PAGE + 500 * 2 * PAGE, r.byte_ns());
    EXPECT_DOUBLE_EQ((900 + 1000) * PAGE / 1000., r->pinned_avg_bytes);
    EXPECT_EQ(200 * PAGE + 200 * PAGE, r.byte_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(100 * PAGE, r.byte_ns(PREDREG_CAUSE_KEPT));
    EXPECT_EQ(600 * PAGE + 800 * PAGE, r.byte_ns(PREDREG_CAUSE_RELEASE));
    EXPECT_EQ(3u, r->uses);
    EXPECT_EQ(1u, r->hits);
    EXPECT_EQ(2u, r->regs);
    EXPECT_EQ(0u, r->late + r->early + r->wasted + r->waited);
    EXPECT_EQ(0u, r->bound_bytes + r->bound_regions);
    ASSERT_EQ(2u, r->num_sites);
    EXPECT_EQ(1u, r->sites[0].caller);
    EXPECT_EQ(2u, r->sites[0].uses);
    EXPECT_EQ(1u, r->sites[0].hits);
    EXPECT_DOUBLE_EQ(900 * PAGE / 1e9, r->sites[0].byte_seconds);
    EXPECT_DOUBLE_EQ(1000 * PAGE / 1e9, r->sites[1].byte_seconds);
}

TEST_F(test_replay_models, leave_pinned_costs)
{
    m_program.reg   = {10, 100};
    m_program.dereg = {1, 7};
    m_program.use(0, 50, buffer(0), 2 * PAGE);
    m_program.use(50, 60, buffer(0), PAGE);

    replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ((replayed::curve_t{{0, 2 * PAGE}, {180, 0}}), r.curve());
    EXPECT_EQ(120u, r->waited);
    EXPECT_EQ(180u, r->duration);
    EXPECT_EQ(120 * 2 * PAGE, r.byte_ns(PREDREG_CAUSE_REG));
    EXPECT_EQ(60 * 2 * PAGE, r.byte_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(120u, r->sites[0].waited);
}

/* A use reaches beyond a region: a new region takes the place of both, and the
 * old one goes when its use has ended */
TEST_F(test_replay_models, merge)
{
    m_program.use(0, 10, buffer(0) + PAGE, PAGE);
    m_program.use(0, 200, buffer(0) + 4 * PAGE, PAGE);
    m_program.use(100, 110, buffer(0), 4 * PAGE + 1);
    m_program.use(300, 310, buffer(0) + 4 * PAGE, PAGE); /* Covered */
    m_program.last_until(400);

    replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ((replayed::curve_t{{0, 2 * PAGE}, {100, 6 * PAGE},
                                 {200, 5 * PAGE}, {400, 0}}), r.curve());
    EXPECT_EQ(1u, r->hits);
    EXPECT_EQ(3u, r->regs);
}

/* Regions begin and end at multiples of 16 bytes, so that neighbours do not
 * overlap */
TEST_F(test_replay_models, alignment)
{
    m_program.use(0, 10, buffer(0) + 8, 8);
    m_program.use(20, 30, buffer(0), 16);
    m_program.use(40, 50, buffer(0) + 16, 16);
    m_program.use(60, 70, buffer(0) + 15, 2);
    m_program.last_until(100);

    replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ(1u, r->hits);
    EXPECT_EQ(3u, r->regs);
    EXPECT_EQ((replayed::curve_t{{0, PAGE}, {40, 2 * PAGE}, {60, PAGE},
                                 {100, 0}}), r.curve());
}

/* The next use that registers deregisters it, on its critical path */
/* One region may hold all memory there can be, and is found */
TEST_F(test_replay_models, whole_address_space)
{
    static constexpr uint64_t LENGTH = (1ul << 57) - PAGE;

    m_program.use(0, 10, PAGE, LENGTH);
    m_program.use(20, 30, PAGE, LENGTH);
    m_program.use(40, 50, 0, 2 * PAGE); /* Overlaps */
    m_program.unmap(60, 0, 1ul << 57);
    m_program.last_until(100);

    for (unsigned policy = PREDREG_REPLAY_LEAVE_PINNED;
         policy <= PREDREG_REPLAY_REGIONS; ++policy) {
        replayed r = replay((predreg_replay_policy_t)policy);
        EXPECT_EQ(1u, r->hits);
        EXPECT_EQ(2u, r->regs);
    }
}

TEST_F(test_replay_models, unmap)
{
    m_program.dereg = {0, 5};
    m_program.use(0, 10, buffer(0), PAGE);
    m_program.use(0, 10, buffer(1), PAGE);
    m_program.unmap(100, buffer(0), PAGE);
    m_program.use(200, 210, buffer(1), PAGE); /* A hit cleans nothing up */
    m_program.use(300, 310, buffer(0), PAGE);
    m_program.last_until(400);

    replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ((replayed::curve_t{{0, 2 * PAGE}, {405, 0}}), r.curve());
    EXPECT_EQ(5u, r->waited);
    EXPECT_EQ(3u, r->regs);
    EXPECT_EQ(1u, r->hits);
    EXPECT_EQ(5 * PAGE, r.byte_ns(PREDREG_CAUSE_DEREG));
}

/* A region that is unmapped during a use serves no other use, and goes when
 * that use ends */
TEST_F(test_replay_models, unmap_in_use)
{
    m_program.use(0, 100, buffer(0), PAGE);
    m_program.unmap(50, buffer(0) - PAGE, 2 * PAGE);
    m_program.use(60, 70, buffer(0), PAGE);
    m_program.last_until(200);

    replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ(0u, r->hits);
    EXPECT_EQ((replayed::curve_t{{0, PAGE}, {60, 2 * PAGE}, {100, PAGE},
                                 {200, 0}}), r.curve());
}

/* The region that is idle longest is given up when the new one is there */
TEST_F(test_replay_models, lru)
{
    m_program.dereg = {0, 5};
    m_program.use(0, 10, buffer(0), PAGE);
    m_program.use(20, 30, buffer(1), PAGE);
    m_program.use(40, 50, buffer(0), PAGE);
    m_program.use(60, 70, buffer(2), PAGE); /* It is registered in place of 1 */
    m_program.use(80, 90, buffer(0), PAGE);
    /* It is registered in place of 2 */
    m_program.use(100, 110, buffer(1), PAGE);
    m_program.last_until(200);

    replayed r = replay(PREDREG_REPLAY_LRU, 2 * PAGE);
    EXPECT_EQ(2u, r->hits);
    EXPECT_EQ(4u, r->regs);
    EXPECT_EQ(10u, r->waited);
    EXPECT_EQ(2 * PAGE, r->bound_bytes);
    EXPECT_EQ((replayed::curve_t{{0, PAGE}, {20, 2 * PAGE}, {60, 3 * PAGE},
                                 {65, 2 * PAGE}, {105, 3 * PAGE},
                                 {110, 2 * PAGE}, {210, 0}}), r.curve());
}

/* A region keeps the place that the first end of overlapping uses gave it,
 * though another was idle before its last use ended */
TEST_F(test_replay_models, lru_overlapping_uses)
{
    m_program.use(0, 10, buffer(0), PAGE);
    m_program.use(5, 50, buffer(0), PAGE);
    m_program.use(20, 30, buffer(1), PAGE);
    m_program.use(60, 70, buffer(2), PAGE); /* It is registered in place of 0 */
    m_program.use(80, 90, buffer(1), PAGE);
    m_program.use(95, 99, buffer(0), PAGE);
    m_program.last_until(100);

    replayed r = replay(PREDREG_REPLAY_LRU, 2 * PAGE);
    EXPECT_EQ(2u, r->hits); /* These are the second uses of each buffer */
    EXPECT_EQ(4u, r->regs);
}

/* What is in use cannot be given up: the limit is exceeded, which is counted */
TEST_F(test_replay_models, lru_in_use)
{
    m_program.use(0, 100, buffer(0), PAGE);
    m_program.use(10, 100, buffer(1), PAGE);
    m_program.use(20, 100, buffer(2), PAGE);
    m_program.use(200, 210, buffer(3), PAGE);
    m_program.last_until(300);

    replayed r = replay(PREDREG_REPLAY_LRU, PAGE);
    EXPECT_EQ((replayed::curve_t{{0, PAGE}, {10, 2 * PAGE}, {20, 3 * PAGE},
                                 {200, PAGE}, {300, 0}}), r.curve());
}

TEST_F(test_replay_models, regions)
{
    m_program.use(0, 10, buffer(0), 100 * PAGE);
    m_program.use(20, 30, buffer(1), PAGE);
    m_program.use(40, 50, buffer(2), PAGE);
    m_program.use(60, 70, buffer(1), PAGE);
    m_program.last_until(100);

    replayed r = replay(PREDREG_REPLAY_REGIONS, 2);
    EXPECT_EQ((replayed::curve_t{{0, 100 * PAGE}, {20, 101 * PAGE},
                                 {40, 2 * PAGE}, {100, 0}}), r.curve());
    EXPECT_EQ(1u, r->hits);
}

/* The limit is half of what is registered without one */
TEST_F(test_replay_models, default_limits)
{
    for (unsigned i = 0; i < 10; ++i) {
        m_program.use(i * 100, i * 100 + 10, buffer(i), 2 * PAGE);
    }

    EXPECT_EQ(10 * PAGE, replay(PREDREG_REPLAY_LRU)->bound_bytes);
    EXPECT_EQ(5u, replay(PREDREG_REPLAY_REGIONS)->bound_regions);

    m_program = made_program();
    m_program.use(0, 10, buffer(0), 1);
    EXPECT_EQ(1u, replay(PREDREG_REPLAY_REGIONS)->bound_regions);
}

TEST_F(test_replay_models, domains_are_apart)
{
    m_program.use(0, 10, buffer(0), PAGE);
    m_program.use(20, 30, buffer(0), PAGE).domain = 1;
    m_program.use(40, 50, buffer(0), PAGE).domain = 1;
    m_program.unmap(60, buffer(0), 1); /* Of both */
    m_program.use(70, 80, buffer(0), PAGE);
    m_program.use(90, 100, buffer(0), PAGE).domain = 1;

    replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ(1u, r->hits);
    EXPECT_EQ(4u, r->regs);
    EXPECT_EQ(2 * PAGE, r->pinned.peak_bytes);
}

/* Each domain has a cache of its own, with the whole limit. By default, that is
 * half of what the one with most has */
TEST_F(test_replay_models, limits_are_of_a_domain)
{
    for (unsigned i = 0; i < 8; ++i) {
        m_program.use(i * 100, i * 100 + 10, buffer(i % 2), PAGE);
        m_program.use(i * 100 + 50, i * 100 + 60, buffer(i % 2), PAGE).domain =
                1;
    }
    EXPECT_EQ(12u, replay(PREDREG_REPLAY_LRU, 2 * PAGE)->hits);
    EXPECT_EQ(12u, replay(PREDREG_REPLAY_REGIONS, 2)->hits);
    EXPECT_EQ(0u, replay(PREDREG_REPLAY_REGIONS, 1)->hits);
    EXPECT_EQ(PAGE, replay(PREDREG_REPLAY_LRU)->bound_bytes);
    EXPECT_EQ(1u, replay(PREDREG_REPLAY_REGIONS)->bound_regions);
}

/* What was unmapped is deregistered by the next use that registers, but only up
 * to 512 MB wait for that */
TEST_F(test_replay_models, unreleased)
{
    m_program.dereg = {0, 5};
    m_program.use(0, 10, buffer(0), 300 * MB);
    m_program.use(20, 30, buffer(1), 300 * MB).domain = 1;
    m_program.use(20, 30, buffer(2), 300 * MB);
    m_program.use(40, 50, buffer(3), PAGE);
    m_program.unmap(100, buffer(0), 300 * MB);
    m_program.unmap(150, buffer(1), 300 * MB); /* Of another cache */
    m_program.unmap(200, buffer(2), 300 * MB); /* There are 300 MB before it */
    m_program.unmap(300, buffer(4), PAGE);     /* Now there are 600 MB */
    m_program.use(302, 310, buffer(3), PAGE);  /* A hit, but it has to wait */
    m_program.last_until(400);

    replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ(1u, r->hits);
    EXPECT_EQ(13u, r->waited);
    EXPECT_EQ((replayed::curve_t{{0, 300 * MB}, {20, 900 * MB},
                                 {40, 900 * MB + PAGE}, {305, 600 * MB + PAGE},
                                 {310, 300 * MB + PAGE}, {315, PAGE},
                                 {413, 0}}), r.curve());
    EXPECT_EQ(3 * 300 * MB * 5, r.byte_ns(PREDREG_CAUSE_DEREG));
}

/* The program ends while UCX cleans up */
TEST_F(test_replay_models, unreleased_at_the_end)
{
    m_program.dereg = {0, 5};
    m_program.use(0, 10, buffer(0), 600 * MB);
    m_program.use(0, 10, buffer(1), 600 * MB);
    m_program.unmap(100, buffer(0), 600 * MB);
    m_program.unmap(100, buffer(1), 600 * MB);
    m_program.unmap(200, buffer(2), PAGE);

    for (uint64_t end : {203ul, 207ul}) {
        m_program.last_until(end);
        replayed r = replay(PREDREG_REPLAY_LEAVE_PINNED);
        EXPECT_EQ(std::min(end, 205ul), (uint64_t)r.curve().back().first);
    }
}

TEST_F(test_replay_models, nothing_to_do)
{
    for (unsigned policy = PREDREG_REPLAY_LEAVE_PINNED;
         policy <= PREDREG_REPLAY_REGIONS; ++policy) {
        replayed r = replay((predreg_replay_policy_t)policy);
        EXPECT_EQ(0u, r->uses);
        EXPECT_EQ(0u, r->duration);
        EXPECT_EQ(0, r->pinned_avg_bytes);
        EXPECT_TRUE(r.curve().empty());
    }
}

/* With a limit there are never more hits than without one, and never more
 * memory */
TEST_F(test_replay_models, limits_limit)
{
    for (unsigned seed = 1; seed <= 20; ++seed) {
        m_program         = made_program::random(seed, 300);
        replayed pinned   = replay(PREDREG_REPLAY_LEAVE_PINNED);
        replayed lru      = replay(PREDREG_REPLAY_LRU);
        replayed regions  = replay(PREDREG_REPLAY_REGIONS);
        EXPECT_EQ(300u, pinned->uses);
        EXPECT_EQ(300u, lru->uses);
        EXPECT_LE(lru->hits, pinned->hits) << "seed " << seed;
        EXPECT_LE(regions->hits, pinned->hits) << "seed " << seed;
        EXPECT_LE(lru.byte_ns(), pinned.byte_ns()) << "seed " << seed;
        EXPECT_EQ(pinned->hits + pinned->regs, 300u);
        EXPECT_EQ(m_program.timeline()->duration + lru->waited, lru->duration);
    }
}

TEST_F(test_replay_models, no_memory)
{
    m_program.use(0, 10, buffer(0), PAGE);
    m_program.use(5, 10, buffer(0), 3 * PAGE);
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_params_t params     =
            replay_params(timeline, PREDREG_REPLAY_LRU);

    EXPECT_GE(end_without_memory([&]() {
        predreg_replay_result_t result;

        predreg_replay(timeline, &params, &result);
        return false;
    }), 15u);
}

TEST_F(test_replay_models, bad_parameters)
{
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_result_t result;

    auto refused = [&](predreg_replay_params_t params, const char *message) {
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  predreg_replay(timeline, &params, &result));
        std::string logged = log_watch::take();
        EXPECT_NE(std::string::npos, logged.find(message)) << logged;
    };
    predreg_replay_params_t good = replay_params(timeline, PREDREG_REPLAY_LRU);
    predreg_replay_params_t bad;

    bad        = good;
    bad.policy = PREDREG_REPLAY_LAST;
    refused(bad, "policy 10 is out of range: expected 0..9");
    bad        = good;
    bad.reg.op = -1;
    refused(bad, "registration at -1 ns");
    bad            = good;
    bad.dereg.page = NAN;
    refused(bad, "deregistration at 0 ns, and nan ns a page");
    bad        = good;
    bad.wakeup = UINT64_MAX;
    refused(bad, "wakes after");
}

/* Each of these costs may be, but times would not fit 64 bits */
TEST_F(test_replay_models, costs_beyond_the_end_of_time)
{
    predreg_use_t uses[40]      = {};
    predreg_timeline_t timeline = {};
    predreg_replay_result_t result;

    for (predreg_use_t &use : uses) {
        use.end     = 1;
        use.address = 4096;
        use.length  = 1ul << 60;
    }
    timeline.uses        = uses;
    timeline.num_uses    = 40;
    timeline.num_domains = 1;
    timeline.duration    = 1;

    for (unsigned p = 0; p < PREDREG_REPLAY_LAST; ++p) {
        predreg_replay_params_t params =
                replay_params(&timeline, (predreg_replay_policy_t)p);

        params.reg = params.dereg = {PREDREG_REPLAY_MAX_COST, 0};
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  predreg_replay(&timeline, &params, &result));
        std::string logged = log_watch::take();
        EXPECT_NE(std::string::npos, logged.find("expected are lower costs"))
                << logged;
    }
}
