/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/library.h>
#include <common/log_watch.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>


class test_node : public ::testing::Test {
protected:
    static constexpr uint64_t UNLIMITED = UCS_RCACHE_PRED_NODE_UNLIMITED;
    static constexpr uint64_t BOUND     = 1000;

    /* A key of its own: jobs that run here are not met, nor is what another
     * test left. Every handle is a process; only those of the dead tell. */
    test_node() :
        m_key(((uint64_t)getpid() << 32) + ++num_tests),
        m_self(ucs_rcache_pred_procid_self()),
        m_dead(m_self + (1ull << UCS_RCACHE_PRED_PROCID_PID_BITS))
    {
        params(BOUND);
    }

    ~test_node()
    {
        while (!m_nodes.empty()) {
            leave(m_nodes.back());
        }
        EXPECT_FALSE(test_node_exists(m_key)) << "a segment was left behind";
    }

    void params(uint64_t max_bytes, uint64_t max_regions = UNLIMITED,
                uint64_t reserve = 0)
    {
        m_params.max_bytes   = max_bytes;
        m_params.max_regions = max_regions;
        m_params.reserve     = reserve;
        m_params.reserve_regions = 0;
    }

    ucs_rcache_pred_node_t *join(ucs_rcache_pred_procid_t self = 0)
    {
        ucs_rcache_pred_node_t *node = NULL;

        EXPECT_EQ(UCS_OK, try_join(&node, self));
        m_nodes.push_back(node);
        return node;
    }

    ucs_status_t try_join(ucs_rcache_pred_node_t **node_p,
                          ucs_rcache_pred_procid_t self = 0)
    {
        return test_node_join_as(&m_params, m_key, self ? self : m_self,
                                 node_p);
    }

    void leave(ucs_rcache_pred_node_t *node)
    {
        m_nodes.erase(std::find(m_nodes.begin(), m_nodes.end(), node));
        ucs_rcache_pred_node_leave(node);
    }

    /* A process that joins, and dies with so many bytes reserved */
    void live_and_die(uint64_t bytes)
    {
        ucs_rcache_pred_node_t *node = NULL;

        ASSERT_EQ(UCS_OK, try_join(&node, m_dead));
        ASSERT_TRUE(reserve(node, bytes));
        ucs_rcache_pred_node_abandon(node);
    }

    static bool reserve(ucs_rcache_pred_node_t *node, uint64_t bytes)
    {
        return ucs_rcache_pred_node_reserve(node, bytes);
    }

    static void release(ucs_rcache_pred_node_t *node, uint64_t bytes)
    {
        ucs_rcache_pred_node_release(node, bytes);
    }

    static bool is_asked(ucs_rcache_pred_node_t *node)
    {
        return ucs_rcache_pred_node_is_asked(node);
    }

    static ucs_rcache_pred_node_totals_t totals(ucs_rcache_pred_node_t *node)
    {
        ucs_rcache_pred_node_totals_t totals;

        ucs_rcache_pred_node_get_totals(node, &totals);
        return totals;
    }

    static void expect_totals(ucs_rcache_pred_node_t *node, uint64_t bytes,
                              uint64_t regions, unsigned procs)
    {
        EXPECT_EQ(bytes, totals(node).bytes);
        EXPECT_EQ(regions, totals(node).regions);
        EXPECT_EQ(procs, totals(node).procs);
    }

    /* Processors first to last */
    static cpu_set_t cpus(int first, int last)
    {
        cpu_set_t set;

        CPU_ZERO(&set);
        for (int cpu = first; cpu <= last; ++cpu) {
            CPU_SET(cpu, &set);
        }
        return set;
    }

    ucs_rcache_pred_node_seat_t update(ucs_rcache_pred_node_t *node,
                                       cpu_set_t affinity, uint64_t demand)
    {
        ucs_rcache_pred_node_seat_t seat;

        ucs_rcache_pred_node_update(node, &affinity, demand, &seat);
        return seat;
    }

    /* What processes have been granted, at most: counted after it was granted,
     * no longer counted before it is given back */
    struct granted_t {
        std::atomic<uint64_t> bytes{0};
        std::atomic<uint64_t> regions{0};
        std::atomic<unsigned> grants{0};
        std::atomic<unsigned> refusals{0};
        std::atomic<unsigned> violations{0};
    };

