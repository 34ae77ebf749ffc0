/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/log_watch.h>

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <vector>

extern "C" {
#include <common/c_access.h>
#include <ucp/firehose/table/remote.h>
}

/* The remote table, and a peer that the test answers for. The key of a bucket
 * is its number. */
class test_remote : public ::testing::Test {
protected:
    struct request_t {
        ucp_fh_request_t request; /* First member */
        unsigned         calls = 0;

        ucs_status_t status() const { return request.comp.status; }
    };

    using buckets_t = std::vector<ucp_fh_bucket_t>;

    void make(unsigned share, unsigned da_limit = UCP_FH_DEF_DA_LIMIT,
              unsigned max_move = 100)
    {
        ucp_fh_remote_params_t params = {2, max_move, da_limit};

        ASSERT_EQ(UCS_OK, ucp_fh_remote_init(&m_table, &params));
        m_is_made = true;
        m_table.peers[0].limit = share;
        m_table.peers[1].limit = share;
    }

    ~test_remote()
    {
        if (!m_is_made) {
            return;
        }

        /* Nothing is lost: what is left is as much as is in use */
        ucp_fh_remote_cleanup(&m_table,
                              [](void *arg, void *key) {
                                  ++*(unsigned*)arg;
                              }, &m_num_keys);
        EXPECT_EQ(m_num_pinned, m_num_keys);
    }

    static void prepare(request_t &request)
    {
        request.calls             = 0;
        request.request.comp.func = [](ucp_fh_comp_t *comp) {
            ++((request_t*)comp)->calls;
        };
    }

    ucs_status_t acquire(request_t &request, uint64_t first, uint64_t num,
                         uint32_t peer = 0)
    {
        ucp_fh_run_t run = {first, num};

        prepare(request);
        ucs_status_t status = ucp_fh_remote_acquire(&m_table, &request.request,
                                                    peer, &run);
        drain();
        return status;
    }

    ucs_status_t try_acquire(request_t &request, uint64_t first, uint64_t num)
    {
        ucp_fh_run_t run = {first, num};

        prepare(request);
        return ucp_fh_remote_try(&m_table, &request.request, 0, &run,
                                 UCP_FH_FORM_TRY);
    }

    ucs_status_t partial(request_t &request, uint64_t first, uint64_t num)
    {
        ucp_fh_run_t run = {first, num};

        prepare(request);
        return ucp_fh_remote_try(&m_table, &request.request, 0, &run,
                                 UCP_FH_FORM_PARTIAL);
    }

    void release(request_t &request)
    {
        ucp_fh_remote_release(&m_table, &request.request);
        drain();
    }

    /* @return how many buckets are still to be given back */
    unsigned num_recalled() const { return m_table.peers[0].num_recalled; }

    unsigned recall(uint64_t first, uint64_t num)
    {
        ucp_fh_run_t run = {first, num};

        ucp_fh_remote_recall(&m_table, 0, &run);
        drain();
        return num_recalled();
    }

    void fail_peer()
    {
        ucp_fh_remote_fail_peer(&m_table, 0, UCS_ERR_CONNECTION_RESET);
        drain();
    }

    void drain()
    {
        ucp_fh_comp_t *comp;
        ucp_fh_move_t *move;
        void *key;

        while ((comp = ucp_fh_comp_next(&m_table.ended)) != nullptr) {
            comp->func(comp);
        }
        while ((move = ucp_fh_remote_next_move(&m_table)) != nullptr) {
            m_moves.push_back(move);
        }
        while ((key = ucp_fh_remote_next_key(&m_table)) != nullptr) {
            m_destroyed.insert((uint64_t)key);
            ++m_num_keys;
        }
    }

    static buckets_t unpins(const ucp_fh_move_t *move)
    {
        return buckets_t(move->buckets, move->buckets + move->num_unpins);
    }

    static buckets_t pins(const ucp_fh_move_t *move)
    {
        const ucp_fh_bucket_t *begin = move->buckets + move->num_unpins;
        return buckets_t(begin, begin + move->num_pins);
    }

