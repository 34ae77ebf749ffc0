/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface_test.h"

#include <common/child.h>

#include <list>
#include <thread>


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

    /* Wrap so many, and close each that is not to stay */
    void wrap_many(unsigned num, std::list<fake_iface> &fakes)
    {
        for (unsigned i = 0; i < num; ++i) {
            fakes.emplace_back(m_world);
            ASSERT_EQ(UCS_OK, fakes.back().wrap());
        }
    }

    static void close_all(std::list<fake_iface> &fakes)
    {
        for (fake_iface &fake : fakes) {
            fake.close();
            EXPECT_EQ(1u, fake.num_closed);
        }
        fakes.clear();
    }

    /* Each finds its own state */
    static void expect_apart(std::list<fake_iface> &fakes)
    {
        for (fake_iface &fake : fakes) {
            unsigned before = fake.num_iface_flushes;

            EXPECT_EQ(UCS_OK, fake.flush());
            EXPECT_EQ(before + 1, fake.num_iface_flushes);
        }
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

TEST_F(test_iface, operations_that_copy_nothing)
{
    EXPECT_FALSE(is_supported([](fake_iface &fake) {
        fake.attr.cap.get.max_bcopy = 0;
    }));
    EXPECT_FALSE(is_supported([](fake_iface &fake) {
        fake.attr.cap.put.max_bcopy = 0;
    }));
}

TEST_F(test_iface, query_fails)
{
    EXPECT_FALSE(is_supported([](fake_iface &fake) {
        fake.query_status = UCS_ERR_IO_ERROR;
    }));
}

/* The table */

TEST_F(test_iface, thousands)
{
    std::list<fake_iface> fakes;

    wrap_many(3000, fakes);
    expect_apart(fakes);
    close_all(fakes);
    wrap_many(3000, fakes);
    expect_apart(fakes);
    close_all(fakes);
}

TEST_F(test_iface, come_and_go)
{
    std::list<fake_iface> fakes;

    wrap_many(100, fakes);
    for (unsigned i = 0; i < 5000; ++i) { /* The oldest goes, a new one comes */
        fakes.front().close();
        fakes.pop_front();
        wrap_many(1, fakes);
    }
    expect_apart(fakes);
    close_all(fakes);
}

TEST_F(test_iface, no_memory_for_a_place)
{
    unsigned n = 0;
    bool failed;

    /* Each allocation fails: of what is wrapped, and of a table that grows */
    do {
        std::list<fake_iface> fakes;
        ucs_status_t status;

        failed = false;
        ++n;
        for (unsigned i = 0; (i < 300) && !failed; ++i) {
            fakes.emplace_back(m_world);
            test_alloc_fail_nth(n);
            status = fakes.back().wrap();
            failed = test_alloc_failed();
            test_alloc_fail_nth(0);
            if (failed) {
                EXPECT_EQ(UCS_ERR_NO_MEMORY, status);
                EXPECT_FALSE(fakes.back().is_wrapped());
                fakes.pop_back();
            } else {
                EXPECT_EQ(UCS_OK, status);
            }
        }
        expect_apart(fakes);
        close_all(fakes);
    } while (failed && (n < 10));
    EXPECT_LT(1u, n);
    EXPECT_FALSE(failed);
}

TEST_F(test_iface, threads_open_and_close)
{
    std::vector<std::thread> threads;

    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([this] {
            std::list<fake_iface> fakes;

            for (unsigned i = 0; i < 40 / SANITIZER_SLOWDOWN; ++i) {
                wrap_many(200, fakes);
                expect_apart(fakes);
                close_all(fakes);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(UCS_OK, m_fake.flush());
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

/* Forked children */

class test_iface_child : public test_iface {
protected:
    /* Run the body in a forked child that has called the fork handler. The
     * cache and the domains belong to the parent: the child must not use
     * them. */
    template <typename F> void in_child(F body)
    {
        child process([this, body] {
            uct_predreg_ifaces_reset();
            m_num_regs   = m_world.num_regs();
            m_num_deregs = m_world.num_deregs();
            m_num_now    = m_world.num_now();
            alarm(20);
            body();
            EXPECT_EQ(m_num_regs, m_world.num_regs());
            EXPECT_EQ(m_num_deregs, m_world.num_deregs());
            EXPECT_EQ(m_num_now, m_world.num_now());
            EXPECT_TRUE(uct_predreg_may_sleep());
            return HasFailure() ? 1 : 0;
        });

        EXPECT_EQ(0, process.reap());
    }

    unsigned m_num_regs, m_num_deregs;
    uint64_t m_num_now;
};

TEST_F(test_iface_child, destroys_what_it_inherited)
{
    in_child([this] {
        m_fake.destroy_ep(0);
        EXPECT_EQ(1u, m_fake.num_destroyed);
        EXPECT_EQ(UCS_OK, m_fake.flush_ep(1, NULL));
        EXPECT_EQ(UCS_OK, m_fake.flush());
        m_fake.close();
        EXPECT_EQ(1u, m_fake.num_closed);
    });
    EXPECT_EQ(UCS_OK, m_fake.flush()) << "the parent's is still there";
}

TEST_F(test_iface_child, opens_others)
{
    in_child([this] {
        std::list<fake_iface> fakes;

        wrap_many(300, fakes);
        expect_apart(fakes);
        close_all(fakes);
        m_fake.close();
    });
}

TEST_F(test_iface_child, passes_on_registered_memory)
{
    void *memh = begin(buffer(0), LARGE);

    in_child([this, memh] {
        request req;

        EXPECT_EQ(UCS_INPROGRESS, m_fake.get(memh, buffer(0), LARGE, req));
        EXPECT_EQ(memh, m_fake.posted.back().memh);
    });
    end(memh);
}

TEST_F(test_iface_child, copies_what_was_to_move_in_pieces)
{
    std::vector<char> local(LARGE);
    pieces_handle handle(domain(), buffer(0), LARGE);

    in_child([this, &local, &handle] {
        request req;

        m_fake.peer.assign(LARGE, 'x');
        EXPECT_EQ(UCS_INPROGRESS,
                  m_fake.get(handle.memh(), local.data(), LARGE, req));
        m_fake.land_all();
        EXPECT_EQ(1u, req.num_done);
        EXPECT_EQ(UCS_OK, req.status());
        EXPECT_TRUE(local == m_fake.peer);
    });
}

TEST_F(test_iface_child, ends_inherited_transfers)
{
    pieces_handle flying(domain(), buffer(0), LARGE);
    pieces_handle waiting(domain(), buffer(1), LARGE);
    request flying_req, waiting_req, flush;

    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(flying.memh(), buffer(0), LARGE, flying_req));
    m_fake.depth = 0;
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(waiting.memh(), buffer(1), LARGE, waiting_req));
    EXPECT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));

    in_child([&] {
        m_fake.destroy_ep(0);
        EXPECT_EQ(1u, waiting_req.num_done);
        EXPECT_EQ(UCS_ERR_CANCELED, waiting_req.status());
        EXPECT_EQ(1u, flush.num_done);
        m_fake.land_all();
        EXPECT_EQ(1u, flying_req.num_done);
        m_fake.close();
    });

    EXPECT_FALSE(uct_predreg_may_sleep()) << "the parent's still waits";
    m_fake.depth = SIZE_MAX;
    m_fake.run();
    EXPECT_EQ(UCS_OK, flying_req.status());
    EXPECT_EQ(UCS_OK, waiting_req.status());
    EXPECT_EQ(UCS_OK, flush.status());
}

TEST_F(test_iface_child, gives_up_inherited_transfers_in_its_progress)
{
    pieces_handle waiting(domain(), buffer(1), LARGE);
    request req;

    m_fake.depth = 0;
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(waiting.memh(), buffer(1), LARGE, req));
    in_child([&] {
        m_fake.progress();
        EXPECT_EQ(1u, req.num_done);
        EXPECT_EQ(UCS_ERR_CANCELED, req.status());
        EXPECT_FALSE(m_fake.is_progressing());
    });
    m_fake.depth = SIZE_MAX;
    m_fake.run();
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
