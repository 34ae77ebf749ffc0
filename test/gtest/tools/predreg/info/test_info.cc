/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/message.h>
#include <tools/predreg/info/info.h>
#include <tools/predreg/info/json.h>
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

    static std::string json(const std::string &text)
    {
        char *result = NULL;
        size_t size  = 0;
        FILE *stream = open_memstream(&result, &size);

        predreg_json_string(stream, text.c_str());
        fclose(stream);
        std::string copy(result);
        free(result);
        return copy;
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
    EXPECT_EQ(0u, m_output.find("{\"ucx_predreg\":\""));
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
    EXPECT_TRUE(contains(m_output, ", 3 of the command\n")) << m_output;
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

TEST_F(test_info, json_strings) {
    EXPECT_EQ("\"\"", json(""));
    EXPECT_EQ("\"a\\\"\\\\b\\u000a\"", json("a\"\\b\n"));
    EXPECT_EQ("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
              json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    /* Cut off, too long forms, surrogates, beyond the last character */
    EXPECT_EQ("\"?\"", json("\xc3"));
    EXPECT_EQ("\"?a\"", json("\xff" "a"));
    EXPECT_EQ("\"??\"", json("\xc0\x80"));
    EXPECT_EQ("\"???\"", json("\xe0\x80\x80"));
    EXPECT_EQ("\"???\"", json("\xed\xa0\x80"));
    EXPECT_EQ("\"????\"", json("\xf0\x80\x80\x80"));
    EXPECT_EQ("\"????\"", json("\xf4\x90\x80\x80"));
    EXPECT_EQ("\"????\"", json("\xf5\x80\x80\x80"));
}
