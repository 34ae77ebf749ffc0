/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <random>
#include <set>
#include <vector>


class test_region : public ::testing::Test {
protected:
    typedef ucs_rcache_pred_region_t region_t;
    typedef ucs_rcache_pred_extent_t extent_t;
    typedef ucs_rcache_pred_domain_t domain_t;

    /* So many times that a region was registered count */
    static constexpr unsigned RECENT = UCS_RCACHE_PRED_RECENT *
                                       UCS_RCACHE_PRED_RECENT_TIMES;

    test_region() { EXPECT_EQ(UCS_OK, ucs_rcache_pred_table_init(&m_table)); }
    ~test_region() { ucs_rcache_pred_table_cleanup(&m_table); }

    /* The table only compares pointers to domains */
    static domain_t *domain(uintptr_t number)
    {
        return (domain_t*)(number * 0x100);
    }

    region_t *make(uintptr_t start, size_t length, uintptr_t dom = 1)
    {
        ucs_rcache_pred_room_t room;

        while (!ucs_rcache_pred_table_has_room(&m_table)) {
            ucs_rcache_pred_room_ask(&m_table, &room);
            EXPECT_EQ(UCS_OK, ucs_rcache_pred_room_alloc(&room));
            ucs_rcache_pred_room_give(&m_table, &room);
            ucs_rcache_pred_room_release(&room);
        }

        return ucs_rcache_pred_region_new(&m_table, domain(dom), start, length);
    }

    static region_t *region_of(const extent_t *extent)
    {
        return (extent == NULL) ? NULL : ucs_rcache_pred_region_of(extent);
    }

    region_t *find(void *memh, uintptr_t dom = 1)
    {
        return region_of(ucs_rcache_pred_table_find_memh(
                &m_table, &m_table.memo, domain(dom), memh));
    }

    /* Whether a search for the handle does without the buckets: they are those
     * of another table here, which is empty */
    bool is_in_memo(region_t *region, uintptr_t memh, uintptr_t dom = 1)
    {
        ucs_rcache_pred_table_t empty;

        EXPECT_EQ(UCS_OK, ucs_rcache_pred_table_init(&empty));
        bool is_found = (ucs_rcache_pred_table_find_memh(
                                 &empty, &m_table.memo, domain(dom),
                                 (void*)memh) == &region->extent);
        ucs_rcache_pred_table_cleanup(&empty);
        return is_found;
    }

    void begin(region_t *region)
    {
        ucs_rcache_pred_memo_add(&m_table.memo, &region->extent);
    }

    void set(region_t *region, uintptr_t memh)
    {
        ucs_rcache_pred_extent_set_memh(&m_table, &region->extent, (void*)memh);
    }

    /* The regions that start at the address */
    std::set<region_t*> at(uintptr_t start)
    {
        std::set<region_t*> regions;
        region_t *region;

        ucs_hlist_for_each(region,
                           ucs_rcache_pred_start_bucket(&m_table, start),
                           start_link) {
            if (region->start == start) {
                regions.insert(region);
            }
        }
        return regions;
    }

    static bool overlaps(const region_t *region, uintptr_t start, uintptr_t end)
    {
        return (region->extent.known.start < end) && (region->extent.known.end > start);
    }

    /* The regions that an unmap of the range finds */
    std::set<region_t*>
    overlapping(uintptr_t start, uintptr_t end,
                ucs_rcache_pred_range_kind_t kind = UCS_RCACHE_PRED_RANGE_KNOWN)
    {
        const ucs_rcache_pred_range_t range = {start, end};
        std::set<region_t*> regions;
        extent_t *extent = NULL;
        uintptr_t last   = 0;

        while ((extent = ucs_rcache_pred_table_overlap(&m_table, extent, &range,
                                                       kind)) != NULL) {
            EXPECT_TRUE(regions.insert(region_of(extent)).second) << "found twice";
            EXPECT_LE(last, extent->known.start) << "in the order of starts";
            last = extent->known.start;
        }
        return regions;
    }

    void set_range(region_t *region, ucs_rcache_pred_range_t range)
    {
        ucs_rcache_pred_extent_set_range(&m_table, &region->extent, &range);
    }

