/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pieces_use.h>

#include <random>


/* Uses in pieces. Registrations cost 50 ns a page and 15 us with their
 * deregistration: pieces pay from 4 * 15000 / 50 = 1200 pages on. */
class test_pieces : public pred_test {
protected:
    static constexpr size_t LARGE     = 8 * MB;
    static constexpr size_t SMALL     = 4 * MB;
    static constexpr size_t PIECE_MIN = 64 * KB;

    test_pieces() { m_params.pieces = 1; }
    void SetUp() override { create(); }

    void bound(uint64_t max_bytes)
    {
        m_params.max_bytes = max_bytes;
        m_world.set_bound(max_bytes);
        recreate();
    }

    pieces_use pieces(void *address, size_t length, unsigned flags = 0)
    {
        return pieces_use(m_world, domain(), address, length, flags);
    }

    /* A use in pieces that takes a while */
    void use_lazily(void *address, size_t length, uint64_t duration = MSEC)
    {
        pieces_use use = pieces(address, length);

        ASSERT_EQ(UCS_INPROGRESS, use.begin());
        run(duration);
        EXPECT_EQ(UCS_OK, use.finish());
    }

    /* Uses in pieces every so often; the next one is due at once */
    void periodic(void *address, unsigned times, uint64_t period = 100 * MSEC)
    {
        for (unsigned i = 0; i < times; ++i) {
            uint64_t start = now();
            use_lazily(address, LARGE);
            run_until(start + period);
        }
    }

    static void expect_hit(pieces_use &&use)
    {
        EXPECT_EQ(UCS_OK, use.begin());
        use.end();
    }
};

/* When a use is pieces */

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
    for (unsigned i = 0; i < 300; ++i) { /* till the first guess is forgotten */
        use(buffer(0), (1 + i % 300) * PAGE);
    }
    expect_hit(pieces(buffer(1), LARGE));
}

TEST_F(test_pieces, no_use_of_a_single_piece)
{
    /* Registrations that cost next to nothing but for their pages */
    m_world.set_reg_cost(1000, 1);
    m_world.set_dereg_cost(1000, 1);
    for (unsigned i = 0; i < 300; ++i) {
        use(buffer(0), (1 + i % 300) * PAGE);
    }

    expect_hit(pieces(buffer(1), 2 * PIECE_MIN - PAGE));
    use_lazily(buffer(2), 2 * PIECE_MIN);
    EXPECT_EQ(2u, stats().pieces);
}

TEST_F(test_pieces, switched_off)
{
    m_params.pieces = 0;
    recreate();
    expect_hit(pieces(buffer(0), LARGE));
    EXPECT_EQ(0u, stats().in_pieces);
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
    use_lazily(buffer(0), LARGE);
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
    EXPECT_EQ(0u, stats().refused);
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

TEST_F(test_pieces, other_failures_are_reported)
{
    pieces_use use = pieces(buffer(0), PAGE);

    m_world.fail_nth_reg(1, 2, UCS_ERR_IO_ERROR);
    EXPECT_EQ(UCS_ERR_IO_ERROR, use.begin());
    EXPECT_EQ(1u, stats().reg_failures);

    m_world.fail_nth_reg(1, 1, UCS_ERR_UNSUPPORTED);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, use.begin());
    EXPECT_EQ(1u, stats().reg_failures);
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
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
}

/* Pieces */

