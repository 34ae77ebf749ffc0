/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <string.h>

#include <random>
#include <vector>


class test_dq : public ::testing::Test {
protected:
    typedef ucs_rcache_pred_region_t   region_t;
    typedef ucs_rcache_pred_dq_entry_t entry_t;

    static constexpr unsigned SIZE        = 8;
    static constexpr unsigned NUM_REGIONS = 32;

    test_dq() : m_regions(NUM_REGIONS), m_next(1)
    {
        EXPECT_EQ(UCS_OK, ucs_rcache_pred_dq_init(&m_dq, SIZE));
        for (unsigned i = 0; i < NUM_REGIONS; ++i) {
            memset(&m_regions[i], 0, sizeof(m_regions[i]));
            m_regions[i].generation = i + 1;
        }
    }

    ~test_dq() { ucs_rcache_pred_dq_cleanup(&m_dq); }

    bool is_empty() { return ucs_rcache_pred_dq_is_empty(&m_dq); }

    /* The nth use in all, which is of this region. Every field tells which use
     * it was. */
    void push(unsigned region)
    {
        m_regions[region].begin = m_next;
        push_of(region, m_next++);
    }

    /* The nth use, which may be an earlier one than others of the region */
    void push_of(unsigned region, uint64_t n)
    {
        entry_t entry = {&m_regions[region], m_regions[region].generation, n,
                         {n * 3, n * 4}, {n * 5, n * 7, n * 11}, (unsigned)n};

        ucs_rcache_pred_dq_push(&m_dq, &entry);
    }

    /* Take out the oldest entry; @return its number, or 0 if there is none */
    uint64_t pop()
    {
        entry_t entry;

        if (!ucs_rcache_pred_dq_pop(&m_dq, &entry)) {
            return 0;
        }

        uint64_t n = entry.begin;
        EXPECT_EQ(n * 3, entry.range.start);
        EXPECT_EQ(n * 4, entry.range.end);
        EXPECT_EQ(n * 5, entry.context.caller);
        EXPECT_EQ(n * 7, entry.context.stack);
        EXPECT_EQ(n * 11, entry.context.window);
        EXPECT_EQ(n, entry.access);
        return n;
    }

    /* Take out a lost region; @return its index, or -1 if there is none */
    int pop_lost()
    {
        region_t *region = ucs_rcache_pred_dq_pop_lost(&m_dq);

        return (region == NULL) ? -1 : (region - m_regions.data());
    }

    /* The region is freed and used for another one */
    void recycle(unsigned region)
    {
        ucs_rcache_pred_dq_forget(&m_regions[region]);
        memset(&m_regions[region], 0, sizeof(m_regions[region]));
        m_regions[region].generation = m_next + NUM_REGIONS;
    }

    ucs_rcache_pred_dq_t  m_dq;
    std::vector<region_t> m_regions;
    uint64_t              m_next;
};

TEST_F(test_dq, nothing_comes_out_of_an_empty_queue)
{
    EXPECT_TRUE(is_empty());
    EXPECT_EQ(0u, pop());
    EXPECT_EQ(-1, pop_lost());
    push(0);
    EXPECT_FALSE(is_empty());
    EXPECT_EQ(1u, pop());
    EXPECT_EQ(0u, pop());
    EXPECT_TRUE(is_empty());
    EXPECT_EQ(0u, m_dq.dropped);
}

TEST_F(test_dq, order_is_kept_around_the_ring)
{
    uint64_t expected = 1;

    /* The queue is filled to every level from every position on. It is never
     * emptied, after which it would begin at the first position again */
    push(0);
    for (unsigned i = 0; i < 1000; ++i) {
        for (unsigned n = 0; n < 1 + i % (SIZE - 1); ++n) {
            push(n);
        }
        while (expected < m_next - 1) {
            ASSERT_EQ(expected++, pop());
        }
    }
    EXPECT_EQ(expected, pop());
    EXPECT_EQ(0u, pop());
    EXPECT_EQ(0u, m_dq.dropped);
    EXPECT_EQ(-1, pop_lost());
}

TEST_F(test_dq, emptied_queue_begins_with_the_same_slots)
{
    for (unsigned i = 0; i < 3; ++i) {
        push(0);
        push(1);
        EXPECT_EQ(m_next - 2, m_dq.entries[0].begin);
        EXPECT_EQ(m_next - 1, m_dq.entries[1].begin);
        EXPECT_EQ(m_next - 2, pop());
        EXPECT_EQ(m_next - 1, pop());
    }
}

TEST_F(test_dq, full_queue_loses_the_oldest)
{
    for (unsigned i = 0; i < SIZE + 5; ++i) {
        push(i);
    }

    for (unsigned i = 5; i < SIZE + 5; ++i) {
        EXPECT_EQ(i + 1, pop());
    }
    EXPECT_EQ(0u, pop());
    EXPECT_EQ(5u, m_dq.dropped);
}

TEST_F(test_dq, regions_without_entries_are_found)
{
    for (unsigned i = 0; i < SIZE + 5; ++i) {
        push(i);
    }

    while (pop() != 0) {
    }
    EXPECT_FALSE(is_empty()) << "there is something to do";
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(i, pop_lost());
    }
    EXPECT_EQ(-1, pop_lost());
    EXPECT_TRUE(is_empty());
}

