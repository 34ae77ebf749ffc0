/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core_test.h"

#include <common/child.h>
#include <tools/trace/trace.h>

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/record/record.h>
#include <uct/ib/predreg/stat/stat.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

class test_core : public core_test {
protected:
    static ucs_rcache_pred_snapshot_t snapshot()
    {
        ucs_rcache_pred_snapshot_t snapshot;

        uct_predreg_snapshot(test_core_state(), &snapshot);
        return snapshot;
    }

    /* Print the summary to a file. @return what it says. */
    std::string summary(uct_predreg_summary_format_t format =
                                UCT_PREDREG_SUMMARY_TEXT)
    {
        const std::string path                    = m_folder + "/summary";
        const ucs_rcache_pred_snapshot_t snapshot = test_core::snapshot();

        std::filesystem::remove(path);
        uct_predreg_summary_print(&snapshot, "1.18.1", "", nullptr, format,
                                  path.c_str());
        return read(path);
    }

    static void capture_stderr()
    {
        testing::internal::CaptureStderr();
        uct_predreg_summary_keep_stderr();
    }

    static unsigned s_minor;
};

unsigned test_core::s_minor;

TEST_F(test_core, it_says_once_why_it_steps_aside) {
    EXPECT_FALSE(test_core_state()->aside);
    uct_predreg_step_aside(test_core_state(), UCT_PREDREG_ASIDE_CACHE_ON, "A=y");
    uct_predreg_step_aside(test_core_state(), UCT_PREDREG_ASIDE_FORK, NULL);
    EXPECT_TRUE(test_core_state()->aside);
    EXPECT_EQ("predictive registration steps aside: A=y keeps UCX's own cache on",
              log_watch::take());
    EXPECT_FALSE(uct_predreg_is_managing(test_core_state()));
}

TEST_F(test_core, it_knows_the_ucx_of_the_process) {
    uct_predreg_real_t real = {};

    s_minor              = 18;
    real.ucp_get_version = [](unsigned *major, unsigned *minor,
                              unsigned *release) {
        *major   = 1;
        *minor   = s_minor;
        *release = 1;
    };
    EXPECT_EQ(uct_predreg_compat_select(1, 18),
              uct_predreg_find_compat(test_core_state(), &real));
    EXPECT_FALSE(test_core_state()->aside);

    s_minor = 99;
    EXPECT_EQ(nullptr, uct_predreg_find_compat(test_core_state(), &real));
    EXPECT_EQ("predictive registration steps aside: this process uses UCX 1.99; "
              "accepted: 1.13 to 1.23", log_watch::take());
}

TEST_F(test_core, without_a_helper_the_policy_is_another) {
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_PREDICT,
              uct_predreg_policy(test_core_state()));
    set("HELPER", "off");
    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_ON_DEMAND,
              uct_predreg_policy(test_core_state()));
}

TEST_F(test_core, leave_pinned_has_no_cache) {
    set("POLICY", "leave-pinned");
    EXPECT_FALSE(uct_predreg_is_managing(test_core_state()));
    EXPECT_EQ(nullptr, test_core_state()->pred);
}

TEST_F(test_core, passed_uses_are_counted) {
    set("POLICY", "leave-pinned");
    uct_predreg_count_passed(test_core_state());
    uct_predreg_count_passed(test_core_state());
    EXPECT_EQ(2u, uct_predreg_num_passed(test_core_state()));
    EXPECT_EQ(2u, snapshot().stats.uses);
}

TEST_F(test_core, the_kernels_count_is_read_for_who_tells_it) {
    uct_predreg_note_pinned(test_core_state());
    EXPECT_EQ(0u, test_core_state()->kernel_pinned);

    /* Nothing is pinned here: it is read without complaint */
    set("SUMMARY", "text");
    uct_predreg_note_pinned(test_core_state());
    EXPECT_EQ(test_core_state()->kernel_pinned, snapshot().kernel_pinned);
}

TEST_F(test_core, a_snapshot_tells_who_it_is_of) {
    test_core_state()->rank = 5;
    test_core_state()->pool_bytes = 123;
    EXPECT_EQ(5, snapshot().rank);
    EXPECT_EQ(getpid(), snapshot().pid);
    EXPECT_EQ(123u, snapshot().pool_bytes);
    EXPECT_EQ(unsigned(UCS_RCACHE_PRED_POLICY_PREDICT), snapshot().policy);
}