    /* Answer the oldest message; some buckets cannot be pinned */
    ucs_status_t answer(std::set<uint64_t> bad = {})
    {
        ucp_fh_move_t *move = m_moves.front();
        std::vector<ucp_fh_answer_t> answers;
        unsigned good = 0;

        for (ucp_fh_bucket_t bucket : pins(move)) {
            if (bad.count(bucket)) {
                answers.push_back({UCS_ERR_INVALID_ADDR, nullptr});
            } else {
                answers.push_back({UCS_OK, (void*)bucket});
                ++good;
            }
        }

        m_moves.pop_front();
        ucs_status_t status = ucp_fh_remote_moved(&m_table, move, UCS_OK,
                                                  answers.data());
        m_num_pinned += (status == UCS_OK) ? good : 0;
        drain();
        return status;
    }

    /* Have a run that nobody uses */
    void have(uint64_t first, uint64_t num)
    {
        request_t request;

        ASSERT_EQ(UCS_INPROGRESS, acquire(request, first, num));
        while (!m_moves.empty()) {
            answer();
        }
        ASSERT_EQ(1u, request.calls);
        release(request);
    }

    ucp_fh_remote_t            m_table;
    bool                       m_is_made = false;
    std::deque<ucp_fh_move_t*> m_moves;
    std::set<uint64_t>         m_destroyed;
    unsigned                   m_num_keys   = 0;
    unsigned                   m_num_pinned = 0;
};


TEST_F(test_remote, miss_and_hit) {
    request_t request;

    make(3);
    EXPECT_EQ(UCS_INPROGRESS, acquire(request, 10, 2));
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(0u, m_moves[0]->peer);
    EXPECT_EQ(buckets_t(), unpins(m_moves[0]));
    EXPECT_EQ(buckets_t({10, 11}), pins(m_moves[0]));
    EXPECT_EQ(0u, request.calls);
    answer();
    EXPECT_EQ(1u, request.calls);
    EXPECT_EQ(UCS_OK, request.status());
    EXPECT_EQ((void*)10, ucp_fh_remote_key(&m_table, &request.request, 0));
    EXPECT_EQ((void*)11, ucp_fh_remote_key(&m_table, &request.request, 1));
    release(request);

    for (uint64_t bucket : {10, 11}) {
        EXPECT_EQ(UCS_OK, acquire(request, bucket, 1));
        EXPECT_EQ((void*)bucket,
                  ucp_fh_remote_key(&m_table, &request.request, 0));
        release(request);
    }
    EXPECT_EQ(UCS_OK, acquire(request, 10, 2));
    release(request);
    EXPECT_EQ(0u, request.calls);
    EXPECT_TRUE(m_moves.empty());
    EXPECT_EQ(4u, m_table.stats.requests);
    EXPECT_EQ(3u, m_table.stats.hits);
    EXPECT_EQ(1u, m_table.stats.moves);
    EXPECT_EQ(2u, m_table.stats.moved);
}

TEST_F(test_remote, peers_differ) {
    request_t one, other;

    make(1);
    EXPECT_EQ(UCS_INPROGRESS, acquire(one, 10, 1, 0));
    EXPECT_EQ(UCS_INPROGRESS, acquire(other, 10, 1, 1));
    ASSERT_EQ(2u, m_moves.size());
    EXPECT_EQ(0u, m_moves[0]->peer);
    EXPECT_EQ(1u, m_moves[1]->peer);
    answer();
    EXPECT_EQ(1u, one.calls);
    EXPECT_EQ(0u, other.calls);
    answer();
    EXPECT_EQ(1u, other.calls);
    release(one);
    release(other);
}

TEST_F(test_remote, wrong_runs) {
    request_t request;

    make(3);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, acquire(request, 10, 0));
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, acquire(request, 10, 4));
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_acquire(request, 10, 4));
    EXPECT_EQ(0u, request.calls);
}

