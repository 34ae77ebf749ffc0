/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node_test.h"


/* Which processes get which seats; where each helper sits is tested with the
 * pure function */
class test_seats : public node_test {
};

TEST_F(test_seats, seats_are_given_by_what_all_have_published)
{
    auto a = join(), b = join();

    for (auto node : {a, b}) {
        *test_node_usable(node) = cpus(0, 3);
    }
    update(a, cpus(0, 0), 10);
    auto seat = update(b, cpus(1, 1), 20);
    EXPECT_EQ(2u, seat.procs);
    EXPECT_EQ(2u, seat.idle_cpus);
    EXPECT_EQ(0u, seat.rank);
    EXPECT_EQ(1u, seat.sharers);
    cpu_set_t expected = cpus(2, 2);
    EXPECT_TRUE(CPU_EQUAL(&expected, &seat.cpus));

    seat = update(a, cpus(0, 0), 10);
    EXPECT_EQ(1u, seat.rank);
    expected = cpus(3, 3);
    EXPECT_TRUE(CPU_EQUAL(&expected, &seat.cpus));

    EXPECT_EQ(0u, update(a, cpus(0, 0), 30).rank);
    EXPECT_EQ(1u, update(b, cpus(1, 1), 20).rank);
}

TEST_F(test_seats, equal_demands_are_ranked_by_slot)
{
    auto a = join(), b = join(), c = join();

    for (auto node : {c, b, a}) {
        update(node, cpus(0, 0), 7);
    }
    EXPECT_EQ(0u, update(a, cpus(0, 0), 7).rank);
    EXPECT_EQ(1u, update(b, cpus(0, 0), 7).rank);
    EXPECT_EQ(2u, update(c, cpus(0, 0), 7).rank);

    leave(a); /* A gap in the slots */
    EXPECT_EQ(0u, update(b, cpus(0, 0), 7).rank);
    EXPECT_EQ(1u, update(c, cpus(0, 0), 7).rank);
}

TEST_F(test_seats, before_its_first_update_a_process_has_the_mask_it_runs_with)
{
    cpu_set_t affinity, one;
    int cpu = 0;

    ASSERT_EQ(0, sched_getaffinity(0, sizeof(affinity), &affinity));
    while (!CPU_ISSET(cpu, &affinity)) {
        ++cpu;
    }
    one = cpus(cpu, cpu);

    auto a = join();
    ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
    join();
    ASSERT_EQ(0, sched_setaffinity(0, sizeof(affinity), &affinity));

    /* Two on one processor, and another that is in no mask */
    *test_node_usable(a) = cpus(cpu, cpu + 1);
    auto seat            = update(a, one, 0);
    cpu_set_t expected   = cpus(cpu + 1, cpu + 1);
    EXPECT_EQ(1u, seat.idle_cpus);
    EXPECT_TRUE(CPU_EQUAL(&expected, &seat.cpus));
}

TEST_F(test_seats, without_memory_a_seat_is_the_last)
{
    auto a = join();

    join();
    join();
    cpu_set_t own = cpus(0, 1);
    test_alloc_fail_nth(1);
    auto seat = update(a, own, 1000);
    EXPECT_TRUE(test_alloc_failed());
    EXPECT_EQ(3u, seat.procs);
    EXPECT_EQ(0u, seat.idle_cpus);
    EXPECT_EQ(2u, seat.rank);
    EXPECT_EQ(3u, seat.sharers);
    EXPECT_TRUE(CPU_EQUAL(&own, &seat.cpus));
}
