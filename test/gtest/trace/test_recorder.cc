/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "recorder_test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>


/* What a recorder writes to its file, and how its thread behaves */
class test_recorder : public recorder_test {
};

TEST_F(test_recorder, everything_is_in_the_file)
{
    uint64_t value;

    start();
    ucs_rcache_recorder_meta(m_recorder, "rank", "3");
    ucs_rcache_recorder_domain(m_recorder, 0, "mlx5_0");
    emit(3);
    ucs_rcache_recorder_domain(m_recorder, 1, "mlx5_1");
    emit(2);
    ucs_rcache_recorder_stop(m_recorder);
    emit(); /* Too late */
    ucs_rcache_recorder_counter(m_recorder, "uses", 7);
    ucs_rcache_recorder_finish(m_recorder);

    load();
    EXPECT_STREQ("3", ucs_rcache_trace_get_meta(m_trace, "rank"));
    ASSERT_EQ(2u, m_trace->num_domains);
    EXPECT_STREQ("mlx5_0", m_trace->domains[0].name);
    EXPECT_STREQ("mlx5_1", m_trace->domains[1].name);
    ASSERT_EQ(5u, m_trace->num_events);
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_EQ(i + 1, m_trace->events[i].time);
        EXPECT_EQ(0x10000u, m_trace->events[i].address);
    }
    EXPECT_EQ(0u, m_trace->lost);
    EXPECT_FALSE(m_trace->truncated);
    ASSERT_TRUE(ucs_rcache_trace_get_counter(m_trace, "uses", &value));
    EXPECT_EQ(7u, value);
}

TEST_F(test_recorder, nothing_happens_before_start_or_after_finish)
{
    emit();
    communicate();
    ucs_rcache_recorder_meta(m_recorder, "rank", "3");
    finish(); /* Never started */

    start();
    finish();
    ucs_rcache_recorder_counter(m_recorder, "uses", 7);
    emit();
    load();
    EXPECT_EQ(0u, m_trace->num_events);
    EXPECT_EQ(0u, m_trace->num_meta);
    EXPECT_EQ(0u, m_trace->num_counters);
    EXPECT_EQ(0u, m_trace->num_sites);
}

TEST_F(test_recorder, site_and_the_module_it_is_in)
{
    const ucs_rcache_trace_module_t *module = NULL;
    char self[PATH_MAX]                     = "";
    Dl_info info;

    start();
    communicate();
    finish();
    load();

    ASSERT_EQ(1u, m_trace->num_sites);
    EXPECT_EQ((uintptr_t)m_caller, m_trace->sites[0].caller);
    ASSERT_GE(m_trace->sites[0].num_frames, 2u);
    EXPECT_EQ((uintptr_t)m_caller, m_trace->sites[0].frames[0]);

    /* Each frame is in a module */
    for (unsigned i = 0; i < m_trace->sites[0].num_frames; ++i) {
        uint64_t frame = m_trace->sites[0].frames[i];
        unsigned found = 0;

        for (unsigned m = 0; m < m_trace->num_modules; ++m) {
            if ((frame >= m_trace->modules[m].start) &&
                (frame < m_trace->modules[m].end)) {
                module = (i == 0) ? &m_trace->modules[m] : module;
                ++found;
            }
        }
        EXPECT_EQ(1u, found) << "frame " << i;
    }

    /* The caller is in this program, which the loader has no name for */
    ASSERT_TRUE(module != NULL);
    ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
    EXPECT_STREQ(self, module->path);
    ASSERT_TRUE(dladdr(m_caller, &info));
    EXPECT_EQ((uintptr_t)info.dli_fbase, module->bias);
    EXPECT_GT(module->build_id_length, 0u);

    /* The modules that were there at the beginning are not in the trace
     * twice */
    for (unsigned a = 0; a < m_trace->num_modules; ++a) {
        for (unsigned b = 0; b < a; ++b) {
            EXPECT_NE(m_trace->modules[a].start, m_trace->modules[b].start);
        }
    }
}

/* Threads put more than the ring holds, in turns, as the cache lets them:
 * events that are not in the file are counted there */
