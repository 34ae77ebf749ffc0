/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface_test.h"

#include <common/child.h>

#include <list>


class test_iface : public iface_test {
protected:
    /* Whether an interface like this is accepted, and left alone if not */
    bool is_supported(std::function<void(fake_iface&)> change)
    {
        fake_iface fake(m_world);
        ucs_status_t status;

        change(fake);
        status = fake.wrap();
        EXPECT_EQ(status == UCS_OK, fake.is_wrapped());
        if (status != UCS_OK) {
            EXPECT_EQ(UCS_ERR_UNSUPPORTED, status);
            return false;
        }

        fake.close();
        return true;
    }

    bool is_supported_with(uint64_t caps)
    {
        return is_supported([caps](fake_iface &fake) {
            fake.attr.cap.flags |= caps;
        });
    }

    bool is_supported_without(uint64_t caps)
    {
        return is_supported([caps](fake_iface &fake) {
            fake.attr.cap.flags &= ~caps;
        });
    }

    /* Wrap as many as there is a place for, and one more */
    static unsigned wrap_all(fake_world &world, std::list<fake_iface> &fakes)
    {
        ucs_status_t status;

        do {
            fakes.emplace_back(world);
            status = fakes.back().wrap();
        } while (status == UCS_OK);

        EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, status);
        EXPECT_FALSE(fakes.back().is_wrapped());
        fakes.pop_back();
        return fakes.size();
    }
};

/* What can be wrapped */

TEST_F(test_iface, operations_that_are_not_replaced)
{
    EXPECT_TRUE(is_supported_with(0));
    EXPECT_FALSE(is_supported_with(UCT_IFACE_FLAG_TAG_EAGER_ZCOPY));
    EXPECT_FALSE(is_supported_with(UCT_IFACE_FLAG_TAG_RNDV_ZCOPY));
}

TEST_F(test_iface, operations_without_the_one_that_copies)
{
    EXPECT_FALSE(is_supported_without(UCT_IFACE_FLAG_AM_BCOPY));
    EXPECT_FALSE(is_supported_without(UCT_IFACE_FLAG_PUT_BCOPY));
    EXPECT_FALSE(is_supported_without(UCT_IFACE_FLAG_GET_BCOPY));
    EXPECT_TRUE(is_supported_without(UCT_IFACE_FLAG_AM_BCOPY |
                                     UCT_IFACE_FLAG_AM_ZCOPY));
    EXPECT_TRUE(is_supported_without(UCT_IFACE_FLAG_GET_BCOPY |
                                     UCT_IFACE_FLAG_GET_ZCOPY |
                                     UCT_IFACE_FLAG_PUT_BCOPY |
                                     UCT_IFACE_FLAG_PUT_ZCOPY));
}

TEST_F(test_iface, limits_of_its_operations)
{
    EXPECT_FALSE(is_supported([](fake_iface &fake) {
        fake.attr.cap.am.max_zcopy = fake.attr.cap.am.max_bcopy + 1;
    })) << "a message may not fit a copy";
    EXPECT_TRUE(is_supported([](fake_iface &fake) {
        fake.attr.cap.get.min_zcopy = PAGE;
        fake.attr.cap.put.min_zcopy = PAGE;
    }));
    EXPECT_FALSE(is_supported([](fake_iface &fake) {
        fake.attr.cap.get.min_zcopy = PAGE + 1;
    })) << "a piece may be a page";
    EXPECT_FALSE(is_supported([](fake_iface &fake) {
        fake.attr.cap.put.min_zcopy = PAGE + 1;
    }));
}

TEST_F(test_iface, query_fails)
{
    EXPECT_FALSE(is_supported([](fake_iface &fake) {
        fake.query_status = UCS_ERR_IO_ERROR;
    }));
}

/* The table */

TEST_F(test_iface, too_many)
{
    std::list<fake_iface> fakes;

    EXPECT_EQ(255u, wrap_all(m_world, fakes)) << "beside the fixture's";
    fakes.front().close();
    fakes.pop_front();
    EXPECT_EQ(255u, wrap_all(m_world, fakes)) << "there was one place";
    for (fake_iface &fake : fakes) {
        fake.close();
    }
}

TEST_F(test_iface, address_is_used_again)
{
    request req;

    for (unsigned i = 0; i < 300; ++i) {
        m_fake.close();
        EXPECT_EQ(i + 1, m_fake.num_closed);
        EXPECT_FALSE(m_fake.is_wrapped());
        ASSERT_EQ(UCS_OK, m_fake.wrap());
    }

    pieces_handle handle(domain(), buffer(0), LARGE);
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(handle.memh(), buffer(0), LARGE, req));
    m_fake.land_all();
    EXPECT_EQ(1u, req.num_done);
    expect_moved('g', 0, LARGE);
}

TEST_F(test_iface, interfaces_are_told_apart)
{
    fake_iface other(m_world);
    pieces_handle handle(domain(), buffer(0), LARGE);
    request req;

    ASSERT_EQ(UCS_OK, other.wrap());
    EXPECT_EQ(UCS_INPROGRESS, other.get(handle.memh(), buffer(0), LARGE, req));
    EXPECT_EQ(2u, other.in_flight.size());
    EXPECT_TRUE(m_fake.in_flight.empty());
    EXPECT_EQ(UCS_OK, m_fake.flush());
    EXPECT_EQ(UCS_INPROGRESS, other.flush());
    other.land_all();
    other.close();
}