TEST_F(test_core, a_snapshot_of_a_cache) {
    set("HELPER", "progress");
    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));
    EXPECT_EQ(0u, snapshot().stats.uses);
    EXPECT_EQ(ucs_rcache_pred_get_mode(test_core_state()->pred), snapshot().mode);
}

TEST_F(test_core, a_summary_of_leave_pinned) {
    set("POLICY", "leave-pinned");
    test_core_state()->rank = 2;
    test_core_state()->pool_bytes = 3 << 20;
    uct_predreg_count_passed(test_core_state());
    EXPECT_EQ("predreg rank 2: leave-pinned, uses 1, pinned by the kernel's "
              "count at the end 0.0 MiB, of it by UCX's pools 3.0 MiB\n",
              summary());
}

TEST_F(test_core, a_summary_of_prediction) {
    set("HELPER", "progress");
    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));

    const std::string text = summary();
    EXPECT_EQ(0u, text.find("predreg pid " + std::to_string(getpid()) +
                            ": predict, uses 0, hits 0 (0.0 %), late 0"))
            << text;
    EXPECT_NE(std::string::npos, text.find(", wasted 0, refused 0, ")) << text;
    EXPECT_NE(std::string::npos, text.find("helper progress")) << text;
}

TEST_F(test_core, a_summary_in_json) {
    test_core_state()->rank = 2;

    const std::string text = summary(UCT_PREDREG_SUMMARY_JSON);
    EXPECT_EQ('{', text.front());
    EXPECT_EQ("}\n", text.substr(text.size() - 2));
    EXPECT_NE(std::string::npos, text.find("\"rank\":2")) << text;
    EXPECT_NE(std::string::npos, text.find("\"ucx_version\":\"1.18.1\""))
            << text;
}

TEST_F(test_core, a_summary_goes_somewhere) {
    const std::string path                    = m_folder + "/missing/file";
    const ucs_rcache_pred_snapshot_t snapshot = test_core::snapshot();

    capture_stderr();
    uct_predreg_summary_print(&snapshot, "1.18.1", "", nullptr,
                              UCT_PREDREG_SUMMARY_TEXT,
                              path.c_str());
    EXPECT_NE(std::string::npos,
              testing::internal::GetCapturedStderr().find("predreg pid "));
    EXPECT_EQ(0u, log_watch::take().find("UCX_RCACHE_PRED_SUMMARY_FILE=" +
                                         m_folder));
}

TEST_F(test_core, a_summary_is_not_appended_to_a_trace) {
    const std::string path                    = m_folder + "/summary";
    const std::string head                    = "\x89predreg and so on";
    const ucs_rcache_pred_snapshot_t snapshot = test_core::snapshot();
    struct stat st;

    std::ofstream(path) << head;
    capture_stderr();
    uct_predreg_summary_print(&snapshot, "1.18.1", "", nullptr, UCT_PREDREG_SUMMARY_TEXT,
                              path.c_str());
    EXPECT_NE(std::string::npos,
              testing::internal::GetCapturedStderr().find("predreg pid "));
    EXPECT_NE(std::string::npos, log_watch::take().find("it is a trace"));
    ASSERT_EQ(0, stat(path.c_str(), &st));
    EXPECT_EQ(head.size(), (size_t)st.st_size);
    unlink(path.c_str());
}

/* In a folder that everybody may write to, others may have put something else
 * in the place of the file */
