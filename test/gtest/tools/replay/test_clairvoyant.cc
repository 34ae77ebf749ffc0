/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>
#include <common/timelines.h>

#include <algorithm>
#include <limits>
#include <random>


/* A program of which pages are said instead of addresses, and costs of whole
 * ns. There is time after its end to deregister, if nothing else is said */
class page_program : public made_program {
public:
    page_program(predreg_cost_t reg_cost = {0, 10},
                 predreg_cost_t dereg_cost = {0, 5}, uint64_t duration = 1000)
    {
        reg   = reg_cost;
        dereg = dereg_cost;
        last_until(duration);
    }

    /* Pages from first to before end */
    page_program &use(uint64_t begin, uint64_t end, uint64_t first_page,
                      uint64_t end_page, unsigned domain = 0)
    {
        made_program::use(begin, end, first_page * PAGE,
                          (end_page - first_page) * PAGE,
                          1 + first_page).domain = domain;
        return *this;
    }

    page_program &unmap(uint64_t time, uint64_t first_page, uint64_t end_page)
    {
        made_program::unmap(time, first_page * PAGE,
                            (end_page - first_page) * PAGE);
        return *this;
    }
};

/* Its replay by clairvoyant, in pages times ns */
class clairvoyant : public replayed {
public:
    explicit clairvoyant(made_program &program) :
        replayed(program.timeline(),
                 replay_params(program.timeline(), PREDREG_REPLAY_CLAIRVOYANT))
    {
    }

    uint64_t page_ns() const { return byte_ns() / PAGE; }
    uint64_t page_ns(predreg_cause_t cause) const
    {
        return byte_ns(cause) / PAGE;
    }
};


/*
 * What was proven in docs/clairvoyant.md, found by trying. Time is discrete, and
 * a bit of a word stands for each instant of a page, from OFFSET before 0 on.
 *
 * A schedule is a set of registrations, each of some pages in a row and for some
 * of the uses, all of whose pages it holds; every use has one. All ways to
 * divide the uses among registrations are tried, with all ranges of pages these
 * could have.
 */
class exhaustive_search {
public:
    static constexpr int      OFFSET    = 24;
    static constexpr unsigned MAX_PAGES = 4;
    static constexpr uint64_t NONE      = std::numeric_limits<uint64_t>::max();

    /* Registrations begin up to this much earlier than they have to, and
     * deregistrations later */
    explicit exhaustive_search(page_program &program, int slack = 0) :
        m_timeline(*program.timeline()), m_slack(slack)
    {
        assign(0);
    }

    /* Page ticks of the best schedule; NONE if there is none without waiting */
    uint64_t best() const { return m_best; }

    /* The same if a page counts for each registration that holds it */
    uint64_t best_by_registration() const { return m_best_sum; }

private:
    struct group {
        std::vector<size_t> uses;
        uint64_t            first, end; /* Pages that all of them together have */
    };

    struct registration {
        uint64_t first, end;
        int64_t  start, stop;
        unsigned mapping[MAX_PAGES]; /* Of each page */
        unsigned domain;
    };

    const predreg_use_t &use(size_t index) const
    {
        return m_timeline.uses[index];
    }

    static uint64_t first_page(const predreg_use_t &use)
    {
        return use.address / PAGE;
    }

    static uint64_t end_page(const predreg_use_t &use)
    {
        return first_page(use) + use.length / PAGE;
    }

    /* Uses from this one on become members of groups */
    void assign(size_t index)
    {
        if (index == m_timeline.num_uses) {
            choose(0);
            return;
        }

        for (size_t i = 0; i < m_groups.size(); ++i) {
            if (use(m_groups[i].uses[0]).domain == use(index).domain) {
                group saved = m_groups[i];
                join(m_groups[i], index);
                assign(index + 1);
                m_groups[i] = saved;
            }
        }

        m_groups.push_back({{}, MAX_PAGES, 0});
        join(m_groups.back(), index);
        assign(index + 1);
        m_groups.pop_back();
    }

    void join(group &members, size_t index)
    {
        members.uses.push_back(index);
        members.first = std::min(members.first, first_page(use(index)));
        members.end   = std::max(members.end, end_page(use(index)));
    }

    /* Groups from this one on get a registration */
    void choose(size_t index)
    {
        if (index == m_groups.size()) {
            evaluate();
            return;
        }

        const group &members = m_groups[index];
        for (uint64_t first = 0; first <= members.first; ++first) {
            for (uint64_t end = members.end; end <= MAX_PAGES; ++end) {
                for (int slack = 0; slack < (m_slack + 1) * (m_slack + 1);
                     ++slack) {
                    try_range(index, first, end, slack % (m_slack + 1),
                              slack / (m_slack + 1));
                }
            }
        }
    }

