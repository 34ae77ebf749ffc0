/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_PAGE_PROGRAM_H_
#define PREDREG_GTEST_PAGE_PROGRAM_H_

#include <common/library.h>
#include <common/timelines.h>


/* A program whose uses are given by pages instead of addresses. Costs are whole
 * ns. By default it lasts long enough to deregister after its last use. */
class page_program : public made_program {
public:
    page_program(predreg_cost_t reg_cost = {0, 10},
                 predreg_cost_t dereg_cost = {0, 5}, uint64_t duration = 1000)
    {
        reg   = reg_cost;
        dereg = dereg_cost;
        last_until(duration);
    }

    /* A use of the pages from first_page to end_page - 1 */
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

/* The replay of a program by clairvoyant, with results in pages times ns */
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

#endif
