/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node_test.h"

#include <common/child.h>

#include <unistd.h>

/* Keys of devices, which processes count together, and the limit on them that refusals
 * tell */
class test_keys : public node_test {
protected:
    static constexpr uint64_t MSEC = 1000000, SEC = 1000 * MSEC;
    static constexpr uint64_t NAME = 7;

    /* A process that uses so many buffers in turns, and registers each for as long as it
     * has a key for it: what the cache does */
    struct rank {
        ucs_rcache_pred_node_t *node;
        unsigned               buffers;
        uint64_t               keys;
    };

    static ucs_rcache_pred_node_keys_t get(ucs_rcache_pred_node_t *node, unsigned device)
    {
        ucs_rcache_pred_node_keys_t keys;

        ucs_rcache_pred_node_get_keys(node, device, &keys);
        return keys;
    }

    void start(unsigned count, unsigned buffers)
    {
        for (unsigned i = 0; i < count; ++i) {
            auto node = join();
            ASSERT_EQ(0u, ucs_rcache_pred_node_device(node, NAME));
            m_ranks.push_back({node, buffers, 0});
        }
    }

    void give(rank &r)
    {
        ucs_rcache_pred_node_key_given(r.node, 0);
        --r.keys;
        --m_taken;
    }

    /* A process registers a buffer that it has no key for */
    void miss(rank &r)
    {
        ucs_rcache_pred_node_keys_t keys;
        bool refused = false;

        while (!ucs_rcache_pred_node_has_key(r.node, 0)) {
            ucs_rcache_pred_node_lacks_key(r.node, 0, m_now);
            if (r.keys == 0) {
                break;
            }
            give(r);
        }

        while (m_taken >= m_device) {
            ++m_refused;
            refused = true;
            if (r.keys == 0) {
                ++m_starved;
                return;
            }
            give(r);
        }

        ucs_rcache_pred_node_key_taken(r.node, 0);
        ++r.keys;
        ++m_taken;
        if (refused) {
            m_first += ucs_rcache_pred_node_key_refused(r.node, 0, m_now, &keys);
        }
    }

    /* Let all processes run, and each use a hundred buffers a second. A process uses a
     * buffer at random that has a key by as much chance as the process has keys */
    void run(uint64_t time)
    {
        for (uint64_t end = m_now + time; m_now < end; m_now += 10 * MSEC) {
            for (auto &r : m_ranks) {
                if (std::rand() % r.buffers >= r.keys) {
                    miss(r);
                }
            }
            ++m_looks;
            m_few_free += (m_taken > m_device * 95 / 100);
        }
    }

    std::vector<rank> m_ranks;
    uint64_t          m_device  = 0; /* How many keys the device has */
    uint64_t          m_taken   = 0;
    unsigned          m_refused = 0, m_starved = 0, m_first = 0;
    unsigned          m_looks = 0, m_few_free = 0;
};

/* A thread that sleeps is woken once, and looks by itself from then on */
TEST_F(test_keys, asking_wakes_threads_that_sleep)
{
    start(2, 1);
    auto a = m_ranks[0].node, b = m_ranks[1].node;
    uint64_t idle;

    EXPECT_FALSE(ucs_rcache_pred_node_ask_keys(a, 0, 0)) << "nobody has any";
    ucs_rcache_pred_node_key_taken(b, 0);
    EXPECT_FALSE(ucs_rcache_pred_node_may_sleep(b)) << "no thread";
    sem_t *wakeups = ucs_rcache_pred_node_wakeups(b);

    EXPECT_TRUE(ucs_rcache_pred_node_may_sleep(b));
    EXPECT_TRUE(ucs_rcache_pred_node_ask_keys(a, 0, 0));
    EXPECT_EQ(0, sem_trywait(wakeups));
    EXPECT_FALSE(ucs_rcache_pred_node_may_sleep(b));
    EXPECT_TRUE(ucs_rcache_pred_node_is_asked(b));
    EXPECT_TRUE(ucs_rcache_pred_node_lacks(b, 0, &idle));
    EXPECT_TRUE(ucs_rcache_pred_node_offer(b, 0, 0, 1));
    EXPECT_FALSE(ucs_rcache_pred_node_lacks(b, 0, &idle));

    EXPECT_TRUE(ucs_rcache_pred_node_may_sleep(b));
    EXPECT_TRUE(ucs_rcache_pred_node_ask_keys(a, 0, 0));
    EXPECT_TRUE(ucs_rcache_pred_node_ask_keys(a, 0, 0));
    EXPECT_EQ(0, sem_trywait(wakeups));
    EXPECT_NE(0, sem_trywait(wakeups));
}