    void try_range(size_t index, uint64_t first, uint64_t end, int before,
                   int after)
    {
        const group &members = m_groups[index];
        int64_t begin        = use(members.uses.front()).begin;
        int64_t last_begin   = use(members.uses.back()).begin;
        int64_t pages        = end - first;
        registration reg     = {};
        int64_t last_end     = 0;

        for (auto member : members.uses) {
            last_end = std::max<int64_t>(last_end, use(member).end);
        }

        reg.first  = first;
        reg.end    = end;
        reg.domain = use(members.uses[0]).domain;
        reg.start  = begin - before -
                     int64_t(m_timeline.reg.page * pages + m_timeline.reg.op);
        reg.stop   = last_end + after +
                     int64_t(m_timeline.dereg.page * pages +
                             m_timeline.dereg.op);
        for (size_t i = 0; i < m_timeline.num_unmaps; ++i) {
            const predreg_unmap_t &unmap = m_timeline.unmaps[i];
            uint64_t unmap_first         = unmap.start / PAGE;
            uint64_t unmap_end           = unmap.end / PAGE;

            if ((unmap_first >= end) || (unmap_end <= first) ||
                (int64_t(unmap.time) > last_begin)) {
                continue;
            }

            if (reg.start < int64_t(unmap.time)) {
                return; /* Memory that is not there yet, or not any more */
            }

            for (auto page = std::max(first, unmap_first);
                 page < std::min(end, unmap_end); ++page) {
                ++reg.mapping[page];
            }
        }

        m_registrations.push_back(reg);
        choose(index + 1);
        m_registrations.pop_back();
    }

    uint64_t mask(const registration &reg) const
    {
        int from = reg.start + OFFSET;
        int to   = std::min<int64_t>(reg.stop, m_timeline.duration) + OFFSET;

        EXPECT_GE(from, 0);
        EXPECT_LT(to, 64);
        return (to <= from) ? 0 :
               (((uint64_t(1) << to) - 1) & ~((uint64_t(1) << from) - 1));
    }

    void evaluate()
    {
        static constexpr unsigned MAX_MAPPINGS = 4, MAX_DOMAINS = 2;
        uint64_t pinned[MAX_DOMAINS][MAX_PAGES][MAX_MAPPINGS] = {};
        uint64_t sum = 0, count = 0;

        for (const auto &reg : m_registrations) {
            uint64_t bits = mask(reg);

            sum += (reg.end - reg.first) * __builtin_popcountll(bits);
            for (auto page = reg.first; page < reg.end; ++page) {
                pinned[reg.domain][page][reg.mapping[page]] |= bits;
            }
        }

        for (const auto &domain : pinned) {
            for (const auto &page : domain) {
                for (auto bits : page) {
                    count += __builtin_popcountll(bits);
                }
            }
        }

        m_best     = std::min(m_best, count);
        m_best_sum = std::min(m_best_sum, sum);
    }

    const predreg_timeline_t  &m_timeline;
    const int                 m_slack;
    std::vector<group>        m_groups;
    std::vector<registration> m_registrations;
    uint64_t                  m_best     = NONE;
    uint64_t                  m_best_sum = NONE;
};


class test_clairvoyant : public ::testing::Test {
protected:
    typedef std::vector<std::pair<uint64_t, uint64_t>> ranges_t;

    uint64_t random(uint64_t end) { return m_random() % end; }

    /* A small program that uses some of these ranges. Costs are whole ns */
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

TEST_F(test_clairvoyant, nothing)
{
    page_program program;
    clairvoyant result(program);

    EXPECT_EQ(0u, result.page_ns());
    EXPECT_EQ(0u, result->uses);
    EXPECT_EQ(0u, result->regs);
    EXPECT_EQ(0u, result->pinned.num_steps);
    EXPECT_EQ(1000u, result->duration);
}

TEST_F(test_clairvoyant, one_use)
{
    page_program program({2, 10}, {1, 5});
    program.use(100, 200, 7, 10);
    clairvoyant result(program);

    EXPECT_EQ(3 * 100, result.page_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(3 * (3 * 2 + 10), result.page_ns(PREDREG_CAUSE_REG));
    EXPECT_EQ(3 * (3 * 1 + 5), result.page_ns(PREDREG_CAUSE_DEREG));
    EXPECT_EQ(3 * (100 + 16 + 8), result.page_ns());
    EXPECT_EQ(3 * PAGE, result->pinned.peak_bytes);
    EXPECT_EQ(1u, result->uses);
    EXPECT_EQ(1u, result->hits);
    EXPECT_EQ(1u, result->regs);
    EXPECT_EQ(16u + 8u, result->helper);
    EXPECT_EQ(0u, result->waited);
    ASSERT_EQ(1u, result->num_sites);
    EXPECT_EQ(result->pinned.byte_seconds, result->sites[0].byte_seconds);
}

TEST_F(test_clairvoyant, curve)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 0, 1).use(150, 210, 4, 6);
    clairvoyant result(program);

