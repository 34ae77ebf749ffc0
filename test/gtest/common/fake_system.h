/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FAKE_SYSTEM_H_
#define PREDREG_GTEST_FAKE_SYSTEM_H_

#include "command_test.h"

#include <sys/mman.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

extern "C" {
#include <tools/predreg/stat/stat.h>
#include <ucs/base/clock.h>
}

#include <map>
#include <set>


/* A system whose processes are in a folder like /proc */
class fake_system_test : public command_test {
protected:
    typedef ucs_rcache_pred_live_state_t state_t;

    fake_system_test()
    {
        m_proc          = make_folder("proc");
        m_system.proc   = m_proc.c_str();
        m_system.user   = [] { return s_user; };
        m_system.signal = signal;
        m_system.open   = open_counters;
        s_user          = 1000;
        s_hidden.clear();
        s_pages.clear();
        s_denied.clear();
    }

    ~fake_system_test()
    {
        for (auto &page : s_pages) {
            close(page.second);
        }
        s_pages.clear();
    }

    /* A process that has nothing to do with us */
    void add_process(pid_t pid, const std::string &more = "",
                     const std::string &state = "S (sleeping)",
                     unsigned user = 1000)
    {
        std::string folder = "proc/" + std::to_string(pid);
        std::string status = "Name:\tprogram\nState:\t" + state + "\nTgid:\t" +
                             std::to_string(pid) + "\nUid:\t7\t" +
                             std::to_string(user) + "\t7\t7\n" + more;

        make_folder(folder + "/fd");
        make_file(folder + "/status", status);
    }

    /* The state of a process, as the library would write it */
    static state_t valid_state(pid_t pid)
    {
        state_t state;

        memset(&state, 0, sizeof(state));
        state.snapshot.pid    = pid;
        state.snapshot.rank   = -1;
        state.snapshot.policy = UCS_RCACHE_PRED_POLICY_PREDICT;
        state.snapshot.mode   = UCS_RCACHE_PRED_MODE_THREAD;
        state.node_max_bytes  = UINT64_MAX;
        state.snapshot.keys_limit = UINT64_MAX;
        state.time            = ucs_monotonic_ns();
        strcpy(state.command, "program");
        return state;
    }

    /* Give a process a descriptor of counters. @return a file to change them */
    int add_counters(pid_t pid, const state_t &state)
    {
        std::string fd = "proc/" + std::to_string(pid) + "/fd/7";
        ucs_rcache_pred_live_t *live;

        EXPECT_EQ(UCS_OK, ucs_rcache_pred_live_create(&live));
        ucs_rcache_pred_live_update(live, copy, const_cast<state_t*>(&state));

        std::string link = make_link(fd, UCS_RCACHE_PRED_LIVE_LINK);
        s_pages[link] = dup(ucs_rcache_pred_live_get_fd(live));
        ucs_rcache_pred_live_destroy(live);
        return s_pages[link];
    }

    /* A process that shows counters */
    void add_managed(pid_t pid, const char *command = "program", int rank = -1)
    {
        state_t state = valid_state(pid);

        strcpy(state.command, command);
        state.snapshot.rank = rank;
        add_process(pid, "VmPin:\t      12 kB\n");
        add_counters(pid, state);
    }

    /* Opening its counters fails with this error */
    void deny(pid_t pid, int error)
    {
        s_denied[m_proc + "/" + std::to_string(pid) + "/fd/7"] = error;
    }

    predreg_system_t                    m_system;
    static inline uid_t                 s_user;
    static inline std::map<pid_t, int>  s_hidden; /* Error of signals */

private:
    static void copy(void *arg, state_t *state)
    {
        *state = *static_cast<state_t*>(arg);
    }

    static int signal(pid_t pid, int)
    {
        auto found = s_hidden.find(pid);

        errno = (found == s_hidden.end()) ? ESRCH : found->second;
        return (errno == 0) ? 0 : -1;
    }

    static int open_counters(const char *path)
    {
        auto denied = s_denied.find(path);
        auto page   = s_pages.find(path);

        if (denied != s_denied.end()) {
            errno = denied->second;
            return -1;
        }

        errno = ENOENT;
        return (page == s_pages.end()) ? -1 : dup(page->second);
    }

    static inline std::map<std::string, int> s_pages;
    static inline std::map<std::string, int> s_denied;
    std::string                              m_proc;
};

#endif
