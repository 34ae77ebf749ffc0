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
#include <tools/replay/policies/sim.h>

#include <algorithm>

/* The policies predict and on-demand, which the cache itself replays */
class test_replay_cache : public ::testing::Test {
protected:
    static constexpr uint64_t PAGE = made_program::PAGE;
    static constexpr uint64_t USEC = made_program::USEC;
    static constexpr uint64_t MSEC = made_program::MSEC;
    static constexpr uint64_t MB   = made_program::MB;

    replayed replay(predreg_replay_policy_t policy)
    {
        const predreg_timeline_t *timeline = m_program.timeline();

        return replayed(timeline, replay_params(timeline, policy));
    }

    /* Compare the account of the replay with the cache's own statistics */
    void compare(const predreg_replay_params_t &params)
    {
        predreg_replay_params_t sim    = params;
        predreg_replay_result_t result = {};
        ucs_rcache_pred_stats_t stats;

        sim.cache.policy = (params.policy == PREDREG_REPLAY_PREDICT) ?
                           UCS_RCACHE_PRED_POLICY_PREDICT :
                           UCS_RCACHE_PRED_POLICY_ON_DEMAND;
        sim.cache.pieces = sim.cache.pieces &&
                           (params.policy == PREDREG_REPLAY_PREDICT);

        ASSERT_EQ(UCS_OK,
                  predreg_sim_replay(m_program.timeline(), &sim, &result,
                                     &stats));
        EXPECT_EQ(stats.uses, result.uses);
        EXPECT_EQ(stats.hits, result.hits);
        EXPECT_EQ(stats.late, result.late);
        EXPECT_EQ(stats.bytes_peak, result.pinned.peak_bytes);
        /* In rounds of the program, time passes between an operation and what the cache
         * notes of it */
        EXPECT_NEAR(stats.byte_ns / 1e9, result.pinned.byte_seconds,
                    (sim.cache.helper == UCS_RCACHE_PRED_HELPER_PROGRESS) ?
                    1e-3 * result.pinned.byte_seconds : 0);
        EXPECT_EQ(stats.duration, result.duration);
        EXPECT_LE(stats.regs_critical + stats.regs_helper + stats.pieces,
                  result.regs);
        EXPECT_LE(result.pinned.peak_bytes, params.cache.max_bytes);
        EXPECT_EQ(m_program.timeline()->num_uses,
                  result.uses + result.refused);
        predreg_replay_result_cleanup(&result);
    }

    static uint64_t buffer(unsigned index)
    {
        return made_program::buffer(index);
    }

    made_program m_program;
};

