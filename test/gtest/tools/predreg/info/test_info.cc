/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>
#include <common/sanitizer.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/info/info.h>
}

/* The sub-command as it was built, in this process: UCX is loaded by the probe.
 * What comes of it on which machine is tested by test/info.sh. */
class test_info : public command_test {
protected:
    int info(const std::vector<std::string> &args)
    {
        return call(from_build, args);
    }

    /* As a program in whose folder there is nothing else */
    int info_alone(const std::vector<std::string> &args)
    {
        return call(predreg_info, args);
    }

private:
    static int from_build(int argc, char **argv)
    {
        optind = 0;
        return predreg_info_from(TEST_TOP_BUILDDIR "/src/tools/predreg", argc,
                                 argv);
    }
};

TEST_F(test_info, text) {
    if (ADDRESS_SANITIZER) {
        GTEST_SKIP() << "the library cannot be preloaded into the probe";
    }

    int status = info({});

    EXPECT_TRUE((status == 0) || (status == 1)) << status;
    EXPECT_EQ("", m_errors);
    for (std::string part : {"Versions\n", "\nUCX\n", "\nMemory domains\n",
                             "\nMemory\n", "\nProcessors\n", "\nResult\n",
                             "libucp.so.0", ", known\n",
                             "\n  memory events    "}) {
        EXPECT_TRUE(contains(m_output, part)) << part << m_output;
    }
    EXPECT_EQ(status == 1, contains(m_output, "nothing would be managed\n"));
    EXPECT_EQ(status == 0, contains(m_output, "memory would be managed\n"));
}

TEST_F(test_info, leave_pinned) {
    setenv("UCX_RCACHE_PRED_MAX_REGIONS", "100", 1);
    setenv("UCX_RCACHE_PRED_NODE_MAX_REGIONS", "200", 1);
    EXPECT_EQ(1, info({"--set", "POLICY=leave-pinned",
                       "sh"}));
    for (std::string part : {"  policy           leave-pinned\n",
                             "  MAX_REGIONS      100\n",
                             "  NODE_MAX_REGIONS 200\n",
                             "the command is not linked with UCX",
                             "  UCX_RCACHE_PRED_POLICY=leave-pinned\n"}) {
        EXPECT_TRUE(contains(m_output, part)) << part << m_output;
    }
}

/* This process loads no UCX but UCS, which the tools use */
TEST_F(test_info, json) {
    EXPECT_EQ(1, info({"--json", "--set", "WINDO=9"}));
    EXPECT_EQ("", m_errors);
    EXPECT_EQ(0u, m_output.find("{\"type\":\"info\",\"ucx_predreg\":\""));
    EXPECT_EQ(m_output.size() - 1, m_output.find('\n'));
    for (std::string part : {"\"known\":true", "\"tried\":null",
                             "\"works\":false}", "\"max_pinned\":null",
                             "\"problems\":[{\"what\":\"UCX_RCACHE_PRED_WINDO: "
                             "there is no knob"}) {
        EXPECT_TRUE(contains(m_output, part)) << part << m_output;
    }
}

TEST_F(test_info, other_commands) {
    std::string script   = make_file("script", "#!/bin/sh\n", 0755);
    std::string launcher = make_file("srun", "#!/bin/sh\necho slurm 1.2", 0755);

    info({script});
    EXPECT_TRUE(contains(m_output, "the command is a script")) << m_output;
    info({launcher, "-n", "3", "x"});
    EXPECT_TRUE(contains(m_output, "the command is a launcher")) << m_output;
    EXPECT_TRUE(contains(m_output, "srun: slurm 1.2\n")) << m_output;
    EXPECT_TRUE(contains(m_output, ", 3 of the command, on one node\n")) << m_output;
    EXPECT_EQ(PREDREG_EXIT_NOT_FOUND, info({"nonesuch"}));
    EXPECT_TRUE(contains(m_errors, "'nonesuch' was not found, or is no "
                                    "file that may be executed")) << m_errors;
    EXPECT_EQ(PREDREG_EXIT_USAGE, info({"--nonesuch"}));
}

TEST_F(test_info, nothing_installed) {
    EXPECT_EQ(1, info_alone({"--library", "/nonesuch"}));
    EXPECT_TRUE(contains(m_output, "--library: '/nonesuch': No such file"))
            << m_output;
    EXPECT_EQ("", m_errors);
}


class test_info_options : public command_test {
protected:
    int parse(const std::vector<std::string> &args)
    {
        std::vector<std::string> all = {"ucx_predreg info"};

        all.insert(all.end(), args.begin(), args.end());
        string_vector vector(all);
        optind     = 0;
        int status = capture([&] {
            return predreg_info_parse("info", "", "", vector.count(), vector.get(),
                                      &m_opts);
        });
        m_command = (status == 0) ? strings_of((char**)m_opts.command) :
                                    std::vector<std::string>();
        m_library = (m_opts.library == NULL) ? "-" : m_opts.library;
        return status;
    }

    static unsigned processes(const std::vector<std::string> &args)
    {
        string_vector vector(args);
        return predreg_facts_processes(vector.get());
    }

    predreg_info_opts_t      m_opts = {};
    /* Copies: the arguments are gone when parse() has returned */
    std::vector<std::string> m_command;
    std::string              m_library;
};

TEST_F(test_info_options, none) {
    EXPECT_EQ(0, parse({}));
    EXPECT_FALSE(m_opts.json);
    EXPECT_EQ("-", m_library);
    EXPECT_TRUE(m_command.empty());
}

TEST_F(test_info_options, command) {
    using strings = std::vector<std::string>;

    EXPECT_EQ(0, parse({"--json", "mpirun", "--json", "-np", "2"}));
    EXPECT_TRUE(m_opts.json);
    EXPECT_EQ(strings({"mpirun", "--json", "-np", "2"}), m_command);

    EXPECT_EQ(0, parse({"--library", "/x", "--", "--json"}));
    EXPECT_FALSE(m_opts.json);
    EXPECT_EQ("/x", m_library);
    EXPECT_EQ(strings({"--json"}), m_command);
}

/* Whether the value is good is told later, as what is wrong in the environment */
TEST_F(test_info_options, set) {
    EXPECT_EQ(0, parse({"--set", "window=many"}));
    EXPECT_EQ("many", variable("UCX_RCACHE_PRED_WINDOW"));
}

TEST_F(test_info_options, refused) {
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"--set", "WINDOW"}));
    EXPECT_TRUE(contains(m_errors, "--set: 'WINDOW'; accepted: KNOB=VALUE"));
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"--xml"}));
    EXPECT_TRUE(contains(m_errors, "info --help lists what is accepted"));
}

TEST_F(test_info_options, processes) {
    EXPECT_EQ(1u, processes({}));
    EXPECT_EQ(1u, processes({"mpirun"}));
    EXPECT_EQ(4u, processes({"mpirun", "-x", "A", "-np", "4", "prog"}));
    EXPECT_EQ(4u, processes({"/usr/bin/srun", "-n", "4", "prog"}));
    EXPECT_EQ(1u, processes({"mpirun", "-np"}));
    EXPECT_EQ(8u, processes({"mpirun", "-np", "64", "-npernode", "8", "prog"}));
    EXPECT_EQ(8u, processes({"srun", "--ntasks-per-node", "8", "-n", "64", "prog"}));
    EXPECT_EQ(1u, processes({"mpirun", "-np", "x"}));
    /* These are the arguments of a program */
    EXPECT_EQ(1u, processes({"prog", "-np", "4"}));
}
