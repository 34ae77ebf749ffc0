/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <unistd.h>
#include <vector>

/* Slices that touch each other: one array, so many slices of 10 pages, which are
 * used one after the other once in a period */
class test_join : public helper_test {
protected:
    static constexpr unsigned SLICES      = 8;
    static constexpr size_t   LENGTH      = 10 * PAGE;
    static constexpr uint64_t PERIOD      = 100 * MSEC;
    static constexpr uint64_t REG_COST    = 20 * USEC;
    static constexpr unsigned LEARN       = 12;

    void SetUp() override { open(INFINITY, 1); }

    void open(double budget, unsigned idle_cpus)
    {
        m_world.seat.idle = idle_cpus;
        m_world.set_reg_cost(100, REG_COST);
        m_world.set_dereg_cost(0, 10 * USEC);
        m_params.budget = budget;
        m_params.helper = UCS_RCACHE_PRED_HELPER_AGGRESSIVE;
        if (m_pred == NULL) {
            create();
        } else {
            recreate();
        }
    }

    void use_slice(unsigned i, size_t length = LENGTH, uint64_t duration = USEC)
    {
        use(buffer(0, m_offset + i * m_apart), length, duration,
            context(1 + i));
    }

    /* A burst of all slices, or of those from a first one on, and the pause
     * after it */
    void burst(unsigned first = 0, unsigned count = SLICES)
    {
        uint64_t start = now();

        for (unsigned i = 0; i < count; ++i) {
            use_slice(first + i);
        }
        rest(start);
    }

    /* Let the pause of a period pass, in the middle of which nothing is
     * registered. It ends when the next burst is prepared for. */
    void rest(uint64_t start)
    {
        run_until(start + PERIOD - 2 * MSEC);
        m_paused = m_world.bytes_now();
        run_until(start + PERIOD);
    }

    /* All slices are in use at a time, with so many bytes each, and end one after the
     * other, the first one or the last one first */
    void use_at_a_time(const std::vector<size_t> &lengths, bool last_first)
    {
        std::vector<void*> used;
        uint64_t start = now();

        for (unsigned i = 0; i < lengths.size(); ++i) {
            used.push_back(begin(buffer(0, i * LENGTH), lengths[i], 0, NULL,
                                 context(1 + i)));
        }
        if (last_first) {
            std::reverse(used.begin(), used.end());
        }
        run(MSEC);
        for (void *memh : used) {
            end(memh);
            run(10 * USEC);
        }
        run_until(start + PERIOD);
    }

    void bursts(unsigned times, unsigned first = 0, unsigned count = SLICES)
    {
        for (unsigned i = 0; i < times; ++i) {
            burst(first, count);
        }
    }

    /* Each slice is used at a time of its own */
    void spread(unsigned periods)
    {
        for (unsigned i = 0; i < periods * SLICES; ++i) {
            uint64_t start = now();
            use_slice(i % SLICES);
            run_until(start + PERIOD / SLICES);
        }
    }

    uint64_t regs()
    {
        return since_mark(&stats_t::regs_helper) +
               since_mark(&stats_t::regs_critical);
    }

    uint64_t m_paused = 0;    /* Bytes registered before the last burst */
    size_t m_offset = 0;      /* Of the first slice */
    size_t m_apart  = LENGTH; /* From one slice to the next */
};

TEST_F(test_join, touching_slices_of_a_burst_are_one_registration)
{
    bursts(LEARN);
    mark();
    bursts(10);
    EXPECT_EQ(10u, since_mark(&stats_t::regs_helper)) << "one for each burst";
    EXPECT_EQ(0u, since_mark(&stats_t::regs_critical));
    EXPECT_EQ(10 * SLICES, since_mark(&stats_t::hits));
    EXPECT_EQ(SLICES * LENGTH, m_world.bytes_peak());
    EXPECT_EQ(0u, m_paused) << "given up in between";
}

TEST_F(test_join, slices_that_do_not_touch_are_registered_apart)
{
    m_apart = LENGTH + PAGE;
    bursts(LEARN);
    mark();
    bursts(10);
    EXPECT_EQ(10 * SLICES, regs());
}

/* Pages at the limits of slices are pinned once, where both sides would pin them
 * by themselves */
