/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface_test.h"

#include <algorithm>
#include <numeric>


/* Puts and gets of LENGTH bytes that are copied: fragments of 1000 bytes, and a
 * last one of 500 */
class test_copy : public iface_test {
protected:
    static constexpr size_t   LENGTH    = 4500;
    static constexpr unsigned FRAGMENTS = 5;

    test_copy() : m_buffer(LENGTH, 'x') {}

    void SetUp() override
    {
        iface_test::SetUp();
        m_fake.peer.resize(2 * LENGTH);
        for (size_t i = 0; i < m_fake.peer.size(); ++i) {
            m_fake.peer[i] = i % 251;
        }
    }

    ucs_status_t put(uint64_t remote = REMOTE)
    {
        return m_fake.put(m_handle.memh(), m_buffer.data(), LENGTH, m_request,
                          0, remote);
    }

    ucs_status_t get(uint64_t remote = REMOTE)
    {
        return m_fake.get(m_handle.memh(), m_buffer.data(), LENGTH, m_request,
                          0, remote);
    }

    bool is_got() const
    {
        return std::equal(m_buffer.begin(), m_buffer.end(),
                          m_fake.peer.begin());
    }

    /* Every byte was posted once, in order */
    void expect_posted(uint64_t remote = REMOTE, size_t first = 0)
    {
        uint64_t next = remote;

        for (size_t i = first; i < m_fake.posted.size(); ++i) {
            EXPECT_EQ(next, m_fake.posted[i].remote);
            next += m_fake.posted[i].length;
        }
        EXPECT_EQ(remote + LENGTH, next);
    }

    std::vector<char> m_buffer;
    pieces_handle     m_handle;
    request           m_request;
};

/* Put */

TEST_F(test_copy, put_in_fragments)
{
    std::iota(m_buffer.begin(), m_buffer.end(), 1);
    EXPECT_EQ(UCS_OK, put());
    EXPECT_EQ(FRAGMENTS, m_fake.posted.size());
    expect_posted();
    EXPECT_TRUE(is_got());
    EXPECT_EQ(0u, m_request.num_done) << "done when posted";
    EXPECT_EQ(0u, m_world.num_regs());
}

TEST_F(test_copy, put_goes_on_where_it_got_stuck)
{
    std::iota(m_buffer.begin(), m_buffer.end(), 1);
    m_fake.refuse_nth = 3;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, put());
    EXPECT_EQ(2u, m_fake.posted.size());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, put());
    EXPECT_EQ(4u, m_fake.posted.size());
    EXPECT_EQ(UCS_OK, put());
    expect_posted();
    EXPECT_TRUE(is_got());
}

TEST_F(test_copy, put_to_elsewhere_starts_anew)
{
    m_fake.refuse_nth = 3;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, put());
    m_fake.refuse_nth = 0;
    EXPECT_EQ(UCS_OK, put(REMOTE + LENGTH));
    expect_posted(REMOTE + LENGTH, 2);
}

TEST_F(test_copy, put_again_after_it_was_done)
{
    EXPECT_EQ(UCS_OK, put());
    EXPECT_EQ(UCS_OK, put());
    EXPECT_EQ(2 * FRAGMENTS, m_fake.posted.size());
}

TEST_F(test_copy, put_again_after_it_was_cancelled)
{
    m_fake.refuse_nth = 3;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, put());
    m_handle.end();
    m_fake.refuse_nth = 0;
    EXPECT_EQ(UCS_OK, put());
    expect_posted(REMOTE, 2);
}

TEST_F(test_copy, put_fails)
{
    m_fake.fail_nth = 2;
    EXPECT_EQ(UCS_ERR_IO_ERROR, put());
    EXPECT_EQ(1u, m_fake.posted.size());
}

TEST_F(test_copy, put_again_after_it_failed)
{
    m_fake.fail_nth = 2;
    EXPECT_EQ(UCS_ERR_IO_ERROR, put());
    EXPECT_EQ(UCS_OK, put());
    expect_posted(REMOTE, 1);
}

/* While one operation is stuck, the same memory is used by another one that
 * differs from it in a single respect: this is a new operation */
