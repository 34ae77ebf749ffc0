/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/message.h>
#include <tools/predreg/report.h>
#include <trace/trace.h>
}

#include <sys/resource.h>

#include <filesystem>

class test_report_command : public command_test {
protected:
    void expect_refused(const std::vector<std::string> &args, int status,
                        const std::string &message)
    {
        EXPECT_EQ(status, call(predreg_report, args));
        EXPECT_TRUE(contains(m_errors, message)) << m_errors;
    }
};

TEST_F(test_report_command, page) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, call(predreg_report, {"-o", "-", folder})) << m_errors;
    EXPECT_TRUE(contains(m_output, "</html>"));
    std::string page = m_output;

    std::filesystem::current_path(path(""));
    EXPECT_EQ(0, call(predreg_report, {folder})) << m_errors;
    EXPECT_EQ("", m_output);
    EXPECT_TRUE(contains(read("report.html"), "</html>"));

    EXPECT_EQ(0, call(predreg_report, {"--output", "other.html", folder}));
    EXPECT_TRUE(exists("other.html"));
}

/* A job of ten times as many ranks needs no more memory, which is only enough
 * for some of its traces at a time */
TEST_F(test_report_command, one_trace_at_a_time) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the address sanitizer keeps memory that was freed";
#endif
    const unsigned num_events = 10000;
    std::string small         = make_folder("small");
    std::string large         = make_folder("large");
    std::string events;
    struct rusage before, after;

    for (unsigned i = 0; i < num_events; i++) {
        events += "unmap " + std::to_string(i) + ".0 0x1000 4096\n";
    }
    for (unsigned rank = 0; rank < 40; ++rank) {
        std::string trace = "ucx_predreg trace 1\nmeta rank " +
                            std::to_string(rank) + "\n" + events;
        std::string name  = std::to_string(rank) + ".trace";

        make_file("large/" + name, trace);
        if (rank < 4) {
            make_file("small/" + name, trace);
        }
    }

    std::string output = path("page.html");
    EXPECT_EQ(0, call_in_child(predreg_report, {"-o", output, small}));
    getrusage(RUSAGE_CHILDREN, &before);
    EXPECT_EQ(0, call_in_child(predreg_report, {"-o", output, large}));
    getrusage(RUSAGE_CHILDREN, &after);
    /* In KiB: the events of 8 traces */
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss,
              (long)(8 * num_events * sizeof(ucs_rcache_pred_event_t) / 1024));
}

TEST_F(test_report_command, bad_arguments) {
    std::string folder = make_job("job", 1);

    expect_refused({}, PREDREG_EXIT_USAGE, "report: 0 arguments; accepted: ");
    expect_refused({"--wrong"}, PREDREG_EXIT_USAGE, "report --help");
    expect_refused({path("none")}, EXIT_FAILURE, "No such file");
    expect_refused({"-o", path("no/page.html"), folder}, EXIT_FAILURE,
                   "report: cannot write to '" + path("no/page.html") + "'");
    EXPECT_EQ(0, call_in_child(predreg_report, {"--help"}));
    EXPECT_EQ(0u, m_output.find("usage: ucx_predreg report [OPTIONS]"));
}