TEST_F(test_core, a_summary_follows_no_link) {
    const std::string path                    = m_folder + "/summary";
    const std::string precious                = m_folder + "/precious";
    const ucs_rcache_pred_snapshot_t snapshot = test_core::snapshot();

    close(open(precious.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(0, symlink(precious.c_str(), path.c_str()));
    capture_stderr();
    uct_predreg_summary_print(&snapshot, "1.18.1", "", nullptr,
                              UCT_PREDREG_SUMMARY_TEXT,
                              path.c_str());
    EXPECT_NE(std::string::npos,
              testing::internal::GetCapturedStderr().find("predreg pid "));
    EXPECT_NE(std::string::npos, log_watch::take().find("symbolic link"));

    struct stat st;
    ASSERT_EQ(0, stat(precious.c_str(), &st));
    EXPECT_EQ(0, st.st_size);
    unlink(path.c_str());

    /* Nobody reads from the pipe */
    ASSERT_EQ(0, mkfifo(path.c_str(), 0666));
    capture_stderr();
    uct_predreg_summary_print(&snapshot, "1.18.1", "", nullptr,
                              UCT_PREDREG_SUMMARY_TEXT,
                              path.c_str());
    EXPECT_NE(std::string::npos,
              testing::internal::GetCapturedStderr().find("predreg pid "));
    EXPECT_NE("", log_watch::take());
    unlink(path.c_str());

    if (geteuid() == 0) {
        close(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
        ASSERT_EQ(0, chown(path.c_str(), 65534, 65534));
        capture_stderr();
        uct_predreg_summary_print(&snapshot, "1.18.1", "", nullptr,
                                  UCT_PREDREG_SUMMARY_TEXT,
                                  path.c_str());
        testing::internal::GetCapturedStderr();
        EXPECT_NE(std::string::npos, log_watch::take().find("another user"));
        ASSERT_EQ(0, stat(path.c_str(), &st));
        EXPECT_EQ(0, st.st_size);
        unlink(path.c_str());
    }
    unlink(precious.c_str());
}

TEST_F(test_core, others_see_the_live_counters) {
    uint64_t uses;
    char command[64];

    set("POLICY", "leave-pinned");
    uct_predreg_publish(test_core_state()); /* To nobody */
    uct_predreg_live_start(test_core_state());
    uct_predreg_live_start(test_core_state()); /* They are there */
    uct_predreg_count_passed(test_core_state());
    uct_predreg_publish(test_core_state());
    ASSERT_TRUE(test_core_read_live(&uses, command, sizeof(command)));
    EXPECT_EQ(1u, uses);
    EXPECT_EQ(1u, uct_predreg_num_passed(test_core_state()));
    EXPECT_STREQ("gtest", command);
}

TEST_F(test_core, a_child_has_no_live_counters) {
    uint64_t uses;
    char command[64];

    uct_predreg_live_start(test_core_state());
    uct_predreg_publish(test_core_state());
    child process([&]() -> int {
        uct_predreg_live_reset(test_core_state());
        return test_core_read_live(&uses, command, sizeof(command));
    });
    EXPECT_EQ(0, process.reap());
    /* Those of the parent can be read as before */
    EXPECT_TRUE(test_core_read_live(&uses, command, sizeof(command)));
}

TEST_F(test_core, processes_of_a_node_meet_for_their_bounds) {
    EXPECT_EQ(UCS_OK, uct_predreg_node_join_bounds(&test_core_state()->knobs));
    EXPECT_FALSE(uct_predreg_node() != nullptr);

    set("NODE_MAX_PINNED", "1G");
    EXPECT_EQ(UCS_OK, uct_predreg_node_join_bounds(&test_core_state()->knobs));
    EXPECT_TRUE(uct_predreg_node() != nullptr);
    uct_predreg_node_join(); /* It is there */
    uct_predreg_node_leave();
    EXPECT_FALSE(uct_predreg_node() != nullptr);
}

TEST_F(test_core, a_process_alone_has_a_seat) {
    ucs_rcache_pred_thread_t *thread;
    ucs_rcache_pred_seat_t seat;

    uct_predreg_seat_init();
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_thread_create(&thread));
    uct_predreg_seat(thread, 1, &seat);
    EXPECT_EQ(0, seat.idle) << "it is not known what is idle";
    EXPECT_EQ(1u, seat.sharers);
    EXPECT_EQ(1, seat.share);
    ucs_rcache_pred_thread_destroy(thread);
}

TEST_F(test_core, a_process_of_a_node_has_a_seat) {
    ucs_rcache_pred_thread_t *thread;
    ucs_rcache_pred_seat_t seat;

    uct_predreg_seat_init();
    uct_predreg_node_join();
    ASSERT_TRUE(uct_predreg_node() != nullptr);
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_thread_create(&thread));
    uct_predreg_seat(thread, 1, &seat);
    EXPECT_GE(seat.sharers, 1u);
    EXPECT_GT(seat.share, 0);
    EXPECT_LE(seat.share, 1);
    ucs_rcache_pred_thread_destroy(thread);
}

/* Recording a trace */
class test_record : public test_core {
protected:
    static void record_domain(const char *name)
    {
        uct_predreg_domain_t domain = {};

        strcpy(domain.name, name);
        uct_predreg_record_domain(test_core_state(), &domain, "ib");
    }

    /* The only file in the folder, or "" */
    std::string file(const std::string &folder)
    {
        std::string path;

        for (auto &entry : std::filesystem::directory_iterator(folder)) {
            EXPECT_EQ("", path);
            path = entry.path();
        }
        return path;
    }

    /* A trace in the text form */
    static std::string as_text(const std::string &path)
    {
        ucs_rcache_trace_t *trace;
        char *text  = NULL;
        size_t size = 0;

        if (ucs_rcache_trace_load(path.c_str(), &trace) != UCS_OK) {
            return "";
        }

        FILE *stream = open_memstream(&text, &size);
        EXPECT_EQ(UCS_OK, ucs_rcache_trace_print(trace, stream));
        fclose(stream);
        ucs_rcache_trace_free(trace);

        const std::string result(text, size);
        free(text);
        return result;
    }
};

TEST_F(test_record, nothing_without_a_folder) {
    EXPECT_FALSE(uct_predreg_is_traced(&test_core_state()->knobs));
    uct_predreg_record_observe(test_core_state());
    EXPECT_FALSE(uct_predreg_recorder(test_core_state()) != nullptr);
    record_domain("mlx");
    uct_predreg_record_finish(test_core_state());
}

TEST_F(test_record, a_file_says_what_process_it_is_of) {
    const std::string folder = m_folder + "/traces";

    set("TRACE", folder);
    set("HELPER", "progress");
    test_core_state()->rank = 3;
    test_core_state()->real.ucp_get_version = [](unsigned *major, unsigned *minor,
                                           unsigned *release) {
        *major   = 1;
        *minor   = 13;
        *release = 1;
    };
    scoped_variable size("OMPI_COMM_WORLD_SIZE", "4");
    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));
    ASSERT_TRUE(uct_predreg_recorder(test_core_state()) != nullptr);
    record_domain("mlx5_0");
    uct_predreg_record_finish(test_core_state());

    const std::string path = file(folder);
    EXPECT_EQ(folder + "/rank-0003.", path.substr(0, folder.size() + 11));
    EXPECT_EQ("." + std::to_string(getpid()) + ".trace",
              path.substr(path.size() - std::to_string(getpid()).size() - 7));

    const std::string text = as_text(path);
    for (auto word : {"rank", "size", "command", "knob.HISTORY", "clock_end_ns",
                      "ucx_version", "1.13.1", "mlx5_0"}) {
        EXPECT_NE(std::string::npos, text.find(word)) << word;
    }
}

