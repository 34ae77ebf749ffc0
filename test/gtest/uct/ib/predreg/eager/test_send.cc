/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_test.h"

#include <common/library.h>

#include <vector>

/* Which sends are copied, and which go out without a copy */
class test_send : public eager_test {
};

TEST_F(test_send, a_buffer_becomes_hot) {
    add();
    heat(page(0));
    EXPECT_EQ(1u, m_mapped.size());
    EXPECT_EQ(page(0), m_mapped.begin()->second.first);
    EXPECT_EQ(PAGE, m_mapped.begin()->second.second);
    for (unsigned i = 0; i < 10; ++i) {
        EXPECT_TRUE(send(page(0)));
    }
    EXPECT_EQ(1u, m_num_mapped);
    EXPECT_FALSE(send(page(1)));
}

TEST_F(test_send, what_is_counted) {
    uint64_t sends, hot, bytes;

    add();
    test_eager_counts(&sends, &hot, &bytes);
    heat(page(0), 512);
    send(page(0), 512);
    send(page(1), 700);
    test_eager_counts(&sends, &hot, &bytes);
    EXPECT_EQ(HOT_FROM + 2, sends);
    EXPECT_EQ(2u, hot);
    EXPECT_EQ(1024u, bytes);

    /* UCP may choose otherwise */
    m_is_zcopy = false;
    send(page(0), 512);
    test_eager_counts(&sends, &hot, &bytes);
    EXPECT_EQ(1u, sends);
    EXPECT_EQ(0u, hot);
    EXPECT_EQ(0u, bytes);
}

TEST_F(test_send, a_cold_send_has_another_datatype) {
    add();
    EXPECT_FALSE(send(page(0)));
    EXPECT_EQ(unsigned(UCT_PREDREG_SEND_DATATYPE), m_changes);
    EXPECT_EQ(ucp_datatype_t(UCP_DATATYPE_GENERIC),
              m_send.datatype & UCP_DATATYPE_CLASS_MASK);
}

TEST_F(test_send, where_the_flag_decides) {
    add(1);
    EXPECT_FALSE(send(page(0)));
    EXPECT_EQ(unsigned(UCT_PREDREG_SEND_FAST), m_changes);
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(send(page(0)));
    EXPECT_EQ(unsigned(UCT_PREDREG_SEND_HOT), m_changes);

    /* It does only for tags */
    m_message = UCT_PREDREG_MESSAGE_AM;
    EXPECT_FALSE(send(page(1)));
    EXPECT_EQ(unsigned(UCT_PREDREG_SEND_DATATYPE), m_changes);
}

/* UCX accepts one of both flags */
TEST_F(test_send, one_of_many_is_copied_without_the_flag) {
    add(1);
    m_param.op_attr_mask = UCP_OP_ATTR_FLAG_MULTI_SEND;
    EXPECT_FALSE(send(page(0)));
    EXPECT_EQ(unsigned(UCT_PREDREG_SEND_DATATYPE), m_changes);
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(send(page(0)));
}

TEST_F(test_send, short_ones_are_left_alone) {
    add(0, 600);
    for (unsigned i = 0; i < 2 * HOT_FROM; ++i) {
        EXPECT_FALSE(send(page(0), 599));
        EXPECT_TRUE(is_left_alone());
    }
    heat(page(0), 600);
}

TEST_F(test_send, special_sends_are_left_alone) {
    add();
    heat(page(0));

    for (uint32_t field : {uint32_t(UCP_OP_ATTR_FIELD_MEMH),
                           uint32_t(UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL),
                           uint32_t(UCS_BIT(9)), uint32_t(UCS_BIT(15))}) {
        m_param.op_attr_mask = field;
        EXPECT_FALSE(send(page(0)));
        EXPECT_TRUE(is_left_alone()) << field;
    }

    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    m_param.flags        = UCP_AM_SEND_FLAG_RNDV;
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());

    m_param.flags = UCP_AM_SEND_FLAG_EAGER;
    EXPECT_TRUE(send(page(0)));
}

TEST_F(test_send, memory_of_devices_is_left_alone) {
    add();
    heat(page(0));
    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    m_param.memory_type  = UCS_MEMORY_TYPE_CUDA;
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());

    m_param.memory_type = UCS_MEMORY_TYPE_UNKNOWN;
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());

    m_param.memory_type = UCS_MEMORY_TYPE_HOST;
    EXPECT_TRUE(send(page(0)));
}

TEST_F(test_send, unknown_workers_are_left_alone) {
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());

    /* Until one is made there */
    add();
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_cold());
    close();
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());
}

TEST_F(test_send, a_context_and_worker_at_the_same_address_begin_anew) {
    for (unsigned i = 0; i < 1000 / SANITIZER_SLOWDOWN; ++i) {
        add();
        heat(page(0));
        EXPECT_EQ(1u, m_mapped.size());
        close();
        EXPECT_EQ(0u, m_mapped.size());
    }
}

