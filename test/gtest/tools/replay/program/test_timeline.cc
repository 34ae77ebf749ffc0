/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/no_memory.h>

extern "C" {
#include <common/c_access.h>
}
#include <common/log_watch.h>
#include <common/timelines.h>

#include <gtest/gtest.h>

extern "C" {
#include <tools/replay/program/timeline.h>
#include <ucs/reuse/costs.h>
}

#include <tuple>

class test_timeline : public ::testing::Test {
protected:
    static constexpr uint64_t ORIGIN = 1000000;
    static constexpr uint64_t PAGE   = 4096;

    typedef ucs_rcache_pred_event_t event_t;

    test_timeline() : m_meta{}, m_trace{}, m_timeline(NULL)
    {
    }

    ~test_timeline()
    {
        if (m_timeline != NULL) {
            predreg_timeline_destroy(m_timeline);
        }
    }

    event_t &add(unsigned type, uint64_t time, uint64_t duration, uint64_t id)
    {
        event_t event = {};

        event.type     = type;
        event.time     = ORIGIN + time;
        event.duration = duration;
        event.id       = id;
        m_events.push_back(event);
        return m_events.back();
    }

    event_t &begin(uint64_t time, uint64_t wait, uint64_t id,
                   uint64_t address = 0x10000, uint64_t length = 100)
    {
        event_t &event = add(UCS_RCACHE_PRED_EVENT_USE_BEGIN, time, wait, id);

        event.address = address;
        event.length  = length;
        event.result  = UCS_RCACHE_PRED_RESULT_HIT;
        return event;
    }

    event_t &end(uint64_t time, uint64_t wait, uint64_t id)
    {
        return add(UCS_RCACHE_PRED_EVENT_USE_END, time, wait, id);
    }

    event_t &reg(unsigned pages, uint64_t duration,
                 unsigned type = UCS_RCACHE_PRED_EVENT_REG)
    {
        event_t &event = add(type, last(), duration, 0);

        event.address = 0x10000;
        event.length  = pages * PAGE;
        return event;
    }

    /* Let the trace have what the process has measured: a registration and a deregistration,
     * ps, and those of each page of it */
    void measured_costs(const std::string &times)
    {
        m_costs = times;
        for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
            m_costs += " 1000"; /* Copies, which no test here looks at */
        }
        m_meta           = {(char*)UCS_REUSE_COSTS_META, (char*)m_costs.c_str()};
        m_trace.meta     = &m_meta;
        m_trace.num_meta = 1;
    }

    ucs_status_t try_create(double partners = 0)
    {
        m_trace.path       = (char*)"made.trace";
        m_trace.events     = m_events.data();
        m_trace.num_events = m_events.size();
        return predreg_timeline_create(&m_trace, partners, &m_timeline);
    }

    const predreg_timeline_t *create()
    {
        EXPECT_EQ(UCS_OK, try_create());
        return m_timeline;
    }

    void expect_uses(const std::vector<std::pair<uint64_t, uint64_t>> &uses)
    {
        ASSERT_EQ(uses.size(), m_timeline->num_uses);
        for (size_t i = 0; i < uses.size(); ++i) {
            EXPECT_EQ(uses[i].first, m_timeline->uses[i].begin) << "use " << i;
            EXPECT_EQ(uses[i].second, m_timeline->uses[i].end) << "use " << i;
        }
    }

    void expect_refused(const char *message)
    {
        std::string logged;

        EXPECT_EQ(UCS_ERR_INVALID_PARAM, try_create());
        m_timeline = NULL;
        logged     = log_watch::take();
        EXPECT_NE(std::string::npos, logged.find(message)) << logged;
        EXPECT_NE(std::string::npos, logged.find("made.trace")) << logged;
        m_events.clear();
    }

    uint64_t last() const
    {
        return m_events.empty() ? 0 : (m_events.back().time - ORIGIN);
    }

    std::vector<event_t> m_events;
    std::string             m_costs;
    ucs_rcache_trace_meta_t m_meta;
    ucs_rcache_trace_t      m_trace;
    predreg_timeline_t      *m_timeline;
};

