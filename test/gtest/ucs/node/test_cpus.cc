/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <algorithm>
#include <set>
#include <vector>


class test_cpus : public ::testing::Test {
protected:
    typedef std::set<int> cpus_t;

    static constexpr double HALF = UCS_RCACHE_PRED_SIBLING_PART;

    test_cpus() : m_usable(make({0, 1, 2, 3, 4, 5, 6, 7}))
    {
        CPU_ZERO(&m_cpus.idle);
        cores(1);
    }

    static cpu_set_t make(const cpus_t &cpus)
    {
        cpu_set_t set;

        CPU_ZERO(&set);
        for (int cpu : cpus) {
            CPU_SET(cpu, &set);
        }
        return set;
    }

    void idle(const cpus_t &cpus) { m_cpus.idle = make(cpus); }

    /* Processors that follow each other are threads of a core, so many at a time */
    void cores(unsigned threads)
    {
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            m_cpus.core[cpu] = cpu - (cpu % threads);
        }
    }

    void add(const cpus_t &cpus, uint64_t demand = 0, int cpu = -1)
    {
        m_users.push_back({make(cpus), m_usable, demand, cpu});
    }

    void divide()
    {
        m_seats.resize(m_users.size());
        ASSERT_TRUE(ucs_rcache_pred_cpus_seats(&m_cpus, m_users.data(),
                                               m_users.size(), m_seats.data()));
    }

    /* Where the helper of each process runs, as divide() has found */
    void expect_cpus(const std::vector<int> &expected)
    {
        divide();
        for (unsigned i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(expected[i], m_seats[i].cpu) << "process " << i;
        }
    }

    void expect_idle(const std::vector<double> &expected)
    {
        for (unsigned i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(expected[i], m_seats[i].idle) << "process " << i;
        }
    }

    void expect_sharers(const std::vector<unsigned> &expected)
    {
        for (unsigned i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(expected[i], m_seats[i].sharers) << "process " << i;
        }
    }

    double sum_of_shares()
    {
        double sum = 0;

        for (const auto &seat : m_seats) {
            sum += seat.share;
        }
        return sum;
    }

    cpu_set_t                               m_usable;
    ucs_rcache_pred_cpus_t                  m_cpus;
    std::vector<ucs_rcache_pred_cpu_user_t> m_users;
    std::vector<ucs_rcache_pred_cpu_seat_t> m_seats;
};

TEST_F(test_cpus, without_an_idle_one_a_helper_stays_with_its_process)
{
    add({0, 1, 2, 3});
    expect_cpus({-1});
    expect_idle({0});
    expect_sharers({1});
}

TEST_F(test_cpus, idle_ones_go_to_those_that_register_most)
{
    idle({3, 5});
    add({0}, 10);
    add({1}, 30);
    add({2}, 20);
    expect_cpus({3, 3, 5});
    expect_idle({0, 1, 1});
    expect_sharers({2, 2, 1});
    EXPECT_EQ(2u, m_seats[0].rank);
    EXPECT_EQ(0u, m_seats[1].rank);
    EXPECT_EQ(1u, m_seats[2].rank);
}

TEST_F(test_cpus, equal_demands_are_ranked_by_place)
{
    idle({7});
    add({0}, 5);
    add({1}, 5);
    add({2}, 5);
    divide();
    expect_idle({1, 0, 0});
}

TEST_F(test_cpus, idle_ones_of_its_own_come_first)
{
    idle({1, 3, 5});
    add({4, 5}, 30);
    add({2, 3}, 20);
    add({0, 1}, 10);
    expect_cpus({5, 3, 1});
}

TEST_F(test_cpus, helper_stays_on_its_idle_one)
{
    idle({1, 3, 5});
    add({0, 1}, 10, 5);
    add({2, 3}, 20);
    expect_cpus({5, 3});

    /* Others that register more choose from what is left */
    m_users.clear();
    add({0, 1}, 10, 1);
    add({0, 1}, 100);
    expect_cpus({1, 3});
}

TEST_F(test_cpus, helper_leaves_one_that_is_not_idle_any_more)
{
    idle({3});
    add({0, 1}, 10, 1);
    expect_cpus({3});
}

TEST_F(test_cpus, two_of_the_same_demand_do_not_hand_it_to_and_fro)
{
    idle({7});
    add({0}, 100);
    add({1}, 90, 7);
    divide();
    expect_idle({0, 1});

    /* Much more demand moves it */
    m_users[0].demand = 120;
    divide();
    expect_idle({1, 0});
    m_users[1].demand = UINT64_MAX;
    divide();
    expect_idle({0, 1});
}

TEST_F(test_cpus, paper_six_tasks_of_eight_cores)
{
    /* Section 5: "each idle core hosts 3 helper threads" */
    idle({6, 7});
    for (int i = 0; i < 6; ++i) {
        add({i});
    }
    divide();
    expect_sharers({3, 3, 3, 3, 3, 3});
    expect_idle({1, 1, 0, 0, 0, 0});
}

