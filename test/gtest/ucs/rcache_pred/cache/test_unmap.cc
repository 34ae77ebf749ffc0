/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pred_test.h>

#include <unistd.h>

#include <atomic>
#include <thread>


/* Invalidated and unmapped memory */
class test_unmap : public pred_test {
protected:
    void SetUp() override { create(); }

    /* From now on it is an error to register this memory */
    void forbid(void *address, size_t length)
    {
        m_world.on_reg = [=](const auto &r) {
            EXPECT_TRUE((r.address >= (uintptr_t)address + length) ||
                        (r.address + r.length <= (uintptr_t)address))
                    << "unmapped memory is registered: " << r.length
                    << " bytes";
        };
    }

    /* Unmap memory that is not mapped anew */
    void unmap_for_good(void *address, size_t length)
    {
        unmap(address, length);
        forbid(address, length);
    }

    void give_up_all()
    {
        ucs_rcache_pred_set_max_bytes(m_pred, 0);
        EXPECT_EQ(0u, stats().bytes_now);
        ucs_rcache_pred_set_max_bytes(m_pred, UINT64_MAX);
    }

    /* As the handler of a signal that has interrupted this thread in the
     * cache */
    void unmap_in_handler(void *address, size_t length)
    {
        pred_lock(m_pred);
        unmap(address, length);
        pred_unlock(m_pred);
    }

    /* Receives events: when one buffer is unmapped, so is the next */
    static void unmap_more(void *arg, const ucs_rcache_pred_event_t *event)
    {
        auto self = static_cast<test_unmap*>(arg);

        if ((event->type == UCS_RCACHE_PRED_EVENT_UNMAP) &&
            (event->address == (uintptr_t)buffer(0))) {
            self->unmap(buffer(1), PAGE);
        }
    }

    /* Whether a use has to register its memory */
    bool is_registered_anew(void *address, size_t length)
    {
        uint64_t regs = stats().regs_critical;

        end(begin(address, length));
        return stats().regs_critical > regs;
    }

    /* So many uses, one each second, that take 1 ms */
    void every_second(void *address, size_t length, unsigned times)
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use(address, length, MSEC, context(length));
            run_until(start + SEC);
        }
    }
};

/* Invalidate */

TEST_F(test_unmap, invalidate_deregisters_and_then_calls_back)
{
    struct arg {
        fake_world *world;
        void       *memh;
        unsigned   called;
    } a = {&m_world, begin(buffer(0), PAGE), 0};

    auto cb = [](void *p) {
        ++((arg*)p)->called;
        EXPECT_FALSE(((arg*)p)->world->is_live(((arg*)p)->memh));
    };

    ASSERT_EQ(UCS_OK, ucs_rcache_pred_invalidate(domain(), a.memh, cb, &a));
    EXPECT_EQ(1u, a.called);

    poll();
    EXPECT_EQ(0u, m_pred->table.count);
    end(begin(buffer(0), PAGE));
    EXPECT_EQ(1u, a.called);
}

TEST_F(test_unmap, invalidate_waits_for_the_other_uses)
{
    unsigned called = 0;
    void *memh      = begin(buffer(0), PAGE);

    begin(buffer(0), PAGE);
    begin(buffer(0), PAGE);
    end(memh);
    ASSERT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    poll();
    EXPECT_EQ(0u, called);
    EXPECT_TRUE(m_world.is_live(memh));

    /* A new use must not get the old registration */
    void *new_memh = begin(buffer(0), PAGE);
    EXPECT_NE(memh, new_memh);

    end(memh);
    EXPECT_EQ(1u, called);
    EXPECT_FALSE(m_world.is_live(memh));
    EXPECT_TRUE(m_world.is_live(new_memh));
    end(new_memh);
    poll();
    EXPECT_EQ(1u, called);
}

TEST_F(test_unmap, every_invalidate_is_called_back)
{
    unsigned called = 0;
    void *memh      = begin(buffer(0), PAGE);

    begin(buffer(0), PAGE);
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    EXPECT_EQ(0u, called);
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    EXPECT_EQ(2u, called);
}

TEST_F(test_unmap, invalidate_on_demand)
{
    unsigned called = 0;

    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *memh = begin(buffer(0), PAGE);
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    EXPECT_EQ(1u, called);
    poll();
}

