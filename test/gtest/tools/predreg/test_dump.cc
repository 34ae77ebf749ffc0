/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/message.h>
#include <tools/predreg/dump.h>
}

class test_dump : public command_test {
protected:
    void expect_refused(const std::vector<std::string> &args, int status,
                        const std::string &message)
    {
        EXPECT_EQ(status, call(predreg_dump, args));
        EXPECT_TRUE(contains(m_errors, message)) << m_errors;
    }
};

TEST_F(test_dump, text) {
    make_job("job", 1);
    EXPECT_EQ(0, call(predreg_dump, {path("job/0.trace")}));
    EXPECT_EQ(0u, m_output.find("ucx_predreg trace 1\n")) << m_output;
    EXPECT_FALSE(contains(m_output, "# "));

    /* What was printed is a trace that is printed likewise */
    std::string text = m_output;
    EXPECT_EQ(0, call(predreg_dump, {make_file("again", text)}));
    EXPECT_EQ(text, m_output);
    EXPECT_EQ(0, call(predreg_dump, {"-o", path("out"), path("again")}));
    EXPECT_EQ("", m_output);
    EXPECT_EQ(text, read("out"));
}

TEST_F(test_dump, folder) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, call(predreg_dump, {folder}));
    EXPECT_EQ(0u, m_output.find("# " + folder + "/0.trace\n"));
    EXPECT_TRUE(contains(m_output, "\n# " + folder + "/1.trace\n"));
}

TEST_F(test_dump, binary) {
    make_job("job", 1);
    EXPECT_EQ(0, call(predreg_dump, {path("job/0.trace")}));
    std::string text = m_output;

    EXPECT_EQ(0, call(predreg_dump, {"--binary", "--output", path("binary"),
                                     path("job/0.trace")}));
    EXPECT_NE(text, read("binary"));
    EXPECT_EQ(0, call(predreg_dump, {path("binary")}));
    EXPECT_EQ(text, m_output);
}

TEST_F(test_dump, bad_arguments) {
    std::string folder = make_job("job", 2);

    expect_refused({}, PREDREG_EXIT_USAGE, "dump: 0 arguments; accepted: one");
    expect_refused({"a", "b"}, PREDREG_EXIT_USAGE, "dump: 2 arguments");
    expect_refused({"--wrong", "a"}, PREDREG_EXIT_USAGE, "dump --help");
    expect_refused({"--binary", "a"}, PREDREG_EXIT_USAGE, "--output FILE");
    expect_refused({"--binary", "-o", path("x"), folder}, EXIT_FAILURE,
                   "has 2 traces; --binary accepts one");
    expect_refused({path("none")}, EXIT_FAILURE, "No such file");
    EXPECT_EQ(0, call_in_child(predreg_dump, {"--help"}));
    EXPECT_EQ(0u, m_output.find("usage: ucx_predreg dump [OPTIONS]"));
}

TEST_F(test_dump, cannot_be_written) {
    std::string trace = make_job("job", 1) + "/0.trace";

    for (std::string output : {path("no/out"), std::string("/dev/full")}) {
        expect_refused({"-o", output, trace}, EXIT_FAILURE,
                       "dump: cannot write to '" + output + "'");
        expect_refused({"--binary", "-o", output, trace}, EXIT_FAILURE,
                       "dump: cannot write to '" + output + "'");
    }
}
