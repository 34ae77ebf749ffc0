/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/stat/live_test.h>

#include <ucs/base/clock.h>

#include <random>
#include <thread>


/* What is read of a page that is written meanwhile, and of a file that is not a
 * page */
class test_page : public live_test {
};

TEST_F(test_page, other_files)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(null));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(-1));
    close(null);

    /* A file that is not sealed could be made shorter while it is read */
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(fake_page(1 << 20, false).fd()));
    /* This may be a page that is being made */
    EXPECT_EQ(UCS_ERR_BUSY, read(fake_page(0, false).fd()));
    EXPECT_EQ(UCS_ERR_BUSY, read(fake_page(PAGE_SIZE).fd()));
    /* These are too short to be a page */
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(fake_page(0).fd()));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(fake_page(8).fd()));
}

TEST_F(test_page, good_copy_is_read)
{
    EXPECT_EQ(UCS_OK, read_with(OFFSET_VERSION,
                                UCS_RCACHE_PRED_LIVE_VERSION));
    EXPECT_EQ(0, memcmp(&m_state, &m_found, sizeof(m_found)));
}

TEST_F(test_page, other_version)
{
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, read_with(OFFSET_VERSION, (uint32_t)77));
    EXPECT_EQ(77u, m_version);
}

TEST_F(test_page, other_version_in_a_shorter_page)
{
    std::vector<char> bytes = good_page();
    fake_page page(16);

    const uint32_t other = 77;
    memcpy(&bytes[OFFSET_VERSION], &other, sizeof(other));
    page.write(bytes.data(), 16);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, read(page.fd()));
    EXPECT_EQ(77u, m_version);

    const uint32_t version = UCS_RCACHE_PRED_LIVE_VERSION;
    memcpy(&bytes[OFFSET_VERSION], &version, sizeof(version));
    page.write(bytes.data(), 16);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read(page.fd()));
}

TEST_F(test_page, damaged)
{
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read_with(0, (uint64_t)1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read_with(OFFSET_SIZE, (uint32_t)8));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read_with(OFFSET_STATE + offsetof(state_t, snapshot.policy),
                        (uint32_t)UCS_RCACHE_PRED_POLICY_LAST));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read_with(OFFSET_STATE + offsetof(state_t, snapshot.mode),
                        UINT32_MAX));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read_with(OFFSET_STATE + offsetof(state_t, snapshot.pid), -1));
}

/* A page whose writer never comes to its end */
TEST_F(test_page, reader_gives_up)
{
    EXPECT_EQ(UCS_ERR_BUSY, read_with(OFFSET_SEQ, (uint64_t)3));
}

TEST_F(test_page, command_is_fit_for_a_terminal)
{
    std::string longest(UCS_RCACHE_PRED_LIVE_COMMAND, 'x');

    strcpy(m_state.command, "a\033[2J\n\xc3\xa4");
    publish();
    ASSERT_EQ(UCS_OK, read());
    EXPECT_STREQ("a?[2J???", m_found.command);

    memcpy(m_state.command, longest.data(), longest.size());
    publish();
    ASSERT_EQ(UCS_OK, read());
    EXPECT_EQ(longest.size() - 1, strlen(m_found.command));
}

/* Whatever is in a page, reading ends, and what is returned is in range */
TEST_F(test_page, garbage)
{
    const std::vector<char> good = good_page();
    std::mt19937_64 random(1);

    for (unsigned i = 0; i < 2000; ++i) {
        std::vector<char> bytes = good;
        for (unsigned j = 0; j <= i % 16; ++j) {
            bytes[random() % bytes.size()] = random();
        }
        if (bytes[OFFSET_SEQ] & 1) {
            /* An odd number lets the reader wait until it gives up, see
             * reader_gives_up */
            continue;
        }

        fake_page page(PAGE_SIZE);
        page.write(bytes.data(), bytes.size());
        if (read(page.fd()) != UCS_OK) {
            continue;
        }

        EXPECT_LT(m_found.snapshot.policy,
                  (unsigned)UCS_RCACHE_PRED_POLICY_LAST);
        EXPECT_LT(m_found.snapshot.mode, (unsigned)UCS_RCACHE_PRED_MODE_LAST);
        predreg_stat_advance(&m_found, ucs_monotonic_ns());
    }
}

TEST_F(test_page, average_goes_on)
{
    m_state.snapshot.stats.bytes_avg = 100;
    m_state.snapshot.stats.bytes_now = 400;
    m_state.snapshot.stats.duration  = 2 * SEC;
    m_state.time                     = 10 * SEC;

    predreg_stat_advance(&m_state, 11 * SEC);
    EXPECT_EQ(2 * SEC, m_state.snapshot.stats.duration);

    m_state.counting = 1;
    predreg_stat_advance(&m_state, 9 * SEC);
    EXPECT_EQ(2 * SEC, m_state.snapshot.stats.duration);

    predreg_stat_advance(&m_state, 11 * SEC);
    EXPECT_EQ(3 * SEC, m_state.snapshot.stats.duration);
    EXPECT_EQ(200u, m_state.snapshot.stats.bytes_avg);
}

/* Every state that is read is one that was written, with all its numbers the
 * same. In the end the last change is in the page, whoever wrote it. */
TEST_F(test_page, many_writers_and_a_reader)
{
    constexpr unsigned num_writers = 3;
    constexpr unsigned num_updates = 20000 / SANITIZER_SLOWDOWN;
    std::atomic<uint64_t> changes(0);
    std::atomic<bool> done(false);
    std::vector<std::thread> writers;
    uint64_t num_read = 0;

    publish();
    std::thread reader([&] {
        state_t state;
        unsigned version;
        bool last;

        do {
            last = done; /* Nobody writes any more: it has to succeed */
            if (predreg_stat_read(
                        ucs_rcache_pred_live_get_fd(m_live), &state,
                        &version) != UCS_OK) {
                continue; /* The reader may have been overtaken each time */
            }

            ++num_read;
            EXPECT_EQ(state.time, state.snapshot.stats.uses);
            EXPECT_EQ(state.time, state.snapshot.helper_cpu);
            EXPECT_EQ(state.time, state.node_bytes);
        } while (!last);
    });

    for (unsigned i = 0; i < num_writers; ++i) {
        writers.emplace_back([&] {
            for (unsigned j = 0; j < num_updates; ++j) {
                ++changes;
                ucs_rcache_pred_live_update(
                        m_live,
                        [](void *arg, state_t *state) {
                            uint64_t value =
                                    *static_cast<std::atomic<uint64_t>*>(arg);
                            *state                     = valid_state();
                            state->time                = value;
                            state->snapshot.stats.uses = value;
                            state->snapshot.helper_cpu = value;
                            state->node_bytes          = value;
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