TEST_F(test_remote, joins_what_is_pending) {
    request_t first, second, third;

    make(3);
    EXPECT_EQ(UCS_INPROGRESS, acquire(first, 10, 3));
    EXPECT_EQ(UCS_INPROGRESS, acquire(second, 11, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(third, 10, 2));
    EXPECT_EQ(1u, m_moves.size());
    answer();
    for (request_t *request : {&first, &second, &third}) {
        EXPECT_EQ(1u, request->calls);
        EXPECT_EQ(UCS_OK, request->status());
        release(*request);
    }
}

TEST_F(test_remote, moves_the_oldest) {
    request_t request;

    make(3);
    have(10, 1);
    have(11, 1);
    have(12, 1);
    EXPECT_EQ(UCS_OK, acquire(request, 10, 1)); /* The newest again */
    release(request);
    EXPECT_EQ(UCS_INPROGRESS, acquire(request, 20, 2));
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({11, 12}), unpins(m_moves[0]));
    EXPECT_EQ(buckets_t({20, 21}), pins(m_moves[0]));
    EXPECT_EQ(std::set<uint64_t>({11, 12}), m_destroyed);
    answer();
    release(request);
}

/* If all were used since they came, a few have a second chance, and not all */
TEST_F(test_remote, second_chances_are_limited) {
    request_t request;

    make(20);
    have(10, 20);
    for (uint64_t bucket = 10; bucket < 30; ++bucket) {
        EXPECT_EQ(UCS_OK, acquire(request, bucket, 1));
        release(request);
    }
    EXPECT_EQ(UCS_INPROGRESS, acquire(request, 100, 5));
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({26, 10, 11, 12, 13}), unpins(m_moves[0]));
    answer();
    release(request);
}

/* It does not move firehoses that it is going to use */
TEST_F(test_remote, moves_others) {
    request_t request;

    make(3);
    have(11, 1);
    have(30, 2);
    EXPECT_EQ(UCS_INPROGRESS, acquire(request, 10, 2));
    EXPECT_EQ(buckets_t({30}), unpins(m_moves[0]));
    EXPECT_EQ(buckets_t({10}), pins(m_moves[0]));
    answer();
    EXPECT_EQ(1u, request.calls);
    release(request);
}

TEST_F(test_remote, messages_are_bounded) {
    request_t request;

    make(4, 8, 3);
    have(10, 4);
    EXPECT_EQ(UCS_INPROGRESS, acquire(request, 20, 4));
    ASSERT_EQ(3u, m_moves.size());
    EXPECT_EQ(buckets_t({10, 11, 12}), unpins(m_moves[0]));
    EXPECT_EQ(buckets_t({13}), unpins(m_moves[1]));
    EXPECT_EQ(buckets_t({20, 21}), pins(m_moves[1]));
    EXPECT_EQ(buckets_t({22, 23}), pins(m_moves[2]));
    answer();
    answer();
    EXPECT_EQ(0u, request.calls);
    answer();
    EXPECT_EQ(1u, request.calls);
    release(request);
}

TEST_F(test_remote, answers_in_another_order) {
    request_t request;

    make(4, 8, 2);
    EXPECT_EQ(UCS_INPROGRESS, acquire(request, 20, 4));
    ASSERT_EQ(2u, m_moves.size());
    std::swap(m_moves[0], m_moves[1]);
    answer();
    EXPECT_EQ(0u, request.calls);
    answer();
    EXPECT_EQ(1u, request.calls);
    release(request);
}

TEST_F(test_remote, tries) {
    request_t request, other;

    make(3);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_acquire(request, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(other, 10, 2));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_acquire(request, 10, 1));
    answer();
    EXPECT_EQ(UCS_OK, try_acquire(request, 10, 2));
    release(other);
    /* It keeps them */
    EXPECT_EQ(UCS_INPROGRESS, acquire(other, 20, 2));
    EXPECT_TRUE(m_moves.empty());
    release(request);
    EXPECT_EQ(1u, m_moves.size());
    answer();
    EXPECT_EQ(1u, other.calls);
    release(other);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_acquire(request, 10, 2));
}

