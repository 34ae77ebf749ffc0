/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pieces_test.h"


/* Which uses are in pieces */
class test_pieces : public pieces_test {
};

/* When a use is in pieces */

TEST_F(test_pieces, pieces_where_they_pay)
{
    pieces_use use = pieces(buffer(0), LARGE);

    EXPECT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_EQ(0u, m_world.serial()) << "nothing was registered to begin with";
    EXPECT_EQ(UCS_OK, use.finish());

    /* sqrt(2048 * 15000 / 50) = 783 pages */
    EXPECT_EQ(3u, use.num_pieces());
    EXPECT_EQ(783 * PAGE, use.piece_size());
}

TEST_F(test_pieces, whole_where_pieces_do_not_pay)
{
    pieces_use use = pieces(buffer(0), SMALL);

    EXPECT_EQ(UCS_OK, use.begin());
    EXPECT_EQ(1u, m_world.num_regs());
    EXPECT_EQ(0u, stats().in_pieces);
    use.end();
}

TEST_F(test_pieces, whole_where_registration_costs_by_the_operation)
{
    m_world.set_reg_cost(0, 10000);
    /* Measure until the guess of the costs at the beginning is forgotten */
    for (unsigned i = 0; i < 300; ++i) {
        use(buffer(0), (1 + i % 300) * PAGE);
    }
    expect_hit(pieces(buffer(1), LARGE));
}

TEST_F(test_pieces, no_use_of_a_single_piece)
{
    /* A registration costs next to nothing besides its pages */
    m_world.set_reg_cost(1000, 1);
    m_world.set_dereg_cost(1000, 1);
    for (unsigned i = 0; i < 300; ++i) {
        use(buffer(0), (1 + i % 300) * PAGE);
    }

    expect_hit(pieces(buffer(1), 2 * PIECE_MIN - PAGE));
    use_in_pieces(buffer(2), 2 * PIECE_MIN);
    EXPECT_EQ(2u, stats().pieces);
}

TEST_F(test_pieces, switched_off)
{
    m_params.pieces = 0;
    recreate();
    expect_hit(pieces(buffer(0), LARGE));
    EXPECT_EQ(0u, stats().in_pieces);
}

TEST_F(test_pieces, none_without_budget)
{
    m_params.budget = 0;
    recreate();
    expect_hit(pieces(buffer(0), LARGE));
    EXPECT_EQ(0u, stats().in_pieces);
}

/* Without anything registered ahead, each use would be in pieces otherwise */
TEST_F(test_pieces, only_first_uses_with_a_budget)
{
    m_params.budget = 0.01;
    recreate();
    use_in_pieces(buffer(0), LARGE);

    pieces_use second = pieces(buffer(0), LARGE);
    EXPECT_EQ(UCS_OK, second.begin()) << "registered as a whole";
    second.end();
    EXPECT_EQ(1u, stats().in_pieces);

    m_params.budget = INFINITY;
    recreate();
    use_in_pieces(buffer(0), LARGE);
    use_in_pieces(buffer(0), LARGE);
}

TEST_F(test_pieces, for_lack_of_room_even_if_switched_off)
{
    m_params.pieces = 0;
    bound(MB);

    pieces_use use = pieces(buffer(0), MB);
    EXPECT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_EQ(1u, stats().refused);
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(16u, use.num_pieces());
}

TEST_F(test_pieces, region_found_registered_is_a_hit)
{
    end(begin(buffer(0), LARGE));
    expect_hit(pieces(buffer(0), LARGE));
    EXPECT_EQ(1u, stats().hits);
    EXPECT_EQ(0u, stats().in_pieces);
}

TEST_F(test_pieces, region_registered_too_short_makes_way)
{
    end(begin(buffer(0), PAGE));
    use_in_pieces(buffer(0), LARGE);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_pieces, system_that_refuses_is_no_failure)
{
    std::vector<unsigned> flags;

    end(begin(buffer(0), MB));
    m_world.limit_bytes(MB / 2);
    m_world.on_reg = [&](const auto &r) { flags.push_back(r.flags); };
    pieces_use use   = pieces(buffer(1), MB, HINT);
    EXPECT_EQ(UCS_INPROGRESS, use.begin());
    m_world.on_reg = nullptr;

    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(0u, stats().reg_failures);
    EXPECT_EQ(1u, stats().refused);
    EXPECT_EQ(2u, flags.size());
    for (unsigned f : flags) {
        EXPECT_EQ(HINT | HELPER_FLAG, f) << "nobody is to hear of it";
    }
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces, eviction_may_make_room_for_all_of_it)
{
    end(begin(buffer(0), MB));
    m_world.limit_bytes(MB);
    expect_hit(pieces(buffer(1), MB));
    EXPECT_EQ(1u, stats().evictions);
}