TEST_F(test_cpus, sibling_of_a_busy_thread_is_half_of_one)
{
    cores(2);
    idle({1, 3});
    add({0, 1});
    add({2, 3});
    expect_cpus({1, 3});
    expect_idle({HALF, HALF});
}

TEST_F(test_cpus, core_that_is_idle_comes_before_a_sibling)
{
    cores(2);
    idle({1, 4, 5});
    add({0, 1}, 10);
    add({2, 3}, 5);
    expect_cpus({4, 5});
    expect_idle({1, 1});

    /* A helper moves to it, as long as there is one */
    m_users[0].cpu = 1;
    expect_cpus({4, 5});
    add({6, 7}, 20, 1);
    m_users[0].cpu = 4;
    m_users[1].cpu = 5;
    expect_cpus({4, 5, 1});
    expect_idle({1, 1, HALF});
}

TEST_F(test_cpus, processors_of_another_cpuset_are_not_ours)
{
    idle({2, 5});
    m_usable = make({0, 1, 2, 3});
    add({0}, 10);
    add({0}, 5);
    m_usable = make({4, 5, 6, 7});
    add({4}, 1);
    expect_cpus({2, 2, 5});
    expect_idle({1, 0, 1});
}

TEST_F(test_cpus, nothing_is_idle_where_it_is_not_known_what_is_usable)
{
    idle({0, 1});
    m_usable = make({});
    add({0, 1});
    add({});
    expect_cpus({-1, -1});
    EXPECT_EQ(1, m_seats[0].share);
    EXPECT_EQ(1, m_seats[1].share);
}

TEST_F(test_cpus, last_processor_of_a_set)
{
    m_usable = make({0, CPU_SETSIZE - 1});
    idle({CPU_SETSIZE - 1});
    add({0});
    expect_cpus({CPU_SETSIZE - 1});
}

TEST_F(test_cpus, processes_share_the_processors_of_their_masks)
{
    for (int i = 0; i < 8; ++i) {
        add({0, 1});
    }
    divide();
    EXPECT_EQ(0.25, m_seats[0].share);
    EXPECT_EQ(0.25, m_seats[7].share);
    expect_sharers({4, 4, 4, 4, 4, 4, 4, 4});

    /* One that has more than one processor has one */
    m_users.resize(1);
    divide();
    EXPECT_EQ(1, m_seats[0].share);
    expect_sharers({1});
}

TEST_F(test_cpus, nested_masks_share_what_they_have_in_common)
{
    add({0});
    add({0, 1});
    add({0, 1, 2, 3});
    divide();
    EXPECT_DOUBLE_EQ(1. / 3, m_seats[0].share);
    EXPECT_DOUBLE_EQ(1. / 3 + 1. / 2, m_seats[1].share);
    EXPECT_EQ(1, m_seats[2].share);
    expect_sharers({3, 2, 1});
}

TEST_F(test_cpus, all_shares_are_at_most_all_processors)
{
    unsigned random = 1;

    for (unsigned i = 0; i < 100; ++i) {
        cpus_t mask;

        for (int cpu = 0; cpu < 8; ++cpu) {
            random = random * 1103515245 + 12345;
            if ((random >> 16) % 3 == 0) {
                mask.insert(cpu);
            }
        }
        add(mask, random);
        divide();
        EXPECT_LE(sum_of_shares(), 8.0001);
    }
}

/* As many processes as a node may have, in groups of the same mask, in the whole range
 * of processors: each share is what the masks say, counted one by one */
TEST_F(test_cpus, shares_of_many_masks)
{
    constexpr unsigned CPUS = CPU_SETSIZE, USERS = 200;
    std::vector<unsigned> counts(CPUS);
    std::vector<cpus_t> masks;
    uint32_t random = 1;

    for (unsigned cpu = 0; cpu < CPUS; ++cpu) {
        CPU_SET(cpu, &m_usable);
    }
    idle({0, 63, 64, 511, 1023});
    while (masks.size() < USERS) {
        cpus_t mask;

        for (unsigned n = 0; n < 1 + masks.size(); ++n) {
            random = random * 1103515245 + 12345;
            mask.insert((random >> 16) % CPUS);
        }
        for (unsigned same = 0; same < 1 + (random >> 16) % 4; ++same) {
            masks.push_back(mask);
        }
    }
    for (const cpus_t &mask : masks) {
        add(mask, 1);
        for (int cpu : mask) {
            ++counts[cpu];
        }
    }

    divide();
    for (unsigned i = 0; i < masks.size(); ++i) {
        double share = 0;

        for (int cpu : masks[i]) {
            share += 1. / counts[cpu];
        }
        EXPECT_DOUBLE_EQ(std::min(share, 1.), m_seats[i].share) << i;
    }
    expect_cpus({0, 63, 64, 511, 1023, 0});
}

TEST_F(test_cpus, without_memory_there_are_no_seats)
{
    add({0});
    m_seats.resize(1);
    test_alloc_fail_nth(1);
    EXPECT_FALSE(ucs_rcache_pred_cpus_seats(&m_cpus, m_users.data(), 1,
                                            m_seats.data()));
    EXPECT_TRUE(test_alloc_failed());
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
