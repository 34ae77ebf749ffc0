/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pieces_test.h"

#include <random>


/* The registrations of the pieces of a use */
class test_piece_reg : public pieces_test {
};

TEST_F(test_piece_reg, pieces_cover_any_use)
{
    std::mt19937 random(1);

    m_params.pieces = 0; /* Only a lack of room lets pieces shrink */
    for (uint64_t max_bytes : {256 * KB, 600 * KB, 5 * MB, 100 * MB}) {
        bound(max_bytes);
        for (unsigned i = 0; i < 100; ++i) {
            uintptr_t start = (uintptr_t)buffer(i, random() % (3 * PAGE));
            size_t length   = max_bytes + random() % (20 * MB);
            pieces_use use    = pieces((void*)start, length);
            size_t covered  = 0;

            ASSERT_EQ(UCS_INPROGRESS, use.begin());
            while (use.left() > 0) {
                ASSERT_EQ(UCS_OK, use.next());
                EXPECT_EQ(start + covered, use.pieces().back().start);
                covered += use.pieces().back().length;
                if (use.pieces().size() == pieces_use::IN_FLIGHT) {
                    use.land();
                }
            }
            EXPECT_EQ(length, covered);
            EXPECT_GE(use.piece_size(), PIECE_MIN);
            use.end();
            poll();
        }
        check_accounting();
        EXPECT_EQ(100u, stats().refused) << "no piece had to wait";
    }
}

TEST_F(test_piece_reg, pieces_of_large_pages_cover_any_use)
{
    std::mt19937 random(1);

    m_params.page_size = 64 * KB;
    m_world.set_page_size(64 * KB);
    m_params.pieces = 0;
    bound(256 * KB);
    for (unsigned i = 0; i < 1000; ++i) {
        uintptr_t start = (uintptr_t)buffer(i, random() % (256 * KB));
        size_t length   = 256 * KB + random() % MB;
        pieces_use use  = pieces((void*)start, length);

        ASSERT_EQ(UCS_INPROGRESS, use.begin());
        use.set_min_piece(random() % (64 * KB));
        ASSERT_EQ(UCS_OK, use.finish());
        EXPECT_EQ(0u, use.left());
        EXPECT_EQ(128 * KB, use.piece_size());
    }
}

/* Of the least bound, half is for whole regions and half for one piece */
TEST_F(test_piece_reg, large_pages_and_the_least_bound)
{
    m_params.page_size = 64 * KB;
    m_world.set_page_size(64 * KB);
    bound(256 * KB);
    void *memh     = begin(buffer(0), 128 * KB);
    pieces_use use = pieces(buffer(1), MB);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(0u, use.left());
    end(memh);
    end(begin(buffer(2), PAGE));
}

TEST_F(test_piece_reg, flags_of_a_piece)
{
    pieces_use use = pieces(buffer(0), LARGE, ACCESS_WRITE | HINT);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(ACCESS_WRITE | HINT | HELPER_FLAG,
              m_world.get(use.pieces().front().memh).flags);
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_piece_reg, piece_without_room_waits_for_another)
{
    bound(256 * KB);
    pieces_use first = pieces(buffer(0), MB), second = pieces(buffer(1), MB);

    ASSERT_EQ(UCS_INPROGRESS, first.begin());
    ASSERT_EQ(UCS_INPROGRESS, second.begin());
    uint64_t refused = stats().refused;
    for (pieces_use *use : {&first, &second}) {
        ASSERT_EQ(UCS_OK, use->next());
        ASSERT_EQ(UCS_OK, use->next());
    }
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, second.next());
    EXPECT_EQ(refused + 1, stats().refused);

    first.land();
    EXPECT_EQ(UCS_OK, second.next());
    EXPECT_EQ(UCS_OK, first.finish());
    EXPECT_EQ(UCS_OK, second.finish());
}

