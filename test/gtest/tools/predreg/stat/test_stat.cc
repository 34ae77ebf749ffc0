/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>
#include <common/fake_system.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/stat/stat.h>
}

#include <algorithm>

class test_stat : public fake_system_test {
};

TEST_F(test_stat, no_such_process) {
    /* No pid is as large on a system with default settings */
    EXPECT_EQ(1, call(predreg_stat, {"4194303"}));
    EXPECT_EQ("", m_output);
    EXPECT_EQ("ucx_predreg: process 4194303: there is no such process\n",
              m_errors);
}

TEST_F(test_stat, bad_argument) {
    EXPECT_EQ(2, call(predreg_stat, {"x"}));
}

TEST_F(test_stat, help) {
    EXPECT_EQ(0, call_in_child(predreg_stat, {"--help"}));
    EXPECT_EQ(0u, m_output.find("usage: ucx_predreg stat [OPTIONS]"));
}

TEST_F(test_stat, this_process) {
    state_t state = valid_state(getpid());
    ucs_rcache_pred_live_t *live;

    ASSERT_EQ(UCS_OK, ucs_rcache_pred_live_create(&live));
    ucs_rcache_pred_live_update(live, [](void *arg, state_t *to) {
        *to = *static_cast<state_t*>(arg);
    }, &state);
    EXPECT_EQ(0, call(predreg_stat, {"--count=2", "--interval=0.1",
                                     std::to_string(getpid())}));
    EXPECT_EQ("", m_errors);
    EXPECT_EQ(6, std::count(m_output.begin(), m_output.end(), '\n'))
            << m_output;
    EXPECT_EQ(0, call(predreg_stat, {"--json", std::to_string(getpid())}));
    EXPECT_TRUE(contains(m_output, "\"pid\":" + std::to_string(getpid())));
    ucs_rcache_pred_live_destroy(live);
}
