/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_test.h"

#include <common/fake_world.h>

#include <chrono>
#include <climits>
#include <thread>
#include <vector>

/* The registrations of hot buffers, and the ends of sends */
class test_hot : public eager_test {
protected:
    void set_callback(bool has_data = true)
    {
        m_param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                               (has_data ? UCP_OP_ATTR_FIELD_USER_DATA : 0);
        m_param.cb.send      = called;
        m_param.user_data    = this;
    }

    /* What UCP returns for all sends */
    void *request()
    {
        return ep();
    }

    /* Whether what is dead can be deregistered now */
    void reap()
    {
        uct_predreg_eager_idle(&m_sender, worker(), 0);
    }
};

/* Another thread has reaped the slot before the buffer became hot */
TEST_F(test_hot, a_handle_without_a_registration_is_not_kept) {
    add();
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(test_eager_heat(m_context, page(0), 7));
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_cold());
    heat(page(0));
}

TEST_F(test_hot, the_callback_of_the_program_is_called_once) {
    add();
    set_callback();
    m_outcome = PENDING;
    heat(page(0));
    EXPECT_TRUE(m_called.empty());
    complete(UCS_ERR_CANCELED);
    ASSERT_EQ(1u, m_called.size());
    EXPECT_EQ(UCS_ERR_CANCELED, m_called[0].first);
    EXPECT_EQ(this, m_called[0].second);
}

TEST_F(test_hot, the_program_may_have_no_data) {
    add();
    set_callback(false);
    m_outcome = PENDING;
    heat(page(0));
    complete();
    ASSERT_EQ(1u, m_called.size());
    EXPECT_EQ(nullptr, m_called[0].second);
}

TEST_F(test_hot, ucp_calls_back_inside_of_the_call) {
    add();
    set_callback();
    m_outcome = CALLED;
    heat(page(0));
    for (unsigned i = 0; i < 2 * UCT_PREDREG_MAX_FLIGHTS; ++i) {
        ASSERT_TRUE(send(page(0)));
    }
    EXPECT_EQ(2 * UCT_PREDREG_MAX_FLIGHTS + 1, m_called.size());
}

TEST_F(test_hot, a_send_that_is_over_at_once_is_not_called_back_for) {
    add();
    set_callback();
    heat(page(0));
    for (unsigned i = 0; i < 2 * UCT_PREDREG_MAX_FLIGHTS; ++i) {
        m_outcome = (i % 2) ? FAILED : DONE;
        ASSERT_TRUE(send(page(0)));
    }
    EXPECT_TRUE(m_called.empty());
}

TEST_F(test_hot, so_many_callbacks_of_the_program_and_no_more) {
    add();
    set_callback();
    m_outcome = PENDING;
    heat(page(0));
    for (unsigned i = 1; i < UCT_PREDREG_MAX_FLIGHTS; ++i) {
        ASSERT_TRUE(send(page(0)));
    }
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_cold());

    set_callback();
    complete();
    EXPECT_TRUE(send(page(0)));
    while (!m_flying.empty()) {
        complete();
    }
    EXPECT_EQ(UCT_PREDREG_MAX_FLIGHTS + 1, m_called.size());
}

TEST_F(test_hot, memory_that_was_unmapped_is_deregistered) {
    add();
    heat(page(0));
    uct_predreg_hot_unmapped(uintptr_t(page(0)), uintptr_t(page(1)));
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_cold());
    EXPECT_TRUE(m_mapped.empty());
    EXPECT_EQ(0u, m_context->slots.bytes);

    /* It may be hot again */
    heat(page(0));
    EXPECT_EQ(2u, m_num_mapped);
}

TEST_F(test_hot, a_waiting_program_deregisters_what_was_unmapped) {
    add();
    heat(page(0));
    heat(page(1));
    uct_predreg_hot_unmapped(uintptr_t(page(0)), uintptr_t(page(0)) + 1);
    reap();
    EXPECT_EQ(1u, m_mapped.size());
    EXPECT_TRUE(send(page(1)));
}

