/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/replay/program/partners.h>
}

#include <ctime>
#include <string>
#include <vector>

class test_partners : public ::testing::Test {
protected:
    static constexpr uint64_t US = 1000;

    /* A rank whose clock began at another time */
    struct rank {
        explicit rank(uint64_t clock = 5000000000, uint64_t size = 2, double rate = 1) :
            m_clock(clock), m_rate(rate), m_id(0), m_comm(UCS_RCACHE_PRED_COMM_UNKNOWN)
        {
            meta("clock_ns", clock);
            meta("realtime_ns", REAL);
            meta("clock_end_ns", clock + (uint64_t)(1000000000 * rate));
            meta("realtime_end_ns", REAL + 1000000000);
            meta("size", size);
        }

        void meta(const std::string &key, uint64_t value)
        {
            m_meta.push_back({key, std::to_string(value)});
        }

        void event(unsigned type, uint64_t time, uint64_t duration, uint64_t length,
                   uint64_t id)
        {
            ucs_rcache_pred_event_t event = {};

            event.type     = type;
            event.time     = m_clock + time * US * m_rate;
            event.duration = duration * US * m_rate;
            event.address  = 0x10000;
            event.length   = length;
            event.id       = id;
            event.context.caller = m_comm << 56;
            m_events.push_back(event);
        }

        /* A use that begins, waits for its registration, and ends; times in us */
        rank &use(uint64_t begin, uint64_t wait, uint64_t end, uint64_t length = 1000)
        {
            event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, begin, wait, length, ++m_id);
            event(UCS_RCACHE_PRED_EVENT_USE_END, end, 0, 0, m_id);
            return *this;
        }

        void add_to(predreg_partners_t *partners)
        {
            std::vector<ucs_rcache_trace_meta_t> meta;
            ucs_rcache_trace_t trace = {};
            predreg_timeline_t *timeline;

            for (auto &pair : m_meta) {
                meta.push_back({(char*)pair.first.c_str(), (char*)pair.second.c_str()});
            }
            trace.meta       = meta.data();
            trace.num_meta   = meta.size();
            trace.events     = m_events.data();
            trace.num_events = m_events.size();
            ASSERT_EQ(UCS_OK, predreg_timeline_create(&trace, 0, &timeline));
            predreg_partners_add(partners, &trace, timeline);
            predreg_timeline_destroy(timeline);
        }

        static constexpr uint64_t                        REAL = 1700000000000000000;
        uint64_t                                         m_clock;
        double                                           m_rate;
        uint64_t                                         m_id;
        uint64_t                                         m_comm; /* Of later events */
        std::vector<std::pair<std::string, std::string>> m_meta;
        std::vector<ucs_rcache_pred_event_t>             m_events;
    };

    std::vector<double> parts(std::vector<rank> ranks)
    {
        predreg_partners_t *partners = predreg_partners_create();
        std::vector<double> result;

        for (auto &rank : ranks) {
            rank.add_to(partners);
        }
        predreg_partners_compare(partners);
        for (size_t i = 0; i < ranks.size(); ++i) {
            result.push_back(predreg_partners_part(partners, i));
        }
        predreg_partners_destroy(partners);
        return result;
    }

    void expect_parts(double first, double second, const std::vector<rank> &ranks)
    {
        std::vector<double> found = parts(ranks);

        EXPECT_NEAR(first, found[0], 1e-4);
        EXPECT_NEAR(second, found[1], 1e-4);
    }
};

/* The receiver hears of the message when the sender has registered its buffer, and registers
 * its own: both have lost both times */
TEST_F(test_partners, one_after_the_other)
{
    rank sender, receiver(9000000000);

    sender.use(0, 100, 400);
    receiver.use(110, 100, 390);
    expect_parts(1, 1, {sender, receiver});
}

TEST_F(test_partners, at_the_same_time)
{
    expect_parts(0, 0, {rank().use(0, 100, 400), rank().use(0, 100, 390)});
}

/* The second one begins when the first has half of its registration behind it */
TEST_F(test_partners, in_part)
{
    expect_parts(.5, 0, {rank().use(0, 100, 400), rank().use(50, 100, 390)});
}

/* The receiver has computed while the sender registered, and loses nothing by that */
TEST_F(test_partners, receiver_comes_late)
{
    expect_parts(1, 0, {rank().use(0, 100, 1400), rank().use(1000, 100, 1390)});
}

/* While a rank registers the next buffer, it does not wait for its partner */
TEST_F(test_partners, own_waits_are_left_out)
{
    rank first, second;

    first.event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, 0, 100, 1000, 1);
    first.event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, 100, 100, 2000, 2);
    first.event(UCS_RCACHE_PRED_EVENT_USE_END, 400, 0, 0, 1);
    first.event(UCS_RCACHE_PRED_EVENT_USE_END, 400, 0, 0, 2);
    second.use(110, 100, 390);
    /* Of 110 to 210, the first one has registered until 200, and has waited for 200 in all */
    expect_parts(10. / 200, 100. / 100, {first, second});
}

/* Two threads wait at a time. A replay lets them wait one after the other, each with a part of
 * what the rank has waited for its partner */