    void cut(region_t *region, ucs_rcache_pred_range_t unmapped)
    {
        ucs_rcache_pred_extent_cut(&m_table, &region->extent, &unmapped);
    }

    static bool covers(const region_t *region, ucs_rcache_pred_range_t range,
                       unsigned access)
    {
        return ucs_rcache_pred_extent_covers(&region->extent, &range, access);
    }

    /* A use was learned */
    static void add(region_t *region, uintptr_t start, uintptr_t end,
                    bool renewed)
    {
        const ucs_rcache_pred_range_t range = {start, end};

        ucs_rcache_pred_region_add_recent(region, &range, 0, renewed);
    }

    /* What would be registered ahead of the next use */
    static std::pair<uintptr_t, uintptr_t> expected(const region_t *region)
    {
        ucs_rcache_pred_range_t range = ucs_rcache_pred_region_expected(region);

        return {range.start, range.end};
    }

    ucs_rcache_pred_table_t m_table;
};

/* What a use, a step in the tree and a step in a queue cost with many regions is
 * how many cache lines they touch */
TEST_F(test_region, cache_lines)
{
    EXPECT_EQ(64u, offsetof(region_t, start))
            << "a hit writes the fields before, and reads the others";
    EXPECT_EQ(2u * 64, offsetof(region_t, extent.claims) + sizeof(extent_t::claims));
    EXPECT_EQ(0u, offsetof(region_t, extent.tree_node) % 64);
    EXPECT_EQ(offsetof(extent_t, tree_node) + 64,
              offsetof(extent_t, max_end) + sizeof(extent_t::max_end))
        << "all that a search for overlaps reads of extents it passes by";
    EXPECT_EQ(0u, offsetof(region_t, queue_elem) % 64);
    EXPECT_EQ(64u, sizeof(region_t::queue_elem));
    EXPECT_EQ(16u * 64, sizeof(region_t)) << "see docs/design/regions.md";
}

TEST_F(test_region, found_by_start)
{
    region_t *a = make(0x1000, 100), *b = make(0x2000, 100);

    EXPECT_EQ((std::set<region_t*>{a}), at(0x1000));
    EXPECT_EQ((std::set<region_t*>{b}), at(0x2000));
    EXPECT_TRUE(at(0x3000).empty());
}

TEST_F(test_region, several_with_one_start)
{
    region_t *a = make(0x1000, 100), *b = make(0x1000, 200),
             *c = make(0x1000, 100, 2);

    EXPECT_EQ((std::set<region_t*>{a, b, c}), at(0x1000));
    ucs_rcache_pred_region_free(&m_table, b);
    EXPECT_EQ((std::set<region_t*>{a, c}), at(0x1000));
}

TEST_F(test_region, new_one_is_blank)
{
    region_t *region = make(0x1000, 100);

    EXPECT_EQ(domain(1), region->extent.domain);
    EXPECT_EQ(0x1000u, region->start);
    EXPECT_EQ(0x1000u, region->extent.range.start);
    EXPECT_EQ(0x1064u, region->extent.range.end);
    EXPECT_EQ(UCS_RCACHE_PRED_EXTENT_IDLE, region->extent.state);
    EXPECT_EQ(NEVER, ucs_rcache_pred_region_deadline(region));
    EXPECT_EQ(0u, region->refs);
    EXPECT_FALSE(region->extent.stale);
    EXPECT_FALSE(region->queued);
    EXPECT_TRUE(ucs_list_is_empty(&region->forecast.sites));
    EXPECT_EQ(0x1000u, region->extent.known.start);
    EXPECT_EQ(0x1064u, region->extent.known.end);
}

TEST_F(test_region, found_by_handle_while_registered)
{
    region_t *region = make(0x1000, 100);

    EXPECT_EQ(NULL, find((void*)0x42));
    set(region, 0x42);
    EXPECT_EQ(region, find((void*)0x42));
    EXPECT_EQ(UCS_RCACHE_PRED_EXTENT_REGISTERED, region->extent.state);
    EXPECT_EQ(NULL, find((void*)0x43));

    EXPECT_EQ((void*)0x42, ucs_rcache_pred_extent_take_memh(&m_table, &region->extent));
    EXPECT_EQ(NULL, find((void*)0x42));
    EXPECT_EQ(UCS_RCACHE_PRED_EXTENT_IDLE, region->extent.state);
}

