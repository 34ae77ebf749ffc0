/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface_test.h"

#include <memory>
#include <random>


class test_transfer : public iface_test {
protected:
    /* Starts a get of a use, and expects it to be under way */
    struct get {
        get(test_transfer &test, unsigned index = 0, size_t length = LARGE,
            unsigned ep = 0, ucs_status_t status = UCS_INPROGRESS) :
            handle(test.domain(), buffer(index), length)
        {
            EXPECT_EQ(status,
                      test.m_fake.get(handle.memh(), buffer(index), length,
                                      req, ep));
        }

        pieces_handle handle;
        request       req;
    };

    /* A get fails of which the call number nth of some kind has failed: at once
     * only if that was the first one, since no piece flies then. Nothing is
     * left. */
    void expect_failed(unsigned nth, ucs_status_t status, const request &req,
                       ucs_status_t error = UCS_ERR_IO_ERROR)
    {
        m_fake.run();
        EXPECT_EQ(nth == 1, status == error);
        if (status == UCS_INPROGRESS) {
            EXPECT_EQ(1u, req.num_done);
            EXPECT_EQ(error, req.status());
        }
        EXPECT_EQ(0u, m_world.num_live());
    }

    void expect_done(const get &g, ucs_status_t status = UCS_OK)
    {
        EXPECT_EQ(1u, g.req.num_done);
        EXPECT_EQ(status, g.req.status());
    }
};

/* Pieces */

TEST_F(test_transfer, get_moves_all_in_order_two_at_a_time)
{
    get g(*this);

    EXPECT_EQ(2u, m_fake.in_flight.size());
    EXPECT_EQ(2u, m_world.num_live());
    EXPECT_FALSE(m_fake.is_progressing()) << "nothing waits";

    m_fake.land();
    EXPECT_EQ(2u, m_fake.in_flight.size()) << "the third piece follows";
    EXPECT_EQ(2u, m_world.num_live()) << "and the first is deregistered";
    m_fake.land();
    EXPECT_FALSE(g.req.is_done());
    EXPECT_EQ(1u, m_world.num_live());
    m_fake.land();

    expect_done(g);
    expect_moved('g', 0, LARGE);
    EXPECT_EQ(3u, m_fake.posted.size());
    EXPECT_EQ(2u, m_fake.most_in_flight);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_transfer, put_moves_all_in_order)
{
    pieces_handle handle(domain(), buffer(0), LARGE);
    request req;

    ASSERT_EQ(UCS_INPROGRESS,
              m_fake.put(handle.memh(), buffer(0), LARGE, req, 1));
    EXPECT_EQ(m_fake.ep(1), m_fake.in_flight[0].ep);
    m_fake.land_all();
    EXPECT_EQ(1u, req.num_done);
    expect_moved('p', 0, LARGE);
}

TEST_F(test_transfer, pieces_may_land_in_any_order)
{
    bound();
    get g(*this, 0, MB);

    while (!m_fake.in_flight.empty()) {
        m_fake.land(UCS_OK, m_fake.in_flight.size() - 1);
    }
    expect_done(g);
    expect_moved('g', 0, MB);
    EXPECT_EQ(16u, m_fake.posted.size());
}

TEST_F(test_transfer, ends_at_once_if_all_pieces_land_at_once)
{
    m_fake.at_once = true;
    get g(*this, 0, LARGE, 0, UCS_OK);

    EXPECT_EQ(0u, g.req.num_done) << "told by what was returned";
    expect_moved('g', 0, LARGE);
    EXPECT_EQ(UCS_OK, m_fake.flush()) << "nothing is left of it";
}

TEST_F(test_transfer, second_half_of_a_use)
{
    pieces_handle handle(domain(), buffer(0), LARGE);
    request req;

    ASSERT_EQ(UCS_INPROGRESS,
              m_fake.get(handle.memh(), buffer(0, LARGE / 2), LARGE / 2, req));
    m_fake.land_all();
    EXPECT_EQ(1u, req.num_done);
    EXPECT_EQ((uintptr_t)buffer(0, LARGE / 2), m_fake.posted[0].address);
    EXPECT_EQ((uintptr_t)buffer(0, LARGE), m_fake.posted.back().address +
                                           m_fake.posted.back().length);
}

TEST_F(test_transfer, last_piece_is_no_smaller_than_the_interface_takes)
{
    const size_t length = MB + 100; /* Of 128 */

    bound();
    get g(*this, 0, length);

    m_fake.land_all();
    expect_done(g);
    expect_moved('g', 0, length);
    for (const auto &op : m_fake.posted) {
        EXPECT_LE(m_fake.attr.cap.get.min_zcopy, op.length);
    }
}

