/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/run/run.h>
}

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

class test_start : public command_test {
protected:
    test_start() : m_library(make_file("lib.so", library_content()))
    {
        make_file("prog",
                  "#!/bin/sh\n{ echo \"args: $*\"; env; } > '" +
                  path("told") + "'\nexit 5\n", 0755);
    }

    /* Have a process become the command. @return its exit status */
    int run(const std::vector<std::string> &args,
            int (*command)(int argc, char **argv) = predreg_run)
    {
        int status = call_in_child(command, args);

        m_told = read("told");
        return status;
    }

    bool told(const std::string &line)
    {
        return contains("\n" + m_told, "\n" + line + "\n");
    }

    std::string prog() const { return path("prog"); }

    std::string m_library;
    std::string m_told;
};

TEST_F(test_start, program) {
    EXPECT_EQ(5, run({"--library", m_library, "--set", "window=1", prog(), "a",
                      "--b"}));
    EXPECT_TRUE(told("args: a --b"));
    EXPECT_TRUE(told("UCX_RCACHE_PRED_WINDOW=1"));
    EXPECT_TRUE(told("LD_PRELOAD=" + m_library)) << m_told;
}

TEST_F(test_start, stock_ucx_is_left_alone) {
    setenv("UCX_RCACHE_PRED_WINDOW", "1", 1);
    EXPECT_EQ(5, run({"--policy=leave-pinned", "--library=/none.so", prog()}));
    EXPECT_TRUE(told("args: "));
    EXPECT_FALSE(contains(m_told, "LD_PRELOAD"));
    EXPECT_FALSE(contains(m_told, "UCX_RCACHE_PRED_")) << m_told;
}

TEST_F(test_start, stock_ucx_with_something_to_tell) {
    EXPECT_EQ(5, run({"--policy=leave-pinned", "--summary", "--library",
                      m_library, prog()}));
    EXPECT_TRUE(told("LD_PRELOAD=" + m_library));
    EXPECT_TRUE(told("UCX_RCACHE_PRED_POLICY=leave-pinned"));

    setenv("LD_PRELOAD", "/x/" PREDREG_LIBRARY, 1);
    EXPECT_EQ(5, run({"--policy=leave-pinned", "--library", m_library,
                      prog()}));
    EXPECT_TRUE(told("UCX_RCACHE_PRED_POLICY=leave-pinned"));
}

TEST_F(test_start, launcher_that_is_asked) {
    std::string launcher = make_file(
            "mpirun",
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo Open MPI; exit; "
            "fi\n{ echo \"args: $*\"; env; } > '" + path("told") + "'\n", 0755);

    EXPECT_EQ(0, run({"--library", m_library, "--policy=on-demand", launcher,
                      "a.out"}));
    EXPECT_TRUE(contains(m_told, "args: -x LD_PRELOAD=" + m_library + " "));
    EXPECT_TRUE(contains(m_told, " -x UCX_RCACHE_PRED_POLICY=on-demand "));
    EXPECT_TRUE(contains(m_told, " a.out\n"));
    /* The launcher itself is not managed */
    EXPECT_FALSE(contains(m_told, "\nLD_PRELOAD="));
}

TEST_F(test_start, slurm) {
    std::string launcher = make_file("srun", read("prog"), 0755);

    setenv("SLURM_EXPORT_ENV", "HOME", 1);
    EXPECT_EQ(5, run({"--library", m_library, "--policy=predict", launcher,
                      "a.out"}));
    EXPECT_TRUE(told("LD_PRELOAD=" + m_library));
    EXPECT_TRUE(contains(m_told, "SLURM_EXPORT_ENV=HOME,LD_PRELOAD"));
    EXPECT_TRUE(contains(m_told, ",UCX_RCACHE_PRED_POLICY")) << m_told;
}

TEST_F(test_start, cannot_run) {
    EXPECT_EQ(PREDREG_EXIT_NOT_FOUND,
              run({"--library", m_library, path("none")}));
    EXPECT_TRUE(contains(m_errors, "cannot run '" + path("none") + "'"));
    EXPECT_EQ(PREDREG_EXIT_CANNOT_RUN,
              run({"--library", m_library, make_file("data")}));
    EXPECT_EQ(PREDREG_EXIT_NOT_FOUND, run({"--library=/none.so", prog()}));
    EXPECT_FALSE(exists("told"));
    EXPECT_EQ(PREDREG_EXIT_USAGE, run({}));
    EXPECT_EQ(0, run({"--help"}));
    EXPECT_EQ(0u, m_output.find("usage: ucx_predreg run [OPTIONS]"));
}

/* What was made for a command that does not run is not left behind */
TEST_F(test_start, nothing_is_left_of_what_did_not_run) {
    std::string folder = path("traces"), file = path("summary");

    for (const auto &command : {path("none"), make_file("data")}) {
        EXPECT_NE(0, run({"-o", folder, "--summary-file", file, "--library",
                          m_library, command}, predreg_record));
        EXPECT_FALSE(exists("traces"));
        EXPECT_FALSE(exists("summary"));
    }
    EXPECT_EQ(PREDREG_EXIT_NOT_FOUND,
              run({"-o", folder, "--library=/none.so", prog()},
                  predreg_record));
    EXPECT_FALSE(exists("traces"));
    EXPECT_EQ(PREDREG_EXIT_USAGE,
              run({"-o", path("no/traces"), "--summary-file", file, prog()},
                  predreg_record));
    EXPECT_FALSE(exists("summary"));
}