TEST_F(test_region, handles_of_domains_are_apart)
{
    region_t *a = make(0x1000, 100, 1), *b = make(0x1000, 100, 2);

    set(a, 0x42);
    set(b, 0x42);
    EXPECT_EQ(a, find((void*)0x42, 1));
    EXPECT_EQ(b, find((void*)0x42, 2));
    EXPECT_EQ(NULL, find((void*)0x42, 3));
}

TEST_F(test_region, memo_knows_the_last_uses)
{
    const unsigned size = 1 << UCS_RCACHE_PRED_MEMO_BITS;
    unsigned known      = 0;
    std::vector<region_t*> regions;

    for (unsigned i = 0; i < 4 * size; ++i) {
        regions.push_back(make(0x100000 + i * PAGE, PAGE));
        set(regions.back(), 0x7f0000000000 + i * 0x40);
        begin(regions.back());
        EXPECT_TRUE(is_in_memo(regions.back(), 0x7f0000000000 + i * 0x40));
    }

    for (unsigned i = 0; i < regions.size(); ++i) {
        known += is_in_memo(regions[i], 0x7f0000000000 + i * 0x40);
        EXPECT_EQ(regions[i], find((void*)(0x7f0000000000 + i * 0x40)));
    }
    EXPECT_LE(known, size);
    EXPECT_GT(known, size / 2);
}

TEST_F(test_region, memo_forgets_what_is_not_registered)
{
    region_t *region = make(0x1000, 100, 1);

    set(region, 0x42);
    begin(region);
    EXPECT_EQ(NULL, find((void*)0x42, 2));
    ucs_rcache_pred_extent_take_memh(&m_table, &region->extent);
    EXPECT_EQ(NULL, find((void*)0x42));
    EXPECT_EQ(NULL, find(NULL)) << "an idle region has no handle";

    set(region, 0x43);
    EXPECT_EQ(NULL, find((void*)0x42));
    EXPECT_EQ(region, find((void*)0x43));

    ucs_rcache_pred_extent_take_memh(&m_table, &region->extent);
    ucs_rcache_pred_region_free(&m_table, region);
    EXPECT_EQ(NULL, find((void*)0x43));
    EXPECT_EQ(region, make(0x2000, 100, 2));
    set(region, 0x42);
    EXPECT_EQ(NULL, find((void*)0x42, 1));
    EXPECT_EQ(region, find((void*)0x42, 2));
}

TEST_F(test_region, many_handles)
{
    std::vector<region_t*> regions;

    /* More than there are buckets at first */
    for (uintptr_t i = 0; i < 3u << UCS_RCACHE_PRED_TABLE_BITS; ++i) {
        regions.push_back(make(0x100000 + i * PAGE, PAGE));
        set(regions.back(), 0x7f0000000000 + i * 0x40);
    }

    for (uintptr_t i = 0; i < regions.size(); i += 2) {
        ucs_rcache_pred_extent_take_memh(&m_table, &regions[i]->extent);
    }

    for (uintptr_t i = 0; i < regions.size(); ++i) {
        ASSERT_EQ((i % 2) ? regions[i] : NULL,
                  find((void*)(0x7f0000000000 + i * 0x40)));
        ASSERT_EQ((std::set<region_t*>{regions[i]}), at(0x100000 + i * PAGE));
    }
}

TEST_F(test_region, recycled_one_has_another_generation)
{
    region_t *a         = make(0x1000, 100);
    uint64_t generation = a->generation;

    ucs_rcache_pred_region_free(&m_table, a);
    EXPECT_NE(generation, a->generation) << "stays readable when free";

    region_t *b = make(0x2000, 100);
    EXPECT_EQ(a, b) << "the test expects the same one back";
    EXPECT_NE(generation, b->generation);
    EXPECT_EQ(0x2000u, b->start);
}