/* However long it has found nothing to do before */
TEST_F(test_send, what_a_program_waits_for_is_copied) {
    add();
    heat(page(0));
    m_param.op_attr_mask = UCP_OP_ATTR_FLAG_FAST_CMPL;
    for (unsigned i = 0; i < 2 * HOT_FROM; ++i) {
        EXPECT_FALSE(send(page(0)));
        EXPECT_TRUE(is_cold());
        uct_predreg_eager_idle(&m_sender, worker(), 0);
    }

    m_param.op_attr_mask = 0;
    EXPECT_TRUE(send(page(0)));
}

/* The flag of the program has UCP copy it, and stays as it is */
TEST_F(test_send, what_a_program_waits_for_is_copied_where_the_flag_decides) {
    add(1);
    heat(page(0));
    m_param.op_attr_mask = UCP_OP_ATTR_FLAG_FAST_CMPL;
    uct_predreg_eager_idle(&m_sender, worker(), 0);
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());

    m_message = UCT_PREDREG_MESSAGE_AM;
    EXPECT_FALSE(send(page(0)));
    EXPECT_EQ(unsigned(UCT_PREDREG_SEND_DATATYPE), m_changes);
}

/* Such sends would be copied from a registered buffer as well */
TEST_F(test_send, what_a_program_waits_for_registers_nothing) {
    add();
    m_param.op_attr_mask = UCP_OP_ATTR_FLAG_FAST_CMPL;
    for (unsigned i = 0; i < 2 * HOT_FROM; ++i) {
        EXPECT_FALSE(send(page(0)));
    }
    EXPECT_EQ(0u, m_num_mapped);
}

/* Such as the end of a buffer that was longer once */
TEST_F(test_send, memory_that_is_no_longer_sent_need_not_be_registered) {
    add();
    m_map_status = UCS_ERR_IO_ERROR;
    for (unsigned i = 0; i < HOT_FROM; ++i) {
        EXPECT_FALSE(send(page(0), PAGE + 1));
    }
    EXPECT_EQ(1u, m_num_failed);

    m_map_status = UCS_OK;
    for (unsigned i = 0; (i < HOT_FROM) && m_mapped.empty(); ++i) {
        send(page(0));
    }
    ASSERT_EQ(1u, m_mapped.size());
    EXPECT_EQ(PAGE, m_mapped.begin()->second.second);
}

TEST_F(test_send, memory_that_cannot_be_registered_is_tried_ever_more_rarely) {
    unsigned i;

    add();
    m_map_status = UCS_ERR_IO_ERROR;
    for (i = 0; i < 1000; ++i) {
        ASSERT_FALSE(send(page(0)));
        ASSERT_TRUE(is_cold());
    }
    EXPECT_GE(m_num_failed, 5u);
    EXPECT_LE(m_num_failed, 10u);

    m_map_status = UCS_OK;
    for (i = 0; !send(page(0)); ++i) {
        ASSERT_LT(i, 1000u);
    }
}

TEST_F(test_send, transports_that_copy_are_found_out) {
    add();
    m_is_zcopy = false;
    heat(page(0));
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());
    EXPECT_FALSE(send(page(0), LENGTH / 2));
    EXPECT_TRUE(is_left_alone());
    EXPECT_FALSE(send(page(1), 2 * LENGTH));
    EXPECT_TRUE(is_cold());
}

TEST_F(test_send, rendezvous_is_found_out) {
    add();
    m_is_zcopy = false;
    m_outcome  = PENDING;
    heat(page(0));
    EXPECT_TRUE(send(page(0))); /* Nothing is known before it is over */
    complete();
    complete();
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());
    EXPECT_FALSE(send(page(1), LENGTH / 2));
    EXPECT_TRUE(is_cold());
}

TEST_F(test_send, endpoints_of_another_worker_begin_anew) {
    add();
    m_is_zcopy = false;
    heat(page(0));
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());
    close();

    add();
    m_is_zcopy = true;
    heat(page(0));
    EXPECT_TRUE(send(page(0)));
}

TEST_F(test_send, a_child_begins_without_contexts) {
    add();
    heat(page(0));
    uct_predreg_eager_fork();
    EXPECT_FALSE(send(page(0)));
    EXPECT_TRUE(is_left_alone());
    uct_predreg_hot_unmapped(0, UINTPTR_MAX);
    EXPECT_FALSE(give_way());

    /* What the parent has is the parent's */
    uct_predreg_eager_remove_worker(worker());
    uct_predreg_eager_closing(ucp());
    EXPECT_EQ(1u, m_mapped.size());
    m_mapped.clear();
    m_uses.clear();

    add();
    heat(page(0));
}
