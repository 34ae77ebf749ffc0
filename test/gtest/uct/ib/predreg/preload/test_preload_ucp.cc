/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_ucx.h"

#include <ucp/api/ucp_compat.h>
#include <uct/ib/predreg/firehose/preload/firehose.h>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

/* The entry points of UCP, between hooks that a test sets and a fake UCX */
struct test_preload_ucp : public ::testing::Test {
    /* Long enough to count */
    static constexpr size_t LENGTH = UCT_PREDREG_MIN_LENGTH;

    void SetUp() override
    {
        s_self = this;
        fake_reset();
        m_hooks.ucp_config = [](const uct_predreg_real_t*, ucp_config_t *config) {
            s_self->m_told.push_back(config == fake_config ? "config" : "other");
        };
        m_hooks.md_opened = [](uct_md_h, const char*, unsigned) {};
        m_hooks.mem_reg   = [](uct_md_h, void*, size_t, unsigned,
                               uct_predreg_purpose_t, uct_mem_h*) {
            return UCS_OK;
        };
        m_hooks.closing   = [](ucp_worker_h) {
            s_self->m_told.push_back("closing");
        };
        m_hooks.idle      = [](uct_predreg_sender_t**,
                               ucs_rcache_pred_idle_t *idle, ucp_worker_h) {
            s_self->m_told.push_back("idle");
            idle->skip = s_self->m_skip;
        };
        m_hooks.may_sleep = [] { return s_self->m_may_sleep; };
        m_hooks.comm      = [](uct_predreg_issuer_t *issuer,
                               const uct_predreg_comm_t *comm) {
            s_self->m_comms.push_back(*comm);
        };
        fake_set_hooks(&m_hooks);
    }

    void TearDown() override
    {
        fake_set_hooks(nullptr);
        fake_reset();
    }

    ucs_status_ptr_t send(size_t length = LENGTH)
    {
        return ucp_tag_send_nbx(ep(), m_buffer, length, 1, &m_param);
    }

    ucp_ep_h ep()
    {
        return reinterpret_cast<ucp_ep_h>(m_buffer);
    }

    ucp_worker_h worker()
    {
        return reinterpret_cast<ucp_worker_h>(m_buffer);
    }

    static test_preload_ucp *s_self;

    char                                     m_buffer[16] = {};
    ucp_request_param_t                      m_param      = {};
    uct_predreg_hooks_t                      m_hooks      = {};
    std::vector<uct_predreg_comm_t>          m_comms;
    std::vector<std::string>                 m_told;
    int                                      m_may_sleep = 1;
    unsigned                                 m_skip      = 0;
};

test_preload_ucp *test_preload_ucp::s_self;

TEST_F(test_preload_ucp, a_record_says_what_was_called) {
    EXPECT_EQ(UCS_INPROGRESS, UCS_PTR_RAW_STATUS(send()));
    ASSERT_EQ(1u, m_comms.size());

    const uct_predreg_comm_t &comm = m_comms[0];
    EXPECT_EQ(UCS_RCACHE_PRED_COMM_SEND, comm.kind);
    EXPECT_EQ(m_buffer, comm.buffer);
    EXPECT_NE(nullptr, comm.caller);
    EXPECT_NE(nullptr, comm.stack);
}

TEST_F(test_preload_ucp, call_sites_differ) {
    ucp_tag_send_nbx(ep(), m_buffer, LENGTH, 1, &m_param);
    ucp_tag_send_nbx(ep(), m_buffer, LENGTH, 1, &m_param);
    ASSERT_EQ(2u, m_comms.size());
    EXPECT_NE(m_comms[0].caller, m_comms[1].caller);
    EXPECT_EQ(m_comms[0].stack, m_comms[1].stack);
}

TEST_F(test_preload_ucp, parameters_are_the_callers_own) {
    send();
    EXPECT_EQ(&m_param, fake_comm.param);
}

TEST_F(test_preload_ucp, short_communications_do_not_count) {
    send(LENGTH - 1);
    EXPECT_TRUE(m_comms.empty());
    EXPECT_EQ(&m_param, fake_comm.param);

    /* As many elements of a longer datatype do */
    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    m_param.datatype     = ucp_dt_make_contig(2);
    send(LENGTH - 1);
    EXPECT_EQ(1u, m_comms.size());

    /* The length of others is not known */
    m_param.datatype = UCP_DATATYPE_GENERIC;
    send(1);
    EXPECT_EQ(2u, m_comms.size());
}

