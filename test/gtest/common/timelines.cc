/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "timelines.h"
#include "no_memory.h"

extern "C" {
#include "c_access.h"
}

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>


made_program::made_program() :
    reg{0, 0}, dereg{0, 0}, m_duration(0), m_timeline{}
{
}

predreg_use_t &made_program::use(uint64_t begin, uint64_t end, uint64_t address,
                                 uint64_t length, uint64_t caller,
                                 uint64_t window)
{
    predreg_use_t use = {};

    use.begin   = begin;
    use.end     = end;
    use.address = address;
    use.length  = length;
    use.context = {caller, 0, window};
    last_until(end);
    m_uses.push_back(use);
    return m_uses.back();
}

void made_program::unmap(uint64_t time, uint64_t start, uint64_t length)
{
    last_until(time);
    m_unmaps.push_back({time, start, start + length});
}

void made_program::map(uint64_t time, uint64_t start, uint64_t length)
{
    last_until(time);
    m_maps.push_back({time, start, start + length});
}

void made_program::last_until(uint64_t time)
{
    m_duration = std::max(m_duration, time);
}

const predreg_timeline_t *made_program::timeline()
{
    m_timeline = {};
    std::stable_sort(m_uses.begin(), m_uses.end(),
                     [](const predreg_use_t &a, const predreg_use_t &b) {
                         return a.begin < b.begin;
                     });
    std::stable_sort(m_unmaps.begin(), m_unmaps.end(),
                     [](const predreg_unmap_t &a, const predreg_unmap_t &b) {
                         return a.time < b.time;
                     });

    std::stable_sort(m_maps.begin(), m_maps.end(),
                     [](const predreg_map_t &a, const predreg_map_t &b) {
                         return a.time < b.time;
                     });

    m_timeline.num_domains = 1;
    for (const predreg_use_t &use : m_uses) {
        m_timeline.num_domains = std::max(m_timeline.num_domains,
                                          use.domain + 1u);
    }
    m_timeline.uses       = m_uses.data();
    m_timeline.num_uses   = m_uses.size();
    m_timeline.unmaps     = m_unmaps.data();
    m_timeline.num_unmaps = m_unmaps.size();
    m_timeline.maps       = m_maps.data();
    m_timeline.num_maps   = m_maps.size();
    m_timeline.duration   = m_duration;
    m_timeline.reg        = reg;
    m_timeline.dereg      = dereg;
    m_timeline.reg_known  = m_timeline.dereg_known = 1;
    return &m_timeline;
}

made_program made_program::periodic(unsigned iterations, uint64_t period,
                                    uint64_t duration, uint64_t length)
{
    made_program program;

    for (unsigned i = 0; i < iterations; ++i) {
        program.use(i * period, i * period + duration, buffer(0), length);
    }
    program.last_until(iterations * period);
    return program;
}

made_program made_program::two_buffers(unsigned iterations, uint64_t period,
                                       uint64_t length)
{
    made_program program;
    uint64_t begin;

    for (unsigned i = 0; i < iterations; ++i) {
        for (unsigned which = 0; which < 2; ++which) {
            begin = i * period + which * period / 2;
            program.use(begin, begin + period / 8, buffer(which), length,
                        1 + which, buffer(1 - which));
        }
    }
    program.last_until(iterations * period);
    return program;
}

made_program made_program::nested(unsigned outer, unsigned inner,
                                  uint64_t inner_period, uint64_t outer_period,
                                  uint64_t length)
{
    made_program program;
    uint64_t begin;

    for (unsigned i = 0; i < outer; ++i) {
        for (unsigned j = 0; j < inner; ++j) {
            begin = i * outer_period + j * inner_period;
            program.use(begin, begin + inner_period / 8, buffer(0), length, 1,
                        std::min(j, 2u));
        }
        begin = i * outer_period + inner * inner_period;
        program.use(begin, begin + inner_period / 8, buffer(1), length, 2);
    }
    program.last_until(outer * outer_period);
    return program;
}

made_program made_program::drift(unsigned iterations, uint64_t period,
                                 unsigned per_mille, uint64_t length)
{
    made_program program;
    uint64_t begin = 0;

    for (unsigned i = 0; i < iterations; ++i) {
        program.use(begin, begin + period / 8, buffer(0), length);
        begin  += period;
        period += period * per_mille / 1000;
    }
    program.last_until(begin);
    return program;
}