TEST_F(test_remote, parts) {
    request_t request;

    make(5);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, partial(request, 10, 20));
    have(12, 1);
    have(20, 3);
    EXPECT_EQ(UCS_OK, partial(request, 10, 20));
    EXPECT_EQ(20u, request.request.run.first);
    EXPECT_EQ(3u, request.request.run.num);
    EXPECT_EQ((void*)22, ucp_fh_remote_key(&m_table, &request.request, 2));
    release(request);
    EXPECT_EQ(UCS_OK, partial(request, 10, 11));
    EXPECT_EQ(12u, request.request.run.first); /* The first of equal ones */
    EXPECT_EQ(1u, request.request.run.num);
    release(request);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, partial(request, 10, 0));
}

/* Who has nothing to do with the bad bucket gets what it wants */
TEST_F(test_remote, memory_that_is_not_exposed) {
    request_t bad, good, joins;

    make(4);
    EXPECT_EQ(UCS_INPROGRESS, acquire(bad, 10, 2));
    EXPECT_EQ(UCS_INPROGRESS, acquire(good, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(joins, 11, 1));
    answer({11});
    EXPECT_EQ(1u, bad.calls);
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, bad.status());
    EXPECT_EQ(1u, joins.calls);
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, joins.status());
    EXPECT_EQ(1u, good.calls);
    EXPECT_EQ(UCS_OK, good.status());
    release(good);

    /* The firehose can be used for something else, and the bucket be asked for
     * again */
    have(11, 1);
    have(20, 2);
    EXPECT_TRUE(m_destroyed.empty());
}

TEST_F(test_remote, waits_for_firehoses) {
    request_t first, second, third;

    make(2);
    EXPECT_EQ(UCS_INPROGRESS, acquire(first, 10, 2));
    answer();
    EXPECT_EQ(UCS_INPROGRESS, acquire(second, 20, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(third, 30, 1));
    EXPECT_TRUE(m_moves.empty());
    release(first);
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({10, 11}), unpins(m_moves[0]));
    EXPECT_EQ(buckets_t({20, 30}), pins(m_moves[0]));
    answer();
    EXPECT_EQ(1u, second.calls);
    EXPECT_EQ(1u, third.calls);
    release(second);
    release(third);
}

/* What is used is released early if firehoses are moved, and not for others that
 * are where they are needed */
TEST_F(test_remote, has_lent_much) {
    const ucp_fh_peer_t *peer;
    request_t first, second;
    uint64_t missed;

    make(4);
    peer = &m_table.peers[0];
    have(10, 4);
    missed = peer->num_missed;
    EXPECT_EQ(UCS_OK, acquire(first, 10, 4));
    EXPECT_FALSE(ucp_fh_peer_has_lent_much(peer, 4, missed));
    EXPECT_FALSE(ucp_fh_peer_is_wanted(peer));
    EXPECT_TRUE(ucp_fh_peer_has_lent_much(peer, UCP_FH_MAX_LENT, missed));

    EXPECT_EQ(UCS_INPROGRESS, acquire(second, 20, 1));
    EXPECT_TRUE(ucp_fh_peer_is_wanted(peer));
    EXPECT_TRUE(ucp_fh_peer_has_lent_much(peer, 2, missed));
    EXPECT_FALSE(ucp_fh_peer_has_lent_much(peer, 1, missed));
    EXPECT_FALSE(ucp_fh_peer_has_lent_much(peer, 2, peer->num_missed));
    release(first);
    answer();
    EXPECT_FALSE(ucp_fh_peer_is_wanted(peer));
    release(second);
}

/* A hit on a firehose that is about to be moved takes it (Table 3 of the
 * paper) */
TEST_F(test_remote, hit_takes_what_was_reaped) {
    request_t user, waits, hit;

    make(2);
    have(10, 1);
    EXPECT_EQ(UCS_INPROGRESS, acquire(user, 11, 1));
    answer();
    EXPECT_EQ(UCS_INPROGRESS, acquire(waits, 20, 2)); /* Reaps 10 */
    EXPECT_EQ(UCS_OK, acquire(hit, 10, 1));
    EXPECT_EQ(1u, m_table.stats.roll_backs);
    release(user);
    EXPECT_TRUE(m_moves.empty());
    release(hit);
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({20, 21}), pins(m_moves[0]));
    answer();
    EXPECT_EQ(1u, waits.calls);
    release(waits);
}