TEST_F(test_timeline, other_pages_are_warned_about_once)
{
    ucs_rcache_trace_meta_t meta = {(char*)"page_size", (char*)"4096"};

    m_trace.meta     = &meta;
    m_trace.num_meta = 1;
    for (const char *size : {"4096", "65536", "65536"}) {
        meta.value = (char*)size;
        predreg_timeline_destroy(const_cast<predreg_timeline_t*>(create()));
        m_timeline = NULL;
    }
    EXPECT_NE(std::string::npos, log_watch::take().find("of 65536 bytes"));
    EXPECT_EQ("", log_watch::take());
}

TEST_F(test_timeline, empty)
{
    create();
    EXPECT_EQ(0u, m_timeline->num_uses);
    EXPECT_EQ(0u, m_timeline->num_unmaps);
    EXPECT_EQ(1u, m_timeline->num_domains);
    EXPECT_EQ(0u, m_timeline->duration);
    EXPECT_FALSE(m_timeline->reg_known);
    EXPECT_FALSE(m_timeline->dereg_known);
    EXPECT_EQ(UCS_RCACHE_PRED_REG_COST_PER_OP, m_timeline->reg.op);
    EXPECT_EQ(UCS_RCACHE_PRED_DEREG_COST_PER_PAGE, m_timeline->dereg.page);
}

/* A registration of memory that was not registered before takes longer. That is no part of
 * what others cost, and the use that makes it is known */
TEST_F(test_timeline, first_registrations)
{
    for (unsigned i = 0; i < 3; ++i) {
        begin(i * 1000000, (i == 0) ? 90000 : 30000, 1, 0x10000, 2 * PAGE).result =
                UCS_RCACHE_PRED_RESULT_MISS;
        reg(2, (i == 0) ? 90000 : 30000);
        reg(2, 5000, UCS_RCACHE_PRED_EVENT_DEREG);
        end(i * 1000000 + 500000, 0, 1);
    }
    create();
    EXPECT_EQ(30000u, predreg_cost_of(&m_timeline->reg, 0x10000, 2 * PAGE));
    EXPECT_EQ(60000u, m_timeline->uses[0].fresh);
    EXPECT_EQ(0u, m_timeline->uses[1].fresh);

    /* Memory that is unmapped comes back as new memory */
    predreg_timeline_destroy(m_timeline);
    event_t &unmap = add(UCS_RCACHE_PRED_EVENT_UNMAP, 2600000, 0, 0);
    unmap.address  = 0x10000;
    unmap.length   = 2 * PAGE;
    begin(3000000, 70000, 2, 0x10000, 2 * PAGE).result = UCS_RCACHE_PRED_RESULT_MISS;
    reg(2, 70000);
    create();
    EXPECT_EQ(30000u, predreg_cost_of(&m_timeline->reg, 0x10000, 2 * PAGE));
    EXPECT_EQ(40000u, m_timeline->uses[3].fresh);
}

/* Where no memory is registered twice, these are the registrations, and none takes longer */
TEST_F(test_timeline, first_registrations_alone)
{
    for (unsigned i = 0; i < 2; ++i) {
        begin(i * 1000000, 50000, i, 0x10000 + (i * 0x10000), PAGE).result =
                UCS_RCACHE_PRED_RESULT_MISS;
        reg(1, 40000 + (i * 20000)).address += i * 0x10000;
        end(i * 1000000 + 500000, 0, i);
    }
    create();
    EXPECT_EQ(50000u, predreg_cost_of(&m_timeline->reg, 0x10000, PAGE));
    EXPECT_EQ(0u, m_timeline->uses[0].fresh);
    EXPECT_EQ(0u, m_timeline->uses[1].fresh);
}

/* Where all registrations have one size, a page costs what the recorded process has measured,
 * in the proportion of registrations and deregistrations */
TEST_F(test_timeline, one_size_and_the_costs_of_the_machine)
{
    measured_costs("33000000 400000 0"); /* 33 us, 400 ns a page */
    reg(100, 60000);
    reg(100, 20000, UCS_RCACHE_PRED_EVENT_DEREG);
    reg(100, 60000);
    create();
    EXPECT_FALSE(m_timeline->reg_page_known);
    EXPECT_DOUBLE_EQ(300, m_timeline->reg.page);
    EXPECT_DOUBLE_EQ(30000, m_timeline->reg.op);
    EXPECT_DOUBLE_EQ(100, m_timeline->dereg.page);
    EXPECT_DOUBLE_EQ(10000, m_timeline->dereg.op);
}