TEST_F(test_join, slices_that_share_a_page_pin_it_once)
{
    m_offset = PAGE / 2;
    bursts(LEARN);
    mark();
    unsigned live = 0;
    m_world.on_reg = [&](const fake_world::registration &reg) {
        EXPECT_EQ(SLICES * LENGTH, reg.length);
        ++live;
    };
    bursts(3);
    m_world.on_reg = nullptr;
    EXPECT_GE(live, 3u);
}

TEST_F(test_join, slices_of_another_domain_are_not_joined)
{
    domain_t *other = new_domain("other");

    for (unsigned round = 0; round < LEARN + 5; ++round) {
        uint64_t start = now();
        if (round == LEARN) {
            mark();
        }
        for (unsigned i = 0; i < 2; ++i) {
            domain_t *dom = (i == 0) ? domain() : other;
            end(begin(buffer(0, i * LENGTH), LENGTH, 0, dom, context(1 + i)),
                dom);
        }
        run_until(start + PERIOD);
    }
    EXPECT_EQ(10u, regs());
}

TEST_F(test_join, slices_of_other_access_are_not_joined)
{
    for (unsigned round = 0; round < LEARN + 5; ++round) {
        uint64_t start = now();
        if (round == LEARN) {
            mark();
        }
        end(begin(buffer(0), LENGTH, ACCESS_READ));
        end(begin(buffer(0, LENGTH), LENGTH, ACCESS_WRITE, NULL, context(2)));
        run_until(start + PERIOD);
    }
    EXPECT_EQ(10u, regs());
}

/* Panels of a matrix: by themselves each is registered for its own use alone */
TEST_F(test_join, slices_used_one_by_one_are_registered_apart)
{
    spread(LEARN);
    mark();
    spread(10);
    EXPECT_EQ(10 * SLICES, regs());
    EXPECT_LE(m_world.bytes_peak(), 2 * LENGTH);
}

TEST_F(test_join, slices_used_at_a_time_are_joined)
{
    for (unsigned round = 0; round < LEARN + 10; ++round) {
        if (round == LEARN) {
            mark();
        }
        use_at_a_time(std::vector<size_t>(SLICES, LENGTH), true);
    }
    EXPECT_LE(regs(), 11u);
    EXPECT_EQ(10 * SLICES, since_mark(&stats_t::hits));
}

/* If nobody has registered them ahead, the first use does it for all */
TEST_F(test_join, first_use_registers_all)
{
    bursts(LEARN);
    run(3 * PERIOD); /* the program does something else meanwhile */
    mark();
    burst();
    EXPECT_EQ(1u, since_mark(&stats_t::regs_critical));
    EXPECT_EQ(SLICES - 1, since_mark(&stats_t::hits));
}

/* Any of them may be the first one */
TEST_F(test_join, use_of_a_later_slice_registers_all)
{
    bursts(LEARN);
    run(3 * PERIOD);
    mark();
    use_slice(3);
    use_slice(0);
    use_slice(7);
    EXPECT_EQ(1u, since_mark(&stats_t::regs_critical));
    EXPECT_EQ(2u, since_mark(&stats_t::hits));
}

/* A use that goes beyond what was joined takes all of that with it */
TEST_F(test_join, longer_use_shares_no_page_with_what_was_joined)
{
    bursts(LEARN);
    run(3 * PERIOD);
    use_slice(7, 2 * LENGTH);
    EXPECT_LE(m_world.bytes_now(), (SLICES + 1) * LENGTH);
    run(3 * PERIOD);
    EXPECT_EQ(0u, m_world.bytes_now());
}

/* The program does not use them together any more. They come apart again, and
 * are not joined anew */
TEST_F(test_join, slices_that_are_no_burst_any_more_are_parted)
{
    bursts(LEARN);
    spread(30);
    mark();
    uint64_t before = m_world.byte_ns();
    spread(10);
    EXPECT_EQ(10 * SLICES, regs());
    EXPECT_GE(since_mark(&stats_t::hits), 10 * SLICES * 9 / 10);
    EXPECT_LE((m_world.byte_ns() - before) / (10 * PERIOD), LENGTH / 2)
        << "no slice is registered with others";

    bursts(20);
    mark();
    bursts(10);
    EXPECT_EQ(10 * SLICES, regs()) << "not a second time";
}

