/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface_test.h"


/* Two endpoints; the first one has a transfer under way */
class test_flush : public iface_test {
protected:
    /* Not one of UCT's: the interface is to get what the caller said */
    static constexpr unsigned FLAGS = 0x4000;

    void SetUp() override
    {
        iface_test::SetUp();
        m_handle.emplace_back(domain(), buffer(0), LARGE);
        start();
    }

    void TearDown() override
    {
        m_fake.run();
        m_handle.clear();
        iface_test::TearDown();
    }

    request &start(unsigned ep = 0)
    {
        m_requests.emplace_back();
        EXPECT_EQ(UCS_INPROGRESS,
                  m_fake.get(m_handle[0].memh(), buffer(0), LARGE,
                             m_requests.back(), ep));
        return m_requests.back();
    }

    std::deque<pieces_handle> m_handle;
    std::deque<request>       m_requests;
};

TEST_F(test_flush, without_transfers_it_is_passed_on)
{
    request flush;

    EXPECT_EQ(UCS_OK, m_fake.flush_ep(1, &flush));
    ASSERT_EQ(1u, m_fake.flushes.size());
    EXPECT_EQ(m_fake.ep(1), m_fake.flushes[0].ep);
    EXPECT_EQ(&flush.comp, m_fake.flushes[0].comp);
    EXPECT_FALSE(m_fake.is_progressing());
}

TEST_F(test_flush, waits_for_transfers)
{
    request flush;

    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush, FLAGS));
    EXPECT_EQ(0u, m_fake.progress());
    m_fake.land_all();
    EXPECT_TRUE(m_fake.flushes.empty()) << "until the next progress";

    EXPECT_EQ(1u, m_fake.progress());
    ASSERT_EQ(1u, m_fake.flushes.size());
    EXPECT_EQ(m_fake.ep(0), m_fake.flushes[0].ep);
    EXPECT_EQ(FLAGS, m_fake.flushes[0].flags);
    EXPECT_EQ(1u, flush.num_done);
    EXPECT_EQ(UCS_OK, flush.status());
    EXPECT_FALSE(m_fake.is_progressing());
}

TEST_F(test_flush, goes_on_in_the_interface)
{
    request flush;

    m_fake.flush_status = UCS_INPROGRESS;
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    m_fake.run();
    ASSERT_EQ(1u, m_fake.flushes.size());
    EXPECT_EQ(&flush.comp, m_fake.flushes[0].comp);
    EXPECT_FALSE(flush.is_done()) << "the interface calls back";
}

TEST_F(test_flush, error_of_the_interface)
{
    request flush;

    m_fake.flush_status = UCS_ERR_ENDPOINT_TIMEOUT;
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    m_fake.run();
    EXPECT_EQ(1u, flush.num_done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, flush.status());
}

TEST_F(test_flush, no_place_in_the_send_queue)
{
    request flush;

    m_fake.flush_status = UCS_ERR_NO_RESOURCE;
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    m_fake.land_all();
    m_fake.progress();
    EXPECT_FALSE(flush.is_done());
    EXPECT_TRUE(m_fake.is_progressing());

    m_fake.flush_status = UCS_OK;
    m_fake.progress();
    EXPECT_EQ(1u, flush.num_done);
}

TEST_F(test_flush, does_not_wait_for_later_transfers)
{
    request flush;

    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    m_fake.land(); /* The first transfer's third and last piece starts ... */
    request &later = start();
    EXPECT_EQ(4u, m_fake.in_flight.size());
    m_fake.land();
    m_fake.progress();
    EXPECT_FALSE(flush.is_done());
    m_fake.land(); /* ... and lands */
    m_fake.progress();
    EXPECT_EQ(1u, flush.num_done);
    EXPECT_FALSE(later.is_done());
}

TEST_F(test_flush, does_not_wait_for_other_endpoints)
{
    request first, second;

    start(1);
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(1, &second));
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &first));
    while (!m_requests[0].is_done()) {
        m_fake.land();
    }
    m_fake.progress();
    EXPECT_EQ(1u, first.num_done);
    EXPECT_FALSE(second.is_done());
    m_fake.run();
    EXPECT_EQ(1u, second.num_done);
}

TEST_F(test_flush, caller_without_completion_asks_again)
{
    EXPECT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, NULL));
    EXPECT_FALSE(m_fake.is_progressing()) << "nothing was noted";
    m_fake.land_all();
    EXPECT_EQ(UCS_OK, m_fake.flush_ep(0, NULL));
    EXPECT_EQ(1u, m_fake.flushes.size());
}

TEST_F(test_flush, no_memory_to_note_it)
{
    request flush;

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, m_fake.flush_ep(0, &flush));
    EXPECT_TRUE(test_alloc_failed());
    test_alloc_fail_nth(0);
    m_fake.run();
    EXPECT_EQ(0u, flush.num_done);
}