TEST_F(test_preload_ucp, only_the_outermost_call_counts) {
    fake_inside = [] {
        fake_inside = nullptr;
        ucp_put_nbx(nullptr, nullptr, LENGTH, 0, nullptr, &s_self->m_param);
        /* It is handed through as it is */
        EXPECT_EQ(&s_self->m_param, fake_comm.param);
    };
    send();
    EXPECT_EQ(1u, m_comms.size());
    EXPECT_EQ(UCS_RCACHE_PRED_COMM_SEND, m_comms[0].kind);
}

TEST_F(test_preload_ucp, without_the_core_all_is_as_it_was) {
    fake_set_hooks(nullptr);
    send();
    EXPECT_EQ(&m_param, fake_comm.param);
    EXPECT_TRUE(m_comms.empty());
}

TEST_F(test_preload_ucp, every_communication_is_told_and_handed_on) {
    struct calls {
        test_preload_ucp      *self;
        std::set<std::string> names;
    } calls = {this, {}};

    fake_call_each_comm(m_buffer, LENGTH, &m_param,
                        [](const char *name, int has_param, void *arg) {
        auto calls                     = static_cast<struct calls*>(arg);
        auto self                      = calls->self;
        const uct_predreg_comm_t &comm = self->m_comms.back();

        SCOPED_TRACE(name);
        calls->names.insert(name);
        EXPECT_EQ(calls->names.size(), self->m_comms.size());
        EXPECT_STREQ(name, fake_comm.name);
        EXPECT_EQ(self->m_buffer, comm.buffer);
        EXPECT_EQ(LENGTH, fake_comm.count);
        EXPECT_EQ(has_param ? &self->m_param : nullptr, fake_comm.param);
        EXPECT_EQ(ucp_datatype_t(ucp_dt_make_contig(1)), fake_comm.datatype);
    }, &calls);
    EXPECT_EQ(25u, calls.names.size());
}

TEST_F(test_preload_ucp, registrations_inside_know_their_purpose) {
    static const struct {
        const char            *name;
        uct_predreg_purpose_t purpose;
    } cases[] = {
        {"ucp_tag_send_nbx",  UCT_PREDREG_PURPOSE_SEND},
        {"ucp_am_send_nb",    UCT_PREDREG_PURPOSE_SEND},
        {"ucp_tag_recv_nbx",  UCT_PREDREG_PURPOSE_MESSAGE},
        {"ucp_put",           UCT_PREDREG_PURPOSE_ONE_SIDED},
        {"ucp_get_nbx",       UCT_PREDREG_PURPOSE_ONE_SIDED}
    };

    for (const auto &c : cases) {
        std::pair<const char*, int> wanted(c.name, -1);

        fake_call_each_comm(m_buffer, LENGTH, &m_param,
                            [](const char *name, int, void *arg) {
            auto wanted = static_cast<std::pair<const char*, int>*>(arg);
            if (!strcmp(name, wanted->first)) {
                wanted->second = fake_comm.purpose;
            }
        }, &wanted);
        EXPECT_EQ(c.purpose, wanted.second) << c.name;
    }
}

TEST_F(test_preload_ucp, puts_of_an_unknown_datatype_need_real_handles) {
    m_param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    m_param.datatype      = 4; /* UCP_DATATYPE_SGL of UCX 1.22 */
    ucp_put_nbx(nullptr, m_buffer, LENGTH, 0, nullptr, &m_param);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MAPPED, fake_comm.purpose);
    ucp_tag_send_nbx(nullptr, m_buffer, LENGTH, 0, &m_param);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_SEND, fake_comm.purpose);
}

TEST_F(test_preload_ucp, progress_inside_a_call_is_not_part_of_it) {
    static int purpose;

    purpose     = -1;
    fake_inside = [] {
        fake_inside = nullptr;
        fake_result = 1;
        ucp_worker_progress(s_self->worker());
        purpose = fake_comm.purpose;
    };
    ucp_put(ep(), m_buffer, LENGTH, 0, nullptr);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MESSAGE, purpose);
    EXPECT_TRUE(m_told.empty());
}

/* What progress of a worker registers is for a message, as long as each call of
 * the program comes past us */
