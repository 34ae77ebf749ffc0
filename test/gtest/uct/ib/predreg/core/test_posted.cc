/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>
#include <uct/ib/predreg/core/comm.h>

#include <atomic>
#include <thread>
#include <vector>


/* There is one table for the process: each test has buffers of its own */
class test_posted : public ::testing::Test {
protected:
    typedef ucs_rcache_pred_context_t context_t;

    test_posted() : m_base(0x700000000000ul + (uint64_t)++count * 64 * MB) {}

    const void *buffer(unsigned index) const
    {
        return (const void*)(m_base + index * PAGE);
    }

    static context_t get(const void *buffer)
    {
        context_t context = {1, 2, 3};

        uct_predreg_posted_get(buffer, &context);
        return context;
    }

    static void put(const void *buffer, const context_t &context)
    {
        uct_predreg_posted_put(buffer, &context);
    }

    static bool is_unknown(const context_t &c)
    {
        return (c.caller == 0) && (c.stack == 0) && (c.window == 0);
    }

    static unsigned count;

    uint64_t m_base;
};

unsigned test_posted::count;

static bool operator==(const ucs_rcache_pred_context_t &a,
                       const ucs_rcache_pred_context_t &b)
{
    return (a.caller == b.caller) && (a.stack == b.stack) &&
           (a.window == b.window);
}

TEST_F(test_posted, put_and_get)
{
    put(buffer(0), {11, 12, 13});
    EXPECT_EQ((context_t{11, 12, 13}), get(buffer(0)));
    EXPECT_EQ((context_t{11, 12, 13}), get(buffer(0))) << "it stays";
}

/* UCX 1.16 registers it from there on */
TEST_F(test_posted, a_buffer_is_known_by_its_16_bytes) {
    put((char*)buffer(0) + 15, {11, 12, 13});
    EXPECT_EQ((context_t{11, 12, 13}), get(buffer(0)));
}

TEST_F(test_posted, unknown_buffer)
{
    EXPECT_TRUE(is_unknown(get(buffer(0))));
    put(buffer(0), {11, 12, 13});
    EXPECT_TRUE(is_unknown(get(buffer(1))));
    EXPECT_TRUE(is_unknown(get((char*)buffer(0) + 16)));
}

TEST_F(test_posted, last_communication_counts)
{
    for (uint64_t i = 1; i < 100; ++i) {
        put(buffer(0), {i, 2 * i, 3 * i});
        EXPECT_EQ((context_t{i, 2 * i, 3 * i}), get(buffer(0)));
    }
}

/* Of many buffers, each is known or was overwritten: never another one's */
TEST_F(test_posted, collisions)
{
    static constexpr uint64_t NUM = 8192;
    unsigned known = 0;

    for (uint64_t i = 0; i < NUM; ++i) {
        put(buffer(i), {i, i + 1, i + 2});
    }

    for (uint64_t i = 0; i < NUM; ++i) {
        context_t context = get(buffer(i));

        if (!is_unknown(context)) {
            EXPECT_EQ((context_t{i, i + 1, i + 2}), context);
            ++known;
        }
    }

    EXPECT_LE(known, 4096u) << "as many as there are entries";
    EXPECT_GE(known, 3000u) << "and most of them are used";
}

/* One entry, which both buffers want: each word that readers see is one that somebody
 * wrote, if not always with the others */
TEST_F(test_posted, concurrent_writers)
{
    std::vector<std::thread> threads;
    static constexpr unsigned MANY = 300000 / SANITIZER_SLOWDOWN;
    std::atomic<bool> stop(false);
    unsigned num_seen = 0;
    unsigned other    = 1;
    bool torn         = false;

    /* The initial contexts are as the writers' are */
    put(buffer(0), {4, 5, 6});
    do {
        ++other;
        put(buffer(other), {4, 5, 6});
    } while (!is_unknown(get(buffer(0))));

    for (unsigned index : {0u, other}) {
        threads.emplace_back([this, index, &stop] {
            for (uint64_t i = 1; !stop; ++i) {
                put(buffer(index), {4 * i, 4 * i + 1, 4 * i + 2});
            }
        });
    }

    for (unsigned i = 0; (i < 20000000u) && (num_seen < MANY) && !torn; ++i) {
        unsigned index = (i % 2) ? 0 : other;
        context_t c    = get(buffer(index));

        if (!is_unknown(c)) {
            torn = (c.caller % 4 != 0) || (c.stack % 4 != 1) ||
                   (c.window % 4 != 2);
            ++num_seen;
        }
    }
    stop = true;
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_GT(num_seen, 0u);
    EXPECT_FALSE(torn);
}
