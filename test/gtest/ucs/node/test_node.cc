/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node_test.h"


/* Bounds that the processes of a node keep together, and who is asked to
 * make room */
class test_node : public node_test {
};

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
    /* The numbers of the process itself would wrap around */
    EXPECT_FALSE(reserve(a, 1));
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
    /* The sum of what others have is 2 modulo 2^64 */
    EXPECT_FALSE(reserve(d, 1));
}

TEST_F(test_node, what_a_process_has_goes_with_it)
{
    auto a = join(), b = join();

    EXPECT_TRUE(reserve(b, BOUND));
    update(b, 17);
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
    EXPECT_EQ(2u, a->shm->num_used);
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
    EXPECT_EQ("THE_BYTES=1000 has no room for this process, which needs 301 of "
              "it: the others (1) have 700; accepted: 301 and more for each "
              "process of the node", log_watch::take());

    expect_totals(a, 700, 1, 1);
    EXPECT_TRUE(test_node_is_clear(a, 1));
    params(BOUND, UNLIMITED, 300);
    join();
}

/* The message is of the bound that has no room, where there are two */
TEST_F(test_node, reserve_of_regions_that_does_not_fit_is_refused_by_name)
{
    ucs_rcache_pred_node_t *node;

    for (uint64_t bytes : {(uint64_t)BOUND, (uint64_t)UNLIMITED}) {
        params(bytes, 4, 100);
        m_params.reserve_regions = 2;
        auto a = join(), b = join();
        EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_join(&node));
        EXPECT_EQ("THE_REGIONS=4 has no room for this process, which needs 2 "
                  "of it: the others (2) have 4; accepted: 2 and more for each "
                  "process of the node", log_watch::take());
        leave(a);
        leave(b);
    }
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

    for (unsigned i = 1; i < UCS_RCACHE_PRED_NODE_SLOTS; ++i) {
        test_node_set_owner(node, i, node->self);
    }
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, try_join(&extra));
    std::string message = log_watch::take();
    EXPECT_NE(std::string::npos,
              message.find(std::to_string(UCS_RCACHE_PRED_NODE_SLOTS))) << message;

    /* There is room again if one of them is dead */
    test_node_set_owner(node, 500, m_gone);
    EXPECT_EQ(500u, test_node_slot(join()));
    expect_totals(node, 0, 0, UCS_RCACHE_PRED_NODE_SLOTS);
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
    EXPECT_EQ(b->self, a->shm->slots[test_node_slot(b)].owner);
    EXPECT_NE(test_node_slot(a), test_node_slot(b));
    EXPECT_GE(totals(a).procs, 2u);
    ucs_rcache_pred_node_leave(b);
    ucs_rcache_pred_node_leave(a);
}

/* Asking */

/* A process that needs room now comes before one that wants it for later, with what it
 * needs and no more */
TEST_F(test_node, urgent_asks_come_first)
{
    auto a = join(), b = join(), c = join();
    uint64_t idle;

    ASSERT_TRUE(reserve(c, BOUND));
    ucs_rcache_pred_node_ask(a, 500, 0, 10);
    ucs_rcache_pred_node_ask(b, 100, 0, 0);
    ucs_rcache_pred_node_ask(a, 500, 0, 10);
    ASSERT_TRUE(ucs_rcache_pred_node_is_asked(c));
    ASSERT_TRUE(ucs_rcache_pred_node_lacks(c, UCS_RCACHE_PRED_NODE_DEVICES, &idle));
    EXPECT_EQ(0u, idle);
    EXPECT_TRUE(ucs_rcache_pred_node_offer(c, UCS_RCACHE_PRED_NODE_DEVICES, 100, 0));
    EXPECT_FALSE(ucs_rcache_pred_node_offer(c, UCS_RCACHE_PRED_NODE_DEVICES, 100, 0));
    ucs_rcache_pred_node_release_offered(c, 100, 0);

    ucs_rcache_pred_node_ask(a, 300, 0, 10);
    ASSERT_TRUE(ucs_rcache_pred_node_is_asked(c));
    ASSERT_TRUE(ucs_rcache_pred_node_lacks(c, UCS_RCACHE_PRED_NODE_DEVICES, &idle));
    EXPECT_EQ(10u, idle);
}

TEST_F(test_node, refusal_is_heard_once_by_each_of_the_others)
{
    auto a = join(), b = join(), c = join();

    reserve(a, BOUND);
    EXPECT_FALSE(is_asked(a));
    ask(b, 1);
    ask(b, 1);
    EXPECT_TRUE(is_asked(a));
    EXPECT_FALSE(is_asked(a));
    EXPECT_TRUE(is_asked(c));
    EXPECT_FALSE(is_asked(c));
    EXPECT_FALSE(is_asked(b)); /* Its own */

    ask(c, 1);
    EXPECT_TRUE(is_asked(a));
    EXPECT_TRUE(is_asked(b));
    EXPECT_FALSE(is_asked(c));
}