TEST_F(test_unmap, foreign_handle_is_not_invalidated)
{
    unsigned called = 0;

    EXPECT_EQ(UCS_ERR_NO_ELEM,
              ucs_rcache_pred_invalidate(domain(), (void*)0x1234, count_cb,
                                         &called));
    EXPECT_EQ(0u, called);
}

TEST_F(test_unmap, callback_may_begin_another_use)
{
    struct arg {
        test_unmap *self;
        void     *memh;
    } a = {this, NULL};

    auto cb = [](void *p) {
        arg *a  = (arg*)p;
        a->memh = a->self->begin(buffer(0), PAGE);
    };

    ASSERT_EQ(UCS_OK, ucs_rcache_pred_invalidate(domain(),
                                                 begin(buffer(0), PAGE), cb,
                                                 &a));
    end(a.memh);
}

/* Unmap */

TEST_F(test_unmap, unmapped_while_idle)
{
    void *memh = begin(buffer(0), PAGE);

    end(memh);
    unmap(buffer(0), PAGE);
    EXPECT_EQ(1u, stats().unmapped);

    /* There is new memory at the same address before the helper has done
     * anything */
    void *new_memh = begin(buffer(0), PAGE);
    EXPECT_NE(memh, new_memh);
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
    EXPECT_TRUE(m_world.is_live(new_memh));
    end(new_memh);
}

TEST_F(test_unmap, unmapped_while_in_use)
{
    void *memh = begin(buffer(0), PAGE);

    unmap(buffer(0), PAGE);
    void *new_memh = begin(buffer(0), PAGE);
    EXPECT_NE(memh, new_memh);

    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
    EXPECT_TRUE(m_world.is_live(new_memh));
    end(new_memh);
}

TEST_F(test_unmap, unmapped_while_being_registered_by_a_use)
{
    m_world.on_reg = [this](const auto &) { unmap(buffer(0), PAGE); };
    void *memh     = begin(buffer(0), PAGE);
    m_world.on_reg = nullptr;

    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_NE(memh, begin(buffer(0), PAGE));
    end(memh);
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
}

TEST_F(test_unmap, unmapped_while_being_registered_by_the_helper)
{
    void *memh = NULL;

    use(buffer(0), PAGE);
    run(100 * MSEC);
    use(buffer(0), PAGE);
    ASSERT_EQ(0u, (run(10 * MSEC), m_world.num_live()));
    m_world.on_reg = [this](const auto &) { unmap(buffer(0), PAGE); };
    run(88 * MSEC);
    m_world.on_reg = nullptr;
    ASSERT_EQ(1u, stats().regs_helper);
    EXPECT_EQ(1u, stats().unmapped);

    memh = begin(buffer(0), PAGE);
    EXPECT_EQ(2 + 1u, stats().regs_critical) << "not the helper's";
    end(memh);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_unmap, unmapped_while_its_registration_fails)
{
    void *memh;

    m_world.on_reg = [this](const auto &) {
        unmap(buffer(0), PAGE);
        /* The helper does a round while the registration is still under way */
        ucs_rcache_pred_poll(m_pred);
    };
    m_world.fail_nth_reg(1, 2);
    EXPECT_NE(UCS_OK, try_begin(buffer(0), PAGE, &memh));
    m_world.on_reg = nullptr;

    run(SEC);
    EXPECT_EQ(0u, m_pred->table.count);
}

TEST_F(test_unmap, unmapped_memory_is_deregistered_without_communication)
{
    end(begin(buffer(0), PAGE));
    end(begin(buffer(0), PAGE));
    run_until_asleep();
    void *memh = begin(buffer(0), PAGE);
    run_until_asleep();

    unmap(buffer(0), PAGE);
    run(MSEC);
    end(memh);
    run(10 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, m_pred->table.count);
}

TEST_F(test_unmap, unmap_touches_what_it_overlaps)
{
    void *before = begin(buffer(0), PAGE);
    void *into   = begin(buffer(0, PAGE), 3 * PAGE / 2);
    void *inside = begin(buffer(0, 5 * PAGE / 2), PAGE);
    void *after  = begin(buffer(0, 4 * PAGE), PAGE);

    for (void *memh : {before, into, inside, after}) {
        end(memh);
    }

    unmap(buffer(0, 2 * PAGE), 2 * PAGE);
    EXPECT_EQ(2u, stats().unmapped);
    EXPECT_EQ(before, begin(buffer(0), PAGE));
    EXPECT_EQ(after, begin(buffer(0, 4 * PAGE), PAGE));
    EXPECT_NE(into, begin(buffer(0, PAGE), 3 * PAGE / 2));
    EXPECT_NE(inside, begin(buffer(0, 5 * PAGE / 2), PAGE));
}

