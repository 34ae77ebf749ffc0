/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pieces_use.h>

#include <algorithm>
#include <random>
#include <thread>


/* The events that a cache tells a sink */
class test_event : public pred_test {
protected:
    typedef ucs_rcache_pred_event_t event_t;

    static constexpr uint64_t REG_TIME   = 20 * USEC;
    static constexpr uint64_t DEREG_TIME = 10 * USEC;

    test_event() : m_sink{collect, this} { m_params.sink = &m_sink; }

    void SetUp() override
    {
        m_world.set_reg_cost(0, REG_TIME);
        m_world.set_dereg_cost(0, DEREG_TIME);
        m_events.reserve(1 << 16); /* Events that are told in memory hooks */
        create();
    }

    static void collect(void *arg, const event_t *event)
    {
        ((test_event*)arg)->m_events.push_back(*event);
    }

    /* The events of a type that came since this was last called */
    std::vector<event_t> take(ucs_rcache_pred_event_type_t type)
    {
        std::vector<event_t> taken;

        auto is_other = [&](const event_t &e) { return e.type != type; };
        auto others   = std::stable_partition(m_events.begin(), m_events.end(),
                                              is_other);
        taken.assign(others, m_events.end());
        m_events.erase(others, m_events.end());
        return taken;
    }

    event_t take_one(ucs_rcache_pred_event_type_t type)
    {
        std::vector<event_t> taken = take(type);

        EXPECT_EQ(1u, taken.size());
        return taken.empty() ? event_t{} : taken[0];
    }

    uint64_t count(ucs_rcache_pred_event_type_t type, unsigned result = 0) const
    {
        return std::count_if(m_events.begin(), m_events.end(),
                             [&](const event_t &e) {
                                 return (e.type == type) &&
                                        ((e.result & result) == result);
                             });
    }

    uint64_t count_by(ucs_rcache_pred_by_t by) const
    {
        return std::count_if(m_events.begin(), m_events.end(),
                             [&](const event_t &e) {
                                 return (e.type == UCS_RCACHE_PRED_EVENT_REG) &&
                                        (e.by == by) && (e.result == 0);
                             });
    }

    uint64_t held_up() const
    {
        uint64_t sum = 0;

        for (const event_t &e : m_events) {
            if ((e.type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) ||
                (e.type == UCS_RCACHE_PRED_EVENT_USE_END)) {
                sum += e.duration;
            }
        }
        return sum;
    }

    /* The statistics agree with the events */
    void check_counters()
    {
        stats_t s = stats();

        EXPECT_EQ(s.uses, count(UCS_RCACHE_PRED_EVENT_USE_BEGIN) -
                          count(UCS_RCACHE_PRED_EVENT_USE_BEGIN,
                                UCS_RCACHE_PRED_RESULT_FAILED));
        EXPECT_EQ(s.uses, count(UCS_RCACHE_PRED_EVENT_USE_END));
        EXPECT_EQ(s.hits, count(UCS_RCACHE_PRED_EVENT_USE_BEGIN,
                                UCS_RCACHE_PRED_RESULT_HIT));
        EXPECT_EQ(s.early, count(UCS_RCACHE_PRED_EVENT_USE_BEGIN,
                                 UCS_RCACHE_PRED_RESULT_EARLY));
        EXPECT_EQ(s.late, count(UCS_RCACHE_PRED_EVENT_USE_BEGIN,
                                UCS_RCACHE_PRED_RESULT_LATE));
        EXPECT_EQ(s.in_pieces, count(UCS_RCACHE_PRED_EVENT_USE_BEGIN,
                                UCS_RCACHE_PRED_RESULT_PIECES));
        EXPECT_EQ(s.wasted, count(UCS_RCACHE_PRED_EVENT_UNMET,
                                  UCS_RCACHE_PRED_RESULT_AHEAD));
        EXPECT_EQ(s.regs_critical, count_by(UCS_RCACHE_PRED_BY_USE));
        EXPECT_EQ(s.regs_helper, count_by(UCS_RCACHE_PRED_BY_HELPER));
        EXPECT_EQ(s.pieces, count_by(UCS_RCACHE_PRED_BY_PIECE));
        EXPECT_EQ(s.deregs, count(UCS_RCACHE_PRED_EVENT_DEREG));
        EXPECT_EQ(s.time_critical, held_up());
    }

    /* Uses of a few buffers, some of which are regular */
    void play(unsigned num_uses)
    {
        std::mt19937 random(1);
        program prog([this](void *address, size_t length,
                            const context_t &ctx) {
            use(address, length, 1 * MSEC, ctx);
        });

        for (unsigned i = 0; i < num_uses; ++i) {
            prog.communicate(0x4000, buffer(i % 3), 256 * KB);
            run((i % 50 < 40) ? (20 * MSEC) : (random() % (60 * MSEC)));
            if (random() % 16 == 0) {
                unmap(buffer(random() % 3), PAGE);
            }
        }
        purge();
    }

