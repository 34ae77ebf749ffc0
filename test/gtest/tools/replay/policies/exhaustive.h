/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_EXHAUSTIVE_H_
#define PREDREG_GTEST_EXHAUSTIVE_H_

#include "page_program.h"

#include <algorithm>
#include <limits>
#include <vector>


/* This finds by trying what docs/clairvoyant.md proves: the best schedule of
 * registrations. A schedule is a set of registrations. Each is of some pages in
 * a row and for some of the uses, all of whose pages it holds; every use has
 * one. The search tries all ways to divide the uses among registrations, with
 * all ranges of pages that these could have. Time is discrete: each bit of a
 * word stands for an instant at which a page is registered, from OFFSET before
 * 0 on. */
class exhaustive_search {
public:
    static constexpr int      OFFSET    = 24;
    static constexpr unsigned MAX_PAGES = 4;
    static constexpr uint64_t NONE      = std::numeric_limits<uint64_t>::max();

    /* With slack, registrations also begin up to so much earlier than they have
     * to, and deregistrations later */
    explicit exhaustive_search(page_program &program, int slack = 0) :
        m_timeline(*program.timeline()), m_slack(slack)
    {
        assign(0);
    }

    /* Pages times instants of the best schedule; NONE if in every schedule a
     * use has to wait */
    uint64_t best() const { return m_best; }

    /* The same, if a page counts once for each registration that holds it */
    uint64_t best_by_registration() const { return m_best_sum; }

private:
    struct group {
        std::vector<size_t> uses;
        /* The range of pages that holds those of all uses */
        uint64_t            first, end;
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

    /* Divide the uses from this one on among the groups in every way */
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

    /* Give each of the groups from this one on a registration in every way */
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
                return; /* The memory is not there yet, or not any more */
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

#endif