    void ask_at_random(ucs_rcache_pred_node_t *node, granted_t *granted,
                       unsigned rounds, unsigned seed) const;

    /* More than some of the others will ask for */
    static constexpr uint64_t MOST = BOUND * 3 / 4;
    static void hold_most(ucs_rcache_pred_node_t *node, granted_t *granted);

    static unsigned                      num_tests;
    uint64_t                             m_key;
    ucs_rcache_pred_procid_t             m_self;
    ucs_rcache_pred_procid_t             m_dead; /* Its pid is ours by now */
    ucs_rcache_pred_node_params_t        m_params;
    std::vector<ucs_rcache_pred_node_t*> m_nodes;
};

unsigned test_node::num_tests = 0;


/* Bounds */

TEST_F(test_node, grants_are_summed_over_processes)
{
    auto a = join(), b = join();

    EXPECT_TRUE(reserve(a, 600));
    EXPECT_TRUE(reserve(b, 300));
    expect_totals(a, 900, 2, 2);
    expect_totals(b, 900, 2, 2);
    EXPECT_FALSE(reserve(a, 101));
    EXPECT_FALSE(reserve(b, 101));
    expect_totals(a, 900, 2, 2);
    EXPECT_TRUE(reserve(b, 100));
    EXPECT_FALSE(reserve(a, 1));

    release(a, 600);
    expect_totals(b, 400, 2, 2);
    EXPECT_TRUE(reserve(b, 600));
    expect_totals(a, BOUND, 3, 2);
}

TEST_F(test_node, regions_are_bounded_as_well)
{
    params(UNLIMITED, 3);
    auto a = join(), b = join();

    EXPECT_TRUE(reserve(a, 1));
    EXPECT_TRUE(reserve(b, 1));
    EXPECT_TRUE(reserve(b, 0));
    EXPECT_FALSE(reserve(a, 1));
    expect_totals(a, 2, 3, 2);
    release(b, 0);
    EXPECT_TRUE(reserve(a, 1));
}

TEST_F(test_node, each_keeps_its_own_bound)
{
    auto small = join();
    params(2 * BOUND);
    auto large = join();

    EXPECT_TRUE(reserve(large, 2 * BOUND));
    EXPECT_FALSE(reserve(small, 1));
    release(large, BOUND + 1);
    EXPECT_TRUE(reserve(small, 1));
}

TEST_F(test_node, unlimited_has_room_for_anything_sane)
{
    params(UNLIMITED);
    auto a = join(), b = join();

    EXPECT_TRUE(reserve(a, UINT64_MAX / 2));
    EXPECT_TRUE(reserve(b, UINT64_MAX / 2));
    expect_totals(a, UINT64_MAX - 1, 2, 2);
    EXPECT_FALSE(reserve(a, 1)); /* Its own numbers would wrap around */
    auto c = join();
    EXPECT_TRUE(reserve(c, UINT64_MAX / 2));
    expect_totals(a, UINT64_MAX, 3, 3);
    release(a, UINT64_MAX / 2);
    expect_totals(c, UINT64_MAX - 1, 2, 3);
}

TEST_F(test_node, absurd_sizes_are_refused_and_leave_no_trace)
{
    for (uint64_t bound : {BOUND, UINT64_MAX - 1, UNLIMITED}) {
        params(bound);
        auto node = join();

        EXPECT_TRUE(reserve(node, 10));
        for (uint64_t bytes : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 9,
                               UINT64_MAX / 2 + 1}) {
            EXPECT_FALSE(reserve(node, bytes)) << bytes << " of " << bound;
        }
        expect_totals(node, 10, 1, 1);
        leave(node);
    }
}

TEST_F(test_node, sum_of_others_does_not_wrap_around)
{
    params(UNLIMITED);
    auto a = join(), b = join(), c = join();

    EXPECT_TRUE(reserve(a, UINT64_MAX / 2));
    EXPECT_TRUE(reserve(b, UINT64_MAX / 2));
    EXPECT_TRUE(reserve(c, 3));
    params(BOUND);
    auto d = join();
    EXPECT_FALSE(reserve(d, 1)); /* The sum modulo 2^64 is 2 */
}

