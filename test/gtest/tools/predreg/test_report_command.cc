/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>
#include <common/sanitizer.h>

extern "C" {
#include <common/c_access.h>
#include <tools/predreg/common/command.h>
#include <tools/trace/trace.h>
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

    /* All that was logged, of which this is a part, is as it should be */
    void expect_logged(const std::string &part)
    {
        std::string all, line;

        while ((line = log_watch::take()) != "") {
            all += line;
        }
        EXPECT_TRUE(contains(all, part)) << all;
    }

    enum { NOT_REACHED, WENT_ON = 77 };

    static int report_without_memory(int argc, char **argv)
    {
        test_alloc_fail_nth(s_nth);
        int status = predreg_report(argc, argv);

        return test_alloc_failed() ? WENT_ON : status;
    }

    static unsigned s_nth; /* The allocation that fails */
};

unsigned test_report_command::s_nth;

TEST_F(test_report_command, page) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, call(predreg_report, {"-o", "-", folder})) << m_errors;
    EXPECT_TRUE(contains(m_output, "</html>"));
    std::string page = m_output;

    std::filesystem::current_path(path(""));
    EXPECT_EQ(0, call(predreg_report, {folder})) << m_errors;
    EXPECT_EQ(0u, m_output.find("Yes: ")) << m_output;
    EXPECT_TRUE(contains(m_output, " less registered memory on demand\n"
                                   "page: report.html\n")) << m_output;
    EXPECT_EQ(page, read("report.html"));

    EXPECT_EQ(0, call(predreg_report, {"--output", "other.html", folder}));
    EXPECT_TRUE(exists("other.html"));
}

TEST_F(test_report_command, json) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, call(predreg_report, {"--json", folder})) << m_errors;
    EXPECT_EQ(0u, m_output.find("{\"type\":\"report\",\"ucx_predreg\":"));
    EXPECT_EQ("}\n", m_output.substr(m_output.size() - 2));
    std::string json = m_output;

    EXPECT_EQ(0, call(predreg_report, {"--json", "-o", path("json"), folder}));
    EXPECT_EQ("", m_output);
    EXPECT_EQ(json, read("json"));
}

TEST_F(test_report_command, recording_is_not_written_over) {
    std::string folder = make_job("job", 2), file = folder + "/0.trace";
    std::string other  = make_file("other", read("job/1.trace"));
    std::string before = read("job/0.trace");

    expect_refused({"-o", file, file}, PREDREG_EXIT_USAGE,
                   "report: -o: '" + file + "' is what is read; accepted: ");
    expect_refused({"-o", file, folder}, PREDREG_EXIT_USAGE, "is what is read");
    expect_refused({"-o", folder, folder}, PREDREG_EXIT_USAGE,
                   "'" + folder + "' is what is read");
    expect_refused({"-o", other, folder}, PREDREG_EXIT_USAGE,
                   "'" + other + "' is a trace; accepted: another file");
    expect_refused({"-o", make_file("rank-0000.a.1.trace"), folder}, PREDREG_EXIT_USAGE,
                   "is a trace");
    expect_refused({"-o", make_folder("out"), folder}, PREDREG_EXIT_USAGE,
                   "'" + path("out") + "' is a folder; accepted: another file");
    EXPECT_EQ(before, read("job/0.trace"));
    EXPECT_EQ(read("job/1.trace"), read("other"));
}

/* A report that fails is not written, and the one before stays */
TEST_F(test_report_command, report_from_before_stays) {
    std::string output = make_file("out", "old");

    make_folder("bad");
    make_file("bad/0.trace", "ucx_predreg trace 1\nbegin here\n");
    expect_refused({"-o", output, path("bad")}, EXIT_FAILURE, "can be read");
    expect_logged("expected");
    EXPECT_EQ("old", read("out"));
}

/* The last allocations are those of the report itself */
TEST_F(test_report_command, without_memory_a_report_from_before_stays) {
    const std::string folder = make_job("job", 2);
    unsigned reached = 1, beyond = 2;
    auto report = [&](unsigned nth) {
        s_nth = nth;
        make_file("out", "old");
        return call_in_child(report_without_memory, {"-o", path("out"), folder});
    };

    while (report(beyond) != NOT_REACHED) {
        reached = beyond;
        beyond *= 2;
        ASSERT_LT(beyond, 1u << 24);
    }
    while (beyond - reached > 1) {
        unsigned middle = (reached + beyond) / 2;

        (report(middle) == NOT_REACHED ? beyond : reached) = middle;
    }

    for (unsigned nth = reached; nth > reached - 3; --nth) {
        EXPECT_EQ(PREDREG_EXIT_NO_MEMORY, report(nth)) << "allocation " << nth;
        EXPECT_EQ("old", read("out"));
    }
}

/* A job of ten times as many ranks needs no more memory, which is only enough
 * for some of its traces at a time */