TEST_F(test_preload_ucp, progress_is_about_messages) {
    ucp_params_t params = {};
    ucp_context_h context;

    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    fake_set_is_ucp(1);
    fake_inside_init  = [] {
        uct_md_h md;

        uct_md_open(nullptr, "mlx", nullptr, &md);
    };
    ucp_init_version(1, 13, &params, fake_config, &context);
    ucp_worker_progress(worker());
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MESSAGE, fake_comm.purpose);
}

TEST_F(test_preload_ucp, a_context_that_was_made_past_us) {
    uct_md_h md;

    uct_md_open(nullptr, "mlx", nullptr, &md);
    ucp_worker_progress(worker());
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MESSAGE, fake_comm.purpose);

    fake_set_is_ucp(1);
    uct_md_open(nullptr, "mlx", nullptr, &md);
    ucp_worker_progress(worker());
    EXPECT_EQ(UCT_PREDREG_PURPOSE_UNKNOWN, fake_comm.purpose);
}

TEST_F(test_preload_ucp, a_one_sided_call_past_us_may_be_followed_by_others) {
    ucp_params_t params = {};
    ucp_context_h context;
    uct_mem_h memh;

    /* Without one-sided calls, it was that of a message */
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = UCP_FEATURE_TAG;
    ucp_init_version(1, 13, &params, fake_config, &context);
    fake_set_is_ucp(1);
    uct_md_mem_reg(nullptr, m_buffer, 1, 0, &memh);
    ucp_worker_progress(worker());
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MESSAGE, fake_comm.purpose);

    params.features = UCP_FEATURE_RMA;
    ucp_init_version(1, 13, &params, fake_config, &context);
    uct_md_mem_reg(nullptr, m_buffer, 1, 0, &memh);
    ucp_worker_progress(worker());
    EXPECT_EQ(UCT_PREDREG_PURPOSE_UNKNOWN, fake_comm.purpose);
}

TEST_F(test_preload_ucp, progress_without_work_is_idle) {
    fake_result = 2;
    EXPECT_EQ(2u, ucp_worker_progress(worker()));
    EXPECT_TRUE(m_told.empty());

    fake_result = 0;
    EXPECT_EQ(0u, ucp_worker_progress(worker()));
    EXPECT_EQ(std::vector<std::string>{"idle"}, m_told);

    fake_set_hooks(nullptr);
    EXPECT_EQ(0u, ucp_worker_progress(worker()));
}

/* Each is a message that is found later */
TEST_F(test_preload_ucp, the_core_is_told_as_seldom_as_it_asks_for) {
    fake_result = 0;
    m_skip      = 3;
    for (unsigned i = 0; i < 8; ++i) {
        ucp_worker_progress(worker());
    }
    EXPECT_EQ(2u, m_told.size());

    /* Progress that finds something does not count */
    fake_result = 1;
    for (unsigned i = 0; i < 8; ++i) {
        ucp_worker_progress(worker());
    }
    EXPECT_EQ(2u, m_told.size());

    /* After a sleep, what was due meanwhile is done at once */
    fake_result = 0;
    ucp_worker_progress(worker());
    EXPECT_EQ(3u, m_told.size());
    ucp_worker_arm(worker());
    m_skip = 0;
    ucp_worker_progress(worker());
    EXPECT_EQ(4u, m_told.size());
}

TEST_F(test_preload_ucp, a_worker_does_not_sleep_on_what_waits) {
    m_may_sleep = 0;
    EXPECT_EQ(UCS_ERR_BUSY, ucp_worker_arm(worker()));
    EXPECT_EQ(0u, fake_call.count);

    m_may_sleep = 1;
    EXPECT_EQ(UCS_OK, ucp_worker_arm(worker()));
    EXPECT_STREQ("ucp_worker_arm", fake_call.name);
}

TEST_F(test_preload_ucp, the_end_of_a_worker_is_told) {
    ucp_worker_destroy(worker());
    EXPECT_STREQ("ucp_worker_destroy", fake_call.name);
    EXPECT_EQ(std::vector<std::string>{"closing"}, m_told);
}

TEST_F(test_preload_ucp, configurations_are_told) {
    ucp_config_t *config;

    EXPECT_EQ(UCS_OK, ucp_config_read(nullptr, nullptr, &config));
    EXPECT_EQ(std::vector<std::string>{"config"}, m_told);

    fake_result = UCS_ERR_NO_MEMORY;
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ucp_config_read(nullptr, nullptr, &config));
    EXPECT_EQ(1u, m_told.size());
}

