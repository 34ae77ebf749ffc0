/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pieces_use.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>


/* Bounds on what is registered: that they are kept, and what is given up for
 * that. The world counts for itself, and fails the test if a bound is exceeded
 * at any instant. */
class test_bound : public pred_test {
protected:
    static constexpr size_t BOUND   = MB;
    static constexpr size_t RESERVE = 128 * KB; /* of BOUND */
    static constexpr size_t ROOM    = BOUND - RESERVE;

    void SetUp() override { bound(BOUND); }

    void bound(uint64_t max_bytes, uint64_t max_regions = UINT64_MAX)
    {
        m_params.max_bytes   = max_bytes;
        m_params.max_regions = max_regions;
        m_world.set_bound(max_bytes, max_regions);
        recreate();
    }

    /* Lower or raise it while there are registrations */
    void set_bound(uint64_t max_bytes)
    {
        m_world.set_bound(UINT64_MAX);
        ucs_rcache_pred_set_max_bytes(m_pred, max_bytes);
    }

    void expect_refused(void *address, size_t length)
    {
        void *memh;

        EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_begin(address, length, &memh));
    }

    pieces_use pieces(void *address, size_t length)
    {
        return pieces_use(m_world, domain(), address, length);
    }

    void run_random_program(unsigned seed, bool refusals = false);
    void run_periodic_program(unsigned *failed_p);
};

/* Uses of all kinds, six at a time, in no order, in two domains; a few buffers
 * are used more often than others */
void test_bound::run_random_program(unsigned seed, bool refusals)
{
    std::mt19937 random(seed);
    std::vector<pieces_use> uses_in_pieces;
    std::vector<std::pair<void*, domain_t*> > uses;

    for (unsigned i = 0; i < 4000; ++i) {
        domain_t *dom = domain(random() % 8 == 0);
        void *address = buffer(random() % (random() % 2 ? 4 : 24),
                               (random() % 2) * 100);
        size_t length = 1 + random() % (m_params.max_bytes / 2);
        void *memh;

        switch (random() % 16) {
        case 0: case 1: case 2: case 3: case 4: case 5:
            if ((uses.size() < 3) &&
                (try_begin(address, length, &memh, 0, dom) == UCS_OK)) {
                uses.push_back({memh, dom});
            }
            break;
        case 6: case 7: case 8: case 9:
            if (!uses.empty()) {
                end(uses.front().first, uses.front().second);
                uses.erase(uses.begin());
            }
            break;
        case 10: case 11:
            if (uses_in_pieces.size() < 3) {
                uses_in_pieces.emplace_back(m_world, dom, address, 2 * length);
                ASSERT_TRUE((uses_in_pieces.back().begin() == UCS_OK) ||
                            uses_in_pieces.back().is_in_pieces());
            }
            break;
        case 12: case 13:
            for (auto &use : uses_in_pieces) {
                if (use.is_in_pieces() && (use.left() > 0)) {
                    use.next();
                }
            }
            break;
        case 14:
            if (!uses_in_pieces.empty()) {
                uses_in_pieces.front().end();
                uses_in_pieces.erase(uses_in_pieces.begin());
            }
            break;
        default:
            if (random() % 4 == 0) {
                unmap(address, length);
            } else if (random() % 8 == 0) {
                ucs_rcache_pred_purge(m_pred);
            }
        }

        run(random() % (2 * MSEC));
        check_accounting(refusals);
        validate();
    }

    for (auto &use : uses_in_pieces) {
        use.end();
    }
    for (auto &use : uses) {
        end(use.first, use.second);
    }
    run_until_asleep();
    check_accounting(refusals);
    EXPECT_EQ(0u, stats().regions_now);
}

/* Eight buffers in turns, three in use at a time, some of them in pieces: what
 * the helper predicts */
