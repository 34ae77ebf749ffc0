/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"

#include <vector>

/* Slices of 10 pages, each of which has 4 in common with the next one. They are in use
 * at a time, so that each is registered by itself, and used again so soon that there is
 * no budget to give them up */
class test_merge : public helper_test {
protected:
    static constexpr unsigned SLICES = 5;
    static constexpr size_t   LENGTH = 10 * PAGE;
    static constexpr size_t   STRIDE = 6 * PAGE;
    static constexpr size_t   UNION  = (SLICES - 1) * STRIDE + LENGTH;
    static constexpr unsigned LONG   = 1000;

    void SetUp() override
    {
        m_params.budget        = .01;
        m_params.helper        = UCS_RCACHE_PRED_HELPER_AGGRESSIVE;
        m_world.seat.idle = 0;
        m_world.set_reg_cost(250, 16 * USEC);
        m_world.set_dereg_cost(125, 8 * USEC);
        create();
    }

    /* Use some slices at a time, so often, in a domain */
    void bursts(unsigned times, const std::vector<unsigned> &slices,
                domain_t *domain = NULL)
    {
        std::vector<void*> memhs;
        uint64_t start;

        while (times-- > 0) {
            start = now();
            for (unsigned i : slices) {
                memhs.push_back(
                        begin(buffer(0, i * m_stride), m_length, 0, domain));
            }
            for (void *memh : memhs) {
                run(20 * USEC); /* The helper looks at those that have ended */
                end(memh, domain);
            }
            memhs.clear();
            run_until(start + MSEC);
        }
    }

    /* Nothing is used until there is budget to give all of it up */
    void run_until_given_up()
    {
        for (unsigned i = 0; (i < 100000) && (stats().bytes_now > 0); ++i) {
            run(100 * USEC);
        }
        EXPECT_EQ(0u, stats().bytes_now);
    }

    /* Use a slice. @return how many bytes are registered meanwhile */
    uint64_t pinned_by_use(unsigned slice)
    {
        void *memh     = begin(buffer(0, slice * m_stride), m_length);
        uint64_t bytes = stats().bytes_now;

        run(20 * USEC);
        end(memh);
        return bytes;
    }

    /* Slices that touch each other, and do not overlap */
    void touching(size_t length)
    {
        m_length = length;
        m_stride = length;
    }

    /* Before and after each deregistration, and the registration, of a merge of all */
    static constexpr unsigned STEPS = 2 * (SLICES + 1);

    /* Use all slices, which are registered, until they are merged, and do something at a
     * step of that. @return whether there was one */
    bool merge_and_do(unsigned step, std::function<void()> func)
    {
        bool is_done = false;
        auto at_step = [&] {
            if (!is_done && (step-- == 0)) {
                is_done = true;
                func();
            }
        };

        m_world.on_enter = m_world.on_leave = at_step;
        for (unsigned i = 0; (i < LONG) && !is_done; ++i) {
            bursts(1, ALL);
        }
        m_world.on_enter = m_world.on_leave = nullptr;
        return is_done;
    }

    const std::vector<unsigned> ALL = {0, 1, 2, 3, 4};
    size_t m_length = LENGTH;
    size_t m_stride = STRIDE;
};

TEST_F(test_merge, what_is_kept_is_pinned_once)
{
    bursts(1, ALL);
    EXPECT_EQ(SLICES * LENGTH, stats().bytes_now);
    bursts(LONG, ALL);
    EXPECT_EQ(UNION, stats().bytes_now);
    EXPECT_EQ(1u, stats().regions_now);
    EXPECT_LE(stats().budget_spent, .01 * now() + MSEC);

    mark();
    bursts(LONG, ALL);
    EXPECT_EQ(LONG * SLICES, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::regs_helper)) << "nothing is left to merge";
}

/* Where they touch, both have the same page. So it is with a gap of some bytes between two
 * multiples of 16 */