TEST_F(test_pieces, pieces_cover_any_use)
{
    std::mt19937 random(1);

    m_params.pieces = 0; /* Only for lack of room */
    for (uint64_t max_bytes : {256 * KB, 600 * KB, 5 * MB, 100 * MB}) {
        bound(max_bytes);
        for (unsigned i = 0; i < 100; ++i) {
            uintptr_t start = (uintptr_t)buffer(i, random() % (3 * PAGE));
            size_t length   = max_bytes + random() % (20 * MB);
            pieces_use use    = pieces((void*)start, length);
            size_t covered  = 0;

            ASSERT_EQ(UCS_INPROGRESS, use.begin());
            while (use.left() > 0) {
                ASSERT_EQ(UCS_OK, use.next());
                EXPECT_EQ(start + covered, use.pieces().back().start);
                covered += use.pieces().back().length;
                if (use.pieces().size() == pieces_use::IN_FLIGHT) {
                    use.land();
                }
            }
            EXPECT_EQ(length, covered);
            EXPECT_GE(use.piece_size(), PIECE_MIN);
            use.end();
            poll();
        }
        check_accounting();
        EXPECT_EQ(100u, stats().refused) << "no piece had to wait";
    }
}

TEST_F(test_pieces, flags_of_a_piece)
{
    pieces_use use = pieces(buffer(0), LARGE, ACCESS_WRITE | HINT);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(ACCESS_WRITE | HINT | HELPER_FLAG,
              m_world.get(use.pieces().front().memh).flags);
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces, piece_without_room_waits_for_another)
{
    bound(256 * KB);
    pieces_use first = pieces(buffer(0), MB), second = pieces(buffer(1), MB);

    ASSERT_EQ(UCS_INPROGRESS, first.begin());
    ASSERT_EQ(UCS_INPROGRESS, second.begin());
    uint64_t refused = stats().refused;
    for (pieces_use *use : {&first, &second}) {
        ASSERT_EQ(UCS_OK, use->next());
        ASSERT_EQ(UCS_OK, use->next());
    }
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, second.next());
    EXPECT_EQ(refused + 1, stats().refused);

    first.land();
    EXPECT_EQ(UCS_OK, second.next());
    EXPECT_EQ(UCS_OK, first.finish());
    EXPECT_EQ(UCS_OK, second.finish());
}

TEST_F(test_pieces, pieces_are_halved_where_the_system_refuses)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(783 * PAGE, use.piece_size());
    m_world.limit_bytes(200 * PAGE);
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(195 * PAGE, use.piece_size());

    m_world.limit_bytes((195 + 16) * PAGE);
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(PIECE_MIN, use.piece_size());
    EXPECT_EQ(PIECE_MIN, use.pieces().back().length);
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(0u, stats().refused);
    check_accounting();
}

TEST_F(test_pieces, pieces_are_halved_no_further)
{
    size_t smallest = SIZE_MAX;
    pieces_use use    = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    m_world.limit_bytes(0);
    m_world.on_reg = [&](const auto &r) {
        smallest = std::min(smallest, r.length);
    };
    EXPECT_EQ(UCS_ERR_NO_MEMORY, use.next());
    m_world.on_reg = nullptr;
    EXPECT_EQ(PIECE_MIN, smallest);
    EXPECT_EQ(1u, stats().refused);

    m_world.limit_bytes(LARGE);
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces, piece_the_system_refuses_waits_for_another)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    m_world.limit_bytes(PIECE_MIN);
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, use.next());
    use.land();
    EXPECT_EQ(UCS_OK, use.next());
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces, piece_being_deregistered_is_waited_for)
{
    pieces_use first  = pieces(buffer(0), LARGE);
    pieces_use second = pieces(buffer(1), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, first.begin());
    ASSERT_EQ(UCS_INPROGRESS, second.begin());
    m_world.limit_bytes(PIECE_MIN);
    ASSERT_EQ(UCS_OK, first.next());

    /* Its memory is still pinned */
    m_world.on_dereg = [&](const auto &) {
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, second.next());
    };
    first.land();
    m_world.on_dereg = nullptr;
    EXPECT_EQ(UCS_OK, second.next());
    EXPECT_EQ(UCS_OK, second.finish());

    /* Or gone since the system refused */
    ASSERT_EQ(UCS_OK, first.next());
    m_world.limit_bytes(PIECE_MIN - 1);
    m_world.on_reg = [&](const auto &r) {
        if (!first.pieces().empty() && (r.length == PIECE_MIN)) {
            first.land();
        }
    };
    pieces_use third = pieces(buffer(2), LARGE);
    ASSERT_EQ(UCS_INPROGRESS, third.begin());
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, third.next());
    m_world.on_reg = nullptr;
    m_world.limit_bytes(SIZE_MAX);
    EXPECT_EQ(UCS_OK, first.finish());
    EXPECT_EQ(UCS_OK, third.finish());
}

