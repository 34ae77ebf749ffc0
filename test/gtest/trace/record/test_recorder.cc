/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/library.h>
#include <common/log_watch.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <mutex>
#include <thread>
#include <vector>


class test_recorder : public ::testing::Test {
protected:
    test_recorder() : m_recorder(NULL), m_fd(-1), m_trace(NULL), m_next(0)
    {
        char dir[] = "/tmp/test_recorder.XXXXXX";

        m_dir  = (mkdtemp(dir) == NULL) ? "" : dir;
        m_path = m_dir + "/a.trace";
        EXPECT_EQ(UCS_OK, ucs_rcache_recorder_create(&m_recorder));
    }

    ~test_recorder()
    {
        ucs_rcache_recorder_destroy(m_recorder);
        if (m_trace != NULL) {
            ucs_rcache_trace_free(m_trace);
        }
        unlink(m_path.c_str());
        rmdir(m_dir.c_str());
    }

    int open_file(const std::string &path)
    {
        m_fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_GE(m_fd, 0);
        return m_fd;
    }

    void start()
    {
        ASSERT_EQ(UCS_OK,
                  ucs_rcache_recorder_start(m_recorder, open_file(m_path),
                                            m_path.c_str()));
    }

    void finish()
    {
        ucs_rcache_recorder_stop(m_recorder);
        ucs_rcache_recorder_finish(m_recorder);
    }

    void load()
    {
        ASSERT_EQ(UCS_OK, ucs_rcache_trace_load(m_path.c_str(), &m_trace));
    }

    /* Events that can be told from each other by their time */
    void emit(unsigned count = 1)
    {
        ucs_rcache_pred_event_t e = {};

        e.type    = UCS_RCACHE_PRED_EVENT_UNMAP;
        e.address = 0x10000;
        e.length  = 4096;
        for (unsigned i = 0; i < count; ++i) {
            e.time = ++m_next;
            ucs_rcache_recorder_event(m_recorder, &e);
        }
    }

    /* An event, until it is in the file */
    void emit_and_wait()
    {
        size_t before;

        EXPECT_TRUE(wait_until([this]() { return file_size() > 0; }));
        before = file_size();
        emit();
        EXPECT_TRUE(wait_until([&]() { return file_size() > before; }));
    }

    /* Like a daemon, the program closes what it does not know, and a file of
     * its own gets the number */
    void take_number()
    {
        std::string path = m_dir + "/other";
        int fd           = open(path.c_str(), O_WRONLY | O_CREAT, 0600);

        ASSERT_GE(fd, 0);
        ASSERT_EQ(m_fd, dup2(fd, m_fd));
        close(fd);
        unlink(path.c_str());
    }

    /* It is neither written to nor closed */
    void expect_number_is_the_programs()
    {
        struct stat st;

        ASSERT_EQ(0, fstat(m_fd, &st));
        EXPECT_EQ(0, st.st_size);
        EXPECT_EQ(0, close(m_fd));
    }

    size_t file_size() const
    {
        struct stat st;

        return (stat(m_path.c_str(), &st) == 0) ? st.st_size : 0;
    }

    void site(const void *caller, uint64_t stack)
    {
        ucs_rcache_pred_context_t context = {(uintptr_t)caller, stack, 0};

        ucs_rcache_recorder_site(m_recorder, &context);
    }

    UCS_F_NOINLINE void communicate()
    {
        m_caller = __builtin_return_address(0);
        site(m_caller, 0x7000);
    }

    std::string            m_dir, m_path;
    ucs_rcache_recorder_t  *m_recorder;
    int                    m_fd;
    ucs_rcache_trace_t     *m_trace;
    uint64_t               m_next;
    const void             *m_caller;
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
    EXPECT_STREQ("mlx5_0", m_trace->domains[0]);
    EXPECT_STREQ("mlx5_1", m_trace->domains[1]);
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

    /* Those that were there at the beginning are not there twice */
    for (unsigned a = 0; a < m_trace->num_modules; ++a) {
        for (unsigned b = 0; b < a; ++b) {
            EXPECT_NE(m_trace->modules[a].start, m_trace->modules[b].start);
        }
    }
}

/* More than the ring holds, by threads that take turns as the cache lets them:
 * what is not in the file is counted there */
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

/* Those that no cache locks for */
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
                ucs_rcache_recorder_emit(m_recorder, &e);
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

TEST_F(test_recorder, killed)
{
    shared<int> written;
    child process([&]() {
        start();
        ucs_rcache_recorder_meta(m_recorder, "rank", "3");
        emit_and_wait();
        emit_and_wait();
        *written = 1;
        pause();
        return 0;
    });
    uint64_t value;

    ASSERT_TRUE(wait_until([&]() { return *written; }));
    process.kill_and_reap();
    load();
    EXPECT_STREQ("3", ucs_rcache_trace_get_meta(m_trace, "rank"));
    EXPECT_EQ(2u, m_trace->num_events);
    EXPECT_FALSE(ucs_rcache_trace_get_counter(m_trace, "uses", &value));
}

