/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <initializer_list>
#include <set>
#include <vector>


class test_cpus : public ::testing::Test {
protected:
    typedef std::initializer_list<int> cpus_t;

    static cpu_set_t make(const std::set<int> &cpus)
    {
        cpu_set_t set;

        CPU_ZERO(&set);
        for (int cpu : cpus) {
            CPU_SET(cpu, &set);
        }
        return set;
    }

    /* A node with processors 0 to num - 1 */
    void usable(int num)
    {
        m_usable = make({});
        for (int cpu = 0; cpu < num; ++cpu) {
            CPU_SET(cpu, &m_usable);
        }
    }

    void add(const std::set<int> &cpus, uint64_t demand = 0)
    {
        m_users.push_back({make(cpus), demand});
    }

    ucs_rcache_pred_node_seat_t seat(unsigned self) const
    {
        ucs_rcache_pred_node_seat_t seat;

        ucs_rcache_pred_cpus_seat(&m_usable, m_users.data(), m_users.size(),
                                  self, &seat);
        EXPECT_EQ(m_users.size(), seat.procs);
        return seat;
    }

    static std::set<int> cpus(const ucs_rcache_pred_node_seat_t &seat)
    {
        std::set<int> result;

        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &seat.cpus)) {
                result.insert(cpu);
            }
        }
        return result;
    }

    void expect_seat(unsigned self, unsigned idle, unsigned sharers,
                     const std::set<int> &expected) const
    {
        auto s = seat(self);

        EXPECT_EQ(idle, s.idle_cpus) << "process " << self;
        EXPECT_EQ(sharers, s.sharers) << "process " << self;
        EXPECT_EQ(expected, cpus(s)) << "process " << self;
    }

    cpu_set_t                               m_usable;
    std::vector<ucs_rcache_pred_cpu_user_t> m_users;
};

TEST_F(test_cpus, one_unbound_process_has_the_others_idle)
{
    usable(4);
    add({0, 1, 2, 3});
    expect_seat(0, 3, 1, {0, 1, 2, 3});
}

TEST_F(test_cpus, one_process_on_one_processor_has_none)
{
    usable(1);
    add({0});
    expect_seat(0, 0, 1, {0});
}

TEST_F(test_cpus, one_bound_process_gets_the_first_free_one)
{
    usable(4);
    add({0});
    expect_seat(0, 3, 1, {1});
}

TEST_F(test_cpus, bound_processes_get_a_free_one_each)
{
    usable(8);
    for (int i = 0; i < 4; ++i) {
        add({i}, 100 - i);
    }
    for (int i = 0; i < 4; ++i) {
        expect_seat(i, 4, 1, {4 + i});
    }
}

TEST_F(test_cpus, free_ones_go_to_those_that_register_most)
{
    usable(6);
    add({0}, 10);
    add({1}, 30);
    add({2}, 20);
    expect_seat(1, 3, 1, {3});
    expect_seat(2, 3, 1, {4});
    expect_seat(0, 3, 1, {5});
}

TEST_F(test_cpus, too_few_free_ones_are_shared_in_turn)
{
    usable(7);
    for (int i = 0; i < 5; ++i) {
        add({i}, 100 - i);
    }

    /* There are three helpers on processor 5 and two on 6 */
    expect_seat(0, 2, 3, {5});
    expect_seat(1, 2, 2, {6});
    expect_seat(2, 2, 3, {5});
    expect_seat(3, 2, 2, {6});
    expect_seat(4, 2, 3, {5});
}

TEST_F(test_cpus, paper_six_tasks_of_eight_cores)
{
    /* Section 5: "each idle core hosts 3 helper threads" */
    usable(8);
    for (int i = 0; i < 6; ++i) {
        add({i});
    }
    for (int i = 0; i < 6; ++i) {
        expect_seat(i, 2, 3, {6 + i % 2});
    }
}

TEST_F(test_cpus, fully_bound_helpers_stay_with_their_processes)
{
    usable(4);
    for (int i = 0; i < 4; ++i) {
        add({i});
    }
    for (int i = 0; i < 4; ++i) {
        expect_seat(i, 0, 1, {i});
    }
}

