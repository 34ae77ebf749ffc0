/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_ucx.h"

#include <ucp/api/ucp_compat.h>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <vector>

/* Small sends, between a core that changes them and a fake UCX */
struct test_preload_send : public ::testing::Test {
    static constexpr size_t LENGTH = UCT_PREDREG_SEND_MIN;

    void SetUp() override
    {
        s_self = this;
        fake_reset();
        m_hooks.comm = [](uct_predreg_issuer_t*,
                          const uct_predreg_comm_t*) {
            ++s_self->m_num_comms;
        };
        m_hooks.send = [](uct_predreg_sender_t**, ucp_ep_h ep,
                          const void *buffer, size_t length,
                          const ucp_request_param_t *param,
                          uct_predreg_send_t *send) {
            EXPECT_EQ(s_self->ep(), ep);
            EXPECT_EQ(s_self->m_buffer, buffer);
            s_self->m_asked.push_back({length, send->message});
            send->datatype  = UCP_DATATYPE_GENERIC;
            send->memh      = memh();
            send->cb        = callback;
            send->user_data = s_self;
            return s_self->m_changes;
        };
        m_hooks.sent = [](uct_predreg_sender_t*, const uct_predreg_send_t *send,
                          size_t length, ucs_status_ptr_t result) {
            EXPECT_EQ(memh(), send->memh);
            EXPECT_EQ(UCS_INPROGRESS, UCS_PTR_RAW_STATUS(result));
            s_self->m_sent.push_back(length);
        };
        fake_set_hooks(&m_hooks);
    }

    void TearDown() override
    {
        fake_set_hooks(nullptr);
        fake_reset();
    }

    void send(size_t count = LENGTH)
    {
        ucp_tag_send_nbx(ep(), m_buffer, count, 1, &m_param);
    }

    ucp_ep_h ep()
    {
        return reinterpret_cast<ucp_ep_h>(m_buffer);
    }

    static ucp_mem_h memh()
    {
        return reinterpret_cast<ucp_mem_h>(s_self->m_buffer + 8);
    }

    static void callback(void*, ucs_status_t, void*)
    {
    }

    unsigned m_num_freed = 0;
    int m_is_hot         = 0;

    struct asked_t {
        size_t                length;
        uct_predreg_message_t message;
    };

    static test_preload_send *s_self;

    char                 m_buffer[16] = {};
    ucp_request_param_t  m_param      = {};
    uct_predreg_hooks_t  m_hooks      = {};
    unsigned             m_changes    = 0;
    unsigned             m_num_comms  = 0;
    std::vector<asked_t> m_asked;
    std::vector<size_t>  m_sent;
};

test_preload_send *test_preload_send::s_self;

/* UCP calls back for what is released */
TEST_F(test_preload_send, a_request_in_flight_is_released) {
    m_hooks.freeing = [](void *request) {
        EXPECT_EQ(s_self, request);
        ++s_self->m_num_freed;
        return s_self->m_is_hot;
    };
    for (intptr_t status : {UCS_INPROGRESS, UCS_OK}) {
        for (int is_hot : {1, 0}) {
            fake_result = status;
            m_is_hot    = is_hot;
            ucp_request_free(this);
            EXPECT_STREQ((is_hot && (status == UCS_INPROGRESS)) ?
                         "ucp_request_release" : "ucp_request_free",
                         fake_call.name);
        }
    }
    EXPECT_EQ(2u, m_num_freed) << "not asked for what is complete";

    m_hooks.freeing = nullptr; /* Small sends are only counted */
    fake_result     = UCS_INPROGRESS;
    ucp_request_free(this);
    EXPECT_STREQ("ucp_request_free", fake_call.name);
    fake_result = UCS_OK;
}

TEST_F(test_preload_send, what_is_not_changed_is_the_callers_own) {
    send();
    ASSERT_EQ(1u, m_asked.size());
    EXPECT_EQ(LENGTH, m_asked[0].length);
    EXPECT_EQ(&m_param, fake_comm.param);
    EXPECT_TRUE(m_sent.empty());
}

TEST_F(test_preload_send, each_kind_of_message_is_asked_for) {
    send();
    ucp_am_send_nbx(ep(), 0, nullptr, 0, m_buffer, LENGTH, &m_param);
    ucp_stream_send_nbx(ep(), m_buffer, LENGTH, &m_param);
    ucp_tag_send_sync_nbx(ep(), m_buffer, LENGTH, 0, &m_param);
    ucp_put_nbx(ep(), m_buffer, LENGTH, 0, nullptr, &m_param);
    ASSERT_EQ(3u, m_asked.size());
    EXPECT_EQ(UCT_PREDREG_MESSAGE_TAG, m_asked[0].message);
    EXPECT_EQ(UCT_PREDREG_MESSAGE_AM, m_asked[1].message);
    EXPECT_EQ(UCT_PREDREG_MESSAGE_STREAM, m_asked[2].message);
}

/* The core is told of communications whose buffers UCP may register. It is told in
 * any case by an older call, which it hears of before it is asked */
TEST_F(test_preload_send, what_is_copied_or_hot_is_not_told) {
    m_param.op_attr_mask = 0;
    for (unsigned changes : {0u, unsigned(UCT_PREDREG_SEND_FAST)}) {
        m_num_comms = 0;
        m_changes   = changes;
        send(UCT_PREDREG_SEND_MAX);
        EXPECT_EQ(1u, m_num_comms);
    }

    for (unsigned changes : {unsigned(UCT_PREDREG_SEND_DATATYPE),
                             unsigned(UCT_PREDREG_SEND_HOT)}) {
        m_num_comms = 0;
        m_changes   = changes;
        send(UCT_PREDREG_SEND_MAX);
        EXPECT_EQ(0u, m_num_comms);
    }
}

