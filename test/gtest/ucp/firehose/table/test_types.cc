/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/log_watch.h>

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

extern "C" {
#include <ucp/firehose/table/types.h>
}


class test_types : public ::testing::Test {
protected:
    static constexpr unsigned SHIFT = 12;

    uint64_t num(uint64_t address, uint64_t length)
    {
        EXPECT_EQ(UCS_OK, ucp_fh_run_cover(SHIFT, address, length, &m_run));
        return m_run.num;
    }

    ucp_fh_run_t m_run = {};
};


TEST_F(test_types, cover) {
    EXPECT_EQ(1u, num(0x1000, 1));
    EXPECT_EQ(1u, m_run.first);
    EXPECT_EQ(1u, num(0x1000, 0x1000));
    EXPECT_EQ(2u, num(0x1000, 0x1001));
    EXPECT_EQ(2u, num(0x1fff, 2));
    EXPECT_EQ(1u, m_run.first);
    EXPECT_EQ(1u, num(UINT64_MAX, 1));
    EXPECT_EQ(UINT64_MAX >> SHIFT, m_run.first);
}

TEST_F(test_types, cover_nothing) {
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucp_fh_run_cover(SHIFT, 0x1000, 0, &m_run));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucp_fh_run_cover(SHIFT, UINT64_MAX, 2, &m_run));
}

TEST_F(test_types, overlaps) {
    ucp_fh_run_t run = {4, 2};

    for (uint64_t first = 0; first < 10; ++first) {
        for (uint64_t count = 1; count < 6; ++count) {
            ucp_fh_run_t other = {first, count};
            bool has           = false;
            for (uint64_t i = first; i < first + count; ++i) {
                has |= (i == 4) || (i == 5);
                EXPECT_EQ((i == 4) || (i == 5), ucp_fh_run_has(&run, i));
            }
            EXPECT_EQ(has, ucp_fh_run_overlaps(&run, &other));
        }
    }
}

TEST_F(test_types, share) {
    uint32_t share = 0;

    EXPECT_EQ(UCS_OK, ucp_fh_share(400ul << 20, SHIFT, 4, &share));
    EXPECT_EQ((400u << 20) / 4096 / 4, share);
    EXPECT_EQ(UCS_OK, ucp_fh_share((8 << SHIFT) - 1, SHIFT, 3, &share));
    EXPECT_EQ(2u, share); /* 7 whole buckets */
    EXPECT_EQ(UCS_OK, ucp_fh_share(UINT64_MAX, SHIFT, 1, &share));
    EXPECT_EQ(UINT32_MAX, share);
}

TEST_F(test_types, no_share) {
    uint32_t share = 0;

    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT,
              ucp_fh_share(3 << SHIFT, SHIFT, 4, &share));
    EXPECT_EQ("firehose: M is 12288 bytes, less than a bucket of "
              "4096 bytes for each of 4 processes; accepted: 16384 bytes and "
              "more (M is what the program or UCX_RCACHE_PRED_FIREHOSE_M says, or "
              "less if bounds leave less)",
              log_watch::take());
}

/* Random runs come and go; those that overlap another one are found in their
 * order */
TEST_F(test_types, places) {
    struct place_t {
        ucp_fh_place_t place; /* First member */
        bool           is_there;
    };
    std::vector<place_t> places(200);
    ucs_tree_t tree;
    std::mt19937 random(1);

    ucp_fh_places_init(&tree);
    for (auto &place : places) {
        place.is_there = false;
    }
    for (unsigned i = 0; i < 20000; ++i) {
        place_t &place   = places[random() % places.size()];
        ucp_fh_run_t run = {random() % 300, 1 + (random() % 8)};
        std::multiset<uint64_t> wanted, found;

        if (place.is_there) {
            ucp_fh_places_remove(&tree, &place.place);
        } else {
            ucp_fh_places_add(&tree, &place.place, &run);
        }
        place.is_there = !place.is_there;

        run = {random() % 300, 1 + (random() % 20)};
        for (const auto &other : places) {
            if (other.is_there &&
                ucp_fh_run_overlaps(&other.place.run, &run)) {
                wanted.insert(other.place.run.first);
            }
        }
        ucp_fh_bucket_t last = 0;
        for (ucp_fh_place_t *next = ucp_fh_places_first(&tree, &run);
             next != nullptr; next = ucp_fh_places_next(next, &run)) {
            ASSERT_LE(last, next->run.first);
            ASSERT_TRUE(((place_t*)next)->is_there);
            last = next->run.first;
            found.insert(last);
        }
        ASSERT_EQ(wanted, found);
    }
}