/* First registrations, of one size: a call takes what the recorded process has measured, and
 * the pages take the rest */
TEST_F(test_timeline, first_registrations_of_one_size)
{
    measured_costs("33000000 600000 0"); /* 22 and 11 us */
    begin(0, 200000, 1, 0x10000, 100 * PAGE);
    reg(100, 222000);
    create();
    EXPECT_TRUE(m_timeline->reg_known);
    EXPECT_FALSE(m_timeline->reg_page_known);
    EXPECT_DOUBLE_EQ(2000, m_timeline->reg.page);
    EXPECT_DOUBLE_EQ(22000, m_timeline->reg.op);
    EXPECT_EQ(0u, m_timeline->uses[0].fresh);
}

/* The rank has waited for its partner after its own wait. The use has become so short that a
 * part of the second wait is left to the time after it */
TEST_F(test_timeline, waits_of_partners)
{
    begin(1000, 200, 1);
    end(2000, 0, 1);
    begin(3000, 400, 2);
    end(3500, 0, 2);
    end(4000, 0, 9);
    ASSERT_EQ(UCS_OK, try_create(.5));
    expect_uses({{0, 700}, {1700, 1700}});
    EXPECT_EQ(600u, m_timeline->waited);
    EXPECT_EQ(3000u - 900, m_timeline->duration);
    EXPECT_DOUBLE_EQ(.5, m_timeline->partners);
}

/* There is time for 30 of the 240 ns that the partners' waits would take: what is removed is
 * what a replay of the same waits adds */
TEST_F(test_timeline, no_time_for_partners)
{
    begin(1000, 200, 1);
    end(1210, 0, 1);
    begin(1210, 100, 2);
    end(1330, 0, 2);
    ASSERT_EQ(UCS_OK, try_create(.8));
    expect_uses({{0, 0}, {0, 0}});
    EXPECT_EQ(0u, m_timeline->duration);
    EXPECT_DOUBLE_EQ(.1, m_timeline->partners);
}

/* Of waits of two threads at a time, each is one of a replay's waits */
TEST_F(test_timeline, threads_wait_for_partners)
{
    begin(1000, 200, 1);
    begin(1000, 200, 2);
    end(2000, 0, 1);
    end(2000, 0, 2);
    ASSERT_EQ(UCS_OK, try_create(.5));
    expect_uses({{0, 600}, {0, 600}});
}

/* Nothing was registered by the library: of each part of the time, registrations have what
 * the first guesses say */
TEST_F(test_timeline, only_the_costs_of_the_machine)
{
    measured_costs("33000000 600000 0");
    create();
    EXPECT_DOUBLE_EQ(500, m_timeline->reg.page);
    EXPECT_DOUBLE_EQ(22000, m_timeline->reg.op);
    EXPECT_DOUBLE_EQ(100, m_timeline->dereg.page);
    EXPECT_DOUBLE_EQ(11000, m_timeline->dereg.op);
}

/* The hold-up of a use lies between its begin and its end */
TEST_F(test_timeline, waits_are_taken_out)
{
    begin(0, 100, 1);
    begin(150, 50, 2);
    end(300, 10, 1);
    end(400, 0, 2);
    create();
    expect_uses({{0, 150}, {50, 240}});
    EXPECT_EQ(240u, m_timeline->duration);
    EXPECT_EQ(160u, m_timeline->waited);
}

/* Two threads wait at the same time: that time is taken out once, and no event
 * moves before those that came before it */
TEST_F(test_timeline, waits_overlap)
{
    begin(0, 100, 1);
    begin(10, 50, 2);  /* This is within the first wait */
    begin(20, 130, 3); /* Beyond it */
    end(120, 0, 1);    /* The third use still waits */
    end(160, 0, 2);
    end(200, 0, 3);
    create();
    expect_uses({{0, 0}, {0, 10}, {0, 50}});
    EXPECT_EQ(150u, m_timeline->waited);
    EXPECT_EQ(50u, m_timeline->duration);
}

TEST_F(test_timeline, ends_match_by_number_oldest_first)
{
    begin(0, 0, 1);
    begin(10, 0, 2);
    begin(20, 0, 1);
    end(30, 0, 1);
    end(40, 0, 1);
    end(50, 0, 2);
    begin(60, 0, 1); /* The number of the region is free again */
    end(70, 0, 1);
    create();
    expect_uses({{0, 30}, {10, 50}, {20, 40}, {60, 70}});
}