TEST_F(test_replay_cache, on_demand)
{
    m_program.reg   = {10, 100};
    m_program.dereg = {1, 50};
    m_program.use(1000, 2000, buffer(0), 2 * PAGE);
    m_program.use(3000, 4000, buffer(0), 2 * PAGE);

    replayed r = replay(PREDREG_REPLAY_ON_DEMAND);
    EXPECT_EQ((replayed::curve_t{{1000, 2 * PAGE}, {2172, 0},
                                 {3172, 2 * PAGE}, {4344, 0}}), r.curve());
    EXPECT_EQ(2u, r->uses);
    EXPECT_EQ(0u, r->hits);
    EXPECT_EQ(2u, r->regs);
    EXPECT_EQ(2 * (120u + 52u), r->waited);
    EXPECT_EQ(4344u, r->duration);
    EXPECT_EQ(0u, r->helper);
    EXPECT_EQ(2 * 120 * 2 * PAGE, r.byte_ns(PREDREG_CAUSE_REG));
    EXPECT_EQ(2 * 52 * 2 * PAGE, r.byte_ns(PREDREG_CAUSE_DEREG));
    EXPECT_EQ(2 * 1000 * 2 * PAGE, r.byte_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(0u, r.byte_ns(PREDREG_CAUSE_KEPT));
}

/* Two uses at the same time have a registration each */
TEST_F(test_replay_cache, on_demand_overlap)
{
    m_program.use(0, 100, buffer(0), PAGE);
    m_program.use(50, 150, buffer(0), PAGE);

    replayed r = replay(PREDREG_REPLAY_ON_DEMAND);
    EXPECT_EQ((replayed::curve_t{{0, PAGE}, {150, 0}}), r.curve());
}

/* All but the first two uses are predicted, and little is registered between
 * uses. The use that is expected at the end does not come. */
TEST_F(test_replay_cache, periodic)
{
    m_program       = made_program::periodic(100, 100 * MSEC, 10 * MSEC, MB);
    m_program.reg   = {50, 10000};
    m_program.dereg = {10, 5000};

    replayed r = replay(PREDREG_REPLAY_PREDICT);
    EXPECT_EQ(100u, r->uses);
    EXPECT_EQ(98u, r->hits);
    EXPECT_EQ(0u, r->late);
    EXPECT_EQ(0u, r->early);
    EXPECT_EQ(2 * (10000u + 256 * 50), r->waited);
    EXPECT_EQ(100 * 10 * MSEC * MB, r.byte_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(0u, r.byte_ns(PREDREG_CAUSE_KEPT));
    /* When one interval is known, memory is registered 1/32 of a period before
     * its use, and then twice 1/64; and each time as long as the helper's sleep
     * may end too late */
    EXPECT_GT(r.byte_ns(PREDREG_CAUSE_AHEAD), 4 * 100 / 64 * MSEC * MB);
    EXPECT_LT(r.byte_ns(PREDREG_CAUSE_AHEAD), 9 * 100 / 64 * MSEC * MB);
    EXPECT_EQ(98u, r->prediction_errors[0] + r->prediction_errors[1] +
                   r->prediction_errors[2]);
    EXPECT_GT(r->helper, 98 * (10000u + 256 * 50 + 5000 + 256 * 10));
}

/* The helper's registration is under way when its use comes: to the nanosecond,
 * it is late if it is not complete */
TEST_F(test_replay_cache, late)
{
    const unsigned NUM = 10;
    uint64_t registered;

    auto program = [&](uint64_t last) {
        m_program     = made_program::periodic(NUM, 100 * MSEC, 10 * MSEC, MB);
        m_program.reg = {50, 100000};
        m_program.use(last, last + MSEC, buffer(0), MB);
    };

    /* Find out when the memory is registered for the last use, whose begin the
     * helper does not know */
    program(NUM * 100 * MSEC + 10 * MSEC);
    {
        replayed r = replay(PREDREG_REPLAY_PREDICT);
        auto curve = r.curve();
        EXPECT_EQ(NUM - 1, r->hits);
        ASSERT_EQ(MB, curve[curve.size() - 2].second);
        registered = curve[curve.size() - 2].first + 100000 + 256 * 50;
        registered -= r->waited;
    }

    for (unsigned early : {0, 1, 1000}) {
        program(registered - early);
        replayed r = replay(PREDREG_REPLAY_PREDICT);
        EXPECT_EQ(NUM - 1 - (early > 0), r->hits) << early;
        EXPECT_EQ((early > 0), r->late) << early;
        EXPECT_EQ(2 * (100000u + 256 * 50) + early, r->waited) << early;
    }
}

/* The helper runs while the program registers something else */
TEST_F(test_replay_cache, helper_goes_on_during_a_wait)
{
    m_program       = made_program::periodic(20, 10 * MSEC, MSEC, MB);
    m_program.reg   = {0, 3000000};
    m_program.dereg = {0, 100000};
    for (unsigned i = 0; i < 20; ++i) {
        m_program.use(i * 10 * MSEC + 2 * MSEC, i * 10 * MSEC + 3 * MSEC,
                      buffer(1 + i), PAGE, 2);
    }

    replayed r = replay(PREDREG_REPLAY_PREDICT);
    EXPECT_GT(r->hits, 10u);
    /* The program waits for the registration of new buffers, and for little
     * else */
    EXPECT_GE(r->waited, 20 * 3 * MSEC);
    EXPECT_LT(r->waited, 26 * 3 * MSEC);
}

/* A helper that wakes late has to be in time all the same */
TEST_F(test_replay_cache, wakeup)
{
    m_program = made_program::periodic(100, 20 * MSEC, 2 * MSEC, MB);
    m_program.reg = m_program.dereg = {0, 10000};
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_params_t params     =
            replay_params(timeline, PREDREG_REPLAY_PREDICT);
    uint64_t ahead = 0;

    for (uint64_t wakeup : {0ul, 100 * USEC, 900 * USEC}) {
        params.wakeup = wakeup;
        replayed r(timeline, params);
        EXPECT_GE(r->hits, 96u) << wakeup;
        EXPECT_GE(r.byte_ns(PREDREG_CAUSE_RELEASE), 90 * wakeup * MB);
        ahead = r.byte_ns(PREDREG_CAUSE_AHEAD);
    }
    EXPECT_GT(ahead, 0u);
}

/* What is predicted and does not come is wasted */
TEST_F(test_replay_cache, wasted)
{
    m_program = made_program::periodic(20, 20 * MSEC, 2 * MSEC, MB);
    m_program.last_until(made_program::SEC);

    replayed r = replay(PREDREG_REPLAY_PREDICT);
    EXPECT_GE(r->wasted, 1u);
    EXPECT_GT(r.byte_ns(PREDREG_CAUSE_WASTED), 0u);
    EXPECT_EQ(0u, r.curve().back().second);
    EXPECT_LT(r.curve().back().first, (int64_t)(500 * MSEC));
}

/* Uses that follow each other at once: the region is kept and not
 * deregistered */
TEST_F(test_replay_cache, kept)
{
    m_program = made_program::periodic(1000, 20 * USEC, 5 * USEC, MB);
    m_program.reg = m_program.dereg = {0, 10000};

    replayed r = replay(PREDREG_REPLAY_PREDICT);
    EXPECT_GT(r->hits, 990u);
    EXPECT_GT(r.byte_ns(PREDREG_CAUSE_KEPT), 14 * 900 * USEC * MB);
    EXPECT_LT(r->regs, 10u);
}

TEST_F(test_replay_cache, progress)
{
    m_program = made_program::periodic(100, 100 * MSEC, 10 * MSEC, MB);
    m_program.reg = m_program.dereg = {0, 10000};
    /* Another buffer is used, so that there is progress */
    m_program.use(0, 10000 * MSEC, buffer(1), PAGE, 2);
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_params_t params     =
            replay_params(timeline, PREDREG_REPLAY_PREDICT);

    params.cache.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    {
        replayed r(timeline, params);
        EXPECT_GT(r->hits, 95u);
        EXPECT_EQ(0u, r->helper);
        EXPECT_LT(r.byte_ns(), 10000 * MSEC * PAGE + 1400 * MSEC * MB);
    }

    /* Without progress, nobody registers ahead */
    m_program = made_program::periodic(100, 100 * MSEC, 10 * MSEC, MB);
    m_program.reg = m_program.dereg = {0, 10000};
    replayed r(m_program.timeline(), params);
    EXPECT_EQ(0u, r->hits);
    EXPECT_EQ(100u * 20000, r->waited);
}

TEST_F(test_replay_cache, helper_off)
{
    m_program = made_program::random(1, 100);
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_params_t off        =
            replay_params(timeline, PREDREG_REPLAY_PREDICT);
    predreg_replay_params_t on_demand  =
            replay_params(timeline, PREDREG_REPLAY_ON_DEMAND);

    off.cache.helper       = UCS_RCACHE_PRED_HELPER_OFF;
    off.cache.pieces       = 0;
    on_demand.cache.pieces = 0;
    EXPECT_EQ(replayed(timeline, off).text(),
              replayed(timeline, on_demand).text());
}

/* The first piece is waited for. From then on two are held, of which one lands
 * after the other, and with it the next one is registered */
TEST_F(test_replay_cache, pieces)
{
    m_program.reg   = {1000, 100};
    m_program.dereg = {0, 100};
    m_program.use(0, 100 * MSEC, buffer(0), 64 * MB).kind =
            UCS_RCACHE_PRED_USE_PIECES;
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_params_t params     =
            replay_params(timeline, PREDREG_REPLAY_PREDICT);
    uint64_t pages;

    {
        replayed r(timeline, params);
        EXPECT_EQ(1u, r->uses);
        EXPECT_EQ(0u, r->hits);
        pages = r->pinned.peak_bytes / 2 / PAGE;
        EXPECT_GT(pages, 1u);
        EXPECT_LT(pages, 64 * MB / PAGE / 4);
        EXPECT_EQ(pages * 1000 + 100, r->waited);
        EXPECT_EQ((64 * MB / PAGE + pages - 1) / pages, r->regs);
        EXPECT_GT(r.byte_ns(), 90 * MSEC * (2 * pages - pages / 2) * PAGE);
        EXPECT_LT(r.byte_ns(), 110 * MSEC * 2 * pages * PAGE);
    }

    params.cache.pieces = 0;
    replayed r(timeline, params);
    EXPECT_EQ(64 * MB, r->pinned.peak_bytes);
    EXPECT_EQ(64 * MB / PAGE * 1000 + 100, r->waited);
}

/* Each time a piece lands, its transfer gets another place among the others. To
 * look for it one by one would take half a minute here. */
TEST_F(test_replay_cache, pieces_of_many_transfers)
{
    const unsigned NUM = 20000;

    m_program.reg = m_program.dereg = {100, 10000};
    for (unsigned i = 0; i < NUM; ++i) {
        m_program.use(i * USEC, 10000 * MSEC + i * 37 % NUM * USEC,
                      buffer(i), 64 * MB).kind = UCS_RCACHE_PRED_USE_PIECES;
    }

    replayed r = replay(PREDREG_REPLAY_PREDICT);
    EXPECT_EQ(NUM, r->uses);
    EXPECT_EQ(0u, r->refused);
    EXPECT_GT(r->regs, 4ul * NUM);
    EXPECT_LT(r->pinned.peak_bytes, NUM * 64 * MB / 2);
}

/* What does not fit the bound is refused, goes in pieces, or takes the place of
 * what is idle */
TEST_F(test_replay_cache, bound)
{
    m_program.use(0, 1000, buffer(0), 8 * MB);
    m_program.use(2000, 3000, buffer(1), 30 * MB);
    m_program.use(4000, 5000, buffer(2), 30 * MB).kind =
            UCS_RCACHE_PRED_USE_LAST_RESORT;
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_params_t params     =
            replay_params(timeline, PREDREG_REPLAY_PREDICT);

    params.cache.max_bytes = 16 * MB;
    params.cache.budget    = INFINITY;
    replayed r(timeline, params);
    EXPECT_EQ(2u, r->uses);
    EXPECT_EQ(1u, r->refused);
    EXPECT_LE(r->pinned.peak_bytes, 16 * MB);
    EXPECT_EQ(8 * MB, r->pinned.peak_bytes);
}

TEST_F(test_replay_cache, unmap)
{
    m_program = made_program::periodic(10, 10 * MSEC, MSEC, MB);
    m_program.unmap(45 * MSEC, buffer(0), MB);

    replayed r = replay(PREDREG_REPLAY_PREDICT);
    EXPECT_EQ(10u, r->uses);
    /* What is mapped in its place is new memory, whose first use nobody can know.
     * The second one is expected as after the uses of what was there before */
    EXPECT_EQ(10u - 2 - 1, r->hits);
}

TEST_F(test_replay_cache, agrees_with_statistics)
{
    for (unsigned seed = 1; seed <= 30; ++seed) {
        m_program = made_program::random(seed, 400);
        const predreg_timeline_t *timeline = m_program.timeline();

        for (auto policy : {PREDREG_REPLAY_PREDICT, PREDREG_REPLAY_ON_DEMAND}) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << " policy "
                                            << policy);
            predreg_replay_params_t params = replay_params(timeline, policy);
            params.wakeup                  = seed * 1000;
            params.cache.helper            = (ucs_rcache_pred_helper_t)
                    (seed % UCS_RCACHE_PRED_HELPER_LAST);
            compare(params);
            params.cache.max_bytes   = 2 * MB;
            params.cache.max_regions = 8;
            params.cache.dq_size     = 2;
            compare(params);
        }
    }
}

