/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <tools/trace/binary_test.h>

#include <trace/limit_file.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <chrono>
#include <vector>


/* Files that cannot be written, and how much is written of what */
class test_write : public binary_test {
};

TEST_F(test_write, a_full_disk_shows_when_flushed)
{
    int fd = open("/dev/full", O_WRONLY);
    ucs_rcache_trace_writer_t *writer;
    event_t event = use_begin(1);

    ASSERT_GE(fd, 0);
    ASSERT_EQ(UCS_OK, ucs_rcache_trace_writer_create(fd, &writer));
    for (unsigned i = 0; i < 100000; ++i) {
        ucs_rcache_trace_put_event(writer, &event);
    }
    errno = 0;
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(ENOSPC, errno);
    errno = 0;
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(ENOSPC, errno);
    ucs_rcache_trace_writer_destroy(writer);

    trace_ptr trace = parse(small_binary());
    errno           = 0;
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_write(trace.get(), fd));
    EXPECT_EQ(ENOSPC, errno);

    FILE *stream = fdopen(fd, "w");
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_print(trace.get(), stream));
    fclose(stream);
}

TEST_F(test_write, nothing_is_written_after_a_failure)
{
    int fds[2];
    ucs_rcache_trace_writer_t *writer;
    event_t event = use_begin(1);
    std::string written(1 << 20, '\0');

    /* The pipe takes a part, then no more, and then some again */
    ASSERT_EQ(0, pipe2(fds, O_NONBLOCK));
    ASSERT_EQ(16384, fcntl(fds[1], F_SETPIPE_SZ, 16384));
    ASSERT_EQ(UCS_OK, ucs_rcache_trace_writer_create(fds[1], &writer));
    for (unsigned i = 0; i < 100000; ++i) {
        event.context.window = i;
        ucs_rcache_trace_put_event(writer, &event);
    }
    ssize_t size = read(fds[0], &written[0], written.size());
    ASSERT_GT(size, 4096);
    ucs_rcache_trace_put_event(writer, &event);
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(EAGAIN, errno);
    EXPECT_EQ(-1, read(fds[0], &written[size], 1));
    ucs_rcache_trace_writer_destroy(writer);
    EXPECT_EQ(-1, read(fds[0], &written[size], 1));

    /* What came through the pipe is a trace, up to where it ends */
    trace_ptr trace = parse(written.substr(0, size));
    ASSERT_TRUE(trace != NULL);
    EXPECT_GT(trace->num_events, 100u);
    EXPECT_EQ(1, trace->truncated);
    EXPECT_NE("", log_watch::take());
    close(fds[0]);
    close(fds[1]);
}

/* SIGXFSZ does not end the process, which has no handler for it */
TEST_F(test_write, a_file_that_may_not_grow_shows_when_flushed)
{
    memory_file file;

    child process([&file]() {
        ucs_rcache_trace_writer_t *writer;
        sigset_t set;

        limit_file_size(100);
        ucs_rcache_trace_writer_create(file.fd(), &writer);
        for (unsigned i = 0; i < 100; ++i) {
            put_counter(writer, "uses", i);
        }
        if ((ucs_rcache_trace_writer_flush(writer) != UCS_ERR_IO_ERROR) ||
            (errno != EFBIG)) {
            return 1;
        }
        ucs_rcache_trace_writer_destroy(writer);

        /* No signal is left pending, and the signal is not blocked for the
         * program */
        sigpending(&set);
        if (sigismember(&set, SIGXFSZ)) {
            return 2;
        }
        pthread_sigmask(SIG_BLOCK, NULL, &set);
        if (sigismember(&set, SIGXFSZ)) {
            return 3;
        }

        return 0;
    });
    EXPECT_EQ(0, process.reap());
    EXPECT_EQ(100u, file.content().size());
}

TEST_F(test_write, a_pending_signal_stays_pending)
{
    memory_file file;

    child process([&file]() {
        ucs_rcache_trace_writer_t *writer;
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        raise(SIGXFSZ);

        limit_file_size(100);
        ucs_rcache_trace_writer_create(file.fd(), &writer);
        for (unsigned i = 0; i < 100; ++i) {
            put_counter(writer, "uses", i);
        }
        ucs_rcache_trace_writer_destroy(writer);

        sigpending(&set);
        return sigismember(&set, SIGXFSZ) ? 0 : 1;
    });
    EXPECT_EQ(0, process.reap());
    EXPECT_EQ(100u, file.content().size());
}