TEST_F(test_timeline, ends_that_are_missing_or_too_many)
{
    end(0, 5, 7); /* This use began before the recording */
    begin(10, 0, 1);
    begin(20, 0, 2);
    end(30, 0, 2);
    end(40, 0, 2);
    create();
    expect_uses({{5, 35}, {15, 25}});
}

/* It held the program up, but is not a use */
TEST_F(test_timeline, failed_use)
{
    begin(0, 100, 1).result = UCS_RCACHE_PRED_RESULT_FAILED;
    begin(200, 0, 1);
    end(300, 0, 1);
    create();
    expect_uses({{100, 200}});
}

TEST_F(test_timeline, uses_are_kept_as_they_are)
{
    event_t &event = begin(0, 0, 1, 0x12345, 678);

    event.context = {1, 2, 3};
    event.flags   = 0x360;
    event.domain  = 4;
    event.kind    = UCS_RCACHE_PRED_USE_PIECES;
    create();
    const predreg_use_t &use = m_timeline->uses[0];
    EXPECT_EQ(0x12345u, use.address);
    EXPECT_EQ(678u, use.length);
    EXPECT_EQ(1u, use.context.caller);
    EXPECT_EQ(2u, use.context.stack);
    EXPECT_EQ(3u, use.context.window);
    EXPECT_EQ(0x360u, use.flags);
    EXPECT_EQ(4u, use.domain);
    EXPECT_EQ(UCS_RCACHE_PRED_USE_PIECES, use.kind);
    EXPECT_EQ(5u, m_timeline->num_domains);
}

TEST_F(test_timeline, unmaps)
{
    begin(0, 100, 1);
    event_t &event = add(UCS_RCACHE_PRED_EVENT_UNMAP, 150, 0, 0);
    event.address  = 0x2000;
    event.length   = 0x1000;
    create();
    ASSERT_EQ(1u, m_timeline->num_unmaps);
    EXPECT_EQ(50u, m_timeline->unmaps[0].time);
    EXPECT_EQ(0x2000u, m_timeline->unmaps[0].start);
    EXPECT_EQ(0x3000u, m_timeline->unmaps[0].end);
    EXPECT_EQ(50u, m_timeline->duration);
}

TEST_F(test_timeline, maps)
{
    begin(0, 100, 1);
    for (uint64_t address : {0x2000ul, 1ul << 57, UINT64_MAX}) {
        event_t &event = add(UCS_RCACHE_PRED_EVENT_MAP, 150, 0, 0);
        event.address  = address;
        event.length   = 0x1000;
    }
    event_t &event = add(UCS_RCACHE_PRED_EVENT_MAP, 150, 0, 0);
    event.address  = 0x5000;
    event.length   = UINT64_MAX;
    create();
    ASSERT_EQ(1u, m_timeline->num_maps);
    EXPECT_EQ(50u, m_timeline->maps[0].time);
    EXPECT_EQ(0x2000u, m_timeline->maps[0].start);
    EXPECT_EQ(0x3000u, m_timeline->maps[0].end);
    EXPECT_EQ(50u, m_timeline->duration);
}

/* Memory hooks tell of an unmap before the system refuses its length */
TEST_F(test_timeline, unmap_beyond_the_address_space)
{
    const uint64_t end = 1ul << 57;

    for (auto memory : {std::make_pair(0x2000ul, UINT64_MAX),
                        std::make_pair(UINT64_MAX, UINT64_MAX),
                        std::make_pair(end - 0x1000, 0x2000ul),
                        std::make_pair(end, 0x1000ul)}) {
        event_t &event = add(UCS_RCACHE_PRED_EVENT_UNMAP, 0, 0, 0);
        event.address  = memory.first;
        event.length   = memory.second;
    }
    create();
    ASSERT_EQ(2u, m_timeline->num_unmaps);
    EXPECT_EQ(0x2000u, m_timeline->unmaps[0].start);
    EXPECT_EQ(end, m_timeline->unmaps[0].end);
    EXPECT_EQ(end - 0x1000, m_timeline->unmaps[1].start);
    EXPECT_EQ(end, m_timeline->unmaps[1].end);
}