TEST_F(test_copy, put_while_another_one_is_stuck)
{
    request other;

    m_fake.depth = 0;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, put());
    m_fake.depth      = SIZE_MAX;
    m_fake.refuse_nth = 3;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, put());
    m_fake.refuse_nth = 0;
    m_fake.posted.clear();
    EXPECT_EQ(UCS_OK, m_fake.put(m_handle.memh(), m_buffer.data(), LENGTH,
                                 other, 1));
    expect_posted();
    m_fake.posted.clear();
    EXPECT_EQ(UCS_OK, put());
    expect_posted();
}

/* Neither is a put the rest of a get */
TEST_F(test_copy, put_while_a_get_is_stuck)
{
    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.depth = SIZE_MAX;
    m_fake.posted.clear();
    EXPECT_EQ(UCS_OK, put());
    expect_posted();
    m_fake.land_all();
    EXPECT_EQ(0u, m_request.num_done);
}

/* Get */

TEST_F(test_copy, get_in_fragments)
{
    EXPECT_EQ(UCS_INPROGRESS, get());
    EXPECT_EQ(FRAGMENTS, m_fake.in_flight.size());
    expect_posted();
    while (m_fake.in_flight.size() > 1) {
        m_fake.land();
    }
    EXPECT_FALSE(m_request.is_done());
    m_fake.land();
    EXPECT_EQ(1u, m_request.num_done);
    EXPECT_EQ(UCS_OK, m_request.status());
    EXPECT_TRUE(is_got());
    EXPECT_EQ(0u, m_world.num_regs());
}

TEST_F(test_copy, get_of_fragments_that_land_at_once)
{
    m_fake.at_once = true;
    EXPECT_EQ(UCS_OK, get());
    EXPECT_TRUE(is_got());
    EXPECT_EQ(0u, m_request.num_done);
}

TEST_F(test_copy, get_fragments_land_in_any_order)
{
    EXPECT_EQ(UCS_INPROGRESS, get());
    while (!m_fake.in_flight.empty()) {
        m_fake.land(UCS_OK, m_fake.in_flight.size() / 2);
    }
    EXPECT_EQ(1u, m_request.num_done);
    EXPECT_TRUE(is_got());
}

TEST_F(test_copy, get_goes_on_where_it_got_stuck)
{
    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    EXPECT_EQ(2u, m_fake.posted.size());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.land_all();
    EXPECT_FALSE(m_request.is_done()) << "the rest was not even posted";
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    EXPECT_EQ(4u, m_fake.posted.size());
    m_fake.land();
    EXPECT_EQ(UCS_INPROGRESS, get());
    m_fake.land_all();
    EXPECT_EQ(1u, m_request.num_done);
    expect_posted();
    EXPECT_TRUE(is_got());
}

TEST_F(test_copy, get_that_is_stuck_from_the_start)
{
    m_fake.depth = 0;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.depth = SIZE_MAX;
    EXPECT_EQ(UCS_INPROGRESS, get());
    m_fake.land_all();
    EXPECT_EQ(1u, m_request.num_done);
    EXPECT_TRUE(is_got());
}

TEST_F(test_copy, get_cancelled_while_stuck)
{
    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_handle.end();
    std::fill(m_buffer.begin(), m_buffer.end(), 'y');
    m_fake.land_all();
    EXPECT_EQ(std::string(LENGTH, 'y'),
              std::string(m_buffer.begin(), m_buffer.end()))
            << "what arrives late is dropped";
    EXPECT_EQ(0u, m_request.num_done);
}

TEST_F(test_copy, get_cancelled_when_all_fragments_have_landed)
{
    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.land_all();
    m_handle.end();
    EXPECT_EQ(0u, m_request.num_done);
}

TEST_F(test_copy, get_fails_at_every_fragment)
{
    for (unsigned nth = 1; nth <= FRAGMENTS; ++nth) {
        m_request       = request();
        m_fake.fail_nth = nth;
        if (nth == 1) {
            EXPECT_EQ(UCS_ERR_IO_ERROR, get()) << "none flies";
            continue;
        }

        EXPECT_EQ(UCS_INPROGRESS, get());
        EXPECT_EQ(nth - 1, m_fake.in_flight.size());
        EXPECT_FALSE(m_request.is_done()) << "those before it still fly";
        m_fake.land_all();
        EXPECT_EQ(1u, m_request.num_done);
        EXPECT_EQ(UCS_ERR_IO_ERROR, m_request.status());
    }
}