    void purge()
    {
        ucs_rcache_pred_purge(m_pred);
        run(1 * SEC);
        ucs_rcache_pred_purge(m_pred);
    }

    ucs_rcache_pred_sink_t m_sink;
    std::vector<event_t>   m_events;
};

TEST_F(test_event, use_that_registers)
{
    uint64_t start    = now();
    context_t ctx     = context(7, 9);
    void *memh        = begin(buffer(0), 10000, ACCESS_READ, NULL, ctx);
    event_t use_begin = take_one(UCS_RCACHE_PRED_EVENT_USE_BEGIN);
    event_t reg       = take_one(UCS_RCACHE_PRED_EVENT_REG);

    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_MISS, use_begin.result);
    EXPECT_EQ(UCS_RCACHE_PRED_USE_WHOLE, use_begin.kind);
    EXPECT_EQ(0u, use_begin.domain);
    EXPECT_EQ(ACCESS_READ, use_begin.flags);
    EXPECT_EQ(start, use_begin.time);
    EXPECT_EQ(REG_TIME, use_begin.duration);
    EXPECT_NE(0u, use_begin.id);
    EXPECT_EQ((uintptr_t)buffer(0), use_begin.address);
    EXPECT_EQ(10000u, use_begin.length);
    EXPECT_EQ(ctx.caller, use_begin.context.caller);
    EXPECT_EQ(ctx.stack, use_begin.context.stack);
    EXPECT_EQ(ctx.window, use_begin.context.window);

    EXPECT_EQ(0u, reg.result);
    EXPECT_EQ(UCS_RCACHE_PRED_BY_USE, reg.by);
    EXPECT_EQ(start, reg.time);
    EXPECT_EQ(REG_TIME, reg.duration);
    EXPECT_EQ(use_begin.id, reg.id);
    EXPECT_EQ(use_begin.address, reg.address);
    EXPECT_EQ(use_begin.length, reg.length);

    m_world.advance(1 * MSEC);
    end(memh);
    event_t use_end = take_one(UCS_RCACHE_PRED_EVENT_USE_END);

    EXPECT_EQ(now(), use_end.time);
    EXPECT_EQ(0u, use_end.duration);
    EXPECT_EQ(use_begin.id, use_end.id);
}

/* A use waits until another thread has left the domain. That holds it up, but
 * says nothing about what a registration costs. */
TEST_F(test_event, waiting_for_the_domain_is_no_cost)
{
    static const uint64_t WAIT = 300 * USEC;
    unsigned entered = 0, inside = 0, ops_inside = 0;

    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    m_events.clear();
    m_world.on_enter = [&]() {
        m_world.advance(WAIT);
        ++entered;
        ++inside;
    };
    m_world.on_leave = [&]() { --inside; };
    m_world.on_reg   = [&](const fake_world::registration&) {
        ops_inside += inside;
    };
    m_world.on_dereg = m_world.on_reg;

    uint64_t start = now();
    end(begin(buffer(0), 10000));
    event_t reg    = take_one(UCS_RCACHE_PRED_EVENT_REG);
    event_t dereg  = take_one(UCS_RCACHE_PRED_EVENT_DEREG);

    EXPECT_EQ(start + WAIT, reg.time);
    EXPECT_EQ(REG_TIME, reg.duration);
    EXPECT_EQ(DEREG_TIME, dereg.duration);
    EXPECT_EQ(WAIT + REG_TIME,
              take_one(UCS_RCACHE_PRED_EVENT_USE_BEGIN).duration);
    EXPECT_EQ(WAIT + DEREG_TIME,
              take_one(UCS_RCACHE_PRED_EVENT_USE_END).duration);
    EXPECT_EQ(2u, entered);
    EXPECT_EQ(2u, ops_inside);
    EXPECT_EQ(0u, inside);
}

TEST_F(test_event, on_demand_holds_up_the_end)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    m_events.clear();

    void *memh = begin(buffer(0), 10000);
    m_world.advance(1 * MSEC);
    uint64_t time = now();
    end(memh);

    event_t use_begin = take_one(UCS_RCACHE_PRED_EVENT_USE_BEGIN);
    event_t use_end   = take_one(UCS_RCACHE_PRED_EVENT_USE_END);
    event_t dereg     = take_one(UCS_RCACHE_PRED_EVENT_DEREG);

    EXPECT_EQ(time, use_end.time);
    EXPECT_EQ(DEREG_TIME, use_end.duration);
    EXPECT_EQ(use_begin.id, use_end.id);
    EXPECT_EQ(UCS_RCACHE_PRED_BY_USE, dereg.by);
    EXPECT_EQ(time, dereg.time);
    EXPECT_EQ(DEREG_TIME, dereg.duration);
    EXPECT_EQ(use_begin.id, dereg.id);
}

