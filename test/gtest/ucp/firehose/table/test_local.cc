/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/log_watch.h>

#include <gtest/gtest.h>

#include <map>
#include <vector>

extern "C" {
#include <common/c_access.h>
#include <common/touched.h>
#include <ucp/firehose/table/local.h>
}

/* The local table, over a system that notes what is pinned, with peers 0 and
 * 1 */
class test_local : public ::testing::Test {
protected:
    static constexpr unsigned SHIFT = 12;

    struct pin_t {
        ucp_fh_pin_t pin; /* First member */
        unsigned     calls = 0;

        ucs_status_t status() const { return pin.comp.status; }
    };

    struct withdraw_t {
        ucp_fh_withdraw_t withdraw; /* First member */
        unsigned          calls = 0;
    };

    /* Whole buckets; what has parts of them is in test_edges.cc */
    static ucp_fh_span_t span(uint64_t first, uint64_t num)
    {
        return {first << SHIFT, (first + num) << SHIFT};
    }

    using pinned_t  = std::map<uint64_t, uint64_t>;
    using buckets_t = std::vector<ucp_fh_bucket_t>;

    void make(unsigned share, unsigned max_victim, unsigned num_peers = 2)
    {
        ucp_fh_local_params_t params = {};
        ucp_fh_span_t all            = span(0, 1000);

        params.shift      = SHIFT;
        params.num_peers  = num_peers;
        params.m          = ((uint64_t)num_peers * share) << SHIFT;
        params.max_victim = (uint64_t)max_victim << SHIFT;
        ASSERT_EQ(UCS_OK, ucp_fh_local_init(&m_table, &params));
        ASSERT_EQ(share, m_table.share);
        m_max     = num_peers * share + max_victim;
        m_is_made = true;
        ASSERT_EQ(UCS_OK, ucp_fh_local_expose(&m_table, &m_exposed, &all));
    }

    ~test_local()
    {
        ucp_fh_pin_ops_t ops = get_ops();

        if (m_is_made) {
            m_fail_unpin = false;
            ucp_fh_local_cleanup(&m_table, &ops);
            EXPECT_EQ(pinned_t(), m_pinned);
        }
    }

    ucp_fh_pin_ops_t get_ops()
    {
        ucp_fh_pin_ops_t ops;

        ops.pin = [](void *arg, uint64_t start, uint64_t length,
                     void **handle) {
            return ((test_local*)arg)->pin_op(start, length, handle);
        };
        ops.unpin = [](void *arg, void *handle) {
            return ((test_local*)arg)->unpin_op(handle);
        };
        ops.arg = this;
        return ops;
    }

    ucs_status_t pin_op(uint64_t start, uint64_t length, void **handle_p)
    {
        uint64_t first = start >> SHIFT, num = length >> SHIFT;
        uint64_t sum   = num;

        if (m_fail_pin) {
            return UCS_ERR_IO_ERROR;
        }
        for (const auto &pinned : m_pinned) {
            sum += pinned.second;
        }
        ++m_num_tries;
        if (sum > m_room) {
            return UCS_ERR_EXCEEDS_LIMIT;
        }
        EXPECT_GE(m_max, sum);
        EXPECT_EQ(0u, m_pinned.count(first));
        m_pinned[first] = num;
        *handle_p       = (void*)(first + 1);
        return UCS_OK;
    }

    ucs_status_t unpin_op(void *handle)
    {
        if (m_fail_unpin) {
            return UCS_ERR_IO_ERROR;
        }
        EXPECT_EQ(1u, m_pinned.erase((uint64_t)handle - 1));
        return UCS_OK;
    }

    ucs_status_t pin(pin_t &pin, uint64_t first, uint64_t num)
    {
        ucp_fh_span_t wanted = span(first, num);

        pin.calls         = 0;
        pin.pin.comp.func = [](ucp_fh_comp_t *comp) {
            ++((pin_t*)comp)->calls;
        };
        return ucp_fh_local_pin(&m_table, &pin.pin, &wanted, UCP_FH_FORM_WAIT);
    }

    ucs_status_t try_pin(pin_t &pin, uint64_t first, uint64_t num)
    {
        ucp_fh_span_t wanted = span(first, num);

        return ucp_fh_local_pin(&m_table, &pin.pin, &wanted, UCP_FH_FORM_TRY);
    }

    ucs_status_t partial(pin_t &pin, uint64_t first, uint64_t num)
    {
        ucp_fh_span_t wanted = span(first, num);

        return ucp_fh_local_pin(&m_table, &pin.pin, &wanted, UCP_FH_FORM_PARTIAL);
    }