TEST_F(test_dq, region_with_another_entry_is_not_lost)
{
    for (unsigned i = 0; i < SIZE; ++i) {
        push(i);
    }
    push(0); /* Overwrites the first entry of the same region */
    push(2); /* Overwrites that of region 1 */

    EXPECT_EQ(2u, m_dq.dropped);
    EXPECT_EQ(1, pop_lost());
    EXPECT_EQ(-1, pop_lost());
}

TEST_F(test_dq, lost_region_that_is_used_again_is_not_lost)
{
    for (unsigned i = 0; i <= SIZE; ++i) {
        push(i);
    }
    push(0);

    EXPECT_EQ(1, pop_lost());
    EXPECT_EQ(-1, pop_lost()) << "the entry of region 0 will come";
    for (unsigned i = 0; i < 2 * SIZE; ++i) {
        push(2); /* Its entry is lost after all */
    }
    std::vector<int> lost;
    for (int region = pop_lost(); region >= 0; region = pop_lost()) {
        lost.push_back(region);
    }
    EXPECT_EQ((std::vector<int>{3, 4, 5, 6, 7, 8, 0}), lost);
}

TEST_F(test_dq, region_is_lost_once)
{
    for (unsigned i = 0; i < 10; ++i) {
        push(0);
        for (unsigned j = 0; j < SIZE; ++j) {
            push(1);
        }
    }
    EXPECT_EQ(0, pop_lost());
    EXPECT_EQ(-1, pop_lost());
    EXPECT_EQ(10 * (SIZE + 1) - SIZE, m_dq.dropped);
}

TEST_F(test_dq, forgotten_region_is_not_found)
{
    for (unsigned i = 0; i <= SIZE; ++i) {
        push(i);
    }
    recycle(0);
    EXPECT_EQ(-1, pop_lost());
}

TEST_F(test_dq, entries_of_a_forgotten_region_do_not_count)
{
    push(0);
    push(0);
    recycle(0);
    push(0); /* A use of the new region in its place */
    EXPECT_EQ(1u, m_regions[0].num_entries);

    EXPECT_EQ(1u, pop());
    EXPECT_EQ(1u, m_regions[0].num_entries);
    for (unsigned i = 0; i < SIZE - 1; ++i) {
        push(1); /* Overwrites the second entry of the old region */
    }
    EXPECT_EQ(1u, m_dq.dropped);
    EXPECT_EQ(-1, pop_lost());
    push(1);
    EXPECT_EQ(0, pop_lost());
}

TEST_F(test_dq, smallest_queue)
{
    ucs_rcache_pred_dq_cleanup(&m_dq);
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_dq_init(&m_dq, 2));

    for (unsigned i = 0; i < 100; ++i) {
        uint64_t first = m_next;
        push(0);
        push(1);
        push(2);
        EXPECT_EQ(first + 1, pop());
        EXPECT_EQ(first + 2, pop());
        EXPECT_EQ(0u, pop());
        EXPECT_EQ(0, pop_lost());
    }
    EXPECT_EQ(100u, m_dq.dropped);
}

/* After every push, a region has an entry or is lost until it is taken out; and
 * what comes out is its last use */
TEST_F(test_dq, every_region_comes_out)
{
    std::mt19937 random(1);
    std::vector<uint64_t> last(NUM_REGIONS, 0), seen(NUM_REGIONS, 0);
    entry_t entry;

    for (unsigned i = 0; i < 100000; ++i) {
        unsigned region = random() % NUM_REGIONS;

        switch (random() % 4) {
        case 0:
            if (ucs_rcache_pred_dq_pop(&m_dq, &entry)) {
                region = entry.region - m_regions.data();
                EXPECT_LT(seen[region], entry.begin);
                seen[region] = entry.begin;
            }
            break;
        case 1:
            if (random() % 2) {
                int found = pop_lost();
                if (found >= 0) {
                    EXPECT_LT(seen[found], last[found]);
                    seen[found] = last[found];
                }
            }
            break;
        default:
            last[region] = m_next;
            push(region);
        }
    }

    while (!is_empty()) {
        int found = pop_lost();
        if (found >= 0) {
            seen[found] = last[found];
        } else if (ucs_rcache_pred_dq_pop(&m_dq, &entry)) {
            seen[entry.region - m_regions.data()] = entry.begin;
        }
    }
    EXPECT_EQ(last, seen);
}

/* Entries of earlier uses do not stand for the last one */
TEST_F(test_dq, last_use_is_lost_beside_others)
{
    push(0);
    uint64_t last = m_next - 1;
    for (unsigned i = 1; i < SIZE; ++i) {
        push_of(0, last - 1);
    }
    EXPECT_EQ(-1, pop_lost());
    push_of(0, last - 1); /* Drops that of the last use */
    EXPECT_FALSE(is_empty());
    EXPECT_EQ(0, pop_lost());
    EXPECT_EQ(-1, pop_lost());
}

TEST_F(test_dq, earlier_use_does_not_find_the_last_one)
{
    push(0);
    uint64_t last = m_next - 1;
    for (unsigned i = 0; i < SIZE; ++i) {
        push(1);
    }
    push_of(0, last - 1);
    EXPECT_EQ(0, pop_lost());
}
