/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include <ucp/firehose/wire/wire.h>
}

/* Two workers, with the lists of what they have unpacked and what they may destroy */
class test_key : public ::testing::Test {
protected:
    struct worker_t {
        ucs_list_link_t rkeys;
        ucs_list_link_t trash;
        ucp_fh_rkey_t   unpacked;
    };

    void SetUp() override
    {
        for (worker_t &worker : m_workers) {
            ucs_list_head_init(&worker.rkeys);
            ucs_list_head_init(&worker.trash);
        }
        m_key = ucp_fh_key_make(100, 200, "packed", 7);
        ASSERT_NE(nullptr, m_key);
    }

    void unpack(unsigned index)
    {
        worker_t &worker = m_workers[index];

        worker.unpacked.trash = &worker.trash;
        worker.unpacked.rkey  = (ucp_rkey_h)&worker;
        ucs_list_add_tail(&worker.rkeys, &worker.unpacked.owned_link);
        ucs_list_add_tail(&m_key->unpacked, &worker.unpacked.link);
    }

    worker_t     m_workers[2];
    ucp_fh_key_t *m_key;
};

TEST_F(test_key, is_what_has_come) {
    EXPECT_EQ(100u, m_key->start);
    EXPECT_EQ(200u, m_key->end);
    EXPECT_EQ(7u, m_key->length);
    EXPECT_EQ(0, memcmp("packed", m_key->packed, 7));
    ucp_fh_key_free(m_key);
}

TEST_F(test_key, is_unpacked_for_each_worker) {
    EXPECT_EQ(nullptr, ucp_fh_key_find(m_key, &m_workers[0].trash));
    unpack(0);
    EXPECT_EQ((ucp_rkey_h)&m_workers[0],
              ucp_fh_key_find(m_key, &m_workers[0].trash));
    EXPECT_EQ(nullptr, ucp_fh_key_find(m_key, &m_workers[1].trash));
    unpack(1);
    EXPECT_EQ((ucp_rkey_h)&m_workers[1],
              ucp_fh_key_find(m_key, &m_workers[1].trash));
    ucp_fh_key_free(m_key);
}

TEST_F(test_key, goes_with_its_firehose) {
    unpack(0);
    unpack(1);
    /* Each worker destroys what was unpacked for it */
    ucp_fh_key_free(m_key);
    for (worker_t &worker : m_workers) {
        EXPECT_TRUE(ucs_list_is_empty(&worker.rkeys));
        ASSERT_FALSE(ucs_list_is_empty(&worker.trash));
        EXPECT_EQ(&worker.unpacked, ucs_list_head(&worker.trash, ucp_fh_rkey_t,
                                                  owned_link));
    }
}