/* All buffers in full three times, and then a part of each three times, as the grids of
 * a multigrid solver use them. Joined, they would have to be parted again, and have no
 * history by then */
TEST_F(test_join, buffers_that_are_also_used_in_parts_are_not_joined)
{
    auto grids = [this](size_t part) {
        for (unsigned i = 0; i < 6; ++i) {
            uint64_t start = now();
            for (unsigned buf = 0; buf < SLICES; ++buf) {
                use(buffer(0, buf * LENGTH), (i < 3) ? LENGTH : part, USEC,
                    context(1 + (buf * 6) + i));
            }
            rest(start);
        }
    };

    grids(2 * PAGE);
    grids(2 * PAGE);
    mark();
    for (unsigned i = 0; i < 10; ++i) {
        grids(2 * PAGE);
    }
    EXPECT_EQ(10 * 6 * SLICES, since_mark(&stats_t::hits));
    EXPECT_NEAR(10 * 6 * SLICES, regs(), 1) << "not joined";

    /* Half of each is enough for a burst, once it is forgotten that it was less */
    for (unsigned i = 0; i < 10; ++i) {
        grids(LENGTH / 2);
    }
    mark();
    grids(LENGTH / 2);
    EXPECT_EQ(6u, regs()) << "joined";
}

/* Of each, at random, a part is used in every other burst, as of an exchange of various
 * lengths: all of them together are used for the most part */
TEST_F(test_join, slices_of_various_lengths_are_joined)
{
    static constexpr unsigned MANY = 32;
    std::mt19937 random(1);

    for (unsigned round = 0; round < 50; ++round) {
        uint64_t start = now();
        if (round == 30) {
            mark();
        }
        for (unsigned i = 0; i < MANY; ++i) {
            use_slice(i, ((round > 0) && (random() % 2)) ? 4 * PAGE : LENGTH);
        }
        rest(start);
    }
    EXPECT_EQ(20u, regs());
    EXPECT_EQ(20 * MANY, since_mark(&stats_t::hits));
}

/* Of the last one, mostly a part is used, as of the last segment of messages of various
 * lengths: that does not keep the others from being joined */
TEST_F(test_join, last_slice_that_is_used_in_parts_is_joined)
{
    for (unsigned round = 0; round < LEARN + 20; ++round) {
        std::vector<size_t> lengths(SLICES, LENGTH);

        if (round == LEARN) {
            mark();
        }
        if (round % 4 != 0) {
            lengths.back() = 2 * PAGE;
        }
        use_at_a_time(lengths, false);
    }
    EXPECT_LE(regs(), 21u);
    EXPECT_EQ(20 * SLICES, since_mark(&stats_t::hits));
}

/* Of what was joined, one slice is left */
TEST_F(test_join, one_slice_that_is_left_is_registered_alone)
{
    bursts(LEARN);
    bursts(30, 2, 1);
    mark();
    uint64_t before = m_world.byte_ns();
    bursts(10, 2, 1);
    EXPECT_EQ(10u, since_mark(&stats_t::hits));
    EXPECT_LE((m_world.byte_ns() - before) / (10 * PERIOD), LENGTH / 10);
}

/* The program uses all of them at once now. That is no reason to part them. */
TEST_F(test_join, use_of_all_slices_at_once_is_a_burst)
{
    bursts(LEARN);
    mark();
    for (unsigned i = 0; i < 20; ++i) {
        uint64_t start = now();
        use_slice(0, SLICES * LENGTH);
        rest(start);
    }
    EXPECT_EQ(0u, m_paused) << "given up in between";
    EXPECT_EQ(20u, since_mark(&stats_t::hits));
}

/* The memory next to them waits for a message all the time */
TEST_F(test_join, slices_beside_one_that_is_always_in_use)
{
    void *before = begin(buffer(0), LENGTH, 0, NULL, context(SLICES + 2));
    void *after  = begin(buffer(0, (SLICES + 1) * LENGTH), LENGTH, 0, NULL,
                         context(SLICES + 3));

    m_offset = LENGTH;
    bursts(LEARN);
    mark();
    bursts(10);
    EXPECT_EQ(10u, regs());
    EXPECT_EQ(10 * SLICES, since_mark(&stats_t::hits));
    end(before);
    end(after);
}

