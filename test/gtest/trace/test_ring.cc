/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>


class test_ring : public ::testing::Test {
protected:
    static constexpr unsigned SIZE = 8;

    void SetUp() override { create(SIZE); }
    void TearDown() override { ucs_rcache_record_ring_destroy(m_ring); }

    void create(unsigned size)
    {
        ASSERT_EQ(UCS_OK, ucs_rcache_record_ring_create(size, &m_ring));
    }

    /* An event of which each word tells which one it is */
    static ucs_rcache_pred_event_t event(uint64_t number)
    {
        ucs_rcache_pred_event_t e = {};

        e.type           = UCS_RCACHE_PRED_EVENT_USE_BEGIN;
        e.flags          = number;
        e.time           = number + 1;
        e.id             = number;
        e.context.window = number + 2;
        e.period         = number + 3;
        return e;
    }

    static void check(const ucs_rcache_pred_event_t &e, uint64_t number)
    {
        ucs_rcache_pred_event_t expected = event(number);

        EXPECT_EQ(0, memcmp(&e, &expected, sizeof(e))) << "event " << e.id;
    }

    int push(uint64_t number)
    {
        ucs_rcache_pred_event_t e = event(number);

        return ucs_rcache_record_ring_push(m_ring, &e);
    }

    void expect(uint64_t number, uint64_t lost = 0)
    {
        ucs_rcache_pred_event_t e;
        uint64_t l;

        ASSERT_TRUE(ucs_rcache_record_ring_pop(m_ring, &e, &l));
        check(e, number);
        EXPECT_EQ(lost, l) << "before event " << number;
    }

    void expect_empty()
    {
        ucs_rcache_pred_event_t e;
        uint64_t lost;

        EXPECT_FALSE(ucs_rcache_record_ring_pop(m_ring, &e, &lost));
    }

    ucs_rcache_record_ring_t *m_ring;
};


TEST_F(test_ring, order)
{
    uint64_t in = 0, out = 0;

    expect_empty();
    for (unsigned round = 0; round < 10 * SIZE; ++round) {
        for (unsigned i = 0; i < (round % SIZE) + 1; ++i) {
            push(in++);
        }
        while (out < in) {
            expect(out++);
        }
        expect_empty();
    }
    EXPECT_EQ(0u, ucs_rcache_record_ring_lost(m_ring));
}

TEST_F(test_ring, losses_are_told_where_they_were)
{
    uint64_t n;

    for (n = 0; n < SIZE + 3; ++n) { /* There is no room for three of them */
        push(n);
    }
    expect(0);
    /* This event takes the room of the first one */
    push(n++);
    push(n++);                       /* is lost again */
    for (n = 1; n < SIZE; ++n) {
        expect(n);
    }
    expect(SIZE + 3, 3);
    expect_empty();

    /* Nothing comes after the last loss: it is told at the end, and not again
     * if an event comes after all */
    EXPECT_EQ(1u, ucs_rcache_record_ring_lost(m_ring));
    push(100);
    expect(100, 1);
    EXPECT_EQ(0u, ucs_rcache_record_ring_lost(m_ring));
}

TEST_F(test_ring, asks_for_the_consumer_once)
{
    unsigned asked = 0;
    uint64_t n;

    for (n = 0; n < SIZE / 2; ++n) {
        EXPECT_FALSE(push(n));
    }
    EXPECT_TRUE(push(n++));
    for (; n < 2 * SIZE; ++n) {
        asked += push(n);
    }
    EXPECT_EQ(0u, asked);

    /* The ring has been emptied, and is full again */
    for (n = 0; n < SIZE; ++n) {
        expect(n);
    }
    for (n = 0; n < 2 * SIZE; ++n) {
        asked += push(n);
    }
    EXPECT_EQ(1u, asked);
}