    void release(pin_t &pin)
    {
        ucp_fh_local_release(&m_table, &pin.pin);
        work();
    }

    /* Pin, with the work of it, and release */
    void have(uint64_t first, uint64_t num)
    {
        pin_t other;

        if (pin(other, first, num) != UCS_OK) {
            work();
            ASSERT_EQ(UCS_OK, other.status());
        }
        release(other);
    }

    void end_all()
    {
        ucp_fh_comp_t *comp;

        while ((comp = ucp_fh_comp_next(&m_table.ended)) != nullptr) {
            comp->func(comp);
        }
    }

    /* All operations, one after the other */
    void work()
    {
        ucp_fh_pin_ops_t ops = get_ops();
        ucp_fh_work_t work;

        for (unsigned i = 0; ucp_fh_local_next_work(&m_table, &work); ++i) {
            ASSERT_GT(100u, i) << "work goes on for ever";
            ucp_fh_work_do(&work, &ops);
            ucp_fh_local_work_done(&m_table, &work);
        }
        end_all();
    }

    /* What a peer is answered about the buckets that it wants */
    std::vector<ucs_status_t> serve(uint32_t peer, buckets_t unpins,
                                    buckets_t pins)
    {
        std::vector<ucs_status_t> results;
        ucp_fh_serve_t *serve;
        ucs_status_t status;

        serve = ucp_fh_serve_make(peer, unpins.data(), unpins.size(),
                                  pins.data(), pins.size());
        serve->comp.func   = [](ucp_fh_comp_t *comp) {};
        serve->comp.status = UCS_INPROGRESS;
        status             = ucp_fh_local_serve(&m_table, serve);
        if (status == UCS_INPROGRESS) {
            work();
            status = serve->comp.status;
        }
        m_serve_status = status;
        for (unsigned i = 0; i < pins.size(); ++i) {
            const ucp_fh_reg_t *reg = ucp_fh_serve_reg(&m_table, serve, i);
            if (status != UCS_OK) {
                break;
            }
            results.push_back(serve->pins[i].comp.status);
            EXPECT_EQ(results.back() == UCS_OK, reg != nullptr);
            if (reg != nullptr) {
                EXPECT_EQ(reg->span.start, pins[i] << SHIFT);
                EXPECT_EQ(reg->span.end, (pins[i] + 1) << SHIFT);
                EXPECT_EQ((void*)(pins[i] + 1), reg->handle);
            }
        }
        free(serve);
        work();
        return results;
    }

    ucs_status_t withdraw(withdraw_t &withdraw, uint64_t first, uint64_t num,
                          ucp_fh_exposed_t *exposed = nullptr)
    {
        ucp_fh_span_t gone = span(first, num);

        withdraw.calls                   = 0;
        withdraw.withdraw.comp.func = [](ucp_fh_comp_t *comp) {
            ++((withdraw_t*)comp)->calls;
        };
        if (exposed != nullptr) {
            ucp_fh_local_conceal(&m_table, exposed);
        }
        return ucp_fh_local_withdraw(&m_table, &withdraw.withdraw, &gone);
    }

    using results_t = std::vector<ucs_status_t>;

    ucp_fh_local_t   m_table;
    ucp_fh_exposed_t m_exposed;
    bool             m_is_made = false;
    uint64_t         m_max;
    pinned_t         m_pinned;
    uint64_t         m_room       = UINT64_MAX; /* Buckets, of the system */
    unsigned         m_num_tries  = 0;          /* Pins, but those that fail */
    bool             m_fail_pin   = false;
    bool             m_fail_unpin = false;
    ucs_status_t     m_serve_status;
};


TEST_F(test_local, phases) {
    ucp_fh_pin_ops_t ops = get_ops();
    pin_t first, second;
    ucp_fh_work_t op, other;

    make(1, 4);
    EXPECT_EQ(UCS_INPROGRESS, pin(first, 10, 2));
    ASSERT_TRUE(ucp_fh_local_next_work(&m_table, &op));
    EXPECT_TRUE(op.is_pin);
    EXPECT_EQ(10u << SHIFT, op.start);
    EXPECT_EQ(1u << SHIFT, op.length);
    ASSERT_TRUE(ucp_fh_local_next_work(&m_table, &other));
    EXPECT_EQ(11u << SHIFT, other.start);

    /* Another one wants a bucket while it is being pinned */
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_pin(second, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, pin(second, 10, 1));
    EXPECT_FALSE(ucp_fh_local_next_work(&m_table, &other));

    ucp_fh_work_do(&op, &ops);
    ucp_fh_local_work_done(&m_table, &op);
    end_all();
    EXPECT_EQ(1u, second.calls);
    EXPECT_EQ(0u, first.calls);
    EXPECT_EQ((void*)11, ucp_fh_local_handle(&m_table, &second.pin));

    ucp_fh_work_do(&other, &ops);
    ucp_fh_local_work_done(&m_table, &other);
    end_all();
    EXPECT_EQ(1u, first.calls);
    EXPECT_EQ(UCS_OK, first.status());
    EXPECT_EQ(nullptr, ucp_fh_local_handle(&m_table, &first.pin));
    release(first);
    release(second);
    EXPECT_EQ(pinned_t({{10, 1}, {11, 1}}), m_pinned);
}