/* Some slices are left out now and then, and it remains a burst */
TEST_F(test_join, burst_may_be_incomplete)
{
    bursts(LEARN);
    mark();
    for (unsigned i = 0; i < 20; ++i) {
        burst(i % 2, SLICES - (i % 3));
    }
    EXPECT_LE(regs(), 25u);
    EXPECT_EQ(0u, m_paused);
}

/* Once all slices were used the burst has ended: nothing waits for its time to
 * be over. Otherwise that is waited for, and not for the next burst. */
TEST_F(test_join, are_given_up_when_the_burst_ends)
{
    bursts(LEARN);
    for (unsigned i = 0; i < SLICES; ++i) {
        use_slice(i);
    }
    run(2 * MSEC);
    EXPECT_EQ(0u, m_world.bytes_now());
    run(PERIOD - 2 * MSEC);

    for (unsigned i = 0; i < SLICES / 2; ++i) {
        use_slice(i);
    }
    run(10 * MSEC);
    EXPECT_EQ(0u, m_world.bytes_now());
}

/* No registration has memory that was unmapped, and the rest goes on */
TEST_F(test_join, unmap_of_a_slice_parts_them)
{
    bursts(LEARN);
    unmap(buffer(0, 5 * LENGTH), LENGTH);
    m_world.on_reg = [&](const fake_world::registration &reg) {
        uintptr_t gone = (uintptr_t)buffer(0, 5 * LENGTH);
        EXPECT_TRUE((reg.address + reg.length <= gone) ||
                    (reg.address >= gone + LENGTH));
    };
    for (unsigned i = 0; i < 10; ++i) {
        uint64_t start = now();
        for (unsigned j = 0; j < SLICES; ++j) {
            if (j != 5) {
                use_slice(j);
            }
        }
        run_until(start + PERIOD);
    }
    m_world.on_reg = nullptr;
}

TEST_F(test_join, unmap_of_a_slice_while_they_are_registered)
{
    bursts(LEARN);
    void *memh = begin(buffer(0), LENGTH);
    unmap(buffer(0, 5 * LENGTH), LENGTH);
    end(memh);
    run(10 * MSEC);
    EXPECT_EQ(0u, m_world.bytes_now());
    bursts(LEARN);
    mark();
    bursts(5);
    EXPECT_EQ(5 * SLICES, since_mark(&stats_t::hits));
}

/* Nobody has touched the histories of the slices while they were joined: the first use of
 * each is enough to predict the next one */
TEST_F(test_join, slices_have_their_histories_back)
{
    bursts(3 * LEARN);
    unmap(buffer(0, 0), LENGTH);
    burst(1, SLICES - 1);
    mark();
    burst(1, SLICES - 1);
    EXPECT_EQ(SLICES - 1, since_mark(&stats_t::hits));
}

/* There is room for each slice, but not for all of them. No more is missed than
 * of buffers that cannot be joined */
TEST_F(test_join, slices_that_do_not_fit_together)
{
    uint64_t hits[2];

    m_params.max_bytes = (SLICES - 1) * LENGTH;
    for (int touch = 0; touch < 2; ++touch) {
        m_apart = touch ? LENGTH : (LENGTH + PAGE);
        recreate();
        m_world.set_bound(m_params.max_bytes);
        bursts(LEARN);
        mark();
        bursts(20);
        hits[touch] = since_mark(&stats_t::hits);
    }
    EXPECT_GE(hits[1], hits[0]);
}

/* While one slice is in use, those joined with it would be pinned as well: no more
 * are joined than leave others the room that they had without */
TEST_F(test_join, leaves_others_their_room)
{
    m_params.max_bytes = 5 * SLICES * LENGTH;
    m_world.set_bound(m_params.max_bytes);
    recreate();
    bursts(LEARN);
    void *slice = begin(buffer(0, 3 * LENGTH), LENGTH, 0, NULL, context(4));
    void *other = begin(buffer(1), (5 * SLICES - 5) * LENGTH);
    end(other);
    end(slice);
}

