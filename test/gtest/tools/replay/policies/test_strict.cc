/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/log_watch.h>
#include <common/timelines.h>

#include <gtest/gtest.h>

extern "C" {
#include <ucs/rcache_pred/predict/policy.h>
}

#include <algorithm>
#include <limits>
#include <map>
#include <set>


/* A small program of a few buffers, one of which each use is of, under bounds; and the
 * least waits of any schedule that keeps the bounds, by trying all of them */
class small_program {
public:
    explicit small_program(unsigned seed) : m_generator(seed)
    {
        const unsigned num_buffers = 3 + below(3);
        const unsigned num_uses    = 8 + below(7);
        uint64_t time              = 0;

        program.reg   = {100. * below(4), 1 + 1000. * below(20)};
        program.dereg = {50. * below(3), 500. * below(20)};
        for (unsigned i = 0; i < num_buffers; ++i) {
            m_pages.push_back(1 + below(6));
        }
        for (unsigned i = 0; i < num_uses; ++i) {
            unsigned buffer = below(num_buffers);
            time           += made_program::USEC * (1 + below(50));
            program.use(time, time + made_program::USEC * below(60),
                        made_program::buffer(buffer),
                        m_pages[buffer] * made_program::PAGE);
            m_buffers.push_back(buffer);
        }
        if (below(3) > 0) {
            max_pages = 1 + below(14);
        }
        if ((max_pages == NONE) || (below(3) == 0)) {
            max_regions = 1 + below(4);
        }
    }

    replayed replay(predreg_replay_policy_t policy)
    {
        auto params = replay_params(program.timeline(), policy);

        if (max_pages != NONE) {
            /* Half of such a small bound is the reserve for pieces */
            params.cache.max_bytes = 2 * max_pages * made_program::PAGE;
        }
        if (max_regions != NONE) {
            params.cache.max_regions = max_regions + 1;
        }
        return replayed(program.timeline(), params);
    }

    uint64_t least_waits()
    {
        const predreg_timeline_t *timeline = program.timeline();
        std::map<unsigned, uint64_t> waits = {{0, 0}}; /* By the registered buffers */

        for (size_t i = 0; i < timeline->num_uses; ++i) {
            std::map<unsigned, uint64_t> next;
            for (auto &state : waits) {
                try_use(*timeline, i, state.first, state.second, next);
            }
            waits = next;
        }

        uint64_t least = NONE;
        for (auto &state : waits) {
            least = std::min(least, state.second);
        }
        return least;
    }

    made_program program;

private:
    static constexpr uint64_t NONE = std::numeric_limits<uint64_t>::max();

    uint64_t below(uint64_t limit) { return m_generator() % limit; }

    bool fits(unsigned buffers) const
    {
        uint64_t pages = 0, regions = 0;

        for (unsigned i = 0; i < m_pages.size(); ++i) {
            pages   += (buffers >> i & 1) * m_pages[i];
            regions += buffers >> i & 1;
        }
        return (pages <= max_pages) && (regions <= max_regions);
    }

    uint64_t dereg_time(unsigned buffers) const
    {
        uint64_t sum = 0;

        for (unsigned i = 0; i < m_pages.size(); ++i) {
            sum += (buffers >> i & 1) *
                   predreg_cost_of(&program.dereg, 0, m_pages[i] * made_program::PAGE);
        }
        return sum;
    }

    /* Which buffers have uses under way at the begin of a use, without refused uses. The
     * same uses are refused in all schedules, since who is in use cannot give way */
    unsigned under_way(const predreg_timeline_t &timeline, size_t index) const
    {
        unsigned buffers = 0;

        for (size_t i = 0; i < index; ++i) {
            if (!m_refused.count(i) &&
                (timeline.uses[i].end > timeline.uses[index].begin)) {
                buffers |= 1 << m_buffers[i];
            }
        }
        return buffers;
    }

    void try_use(const predreg_timeline_t &timeline, size_t index, unsigned registered,
                 uint64_t waited, std::map<unsigned, uint64_t> &next)
    {
        const unsigned buffer = 1 << m_buffers[index];
        const unsigned busy   = registered & under_way(timeline, index);
        const uint64_t length = timeline.uses[index].length;

        auto add = [&next](unsigned state, uint64_t waits) {
            auto found = next.emplace(state, waits).first;
            found->second = std::min(found->second, waits);
        };

        if (registered & buffer) {
            add(registered, waited);
        } else if (!fits(busy | buffer)) {
            m_refused.insert(index);
            add(registered, waited + predreg_copy_time(length));
        } else {
            for (unsigned kept = 0; kept <= registered; ++kept) {
                if (((kept | registered) == registered) && ((kept & busy) == busy) &&
                    fits(kept | buffer)) {
                    add(kept | buffer, waited + dereg_time(registered & ~kept) +
                                       predreg_cost_of(&program.reg, 0, length));
                }
            }
        }
    }