void test_bound::run_periodic_program(unsigned *failed_p)
{
    const size_t pages[8] = {30, 60, 90, 30, 60, 90, 300, 120};
    std::deque<pieces_use> uses;

    *failed_p = 0;
    for (unsigned i = 0; i < 8 * 6; ++i) {
        unsigned b    = i % 8;
        size_t length = pages[b] * PAGE;
        void *memh    = NULL;

        if (b % 2 == 0) {
            uses.push_back(pieces(buffer(b), length));
            if ((uses.back().begin() != UCS_OK) && !uses.back().is_in_pieces()) {
                ++*failed_p;
                uses.pop_back();
            }
        } else if (try_begin(buffer(b), length, &memh) == UCS_OK) {
            EXPECT_TRUE(m_world.covers(memh, buffer(b), length));
        } else {
            ++*failed_p;
        }

        run(4 * MSEC);
        if (uses.size() > 1) {
            *failed_p += (uses.front().finish() != UCS_OK);
            uses.pop_front();
        }
        if (memh != NULL) {
            end(memh);
        }
        run(MSEC);
    }

    while (!uses.empty()) {
        *failed_p += (uses.front().finish() != UCS_OK);
        uses.pop_front();
    }
}

/* That they are kept */

TEST_F(test_bound, kept_by_any_program)
{
    uint64_t helper = 0, peak = 0;

    for (unsigned seed = 1; seed <= 8; ++seed) {
        m_params.pieces = seed % 2;
        bound((seed % 4 < 2) ? BOUND : UCS_RCACHE_PRED_MIN_BYTES);
        new_domain("fake1");
        run_random_program(seed);
        EXPECT_GT(stats().evictions, 0u);
        EXPECT_GT(stats().refused, 0u);
        EXPECT_GT(stats().pieces, 0u);
        helper += stats().regs_helper;
        peak    = std::max(peak, m_world.bytes_peak());
    }
    EXPECT_GT(helper, 0u);
    EXPECT_EQ(BOUND, peak) << "nothing came near the bound";
}

TEST_F(test_bound, kept_by_any_program_on_demand)
{
    m_params.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    for (unsigned seed = 1; seed <= 4; ++seed) {
        bound((seed % 2) ? BOUND : UCS_RCACHE_PRED_MIN_BYTES);
        new_domain("fake1");
        run_random_program(seed);
        EXPECT_GT(stats().refused, 0u);
        EXPECT_GT(stats().pieces, 0u);
        EXPECT_EQ(0u, stats().evictions);
        EXPECT_EQ(0u, test_pred_num_regions(m_pred));
    }
}

TEST_F(test_bound, number_of_regions_is_kept_by_any_program)
{
    for (unsigned max_regions = 4; max_regions <= 6; ++max_regions) {
        bound(64 * MB, max_regions);
        new_domain("fake1");
        run_random_program(max_regions);
        EXPECT_EQ(max_regions, m_world.regions_peak());
        EXPECT_GT(stats().evictions, 0u);
        EXPECT_GT(stats().refused, 0u);
    }
}

TEST_F(test_bound, kept_by_any_program_on_a_system_that_refuses)
{
    for (unsigned seed = 1; seed <= 4; ++seed) {
        bound(BOUND);
        new_domain("fake1");
        m_world.limit_bytes(BOUND * 2 / 3);
        run_random_program(seed, true);
        EXPECT_GT(stats().evictions, 0u);
    }
}

TEST_F(test_bound, periodic_program_is_predicted_within_it)
{
    unsigned failed;

    run_periodic_program(&failed);
    EXPECT_EQ(0u, stats().reg_failures);
    EXPECT_GT(stats().regs_helper, 0u);
    EXPECT_GT(stats().hits, 0u);
    EXPECT_GT(stats().in_pieces, 0u);
    check_accounting();
}