/* Memory that a program cannot have is why it was refused */
TEST_F(test_timeline, failed_use_beyond_the_address_space)
{
    begin(0, 10, 0, UINT64_MAX - 10, UINT64_MAX).result =
            UCS_RCACHE_PRED_RESULT_FAILED;
    create();
    EXPECT_EQ(0u, m_timeline->num_uses);
}

TEST_F(test_timeline, costs_are_fitted)
{
    for (unsigned pages : {1, 10, 256, 7}) {
        reg(pages, 50 * pages + 1000);
        reg(pages, 20 * pages + 300, UCS_RCACHE_PRED_EVENT_DEREG);
    }
    reg(1, 1000000).result = UCS_RCACHE_PRED_RESULT_FAILED;
    create();
    EXPECT_TRUE(m_timeline->reg_known);
    EXPECT_TRUE(m_timeline->dereg_known);
    EXPECT_NEAR(50, m_timeline->reg.page, 1e-9);
    EXPECT_NEAR(1000, m_timeline->reg.op, 1e-6);
    EXPECT_NEAR(20, m_timeline->dereg.page, 1e-9);
    EXPECT_NEAR(300, m_timeline->dereg.op, 1e-6);
    EXPECT_EQ(1100u, predreg_cost_of(&m_timeline->reg, 0x10fff, 2));
}

/* Least squares through points that lie on no line: the slope of (1, 10),
 * (2, 30), (3, 20) is 5, the mean 20 */
TEST_F(test_timeline, costs_scatter)
{
    reg(1, 10);
    reg(2, 30);
    reg(3, 20);
    create();
    EXPECT_NEAR(5, m_timeline->reg.page, 1e-9);
    EXPECT_NEAR(10, m_timeline->reg.op, 1e-9);
}

/* One in many that was interrupted is no cost of the others */
TEST_F(test_timeline, interrupted_registrations)
{
    for (unsigned i = 0; i < 20; ++i) {
        reg(1 + (i % 2), (i == 10) ? 4000000 : 1000 * (1 + (i % 2)));
        reg(1 + (i % 2), (i == 11) ? 14000000 : 100 * (1 + (i % 2)),
            UCS_RCACHE_PRED_EVENT_DEREG);
    }
    create();
    EXPECT_NEAR(1000, m_timeline->reg.page, 1e-6);
    EXPECT_NEAR(0, m_timeline->reg.op, 1e-6);
    EXPECT_NEAR(100, m_timeline->dereg.page, 1e-6);
    /* But it is one that others may be interrupted for as long: the second registration of
     * each size is the first that is not of new memory */
    ASSERT_EQ(18u, m_timeline->reg_spread.num);
    EXPECT_NEAR(1, m_timeline->reg_spread.factors[0], 1e-6);
    EXPECT_NEAR(4000, m_timeline->reg_spread.factors[8], 1e-6);
    EXPECT_NEAR(70000, m_timeline->dereg_spread.factors[11], 1e-6);
    EXPECT_EQ(4000, predreg_spread_of(&m_timeline->reg_spread, 8 + 18));
}

/* All of one size: the guess says what a page costs */
TEST_F(test_timeline, costs_of_one_size)
{
    reg(10, 50000); /* The first one of this memory */
    reg(10, 5000);
    reg(10, 7000);
    create();
    EXPECT_EQ(UCS_RCACHE_PRED_REG_COST_PER_PAGE, m_timeline->reg.page);
    EXPECT_EQ(6000 - 10 * UCS_RCACHE_PRED_REG_COST_PER_PAGE,
              m_timeline->reg.op);
}

/* The guess is less if it would be more than all of the time */
TEST_F(test_timeline, costs_below_the_guess)
{
    reg(10, 100);
    create();
    EXPECT_EQ(10, m_timeline->reg.page);
    EXPECT_EQ(0, m_timeline->reg.op);
}

TEST_F(test_timeline, costs_that_fall)
{
    reg(1, 300);
    reg(100, 100);
    create();
    EXPECT_EQ(0, m_timeline->reg.page);
    EXPECT_EQ(200, m_timeline->reg.op);
}

TEST_F(test_timeline, costs_that_begin_below_zero)
{
    reg(1, 0);
    reg(3, 300);
    create();
    EXPECT_EQ(90, m_timeline->reg.page); /* 3 * 300 / (1 + 9) */
    EXPECT_EQ(0, m_timeline->reg.op);
}

