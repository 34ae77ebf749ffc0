/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound_test.h"

#include <random>
#include <thread>
#include <unistd.h>

constexpr ucs_rcache_pred_subsystem_t CACHE = UCS_RCACHE_PRED_SUBSYSTEM_CACHE;
constexpr ucs_rcache_pred_subsystem_t EAGER = UCS_RCACHE_PRED_SUBSYSTEM_EAGER;
constexpr ucs_rcache_pred_subsystem_t ARENA = UCS_RCACHE_PRED_SUBSYSTEM_ARENA;
constexpr ucs_rcache_pred_subsystem_t FIREHOSE =
        UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE;


/* One bound over what all subsystems register. What the others have reserved is
 * registered in the world, which fails the test if the bound is exceeded. */
class test_reserve : public bound_test {
protected:
    /* Join the processes of a node that have this key, and hold the reserve for pieces or
     * nothing */
    static ucs_rcache_pred_node_t *
    join(uint64_t key, bool holds, uint64_t max_regions = UCS_RCACHE_PRED_NODE_UNLIMITED)
    {
        ucs_rcache_pred_node_params_t params = {
            .max_bytes   = BOUND,
            .max_regions = max_regions
        };
        ucs_rcache_pred_node_t *node = NULL;

        if (holds) {
            params.reserve         = ucs_rcache_pred_pieces_reserve(PAGE);
            params.reserve_regions = UCS_RCACHE_PRED_NODE_RESERVE_REGIONS;
        }

        EXPECT_EQ(UCS_OK, pred_node_join_as(&params, key << 32 | getpid(),
                                            ucs_rcache_pred_procid_self(), &node));
        return node;
    }

    static uint64_t totals(ucs_rcache_pred_node_t *node)
    {
        ucs_rcache_pred_node_totals_t totals;

        ucs_rcache_pred_node_get_totals(node, &totals);
        return totals.bytes;
    }

    ucs_status_t try_reserve(ucs_rcache_pred_subsystem_t subsystem,
                             uint64_t bytes, uint64_t regions)
    {
        ucs_status_t status = ucs_rcache_pred_reserve(m_pred, subsystem, bytes,
                                                      regions);

        if (status == UCS_OK) {
            m_world.occupy(bytes, regions);
        }
        return status;
    }

    void reserve(ucs_rcache_pred_subsystem_t subsystem, uint64_t bytes,
                 uint64_t regions)
    {
        EXPECT_EQ(UCS_OK, try_reserve(subsystem, bytes, regions));
    }

    void release(ucs_rcache_pred_subsystem_t subsystem, uint64_t bytes,
                 uint64_t regions)
    {
        m_world.occupy(-(int64_t)bytes, -(int64_t)regions);
        EXPECT_EQ(UCS_OK, ucs_rcache_pred_release(m_pred, subsystem, bytes,
                                                  regions));
    }

    void expect_no_room(ucs_rcache_pred_subsystem_t subsystem, uint64_t bytes,
                        uint64_t regions)
    {
        EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT,
                  try_reserve(subsystem, bytes, regions));
    }

    void expect(ucs_rcache_pred_subsystem_t subsystem, uint64_t bytes_now,
                uint64_t bytes_peak, uint64_t regions_now)
    {
        stats_t s        = stats();
        const auto &part = s.subsystems[subsystem];

        EXPECT_EQ(bytes_now, part.bytes_now);
        EXPECT_EQ(bytes_peak, part.bytes_peak);
        EXPECT_EQ(regions_now, part.regions_now);
    }

    void run_reserver(unsigned seed, ucs_rcache_pred_subsystem_t subsystem);
    void run_user(unsigned seed);

    std::atomic<unsigned> m_granted{0};
    std::atomic<unsigned> m_used{0};
};

TEST_F(test_reserve, is_counted_by_subsystem)
{
    void *memh = begin(buffer(0), 3 * PAGE);

    reserve(EAGER, 8 * PAGE, 2);
    reserve(ARENA, 16 * PAGE, 1);
    reserve(EAGER, 4 * PAGE, 1);
    release(EAGER, 8 * PAGE, 2);
    expect(CACHE, 3 * PAGE, 3 * PAGE, 1);
    expect(EAGER, 4 * PAGE, 12 * PAGE, 1);
    expect(ARENA, 16 * PAGE, 16 * PAGE, 1);
    expect(FIREHOSE, 0, 0, 0);
    EXPECT_EQ(23 * PAGE, stats().bytes_now);
    EXPECT_EQ(31 * PAGE, stats().bytes_peak);
    EXPECT_EQ(3u, stats().regions_now);
    EXPECT_EQ(5u, stats().regions_peak);
    validate();

    end(memh);
    release(EAGER, 4 * PAGE, 1);
    release(ARENA, 16 * PAGE, 1);
}