TEST_F(test_transfer, several_at_a_time)
{
    std::deque<get> gets;

    for (unsigned i = 0; i < 5; ++i) {
        gets.emplace_back(*this, i, LARGE, i % 2);
    }
    EXPECT_EQ(10u, m_fake.most_in_flight);
    m_fake.land_all();
    for (unsigned i = 0; i < 5; ++i) {
        expect_done(gets[i]);
        expect_moved('g', i, LARGE);
    }
}

/* No place in the send queue */

TEST_F(test_transfer, waits_for_a_place_in_the_send_queue)
{
    m_fake.depth = 0;
    get g(*this);

    EXPECT_TRUE(m_fake.posted.empty());
    EXPECT_EQ(2u, m_world.num_live()) << "registered, to be posted";
    EXPECT_FALSE(uct_predreg_may_sleep()) << "no event would wake it up";
    EXPECT_EQ(0u, m_fake.progress());
    EXPECT_FALSE(g.req.is_done());

    m_fake.depth = SIZE_MAX;
    EXPECT_EQ(1u, m_fake.progress());
    EXPECT_EQ(2u, m_fake.in_flight.size());
    EXPECT_TRUE(uct_predreg_may_sleep());
    EXPECT_FALSE(m_fake.is_progressing()) << "nothing waits any more";

    m_fake.land_all();
    expect_done(g);
    expect_moved('g', 0, LARGE);
}

TEST_F(test_transfer, goes_on_with_a_single_place)
{
    m_fake.depth = 1;
    get g(*this);

    EXPECT_EQ(1u, m_fake.in_flight.size());
    m_fake.run();
    expect_done(g);
    expect_moved('g', 0, LARGE, false);
    EXPECT_EQ(1u, m_fake.most_in_flight);
}

TEST_F(test_transfer, every_nth_is_refused)
{
    bound();
    for (unsigned nth = 2; nth < 8; ++nth) {
        m_fake.posted.clear();
        m_fake.refuse_nth = nth;
        get g(*this, nth, MB);

        m_fake.run();
        expect_done(g);
        expect_moved('g', nth, MB, false);
    }
}

TEST_F(test_transfer, waiting_again_after_a_piece_has_landed)
{
    get g(*this);

    m_fake.depth = 0;
    m_fake.land();
    EXPECT_TRUE(m_fake.is_progressing()) << "the third piece waits";
    m_fake.land();
    EXPECT_FALSE(g.req.is_done());
    m_fake.depth = 1;
    m_fake.run();
    expect_done(g);
    expect_moved('g', 0, LARGE);
}

/* No room */

TEST_F(test_transfer, waits_for_room)
{
    std::deque<get> gets;

    bound();
    for (unsigned i = 0; i < 10; ++i) { /* Until one finds no room */
        gets.emplace_back(*this, i, MB);
        if (m_fake.is_progressing()) {
            break;
        }
    }
    ASSERT_TRUE(m_fake.is_progressing());
    EXPECT_FALSE(uct_predreg_may_sleep());
    EXPECT_EQ(0u, m_fake.progress());
    m_world.advance(2 * OUT_OF_RAM);
    EXPECT_EQ(0u, m_fake.progress()) << "room has no time-out";

    m_fake.run();
    for (unsigned i = 0; i < gets.size(); ++i) {
        expect_done(gets[i]);
        expect_moved('g', i, MB);
    }
}

/* Memory that the system refuses */

TEST_F(test_transfer, tries_refused_memory_again)
{
    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_MEMORY);
    get g(*this);

    EXPECT_TRUE(m_fake.is_progressing());
    m_world.advance(OUT_OF_RAM / 2);
    EXPECT_EQ(0u, m_fake.progress());
    EXPECT_FALSE(g.req.is_done());

    m_world.fail_nth_reg(0);
    m_world.advance(MSEC);
    EXPECT_EQ(1u, m_fake.progress());
    m_fake.run();
    expect_done(g);
    expect_moved('g', 0, LARGE);
}

TEST_F(test_transfer, does_not_ask_for_refused_memory_all_the_time)
{
    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_MEMORY);
    get g(*this);

    m_fake.progress();
    uint64_t serial = m_world.serial();
    for (unsigned i = 0; i < 100; ++i) {
        m_fake.progress();
    }
    EXPECT_EQ(serial, m_world.serial());
    m_world.advance(MSEC);
    m_fake.progress();
    EXPECT_LT(serial, m_world.serial());
    m_world.fail_nth_reg(0);
    m_world.advance(MSEC);
    m_fake.run();
    expect_done(g);
}