    ASSERT_EQ(4u, result->pinned.num_steps);
    const std::pair<int64_t, uint64_t> steps[] = {
        {90, PAGE}, {140, 3 * PAGE}, {205, 2 * PAGE}, {215, 0}
    };
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(steps[i].first, result->pinned.curve[i].time);
        EXPECT_EQ(steps[i].second, result->pinned.curve[i].bytes);
    }
}

/* The gap in which it does not pay: shorter than both operations, or as long */
TEST_F(test_clairvoyant, short_gap)
{
    for (uint64_t gap : {0, 1, 14, 15, 16, 100}) {
        page_program program({0, 10}, {0, 5});
        program.use(100, 200, 0, 1).use(200 + gap, 300 + gap, 0, 1);
        clairvoyant result(program);

        EXPECT_EQ(200 + 15 + std::min(gap, uint64_t(15)), result.page_ns());
        EXPECT_EQ((gap <= 15) ? gap : 0, result.page_ns(PREDREG_CAUSE_KEPT));
        EXPECT_EQ((gap <= 15) ? 10u : 20u, result.page_ns(PREDREG_CAUSE_REG));
        EXPECT_EQ((gap <= 15) ? 1u : 2u, result->regs);
        EXPECT_EQ((gap <= 15) ? 15u : 30u, result->helper);
    }
}

TEST_F(test_clairvoyant, uses_at_the_same_time)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 300, 0, 1).use(150, 200, 0, 1).use(250, 350, 0, 1);
    clairvoyant result(program);

    EXPECT_EQ(250, result.page_ns(PREDREG_CAUSE_USE));
    EXPECT_EQ(265, result.page_ns());
    EXPECT_EQ(1u, result->regs);
}

/* A long registration begins first, for the later of two uses */
TEST_F(test_clairvoyant, later_use_of_more_pages)
{
    page_program program({10, 0}, {0, 0});
    program.use(100, 101, 0, 1).use(102, 110, 0, 5);
    clairvoyant result(program);

    EXPECT_EQ(5 * (110 - 52), result.page_ns());
    EXPECT_EQ(2u, result->regs);
}

/* And a long deregistration ends last, for the earlier one */
TEST_F(test_clairvoyant, earlier_use_of_more_pages)
{
    page_program program({0, 0}, {10, 0});
    program.use(100, 101, 0, 5).use(102, 110, 0, 1);
    clairvoyant result(program);

    EXPECT_EQ(5 * 51, result.page_ns());
}

TEST_F(test_clairvoyant, before_the_begin_and_after_the_end)
{
    page_program program({0, 10}, {0, 5}, 98);
    program.use(3, 20, 0, 1).use(90, 95, 1, 2);
    clairvoyant result(program);

    EXPECT_EQ((10 + 17 + 5) + (10 + 5 + 3), result.page_ns());
    EXPECT_EQ(-7, result->pinned.curve[0].time);
    EXPECT_EQ(98, result->pinned.curve[result->pinned.num_steps - 1].time);
    EXPECT_EQ(98u, result->duration);
    EXPECT_DOUBLE_EQ(50. * PAGE / (7 + 98), result->pinned_avg_bytes);
}

/* Registered all the time, most of it before the first event */
TEST_F(test_clairvoyant, average_is_not_above_peak)
{
    page_program program({0, 1000}, {0, 5}, 10);
    program.use(0, 10, 0, 1);
    clairvoyant result(program);

    EXPECT_EQ(PAGE, result->pinned.peak_bytes);
    EXPECT_DOUBLE_EQ(PAGE, result->pinned_avg_bytes);
}

TEST_F(test_clairvoyant, domains_are_apart)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 0, 1, 0).use(100, 200, 0, 1, 1);
    clairvoyant result(program);

    EXPECT_EQ(2 * 115, result.page_ns());
    EXPECT_EQ(2u, result->regs);
}