TEST_F(test_replay_cache, deterministic)
{
    for (unsigned seed = 1; seed <= 5; ++seed) {
        m_program = made_program::random(seed, 500);
        for (unsigned policy = 0; policy < PREDREG_REPLAY_CLAIRVOYANT;
             ++policy) {
            std::string first =
                    replay((predreg_replay_policy_t)policy).text();
            /* Allocate something, so that later allocations have other
             * addresses */
            std::vector<std::string> heap(1000, std::string(seed * 777, ' '));
            EXPECT_TRUE(first ==
                        replay((predreg_replay_policy_t)policy).text());
        }
    }
}

/* A replay is recorded as a trace. The program that is found in it, without the
 * waits of the replay, is the one that was replayed, and a second replay has
 * the same result. */
TEST_F(test_replay_cache, recorded_replay)
{
    auto record = [](void *arg, const ucs_rcache_pred_event_t *event) {
        ((std::vector<ucs_rcache_pred_event_t>*)arg)->push_back(*event);
    };

    for (unsigned seed = 1; seed <= 30; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        m_program                          = made_program::random(seed, 300);
        const predreg_timeline_t *timeline = m_program.timeline();
        std::vector<ucs_rcache_pred_event_t> events;
        ucs_rcache_pred_sink_t sink        = {record, &events};
        predreg_replay_params_t params     = replay_params(
                timeline, (seed % 2) ? PREDREG_REPLAY_PREDICT :
                                       PREDREG_REPLAY_ON_DEMAND);
        ucs_rcache_trace_t trace           = {};
        predreg_timeline_t *found;
        uint64_t start;

        /* If a region has several uses at a time, a trace does not tell which
         * one ends. Any two of a domain may be slices of one region */
        for (size_t i = 0; i < timeline->num_uses; ++i) {
            predreg_use_t &use = timeline->uses[i];
            use.kind           = UCS_RCACHE_PRED_USE_WHOLE;
            for (size_t j = i + 1; j < timeline->num_uses; ++j) {
                if (timeline->uses[j].domain == use.domain) {
                    use.end = std::min(use.end, timeline->uses[j].begin);
                    break;
                }
            }
        }
        params.cache.sink = &sink;
        replayed first(timeline, params);

        std::stable_sort(events.begin(), events.end(),
                         [](const auto &a, const auto &b) {
                             return a.time < b.time;
                         });
        trace.path       = (char*)"made.trace";
        trace.events     = events.data();
        trace.num_events = events.size();
        ASSERT_EQ(UCS_OK, predreg_timeline_create(&trace, 0, &found));

        ASSERT_EQ(timeline->num_uses, found->num_uses);
        EXPECT_EQ(first->waited, found->waited);
        start = timeline->uses[0].begin;
        for (size_t i = 0; i < found->num_uses; ++i) {
            EXPECT_EQ(timeline->uses[i].begin, start + found->uses[i].begin);
            EXPECT_EQ(timeline->uses[i].end, start + found->uses[i].end);
        }
        EXPECT_NEAR(timeline->reg.page, found->reg.page, 0.1);
        EXPECT_NEAR(timeline->reg.op, found->reg.op, 1);
        EXPECT_NEAR(timeline->dereg.page, found->dereg.page, 0.1);
        EXPECT_NEAR(timeline->dereg.op, found->dereg.op, 1);

        found->duration   = timeline->duration;
        params.cache.sink = NULL;
        EXPECT_TRUE(first.text() == replayed(found, params).text());
        predreg_timeline_destroy(found);
    }
}