TEST_F(test_transfer, patience_starts_anew_when_memory_was_there)
{
    bound();
    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_MEMORY);
    get g(*this, 0, MB);

    m_world.advance(OUT_OF_RAM - MSEC);
    m_world.fail_nth_reg(0);
    m_fake.progress();
    ASSERT_EQ(2u, m_fake.in_flight.size());

    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_MEMORY);
    m_fake.land_all();
    EXPECT_EQ(0u, m_fake.progress());
    m_world.advance(OUT_OF_RAM - MSEC);
    m_fake.progress();
    EXPECT_FALSE(g.req.is_done());
    m_world.fail_nth_reg(0);
    m_world.advance(MSEC);
    m_fake.run();
    expect_done(g);
}

/* Many that wait */

class test_transfer_line : public test_transfer {
protected:
    static constexpr unsigned MANY = 2000;

    void TearDown() override
    {
        m_gets.clear();
        test_transfer::TearDown();
    }

    /* Many wait for room, behind those that have all of it */
    void fill()
    {
        m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_RESOURCE);
        for (unsigned i = 0; i < MANY; ++i) {
            m_gets.emplace_back(*this, i, LARGE, i % 3);
        }
        m_fake.progress();
    }

    /* How often anything was asked for in a progress call */
    uint64_t asked()
    {
        uint64_t regs = m_world.serial(), posts = m_fake.num_attempts();

        m_fake.progress();
        return m_world.serial() - regs + m_fake.num_attempts() - posts;
    }

    std::deque<get> m_gets;
};

TEST_F(test_transfer_line, progress_asks_for_nothing_while_no_room_is_released)
{
    fill();
    EXPECT_EQ(0u, asked());
    EXPECT_EQ(0u, asked());
    m_world.advance(MSEC);
    EXPECT_GE(2u, asked()) << "now and then, on behalf of the first";
    EXPECT_EQ(0u, asked());

    m_world.fail_nth_reg(0);
    m_world.advance(MSEC);
    m_fake.run();
    for (get &g : m_gets) {
        expect_done(g);
    }
}

TEST_F(test_transfer_line, new_ones_stand_in_line)
{
    fill();
    uint64_t serial = m_world.serial();
    get g(*this, MANY);

    EXPECT_EQ(serial, m_world.serial());
    m_world.fail_nth_reg(0);
    m_world.advance(MSEC);
    m_fake.run();
    expect_done(g);
    EXPECT_EQ((uintptr_t)buffer(0), m_fake.posted[0].address) << "first come";
    EXPECT_EQ((uintptr_t)buffer(MANY), m_fake.posted[2 * MANY].address);
}

TEST_F(test_transfer_line, room_is_served_when_it_is_released)
{
    std::deque<get> gets;

    bound();
    while (!m_fake.is_progressing()) {
        gets.emplace_back(*this, gets.size(), MB);
    }
    for (unsigned i = 0; i < 20; ++i) {
        gets.emplace_back(*this, gets.size(), MB);
    }
    m_fake.run(); /* No time passes */
    for (unsigned i = 0; i < gets.size(); ++i) {
        expect_done(gets[i]);
        expect_moved('g', i, MB);
    }
}

TEST_F(test_transfer_line, few_ask_for_a_place_in_turn)
{
    std::deque<get> gets;

    m_fake.depth = 0;
    for (unsigned i = 0; i < 100; ++i) {
        gets.emplace_back(*this, i);
    }
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_GE(8u, asked());
    }

    m_fake.refuse_ep = 1; /* It has no place, the others have */
    m_fake.depth     = SIZE_MAX;
    get g(*this, 100, LARGE, 1);
    m_fake.run();
    for (get &done : gets) {
        expect_done(done);
    }
    EXPECT_FALSE(g.req.is_done());
    m_fake.refuse_ep = UINT_MAX;
    m_fake.run();
    expect_done(g);
}

TEST_F(test_transfer_line, cancelled_all_at_once)
{
    fill();
    for (unsigned ep = 0; ep < 3; ++ep) {
        m_fake.destroy_ep(ep);
    }
    for (get &g : m_gets) {
        expect_done(g, UCS_ERR_CANCELED);
    }
    m_fake.progress();
    EXPECT_FALSE(m_fake.is_progressing());
    m_world.fail_nth_reg(0);
}

/* Errors */

TEST_F(test_transfer, first_registration_fails)
{
    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_UNSUPPORTED);
    get g(*this, 0, LARGE, 0, UCS_ERR_UNSUPPORTED);

    EXPECT_EQ(0u, g.req.num_done) << "told by what was returned";
    EXPECT_EQ(UCS_OK, m_fake.flush());
}

TEST_F(test_transfer, every_registration_fails_once)
{
    bound();
    for (unsigned nth = 1; nth <= 16; ++nth) {
        m_world.fail_nth_reg(nth, 1, UCS_ERR_UNSUPPORTED);
        pieces_handle handle(domain(), buffer(nth), MB);
        request req;
        ucs_status_t status = m_fake.get(handle.memh(), buffer(nth), MB, req);

        expect_failed(nth, status, req, UCS_ERR_UNSUPPORTED);
    }
}

