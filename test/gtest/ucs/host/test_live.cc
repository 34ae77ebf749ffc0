/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/pred_test.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

/*
 * The page that others read.
 */

namespace {

constexpr size_t OFFSET_VERSION = 8;
constexpr size_t OFFSET_SIZE    = 12;
constexpr size_t OFFSET_SEQ     = 24;
constexpr size_t OFFSET_RECORD  = 32;
constexpr size_t PAGE_SIZE      = OFFSET_RECORD +
                                  sizeof(ucs_rcache_pred_live_record_t);

typedef ucs_rcache_pred_live_record_t record_t;

record_t valid_record()
{
    record_t record;

    memset(&record, 0, sizeof(record));
    record.snapshot.pid    = getpid();
    record.snapshot.policy = UCS_RCACHE_PRED_POLICY_PREDICT;
    record.snapshot.mode   = UCS_RCACHE_PRED_MODE_THREAD;
    strcpy(record.command, "program");
    return record;
}

/* A file that is none of the library's, but has its name */
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

} // namespace

class test_live : public ::testing::Test {
protected:
    test_live() : m_record(valid_record()), m_version(0)
    {
        EXPECT_EQ(UCS_OK, ucs_rcache_pred_live_create(&m_live));
    }

    ~test_live() { ucs_rcache_pred_live_destroy(m_live); }

    static void copy(void *arg, record_t *record)
    {
        *record = *static_cast<record_t*>(arg);
    }

    void publish() { ucs_rcache_pred_live_update(m_live, copy, &m_record); }

    ucs_status_t read(int fd)
    {
        memset(&m_found, 0, sizeof(m_found));
        return ucs_rcache_pred_live_read(fd, &m_found, &m_version);
    }

    ucs_status_t read() { return read(ucs_rcache_pred_live_get_fd(m_live)); }

    /* What the file of a good page contains */
    std::vector<char> good_page()
    {
        std::vector<char> bytes(PAGE_SIZE);

        publish();
        EXPECT_EQ((ssize_t)PAGE_SIZE,
                  pread(ucs_rcache_pred_live_get_fd(m_live), bytes.data(),
                        PAGE_SIZE, 0));
        return bytes;
    }

    /* A good page but for a few bytes */
    template <typename T> ucs_status_t read_with(size_t offset, T value)
    {
        fake_page page(PAGE_SIZE);

        page.write(good_page().data(), PAGE_SIZE);
        page.write(&value, sizeof(value), offset);
        return read(page.fd());
    }

    ucs_rcache_pred_live_t *m_live;
    record_t               m_record;
    record_t               m_found;
    unsigned               m_version;
};

TEST_F(test_live, what_is_written_is_read)
{
    m_record.snapshot.rank       = 7;
    m_record.snapshot.stats.uses = 42;
    m_record.node_bytes          = 1ul << 40;
    publish();

    ASSERT_EQ(UCS_OK, read());
    EXPECT_EQ(0, memcmp(&m_record, &m_found, sizeof(m_found)));
    EXPECT_EQ(UCS_RCACHE_PRED_LIVE_VERSION, m_version);

    m_record.snapshot.stats.uses = 43;
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
    m_record.snapshot.policy = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
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

/* The program has closed it, and opened a file that got its number */
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

/* Its number is not the next one that the program gets, where there is room */
TEST_F(test_live, number_out_of_the_way)
{
    struct rlimit limit, little;
    ucs_rcache_pred_live_t *live;

    EXPECT_GE(ucs_rcache_pred_live_get_fd(m_live), UCS_RCACHE_PRED_OWN_FD_MIN);

    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
    little          = limit;
    little.rlim_cur = 100;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &little));
    EXPECT_EQ(UCS_OK, ucs_rcache_pred_live_create(&live));
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
    EXPECT_LT(ucs_rcache_pred_live_get_fd(live), 100);
    EXPECT_TRUE(fcntl(ucs_rcache_pred_live_get_fd(live), F_GETFD) & FD_CLOEXEC);
    ucs_rcache_pred_live_destroy(live);
}

TEST_F(test_live, other_files)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(null));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(-1));
    close(null);

    /* It could be made shorter while it is read */
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(fake_page(1 << 20, false).fd()));
    /* Perhaps one that is being made */
    EXPECT_EQ(UCS_ERR_BUSY, read(fake_page(0, false).fd()));
    EXPECT_EQ(UCS_ERR_BUSY, read(fake_page(PAGE_SIZE).fd()));
    /* Too short for anything */
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(fake_page(0).fd()));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(fake_page(8).fd()));
}

