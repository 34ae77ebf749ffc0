/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/base/hook.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that come to a thread in a hook, of which SIGUSR1 has a handler */
class test_hook : public ::testing::Test {
protected:
    test_hook()
    {
        struct sigaction action = {};

        action.sa_handler = [](int) {
            ucs_hook_enter();
            ++s_num_handled;
            ucs_hook_leave();
        };
        sigaction(SIGUSR1, &action, &m_before);
        s_num_handled = 0;
    }

    ~test_hook()
    {
        sigaction(SIGUSR1, &m_before, nullptr);
    }

    static volatile sig_atomic_t s_num_handled;
    struct sigaction             m_before;
};

volatile sig_atomic_t test_hook::s_num_handled;

TEST_F(test_hook, handlers_wait_for_the_outermost_section) {
    ucs_hook_enter();
    raise(SIGUSR1);
    EXPECT_EQ(0, s_num_handled);
    ucs_hook_enter();
    ucs_hook_leave();
    EXPECT_EQ(0, s_num_handled);
    ucs_hook_leave();
    EXPECT_EQ(1, s_num_handled);
    raise(SIGUSR1);
    EXPECT_EQ(2, s_num_handled);
}

/* What the program has blocked stays blocked */
TEST_F(test_hook, the_mask_is_as_before) {
    sigset_t blocked, after;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
    errno = 7;
    ucs_hook_enter();
    ucs_hook_leave();
    EXPECT_EQ(7, errno);
    sigprocmask(SIG_UNBLOCK, &blocked, &after);
    EXPECT_EQ(1, sigismember(&after, SIGUSR2));
    EXPECT_EQ(0, sigismember(&after, SIGUSR1));
}

/* A storm of signals, each handler of which has a section of its own */
TEST_F(test_hook, handlers_come_at_any_time) {
    pid_t self = getpid(), child = fork();
    unsigned num;

    ASSERT_GE(child, 0);
    if (child == 0) {
        while (getppid() == self) {
            kill(self, SIGUSR1);
        }
        _exit(0);
    }
    for (num = 0; (num < 20000) || (s_num_handled == 0); ++num) {
        ucs_hook_enter();
        int handled = s_num_handled;
        ucs_hook_enter();
        ucs_hook_leave();
        EXPECT_EQ(handled, s_num_handled);
        ucs_hook_leave();
    }
    kill(child, SIGKILL);
    EXPECT_EQ(child, waitpid(child, nullptr, 0));
}