TEST_F(test_preload_ucp, a_configuration_is_read_if_the_program_has_none) {
    ucp_params_t params = {};
    ucp_context_h context;

    EXPECT_EQ(UCS_OK, ucp_init_version(1, 13, &params, nullptr, &context));
    EXPECT_EQ(std::vector<std::string>{"config"}, m_told);
    EXPECT_STREQ("ucp_config_release", fake_call.name);

    fake_result = UCS_ERR_NO_MEMORY;
    EXPECT_EQ(UCS_ERR_NO_MEMORY,
              ucp_init_version(1, 13, &params, nullptr, &context));
}

/* The program may have changed it since it was read */
TEST_F(test_preload_ucp, the_core_looks_at_a_configuration_that_is_used) {
    ucp_params_t params = {};
    ucp_context_h context;

    EXPECT_EQ(UCS_OK, ucp_init_version(1, 13, &params, fake_config, &context));
    EXPECT_EQ(std::vector<std::string>{"config"}, m_told);
    EXPECT_STREQ("ucp_init_version", fake_call.name);
}

/* Hot buffers are registered by any thread, with a context that its program may use
 * under the locks of workers alone */
TEST_F(test_preload_ucp, a_context_with_hot_buffers_is_thread_safe) {
    static size_t min_length;
    ucp_params_t params = {};
    ucp_context_h context;

    m_hooks.send   = [](uct_predreg_sender_t**, ucp_ep_h, const void*, size_t,
                        const ucp_request_param_t*, uct_predreg_send_t*) {
        return 0u;
    };
    m_hooks.making = [](const uct_predreg_real_t*, const ucp_params_t*,
                        ucp_config_t*, uct_predreg_making_t *making) {
        *making            = uct_predreg_making_t();
        making->min_length = min_length;
    };
    m_hooks.made   = [](const uct_predreg_real_t*, const uct_predreg_making_t*,
                        ucp_config_t*, ucp_context_h) {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES |
                        UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features   = UCP_FEATURE_TAG;

    min_length = 0;
    ucp_init_version(1, 13, &params, fake_config, &context);
    EXPECT_FALSE(fake_is_shared);

    min_length = UCT_PREDREG_SEND_MIN;
    ucp_init_version(1, 13, &params, fake_config, &context);
    EXPECT_TRUE(fake_is_shared);
    EXPECT_EQ(0, params.mt_workers_shared);

    /* What is not known cannot be copied */
    params.field_mask |= UCS_BIT(20);
    ucp_init_version(1, 13, &params, fake_config, &context);
    EXPECT_FALSE(fake_is_shared);
}

TEST_F(test_preload_ucp, mapped_memory_is_handed_on) {
    ucp_mem_map_params_t params = {};
    ucp_mem_h memh;

    EXPECT_EQ(UCS_OK, ucp_mem_map(nullptr, &params, &memh));
    EXPECT_STREQ("ucp_mem_map", fake_call.name);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MAPPED, fake_comm.purpose);
}

TEST_F(test_preload_ucp, firehose_maps_memory) {
    ucp_mem_map_params_t params = {};
    ucp_mem_h memh;

    fake_result = UCS_ERR_EXCEEDS_LIMIT;
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT,
              predreg_firehose_map_1(nullptr, &params, &memh));
    EXPECT_STREQ("ucp_mem_map", fake_call.name);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_PINNED, fake_comm.purpose);
    /* And nobody else does */
    ucp_mem_map(nullptr, &params, &memh);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MAPPED, fake_comm.purpose);
}

TEST_F(test_preload_ucp, firehose_asks_and_counts) {
    static uint64_t counts[2];

    m_hooks.firehose_count = [](uint64_t requests, uint64_t hits) {
        counts[0] += requests;
        counts[1] += hits;
    };
    predreg_firehose_count_1(3, 2);
    EXPECT_EQ(3u, counts[0]);
    EXPECT_EQ(2u, counts[1]);
    m_hooks.firehose_room = [](unsigned domains) {
        return uint64_t(42 + domains);
    };
    EXPECT_EQ(42u, predreg_firehose_room_2(nullptr)) << "UCP registers nothing";
    EXPECT_EQ(UCT_PREDREG_PURPOSE_WINDOW, fake_comm.purpose);
    EXPECT_STREQ("ucp_mem_unmap", fake_call.name);
    fake_set_hooks(nullptr);
    EXPECT_EQ(UINT64_MAX, predreg_firehose_room_2(nullptr));
    predreg_firehose_count_1(1, 1);
    EXPECT_EQ(3u, counts[0]);
}