    std::mt19937_64       m_generator;
    std::vector<uint64_t> m_pages;
    std::vector<unsigned> m_buffers;
    std::set<size_t>      m_refused;
    uint64_t              max_pages   = NONE;
    uint64_t              max_regions = NONE;
};


class test_replay_strict : public ::testing::Test {
protected:
    static constexpr uint64_t MSEC = made_program::MSEC;
    static constexpr uint64_t PAGE = made_program::PAGE;
    static constexpr uint64_t REG  = 1000;

    static uint64_t buffer(unsigned index) { return made_program::buffer(index); }

    test_replay_strict()
    {
        m_program.reg   = {0, REG};
        m_program.dereg = {0, 100};
    }

    /* A use of pages of a buffer, shorter than the time to the next one */
    predreg_use_t &use(unsigned index, unsigned pages = 1, unsigned first = 0)
    {
        m_time += MSEC;
        return m_program.use(m_time, m_time + MSEC / 2, buffer(index) + first * PAGE,
                             pages * PAGE);
    }

    replayed replay(predreg_replay_policy_t policy, uint64_t max_pages,
                    uint64_t max_regions)
    {
        auto params = replay_params(m_program.timeline(), policy);

        if (max_pages > 0) {
            params.cache.max_bytes = 2 * max_pages * PAGE;
        }
        if (max_regions > 0) {
            params.cache.max_regions = max_regions + 1;
        }
        return replayed(m_program.timeline(), params);
    }

    replayed lru(uint64_t max_pages, uint64_t max_regions = 0)
    {
        return replay(PREDREG_REPLAY_STRICT_LRU, max_pages, max_regions);
    }

    replayed bounded(uint64_t max_pages, uint64_t max_regions = 0)
    {
        return replay(PREDREG_REPLAY_BOUNDED, max_pages, max_regions);
    }

    made_program m_program;
    uint64_t     m_time = 0;
};

TEST_F(test_replay_strict, no_uses)
{
    m_program.last_until(5 * MSEC);
    for (auto policy : {PREDREG_REPLAY_STRICT_LRU, PREDREG_REPLAY_BOUNDED}) {
        replayed r = replay(policy, 4, 2);
        EXPECT_EQ(0u, r->uses + r->regs + r->refused + r->waited);
        EXPECT_EQ(5 * MSEC, r->duration);
        EXPECT_EQ(8 * PAGE, r->bound_bytes);
        EXPECT_EQ(3u, r->bound_regions);
    }
}

/* Without a bound everything stays registered, as under leave-pinned */
TEST_F(test_replay_strict, no_bound)
{
    for (unsigned i = 0; i < 20; ++i) {
        use(i % 4, 1 + i % 4);
    }
    for (auto policy : {PREDREG_REPLAY_STRICT_LRU, PREDREG_REPLAY_BOUNDED}) {
        replayed r = replay(policy, 0, 0);
        EXPECT_EQ(4u, r->regs);
        EXPECT_EQ(16u, r->hits);
        EXPECT_EQ(4 * REG, r->waited);
        EXPECT_EQ(0u, r->bound_bytes + r->bound_regions);
        EXPECT_EQ(replay(PREDREG_REPLAY_LEAVE_PINNED, 0, 0).byte_ns(), r.byte_ns());
    }
}

/* Who gives way goes before the registration, and the program waits for both */
TEST_F(test_replay_strict, turns)
{
    for (unsigned i = 0; i < 9; ++i) {
        use(i % 3);
    }
    replayed r = lru(2);
    EXPECT_EQ(9u, r->regs);
    EXPECT_EQ(9 * REG + 7 * 100, r->waited);
    EXPECT_EQ(9 * MSEC + MSEC / 2 + r->waited, r->duration);
    EXPECT_EQ(2 * PAGE, r->pinned.peak_bytes);
    EXPECT_EQ(r->waited, lru(0, 2)->waited);

    /* 0 1 2, then 0 and 1 in turns are kept: every second use is a hit */
    replayed best = bounded(2);
    EXPECT_EQ(6u, best->regs);
    EXPECT_EQ(6 * REG + 4 * 100, best->waited);
    EXPECT_EQ(best->waited, bounded(0, 2)->waited);
}

