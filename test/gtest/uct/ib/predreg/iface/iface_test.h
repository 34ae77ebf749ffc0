/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_IFACE_TEST_H_
#define PREDREG_GTEST_IFACE_TEST_H_

#include "fake_uct.h"

#include <algorithm>

/*
 * A wrapped fake interface beside a real cache in a fake world. Uses of LARGE
 * bytes are in pieces: at 50 ns a page and 15 us an operation three pieces, see
 * test_pieces.cc.
 */
class iface_test : public pred_test {
protected:
    static constexpr size_t   LARGE      = 8 * MB;
    static constexpr uint64_t REMOTE     = fake_iface::REMOTE;
    static constexpr uint64_t OUT_OF_RAM = 100 * MSEC; /* Transfers try so long */

    iface_test() : m_fake(m_world) { m_params.pieces = 1; }

    void SetUp() override
    {
        create();
        ASSERT_EQ(UCS_OK, m_fake.wrap());
        ASSERT_TRUE(m_fake.is_wrapped());
        ASSERT_TRUE(uct_predreg_may_sleep());
    }

    void TearDown() override
    {
        if (m_fake.is_wrapped()) {
            EXPECT_EQ(UCS_OK, m_fake.flush()) << "no transfer is left";
            EXPECT_FALSE(m_fake.is_progressing()) << "and nothing waits";
            m_fake.close();
        }
        EXPECT_TRUE(uct_predreg_may_sleep());
        pred_test::TearDown();
    }

    /* Pieces of at most 64 KB: the bound has room for MB, with a reserve for
     * pieces */
    void bound()
    {
        m_params.max_bytes = MB;
        m_world.set_bound(MB);
        recreate();
    }

    /* What was posted is all of the range, every byte once, and goes where it
     * belongs; in this order, if it is to be */
    void expect_moved(char kind, unsigned index, size_t length,
                      bool in_order = true, uint64_t remote = REMOTE)
    {
        std::vector<fake_iface::operation> ops;
        uintptr_t address = (uintptr_t)buffer(index);

        for (const auto &op : m_fake.posted) {
            if ((op.address >= address) && (op.address < address + length)) {
                ops.push_back(op);
            }
        }

        if (!in_order) {
            std::sort(ops.begin(), ops.end(), [](const auto &a, const auto &b) {
                return a.address < b.address;
            });
        }

        for (const auto &op : ops) {
            EXPECT_EQ(kind, op.kind);
            EXPECT_EQ(address, op.address);
            EXPECT_EQ(remote, op.remote);
            address += op.length;
            remote  += op.length;
        }
        EXPECT_EQ((uintptr_t)buffer(index) + length, address);
    }

    fake_iface m_fake;
};

#endif
