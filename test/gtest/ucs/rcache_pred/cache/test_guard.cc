/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pieces_use.h>

#include <thread>


/* Registrations that could not be had again */
class test_guard : public pred_test {
protected:
    void SetUp() override { create(); }

    /* The program changes its rights as mprotect() does; nothing is allocated */
    void protect(void *address, size_t length, bool is_lost)
    {
        test_alloc_fail_nth(1);
        ucs_rcache_pred_protect(m_pred, (uintptr_t)address, length, is_lost);
        EXPECT_FALSE(test_alloc_failed());
        test_alloc_fail_nth(0);
    }

    /* From now on this memory cannot be registered */
    void lose(void *address, size_t length) { protect(address, length, true); }
    void regain(void *address, size_t length)
    {
        protect(address, length, false);
    }

    /* A use of memory that cannot be registered now */
    void fail(void *address, size_t length)
    {
        void *memh;

        m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_IO_ERROR);
        EXPECT_EQ(UCS_ERR_IO_ERROR, try_begin(address, length, &memh));
        m_world.fail_nth_reg(0);
    }
};

TEST_F(test_guard, what_loses_a_right_stays_until_it_is_back)
{
    void *memh = begin(buffer(0), PAGE);

    end(memh);
    lose(buffer(0), PAGE);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(memh, begin(buffer(0), PAGE));
    end(memh);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));

    regain(buffer(0), PAGE);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh)) << "it can be had again";
    EXPECT_EQ(1u, stats().hits);
}

/* Also if no use came meanwhile: the helper has learned of the last one before */
TEST_F(test_guard, what_was_not_used_is_decided_about_again)
{
    keep_two(buffer(0), buffer(1));
    lose(buffer(0), PAGE);
    run(SEC);
    EXPECT_EQ(1u, m_world.num_live_at(buffer(0)));
    EXPECT_EQ(0u, m_world.num_live_at(buffer(1)));

    auto errors = [this] {
        uint64_t sum = 0;
        for (uint64_t count : stats().prediction_errors) {
            sum += count;
        }
        return sum;
    };
    uint64_t before = errors();
    regain(buffer(0), PAGE);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(before, errors()) << "one use is learned of once";
}

TEST_F(test_guard, a_use_under_way_is_guarded_as_well)
{
    void *memh = begin(buffer(0), PAGE);

    lose(buffer(0), PAGE);
    end(memh);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));

    begin(buffer(0), PAGE);
    regain(buffer(0), PAGE);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh));
}

/* As a write barrier does, which lifts the protection of the page that is written */
TEST_F(test_guard, all_of_it_has_to_be_back)
{
    void *memh = begin(buffer(0), 4 * PAGE);

    end(memh);
    lose(buffer(0, 2 * PAGE), PAGE);
    lose(buffer(0), 4 * PAGE);
    regain(buffer(0, 2 * PAGE), PAGE);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    regain(buffer(0), 4 * PAGE - 1);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh));
}

/* The pages come back one by one, in whatever order they are written */
TEST_F(test_guard, a_write_barrier_ends_it_page_by_page)
{
    constexpr unsigned PAGES = 100;
    void *memh               = begin(buffer(0), PAGES * PAGE);

    end(memh);
    for (unsigned pages : {PAGES / 2, PAGES}) {
        lose(buffer(0), PAGES * PAGE); /* Before all were written, too */
        for (unsigned i = 0; i < pages; ++i) {
            run(100 * MSEC);
            EXPECT_TRUE(m_world.is_live(memh)) << i;
            regain(buffer(0, (37 * i % PAGES) * PAGE), PAGE);
        }
    }
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh));
}

TEST_F(test_guard, a_part_that_was_lost_comes_back_in_parts)
{
    void *memh = begin(buffer(0, 100), 9 * PAGE); /* Of ten pages */

    end(memh);
    lose(buffer(0, 5 * PAGE), 90 * PAGE);
    lose(buffer(0), PAGE);
    run(SEC);
    regain(buffer(0, 7 * PAGE), 3 * PAGE);
    regain(buffer(0), PAGE);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    regain(buffer(0, 5 * PAGE), 2 * PAGE);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh));
}

/* Pages that lose it twice count twice, up to all that there are */
TEST_F(test_guard, what_is_lost_twice_comes_back_as_a_whole)
{
    void *memh = begin(buffer(0), 4 * PAGE);

    end(memh);
    for (unsigned i = 0; i < 5; ++i) {
        lose(buffer(0, PAGE), 2 * PAGE);
    }
    regain(buffer(0, PAGE), 2 * PAGE);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    regain(buffer(0), 4 * PAGE);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh));
}

/* The kernel may have pinned it before the call took effect */
TEST_F(test_guard, what_loses_a_right_while_it_is_registered_stays)
{
    m_world.on_reg = [this](const fake_world::registration&) {
        lose(buffer(0), PAGE);
    };
    void *memh     = begin(buffer(0), PAGE);
    m_world.on_reg = nullptr;
    end(memh);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    regain(buffer(0), PAGE);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh)) << "it can be had again";
}

/* Nobody would end the guard of what is unmapped */
TEST_F(test_guard, what_is_unmapped_while_it_is_registered_does_not)
{
    m_world.on_reg = [this](const fake_world::registration&) {
        lose(buffer(0), PAGE);
        unmap(buffer(0), PAGE);
    };
    end(begin(buffer(0), PAGE));
    m_world.on_reg = nullptr;
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, m_pred->table.count);
}

