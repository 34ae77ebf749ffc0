/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/common/output.h>
}

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

class test_output : public command_test {
protected:
    /* Write a text to an output. @return the status of closing it */
    ucs_status_t write(const std::string &name, const std::string &text,
                       ucs_status_t status = UCS_OK)
    {
        return capture([&] {
            predreg_output_t output;
            ucs_status_t result = predreg_output_open("test", name.c_str(), &output);

            if (result == UCS_OK) {
                fputs(text.c_str(), output.stream);
                result = predreg_output_close(&output, status);
            }
            return result;
        });
    }

    /* How many files there are in the folder of this test */
    unsigned num_files()
    {
        std::filesystem::directory_iterator all{path("")};

        return std::distance(begin(all), end(all));
    }

    mode_t mode(const std::string &name)
    {
        struct stat st;

        EXPECT_EQ(0, stat(path(name).c_str(), &st));
        return st.st_mode & 0777;
    }

    /* A child that has half of a file, and ends as the first argument says */
    static int end_early(int argc, char **argv)
    {
        const struct rlimit limit = {1000, 1000};
        predreg_output_t output;

        predreg_output_open("test", argv[2], &output);
        fputs("half", output.stream);
        fflush(output.stream);
        if (!strcmp(argv[1], "memory")) {
            predreg_no_memory();
        } else if (!strcmp(argv[1], "signal")) {
            raise(SIGTERM);
        }

        /* As a full disk: the kernel does not write beyond the limit */
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        fputs(std::string(2000, 'x').c_str(), output.stream);
        return predreg_output_close(&output, UCS_OK) == UCS_OK;
    }

    /* A child that waits for such a child. @return the signal that has ended it */
    static int end_by_signal(int argc, char **argv)
    {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            _exit(end_early(argc, argv));
        }
        return (waitpid(pid, &status, 0) == pid) && WIFSIGNALED(status) ?
               WTERMSIG(status) : 0;
    }

    /* A program of several processes, one of which ends early */
    static int fork_once(int argc, char **argv)
    {
        predreg_output_t output;

        predreg_output_open("test", argv[1], &output);
        if (fork() == 0) {
            predreg_no_memory();
        }
        wait(NULL);
        return predreg_output_close(&output, UCS_OK) != UCS_OK;
    }
};

TEST_F(test_output, takes_the_place_of_the_file_when_it_is_whole) {
    predreg_output_t output;

    make_file("file", "old");
    ASSERT_EQ(UCS_OK, predreg_output_open("test", path("file").c_str(), &output));
    fputs("new", output.stream);
    fflush(output.stream);
    EXPECT_EQ("old", read("file"));
    EXPECT_EQ(UCS_OK, predreg_output_close(&output, UCS_OK));
    EXPECT_EQ("new", read("file"));
    EXPECT_EQ(1u, num_files());
}

TEST_F(test_output, error_leaves_the_file) {
    make_file("file", "old");
    EXPECT_EQ(UCS_ERR_CANCELED, write(path("file"), "new", UCS_ERR_CANCELED));
    EXPECT_EQ("", m_errors);
    errno = ENOSPC;
    EXPECT_EQ(UCS_ERR_IO_ERROR, write(path("file"), "new", UCS_ERR_IO_ERROR));
    EXPECT_TRUE(contains(m_errors, "test: cannot write to '" + path("file") + "': "));
    EXPECT_EQ("old", read("file"));
    EXPECT_EQ(1u, num_files());
}

TEST_F(test_output, program_that_ends_early_leaves_the_file) {
    make_file("file", "old");
    EXPECT_EQ(PREDREG_EXIT_NO_MEMORY,
              call_in_child(end_early, {"memory", path("file")}));
    EXPECT_EQ(0, call_in_child(end_early, {"disk", path("file")}));
    EXPECT_TRUE(contains(m_errors, "File too large")) << m_errors;
    EXPECT_EQ(SIGTERM, call_in_child(end_by_signal, {"signal", path("file")}));
    EXPECT_EQ("old", read("file"));
    EXPECT_EQ(3u, num_files()); /* With what was printed */
}

TEST_F(test_output, forked_process_leaves_the_temporary_file) {
    EXPECT_EQ(0, call_in_child(fork_once, {path("file")})) << m_errors;
}

TEST_F(test_output, mode) {
    mode_t mask = umask(027);

    EXPECT_EQ(UCS_OK, write(path("new"), ""));
    umask(mask);
    EXPECT_EQ(0640u, mode("new"));

    make_file("secret", "", 0600);
    EXPECT_EQ(UCS_OK, write(path("secret"), ""));
    EXPECT_EQ(0600u, mode("secret"));
}

TEST_F(test_output, link_stays) {
    make_file("file", "old");
    make_link("link", path("file"));
    make_link("loose", path("other"));
    EXPECT_EQ(UCS_OK, write(path("link"), "new"));
    EXPECT_EQ(UCS_OK, write(path("loose"), "new"));
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_TRUE(std::filesystem::is_symlink(path("loose")));
    EXPECT_EQ("newnew", read("file") + read("other"));
}

TEST_F(test_output, what_cannot_be_replaced_is_written_at_once) {
    std::string got;

    ASSERT_EQ(0, mkfifo(path("pipe").c_str(), 0600));
    std::thread reader([&] { std::getline(std::ifstream(path("pipe")), got); });
    EXPECT_EQ(UCS_OK, write(path("pipe"), "text"));
    reader.join();
    EXPECT_EQ("text", got);
    EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));

    for (const char *name : {"-", "/dev/stdout", "/dev/fd/1"}) {
        EXPECT_EQ(UCS_OK, write(name, "text"));
        EXPECT_EQ("text", m_output);
    }
    EXPECT_EQ(UCS_ERR_IO_ERROR, write("/dev/full", "text"));
    EXPECT_TRUE(contains(m_errors, "'/dev/full': No space left")) << m_errors;
    EXPECT_EQ(UCS_ERR_IO_ERROR, write(make_folder("folder"), "text"));
    EXPECT_TRUE(contains(m_errors, "folder': Is a directory")) << m_errors;
}
