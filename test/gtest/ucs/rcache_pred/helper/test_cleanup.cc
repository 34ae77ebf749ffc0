/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "forget_access.h"
#include "helper_test.h"


/* What is lost and found again, and what is forgotten */
class test_cleanup : public helper_test {
protected:
    void TearDown() override
    {
        test_set_on_forget(NULL, NULL);
        helper_test::TearDown();
    }

    /* Uses that begin while a region is being forgotten, on the same memory */
    struct intruder {
        test_cleanup       *self;
        std::vector<void*> memhs;
    };

    static void intrude(uintptr_t start, void *arg)
    {
        auto i = static_cast<intruder*>(arg);

        i->memhs.push_back(i->self->begin((void*)start, PAGE));
    }
};

/* What is lost is found again */

TEST_F(test_cleanup, regions_of_dropped_entries_are_given_up)
{
    m_params.dq_size = 2;
    recreate();
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(i), PAGE));
    }

    poll();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(8u, stats().dq_dropped);
}

TEST_F(test_cleanup, region_in_use_is_not_given_up)
{
    m_params.dq_size = 2;
    recreate();
    void *memh = begin(buffer(100), PAGE);
    for (unsigned i = 0; i < 10; ++i) {
        end(begin(buffer(i), PAGE));
    }

    poll();
    EXPECT_EQ(1u, m_world.num_live());
    end(memh);
    poll();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_cleanup, dropped_entry_of_a_scheduled_region_is_found)
{
    m_params.dq_size = 2;
    recreate();
    periodic(buffer(0), 200 * MSEC, 3);
    use(buffer(0), 64 * KB, MSEC);
    run(20 * MSEC);
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));

    /* The region is used before it is due, and the entry of that use is lost */
    end(begin(buffer(0), 64 * KB));
    for (unsigned i = 1; i < 5; ++i) {
        end(begin(buffer(i), PAGE));
    }
    poll();
    ASSERT_EQ(3u, stats().dq_dropped);

    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_cleanup, dropped_entry_of_an_awaited_region_is_found)
{
    m_params.dq_size = 2;
    recreate();
    periodic(buffer(0), 200 * MSEC, 4);
    ASSERT_EQ(1u, test_pred_awaited_length(m_pred));

    end(begin(buffer(0), 64 * KB));
    for (unsigned i = 1; i < 5; ++i) {
        end(begin(buffer(i), PAGE));
    }
    run(100 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, stats().wasted) << "the use has come";
    EXPECT_EQ(1u, test_pred_rq_length(m_pred)) << "the next one is predicted";
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_cleanup, dropped_entries_cost_no_hits)
{
    static constexpr unsigned NUM_BUFFERS = 48;

    m_params.dq_size = 16;
    recreate();
    m_world.on_reg = [](const auto &r) { EXPECT_EQ(64 * KB, r.length); };
    for (unsigned i = 0; i < 8; ++i) {
        uint64_t start = now();
        mark();
        for (unsigned b = 0; b < NUM_BUFFERS; ++b) {
            end(begin(buffer(b), 64 * KB, 0, NULL, context(b)));
        }
        if (i >= 3) {
            EXPECT_EQ(NUM_BUFFERS, since_mark(&stats_t::hits)) << i;
        }
        run_until(start + SEC);
    }
    EXPECT_EQ(8u * (NUM_BUFFERS - 16), stats().dq_dropped);
}

TEST_F(test_cleanup, dropped_entry_tells_as_much_as_another)
{
    m_params.dq_size = 2;
    recreate();
    for (unsigned i = 0; i < 3; ++i) {
        uint64_t start = now();
        end(begin(buffer(0), MB, ACCESS_WRITE));
        end(begin(buffer(1), PAGE));
        end(begin(buffer(2), PAGE));
        run_until(start + SEC);
    }
    EXPECT_EQ(3u, stats().dq_dropped);

    mark();
    void *memh = begin(buffer(0), MB, ACCESS_WRITE);
    EXPECT_EQ(1u, since_mark(&stats_t::hits));
    EXPECT_EQ(ACCESS_WRITE | HELPER_FLAG, m_world.get(memh).flags);
    end(memh);
}