/* The least recently used is the one whose last use ended first */
TEST_F(test_replay_strict, order_of_ends)
{
    m_program.use(0, 5 * MSEC, buffer(0), PAGE);
    m_program.use(MSEC, 2 * MSEC, buffer(1), PAGE);
    m_program.use(6 * MSEC, 7 * MSEC, buffer(2), PAGE);
    m_program.use(8 * MSEC, 9 * MSEC, buffer(0), PAGE);
    replayed r = lru(2);
    EXPECT_EQ(1u, r->hits);
    EXPECT_EQ(3u, r->regs);
}

/* What never fits and what does not fit beside what is in use costs a copy, and nothing
 * gives way for it */
TEST_F(test_replay_strict, refused)
{
    use(0);
    use(1, 5);
    m_program.use(m_time + MSEC, m_time + 3 * MSEC, buffer(2), 3 * PAGE);
    m_program.use(m_time + 2 * MSEC, m_time + 4 * MSEC, buffer(3), 2 * PAGE);
    m_time += 5 * MSEC;
    use(0);
    for (auto policy : {PREDREG_REPLAY_STRICT_LRU, PREDREG_REPLAY_BOUNDED}) {
        replayed r = replay(policy, 4, 0);
        EXPECT_EQ(3u, r->uses);
        EXPECT_EQ(2u, r->refused);
        EXPECT_EQ(1u, r->hits);
        EXPECT_EQ(2 * REG + predreg_copy_time(5 * PAGE) + predreg_copy_time(2 * PAGE),
                  r->waited);
    }

    replayed one = lru(0, 1);
    EXPECT_EQ(1u, one->refused);
    EXPECT_EQ(4u, one->regs);
}

/* Predict has the same charge */
TEST_F(test_replay_strict, predict_copies_too)
{
    use(0);
    use(1, 200);
    auto params = replay_params(m_program.timeline(), PREDREG_REPLAY_PREDICT);

    params.cache.max_bytes = 64 * PAGE;
    replayed r(m_program.timeline(), params);
    EXPECT_EQ(1u, r->refused);
    EXPECT_EQ(REG + predreg_copy_time(200 * PAGE), r->waited);
    EXPECT_EQ(2 * MSEC + MSEC / 2 + r->waited, r->duration);
    EXPECT_EQ(64 * PAGE, r->bound_bytes);
}

/* A registration serves all slices of it, and no longer or other range. It ends where
 * the other one begins */
TEST_F(test_replay_strict, slices)
{
    use(0, 4);
    use(0, 2, 1); /* Hit */
    use(0, 3, 2); /* Overlaps, both are registered */
    use(0, 1, 4); /* Hit */
    use(0, 2, 5); /* Touches the second one */
    replayed r = lru(16);
    EXPECT_EQ(2u, r->hits);
    EXPECT_EQ(3u, r->regs);
    EXPECT_EQ(9 * PAGE, r->pinned.peak_bytes);
    EXPECT_EQ(r.byte_ns(), bounded(16).byte_ns());

    /* The larger slice is used next, by way of a part of it, and the small one later */
    use(0, 1, 0);
    EXPECT_EQ(4u, lru(7)->regs);
    EXPECT_EQ(3u, bounded(7)->regs);
}

/* Unmapped memory serves nobody, gives way before the next registration, and counts as
 * registered until then */
TEST_F(test_replay_strict, unmaps)
{
    use(0, 2);
    m_program.unmap(m_time + MSEC / 2, buffer(0) + PAGE, PAGE);
    use(1);
    use(0, 2);
    m_program.unmap(m_time + MSEC / 4, buffer(0), 2 * PAGE); /* In use */
    use(0, 1);
    for (auto policy : {PREDREG_REPLAY_STRICT_LRU, PREDREG_REPLAY_BOUNDED}) {
        replayed r = replay(policy, 100, 0);
        EXPECT_EQ(0u, r->hits);
        EXPECT_EQ(4 * REG + 2 * 100, r->waited);
        EXPECT_EQ(3 * PAGE, r->pinned.peak_bytes);
    }
}

/* What has no use before it is unmapped is worth nothing */
TEST_F(test_replay_strict, future_ends_with_unmap)
{
    use(0);
    use(1);
    use(2);
    use(0);
    m_program.unmap(m_time - MSEC / 4, buffer(0), PAGE);
    use(1);
    EXPECT_EQ(1u, bounded(2)->hits);
    EXPECT_EQ(0u, lru(2)->hits);
}

/* Each domain registers by itself; the bound is one */
TEST_F(test_replay_strict, domains)
{
    for (unsigned i = 0; i < 6; ++i) {
        use(0).domain = i % 2;
    }
    EXPECT_EQ(2u, lru(2)->regs);
    EXPECT_EQ(6u, lru(1)->regs);
    EXPECT_EQ(6u, bounded(0, 1)->regs);
}