/* The file is replaced between two chunks, without a flush */
TEST_F(test_write, a_file_that_took_the_number_is_not_written)
{
    memory_file file, other;
    int fd = dup(file.fd());
    ucs_rcache_trace_writer_t *writer;
    event_t event = use_begin(1);

    ASSERT_EQ(UCS_OK, ucs_rcache_trace_writer_create(fd, &writer));
    while (file.content().empty()) {
        ++event.context.window;
        ucs_rcache_trace_put_event(writer, &event);
    }

    const std::string written = file.content();
    ASSERT_EQ(fd, dup2(other.fd(), fd));
    for (unsigned i = 0; i < 100000; ++i) {
        ++event.context.window;
        ucs_rcache_trace_put_event(writer, &event);
    }
    EXPECT_EQ("", other.content());

    /* What follows is not written either, even if the file comes back */
    ASSERT_EQ(fd, dup2(file.fd(), fd));
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(EBADF, errno);
    ucs_rcache_trace_writer_destroy(writer);
    EXPECT_EQ(written, file.content());
    close(fd);

    ASSERT_EQ(UCS_OK, ucs_rcache_trace_writer_create(-1, &writer));
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(EBADF, errno);
    ucs_rcache_trace_writer_destroy(writer);
}

TEST_F(test_write, putting_allocates_nothing)
{
    trace_writer writer;
    event_t event = use_begin(0);

    test_alloc_fail_nth(1);
    for (unsigned i = 0; i < 100000; ++i) {
        event.id   = i;
        event.time = i;
        ucs_rcache_trace_put_event(writer, &event);
    }
    EXPECT_EQ(UCS_OK, ucs_rcache_trace_writer_flush(writer));
    EXPECT_FALSE(test_alloc_failed());
    test_alloc_fail_nth(0);
}

/* A million events of three buffers that take turns: how many bytes they take,
 * and how long */
TEST_F(test_write, a_million_events)
{
    constexpr unsigned num_uses = 200000;
    std::vector<event_t> events;
    trace_writer writer;

    for (unsigned i = 0; i < num_uses; ++i) {
        event_t begin = use_begin(i * 100000ul + (i * 7919) % 5000);
        event_t reg, end, deadline, dereg;

        begin.id             = i % 3;
        begin.address       += (i % 3) << 24;
        begin.context.window = (i % 3) * 0x9e3779b97f4a7c15ul;
        reg                  = begin;
        reg.type             = UCS_RCACHE_PRED_EVENT_REG;
        reg.time            += 300;
        dereg                = reg;
        dereg.type           = UCS_RCACHE_PRED_EVENT_DEREG;
        dereg.time          += 60000;
        end                  = begin;
        end.type             = UCS_RCACHE_PRED_EVENT_USE_END;
        end.time            += 50000;
        deadline             = reg;
        deadline.type        = UCS_RCACHE_PRED_EVENT_DEADLINE;
        deadline.time       += 55000;
        deadline.deadline    = deadline.time + 245000;
        deadline.period      = 300000 - i % 1000;
        for (const auto &event : {begin, reg, end, deadline, dereg}) {
            events.push_back(event);
        }
    }

    auto start = std::chrono::steady_clock::now();
    for (const auto &event : events) {
        ucs_rcache_trace_put_event(writer, &event);
    }
    EXPECT_EQ(UCS_OK, ucs_rcache_trace_writer_flush(writer));
    auto put = std::chrono::steady_clock::now();

    std::string binary = writer.close();
    auto parse_begin   = std::chrono::steady_clock::now();
    trace_ptr trace    = parse(binary);
    auto parse_end     = std::chrono::steady_clock::now();
    ASSERT_TRUE(trace != NULL) << log_watch::take();
    ASSERT_EQ(events.size(), trace->num_events);

    auto ns = [&events](std::chrono::steady_clock::duration time) {
        return std::chrono::duration<double, std::nano>(time).count() /
               events.size();
    };
    printf("%.1f bytes an event, put %.0f ns, loaded in %.0f ns\n",
           (double)binary.size() / events.size(), ns(put - start),
           ns(parse_end - parse_begin));
    EXPECT_LT(binary.size(), 16 * events.size());
}
