/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <deque>


/* One region is used after others, each time about as long after them, while a whole
 * round takes once more and once less time */
class test_companion : public ::testing::Test {
protected:
    struct region {
        region() { ucs_rcache_pred_forecast_init(&forecast); }

        ucs_rcache_pred_forecast_t forecast;
        uint64_t                   own = 0;      /* Its own deadline */
        uint64_t                   deadline = 0; /* With its companion */
    };

    test_companion()
    {
        EXPECT_EQ(UCS_OK,
                  ucs_rcache_pred_predictor_init(&m_predictor, 16384, 8));
        m_times.reg     = 50 * USEC;
        m_times.dereg   = 20 * USEC;
        m_times.dq_item = m_times.rq_item = USEC;
    }

    ~test_companion()
    {
        for (auto &region : m_regions) {
            ucs_rcache_pred_forecast_forget(&m_predictor, &region.forecast);
        }
        ucs_rcache_pred_predictor_cleanup(&m_predictor);
    }

    region &at(unsigned number)
    {
        while (m_regions.size() <= number) {
            m_regions.emplace_back();
        }
        return m_regions[number];
    }

    /* The helper hears of the end of a use at once, gives the region up, and moves the
     * deadlines of those that follow */
    void use(unsigned number, uint64_t begin, uint64_t lasting = 0)
    {
        uint64_t ended                       = begin + lasting;
        region &used                         = at(number);
        ucs_rcache_pred_forecast_t *forecast = &used.forecast;
        ucs_rcache_pred_history_t *history;
        ucs_rcache_pred_site_t *site;

        ucs_rcache_pred_companion_learn(&m_predictor, forecast, begin, &m_times);
        ucs_rcache_pred_link_leave(&forecast->followers);
        ucs_rcache_pred_forecast_learn(&m_predictor, forecast, begin,
                                       100 + number, 7);
        site = ucs_rcache_pred_companion_heard(&m_predictor, forecast, begin, ended,
                                               ended + 10 * USEC);
        ASSERT_NE(nullptr, site);
        for (auto &other : m_regions) {
            if (follows(other) && is_follower(site, other)) {
                other.deadline = ucs_rcache_pred_companion_move(
                        &m_predictor, &other.forecast, ended);
            }
        }

        used.own = used.deadline = ucs_rcache_pred_forecast_deadline(
                &m_predictor, forecast, ended + 10 * USEC, &history);
        if (history != NULL) {
            used.deadline = ucs_rcache_pred_companion_follow(
                    &m_predictor, forecast, history, &m_times, used.own);
        }
    }

    static bool follows(const region &region)
    {
        return region.forecast.followers.next != NULL;
    }

    static bool is_follower(ucs_rcache_pred_site_t *site, const region &region)
    {
        ucs_rcache_pred_forecast_t *forecast;

        ucs_list_for_each(forecast, &site->followers, followers) {
            if (forecast == &region.forecast) {
                return true;
            }
        }
        return false;
    }

    uint64_t random(uint64_t below)
    {
        m_seed = m_seed * 6364136223846793005ul + 1442695040888963407ul;
        return (m_seed >> 33) % below;
    }

    /* A round of uses of these regions, so far apart. Rounds are 0.8 to 1.2 s long */
    void round(const std::vector<unsigned> &regions, uint64_t apart)
    {
        m_begin += 800 * MSEC + random(400 * MSEC);
        for (unsigned i = 0; i < regions.size(); ++i) {
            use(regions[i], m_begin + i * apart);
        }
    }

    void rounds(unsigned count, const std::vector<unsigned> &regions,
                uint64_t apart)
    {
        while (count-- > 0) {
            round(regions, apart);
        }
    }

    ucs_rcache_pred_predictor_t m_predictor;
    ucs_rcache_pred_times_t     m_times = {};
    std::deque<region>          m_regions;
    uint64_t                    m_begin = SEC;
    uint64_t                    m_seed  = 1;
};

