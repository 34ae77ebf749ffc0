/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <vector>

extern "C" {
#include "../../bench/site_count.h"
}


static site_counts_t count(std::vector<site_call_t> calls)
{
    site_counts_t counts;

    EXPECT_EQ(0, site_count(calls.data(), calls.size(), &counts));
    return counts;
}

TEST(test_site_count, no_calls)
{
    site_counts_t counts = count({});

    EXPECT_EQ(0u, counts.exact + counts.cheap + counts.merged + counts.split +
                  counts.right);
}

TEST(test_site_count, told_apart_rightly)
{
    site_counts_t counts = count({{1, 7}, {2, 5}, {1, 7}, {3, 6}});

    EXPECT_EQ(3u, counts.exact);
    EXPECT_EQ(3u, counts.cheap);
    EXPECT_EQ(0u, counts.merged);
    EXPECT_EQ(0u, counts.split);
    EXPECT_EQ(4u, counts.right);
}

TEST(test_site_count, merged)
{
    site_counts_t counts = count({{1, 5}, {2, 5}, {3, 6}, {1, 5}});

    EXPECT_EQ(3u, counts.exact);
    EXPECT_EQ(2u, counts.cheap);
    EXPECT_EQ(1u, counts.merged);
    EXPECT_EQ(0u, counts.split);
    EXPECT_EQ(1u, counts.right);
}

TEST(test_site_count, split)
{
    site_counts_t counts = count({{1, 5}, {1, 6}, {2, 7}, {2, 7}});

    EXPECT_EQ(2u, counts.exact);
    EXPECT_EQ(3u, counts.cheap);
    EXPECT_EQ(0u, counts.merged);
    EXPECT_EQ(1u, counts.split);
    EXPECT_EQ(2u, counts.right);
}

TEST(test_site_count, merged_and_split)
{
    /* Site 1 is seen as 5 and as 6, and 6 is seen for site 2 as well: site 2 is
     * not right */
    site_counts_t counts = count({{1, 5}, {1, 6}, {2, 6}});

    EXPECT_EQ(2u, counts.exact);
    EXPECT_EQ(2u, counts.cheap);
    EXPECT_EQ(1u, counts.merged);
    EXPECT_EQ(1u, counts.split);
    EXPECT_EQ(0u, counts.right);
}
