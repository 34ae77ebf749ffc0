/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound_test.h"


/* Room within a bound, and changes of the bound */
class test_bound : public bound_test {
};

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

    /* A refused use is no obstacle to a later one for which there is room */
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
    EXPECT_EQ(1u, m_pred->table.count);
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

TEST_F(test_bound, large_pages_are_counted_whole)
{
    m_params.page_size = 64 * KB;
    m_world.set_page_size(64 * KB);
    bound(BOUND);
    void *memh = begin(buffer(0, 64 * KB - 1), 2);

    EXPECT_EQ(128 * KB, stats().bytes_now);
    for (unsigned i = 1; i <= 10; ++i) {
        end(begin(buffer(i), PAGE)); /* 10 pages are left to whole uses */
    }
    EXPECT_EQ(0u, stats().evictions);
    end(begin(buffer(11), PAGE));
    EXPECT_EQ(1u, stats().evictions);
    end(memh);
}

TEST_F(test_bound, page_size_is_that_of_the_machine)
{
    m_params.page_size = 0;
    m_world.set_page_size(sysconf(_SC_PAGESIZE));
    recreate();
    end(begin(buffer(0), 1));
    EXPECT_EQ((uint64_t)sysconf(_SC_PAGESIZE), stats().bytes_now);
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