TEST_F(test_live, good_copy_is_read)
{
    EXPECT_EQ(UCS_OK, read_with(OFFSET_VERSION,
                                (uint32_t)UCS_RCACHE_PRED_LIVE_VERSION));
    EXPECT_EQ(0, memcmp(&m_record, &m_found, sizeof(m_found)));
}

TEST_F(test_live, other_version)
{
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, read_with(OFFSET_VERSION, (uint32_t)77));
    EXPECT_EQ(77u, m_version);
}

TEST_F(test_live, other_version_in_a_shorter_page)
{
    std::vector<char> bytes = good_page();
    fake_page page(16);

    bytes[OFFSET_VERSION] = 2;
    page.write(bytes.data(), 16);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, read(page.fd()));
    EXPECT_EQ(2u, m_version);

    bytes[OFFSET_VERSION] = UCS_RCACHE_PRED_LIVE_VERSION;
    page.write(bytes.data(), 16);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(page.fd()));
}

TEST_F(test_live, damaged)
{
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read_with(0, (uint64_t)1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read_with(OFFSET_SIZE, (uint32_t)8));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read_with(OFFSET_RECORD + offsetof(record_t, snapshot.policy),
                        (uint32_t)UCS_RCACHE_PRED_POLICY_LAST));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read_with(OFFSET_RECORD + offsetof(record_t, snapshot.mode),
                        UINT32_MAX));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read_with(OFFSET_RECORD + offsetof(record_t, snapshot.pid), -1));
}

/* A writer that never comes to its end */
TEST_F(test_live, reader_gives_up)
{
    EXPECT_EQ(UCS_ERR_BUSY, read_with(OFFSET_SEQ, (uint64_t)3));
}

TEST_F(test_live, command_is_fit_for_a_terminal)
{
    std::string longest(UCS_RCACHE_PRED_LIVE_COMMAND, 'x');

    strcpy(m_record.command, "a\033[2J\n\xc3\xa4");
    publish();
    ASSERT_EQ(UCS_OK, read());
    EXPECT_STREQ("a?[2J???", m_found.command);

    memcpy(m_record.command, longest.data(), longest.size());
    publish();
    ASSERT_EQ(UCS_OK, read());
    EXPECT_EQ(longest.size() - 1, strlen(m_found.command));
}

/* Whatever is in it, reading ends, and what is returned is in range */
TEST_F(test_live, garbage)
{
    const std::vector<char> good = good_page();
    std::mt19937_64 random(1);

    for (unsigned i = 0; i < 2000; ++i) {
        std::vector<char> bytes = good;
        for (unsigned j = 0; j <= i % 16; ++j) {
            bytes[random() % bytes.size()] = random();
        }
        if (bytes[OFFSET_SEQ] & 1) {
            continue; /* Takes its time, see reader_gives_up */
        }

        fake_page page(PAGE_SIZE);
        page.write(bytes.data(), bytes.size());
        if (read(page.fd()) != UCS_OK) {
            continue;
        }

        EXPECT_LT(m_found.snapshot.policy,
                  (unsigned)UCS_RCACHE_PRED_POLICY_LAST);
        EXPECT_LT(m_found.snapshot.mode, (unsigned)UCS_RCACHE_PRED_MODE_LAST);
        ucs_rcache_pred_live_advance(&m_found, ucs_rcache_pred_live_now());
    }
}

TEST_F(test_live, average_goes_on)
{
    m_record.snapshot.stats.bytes_avg = 100;
    m_record.snapshot.stats.bytes_now = 400;
    m_record.snapshot.stats.duration  = 2 * SEC;
    m_record.time                     = 10 * SEC;

    ucs_rcache_pred_live_advance(&m_record, 11 * SEC);
    EXPECT_EQ(2 * SEC, m_record.snapshot.stats.duration);

    m_record.counting = 1;
    ucs_rcache_pred_live_advance(&m_record, 9 * SEC);
    EXPECT_EQ(2 * SEC, m_record.snapshot.stats.duration);

    ucs_rcache_pred_live_advance(&m_record, 11 * SEC);
    EXPECT_EQ(3 * SEC, m_record.snapshot.stats.duration);
    EXPECT_EQ(200u, m_record.snapshot.stats.bytes_avg);
}

/* Every record that is read is one that was written: all its numbers are the
 * same. And the last change is in the page in the end, whoever wrote it. */
