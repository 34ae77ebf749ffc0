/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_TIMELINES_H_
#define PREDREG_GTEST_TIMELINES_H_

#include <tools/replay/replay.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

/* A program that a test makes up use by use */
class made_program {
public:
    static constexpr uint64_t USEC = 1000;
    static constexpr uint64_t MSEC = 1000 * USEC;
    static constexpr uint64_t SEC  = 1000 * MSEC;
    static constexpr uint64_t PAGE = 4096;
    static constexpr uint64_t MB   = 1024 * 1024;

    made_program();

    static uint64_t buffer(unsigned index)
    {
        return 0x100000000ul + index * 1024 * MB;
    }

    /* Begins may be given in any order */
    predreg_use_t &use(uint64_t begin, uint64_t end, uint64_t address,
                       uint64_t length, uint64_t caller = 1,
                       uint64_t window = 0);
    void unmap(uint64_t time, uint64_t start, uint64_t length);
    void map(uint64_t time, uint64_t start, uint64_t length);
    /* Let the program last until then, if its last event is earlier */
    void last_until(uint64_t time);

    /* Valid until the program is changed */
    const predreg_timeline_t *timeline();

    predreg_cost_t reg;
    predreg_cost_t dereg;

    /* A buffer in a loop of one period */
    static made_program periodic(unsigned iterations, uint64_t period,
                                 uint64_t duration, uint64_t length);
    /* Two buffers in turns */
    static made_program two_buffers(unsigned iterations, uint64_t period,
                                    uint64_t length);
    /* An inner loop of short periods in an outer one, each of several call
     * sites */
    static made_program nested(unsigned outer, unsigned inner,
                               uint64_t inner_period, uint64_t outer_period,
                               uint64_t length);
    /* A period that grows by a part in a thousand each time */
    static made_program drift(unsigned iterations, uint64_t period,
                              unsigned per_mille, uint64_t length);
    /* A random program: several buffers and domains, overlapping uses of
     * different lengths and kinds, unmaps */
    static made_program random(unsigned seed, unsigned num_uses);

private:
    std::vector<predreg_use_t>   m_uses;
    std::vector<predreg_unmap_t> m_unmaps;
    std::vector<predreg_map_t>   m_maps;
    uint64_t                     m_duration;
    predreg_timeline_t           m_timeline;
};


/* The result of a replay by one policy; the test fails if the replay does */
class replayed {
public:
    typedef std::vector<std::pair<int64_t, uint64_t>> curve_t;

    replayed(const predreg_timeline_t *timeline,
             const predreg_replay_params_t &params);
    /* The result of what plays something else */
    explicit replayed(
            const std::function<ucs_status_t(predreg_replay_result_t*)> &play);
    replayed(const replayed&) = delete;
    ~replayed();

    const predreg_replay_result_t *operator->() const
    {
        return &m_result;
    }

    curve_t curve() const;
    uint64_t byte_ns(predreg_cause_t cause) const;
    uint64_t byte_ns() const;
    /* Every number of the result in one text, so that two results can be
     * compared bit for bit */
    std::string text() const;

private:
    ucs_status_t            m_status;
    predreg_replay_result_t m_result;
};

predreg_replay_params_t replay_params(const predreg_timeline_t *timeline,
                                      predreg_replay_policy_t policy,
                                      uint64_t limit = 0);

/* Let each allocation of a replay fail in turn, and expect each time that the
 * process ends. There have to be at least so many allocations. */
void expect_ends_without_memory(const predreg_timeline_t *timeline,
                                predreg_replay_policy_t policy,
                                unsigned min_allocations);

#endif
