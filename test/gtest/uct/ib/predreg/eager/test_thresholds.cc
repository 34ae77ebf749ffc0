/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_test.h"

#include <common/log_watch.h>

/* Further looks at what registrations, copies and lookups cost */
class test_thresholds : public eager_test {
protected:
    static constexpr uint64_t MSEC  = 1000000;
    static constexpr size_t LONGEST = 8192;

    /* At the start everything took so many ns */
    void start(double reg, double lookup, double copy)
    {
        ucs_reuse_costs_t costs = {reg, 0, lookup, {}};

        std::fill_n(costs.copy, UCS_REUSE_NUM_CLASSES, copy);
        add();
        test_eager_set_costs(m_context, &costs);
        uct_predreg_thresholds_look(m_context, m_now);
    }

    /* @return whether it is measured so many ms later */
    bool look_after(uint64_t msec)
    {
        unsigned before = m_num_mapped;

        m_now += msec * MSEC;
        uct_predreg_thresholds_look(m_context, m_now);
        return m_num_mapped > before;
    }

    /* @return whether a buffer that is sent very often is hot in the end */
    bool is_on()
    {
        unsigned i;

        for (i = 0; (i < 10000) && !send(page(0), LONGEST); ++i);
        return i < 10000;
    }

    uint64_t m_now = 1000;
};

/* As at a start that others disturb */
TEST_F(test_thresholds, what_was_off_comes_on) {
    start(1e5, 1e6, 1e5);
    EXPECT_FALSE(is_on());
    EXPECT_FALSE(look_after(49));
    EXPECT_FALSE(is_on());
    EXPECT_TRUE(look_after(1));
    EXPECT_TRUE(is_on());
}

TEST_F(test_thresholds, first_costs_of_registrations_do_not_stay) {
    start(1e12, 20, 1e5);
    EXPECT_FALSE(is_on());
    EXPECT_TRUE(look_after(50));
    EXPECT_TRUE(is_on());
}

TEST_F(test_thresholds, looks_come_more_and_more_rarely) {
    start(1e5, 1e6, 1e5);
    for (uint64_t interval : {50, 200, 800, 3200, 12800, 51200, 60000, 60000}) {
        EXPECT_FALSE(look_after(interval - 1)) << interval;
        EXPECT_TRUE(look_after(1)) << interval;
    }
}

/* One cannot be registered at the start, or at all */
TEST_F(test_thresholds, what_cannot_be_measured_is_tried_again) {
    start(INFINITY, INFINITY, INFINITY);
    m_map_status = UCS_ERR_NO_MEMORY;
    look_after(50);
    EXPECT_FALSE(is_on());
    m_map_status = UCS_OK;
    EXPECT_TRUE(look_after(200));
    EXPECT_TRUE(is_on());
}

/* Nothing gains by these: told only when several looks have found the same */
TEST_F(test_thresholds, it_is_told_late_that_none_gains) {
    uct_predreg_eager_fork(); /* A child has not told of it */
    start(1e5, 1e6, 0);
    look_after(50);
    look_after(200);
    EXPECT_EQ("", log_watch::take());
    look_after(800);
    EXPECT_NE(std::string::npos,
              log_watch::take().find("small sends are copied, since finding"));
    look_after(3200);
    EXPECT_EQ("", log_watch::take());
}