/* As memory that the program may not write: a registration would let the adapter
 * write it. Data goes where it belongs, whichever piece shows that */
class test_transfer_unfit : public test_transfer {
protected:
    static constexpr size_t LENGTH = MB;

    test_transfer_unfit() : m_memory(LENGTH) {}

    void SetUp() override
    {
        m_params.max_bytes = MB; /* Pieces of 64 KB, as with bound() */
        m_world.set_bound(MB);
        test_transfer::SetUp();
        m_fake.peer.resize(LENGTH);
        for (size_t i = 0; i < LENGTH; ++i) {
            m_memory[i] = i % 251;
        }
    }

    /* From that registration on none is possible */
    void lose(unsigned nth = 1)
    {
        m_world.fail_nth_reg(nth, UINT_MAX, UCS_ERR_IO_ERROR);
    }

    /* What the adapter has moved of what was posted with a registration */
    void move(const std::vector<char> &from, std::vector<char> &to,
              const std::vector<char> &local)
    {
        for (const auto &op : m_fake.posted) {
            if (op.memh != NULL) {
                size_t at = op.remote - REMOTE;

                EXPECT_EQ((uintptr_t)local.data() + at, op.address);
                std::copy_n(from.begin() + at, op.length, to.begin() + at);
            }
        }
    }

    std::vector<char> m_memory;
    request           m_req;
};

TEST_F(test_transfer_unfit, each_piece_of_a_put_may_be_the_first_to_show_it)
{
    for (unsigned nth = 1; nth <= 16; ++nth) {
        pieces_handle handle(domain(), m_memory.data(), LENGTH);
        request req;

        m_fake.posted.clear();
        std::fill(m_fake.peer.begin(), m_fake.peer.end(), 0);
        lose(nth);
        ucs_status_t status = m_fake.put(handle.memh(), m_memory.data(), LENGTH,
                                         req);
        m_fake.run();
        EXPECT_EQ((nth == 1) ? UCS_OK : UCS_INPROGRESS, status);
        EXPECT_EQ((nth == 1) ? 0u : 1u, req.num_done);
        EXPECT_EQ(UCS_OK, req.status());
        move(m_memory, m_fake.peer, m_memory);
        EXPECT_EQ(m_memory, m_fake.peer) << nth;
        EXPECT_EQ(0u, m_world.num_live());
        EXPECT_TRUE(handle->use.unfit);
    }
}

TEST_F(test_transfer_unfit, each_piece_of_a_get_may_be_the_first_to_show_it)
{
    m_fake.peer = m_memory;
    for (unsigned nth = 1; nth <= 16; ++nth) {
        std::vector<char> memory(LENGTH);
        pieces_handle handle(domain(), memory.data(), LENGTH);
        request req;

        m_fake.posted.clear();
        lose(nth);
        EXPECT_EQ(UCS_INPROGRESS,
                  m_fake.get(handle.memh(), memory.data(), LENGTH, req));
        m_fake.run();
        EXPECT_EQ(1u, req.num_done);
        EXPECT_EQ(UCS_OK, req.status());
        move(m_fake.peer, memory, memory);
        EXPECT_EQ(m_fake.peer, memory) << nth;
        EXPECT_EQ(0u, m_world.num_live());
    }
}

TEST_F(test_transfer_unfit, the_begin_of_the_use_shows_it)
{
    m_params.pieces = 0;
    recreate();
    lose();
    pieces_handle handle(domain(), m_memory.data(), LENGTH / 2);
    EXPECT_EQ(UCS_OK, m_fake.put(handle.memh(), m_memory.data(), LENGTH / 2,
                                 m_req));
    EXPECT_TRUE(std::equal(m_memory.begin(), m_memory.begin() + LENGTH / 2,
                           m_fake.peer.begin()));
    EXPECT_EQ(0u, m_world.num_regs());
    EXPECT_EQ(0u, m_req.num_done);
}

/* Then it is copied: a transfer that failed would end the program */
TEST_F(test_transfer_unfit, the_system_refuses_it_for_long)
{
    pieces_handle handle(domain(), m_memory.data(), LENGTH);

    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_MEMORY);
    ASSERT_EQ(UCS_INPROGRESS,
              m_fake.put(handle.memh(), m_memory.data(), LENGTH, m_req));
    m_world.advance(OUT_OF_RAM - MSEC);
    EXPECT_EQ(0u, m_fake.progress());
    EXPECT_FALSE(m_req.is_done());
    EXPECT_TRUE(m_fake.posted.empty());

    m_world.advance(2 * MSEC);
    m_fake.run();
    EXPECT_EQ(1u, m_req.num_done);
    EXPECT_EQ(UCS_OK, m_req.status());
    EXPECT_EQ(m_memory, m_fake.peer);
    EXPECT_NE(std::string::npos, log_watch::take().find("ulimit -l"));
}