TEST_F(test_merge, what_touches_within_16_bytes_is_pinned_once)
{
    for (size_t gap : {0, 2}) {
        touching(LENGTH + 1);
        m_stride += gap;
        bursts(1, ALL);
        EXPECT_EQ(SLICES * (LENGTH + PAGE), stats().bytes_now);
        bursts(2 * LONG, ALL);
        EXPECT_EQ(SLICES * LENGTH + PAGE, stats().bytes_now);
        EXPECT_EQ(1u, stats().regions_now);
        EXPECT_LE(stats().budget_spent, .01 * now() + MSEC);

        mark();
        bursts(LONG, ALL);
        EXPECT_EQ(LONG * SLICES, since_mark(&stats_t::hits));
        EXPECT_EQ(0u, since_mark(&stats_t::regs_helper));
        unmap(buffer(0), SLICES * m_stride);
    }
}

/* What is given up for too short a time is registered as it was: else each slice would be
 * registered beside those that are in use, until they are merged again */
TEST_F(test_merge, what_is_used_soon_is_registered_as_one)
{
    bursts(LONG, ALL);
    for (unsigned i = 0; i < 3; ++i) {
        run_until_given_up();
        mark();
        bursts(1, ALL);
        EXPECT_EQ(1u, since_mark(&stats_t::regs_critical));
        EXPECT_EQ(SLICES - 1, since_mark(&stats_t::hits));
    }
}

/* To give all of it up was worth it then, and only what is needed is registered again */
TEST_F(test_merge, what_is_used_later_is_registered_by_itself)
{
    bursts(LONG, ALL);
    run_until_given_up();
    run(2 * SEC);
    EXPECT_EQ(LENGTH, pinned_by_use(1));
}

/* What was registered by itself once does not bring the others back when it is given up, not
 * even if it begins where the merged region does */
TEST_F(test_merge, what_was_used_by_itself_is_not_merged_any_more)
{
    for (unsigned slice : {0, 1}) {
        bursts(LONG, ALL);
        run_until_given_up();
        run(2 * SEC);
        EXPECT_EQ(LENGTH, pinned_by_use(0));
        bursts(LONG, {0}); /* Kept, and given up in vain */
        run_until_given_up();
        EXPECT_EQ(LENGTH, pinned_by_use(slice));
        unmap(buffer(0), UNION);
    }
}

/* To register all takes 1166 us, and the slice 266 us */
TEST_F(test_merge, what_is_small_is_registered_by_itself)
{
    m_length = 1000 * PAGE;
    m_stride = 900 * PAGE;
    bursts(10 * LONG, ALL);
    EXPECT_EQ((SLICES - 1) * m_stride + m_length, stats().bytes_now);
    run_until_given_up();
    EXPECT_EQ(m_length, pinned_by_use(1));
}

TEST_F(test_merge, what_was_unmapped_is_not_registered_with_the_others)
{
    bursts(LONG, ALL);
    run_until_given_up();
    unmap(buffer(0, 3 * STRIDE + PAGE), PAGE);
    EXPECT_EQ(LENGTH, pinned_by_use(1));
}

/* There may be room the next time */
TEST_F(test_merge, what_is_refused_is_registered_by_itself)
{
    bursts(LONG, ALL);
    run_until_given_up();
    m_world.fail_nth_reg(1);
    EXPECT_EQ(LENGTH, pinned_by_use(1));
    bursts(2 * LONG, ALL);
    EXPECT_EQ(UNION, stats().bytes_now);
}

/* UCX's own cache has them apart, too */
TEST_F(test_merge, what_touches_at_a_multiple_of_16_stays_apart)
{
    touching(LENGTH + 16);
    bursts(2 * LONG, ALL);
    EXPECT_EQ(SLICES, stats().regions_now);
}

/* It gives its own registration up at the end of its use */
TEST_F(test_merge, with_one_that_is_in_use)
{
    void *memh = begin(buffer(0, 2 * STRIDE), LENGTH);

    bursts(LONG, {0, 1});
    EXPECT_EQ(2 * STRIDE + 2 * LENGTH, stats().bytes_now);
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
    EXPECT_EQ(2 * STRIDE + LENGTH, stats().bytes_now);
}