TEST_F(test_replay_cache, nothing_to_do)
{
    for (auto policy : {PREDREG_REPLAY_PREDICT, PREDREG_REPLAY_ON_DEMAND}) {
        replayed r = replay(policy);
        EXPECT_EQ(0u, r->uses);
        EXPECT_EQ(0u, r->duration);
        EXPECT_TRUE(r.curve().empty());
    }
}

TEST_F(test_replay_cache, bad_parameters)
{
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_params_t params     =
            replay_params(timeline, PREDREG_REPLAY_PREDICT);
    predreg_replay_result_t result;

    params.cache.history = 0;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              predreg_replay(timeline, &params, &result));
    EXPECT_EQ("history of 0 intervals is out of range: expected 1..16",
              log_watch::take());
}

TEST_F(test_replay_cache, no_memory)
{
    m_program = made_program::periodic(4, 10 * MSEC, MSEC, MB);
    m_program.use(15 * MSEC, 16 * MSEC, buffer(1), 64 * MB).kind =
            UCS_RCACHE_PRED_USE_PIECES;
    m_program.reg = {1000, 100};
    const predreg_timeline_t *timeline = m_program.timeline();
    predreg_replay_params_t params     =
            replay_params(timeline, PREDREG_REPLAY_PREDICT);
    replayed all(timeline, params);
    unsigned count                     = end_without_memory([&]() {
        predreg_replay_result_t result;

        /* The cache does without some allocations, and then a use is
         * refused, or has no companions, which would not help it */
        return (predreg_replay(timeline, &params, &result) == UCS_OK) &&
               ((result.refused > 0) || (result.hits == all->hits));
    });

    EXPECT_GE(count, 20u);
}