TEST_F(test_cpus, unbound_processes_leave_idle_ones_that_are_not_known)
{
    usable(4);
    for (int i = 0; i < 3; ++i) {
        add({0, 1, 2, 3});
    }
    for (int i = 0; i < 3; ++i) {
        expect_seat(i, 1, 3, {0, 1, 2, 3});
    }

    usable(8);
    m_users.clear();
    for (int i = 0; i < 5; ++i) {
        add({0, 1, 2, 3, 4, 5, 6, 7});
    }
    /* This is 5 / 3, rounded up */
    expect_seat(0, 3, 2, {0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_F(test_cpus, more_unbound_processes_than_processors)
{
    usable(2);
    for (int i = 0; i < 5; ++i) {
        add({0, 1});
    }
    for (int i = 0; i < 5; ++i) {
        expect_seat(i, 0, 3, {0, 1});
    }
}

TEST_F(test_cpus, more_bound_processes_than_processors)
{
    usable(2);
    add({0});
    add({0});
    add({0});
    add({1});
    expect_seat(0, 0, 3, {0});
    expect_seat(3, 0, 1, {1});
}

TEST_F(test_cpus, crowded_processors_leave_the_others_idle)
{
    usable(4);
    for (int i = 0; i < 3; ++i) {
        add({0});
    }
    expect_seat(0, 3, 1, {1});
    expect_seat(1, 3, 1, {2});
    expect_seat(2, 3, 1, {3});
}

TEST_F(test_cpus, second_thread_of_a_core_is_idle)
{
    /* Bound to cores of two hardware threads, as Open MPI does */
    usable(4);
    add({0, 2});
    add({1, 3});
    expect_seat(0, 2, 1, {0, 2});
    expect_seat(1, 2, 1, {1, 3});
}

TEST_F(test_cpus, nested_masks_are_assigned_from_the_inside)
{
    /* A greedy choice would give processor 0 to the process with the widest
     * mask, and count two processors as idle */
    usable(4);
    add({0, 1, 2, 3});
    add({0, 1});
    add({0});
    expect_seat(0, 1, 3, {0, 1, 2, 3});

    /* The same in the other order */
    m_users.clear();
    add({0});
    add({0, 1});
    add({0, 1, 2, 3});
    expect_seat(2, 1, 3, {0, 1, 2, 3});
}

TEST_F(test_cpus, full_inner_mask_takes_nothing_more)
{
    usable(4);
    add({0});
    add({0});
    add({0, 1});
    add({0, 1});
    expect_seat(0, 2, 2, {2});
    expect_seat(1, 2, 2, {3});
    expect_seat(2, 2, 2, {2});
    expect_seat(3, 2, 2, {3});
}

TEST_F(test_cpus, unknown_mask_counts_as_unbound)
{
    usable(4);
    add({0});
    add({});
    expect_seat(0, 2, 1, {0});
    expect_seat(1, 2, 1, {0, 1, 2, 3});
}

TEST_F(test_cpus, processors_of_another_cpuset_are_not_ours)
{
    usable(2);
    add({0});
    add({5});
    add({1, 2, 3});
    expect_seat(0, 0, 1, {0});
    expect_seat(1, 0, 1, {5});
    expect_seat(2, 0, 1, {1});
}

TEST_F(test_cpus, nothing_is_idle_where_it_is_not_known_what_is_usable)
{
    usable(0);
    add({0, 1});
    add({0, 1});
    add({0, 1});
    expect_seat(0, 0, 2, {0, 1});

    m_users.clear();
    add({});
    expect_seat(0, 0, 1, {});
}

TEST_F(test_cpus, last_processor_of_a_set)
{
    m_usable = make({0, CPU_SETSIZE - 1});
    add({0});
    expect_seat(0, 1, 1, {CPU_SETSIZE - 1});
}

TEST_F(test_cpus, ranks_are_a_permutation)
{
    usable(2);
    for (uint64_t demand : {5ul, 7ul, 5ul, 0ul, 7ul, UINT64_MAX}) {
        add({0, 1}, demand);
    }

    unsigned expected[] = {3, 1, 4, 5, 2, 0}; /* Ties by place */
    for (unsigned i = 0; i < m_users.size(); ++i) {
        EXPECT_EQ(expected[i], seat(i).rank) << i;
    }
}

TEST_F(test_cpus, usable_ones_do_not_depend_on_the_own_mask)
{
    cpu_set_t before, usable, bound, after;

    ASSERT_EQ(0, sched_getaffinity(0, sizeof(before), &before));
    ucs_rcache_pred_cpus_usable(&usable);
    CPU_AND(&bound, &usable, &before);
    EXPECT_TRUE(CPU_EQUAL(&bound, &before)) << "not all that it runs on";

    CPU_ZERO(&bound);
    for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&bound) == 0; --cpu) {
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &bound);
        }
    }
    ASSERT_EQ(0, sched_setaffinity(0, sizeof(bound), &bound));
    ucs_rcache_pred_cpus_usable(&after);
    EXPECT_TRUE(CPU_EQUAL(&usable, &after));
    ASSERT_EQ(0, sched_getaffinity(0, sizeof(after), &after));
    EXPECT_TRUE(CPU_EQUAL(&bound, &after)) << "its own mask was changed";
    ASSERT_EQ(0, sched_setaffinity(0, sizeof(before), &before));
}