TEST_F(test_local, hits) {
    pin_t one;

    make(1, 4);
    have(10, 2);
    EXPECT_EQ(UCS_OK, pin(one, 10, 2));
    release(one);
    EXPECT_EQ(UCS_OK, try_pin(one, 11, 1));
    release(one);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_pin(one, 11, 2));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, pin(one, 11, 0));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, try_pin(one, 11, 0));
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, pin(one, 10, 5));
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_pin(one, 10, 5));
    EXPECT_EQ(0u, one.calls);
}

TEST_F(test_local, parts) {
    pin_t one;

    make(2, 4);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, partial(one, 0, 30));
    have(5, 1);
    have(10, 3);
    EXPECT_EQ(UCS_OK, partial(one, 0, 30));
    EXPECT_EQ(10u, one.pin.run.first);
    EXPECT_EQ(3u, one.pin.run.num);
    release(one);
    EXPECT_EQ(UCS_OK, partial(one, 0, 11));
    EXPECT_EQ(5u, one.pin.run.first); /* The first of equal ones */
    release(one);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, partial(one, 0, 0));
}

/* What was used last stays */
TEST_F(test_local, victims) {
    make(1, 3);
    have(10, 3);
    have(10, 1);
    have(20, 1);
    EXPECT_EQ(pinned_t({{10, 1}, {12, 1}, {20, 1}}), m_pinned);
}

/* Room for firehoses is made of victims */
TEST_F(test_local, firehoses_take_victims) {
    make(2, 2);
    have(10, 2);
    EXPECT_EQ(results_t({UCS_OK, UCS_OK}), serve(0, {}, {20, 21}));
    EXPECT_EQ(4u, m_pinned.size());
    EXPECT_EQ(results_t({UCS_OK, UCS_OK}), serve(1, {}, {30, 31}));
    EXPECT_EQ(6u, m_pinned.size());
    EXPECT_EQ(results_t({UCS_OK}), serve(1, {30}, {32}));
    EXPECT_EQ(pinned_t({{11, 1}, {20, 1}, {21, 1}, {30, 1}, {31, 1}, {32, 1}}),
              m_pinned);
}

/* With all else in use, there is still a bucket for each firehose */
TEST_F(test_local, promise_is_kept) {
    pin_t one;

    make(2, 2);
    EXPECT_EQ(UCS_INPROGRESS, pin(one, 10, 2));
    work();
    EXPECT_EQ(results_t({UCS_OK, UCS_OK}), serve(0, {}, {10, 11}));
    EXPECT_EQ(results_t({UCS_OK, UCS_OK}), serve(1, {}, {30, 31}));
    EXPECT_EQ(results_t({UCS_OK, UCS_OK}), serve(0, {10, 11}, {40, 41}));
    EXPECT_EQ(6u, m_pinned.size());
    EXPECT_EQ(UCS_OK, one.status());
    release(one);
}

/* A bucket with a firehose counts as a local one too, since the firehose may be
 * moved away */
TEST_F(test_local, local_uses_are_limited) {
    pin_t first, second, third;

    make(2, 2);
    serve(0, {}, {10, 11});
    EXPECT_EQ(UCS_OK, pin(first, 10, 1));
    EXPECT_EQ(UCS_OK, pin(second, 10, 2));
    EXPECT_EQ(UCS_INPROGRESS, pin(third, 12, 1));
    work();
    EXPECT_EQ(0u, third.calls);
    release(first);
    EXPECT_EQ(0u, third.calls);
    release(second);
    EXPECT_EQ(1u, third.calls);
    release(third);
}