/* While the helper works, the program does not */
TEST_F(test_replay_cache, shared_processor)
{
    made_program program = made_program::periodic(20, 100 * MSEC, MSEC, MB);

    program.reg   = {0, 20000};
    program.dereg = {0, 10000};
    auto params   = replay_params(program.timeline(), PREDREG_REPLAY_PREDICT);
    params.cache.helper = UCS_RCACHE_PRED_HELPER_AGGRESSIVE;
    replayed own(program.timeline(), params);
    params.shared = 1;
    replayed shared(program.timeline(), params);

    EXPECT_GE(own->hits, 15u);
    EXPECT_GE(shared->hits, 15u);
    /* It also begins to run, at least once for each of its operations */
    EXPECT_GE(shared->duration, own->duration + shared->helper +
              shared->num_helper_ops * 5 * USEC);
    EXPECT_LE(shared->duration, own->duration + shared->helper +
              8 * shared->num_helper_ops * 5 * USEC);
}

/* What the program does for the helper while it waits for a message is not for nothing: the
 * run takes longer by all of it */
TEST_F(test_replay_cache, work_in_place_of_the_helper)
{
    made_program program = made_program::periodic(20, 100 * MSEC, MSEC, MB);

    program.reg   = {0, 20000};
    program.dereg = {0, 10000};
    program.use(0, 2000 * MSEC, buffer(1), PAGE, 2); /* The program waits all the time */
    auto params         = replay_params(program.timeline(), PREDREG_REPLAY_PREDICT);
    params.cache.helper = UCS_RCACHE_PRED_HELPER_AGGRESSIVE;
    params.cache.budget = INFINITY;
    replayed own(program.timeline(), params);
    params.cache.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    replayed progress(program.timeline(), params);

    EXPECT_GE(progress->hits, 15u);
    EXPECT_GE(progress->regs, 15u);
    EXPECT_GE(progress->duration, own->duration + (progress->regs - 5) * 30000);
}

