/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md/md_test.h"
#include "vm_events.h"

#include <common/child.h>


#include <unistd.h>

extern "C" {
#include <common/c_access.h>

const uct_predreg_hooks_t *
uct_predreg_core_init_7(const uct_predreg_real_t *real);
}

/* How the core starts, and what it does when the process exits. Each test does
 * so in a process of its own, since what is installed stays for good. */
class test_core_start : public md_test {
protected:
    void SetUp() override
    {
        test_core_select(1);
        md_test::SetUp();
        test_vm_events_init(UCS_OK);
        knob("HELPER", "progress");
    }

    void TearDown() override
    {
        md_test::TearDown();
        test_core_select(0);
        for (const std::string &name : m_variables) {
            unsetenv(name.c_str());
        }
    }

    /* Set the variable of a knob */
    void knob(const std::string &name, const std::string &value)
    {
        m_variables.push_back("UCX_RCACHE_PRED_" + name);
        setenv(m_variables.back().c_str(), value.c_str(), 1);
    }

    /* Start the core in a process of its own, which exits as programs do */
    template <typename F> void run(F func)
    {
        child process([this, func]() -> int {
            uct_predreg_knobs_cleanup(test_core_knobs());
            func(uct_predreg_core_init_7(test_core_real()));
            EXPECT_EQ("", log_watch::take());
            exit(HasFailure());
        });

        EXPECT_EQ(0, process.reap());
    }

    /* Start a core that has a reason to step aside */
    void run_aside(const std::string &reason)
    {
        run([reason](const uct_predreg_hooks_t *hooks) {
            EXPECT_EQ(nullptr, hooks);
            EXPECT_TRUE(test_core_is_aside());
            EXPECT_EQ("predictive registration steps aside: " + reason,
                      log_watch::take());
        });
    }

    std::vector<std::string> m_variables;
};

TEST_F(test_core_start, a_cache_and_all_hooks) {
    knob("EAGER", "y");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        EXPECT_NE(nullptr, test_core_pred());
        EXPECT_EQ(1u, test_vm_events_asked());
        for (size_t i = 0; i < sizeof(*hooks) / sizeof(void*); ++i) {
            EXPECT_NE(nullptr, reinterpret_cast<void *const*>(hooks)[i]) << i;
        }
    });
}

TEST_F(test_core_start, beside_an_unknown_version_it_steps_aside) {
    test_core_real()->ucp_get_version = [](unsigned *major, unsigned *minor,
                                           unsigned *release) {
        *major   = 1;
        *minor   = 99;
        *release = 0;
    };
    run_aside("this process uses UCX 1.99; accepted: 1.13 to 1.23");
}

TEST_F(test_core_start, a_bad_knob_is_named) {
    knob("HISTORY", "99");
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_EQ(nullptr, hooks);
        EXPECT_EQ(0u, log_watch::take().find("UCX_RCACHE_PRED_HISTORY=99 is "
                                             "not accepted"));
        EXPECT_EQ("predictive registration steps aside: a variable "
                  "UCX_RCACHE_PRED_* has the value that was complained about "
                  "above", log_watch::take());
        EXPECT_EQ(0u, test_vm_events_asked());
    });
}

TEST_F(test_core_start, without_memory_events_it_steps_aside) {
    test_vm_events_init(UCS_ERR_UNSUPPORTED);
    run_aside(std::string("memory events of UCM are not available (") +
              ucs_status_string(UCS_ERR_UNSUPPORTED) +
              "); without them a buffer that was unmapped would not be "
              "noticed");
}

TEST_F(test_core_start, without_memory_it_steps_aside) {
    test_alloc_fail_nth(2); /* The first is for a knob */
    run_aside("the cache cannot be set up: out of memory, or what was "
              "complained about above");
    test_alloc_fail_nth(0);
}

TEST_F(test_core_start, leave_pinned_needs_no_memory_events) {
    knob("POLICY", "leave-pinned");
    test_vm_events_init(UCS_ERR_UNSUPPORTED);
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ(nullptr, test_core_pred());
        EXPECT_EQ(0u, test_vm_events_asked());
        EXPECT_FALSE(test_core_is_aside());
    });
}

