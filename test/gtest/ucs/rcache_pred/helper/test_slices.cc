/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <cmath>
#include <random>
#include <vector>

/* Uses of slices of the same memory */
class test_slices : public helper_test {
protected:
    /* A budget of nothing keeps everything registered, as UCX's own cache
     * does */
    void keep_everything()
    {
        m_params.budget = 0;
        recreate();
    }

    void use_slice(size_t offset, size_t length, uint64_t caller = 1)
    {
        use(buffer(0, offset), length, 10 * USEC, context(caller));
    }
};

TEST_F(test_slices, inside_of_what_is_registered_is_a_hit)
{
    keep_everything();
    void *memh = begin(buffer(0), 10 * PAGE);

    EXPECT_EQ(memh, begin(buffer(0, PAGE), PAGE)) << "while it is in use";
    end(memh);
    end(memh);
    EXPECT_EQ(memh, begin(buffer(0, 9 * PAGE), PAGE)) << "while it is idle";
    end(memh);
    EXPECT_EQ(memh, begin(buffer(0, 9 * PAGE + 1), PAGE - 1));
    end(memh);
    EXPECT_EQ(3u, stats().hits);
    EXPECT_EQ(10 * PAGE, stats().bytes_now);

    void *other = begin(buffer(0, 9 * PAGE), PAGE + 1);
    EXPECT_NE(memh, other) << "begins inside, but ends outside";
    end(other);
}

TEST_F(test_slices, needs_the_access_of_what_is_registered)
{
    keep_everything();
    end(begin(buffer(0), 10 * PAGE, ACCESS_READ));

    void *memh = begin(buffer(0, PAGE), PAGE, ACCESS_WRITE);
    EXPECT_EQ(0u, stats().hits);
    /* Neither takes the registration from the other any more */
    EXPECT_EQ(memh, begin(buffer(0), 10 * PAGE, ACCESS_READ));
    end(memh);
    end(memh);
    EXPECT_EQ(10 * PAGE, stats().bytes_now);
}

TEST_F(test_slices, of_another_domain_is_none)
{
    keep_everything();
    domain_t *other = new_domain("other");

    end(begin(buffer(0), 10 * PAGE));
    end(begin(buffer(0, PAGE), PAGE, 0, other), other);
    EXPECT_EQ(0u, stats().hits);
    EXPECT_EQ(11 * PAGE, stats().bytes_now);
}

TEST_F(test_slices, that_was_unmapped_is_none)
{
    keep_everything();
    end(begin(buffer(0), 10 * PAGE));
    unmap(buffer(0, 9 * PAGE), PAGE);
    end(begin(buffer(0, PAGE), PAGE));
    EXPECT_EQ(0u, stats().hits);
}

TEST_F(test_slices, on_demand_merges_nothing)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *one = begin(buffer(0, PAGE), PAGE);
    void *two = begin(buffer(0, 2 * PAGE), PAGE);
    void *all = begin(buffer(0), 10 * PAGE);

    EXPECT_EQ(PAGE, m_world.get(one).length);
    EXPECT_EQ(PAGE, m_world.get(two).length);
    for (void *memh : {one, two, all}) {
        EXPECT_TRUE(m_world.is_live(memh));
        end(memh);
    }
    EXPECT_EQ(3u, stats().regs_critical);
    EXPECT_EQ(0u, m_world.num_live());
}

/* A region that was registered from before another one on, and is registered
 * behind it now, hides nothing from whoever goes over all regions */
TEST_F(test_slices, are_all_deregistered_by_a_purge)
{
    end(begin(buffer(0, 0), 10 * PAGE));
    ucs_rcache_pred_purge(m_pred);
    void *hidden = begin(buffer(0, PAGE), PAGE);
    void *last   = begin(buffer(0, 5 * PAGE), 10 * PAGE);
    end(hidden);
    end(last);
    EXPECT_EQ(2u, stats().regions_now);
    ucs_rcache_pred_purge(m_pred);
    EXPECT_EQ(0u, stats().regions_now);
}

/* What overlaps is registered once, as in UCX's own cache: a sort that exchanges
 * parts of an array, for example, uses slightly different ones each time */
TEST_F(test_slices, that_overlap_are_one_registration)
{
    keep_everything();
    end(begin(buffer(0, 2 * PAGE), 4 * PAGE));
    end(begin(buffer(0, 5 * PAGE), 4 * PAGE));
    EXPECT_EQ(7 * PAGE, stats().bytes_now);
    EXPECT_EQ(1u, stats().regions_now);

    /* Neither takes it from the other any more */
    mark();
    end(begin(buffer(0, 2 * PAGE), 4 * PAGE));
    end(begin(buffer(0, 5 * PAGE), 4 * PAGE));
    end(begin(buffer(0, 3 * PAGE), 5 * PAGE));
    EXPECT_EQ(3u, since_mark(&stats_t::hits));

    end(begin(buffer(0, 8 * PAGE), 2 * PAGE));
    end(begin(buffer(0, 0), 3 * PAGE));
    EXPECT_EQ(10 * PAGE, stats().bytes_now);
    EXPECT_EQ(10 * PAGE, m_world.bytes_peak())
        << "what is given up is deregistered first";
}