TEST_F(test_reserve, bytes_are_averaged_over_all)
{
    reserve(FIREHOSE, 100 * PAGE, 1);
    m_world.advance(SEC);
    release(FIREHOSE, 100 * PAGE, 1);
    m_world.advance(SEC);
    EXPECT_EQ(50 * PAGE, stats().bytes_avg);
    EXPECT_EQ(m_world.byte_ns(), stats().byte_ns);
}

TEST_F(test_reserve, bound_is_over_all)
{
    void *memh = begin(buffer(0), ROOM / 2);

    reserve(EAGER, ROOM / 4, 1);
    expect_no_room(ARENA, ROOM / 4 + PAGE, 1);
    reserve(ARENA, ROOM / 4, 1);
    expect_no_room(FIREHOSE, PAGE, 1);
    expect_refused(buffer(1), PAGE);
    EXPECT_EQ(3u, stats().refused);

    end(memh);
    release(EAGER, ROOM / 4, 1);
    release(ARENA, ROOM / 4, 1);
}

TEST_F(test_reserve, regions_are_bounded_as_well)
{
    bound(UINT64_MAX, 4);
    reserve(EAGER, 0, 2);
    reserve(ARENA, PAGE, 1);
    expect_no_room(FIREHOSE, PAGE, 1); /* The last one is for a piece */
    reserve(ARENA, PAGE, 0);           /* The arena grows */
    expect(ARENA, 2 * PAGE, 2 * PAGE, 1);
    release(EAGER, 0, 2);
    expect_no_room(FIREHOSE, 0, 4);
    reserve(FIREHOSE, PAGE, 2);
    release(FIREHOSE, PAGE, 2);
    release(ARENA, 2 * PAGE, 1);
}

TEST_F(test_reserve, leaves_room_for_pieces)
{
    reserve(ARENA, ROOM, 1);
    pieces_use use = pieces(buffer(0), ROOM);
    ASSERT_EQ(UCS_INPROGRESS, use.begin());
    use.next();
    EXPECT_LT(ROOM, stats().bytes_now);
    EXPECT_EQ(UCS_OK, use.finish());
    release(ARENA, ROOM, 1);
}

TEST_F(test_reserve, idle_regions_give_way)
{
    end(begin(buffer(0), ROOM / 2));
    m_world.advance(MSEC);
    end(begin(buffer(1), ROOM / 2));
    reserve(EAGER, ROOM / 4, 1);
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0))); /* Used longest ago */
    EXPECT_EQ(1u, m_world.num_live_at(buffer(1)));
    reserve(EAGER, 3 * ROOM / 4, 1);
    EXPECT_EQ(2u, stats().evictions);
    expect(CACHE, 0, ROOM, 0);
    EXPECT_EQ(0u, stats().refused);
    release(EAGER, ROOM, 2);
}

TEST_F(test_reserve, regions_in_use_do_not)
{
    void *memh = begin(buffer(0), ROOM / 2);

    expect_no_room(EAGER, ROOM, 1);
    EXPECT_EQ(0u, stats().evictions);
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
}

TEST_F(test_reserve, nothing_gives_way_for_what_never_fits)
{
    end(begin(buffer(0), PAGE));
    expect_no_room(EAGER, ROOM + PAGE, 1);
    expect_no_room(EAGER, UINT64_MAX, 1);
    bound(BOUND, 4);
    end(begin(buffer(0), PAGE));
    expect_no_room(EAGER, PAGE, 4);
    expect_no_room(EAGER, PAGE, UINT64_MAX);
    EXPECT_EQ(0u, stats().evictions);
}

/* What another subsystem has does not give way, so that giving up all that is
 * idle would make no room */
