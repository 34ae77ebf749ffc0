/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <string.h>

#include <atomic>
#include <thread>
#include <vector>


class test_dq : public ::testing::Test {
protected:
    static constexpr unsigned SIZE = 8;
    /* After so many calls of pop, the queue gives up an entry that was not
     * written */
    static constexpr unsigned PATIENCE = 64;

    test_dq() : m_dq(test_dq_create(SIZE)) {}
    ~test_dq() { test_dq_destroy(m_dq); }

    /* An entry of which every word tells which one it is */
    static test_dq_entry_t make(uint64_t producer, uint64_t number)
    {
        uint64_t id = (producer << 32) + number;

        return {id, id * 3, id * 5, id * 7, id * 11, id * 13, id * 17};
    }

    static bool is_whole(const test_dq_entry_t &entry)
    {
        test_dq_entry_t expected = make(entry.region >> 32,
                                        entry.region & UINT32_MAX);

        return memcmp(&entry, &expected, sizeof(entry)) == 0;
    }

    void push(uint64_t number)
    {
        test_dq_entry_t entry = make(0, number);

        test_dq_push(m_dq, &entry);
    }

    /* Take out the oldest entry; @return its number, or -1 if there is none */
    int pop()
    {
        test_dq_entry_t entry;

        if (!test_dq_pop(m_dq, &entry)) {
            return -1;
        }

        EXPECT_TRUE(is_whole(entry));
        return entry.region;
    }

    void run_producers(unsigned num_producers, unsigned size, uint64_t count);

    test_dq_t *m_dq;
};

