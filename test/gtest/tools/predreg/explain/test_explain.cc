/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
}

#define REG_MR "UCX  ERROR ibv_reg_mr(address=0x1, length=2, access=0xf) failed: "

class test_explain : public command_test {
protected:
    /* The beginning of what is printed of an output, or its exit status */
    std::string explain(const std::string &output)
    {
        int status = call(predreg_explain, {make_file("output", output)});

        return (status == 0) ? m_output.substr(0, m_output.find(':')) :
                               std::to_string(status);
    }
};

/* Parts of words are near each other; the first part may come before by itself */
TEST_F(test_explain, parts) {
    std::string far(1000, 'x');

    EXPECT_EQ("1", explain("CREATE_MKEY" + far + "limits exceeded"));
    EXPECT_EQ("keys", explain("CREATE_MKEY " + far + " CREATE_MKEY(0x200) limits exceeded"));
    EXPECT_TRUE(contains(m_output, "line 1: CREATE_MKEY(0x200) limits")) << m_output;
}

TEST_F(test_explain, first_error) {
    EXPECT_EQ("network", explain("Transport retry count exceeded\n"
                                 REG_MR "Cannot allocate memory\n"
                                 REG_MR "Cannot allocate memory\n"));
    EXPECT_TRUE(contains(m_output, "\nregistration: ")) << m_output;
    EXPECT_TRUE(contains(m_output, "\n  line 2: ")) << m_output;
    EXPECT_FALSE(contains(m_output, "\n  line 3: ")) << m_output;
}

TEST_F(test_explain, words_that_say_little) {
    EXPECT_EQ("mpi", explain("MPI_ERR_INTERN: internal error\n"));
    EXPECT_EQ("registration", explain("MPI_ERR_INTERN: internal error\n"
                                      REG_MR "Cannot allocate memory\n"));
    EXPECT_FALSE(contains(m_output, "mpi: ")) << m_output;
}

TEST_F(test_explain, warnings) {
    const std::string warning = "UCX  WARN  transport 'ib' is not available, please use "
                                "one or more of: tcp\n";
    const std::string error   = REG_MR "Cannot allocate memory\n";

    EXPECT_EQ("transport", explain(warning));
    EXPECT_EQ("registration", explain(warning + error));
    EXPECT_TRUE(contains(m_output, "\ntransport: ")) << m_output;
    EXPECT_EQ("registration", explain(error + warning));
    EXPECT_EQ("transport", explain(warning + "Destination is unreachable\n"));
    EXPECT_TRUE(contains(m_output, "\n  line 2: ")) << m_output;
    EXPECT_FALSE(contains(m_output, "\n  line 1: ")) << m_output;
}

/* Only numbers are between these parts */
TEST_F(test_explain, numbers) {
    EXPECT_EQ("killed", explain("task 3: Out Of Memory"));
    EXPECT_EQ("killed", explain("tasks [0-3,7]: Out Of Memory"));
    EXPECT_EQ("memory", explain("task 3: x: Out Of Memory"));
}

/* Words within a line count before those that begin in the line before */
TEST_F(test_explain, joined) {
    EXPECT_EQ("killed", explain("CUDA error handler\nstd::bad_alloc\n"));
    EXPECT_EQ("gpu-memory", explain("CUDA error: std::bad_alloc\n"));
    EXPECT_EQ("registration", explain(REG_MR "\nCannot allocate memory\n"));
}

TEST_F(test_explain, lines) {
    EXPECT_EQ("1", explain(""));
    for (auto level : {"TRACE", "DEBUG", "INFO", "DIAG"}) {
        EXPECT_EQ("1", explain(std::string("UCX  ") + level + " Out of memory: Killed\n"));
    }
    EXPECT_EQ("killed", explain("UCX  DEBUG x\nOut of memory: Killed"));
    EXPECT_EQ("registration", explain(REG_MR "Cannot\r\n  allocate\tmemory\n"));
    EXPECT_EQ("registration", explain(REG_MR "Cannot alloc\nate memory\n"));
    EXPECT_TRUE(contains(m_output, "  line 2: ")) << m_output;

    /* A part of a line that is longer than what is kept of it */
    for (size_t before = 4000; before < 4400; before += 20) {
        EXPECT_EQ("registration", explain("\n" + std::string(before, 'x') + " " REG_MR
                                          "Cannot allocate memory"));
        EXPECT_TRUE(contains(m_output, "  line 2: ")) << before;
    }

    EXPECT_EQ("keys", explain(std::string("\xff\0\x1b[31m ", 8) + REG_MR
                              "Resource temporarily unavailable\n"));
    EXPECT_TRUE(contains(m_output, "  line 1: ? [31m UCX ERROR")) << m_output;
}

TEST_F(test_explain, bad_input) {
    EXPECT_EQ(PREDREG_EXIT_USAGE, call(predreg_explain, {path("none")}));
    EXPECT_TRUE(contains(m_errors, "No such file")) << m_errors;
    EXPECT_EQ(PREDREG_EXIT_USAGE, call(predreg_explain, {make_folder("folder")}));
    EXPECT_TRUE(contains(m_errors, "Is a directory")) << m_errors;
    EXPECT_EQ(PREDREG_EXIT_USAGE, call(predreg_explain, {}));
    EXPECT_EQ(PREDREG_EXIT_USAGE, call(predreg_explain, {"--no-such-option", "-"}));
}