made_program made_program::random(unsigned seed, unsigned num_uses)
{
    std::mt19937_64 generator(seed);
    made_program program;
    uint64_t time = 0;

    /* std::uniform_int_distribution is not the same in all C++ libraries */
    auto below = [&generator](uint64_t limit) { return generator() % limit; };

    program.reg   = {(double)below(100), (double)below(20000)};
    program.dereg = {(double)below(50), (double)below(10000)};
    for (unsigned i = 0; i < num_uses; ++i) {
        unsigned index      = below(6);
        uint64_t offset     = below(4) * 3000;
        uint64_t duration   = below(4) ? below(2 * MSEC) : 0;
        predreg_use_t &use  = program.use(time, time + duration,
                                          buffer(index) + offset,
                                          1 + below(1 + (1ul << below(24))),
                                          below(4), below(3));
        use.context.stack   = below(2);
        use.domain          = (index == 5) ? below(3) : 0;
        use.kind            = below(4) ? (unsigned)UCS_RCACHE_PRED_USE_WHOLE :
                                         below(UCS_RCACHE_PRED_USE_LAST);
        use.flags           = 0x360;
        time               += below(3) ? MSEC : below(5 * MSEC);
        if (below(20) == 0) {
            program.unmap(time, buffer(below(6)) + below(64) * PAGE,
                          (1 + below(64)) * PAGE);
        }
    }
    return program;
}

replayed::replayed(const predreg_timeline_t *timeline,
                   const predreg_replay_params_t &params) :
    replayed([timeline, &params](predreg_replay_result_t *result) {
        return predreg_replay(timeline, &params, result);
    })
{
}

replayed::replayed(
        const std::function<ucs_status_t(predreg_replay_result_t*)> &play) :
    m_result{}
{
    m_status = play(&m_result);
    EXPECT_EQ(UCS_OK, m_status);
}

replayed::~replayed()
{
    if (m_status == UCS_OK) {
        predreg_replay_result_cleanup(&m_result);
    }
}

replayed::curve_t replayed::curve() const
{
    curve_t curve;

    for (size_t i = 0; i < m_result.pinned.num_steps; ++i) {
        curve.emplace_back(m_result.pinned.curve[i].time,
                           m_result.pinned.curve[i].bytes);
    }
    return curve;
}

uint64_t replayed::byte_ns(predreg_cause_t cause) const
{
    return std::llround(m_result.pinned.by_cause[cause] * 1e9);
}

uint64_t replayed::byte_ns() const
{
    return std::llround(m_result.pinned.byte_seconds * 1e9);
}

std::string replayed::text() const
{
    const predreg_replay_result_t &r = m_result;
    std::string text;
    char line[256];

    auto add = [&text, &line](int) { text += line; };

    add(snprintf(line, sizeof(line), "%a %a %lu %lu %lu %lu %lu %lu %lu %lu "
                 "%lu %lu %lu %lu\n", r.pinned.byte_seconds, r.pinned_avg_bytes,
                 r.pinned.peak_bytes, r.bound_bytes, r.bound_regions, r.uses, r.hits,
                 r.late, r.early, r.wasted, r.refused, r.regs, r.waited,
                 r.helper));
    for (double byte_seconds : r.pinned.by_cause) {
        add(snprintf(line, sizeof(line), "%a ", byte_seconds));
    }
    for (uint64_t errors : r.prediction_errors) {
        add(snprintf(line, sizeof(line), "%lu ", errors));
    }
    for (unsigned i = 0; i < r.num_sites; ++i) {
        const predreg_replay_site_t &s = r.sites[i];
        add(snprintf(line, sizeof(line), "\n%lx %lx %lu %lu %lu %lu %a",
                     s.caller, s.stack, s.uses, s.hits, s.late, s.waited,
                     s.byte_seconds));
    }
    for (const auto &step : curve()) {
        add(snprintf(line, sizeof(line), "\n%ld %lu", step.first, step.second));
    }
    return text + "\n";
}

predreg_replay_params_t replay_params(const predreg_timeline_t *timeline,
                                      predreg_replay_policy_t policy,
                                      uint64_t limit)
{
    predreg_replay_params_t params;

    predreg_replay_params_default(timeline, policy, &params);
    params.limit  = limit;
    params.wakeup = 0;
    return params;
}

void expect_ends_without_memory(const predreg_timeline_t *timeline,
                                predreg_replay_policy_t policy,
                                unsigned min_allocations)
{
    predreg_replay_params_t params = replay_params(timeline, policy);
    unsigned count                 = end_without_memory([&]() {
        predreg_replay_result_t result;

        /* A use that the cache has no memory for goes on in pieces, which is no
         * error. With other policies the tests have no such use */
        return (predreg_replay(timeline, &params, &result) == UCS_OK) &&
               (policy == PREDREG_REPLAY_ARENA);
    });

    EXPECT_GE(count, min_allocations);
}
