/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

extern "C" {
#include <ucp/firehose/memory/mapping.h>
}

/* Pages of 4 KB, numbered from 1000 on, of which 8 are exposed */
class test_fh_mapping : public ::testing::Test {
protected:
    static constexpr unsigned SHIFT = 12;
    static constexpr uint64_t BASE  = 1000ull << SHIFT;
    using range_t                   = std::pair<uint64_t, uint64_t>;

    void SetUp() override
    {
        ASSERT_EQ(UCS_OK, ucp_fh_mapping_init(&m_mapping, page(0) + 10,
                                              page(8) - 10, SHIFT));
    }

    void TearDown() override
    {
        ucp_fh_mapping_cleanup(&m_mapping);
    }

    static uint64_t page(uint64_t number)
    {
        return BASE + (number << SHIFT);
    }

    int has(uint64_t from, uint64_t to, uint64_t *next)
    {
        uint64_t end = page(to);
        int ret      = ucp_fh_mapping_first(&m_mapping, page(from), &end,
                                            ucp_fh_page_is_watched);

        *next = (end - BASE) >> SHIFT;
        return ret;
    }

    int keeps(uint64_t from, uint64_t to, uint64_t *next)
    {
        uint64_t end = page(to);
        int ret      = ucp_fh_mapping_first(&m_mapping, page(from), &end,
                                            ucp_fh_page_is_kept);

        *next = (end - BASE) >> SHIFT;
        return ret;
    }

    int keep(uint64_t from, uint64_t to)
    {
        return ucp_fh_mapping_unmap(&m_mapping, page(from), page(to), 1);
    }

    int replace(uint64_t from, uint64_t to)
    {
        return ucp_fh_mapping_unmap(&m_mapping, page(from), page(to), 0);
    }

    /* Numbers of pages; both 0: there is nothing */
    range_t next()
    {
        uint64_t start, end;

        return ucp_fh_mapping_next(&m_mapping, &start, &end) ?
                       range_t((start - BASE) >> SHIFT, (end - BASE) >> SHIFT) :
                       range_t(0, 0);
    }

    range_t take()
    {
        range_t range = next();

        ucp_fh_mapping_take(&m_mapping, page(range.first), page(range.second));
        return range;
    }

    range_t release(uint64_t from, uint64_t to)
    {
        uint64_t start = page(from);
        uint64_t end   = page(to);

        return ucp_fh_mapping_release(&m_mapping, &start, &end) ?
                       range_t((start - BASE) >> SHIFT, (end - BASE) >> SHIFT) :
                       range_t(0, 0);
    }

    void released(uint64_t from, uint64_t to)
    {
        ucp_fh_mapping_released(&m_mapping, page(from), page(to));
    }

    int is_kept(uint64_t from, uint64_t to)
    {
        return ucp_fh_mapping_any(&m_mapping, page(from), page(to),
                                  ucp_fh_page_is_kept);
    }

    ucp_fh_mapping_t m_mapping;
};

TEST_F(test_fh_mapping, is_of_whole_pages)
{
    EXPECT_EQ(page(0), m_mapping.start);
    EXPECT_EQ(page(8), m_mapping.end);
}

TEST_F(test_fh_mapping, has_what_is_exposed)
{
    uint64_t next;

    EXPECT_TRUE(has(2, 4, &next));
    EXPECT_EQ(4u, next);
    EXPECT_TRUE(has(2, 12, &next));
    EXPECT_EQ(8u, next);
    EXPECT_FALSE(has(8, 12, &next));
    EXPECT_EQ(12u, next);
}

TEST_F(test_fh_mapping, has_nothing_before_its_start)
{
    uint64_t end = page(3);

    EXPECT_FALSE(ucp_fh_mapping_first(&m_mapping, page(0) - 8192, &end,
                                      ucp_fh_page_is_watched));
    EXPECT_EQ(page(0), end);
    end = page(0) - 4096;
    EXPECT_FALSE(ucp_fh_mapping_first(&m_mapping, page(0) - 8192, &end,
                                      ucp_fh_page_is_watched));
    EXPECT_EQ(page(0) - 4096, end);
}

TEST_F(test_fh_mapping, keeps_until_it_is_released)
{
    uint64_t next_page;

    EXPECT_EQ(range_t(0, 0), next());
    EXPECT_TRUE(keep(2, 5));
    EXPECT_FALSE(keep(2, 5));
    EXPECT_TRUE(has(2, 5, &next_page));
    EXPECT_EQ(range_t(2, 5), take());
    EXPECT_EQ(range_t(0, 0), next());
    EXPECT_TRUE(has(2, 5, &next_page)); /* It is mapped still */

    EXPECT_EQ(range_t(2, 5), release(0, 8));
    EXPECT_TRUE(ucp_fh_mapping_any(&m_mapping, page(4), page(6),
                                    ucp_fh_page_is_releasing));
    EXPECT_FALSE(ucp_fh_mapping_any(&m_mapping, page(5), page(6),
                                    ucp_fh_page_is_releasing));
    EXPECT_EQ(range_t(0, 0), release(0, 8)); /* Another thread has it */
    EXPECT_TRUE(is_kept(0, 8));
    released(2, 5);
    EXPECT_FALSE(is_kept(0, 8));
    EXPECT_FALSE(ucp_fh_mapping_any(&m_mapping, page(0), page(8),
                                    ucp_fh_page_is_releasing));

    /* What the program maps there afterwards is its own */
    EXPECT_FALSE(has(2, 8, &next_page));
    EXPECT_EQ(5u, next_page);
    EXPECT_FALSE(keep(2, 5));
    EXPECT_EQ(range_t(0, 0), next());
}

