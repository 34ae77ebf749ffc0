/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/timelines.h>

#include <gtest/gtest.h>

extern "C" {
#include "../../periodicity/overlap.h"
}

#include <random>

class test_overlap : public ::testing::Test {
protected:
    void TearDown() override { predreg_overlap_cleanup(&m_overlap); }

    void use(uint64_t address, uint64_t length, unsigned domain = 0)
    {
        m_program.use(0, 1, address, length).domain = domain;
    }

    void init()
    {
        ASSERT_EQ(UCS_OK, predreg_overlap_init(&m_overlap,
                                               m_program.timeline()));
    }

    std::vector<size_t> found(uint64_t start, uint64_t end) const
    {
        std::vector<size_t> found;

        for (size_t i = predreg_overlap_next(&m_overlap, 0, start, end);
             i != PREDREG_OVERLAP_NONE;
             i = predreg_overlap_next(&m_overlap, i + 1, start, end)) {
            found.push_back(i);
        }
        return found;
    }

    made_program      m_program;
    predreg_overlap_t m_overlap = {};
};

typedef std::vector<size_t> numbers;

TEST_F(test_overlap, no_buffer)
{
    init();
    EXPECT_EQ(0u, m_overlap.num_buffers);
    EXPECT_EQ(numbers(), found(0, UINT64_MAX));
}

TEST_F(test_overlap, each_buffer_of_a_domain_once)
{
    use(200, 10);
    use(100, 10);
    use(200, 10);
    use(200, 10, 1);
    use(200, 20);
    init();
    ASSERT_EQ(4u, m_overlap.num_buffers);

    const predreg_timeline_t *timeline = m_program.timeline();
    numbers places;
    for (size_t i = 0; i < timeline->num_uses; ++i) {
        places.push_back(predreg_overlap_find(&m_overlap, &timeline->uses[i]));
    }
    EXPECT_EQ(numbers({1, 0, 1, 2, 3}), places);
}

TEST_F(test_overlap, touching_is_not_overlapping)
{
    use(100, 10);
    use(110, 10);
    init();
    predreg_overlap_set(&m_overlap, 0, 1);
    predreg_overlap_set(&m_overlap, 1, 1);
    EXPECT_EQ(numbers({0}), found(109, 110));
    EXPECT_EQ(numbers({1}), found(110, 111));
    EXPECT_EQ(numbers({0, 1}), found(109, 111));
    EXPECT_EQ(numbers(), found(120, 130));
    EXPECT_EQ(numbers(), found(0, 100));
}

/* The same as if all buffers were looked at */
TEST_F(test_overlap, random)
{
    std::minstd_rand random(1);

    for (unsigned i = 0; i < 100; ++i) {
        use(1000 + random() % 500, 1 + random() % 60);
    }
    init();
    std::vector<bool> is_on(m_overlap.num_buffers);
    for (unsigned step = 0; step < 5000; ++step) {
        size_t buffer = random() % is_on.size();
        uint64_t from = 990 + random() % 600;
        uint64_t to   = from + 1 + random() % 50;
        numbers expected;

        is_on[buffer] = random() % 2;
        predreg_overlap_set(&m_overlap, buffer, is_on[buffer]);
        for (size_t i = 0; i < is_on.size(); ++i) {
            if (is_on[i] && (m_overlap.buffers[i].start < to) &&
                (m_overlap.buffers[i].end > from)) {
                expected.push_back(i);
            }
        }
        ASSERT_EQ(expected, found(from, to)) << "step " << step;
    }
}