/* Rounds of the program cost a part of the budget, also where registrations cost nothing, and
 * delay nobody while the program waits for a message anyway */
TEST_F(test_replay_cache, rounds_in_place_of_the_helper)
{
    made_program program = made_program::periodic(20, 100 * MSEC, MSEC, MB);

    program.reg   = {0, 0};
    program.dereg = {0, 0};
    program.use(0, 2000 * MSEC, buffer(1), PAGE, 2);
    auto params         = replay_params(program.timeline(), PREDREG_REPLAY_PREDICT);
    params.cache.helper = UCS_RCACHE_PRED_HELPER_AGGRESSIVE;
    replayed own(program.timeline(), params);
    params.cache.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    replayed progress(program.timeline(), params);

    /* A round after each use, or more */
    EXPECT_GE(progress->spent, own->spent + 20 * 4500);
    EXPECT_LE(progress->spent, 20 * MSEC);          /* 1 % of the run time */
    EXPECT_LE(progress->duration, own->duration + 22 * 60 * USEC); /* At ends of uses */
}

/* Operations take as much longer or shorter than the line says as the recorded ones did, in
 * turns */
TEST_F(test_replay_cache, spread_of_costs)
{
    made_program program = made_program::periodic(5, 100 * MSEC, MSEC, MB);
    double regs[]        = {1, 3}, deregs[] = {0.5};

    program.reg   = {0, 20000};
    program.dereg = {0, 10000};
    predreg_timeline_t timeline = *program.timeline();
    timeline.reg_spread         = {regs, 2};
    timeline.dereg_spread       = {deregs, 1};
    replayed r(&timeline, replay_params(&timeline, PREDREG_REPLAY_ON_DEMAND));
    EXPECT_EQ((1 + 3 + 1 + 3 + 1) * 20000 + 5 * 5000u, r->waited);
}

