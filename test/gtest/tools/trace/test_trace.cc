/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "binary_test.h"

#include <algorithm>
#include <random>
#include <vector>


/* What a trace is after it was written and read in either form, and what its
 * records may say */
class test_trace : public binary_test {
};

TEST_F(test_trace, empty_trace_of_either_form)
{
    trace_writer writer;
    trace_ptr binary = parse(writer.close());
    trace_ptr text   = parse_text("");

    ASSERT_TRUE((binary != NULL) && (text != NULL));
    EXPECT_EQ(0u, binary->num_events);
    EXPECT_STREQ("test", binary->path);
    expect_equal(binary, text);
    expect_round_trips(text);
}

TEST_F(test_trace, all_records_survive_both_forms)
{
    trace_ptr trace = parse(small_binary());

    ASSERT_TRUE(trace != NULL);
    EXPECT_STREQ("0", ucs_rcache_trace_get_meta(trace.get(), "rank"));
    EXPECT_EQ(1u, trace->num_domains);
    EXPECT_STREQ("mlx5_0", trace->domains[0].name);
    EXPECT_EQ(3u, trace->modules[0].build_id_length);
    EXPECT_EQ(2u, trace->sites[0].num_frames);
    ASSERT_EQ(2u, trace->num_events);
    expect_equal(use_begin(1000), trace->events[0]);
    EXPECT_EQ(7u, trace->events[1].id);
    EXPECT_EQ(3u, trace->lost);
    EXPECT_EQ(0, trace->truncated);
    expect_round_trips(trace);
}

TEST_F(test_trace, fields_of_other_types_are_not_stored)
{
    for (unsigned type = 0; type < UCS_RCACHE_PRED_EVENT_LAST; ++type) {
        std::mt19937_64 random(type);
        trace_writer writer;
        event_t clean, dirty;

        do {
            clean = random_event(random);
        } while (clean.type != type);

        /* A field that is 0 does not belong to this type of event, or may be
         * 0 */
        dirty = clean;
        if ((type == UCS_RCACHE_PRED_EVENT_UNMAP) ||
            (type == UCS_RCACHE_PRED_EVENT_MAP)) {
            dirty.id     = 5;
            dirty.domain = 6;
        }
        if (type == UCS_RCACHE_PRED_EVENT_USE_END) {
            dirty.address = 5;
            dirty.length  = 6;
            dirty.result  = 7;
        }
        if (type != UCS_RCACHE_PRED_EVENT_USE_BEGIN) {
            dirty.kind           = 1;
            dirty.flags          = 2;
            dirty.context.caller = 3;
        }
        if (type != UCS_RCACHE_PRED_EVENT_DEADLINE) {
            dirty.deadline = 8;
            dirty.period   = 9;
        }

        ucs_rcache_trace_put_event(writer, &dirty);
        /* In a trace with losses, an end may be without begin */
        put_lost(writer, 1);
        trace_ptr trace = parse(writer.close());
        ASSERT_TRUE(trace != NULL);
        expect_equal(clean, trace->events[0]);
    }
}

TEST_F(test_trace, random_events_survive_both_forms)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<event_t> events;
        trace_writer writer;

        put_lost(writer, 1 + random());
        for (unsigned i = 0; i < 3000; ++i) {
            events.push_back(random_event(random));
            ucs_rcache_trace_put_event(writer, &events.back());
            if (random() % 100 == 0) {
                EXPECT_EQ(UCS_OK, ucs_rcache_trace_writer_flush(writer));
            }
        }

        std::stable_sort(events.begin(), events.end(),
                         [](const event_t &a, const event_t &b) {
            return a.time < b.time;
        });
        trace_ptr trace = parse(writer.close());
        ASSERT_TRUE(trace != NULL) << log_watch::take();
        ASSERT_EQ(events.size(), trace->num_events);
        for (size_t i = 0; i < events.size(); ++i) {
            expect_equal(events[i], trace->events[i]);
            ASSERT_FALSE(HasFailure()) << "seed " << seed << " event " << i;
        }
        expect_round_trips(trace);
    }
}

TEST_F(test_trace, strings_of_any_bytes_survive)
{
    const std::string strings[] = {
        "", "a", "a b", "\"", "\\", "#", "a#b", "=", "tab\tnew\nline\rreturn",
        "\x01\x7f\x80\xff", "gr\xc3\xbc\xc3\x9f", " ", "\\x41", "a\\", "''",
        std::string(16383, 'x'), std::string(16383, '\n')
    };
    ucs_rcache_trace_module_t module = {0,    UINT64_MAX, UINT64_MAX,
                                        NULL, 32,         {}};
    trace_writer writer;
    unsigned number = 0;

    for (const auto &string : strings) {
        put_meta(writer, string.c_str(), string.c_str());
        put_domain(writer, number++, string.c_str());
        put_counter(writer, string.c_str(), UINT64_MAX);
        module.path = (char*)string.c_str();
        memset(module.build_id, number, sizeof(module.build_id));
        ucs_rcache_trace_put(writer, TRACE_RECORD_MODULE, &module);
    }

    trace_ptr trace = parse(writer.close());
    ASSERT_TRUE(trace != NULL) << log_watch::take();
    for (unsigned i = 0; i < number; ++i) {
        EXPECT_EQ(strings[i], trace->meta[i].value);
        EXPECT_EQ(strings[i], trace->domains[i].name);
        EXPECT_EQ(strings[i], trace->counters[i].name);
        EXPECT_EQ(strings[i], trace->modules[i].path);
        uint64_t value = 0;
        EXPECT_TRUE(ucs_rcache_trace_get_counter(trace.get(),
                                                 strings[i].c_str(), &value));
        EXPECT_EQ(UINT64_MAX, value);
        EXPECT_EQ(strings[i], ucs_rcache_trace_get_meta(trace.get(),
                                                        strings[i].c_str()));
    }
    expect_round_trips(trace);
}

