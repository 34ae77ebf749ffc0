/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_CHILD_H_
#define PREDREG_GTEST_CHILD_H_

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <new>
#include <stdexcept>


/* A forked process that runs a function, and is killed if it is still there
 * when this process ends. Its exit status is what the function returns: 0 is
 * good. */
class child {
public:
    template <typename F> explicit child(F body) : m_reaped(false)
    {
        pid_t parent = getpid();

        m_pid = fork();
        if (m_pid < 0) {
            throw std::runtime_error("fork failed"); /* kill(-1) kills all */
        }

        if (m_pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit((getppid() == parent) ? body() : 1);
        }
    }

    child(const child &) = delete;
    child(child &&other) : m_pid(other.m_pid), m_reaped(other.m_reaped)
    {
        other.m_reaped = true;
    }

    ~child()
    {
        if (!m_reaped) {
            kill_and_reap();
        }
    }

    pid_t pid() const { return m_pid; }

    /* Kill the process and return when it is dead, but do not reap it: it stays
     * a zombie */
    void kill_only()
    {
        siginfo_t info;

        kill(m_pid, SIGKILL);
        waitid(P_PID, m_pid, &info, WEXITED | WNOWAIT);
    }

    int reap()
    {
        int status = -1;

        m_reaped = true;
        waitpid(m_pid, &status, 0);
        return status;
    }

    void kill_and_reap()
    {
        kill(m_pid, SIGKILL);
        reap();
    }

private:
    pid_t m_pid;
    bool  m_reaped;
};


/* An object that forked processes share */
template <typename T> class shared {
public:
    shared()
    {
        void *ptr = mmap(NULL, sizeof(T), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        m_ptr = (ptr == MAP_FAILED) ? throw std::bad_alloc() : new (ptr) T();
    }

    shared(const shared &) = delete;
    ~shared() { munmap(m_ptr, sizeof(T)); }

    T &operator*() { return *m_ptr; }
    T *operator->() { return m_ptr; }

private:
    T *m_ptr;
};


/* Let other threads and processes run until the condition is true. @return
 * false if it is not after 20 seconds. */
template <typename F> bool wait_until(F condition)
{
    for (unsigned i = 0; i < 100000; ++i) {
        if (condition()) {
            return true;
        }
        usleep(200);
    }
    return false;
}

#endif