TEST_F(test_region, generations_do_not_repeat)
{
    std::set<std::pair<region_t*, uint64_t>> seen;

    for (unsigned i = 0; i < 1000; ++i) {
        region_t *region = make(0x1000, 100);
        ASSERT_TRUE(seen.emplace(region, region->generation).second);
        ucs_rcache_pred_region_free(&m_table, region);
    }
}

TEST_F(test_region, no_room_at_first)
{
    EXPECT_FALSE(ucs_rcache_pred_table_has_room(&m_table));
    make(0x1000, 100);
    EXPECT_TRUE(ucs_rcache_pred_table_has_room(&m_table));
}

TEST_F(test_region, in_the_order_of_starts)
{
    std::mt19937 random(1);
    std::multiset<uintptr_t> starts;

    for (unsigned i = 0; i < 5000; ++i) {
        starts.insert(make(0x1000 + random() % 10000, 1)->start);
        ASSERT_EQ(starts.size(), m_table.count);
    }

    region_t *region = ucs_rcache_pred_table_from(&m_table, 0);
    for (uintptr_t start : starts) {
        ASSERT_EQ(start, region->start);
        region = ucs_rcache_pred_region_next(region);
    }
    EXPECT_EQ(NULL, region);
}

TEST_F(test_region, from_an_address_on)
{
    region_t *a = make(0x1000, 0x1000), *b = make(0x3000, 0x1000);

    EXPECT_EQ(a, ucs_rcache_pred_table_from(&m_table, 0));
    EXPECT_EQ(a, ucs_rcache_pred_table_from(&m_table, 0x1000));
    EXPECT_EQ(b, ucs_rcache_pred_table_from(&m_table, 0x1001));
    EXPECT_EQ(b, ucs_rcache_pred_table_from(&m_table, 0x3000));
    EXPECT_EQ(NULL, ucs_rcache_pred_table_from(&m_table, 0x3001));
}

/* A bucket with many regions would make each use as slow as there are
 * regions */
TEST_F(test_region, buckets_stay_short)
{
    unsigned longest = 0;

    for (uintptr_t i = 0; i < 5u << UCS_RCACHE_PRED_TABLE_BITS; ++i) {
        region_t *region = make(0x100000 + i * PAGE, PAGE);
        set(region, 0x7f0000000000 + i * 0x40);
    }

    for (uintptr_t i = 0; i < m_table.count; ++i) {
        unsigned count = 0;
        region_t *region;
        ucs_hlist_for_each(region,
                           ucs_rcache_pred_start_bucket(&m_table, 0x100000 +
                                                                  i * PAGE),
                           start_link) {
            ++count;
        }
        longest = std::max(longest, count);
    }
    EXPECT_LE(longest, 8u);
}

/* Those by start are doubled several times because they are crowded, while those by
 * handle still move */
TEST_F(test_region, buckets_by_handle_stay_short)
{
    static constexpr uintptr_t COUNT = 8u << UCS_RCACHE_PRED_TABLE_BITS;
    unsigned longest                 = 0;
    bool differ                      = false;

    for (uintptr_t i = 0; i < COUNT; ++i) {
        set(make(0x100000 + i * 64, 64), 0x7f0000000000 + i * 0x40);
        differ |= (m_table.by_memh.bits < m_table.by_start.bits);
    }
    EXPECT_TRUE(differ);
    EXPECT_LE(COUNT, ucs_buckets_capacity(&m_table.by_memh));

    for (uintptr_t i = 0; i < COUNT; ++i) {
        unsigned count = 0;
        extent_t *extent;
        ucs_hlist_for_each(extent,
                           ucs_bucket(&m_table.by_memh,
                                                  0x7f0000000000 + i * 0x40),
                           memh_link) {
            ++count;
        }
        longest = std::max(longest, count);
    }
    EXPECT_LE(longest, 8u);
}