TEST_F(test_node, what_a_process_has_goes_with_it)
{
    auto a = join(), b = join();

    EXPECT_TRUE(reserve(b, BOUND));
    update(b, cpus(0, 3), 17);
    unsigned slot = test_node_slot(b);
    EXPECT_FALSE(test_node_is_clear(a, slot));
    leave(b);
    EXPECT_TRUE(test_node_is_clear(a, slot));
    expect_totals(a, 0, 0, 1);
    EXPECT_TRUE(reserve(a, BOUND));
}

TEST_F(test_node, slots_are_used_again)
{
    auto a = join();

    for (unsigned i = 0; i < 5; ++i) {
        auto b = join();
        EXPECT_EQ(1u, test_node_slot(b));
        leave(b);
    }
    EXPECT_EQ(2u, test_node_num_used(a));
}


/* Joining */

TEST_F(test_node, reserve_is_held_from_the_beginning_to_the_end)
{
    params(BOUND, UNLIMITED, 400);
    auto a = join(), b = join();

    expect_totals(a, 800, 0, 2);
    EXPECT_FALSE(reserve(b, 201));
    EXPECT_TRUE(reserve(b, 200));
    release(b, 200);
    expect_totals(a, 800, 0, 2);
    leave(a);
    expect_totals(b, 400, 0, 1);
}

TEST_F(test_node, reserve_that_does_not_fit_is_refused_by_name)
{
    ucs_rcache_pred_node_t *node;
    auto a = join();

    EXPECT_TRUE(reserve(a, 700));
    params(BOUND, UNLIMITED, 301);
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_join(&node));
    std::string message = log_watch::take();
    for (auto value : {"301 bytes", "1000 bytes", "700 bytes", "1 other"}) {
        EXPECT_NE(std::string::npos, message.find(value)) << message;
    }

    expect_totals(a, 700, 1, 1);
    EXPECT_TRUE(test_node_is_clear(a, 1));
    params(BOUND, UNLIMITED, 300);
    join();
}

TEST_F(test_node, reserve_above_the_bound_is_refused)
{
    ucs_rcache_pred_node_t *node;

    params(BOUND, UNLIMITED, BOUND + 1);
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_join(&node));
    EXPECT_NE("", log_watch::take());
}

TEST_F(test_node, without_a_reserve_joining_needs_no_room)
{
    params(2 * BOUND);
    auto a = join();

    EXPECT_TRUE(reserve(a, 2 * BOUND));
    params(BOUND);
    expect_totals(join(), 2 * BOUND, 1, 2);
}

TEST_F(test_node, too_many_processes_are_refused_by_number)
{
    ucs_rcache_pred_node_t *extra;
    auto node = join();

    for (unsigned i = 1; i < test_node_num_slots(); ++i) {
        test_node_set_owner(node, i, m_self);
    }
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_join(&extra));
    std::string message = log_watch::take();
    EXPECT_NE(std::string::npos,
              message.find(std::to_string(test_node_num_slots()))) << message;

    /* Unless one of them is dead */
    test_node_set_owner(node, 500, m_dead);
    EXPECT_EQ(500u, test_node_slot(join()));
    expect_totals(node, 0, 0, test_node_num_slots());
}

TEST_F(test_node, no_memory_is_not_fatal)
{
    ucs_rcache_pred_node_t *node;

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, try_join(&node));
    EXPECT_TRUE(test_alloc_failed());
    EXPECT_NE(std::string::npos, log_watch::take().find("allocate"));
}

TEST_F(test_node, real_join_meets_itself)
{
    ucs_rcache_pred_node_t *a, *b;

    params(UNLIMITED);
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_node_join(&m_params, &a));
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_node_join(&m_params, &b));
    EXPECT_EQ(m_self, test_node_owner(a, test_node_slot(b)));
    EXPECT_NE(test_node_slot(a), test_node_slot(b));
    EXPECT_GE(totals(a).procs, 2u);
    ucs_rcache_pred_node_leave(b);
    ucs_rcache_pred_node_leave(a);
}


/* The dead */

