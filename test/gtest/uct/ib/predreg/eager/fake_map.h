/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FAKE_MAP_H_
#define PREDREG_GTEST_FAKE_MAP_H_

#include <uct/ib/predreg/eager/measure.h>

#include <ucs/base/align.h>

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

/*
 * Registrations that take as long as a test says, by a clock that only they and
 * the looks at it move.
 */
class fake_map {
public:
    fake_map()
    {
        s_now         = 1000;
        params        = {};
        params.map    = map;
        params.unmap  = unmap;
        params.arg    = this;
        params.now    = now;
    }

    static size_t page()
    {
        return ucs_page_size();
    }

    /* Nanoseconds */
    uint64_t call      = 0;
    uint64_t page_cost = 0;
    /* Of the first time */
    uint64_t first     = 0;
    /* The how-manieth call fails; 0: none */
    unsigned fails_at  = 0;
    /* Of each number of pages, how long each one takes; else call and page */
    std::map<unsigned, uint64_t> times;

    unsigned num_mapped   = 0;
    unsigned num_unmapped = 0;
    std::vector<std::pair<char*, size_t>> ranges;

    uct_predreg_measure_params_t params;

    static uint64_t s_now;

private:
    static uint64_t now()
    {
        return s_now += 20;
    }

    static ucs_status_t map(void *arg, void *address, size_t length,
                            void **handle_p)
    {
        auto self      = static_cast<fake_map*>(arg);
        unsigned pages = length / page();

        if (++self->num_mapped == self->fails_at) {
            return UCS_ERR_IO_ERROR;
        }

        memset(address, 2, length); /* It is there */
        self->ranges.emplace_back(static_cast<char*>(address), length);
        s_now    += self->times.count(pages) ? self->times[pages] :
                    (self->call + (pages * self->page_cost));
        s_now    += (self->num_mapped == 1) ? self->first : 0;
        *handle_p = address;
        return UCS_OK;
    }

    static void unmap(void *arg, void *handle)
    {
        auto self = static_cast<fake_map*>(arg);

        EXPECT_EQ(self->ranges.back().first, handle);
        ++self->num_unmapped;
    }
};

inline uint64_t fake_map::s_now;

#endif
