/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "recorder_test.h"

#include <trace/limit_file.h>

#include <signal.h>


/* The file of a process that is killed or forks, a file on a full disk, and one
 * that the program closes */
class test_recorder_file : public recorder_test {
};

TEST_F(test_recorder_file, killed)
{
    shared<int> written;
    child process([&]() {
        start();
        ucs_rcache_recorder_meta(m_recorder, "rank", "3");
        /* Otherwise the file may grow by the name, and not by the event that is waited for */
        ucs_rcache_recorder_flush(m_recorder);
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

/* The process may be killed before the first turn of its thread. This is
 * repeated, since that turn may come first as well. */
TEST_F(test_recorder_file, killed_at_once)
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

TEST_F(test_recorder_file, flush_before_start_or_after_finish)
{
    ucs_rcache_recorder_flush(m_recorder);
    start();
    finish();
    ucs_rcache_recorder_flush(m_recorder);
    load();
}

/* A child neither writes to its parent's file nor keeps it open, and the parent
 * goes on */
TEST_F(test_recorder_file, forked)
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

TEST_F(test_recorder_file, disk_full)
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

    /* The program goes on, and the failure is logged once */
    emit(100000);
    communicate();
    ucs_rcache_recorder_counter(m_recorder, "uses", 7);
    finish();
}

/* SIGXFSZ for what the thread writes when it ends does not end the process */
TEST_F(test_recorder_file, file_may_not_grow)
{
    child process([this]() {
        start();
        emit_and_wait();
        ucs_rcache_recorder_stop(m_recorder);
        limit_file_size(8192);
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

TEST_F(test_recorder_file, file_closed_by_the_program)
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

/* The file is closed at the end, when more is put than the writer's buffer
 * holds */
TEST_F(test_recorder_file, file_closed_after_the_last_event)
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

TEST_F(test_recorder_file, forked_when_the_file_was_closed)
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