TEST_F(test_hot, memory_in_flight_stays_registered) {
    add();
    m_outcome = PENDING;
    heat(page(0));
    EXPECT_TRUE(send(page(0)));
    uct_predreg_hot_unmapped(uintptr_t(page(0)), uintptr_t(page(1)));
    EXPECT_FALSE(send(page(0)));
    reap();
    EXPECT_EQ(1u, m_mapped.size());
    complete();
    reap();
    EXPECT_EQ(1u, m_mapped.size());
    complete();
    reap();
    EXPECT_TRUE(m_mapped.empty());
}

/* UCP calls back for a request that is released */
TEST_F(test_hot, a_request_that_is_freed_is_called_back_for_here_alone) {
    for (bool has_callback : {true, false}) {
        add();
        m_param.op_attr_mask = 0;
        if (has_callback) {
            set_callback();
        }
        m_outcome = PENDING;
        heat(page(0));
        uct_predreg_hot_unmapped(uintptr_t(page(0)), uintptr_t(page(1)));
        EXPECT_TRUE(uct_predreg_hot_freeing(request()));
        EXPECT_FALSE(uct_predreg_hot_freeing(request())) << "once";
        reap();
        EXPECT_EQ(1u, m_mapped.size()); /* The peer may have it still */

        complete();
        EXPECT_TRUE(m_called.empty());
        reap();
        EXPECT_TRUE(m_mapped.empty());
        close();
    }
}

/* Else sends would be copied after so many */
TEST_F(test_hot, any_number_of_requests_may_be_freed) {
    add();
    set_callback();
    m_outcome = PENDING;
    heat(page(0));
    for (unsigned i = 0; i < 2 * UCT_PREDREG_MAX_FLIGHTS; ++i) {
        EXPECT_TRUE(uct_predreg_hot_freeing(request()));
        complete();
        ASSERT_TRUE(send(page(0)));
    }
    complete();
    EXPECT_EQ(1u, m_called.size());
}

/* Whatever comes first, each send comes back once, and the program is called back for what it
 * has not freed in time */
TEST_F(test_hot, requests_may_be_freed_while_ucp_calls_back) {
    unsigned freed, silent;

    EXPECT_EQ(0u, test_flights_of_two_threads(20000, &freed, &silent));
    EXPECT_EQ(freed, silent);
}

TEST_F(test_hot, requests_of_others_are_freed) {
    int other;

    add();
    EXPECT_FALSE(uct_predreg_hot_freeing(&other));
    m_outcome = PENDING;
    heat(page(0));
    EXPECT_FALSE(uct_predreg_hot_freeing(&other));
    complete();
    EXPECT_FALSE(uct_predreg_hot_freeing(request())) << "it is complete";

    m_outcome = CALLED;
    EXPECT_TRUE(send(page(0)));
    EXPECT_FALSE(uct_predreg_hot_freeing(request()));
}

TEST_F(test_hot, a_longer_message_makes_a_longer_registration) {
    add();
    heat(page(0), 512);
    EXPECT_TRUE(send(page(0), PAGE)); /* It registers pages */

    for (unsigned i = 0; i < 2 * HOT_FROM; ++i) {
        send(page(0), 2 * PAGE);
    }
    EXPECT_TRUE(send(page(0), 2 * PAGE));
    EXPECT_TRUE(send(page(0), 512));
    EXPECT_EQ(1u, m_mapped.size());
    EXPECT_EQ(2u, m_num_mapped);
}

/* The end of an earlier message may be on its way out of the address space: the hook for it
 * was called, maybe, when nothing of the buffer was registered yet */
TEST_F(test_hot, no_more_is_registered_than_the_message_has) {
    char *buffer = page(1) - 512;

    add();
    EXPECT_FALSE(send(buffer, 1024));
    for (unsigned i = 2; i < HOT_FROM; ++i) {
        EXPECT_FALSE(send(buffer, 512));
    }
    EXPECT_TRUE(send(buffer, 512));
    ASSERT_EQ(1u, m_mapped.size());
    EXPECT_EQ(std::make_pair(page(0), size_t(PAGE)), m_mapped.begin()->second);

    /* The next one that is longer has all of it registered for those that follow */
    EXPECT_FALSE(send(buffer, 1024));
    ASSERT_EQ(1u, m_mapped.size());
    EXPECT_EQ(std::make_pair(page(0), size_t(2 * PAGE)),
              m_mapped.begin()->second);
    EXPECT_TRUE(send(buffer, 1024));
    EXPECT_TRUE(send(buffer, 512));
    EXPECT_EQ(2u, m_num_mapped);
}