/* Who needs a bucket that another one has not committed waits for that, and has
 * nothing meanwhile (Table 3) */
TEST_F(test_remote, uncommitted_bucket) {
    request_t user, first, second;

    make(3);
    EXPECT_EQ(UCS_INPROGRESS, acquire(user, 10, 2));
    answer();
    EXPECT_EQ(UCS_INPROGRESS, acquire(first, 20, 2)); /* Has 20 */
    EXPECT_EQ(UCS_INPROGRESS, acquire(second, 19, 2));
    EXPECT_EQ(0u, second.request.num_done);
    release(user);
    answer();
    EXPECT_EQ(1u, first.calls);
    while (!m_moves.empty()) {
        answer();
    }
    EXPECT_EQ(1u, second.calls);
    release(first);
    release(second);
}

/* Who comes across a bucket that it cannot have now keeps nothing that others
 * may need, and begins anew */
TEST_F(test_remote, rolls_back) {
    request_t users[3], waits, other;

    make(3);
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(UCS_INPROGRESS, acquire(users[i], 10 + i, 1));
        answer();
    }
    release(users[1]);
    EXPECT_EQ(UCS_INPROGRESS, acquire(users[1], 20, 1)); /* Takes that of 11 */
    answer();
    EXPECT_EQ(UCS_INPROGRESS, acquire(waits, 10, 3));
    EXPECT_EQ(1u, waits.request.num_done);
    EXPECT_EQ(1u, recall(12, 1));
    EXPECT_EQ(0u, waits.request.num_done);
    EXPECT_EQ(1u, m_table.stats.roll_backs);

    release(users[0]);
    EXPECT_EQ(UCS_INPROGRESS, acquire(other, 30, 1)); /* Takes that of 10 */
    answer();
    EXPECT_EQ(1u, other.calls);
    release(other);
    release(users[1]);
    release(users[2]);
    while (!m_moves.empty()) {
        answer();
    }
    EXPECT_EQ(1u, waits.calls);
    release(waits);
}

/* One has taken the free firehose, and the other one uses one that is no longer
 * needed by anybody else: neither can go on */
TEST_F(test_remote, deadlock) {
    request_t user, first, second;

    make(2);
    EXPECT_EQ(UCS_INPROGRESS, acquire(user, 12, 1));
    answer();
    EXPECT_EQ(UCS_INPROGRESS, acquire(first, 10, 2));
    EXPECT_EQ(UCS_INPROGRESS, acquire(second, 12, 2));
    EXPECT_TRUE(m_moves.empty());
    EXPECT_EQ(0u, m_table.stats.bits);
    release(user);
    EXPECT_EQ(1u, m_table.stats.bits);
    EXPECT_EQ(1u, m_table.stats.stuck);
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({10, 11}), pins(m_moves[0]));
    answer();
    EXPECT_EQ(1u, first.calls);
    EXPECT_EQ(0u, second.calls);
    release(first);
    answer();
    EXPECT_EQ(1u, second.calls);
    release(second);
}

/* Two threads that use a bucket in turn would keep a third one from ever
 * getting both firehoses */
