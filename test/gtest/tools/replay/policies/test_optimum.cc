/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "exhaustive.h"

#include <random>


/* Clairvoyant on random programs against the best of all schedules */
class test_optimum : public ::testing::Test {
protected:
    typedef std::vector<std::pair<uint64_t, uint64_t>> ranges_t;

    uint64_t random(uint64_t end) { return m_random() % end; }

    /* A small random program that uses some of these ranges. Costs are whole
     * ns. */
    page_program make(size_t num_uses, const ranges_t &ranges,
                      unsigned num_domains = 1, unsigned num_unmaps = 0)
    {
        page_program program({double(random(3)), double(random(4))},
                             {double(random(3)), double(random(3))}, 32);

        while (num_uses-- > 0) {
            auto &range    = ranges[random(ranges.size())];
            uint64_t begin = random(26);
            program.use(begin, begin + random(7), range.first, range.second,
                        random(num_domains));
        }
        while (num_unmaps-- > 0) {
            uint64_t first = random(exhaustive_search::MAX_PAGES);
            program.unmap(random(26), first,
                          first + 1 +
                          random(exhaustive_search::MAX_PAGES - first));
        }
        return program;
    }

    static ranges_t all_ranges()
    {
        ranges_t ranges;

        for (unsigned first = 0; first < exhaustive_search::MAX_PAGES;
             ++first) {
            for (unsigned end = first + 1; end <= exhaustive_search::MAX_PAGES;
                 ++end) {
                ranges.push_back({first, end});
            }
        }
        return ranges;
    }

    std::mt19937 m_random{1};
};

/* For buffers that share no page and are always used as a whole, clairvoyant is
 * the optimum, also if a page counts once for each registration */
TEST_F(test_optimum, optimum_of_separate_buffers)
{
    for (unsigned i = 0; i < 300; ++i) {
        page_program program = make(1 + random(5), {{0, 1}, {1, 3}, {3, 4}});
        exhaustive_search search(program);

        ASSERT_EQ(search.best(), clairvoyant(program).page_ns()) << i;
        ASSERT_EQ(search.best(), search.best_by_registration()) << i;
    }
}

/* For uses of any pages, clairvoyant is the optimum if a page counts once, and
 * otherwise a lower bound */
TEST_F(test_optimum, optimum_of_any_ranges)
{
    unsigned num_less = 0;

    for (unsigned i = 0; i < 300; ++i) {
        page_program program = make(1 + random(5), all_ranges(),
                                       1 + random(2));
        exhaustive_search search(program);

        ASSERT_EQ(search.best(), clairvoyant(program).page_ns()) << i;
        ASSERT_LE(search.best(), search.best_by_registration()) << i;
        num_less += search.best() < search.best_by_registration();
    }
    EXPECT_GT(num_less, 0u);
}

TEST_F(test_optimum, optimum_of_many_uses)
{
    for (unsigned i = 0; i < 8; ++i) {
        page_program program = make(6, all_ranges());

        ASSERT_EQ(exhaustive_search(program).best(),
                  clairvoyant(program).page_ns()) << i;
    }
}

/* Here the search does not assume that registrations begin as late and end as
 * early as they can */
TEST_F(test_optimum, no_use_in_slack)
{
    for (unsigned i = 0; i < 100; ++i) {
        page_program program = make(1 + random(3), all_ranges());

        ASSERT_EQ(exhaustive_search(program, 2).best(),
                  clairvoyant(program).page_ns()) << i;
    }
}

TEST_F(test_optimum, optimum_with_unmaps)
{
    unsigned num_possible = 0;

    for (unsigned i = 0; i < 600; ++i) {
        page_program program = make(1 + random(4), all_ranges(), 1,
                                       1 + random(3));
        exhaustive_search search(program);

        if (search.best() == exhaustive_search::NONE) {
            continue; /* In every schedule a use has to wait */
        }

        ASSERT_EQ(search.best(), clairvoyant(program).page_ns()) << i;
        ++num_possible;
    }
    EXPECT_GT(num_possible, 100u);
}

/* The lemma for policies that let uses wait: a program that waits does not have
 * less registered */
TEST_F(test_optimum, waiting_does_not_help)
{
    for (unsigned i = 0; i < 20000; ++i) {
        page_program program = make(1 + random(6), all_ranges(), 1,
                                       random(3));
        uint64_t time           = random(30);
        uint64_t wait           = 1 + random(8);
        page_program waiting(program.reg, program.dereg,
                             program.timeline()->duration + wait);

        for (size_t j = 0; j < program.timeline()->num_uses; ++j) {
            const predreg_use_t &use = program.timeline()->uses[j];
            waiting.made_program::use(
                    use.begin + ((use.begin >= time) ? wait : 0),
                    use.end + ((use.end >= time) ? wait : 0), use.address,
                    use.length);
        }
        for (size_t j = 0; j < program.timeline()->num_unmaps; ++j) {
            const predreg_unmap_t &unmap = program.timeline()->unmaps[j];
            waiting.made_program::unmap(
                    unmap.time + ((unmap.time >= time) ? wait : 0),
                    unmap.start, unmap.end - unmap.start);
        }

        ASSERT_GE(clairvoyant(waiting).page_ns(),
                  clairvoyant(program).page_ns()) << i;
    }
}