TEST_F(test_companion, deadline_moves_with_the_one_before)
{
    rounds(20, {0, 1}, 20 * MSEC);
    ASSERT_TRUE(follows(at(1)));
    /* While it waits, a region is registered later than by its own deadline */
    EXPECT_GT(at(1).deadline, at(1).own);

    m_begin += 700 * MSEC; /* Earlier than ever */
    use(0, m_begin);
    EXPECT_LE(at(1).deadline, m_begin + 20 * MSEC);
    EXPECT_GE(at(1).deadline, m_begin + 19 * MSEC);
    /* The use is awaited also if it comes long before or after others did */
    EXPECT_GE(at(1).forecast.expiry, m_begin + 20 * MSEC);
}

/* The program waits in the companion's use, now for longer and now for shorter */
TEST_F(test_companion, distance_counts_from_the_end)
{
    uint64_t lasting;

    for (unsigned i = 0; i < 21; ++i) {
        m_begin += 800 * MSEC + random(400 * MSEC);
        lasting  = random(300 * MSEC);
        use(0, m_begin, lasting);
        if (i < 20) {
            use(1, m_begin + lasting + 20 * MSEC);
        }
    }
    ASSERT_TRUE(follows(at(1)));
    EXPECT_LE(at(1).deadline, m_begin + lasting + 20 * MSEC);
    EXPECT_GE(at(1).deadline, m_begin + lasting + 19 * MSEC);
}

/* Of distances that are all as likely, the deadline comes soon before the shortest */
TEST_F(test_companion, deadline_is_near_the_shortest_distance)
{
    unsigned misses = 0;
    uint64_t ahead  = 0;

    for (unsigned i = 0; i < 300; ++i) {
        uint64_t distance = 20 * MSEC + random(10 * MSEC);

        m_begin += 800 * MSEC + random(400 * MSEC);
        use(0, m_begin);
        if (i >= 50) {
            ASSERT_TRUE(follows(at(1)));
            misses += at(1).deadline > m_begin + distance;
            ahead  += m_begin + distance - ucs_min(at(1).deadline,
                                                   m_begin + distance);
        }
        use(1, m_begin + distance);
    }
    EXPECT_LE(misses, 250u / 33);
    /* 5 ms at least if there are no misses */
    EXPECT_LE(ahead / 250, 6500 * USEC);
}

/* One distance that was far too short is forgotten after 12 to 23 others */
TEST_F(test_companion, short_distance_is_forgotten)
{
    rounds(20, {0, 1}, 20 * MSEC);
    round({0, 1}, 10 * MSEC);
    use(0, m_begin += SEC);
    EXPECT_LE(at(1).deadline, m_begin + 10 * MSEC);
    use(1, m_begin + 20 * MSEC);

    rounds(24, {0, 1}, 20 * MSEC);
    use(0, m_begin += SEC);
    EXPECT_GE(at(1).deadline, m_begin + 18 * MSEC);
}

TEST_F(test_companion, first_of_a_round_has_none)
{
    rounds(20, {0, 1}, 20 * MSEC);
    EXPECT_FALSE(follows(at(0))) << "the one before varies as much as its own";
    EXPECT_EQ(at(0).own, at(0).deadline);
}

TEST_F(test_companion, regular_uses_have_none)
{
    for (unsigned i = 0; i < 20; ++i) {
        use(0, m_begin);
        use(1, m_begin + 20 * MSEC);
        m_begin += SEC;
    }
    EXPECT_FALSE(follows(at(1)));
    EXPECT_EQ(nullptr, ucs_rcache_pred_site_find(&m_predictor.sites,
                                                 at(1).forecast.last_site)->companions);
}

/* The helper would hear of it too late to register the region */
TEST_F(test_companion, too_near)
{
    rounds(20, {0, 1}, 100 * USEC);
    EXPECT_FALSE(follows(at(1)));
}

/* The helper would have to register and deregister all those in between */
TEST_F(test_companion, too_much_work_in_between)
{
    std::vector<unsigned> many;

    for (unsigned i = 0; i < 16; ++i) {
        many.push_back(i);
    }
    rounds(20, many, 60 * USEC);
    EXPECT_FALSE(follows(at(15)));
}