TEST_F(test_event, failed_use)
{
    void *memh;

    m_world.fail_nth_reg(1, 2);
    EXPECT_EQ(UCS_ERR_IO_ERROR, try_begin(buffer(0), PAGE, &memh));

    event_t use_begin = take_one(UCS_RCACHE_PRED_EVENT_USE_BEGIN);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_FAILED, use_begin.result);
    EXPECT_EQ(2 * REG_TIME, use_begin.duration);

    for (const event_t &reg : take(UCS_RCACHE_PRED_EVENT_REG)) {
        EXPECT_EQ(UCS_RCACHE_PRED_RESULT_FAILED, reg.result);
        EXPECT_EQ(REG_TIME, reg.duration);
    }
    EXPECT_EQ(0u, count(UCS_RCACHE_PRED_EVENT_USE_END));
}

/* The region is forgotten by then, but the event has its number */
TEST_F(test_event, failed_use_has_the_number_of_its_registration)
{
    void *memh;

    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    m_world.fail_nth_reg(1, 2);
    EXPECT_EQ(UCS_ERR_IO_ERROR, try_begin(buffer(0), PAGE, &memh));

    event_t use_begin = take_one(UCS_RCACHE_PRED_EVENT_USE_BEGIN);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_FAILED, use_begin.result);
    EXPECT_NE(0u, use_begin.id);

    std::vector<event_t> regs = take(UCS_RCACHE_PRED_EVENT_REG);
    ASSERT_FALSE(regs.empty());
    for (const event_t &reg : regs) {
        EXPECT_EQ(use_begin.id, reg.id);
    }
}

/* Memory of a device, for example, is registered elsewhere */
TEST_F(test_event, nothing_of_memory_that_is_not_managed)
{
    for (auto policy : {UCS_RCACHE_PRED_POLICY_PREDICT,
                        UCS_RCACHE_PRED_POLICY_ON_DEMAND}) {
        void *memh;

        set_policy(policy);
        m_events.clear();
        m_world.fail_nth_reg(1, 1, UCS_ERR_UNSUPPORTED);
        EXPECT_EQ(UCS_ERR_UNSUPPORTED, try_begin(buffer(0), PAGE, &memh));
        EXPECT_TRUE(m_events.empty());
    }
}

TEST_F(test_event, uses_of_one_region_have_its_number)
{
    void *a = begin(buffer(0), 10000);
    void *b = begin(buffer(0), 5000);
    void *c = begin(buffer(1), 10000);
    std::vector<event_t> begins = take(UCS_RCACHE_PRED_EVENT_USE_BEGIN);

    ASSERT_EQ(3u, begins.size());
    EXPECT_EQ(begins[0].id, begins[1].id);
    EXPECT_NE(begins[0].id, begins[2].id);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_HIT, begins[1].result);
    EXPECT_EQ(5000u, begins[1].length) << "of the use, not of the region";

    end(a);
    EXPECT_EQ(begins[0].id, take_one(UCS_RCACHE_PRED_EVENT_USE_END).id);
    end(c);
    EXPECT_EQ(begins[2].id, take_one(UCS_RCACHE_PRED_EVENT_USE_END).id);
    end(b);
    EXPECT_EQ(begins[0].id, take_one(UCS_RCACHE_PRED_EVENT_USE_END).id);
}

TEST_F(test_event, domains_are_numbered)
{
    domain_t *other = new_domain("other");

    EXPECT_EQ(0u, ucs_rcache_pred_domain_get_number(domain()));
    EXPECT_EQ(1u, ucs_rcache_pred_domain_get_number(other));
    end(begin(buffer(0), PAGE, 0, other), other);
    EXPECT_EQ(1u, take_one(UCS_RCACHE_PRED_EVENT_USE_BEGIN).domain);
    EXPECT_EQ(1u, take_one(UCS_RCACHE_PRED_EVENT_REG).domain);
    EXPECT_EQ(1u, take_one(UCS_RCACHE_PRED_EVENT_USE_END).domain);
}