TEST_F(test_reserve, nothing_gives_way_beside_what_others_keep)
{
    end(begin(buffer(0), 2 * PAGE));
    reserve(ARENA, ROOM - 8 * PAGE, 1);
    expect_no_room(EAGER, 9 * PAGE, 1);
    EXPECT_EQ(0u, stats().evictions);
    reserve(EAGER, 8 * PAGE, 1);
    EXPECT_EQ(1u, stats().evictions);
    release(EAGER, 8 * PAGE, 1);
    release(ARENA, ROOM - 8 * PAGE, 1);
}

TEST_F(test_reserve, without_bounds_all_fits)
{
    bound(UINT64_MAX);
    reserve(ARENA, 1ul << 40, 1000000);
    release(ARENA, 1ul << 40, 1000000);
}

TEST_F(test_reserve, more_than_was_reserved_is_not_released)
{
    reserve(EAGER, PAGE, 1);
    reserve(ARENA, 8 * PAGE, 8);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucs_rcache_pred_release(m_pred, EAGER, 2 * PAGE, 1));
    EXPECT_NE(std::string::npos, log_watch::take().find("8192 bytes"));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucs_rcache_pred_release(m_pred, EAGER, PAGE, 2));
    EXPECT_NE(std::string::npos, log_watch::take().find("2 regions"));
    expect(EAGER, PAGE, PAGE, 1);
    validate();
    release(EAGER, PAGE, 1);
    release(ARENA, 8 * PAGE, 8);
}

TEST_F(test_reserve, cache_reserves_for_itself)
{
    void *memh = begin(buffer(0), PAGE);

    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucs_rcache_pred_reserve(m_pred, CACHE, PAGE, 1));
    EXPECT_NE("", log_watch::take());
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucs_rcache_pred_release(m_pred, CACHE, PAGE, 1));
    EXPECT_NE("", log_watch::take());
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucs_rcache_pred_reserve(m_pred, UCS_RCACHE_PRED_SUBSYSTEM_LAST,
                                      PAGE, 1));
    EXPECT_NE("", log_watch::take());
    expect(CACHE, PAGE, PAGE, 1);
    end(memh);
}

TEST_F(test_reserve, node_bound_is_over_all)
{
    ucs_rcache_pred_node_t *node = join(0x72657376, true, 8);
    ucs_rcache_pred_node_totals_t totals;

    m_params.node = node;
    bound(UINT64_MAX);

    reserve(EAGER, ROOM / 2, 4);
    expect_no_room(ARENA, ROOM, 1);
    expect_no_room(ARENA, PAGE, 3);
    reserve(ARENA, ROOM / 2, 2);
    expect_refused(buffer(0), PAGE);
    ucs_rcache_pred_node_get_totals(node, &totals);
    EXPECT_EQ(BOUND, totals.bytes);
    EXPECT_EQ(8u, totals.regions);

    release(EAGER, ROOM / 2, 4);
    end(begin(buffer(0), ROOM / 2)); /* Gives way */
    reserve(FIREHOSE, ROOM / 2, 4);
    EXPECT_EQ(1u, stats().evictions);
    release(FIREHOSE, ROOM / 2, 4);
    release(ARENA, ROOM / 2, 2);
    ucs_rcache_pred_node_get_totals(node, &totals);
    EXPECT_EQ(ucs_rcache_pred_pieces_reserve(PAGE), totals.bytes);
    destroy();
    ucs_rcache_pred_node_leave(node);
}

/* Both regions are idle when another process asks for what one of them has */
TEST_F(test_reserve, others_are_given_what_they_lack)
{
    ucs_rcache_pred_node_t *node  = join(0x67697665, true);
    ucs_rcache_pred_node_t *other = join(0x67697665, false);
    const uint64_t want           = (ROOM / 2) + PAGE;

    m_params.node = node;
    bound(UINT64_MAX);

    end(begin(buffer(0), ROOM / 4));
    end(begin(buffer(1), ROOM / 4));
    EXPECT_FALSE(ucs_rcache_pred_node_reserve(other, want, 1));
    ucs_rcache_pred_node_ask(other, want, 1, 0);
    ucs_rcache_pred_poll(m_pred);
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_TRUE(ucs_rcache_pred_node_reserve(other, want, 1));

    /* Another process has offered it already */
    end(begin(buffer(2), PAGE));
    EXPECT_FALSE(ucs_rcache_pred_node_reserve(other, ROOM / 2, 1));
    ucs_rcache_pred_node_ask(other, ROOM / 2, 1, 0);
    EXPECT_TRUE(ucs_rcache_pred_node_offer(other, UCS_RCACHE_PRED_NODE_DEVICES,
                                           ROOM / 2, 1));
    ucs_rcache_pred_poll(m_pred);
    EXPECT_EQ(1u, stats().evictions);

    destroy();
    ucs_rcache_pred_node_leave(other);
    ucs_rcache_pred_node_leave(node);
}