/* A page is not worth it to pin again what waits for a message, however long */
TEST_F(test_merge, what_touches_one_that_stays_in_use_stays_apart)
{
    touching(LENGTH + 1);
    void *memh      = begin(buffer(0, m_stride), 16 * MB);
    uint64_t pinned = LENGTH + PAGE + 16 * MB + PAGE;

    bursts(5 * LONG, {0});
    EXPECT_EQ(pinned, m_world.bytes_peak());
    end(memh);
}

TEST_F(test_merge, within_a_domain)
{
    domain_t *other = new_domain("other");
    void *memh      = begin(buffer(0, STRIDE), LENGTH, 0, other);

    bursts(LONG, {0, 2});
    EXPECT_EQ(3 * LENGTH, stats().bytes_now);
    end(memh, other);
}

TEST_F(test_merge, what_is_refused_is_not_tried_again)
{
    bursts(1, ALL);
    m_world.fail_nth_reg(1);
    bursts(LONG, ALL);
    EXPECT_EQ(SLICES * LENGTH, stats().bytes_now);
    EXPECT_LT(SLICES, stats().regs_critical) << "those after it was refused";

    mark();
    bursts(LONG, ALL);
    EXPECT_EQ(LONG * SLICES, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::regs_helper));
    EXPECT_EQ(SLICES * LENGTH, stats().bytes_now);
}

/* The one that was to be registered for all stays alone */
TEST_F(test_merge, what_is_refused_keeps_no_others_apart)
{
    touching(LENGTH + 1);
    bursts(1, ALL);
    m_world.fail_nth_reg(1);
    bursts(10 * LONG, ALL);
    EXPECT_EQ(2u, stats().regions_now);
}

/* Nor does one that was next to memory that was unmapped */
TEST_F(test_merge, what_touches_nothing_any_more_keeps_no_others_apart)
{
    touching(LENGTH + 1);
    bursts(LONG, {0});
    bursts(1, {0, 1});
    unmap(buffer(0, m_length + PAGE), PAGE);
    bursts(4 * LONG, {0, 3, 4});
    EXPECT_EQ(2u, stats().regions_now);
}

/* Memory of a slice is unmapped by another thread, at each step of a merge in turn: the hook
 * is called then, and the memory goes once the merge is done. No use may find a registration
 * that was made before */
TEST_F(test_merge, what_is_unmapped_at_any_step_is_registered_anew)
{
    for (unsigned step = 0; step < STEPS; ++step) {
        for (unsigned slice : ALL) {
            void *hole = buffer(0, slice * STRIDE + 5 * PAGE);

            bursts(1, ALL);
            EXPECT_TRUE(merge_and_do(step, [=] { unmap(hole, PAGE); }));
            uint64_t serial = m_world.serial();

            for (unsigned i : ALL) {
                void *address = buffer(0, i * STRIDE);
                void *memh    = begin(address, LENGTH);

                if ((hole >= address) && (hole < (char*)address + LENGTH)) {
                    EXPECT_GT(m_world.get(memh).serial, serial)
                            << "step " << step << ", slice " << slice;
                }
                end(memh);
            }
            recreate();
        }
    }
}

/* Programs that unmap other memory all the time */
TEST_F(test_merge, what_is_unmapped_elsewhere_at_any_step_does_no_harm)
{
    unsigned number = 1;

    for (unsigned step = 0; step < STEPS; ++step) {
        bursts(1, ALL);
        EXPECT_TRUE(merge_and_do(step, [&] {
            for (void *address : {buffer(number++), buffer(0, UNION),
                                  buffer(0, -PAGE)}) {
                unmap(address, PAGE);
            }
        }));
        EXPECT_EQ(UNION, stats().bytes_now) << "step " << step;
        EXPECT_EQ(1u, stats().regions_now);
        recreate();
    }
}