TEST_F(test_report_command, one_trace_at_a_time) {
    if (ADDRESS_SANITIZER) {
        GTEST_SKIP() << "the address sanitizer keeps memory that was freed";
    }
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

/* A trace of which no program can be made let the whole report fail */
TEST_F(test_report_command, traces_left_out) {
    std::string folder = make_job("job", 2);
    std::string far    = make_file("job/far.trace", "ucx_predreg trace 1\n"
                                   "begin 1 0x200000000000000 1M\n");
    std::string empty  = make_file("job/empty.trace");
    /* Its registrations would take longer than a replay can count */
    std::string slow   = make_file("job/00.trace", read("job/0.trace") +
                                   "reg 9 0x1000 4096 duration=4000000000\n");

    EXPECT_EQ(0, call(predreg_report, {"-o", "-", folder}));
    EXPECT_TRUE(contains(m_errors, "'" + far + "' is left out")) << m_errors;
    EXPECT_TRUE(contains(m_errors, "'" + empty + "' is left out"));
    EXPECT_TRUE(contains(m_errors, "'" + slow + "' is left out"));
    EXPECT_TRUE(contains(m_output, "2 ranks"));
    EXPECT_TRUE(contains(m_output, "3 of 5 traces are damaged and left out"));
    expect_logged("beyond the end of the address");

    /* Nothing is left */
    folder = make_folder("bad");
    make_file("bad/far.trace", read("job/far.trace"));
    make_file("bad/slow.trace", read("job/00.trace"));
    EXPECT_EQ(EXIT_FAILURE, call(predreg_report, {"-o", "-", folder}));
    EXPECT_FALSE(contains(m_errors, "is left out")) << m_errors;
    EXPECT_EQ("", m_output);
    expect_logged("beyond the end of the address");
    EXPECT_EQ(EXIT_FAILURE, call(predreg_report, {"-o", "-", far}));
    EXPECT_FALSE(contains(m_errors, "is left out")) << m_errors;
    EXPECT_TRUE(contains(m_errors, "'" + far + "' cannot be replayed"));
    expect_logged("beyond the end of the address");
}

/* Whoever ran a program without RDMA learns what to look at */
TEST_F(test_report_command, no_rdma) {
    expect_refused({make_folder("job")}, EXIT_FAILURE,
                   "no process opened an RDMA device");
    EXPECT_TRUE(contains(m_errors, "ucx_info -d")) << m_errors;
}

/* What UCX registered for itself shows that a device was in use */
TEST_F(test_report_command, nothing_registered) {
    std::string text = "ucx_predreg trace 1\nmeta rank 0\nmeta clock_ns 1\n";

    make_folder("job");
    make_file("job/0.trace", text + "counter uses 0\n");
    EXPECT_EQ(0, call(predreg_report, {"-o", "-", path("job")}));
    EXPECT_TRUE(contains(m_output, "No RDMA device was opened")) << m_output;
    EXPECT_TRUE(contains(m_output, "ucx_info -d"));

    make_file("job/0.trace", text + "domain 0 mlx5_0\ncounter uses 0\n");
    EXPECT_EQ(0, call(predreg_report, {"-o", "-", path("job")}));
    EXPECT_TRUE(contains(m_output, "Nothing was registered for communication"));
    EXPECT_FALSE(contains(m_output, "No RDMA device was opened"));
    EXPECT_TRUE(contains(m_output, "UCX_RNDV_THRESH"));
}

/* What a registration costs came from a few first uses in each rank: one that
 * was held up by something else made a rank slower than all others */
class test_report_costs : public test_report_command {
protected:
    /* A job that was recorded under leave-pinned. Its ranks use three buffers
     * of 4 MiB over and over, and the first uses wait for times[rank] */
    std::string report(const std::vector<std::vector<unsigned>> &times)
    {
        std::string folder = make_folder("job");

        for (size_t rank = 0; rank < times.size(); ++rank) {
            std::string text = "ucx_predreg trace 1\nmeta rank " +
                               std::to_string(rank) +
                               "\nmeta policy leave-pinned\n";
            for (unsigned i = 0; i < 180; ++i) {
                std::string number = std::to_string(i % 3);

                text += "begin " + std::to_string(i + 1) + ".0 0x" + number +
                        "0000000 4M id=" + number + " duration=" +
                        std::to_string((i < 3) ? times[rank][i] : 1) + "us\n" +
                        "end " + std::to_string(i + 1) + ".5 id=" + number +
                        "\n";
            }
            make_file("job/" + std::to_string(rank) + ".trace", text);
        }
        EXPECT_EQ(0, call(predreg_report, {"-o", "-", folder})) << m_errors;
        return m_output.substr(0, m_output.find("id=\"curves\""));
    }

    static std::string heading(const std::string &page)
    {
        return page.substr(page.find("<h1>"), page.find("</h1>") -
                                              page.find("<h1>"));
    }
};

TEST_F(test_report_costs, one_was_held_up) {
    std::string calm = report({{200, 210, 205}, {200, 195, 200}});

    EXPECT_TRUE(contains(calm, "<h1>Yes:")) << heading(calm);
    EXPECT_FALSE(contains(calm, "differ")) << calm;
    EXPECT_EQ(0, call(predreg_report, {"-o", path("page"), path("job")}));
    EXPECT_EQ(0u, m_output.find("Yes: ")) << m_output;
    EXPECT_TRUE(contains(m_output, " less registered memory "));

    /* By 100 ms */
    std::string held = report({{200, 210, 205}, {100200, 195, 200}});
    EXPECT_EQ(heading(calm), heading(held));
    EXPECT_FALSE(contains(held, "differ")) << held;

    /* All of a rank, since it touches its memory first: that is told */
    held = report({{200, 210, 205}, {10200, 9900, 12000}});
    EXPECT_EQ(heading(calm), heading(held));
    EXPECT_TRUE(contains(held, "What registrations cost differs")) << held;
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