TEST_F(test_recorder, more_than_the_ring_holds)
{
    const unsigned total = 1000000 / SANITIZER_SLOWDOWN;
    std::vector<std::thread> threads;
    std::mutex lock;
    uint64_t last = 0;

    start();
    for (unsigned t = 0; t < 2; ++t) {
        threads.emplace_back([&]() {
            for (unsigned i = 0; i < total / 200; ++i) {
                std::lock_guard<std::mutex> guard(lock);
                emit(100);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    finish();
    load();

    EXPECT_EQ(total, m_trace->num_events + m_trace->lost);
    EXPECT_GE(m_trace->num_events, 32768u);
    for (size_t i = 0; i < m_trace->num_events; ++i) {
        ASSERT_GT(m_trace->events[i].time, last);
        last = m_trace->events[i].time;
    }
}

/* Threads put events without the cache's lock, at the same time */
TEST_F(test_recorder, threads_that_emit)
{
    std::vector<std::thread> threads;

    start();
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([this]() {
            ucs_rcache_pred_event_t e = {};

            e.type   = UCS_RCACHE_PRED_EVENT_UNMAP;
            e.length = 4096;
            for (unsigned i = 0; i < 2000; ++i) {
                ucs_rcache_recorder_event(m_recorder, &e);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    finish();
    load();
    EXPECT_EQ(8000u, m_trace->num_events + m_trace->lost);
}

TEST_F(test_recorder, writes_while_the_program_runs)
{
    start();
    for (unsigned i = 0; i < 3; ++i) {
        emit_and_wait();
    }
    finish();
}

/* @return the number of the thread with this name, 0 if there is none */
static pid_t find_thread(const std::string &name)
{
    pid_t found = 0;
    DIR *dir    = opendir("/proc/self/task");
    struct dirent *entry;

    while ((entry = readdir(dir)) != NULL) {
        std::string path = std::string("/proc/self/task/") + entry->d_name;
        std::ifstream comm(path + "/comm");
        std::string line;

        if (std::getline(comm, line) && (line == name)) {
            found = atoi(entry->d_name);
        }
    }
    closedir(dir);
    return found;
}

TEST_F(test_recorder, thread_keeps_out_of_the_way)
{
    unsigned long blocked = 0;
    std::string line;
    pid_t tid;

    start();
    ASSERT_TRUE(wait_until([]() { return find_thread("predreg-trace") != 0; }));
    tid = find_thread("predreg-trace");
    EXPECT_TRUE(wait_until([tid]() {
        return sched_getscheduler(tid) == SCHED_BATCH;
    }));

    std::ifstream status("/proc/self/task/" + std::to_string(tid) + "/status");
    while (std::getline(status, line)) {
        sscanf(line.c_str(), "SigBlk: %lx", &blocked);
    }
    for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGXFSZ, SIGCHLD}) {
        EXPECT_TRUE(blocked & (1ul << (signal - 1))) << strsignal(signal);
    }
    finish();
    /* The kernel wakes who joins a thread before it takes it off the list */
    EXPECT_TRUE(wait_until([]() { return find_thread("predreg-trace") == 0; }));
}

TEST_F(test_recorder, no_thread)
{
    open_file(m_path);
    test_thread_fail();
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              ucs_rcache_recorder_start(m_recorder, m_fd, m_path.c_str()));
    EXPECT_NE(std::string::npos, log_watch::take().find("thread"));
    EXPECT_EQ(0, close(m_fd)); /* It stayed ours */
    emit();
    finish();
}

TEST_F(test_recorder, no_file)
{
    EXPECT_EQ(UCS_ERR_IO_ERROR,
              ucs_rcache_recorder_start(m_recorder, -1, "/nowhere"));
    EXPECT_NE(std::string::npos, log_watch::take().find("/nowhere"));
}

TEST_F(test_recorder, no_memory)
{
    ucs_rcache_recorder_t *recorder;
    ucs_status_t status;
    bool failed;
    unsigned nth;

    for (nth = 1;; ++nth) {
        test_alloc_fail_nth(nth);
        status = ucs_rcache_recorder_create(&recorder);
        failed = test_alloc_failed();
        test_alloc_fail_nth(0);
        if (!failed) {
            break;
        }
        EXPECT_EQ(UCS_ERR_NO_MEMORY, status);
    }
    ASSERT_EQ(UCS_OK, status);
    EXPECT_GT(nth, 4u);
    ucs_rcache_recorder_destroy(recorder);

    open_file(m_path);
    test_alloc_fail_nth(1);
    status = ucs_rcache_recorder_start(m_recorder, m_fd, m_path.c_str());
    test_alloc_fail_nth(0);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, status);
    EXPECT_NE("", log_watch::take());
    EXPECT_EQ(0, close(m_fd));
}