TEST_F(test_copy, get_fragment_lands_with_an_error)
{
    EXPECT_EQ(UCS_INPROGRESS, get());
    m_fake.land(UCS_ERR_ENDPOINT_TIMEOUT);
    m_fake.land_all();
    EXPECT_EQ(1u, m_request.num_done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_request.status());
}

TEST_F(test_copy, get_fragment_fails_while_the_rest_is_stuck)
{
    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.land(UCS_ERR_ENDPOINT_TIMEOUT);
    m_fake.depth = SIZE_MAX;
    EXPECT_EQ(UCS_INPROGRESS, get());
    EXPECT_EQ(2u, m_fake.posted.size()) << "the rest is not posted in vain";
    m_fake.land_all();
    EXPECT_EQ(1u, m_request.num_done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_request.status());
}

TEST_F(test_copy, get_fragments_fail_while_the_rest_is_stuck)
{
    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.land(UCS_ERR_ENDPOINT_TIMEOUT);
    m_fake.land(UCS_ERR_IO_ERROR);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, get()) << "none flies any more";
    EXPECT_EQ(2u, m_fake.posted.size());
    EXPECT_EQ(0u, m_request.num_done);
}

TEST_F(test_copy, get_keeps_the_first_of_two_errors)
{
    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.land(UCS_ERR_ENDPOINT_TIMEOUT);
    m_fake.fail_nth = 1;
    EXPECT_EQ(UCS_INPROGRESS, get());
    m_fake.land_all();
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_request.status());
}

/* While a get is stuck, the same memory is used by another one that differs
 * from it in a single respect */
TEST_F(test_copy, get_from_elsewhere_starts_anew)
{
    request other;

    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.depth = SIZE_MAX;
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(m_handle.memh(), m_buffer.data(), LENGTH, other, 0,
                         REMOTE + LENGTH));
    expect_posted(REMOTE + LENGTH, 2);
    while (m_fake.in_flight.size() > 2) {
        m_fake.land(UCS_OK, m_fake.in_flight.size() - 1);
    }
    EXPECT_EQ(1u, other.num_done) << "it waits for its own fragments alone";
    m_fake.land_all();
    EXPECT_TRUE(std::equal(m_buffer.begin(), m_buffer.end(),
                           m_fake.peer.begin() + LENGTH))
            << "what arrives late is dropped";
    EXPECT_EQ(0u, m_request.num_done);
}

TEST_F(test_copy, get_by_another_endpoint_starts_anew)
{
    request other;

    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.depth = SIZE_MAX;
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(m_handle.memh(), m_buffer.data(), LENGTH, other, 1));
    expect_posted(REMOTE, 2);
    m_fake.land_all();
    EXPECT_EQ(1u, other.num_done);
    EXPECT_EQ(0u, m_request.num_done);
}

TEST_F(test_copy, get_into_elsewhere_starts_anew)
{
    std::vector<char> buffer(LENGTH);
    request other;

    m_fake.depth = 2;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
    m_fake.depth = SIZE_MAX;
    EXPECT_EQ(UCS_INPROGRESS, m_fake.get(m_handle.memh(), buffer.data(), LENGTH,
                                         other));
    expect_posted(REMOTE, 2);
    m_fake.land_all();
    EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), m_fake.peer.begin()));
    EXPECT_EQ(1u, other.num_done);
}

TEST_F(test_copy, get_finds_no_memory)
{
    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, get());
    EXPECT_TRUE(test_alloc_failed());
    test_alloc_fail_nth(0);
    EXPECT_TRUE(m_fake.posted.empty());

    EXPECT_EQ(UCS_INPROGRESS, get()) << "the next one is not hurt";
    m_fake.land_all();
    EXPECT_TRUE(is_got());
}