/* All in line, and those that come later, until memory can be registered again */
TEST_F(test_transfer_unfit, no_other_waits_as_long_when_the_system_refuses_it)
{
    std::deque<pieces_handle> handles;
    std::deque<request> reqs(6);

    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_MEMORY);
    for (unsigned i = 0; i < 6; ++i) {
        handles.emplace_back(domain(), m_memory.data(), LENGTH);
    }
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_EQ(UCS_INPROGRESS, m_fake.put(handles[i].memh(), m_memory.data(), LENGTH,
                                             reqs[i]));
    }
    m_world.advance(OUT_OF_RAM + MSEC);
    m_fake.run();
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_EQ(1u, reqs[i].num_done) << i;
        EXPECT_EQ(UCS_OK, reqs[i].status());
    }

    m_world.advance(100 * OUT_OF_RAM);
    EXPECT_EQ(UCS_OK, m_fake.put(handles[5].memh(), m_memory.data(), LENGTH, reqs[5]));
    EXPECT_NE(std::string::npos, log_watch::take().find("keys of the adapter"));
    EXPECT_EQ("", log_watch::take()) << "it is said once";

    pieces_handle last(domain(), m_memory.data(), LENGTH);
    m_world.fail_nth_reg(0);
    m_fake.posted.clear();
    EXPECT_EQ(UCS_INPROGRESS, m_fake.put(last.memh(), m_memory.data(), LENGTH, m_req));
    m_fake.run();
    for (const auto &op : m_fake.posted) {
        EXPECT_NE(nullptr, op.memh) << "pieces";
    }
    EXPECT_EQ(UCS_OK, m_req.status());
}

TEST_F(test_transfer_unfit, it_goes_on_when_the_clock_goes_back)
{
    m_world.jump(1000 * SEC);
    for (bool is_refused : {false, true}) {
        pieces_handle handle(domain(), m_memory.data(), LENGTH);
        request req;

        m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_MEMORY);
        ASSERT_EQ(UCS_INPROGRESS,
                  m_fake.put(handle.memh(), m_memory.data(), LENGTH, req));
        m_fake.progress();
        m_world.jump(-100 * (int64_t)SEC);
        m_fake.progress();
        if (!is_refused) {
            m_world.fail_nth_reg(0);
        } else {
            m_world.advance(OUT_OF_RAM + MSEC);
            m_fake.progress();
        }
        m_world.advance(MSEC);
        m_fake.run();
        EXPECT_EQ(1u, req.num_done);
        EXPECT_EQ(UCS_OK, req.status());
    }
    EXPECT_NE(std::string::npos, log_watch::take().find("ulimit -l"));
}

/* It waits for room, which is refused before the memory is looked at */
TEST_F(test_transfer_unfit, it_shows_when_there_is_room_again)
{
    pieces_handle handle(domain(), m_memory.data(), LENGTH);

    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_RESOURCE);
    ASSERT_EQ(UCS_INPROGRESS,
              m_fake.put(handle.memh(), m_memory.data(), LENGTH, m_req));
    lose();
    m_world.advance(MSEC);
    m_fake.run();
    EXPECT_EQ(1u, m_req.num_done);
    EXPECT_EQ(UCS_OK, m_req.status());
    EXPECT_EQ(m_memory, m_fake.peer);
}

TEST_F(test_transfer_unfit, it_goes_on_where_the_send_queue_was_full)
{
    pieces_handle handle(domain(), m_memory.data(), LENGTH);

    lose(3);
    m_fake.refuse_nth = 100;
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.put(handle.memh(), m_memory.data(), LENGTH, m_req));
    m_fake.land();
    EXPECT_EQ(0u, m_req.num_done);
    EXPECT_TRUE(m_fake.is_progressing());
    for (unsigned i = 0; i < 20; ++i) {
        m_fake.run(); /* Until the queue is full again */
    }
    EXPECT_EQ(1u, m_req.num_done);
    EXPECT_GE(LENGTH / fake_iface::MAX_BCOPY + 2, m_fake.posted.size())
            << "no fragment is posted twice";
    move(m_memory, m_fake.peer, m_memory);
    EXPECT_EQ(m_memory, m_fake.peer);
}