/* The time to the next use counts as the room does, against the cost */
TEST_F(test_replay_strict, room_and_cost)
{
    m_program.reg   = {1000, 0};
    m_program.dereg = {0, 0};
    use(0, 8);
    use(1, 1);
    use(2, 1);
    use(0, 8);
    use(1, 1);
    /* Buffer 0 costs 8000 in either case, and is used first: but 1 goes for 1000 */
    EXPECT_EQ(8000u + 1000 + 1000 + 1000, bounded(9)->waited);
    EXPECT_EQ(8000u + 1000 + 1000 + 8000 + 1000, lru(9)->waited);
}

TEST_F(test_replay_strict, near_the_best_schedule)
{
    unsigned better = 0;

    for (unsigned seed = 0; seed < 3000; ++seed) {
        small_program program(seed);
        uint64_t least = program.least_waits();
        uint64_t waits = program.replay(PREDREG_REPLAY_BOUNDED)->waited;
        uint64_t lru   = program.replay(PREDREG_REPLAY_STRICT_LRU)->waited;

        ASSERT_LE(least, waits) << "seed " << seed;
        ASSERT_LE(waits, 1.05 * least) << "seed " << seed;
        ASSERT_LE(waits, lru) << "seed " << seed;
        better += (waits < lru);
    }
    EXPECT_LT(500u, better);
}

/* At every instant, with overlapping slices and uses, domains and unmaps */
TEST_F(test_replay_strict, keeps_bound)
{
    for (unsigned seed = 0; seed < 4; ++seed) {
        made_program program = made_program::random(seed, 200);
        for (uint64_t max_bytes : {1ul << 17, 1ul << 20, 24ul << 20}) {
            uint64_t reserve = ucs_rcache_pred_bound_reserve(max_bytes, PAGE);
            for (auto policy : {PREDREG_REPLAY_STRICT_LRU, PREDREG_REPLAY_BOUNDED}) {
                auto params = replay_params(program.timeline(), policy);
                params.cache.max_bytes = max_bytes;
                replayed r(program.timeline(), params);
                EXPECT_GE(max_bytes - reserve, r->pinned.peak_bytes) << seed;
                EXPECT_EQ(200u, r->uses + r->refused) << seed;
                EXPECT_EQ(r->uses, r->hits + r->regs) << seed;
            }
        }
    }
}

/* All buffers have a page, so that the bytes tell the number of registrations */
TEST_F(test_replay_strict, keeps_bound_on_regions)
{
    std::mt19937_64 generator(1);

    for (unsigned i = 0; i < 2000; ++i) {
        m_time             += generator() % (MSEC / 4);
        predreg_use_t &made = m_program.use(m_time, m_time + generator() % MSEC,
                                            buffer(generator() % 20), PAGE);
        made.domain         = generator() % 2;
        if (generator() % 20 == 0) {
            m_program.unmap(m_time, buffer(generator() % 20), PAGE);
        }
    }
    for (unsigned regions : {2, 3, 9}) {
        EXPECT_EQ(regions * PAGE, lru(0, regions)->pinned.peak_bytes);
        EXPECT_EQ(regions * PAGE, bounded(0, regions)->pinned.peak_bytes);
        EXPECT_LT(bounded(0, regions)->waited, lru(0, regions)->waited);
    }
}

/* Both bounds: each holds */
TEST_F(test_replay_strict, both_bounds)
{
    for (unsigned i = 0; i < 40; ++i) {
        use(i % 5, 1 + 2 * (i % 5));
    }
    for (auto policy : {PREDREG_REPLAY_STRICT_LRU, PREDREG_REPLAY_BOUNDED}) {
        EXPECT_GE(10 * PAGE, replay(policy, 10, 2)->pinned.peak_bytes);
        EXPECT_GE(replay(policy, 10, 2)->regs, replay(policy, 10, 0)->regs);
        EXPECT_GE(replay(policy, 10, 2)->waited, replay(policy, 0, 2)->waited);
    }
}

/* A search that takes more steps than allowed is left out */
TEST_F(test_replay_strict, too_long)
{
    for (unsigned i = 0; i < 100; ++i) {
        use(i % 50);
    }
    auto params = replay_params(m_program.timeline(), PREDREG_REPLAY_BOUNDED);
    predreg_replay_result_t result;

    params.cache.max_regions = 20;
    params.max_steps         = 1;
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              predreg_replay(m_program.timeline(), &params, &result));
    EXPECT_EQ("bounded is left out: so many buffers are registered under the bound that "
              "the choice of victims takes more than 1 steps", log_watch::take());
}