/* Before the thread's first turn, perhaps: repeated, since that one may come
 * first as well */
TEST_F(test_recorder, killed_at_once)
{
    for (unsigned i = 0; i < 20; ++i) {
        child process([this]() {
            start();
            ucs_rcache_recorder_meta(m_recorder, "rank", "3");
            ucs_rcache_recorder_flush(m_recorder);
            return raise(SIGKILL);
        });
        process.reap();

        load();
        EXPECT_STREQ("3", ucs_rcache_trace_get_meta(m_trace, "rank"));
        ucs_rcache_trace_free(m_trace);
        m_trace = NULL;
        unlink(m_path.c_str());
    }
}

TEST_F(test_recorder, flush_before_start_or_after_finish)
{
    ucs_rcache_recorder_flush(m_recorder);
    start();
    finish();
    ucs_rcache_recorder_flush(m_recorder);
    load();
}

/* The parent's file is the parent's: the child neither writes it nor keeps it
 * open, and the parent goes on */
TEST_F(test_recorder, forked)
{
    start();
    emit(10);
    {
        child process([this]() {
            ucs_rcache_recorder_abandon(m_recorder);
            return (fcntl(m_fd, F_GETFD) == -1) ? 0 : 1;
        });
        EXPECT_EQ(0, process.reap());
    }
    emit(10);
    finish();
    load();
    EXPECT_EQ(20u, m_trace->num_events);
}

TEST_F(test_recorder, disk_full)
{
    std::string message;

    ASSERT_EQ(UCS_OK, ucs_rcache_recorder_start(m_recorder,
                                                open_file("/dev/full"),
                                                "/dev/full"));
    emit();
    ASSERT_TRUE(wait_until([&]() {
        message = log_watch::take();
        return !message.empty();
    }));
    EXPECT_NE(std::string::npos, message.find("/dev/full")) << message;
    EXPECT_NE(std::string::npos, message.find("No space left")) << message;

    /* The program goes on, and it is said once */
    emit(100000);
    communicate();
    ucs_rcache_recorder_counter(m_recorder, "uses", 7);
    finish();
}

/* What the exiting thread writes does not end the process by SIGXFSZ */
TEST_F(test_recorder, file_may_not_grow)
{
    child process([this]() {
        const struct rlimit limit = {8192, RLIM_INFINITY};

        start();
        emit_and_wait();
        ucs_rcache_recorder_stop(m_recorder);
        setrlimit(RLIMIT_FSIZE, &limit);
        for (unsigned i = 0; i < 100000; ++i) {
            ucs_rcache_recorder_counter(m_recorder, "uses", i);
        }
        ucs_rcache_recorder_finish(m_recorder);

        if (log_watch::take().find("File too large") == std::string::npos) {
            return 1;
        }
        return log_watch::take().empty() ? 0 : 2; /* One warning */
    });
    EXPECT_EQ(0, process.reap());
    EXPECT_EQ(8192u, file_size());
    load();
    EXPECT_EQ(1u, m_trace->num_events);
    EXPECT_TRUE(m_trace->truncated);
    EXPECT_NE("", log_watch::take());
}

TEST_F(test_recorder, file_closed_by_the_program)
{
    start();
    emit_and_wait();
    take_number();
    emit();
    finish();

    EXPECT_NE(std::string::npos, log_watch::take().find(m_path));
    expect_number_is_the_programs();
    load();
    EXPECT_EQ(1u, m_trace->num_events);
}

/* At the end, when more is put than the writer's buffer holds */
TEST_F(test_recorder, file_closed_after_the_last_event)
{
    start();
    emit_and_wait();
    ucs_rcache_recorder_stop(m_recorder);
    take_number();
    for (unsigned i = 0; i < 100000; ++i) {
        ucs_rcache_recorder_counter(m_recorder, "uses", i);
    }
    ucs_rcache_recorder_finish(m_recorder);

    EXPECT_NE(std::string::npos, log_watch::take().find(m_path));
    expect_number_is_the_programs();
    load();
    EXPECT_EQ(1u, m_trace->num_events);
    EXPECT_EQ(0u, m_trace->num_counters);
}

TEST_F(test_recorder, forked_when_the_file_was_closed)
{
    start();
    emit_and_wait();
    take_number();
    {
        child process([this]() {
            ucs_rcache_recorder_abandon(m_recorder);
            return (fcntl(m_fd, F_GETFD) != -1) ? 0 : 1;
        });
        EXPECT_EQ(0, process.reap());
    }
    emit();
    finish();
    EXPECT_NE("", log_watch::take());
    expect_number_is_the_programs();
}

/* The thread, by its name */
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
    EXPECT_EQ(0, find_thread("predreg-trace"));
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