TEST_F(test_unmap, unmap_inside_of_a_region)
{
    void *around = begin(buffer(0, PAGE / 2), 8 * PAGE);

    end(around);
    unmap(buffer(0, 2 * PAGE), 2 * PAGE);
    EXPECT_EQ(1u, stats().unmapped);
    EXPECT_NE(around, begin(buffer(0, PAGE / 2), 8 * PAGE));
}

TEST_F(test_unmap, unmap_is_of_whole_pages)
{
    void *memh = begin(buffer(0, PAGE / 2), PAGE / 2);

    end(memh);
    unmap(buffer(0), 100);
    void *new_memh = begin(buffer(0, PAGE / 2), PAGE / 2);
    EXPECT_NE(memh, new_memh) << "its page was unmapped with the one byte";
    end(new_memh);

    unmap(buffer(0, PAGE - 1), 1);
    EXPECT_NE(new_memh, (memh = begin(buffer(0, PAGE / 2), PAGE / 2)));
    end(memh);
    unmap(buffer(0, PAGE), 1);
    EXPECT_EQ(memh, begin(buffer(0, PAGE / 2), PAGE / 2));
    EXPECT_EQ(2u, stats().unmapped);
}

TEST_F(test_unmap, unmap_is_of_pages_of_the_machine)
{
    m_params.page_size = 64 * KB;
    m_world.set_page_size(64 * KB);
    recreate();
    end(begin(buffer(0, 60 * KB), KB));
    end(begin(buffer(0, 64 * KB), KB));
    unmap(buffer(0), 1);
    EXPECT_EQ(1u, stats().unmapped);
}

TEST_F(test_unmap, unmap_of_no_bytes)
{
    end(begin(buffer(0), PAGE));
    unmap(buffer(0), 0);
    EXPECT_EQ(0u, stats().unmapped);
}

TEST_F(test_unmap, unmap_at_the_top_of_the_address_space)
{
    uintptr_t page = UINTPTR_MAX - 2 * PAGE + 1;

    for (uintptr_t end_of_unmap : {UINTPTR_MAX, (uintptr_t)0, page - 1}) {
        uint64_t unmapped = stats().unmapped;
        void *memh        = NULL;

        ASSERT_EQ(UCS_OK, try_begin((void*)page, PAGE, &memh));
        end(memh);
        /* The last two ends are those of ranges that go on beyond the top */
        ucs_rcache_pred_unmapped(m_pred, page, end_of_unmap);
        EXPECT_EQ(unmapped + 1, stats().unmapped);
        poll();
    }
}

/* A program that allocates a buffer for each use pins no more than under UCX's
 * own cache, however seldom the helper comes */
TEST_F(test_unmap, unmapped_memory_is_deregistered_before_other_is_registered)
{
    for (unsigned i = 0; i < 100; ++i) {
        end(begin(buffer(i), MB));
        unmap(buffer(i), MB);
        EXPECT_EQ(1u, stats().regions_now);
    }
    EXPECT_EQ(1u * MB, m_world.bytes_peak());

    /* Those that were idle when they were unmapped hide none that was not */
    ucs_rcache_pred_purge(m_pred);
    for (unsigned i = 0; i < 3; ++i) {
        end(begin(buffer(i), MB));
    }
    ucs_rcache_pred_purge(m_pred);
    end(begin(buffer(1), MB));
    for (unsigned i = 0; i < 3; ++i) {
        unmap(buffer(i), MB);
    }
    end(begin(buffer(4), MB));
    EXPECT_EQ(1u, stats().regions_now);
}