/* Those that need little may pass one that needs much, but not for ever */
TEST_F(test_local, local_pins_pass) {
    pin_t users[2], waits, last;
    unsigned turns = 0;
    ucs_status_t status;

    make(1, 2);
    have(10, 1);
    ASSERT_EQ(UCS_OK, pin(users[0], 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, pin(waits, 20, 2));
    do {
        ASSERT_GT(20u, turns);
        ++turns;
        status = pin(users[turns % 2], 10, 1);
        release(users[(turns + 1) % 2]);
    } while (status == UCS_OK);
    EXPECT_EQ(9u, turns);
    EXPECT_EQ(1u, waits.calls);
    EXPECT_EQ(0u, users[turns % 2].calls);
    EXPECT_EQ(UCS_INPROGRESS, pin(last, 10, 1));
    release(waits);
    EXPECT_EQ(1u, users[turns % 2].calls);
    EXPECT_EQ(1u, last.calls);
    release(users[turns % 2]);
    release(last);
}

TEST_F(test_local, wrong_messages) {
    ucp_fh_exposed_t exposed;
    withdraw_t gone;
    ucp_fh_span_t left = span(0, 100), right = span(100, 100);

    make(2, 2);
    EXPECT_EQ(results_t({UCS_ERR_INVALID_ADDR, UCS_OK}),
              serve(0, {}, {1000, 10}));
    /* What one thread should not have asked for, next to what another one has */
    EXPECT_EQ(results_t({UCS_OK, UCS_ERR_INVALID_ADDR, UCS_ERR_INVALID_ADDR}),
              serve(1, {}, {999, 1000, 1001}));
    EXPECT_EQ(results_t(), serve(1, {999}, {}));
    EXPECT_EQ(results_t({UCS_ERR_ALREADY_EXISTS}), serve(0, {}, {10}));
    EXPECT_EQ(results_t({UCS_OK, UCS_ERR_EXCEEDS_LIMIT}),
              serve(0, {}, {20, 30}));
    EXPECT_EQ(results_t(), serve(0, {30}, {}));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, m_serve_status);
    EXPECT_EQ(results_t(), serve(1, {10}, {11})); /* It is another one's */
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, m_serve_status);
    EXPECT_EQ(2u, m_table.num_grants);

    /* Two that adjoin are as good as one */
    serve(0, {10, 20}, {});
    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, 0, 1000, &m_exposed));
    work();
    EXPECT_EQ(1u, gone.calls);
    EXPECT_EQ(UCS_OK, ucp_fh_local_expose(&m_table, &m_exposed, &left));
    EXPECT_EQ(UCS_OK, ucp_fh_local_expose(&m_table, &exposed, &right));
    EXPECT_EQ(results_t({UCS_OK, UCS_OK}), serve(0, {}, {99, 100}));
}

TEST_F(test_local, pin_fails) {
    pin_t first, second, other;

    make(2, 4);
    have(10, 1);
    EXPECT_EQ(UCS_INPROGRESS, pin(first, 10, 2));
    EXPECT_EQ(UCS_INPROGRESS, pin(second, 11, 1));
    EXPECT_EQ(UCS_OK, pin(other, 10, 1));
    m_fail_pin = true;
    work();
    for (pin_t *pin : {&first, &second}) {
        EXPECT_EQ(1u, pin->calls);
        EXPECT_EQ(UCS_ERR_IO_ERROR, pin->status());
    }
    release(other);
    EXPECT_EQ(results_t({UCS_ERR_IO_ERROR, UCS_OK}), serve(0, {}, {11, 10}));
    EXPECT_EQ(1u, m_table.num_grants);
    m_fail_pin = false;
    EXPECT_EQ(results_t({UCS_OK}), serve(0, {}, {11}));
}

/* The system has less room than M + MAXVICTIM: victims give way one by one */
TEST_F(test_local, refused_room_is_made) {
    pin_t three, one;

    make(2, 6);
    m_room = 5;
    for (unsigned first : {10, 20, 30, 40, 50}) {
        have(first, 1);
    }
    m_num_tries = 0;
    EXPECT_EQ(UCS_INPROGRESS, pin(three, 60, 3));
    work();
    EXPECT_EQ(1u, three.calls);
    EXPECT_EQ(UCS_OK, three.status());
    EXPECT_EQ(6u, m_num_tries);
    EXPECT_EQ(pinned_t({{40, 1}, {50, 1}, {60, 1}, {61, 1}, {62, 1}}), m_pinned);

    m_room = 4;
    ucp_fh_local_try_again(&m_table, 1);
    EXPECT_EQ(UCS_OK, pin(one, 50, 1));
    EXPECT_EQ(results_t({UCS_ERR_EXCEEDS_LIMIT, UCS_ERR_EXCEEDS_LIMIT}),
              serve(0, {}, {70, 71}));
    EXPECT_EQ(pinned_t({{50, 1}, {60, 1}, {61, 1}, {62, 1}}), m_pinned);
    release(one);
    EXPECT_EQ(results_t({UCS_OK}), serve(0, {}, {70}));
    EXPECT_EQ(pinned_t({{60, 1}, {61, 1}, {62, 1}, {70, 1}}), m_pinned);
    release(three);
}