/* What was there before stays */
TEST_F(test_start, what_was_there_is_left) {
    std::string folder = make_folder("traces"), file = make_file("summary");

    EXPECT_NE(0, run({"-o", folder, "--summary-file", file, "--library", m_library,
                      path("none")}, predreg_record));
    EXPECT_TRUE(exists("traces"));
    EXPECT_TRUE(exists("summary"));

    EXPECT_EQ(5, run({"-o", folder, "--summary-file", path("new.txt"),
                      "--library", m_library, prog()}, predreg_record));
    EXPECT_TRUE(exists("traces"));
    EXPECT_TRUE(exists("new.txt"));
}

/* Record in a process group of its own, and wait until all have ended that have its
 * standard error open, as the process has that tells what was recorded. The command knows
 * the process that has become the command as RECORDER */
static int record_to_end(int argc, char **argv)
{
    char text[4096];
    ssize_t size;
    int fds[2];
    int status;
    pid_t pid;

    if (pipe(fds) != 0) {
        return -1;
    }

    pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        setenv("RECORDER", std::to_string(getpid()).c_str(), 1);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        _exit(predreg_record(argc, argv));
    }

    close(fds[1]);
    while ((size = read(fds[0], text, sizeof(text))) > 0) {
        EXPECT_EQ(size, write(STDERR_FILENO, text, size));
    }
    EXPECT_EQ(pid, waitpid(pid, &status, 0));
    return WIFSIGNALED(status) ? (128 + WTERMSIG(status)) : WEXITSTATUS(status);
}

TEST_F(test_start, record) {
    std::string folder   = path("traces");
    std::string recorder = make_file("recorder", "#!/bin/sh\nexec > '" + path("told") +
            "'\nenv\n: > \"$UCX_RCACHE_PRED_TRACE/rank-0.trace\"\nexit $1\n", 0755);

    for (int status : {0, 5}) {
        EXPECT_EQ(status, run({"-o", folder, "--force", "--library", m_library, recorder,
                               std::to_string(status)}, record_to_end));
        EXPECT_TRUE(told("UCX_RCACHE_PRED_TRACE=" + folder));
        EXPECT_TRUE(contains(m_errors, "ucx_predreg: 1 trace in '" + folder + "'; next: "
                                       "ucx_predreg report " + folder + "\n")) << m_errors;
    }
    EXPECT_EQ(0, run({"--help"}, predreg_record));
    EXPECT_EQ(0u, m_output.find("usage: ucx_predreg record [OPTIONS]"));
}

TEST_F(test_start, record_of_nothing) {
    EXPECT_EQ(5, run({"-o", path("traces"), "--library", m_library, prog()},
                     record_to_end));
    EXPECT_TRUE(contains(m_errors, "ucx_predreg: no traces in '" + path("traces") +
                                   "' yet: ")) << m_errors;
    EXPECT_TRUE(exists("traces")); /* What the command has left running may record */

    EXPECT_NE(0, run({"-o", path("none"), "--library", m_library, path("no/program")},
                     record_to_end));
    EXPECT_FALSE(contains(m_errors, "no traces")) << m_errors;

    /* Found, and the process that tells was started, but it cannot be run */
    EXPECT_NE(0, run({"-o", path("none"), "--library", m_library,
                      make_file("bad", "#!/no/shell\n", 0755)}, record_to_end));
    EXPECT_TRUE(contains(m_errors, "cannot run")) << m_errors;
    EXPECT_FALSE(contains(m_errors, "no traces")) << m_errors;
}

/* The command is the process that was started, has no children that it does not know, and
 * nobody else is ended by a signal to its group */
TEST_F(test_start, record_becomes_the_command) {
    auto record = [&](const std::string &script) {
        int status = run({"-o", path("traces"), "--library", m_library, "sh", "-c",
                          script}, record_to_end);

        EXPECT_TRUE(contains(m_errors, "no traces")) << m_errors;
        return status;
    };

    EXPECT_EQ(0, record("[ $$ = $RECORDER ]"));
    EXPECT_EQ(0, record("read -r pids < /proc/$$/task/$$/children; [ -z \"$pids\" ]"));
    EXPECT_EQ(7, record("trap 'exit 7' TERM; kill -TERM 0; sleep 10 & wait"));
    EXPECT_EQ(128 + SIGTERM, record("kill -TERM $$"));
    EXPECT_EQ(128 + SIGKILL, record("kill -KILL 0"));
}

TEST_F(test_start, record_again) {
    std::string folder = make_job("job", 1);

    EXPECT_EQ(PREDREG_EXIT_USAGE, run({"-o", folder, "--library", m_library,
                                       prog()}, predreg_record));
    EXPECT_TRUE(contains(m_errors, "has traces in it")) << m_errors;
    EXPECT_FALSE(exists("told"));

    /* Nothing is lost if the job does not start */
    EXPECT_EQ(PREDREG_EXIT_NOT_FOUND,
              run({"-o", folder, "--force", "--library", m_library,
                   path("none")}, predreg_record));
    EXPECT_TRUE(exists("job/0.trace"));

    EXPECT_EQ(5, run({"-o", folder, "--force", "--library", m_library, prog()},
                     predreg_record));
    EXPECT_FALSE(exists("job/0.trace"));
}
