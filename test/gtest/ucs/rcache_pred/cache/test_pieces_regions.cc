/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pieces_test.h"


/* What uses in pieces tell the helper, and what happens to their regions
 * meanwhile */
class test_pieces_regions : public pieces_test {
};

/* What is learned */

TEST_F(test_pieces_regions, next_use_is_predicted)
{
    uint64_t start = now();

    for (unsigned i = 0; i < 10; ++i) {
        run_until(start + i * 100 * MSEC);
        pieces_use use = pieces(buffer(0), LARGE);
        EXPECT_EQ((i < 2) ? UCS_INPROGRESS : UCS_OK, use.begin()) << i;
        run(MSEC);
        EXPECT_EQ(UCS_OK, use.finish());
        EXPECT_EQ(0u, (run(10 * MSEC), m_world.num_live())) << i;
    }

    stats_t s = stats();
    EXPECT_EQ(10u, s.uses);
    EXPECT_EQ(2u, s.in_pieces);
    EXPECT_EQ(6u, s.pieces);
    EXPECT_EQ(8u, s.hits);
    EXPECT_EQ(8u, s.regs_helper);
    EXPECT_EQ(0u, s.regs_critical);
    EXPECT_EQ(0u, s.late);
    EXPECT_EQ(0u, s.refused);
    check_accounting();
}

TEST_F(test_pieces_regions, access_is_remembered)
{
    uint64_t start = now();

    for (unsigned i = 0; i < 2; ++i) {
        run_until(start + i * 100 * MSEC);
        pieces_use use = pieces(buffer(0), LARGE, ACCESS_WRITE);
        ASSERT_EQ(UCS_INPROGRESS, use.begin());
        EXPECT_EQ(UCS_OK, use.finish());
    }
    run_until(start + 200 * MSEC);
    pieces_use use = pieces(buffer(0), LARGE, ACCESS_WRITE);
    EXPECT_EQ(UCS_OK, use.begin());
    EXPECT_EQ(ACCESS_WRITE | HELPER_FLAG, m_world.get(use.memh()).flags);
    use.end();
}

TEST_F(test_pieces_regions, use_is_predicted_though_its_entry_was_lost)
{
    m_params.dq_size = 2;
    recreate();
    for (unsigned i = 0; i < 2; ++i) {
        uint64_t start = now();
        use_in_pieces(buffer(0), LARGE, 0);
        end(begin(buffer(1), PAGE));
        end(begin(buffer(2), PAGE));
        run_until(start + 100 * MSEC);
    }
    EXPECT_EQ(2u, stats().dq_dropped);
    expect_hit(pieces(buffer(0), LARGE));
}

TEST_F(test_pieces_regions, use_that_does_not_fit_is_not_predicted_in_vain)
{
    bound(MB);
    for (unsigned i = 0; i < 4; ++i) {
        uint64_t start = now();
        use_in_pieces(buffer(0), 2 * MB);
        run_until(start + 100 * MSEC);
        EXPECT_EQ(0u, m_world.num_live());
    }
    EXPECT_EQ(0u, stats().regs_helper);
    EXPECT_EQ(4u, stats().in_pieces);
    EXPECT_EQ(4u, stats().refused);
}

/* The region stays registered for shorter uses, and the next one is expected later */
TEST_F(test_pieces_regions, a_use_that_does_not_fit_moves_the_rank_of_its_region)
{
    m_params.budget = 0;
    bound(MB);
    for (unsigned i = 0; i < 8; ++i) {
        uint64_t start = now();
        end(begin(buffer(0), 64 * KB));
        end(begin(buffer(1 + i % 3), 512 * KB)); /* Of these, one at a time has room */
        run_until(start + 100 * MSEC);
    }
    end(begin(buffer(0), 64 * KB));
    end(begin(buffer(3), 512 * KB));

    pieces_use use = pieces(buffer(0), 2 * MB);
    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    validate();
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces_regions, region_is_not_registered_for_the_use_under_way)
{
    periodic(buffer(0), 2, 100 * MSEC);
    run(10 * MSEC);
    expect_hit(pieces(buffer(0), LARGE));
    run(50 * MSEC); /* The next use is due in 50 ms and comes now */
    ASSERT_EQ(0u, m_world.num_live());
    ASSERT_EQ(1u, test_pred_rq_length(m_pred));

    uint64_t helper = stats().regs_helper;
    pieces_use use    = pieces(buffer(0), LARGE);
    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    run(500 * MSEC);
    EXPECT_EQ(helper, stats().regs_helper);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces_regions, use_before_its_registration_is_late)
{
    periodic(buffer(0), 2, 100 * MSEC);
    run(10 * MSEC);
    expect_hit(pieces(buffer(0), LARGE));
    run(50 * MSEC);
    use_in_pieces(buffer(0), LARGE);
    EXPECT_EQ(1u, stats().late);
}

