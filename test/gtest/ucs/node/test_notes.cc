/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node_test.h"

#include <atomic>
#include <thread>


class test_notes : public node_test {
protected:
    static void leave_note(ucs_rcache_pred_node_t *node, uint64_t name,
                           const std::vector<uint64_t> &values)
    {
        ucs_rcache_pred_node_leave_note(node, name, values.data(),
                                        values.size());
    }

    static std::vector<uint64_t> find_note(ucs_rcache_pred_node_t *node,
                                           uint64_t name)
    {
        std::vector<uint64_t> values(UCS_RCACHE_PRED_NODE_NOTE_VALUES);

        values.resize(ucs_rcache_pred_node_find_note(node, name,
                                                     values.data()));
        return values;
    }
};

TEST_F(test_notes, others_find_it)
{
    ucs_rcache_pred_node_t *writer = join(), *reader = join();

    EXPECT_TRUE(find_note(reader, 7).empty());
    leave_note(writer, 7, {100});
    EXPECT_EQ(std::vector<uint64_t>({100}), find_note(reader, 7));
    EXPECT_EQ(std::vector<uint64_t>({100}), find_note(writer, 7));
    leave_note(reader, 7, {200, UINT64_MAX});
    EXPECT_EQ(std::vector<uint64_t>({200, UINT64_MAX}), find_note(writer, 7));
    leave_note(writer, 7, {300});
    EXPECT_EQ(std::vector<uint64_t>({300}), find_note(reader, 7));
}

/* A process that has ended has left its notes to the others */
TEST_F(test_notes, outlives_its_process)
{
    ucs_rcache_pred_node_t *writer = join(), *reader = join();

    leave_note(writer, 7, {100});
    leave(writer);
    EXPECT_EQ(std::vector<uint64_t>({100}), find_note(reader, 7));
}

/* There is room for so many. One that is in another one's place takes it, and is not
 * taken for that */
TEST_F(test_notes, room_is_bounded)
{
    ucs_rcache_pred_node_t *node = join();
    unsigned found               = 0;
    uint64_t name;

    for (name = 1; name <= 100000; ++name) {
        leave_note(node, name, {name, name + 1});
    }
    for (name = 1; name <= 200000; ++name) {
        std::vector<uint64_t> values = find_note(node, name);
        if (!values.empty()) {
            EXPECT_EQ(std::vector<uint64_t>({name, name + 1}), values);
            ++found;
        }
    }
    EXPECT_EQ(16384u, found);
}

/* Not by this library, which leaves none */
TEST_F(test_notes, without_a_value)
{
    ucs_rcache_pred_node_t *node = join();

    leave_note(node, 7, {0, 100});
    EXPECT_TRUE(find_note(node, 7).empty());
}

/* Processes that write the same note at a time: what is found is of one of them */
TEST_F(test_notes, written_by_many)
{
    static constexpr uint64_t ROUNDS = 200000;
    /* The same place, and two names */
    static constexpr uint64_t NAMES[] = {0x123456789000001,
                                         0x987654321000001 + 16384 * 5};
    std::atomic<unsigned> found{0}, wrong{0};
    std::vector<std::thread> threads;

    for (unsigned t = 0; t < 4; ++t) {
        ucs_rcache_pred_node_t *node = join();
        threads.emplace_back([node, t, &found, &wrong] {
            for (uint64_t i = 1; i <= ROUNDS; ++i) {
                uint64_t value = i * 4 + t;
                leave_note(node, NAMES[t % 2], {value, value * 1000});

                std::vector<uint64_t> values = find_note(node, NAMES[0]);
                found += !values.empty();
                /* Those of one name are even, and those of the other odd */
                wrong += !values.empty() &&
                         ((values.size() != 2) || (values[0] % 2 != 0) ||
                          (values[1] != values[0] * 1000));
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(0u, wrong);
    EXPECT_LT(0u, found);
}