TEST_F(test_remote, nobody_starves) {
    static constexpr unsigned LIMIT = 5;
    request_t users[2], waits;
    unsigned turns = 0;
    ucs_status_t status;

    make(2, LIMIT);
    have(10, 1);
    ASSERT_EQ(UCS_OK, acquire(users[0], 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(waits, 20, 2));
    do {
        ASSERT_LT(turns, 3 * LIMIT);
        ++turns;
        status = acquire(users[turns % 2], 10, 1);
        release(users[(turns + 1) % 2]);
    } while (status == UCS_OK);

    EXPECT_EQ(1u, m_table.stats.bits);
    EXPECT_EQ(0u, m_table.stats.stuck);
    EXPECT_EQ(LIMIT, turns); /* It was tried once when it came */
    ASSERT_EQ(1u, m_moves.size());
    answer();
    EXPECT_EQ(1u, waits.calls);

    /* With the bit, there is no hit either */
    EXPECT_EQ(0u, users[turns % 2].calls);
    release(waits);
    answer();
    EXPECT_EQ(1u, users[turns % 2].calls);
    release(users[turns % 2]);
}

TEST_F(test_remote, no_hit_against_the_bit) {
    request_t user, waits, hit;

    make(2, 1);
    have(10, 1);
    EXPECT_EQ(UCS_OK, acquire(user, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(waits, 20, 2));
    EXPECT_EQ(1u, m_table.stats.bits);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_acquire(hit, 10, 1));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, partial(hit, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(hit, 10, 1));
    release(user);
    answer();
    EXPECT_EQ(1u, waits.calls);
    EXPECT_EQ(0u, hit.calls);
    release(waits);
    answer();
    EXPECT_EQ(1u, hit.calls);
    release(hit);
}

/* What is held is there for whoever holds it, or its holder could wait for the
 * one with the bit, which waits for the holder */
TEST_F(test_remote, held_against_the_bit) {
    request_t holder, waits, hit, other;

    make(2, 1);
    have(10, 1);
    EXPECT_EQ(UCS_OK, acquire(holder, 10, 1));
    ucp_fh_remote_hold(&holder.request, 1);
    EXPECT_EQ(UCS_INPROGRESS, acquire(waits, 20, 2));
    EXPECT_EQ(1u, m_table.stats.bits);
    EXPECT_EQ(UCS_OK, try_acquire(hit, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(other, 10, 2)); /* Not all of it is */
    ucp_fh_remote_hold(&holder.request, 0);
    release(holder);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_acquire(holder, 10, 1));
    EXPECT_TRUE(m_moves.empty());

    /* The one with the bit gets the firehoses once the use has ended */
    release(hit);
    answer();
    EXPECT_EQ(1u, waits.calls);
    EXPECT_EQ(0u, other.calls);
    release(waits);
    answer();
    EXPECT_EQ(1u, other.calls);
    release(other);
}

/* The same if the peer wants the bucket back */
TEST_F(test_remote, held_and_recalled) {
    request_t holder, hit;

    make(3);
    have(10, 1);
    EXPECT_EQ(UCS_OK, acquire(holder, 10, 1));
    ucp_fh_remote_hold(&holder.request, 1);
    EXPECT_EQ(1u, recall(10, 1));
    EXPECT_EQ(UCS_OK, acquire(hit, 10, 1));
    ucp_fh_remote_hold(&holder.request, 0);
    release(holder);
    EXPECT_EQ(1u, num_recalled());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_acquire(holder, 10, 1));
    release(hit);
    EXPECT_EQ(0u, num_recalled());
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({10}), unpins(m_moves[0]));
    answer();
}

TEST_F(test_remote, recalls) {
    request_t used, pending;

    make(4);
    have(10, 2);
    EXPECT_EQ(UCS_OK, acquire(used, 11, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(pending, 12, 1));
    EXPECT_EQ(1u, recall(9, 3));
    EXPECT_EQ(2u, recall(11, 5));
    ASSERT_EQ(2u, m_moves.size());
    EXPECT_EQ(buckets_t({10}), unpins(m_moves[1])); /* That was not in use */
    EXPECT_EQ(buckets_t(), pins(m_moves[1]));

    release(used);
    EXPECT_EQ(1u, num_recalled());
    EXPECT_EQ(buckets_t({11}), unpins(m_moves[2]));

    /* The one that was on its way is used, and then given back */
    answer();
    EXPECT_EQ(1u, pending.calls);
    EXPECT_EQ(UCS_OK, pending.status());
    release(pending);
    EXPECT_EQ(0u, num_recalled());
    EXPECT_EQ(buckets_t({12}), unpins(m_moves[2]));
    while (!m_moves.empty()) {
        answer();
    }
    EXPECT_EQ(0u, recall(9, 100));
    EXPECT_TRUE(m_moves.empty());
    EXPECT_EQ(0u, m_table.num_entries);
}

/* A bucket that is asked for while it is recalled is asked for anew */
TEST_F(test_remote, recalled_bucket) {
    request_t user, waits;

    make(3);
    have(10, 1);
    EXPECT_EQ(UCS_OK, acquire(user, 10, 1));
    EXPECT_EQ(1u, recall(10, 1));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_acquire(waits, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(waits, 10, 1));
    EXPECT_TRUE(m_moves.empty());
    release(user);
    EXPECT_EQ(0u, num_recalled());
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({10}), unpins(m_moves[0]));
    EXPECT_EQ(buckets_t({10}), pins(m_moves[0]));
    answer({10});
    EXPECT_EQ(1u, waits.calls);
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, waits.status());
}