TEST_F(test_ring, does_not_ask_while_it_is_emptied_in_time)
{
    for (uint64_t n = 0; n < 10 * SIZE; ++n) {
        EXPECT_FALSE(push(n));
        expect(n);
    }
}

TEST_F(test_ring, no_memory)
{
    unsigned nth;

    for (nth = 1;; ++nth) {
        ucs_rcache_record_ring_t *ring = NULL;

        test_alloc_fail_nth(nth);
        ucs_status_t status = ucs_rcache_record_ring_create(SIZE, &ring);
        bool failed         = test_alloc_failed();
        test_alloc_fail_nth(0);
        if (!failed) {
            ASSERT_EQ(UCS_OK, status);
            ucs_rcache_record_ring_destroy(ring);
            break;
        }
        EXPECT_EQ(UCS_ERR_NO_MEMORY, status);
    }
    EXPECT_EQ(3u, nth);
}

/* Threads produce in turns, and the consumer does not keep up: each event comes
 * out whole, after exactly the losses that were told */
TEST_F(test_ring, threads)
{
    const unsigned num_producers = 4;
    const uint64_t total         = 400000 / SANITIZER_SLOWDOWN;
    uint64_t next = 0, seen = 0, lost = 0;
    std::vector<std::thread> producers;
    std::atomic<bool> done(false);
    std::mutex lock;

    ucs_rcache_record_ring_destroy(m_ring);
    create(64);

    std::thread consumer([&]() {
        ucs_rcache_pred_event_t e;
        uint64_t l, expected = 0;
        bool last;

        do {
            /* After the producers have ended, what is there now is all there
             * is */
            last = done;
            while (ucs_rcache_record_ring_pop(m_ring, &e, &l)) {
                expected += l;
                lost     += l;
                check(e, expected++);
                ++seen;
            }
            std::this_thread::yield();
        } while (!last);
    });

    for (unsigned i = 0; i < num_producers; ++i) {
        producers.emplace_back([&]() {
            for (;;) {
                std::lock_guard<std::mutex> guard(lock);
                if (next == total) {
                    return;
                }
                push(next++);
            }
        });
    }
    for (auto &producer : producers) {
        producer.join();
    }
    done = true;
    consumer.join();

    lost += ucs_rcache_record_ring_lost(m_ring);
    EXPECT_EQ(total, seen + lost);
    EXPECT_GT(seen, 0u);
}

/* Threads produce at the same time: each event comes out once and whole, those of
 * a thread in their order, or is told as lost */
TEST_F(test_ring, threads_without_a_lock)
{
    const unsigned num_producers = 4;
    const uint64_t each          = 100000 / SANITIZER_SLOWDOWN;
    std::vector<uint64_t> next(num_producers, 0);
    std::vector<std::thread> producers;
    std::atomic<bool> done(false);
    uint64_t seen = 0, lost = 0;

    ucs_rcache_record_ring_destroy(m_ring);
    create(64);

    std::thread consumer([&]() {
        ucs_rcache_pred_event_t e;
        uint64_t l;
        bool last;

        do {
            last = done;
            while (ucs_rcache_record_ring_pop(m_ring, &e, &l)) {
                lost += l;
                check(e, e.id);
                uint64_t number = e.id % each;
                ASSERT_LT(e.id / each, num_producers);
                EXPECT_GE(number, next[e.id / each]);
                next[e.id / each] = number + 1;
                ++seen;
            }
            std::this_thread::yield();
        } while (!last);
    });

    for (unsigned i = 0; i < num_producers; ++i) {
        producers.emplace_back([&, i]() {
            for (uint64_t n = 0; n < each; ++n) {
                push(i * each + n);
            }
        });
    }
    for (auto &producer : producers) {
        producer.join();
    }
    done = true;
    consumer.join();

    lost += ucs_rcache_record_ring_lost(m_ring);
    EXPECT_EQ(num_producers * each, seen + lost);
    EXPECT_GT(seen, 0u);
}