/* If others managed the memory, the first use of a buffer tells what a
 * registration costs */
TEST_F(test_timeline, costs_of_leave_pinned)
{
    begin(0, 1000 + 50, 1, 0x10000, PAGE).result          = 0;
    begin(10000, 3, 2, 0x10000, PAGE).result              = 0;
    begin(20000, 1000 + 500, 3, 0x90000, 10 * PAGE).result = 0;
    begin(30000, 1000 + 250, 4, 0x10000, 5 * PAGE).result  = 0;
    begin(40000, 1, 5, 0x10000, 4 * PAGE).result          = 0;
    create();
    EXPECT_TRUE(m_timeline->reg_known);
    EXPECT_FALSE(m_timeline->dereg_known);
    EXPECT_NEAR(50, m_timeline->reg.page, 1e-9);
    EXPECT_NEAR(1000, m_timeline->reg.op, 1e-6);
}

/* Memory that is registered already is found there: that is no measurement */
TEST_F(test_timeline, costs_of_slices)
{
    begin(0, 200000, 1, 0x100000, 256 * PAGE).result = 0;
    for (unsigned i = 1; i < 20; ++i) {
        begin(i * 1000000, 300, 1, 0x100000 + i * PAGE, PAGE).result = 0;
    }
    create();
    EXPECT_FALSE(m_timeline->reg_page_known);
    EXPECT_EQ(200000u, predreg_cost_of(&m_timeline->reg, 0, 256 * PAGE));
}

/* A use that was held up does not say what all others cost */
TEST_F(test_timeline, costs_of_a_use_held_up)
{
    for (unsigned i = 0; i < 6; ++i) {
        begin(i * 100000000, (i == 3) ? 18000000 : 180000, i,
              0x1000000 * (i + 1), 1280 * PAGE).result = 0;
    }
    create();
    EXPECT_EQ(180000u, predreg_cost_of(&m_timeline->reg, 0, 1280 * PAGE));
}

/* Nobody measured */
TEST_F(test_timeline, costs_of_uses_without_waits)
{
    begin(0, 0, 1).result = 0;
    create();
    EXPECT_FALSE(m_timeline->reg_known);
}

TEST_F(test_timeline, costs_are_bounded)
{
    predreg_cost_t cost = {1e30, 0};

    EXPECT_LT(predreg_cost_of(&cost, 0, 1), 1ul << 62);
    cost = {0.4, 0};
    EXPECT_EQ(0u, predreg_cost_of(&cost, 0, 1));
    EXPECT_EQ(1u, predreg_cost_of(&cost, 0, 2 * PAGE));
}

TEST_F(test_timeline, nonsense)
{
    begin(10, 0, 1);
    begin(5, 0, 1);
    expect_refused("event 2, at 1000005 ns, is earlier");

    begin(0, UINT64_MAX - 10, 1);
    expect_refused("event 1, at 1000000 ns, lasts beyond 146 years");

    begin(0, 0, 1);
    end(INT64_MAX / 2 + 1ul, 0, 1);
    expect_refused("is more than 146 years after the first");

    begin(0, 0, 1);
    end(1, INT64_MAX / 2, 1);
    expect_refused("event 2, at 1000001 ns, lasts beyond 146 years");

    begin(0, 0, 1, 0x1000, 0);
    expect_refused("is of no memory");

    begin(0, 0, 1, UINT64_MAX - 10, 5);
    expect_refused("beyond the end of the address space");

    begin(0, 0, 1, 10, UINT64_MAX);
    expect_refused("beyond the end of the address space");

    begin(0, 0, 1, 0x1000, 0xffffffffffff0000ul);
    expect_refused("beyond the end of the address space");

    begin(0, 0, 1, (1ul << 57) - 10, 11);
    expect_refused("beyond the end of the address space");

    begin(0, 0, 1).kind = UCS_RCACHE_PRED_USE_LAST;
    expect_refused("unknown kind");
}

TEST_F(test_timeline, longest)
{
    begin(0, 0, 1);
    end(INT64_MAX / 2, 0, 1);
    create();
    EXPECT_EQ(INT64_MAX / 2ul, m_timeline->duration);
}

TEST_F(test_timeline, no_memory)
{
    begin(0, 10, 1).result = 0;
    begin(20, 0, 2).result = 0;
    end(30, 0, 1);
    EXPECT_GE(end_without_memory([&]() {
        try_create();
        return false;
    }), 5u);
}