TEST_F(test_preload_send, which_lengths_are_asked_for) {
    send(UCT_PREDREG_SEND_MIN - 1);
    send(UCT_PREDREG_SEND_MAX + 1);
    EXPECT_TRUE(m_asked.empty());
    EXPECT_EQ(1u, m_num_comms);

    send(UCT_PREDREG_SEND_MAX);
    EXPECT_EQ(1u, m_asked.size());
    EXPECT_EQ(2u, m_num_comms);

    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    m_param.datatype     = ucp_dt_make_contig(8);
    send(UCT_PREDREG_SEND_MIN / 8);
    ASSERT_EQ(2u, m_asked.size());
    EXPECT_EQ(size_t(UCT_PREDREG_SEND_MIN), m_asked[1].length);
    EXPECT_EQ(2u, m_num_comms);

    /* 8 bytes, if the overflow were not seen */
    send((SIZE_MAX >> 3) + 2);
    m_param.datatype = UCP_DATATYPE_GENERIC;
    send();
    EXPECT_EQ(2u, m_asked.size());
    EXPECT_EQ(4u, m_num_comms);
}

TEST_F(test_preload_send, a_cold_one_is_bytes_of_another_datatype) {
    const ucp_request_param_t before = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_DATATYPE |
                        UCP_OP_ATTR_FLAG_MULTI_SEND,
        .datatype     = ucp_dt_make_contig(8),
        .user_data    = m_buffer
    };

    m_param   = before;
    m_changes = UCT_PREDREG_SEND_DATATYPE;
    send(LENGTH / 8);
    EXPECT_NE(&m_param, fake_comm.param);
    EXPECT_EQ(before.op_attr_mask, fake_comm.options.op_attr_mask);
    EXPECT_EQ(ucp_datatype_t(UCP_DATATYPE_GENERIC), fake_comm.options.datatype);
    EXPECT_EQ(m_buffer, fake_comm.options.user_data);
    EXPECT_EQ(LENGTH, fake_comm.count);
    EXPECT_TRUE(m_sent.empty());

    /* The caller's are as they were */
    EXPECT_EQ(before.op_attr_mask, m_param.op_attr_mask);
    EXPECT_EQ(before.datatype, m_param.datatype);
}

TEST_F(test_preload_send, a_hot_one_is_told_again_when_ucp_returns) {
    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    m_param.flags        = UCP_AM_SEND_FLAG_EAGER;
    m_changes            = UCT_PREDREG_SEND_HOT;
    send();
    EXPECT_EQ(UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMH |
              UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
              fake_comm.options.op_attr_mask);
    EXPECT_EQ(uint32_t(UCP_AM_SEND_FLAG_EAGER), fake_comm.options.flags);
    EXPECT_EQ(memh(), fake_comm.options.memh);
    EXPECT_TRUE(callback == fake_comm.options.cb.send);
    EXPECT_EQ(this, fake_comm.options.user_data);
    EXPECT_EQ(std::vector<size_t>{LENGTH}, m_sent);
}

TEST_F(test_preload_send, the_flag_is_set) {
    m_changes = UCT_PREDREG_SEND_FAST;
    send();
    EXPECT_EQ(UCP_OP_ATTR_FLAG_FAST_CMPL, fake_comm.options.op_attr_mask);
}

/* A program may have been compiled with the structure of an older UCX */
TEST_F(test_preload_send, fields_that_are_newer_are_not_read_if_not_set) {
    const size_t page = sysconf(_SC_PAGESIZE);
    char *area        = static_cast<char*>(
            mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

    ASSERT_NE(MAP_FAILED, area);
    ASSERT_EQ(0, mprotect(area + page, page, PROT_NONE));

    const size_t length = offsetof(ucp_request_param_t, reply_buffer);
    auto param          = reinterpret_cast<ucp_request_param_t*>(area + page -
                                                                 length);
    param->op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param->flags        = UCP_AM_SEND_FLAG_EAGER;
    m_changes           = UCT_PREDREG_SEND_HOT;
    ucp_tag_send_nbx(ep(), m_buffer, LENGTH, 1, param);
    EXPECT_EQ(uint32_t(UCP_AM_SEND_FLAG_EAGER), fake_comm.options.flags);
    EXPECT_EQ(memh(), fake_comm.options.memh);
    munmap(area, 2 * page);
}

TEST_F(test_preload_send, newer_fields_that_are_set_are_copied) {
    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_REPLY_BUFFER |
                           UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    m_param.reply_buffer = m_buffer;
    m_param.memory_type  = UCS_MEMORY_TYPE_HOST;
    m_changes            = UCT_PREDREG_SEND_FAST;
    send();
    EXPECT_NE(&m_param, fake_comm.param);
    EXPECT_EQ(m_buffer, fake_comm.options.reply_buffer);
    EXPECT_EQ(UCS_MEMORY_TYPE_HOST, fake_comm.options.memory_type);
}

TEST_F(test_preload_send, nobody_is_asked_if_it_is_off) {
    m_hooks.send = nullptr;
    send();
    EXPECT_TRUE(m_asked.empty());
    EXPECT_EQ(&m_param, fake_comm.param);
}