TEST_F(test_guard, what_gets_it_back_while_it_is_registered_does_not)
{
    m_world.on_reg = [this](const fake_world::registration&) {
        lose(buffer(0), PAGE);
        regain(buffer(0), PAGE);
    };
    void *memh     = begin(buffer(0), PAGE);
    m_world.on_reg = nullptr;
    end(memh);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh));
}

/* The use that it was registered for does not come, so that the helper would give it
 * up */
TEST_F(test_guard, what_loses_a_right_while_it_is_registered_ahead_stays)
{
    unsigned ahead = 0;

    m_world.on_reg = [this, &ahead](const fake_world::registration &reg) {
        if ((reg.address == (uintptr_t)buffer(0)) &&
            (stats().uses == 8)) {
            ++ahead;
            lose(buffer(0), PAGE);
        }
    };
    for (unsigned i = 0; i < 8; ++i) {
        use(buffer(0), PAGE);
        run(SEC);
    }
    EXPECT_EQ(1u, ahead);
    run(100 * SEC);
    EXPECT_EQ(1u, m_world.num_live_at(buffer(0)));
    m_world.on_reg = nullptr;
    regain(buffer(0), PAGE);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_guard, what_is_elsewhere_is_not_guarded)
{
    end(begin(buffer(0, PAGE), PAGE));
    lose(buffer(0), PAGE);
    lose(buffer(0, 2 * PAGE), PAGE);
    lose(buffer(0, PAGE), 0);
    ucs_rcache_pred_protect(m_pred, 0, SIZE_MAX, 1); /* The kernel refuses it */
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_guard, a_use_that_needs_more_leaves_it)
{
    void *memh = begin(buffer(0), PAGE, ACCESS_READ);

    end(memh);
    lose(buffer(0), 2 * PAGE);
    fail(buffer(0), 2 * PAGE);
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(memh, begin(buffer(0), PAGE, ACCESS_READ));
    end(memh);
}

TEST_F(test_guard, it_gives_way_to_what_has_no_room_otherwise)
{
    void *memh;

    m_params.max_bytes = MB;
    recreate();
    end(begin(buffer(0), MB / 2));
    lose(buffer(0), MB / 2);
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_begin(buffer(1), MB / 2, &memh));
    EXPECT_TRUE(ucs_rcache_pred_unguard(m_pred));
    EXPECT_FALSE(ucs_rcache_pred_unguard(m_pred));
    end(begin(buffer(1), MB / 2));
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
}

TEST_F(test_guard, an_unmap_ends_it)
{
    end(begin(buffer(0), PAGE));
    lose(buffer(0), PAGE);
    unmap(buffer(0), PAGE);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, m_pred->table.count);
}

TEST_F(test_guard, an_invalidation_ends_it)
{
    unsigned called = 0;
    void *memh      = begin(buffer(0), PAGE);

    lose(buffer(0), PAGE);
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    EXPECT_EQ(1u, called);
    EXPECT_FALSE(m_world.is_live(memh));
}

/* What a fork leaves registered could not be had again afterwards either */
TEST_F(test_guard, a_fork_does_not_end_it_where_memory_is_kept)
{
    const ucs_rcache_pred_limits_t limits = {UINT64_MAX, UINT64_MAX, 1};
    void *memh;

    ucs_rcache_pred_domain_limit(domain(), &limits);
    memh = begin(buffer(0), PAGE);
    end(memh);
    lose(buffer(0), PAGE);
    ucs_rcache_pred_quiesce(m_pred);
    ucs_rcache_pred_resume(m_pred);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    regain(buffer(0), PAGE);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh));
}

TEST_F(test_guard, a_fork_ends_it)
{
    end(begin(buffer(0), PAGE));
    lose(buffer(0), PAGE);
    ucs_rcache_pred_purge(m_pred);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_guard, the_end_of_the_domain_ends_it)
{
    end(begin(buffer(0), PAGE));
    lose(buffer(0), PAGE);
    destroy_domain(0);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_FALSE(ucs_rcache_pred_unguard(m_pred));
}

/* It would fail each time that the program has made it so before the cache has
 * registered it */
TEST_F(test_guard, what_could_not_be_had_once_is_kept)
{
    use(buffer(0), PAGE);
    run_until_asleep();
    fail(buffer(0), PAGE);
    void *memh = begin(buffer(0), PAGE);
    end(memh);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));

    lose(buffer(0), PAGE);
    regain(buffer(0), PAGE);
    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh)) << "it will be refused again";
    unmap(buffer(0), PAGE);
    run_until_asleep();
    EXPECT_FALSE(m_world.is_live(memh));
}

TEST_F(test_guard, what_never_was_registered_is_not_kept)
{
    fail(buffer(0), PAGE);
    use(buffer(0), PAGE);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_guard, lack_of_room_guards_nothing)
{
    void *memh;

    use(buffer(0), 2 * PAGE);
    run(SEC);
    m_world.limit_bytes(PAGE);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, try_begin(buffer(0), 2 * PAGE, &memh));
    m_world.limit_bytes(SIZE_MAX);
    end(begin(buffer(0), 2 * PAGE));
    run(MSEC);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_guard, on_demand_keeps_nothing)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    use(buffer(0), PAGE);
    fail(buffer(0), PAGE);
    void *memh = begin(buffer(0), PAGE);
    lose(buffer(0), PAGE);
    end(memh);
    EXPECT_EQ(0u, m_world.num_live());
}

/* The call has interrupted this thread, or a thread that waits until it is over */
TEST_F(test_guard, a_handler_does_not_wait)
{
    end(begin(buffer(0), PAGE));
    pred_lock(m_pred);
    lose(buffer(0), PAGE);
    std::thread([this] { lose(buffer(0), PAGE); }).join();
    pred_unlock(m_pred);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}