/* A recall that began while a bucket was in use again counts it as well */
TEST_F(test_remote, recalled_twice) {
    request_t user, other;

    make(3);
    have(10, 2);
    EXPECT_EQ(UCS_OK, acquire(user, 10, 1));
    EXPECT_EQ(1u, recall(10, 2)); /* 11 goes at once */
    answer();
    EXPECT_EQ(UCS_INPROGRESS, acquire(other, 11, 1)); /* and comes back */
    answer();
    EXPECT_EQ(1u, other.calls);
    EXPECT_EQ(2u, recall(11, 1));
    release(other);
    EXPECT_EQ(1u, num_recalled());
    release(user);
    EXPECT_EQ(0u, num_recalled());
    while (!m_moves.empty()) {
        answer();
    }
}

/* One that another request was about to move goes as well, and that request
 * begins anew */
TEST_F(test_remote, recalls_what_was_reaped) {
    request_t user, waits;

    make(2);
    have(10, 1);
    EXPECT_EQ(UCS_INPROGRESS, acquire(user, 11, 1));
    answer();
    EXPECT_EQ(UCS_INPROGRESS, acquire(waits, 20, 2)); /* Reaps 10 */
    EXPECT_EQ(1u, waits.request.num_done);
    EXPECT_EQ(0u, recall(10, 1));
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({10}), unpins(m_moves[0]));
    answer();
    release(user);
    answer();
    EXPECT_EQ(1u, waits.calls);
    release(waits);
}

/* The peer has no room for all that it may grant */
TEST_F(test_remote, sheds_what_nobody_uses) {
    request_t one, other;

    make(4);
    have(10, 4);
    EXPECT_EQ(UCS_OK, acquire(one, 11, 1));
    EXPECT_EQ(1u, ucp_fh_remote_shed(&m_table, 0, 1));
    drain();
    ASSERT_EQ(1u, m_moves.size());
    EXPECT_EQ(buckets_t({10}), unpins(m_moves[0]));
    EXPECT_EQ(buckets_t(), pins(m_moves[0]));
    answer();

    EXPECT_EQ(2u, ucp_fh_remote_shed(&m_table, 0, 100));
    EXPECT_EQ(0u, ucp_fh_remote_shed(&m_table, 0, 100));
    drain();
    EXPECT_EQ(buckets_t({12, 13}), unpins(m_moves[0]));
    answer();
    EXPECT_EQ(3u, m_num_keys);

    /* There is as much as before for others */
    EXPECT_EQ(UCS_INPROGRESS, acquire(other, 20, 3));
    EXPECT_EQ(buckets_t(), unpins(m_moves[0]));
    EXPECT_EQ(buckets_t({20, 21, 22}), pins(m_moves[0]));
    answer();
    release(other);
    release(one);
    EXPECT_EQ(0u, ucp_fh_remote_shed(&m_table, 1, 100));
}