/* Who has the room may give it back by itself */
TEST_F(test_local, refused_for_a_while) {
    pin_t one, two;

    make(1, 4);
    m_room = 0;
    EXPECT_EQ(UCS_INPROGRESS, pin(one, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, pin(two, 11, 1));
    for (unsigned i = 1; i < 3; ++i) {
        work();
        EXPECT_EQ(i, m_num_tries);
        EXPECT_TRUE(m_table.is_refused);
        ucp_fh_local_try_again(&m_table, 0);
        EXPECT_EQ(UCS_INPROGRESS, one.status());
    }
    m_room = 1;
    work();
    EXPECT_EQ(UCS_OK, one.status());
    EXPECT_EQ(UCS_INPROGRESS, two.status());
    EXPECT_TRUE(m_table.is_refused);

    /* Now it is a victim */
    release(one);
    EXPECT_EQ(UCS_OK, two.status());
    EXPECT_FALSE(m_table.is_refused);
    release(two);
}

/* Once one has waited in vain, others do not wait */
TEST_F(test_local, refused_in_vain) {
    pin_t one, two, three;

    make(1, 4);
    m_room = 0;
    EXPECT_EQ(UCS_INPROGRESS, pin(one, 10, 1));
    EXPECT_EQ(UCS_INPROGRESS, pin(two, 11, 1));
    work();
    ucp_fh_local_try_again(&m_table, 1);
    work();
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, one.status());
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, two.status());
    EXPECT_FALSE(m_table.is_refused);
    EXPECT_EQ(3u, m_num_tries);

    m_room = 1;
    have(20, 1);
    EXPECT_EQ(UCS_OK, pin(one, 20, 1));
    for (bool waits : {false, true}) {
        EXPECT_EQ(UCS_INPROGRESS, pin(three, 12, 1));
        work();
        EXPECT_EQ(waits, m_table.is_refused);
        EXPECT_EQ(waits ? UCS_INPROGRESS : UCS_ERR_EXCEEDS_LIMIT,
                  three.status());
        ucp_fh_local_be_patient(&m_table);
    }
    release(one);
    EXPECT_EQ(UCS_OK, three.status());
    release(three);
}

/* Those who wait for room that nobody gives up do not wait for ever */
TEST_F(test_local, refused_for_good) {
    pin_t one, two;

    make(1, 4);
    m_room = 2;
    EXPECT_EQ(UCS_INPROGRESS, pin(one, 10, 2));
    work();
    EXPECT_EQ(UCS_OK, one.status());
    m_num_tries = 0;
    EXPECT_EQ(UCS_INPROGRESS, pin(two, 11, 2));
    work();
    ucp_fh_local_try_again(&m_table, 1);
    work();
    EXPECT_EQ(1u, two.calls);
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, two.status());
    EXPECT_EQ(2u, m_num_tries);
    EXPECT_EQ(results_t({UCS_ERR_EXCEEDS_LIMIT}), serve(1, {}, {30}));
    EXPECT_EQ(results_t({UCS_OK}), serve(1, {}, {11}));
    release(one);
    have(30, 1);
    EXPECT_EQ(pinned_t({{11, 1}, {30, 1}}), m_pinned);
}

/* Nor if it is a victim that cannot be unpinned */
TEST_F(test_local, refused_and_unpin_fails) {
    pin_t one, two;

    make(1, 4);
    m_room = 2;
    have(10, 1);
    have(11, 1);
    m_fail_unpin = true;
    EXPECT_EQ(UCS_INPROGRESS, pin(one, 20, 1));
    EXPECT_EQ(UCS_INPROGRESS, pin(two, 21, 1));
    work();
    EXPECT_EQ(UCS_ERR_IO_ERROR, one.status());
    EXPECT_EQ(UCS_ERR_IO_ERROR, two.status());
    m_fail_unpin = false;
    have(20, 1);
    EXPECT_EQ(2u, m_pinned.size());
}

TEST_F(test_local, unpin_fails) {
    pin_t one;

    make(1, 1);
    have(10, 1);
    serve(0, {}, {20});
    serve(1, {}, {21});
    m_fail_unpin = true;
    EXPECT_EQ(UCS_INPROGRESS, pin(one, 30, 1));
    work();
    EXPECT_EQ(1u, one.calls);
    EXPECT_EQ(UCS_ERR_IO_ERROR, one.status());
    EXPECT_EQ(UCS_OK, pin(one, 10, 1)); /* It is pinned still */
    release(one);

    /* More victims than there should be are no reason to go on for ever */
    serve(0, {20}, {});
    EXPECT_EQ(3u, m_pinned.size());
    m_fail_unpin = false;
    have(10, 1);
    EXPECT_EQ(2u, m_pinned.size());
}