TEST_F(test_bound, any_registration_may_fail)
{
    const ucs_status_t statuses[] = {UCS_ERR_IO_ERROR, UCS_ERR_NO_MEMORY};
    unsigned nth, total, failed, expected;

    for (ucs_status_t status : statuses) {
        nth = expected = 0;
        do {
            bound(BOUND);
            m_world.fail_nth_reg(nth, 2, status);
            unsigned serial = m_world.serial();

            run_periodic_program(&failed);
            m_world.fail_nth_reg(0);
            total    = m_world.serial() - serial;
            expected = (nth == 0) ? failed : expected;
            EXPECT_LE(failed, expected + 2) << nth;
            run_until_asleep();
            EXPECT_EQ(0u, stats().bytes_now) << nth;
            EXPECT_EQ(0u, stats().regions_now) << nth;
            check_accounting(status == UCS_ERR_NO_MEMORY);
        } while (++nth <= total);
        EXPECT_GT(nth, 40u);
    }
}

/* Room */

TEST_F(test_bound, whole_regions_leave_the_reserve_alone)
{
    end(begin(buffer(0), ROOM));
    expect_refused(buffer(1), ROOM + 1);

    void *memh = begin(buffer(2), ROOM - PAGE);
    void *last = begin(buffer(3), PAGE);
    expect_refused(buffer(4), 1);
    EXPECT_EQ(ROOM, stats().bytes_now);
    end(memh);
    end(last);
}

TEST_F(test_bound, pages_count_not_bytes)
{
    void *memh = begin(buffer(0, PAGE - 1), 2);

    EXPECT_EQ(2 * PAGE, stats().bytes_now);
    expect_refused(buffer(1), ROOM - PAGE);
    end(memh);
}

TEST_F(test_bound, pieces_use_the_reserve)
{
    void *memh   = begin(buffer(0), ROOM);
    pieces_use use = pieces(buffer(1), MB);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_EQ(RESERVE / 2, use.piece_size());
    EXPECT_EQ(UCS_OK, use.next());
    EXPECT_EQ(UCS_OK, use.next());
    EXPECT_EQ(BOUND, m_world.bytes_now());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, use.next());
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(BOUND, m_world.bytes_peak());
    end(memh);
}

TEST_F(test_bound, one_registration_is_left_to_pieces)
{
    bound(64 * MB, 4);
    void *memhs[] = {begin(buffer(0), PAGE), begin(buffer(1), PAGE),
                     begin(buffer(2), PAGE)};
    pieces_use use  = pieces(buffer(3), MB);

    expect_refused(buffer(4), PAGE);
    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_EQ(UCS_OK, use.next());
    EXPECT_EQ(4u, m_world.regions_now());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, use.next());
    EXPECT_EQ(UCS_OK, use.finish());
    for (void *memh : memhs) {
        end(memh);
    }
}

TEST_F(test_bound, refusal_is_counted_and_leaves_nothing)
{
    void *memh      = begin(buffer(0), ROOM);
    uint64_t serial = m_world.serial();
    stats_t before  = stats();

    expect_refused(buffer(1), PAGE);
    stats_t after = stats();
    EXPECT_EQ(before.refused + 1, after.refused);
    EXPECT_EQ(before.uses, after.uses);
    EXPECT_EQ(0u, after.reg_failures);
    EXPECT_EQ(0u, after.evictions);
    EXPECT_EQ(before.regions_now, after.regions_now);
    EXPECT_EQ(before.regions_peak, after.regions_peak);
    EXPECT_EQ(before.bytes_peak, after.bytes_peak);
    EXPECT_EQ(before.time_critical, after.time_critical);
    EXPECT_EQ(serial, m_world.serial()) << "the system was not asked";

    /* and is no obstacle when there is room */
    end(memh);
    end(begin(buffer(1), PAGE));
    EXPECT_EQ(before.refused + 1, stats().refused);
}

TEST_F(test_bound, refusal_on_demand_leaves_nothing)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *memh = begin(buffer(0), ROOM);

    expect_refused(buffer(1), PAGE);
    EXPECT_EQ(1u, stats().refused);
    EXPECT_EQ(1u, test_pred_num_regions(m_pred));
    end(memh);
    end(begin(buffer(1), PAGE));
}