TEST_F(test_pieces, piece_fits_a_bound_that_was_lowered)
{
    bound(64 * MB);
    pieces_use use = pieces(buffer(0), 40 * MB);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(2 * MB, use.piece_size());
    m_world.set_bound(UCS_RCACHE_PRED_MIN_BYTES);
    ucs_rcache_pred_set_max_bytes(m_pred, UCS_RCACHE_PRED_MIN_BYTES);
    ASSERT_EQ(UCS_OK, use.next());
    EXPECT_EQ(PIECE_MIN, use.piece_size());
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(640u, use.num_pieces());
}

TEST_F(test_pieces, any_piece_may_fail)
{
    unsigned nth = 0, total;

    do {
        bound(MB);
        pieces_use use = pieces(buffer(0, 100), 2 * MB);
        ASSERT_EQ(UCS_INPROGRESS, use.begin());
        m_world.fail_nth_reg(nth, 1, UCS_ERR_IO_ERROR);
        EXPECT_EQ((nth == 0) ? UCS_OK : UCS_ERR_IO_ERROR, use.finish());
        m_world.fail_nth_reg(0);
        if (nth == 0) {
            total = use.num_pieces();
        } else {
            EXPECT_EQ(nth - 1, use.num_pieces());
        }
        EXPECT_EQ(use.num_pieces(), stats().pieces);
        EXPECT_EQ(0u, m_world.num_live());
        EXPECT_EQ(0u, stats().bytes_now);
        EXPECT_EQ(0u, stats().regions_now);
        check_accounting();
    } while (++nth <= total);
    EXPECT_EQ(33u, total);
}

/* What is learned */

TEST_F(test_pieces, next_use_is_predicted)
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

TEST_F(test_pieces, access_is_remembered)
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

TEST_F(test_pieces, use_that_does_not_fit_is_not_predicted_in_vain)
{
    bound(MB);
    for (unsigned i = 0; i < 4; ++i) {
        uint64_t start = now();
        use_lazily(buffer(0), 2 * MB);
        run_until(start + 100 * MSEC);
        EXPECT_EQ(0u, m_world.num_live());
    }
    EXPECT_EQ(0u, stats().regs_helper);
    EXPECT_EQ(4u, stats().in_pieces);
    EXPECT_EQ(4u, stats().refused);
}

TEST_F(test_pieces, region_is_not_registered_for_the_use_under_way)
{
    periodic(buffer(0), 2, 100 * MSEC);
    run(10 * MSEC);
    expect_hit(pieces(buffer(0), LARGE));
    run(50 * MSEC); /* The next one is due in 50 ms and comes now */
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

TEST_F(test_pieces, use_before_its_registration_is_late)
{
    periodic(buffer(0), 2, 100 * MSEC);
    run(10 * MSEC);
    expect_hit(pieces(buffer(0), LARGE));
    run(50 * MSEC);
    use_lazily(buffer(0), LARGE);
    EXPECT_EQ(1u, stats().late);
}

TEST_F(test_pieces, several_uses_of_one_region)
{
    pieces_use first = pieces(buffer(0), LARGE), second = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, first.begin());
    run(10 * MSEC);
    ASSERT_EQ(UCS_INPROGRESS, second.begin());
    EXPECT_EQ(UCS_OK, first.finish());
    run(10 * MSEC); /* Two begins are a period, but a use is under way */
    EXPECT_EQ(0u, stats().regs_helper);
    EXPECT_EQ(UCS_OK, second.finish());
    EXPECT_EQ(1u, test_pred_num_regions(m_pred));
}