/* UCP may tell the peer through another endpoint that the data is there */
TEST_F(test_transfer_unfit, put_ends_when_its_data_is_there)
{
    pieces_handle handle(domain(), m_memory.data(), LENGTH);
    uct_completion_t *flushed;

    lose();
    m_fake.flush_status = UCS_ERR_NO_RESOURCE;
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.put(handle.memh(), m_memory.data(), LENGTH, m_req));
    m_fake.run();
    EXPECT_TRUE(m_fake.flushes.empty());
    size_t posted = m_fake.posted.size();

    m_fake.flush_status = UCS_INPROGRESS;
    m_fake.run();
    EXPECT_EQ(posted, m_fake.posted.size()) << "no fragment is posted twice";
    ASSERT_EQ(1u, m_fake.flushes.size());
    EXPECT_EQ(0u, m_req.num_done);

    flushed = m_fake.flushes.front().comp;
    EXPECT_EQ(0, --flushed->count);
    flushed->func(flushed);
    m_fake.run();
    EXPECT_EQ(1u, m_req.num_done);
    EXPECT_EQ(UCS_OK, m_req.status());
    EXPECT_EQ(m_memory, m_fake.peer);
}

/* Operations on the same memory that take turns do not give each other up */
TEST_F(test_transfer_unfit, two_at_a_time_get_on)
{
    std::vector<char> memory(LENGTH);
    pieces_handle handle(domain(), memory.data(), LENGTH);

    m_fake.peer      = m_memory;
    m_req.comp.count = 2;
    m_fake.depth     = 10;
    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_NO_RESOURCE);
    for (size_t at : {(size_t)0, LENGTH / 2}) {
        EXPECT_EQ(UCS_INPROGRESS,
                  m_fake.get(handle.memh(), memory.data() + at, LENGTH / 2,
                             m_req, 0, REMOTE + at));
    }
    lose();
    m_world.advance(MSEC);
    m_fake.run();
    EXPECT_EQ(1u, m_req.num_done);
    EXPECT_EQ(m_memory, memory);
    EXPECT_GE(LENGTH / fake_iface::MAX_BCOPY + 2, m_fake.posted.size());
}

TEST_F(test_transfer_unfit, what_is_stuck_is_cancelled)
{
    std::vector<char> memory(LENGTH);
    pieces_handle handle(domain(), memory.data(), LENGTH);

    m_fake.peer  = m_memory;
    m_fake.depth = 10;
    lose();
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(handle.memh(), memory.data(), LENGTH, m_req));
    EXPECT_EQ(10u, m_fake.in_flight.size());
    m_fake.destroy_ep(0);
    EXPECT_EQ(1u, m_req.num_done);
    EXPECT_EQ(UCS_ERR_CANCELED, m_req.status());
    m_fake.run();
    EXPECT_EQ(std::vector<char>(LENGTH), memory) << "what comes late is dropped";
}

TEST_F(test_transfer_unfit, a_fragment_fails)
{
    std::vector<char> memory(LENGTH);
    pieces_handle handle(domain(), memory.data(), LENGTH);

    m_fake.peer = m_memory;
    lose(2);
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(handle.memh(), memory.data(), LENGTH, m_req));
    m_fake.land(UCS_OK);
    m_fake.land(UCS_ERR_IO_ERROR);
    EXPECT_EQ(0u, m_req.num_done) << "others fly";
    m_fake.land_all();
    EXPECT_EQ(1u, m_req.num_done);
    EXPECT_EQ(UCS_ERR_IO_ERROR, m_req.status());
}

TEST_F(test_transfer, every_post_fails_once)
{
    bound();
    for (unsigned nth = 1; nth <= 16; ++nth) {
        m_fake.fail_nth = nth;
        pieces_handle handle(domain(), buffer(nth), MB);
        request req;
        ucs_status_t status = m_fake.get(handle.memh(), buffer(nth), MB, req);

        expect_failed(nth, status, req);
        EXPECT_EQ(0u, m_fake.fail_nth);
    }
}