TEST_F(test_keys, of_all_processes_are_summed_by_device)
{
    auto a = join(), b = join();
    unsigned mine  = ucs_rcache_pred_node_device(a, 1);
    unsigned other = ucs_rcache_pred_node_device(a, 2);

    EXPECT_EQ(mine, ucs_rcache_pred_node_device(b, 1));
    EXPECT_NE(mine, other);
    ucs_rcache_pred_node_key_taken(a, mine);
    ucs_rcache_pred_node_key_taken(b, mine);
    ucs_rcache_pred_node_key_taken(b, mine);
    EXPECT_EQ(3u, get(a, mine).keys);
    EXPECT_EQ(2u, get(a, mine).procs);
    EXPECT_EQ(0u, get(a, other).keys);
    EXPECT_EQ(1u, get(a, other).procs);
    EXPECT_EQ(UINT64_MAX, get(a, mine).limit);
    leave(b);
    EXPECT_EQ(1u, get(a, mine).keys);
    EXPECT_EQ(1u, get(a, mine).procs);
}

/* A process shows the device that has the least keys for it */
TEST_F(test_keys, of_the_scarcest_device)
{
    auto a = join(), b = join();
    unsigned first  = ucs_rcache_pred_node_device(a, 1);
    unsigned second = ucs_rcache_pred_node_device(a, 2);
    unsigned others = ucs_rcache_pred_node_device(b, 3);
    ucs_rcache_pred_node_keys_t keys;

    ucs_rcache_pred_node_device(b, 2);
    EXPECT_FALSE(ucs_rcache_pred_node_get_scarce_keys(a, &keys));
    for (unsigned device : {first, second, others}) {
        for (unsigned i = 0; i < 40 / (device + 1); ++i) {
            ucs_rcache_pred_node_key_taken(b, device);
        }
        ucs_rcache_pred_node_key_refused(b, device, SEC, &keys);
    }

    ASSERT_TRUE(ucs_rcache_pred_node_get_scarce_keys(a, &keys));
    EXPECT_EQ(19u, keys.limit);
    EXPECT_EQ(20u, keys.keys);
    EXPECT_EQ(2u, keys.procs);
    ASSERT_TRUE(ucs_rcache_pred_node_get_scarce_keys(b, &keys));
    EXPECT_EQ(13u, keys.keys) << "which the other one does not use";
}

TEST_F(test_keys, another_job_gets_an_entry_that_nobody_uses)
{
    auto stays = join();
    ucs_rcache_pred_node_keys_t keys;

    for (uint64_t job = 1; job <= 3 * UCS_RCACHE_PRED_NODE_DEVICES; ++job) {
        auto node       = join();
        unsigned device = ucs_rcache_pred_node_device(node, job);

        ASSERT_LT(device, UCS_RCACHE_PRED_NODE_DEVICES) << job;
        EXPECT_EQ(UINT64_MAX, get(node, device).limit) << "what another job has learned";
        ucs_rcache_pred_node_key_taken(node, device);
        EXPECT_TRUE(ucs_rcache_pred_node_key_refused(node, device, SEC, &keys));
        EXPECT_EQ(1u, keys.keys);
        leave(node);
    }
    EXPECT_EQ(0u, get(stays, 0).keys);
}

TEST_F(test_keys, more_devices_than_entries_are_not_counted)
{
    auto node = join();

    for (uint64_t name = 1; name <= UCS_RCACHE_PRED_NODE_DEVICES; ++name) {
        EXPECT_EQ(name - 1, ucs_rcache_pred_node_device(node, name));
    }
    EXPECT_EQ(UCS_RCACHE_PRED_NODE_DEVICES, ucs_rcache_pred_node_device(node, 100));
    EXPECT_EQ(3u, ucs_rcache_pred_node_device(node, 4));
}