TEST_F(test_bound, all_domains_share_it)
{
    domain_t *other = new_domain("fake1");
    void *memh      = begin(buffer(0), ROOM, 0, other);

    expect_refused(buffer(1), PAGE);
    end(memh, other);
    memh = begin(buffer(1), PAGE);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    EXPECT_EQ(1u, stats().evictions);

    expect_refused(buffer(2), ROOM);
    destroy_domain(1);
    EXPECT_EQ(PAGE, stats().bytes_now);
    end(memh);
}

TEST_F(test_bound, room_comes_back_with_its_domain)
{
    domain_t *other = new_domain("fake1");

    begin(buffer(0), ROOM, 0, other);
    expect_refused(buffer(1), PAGE);
    destroy_domain(1);
    end(begin(buffer(1), ROOM));
}

TEST_F(test_bound, what_is_not_let_go_of_takes_room)
{
    void *memh = begin(buffer(0), ROOM - PAGE);

    end(memh);
    m_world.fail_deregs(true);
    expect_refused(buffer(1), 2 * PAGE);
    EXPECT_NE(std::string::npos,
              log_watch::take().find("fake0: failed to deregister"));
    EXPECT_EQ(ROOM - PAGE, stats().bytes_now);
    EXPECT_EQ(1u, stats().regions_now);
    EXPECT_EQ(0u, stats().deregs);

    m_world.fail_deregs(false);
    end(begin(buffer(1), PAGE));
    expect_refused(buffer(1), 2 * PAGE);
    m_world.abandon(memh);
    destroy();
}

TEST_F(test_bound, piece_not_let_go_of_takes_room)
{
    pieces_use use = pieces(buffer(0), 2 * MB);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    void *memh = use.pieces().front().memh;
    m_world.fail_deregs(true);
    use.land();
    EXPECT_NE(std::string::npos,
              log_watch::take().find("failed to deregister"));
    EXPECT_EQ(RESERVE / 2, stats().bytes_now);

    m_world.fail_deregs(false);
    EXPECT_EQ(UCS_OK, use.finish());
    expect_refused(buffer(1), ROOM);
    m_world.abandon(memh);
    destroy();
}

/* Evictions */

TEST_F(test_bound, larger_than_it_evicts_nothing)
{
    end(begin(buffer(0), PAGE));
    end(begin(buffer(1), PAGE));
    expect_refused(buffer(2), BOUND + 1);
    expect_refused(buffer(2), ROOM + 1);
    EXPECT_EQ(0u, stats().evictions);
    EXPECT_EQ(2u, m_world.num_live());
}

TEST_F(test_bound, as_many_are_evicted_as_it_takes)
{
    for (unsigned i = 0; i < 7; ++i) {
        end(begin(buffer(i), 32 * PAGE));
    }
    ASSERT_EQ(ROOM, m_world.bytes_now());

    void *memh = begin(buffer(10), 65 * PAGE);
    EXPECT_EQ(3u, stats().evictions);
    end(memh);
}

TEST_F(test_bound, farthest_deadline_is_evicted_first)
{
    void *near = buffer(0), *far = buffer(1);

    bound(BOUND, 4);
    keep_two(near, far);
    void *memh0 = begin(buffer(2), PAGE);
    EXPECT_EQ(2u + 1, m_world.num_live());

    void *memh1 = begin(buffer(3), PAGE);
    EXPECT_EQ(1u, m_world.num_live_at(near));
    EXPECT_EQ(0u, m_world.num_live_at(far));

    void *memh2 = begin(buffer(4), PAGE);
    EXPECT_EQ(0u, m_world.num_live_at(near));
    expect_refused(buffer(5), PAGE);
    EXPECT_EQ(2u, stats().evictions);
    end(memh0);
    end(memh1);
    end(memh2);
}