TEST_F(test_live, many_writers_and_a_reader)
{
    constexpr unsigned num_writers = 3;
    constexpr unsigned num_updates = 20000 / SANITIZER_SLOWDOWN;
    std::atomic<uint64_t> changes(0);
    std::atomic<bool> done(false);
    std::vector<std::thread> writers;
    uint64_t num_read = 0;

    publish();
    std::thread reader([&] {
        record_t record;
        unsigned version;
        bool last;

        do {
            last = done; /* Nobody writes any more: it has to succeed */
            if (ucs_rcache_pred_live_read(
                        ucs_rcache_pred_live_get_fd(m_live), &record,
                        &version) != UCS_OK) {
                continue; /* Overtaken each time: may be */
            }

            ++num_read;
            EXPECT_EQ(record.time, record.snapshot.stats.uses);
            EXPECT_EQ(record.time, record.snapshot.helper_cpu);
            EXPECT_EQ(record.time, record.node_bytes);
        } while (!last);
    });

    for (unsigned i = 0; i < num_writers; ++i) {
        writers.emplace_back([&] {
            for (unsigned j = 0; j < num_updates; ++j) {
                ++changes;
                ucs_rcache_pred_live_update(
                        m_live,
                        [](void *arg, record_t *record) {
                            uint64_t value =
                                    *static_cast<std::atomic<uint64_t>*>(arg);
                            *record                     = valid_record();
                            record->time                = value;
                            record->snapshot.stats.uses = value;
                            record->snapshot.helper_cpu = value;
                            record->node_bytes          = value;
                        },
                        &changes);
            }
        });
    }
    for (auto &writer : writers) {
        writer.join();
    }
    done = true;
    reader.join();

    EXPECT_GT(num_read, 0u);
    ASSERT_EQ(UCS_OK, read());
    EXPECT_EQ(num_writers * num_updates, m_found.time);
}

/* Without room for another page, or without such memory at all */
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


/*
 * When the cache says that there is something to show.
 */
class test_publish : public pred_test {
protected:
    test_publish() : m_shown{}, m_count(0)
    {
        s_test        = this;
        m_ops         = fake_world::ops;
        m_ops.publish = [](void*) {
            ++s_test->m_count;
            s_test->m_shown = s_test->stats();
        };
        m_params.ops = &m_ops;
    }

    void SetUp() override { create(); }

    /* What others see is what there is */
    void expect_shown()
    {
        stats_t now = stats();

        EXPECT_EQ(now.uses, m_shown.uses);
        EXPECT_EQ(now.hits, m_shown.hits);
        EXPECT_EQ(now.bytes_now, m_shown.bytes_now);
        EXPECT_EQ(now.deregs, m_shown.deregs);
        EXPECT_EQ(now.refused, m_shown.refused);
        EXPECT_EQ(now.time_critical, m_shown.time_critical);
    }

    static test_publish  *s_test;
    ucs_rcache_pred_ops_t m_ops;
    stats_t               m_shown;
    unsigned              m_count;
};

test_publish *test_publish::s_test;

TEST_F(test_publish, not_on_a_hit)
{
    void *first, *second;
    unsigned count;

    first = begin(buffer(0), MB);
    expect_shown();
    count  = m_count;
    second = begin(buffer(0), MB);
    end(second);
    EXPECT_EQ(1u, stats().hits);
    EXPECT_EQ(count, m_count);
    end(first);
}

TEST_F(test_publish, idle_process_has_shown_its_last_state)
{
    for (unsigned i = 0; i < 20; ++i) {
        use(buffer(i % 3), MB);
        run(5 * MSEC);
    }
    run_until_asleep();
    expect_shown();
    EXPECT_EQ(20u, m_shown.uses);
    EXPECT_EQ(0u, m_shown.bytes_now);
}

TEST_F(test_publish, on_demand)
{
    void *memh;

    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    memh = begin(buffer(0), MB);
    expect_shown();
    EXPECT_EQ(MB, m_shown.bytes_now);
    end(memh);
    expect_shown();
    EXPECT_EQ(0u, m_shown.bytes_now);
}

TEST_F(test_publish, refused_use)
{
    void *memh;

    m_params.max_bytes = MB;
    recreate();
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_begin(buffer(0), 2 * MB, &memh));
    EXPECT_EQ(1u, m_shown.refused);
    expect_shown();
}

TEST_F(test_publish, lower_bound)
{
    end(begin(buffer(0), MB));
    ucs_rcache_pred_set_max_bytes(m_pred, MB / 2);
    expect_shown();
    EXPECT_EQ(0u, m_shown.bytes_now);
}

TEST_F(test_publish, after_fork)
{
    end(begin(buffer(0), MB));
    ucs_rcache_pred_purge(m_pred);
    expect_shown();
    EXPECT_EQ(0u, m_shown.bytes_now);
}
