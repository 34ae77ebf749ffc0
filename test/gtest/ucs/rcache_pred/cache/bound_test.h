/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_BOUND_TEST_H_
#define PREDREG_GTEST_BOUND_TEST_H_

#include <common/pieces_use.h>

/* A cache with bounds on what is registered. The fake world counts for itself,
 * and fails the test if a bound is exceeded at any instant. */
class bound_test : public pred_test {
protected:
    static constexpr size_t BOUND   = MB;
    static constexpr size_t RESERVE = 128 * KB; /* of BOUND */
    static constexpr size_t ROOM    = BOUND - RESERVE;

    void SetUp() override { bound(BOUND); }

    void bound(uint64_t max_bytes, uint64_t max_regions = UINT64_MAX)
    {
        m_params.max_bytes   = max_bytes;
        m_params.max_regions = max_regions;
        m_world.set_bound(max_bytes, max_regions);
        recreate();
    }

    /* Lower or raise the bound while there are registrations */
    void set_bound(uint64_t max_bytes)
    {
        m_world.set_bound(UINT64_MAX);
        ucs_rcache_pred_set_max_bytes(m_pred, max_bytes);
    }

    void expect_refused(void *address, size_t length)
    {
        void *memh;

        EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_begin(address, length, &memh));
    }

    pieces_use pieces(void *address, size_t length)
    {
        return pieces_use(m_world, domain(), address, length);
    }
};

#endif
