/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>


/* How many regions are remembered */
class test_forgotten : public ::testing::Test {
protected:
    static constexpr unsigned FIRST = UCS_RCACHE_PRED_FIRST_REGIONS;

    ~test_forgotten() { cleanup(); }

    void cleanup()
    {
        if (m_made) {
            ucs_rcache_pred_forgotten_cleanup(&m_forgotten);
        }
        m_made = false;
    }

    void init(unsigned bound)
    {
        cleanup();
        ASSERT_EQ(UCS_OK, ucs_rcache_pred_forgotten_init(&m_forgotten, bound));
        m_made = true;
    }

    void add(uintptr_t start)
    {
        ucs_rcache_pred_forgotten_add(&m_forgotten, start);
    }

    int comes_back(uintptr_t start)
    {
        return ucs_rcache_pred_forgotten_return(&m_forgotten, start);
    }

    ucs_rcache_pred_forgotten_t m_forgotten;
    bool                        m_made = false;
};

TEST_F(test_forgotten, what_was_not_forgotten_changes_nothing)
{
    init(1 << 20);
    for (uintptr_t start = 0; start < 100 * MB; start += 64 * KB) {
        EXPECT_EQ(0, comes_back(start));
    }
    EXPECT_EQ(FIRST, m_forgotten.limit);
}

TEST_F(test_forgotten, limit_follows_those_that_come_back)
{
    init(1 << 20);
    add(64 * KB);
    EXPECT_EQ(0, comes_back(128 * KB));
    EXPECT_EQ(FIRST, m_forgotten.limit);
    EXPECT_EQ(0, comes_back(64 * KB));
    EXPECT_EQ(FIRST + 2, m_forgotten.limit);
    EXPECT_EQ(0, comes_back(64 * KB)) << "once for each time";
    EXPECT_EQ(FIRST + 2, m_forgotten.limit);
}

/* Before as many have come back as there are, all of them are remembered */
TEST_F(test_forgotten, program_with_many_buffers)
{
    static constexpr unsigned NUM = 100000;
    unsigned i;

    init(1 << 17);
    for (i = 0; i < NUM; ++i) {
        add(i * 64 * KB);
    }
    for (i = 0; (i < NUM) && (m_forgotten.limit < NUM); ++i) {
        EXPECT_EQ(0, comes_back(i * 64 * KB));
    }
    EXPECT_LT(i, NUM * 3 / 4);
}

TEST_F(test_forgotten, bound_is_kept_and_told)
{
    for (unsigned bound : {1u, 16u, FIRST, FIRST + 1, FIRST + 2}) {
        init(bound);
        for (unsigned i = 0; i < 10; ++i) {
            bool at_bound = (m_forgotten.limit == bound);

            add(MB);
            EXPECT_EQ(at_bound, comes_back(MB)) << bound;
            EXPECT_LE(m_forgotten.limit, bound);
        }
        EXPECT_EQ(bound, m_forgotten.limit);
    }
}
