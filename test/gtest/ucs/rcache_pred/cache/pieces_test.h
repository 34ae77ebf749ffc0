/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_PIECES_TEST_H_
#define PREDREG_GTEST_PIECES_TEST_H_

#include <common/pieces_use.h>

/* Uses in pieces. A registration and its deregistration cost 50 ns a page and
 * 15 us: pieces pay from 4 * 15000 / 50 = 1200 pages on. */
class pieces_test : public pred_test {
protected:
    static constexpr size_t LARGE     = 8 * MB;
    static constexpr size_t SMALL     = 4 * MB;
    static constexpr size_t PIECE_MIN = 64 * KB;

    pieces_test() { m_params.pieces = 1; }
    void SetUp() override { create(); }

    void bound(uint64_t max_bytes)
    {
        m_params.max_bytes = max_bytes;
        m_world.set_bound(max_bytes);
        recreate();
    }

    pieces_use pieces(void *address, size_t length, unsigned flags = 0)
    {
        return pieces_use(m_world, domain(), address, length, flags);
    }

    /* A use in pieces that takes so long */
    void use_in_pieces(void *address, size_t length, uint64_t duration = MSEC)
    {
        pieces_use use = pieces(address, length);

        ASSERT_EQ(UCS_INPROGRESS, use.begin());
        run(duration);
        EXPECT_EQ(UCS_OK, use.finish());
    }

    /* So many uses in pieces, one each period. When this returns, the next one
     * is due. */
    void periodic(void *address, unsigned times, uint64_t period = 100 * MSEC)
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use_in_pieces(address, LARGE);
            run_until(start + period);
        }
    }

    static void expect_hit(pieces_use &&use)
    {
        EXPECT_EQ(UCS_OK, use.begin());
        use.end();
    }
};

#endif