TEST_F(test_hot, a_longer_message_beside_those_in_flight) {
    add();
    m_outcome = PENDING;
    heat(page(0), 512);
    EXPECT_FALSE(send(page(0), 2 * PAGE));
    EXPECT_TRUE(send(page(0), 2 * PAGE));
    EXPECT_EQ(2u, m_mapped.size());
    complete();
    reap();
    EXPECT_EQ(1u, m_mapped.size());
    EXPECT_TRUE(send(page(0), 2 * PAGE));
    while (!m_flying.empty()) {
        complete();
    }
}

TEST_F(test_hot, a_longer_message_that_cannot_be_registered) {
    add();
    heat(page(0), 512);
    m_map_status = UCS_ERR_IO_ERROR;
    EXPECT_FALSE(send(page(0), 2 * PAGE));
    EXPECT_TRUE(is_cold());
    EXPECT_TRUE(m_mapped.empty());
    m_map_status = UCS_OK;
    heat(page(0), 2 * PAGE);
}

TEST_F(test_hot, a_message_across_two_hot_buffers) {
    add();
    heat(page(0), PAGE);
    heat(page(1), PAGE);
    EXPECT_FALSE(send(page(0) + PAGE / 2, PAGE)); /* Another buffer */
    for (unsigned i = 0; i < 2 * HOT_FROM; ++i) {
        send(page(0), 2 * PAGE);
    }
    EXPECT_TRUE(send(page(0), 2 * PAGE));
    EXPECT_TRUE(send(page(1), PAGE));
}

TEST_F(test_hot, buffers_have_an_eighth_of_the_bytes) {
    set("MAX_PINNED", "256k");
    add();
    for (unsigned i = 0; i < 24; ++i) {
        heat(page(i));
        EXPECT_LE(m_context->slots.bytes, 8 * PAGE);
    }
    EXPECT_EQ(8u, m_mapped.size());
}

/* The cache has a lower bound than the user has set: as much memory as may be locked */
TEST_F(test_hot, buffers_have_an_eighth_of_the_bound_in_force) {
    fake_world world;
    ucs_rcache_pred_params_t params = {};
    ucs_rcache_pred_t *pred;

    params.ops           = &fake_world::ops;
    params.arg           = &world;
    params.policy        = UCS_RCACHE_PRED_POLICY_PREDICT;
    params.history       = 8;
    params.max_sites     = 256;
    params.known_regions = 256;
    params.max_bytes     = MB;
    params.max_regions   = UINT64_MAX;
    params.dq_size       = 64;
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_create(&params, &pred));
    ucs_rcache_pred_set_max_bytes(pred, 256 * KB);
    test_core_state()->pred = pred;
    add();
    for (unsigned i = 0; i < 24; ++i) {
        heat(page(i));
    }
    EXPECT_EQ(8u, m_mapped.size());
    test_core_state()->pred = nullptr;
    ucs_rcache_pred_destroy(pred);
}

TEST_F(test_hot, buffers_have_an_eighth_of_the_regions) {
    set("MAX_REGIONS", "24");
    add();
    for (unsigned i = 0; i < 16; ++i) {
        heat(page(i));
        EXPECT_LE(m_mapped.size(), 3u);
    }
}

TEST_F(test_hot, bounds_without_room_for_one_page) {
    set("MAX_REGIONS", "7");
    add();
    for (unsigned i = 0; i < 10 * HOT_FROM; ++i) {
        EXPECT_FALSE(send(page(0)));
        EXPECT_TRUE(is_cold());
    }
    EXPECT_EQ(0u, m_num_mapped);
}