TEST_F(test_slices, that_touch_are_two_registrations)
{
    keep_everything();
    end(begin(buffer(0, 0), PAGE));
    end(begin(buffer(0, PAGE), PAGE));
    EXPECT_EQ(2u, stats().regions_now);
}

TEST_F(test_slices, bridge_more_than_are_taken_at_a_time)
{
    keep_everything();
    for (unsigned i = 0; i < 50; ++i) {
        end(begin(buffer(0, 2 * i * PAGE), PAGE));
    }
    EXPECT_EQ(50u, stats().regions_now);

    end(begin(buffer(0, 0), 99 * PAGE));
    EXPECT_EQ(1u, stats().regions_now);
    EXPECT_EQ(99 * PAGE, stats().bytes_now);
}

TEST_F(test_slices, in_use_stay_until_their_uses_end)
{
    keep_everything();
    void *part = begin(buffer(0, 0), 4 * PAGE);
    void *both = begin(buffer(0, 2 * PAGE), 4 * PAGE);

    EXPECT_TRUE(m_world.covers(part, buffer(0, 0), 4 * PAGE));
    end(part);
    run(10 * MSEC);
    EXPECT_EQ(1u, stats().regions_now) << "what nobody needs has gone";
    EXPECT_EQ(6 * PAGE, stats().bytes_now) << "the other one has all of it";
    end(both);

    mark();
    end(begin(buffer(0, 0), 6 * PAGE));
    EXPECT_EQ(1u, since_mark(&stats_t::hits));
}

/* Each of many slices in use overlaps the one before a little: none of them has
 * more registered than itself */
TEST_F(test_slices, in_use_that_overlap_a_little_are_left_alone)
{
    static constexpr unsigned SLICES = 64;
    std::vector<void*> used;

    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned i = 0; i < SLICES; ++i) {
            used.push_back(begin(buffer(0, i * 16 * PAGE), 17 * PAGE));
        }
        EXPECT_LE(m_world.bytes_now(), SLICES * 17 * PAGE);
        while (!used.empty()) {
            end(used.back());
            used.pop_back();
        }
        run(100 * MSEC);
    }
}

/* Two uses of a buffer with different lengths at a time: what one of them has is
 * part of what the other has, and costs nothing to give up */
TEST_F(test_slices, that_another_one_has_are_given_up_without_a_budget)
{
    keep_everything();
    for (unsigned i = 0; i < 3; ++i) {
        void *part = begin(buffer(0, 0), 4 * PAGE);
        void *all  = begin(buffer(0, 0), 10 * PAGE);
        end(all);
        end(part);
        run(10 * MSEC);
        EXPECT_EQ(10 * PAGE, m_world.bytes_now());
    }
    EXPECT_EQ(2u, stats().regs_critical);
}

/* There is room for the use, but not for what others have registered */
TEST_F(test_slices, that_do_not_fit_together_are_registered_apart)
{
    m_params.budget    = 0;
    m_params.max_bytes = 800 * PAGE;
    m_world.set_bound(m_params.max_bytes);
    recreate();
    end(begin(buffer(0, 0), 500 * PAGE));
    end(begin(buffer(0, 499 * PAGE), 500 * PAGE));
    EXPECT_EQ(500 * PAGE, stats().bytes_now);
    EXPECT_EQ(1u, stats().regions_now);
}

/* No room for a use, ever: nothing is given up for it */
TEST_F(test_slices, that_never_fit_take_nothing_from_others)
{
    m_params.budget    = 0;
    m_params.max_bytes = 800 * PAGE;
    m_world.set_bound(m_params.max_bytes);
    recreate();
    void *memh = begin(buffer(0, 0), 500 * PAGE), *none;
    end(memh);
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT,
              try_begin(buffer(0, PAGE), 900 * PAGE, &none));
    EXPECT_EQ(memh, begin(buffer(0, 0), 500 * PAGE));
    end(memh);
}

/* Two are needed at the same time, but only one of them fits: it is registered
 * ahead, and the other one does not take it away for nothing */
