/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound_test.h"

#include <atomic>
#include <thread>


/* Which regions are given up to make room, for uses and for registrations ahead
 * of time */
class test_evict : public bound_test {
};

/* Evictions */

TEST_F(test_evict, larger_than_it_evicts_nothing)
{
    end(begin(buffer(0), PAGE));
    end(begin(buffer(1), PAGE));
    expect_refused(buffer(2), BOUND + 1);
    expect_refused(buffer(2), ROOM + 1);
    EXPECT_EQ(0u, stats().evictions);
    EXPECT_EQ(2u, m_world.num_live());
}

TEST_F(test_evict, as_many_are_evicted_as_it_takes)
{
    for (unsigned i = 0; i < 7; ++i) {
        end(begin(buffer(i), 32 * PAGE));
    }
    ASSERT_EQ(ROOM, m_world.bytes_now());

    void *memh = begin(buffer(10), 65 * PAGE);
    EXPECT_EQ(3u, stats().evictions);
    end(memh);
}

TEST_F(test_evict, farthest_deadline_is_evicted_first)
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

TEST_F(test_evict, without_a_deadline_is_evicted_before_any)
{
    void *near = buffer(1), *far = buffer(2);

    bound(BOUND, 4);
    keep_two(near, far);
    /* The helper has never decided about buffer 0 */
    end(begin(buffer(0), PAGE));
    void *memh = begin(buffer(3), PAGE);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    EXPECT_EQ(1u, m_world.num_live_at(near));
    EXPECT_EQ(1u, m_world.num_live_at(far));
    end(memh);
}

/* Before the helper decides about a region again, its next use is expected as long after
 * this one as the helper last expected */
TEST_F(test_evict, used_again_is_needed_a_period_later)
{
    void *near = buffer(0), *far = buffer(1);

    bound(BOUND, 4);
    keep_two(near, far);
    end(begin(near, PAGE)); /* In 20 us; the other one in 40 */
    void *memh0 = begin(buffer(2), PAGE), *memh1 = begin(buffer(3), PAGE);
    EXPECT_EQ(1u, m_world.num_live_at(near));
    EXPECT_EQ(0u, m_world.num_live_at(far));
    end(memh0);
    end(memh1);
}

TEST_F(test_evict, used_again_is_needed_after_one_that_is_due)
{
    void *near = buffer(0), *far = buffer(1);

    bound(BOUND, 4);
    keep_two(near, far);
    m_world.advance(30 * USEC);
    end(begin(near, PAGE)); /* In 20 us; the other one in 10 */
    void *memh0 = begin(buffer(2), PAGE), *memh1 = begin(buffer(3), PAGE);
    EXPECT_EQ(0u, m_world.num_live_at(near));
    EXPECT_EQ(1u, m_world.num_live_at(far));
    end(memh0);
    end(memh1);
}