/* Of two processes the one gives up memory that needs it later, also while it computes and
 * its program does the helper's work */
TEST_F(test_reserve, others_give_up_what_they_need_later)
{
    ucs_rcache_pred_node_t *node  = join(0x6c617465, true);
    ucs_rcache_pred_node_t *other = join(0x6c617465, false);

    m_params.node   = node;
    m_params.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    m_params.budget = 0;
    bound(UINT64_MAX);
    for (unsigned i = 0; i < 4; ++i) {
        end(begin(buffer(i), ROOM / 4));
    }
    m_world.advance(10 * MSEC);

    ASSERT_TRUE(ucs_rcache_pred_node_reserve(other, BOUND - totals(node), 0));
    ucs_rcache_pred_node_ask(other, ROOM / 2, 2, 20 * MSEC);
    EXPECT_NE(NEVER, ucs_rcache_pred_poll(m_pred));
    EXPECT_EQ(0u, stats().evictions) << "used 10 ms ago, and so perhaps in 10 ms";
    ucs_rcache_pred_node_ask(other, ROOM / 2, 2, 5 * MSEC);
    ucs_rcache_pred_poll(m_pred);
    EXPECT_EQ(2u, stats().evictions) << "as much as was asked for";
    EXPECT_EQ(2u, stats().evictions_node);

    destroy();
    ucs_rcache_pred_node_leave(other);
    ucs_rcache_pred_node_leave(node);
}

/* What is above the node's bound is refused at once, and nothing gives way */
TEST_F(test_reserve, nothing_gives_way_to_what_never_fits)
{
    m_params.node = join(0x6e657672, true);
    bound(UINT64_MAX);
    end(begin(buffer(0), PAGE));
    expect_refused(buffer(1), ROOM + PAGE);
    EXPECT_EQ(0u, stats().evictions);
    EXPECT_EQ(1u, stats().regions_now);

    destroy();
    ucs_rcache_pred_node_leave(m_params.node);
}

void test_reserve::run_reserver(unsigned seed,
                                ucs_rcache_pred_subsystem_t subsystem)
{
    std::mt19937 random(seed);

    for (unsigned i = 0; i < 4000 / SANITIZER_SLOWDOWN; ++i) {
        uint64_t bytes   = PAGE * (random() % 64);
        uint64_t regions = random() % 4;

        if (try_reserve(subsystem, bytes, regions) == UCS_OK) {
            ++m_granted;
            release(subsystem, bytes, regions);
        }
    }
}

void test_reserve::run_user(unsigned seed)
{
    std::mt19937 random(seed);
    void *memh;

    for (unsigned i = 0; i < 4000 / SANITIZER_SLOWDOWN; ++i) {
        void *address = buffer(random() % 16);

        if (try_begin(address, PAGE * (1 + random() % 64), &memh) == UCS_OK) {
            ++m_used;
            end(memh);
        }
    }
}

/* Eight threads, of all subsystems, with twice as much as fits */
TEST_F(test_reserve, bound_holds_with_threads)
{
    std::vector<std::thread> threads;

    bound(BOUND, 12);
    for (unsigned i = 0; i < 8; ++i) {
        auto subsystem = (ucs_rcache_pred_subsystem_t)
                (i % UCS_RCACHE_PRED_SUBSYSTEM_LAST);

        threads.emplace_back([this, i, subsystem] {
            if (subsystem == CACHE) {
                run_user(i);
            } else {
                run_reserver(i, subsystem);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    EXPECT_LT(0u, m_granted);
    EXPECT_LT(0u, m_used);
    expect(EAGER, 0, stats().subsystems[EAGER].bytes_peak, 0);
    expect(ARENA, 0, stats().subsystems[ARENA].bytes_peak, 0);
    expect(FIREHOSE, 0, stats().subsystems[FIREHOSE].bytes_peak, 0);
    EXPECT_GE(BOUND, stats().bytes_peak);
    EXPECT_GE(12u, stats().regions_peak);
    validate();
}