TEST_F(test_keys, limit_leaves_some_free_and_each_its_share)
{
    auto a = join(), b = join();
    ucs_rcache_pred_node_keys_t keys;

    ucs_rcache_pred_node_device(a, NAME);
    ucs_rcache_pred_node_device(b, NAME);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_TRUE(ucs_rcache_pred_node_has_key(a, 0));
        ucs_rcache_pred_node_key_taken(a, 0);
    }
    EXPECT_TRUE(ucs_rcache_pred_node_key_refused(a, 0, SEC, &keys));
    EXPECT_EQ(94u, keys.limit);
    EXPECT_FALSE(ucs_rcache_pred_node_has_key(a, 0));
    EXPECT_FALSE(ucs_rcache_pred_node_has_key(b, 0)) << "100 are above the limit";
    for (unsigned i = 0; i < 6; ++i) {
        ucs_rcache_pred_node_key_given(a, 0);
    }
    EXPECT_FALSE(ucs_rcache_pred_node_has_key(a, 0));
    EXPECT_TRUE(ucs_rcache_pred_node_has_key(b, 0)) << "less than half of 94";
    ucs_rcache_pred_node_key_taken(b, 0);
    EXPECT_FALSE(ucs_rcache_pred_node_has_key(b, 0)) << "94 and 94 / 80 are taken";
    ucs_rcache_pred_node_key_given(a, 0);
    EXPECT_TRUE(ucs_rcache_pred_node_has_key(b, 0));
}

TEST_F(test_keys, refusals_of_one_moment_are_one)
{
    ucs_rcache_pred_limit_t limit = {};

    EXPECT_EQ(UINT64_MAX, ucs_rcache_pred_limit_get(&limit));
    EXPECT_TRUE(ucs_rcache_pred_limit_refused(&limit, 1000, SEC));
    EXPECT_FALSE(ucs_rcache_pred_limit_refused(&limit, 900, SEC + 50 * MSEC));
    EXPECT_EQ(938u, ucs_rcache_pred_limit_get(&limit));
    EXPECT_FALSE(ucs_rcache_pred_limit_refused(&limit, 900, SEC + 150 * MSEC));
    EXPECT_EQ(844u, ucs_rcache_pred_limit_get(&limit));
    EXPECT_FALSE(ucs_rcache_pred_limit_refused(&limit, 950, 2 * SEC)) << "is higher";
    EXPECT_EQ(844u, ucs_rcache_pred_limit_get(&limit));
}

TEST_F(test_keys, limit_rises_once_a_pause_and_on_need_alone)
{
    ucs_rcache_pred_limit_t limit = {};

    ucs_rcache_pred_limit_lack(&limit, SEC);
    EXPECT_EQ(UINT64_MAX, ucs_rcache_pred_limit_get(&limit));
    ucs_rcache_pred_limit_refused(&limit, 3200, SEC);
    ucs_rcache_pred_limit_lack(&limit, 2 * SEC - 1);
    EXPECT_EQ(3000u, ucs_rcache_pred_limit_get(&limit));
    ucs_rcache_pred_limit_lack(&limit, 2 * SEC);
    ucs_rcache_pred_limit_lack(&limit, 2 * SEC);
    EXPECT_EQ(3429u - 214, ucs_rcache_pred_limit_get(&limit));
}

TEST_F(test_keys, user_sets_the_limit)
{
    ucs_rcache_pred_limit_t limit = {};

    ucs_rcache_pred_limit_fix(&limit, 100);
    EXPECT_EQ(100u, ucs_rcache_pred_limit_get(&limit));
    EXPECT_FALSE(ucs_rcache_pred_limit_refused(&limit, 50, SEC));
    ucs_rcache_pred_limit_lack(&limit, 100 * SEC);
    EXPECT_EQ(100u, ucs_rcache_pred_limit_get(&limit));
    ucs_rcache_pred_limit_forget(&limit);
    EXPECT_EQ(UINT64_MAX, ucs_rcache_pred_limit_get(&limit));
}

/* The kernel says how many objects a control group may have: that holds from the start, and
 * what is learned holds as well */