TEST_F(test_evict, of_equals_the_one_used_longest_ago_is_evicted)
{
    const unsigned order[] = {1, 2, 0};

    bound(BOUND, 4);
    for (unsigned b : order) {
        end(begin(buffer(b), PAGE));
        m_world.advance(MSEC);
    }
    end(begin(buffer(1), PAGE)); /* Now buffer 2 is the one used longest ago */

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

TEST_F(test_evict, memory_in_use_is_not_evicted)
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

TEST_F(test_evict, pieces_evict_what_is_idle)
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

TEST_F(test_evict, helper_gives_up_what_is_not_needed_before)
{
    void *memh;

    for (unsigned i = 0; i < 3; ++i) {
        memh = begin(buffer(0), ROOM);
        run(MSEC);
        end(memh);
        run((i < 2) ? 99 * MSEC : 50 * MSEC);
    }
    ASSERT_EQ(0u, m_world.num_live());

    /* Buffer 0 becomes due when others have just been used, of which the helper
     * knows nothing yet */
    m_world.advance(60 * MSEC);
    uint64_t evictions = stats().evictions;
    end(begin(buffer(1), 64 * PAGE));
    end(begin(buffer(2), 64 * PAGE));
    poll();
    EXPECT_EQ(1u, m_world.num_live_at(buffer(0)));
    EXPECT_EQ(0u, m_world.num_live_at(buffer(2)));
    EXPECT_EQ(evictions + 1, stats().evictions);
}

TEST_F(test_evict, helper_spares_what_is_needed_before)
{
    uint64_t start = now();

    /* Each of the two fits alone. The first is always needed 3 ms before the
     * second. */
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

TEST_F(test_evict, helper_leaves_the_reserve_alone)
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

/* The library gives up after so many calls of yield. How long they take must
 * not depend on when the system lets the helper run: the first call returns
 * when the helper is done. */
TEST_F(test_evict, use_waits_for_what_is_registered_ahead_of_another)
{
    static std::atomic<bool> waits, helper_done;
    std::atomic<ucs_status_t> status{UCS_INPROGRESS};
    ucs_rcache_pred_ops_t ops = fake_world::ops;
    std::thread thread;
    void *memh;

    waits     = helper_done = false;
    ops.yield = [](void*) {
        waits = true;
        while (!helper_done) {
            std::this_thread::yield();
        }
    };
    m_params.ops = &ops;
    recreate();

    use(buffer(0), ROOM, MSEC);
    run(99 * MSEC);
    use(buffer(0), ROOM, MSEC);
    run(50 * MSEC);
    ASSERT_EQ(0u, m_world.num_live());

    /* While the region is being registered it cannot be evicted: the use can
     * only wait for that */
    m_world.on_reg = [&](const auto &) {
        m_world.on_reg = nullptr;
        thread         = std::thread([&] {
            status = try_begin(buffer(1), ROOM, &memh);
        });
        while (!waits && (status == UCS_INPROGRESS)) {
            std::this_thread::yield();
        }
    };
    m_world.advance(60 * MSEC);
    ucs_rcache_pred_poll(m_pred);
    helper_done = true;
    thread.join();
    EXPECT_TRUE(waits);
    ASSERT_EQ(UCS_OK, status);
    EXPECT_EQ(1u, stats().regs_helper);
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(0u, stats().refused);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    end(memh);
}


/* Room is made because the system refuses a registration */

class test_refused : public pred_test {
protected:
    void SetUp() override { create(); }
};

TEST_F(test_refused, refused_registration_evicts_the_farthest_deadline)
{
    void *near = buffer(0), *far = buffer(1);

    keep_two(near, far);
    m_world.limit_bytes(2 * PAGE);
    void *memh = begin(buffer(2), PAGE);
    EXPECT_EQ(1u, m_world.num_live_at(near));
    EXPECT_EQ(0u, m_world.num_live_at(far));
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(0u, stats().reg_failures);
    end(memh);
}

TEST_F(test_refused, refused_registration_evicts_what_nobody_predicts_first)
{
    void *near = buffer(1), *far = buffer(2);

    keep_two(near, far);
    end(begin(buffer(0), PAGE)); /* The helper has not looked at it yet */
    m_world.limit_bytes(3 * PAGE);
    void *memh = begin(buffer(3), PAGE);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    EXPECT_EQ(1u, m_world.num_live_at(far));
    end(memh);
}

TEST_F(test_refused, as_many_are_evicted_as_it_takes)
{
    for (unsigned i = 0; i < 8; ++i) {
        end(begin(buffer(i), PAGE));
    }

    m_world.limit_bytes(8 * PAGE);
    void *memh = begin(buffer(10), 3 * PAGE);
    EXPECT_EQ(3u, stats().evictions);
    EXPECT_EQ(8 * PAGE, m_world.bytes_now());
    end(memh);
}

TEST_F(test_refused, memory_in_use_is_not_evicted)
{
    void *memh0 = begin(buffer(0), PAGE), *memh;

    end(begin(buffer(1), PAGE));
    m_world.limit_bytes(2 * PAGE);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, try_begin(buffer(2), 2 * PAGE, &memh));
    EXPECT_TRUE(m_world.is_live(memh0));
    EXPECT_EQ(1u, stats().reg_failures);

    m_world.limit_bytes(3 * PAGE);
    end(begin(buffer(2), 2 * PAGE));
    end(memh0);
}

TEST_F(test_refused, other_domains_make_room_as_well)
{
    domain_t *other = new_domain("fake1");

    end(begin(buffer(0), PAGE, 0, other), other);
    m_world.limit_bytes(PAGE);
    end(begin(buffer(1), PAGE));
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
}

TEST_F(test_refused, lack_of_room_once_is_one_eviction)
{
    end(begin(buffer(0), PAGE));
    m_world.fail_nth_reg(1, 1, UCS_ERR_NO_MEMORY);
    end(begin(buffer(1), PAGE));
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(0u, stats().reg_failures);
}
