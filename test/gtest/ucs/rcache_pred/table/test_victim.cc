/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <random>
#include <vector>


class test_victim : public ::testing::Test {
protected:
    typedef ucs_rcache_pred_region_t region_t;

    test_victim() { EXPECT_EQ(UCS_OK, ucs_rcache_pred_table_init(&m_table)); }
    ~test_victim() { ucs_rcache_pred_table_cleanup(&m_table); }

    region_t *make(uintptr_t start)
    {
        ucs_rcache_pred_room_t room;

        while (!ucs_rcache_pred_table_has_room(&m_table)) {
            ucs_rcache_pred_room_ask(&m_table, &room);
            EXPECT_EQ(UCS_OK, ucs_rcache_pred_room_alloc(&room));
            ucs_rcache_pred_room_give(&m_table, &room);
            ucs_rcache_pred_room_release(&room);
        }
        return ucs_rcache_pred_region_new(&m_table, NULL, start, PAGE);
    }

    void set(region_t *region)
    {
        ucs_rcache_pred_extent_set_memh(&m_table, &region->extent, region);
    }

    void take(region_t *region)
    {
        ucs_rcache_pred_extent_take_memh(&m_table, &region->extent);
        ucs_rcache_pred_extent_rank(&m_table, &region->extent);
    }

    /* What a use does to its region */
    void begin(region_t *region)
    {
        ++region->refs;
        region->begin = ++m_now;
    }

    void end(region_t *region)
    {
        if (--region->refs == 0) {
            ucs_rcache_pred_region_note(&m_table.noted, region);
        }
    }

    /* What the helper does to it */
    void decide(region_t *region, uint64_t deadline)
    {
        ucs_rcache_pred_region_set_deadline(region, deadline);
        ucs_rcache_pred_region_note(&m_table.noted, region);
    }

    /* A region that was used once, and is registered and idle */
    region_t *idle(uintptr_t start)
    {
        region_t *region = make(start);

        set(region);
        begin(region);
        end(region);
        return region;
    }

    region_t *victim()
    {
        ucs_rcache_pred_extent_t *extent;

        while (!ucs_rcache_pred_table_victim(&m_table, NULL, &extent)) {
        }
        return (extent == NULL) ? NULL : ucs_rcache_pred_region_of(extent);
    }

    /* Whether it is a victim, and no other region would be a better one */
    void check(region_t *found, const std::vector<region_t*> &regions)
    {
        uint64_t best = 0;

        for (region_t *region : regions) {
            best = std::max(best, ucs_rcache_pred_extent_get_rank(&region->extent));
        }
        ASSERT_EQ(best == 0, found == NULL);
        if (found != NULL) {
            ASSERT_EQ(best, ucs_rcache_pred_extent_get_rank(&found->extent));
        }
    }

    ucs_rcache_pred_table_t m_table;
    uint64_t                m_now = SEC;
};

TEST_F(test_victim, none_of_none)
{
    EXPECT_EQ(NULL, victim());
}

TEST_F(test_victim, only_what_is_registered_and_idle)
{
    region_t *unregistered = make(0x1000), *used = make(0x2000);

    EXPECT_EQ(NULL, victim());
    set(used);
    begin(used);
    EXPECT_EQ(NULL, victim());
    end(used);
    EXPECT_EQ(used, victim());
    take(used);
    EXPECT_EQ(NULL, victim());
    EXPECT_EQ(UCS_RCACHE_PRED_EXTENT_IDLE, unregistered->extent.state);
}

TEST_F(test_victim, in_the_order_of_deadlines)
{
    region_t *near = idle(0x1000), *far = idle(0x2000), *none = idle(0x3000),
             *older = idle(0x4000);

    decide(near, m_now + SEC);
    decide(far, m_now + 2 * SEC);
    none->begin += SEC;
    EXPECT_EQ(older, victim());
    take(older);
    EXPECT_EQ(none, victim());
    take(none);
    EXPECT_EQ(far, victim());
    take(far);
    EXPECT_EQ(near, victim());
    take(near);
    EXPECT_EQ(NULL, victim());
}