/* The first use of memory registers it for longer, under every policy, and the cache learns
 * from that as from any registration */
TEST_F(test_replay_cache, fresh_memory)
{
    made_program program = made_program::periodic(3, 100 * MSEC, MSEC, MB);
    predreg_replay_policy_t policies[] = {PREDREG_REPLAY_ON_DEMAND, PREDREG_REPLAY_PREDICT,
                                          PREDREG_REPLAY_LEAVE_PINNED};

    program.reg   = {0, 20000};
    program.dereg = {0, 10000};
    for (auto policy : policies) {
        predreg_timeline_t timeline = *program.timeline();
        replayed before(&timeline, replay_params(&timeline, policy));
        timeline.uses[0].fresh = 5 * MSEC;
        replayed after(&timeline, replay_params(&timeline, policy));
        /* Predict may decide otherwise about a use */
        EXPECT_NEAR(before->duration + 5 * MSEC, after->duration, 30 * USEC) << policy;
        timeline.uses[0].fresh = 0;
    }
}

/* A use that lasts for a hundred years takes no time: the program that waits for its end has
 * something to do now and then only */
TEST_F(test_replay_cache, progress_during_an_endless_use)
{
    static constexpr uint64_t YEARS = 100ul * 365 * 24 * 3600 *
                                      made_program::SEC;
    made_program program = made_program::periodic(20, 100 * MSEC, MSEC, MB);

    program.use(3 * made_program::SEC, YEARS, made_program::buffer(0), MB);
    auto params = replay_params(program.timeline(), PREDREG_REPLAY_PREDICT);
    params.cache.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    replayed progress(program.timeline(), params);
    EXPECT_EQ(21u, progress->uses);
    EXPECT_GE(progress->duration, YEARS);
}

/* The program does the work, and gives memory up that costs little beside the time for
 * which it is not used */
TEST_F(test_replay_cache, conservative_helper_without_a_processor)
{
    made_program program = made_program::periodic(20, 100 * MSEC, MSEC, MB);
    auto params = replay_params(program.timeline(), PREDREG_REPLAY_PREDICT);

    program.reg         = {0, 20000};
    params.shared       = 1;
    params.cache.helper = UCS_RCACHE_PRED_HELPER_CONSERVATIVE;
    replayed conservative(program.timeline(), params);
    params.shared       = 0;
    params.cache.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    replayed progress(program.timeline(), params);
    EXPECT_LT(conservative->pinned_avg_bytes, 0.1 * MB);
    EXPECT_TRUE(conservative.text() == progress.text());
}
