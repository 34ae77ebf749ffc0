/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_RECORDER_TEST_H_
#define PREDREG_GTEST_RECORDER_TEST_H_

#include <common/child.h>
#include <common/library.h>
#include <common/log_watch.h>

#include <tools/trace/trace.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>


/* A recorder, and the file that it writes */
class recorder_test : public ::testing::Test {
protected:
    recorder_test() : m_recorder(NULL), m_fd(-1), m_trace(NULL), m_next(0)
    {
        char dir[] = "/tmp/recorder_test.XXXXXX";

        m_dir  = (mkdtemp(dir) == NULL) ? "" : dir;
        m_path = m_dir + "/a.trace";
        EXPECT_EQ(UCS_OK, ucs_rcache_recorder_create(&m_recorder));
    }

    ~recorder_test()
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

    /* Put events, which their time tells from each other */
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

    /* Put an event, and wait until it is in the file */
    void emit_and_wait()
    {
        /* The head of the file may be written just before */
        size_t before = std::max<size_t>(file_size(), 20);

        emit();
        EXPECT_TRUE(wait_until([&]() { return file_size() > before; }));
    }

    /* The program closes descriptors that it does not know, as daemons do, and
     * a file of its own gets the number of the recorder's */
    void take_number()
    {
        std::string path = m_dir + "/other";
        int fd           = open(path.c_str(), O_WRONLY | O_CREAT, 0600);

        ASSERT_GE(fd, 0);
        ASSERT_EQ(m_fd, dup2(fd, m_fd));
        close(fd);
        unlink(path.c_str());
    }

    /* Expect that the recorder has neither written to the program's file nor
     * closed it */
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

#endif