TEST_F(test_event, prediction)
{
    for (unsigned i = 0; i < 6; ++i) {
        use(buffer(0), 256 * KB, 1 * MSEC);
        run(99 * MSEC);
    }
    m_events.clear();
    uint64_t start = now();
    use(buffer(0), 256 * KB, 1 * MSEC);
    run(10 * MSEC);

    event_t decision = take_one(UCS_RCACHE_PRED_EVENT_DEADLINE);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_AHEAD, decision.result);
    EXPECT_EQ((uintptr_t)buffer(0), decision.address);
    EXPECT_LE(start, decision.time);
    EXPECT_NEAR(start + 100 * MSEC, decision.deadline, 2 * MSEC);
    EXPECT_NEAR(100 * MSEC, decision.period, 2 * MSEC);
    EXPECT_EQ(UCS_RCACHE_PRED_BY_HELPER,
              take_one(UCS_RCACHE_PRED_EVENT_DEREG).by);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_HIT,
              take_one(UCS_RCACHE_PRED_EVENT_USE_BEGIN).result);

    /* The use that is expected does not come */
    run(1 * SEC);
    EXPECT_EQ(UCS_RCACHE_PRED_BY_HELPER,
              take(UCS_RCACHE_PRED_EVENT_REG).at(0).by);
    EXPECT_LE(1u, count(UCS_RCACHE_PRED_EVENT_UNMET,
                        UCS_RCACHE_PRED_RESULT_AHEAD));
    check_accounting();
}

TEST_F(test_event, unmap)
{
    end(begin(buffer(0), 10000));
    unmap(buffer(5), PAGE);
    EXPECT_EQ(0u, count(UCS_RCACHE_PRED_EVENT_UNMAP)) << "nobody used that";

    unmap(buffer(0), 2 * PAGE);
    event_t event = take_one(UCS_RCACHE_PRED_EVENT_UNMAP);
    EXPECT_EQ(now(), event.time);
    EXPECT_EQ((uintptr_t)buffer(0), event.address);
    EXPECT_EQ(2 * PAGE, event.length);
}

/* No region is left that knows the memory, but a replay under other policies has
 * to know that it has gone */
TEST_F(test_event, unmap_on_demand)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    m_events.clear();
    unmap(buffer(0), 2 * PAGE);
    EXPECT_EQ(0u, count(UCS_RCACHE_PRED_EVENT_UNMAP)) << "nothing was used";

    end(begin(buffer(0), 2 * PAGE));
    unmap(buffer(0), PAGE);
    EXPECT_EQ(PAGE, take_one(UCS_RCACHE_PRED_EVENT_UNMAP).length);
}

TEST_F(test_event, use_in_pieces)
{
    m_params.pieces    = 1;
    m_params.max_bytes = 1 * MB;
    recreate();
    m_events.clear();

    void *whole = begin(buffer(1), PAGE);
    take(UCS_RCACHE_PRED_EVENT_USE_BEGIN);
    take(UCS_RCACHE_PRED_EVENT_REG);

    pieces_use pieces(m_world, domain(), buffer(0), 16 * MB);
    ASSERT_EQ(UCS_INPROGRESS, pieces.begin());
    event_t use_begin = take_one(UCS_RCACHE_PRED_EVENT_USE_BEGIN);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_PIECES, use_begin.result);
    EXPECT_NE(UCS_RCACHE_PRED_USE_WHOLE, use_begin.kind);

    ASSERT_EQ(UCS_OK, pieces.next());
    event_t reg = take_one(UCS_RCACHE_PRED_EVENT_REG);
    EXPECT_EQ(UCS_RCACHE_PRED_BY_PIECE, reg.by);
    EXPECT_EQ(0u, reg.id);
    EXPECT_EQ((uintptr_t)buffer(0), reg.address);
    pieces.land();
    EXPECT_EQ(UCS_RCACHE_PRED_BY_PIECE,
              take_one(UCS_RCACHE_PRED_EVENT_DEREG).by);

    pieces.end();
    EXPECT_EQ(use_begin.id, take_one(UCS_RCACHE_PRED_EVENT_USE_END).id);
    end(whole);
    EXPECT_NE(use_begin.id, take_one(UCS_RCACHE_PRED_EVENT_USE_END).id);
}

TEST_F(test_event, say_what_the_counters_say)
{
    play(2000);
    EXPECT_LT(0u, stats().hits);
    EXPECT_LT(0u, stats().wasted);
    check_counters();
}

TEST_F(test_event, say_what_the_counters_say_on_demand)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    m_events.clear();
    play(500);
    check_counters();
}

/* A use that waits for another one's registration calls yield */
TEST_F(test_event, waiting_yields)
{
    static std::atomic<unsigned> yields;
    ucs_rcache_pred_ops_t ops = fake_world::ops;
    std::thread other;

    yields       = 0;
    ops.yield    = [](void*) { ++yields; };
    m_params.ops = &ops;
    m_params.sink = NULL; /* The events come from several threads */
    recreate();
    m_world.on_reg = [&](const fake_world::registration&) {
        m_world.on_reg = nullptr;
        other = std::thread([this] { end(begin(buffer(0), PAGE)); });
        while (yields == 0) {
            std::this_thread::yield();
        }
    };

    void *memh = begin(buffer(0), PAGE);
    other.join();
    end(memh);
    EXPECT_EQ(2u, stats().uses);
    EXPECT_EQ(1u, stats().regs_critical);
    destroy();
}