/* All of them fit, but not beside something else that is in use */
TEST_F(test_join, first_use_registers_itself_where_there_is_no_room)
{
    m_params.max_bytes = 20 * SLICES * LENGTH;
    m_world.set_bound(m_params.max_bytes);
    recreate();
    bursts(LEARN);
    void *other = begin(buffer(1), 17 * SLICES * LENGTH);
    void *more  = begin(buffer(2), (3 * SLICES / 2) * LENGTH);
    run(3 * PERIOD);
    mark();
    end(begin(buffer(0, 3 * LENGTH), LENGTH, 0, NULL, context(4)));
    EXPECT_EQ(1u, since_mark(&stats_t::regs_critical));
    EXPECT_EQ(0u, since_mark(&stats_t::refused));
    end(more);
    end(other);
}

/* Likewise if the bound is one of the node: nothing is given up for slices that
 * are not used yet, and they are registered together again once there is room */
TEST_F(test_join, first_use_gives_up_nothing_within_a_bound_of_the_node)
{
    ucs_rcache_pred_node_params_t params = {
        .max_bytes       = 64 * MB,
        .max_regions     = UCS_RCACHE_PRED_NODE_UNLIMITED,
        .reserve         = ucs_rcache_pred_pieces_reserve(PAGE),
        .reserve_regions = UCS_RCACHE_PRED_NODE_RESERVE_REGIONS
    };
    size_t rest = params.max_bytes - params.reserve - 5 * LENGTH;
    ucs_rcache_pred_node_t *node;

    ASSERT_EQ(UCS_OK,
              pred_node_join_as(&params, 0x6a6f696eul << 32 | getpid(),
                                ucs_rcache_pred_procid_self(), &node));
    m_params.node = node;
    recreate();
    bursts(LEARN);
    run(3 * PERIOD);
    for (unsigned i = 0; i < 60; ++i) {
        uint64_t start = now();
        use(buffer(1), rest, USEC, context(SLICES + 1));
        run_until(start + 20 * USEC);
    }
    ASSERT_EQ(1u, m_world.num_live_at(buffer(1))) << "its period is too short";

    mark();
    void *memh = begin(buffer(0, 3 * LENGTH), LENGTH, 0, NULL, context(4));
    EXPECT_EQ(LENGTH, m_world.get(memh).length);
    EXPECT_EQ(0u, since_mark(&stats_t::evictions));
    EXPECT_EQ(0u, since_mark(&stats_t::refused));
    end(memh);

    run(3 * PERIOD);
    memh = begin(buffer(0, 3 * LENGTH), LENGTH, 0, NULL, context(4));
    EXPECT_EQ(SLICES * LENGTH, m_world.get(memh).length);
    end(memh);
    destroy();
    ucs_rcache_pred_node_leave(node);
}

/* The system refuses to register all of them: they are parted, and not joined
 * anew */
TEST_F(test_join, refused_slices_are_parted)
{
    unsigned whole = 0;

    bursts(LEARN);
    run(PERIOD / 2);
    m_world.fail_nth_reg(1);
    bursts(LEARN);
    mark();
    m_world.on_reg = [&](const fake_world::registration &reg) {
        whole += (reg.length == SLICES * LENGTH);
    };
    bursts(10);
    m_world.on_reg = nullptr;
    EXPECT_EQ(0u, whole);
    EXPECT_EQ(10 * SLICES, since_mark(&stats_t::hits));
}

/* The system has no room for all of them, and others keep theirs */
TEST_F(test_join, refused_slices_take_nothing_from_others)
{
    bursts(LEARN);
    run(3 * PERIOD);
    for (unsigned i = 0; i < 60; ++i) {
        uint64_t start = now();
        use(buffer(1), LENGTH, USEC, context(SLICES + 1));
        run_until(start + 20 * USEC);
    }
    ASSERT_EQ(1u, m_world.num_live_at(buffer(1))) << "its period is too short";
    m_world.limit_bytes(3 * LENGTH);
    end(begin(buffer(0, 3 * LENGTH), LENGTH, 0, NULL, context(4)));
    EXPECT_EQ(1u, m_world.num_live_at(buffer(1)));
    m_world.limit_bytes(SIZE_MAX);
}