/* From 1.16 on the cache of UCP hides uses */
TEST_F(test_core_start, a_trace_of_leave_pinned_has_its_uses) {
    test_core_real()->ucp_get_version = [](unsigned *major, unsigned *minor,
                                           unsigned *release) {
        *major   = 1;
        *minor   = 18;
        *release = 1;
    };
    knob("POLICY", "leave-pinned");
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ(unsigned(UCS_RCACHE_PRED_POLICY_LEAVE_PINNED),
                  test_core_knobs()->policy);
    });

    knob("TRACE", m_folder);
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ(unsigned(UCS_RCACHE_PRED_POLICY_PREDICT),
                  test_core_knobs()->policy);
        EXPECT_EQ(0, test_core_knobs()->budget);
    });
}

TEST_F(test_core_start, a_trace_of_leave_pinned_wants_memory_events) {
    knob("POLICY", "leave-pinned");
    knob("TRACE", m_folder);
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ(1u, test_vm_events_asked());
    });

    test_vm_events_init(UCS_ERR_UNSUPPORTED);
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ(std::string("memory events of UCM are not available (") +
                  ucs_status_string(UCS_ERR_UNSUPPORTED) +
                  "): unmapped memory is missing in the trace",
                  log_watch::take());
    });
}

TEST_F(test_core_start, the_exit_prints_a_summary) {
    knob("SUMMARY", "text");
    knob("SUMMARY_FILE", m_folder + "/summary");
    run([](const uct_predreg_hooks_t *hooks) {});
    EXPECT_EQ("", read(m_folder + "/summary")) << "UCX was not used";

    run([this](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
    });
    const std::string summary = read(m_folder + "/summary");
    EXPECT_EQ(0u, summary.find("predreg pid ")) << summary;
    EXPECT_NE(std::string::npos, summary.find("uses 0")) << summary;
}

/* Programs call exit() in handlers of signals, which may interrupt a thread
 * that has the lock. Nobody gives it back then */
TEST_F(test_core_start, the_exit_does_not_wait_for_an_interrupted_thread) {
    knob("SUMMARY", "text");
    knob("SUMMARY_FILE", m_folder + "/summary");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
        test_pred_lock(test_core_pred());
        alarm(30); /* It is not to wait for ever */
    });
    EXPECT_EQ("", read(m_folder + "/summary"));
}

TEST_F(test_core_start, the_exit_says_that_there_was_nothing_to_manage) {
    knob("SUMMARY", "text");
    knob("SUMMARY_FILE", m_folder + "/summary");
    knob("TRACE", m_folder + "/traces");
    strcpy(m_attr.component_name, "tcp");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "eth0", 1);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x2000), "lo", 2);
    });
    const std::string summary = read(m_folder + "/summary");
    EXPECT_EQ(0u, summary.find("predreg pid ")) << summary;
    EXPECT_NE(std::string::npos,
              summary.find(": nothing to manage: UCX opened 2 memory domains, "
                           "none of an RDMA adapter\n")) << summary;
}

TEST_F(test_core_start, the_exit_says_of_what_there_was_nothing) {
    knob("SUMMARY", "text");
    knob("SUMMARY_FILE", m_folder + "/summary");
    knob("COMPONENTS", "cma,knem");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
    });
    const std::string summary = read(m_folder + "/summary");
    EXPECT_NE(std::string::npos,
              summary.find("none of UCX_RCACHE_PRED_COMPONENTS=cma,knem\n")) <<
            summary;
}

TEST_F(test_core_start, json_of_nothing_to_manage_is_json) {
    knob("SUMMARY", "json");
    knob("SUMMARY_FILE", m_folder + "/summary");
    strcpy(m_attr.component_name, "tcp");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "eth0", 1);
    });
    EXPECT_EQ('{', read(m_folder + "/summary").front());
}

TEST_F(test_core_start, a_helper_thread_ends_before_the_exit) {
    knob("HELPER", "aggressive");
    knob("SUMMARY", "json");
    knob("SUMMARY_FILE", m_folder + "/summary");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
    });
    EXPECT_EQ('{', read(m_folder + "/summary").front());
}

TEST_F(test_core_start, a_child_that_was_not_noticed_prints_none) {
    knob("SUMMARY", "text");
    knob("SUMMARY_FILE", m_folder + "/summary");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
        test_core_set_pid(getppid());
    });
    EXPECT_EQ("", read(m_folder + "/summary"));
}