TEST_F(test_node, share_of_a_dead_process_is_taken_before_refusing)
{
    auto a = join();

    live_and_die(BOUND);
    expect_totals(a, BOUND, 1, 2);
    EXPECT_TRUE(reserve(a, BOUND));
    expect_totals(a, BOUND, 1, 1);
    EXPECT_TRUE(test_node_is_clear(a, 1));
}

TEST_F(test_node, share_of_a_dead_process_is_taken_at_an_update)
{
    auto a = join();

    live_and_die(BOUND);
    EXPECT_EQ(1u, update(a, cpus(0, 1), 0).procs);
    expect_totals(a, 0, 0, 1);
}

TEST_F(test_node, living_processes_keep_their_shares)
{
    auto a = join(), b = join();

    reserve(b, 500);
    EXPECT_EQ(0u, test_node_reap(a));
    expect_totals(a, 500, 1, 2);
}

TEST_F(test_node, all_dead_are_found)
{
    auto a = join();

    for (unsigned i = 0; i < 5; ++i) {
        live_and_die(10);
    }
    join();
    for (unsigned i = 0; i < 4; ++i) {
        live_and_die(10);
    }
    EXPECT_EQ(4u, test_node_reap(a)); /* The others when b joined */
    expect_totals(a, 0, 0, 2);
}

TEST_F(test_node, who_died_clearing_a_slot_is_cleared_away)
{
    auto a = join();

    /* It had put itself in the place of another, and done half */
    test_node_set_owner(a, 1, m_dead);
    test_node_set_bytes(a, 1, 300);
    test_node_set_owner(a, 2, m_dead + (1ull << 30));
    EXPECT_EQ(2u, test_node_reap(a));
    EXPECT_TRUE(test_node_is_clear(a, 1));
    EXPECT_TRUE(test_node_is_clear(a, 2));
}

TEST_F(test_node, slot_that_is_being_cleared_counts_until_it_is_free)
{
    auto a = join();

    test_node_set_owner(a, 1, m_self); /* A living one has just swapped in */
    test_node_set_bytes(a, 1, 300);
    EXPECT_EQ(0u, test_node_reap(a));
    EXPECT_FALSE(reserve(a, BOUND - 299));
    EXPECT_TRUE(reserve(a, BOUND - 300));
    EXPECT_NE(1u, test_node_slot(join()));
}

