/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/reuse/costs.h>
#include <ucs/reuse/sends.h>

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

/* How often small buffers were sent */
class test_tally : public ::testing::Test {
protected:
    typedef std::pair<uintptr_t, unsigned> key_t; /* Address, class */

    void SetUp() override
    {
        make(10);
    }

    void TearDown() override
    {
        destroy();
    }

    void make(unsigned bits)
    {
        destroy();
        m_tally = new ucs_reuse_tally_t;
        ASSERT_EQ(UCS_OK, ucs_reuse_tally_init(m_tally, bits));
    }

    void destroy()
    {
        if (m_tally != nullptr) {
            ucs_reuse_tally_cleanup(m_tally);
            delete m_tally;
        }
    }

    void note(uintptr_t address, size_t length, bool is_copied = false)
    {
        ucs_reuse_tally_note(m_tally, (void*)address, length, is_copied);
    }

    std::map<key_t, ucs_reuse_sends_t> all()
    {
        std::map<key_t, ucs_reuse_sends_t> found;

        ucs_reuse_tally_for_each(m_tally, [](void *arg, const ucs_reuse_sends_t *sends) {
                    auto *map = static_cast<decltype(found)*>(arg);
                    key_t key(sends->address, ucs_reuse_class(sends->length));

                    EXPECT_TRUE(map->emplace(key, *sends).second);
                }, &found);
        return found;
    }

    ucs_reuse_tally_t *m_tally = nullptr;
};

TEST_F(test_tally, nothing_at_first) {
    EXPECT_TRUE(all().empty());
}

TEST_F(test_tally, buffers_and_classes_are_told_apart) {
    note(0x1000, 4000);
    note(0x1000, 4096, true);
    note(0x1000, 4090);
    note(0x1000, 256);
    note(0x2000, 256);

    auto found = all();
    EXPECT_EQ(3u, found.size());

    const ucs_reuse_sends_t &large = found[key_t(0x1000, 31)];
    EXPECT_EQ(4096u, large.length);
    EXPECT_EQ(3u, large.count);
    EXPECT_EQ(1u, large.copied);
    EXPECT_EQ(1u, found[key_t(0x1000, 1)].count);
    EXPECT_EQ(1u, found[key_t(0x2000, 1)].count);
    EXPECT_EQ(0u, found[key_t(0x2000, 1)].copied);
}

/* What has no row is counted together, and nothing is lost */
TEST_F(test_tally, a_full_tally_counts_the_rest_together) {
    make(4);
    for (unsigned i = 1; i <= 100; ++i) {
        note(i * 4096, 1024, i % 2);
        note(i * 4096, 1024);
    }

    uint64_t count = 0, copied = 0;
    auto found     = all();
    for (auto &entry : found) {
        count  += entry.second.count;
        copied += entry.second.copied;
    }
    EXPECT_EQ(17u, found.size());
    EXPECT_EQ(200u, count);
    EXPECT_EQ(50u, copied);
    EXPECT_EQ(168u, found[key_t(0, 7)].count);
    EXPECT_EQ(1024u, found[key_t(0, 7)].length);
}

/* Addresses that no program has, but a caller may hand to UCX */
TEST_F(test_tally, odd_addresses_have_no_row) {
    note(0, 256);
    note(UINTPTR_MAX, 300);
    note(1ul << 58, 256);
    note((1ul << 58) - 1, 256);

    auto found = all();
    EXPECT_EQ(3u, found.size());
    EXPECT_EQ(2u, found[key_t(0, 1)].count);
    EXPECT_EQ(1u, found[key_t(0, 2)].count);
    EXPECT_EQ(1u, found[key_t((1ul << 58) - 1, 1)].count);
}

TEST_F(test_tally, begins_anew) {
    make(4);
    for (unsigned i = 1; i <= 100; ++i) {
        note(i * 4096, 1024);
    }
    ucs_reuse_tally_reset(m_tally);
    EXPECT_TRUE(all().empty());
    note(0x1000, 1024);
    EXPECT_EQ(1u, all().size());
}

/* No send is lost, and no buffer has two rows, however threads meet */
TEST_F(test_tally, threads) {
    constexpr unsigned THREADS = 4, BUFFERS = 3000, ROUNDS = 20;
    std::vector<std::thread> threads;

    make(16);
    for (unsigned t = 0; t < THREADS; ++t) {
        threads.emplace_back([this, t]() {
            for (unsigned i = 0; i < ROUNDS * BUFFERS; ++i) {
                note(0x10000 + ((i + t) % BUFFERS * 64), 256 + (i % 128),
                     t == 0);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    uint64_t count = 0, copied = 0, longest = 0;
    auto found     = all();
    for (auto &entry : found) {
        EXPECT_NE(0u, entry.first.first);
        count  += entry.second.count;
        copied += entry.second.copied;
        longest = std::max(longest, entry.second.length);
    }
    EXPECT_EQ(uint64_t(THREADS) * BUFFERS * ROUNDS, count);
    EXPECT_EQ(uint64_t(BUFFERS) * ROUNDS, copied);
    EXPECT_EQ(383u, longest);
    EXPECT_LE(found.size(), 2 * BUFFERS);
}