/* One of them was deregistered before, since somebody waited for that, or to make room */
TEST_F(test_unmap, unmapped_memory_that_is_no_longer_registered_hides_no_other)
{
    for (bool evicted : {true, false}) {
        std::vector<void*> memhs;

        for (unsigned i = 0; i < 4; ++i) {
            memhs.push_back(begin(buffer(i), 64 * KB));
        }
        for (unsigned i = 0; i < 3; ++i) {
            end(memhs[i]);
            unmap(buffer(i), 64 * KB);
        }
        if (evicted) {
            end(memhs[3]);
            unmap(buffer(3), 64 * KB);
            ucs_rcache_pred_set_max_bytes(m_pred, 3 * 64 * KB);
            EXPECT_EQ(3u, m_world.num_live());
        } else {
            unsigned called = 0;
            EXPECT_EQ(UCS_OK, ucs_rcache_pred_invalidate(
                                      domain(), memhs[3], count_cb, &called));
            EXPECT_EQ(1u, called);
        }

        void *memh = begin(buffer(4), 64 * KB);
        EXPECT_EQ(1u, m_world.num_live());
        end(memh);
        unmap(buffer(4), 64 * KB);
        ucs_rcache_pred_set_max_bytes(m_pred, UINT64_MAX);
        run(10 * MSEC);
    }
}

TEST_F(test_unmap, many_are_left_to_the_helper)
{
    for (unsigned i = 0; i < 1000; ++i) {
        end(begin(buffer(0, i * 2 * PAGE), PAGE));
    }
    unmap(buffer(0), 2000 * PAGE);
    end(begin(buffer(1), PAGE));
    EXPECT_GT(stats().regions_now, 900u);
    run(SEC);
    EXPECT_EQ(0u, stats().regions_now);
}

/* What is registered later */

TEST_F(test_unmap, unmapped_tail_is_not_registered_ahead)
{
    every_second(buffer(0), 8 * MB, 3);
    ucs_rcache_pred_purge(m_pred);
    every_second(buffer(0), MB, 1); /* The region has 1 MiB now */
    ucs_rcache_pred_purge(m_pred);
    use(buffer(0), MB, MSEC, context(MB));

    unmap_for_good(buffer(0, 4 * MB), 4 * MB);
    EXPECT_EQ(0u, stats().unmapped) << "what is registered is still mapped";
    uint64_t hits = stats().hits;
    run(998 * MSEC);
    every_second(buffer(0), MB, 5);
    EXPECT_EQ(hits + 5, stats().hits) << "the region is still predicted";
}

TEST_F(test_unmap, length_of_an_entry_under_way_is_cut_as_well)
{
    every_second(buffer(0), 8 * MB, 2);
    use(buffer(0), MB, MSEC);
    run(997 * MSEC);

    /* The helper learns only later of the first of these uses */
    end(begin(buffer(0), 8 * MB));
    ucs_rcache_pred_purge(m_pred);
    end(begin(buffer(0), MB));
    unmap_for_good(buffer(0, 2 * MB), 6 * MB);
    uint64_t regs = stats().regs_helper;
    every_second(buffer(0), MB, 4);
    EXPECT_LT(regs, stats().regs_helper);
}

TEST_F(test_unmap, tail_that_is_mapped_again_is_registered_again)
{
    every_second(buffer(0), 8 * MB, 3);
    ucs_rcache_pred_purge(m_pred);
    end(begin(buffer(0), MB, 0, NULL, context(MB)));
    unmap_for_good(buffer(0, 4 * MB), 4 * MB);
    run(SEC);

    /* There is new memory, of which the program says so by using it */
    m_world.on_reg = nullptr;
    every_second(buffer(0), 6 * MB, 3);
    forbid(buffer(0, 6 * MB), 2 * MB);
    uint64_t hits = stats().hits;
    every_second(buffer(0), 6 * MB, 3);
    EXPECT_EQ(hits + 3, stats().hits);
}

/* The region has moved to lower addresses, use by use. Those in the middle are unmapped; a use
 * where it began does not need them */
TEST_F(test_unmap, what_was_unmapped_between_two_uses_is_not_registered)
{
    for (bool kept : {false, true}) {
        for (unsigned first : {6, 4, 2, 0}) {
            EXPECT_TRUE(is_registered_anew(buffer(0, first * PAGE), 4 * PAGE));
            if ((first > 0) || !kept) {
                give_up_all();
            }
        }
        ASSERT_EQ(1u, m_pred->table.count);

        unmap_for_good(buffer(0, 5 * PAGE), PAGE);
        for (unsigned i = 0; i < 10; ++i) {
            use(buffer(0, 6 * PAGE), 4 * PAGE);
            run(10 * MSEC);
        }
        EXPECT_LT(0u, stats().regs_helper);
        m_world.on_reg = nullptr;
        recreate();
    }
}