TEST_F(test_bound, without_a_deadline_is_evicted_before_any)
{
    void *near = buffer(1), *far = buffer(2);

    bound(BOUND, 4);
    keep_two(near, far);
    end(begin(buffer(0), PAGE)); /* The helper has not looked at it yet */
    void *memh = begin(buffer(3), PAGE);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    EXPECT_EQ(1u, m_world.num_live_at(near));
    EXPECT_EQ(1u, m_world.num_live_at(far));
    end(memh);
}

TEST_F(test_bound, deadline_of_a_use_that_was_counts_for_nothing)
{
    void *near = buffer(0), *far = buffer(1);

    bound(BOUND, 4);
    keep_two(near, far);
    end(begin(near, PAGE)); /* Earlier than predicted, and not decided about */
    void *memh0 = begin(buffer(2), PAGE), *memh1 = begin(buffer(3), PAGE);
    EXPECT_EQ(0u, m_world.num_live_at(near));
    EXPECT_EQ(1u, m_world.num_live_at(far));
    end(memh0);
    end(memh1);
}

TEST_F(test_bound, of_equals_the_one_used_longest_ago_is_evicted)
{
    const unsigned order[] = {1, 2, 0};

    bound(BOUND, 4);
    for (unsigned b : order) {
        end(begin(buffer(b), PAGE));
        m_world.advance(MSEC);
    }
    end(begin(buffer(1), PAGE)); /* Now buffer 2 is that */

    std::vector<void*> memhs;
    for (unsigned b : {2, 0, 1}) {
        EXPECT_EQ(1u, m_world.num_live_at(buffer(b)));
        memhs.push_back(begin(buffer(10 + b), PAGE));
        EXPECT_EQ(0u, m_world.num_live_at(buffer(b)));
    }
    for (void *memh : memhs) {
        end(memh);
    }
}

TEST_F(test_bound, memory_in_use_is_not_evicted)
{
    void *memh0 = begin(buffer(0), ROOM / 2), *memh1;

    end(begin(buffer(1), ROOM / 2));
    expect_refused(buffer(2), ROOM / 2 + PAGE);
    EXPECT_TRUE(m_world.is_live(memh0));

    memh1 = begin(buffer(2), ROOM / 2);
    EXPECT_TRUE(m_world.is_live(memh0));
    end(memh0);
    end(memh1);
}

TEST_F(test_bound, pieces_evict_what_is_idle)
{
    pieces_use use = pieces(buffer(1), 2 * MB);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    void *memh = begin(buffer(2), ROOM / 2);
    end(begin(buffer(0), ROOM / 2));
    EXPECT_EQ(UCS_OK, use.next());
    EXPECT_EQ(UCS_OK, use.next());
    EXPECT_EQ(1u, m_world.num_live_at(buffer(0))) << "the reserve is enough";
    EXPECT_EQ(UCS_OK, use.next());
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(UCS_OK, use.finish());
    end(memh);
}

/* The helper's registrations ahead */

TEST_F(test_bound, helper_gives_up_what_is_not_needed_before)
{
    void *memh;

    for (unsigned i = 0; i < 3; ++i) {
        memh = begin(buffer(0), ROOM);
        run(MSEC);
        end(memh);
        run((i < 2) ? 99 * MSEC : 50 * MSEC);
    }
    ASSERT_EQ(0u, m_world.num_live());

    /* It becomes due while something else has just been used, of which the
     * helper knows nothing yet */
    m_world.advance(60 * MSEC);
    uint64_t evictions = stats().evictions;
    end(begin(buffer(1), 64 * PAGE));
    end(begin(buffer(2), 64 * PAGE));
    poll();
    EXPECT_EQ(1u, m_world.num_live_at(buffer(0)));
    EXPECT_EQ(0u, m_world.num_live_at(buffer(2)));
    EXPECT_EQ(evictions + 1, stats().evictions);
}