TEST_F(test_remote, peer_fails) {
    request_t granted, active, waits, late;

    make(3);
    have(10, 2);
    EXPECT_EQ(UCS_OK, acquire(granted, 10, 1));
    EXPECT_EQ(1u, recall(10, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(active, 20, 1));
    EXPECT_EQ(UCS_INPROGRESS, acquire(waits, 30, 3));
    fail_peer();
    for (request_t *request : {&active, &waits}) {
        EXPECT_EQ(1u, request->calls);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, request->status());
    }
    EXPECT_EQ(1u, num_recalled());
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, acquire(late, 11, 1));
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, try_acquire(late, 11, 1));
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, partial(late, 11, 1));
    EXPECT_EQ(1u, recall(0, 100));
    EXPECT_EQ(UCS_ERR_CANCELED, answer()); /* An answer that was on its way */
    EXPECT_EQ(std::set<uint64_t>({11}), m_destroyed);
    release(granted);
    EXPECT_EQ(0u, num_recalled());
    EXPECT_EQ(std::set<uint64_t>({10, 11}), m_destroyed);
    EXPECT_EQ(0u, m_table.num_entries);

    /* The other peer is there still */
    EXPECT_EQ(UCS_INPROGRESS, acquire(late, 10, 1, 1));
    answer();
    release(late);
}

/* What is in use stays until it is released */
TEST_F(test_remote, peer_fails_in_use) {
    request_t request;

    make(3);
    have(10, 2);
    EXPECT_EQ(UCS_OK, acquire(request, 10, 1));
    fail_peer();
    EXPECT_EQ(std::set<uint64_t>({11}), m_destroyed);
    EXPECT_EQ((void*)10, ucp_fh_remote_key(&m_table, &request.request, 0));
    release(request);
    EXPECT_EQ(std::set<uint64_t>({10, 11}), m_destroyed);
}

/* A message that cannot be sent */
TEST_F(test_remote, not_sent) {
    request_t request;
    ucp_fh_move_t *move;

    make(3);
    EXPECT_EQ(UCS_INPROGRESS, acquire(request, 10, 2));
    move = m_moves.front();
    m_moves.clear();
    EXPECT_EQ(UCS_OK, ucp_fh_remote_moved(&m_table, move,
                                          UCS_ERR_ENDPOINT_TIMEOUT, nullptr));
    drain();
    EXPECT_EQ(1u, request.calls);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, request.status());
    EXPECT_EQ(0u, m_table.num_entries);
}

/* Whichever allocation fails, the request fails alone, or later */
TEST_F(test_remote, no_memory) {
    make(4);
    have(10, 4);
    for (unsigned nth = 1;; ++nth) {
        request_t request;
        ucs_status_t status;

        test_alloc_fail_nth(nth);
        status = acquire(request, 20, 3);
        bool has_failed = test_alloc_failed();
        test_alloc_fail_nth(0);
        if (!has_failed) {
            EXPECT_EQ(5u, nth); /* Three entries and a message */
            answer();
            release(request);
            break;
        }

        if (status == UCS_ERR_NO_MEMORY) {
            EXPECT_TRUE(m_moves.empty());
            EXPECT_EQ(UCS_OK, acquire(request, 10, 4));
            release(request);
        } else {
            /* The message could not be made */
            ASSERT_EQ(UCS_INPROGRESS, status);
            drain();
            ASSERT_EQ(1u, m_moves.size());
            EXPECT_EQ(buckets_t({10, 11, 12}), unpins(m_moves[0]));
            answer();
            EXPECT_EQ(1u, request.calls);
            release(request);
            have(10, 4);
        }
    }
}

TEST_F(test_remote, no_memory_for_the_table) {
    ucp_fh_remote_params_t params = {2, 1, 1};

    for (unsigned nth : {1, 2}) {
        test_alloc_fail_nth(nth);
        EXPECT_EQ(UCS_ERR_NO_MEMORY, ucp_fh_remote_init(&m_table, &params));
        EXPECT_TRUE(test_alloc_failed());
        test_alloc_fail_nth(0);
    }
}

/* More entries than the table has places at first */
TEST_F(test_remote, many) {
    request_t request;

    make(1000);
    have(1, 1000);
    for (uint64_t i = 1; i <= 1000; ++i) {
        ASSERT_EQ(UCS_OK, acquire(request, i, 1));
        EXPECT_EQ((void*)i, ucp_fh_remote_key(&m_table, &request.request, 0));
        release(request);
    }
}