TEST_F(test_iface, reset_frees_all_places)
{
    std::list<fake_iface> parents, fakes;

    m_fake.close();
    EXPECT_EQ(256u, wrap_all(m_world, parents));
    uct_predreg_ifaces_reset();
    EXPECT_EQ(256u, wrap_all(m_world, fakes));
    for (fake_iface &fake : fakes) {
        fake.close();
    }
}

TEST_F(test_iface, forked_child_starts_with_none)
{
    child process([this] {
        std::list<fake_iface> fakes;

        uct_predreg_ifaces_reset();
        return (wrap_all(m_world, fakes) == 256) ? 0 : 1;
    });

    EXPECT_EQ(0, process.reap());
    EXPECT_EQ(UCS_OK, m_fake.flush()) << "the parent's is still there";
}

/* Handles of the domain are passed on */

TEST_F(test_iface, registered_memory_is_passed_on)
{
    void *memh = begin(buffer(0), LARGE);
    request req;

    EXPECT_EQ(UCS_INPROGRESS, m_fake.get(memh, buffer(0), LARGE, req));
    EXPECT_EQ(UCS_INPROGRESS, m_fake.put(memh, buffer(0), LARGE, req));
    ASSERT_EQ(2u, m_fake.posted.size());
    EXPECT_EQ('g', m_fake.posted[0].kind);
    EXPECT_EQ('p', m_fake.posted[1].kind);
    for (const auto &op : m_fake.posted) {
        EXPECT_EQ(LARGE, op.length);
        EXPECT_EQ(memh, op.memh);
        EXPECT_EQ(&req.comp, op.comp);
    }
    req.comp.count = 2;
    m_fake.land_all();
    end(memh);
}

/* Operations that pieces are not made for */

TEST_F(test_iface, several_buffers_in_pieces)
{
    pieces_handle handle;
    uct_iov_t iov[2] = {{buffer(0), PAGE, handle.memh(), 0, 1},
                        {buffer(1), PAGE, handle.memh(), 0, 1}};
    uct_iface_ops_t *ops = &m_fake.handle()->ops;
    request req;

    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              ops->ep_get_zcopy(m_fake.ep(0), iov, 2, REMOTE, 0, &req.comp));
    EXPECT_NE(std::string::npos, log_watch::take().find("2 buffers"));

    iov[0].memh = NULL; /* It is enough that one is */
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              ops->ep_put_zcopy(m_fake.ep(0), iov, 2, REMOTE, 0, &req.comp));
    EXPECT_NE(std::string::npos, log_watch::take().find("2 buffers"));
}

TEST_F(test_iface, repeated_buffer_in_pieces)
{
    pieces_handle handle;
    uct_iov_t iov = {buffer(0), PAGE, handle.memh(), 0, 3};
    request req;

    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              m_fake.handle()->ops.ep_get_zcopy(m_fake.ep(0), &iov, 1, REMOTE,
                                                0, &req.comp));
    EXPECT_NE(std::string::npos, log_watch::take().find("repeated 3 times"));
}

TEST_F(test_iface, no_completion)
{
    pieces_handle handle;
    uct_iov_t iov = {buffer(0), PAGE, handle.memh(), 0, 1};

    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              m_fake.handle()->ops.ep_put_zcopy(m_fake.ep(0), &iov, 1, REMOTE,
                                                0, NULL));
    EXPECT_FALSE(log_watch::take().empty());
}

/* Active messages */

class test_iface_am : public test_iface {
protected:
    ucs_status_t send(const uct_iov_t *iov, size_t iovcnt)
    {
        return m_fake.handle()->ops.ep_am_zcopy(m_fake.ep(0), 3, "head", 4, iov,
                                                iovcnt, 0, &m_request.comp);
    }

    pieces_handle m_handle;
    request       m_request;
};

TEST_F(test_iface_am, registered_memory_is_passed_on)
{
    uct_iov_t iov = {buffer(0), PAGE, NULL, 0, 1};

    EXPECT_EQ(UCS_INPROGRESS, send(&iov, 1));
    EXPECT_EQ(1u, m_fake.num_am_zcopy);
    EXPECT_TRUE(m_fake.message.empty());
}

TEST_F(test_iface_am, copied_with_header_buffers_and_strides)
{
    char first[]     = "abcdefgh", second[] = "12345";
    uct_iov_t iov[2] = {{first, 2, m_handle.memh(), 3, 3},
                        {second, 5, NULL, 0, 1}};

    EXPECT_EQ(UCS_OK, send(iov, 2)) << "done when it is copied";
    EXPECT_EQ("headabdegh12345", std::string(m_fake.message.begin(),
                                             m_fake.message.end()));
    EXPECT_EQ(0u, m_fake.num_am_zcopy);
    EXPECT_EQ(0u, m_request.num_done);
}

TEST_F(test_iface_am, no_place_in_the_send_queue)
{
    char data[]   = "data";
    uct_iov_t iov = {data, 4, m_handle.memh(), 0, 1};

    m_fake.depth = 0;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, send(&iov, 1));
}