TEST_F(test_bound, helper_spares_what_is_needed_before)
{
    uint64_t start = now();

    /* Either fits, both do not; the first is always needed 3 ms before the
     * second */
    for (unsigned i = 0; i < 10; ++i) {
        run_until(start + i * 100 * MSEC);
        stats_t before = stats();
        use(buffer(0), ROOM / 2 + PAGE, MSEC, context(1));
        if (i >= 2) {
            EXPECT_EQ(before.hits + 1, stats().hits) << i;
            EXPECT_EQ(before.evictions, stats().evictions) << i;
        }
        run_until(start + i * 100 * MSEC + 3 * MSEC);
        use(buffer(1), ROOM / 2 + PAGE, MSEC, context(2));
    }
    EXPECT_GT(stats().regs_helper, 0u);
    EXPECT_EQ(0u, stats().refused) << "what the helper does without is none";
}

TEST_F(test_bound, helper_leaves_the_reserve_alone)
{
    uint64_t start = now();
    void *memh     = NULL;

    for (unsigned i = 0; i < 4; ++i) {
        run_until(start + i * 100 * MSEC);
        if (memh != NULL) {
            end(memh);
        }
        use(buffer(0), RESERVE, MSEC);
        memh = begin(buffer(1), ROOM - PAGE, 0, NULL, context(2));
    }
    EXPECT_EQ(0u, stats().regs_helper);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    end(memh);
}

TEST_F(test_bound, use_waits_for_what_is_registered_ahead_of_another)
{
    std::atomic<ucs_status_t> status{UCS_INPROGRESS};
    std::thread thread;
    void *memh;

    use(buffer(0), ROOM, MSEC);
    run(99 * MSEC);
    use(buffer(0), ROOM, MSEC);
    run(50 * MSEC);
    ASSERT_EQ(0u, m_world.num_live());

    /* It is no victim yet, but will be in a moment */
    m_world.on_reg = [&](const auto &) {
        unsigned yields = test_num_yields();

        m_world.on_reg = nullptr;
        thread         = std::thread([&] {
            status = try_begin(buffer(1), ROOM, &memh);
        });
        while ((test_num_yields() == yields) && (status == UCS_INPROGRESS)) {
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
    };
    m_world.advance(60 * MSEC);
    ucs_rcache_pred_poll(m_pred);
    thread.join();
    ASSERT_EQ(UCS_OK, status);
    EXPECT_EQ(1u, stats().regs_helper);
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(0u, stats().refused);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    end(memh);
}

/* Changes of the bound */

TEST_F(test_bound, lowering_gives_up_idle_regions_at_once)
{
    void *memh = begin(buffer(0), ROOM / 4);

    end(begin(buffer(1), ROOM / 4));
    m_world.advance(MSEC);
    end(begin(buffer(2), ROOM / 4));
    set_bound(ROOM / 2);
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(0u, m_world.num_live_at(buffer(1)));
    EXPECT_EQ(1u, m_world.num_live_at(buffer(2))) << "no more than needed";
    EXPECT_EQ(1u, stats().evictions);
    end(memh);
}

TEST_F(test_bound, lowering_leaves_what_is_in_use)
{
    void *memh   = begin(buffer(0), ROOM / 2);
    pieces_use use = pieces(buffer(1), MB);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    set_bound(UCS_RCACHE_PRED_MIN_BYTES);
    EXPECT_TRUE(m_world.is_live(memh));
    expect_refused(buffer(2), PAGE);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, use.next());
    EXPECT_EQ(1u, use.pieces().size());

    end(memh);
    EXPECT_EQ(UCS_OK, use.finish());
    end(begin(buffer(2), PAGE));
    EXPECT_LE(m_world.bytes_now(), UCS_RCACHE_PRED_MIN_BYTES);
}

TEST_F(test_bound, raising_makes_room)
{
    void *memh = begin(buffer(0), ROOM);

    expect_refused(buffer(1), ROOM);
    set_bound(4 * MB);
    end(begin(buffer(1), ROOM));
    set_bound(UINT64_MAX);
    end(begin(buffer(2), 64 * MB));
    end(memh);
}