TEST_F(test_local, peer_dies) {
    buckets_t buckets = {10, 11};
    ucp_fh_serve_t *serve_10;
    pin_t one;

    make(2, 2);
    serve(0, {}, {10});
    serve(1, {}, {10, 20});
    ucp_fh_local_fail_peer(&m_table, 1);
    EXPECT_EQ(results_t(), serve(1, {}, {30}));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, m_serve_status);
    EXPECT_EQ(1u, m_table.num_grants);
    EXPECT_EQ(UCS_OK, pin(one, 20, 1));
    release(one);

    /* One that waits for an answer */
    serve(0, {10}, {});
    serve_10 = ucp_fh_serve_make(0, nullptr, 0, buckets.data(), 2);
    serve_10->comp.func = [](ucp_fh_comp_t *comp) {};
    EXPECT_EQ(UCS_INPROGRESS, ucp_fh_local_serve(&m_table, serve_10));
    ucp_fh_local_fail_peer(&m_table, 0);
    end_all();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, serve_10->comp.status);
    free(serve_10);
    work();
    EXPECT_EQ(0u, m_table.num_grants);
    EXPECT_EQ(pinned_t({{10, 1}, {20, 1}}), m_pinned);
}

/* A peer that gives back what it was not told to have yet is turned down */
TEST_F(test_local, gives_back_too_early) {
    buckets_t buckets = {10, 11};
    ucp_fh_serve_t *serve_10;

    make(2, 2);
    have(10, 1);
    serve_10 = ucp_fh_serve_make(0, nullptr, 0, buckets.data(), 2);
    serve_10->comp.func = [](ucp_fh_comp_t *comp) {};
    EXPECT_EQ(UCS_INPROGRESS, ucp_fh_local_serve(&m_table, serve_10));
    serve(0, {11}, {}); /* It does the work as well */
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, m_serve_status);
    EXPECT_EQ(2u, m_table.num_grants);
    EXPECT_EQ(UCS_OK, serve_10->pins[0].comp.status);
    EXPECT_EQ(UCS_OK, serve_10->pins[1].comp.status);
    free(serve_10);
}

/* Nor is it told of what it gave back while others of the message were being pinned:
 * its key may be gone */
TEST_F(test_local, gives_back_before_it_is_told) {
    buckets_t buckets = {10, 11};
    ucp_fh_serve_t *serve_10;
    withdraw_t gone;

    make(2, 2);
    have(10, 1);
    serve_10 = ucp_fh_serve_make(0, nullptr, 0, buckets.data(), 2);
    serve_10->comp.func = [](ucp_fh_comp_t *comp) {};
    EXPECT_EQ(UCS_INPROGRESS, ucp_fh_local_serve(&m_table, serve_10));
    EXPECT_EQ(UCS_OK, serve_10->pins[0].comp.status);
    EXPECT_NE(nullptr, ucp_fh_serve_reg(&m_table, serve_10, 0));
    serve(0, {10}, {});
    EXPECT_EQ(UCS_OK, m_serve_status);
    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, 10, 1));
    work();
    EXPECT_EQ(UCS_OK, gone.withdraw.comp.status);
    EXPECT_EQ(nullptr, ucp_fh_serve_reg(&m_table, serve_10, 0));
    EXPECT_NE(nullptr, ucp_fh_serve_reg(&m_table, serve_10, 1));
    free(serve_10);
}

/* While a worker makes room, another one does not make more than is needed */
TEST_F(test_local, room_is_made_once) {
    ucp_fh_pin_ops_t ops = get_ops();
    ucp_fh_work_t first, second;
    pin_t one;

    make(1, 2);
    have(10, 2);
    serve(0, {}, {20});
    serve(1, {}, {21});
    EXPECT_EQ(UCS_INPROGRESS, pin(one, 30, 1));
    ASSERT_TRUE(ucp_fh_local_next_work(&m_table, &first));
    EXPECT_FALSE(first.is_pin);
    EXPECT_FALSE(ucp_fh_local_next_work(&m_table, &second));
    ucp_fh_work_do(&first, &ops);
    ucp_fh_local_work_done(&m_table, &first);
    work();
    EXPECT_EQ(1u, one.calls);
    release(one);
    EXPECT_EQ(pinned_t({{11, 1}, {20, 1}, {21, 1}, {30, 1}}), m_pinned);
}