TEST_F(test_flush, endpoint_destroyed)
{
    request first, second;

    start(1);
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &first));
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(1, &second));
    m_fake.destroy_ep(0);
    EXPECT_EQ(1u, first.num_done);
    EXPECT_EQ(UCS_ERR_CANCELED, first.status());
    EXPECT_FALSE(second.is_done());

    m_fake.run();
    EXPECT_EQ(UCS_ERR_CANCELED, m_requests[0].status());
    EXPECT_EQ(1u, second.num_done);
    EXPECT_EQ(UCS_OK, second.status());
    EXPECT_EQ(1u, m_fake.flushes.size());
}

TEST_F(test_flush, of_the_interface)
{
    EXPECT_EQ(UCS_INPROGRESS, m_fake.flush());
    EXPECT_EQ(0u, m_fake.num_iface_flushes);
    m_fake.land_all();
    EXPECT_EQ(UCS_OK, m_fake.flush());
    EXPECT_EQ(1u, m_fake.num_iface_flushes);
}

/* The user is called back, and communicates */

TEST_F(test_flush, callback_starts_a_transfer_that_waits)
{
    request flush;

    flush.then = [this] {
        m_fake.depth = 0;
        start();
    };
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    m_fake.land_all();
    m_fake.progress();
    EXPECT_EQ(1u, flush.num_done);
    EXPECT_TRUE(m_fake.is_progressing()) << "the new transfer waits";

    m_fake.depth = SIZE_MAX;
    m_fake.run();
    EXPECT_EQ(1u, m_requests.back().num_done);
}

TEST_F(test_flush, callback_destroys_the_endpoint)
{
    request first, second, third;

    first.then = [this] { m_fake.destroy_ep(0); };
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &first));
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &second));
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &third));
    m_fake.land_all();
    m_fake.progress();
    EXPECT_EQ(UCS_OK, first.status());
    for (request *req : {&first, &second, &third}) {
        EXPECT_EQ(1u, req->num_done);
    }
    EXPECT_EQ(UCS_ERR_CANCELED, second.status());
    EXPECT_EQ(UCS_ERR_CANCELED, third.status());
    EXPECT_EQ(1u, m_fake.flushes.size());
}

TEST_F(test_flush, callback_destroys_the_endpoint_that_is_destroyed_next)
{
    request first, second, third;

    start(1);
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &first));
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &second));
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(1, &third));
    first.then = [this] { m_fake.destroy_ep(1); };
    m_fake.destroy_ep(0);
    for (request *req : {&first, &second, &third}) {
        EXPECT_EQ(1u, req->num_done);
        EXPECT_EQ(UCS_ERR_CANCELED, req->status());
    }
    EXPECT_EQ(2u, m_fake.num_destroyed);
}

TEST_F(test_flush, callback_flushes_again)
{
    request first, second;

    first.then = [&] {
        EXPECT_EQ(UCS_OK, m_fake.flush_ep(0, &second));
    };
    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &first));
    m_fake.run();
    EXPECT_EQ(1u, first.num_done);
    EXPECT_EQ(0u, second.num_done);
    EXPECT_EQ(2u, m_fake.flushes.size());
}

TEST_F(test_flush, cancelled_with_the_transfers_before_it)
{
    request flush, cancel;

    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    EXPECT_EQ(UCS_OK, m_fake.flush_ep(0, &cancel, UCT_FLUSH_FLAG_CANCEL));
    EXPECT_EQ(1u, flush.num_done);
    EXPECT_EQ(UCS_ERR_CANCELED, flush.status());
    EXPECT_EQ(1u, m_fake.flushes.size());
}

TEST_F(test_flush, program_may_not_sleep_while_one_is_to_be_handed_on)
{
    request flush;

    ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    EXPECT_TRUE(uct_predreg_may_sleep()) << "landing pieces are events";
    m_fake.land_all();
    EXPECT_FALSE(uct_predreg_may_sleep());
    m_fake.progress();
    EXPECT_TRUE(uct_predreg_may_sleep());
}

TEST_F(test_flush, many_that_the_send_queue_refuses)
{
    std::deque<request> flushes(100);

    m_fake.flush_status = UCS_ERR_NO_RESOURCE;
    for (request &flush : flushes) {
        ASSERT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    }
    m_fake.land_all();
    for (unsigned i = 0; i < 10; ++i) {
        unsigned before = m_fake.num_ep_flushes;

        m_fake.progress();
        EXPECT_GE(before + 4, m_fake.num_ep_flushes);
    }
    m_fake.flush_status = UCS_OK;
    m_fake.run();
    for (request &flush : flushes) {
        EXPECT_EQ(1u, flush.num_done);
    }
}

TEST_F(test_flush, of_the_interface_with_a_completion)
{
    request flush;

    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              m_fake.handle()->ops.iface_flush(m_fake.handle(), 0,
                                               &flush.comp))
            << "nobody would complete it";
}