TEST_F(test_transfer, piece_lands_with_an_error)
{
    get g(*this);

    m_fake.land(UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_FALSE(g.req.is_done()) << "the other piece still flies";
    EXPECT_EQ(1u, m_fake.in_flight.size()) << "and none follows";
    m_fake.land(UCS_ERR_IO_ERROR);
    expect_done(g, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(2u, m_fake.posted.size());
}

TEST_F(test_transfer, error_releases_a_piece_that_waits_to_be_posted)
{
    m_fake.depth = 1;
    get g(*this);

    EXPECT_EQ(2u, m_world.num_live());
    m_fake.land(UCS_ERR_IO_ERROR);
    EXPECT_EQ(0u, m_world.num_live());
    expect_done(g, UCS_ERR_IO_ERROR);
    m_fake.progress();
}

TEST_F(test_transfer, error_releases_a_piece_that_waits_at_once)
{
    m_fake.depth    = 0; /* The first piece waits for a place ... */
    m_fake.fail_nth = 2; /* ... and the second one fails */
    get g(*this, 0, LARGE, 0, UCS_ERR_IO_ERROR);

    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, g.req.num_done) << "told by what was returned";
}

TEST_F(test_transfer, no_memory_to_keep_track_of_it)
{
    pieces_handle handle(domain(), buffer(0), LARGE);
    request req;

    for (unsigned nth = 1; nth <= 2; ++nth) { /* It, and its endpoint */
        test_alloc_fail_nth(nth);
        EXPECT_EQ(UCS_ERR_NO_MEMORY,
                  m_fake.get(handle.memh(), buffer(0), LARGE, req));
        EXPECT_TRUE(test_alloc_failed());
        test_alloc_fail_nth(0);
        EXPECT_EQ(0u, req.num_done);
        EXPECT_EQ(UCS_OK, m_fake.flush());
    }
}

TEST_F(test_transfer, a_completion_of_several_operations)
{
    pieces_handle handle(domain(), buffer(0), LARGE);
    request req;

    req.comp.count = 2;
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(handle.memh(), buffer(0), LARGE / 2, req));
    EXPECT_EQ(UCS_INPROGRESS,
              m_fake.get(handle.memh(), buffer(0, LARGE / 2), LARGE / 2, req,
                         0, REMOTE + LARGE / 2));
    m_fake.land(UCS_ERR_IO_ERROR);
    m_fake.run();
    EXPECT_EQ(1u, req.num_done) << "the last one calls back";
    EXPECT_EQ(UCS_ERR_IO_ERROR, req.status()) << "of the first one";
}

/* Cancelling */

TEST_F(test_transfer, cancel_ends_what_waits_at_once)
{
    request flush;

    m_fake.depth = 0;
    get g(*this), other(*this, 1, LARGE, 1);

    EXPECT_EQ(UCS_OK, m_fake.flush_ep(0, &flush, UCT_FLUSH_FLAG_CANCEL));
    ASSERT_EQ(1u, m_fake.flushes.size()) << "goes on to the interface";
    EXPECT_EQ((unsigned)UCT_FLUSH_FLAG_CANCEL, m_fake.flushes[0].flags);
    expect_done(g, UCS_ERR_CANCELED);
    EXPECT_EQ(2u, m_world.num_live()) << "of the other endpoint's";
    EXPECT_FALSE(uct_predreg_may_sleep());

    m_fake.depth = SIZE_MAX;
    m_fake.progress();
    m_fake.run();
    expect_done(other);
    EXPECT_EQ(2u, m_fake.most_in_flight) << "nothing of the cancelled one";
}

TEST_F(test_transfer, cancel_waits_for_what_flies)
{
    request flush;
    get g(*this), other(*this, 1, LARGE, 1);

    m_fake.flush_ep(0, &flush, UCT_FLUSH_FLAG_CANCEL);
    EXPECT_FALSE(g.req.is_done());
    EXPECT_EQ(4u, m_world.num_live());
    m_fake.land();
    EXPECT_FALSE(g.req.is_done());
    m_fake.land();
    expect_done(g, UCS_ERR_CANCELED);
    m_fake.land_all();
    expect_done(other);
    expect_moved('g', 1, LARGE);
}

TEST_F(test_transfer, endpoint_destroyed)
{
    m_fake.depth = 0;
    get g(*this), other(*this, 1, LARGE, 1);

    m_fake.destroy_ep(0);
    EXPECT_EQ(1u, m_fake.num_destroyed);
    expect_done(g, UCS_ERR_CANCELED);
    EXPECT_FALSE(other.req.is_done());

    m_fake.depth = SIZE_MAX;
    m_fake.progress();
    m_fake.land_all();
    expect_done(other);
}

TEST_F(test_transfer, endpoint_destroyed_with_pieces_in_flight)
{
    request flush;
    get g(*this);

    EXPECT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    m_fake.on_destroy = [this] { m_fake.land_all(UCS_ERR_CANCELED); };
    m_fake.destroy_ep(0);
    expect_done(g, UCS_ERR_CANCELED);
    EXPECT_EQ(1u, flush.num_done);
    EXPECT_EQ(UCS_ERR_CANCELED, flush.status());
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_transfer, endpoint_gets_the_address_of_one_destroyed)
{
    request flush;
    get g(*this);

    m_fake.destroy_ep(0); /* Its pieces land later */
    EXPECT_EQ(UCS_OK, m_fake.flush_ep(0, &flush)) << "nothing is under way";
    get other(*this, 1);
    m_fake.land();
    m_fake.land();
    expect_done(g, UCS_ERR_CANCELED);
    EXPECT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, NULL));
    m_fake.land_all();
    expect_done(other);
}