TEST_F(test_record, a_second_file_of_the_same_name_has_a_number) {
    char host[256];

    set("TRACE", m_folder);
    set("HELPER", "progress");
    gethostname(host, sizeof(host));
    const std::string name = m_folder + "/proc." + host + "." +
                             std::to_string(getpid());
    std::ofstream(name + ".trace") << "another program";
    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));
    record_domain("mlx5_0");
    EXPECT_TRUE(std::filesystem::exists(name + "-2.trace"));
    EXPECT_EQ("another program", read(name + ".trace"));
}

TEST_F(test_record, a_folder_that_cannot_be_made_is_told) {
    set("TRACE", m_folder + "/missing/traces");
    set("HELPER", "progress");
    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));
    record_domain("mlx5_0");
    EXPECT_EQ(0u, log_watch::take().find("UCX_RCACHE_PRED_TRACE=" + m_folder +
                                         "/missing/traces: cannot create "));
}

TEST_F(test_record, a_child_leaves_the_file_to_its_parent) {
    set("TRACE", m_folder);
    set("HELPER", "progress");
    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));
    child process([] {
        uct_predreg_record_reset(test_core_state());
        return uct_predreg_recorder(test_core_state()) != nullptr;
    });
    EXPECT_EQ(0, process.reap());
    EXPECT_TRUE(uct_predreg_recorder(test_core_state()) != nullptr);
}