TEST_F(test_keys, kernel_knows_a_limit)
{
    ucs_rcache_pred_limit_t limit = {};

    ucs_rcache_pred_limit_know(&limit, 100, SEC);
    EXPECT_EQ(94u, ucs_rcache_pred_limit_get(&limit));
    EXPECT_TRUE(ucs_rcache_pred_limit_refused(&limit, 60, SEC));
    EXPECT_EQ(57u, ucs_rcache_pred_limit_get(&limit));
    ucs_rcache_pred_limit_know(&limit, 40, SEC);
    EXPECT_EQ(38u, ucs_rcache_pred_limit_get(&limit));
    ucs_rcache_pred_limit_fix(&limit, 200);
    EXPECT_EQ(200u, ucs_rcache_pred_limit_get(&limit)) << "the user decides";
    ucs_rcache_pred_limit_forget(&limit);
    EXPECT_EQ(UINT64_MAX, ucs_rcache_pred_limit_get(&limit));
    ucs_rcache_pred_limit_know(&limit, 0, SEC);
    EXPECT_EQ(1u, ucs_rcache_pred_limit_get(&limit));
}

/* Others may have fewer objects by now */
TEST_F(test_keys, known_limit_rises_on_need)
{
    ucs_rcache_pred_limit_t limit = {};

    ucs_rcache_pred_limit_know(&limit, 3200, SEC);
    ucs_rcache_pred_limit_lack(&limit, 2 * SEC - 1);
    EXPECT_EQ(3000u, ucs_rcache_pred_limit_get(&limit));
    ucs_rcache_pred_limit_lack(&limit, 2 * SEC);
    EXPECT_EQ(3429u - 214, ucs_rcache_pred_limit_get(&limit));
    ucs_rcache_pred_limit_know(&limit, 3200, 2 * SEC);
    ucs_rcache_pred_limit_lack(&limit, 10 * SEC - 1);
    EXPECT_EQ(3000u, ucs_rcache_pred_limit_get(&limit)) << "more rarely then";
    ucs_rcache_pred_limit_lack(&limit, 10 * SEC);
    EXPECT_EQ(3429u - 214, ucs_rcache_pred_limit_get(&limit));
}

TEST_F(test_keys, each_thing_is_told_once_a_job)
{
    auto a = join(), b = join(), other = join();
    unsigned device = ucs_rcache_pred_node_device(a, 1);
    unsigned others = ucs_rcache_pred_node_device(other, 2);

    ucs_rcache_pred_node_device(b, 1);
    EXPECT_TRUE(ucs_rcache_pred_node_tells_first(a, device, 1));
    EXPECT_FALSE(ucs_rcache_pred_node_tells_first(b, device, 1));
    EXPECT_TRUE(ucs_rcache_pred_node_tells_first(b, device, 2));
    EXPECT_TRUE(ucs_rcache_pred_node_tells_first(other, others, 1));
    leave(a);
    leave(b);
    EXPECT_EQ(device, ucs_rcache_pred_node_device(other, 3));
    EXPECT_TRUE(ucs_rcache_pred_node_tells_first(other, device, 1)) << "another job";
}

TEST_F(test_keys, of_all_jobs_are_summed_by_device)
{
    auto a = join(), b = join();
    unsigned mine   = ucs_rcache_pred_node_device(a, ucs_rcache_pred_node_device_name(5, 1));
    unsigned theirs = ucs_rcache_pred_node_device(b, ucs_rcache_pred_node_device_name(5, 2));
    unsigned other  = ucs_rcache_pred_node_device(b, ucs_rcache_pred_node_device_name(6, 2));

    EXPECT_NE(mine, theirs);
    ucs_rcache_pred_node_key_taken(a, mine);
    ucs_rcache_pred_node_key_taken(b, theirs);
    ucs_rcache_pred_node_key_taken(b, theirs);
    ucs_rcache_pred_node_key_taken(b, other);
    EXPECT_EQ(1u, get(a, mine).keys);
    EXPECT_EQ(3u, get(a, mine).all);
    EXPECT_EQ(3u, get(b, theirs).all);
    EXPECT_EQ(1u, get(b, other).all);
}

/* Jobs of two users: neither learns of the other's limit or keys, nor can it write them
 * (test_segment.cc) */