TEST_F(test_local, memory_goes_away) {
    ucp_fh_span_t place = span(10, 5);
    ucp_fh_exposed_t exposed;
    pin_t user, late;
    withdraw_t gone;

    make(3, 3);
    have(11, 1);
    serve(1, {}, {12, 20});
    EXPECT_EQ(UCS_INPROGRESS, pin(user, 13, 1));
    work();

    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, 10, 5, &m_exposed));
    EXPECT_EQ(10u, gone.withdraw.place.run.first);
    EXPECT_EQ(5u, gone.withdraw.place.run.num);
    EXPECT_EQ(1u, ucp_fh_local_next_holder(&m_table));
    EXPECT_EQ(UCP_FH_LOCAL, ucp_fh_local_next_holder(&m_table));
    work();
    EXPECT_EQ(pinned_t({{12, 1}, {13, 1}, {20, 1}}), m_pinned);
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, pin(late, 9, 2));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_pin(late, 13, 1));
    EXPECT_EQ(results_t({UCS_ERR_INVALID_ADDR}), serve(0, {}, {12}));
    EXPECT_EQ(UCS_ERR_BUSY, ucp_fh_local_expose(&m_table, &exposed, &place));

    serve(1, {12}, {});
    EXPECT_EQ(0u, gone.calls);
    release(user);
    EXPECT_EQ(1u, gone.calls);
    EXPECT_EQ(UCS_OK, gone.withdraw.comp.status);
    EXPECT_EQ(pinned_t({{20, 1}}), m_pinned);

    EXPECT_EQ(UCS_OK, ucp_fh_local_expose(&m_table, &m_exposed, &place));
    EXPECT_EQ(results_t({UCS_OK}), serve(0, {}, {12}));
    EXPECT_EQ(UCS_OK, withdraw(gone, 100, 50));
}

/* Whoever has most firehoses is asked first, and not always for the same one */
TEST_F(test_local, picks_what_is_given_back) {
    ucp_fh_run_t run;

    make(4, 4);
    EXPECT_FALSE(ucp_fh_local_pick_recall(&m_table, &run));
    serve(1, {}, {10, 11, 20});
    serve(0, {}, {20, 30});
    for (uint64_t first : {10, 11, 20, 10}) {
        ASSERT_TRUE(ucp_fh_local_pick_recall(&m_table, &run));
        EXPECT_EQ(first, run.first);
        EXPECT_EQ(1u, run.num);
        EXPECT_EQ(1u, ucp_fh_local_next_holder(&m_table));
        if (first == 20) {
            EXPECT_EQ(0u, ucp_fh_local_next_holder(&m_table));
        }
        EXPECT_EQ(UCP_FH_LOCAL, ucp_fh_local_next_holder(&m_table));
    }

    serve(1, {10, 11}, {});
    ASSERT_TRUE(ucp_fh_local_pick_recall(&m_table, &run));
    EXPECT_EQ(20u, run.first);
}

/* Some of what is exposed goes away: peers keep what they have of the rest */
TEST_F(test_local, rest_stays_exposed) {
    ucp_fh_span_t left  = span(0, 10);
    ucp_fh_span_t right = span(20, 980);
    ucp_fh_exposed_t other;
    withdraw_t gone;

    make(3, 3);
    EXPECT_EQ(results_t(3, UCS_OK), serve(0, {}, {9, 15, 20}));
    ucp_fh_local_conceal(&m_table, &m_exposed);
    EXPECT_EQ(results_t({UCS_ERR_INVALID_ADDR}), serve(1, {}, {9}));
    EXPECT_EQ(3u, m_table.num_grants);

    EXPECT_EQ(UCS_OK, ucp_fh_local_expose(&m_table, &m_exposed, &left));
    EXPECT_EQ(UCS_OK, ucp_fh_local_expose(&m_table, &other, &right));
    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, 10, 10));
    EXPECT_EQ(results_t({UCS_OK, UCS_ERR_INVALID_ADDR, UCS_OK}),
              serve(1, {}, {9, 15, 20}));
    serve(0, {15}, {});
    work();
    EXPECT_EQ(1u, gone.calls);
    EXPECT_EQ(4u, m_table.num_grants);
    EXPECT_EQ(results_t({UCS_ERR_INVALID_ADDR}), serve(1, {}, {15}));
}

TEST_F(test_local, withdrawn_cannot_be_unpinned) {
    withdraw_t gone;
    pin_t one;

    make(1, 2);
    have(10, 1);
    m_fail_unpin = true;
    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, 10, 2));
    work();
    EXPECT_EQ(1u, gone.calls);
    EXPECT_EQ(UCS_ERR_IO_ERROR, gone.withdraw.comp.status);

    /* Its handle is that of memory that is gone */
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, pin(one, 10, 1));
    m_fail_unpin = false;
    work();
    EXPECT_EQ(pinned_t({{10, 1}}), m_pinned);
    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, 10, 2));
    work();
    EXPECT_EQ(UCS_OK, gone.withdraw.comp.status);
    EXPECT_EQ(pinned_t(), m_pinned);
    have(10, 1);
}

