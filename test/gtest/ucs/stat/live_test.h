/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_LIVE_TEST_H_
#define PREDREG_GTEST_LIVE_TEST_H_

#include <common/child.h>
#include <common/library.h>
#include <common/log_watch.h>

#include <tools/predreg/stat/stat.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>


constexpr size_t OFFSET_VERSION = 8;
constexpr size_t OFFSET_SIZE    = 12;
constexpr size_t OFFSET_SEQ     = 24;
constexpr size_t OFFSET_STATE   = 32;
constexpr size_t PAGE_SIZE      = OFFSET_STATE +
                                  sizeof(ucs_rcache_pred_live_state_t);

typedef ucs_rcache_pred_live_state_t state_t;

inline state_t valid_state()
{
    state_t state;

    memset(&state, 0, sizeof(state));
    state.snapshot.pid    = getpid();
    state.snapshot.policy = UCS_RCACHE_PRED_POLICY_PREDICT;
    state.snapshot.mode   = UCS_RCACHE_PRED_MODE_THREAD;
    strcpy(state.command, "program");
    return state;
}

/* A file that is not the library's, but has the name of one */
class fake_page {
public:
    explicit fake_page(size_t size, bool sealed = true) :
        m_fd(memfd_create(UCS_RCACHE_PRED_LIVE_NAME,
                          MFD_CLOEXEC | MFD_ALLOW_SEALING))
    {
        EXPECT_EQ(0, ftruncate(m_fd, size));
        if (sealed) {
            EXPECT_EQ(0, fcntl(m_fd, F_ADD_SEALS, F_SEAL_SHRINK));
        }
    }

    ~fake_page() { close(m_fd); }

    void write(const void *data, size_t size, size_t offset = 0)
    {
        EXPECT_EQ((ssize_t)size, pwrite(m_fd, data, size, offset));
    }

    int fd() const { return m_fd; }

private:
    int m_fd;
};

/* The page of live counters, which others read */
class live_test : public ::testing::Test {
protected:
    live_test() : m_state(valid_state()), m_version(0)
    {
        EXPECT_EQ(UCS_OK, ucs_rcache_pred_live_create(&m_live));
    }

    ~live_test() { ucs_rcache_pred_live_destroy(m_live); }

    static void copy(void *arg, state_t *state)
    {
        *state = *static_cast<state_t*>(arg);
    }

    void publish() { ucs_rcache_pred_live_update(m_live, copy, &m_state); }

    ucs_status_t read(int fd)
    {
        memset(&m_found, 0, sizeof(m_found));
        return predreg_stat_read(fd, &m_found, &m_version);
    }

    ucs_status_t read() { return read(ucs_rcache_pred_live_get_fd(m_live)); }

    /* The content of the file of a good page */
    std::vector<char> good_page()
    {
        std::vector<char> bytes(PAGE_SIZE);

        publish();
        EXPECT_EQ((ssize_t)PAGE_SIZE,
                  pread(ucs_rcache_pred_live_get_fd(m_live), bytes.data(),
                        PAGE_SIZE, 0));
        return bytes;
    }

    /* Read a page that is good except for a few bytes */
    template <typename T> ucs_status_t read_with(size_t offset, T value)
    {
        fake_page page(PAGE_SIZE);

        page.write(good_page().data(), PAGE_SIZE);
        page.write(&value, sizeof(value), offset);
        return read(page.fd());
    }

    ucs_rcache_pred_live_t *m_live;
    state_t                m_state;
    state_t                m_found;
    unsigned               m_version;
};

#endif