TEST_F(test_hot, buffers_in_flight_are_not_replaced) {
    set("MAX_REGIONS", "16");
    add();
    m_outcome = PENDING;
    heat(page(0));
    heat(page(1));
    for (unsigned i = 0; i < 2 * HOT_FROM; ++i) {
        EXPECT_FALSE(send(page(2)));
    }
    EXPECT_EQ(2u, m_num_mapped);
    complete();
    for (unsigned i = 0; i < HOT_FROM; ++i) {
        send(page(2));
    }
    EXPECT_EQ(3u, m_num_mapped);
    EXPECT_EQ(2u, m_mapped.size());
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_cold());
}

TEST_F(test_hot, idle_buffers_give_way) {
    add();
    heat(page(0));
    heat(page(1));
    EXPECT_TRUE(give_way());
    EXPECT_EQ(1u, m_uses.size());
    EXPECT_EQ(2u, m_mapped.size()); /* UCP was not called */
    EXPECT_TRUE(give_way());
    EXPECT_FALSE(give_way());
    EXPECT_TRUE(m_uses.empty());

    /* UCP returns both at the next occasion, and nothing is ended twice */
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_cold());
    reap();
    EXPECT_TRUE(m_mapped.empty());
    EXPECT_EQ(2u, m_num_swallowed);
    EXPECT_FALSE(uct_predreg_hot_is_returning());
    EXPECT_EQ(0u, m_context->slots.bytes);

    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(send(page(0)));
    EXPECT_EQ(1u, m_uses.size());
}

TEST_F(test_hot, buffers_in_flight_do_not_give_way) {
    add();
    m_outcome = PENDING;
    heat(page(0));
    EXPECT_FALSE(give_way());
    EXPECT_EQ(1u, m_uses.size());
    complete();
    EXPECT_TRUE(give_way());
    close();
    EXPECT_EQ(1u, m_num_swallowed);
}

TEST_F(test_hot, what_was_unmapped_does_not_give_way_twice) {
    add();
    heat(page(0));
    EXPECT_TRUE(give_way());
    uct_predreg_hot_unmapped(0, UINTPTR_MAX);
    EXPECT_FALSE(give_way());
    reap();
    EXPECT_EQ(1u, m_num_swallowed);
    EXPECT_TRUE(m_mapped.empty());
}

TEST_F(test_hot, what_is_in_flight_goes_with_the_context) {
    add();
    set_callback();
    m_outcome = PENDING;
    heat(page(0));
    heat(page(1));
    close();
    EXPECT_TRUE(m_mapped.empty());
}

/* A context goes while another thread makes room */
class test_hot_closed : public test_hot {
protected:
    static void end(void *domain, uct_mem_h memh)
    {
        auto self = static_cast<test_hot_closed*>(s_self);

        self->m_uses.erase(memh);
        self->m_thread = std::thread([self]() { self->close(); });
        /* Long enough for it to get as far as it can */
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }

    std::thread m_thread;
};

TEST_F(test_hot_closed, what_has_given_way_goes_with_the_context) {
    add();
    heat(page(0));
    EXPECT_TRUE(uct_predreg_hot_give_way(end));
    m_thread.join();
    EXPECT_TRUE(m_mapped.empty());
}

/* A program's callback that sends from a hot buffer itself */
class test_hot_nested : public test_hot {
protected:
    static void resend(void *request, ucs_status_t status, void *user_data)
    {
        auto self = static_cast<test_hot_nested*>(s_self);
        auto send = self->m_send;

        if (++self->m_depth < 5) {
            EXPECT_TRUE(self->send(self->page(0)));
        }
        self->m_send = send;
    }

    unsigned m_depth = 0;
};

TEST_F(test_hot_nested, a_callback_sends) {
    uint64_t sends, hot, bytes;

    add();
    heat(page(0));
    test_eager_counts(&sends, &hot, &bytes);
    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK;
    m_param.cb.send      = resend;
    m_outcome            = CALLED;
    EXPECT_TRUE(send(page(0)));
    EXPECT_EQ(5u, m_depth);

    /* Each of them is counted, those around others as well */
    test_eager_counts(&sends, &hot, &bytes);
    EXPECT_EQ(5u, sends);
    EXPECT_EQ(5u, hot);
    EXPECT_EQ(5 * LENGTH, bytes);
    EXPECT_TRUE(give_way()); /* Nothing is in flight */
}