TEST_F(test_cleanup, lost_region_that_is_in_use_is_left_to_that_use)
{
    m_params.dq_size = 2;
    recreate();
    for (unsigned i = 0; i < 3; ++i) {
        end(begin(buffer(i), PAGE));
    }
    void *memh = begin(buffer(0), PAGE);
    poll();
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
    poll();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_cleanup, lost_region_may_be_forgotten)
{
    m_params.dq_size = 2;
    recreate();
    for (unsigned i = 0; i < 3; ++i) {
        end(begin(buffer(i), PAGE));
    }
    unmap(buffer(0), PAGE);
    poll();
    EXPECT_EQ(2u, m_pred->table.count);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_cleanup, steady_uses_do_not_starve_the_rest)
{
    /* Every deregistration ends another use, so that the DQ is not empty before
     * the end of the round. What is due must be done all the same. */
    unsigned next = 1000, given_up = 0;

    periodic(buffer(0), 200 * MSEC, 4);
    ASSERT_EQ(1u, m_world.num_live_at(buffer(0)));
    m_world.set_dereg_cost(0, MSEC);
    m_world.on_dereg = [&](const auto &r) {
        if (r.address == (uintptr_t)buffer(0)) {
            given_up = next;
        } else if (next < 3000) {
            end(begin(buffer(next++), PAGE));
        }
    };
    end(begin(buffer(next++), PAGE));
    while (m_world.num_live_at(buffer(0)) && (next < 3000)) {
        m_world.advance_to(ucs_rcache_pred_poll(m_pred));
    }
    m_world.on_dereg = nullptr;

    /* The wait for the use that was predicted ended after 225 ms, which is the
     * time of 225 deregistrations */
    EXPECT_GT(given_up, 1000u);
    EXPECT_LT(given_up, 1300u);
    run_until_asleep();
}

/* How many regions and call sites are remembered is bounded */

TEST_F(test_cleanup, garbage_is_collected)
{
    m_params.known_regions = 16;
    recreate();
    for (unsigned i = 0; i < 1000; ++i) {
        use(buffer(0, i * PAGE), PAGE, 10 * USEC);
        run(MSEC);
        ASSERT_LE(m_pred->table.count, 100u);
    }
}

TEST_F(test_cleanup, garbage_is_collected_before_sleep)
{
    m_params.known_regions = 16;
    m_params.dq_size     = 2048;
    recreate();
    for (unsigned i = 0; i < 1000; ++i) {
        end(begin(buffer(0, i * PAGE), PAGE));
    }

    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_LE(m_pred->table.count, 16u);
}

TEST_F(test_cleanup, predicted_regions_are_not_garbage)
{
    m_params.known_regions = 16;
    recreate();
    for (unsigned i = 0; i < 20; ++i) {
        if (i == 3) {
            mark();
        }
        uint64_t start = now();
        use(buffer(0), PAGE, MSEC);
        for (unsigned b = 0; (b < 40) && (i >= 2); ++b) {
            /* Many buffers, each of which is used only once */
            use(buffer(1, (i * 40 + b) * PAGE), PAGE, MSEC);
        }
        run_until(start + 500 * MSEC);
    }

    EXPECT_EQ(17u, since_mark(&stats_t::hits));
}

/* More buffers in turns than are remembered: not the next one is forgotten each
 * time */