TEST_F(test_node, several_who_clear_at_once_clear_each_slot_once)
{
    constexpr unsigned NUM = 200;
    std::atomic<unsigned> cleared(0), ready(0);
    std::vector<std::thread> threads;
    auto node = join();

    for (unsigned i = 0; i < 4; ++i) {
        join();
    }
    for (unsigned i = 5; i < 5 + NUM; ++i) {
        test_node_set_owner(node, i, m_dead);
        test_node_set_bytes(node, i, 5);
    }

    for (unsigned i = 1; i < 5; ++i) {
        threads.emplace_back([this, &cleared, &ready, i] {
            for (++ready; ready < 4;) {
                sched_yield();
            }
            cleared += test_node_reap(m_nodes[i]);
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    EXPECT_EQ(NUM, cleared);
    expect_totals(node, 0, 0, 5);
}


/* Asking */

TEST_F(test_node, refusal_is_heard_once_by_each_of_the_others)
{
    auto a = join(), b = join(), c = join();

    reserve(a, BOUND);
    EXPECT_FALSE(is_asked(a));
    EXPECT_FALSE(reserve(b, 1));
    EXPECT_FALSE(reserve(b, 1));
    EXPECT_TRUE(is_asked(a));
    EXPECT_FALSE(is_asked(a));
    EXPECT_TRUE(is_asked(c));
    EXPECT_FALSE(is_asked(c));
    EXPECT_FALSE(is_asked(b)); /* Its own */

    EXPECT_FALSE(reserve(c, 1));
    EXPECT_TRUE(is_asked(a));
    EXPECT_TRUE(is_asked(b));
    EXPECT_FALSE(is_asked(c));
}

TEST_F(test_node, own_refusals_hide_nobody_elses)
{
    auto a = join(), b = join();

    reserve(a, BOUND);
    EXPECT_FALSE(reserve(b, 1));
    EXPECT_FALSE(reserve(a, 1));
    EXPECT_TRUE(is_asked(a));
    EXPECT_TRUE(is_asked(b));
    EXPECT_FALSE(is_asked(a));
    EXPECT_FALSE(is_asked(b));
}

TEST_F(test_node, grants_ask_nobody)
{
    auto a = join(), b = join();

    reserve(a, 500);
    reserve(b, 500);
    release(b, 500);
    EXPECT_FALSE(is_asked(a));
    EXPECT_FALSE(is_asked(b));
}

TEST_F(test_node, nobody_is_asked_for_what_does_not_exist)
{
    auto a = join(), b = join();

    EXPECT_FALSE(reserve(b, BOUND + 1));
    EXPECT_FALSE(is_asked(a));
}

TEST_F(test_node, who_joins_later_was_not_asked)
{
    auto a = join(), b = join();

    reserve(a, BOUND);
    reserve(b, 1);
    EXPECT_FALSE(is_asked(join()));
}


/* Seats; where which helper sits is tested with the pure function */

TEST_F(test_node, seats_are_given_by_what_all_have_published)
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

TEST_F(test_node, equal_demands_are_ranked_by_slot)
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

TEST_F(test_node, before_its_first_update_a_process_has_the_mask_it_runs_with)
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

TEST_F(test_node, without_memory_a_seat_is_the_last)
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


/* Many at once */

void test_node::hold_most(ucs_rcache_pred_node_t *node, granted_t *granted)
{
    ASSERT_TRUE(reserve(node, MOST));
    granted->bytes   += MOST;
    granted->regions += 1;
}

void test_node::ask_at_random(ucs_rcache_pred_node_t *node, granted_t *granted,
                              unsigned rounds, unsigned seed) const
{
    std::mt19937 random(seed);

    for (unsigned i = 0; i < rounds; ++i) {
        uint64_t bytes = 1 + random() % (BOUND / 2);

        if (!reserve(node, bytes)) {
            ++granted->refusals;
            continue;
        }

        uint64_t all_bytes   = granted->bytes.fetch_add(bytes) + bytes;
        uint64_t all_regions = granted->regions.fetch_add(1) + 1;
        granted->violations += (all_bytes > m_params.max_bytes) ||
                               (all_regions > m_params.max_regions);
        ++granted->grants;
        if (random() % 4 == 0) {
            sched_yield();
        }
        granted->regions.fetch_sub(1);
        granted->bytes.fetch_sub(bytes);
        release(node, bytes);
    }
}

TEST_F(test_node, threads_of_some_processes_keep_the_bound)
{
    std::vector<std::thread> threads;
    granted_t granted;

    params(BOUND, 3);
    for (unsigned i = 0; i < 6; ++i) {
        auto node = (i % 2) ? m_nodes.back() : join(); /* Two of each */
        threads.emplace_back([this, &granted, node, i] {
            ask_at_random(node, &granted, 4000 / SANITIZER_SLOWDOWN, i);
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    EXPECT_EQ(0u, granted.violations);
    EXPECT_GT(granted.grants, 0u);
    EXPECT_GT(granted.refusals, 0u);
    expect_totals(m_nodes[0], 0, 0, 3);
}

TEST_F(test_node, processes_keep_the_bound_while_others_are_killed)
{
    constexpr unsigned NUM = 4;
    shared<std::atomic<unsigned>> done;
    std::vector<child> children;
    shared<granted_t> granted, uncounted; /* The killed take none back */

    params(BOUND, 3);
    auto node = join();
    hold_most(node, &*granted); /* Some are refused, however they meet */
    for (unsigned i = 0; i < NUM; ++i) {
        children.emplace_back([&, i] {
            ucs_rcache_pred_node_t *own;

            if (try_join(&own, ucs_rcache_pred_procid_self()) != UCS_OK) {
                ++*done;
                return 1;
            }
            ask_at_random(own, &*granted, 3000 / SANITIZER_SLOWDOWN, i);
            ucs_rcache_pred_node_leave(own);
            ++*done;
            return 0;
        });
    }

    for (unsigned i = 0; (i < 5000) && (*done < NUM); ++i) {
        child victim([&] {
            ucs_rcache_pred_node_t *own;

            if (try_join(&own, ucs_rcache_pred_procid_self()) == UCS_OK) {
                ask_at_random(own, &*uncounted, UINT_MAX, getpid());
            }
            return 0;
        });
        usleep(2000 + victim.pid() * 997 % 3000);
    }

    for (auto &c : children) {
        EXPECT_EQ(0, c.reap());
    }
    EXPECT_EQ(0u, granted->violations);
    EXPECT_GT(granted->grants, 0u);
    EXPECT_GT(granted->refusals, 0u);
    release(node, MOST);
    EXPECT_TRUE(reserve(node, BOUND)) << "something of the killed is left";
    test_node_reap(node); /* Those who had nothing were in nobody's way */
    expect_totals(node, BOUND, 1, 1);
}

TEST_F(test_node, share_of_a_killed_process_is_there_at_the_next_reserve)
{
    params(BOUND, 1);
    auto node = join();

    for (unsigned i = 0; i < 10; ++i) {
        shared<granted_t> granted;
        child victim([&] {
            ucs_rcache_pred_node_t *own;

            if (try_join(&own, ucs_rcache_pred_procid_self()) == UCS_OK) {
                ask_at_random(own, &*granted, UINT_MAX, i);
            }
            return 0;
        });

        ASSERT_TRUE(wait_until([&] { return granted->grants > 10 * i; }));
        victim.kill_only();
        ASSERT_TRUE(reserve(node, BOUND)) << "round " << i;
        test_node_reap(node); /* It may have had nothing */
        expect_totals(node, BOUND, 1, 1);
        release(node, BOUND);
    }
}

TEST_F(test_node, nothing_is_left_when_all_are_killed)
{
    shared<std::atomic<unsigned>> joined;
    std::vector<child> children;

    for (unsigned i = 0; i < 3; ++i) {
        children.emplace_back([&] {
            ucs_rcache_pred_node_t *own;

            if (try_join(&own, ucs_rcache_pred_procid_self()) != UCS_OK) {
                return 1;
            }
            ++*joined;
            ask_at_random(own, &*shared<granted_t>(), UINT_MAX, i);
            return 0;
        });
    }

    ASSERT_TRUE(wait_until([&] { return *joined == 3; }));
    EXPECT_TRUE(test_node_exists(m_key));
    for (auto &c : children) {
        kill(c.pid(), SIGKILL);
    }
    for (auto &c : children) {
        c.kill_only();
    }
    EXPECT_FALSE(test_node_exists(m_key));
}


/* fork */

TEST_F(test_node, forked_child_does_not_touch_what_its_parent_has)
{
    auto node = join();

    reserve(node, 700);
    child forked([&] {
        ucs_rcache_pred_node_abandon(node);
        return 0;
    });
    EXPECT_EQ(0, forked.reap());
    expect_totals(node, 700, 1, 1);
}

TEST_F(test_node, forked_child_is_a_process_of_its_own)
{
    auto node = join();

    reserve(node, 700);
    child forked([&] {
        ucs_rcache_pred_node_t *own;

        ucs_rcache_pred_node_abandon(node);
        if (try_join(&own, ucs_rcache_pred_procid_self()) != UCS_OK) {
            return 1;
        }
        if (totals(own).bytes != 700) {
            return 2;
        }
        return reserve(own, 300) ? 0 : 3; /* and ends without a word */
    });
    EXPECT_EQ(0, forked.reap());
    expect_totals(node, 1000, 2, 2);
    EXPECT_TRUE(reserve(node, 300));
}

TEST_F(test_node, memory_lives_as_long_as_a_forked_child_has_it)
{
    shared<std::atomic<int>> step;
    auto node = join();
    child forked([&] {
        wait_until([&] { return *step == 1; });
        ucs_rcache_pred_node_abandon(node);
        *step = 2;
        pause();
        return 0;
    });

    leave(node);
    EXPECT_TRUE(test_node_exists(m_key));
    *step = 1;
    ASSERT_TRUE(wait_until([&] { return *step == 2; }));
    EXPECT_FALSE(test_node_exists(m_key));
}