TEST_F(test_pieces_regions, several_uses_of_one_region)
{
    pieces_use first  = pieces(buffer(0), LARGE);
    pieces_use second = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, first.begin());
    run(10 * MSEC);
    ASSERT_EQ(UCS_INPROGRESS, second.begin());
    EXPECT_EQ(UCS_OK, first.finish());
    /* From two begins a period is known, but a use is under way */
    run(10 * MSEC);
    EXPECT_EQ(0u, stats().regs_helper);
    EXPECT_EQ(UCS_OK, second.finish());
    EXPECT_EQ(1u, m_pred->table.count);
}

/* What others do meanwhile */

TEST_F(test_pieces_regions, last_piece_is_no_shorter_than_asked_for)
{
    for (size_t rest : {size_t(0), size_t(16), size_t(64), size_t(65)}) {
        pieces_use use = pieces(buffer(0), LARGE + rest);

        ASSERT_EQ(UCS_INPROGRESS, use.begin());
        use.set_min_piece(65);
        while (use.left() > 0) {
            ASSERT_EQ(UCS_OK, use.next());
            EXPECT_GE(use.pieces().back().length, 65u) << rest;
            use.land();
        }
        use.end();
        run(MSEC);
    }
}

TEST_F(test_pieces_regions, region_used_as_a_whole)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    void *memh = begin(buffer(0), LARGE);
    EXPECT_EQ(1u, m_pred->table.count);
    run(MSEC);
    end(memh);
    poll();
    EXPECT_TRUE(m_world.is_live(memh)) << "decided about when both have ended";
    EXPECT_EQ(UCS_OK, use.finish());
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
}

TEST_F(test_pieces_regions, region_evicted)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    ucs_rcache_pred_set_max_bytes(m_pred, 16 * MB);
    end(begin(buffer(0), LARGE));
    end(begin(buffer(1), LARGE));
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(UCS_OK, use.finish());
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_pieces_regions, memory_of_another_domain)
{
    domain_t *other = new_domain("fake1");
    pieces_use use    = pieces(buffer(0), LARGE);
    pieces_use twin(m_world, other, buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_INPROGRESS, twin.begin());
    ASSERT_EQ(UCS_OK, use.next());
    ASSERT_EQ(UCS_OK, twin.next());
    EXPECT_EQ(2u, m_pred->table.count);
    end(begin(buffer(0), PAGE, 0, other), other);
    EXPECT_EQ(UCS_OK, twin.finish());
    poll();
    destroy_domain(1);
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(0u, stats().bytes_now);
}

TEST_F(test_pieces_regions, region_unmapped)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    unmap(buffer(0), LARGE);
    poll();
    EXPECT_EQ(0u, m_pred->table.count);
    EXPECT_EQ(UCS_OK, use.finish()) << "its user knows what it does";
    poll();
    EXPECT_EQ(0u, m_pred->table.count) << "nothing was learned";
    EXPECT_EQ(0u, test_pred_num_sites(m_pred));
}

TEST_F(test_pieces_regions, region_unmapped_while_it_begins)
{
    end(begin(buffer(0), PAGE));
    /* The registration that is too short makes way, and the memory is unmapped
     * in the middle of that */
    m_world.on_dereg = [this](const auto &) {
        m_world.on_dereg = nullptr;
        unmap(buffer(0), LARGE);
        ucs_rcache_pred_poll(m_pred);
    };
    pieces_use use = pieces(buffer(0), LARGE);
    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    run(MSEC);
    EXPECT_EQ(0u, m_pred->table.count);
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces_regions, region_forgotten_and_another_in_its_place)
{
    pieces_use old = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, old.begin());
    unmap(buffer(0), LARGE);
    poll();

    /* The structure of the region that was forgotten last is used again first.
     * The end of the old use must not be taken for the end of the new one. */
    periodic(buffer(1), 2);
    run(10 * MSEC);
    expect_hit(pieces(buffer(1), LARGE));
    run(50 * MSEC);
    uint64_t helper = stats().regs_helper;
    pieces_use use    = pieces(buffer(1), LARGE);
    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_EQ(UCS_OK, old.finish());
    run(500 * MSEC);
    EXPECT_EQ(helper, stats().regs_helper);
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(1u, m_pred->table.count);
}

TEST_F(test_pieces_regions, region_is_not_garbage)
{
    m_params.known_regions = 16;
    recreate();
    pieces_use pieces_one = pieces(buffer(0), LARGE);
    ASSERT_EQ(UCS_INPROGRESS, pieces_one.begin());
    auto collect = [this] {
        for (unsigned i = 0; i < 200; ++i) {
            use(buffer(1, i * PAGE), PAGE);
            run(MSEC);
        }
    };

    collect();
    EXPECT_NE(INT_MIN, test_pred_trust(m_pred, (uintptr_t)buffer(0)));
    EXPECT_EQ(UCS_OK, pieces_one.finish());
    collect();
    EXPECT_EQ(INT_MIN, test_pred_trust(m_pred, (uintptr_t)buffer(0)));
}
