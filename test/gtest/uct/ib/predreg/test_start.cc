/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md/md_test.h"
#include "vm_events.h"

#include <common/child.h>
#include <common/trace_test.h>
#include <uct/ib/predreg/entry.h>
#include <uct/ib/predreg/record/record.h>

#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

extern "C" {
#include <ucs/rcache_pred/cache/cache.h>
#include <common/c_access.h>

const uct_predreg_hooks_t *
uct_predreg_core_init_16(const uct_predreg_real_t *real);
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
        child process([func]() -> int {
            uct_predreg_knobs_cleanup(&test_core_state()->knobs);
            func(uct_predreg_core_init_16(&test_core_state()->real));
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
            EXPECT_TRUE(test_core_state()->aside);
            EXPECT_EQ("predictive registration steps aside: " + reason,
                      log_watch::take());
        });
    }

    /* Send from an address through the hooks, as the preloaded library does */
    static void send(const uct_predreg_hooks_t *hooks, uintptr_t address,
                     size_t length, ucp_request_param_t param = {})
    {
        uct_predreg_sender_t *sender = nullptr;
        uct_predreg_send_t small     = {};

        EXPECT_EQ(0u, hooks->send(&sender, nullptr,
                                  reinterpret_cast<void*>(address), length,
                                  &param, &small));
    }

    static ucp_request_param_t with(uint32_t mask)
    {
        ucp_request_param_t param = {};

        param.op_attr_mask = mask;
        return param;
    }

    /* Make a context of UCP through the hooks */
    static void make_context(const uct_predreg_hooks_t *hooks,
                             uint64_t features)
    {
        uct_predreg_making_t making = {1, 1, 1, 1};
        ucp_params_t params         = {};

        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features   = features;
        hooks->making(&test_core_state()->real, &params, nullptr, &making);
        EXPECT_EQ(0u, making.min_length);
        EXPECT_FALSE(making.is_changed);
        hooks->made(&test_core_state()->real, &making, nullptr, nullptr);
        hooks->worker_made(nullptr, nullptr);
    }

    /* The trace of the process that has ended; NULL: there is none */
    trace_ptr trace()
    {
        const std::string folder  = m_folder + "/traces";
        ucs_rcache_trace_t *trace = nullptr;

        if (std::filesystem::exists(folder)) {
            for (auto &entry : std::filesystem::directory_iterator(folder)) {
                EXPECT_EQ(nullptr, trace);
                EXPECT_EQ(UCS_OK, ucs_rcache_trace_load(entry.path().c_str(),
                                                        &trace));
            }
        }
        return trace_ptr(trace);
    }

    std::vector<std::string> m_variables;
};

TEST_F(test_core_start, a_cache_and_all_hooks) {
    knob("EAGER", "y");
    knob("POOLS", "lean");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        EXPECT_NE(nullptr, test_core_state()->pred);
        EXPECT_EQ(1u, test_vm_events_asked());
        for (size_t i = 0; i < sizeof(*hooks) / sizeof(void*); ++i) {
            EXPECT_NE(nullptr, reinterpret_cast<void *const*>(hooks)[i]) << i;
        }
    });
}

TEST_F(test_core_start, calls_are_told_apart_by_their_paths) {
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        EXPECT_TRUE(test_core_state()->paths != nullptr);
    });
}

TEST_F(test_core_start, or_by_their_depth) {
    knob("UNWIND", "n");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        EXPECT_FALSE(test_core_state()->paths != nullptr);
    });
}

TEST_F(test_core_start, beside_an_unknown_version_it_steps_aside) {
    test_core_state()->real.ucp_get_version = [](unsigned *major, unsigned *minor,
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
        EXPECT_EQ(nullptr, test_core_state()->pred);
        EXPECT_EQ(0u, test_vm_events_asked());
        EXPECT_FALSE(test_core_state()->aside);
    });
}

TEST_F(test_core_start, leave_pinned_has_no_arena) {
    knob("POLICY", "leave-pinned");
    knob("ARENA", "64M");
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ("there is no arena under the policy leave-pinned: "
                  "UCX_RCACHE_PRED_ARENA is ignored", log_watch::take());
    });
}

TEST_F(test_core_start, leave_pinned_keeps_no_bound) {
    knob("POLICY", "leave-pinned");
    knob("NODE_MAX_REGIONS", "100");
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ("bounds are not kept under the policy leave-pinned: "
                  "UCX_RCACHE_PRED_MAX_PINNED and the others are ignored",
                  log_watch::take());
    });
}