TEST_F(test_keys, other_users_share_nothing)
{
    ucs_rcache_pred_node_keys_t keys;

    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can be another user";
    }

    auto mine = join();
    ASSERT_EQ(0u, ucs_rcache_pred_node_device(mine, NAME));
    for (unsigned i = 0; i < 40; ++i) {
        ucs_rcache_pred_node_key_taken(mine, 0);
    }
    EXPECT_TRUE(ucs_rcache_pred_node_key_refused(mine, 0, SEC, &keys));

    child other([this]() -> int {
        ucs_rcache_pred_node_keys_t keys;
        ucs_rcache_pred_node_t *node;

        if ((setuid(65534) != 0) || (try_join(&node, 0) != UCS_OK) ||
            (ucs_rcache_pred_node_device(node, NAME) != 0)) {
            return 1;
        }

        keys = get(node, 0);
        if ((keys.limit != UINT64_MAX) || (keys.all != 0) || (keys.procs != 1)) {
            return 2;
        }

        ucs_rcache_pred_node_key_taken(node, 0);
        return ucs_rcache_pred_node_key_refused(node, 0, SEC, &keys) ? 0 : 3;
    });
    EXPECT_EQ(0, other.reap());
    EXPECT_EQ(38u, get(mine, 0).limit);
    EXPECT_EQ(40u, get(mine, 0).all);
}

/* Ranks that lack keys: each gets its share, the device has few left, and refusals become
 * rare. One rank reports the first one */
TEST_F(test_keys, many_ranks_share_what_there_is)
{
    for (unsigned count : {2, 8, 128}) {
        m_ranks.clear();
        m_taken = m_refused = m_starved = m_first = 0;
        m_device = 50 * count;
        start(count, 200);
        run(60 * SEC);
        EXPECT_EQ(1u, m_first);
        EXPECT_EQ(0u, m_starved);
        m_refused = m_looks = m_few_free = 0;
        run(600 * SEC);
        EXPECT_EQ(0u, m_starved);
        EXPECT_LE(m_few_free, m_looks / 100) << "another job finds keys";
        EXPECT_LE(m_refused, 12 * count) << "in ten minutes, of a million misses";
        EXPECT_GE(m_taken, m_device * 85 / 100);
        for (auto &r : m_ranks) {
            EXPECT_GE(r.keys, 50u / 2);
            leave(r.node);
        }
    }
}

/* Another job takes half of the keys, and gives them back later */
TEST_F(test_keys, device_has_fewer_for_a_while)
{
    m_device = 400;
    start(4, 200);
    run(10 * SEC);
    m_device = 200;
    run(10 * SEC);
    m_refused = 0;
    run(60 * SEC);
    EXPECT_LE(m_taken, 200u);
    EXPECT_LE(m_refused, 30u);
    m_device = 400;
    run(1800 * SEC);
    EXPECT_GE(m_taken, 340u);
    EXPECT_LE(m_starved, 4u) << "each once, when the keys were taken away";
}

/* Ranks that end, and one that is killed, leave their keys to the others */
TEST_F(test_keys, ranks_that_end_leave_their_share)
{
    m_device = 400;
    start(8, 200);
    run(20 * SEC);
    for (unsigned i = 0; i < 4; ++i) {
        m_taken -= m_ranks.back().keys;
        leave(m_ranks.back().node);
        m_ranks.pop_back();
    }
    run(60 * SEC);
    for (auto &r : m_ranks) {
        EXPECT_GE(r.keys, 70u);
    }
}

/* An urgent ask that nobody could answer, of a process that has ended or has its keys since,
 * does not hide later ones */
TEST_F(test_keys, later_asks_follow_one_in_vain)
{
    start(3, 1);
    auto a = m_ranks[0].node, b = m_ranks[1].node, c = m_ranks[2].node;
    uint64_t idle;

    ucs_rcache_pred_node_key_taken(b, 0);
    EXPECT_TRUE(ucs_rcache_pred_node_ask_keys(a, 0, 0));
    EXPECT_TRUE(ucs_rcache_pred_node_is_asked(b)) << "which has nothing idle";
    usleep(100 * 1000);
    ucs_rcache_pred_node_ask_keys(c, 0, SEC);
    EXPECT_TRUE(ucs_rcache_pred_node_is_asked(b));
    EXPECT_TRUE(ucs_rcache_pred_node_lacks(b, 0, &idle));
    EXPECT_EQ(2 * SEC, idle);
}
