/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
}

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

class test_progress_line : public command_test {
protected:
    /* Work on three traces, the second of which takes longer than people wait */
    static int work(int argc, char **argv)
    {
        predreg_progress(0, 3);
        predreg_progress_part("early");
        predreg_progress(1, 3);
        usleep(600000);
        predreg_progress_part("predict");
        predreg_error("text");
        predreg_progress(2, 3);
        predreg_progress(3, 3);
        return 0;
    }

    /* The same with a terminal as standard error, of which argv has the name */
    static int work_on_terminal(int argc, char **argv)
    {
        dup2(open(argv[1], O_RDWR | O_NOCTTY), STDERR_FILENO);
        return work(argc, argv);
    }
};

TEST_F(test_progress_line, on_a_terminal) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    char text[1000];

    ASSERT_EQ(0, grantpt(terminal));
    ASSERT_EQ(0, unlockpt(terminal));
    std::string name = ptsname(terminal);
    int keeper       = open(name.c_str(), O_RDWR | O_NOCTTY);
    EXPECT_EQ(0, call_in_child(work_on_terminal, {name}));
    ssize_t length = ::read(terminal, text, sizeof(text));
    ASSERT_GT(length, 0);
    EXPECT_EQ("\rtrace 2 of 3: predict\033[K\r\033[Kucx_predreg: text\r\n",
              std::string(text, length));
    close(keeper);
    close(terminal);
}

TEST_F(test_progress_line, not_in_a_file) {
    EXPECT_EQ(0, call_in_child(work, {}));
    EXPECT_EQ("ucx_predreg: text\n", m_errors);
}