TEST_F(test_companion, that_departs)
{
    rounds(20, {0, 1}, 20 * MSEC);
    ASSERT_TRUE(follows(at(1)));
    rounds(1, {2, 1}, 20 * MSEC);
    EXPECT_FALSE(follows(at(1)));
    EXPECT_EQ(at(1).own, at(1).deadline);
    rounds(20, {2, 1}, 20 * MSEC);
    EXPECT_TRUE(follows(at(1))) << "another one has taken its place";
}

TEST_F(test_companion, used_twice_in_between)
{
    rounds(20, {0, 1}, 20 * MSEC);
    ASSERT_TRUE(follows(at(1)));
    rounds(2, {0, 0, 1}, 20 * MSEC);
    EXPECT_FALSE(follows(at(1)));
}

/* The other buffer comes to be used at other times, and the region goes back to its own
 * deadline, which varies less */
TEST_F(test_companion, whose_distance_changes)
{
    uint64_t begin;

    rounds(20, {0, 1}, 20 * MSEC);
    ASSERT_TRUE(follows(at(1)));
    begin = m_begin += SEC;
    for (unsigned i = 0; i < 40; ++i) {
        use(0, begin + random(500 * MSEC));
        use(1, begin + 600 * MSEC + random(20 * MSEC));
        begin += SEC;
    }
    EXPECT_FALSE(follows(at(1)));
}

TEST_F(test_companion, has_few_followers)
{
    std::vector<unsigned> many;
    unsigned followers = 0;

    for (unsigned i = 0; i < 24; ++i) {
        many.push_back(i);
    }
    rounds(30, many, MSEC);
    for (auto &region : m_regions) {
        if (follows(region)) {
            ucs_rcache_pred_site_t *site = ucs_rcache_pred_site_find(
                    &m_predictor.sites, region.forecast.last_site);
            followers += (site != NULL);
            EXPECT_LE(ucs_list_length(&site->followers), 8u);
        }
    }
    EXPECT_GE(followers, 16u) << "those behind others follow one";
}

TEST_F(test_companion, that_is_forgotten)
{
    rounds(20, {0, 1}, 20 * MSEC);
    ASSERT_TRUE(follows(at(1)));
    ucs_rcache_pred_forecast_forget(&m_predictor, &at(0).forecast);
    EXPECT_FALSE(follows(at(1)));
    rounds(1, {1}, 20 * MSEC);
    EXPECT_FALSE(follows(at(1)));
}

TEST_F(test_companion, follower_that_is_forgotten)
{
    rounds(20, {0, 1}, 20 * MSEC);
    ASSERT_TRUE(follows(at(1)));
    ucs_rcache_pred_forecast_forget(&m_predictor, &at(1).forecast);
    EXPECT_FALSE(follows(at(1)));
    use(0, m_begin += SEC);
}

/* The table may forget the site of a follower's last use */
TEST_F(test_companion, site_of_follower_is_replaced)
{
    rounds(20, {0, 1}, 20 * MSEC);
    ASSERT_TRUE(follows(at(1)));
    ucs_rcache_pred_site_remove(
            &m_predictor.sites,
            ucs_rcache_pred_site_find(&m_predictor.sites,
                                      at(1).forecast.last_site));
    use(0, m_begin += SEC);
    EXPECT_EQ(UCS_RCACHE_PRED_TIME_INF, at(1).deadline);
    rounds(20, {0, 1}, 20 * MSEC);
    EXPECT_TRUE(follows(at(1)));
}

/* Uses of several threads are heard of in any order, and the clock may go back */
TEST_F(test_companion, out_of_order)
{
    rounds(20, {0, 1}, 20 * MSEC);
    m_begin += SEC;
    use(1, m_begin + 20 * MSEC);
    use(0, m_begin);
    EXPECT_EQ(nullptr, ucs_rcache_pred_companion_heard(
                               &m_predictor, &at(0).forecast, m_begin - SEC,
                               m_begin - SEC, m_begin));
    EXPECT_EQ(nullptr, ucs_rcache_pred_companion_heard(
                               &m_predictor, &at(0).forecast, m_begin + 5 * SEC,
                               m_begin + 5 * SEC, m_begin));
    rounds(20, {0, 1}, 20 * MSEC);
    EXPECT_TRUE(follows(at(1)));
}
