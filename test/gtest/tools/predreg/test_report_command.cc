/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/message.h>
#include <tools/predreg/report.h>
}

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