TEST_F(test_partners, threads)
{
    rank first, second;

    first.event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, 0, 100, 1000, 1);
    first.event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, 0, 100, 2000, 2);
    first.event(UCS_RCACHE_PRED_EVENT_USE_END, 400, 0, 0, 1);
    first.event(UCS_RCACHE_PRED_EVENT_USE_END, 400, 0, 0, 2);
    second.use(110, 100, 390, 1000);
    expect_parts(100. / 200, 1, {first, second});
}

/* Two pairs do the same at the same time: the other sender's use ends closer to the sender's
 * than the receiver's does, but two sends are no message */
TEST_F(test_partners, pairs)
{
    std::vector<rank> ranks(4);

    for (unsigned i = 0; i < 4; i += 2) {
        ranks[i].m_comm     = UCS_RCACHE_PRED_COMM_SEND;
        ranks[i + 1].m_comm = UCS_RCACHE_PRED_COMM_RECV;
        ranks[i].use(i, 100, 400 + i);
        ranks[i + 1].use(110 + i, 100, 390 + i);
    }
    for (double part : parts(ranks)) {
        EXPECT_NEAR(1, part, .05);
    }
}

/* What differs in length, or ends at another time, is no message between the two */
TEST_F(test_partners, no_partner)
{
    rank sender, other_length, other_time, nobody;

    sender.use(0, 100, 400, 1000);
    other_length.use(110, 100, 390, 1001);
    expect_parts(0, 0, {sender, other_length});
    other_time.use(110, 100, 800, 1000);
    expect_parts(0, 0, {sender, other_time});
    expect_parts(0, 0, {sender, nobody});
    EXPECT_EQ(std::vector<double>(1, 0), parts({sender}));
    EXPECT_TRUE(parts({}).empty());
}

/* Rates of clocks differ by so much that the ends would be 1 ms apart */
TEST_F(test_partners, other_rate)
{
    rank sender(5000000000), receiver(5000000000, 2, 1.001);

    sender.use(900000, 100, 900400);
    receiver.use(900110, 100, 900390);
    expect_parts(1, 1, {sender, receiver});
}

/* Somebody sets the time of day while a rank runs, to a year from now, or back to 1970: its
 * rate is that of its clock */
TEST_F(test_partners, time_of_day_is_set)
{
    rank sender, receiver;

    sender.use(0, 100, 400);
    receiver.use(110, 100, 390);
    for (auto end : {rank::REAL + 31536000000000000, (uint64_t)0}) {
        receiver.m_meta[3].second = std::to_string(end);
        expect_parts(1, 1, {sender, receiver});
    }
}

/* Clocks may show any 64 bits: here all events are centuries after the time that is told */
TEST_F(test_partners, late_clock)
{
    rank sender, receiver;

    sender.m_clock = receiver.m_clock = UINT64_MAX - 1000 * US;
    sender.use(0, 100, 400);
    receiver.use(110, 100, 390);
    expect_parts(1, 1, {sender, receiver});
}

TEST_F(test_partners, without_clocks)
{
    rank sender, receiver;

    sender.use(0, 100, 400);
    receiver.use(110, 100, 390);
    receiver.m_meta.clear();
    expect_parts(0, 0, {sender, receiver});
}

/* One buffer is sent twice at a time: the first end is that of the first use, whose
 * registration the first receiver waits for */
TEST_F(test_partners, same_memory)
{
    rank sender, receiver;

    sender.event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, 0, 100, 1000, 1);
    sender.event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, 100, 0, 1000, 1);
    sender.event(UCS_RCACHE_PRED_EVENT_USE_END, 400, 0, 0, 1);
    sender.event(UCS_RCACHE_PRED_EVENT_USE_END, 1400, 0, 0, 1);
    receiver.use(110, 100, 390);
    receiver.use(1110, 100, 1390);
    /* The sender waits for both receivers, and the first of these for the sender */
    expect_parts(1, 100. / 200, {sender, receiver});
}

/* A use without an end, and an end without a use */
TEST_F(test_partners, unended)
{
    rank sender, receiver;

    sender.event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, 0, 100, 1000, 1);
    receiver.event(UCS_RCACHE_PRED_EVENT_USE_END, 50, 0, 0, 7);
    receiver.use(110, 100, 390);
    expect_parts(0, 0, {sender, receiver});
}

/* All uses end at one time: looking at all of them for each would take minutes */
TEST_F(test_partners, many_at_one_time)
{
    rank alone;

    for (unsigned i = 0; i < 300000; ++i) {
        alone.event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, 0, 0, 1000, i);
    }
    for (unsigned i = 0; i < 300000; ++i) {
        alone.event(UCS_RCACHE_PRED_EVENT_USE_END, 1, 0, 0, i);
    }

    clock_t begin = clock();
    EXPECT_EQ(std::vector<double>(1, 0), parts({alone}));
    EXPECT_LT((clock() - begin) / CLOCKS_PER_SEC, 20);
}

/* Of each rank of a large job only the begin is kept: what others did after the end of that
 * does not count */
TEST_F(test_partners, long_traces)
{
    rank sender(5000000000, 1000000), receiver(5000000000, 1000000);

    for (unsigned i = 0; i < 1500; ++i) {
        sender.use(i * 1000, 100, i * 1000 + 400);
        if (i >= 900) {
            receiver.use(i * 1000 + 110, 100, i * 1000 + 390);
        }
    }
    /* The use with number 1001 ends what is kept: of 1000, 100 have a partner */
    expect_parts(.1, 1, {sender, receiver});
}