/* From 1.16 on the cache of UCP hides uses */
TEST_F(test_core_start, a_trace_of_leave_pinned_has_its_uses) {
    test_core_state()->real.ucp_get_version = [](unsigned *major, unsigned *minor,
                                           unsigned *release) {
        *major   = 1;
        *minor   = 18;
        *release = 1;
    };
    knob("POLICY", "leave-pinned");
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ(unsigned(UCS_RCACHE_PRED_POLICY_LEAVE_PINNED),
                  test_core_state()->knobs.policy);
    });

    knob("TRACE", m_folder);
    run([](const uct_predreg_hooks_t *hooks) {
        EXPECT_NE(nullptr, hooks);
        EXPECT_EQ(unsigned(UCS_RCACHE_PRED_POLICY_PREDICT),
                  test_core_state()->knobs.policy);
        EXPECT_EQ(0, test_core_state()->knobs.budget);
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

    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
    });
    const std::string summary = read(m_folder + "/summary");
    EXPECT_EQ(0u, summary.find("predreg pid ")) << summary;
    EXPECT_NE(std::string::npos, summary.find("uses 0")) << summary;
}

/* Standard error is something else while this exists: a file, or what a descriptor is
 * open on */
class other_stderr {
public:
    explicit other_stderr(int fd) : m_before(dup(STDERR_FILENO))
    {
        dup2(fd, STDERR_FILENO);
        close(fd);
    }

    explicit other_stderr(const std::string &path) :
        other_stderr(creat(path.c_str(), 0600))
    {
    }

    ~other_stderr()
    {
        dup2(m_before, STDERR_FILENO);
        close(m_before);
    }

private:
    int m_before;
};

TEST_F(test_core_start, the_summary_goes_to_standard_error_as_it_was) {
    knob("SUMMARY", "text");
    {
        other_stderr error(m_folder + "/error");

        run([this](const uct_predreg_hooks_t *hooks) {
            ASSERT_NE(nullptr, hooks);
            hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
            ::close(STDERR_FILENO);
            EXPECT_EQ(STDERR_FILENO, creat((m_folder + "/data").c_str(), 0600));
        });
    }
    EXPECT_EQ("", read(m_folder + "/data"));
    EXPECT_EQ(0u, read(m_folder + "/error").find("predreg pid "));
}

/* As daemons do */
TEST_F(test_core_start, no_summary_after_the_program_has_closed_all) {
    knob("SUMMARY", "text");
    run([this](const uct_predreg_hooks_t *hooks) {
        const int num_files = 256;

        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
        for (int fd = STDERR_FILENO; fd < num_files; ++fd) {
            ::close(fd);
        }
        for (int fd = STDERR_FILENO; fd < num_files; ++fd) {
            creat((m_folder + "/data" + std::to_string(fd)).c_str(), 0600);
        }
    });
    for (int fd = STDERR_FILENO; fd < 256; ++fd) {
        EXPECT_EQ("", read(m_folder + "/data" + std::to_string(fd)));
    }
}

TEST_F(test_core_start, nobody_reads_the_summary) {
    int fds[2];

    knob("SUMMARY", "text");
    ASSERT_EQ(0, pipe(fds));
    ::close(fds[0]);
    other_stderr error(fds[1]);
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
    });
}

/* Programs call exit() in handlers of signals, which may interrupt a thread
 * that has the lock. Nobody gives it back then */
TEST_F(test_core_start, the_exit_does_not_wait_for_an_interrupted_thread) {
    knob("SUMMARY", "text");
    knob("SUMMARY_FILE", m_folder + "/summary");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
        pred_lock(test_core_state()->pred);
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
        test_core_state()->pid = getppid();
    });
    EXPECT_EQ("", read(m_folder + "/summary"));
}

/* Small sends are counted in a process that is recorded, and written when it
 * ends. Those that the program waits for count as copied, whether it has found
 * something to do before or not */
TEST_F(test_core_start, a_trace_has_small_sends) {
    knob("TRACE", m_folder + "/traces");
    run([](const uct_predreg_hooks_t *hooks) {
        uct_predreg_sender_t *sender = nullptr;
        ucs_rcache_pred_idle_t idle  = {};

        ASSERT_NE(nullptr, hooks);
        make_context(hooks, UCP_FEATURE_TAG);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
        send(hooks, 0x10000, 4000);
        send(hooks, 0x10000, 4096);
        send(hooks, 0x10000, 4096, with(UCP_OP_ATTR_FLAG_FAST_CMPL));
        hooks->idle(&sender, &idle, nullptr);
        send(hooks, 0x10000, 4096, with(UCP_OP_ATTR_FLAG_FAST_CMPL));
        send(hooks, 0x10000, 4096, with(UCP_OP_ATTR_FLAG_FAST_CMPL));
        EXPECT_EQ(nullptr, hooks->cleaning) << "nothing to forget";
    });

    trace_ptr found = trace();
    ASSERT_TRUE(found != NULL);
    ASSERT_EQ(1u, found->num_sends);
    EXPECT_EQ(0x10000u, found->sends[0].address);
    EXPECT_EQ(4096u, found->sends[0].length);
    EXPECT_EQ(5u, found->sends[0].count);
    EXPECT_EQ(3u, found->sends[0].copied);
    EXPECT_EQ(1u, found->num_domains);
    EXPECT_EQ(0u, found->lost);
}