/* As memory that the program may not write any more, whose data can be copied */
TEST_F(test_pieces, memory_that_is_refused_for_good_is_unfit)
{
    pieces_use use = pieces(buffer(0), PAGE);
    std::vector<unsigned> flags;

    m_world.on_reg = [&](const auto &r) { flags.push_back(r.flags); };
    m_world.fail_nth_reg(1, 2, UCS_ERR_IO_ERROR);
    EXPECT_EQ(UCS_INPROGRESS, use.begin());
    m_world.on_reg = nullptr;
    m_world.fail_nth_reg(0);
    EXPECT_TRUE(use.is_unfit());
    EXPECT_EQ((std::vector<unsigned>{HELPER_FLAG}), flags)
            << "tried once, and nobody is to hear of it";
    EXPECT_EQ(1u, stats().reg_failures);
    EXPECT_EQ(1u, stats().in_pieces);
    use.end();

    EXPECT_EQ(UCS_OK, use.begin());
    use.end();
}

TEST_F(test_pieces, a_piece_shows_that_memory_is_unfit)
{
    pieces_use use = pieces(buffer(0), LARGE);

    EXPECT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_FALSE(use.is_unfit());
    m_world.fail_nth_reg(1, 1, UCS_ERR_IO_ERROR);
    EXPECT_EQ(UCS_ERR_IO_ERROR, use.next());
    EXPECT_TRUE(use.is_unfit());
    EXPECT_EQ(1u, stats().reg_failures);
    use.end();
}

TEST_F(test_pieces, lack_of_room_makes_no_memory_unfit)
{
    pieces_use use = pieces(buffer(0), MB);

    m_world.limit_bytes(MB / 2);
    EXPECT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_FALSE(use.is_unfit());
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces, memory_not_to_be_managed_is_the_callers)
{
    pieces_use use = pieces(buffer(0), PAGE);

    m_world.fail_nth_reg(1, 1, UCS_ERR_UNSUPPORTED);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, use.begin());
    EXPECT_EQ(0u, stats().reg_failures);
    EXPECT_EQ(0u, stats().in_pieces);
    EXPECT_EQ(0u, stats().uses);
}

TEST_F(test_pieces, does_without_memory_for_its_region)
{
    pieces_use use = pieces(buffer(0), LARGE);

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_INPROGRESS, use.begin());
    EXPECT_TRUE(test_alloc_failed());
    test_alloc_fail_nth(0);
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(1u, stats().in_pieces);
    EXPECT_EQ(0u, m_pred->table.count);
}

/* On demand */

TEST_F(test_pieces, on_demand_remembers_nothing)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    for (unsigned i = 0; i < 5; ++i) {
        uint64_t start = now();
        use_in_pieces(buffer(0), LARGE);
        EXPECT_EQ(0u, m_pred->table.count);
        run_until(start + 100 * MSEC);
        EXPECT_EQ(0u, m_world.num_live());
    }

    stats_t s = stats();
    EXPECT_EQ(5u, s.uses);
    EXPECT_EQ(5u, s.in_pieces);
    EXPECT_EQ(15u, s.pieces);
    EXPECT_EQ(15u, s.deregs);
    EXPECT_EQ(0u, s.regs_critical);
}

TEST_F(test_pieces, on_demand_without_room)
{
    m_params.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    m_params.pieces = 0;
    bound(MB);
    use_in_pieces(buffer(0), MB);
    expect_hit(pieces(buffer(0), MB / 2));
    EXPECT_EQ(1u, stats().in_pieces);
    EXPECT_EQ(1u, stats().refused);
    EXPECT_EQ(0u, m_pred->table.count);
}

/* Statistics */

TEST_F(test_pieces, time_is_that_of_its_registrations)
{
    use_in_pieces(buffer(0), LARGE);
    EXPECT_EQ(2048 * 50u + 3 * 10000, stats().time_critical);
}