TEST_F(test_region, room_that_came_too_late_is_released)
{
    /* Two threads found the table full and made room for it: that of the second
     * one is not needed */
    ucs_rcache_pred_room_t room1, room2;

    ucs_rcache_pred_room_ask(&m_table, &room1);
    ucs_rcache_pred_room_ask(&m_table, &room2);
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_room_alloc(&room1));
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_room_alloc(&room2));
    ucs_rcache_pred_room_give(&m_table, &room1);
    ucs_rcache_pred_room_release(&room1);
    unsigned num_free = m_table.num_free;

    ucs_rcache_pred_room_give(&m_table, &room2);
    EXPECT_NE((void*)NULL, room2.chunk);
    ucs_rcache_pred_room_release(&room2);
    EXPECT_EQ(num_free, m_table.num_free);
}

TEST_F(test_region, no_memory_for_room)
{
    const unsigned full = 1u << UCS_RCACHE_PRED_TABLE_BITS;
    unsigned max_wanted = 0;
    ucs_rcache_pred_room_t room;

    /* Now and then a chunk of regions is wanted, later on a large one, instead of which
     * a small one will do, and when the table is full two arrays of buckets are */
    while (m_table.count <= full) {
        ucs_rcache_pred_room_ask(&m_table, &room);
        unsigned wanted = !!room.wants_chunk + !!room.wants_start +
                          !!room.wants_memh;

        for (unsigned nth = 1; nth <= wanted; ++nth) {
            ucs_rcache_pred_room_ask(&m_table, &room);
            bool has_choice = (nth == 1) && room.wants_chunk && room.large_chunk;
            test_alloc_fail_nth(nth);
            EXPECT_EQ(has_choice ? UCS_OK : UCS_ERR_NO_MEMORY,
                      ucs_rcache_pred_room_alloc(&room));
            EXPECT_TRUE(test_alloc_failed());
            if (has_choice) {
                ucs_rcache_pred_room_release(&room);
            }
        }
        test_alloc_fail_nth(0);
        max_wanted = std::max(max_wanted, wanted);
        make(0x1000, 1);
    }
    EXPECT_LE(2u, max_wanted);
}

/* That too many regions meet others is no reason to have no more of them */
TEST_F(test_region, no_memory_for_buckets_that_are_crowded)
{
    ucs_rcache_pred_room_t room;
    unsigned times = 0;

    for (unsigned i = 0; i < 4096; ++i) {
        while (!ucs_rcache_pred_table_has_room(&m_table)) {
            ucs_rcache_pred_room_ask(&m_table, &room);
            if (room.wants_start) {
                EXPECT_TRUE(room.crowded);
                test_alloc_fail_nth(!!room.wants_chunk + 1);
                ++times;
            }
            EXPECT_EQ(UCS_OK, ucs_rcache_pred_room_alloc(&room));
            test_alloc_fail_nth(0);
            ucs_rcache_pred_room_give(&m_table, &room);
            ucs_rcache_pred_room_release(&room);
        }
        make(0x1000 + i * 8, 8);
    }
    EXPECT_EQ(1u << UCS_RCACHE_PRED_TABLE_BITS,
              ucs_buckets_capacity(&m_table.by_start));
    EXPECT_GT(times, 1u);
    EXPECT_LT(times, 64u);
}

/* Regions of small and of large chunks are apart, and each is used once before any
 * other one is twice */
TEST_F(test_region, regions_of_chunks_do_not_overlap)
{
    std::set<region_t*> regions;

    for (unsigned i = 0; i < 8192; ++i) {
        region_t *region = make(0x1000 * (i + 1), 1);
        regions.insert(region);
    }

    EXPECT_EQ(8192u, regions.size());
    EXPECT_LT(m_table.num_free, 2560u);
    EXPECT_GT(m_table.num_free, 0u);
    region_t *last = NULL;
    for (region_t *region : regions) {
        EXPECT_EQ(0u, (uintptr_t)region % 64);
        EXPECT_TRUE((last == NULL) || (region - last >= 1));
        last = region;
    }

    /* One that was freed comes first */
    ucs_rcache_pred_region_free(&m_table, last);
    EXPECT_EQ(last, make(0x10, 1));
}

/*
 *   range                 [--------)
 *   regions  aaaa                        ends before
 *                 bbbb                   ends where it starts
 *                   cccc                 reaches into it
 *                       dd               inside
 *                 eeeeeeeeeeeeeeeee      around it
 *                             ffff       reaches out of it
 *                               gggg     starts where it ends
 */