/* Whichever allocation fails, the pin fails alone */
TEST_F(test_local, no_memory) {
    ucp_fh_bucket_t buckets[] = {10, 11, 12};
    ucp_fh_serve_t *serve_3;
    withdraw_t gone;
    pin_t one;

    make(3, 3);
    /* Two of each bucket; the others get theirs */
    for (unsigned nth = 1; nth <= 6; ++nth) {
        serve_3 = ucp_fh_serve_make(0, nullptr, 0, buckets, 3);
        serve_3->comp.func = [](ucp_fh_comp_t *comp) {};
        test_alloc_fail_nth(nth);
        EXPECT_EQ(UCS_INPROGRESS, ucp_fh_local_serve(&m_table, serve_3));
        EXPECT_TRUE(test_alloc_failed());
        test_alloc_fail_nth(0);
        work();
        for (unsigned i = 0; i < 3; ++i) {
            EXPECT_EQ((i == (nth - 1) / 2) ? UCS_ERR_NO_MEMORY : UCS_OK,
                      serve_3->pins[i].comp.status);
        }
        EXPECT_EQ(2u, m_table.num_regs);
        EXPECT_EQ(2u, m_table.num_grants);
        free(serve_3);
        ucp_fh_local_fail_peer(&m_table, 0);
        m_table.holders[0].has_failed = 0;
        EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, 10, 3));
        work();
        EXPECT_EQ(0u, m_table.num_regs);
    }
    for (unsigned nth = 1; nth <= 3; ++nth) {
        test_alloc_fail_nth(nth);
        EXPECT_EQ(UCS_ERR_NO_MEMORY, pin(one, 10, 3));
        test_alloc_fail_nth(0);
        EXPECT_EQ(0u, m_table.num_regs);
    }
    test_alloc_fail_nth(1);
    EXPECT_EQ(nullptr, ucp_fh_serve_make(0, nullptr, 0, buckets, 3));
    test_alloc_fail_nth(0);
    have(10, 3);
}

TEST_F(test_local, no_memory_for_the_table) {
    ucp_fh_local_params_t params = {SHIFT, 1, 1 << 20, 1 << 20};

    for (unsigned nth : {1, 2, 3}) {
        test_alloc_fail_nth(nth);
        EXPECT_EQ(UCS_ERR_NO_MEMORY, ucp_fh_local_init(&m_table, &params));
        EXPECT_TRUE(test_alloc_failed());
        test_alloc_fail_nth(0);
    }
}

TEST_F(test_local, parameters) {
    ucp_fh_local_params_t good = {SHIFT, 2, 1 << 20, 1 << 20};
    ucp_fh_local_params_t params;

    params            = good;
    params.max_victim = 4095;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, ucp_fh_local_init(&m_table, &params));
    EXPECT_EQ("firehose: MAXVICTIM of 4095 bytes; accepted: 4096 and more, a "
              "bucket", log_watch::take());

    params   = good;
    params.m = 4096;
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, ucp_fh_local_init(&m_table, &params));
    EXPECT_EQ("firehose: M is 4096 bytes, less than a bucket of 4096 bytes for "
              "each of 2 processes; accepted: 8192 bytes and more (M is what the "
              "program or UCX_RCACHE_PRED_FIREHOSE_M says, or less if bounds "
              "leave less)",
              log_watch::take());
}

/* To find those who have firehoses costs the same however many peers there are */
TEST_F(test_local, others_cost_nothing) {
    constexpr unsigned NUM_PEERS = 200000;
    ucp_fh_run_t run             = {};
    withdraw_t gone;

    make(2, 2, NUM_PEERS);
    serve(NUM_PEERS / 2, {}, {10, 11});

    test_touched_start(m_table.holders, NUM_PEERS * sizeof(*m_table.holders));
    EXPECT_TRUE(ucp_fh_local_pick_recall(&m_table, &run));
    EXPECT_EQ(NUM_PEERS / 2, ucp_fh_local_next_holder(&m_table));
    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, 10, 5));
    EXPECT_EQ(NUM_PEERS / 2, ucp_fh_local_next_holder(&m_table));
    EXPECT_EQ(UCP_FH_LOCAL, ucp_fh_local_next_holder(&m_table));
    serve(NUM_PEERS / 2, {10, 11}, {});
    EXPECT_LE(test_touched_stop(), 2u);
    EXPECT_EQ(1u, gone.calls);
}
