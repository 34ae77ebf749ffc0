/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <string>


/* Each test breaks one invariant of an extent that keeps all of them */
class test_invariants : public ::testing::Test {
protected:
    void SetUp() override
    {
        ucs_rcache_pred_room_t room;

        ASSERT_EQ(UCS_OK, ucs_rcache_pred_table_init(&m_table));
        ucs_rcache_pred_room_ask(&m_table, &room);
        ASSERT_EQ(UCS_OK, ucs_rcache_pred_room_alloc(&room));
        ucs_rcache_pred_room_give(&m_table, &room);
        ucs_rcache_pred_room_release(&room);

        /* Two, so that one of them is below the other one in the tree */
        make(0x1000);
        m_region = make(0x8000);
        m_extent = &m_region->extent;
        EXPECT_EQ("", broken());
    }

    ~test_invariants() { ucs_rcache_pred_table_cleanup(&m_table); }

    ucs_rcache_pred_region_t *make(uintptr_t start)
    {
        return ucs_rcache_pred_region_new(&m_table, NULL, start, PAGE);
    }

    void claim(uintptr_t start, size_t length)
    {
        ucs_rcache_pred_range_t range = ucs_rcache_pred_range(start, length);

        ucs_rcache_pred_extent_claim(&m_table, m_extent, &range, 0);
        EXPECT_EQ("", broken());
    }

    /* Number of the invariant that does not hold; empty: all do */
    std::string broken() const
    {
        const char *text = ucs_rcache_pred_extent_broken(&m_table, m_extent);

        return (text == NULL) ? "" : std::string(text, 2);
    }

    ucs_rcache_pred_table_t  m_table;
    ucs_rcache_pred_region_t *m_region;
    ucs_rcache_pred_extent_t *m_extent;
};

TEST_F(test_invariants, hold_while_an_extent_is_registered_and_used)
{
    claim(0x7000, 4 * PAGE);
    ucs_rcache_pred_extent_set_memh(&m_table, m_extent, &m_table);
    EXPECT_EQ("", broken());
    ++m_region->refs;
    EXPECT_EQ("", broken());
    --m_region->refs;
    ucs_rcache_pred_extent_take_memh(&m_table, m_extent);
    EXPECT_EQ("", broken());
}

TEST_F(test_invariants, I1_an_extent_has_a_region)
{
    m_region->generation = 0;
    EXPECT_EQ("I1", broken());
}

TEST_F(test_invariants, I3_what_is_registered_is_known)
{
    --m_extent->known.end;
    EXPECT_EQ("I3", broken());
    m_extent->stale = 1;
    EXPECT_EQ("", broken()) << "nobody registers it any more";
}

TEST_F(test_invariants, I4_a_registered_extent_is_found_by_its_handle)
{
    m_extent->state = UCS_RCACHE_PRED_EXTENT_REGISTERED;
    ucs_tree_update(&m_table.tree, &m_extent->tree_node);
    EXPECT_EQ("I4", broken());
}

TEST_F(test_invariants, I5_what_is_used_is_registered)
{
    ++m_region->refs;
    EXPECT_EQ("I5", broken());
}

TEST_F(test_invariants, I7_an_extent_is_found_by_what_is_known)
{
    ++m_extent->known.end;
    EXPECT_EQ("I7", broken());
    ucs_tree_update(&m_table.tree, &m_extent->tree_node);
    EXPECT_EQ("", broken());
}

TEST_F(test_invariants, I7_an_extent_is_found_by_what_is_registered)
{
    claim(0x8000, PAGE);
    m_extent->max_end[UCS_RCACHE_PRED_RANGE_REGISTERED] = 0;
    EXPECT_EQ("I7", broken());
}