/* What is played, in order: b, e or u, and its time. Uses wait as long as the
 * test says. */
class test_play : public ::testing::Test {
protected:
    typedef std::vector<std::tuple<char, uint64_t, uint64_t>> log_t;

    static uint64_t on_begin(void *arg, const predreg_use_t *use, uint64_t now)
    {
        test_play *self = (test_play*)arg;
        self->m_log.emplace_back('b', use->address, now);
        return self->m_begin_wait;
    }

    static uint64_t on_end(void *arg, const predreg_use_t *use, uint64_t now)
    {
        test_play *self = (test_play*)arg;
        self->m_log.emplace_back('e', use->address, now);
        return self->m_end_wait;
    }

    static void on_unmap(void *arg, const predreg_unmap_t *unmap, uint64_t now)
    {
        test_play *self = (test_play*)arg;
        self->m_log.emplace_back('u', unmap->start, now);
    }

    static void on_map(void *arg, const predreg_map_t *map, uint64_t now)
    {
        test_play *self = (test_play*)arg;
        self->m_log.emplace_back('m', map->start, now);
    }

    void play()
    {
        predreg_player_t player = {this, on_begin, on_end, on_unmap, on_map};

        m_duration = predreg_timeline_play(m_program.timeline(), &player);
    }

    made_program m_program;
    uint64_t     m_begin_wait = 0;
    uint64_t     m_end_wait   = 0;
    uint64_t     m_duration   = 0;
    log_t        m_log;
};

TEST_F(test_play, order)
{
    m_program.use(0, 10, 1, 1);
    m_program.use(10, 20, 2, 1);
    m_program.use(10, 10, 3, 1); /* This use ends when it begins */
    m_program.use(5, 10, 4, 1);
    m_program.unmap(10, 5, 1);
    m_program.map(10, 6, 1);
    m_program.map(15, 7, 1);
    play();
    EXPECT_EQ((log_t{{'b', 1, 0}, {'b', 4, 5}, {'e', 1, 10}, {'e', 4, 10},
                     {'u', 5, 10}, {'m', 6, 10}, {'b', 2, 10}, {'b', 3, 10},
                     {'e', 3, 10}, {'m', 7, 15}, {'e', 2, 20}}), m_log);
    EXPECT_EQ(20u, m_duration);
}

TEST_F(test_play, waits_shift)
{
    m_begin_wait = 100;
    m_end_wait   = 1000;
    m_program.use(0, 10, 1, 1);
    m_program.use(10, 10, 2, 1);
    m_program.unmap(10, 3, 1);
    m_program.last_until(50);
    play();
    EXPECT_EQ((log_t{{'b', 1, 0}, {'e', 1, 110}, {'u', 3, 1110},
                     {'b', 2, 1110}, {'e', 2, 1210}}), m_log);
    EXPECT_EQ(2250u, m_duration);
}

/* Each wait delays the program once more, by its partners' waits */
TEST_F(test_play, waits_of_partners)
{
    predreg_timeline_t timeline = *m_program.timeline();
    predreg_use_t use           = {};
    predreg_player_t player     = {this, on_begin, on_end, on_unmap, on_map};

    m_begin_wait      = 100;
    m_end_wait        = 10;
    use.begin         = 5;
    use.end           = 25;
    timeline.uses     = &use;
    timeline.num_uses = 1;
    timeline.duration = 50;
    timeline.partners = .5;
    EXPECT_EQ(50u + 150 + 15, predreg_timeline_play(&timeline, &player));
    EXPECT_EQ((log_t{{'b', 0, 5}, {'e', 0, 175}}), m_log);
}

/* Without partners no wait goes through a floating-point number, which would round it */
TEST_F(test_play, long_wait)
{
    m_begin_wait = (1ul << 60) + 1;
    m_program.use(0, 10, 1, 1);
    m_program.last_until(50);
    play();
    EXPECT_EQ(m_begin_wait + 50, m_duration);
}

TEST_F(test_play, no_memory)
{
    m_program.use(0, 10, 1, 1);
    m_program.timeline();
    m_log.reserve(10);
    EXPECT_GE(end_without_memory([&]() {
        play();
        return false;
    }), 1u);
}
