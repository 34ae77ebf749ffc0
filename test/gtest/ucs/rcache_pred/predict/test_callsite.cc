/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>


class test_callsite : public ::testing::Test {
protected:
    static constexpr unsigned NUM_SITES = 16;

    test_callsite()
    {
        EXPECT_EQ(UCS_OK,
                  ucs_rcache_pred_site_table_init(&m_table, NUM_SITES));
        ucs_list_head_init(&m_region);
    }

    ~test_callsite() { ucs_rcache_pred_site_table_cleanup(&m_table); }

    ucs_rcache_pred_site_t *get(uint64_t signature)
    {
        return ucs_rcache_pred_site_get(&m_table, signature, &m_region);
    }

    ucs_rcache_pred_site_t *find(uint64_t signature)
    {
        return ucs_rcache_pred_site_find(&m_table, signature);
    }

    ucs_rcache_pred_site_table_t m_table;
    ucs_list_link_t              m_region;
};

TEST_F(test_callsite, not_found_unless_made)
{
    EXPECT_EQ(NULL, find(5));
    get(5);
    EXPECT_NE((void*)NULL, find(5));
    EXPECT_EQ(NULL, find(5 + NUM_SITES)); /* The signatures share a bucket */
}

TEST_F(test_callsite, made_once)
{
    ucs_rcache_pred_site_t *site = get(5);

    EXPECT_EQ(site, get(5));
    EXPECT_EQ(site, find(5));
    EXPECT_EQ(1u, ucs_list_length(&m_region));
}

TEST_F(test_callsite, last_used_ones_come_first)
{
    ucs_rcache_pred_site_t *a = get(5), *b = get(6), *c = get(7);

    EXPECT_EQ(a, get(5));
    EXPECT_EQ(&a->region_link, m_region.next);
    EXPECT_EQ(&c->region_link, a->region_link.next);
    EXPECT_EQ(&b->region_link, c->region_link.next);
    EXPECT_EQ(3u, ucs_list_length(&m_region));
}

TEST_F(test_callsite, new_one_knows_nothing)
{
    EXPECT_EQ(NEVER, ucs_rcache_pred_history_deadline(&get(5)->history, 0));
    EXPECT_EQ(0u, get(5)->history.count);
}

TEST_F(test_callsite, recycled_one_knows_nothing)
{
    ucs_rcache_pred_history_add(&get(5)->history, 100, 8);
    ucs_rcache_pred_history_add(&get(5)->history, 200, 8);
    for (uint64_t i = 0; i < 3 * NUM_SITES; ++i) {
        EXPECT_EQ(0u, get(100 + i)->history.count);
    }
    EXPECT_EQ(NULL, find(5));
}

TEST_F(test_callsite, removed_one_leaves_its_region)
{
    ucs_rcache_pred_site_remove(&m_table, get(5));
    EXPECT_EQ(NULL, find(5));
    EXPECT_TRUE(ucs_list_is_empty(&m_region));
}

TEST_F(test_callsite, full_table_makes_room)
{
    for (uint64_t i = 1; i <= 10 * NUM_SITES; ++i) {
        EXPECT_EQ(i, get(i)->signature);
        EXPECT_LE(ucs_list_length(&m_region), NUM_SITES);
    }
    EXPECT_EQ(NUM_SITES, ucs_list_length(&m_region));
}

TEST_F(test_callsite, used_ones_stay)
{
    /* One more than fits ends the first lap of the clock's hand */
    for (uint64_t i = 1; i <= NUM_SITES + 1; ++i) {
        get(i);
    }

    for (uint64_t i = 0; i < 10 * NUM_SITES; ++i) {
        get(7);
        get(100 + i);
        ASSERT_NE((void*)NULL, find(7)) << "after " << i;
    }
}

TEST_F(test_callsite, making_room_takes_from_other_regions)
{
    ucs_list_link_t other;

    ucs_list_head_init(&other);
    for (uint64_t i = 1; i <= NUM_SITES; ++i) {
        get(i);
    }

    ucs_rcache_pred_site_get(&m_table, 100, &other);
    EXPECT_EQ(1u, ucs_list_length(&other));
    EXPECT_EQ(NUM_SITES - 1, ucs_list_length(&m_region));
}

TEST_F(test_callsite, number_of_sites_need_not_be_a_power_of_2)
{
    ucs_rcache_pred_site_table_t table;

    for (unsigned num_sites : {1, 17, 100}) {
        ucs_list_link_t region;

        ucs_list_head_init(&region);
        ASSERT_EQ(UCS_OK, ucs_rcache_pred_site_table_init(&table, num_sites));
        for (uint64_t i = 1; i <= 300; ++i) {
            ucs_rcache_pred_site_get(&table, i * 0x9e3779b97f4a7c15ul, &region);
        }
        EXPECT_EQ(num_sites, ucs_list_length(&region));
        ucs_rcache_pred_site_table_cleanup(&table);
    }
}

/* As many sites as the known regions need, but no more than may be */
TEST_F(test_callsite, number_follows_that_of_regions)
{
    static constexpr unsigned FIRST = UCS_RCACHE_PRED_FIRST_SITES;
    static constexpr unsigned MAX   = 3 * FIRST + 5;
    ucs_rcache_pred_site_table_t table;
    ucs_list_link_t region;
    uint64_t signature = 0;

    ucs_list_head_init(&region);
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_site_table_init(&table, MAX));
    for (unsigned regions : {0u, 100u, FIRST / 2, 16u, 10 * FIRST, ~0u}) {
        ucs_rcache_pred_site_table_expect(&table, regions);
        for (unsigned i = 0; i < 2 * MAX; ++i) {
            ++signature;
            ucs_rcache_pred_site_get(&table, signature * 0x9e3779b97f4a7c15ul,
                                     &region);
        }
        EXPECT_EQ((regions <= 100) && (signature < 5 * MAX) ? FIRST :
                  (regions <= FIRST) ? FIRST * 3 / 2 : MAX,
                  ucs_list_length(&region)) << regions;
    }

    /* None was moved or lost */
    for (uint64_t i = 0; i < MAX; ++i) {
        EXPECT_NE((void*)NULL, ucs_rcache_pred_site_find(
                          &table, (signature - i) * 0x9e3779b97f4a7c15ul));
    }
    ucs_rcache_pred_site_table_cleanup(&table);
}