TEST_F(test_cleanup, buffers_in_turns_beyond_the_bound)
{
    static constexpr unsigned KNOWN = 64;

    m_params.known_regions = KNOWN;
    recreate();
    for (unsigned buffers : {KNOWN, KNOWN + 2, KNOWN * 3 / 2, 2 * KNOWN}) {
        uint64_t forgotten = stats().forgotten;

        for (unsigned i = 0; i < 40; ++i) {
            uint64_t start = now();

            if (i == 20) {
                mark();
            }
            for (unsigned b = 0; b < buffers; ++b) {
                use(buffer(buffers, b * 2 * PAGE), PAGE, 100 * USEC);
            }
            run_until(start + SEC);
        }

        /* One in 16 may be a newcomer, which is soon forgotten again, and one
         * more may have given way to it */
        EXPECT_GE(since_mark(&stats_t::hits), 20u * KNOWN * 3 / 4) << buffers;
        EXPECT_EQ(buffers > KNOWN, stats().forgotten > forgotten);
    }
}

/* What a program has come back to makes place for what it comes back to now */
TEST_F(test_cleanup, other_buffers_take_the_place_of_the_first)
{
    static constexpr unsigned KNOWN = 64;

    m_params.known_regions = KNOWN;
    recreate();
    for (unsigned phase = 0; phase < 4; ++phase) {
        for (unsigned i = 0; i < 60; ++i) {
            uint64_t start = now();

            if (i == 40) {
                mark();
            }
            for (unsigned b = 0; b < KNOWN; ++b) {
                use(buffer(phase, b * 2 * PAGE), PAGE, 100 * USEC);
            }
            run_until(start + SEC);
        }
        EXPECT_GE(since_mark(&stats_t::hits), 20u * KNOWN * 9 / 10) << phase;
    }
}

TEST_F(test_cleanup, few_call_sites_are_enough_to_live)
{
    m_params.max_sites = 16;
    recreate();
    for (unsigned i = 0; i < 5; ++i) {
        uint64_t start = now();
        for (unsigned b = 0; b < 100; ++b) {
            use(buffer(0, b * PAGE), PAGE, 100 * USEC, context(b));
        }
        EXPECT_LE(test_pred_num_sites(m_pred), 16u);
        run_until(start + SEC);
    }

    /* What regions remember of their uses does not need call sites */
    EXPECT_GE(stats().hits, 200u);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_cleanup, forgotten_region_takes_its_call_sites_along)
{
    for (unsigned i = 0; i < 10; ++i) {
        use(buffer(0), PAGE, MSEC, context(i));
    }
    run(10 * MSEC);
    EXPECT_EQ(10u + 9, test_pred_num_sites(m_pred)) << "all but one in a phase";

    ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(0),
                             (uintptr_t)buffer(0, PAGE));
    run(10 * MSEC);
    EXPECT_EQ(0u, test_pred_num_sites(m_pred));
    EXPECT_EQ(0u, m_pred->table.count);
}

TEST_F(test_cleanup, use_does_not_find_a_region_that_is_being_forgotten)
{
    intruder i = {this, {}};

    m_params.known_regions = 16;
    recreate();
    for (unsigned b = 0; b < 64; ++b) {
        use(buffer(0, b * PAGE), PAGE);
    }
    test_set_on_forget(intrude, &i);
    for (unsigned round = 0; (round < 100) && i.memhs.empty(); ++round) {
        use(buffer(1), PAGE);
        poll();
    }
    test_set_on_forget(NULL, NULL);

    ASSERT_FALSE(i.memhs.empty()) << "nothing was forgotten";
    validate();
    for (void *memh : i.memhs) {
        EXPECT_TRUE(m_world.is_live(memh));
        end(memh);
    }
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_cleanup, entry_of_a_forgotten_region_is_ignored)
{
    /* Entries of several contexts, from which the helper would learn */
    for (unsigned i = 0; i < 4; ++i) {
        end(begin(buffer(0), PAGE, 0, NULL, context(i)));
        m_world.advance(MSEC);
    }
    destroy_domain(0);
    new_domain("fake1");
    /* The region's structure is used for another region while the entries about
     * the old one are in the queue */
    void *memh = begin(buffer(1), PAGE, 0, domain(1));

    poll();
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(0u, test_pred_num_sites(m_pred));
    end(memh, domain(1));
}