TEST_F(test_region, overlap_cases)
{
    make(0x1000, 0x1000);
    make(0x3000, 0x1000);
    region_t *c = make(0x3800, 0x1000);
    region_t *d = make(0x4800, 0x100);
    region_t *e = make(0x3000, 0x8000);
    region_t *f = make(0x5800, 0x1000);
    make(0x6000, 0x1000);

    EXPECT_EQ((std::set<region_t*>{c, d, e, f}), overlapping(0x4000, 0x6000));
}

TEST_F(test_region, overlap_at_the_beginning_of_memory)
{
    region_t *a = make(0, 0x1000), *b = make(0x800, 0x1000);

    EXPECT_EQ((std::set<region_t*>{a, b}), overlapping(0x900, 0xa00));
    EXPECT_EQ((std::set<region_t*>{a}), overlapping(0, 1));
}

TEST_F(test_region, overlap_agrees_with_brute_force)
{
    std::mt19937 random(1);
    std::vector<region_t*> regions;

    for (unsigned i = 0; i < 20000; ++i) {
        if ((random() % 3 == 0) && !regions.empty()) {
            unsigned victim = random() % regions.size();
            ucs_rcache_pred_region_free(&m_table, regions[victim]);
            regions.erase(regions.begin() + victim);
        } else if (regions.size() < 100) {
            regions.push_back(make(random() % 10000,
                                   1 + random() % (1u << random() % 12)));
        }

        if ((random() % 10 == 0) && !regions.empty()) {
            region_t *region = regions[random() % regions.size()];
            ucs_rcache_pred_range_t range =
                ucs_rcache_pred_range(random() % 10000, 1 + random() % 3000);

            if (ucs_rcache_pred_range_overlaps(&region->extent.range, &range)) {
                set_range(region, range);
            } else {
                ucs_rcache_pred_extent_cut(&m_table, &region->extent, &range);
            }
        }

        if (!regions.empty()) {
            region_t *region = regions[random() % regions.size()];
            if (region->extent.state == UCS_RCACHE_PRED_EXTENT_IDLE) {
                ucs_rcache_pred_range_t range = region->extent.range;
                ucs_rcache_pred_extent_claim(&m_table, &region->extent, &range, 0);
            } else {
                ucs_rcache_pred_extent_unclaim(&m_table, &region->extent);
            }
        }

        uintptr_t start = random() % 15000;
        uintptr_t end   = start + 1 + random() % 500;
        ucs_rcache_pred_range_t range = {start, end};
        std::set<region_t*> known, registered;
        for (region_t *region : regions) {
            if (overlaps(region, start, end)) {
                known.insert(region);
            }
            if ((region->extent.state != UCS_RCACHE_PRED_EXTENT_IDLE) &&
                ucs_rcache_pred_range_overlaps(&region->extent.range, &range)) {
                registered.insert(region);
            }
        }
        ASSERT_EQ(known, overlapping(start, end));
        ASSERT_EQ(registered, overlapping(start, end,
                                          UCS_RCACHE_PRED_RANGE_REGISTERED));
    }
}

TEST_F(test_region, covers_length_and_access)
{
    region_t *region = make(0x1000, 8192);

    region->extent.access = 0x3;
    EXPECT_TRUE(covers(region, {0x1000, 0x3000}, 0x3));
    EXPECT_TRUE(covers(region, {0x1000, 0x1001}, 0x1));
    EXPECT_TRUE(covers(region, {0x2fff, 0x3000}, 0));
    EXPECT_FALSE(covers(region, {0x1000, 0x3001}, 0x1));
    EXPECT_FALSE(covers(region, {0xfff, 0x2000}, 0x1));
    EXPECT_FALSE(covers(region, {0x1000, 0x3000}, 0x4));
    EXPECT_FALSE(covers(region, {0x1000, 0x3000}, 0x7));
}

using limits = std::pair<uintptr_t, uintptr_t>;

TEST_F(test_region, expects_what_was_registered_before_anything_is_learned)
{
    EXPECT_EQ(limits(0x1000, 0x3000), expected(make(0x1000, 0x2000)));
}