TEST_F(test_node, what_is_above_a_bound_never_fits)
{
    auto a = join();

    EXPECT_FALSE(ucs_rcache_pred_node_never_fits(a, BOUND, 1));
    EXPECT_TRUE(ucs_rcache_pred_node_never_fits(a, BOUND + 1, 1));
    EXPECT_FALSE(ucs_rcache_pred_node_never_fits(a, 0, 0));

    /* This process holds the reserve for other registrations */
    m_params.reserve = 100;
    auto b           = join();
    EXPECT_FALSE(ucs_rcache_pred_node_never_fits(b, BOUND - 100, 1));
    EXPECT_TRUE(ucs_rcache_pred_node_never_fits(b, BOUND - 100 + 1, 1));
}

TEST_F(test_node, own_refusals_hide_nobody_elses)
{
    auto a = join(), b = join();

    reserve(a, BOUND);
    ask(b, 1);
    ask(a, 1);
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

    ask(b, BOUND + 1);
    EXPECT_FALSE(is_asked(a));
}

TEST_F(test_node, who_joins_later_was_not_asked)
{
    auto a = join(), b = join();

    reserve(a, BOUND);
    ask(b, 1);
    EXPECT_FALSE(is_asked(join()));
}

TEST_F(test_node, refusal_alone_asks_nobody)
{
    auto a = join(), b = join();

    reserve(a, BOUND);
    EXPECT_FALSE(reserve(b, 1));
    EXPECT_FALSE(is_asked(a));
}

TEST_F(test_node, nobody_else_is_asked_when_enough_was_given_back)
{
    auto a = join(), b = join(), c = join(), d = join();

    reserve(a, 400);
    reserve(c, 500);
    reserve(d, 50);
    ask(b, 350); /* 300 are missing */
    EXPECT_TRUE(is_asked(d));
    release(d, 50);
    EXPECT_TRUE(is_asked(a));
    release(a, 400);
    EXPECT_FALSE(is_asked(c));
    EXPECT_TRUE(reserve(b, 350));

    /* Those that gave nothing hear the next one */
    ask(b, 500);
    EXPECT_TRUE(is_asked(a));
    EXPECT_TRUE(is_asked(c));
}

/* Others that look while the memory is still being deregistered give up nothing
 * for the same request */
TEST_F(test_node, offers_are_no_more_than_is_lacked)
{
    auto a = join(), b = join(), c = join(), d = join();

    reserve(a, 400);
    reserve(c, 500);
    reserve(d, 50);
    ask(b, 350); /* 300 are missing */
    EXPECT_TRUE(is_asked(a));
    EXPECT_TRUE(is_asked(c));
    EXPECT_TRUE(is_asked(d));
    EXPECT_TRUE(ucs_rcache_pred_node_offer(d, UCS_RCACHE_PRED_NODE_DEVICES, 50, 1));
    EXPECT_TRUE(ucs_rcache_pred_node_offer(a, UCS_RCACHE_PRED_NODE_DEVICES, 400, 1));
    EXPECT_FALSE(ucs_rcache_pred_node_offer(c, UCS_RCACHE_PRED_NODE_DEVICES, 500, 1));
    EXPECT_FALSE(reserve(b, 350)) << "it is not given back yet";

    ucs_rcache_pred_node_release_offered(d, 50, 1);
    ucs_rcache_pred_node_release_offered(a, 400, 1);
    EXPECT_TRUE(reserve(b, 350));
    expect_totals(b, 850, 2, 4);
}

/* What was offered for an earlier request is not taken off a later one */
TEST_F(test_node, offers_count_once)
{
    auto a = join(), b = join(), c = join();

    reserve(a, 400);
    reserve(c, 600);
    ask(b, 100);
    EXPECT_TRUE(ucs_rcache_pred_node_offer(a, UCS_RCACHE_PRED_NODE_DEVICES, 400, 1));
    ask(b, 350);
    ucs_rcache_pred_node_release_offered(a, 400, 1);
    EXPECT_TRUE(ucs_rcache_pred_node_offer(c, UCS_RCACHE_PRED_NODE_DEVICES, 600, 1));
}

TEST_F(test_node, asking_again_does_not_add_up)
{
    auto a = join(), b = join(), c = join();

    reserve(a, 400);
    reserve(c, 600);
    for (unsigned i = 0; i < 100; ++i) {
        ask(b, 100);
    }
    release(a, 400);
    EXPECT_FALSE(is_asked(c));
}

TEST_F(test_node, regions_are_asked_for_as_well)
{
    params(UNLIMITED, 2);
    auto a = join(), b = join(), c = join();

    reserve(a, 10);
    reserve(c, 10);
    ask(b, 1);
    EXPECT_TRUE(is_asked(a));
    release(a, 10);
    EXPECT_FALSE(is_asked(c));
}