TEST_F(test_victim, use_moves_its_deadline)
{
    region_t *a = idle(0x1000), *b = idle(0x2000), *c = idle(0x3000);

    decide(a, m_now + SEC);
    decide(b, m_now + SEC / 2);
    EXPECT_EQ(c, victim());
    begin(c);
    end(c);
    EXPECT_EQ(c, victim()) << "no next use is expected";
    take(c);
    EXPECT_EQ(a, victim());
    m_now += SEC;
    begin(b); /* Expected again half a second later, and the other one is due */
    end(b);
    EXPECT_EQ(b, victim());
}

TEST_F(test_victim, in_use_when_it_was_looked_at_and_idle_later)
{
    region_t *region = idle(0x1000);

    EXPECT_EQ(region, victim());
    begin(region);
    EXPECT_EQ(NULL, victim());
    EXPECT_EQ(0u, region->extent.rank);
    end(region);
    EXPECT_EQ(region, victim());
}

TEST_F(test_victim, freed_and_made_anew_while_it_is_noted)
{
    region_t *a = idle(0x1000), *b = idle(0x2000);

    take(a);
    ucs_rcache_pred_region_free(&m_table, a);
    EXPECT_EQ(b, victim());

    begin(b);
    end(b);
    take(b);
    ucs_rcache_pred_region_free(&m_table, b);
    region_t *c = idle(0x3000);
    EXPECT_EQ(b, c) << "the test expects the same one back";
    EXPECT_EQ(c, victim());
}

/* A refusal must not look at all regions again that are in use */
TEST_F(test_victim, what_is_in_use_is_looked_at_once)
{
    std::vector<region_t*> regions;
    ucs_rcache_pred_extent_t *found = NULL;
    unsigned steps                  = 0;

    for (uintptr_t i = 0; i < 1000; ++i) {
        regions.push_back(idle(0x100000 + i * PAGE));
    }
    EXPECT_EQ(regions[0], victim());
    for (region_t *region : regions) {
        begin(region);
    }

    while (!ucs_rcache_pred_table_victim(&m_table, NULL, &found)) {
        ASSERT_LT(++steps, regions.size());
    }
    EXPECT_EQ(NULL, found);
    EXPECT_GT(steps, 1u) << "the lock is given to others in between";

    for (unsigned i = 0; i < 10; ++i) {
        EXPECT_TRUE(ucs_rcache_pred_table_victim(&m_table, NULL, &found));
        EXPECT_EQ(NULL, found);
    }
}

TEST_F(test_victim, agrees_with_brute_force)
{
    std::mt19937 random(1);
    std::vector<region_t*> regions;

    for (unsigned i = 0; i < 200; ++i) {
        regions.push_back(make(0x100000 + (random() % 1000) * PAGE));
    }

    for (unsigned i = 0; i < 20000; ++i) {
        unsigned k       = random() % regions.size();
        region_t *region = regions[k];
        bool registered  = (region->extent.state == UCS_RCACHE_PRED_EXTENT_REGISTERED);

        switch (random() % 8) {
        case 0:
            if (registered && (region->refs == 0)) {
                take(region);
            }
            break;
        case 1:
            if (!registered) {
                ucs_rcache_pred_region_free(&m_table, region);
                regions[k] = make(0x100000 + (random() % 1000) * PAGE);
            }
            break;
        case 2:
        case 3:
            if (region->refs > 0) {
                end(region);
            }
            break;
        case 4:
            decide(region, (random() % 4) ? m_now + random() % 100 : NEVER);
            break;
        default:
            if (!registered) {
                set(region);
            }
            begin(region);
            break;
        }

        if (i % 10 == 0) {
            check(victim(), regions);
        }
        ASSERT_FALSE(HasFatalFailure());
    }
}