TEST_F(test_fh_mapping, tells_what_it_keeps_from_what_is_exposed)
{
    uint64_t next;

    EXPECT_TRUE(keep(2, 5));
    EXPECT_FALSE(keeps(0, 8, &next));
    EXPECT_EQ(2u, next);
    EXPECT_TRUE(keeps(2, 8, &next));
    EXPECT_EQ(5u, next);
    EXPECT_TRUE(keeps(3, 4, &next));
    EXPECT_EQ(4u, next);
    EXPECT_FALSE(keeps(5, 12, &next));
    EXPECT_EQ(8u, next);
    EXPECT_FALSE(keeps(8, 12, &next));
    EXPECT_EQ(12u, next);
}

TEST_F(test_fh_mapping, releases_only_what_was_withdrawn)
{
    keep(0, 2);
    take();
    keep(4, 6);
    EXPECT_EQ(range_t(0, 2), release(0, 2));
    released(0, 2);
    EXPECT_EQ(range_t(4, 6), next());
    EXPECT_TRUE(is_kept(4, 6));
}

TEST_F(test_fh_mapping, what_is_replaced_is_not_kept)
{
    uint64_t next_page;

    EXPECT_TRUE(replace(1, 3));
    EXPECT_EQ(range_t(1, 3), take());
    EXPECT_FALSE(has(1, 3, &next_page));
    EXPECT_EQ(range_t(0, 0), release(0, 8));
}

TEST_F(test_fh_mapping, what_was_kept_can_be_replaced)
{
    keep(0, 4);
    EXPECT_FALSE(replace(1, 2)); /* To be taken it was before */
    take();
    EXPECT_FALSE(replace(2, 3));
    EXPECT_EQ(range_t(0, 1), release(0, 8));
    EXPECT_EQ(range_t(3, 4), release(0, 8));
    EXPECT_EQ(range_t(0, 0), release(0, 8));
}

TEST_F(test_fh_mapping, finds_all_of_several)
{
    keep(6, 7);
    replace(1, 2);
    keep(2, 3);
    EXPECT_EQ(range_t(1, 3), take());
    EXPECT_EQ(range_t(6, 7), take());
    keep(0, 1);
    EXPECT_EQ(range_t(0, 1), take());
    EXPECT_EQ(range_t(0, 0), take());
}

/* A page is not forgotten, and not unmapped twice or while it is the program's */
TEST_F(test_fh_mapping, random_steps)
{
    enum state_t { EXPOSED, KEPT, REPLACED, GONE };
    std::map<uint64_t, state_t> model;
    std::map<uint64_t, bool> taken;
    std::mt19937 random(1);

    for (unsigned i = 0; i < 8; ++i) {
        model[i] = EXPOSED;
    }

    for (unsigned step = 0; step < 2000; ++step) {
        uint64_t from = random() % 8;
        uint64_t to   = from + 1 + (random() % (8 - from));
        range_t range;

        switch (random() % 8) {
        case 0:
            keep(from, to);
            for (uint64_t i = from; i < to; ++i) {
                model[i] = (model[i] == EXPOSED) ? KEPT : model[i];
            }
            break;
        case 1:
            replace(from, to);
            for (uint64_t i = from; i < to; ++i) {
                model[i] = (model[i] == GONE) ? GONE : REPLACED;
            }
            break;
        case 2:
            range = take();
            for (uint64_t i = range.first; i < range.second; ++i) {
                ASSERT_NE(EXPOSED, model[i]);
                ASSERT_FALSE(taken[i]);
                taken[i] = true;
            }
            break;
        case 3:
            range = release(from, to);
            for (uint64_t i = range.first; i < range.second; ++i) {
                ASSERT_EQ(KEPT, model[i]);
                model[i] = GONE;
                taken[i] = true;
            }
            released(range.first, range.second);
            break;
        case 4:
            if (step % 50 == 0) { /* A new one */
                TearDown();
                SetUp();
                model.clear();
                taken.clear();
                for (unsigned i = 0; i < 8; ++i) {
                    model[i] = EXPOSED;
                }
            }
            break;
        default:
            break;
        }

        for (unsigned i = 0; i < 8; ++i) {
            uint64_t end;

            ASSERT_EQ((model[i] == EXPOSED) || (model[i] == KEPT),
                      has(i, i + 1, &end));
            ASSERT_EQ(model[i] == KEPT, is_kept(i, i + 1));
        }
    }
}
