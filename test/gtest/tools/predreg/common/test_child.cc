/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/child.h>
}

#include <fstream>
#include <unistd.h>

class test_info_child : public command_test {
protected:
    ~test_info_child() { predreg_child_cleanup(&m_child); }

    /* Run a script of the shell */
    void run(const char *script, int timeout = 30000,
             const predreg_child_var_t *vars = NULL)
    {
        const char *argv[]            = {"sh", "-c", script, NULL};
        predreg_child_params_t params = {argv, vars, timeout};

        predreg_child_cleanup(&m_child);
        predreg_child_run(&params, &m_child);
    }

    /* Whether a process is there and is no zombie, for which nobody has waited */
    static bool goes_on(pid_t pid)
    {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string number, name, state;

        return (stat >> number >> name >> state) && (state != "Z");
    }

    predreg_child_t m_child = {};
};

TEST_F(test_info_child, texts) {
    run("echo out; echo err >&2; echo said >&3; cat");
    EXPECT_TRUE(m_child.is_good);
    EXPECT_STREQ("out\nerr\n", m_child.printed);
    EXPECT_STREQ("said\n", m_child.said);
}

TEST_F(test_info_child, variables) {
    const predreg_child_var_t vars[] = {{"SET", "value"}, {"UNSET", NULL}, {}};

    setenv("UNSET", "1", 1);
    run("echo $SET ${UNSET-none}", 30000, vars);
    EXPECT_STREQ("value none\n", m_child.printed);
    EXPECT_EQ("-", variable("SET"));
    EXPECT_EQ("1", variable("UNSET"));
}

TEST_F(test_info_child, ends) {
    run("exit 3");
    EXPECT_FALSE(m_child.is_good);
    EXPECT_STREQ("ended with the status 3", m_child.end);

    run("echo before >&3; kill -SEGV $$");
    EXPECT_FALSE(m_child.is_good);
    EXPECT_STREQ("was ended by signal 11 (Segmentation fault)", m_child.end);
    EXPECT_STREQ("before\n", m_child.said);
}

TEST_F(test_info_child, hangs) {
    run("echo before; sleep 1000 & echo $! >&3; wait", 1000);
    EXPECT_FALSE(m_child.is_good);
    EXPECT_STREQ("did not end within 1 s", m_child.end);
    EXPECT_STREQ("before\n", m_child.printed);
    /* Nor does anything that it has started go on: it is gone, or dead */
    for (int i = 0; goes_on(atoi(m_child.said)); ++i) {
        ASSERT_LT(i, 1000);
        usleep(10000);
    }
}

TEST_F(test_info_child, much_text) {
    run("yes | head -c 1000000; echo end >&3");
    EXPECT_TRUE(m_child.is_good);
    EXPECT_EQ(256u << 10, strlen(m_child.printed));
    EXPECT_STREQ("end\n", m_child.said);
}

TEST_F(test_info_child, no_program) {
    const char *argv[]            = {"no-such-program", NULL};
    predreg_child_params_t params = {argv, NULL, 30000};

    predreg_child_run(&params, &m_child);
    EXPECT_STREQ("ended with the status 127", m_child.end);
}
