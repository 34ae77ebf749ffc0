/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

extern "C" {
#include <ucp/windows/key.h>
}

class test_win_key : public ::testing::Test {
protected:
    void SetUp() override
    {
        m_key = {};
        m_key.head.job         = 0x1234567890abcdef;
        m_key.head.index       = 42;
        m_key.head.range.start = 0x1001;
        m_key.head.range.first = 0x10000;
        m_key.head.range.last  = 0x90000;
        m_key.head.range.end   = 0x90003;
        set(UCP_WIN_KEY_ADDRESS, "address");
        set(UCP_WIN_KEY_REST, "rest");
        set(UCP_WIN_KEY_HEAD, "head");
        set(UCP_WIN_KEY_TAIL, "tail of it");
    }

    void set(ucp_win_key_part_t part, const char *text)
    {
        m_key.parts[part]        = text;
        m_key.head.lengths[part] = strlen(text);
    }

    /* One byte further, as keys are not aligned */
    const void *write()
    {
        m_packed.assign(ucp_win_key_size(&m_key) + 1, 0xff);
        ucp_win_key_write(&m_key, m_packed.data() + 1);
        return m_packed.data() + 1;
    }

    ucs_status_t read()
    {
        return ucp_win_key_read(write(), &m_read);
    }

    void expect_part(ucp_win_key_part_t part)
    {
        ASSERT_EQ(m_key.head.lengths[part], m_read.head.lengths[part]);
        EXPECT_EQ(0, memcmp(m_key.parts[part], m_read.parts[part],
                            m_key.head.lengths[part]));
    }

    ucp_win_key_t        m_key, m_read;
    std::vector<uint8_t> m_packed;
};

TEST_F(test_win_key, is_read_as_it_was_written) {
    int i;

    ASSERT_EQ(UCS_OK, read());
    EXPECT_EQ(m_key.head.job, m_read.head.job);
    EXPECT_EQ(m_key.head.index, m_read.head.index);
    EXPECT_EQ(m_key.head.range.start, m_read.head.range.start);
    EXPECT_EQ(m_key.head.range.first, m_read.head.range.first);
    EXPECT_EQ(m_key.head.range.last, m_read.head.range.last);
    EXPECT_EQ(m_key.head.range.end, m_read.head.range.end);
    for (i = 0; i < UCP_WIN_KEY_LAST; ++i) {
        expect_part(static_cast<ucp_win_key_part_t>(i));
    }
}

TEST_F(test_win_key, of_ucp_is_none) {
    uint64_t domains = 0xffff; /* As UCP's keys begin */

    EXPECT_TRUE(ucp_win_key_is(write()));
    EXPECT_FALSE(ucp_win_key_is(&domains));
}

TEST_F(test_win_key, has_no_edges_where_the_window_ends_with_buckets) {
    set(UCP_WIN_KEY_HEAD, "");
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read());
    m_key.head.range.start = m_key.head.range.first;
    EXPECT_EQ(UCS_OK, read());

    set(UCP_WIN_KEY_TAIL, "");
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read());
    m_key.head.range.end = m_key.head.range.last;
    EXPECT_EQ(UCS_OK, read());
}

TEST_F(test_win_key, that_is_damaged_is_refused) {
    m_key.head.range.last = m_key.head.range.first;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read());
    SetUp();
    m_key.head.range.start = m_key.head.range.first + 1;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read());
    SetUp();
    m_key.head.range.end = m_key.head.range.last - 1;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read());
    SetUp();
    set(UCP_WIN_KEY_ADDRESS, "");
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read());
    SetUp();
    set(UCP_WIN_KEY_REST, "");
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read());
}

TEST_F(test_win_key, is_not_longer_than_open_mpi_has_room_for) {
    std::vector<char> address(2 * UCP_WIN_KEY_MAX, 'a');

    m_key.parts[UCP_WIN_KEY_ADDRESS]        = address.data();
    m_key.head.lengths[UCP_WIN_KEY_ADDRESS] = 0;
    m_key.head.lengths[UCP_WIN_KEY_ADDRESS] = UCP_WIN_KEY_MAX -
                                         ucp_win_key_size(&m_key);
    EXPECT_EQ(size_t(UCP_WIN_KEY_MAX), ucp_win_key_size(&m_key));
    EXPECT_EQ(UCS_OK, read());
    ++m_key.head.lengths[UCP_WIN_KEY_ADDRESS];
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read());
}

TEST_F(test_win_key, of_another_version_is_told_apart) {
    uint8_t *packed = (uint8_t*)write();

    packed[sizeof(uint64_t)] ^= 2;
    EXPECT_TRUE(ucp_win_key_is(packed));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ucp_win_key_read(packed, &m_read));
}