TEST_F(test_transfer, callback_starts_one_on_an_endpoint_that_is_destroyed)
{
    std::unique_ptr<get> next;
    request flush;

    m_fake.depth = 0;
    get g(*this);

    g.req.then = [&] {
        next.reset(new get(*this, 1, LARGE, 0, UCS_ERR_CANCELED));
        EXPECT_EQ(UCS_OK, m_fake.flush_ep(0, &flush)) << "nothing is left";
    };
    m_fake.destroy_ep(0);
    expect_done(g, UCS_ERR_CANCELED);
    m_fake.progress();
    EXPECT_TRUE(next != NULL);
    EXPECT_EQ(0u, next->req.num_done);
}

TEST_F(test_transfer, callback_destroys_the_endpoint_that_is_cancelled)
{
    request flush;

    m_fake.depth = 0;
    get first(*this), second(*this, 1);

    first.req.then = [this] { m_fake.destroy_ep(0); };
    EXPECT_EQ(UCS_ERR_CANCELED,
              m_fake.flush_ep(0, &flush, UCT_FLUSH_FLAG_CANCEL));
    EXPECT_EQ(1u, m_fake.num_destroyed);
    EXPECT_TRUE(m_fake.flushes.empty()) << "not handed on: it is gone";
    expect_done(first, UCS_ERR_CANCELED);
    expect_done(second, UCS_ERR_CANCELED);
    m_fake.progress();
}

TEST_F(test_transfer, interface_closed_with_pieces_in_flight)
{
    std::unique_ptr<get> next;
    request flush;
    get g(*this), other(*this, 1, LARGE, 1);

    EXPECT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    flush.then = [&] {
        next.reset(new get(*this, 2, LARGE, 0, UCS_ERR_CANCELED));
    };
    m_fake.land();
    m_fake.on_close = [&] {
        EXPECT_EQ(1u, flush.num_done);
        m_fake.land(UCS_ERR_CANCELED, 1); /* One lands in the last moment */
        EXPECT_FALSE(other.req.is_done()) << "its other piece flies";
    };
    m_fake.close();
    expect_done(g, UCS_ERR_CANCELED);
    expect_done(other, UCS_ERR_CANCELED);
    EXPECT_EQ(UCS_ERR_CANCELED, flush.status());
    EXPECT_EQ(0u, m_world.num_live());
    m_fake.in_flight.clear();
}

TEST_F(test_transfer, interface_closed)
{
    request flush;

    m_fake.depth = 0;
    get g(*this), other(*this, 1, LARGE, 1);

    EXPECT_EQ(UCS_INPROGRESS, m_fake.flush_ep(0, &flush));
    m_fake.close();
    EXPECT_EQ(1u, m_fake.num_closed);
    EXPECT_FALSE(m_fake.is_progressing());
    expect_done(g, UCS_ERR_CANCELED);
    expect_done(other, UCS_ERR_CANCELED);
    EXPECT_EQ(1u, flush.num_done);
    EXPECT_EQ(UCS_ERR_CANCELED, flush.status());
    EXPECT_TRUE(uct_predreg_may_sleep());
}

/* The user is called back, and communicates */

TEST_F(test_transfer, callback_starts_a_transfer_that_waits)
{
    std::unique_ptr<get> next;

    m_fake.depth = 0;
    get g(*this);

    g.req.then = [this, &next] {
        m_fake.depth = 0;
        next.reset(new get(*this, 1));
    };
    m_fake.depth   = SIZE_MAX;
    m_fake.at_once = true;
    m_fake.progress(); /* All pieces of the first one land */
    expect_done(g);
    EXPECT_TRUE(m_fake.is_progressing()) << "the second one waits";

    m_fake.depth   = SIZE_MAX;
    m_fake.at_once = false;
    m_fake.run();
    expect_done(*next);
    expect_moved('g', 1, LARGE);
}

/* Anything goes */

TEST_F(test_transfer, random)
{
    std::mt19937 random(1);
    std::deque<std::unique_ptr<get>> gets;
    unsigned index = 0;

    bound();
    m_fake.depth = 3;
    for (unsigned step = 0; step < 2000; ++step) {
        m_fake.refuse_nth = random() % 4;
        switch (random() % 4) {
        case 0:
            if (gets.size() < 8) {
                gets.emplace_back(new get(*this, index++ % 100,
                                          MB + random() % (64 * KB),
                                          random() % 3));
            }
            break;
        case 1:
            m_fake.progress();
            break;
        default:
            if (!m_fake.in_flight.empty()) {
                m_fake.land((random() % 200 == 0) ? UCS_ERR_IO_ERROR : UCS_OK,
                            random() % m_fake.in_flight.size());
            }
        }

        while (!gets.empty() && gets.front()->req.is_done()) {
            EXPECT_EQ(1u, gets.front()->req.num_done);
            gets.pop_front();
        }
    }

    m_fake.refuse_nth = 0;
    m_fake.run();
    for (auto &g : gets) {
        EXPECT_EQ(1u, g->req.num_done);
    }
    EXPECT_EQ(0u, m_world.num_live());
}