TEST_F(test_join, use_of_refused_slices_registers_itself)
{
    bursts(LEARN);
    run(3 * PERIOD);
    m_world.fail_nth_reg(1);
    void *memh = begin(buffer(0, 3 * LENGTH), LENGTH, 0, NULL, context(4));
    EXPECT_EQ(LENGTH, m_world.get(memh).length);
    end(memh);
}

/* Time is scarce: to give up each slice once a period would take 2 % of the run
 * time, and all of them together 0.1 % */
TEST_F(test_join, what_is_too_dear_apart_is_given_up_together)
{
    static constexpr unsigned MANY = 64;
    double average[2];

    for (int touch = 0; touch < 2; ++touch) {
        m_apart = touch ? LENGTH : (LENGTH + PAGE);
        open(0.01, 0);
        bursts(100, 0, MANY);
        mark();
        uint64_t before = m_world.byte_ns();
        bursts(100, 0, MANY);
        average[touch] = (m_world.byte_ns() - before) / (100. * PERIOD);
        EXPECT_LE(since_mark(&stats_t::budget_spent),
                  0.0101 * since_mark(&stats_t::duration));
    }
    EXPECT_LE(average[1], 0.5 * average[0]);
    EXPECT_GE(average[0], 0.5 * MANY * LENGTH) << "most is kept";
    EXPECT_LE(regs(), 200u);
}

/* The helper has time for each of them, and the burst is long: memory comes
 * first */
TEST_F(test_join, long_bursts_are_not_joined_where_there_is_time)
{
    open(0.01, 1);
    for (unsigned round = 0; round < 30; ++round) {
        uint64_t start = now();
        if (round == 20) {
            mark();
        }
        for (unsigned i = 0; i < SLICES; ++i) {
            use_slice(i, LENGTH, 500 * USEC);
        }
        run_until(start + PERIOD);
    }
    EXPECT_EQ(10 * SLICES, regs());
}

/* More slices than are joined at a time */
TEST_F(test_join, many_slices)
{
    static constexpr unsigned MANY = 200;

    bursts(30, 0, MANY);
    mark();
    bursts(10, 0, MANY);
    EXPECT_EQ(10 * MANY, since_mark(&stats_t::hits));
    EXPECT_LE(regs(), 10 * MANY / 10);
    EXPECT_LE(m_world.bytes_peak(), MANY * LENGTH);
}

/* Entries of most uses are lost: the helper knows the burst by what was used, and
 * not by what it is told */
TEST_F(test_join, bursts_whose_entries_are_lost_are_not_parted)
{
    m_params.dq_size = 16;
    recreate();
    bursts(3 * LEARN, 0, 64);
    mark();
    bursts(20, 0, 64);
    EXPECT_LE(regs(), 40u);
}

/* Whatever happens: bursts, single uses, uses at a time, pauses, unmaps and
 * failures */
TEST_F(test_join, at_random)
{
    std::vector<void*> used;
    std::mt19937 random(1);

    m_world.fail_each(100);
    for (unsigned i = 0; i < 3000; ++i) {
        unsigned what = random() % 100;
        void *memh;

        if (what < 40) {
            burst(random() % 3, 1 + random() % SLICES);
        } else if (what < 60) {
            unsigned slice = random() % SLICES;
            if (try_begin(buffer(0, slice * LENGTH), LENGTH, &memh, 0, NULL,
                          context(1 + slice)) == UCS_OK) {
                used.push_back(memh);
            }
        } else if ((what < 90) && !used.empty()) {
            unsigned which = random() % used.size();
            end(used[which]);
            used.erase(used.begin() + which);
        } else if ((what < 93) && used.empty()) {
            unmap(buffer(0, (random() % SLICES) * LENGTH),
                  (1 + random() % 2) * LENGTH);
        } else {
            run(random() % PERIOD);
        }
        ASSERT_LE(m_world.bytes_now(), (2 + used.size()) * (SLICES + 2) * LENGTH);
        if (i % 50 == 0) {
            validate();
        }
    }
    while (!used.empty()) {
        end(used.back());
        used.pop_back();
    }
    m_world.fail_each(0);
    run_until_asleep();
    check_accounting(true);
}