/* What others do meanwhile */

TEST_F(test_pieces, last_piece_is_no_shorter_than_asked_for)
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

TEST_F(test_pieces, region_used_as_a_whole)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    void *memh = begin(buffer(0), LARGE);
    EXPECT_EQ(1u, test_pred_num_regions(m_pred));
    run(MSEC);
    end(memh);
    poll();
    EXPECT_TRUE(m_world.is_live(memh)) << "decided about when both have ended";
    EXPECT_EQ(UCS_OK, use.finish());
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
}

TEST_F(test_pieces, region_evicted)
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

TEST_F(test_pieces, memory_of_another_domain)
{
    domain_t *other = new_domain("fake1");
    pieces_use use    = pieces(buffer(0), LARGE);
    pieces_use twin(m_world, other, buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_INPROGRESS, twin.begin());
    ASSERT_EQ(UCS_OK, use.next());
    ASSERT_EQ(UCS_OK, twin.next());
    EXPECT_EQ(2u, test_pred_num_regions(m_pred));
    end(begin(buffer(0), PAGE, 0, other), other);
    EXPECT_EQ(UCS_OK, twin.finish());
    poll();
    destroy_domain(1);
    EXPECT_EQ(UCS_OK, use.finish());
    EXPECT_EQ(0u, stats().bytes_now);
}

TEST_F(test_pieces, region_unmapped)
{
    pieces_use use = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    ASSERT_EQ(UCS_OK, use.next());
    unmap(buffer(0), LARGE);
    poll();
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
    EXPECT_EQ(UCS_OK, use.finish()) << "its user knows what it does";
    poll();
    EXPECT_EQ(0u, test_pred_num_regions(m_pred)) << "nothing was learned";
    EXPECT_EQ(0u, test_pred_num_sites(m_pred));
}

TEST_F(test_pieces, region_unmapped_while_it_begins)
{
    end(begin(buffer(0), PAGE));
    /* The short registration makes way, and the memory goes in the middle */
    m_world.on_dereg = [this](const auto &) {
        m_world.on_dereg = nullptr;
        unmap(buffer(0), LARGE);
        ucs_rcache_pred_poll(m_pred);
    };
    pieces_use use = pieces(buffer(0), LARGE);
    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    run(MSEC);
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
    EXPECT_EQ(UCS_OK, use.finish());
}

TEST_F(test_pieces, region_forgotten_and_another_in_its_place)
{
    pieces_use old = pieces(buffer(0), LARGE);

    ASSERT_EQ(UCS_INPROGRESS, old.begin());
    unmap(buffer(0), LARGE);
    poll();

    /* The place of the one forgotten last is taken first. The end of the old
     * use must not be taken for the end of the new one. */
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
    EXPECT_EQ(1u, test_pred_num_regions(m_pred));
}

TEST_F(test_pieces, region_is_not_garbage)
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
    EXPECT_NE(-1, test_pred_confidence(m_pred, (uintptr_t)buffer(0)));
    EXPECT_EQ(UCS_OK, pieces_one.finish());
    collect();
    EXPECT_EQ(-1, test_pred_confidence(m_pred, (uintptr_t)buffer(0)));
}

/* On demand */

TEST_F(test_pieces, on_demand_remembers_nothing)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    for (unsigned i = 0; i < 5; ++i) {
        uint64_t start = now();
        use_lazily(buffer(0), LARGE);
        EXPECT_EQ(0u, test_pred_num_regions(m_pred));
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
    use_lazily(buffer(0), MB);
    expect_hit(pieces(buffer(0), MB / 2));
    EXPECT_EQ(1u, stats().in_pieces);
    EXPECT_EQ(1u, stats().refused);
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
}

/* Statistics */

TEST_F(test_pieces, time_is_that_of_its_registrations)
{
    use_lazily(buffer(0), LARGE);
    EXPECT_EQ(2048 * 50u + 3 * 10000, stats().time_critical);
}