TEST_F(test_region, expects_all_that_was_used_recently)
{
    region_t *region = make(0x1000, 0x8000);

    add(region, 0x1000, 0x2000, true);
    EXPECT_EQ(limits(0x1000, 0x2000), expected(region));
    add(region, 0x4000, 0x5000, true);
    EXPECT_EQ(limits(0x1000, 0x5000), expected(region));
}

TEST_F(test_region, expects_what_was_used_while_it_was_registered_recently)
{
    region_t *region = make(0x1000, 0x8000);

    /* Many slices in turns, while the region was registered once */
    add(region, 0x1000, 0x1800, true);
    for (uintptr_t start = 0x1800; start < 0x9000; start += 0x800) {
        add(region, start, start + 0x800, false);
    }
    EXPECT_EQ(limits(0x1000, 0x9000), expected(region));

    for (unsigned i = 0; i < RECENT - 1; ++i) {
        add(region, 0x2000, 0x3000, true);
    }
    EXPECT_EQ(limits(0x1000, 0x9000), expected(region));
    add(region, 0x2000, 0x3000, true);
    EXPECT_EQ(limits(0x2000, 0x3000), expected(region)) << "longer ago";
}

TEST_F(test_region, expects_nothing_beyond_what_is_known)
{
    region_t *region = make(0x1000, 0x3000);

    add(region, 0x1000, 0x4000, true);
    set_range(region, {0x2000, 0x3000});
    EXPECT_EQ(limits(0x1000, 0x4000), expected(region));
    cut(region, {0x3000, 0x3800});
    EXPECT_EQ(limits(0x1000, 0x3000), expected(region));
    cut(region, {0x0, 0x1800});
    EXPECT_EQ(limits(0x1800, 0x3000), expected(region));
    EXPECT_EQ((std::set<region_t*>{}), overlapping(0, 0x1800));

    /* What was used recently is gone: expect what was registered last */
    set_range(region, {0x2800, 0x2c00});
    cut(region, {0x2000, 0x2800});
    cut(region, {0x2c00, 0x3000});
    for (unsigned i = 0; i < RECENT; ++i) {
        add(region, 0x1000, 0x2000, true);
    }
    EXPECT_EQ(limits(0x2800, 0x2c00), expected(region));
}

TEST_F(test_region, is_found_where_it_grows_to)
{
    region_t *region = make(0x4000, 0x1000), *other = make(0x3000, 0x800);

    set_range(region, {0x2000, 0x6000});
    EXPECT_EQ((std::set<region_t*>{region}), overlapping(0x2000, 0x2001));
    EXPECT_EQ((std::set<region_t*>{region, other}), overlapping(0x3000, 0x3001));
    EXPECT_EQ((std::set<region_t*>{region}), at(0x4000)) << "by its start";
}

TEST(test_range, similar_ranges_have_half_of_the_longer_one_in_common)
{
    auto similar = [](ucs_rcache_pred_range_t a, ucs_rcache_pred_range_t b) {
        EXPECT_EQ(ucs_rcache_pred_range_is_similar(&a, &b),
                  ucs_rcache_pred_range_is_similar(&b, &a));
        return ucs_rcache_pred_range_is_similar(&a, &b) != 0;
    };

    EXPECT_TRUE(similar({100, 200}, {100, 200}));
    EXPECT_TRUE(similar({100, 200}, {150, 250}));
    EXPECT_FALSE(similar({100, 200}, {151, 251}));
    EXPECT_TRUE(similar({100, 200}, {100, 300}));
    EXPECT_FALSE(similar({100, 200}, {100, 301}));
    EXPECT_TRUE(similar({100, 101}, {100, 101}));
    EXPECT_FALSE(similar({100, 101}, {101, 102}));
    EXPECT_FALSE(similar({100, 100}, {100, 100})) << "empty";
}

TEST(test_range, ends_with_the_address_space)
{
    ucs_rcache_pred_range_t range = ucs_rcache_pred_range(UINTPTR_MAX - 9, 100);

    EXPECT_EQ(UINTPTR_MAX, range.end);
    EXPECT_EQ(9u, ucs_rcache_pred_range_length(&range));
}