TEST_F(test_trace, longer_strings_are_cut_when_written)
{
    trace_writer writer;

    put_meta(writer, "key", std::string(70000, 'x').c_str());
    trace_ptr trace = parse(writer.close());
    ASSERT_TRUE(trace != NULL);
    EXPECT_EQ(std::string(16383, 'x'), trace->meta[0].value);
}

TEST_F(test_trace, sites_have_up_to_24_frames)
{
    ucs_rcache_trace_site_t site = {UINT64_MAX, 0, 24, {}};
    trace_writer writer;

    std::fill(site.frames, site.frames + 24, UINT64_MAX);
    for (; site.num_frames > 0; --site.num_frames) {
        site.stack = site.num_frames;
        ucs_rcache_trace_put(writer, TRACE_RECORD_SITE, &site);
    }
    ucs_rcache_trace_put(writer, TRACE_RECORD_SITE, &site);

    trace_ptr trace = parse(writer.close());
    ASSERT_TRUE(trace != NULL);
    EXPECT_EQ(25u, trace->num_sites);
    expect_round_trips(trace);

    const ucs_rcache_pred_context_t context = {UINT64_MAX, 17, 99};
    auto *found = ucs_rcache_trace_find_site(trace.get(), &context);
    ASSERT_TRUE(found != NULL);
    EXPECT_EQ(17u, found->num_frames);

    const ucs_rcache_pred_context_t others[] = {{UINT64_MAX, 25, 0},
                                                {1, 17, 0}};
    for (auto &other : others) {
        EXPECT_EQ(NULL, ucs_rcache_trace_find_site(trace.get(), &other));
    }
}

TEST_F(test_trace, last_word_counts)
{
    trace_ptr trace = parse_text("meta a 1\nmeta a 2\n"
                                 "counter c 3\ncounter c 4\n"
                                 "domain 0 x\ndomain 1 y\ndomain 0 z\n");
    uint64_t value  = 0;

    ASSERT_TRUE(trace != NULL);
    EXPECT_STREQ("2", ucs_rcache_trace_get_meta(trace.get(), "a"));
    EXPECT_TRUE(ucs_rcache_trace_get_counter(trace.get(), "c", &value));
    EXPECT_EQ(4u, value);
    EXPECT_STREQ("z", trace->domains[0].name);
    EXPECT_EQ(NULL, ucs_rcache_trace_get_meta(trace.get(), "b"));
    EXPECT_FALSE(ucs_rcache_trace_get_counter(trace.get(), "a", &value));
    expect_round_trips(trace);
}

TEST_F(test_trace, lost_events_add_up_to_at_most_all)
{
    EXPECT_EQ(5u, parse_text("lost 2\nlost 3\n")->lost);
    EXPECT_EQ(UINT64_MAX,
              parse_text("lost 18446744073709551615\nlost 3\n")->lost);
}

TEST_F(test_trace, events_are_sorted_by_time)
{
    trace_writer writer;

    for (unsigned i = 0; i < 1000; ++i) {
        event_t event = make_event(UCS_RCACHE_PRED_EVENT_UNMAP, (i * 37) % 100);
        event.address = i;
        ucs_rcache_trace_put_event(writer, &event);
    }

    trace_ptr trace = parse(writer.close());
    ASSERT_TRUE(trace != NULL);
    for (size_t i = 1; i < 1000; ++i) {
        const event_t &before = trace->events[i - 1];
        const event_t &event  = trace->events[i];

        EXPECT_EQ((event.address * 37) % 100, event.time);
        EXPECT_TRUE((before.time < event.time) ||
                    ((before.time == event.time) &&
                     (before.address < event.address)));
    }
}

TEST_F(test_trace, ends_without_begin_are_only_for_traces_with_losses)
{
    for (bool lost : {true, false}) {
        trace_writer writer;
        event_t end = make_event(UCS_RCACHE_PRED_EVENT_USE_END, 5);

        end.id = 4;
        ucs_rcache_trace_put_event(writer, &end);
        if (lost) {
            put_lost(writer, 1);
            EXPECT_EQ(1u, parse(writer.close())->num_events);
        } else {
            expect_error(writer.close(), UCS_ERR_INVALID_PARAM,
                         "offset 0: the end of a use, region 4");
        }
    }
}

TEST_F(test_trace, failed_uses_have_no_end)
{
    trace_writer writer;
    event_t begin = use_begin(1);
    event_t end   = make_event(UCS_RCACHE_PRED_EVENT_USE_END, 5);

    begin.result = UCS_RCACHE_PRED_RESULT_FAILED;
    end.id       = begin.id;
    ucs_rcache_trace_put_event(writer, &begin);
    ucs_rcache_trace_put_event(writer, &end);
    expect_error(writer.close(), UCS_ERR_INVALID_PARAM, "that has not begun");
}
