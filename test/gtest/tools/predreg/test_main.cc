/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

#include <fcntl.h>
#include <unistd.h>

#include <sstream>

/* The program as it was built: which command it runs, and what it says if there
 * is no such command. (Each command has tests of its own.) */
class test_main : public command_test {
protected:
    static int execute(int argc, char **argv)
    {
        argv[0] = (char*)"ucx_predreg";
        execv(TEST_TOP_BUILDDIR "/src/tools/predreg/ucx_predreg", argv);
        return 127;
    }

    int run(const std::vector<std::string> &args)
    {
        return call_in_child(execute, args);
    }

    /* No line of what was printed is longer than a terminal is wide */
    void expect_narrow()
    {
        std::istringstream lines(m_output);
        std::string line;

        while (std::getline(lines, line)) {
            EXPECT_GE(80u, line.size()) << line;
        }
    }

    static constexpr const char *COMMANDS[] = {"run", "record", "dump", "stat",
                                               "replay", "report", "info",
                                               "calibrate", "knobs"};
};

TEST_F(test_main, help) {
    for (std::string option : {"-h", "--help", "help"}) {
        EXPECT_EQ(0, run({option}));
        EXPECT_EQ(0u, m_output.find("usage: ucx_predreg COMMAND [OPTIONS]\n"));
        EXPECT_EQ("", m_errors);
        EXPECT_EQ(0, run({"help", option}));
        EXPECT_EQ(0u, m_output.find("usage: ucx_predreg COMMAND [OPTIONS]\n"));
        for (const char *command : COMMANDS) {
            EXPECT_TRUE(contains(m_output, std::string("\n  ") + command + " "))
                    << command;
        }
    }
}

TEST_F(test_main, version) {
    EXPECT_EQ(2, run({"version", "x"}));
    EXPECT_EQ("ucx_predreg: version: 'x'; accepted: no argument\n", m_errors);
    EXPECT_EQ(0, run({"help", "version"}));
    for (std::string option : {"-V", "--version", "version"}) {
        EXPECT_EQ(0, run({option}));
        EXPECT_EQ(0u, m_output.find("ucx_predreg ")) << m_output;
        EXPECT_TRUE(contains(m_output, " (built with UCX 1.")) << m_output;
    }
}

TEST_F(test_main, no_command) {
    EXPECT_EQ(2, run({}));
    EXPECT_EQ("", m_output);
    EXPECT_EQ(0u, m_errors.find("usage: "));
}

TEST_F(test_main, unknown_command) {
    EXPECT_EQ(2, run({"replai"}));
    EXPECT_EQ("ucx_predreg: unknown command 'replai', the nearest is replay; accepted: "
              "run, record, dump, stat, replay, report, info, calibrate, explain, knobs, "
              "help, version\n", m_errors);
    EXPECT_EQ(2, run({"verison"}));
    EXPECT_TRUE(contains(m_errors, "the nearest is version")) << m_errors;
    EXPECT_EQ(2, run({"gibberish"}));
    EXPECT_FALSE(contains(m_errors, "nearest")) << m_errors;
    EXPECT_EQ(2, run({"help", "replai"}));
    EXPECT_TRUE(contains(m_errors, "the nearest is replay")) << m_errors;
}

TEST_F(test_main, every_command_knows_its_name) {
    for (std::string command : COMMANDS) {
        EXPECT_EQ(0, run({command, "--help"}));
        EXPECT_TRUE(contains(m_output, "ucx_predreg " + command)) << m_output;
        std::string help = m_output;
        EXPECT_EQ(0, run({"help", command}));
        EXPECT_EQ(help, m_output);
        expect_narrow();

        EXPECT_EQ(2, run({command, "--no-such-option"})) << command;
        EXPECT_TRUE(contains(m_errors, "ucx_predreg " + command + ": "))
                << m_errors;
    }
}

/* Each knob has an example that the knob accepts */
TEST_F(test_main, knobs) {
    std::string line;
    unsigned num = 0;

    EXPECT_EQ(2, run({"knobs", "BUDGET"}));
    EXPECT_EQ("ucx_predreg: knobs: 'BUDGET'; accepted: no argument\n", m_errors);
    EXPECT_EQ(0, run({"knobs"}));
    expect_narrow();
    EXPECT_TRUE(contains(m_output, "UCX_RCACHE_PRED_BUDGET=1\n  What ")) << m_output;
    EXPECT_TRUE(contains(m_output, " off          - nobody"));
    EXPECT_FALSE(contains(m_output, "PRED_DQ_SIZE"));
    std::istringstream lines(m_output);
    while (std::getline(lines, line)) {
        size_t begin = line.find("--set "), end = line.find(" -- ./app");
        if (begin == std::string::npos) {
            continue;
        }
        ++num;
        EXPECT_NE(0, run({"run", "--set", line.substr(begin + 6, end - begin - 6),
                          "/nowhere/app"}));
        EXPECT_TRUE(contains(m_errors, "cannot run '/nowhere/app'")) << m_errors;
    }
    EXPECT_LE(20u, num);
}

TEST_F(test_main, output_that_is_lost_is_an_error) {
    auto to_full_disk = [](int argc, char **argv) {
        dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
        return execute(argc, argv);
    };

    EXPECT_EQ(1, call_in_child(to_full_disk, {"--version"}));
    for (const char *command : COMMANDS) {
        EXPECT_EQ(1, call_in_child(to_full_disk, {command, "--help"}));
        EXPECT_EQ("ucx_predreg: cannot write to the standard output: No space "
                  "left on device\n", m_errors) << command;
    }
}

TEST_F(test_main, what_the_libraries_log_is_an_error) {
    make_file("a.trace", "no trace");
    EXPECT_EQ(1, run({"dump", "a.trace"}));
    EXPECT_EQ("", m_output);
    EXPECT_EQ(0u, m_errors.find("ucx_predreg: ")) << m_errors;
    EXPECT_TRUE(contains(m_errors, "a.trace")) << m_errors;
}