TEST_F(test_dq, nothing_comes_out_of_an_empty_queue)
{
    EXPECT_TRUE(test_dq_is_empty(m_dq));
    EXPECT_EQ(-1, pop());
    push(1);
    EXPECT_FALSE(test_dq_is_empty(m_dq));
    EXPECT_EQ(1, pop());
    EXPECT_EQ(-1, pop());
    EXPECT_TRUE(test_dq_is_empty(m_dq));
    EXPECT_EQ(0u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, first_in_first_out)
{
    for (unsigned i = 0; i < SIZE; ++i) {
        push(i);
    }

    for (unsigned i = 0; i < SIZE; ++i) {
        EXPECT_EQ((int)i, pop());
    }
    EXPECT_EQ(0u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, order_is_kept_around_the_ring)
{
    int expected = 0, next = 0;

    /* The queue is filled to every level from every position on */
    for (unsigned i = 0; i < 1000; ++i) {
        for (unsigned n = 0; n < 1 + i % SIZE; ++n) {
            push(next++);
        }
        while (expected < next) {
            ASSERT_EQ(expected++, pop());
        }
        ASSERT_EQ(-1, pop());
    }
    EXPECT_EQ(0u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, full_queue_loses_the_oldest)
{
    for (unsigned i = 0; i < SIZE + 5; ++i) {
        push(i);
    }

    for (unsigned i = 5; i < SIZE + 5; ++i) {
        EXPECT_EQ((int)i, pop());
    }
    EXPECT_EQ(-1, pop());
    EXPECT_EQ(5u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, many_rounds_are_lost_and_counted)
{
    for (unsigned i = 0; i < 100 * SIZE + 3; ++i) {
        push(i);
    }

    EXPECT_EQ(99 * (int)SIZE + 3, pop());
    EXPECT_EQ(99u * SIZE + 3, test_dq_dropped(m_dq));
}

TEST_F(test_dq, loss_in_the_middle_is_counted_once)
{
    for (unsigned i = 0; i < SIZE; ++i) {
        push(i);
    }
    EXPECT_EQ(0, pop());
    EXPECT_EQ(1, pop());

    for (unsigned i = SIZE; i < SIZE + 4; ++i) {
        push(i); /* There are two entries more than fit */
    }
    for (unsigned i = 4; i < SIZE + 4; ++i) {
        EXPECT_EQ((int)i, pop());
    }
    EXPECT_EQ(2u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, slow_producer_holds_back_those_behind)
{
    test_dq_entry_t entry = make(0, 0);
    uint64_t ticket       = test_dq_take_ticket(m_dq);
    uint64_t seq          = test_dq_slot_seq(m_dq, ticket);

    push(1);
    for (unsigned i = 0; i < PATIENCE / 2; ++i) {
        EXPECT_EQ(-1, pop());
    }
    EXPECT_FALSE(test_dq_is_empty(m_dq));

    ASSERT_TRUE(test_dq_write_slot(m_dq, ticket, seq, &entry));
    EXPECT_EQ(0, pop());
    EXPECT_EQ(1, pop());
    EXPECT_EQ(0u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, producer_half_way_is_not_read)
{
    uint64_t ticket = test_dq_take_ticket(m_dq);

    test_dq_set_slot_seq(m_dq, ticket, 1);
    EXPECT_EQ(-1, pop());
    EXPECT_FALSE(test_dq_is_empty(m_dq));
}

TEST_F(test_dq, producer_that_does_not_come_back_is_given_up)
{
    test_dq_take_ticket(m_dq);
    push(1);

    for (unsigned i = 0; i < PATIENCE - 1; ++i) {
        ASSERT_EQ(-1, pop());
    }
    EXPECT_EQ(1, pop());
    EXPECT_EQ(1u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, patience_starts_anew_with_every_entry)
{
    test_dq_take_ticket(m_dq);
    test_dq_take_ticket(m_dq);
    push(2);

    for (unsigned i = 0; i < 2 * (PATIENCE - 1); ++i) {
        ASSERT_EQ(-1, pop()) << i;
    }
    EXPECT_EQ(2, pop());
    EXPECT_EQ(2u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, entry_that_was_given_up_does_not_come_later)
{
    test_dq_entry_t entry = make(0, 0);
    uint64_t ticket       = test_dq_take_ticket(m_dq);

    for (unsigned i = 0; i < PATIENCE; ++i) {
        EXPECT_EQ(-1, pop());
    }
    test_dq_write_slot(m_dq, ticket, 0, &entry);

    EXPECT_EQ(-1, pop());
    /* The slot of the producer that was given up is used again */
    for (unsigned i = 1; i < 2 * SIZE; ++i) {
        push(i);
        EXPECT_EQ((int)i, pop());
    }
    EXPECT_EQ(1u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, producer_late_by_a_round_gives_up)
{
    test_dq_entry_t entry = make(0, 0);
    uint64_t ticket       = test_dq_take_ticket(m_dq);
    uint64_t seq          = test_dq_slot_seq(m_dq, ticket);

    for (unsigned i = 1; i <= SIZE; ++i) {
        push(i); /* The last entry goes to the slot of the late producer */
    }

    EXPECT_FALSE(test_dq_write_slot(m_dq, ticket, seq, &entry));
    for (unsigned i = 1; i <= SIZE; ++i) {
        EXPECT_EQ((int)i, pop());
    }
    EXPECT_EQ(1u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, new_producer_gives_up_if_the_late_one_is_writing)
{
    uint64_t ticket = test_dq_take_ticket(m_dq);

    test_dq_set_slot_seq(m_dq, ticket, 1);
    for (unsigned i = 1; i <= SIZE; ++i) {
        push(i);
    }
    /* The late producer writes its entry, a round too late */
    test_dq_set_slot_seq(m_dq, ticket, 2);

    for (unsigned i = 1; i < SIZE; ++i) {
        EXPECT_EQ((int)i, pop());
    }
    for (unsigned i = 0; i < PATIENCE; ++i) {
        EXPECT_EQ(-1, pop());
    }
    EXPECT_TRUE(test_dq_is_empty(m_dq));
    EXPECT_EQ(2u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, slot_that_was_given_up_is_used_in_the_next_round)
{
    test_dq_take_ticket(m_dq); /* A producer that never writes its entry */
    for (unsigned i = 1; i <= 2 * SIZE; ++i) {
        push(i);
    }

    for (unsigned i = SIZE + 1; i <= 2 * SIZE; ++i) {
        EXPECT_EQ((int)i, pop());
    }
    EXPECT_EQ(SIZE + 1u, test_dq_dropped(m_dq));
}

TEST_F(test_dq, smallest_queue)
{
    test_dq_destroy(m_dq);
    m_dq = test_dq_create(2);

    for (unsigned i = 0; i < 100; ++i) {
        push(i);
        push(i + 1000);
        push(i + 2000);
        EXPECT_EQ((int)i + 1000, pop());
        EXPECT_EQ((int)i + 2000, pop());
        EXPECT_EQ(-1, pop());
    }
    EXPECT_EQ(100u, test_dq_dropped(m_dq));
}

/* Each entry either comes out whole, once, and in the order of its producer, or
 * is counted as dropped */
void test_dq::run_producers(unsigned num_producers, unsigned size,
                            uint64_t count)
{
    std::vector<uint64_t> next(num_producers, 0);
    std::atomic<unsigned> running(num_producers);
    std::vector<std::thread> threads;
    uint64_t popped = 0;
    test_dq_entry_t entry;

    test_dq_destroy(m_dq);
    m_dq = test_dq_create(size);

    for (unsigned producer = 0; producer < num_producers; ++producer) {
        threads.emplace_back([this, producer, count, &running] {
            for (uint64_t i = 0; i < count; ++i) {
                test_dq_entry_t e = make(producer, i);
                test_dq_push(m_dq, &e);
            }
            --running;
        });
    }

    while ((running > 0) || !test_dq_is_empty(m_dq)) {
        if (!test_dq_pop(m_dq, &entry)) {
            continue;
        }

        ++popped;
        uint64_t producer = entry.region >> 32;
        uint64_t number   = entry.region & UINT32_MAX;
        ASSERT_TRUE(is_whole(entry)) << "torn";
        ASSERT_LT(producer, num_producers) << "invented";
        ASSERT_LT(number, count) << "invented";
        ASSERT_GE(number, next[producer]) << "duplicated or out of order";
        next[producer] = number + 1;
    }

    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(num_producers * count, popped + test_dq_dropped(m_dq));
    EXPECT_GT(popped, 0u);
}

TEST_F(test_dq, one_producer_thread)
{
    run_producers(1, 64, 1000000 / SANITIZER_SLOWDOWN);
}

TEST_F(test_dq, several_producer_threads)
{
    run_producers(4, 64, 300000 / SANITIZER_SLOWDOWN);
}

TEST_F(test_dq, several_producer_threads_in_each_others_way)
{
    /* More producers than slots: rounds overtake each other all the time */
    run_producers(6, 2, 100000 / SANITIZER_SLOWDOWN);
}

TEST_F(test_dq, no_loss_in_a_queue_large_enough)
{
    std::vector<std::thread> threads;
    unsigned popped = 0;

    test_dq_destroy(m_dq);
    m_dq = test_dq_create(4096);
    for (unsigned i = 0; i < 4; ++i) {
        threads.emplace_back([this, i] {
            for (unsigned j = 0; j < 1024; ++j) {
                push(i * 1024 + j);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    std::vector<bool> seen(4096, false);
    for (int number = pop(); number >= 0; number = pop(), ++popped) {
        ASSERT_FALSE(seen.at(number));
        seen[number] = true;
    }
    EXPECT_EQ(4096u, popped);
    EXPECT_EQ(0u, test_dq_dropped(m_dq));
}