/* So are those of a process that registers nothing */
TEST_F(test_core_start, small_sends_begin_a_trace) {
    knob("TRACE", m_folder + "/traces");
    strcpy(m_attr.component_name, "tcp");
    for (const char *policy : {"predict", "leave-pinned"}) {
        knob("POLICY", policy);
        run([](const uct_predreg_hooks_t *hooks) {
            ASSERT_NE(nullptr, hooks);
            make_context(hooks, UCP_FEATURE_AM);
            hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "eth0", 1);
            send(hooks, 0x10000, 256);
            send(hooks, 0x20000, 256);
        });

        trace_ptr found = trace();
        ASSERT_TRUE(found != NULL) << policy;
        EXPECT_EQ(2u, found->num_sends);
        EXPECT_EQ(0u, found->num_domains);
        EXPECT_NE(nullptr, ucs_rcache_trace_get_meta(found.get(),
                                                     "clock_end_ns"));
        std::filesystem::remove_all(m_folder + "/traces");
    }
}

/* What UCX_RCACHE_PRED_EAGER leaves alone is not counted */
TEST_F(test_core_start, sends_that_are_not_plain_are_not_counted) {
    knob("TRACE", m_folder + "/traces");
    run([](const uct_predreg_hooks_t *hooks) {
        ucp_request_param_t device = with(UCP_OP_ATTR_FIELD_MEMORY_TYPE);
        ucp_request_param_t rndv   = with(UCP_OP_ATTR_FIELD_FLAGS);

        ASSERT_NE(nullptr, hooks);
        make_context(hooks, UCP_FEATURE_TAG);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
        device.memory_type = UCS_MEMORY_TYPE_CUDA;
        rndv.flags         = UCP_AM_SEND_FLAG_RNDV;
        send(hooks, 0x10000, 4096, device);
        send(hooks, 0x10000, 4096, rndv);
        send(hooks, 0x10000, 4096, with(UCP_OP_ATTR_FIELD_MEMH));
        send(hooks, 0x10000, 4096, with(UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL));
        send(hooks, 0x10000, 4096, with(UCT_PREDREG_UNKNOWN_FIELDS));
        device.memory_type = UCS_MEMORY_TYPE_HOST;
        send(hooks, 0x10000, 4096, device);
    });

    trace_ptr found = trace();
    ASSERT_TRUE(found != NULL);
    ASSERT_EQ(1u, found->num_sends);
    EXPECT_EQ(1u, found->sends[0].count);
}

/* Contexts for no messages are left alone by UCX_RCACHE_PRED_EAGER */
TEST_F(test_core_start, sends_of_contexts_for_puts_are_copied) {
    knob("TRACE", m_folder + "/traces");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        make_context(hooks, UCP_FEATURE_RMA);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
        send(hooks, 0x10000, 4096);
    });

    trace_ptr found = trace();
    ASSERT_TRUE(found != NULL);
    ASSERT_EQ(1u, found->num_sends);
    EXPECT_EQ(1u, found->sends[0].copied);
}

/* Without a trace the preloaded library does not even ask */
TEST_F(test_core_start, without_a_trace_sends_cost_nothing) {
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        EXPECT_EQ(nullptr, hooks->send);
    });
}

/* Of a recorded process no hook is missing */
TEST_F(test_core_start, a_trace_beside_sends_that_are_looked_at) {
    knob("TRACE", m_folder + "/traces");
    knob("EAGER", "y");
    knob("POOLS", "lean");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        for (size_t i = 0; i < sizeof(*hooks) / sizeof(void*); ++i) {
            EXPECT_NE(nullptr, reinterpret_cast<void *const*>(hooks)[i]) << i;
        }
    });
    EXPECT_TRUE(trace() == NULL) << "UCX was not used";
}

/* What a process has sent before it forked is not its child's */
TEST_F(test_core_start, a_child_counts_its_own_small_sends) {
    knob("TRACE", m_folder + "/traces");
    run([](const uct_predreg_hooks_t *hooks) {
        ASSERT_NE(nullptr, hooks);
        make_context(hooks, UCP_FEATURE_TAG);
        hooks->md_opened(reinterpret_cast<uct_md_h>(0x1000), "mlx", 1);
        uct_predreg_sends_addon.fork_child(&uct_predreg_core);
        send(hooks, 0x10000, 4096);
        send(hooks, 0x20000, 4096);
        uct_predreg_sends_addon.fork_child(&uct_predreg_core);
        send(hooks, 0x10000, 4096);
    });

    trace_ptr found = trace();
    ASSERT_TRUE(found != NULL);
    ASSERT_EQ(1u, found->num_sends);
    EXPECT_EQ(1u, found->sends[0].count);
}