TEST_F(test_slices, that_do_not_fit_together_are_not_registered_ahead)
{
    m_params.budget    = INFINITY;
    m_params.max_bytes = 750 * PAGE;
    m_world.set_bound(m_params.max_bytes);
    recreate();
    for (unsigned i = 0; i < 10; ++i) {
        uint64_t start = now();
        use_slice(99 * PAGE, 700 * PAGE);
        use_slice(0, 100 * PAGE, 2);
        run_until(start + 100 * MSEC);
    }
    EXPECT_GT(m_world.bytes_now(), 0u);
}

TEST_F(test_slices, that_the_system_refuses_together_are_registered_apart)
{
    keep_everything();
    end(begin(buffer(0, 0), 4 * PAGE));
    m_world.fail_nth_reg(1);
    void *memh = begin(buffer(0, 3 * PAGE), 4 * PAGE);
    EXPECT_EQ(4 * PAGE, m_world.get(memh).length);
    end(memh);
}

/* A buffer that is used from and to slightly different places has one history,
 * and is registered ahead with all that was used recently */
TEST_F(test_slices, that_are_similar_are_predicted_together)
{
    std::mt19937 random(1);

    for (unsigned i = 0; i < 40; ++i) {
        if (i == 20) {
            mark();
        }
        uint64_t start = now();
        use_slice(random() % (4 * PAGE), 64 * PAGE + random() % (4 * PAGE));
        run_until(start + 100 * MSEC);
    }
    EXPECT_GE(since_mark(&stats_t::hits), 15u);
    EXPECT_LT(stats().bytes_avg, 10 * PAGE) << "it is not kept";
}

/* Slices that overlap and are used one after the other are one registration
 * ahead of their next uses */
TEST_F(test_slices, of_one_burst_are_registered_ahead_together)
{
    for (unsigned i = 0; i < 20; ++i) {
        if (i == 10) {
            mark();
        }
        uint64_t start = now();
        for (unsigned j = 0; j < 8; ++j) {
            use_slice(10 * PAGE * j, 11 * PAGE, j + 1);
        }
        run_until(start + 100 * MSEC);
    }
    EXPECT_EQ(80u, since_mark(&stats_t::hits));
    EXPECT_LE(since_mark(&stats_t::regs_helper) +
              since_mark(&stats_t::regs_critical), 20u);
    EXPECT_LE(m_world.bytes_peak(), 2 * 81 * PAGE);
}

/* The helper pins nothing twice: what is in use is not registered ahead for
 * another region */
TEST_F(test_slices, in_use_are_not_registered_ahead_for_others)
{
    for (unsigned i = 0; i < 4; ++i) {
        run_until((i + 1) * 100 * MSEC);
        use_slice(6 * PAGE, 10 * PAGE);
    }
    run(50 * MSEC);
    ASSERT_EQ(0u, stats().bytes_now);

    void *memh = begin(buffer(0, 0), 10 * PAGE);
    run(60 * MSEC);
    EXPECT_EQ(10 * PAGE, m_world.bytes_now());
    end(memh);
}

/* Whatever slices are used: what is kept is pinned once, and never more than
 * UCX's own cache has */
TEST_F(test_slices, are_never_pinned_twice_while_nothing_is_in_use)
{
    static constexpr unsigned PAGES = 100;
    std::mt19937 random(1);

    keep_everything();
    for (unsigned i = 0; i < 2000; ++i) {
        size_t offset = random() % PAGES;
        size_t length = 1 + random() % (PAGES - offset);

        use_slice(offset * PAGE, length * PAGE, random() % 3);
        ASSERT_LE(stats().bytes_now, PAGES * PAGE);
        if (random() % 10 == 0) {
            run(MSEC);
        }
    }
    EXPECT_LE(m_world.bytes_peak(), PAGES * PAGE);
}

/* The same with several uses at a time, which may need the same memory in two
 * registrations, with unmaps, and with a helper that gives up what it likes */
TEST_F(test_slices, at_random)
{
    static constexpr unsigned PAGES = 200;
    std::vector<void*> used;
    std::mt19937 random(1);

    for (unsigned i = 0; i < 20000; ++i) {
        size_t offset = random() % PAGES;
        size_t length = 1 + random() % (PAGES - offset);
        unsigned what = random() % 100;

        if (what < 45) {
            used.push_back(begin(buffer(0, offset * PAGE), length * PAGE,
                                 random() % 4, NULL, context(random() % 3)));
        } else if ((what < 95) && !used.empty()) {
            unsigned which = random() % used.size();
            end(used[which]);
            used.erase(used.begin() + which);
        } else if ((what < 97) && used.empty()) {
            unmap(buffer(0, offset * PAGE), length * PAGE);
        } else {
            run(random() % (2 * MSEC));
        }
        if (i % 100 == 0) {
            validate();
        }
    }
    while (!used.empty()) {
        end(used.back());
        used.pop_back();
    }
    run_until_asleep();
    check_accounting();
}