TEST_F(test_piece_reg, pieces_are_halved_where_the_system_refuses)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(783 * PAGE, use.piece_size());
    m_world.limit_bytes(200 * PAGE);
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(195 * PAGE, use.piece_size());

    m_world.limit_bytes((195 + 16) * PAGE);
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(PIECE_MIN, use.piece_size());
    EXPECT_EQ(PIECE_MIN, use.pieces().back().length);
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(0u, stats().refused);
    check_accounting();
}

TEST_F(test_piece_reg, pieces_are_halved_no_further)
{
    size_t smallest = SIZE_MAX;
    pieces_use use    = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    m_world.limit_bytes(0);
    m_world.on_reg = [&](const auto &r) {
        smallest = std::min(smallest, r.length);
    };
    EXPECT_EQ(UCS_ERR_NO_MEMORY, use.next());
    m_world.on_reg = nullptr;
    EXPECT_EQ(PIECE_MIN, smallest);
    EXPECT_EQ(1u, stats().refused);

    m_world.limit_bytes(LARGE);
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_piece_reg, piece_the_system_refuses_waits_for_another)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    m_world.limit_bytes(PIECE_MIN);
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, use.next());
    use.land();
    EXPECT_EQ(UCS_OK, use.next());
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_piece_reg, piece_being_deregistered_is_waited_for)
{
    pieces_use first  = pieces(buffer(0), LARGE);
    pieces_use second = pieces(buffer(1), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, first.begin());
    ASSERT_EQ(UCS_INPROGRESS, second.begin());
    m_world.limit_bytes(PIECE_MIN);
    ASSERT_EQ(UCS_OK, first.next());

    /* The memory of a piece is still pinned while it is deregistered */
    m_world.on_dereg = [&](const auto &) {
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, second.next());
    };
    first.land();
    m_world.on_dereg = nullptr;
    EXPECT_EQ(UCS_OK, second.next());
    EXPECT_EQ(UCS_OK, second.finish());

    /* Or the other piece has gone since the system refused this one */
    ASSERT_EQ(UCS_OK, first.next());
    m_world.limit_bytes(PIECE_MIN - 1);
    m_world.on_reg = [&](const auto &r) {
        if (!first.pieces().empty() && (r.length == PIECE_MIN)) {
            first.land();
        }
    };
    pieces_use third = pieces(buffer(2), LARGE);
    ASSERT_EQ(UCS_INPROGRESS, third.begin());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, third.next());
    m_world.on_reg = nullptr;
    m_world.limit_bytes(SIZE_MAX);
    EXPECT_EQ(UCS_OK, first.finish());
    EXPECT_EQ(UCS_OK, third.finish());
}

TEST_F(test_piece_reg, piece_fits_a_bound_that_was_lowered)
{
    bound(64 * MB);
    pieces_use use = pieces(buffer(0), 40 * MB);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(2 * MB, use.piece_size());
    m_world.set_bound(UCS_RCACHE_PRED_MIN_BYTES);
    ucs_rcache_pred_set_max_bytes(m_pred, UCS_RCACHE_PRED_MIN_BYTES);
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(PIECE_MIN, use.piece_size());
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(640u, use.num_pieces());
}

TEST_F(test_piece_reg, any_piece_may_fail)
{
    unsigned nth = 0, total;

    do {
        bound(MB);
        pieces_use use = pieces(buffer(0, 100), 2 * MB);
        ASSERT_EQ(UCS_INPROGRESS, use.begin());
        m_world.fail_nth_reg(nth, 1, UCS_ERR_IO_ERROR);
        EXPECT_EQ((nth == 0) ? UCS_OK : UCS_ERR_IO_ERROR, use.finish());
        m_world.fail_nth_reg(0);
        if (nth == 0) {
            total = use.num_pieces();
        } else {
            EXPECT_EQ(nth - 1, use.num_pieces());
        }
        EXPECT_EQ(use.num_pieces(), stats().pieces);
        EXPECT_EQ(0u, m_world.num_live());
        EXPECT_EQ(0u, stats().bytes_now);
        EXPECT_EQ(0u, stats().regions_now);
        check_accounting();
    } while (++nth <= total);
    EXPECT_EQ(33u, total);
}