TEST_F(test_unmap, memory_that_was_used_and_is_not_registered)
{
    /* Nothing of it is registered, but the next use is predicted */
    every_second(buffer(0), 8 * MB, 3);
    use(buffer(0), 8 * MB, MSEC, context(8 * MB));
    run(100 * MSEC);
    ASSERT_EQ(0u, m_world.num_live());
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));

    unmap_for_good(buffer(0, 8 * MB - 1), 1);
    EXPECT_EQ(1u, stats().unmapped);
    run(2 * SEC);
    EXPECT_EQ(0u, m_pred->table.count);
}

TEST_F(test_unmap, unmap_counts_a_region_once)
{
    end(begin(buffer(0), PAGE));
    unmap(buffer(0), PAGE);
    unmap(buffer(0), PAGE);
    EXPECT_EQ(1u, stats().unmapped);
}

TEST_F(test_unmap, unmap_of_everything)
{
    void *memh = begin(buffer(0), PAGE);

    end(begin(buffer(1), PAGE));
    ucs_rcache_pred_unmapped(m_pred, 0, UINTPTR_MAX);
    EXPECT_EQ(2u, stats().unmapped);
    end(memh);
    poll();
    EXPECT_EQ(0u, m_world.num_live());
}

/* Handlers of signals that have interrupted a thread which has the lock */

TEST_F(test_unmap, handler_does_not_wait_for_its_own_thread)
{
    void *memh = begin(buffer(0), PAGE);
    end(memh);
    end(begin(buffer(1), PAGE));
    alarm(60); /* A test that waits for ever ends */
    unmap_in_handler(buffer(0), PAGE);
    alarm(0);
    EXPECT_FALSE(is_registered_anew(buffer(1), PAGE));
    EXPECT_EQ(1u, stats().unmapped);
    EXPECT_TRUE(is_registered_anew(buffer(0), PAGE));
    EXPECT_FALSE(m_world.is_live(memh));
}

/* It is deregistered although the program does nothing more */
TEST_F(test_unmap, handler_wakes_the_helper)
{
    end(begin(buffer(0), PAGE));
    run_until_asleep();
    void *memh     = begin(buffer(0), PAGE);
    unsigned wakes = m_world.num_wakes();
    unmap_in_handler(buffer(0), PAGE);
    EXPECT_GT(m_world.num_wakes(), wakes);
    end(memh);
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
    EXPECT_EQ(1u, stats().unmapped);
}

/* As many as there is room to remember, or more: then no registration is
 * sure */
TEST_F(test_unmap, handlers_unmap_a_lot)
{
    const unsigned room = 16;

    for (unsigned num : {room, room + 1}) {
        for (unsigned i = 0; i < room + 4; ++i) {
            end(begin(buffer(i), PAGE));
        }
        uint64_t before = stats().unmapped;
        pred_lock(m_pred);
        for (unsigned i = 0; i < num; ++i) {
            unmap(buffer(i), PAGE);
        }
        pred_unlock(m_pred);
        EXPECT_EQ(before + ((num > room) ? room + 4 : room), stats().unmapped);
        EXPECT_TRUE(is_registered_anew(buffer(num - 1), PAGE));
        EXPECT_EQ(num > room, is_registered_anew(buffer(room + 3), PAGE));
    }
}

/* Another handler comes while the first one's memory is unmapped. The sink
 * stands for it, which is called in the midst of that */
TEST_F(test_unmap, handler_interrupts_what_another_one_has_left)
{
    ucs_rcache_pred_sink_t sink = {unmap_more, this};

    m_params.sink = &sink;
    recreate();
    end(begin(buffer(0), PAGE));
    end(begin(buffer(1), PAGE));
    end(begin(buffer(2), PAGE));
    unmap_in_handler(buffer(0), PAGE);
    EXPECT_EQ(2u, stats().unmapped);
    EXPECT_TRUE(is_registered_anew(buffer(1), PAGE));
    EXPECT_FALSE(is_registered_anew(buffer(2), PAGE));
    destroy();
}

TEST_F(test_unmap, unmap_of_nothing_does_not_wake)
{
    end(begin(buffer(0), PAGE));
    run_until_asleep();
    unsigned wakes = m_world.num_wakes();

    unmap(buffer(1), PAGE);
    EXPECT_EQ(wakes, m_world.num_wakes());
    EXPECT_TRUE(m_pred->handshake.asleep);
}
