/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "live_test.h"

#include <sys/resource.h>

#include <cstdio>
#include <fstream>


/* The file of the live counters, and who writes it */
class test_live : public live_test {
};

TEST_F(test_live, what_is_written_is_read)
{
    m_state.snapshot.rank       = 7;
    m_state.snapshot.stats.uses = 42;
    m_state.node_bytes          = 1ul << 40;
    publish();

    ASSERT_EQ(UCS_OK, read());
    EXPECT_EQ(0, memcmp(&m_state, &m_found, sizeof(m_found)));
    EXPECT_EQ(UCS_RCACHE_PRED_LIVE_VERSION, m_version);

    m_state.snapshot.stats.uses = 43;
    publish();
    ASSERT_EQ(UCS_OK, read());
    EXPECT_EQ(43u, m_found.snapshot.stats.uses);
}

TEST_F(test_live, nothing_written_yet)
{
    EXPECT_EQ(UCS_ERR_BUSY, read());
}

TEST_F(test_live, uses_under_leave_pinned_count_at_once)
{
    m_state.snapshot.policy = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
    publish();
    for (unsigned i = 0; i < 5; ++i) {
        ucs_rcache_pred_live_count_use(m_live);
    }

    ASSERT_EQ(UCS_OK, read());
    EXPECT_EQ(5u, m_found.snapshot.stats.uses);
    EXPECT_EQ(5u, ucs_rcache_pred_live_get_uses(m_live));
}

/* The link is what the tool looks for, and the file is open for reading as
 * whoever may look into the process would open it */
TEST_F(test_live, is_found_in_proc)
{
    std::string path = "/proc/self/fd/" +
                       std::to_string(ucs_rcache_pred_live_get_fd(m_live));
    char link[64]    = "";
    int fd;

    ASSERT_LT(0, readlink(path.c_str(), link, sizeof(link) - 1));
    EXPECT_STREQ(UCS_RCACHE_PRED_LIVE_LINK, link);

    publish();
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(UCS_OK, read(fd));
    EXPECT_EQ(-1, pwrite(fd, "x", 1, 0));
    close(fd);
}

TEST_F(test_live, keeps_its_size)
{
    int fd = ucs_rcache_pred_live_get_fd(m_live);

    EXPECT_EQ(-1, ftruncate(fd, 0));
    EXPECT_EQ(-1, ftruncate(fd, PAGE_SIZE * 2));
}

TEST_F(test_live, is_not_inherited_by_other_programs)
{
    EXPECT_TRUE(fcntl(ucs_rcache_pred_live_get_fd(m_live), F_GETFD) &
                FD_CLOEXEC);
}

TEST_F(test_live, child_lets_go_of_it)
{
    publish();
    child forked([this] {
        int fd = ucs_rcache_pred_live_get_fd(m_live);
        ucs_rcache_pred_live_abandon(m_live);
        return (fcntl(fd, F_GETFD) == -1) ? 0 : 1;
    });
    EXPECT_EQ(0, forked.reap());
    EXPECT_EQ(UCS_OK, read());
}

/* The program has closed the file, and opened one of its own that got its
 * number */
TEST_F(test_live, number_that_is_the_programs_by_now)
{
    int fd   = ucs_rcache_pred_live_get_fd(m_live);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ucs_rcache_pred_live_t *other;

    ASSERT_EQ(fd, dup2(null, fd));
    child forked([&] {
        ucs_rcache_pred_live_abandon(m_live);
        return (fcntl(fd, F_GETFD) != -1) ? 0 : 1;
    });
    EXPECT_EQ(0, forked.reap());

    ASSERT_EQ(UCS_OK, ucs_rcache_pred_live_create(&other));
    ucs_rcache_pred_live_destroy(m_live);
    m_live = other;
    EXPECT_EQ(0, close(fd));
    close(null);
}

TEST_F(test_live, closed_when_destroyed)
{
    int fd = ucs_rcache_pred_live_get_fd(m_live);

    ucs_rcache_pred_live_destroy(m_live);
    EXPECT_EQ(-1, fcntl(fd, F_GETFD));
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_live_create(&m_live));
}

/* The descriptor is not the next number that the program would get, if there is
 * room elsewhere */
TEST_F(test_live, number_out_of_the_way)
{
    struct rlimit limit, little;
    ucs_rcache_pred_live_t *live;

    EXPECT_GE(ucs_rcache_pred_live_get_fd(m_live),
              ucs_rcache_pred_own_fd_lowest(UCS_RCACHE_PRED_OWN_FD_MIN_TABLE));

    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
    little          = limit;
    little.rlim_cur = 40;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &little));
    EXPECT_EQ(UCS_OK, ucs_rcache_pred_live_create(&live));
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
    EXPECT_LT(ucs_rcache_pred_live_get_fd(live), 40);
    EXPECT_TRUE(fcntl(ucs_rcache_pred_live_get_fd(live), F_GETFD) & FD_CLOEXEC);
    ucs_rcache_pred_live_destroy(live);
}

/* The size of the table of descriptors, 0 if it is unknown */
static int table_size()
{
    std::ifstream status("/proc/self/status");
    std::string line;
    int size = 0;

    while (std::getline(status, line)) {
        sscanf(line.c_str(), "FDSize: %d", &size);
    }
    return size;
}

/* A process with threads would wait for a larger table. A child begins with one
 * that is just large enough. */
TEST_F(test_live, table_of_descriptors_does_not_grow)
{
    child forked([] {
        ucs_rcache_pred_live_t *live;
        int size = table_size();

        return (size == 0) ||
               (ucs_rcache_pred_live_create(&live) != UCS_OK) ||
               (table_size() != size);
    });

    EXPECT_EQ(0, forked.reap());
}

/* There is no descriptor left, or no such memory at all */
TEST_F(test_live, no_descriptor_left)
{
    ucs_rcache_pred_live_t *live = NULL;
    struct rlimit limit, none;

    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
    none          = limit;
    none.rlim_cur = 0;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ucs_rcache_pred_live_create(&live));
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
    EXPECT_EQ(NULL, live);
}