/* Part of a page is a page */
TEST_F(test_clairvoyant, unaligned)
{
    page_program program({0, 10}, {0, 5});
    program.made_program::use(100, 200, PAGE - 1, 2);

    EXPECT_EQ(2 * 115, clairvoyant(program).page_ns());
}

/* Memory is mapped anew: it is other memory, not there before */
TEST_F(test_clairvoyant, unmap)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 0, 2).unmap(202, 0, 2).use(206, 300, 0, 2);
    clairvoyant result(program);

    EXPECT_EQ(2 * (10 + 100 + 5 + 4 + 94 + 5), result.page_ns());
    EXPECT_EQ(2u, result->regs);
}

TEST_F(test_clairvoyant, unmap_of_other_memory)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 1, 2).unmap(202, 0, 1).unmap(203, 2, 10);
    program.use(206, 300, 1, 2).unmap(400, 1, 2);
    clairvoyant result(program);

    EXPECT_EQ(215, result.page_ns());
    EXPECT_EQ(1u, result->regs);
}

/* Of equal times, the unmap comes first */
TEST_F(test_clairvoyant, unmap_at_the_begin_of_a_use)
{
    page_program program({0, 10}, {0, 5});
    program.use(100, 200, 0, 1).unmap(206, 0, 1).use(206, 300, 0, 1);

    EXPECT_EQ(10 + 100 + 5 + 94 + 5, clairvoyant(program).page_ns());
}

/* Only a part is unmapped: no registration holds both uses, but the rest of the
 * pages need not count twice */
TEST_F(test_clairvoyant, unmap_of_a_part)
{
    page_program program({0, 2}, {0, 5});
    program.use(100, 200, 0, 2).unmap(202, 1, 2).use(206, 300, 0, 2);
    clairvoyant result(program);

    EXPECT_EQ((2u + 200 + 5) + (2 + 100 + 5) + (2 + 94 + 5), result.page_ns());
    EXPECT_EQ(2u, result->regs);
}

TEST_F(test_clairvoyant, memory_runs_out)
{
    page_program program;
    program.use(100, 200, 0, 2).unmap(300, 0, 2);
    expect_survives_without_memory(program.timeline(),
                                   PREDREG_REPLAY_CLAIRVOYANT, 8);
}

/* Buffers that share no page and are always used whole: it is the optimum, also
 * if pages count for each registration */
TEST_F(test_clairvoyant, optimum_of_separate_buffers)
{
    for (unsigned i = 0; i < 300; ++i) {
        page_program program = make(1 + random(5), {{0, 1}, {1, 3}, {3, 4}});
        exhaustive_search search(program);

        ASSERT_EQ(search.best(), clairvoyant(program).page_ns()) << i;
        ASSERT_EQ(search.best(), search.best_by_registration()) << i;
    }
}

/* Any pages: it is the optimum if pages count once, and a bound otherwise */
TEST_F(test_clairvoyant, optimum_of_any_ranges)
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

TEST_F(test_clairvoyant, optimum_of_many_uses)
{
    for (unsigned i = 0; i < 8; ++i) {
        page_program program = make(6, all_ranges());

        ASSERT_EQ(exhaustive_search(program).best(),
                  clairvoyant(program).page_ns()) << i;
    }
}

/* That registrations begin and end at the last and first instant is not assumed
 * by the search, either */
TEST_F(test_clairvoyant, no_use_in_slack)
{
    for (unsigned i = 0; i < 100; ++i) {
        page_program program = make(1 + random(3), all_ranges());

        ASSERT_EQ(exhaustive_search(program, 2).best(),
                  clairvoyant(program).page_ns()) << i;
    }
}

TEST_F(test_clairvoyant, optimum_with_unmaps)
{
    unsigned num_possible = 0;

    for (unsigned i = 0; i < 600; ++i) {
        page_program program = make(1 + random(4), all_ranges(), 1,
                                       1 + random(3));
        exhaustive_search search(program);

        if (search.best() == exhaustive_search::NONE) {
            continue; /* Somebody has to wait */
        }

        ASSERT_EQ(search.best(), clairvoyant(program).page_ns()) << i;
        ++num_possible;
    }
    EXPECT_GT(num_possible, 100u);
}

/* A program that waits has not less registered: the lemma for policies that let
 * uses wait */
TEST_F(test_clairvoyant, waiting_does_not_help)
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
