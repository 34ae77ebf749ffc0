/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/trace_test.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>


/* Files of both forms as a whole; the binary one */
class test_trace : public trace_test {
protected:
    /* One of each record, in two chunks */
    std::string small_binary()
    {
        trace_writer writer;
        ucs_rcache_trace_site_t site     = {0x1000, 0x2000, 2, {1, 2}};
        ucs_rcache_trace_module_t module = {0x1000, 0x2000, 0x400,
                                            (char*)"/lib/x.so", 3, {1, 2, 3}};
        event_t begin                    = use_begin(1000);
        event_t end = make_event(UCS_RCACHE_PRED_EVENT_USE_END, 2000);

        ucs_rcache_trace_put_meta(writer, "rank", "0");
        ucs_rcache_trace_put_domain(writer, 0, "mlx5_0");
        ucs_rcache_trace_put_site(writer, &site);
        ucs_rcache_trace_put_module(writer, &module);
        ucs_rcache_trace_put_event(writer, &begin);
        EXPECT_EQ(UCS_OK, ucs_rcache_trace_writer_flush(writer));
        m_second = writer.content().size();

        end.id = begin.id;
        ucs_rcache_trace_put_event(writer, &end);
        ucs_rcache_trace_put_lost(writer, 3);
        ucs_rcache_trace_put_counter(writer, "uses", 1);
        return writer.close();
    }

    static event_t use_begin(uint64_t time)
    {
        event_t event = make_event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, time);

        event.id             = 7;
        event.address        = 0x7f0000001000;
        event.length         = 65536;
        event.flags          = 0x368;
        event.duration       = 40000;
        event.result         = UCS_RCACHE_PRED_RESULT_MISS;
        event.context.caller = 0x100000000401234;
        event.context.stack  = 0x7ffc00001230;
        event.context.window = 0x123456789abcdef;
        return event;
    }

    size_t m_second; /* Where the second chunk begins */
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
    EXPECT_STREQ("mlx5_0", trace->domains[0]);
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

        /* What is 0 in it is not one of its fields, or might be */
        dirty = clean;
        if (type == UCS_RCACHE_PRED_EVENT_UNMAP) {
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
        ucs_rcache_trace_put_lost(writer, 1); /* An end may be without begin */
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

        ucs_rcache_trace_put_lost(writer, 1 + random());
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
        ucs_rcache_trace_put_meta(writer, string.c_str(), string.c_str());
        ucs_rcache_trace_put_domain(writer, number++, string.c_str());
        ucs_rcache_trace_put_counter(writer, string.c_str(), UINT64_MAX);
        module.path = (char*)string.c_str();
        memset(module.build_id, number, sizeof(module.build_id));
        ucs_rcache_trace_put_module(writer, &module);
    }

    trace_ptr trace = parse(writer.close());
    ASSERT_TRUE(trace != NULL) << log_watch::take();
    for (unsigned i = 0; i < number; ++i) {
        EXPECT_EQ(strings[i], trace->meta[i].value);
        EXPECT_EQ(strings[i], trace->domains[i]);
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

    ucs_rcache_trace_put_meta(writer, "key", std::string(70000, 'x').c_str());
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
        ucs_rcache_trace_put_site(writer, &site);
    }
    ucs_rcache_trace_put_site(writer, &site);

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
    EXPECT_STREQ("z", trace->domains[0]);
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
            ucs_rcache_trace_put_lost(writer, 1);
            EXPECT_EQ(1u, parse(writer.close())->num_events);
        } else {
            expect_error(writer.close(), UCS_ERR_INVALID_PARAM,
                         "offset 28: the end of a use, region 4");
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

TEST_F(test_trace, file_may_end_anywhere)
{
    const std::string whole = small_binary();
    const trace_ptr expected = parse(whole);

    for (size_t size = 0; size < whole.size(); ++size) {
        trace_ptr trace = parse(whole.substr(0, size));

        if (size < 8) {
            EXPECT_EQ(UCS_ERR_UNSUPPORTED, m_status);
            EXPECT_NE("", log_watch::take());
            continue;
        }

        ASSERT_TRUE(trace != NULL) << log_watch::take();
        if ((size == 12) || (size == m_second)) {
            /* A trace up to there: who was killed has left it so */
            EXPECT_EQ(0, trace->truncated);
        } else {
            EXPECT_EQ(1, trace->truncated) << "size " << size;
            EXPECT_NE(std::string::npos, log_watch::take().find("ends within"));
        }

        ASSERT_LE(trace->num_events, expected->num_events);
        EXPECT_EQ(size >= m_second, trace->num_events > 0) << "size " << size;
        for (size_t i = 0; i < trace->num_events; ++i) {
            expect_equal(expected->events[i], trace->events[i]);
        }
        expect_round_trips(trace);
        ASSERT_FALSE(HasFailure()) << "size " << size;
    }
}

TEST_F(test_trace, records_of_an_unfinished_chunk_are_read)
{
    trace_writer writer;

    for (unsigned i = 0; i < 10; ++i) {
        event_t event = make_event(UCS_RCACHE_PRED_EVENT_UNMAP, i);
        event.length  = i;
        ucs_rcache_trace_put_event(writer, &event);
    }

    std::string whole = writer.close();
    size_t last       = 0;
    for (size_t size = 28; size < whole.size(); ++size) {
        trace_ptr trace = parse(whole.substr(0, size));
        ASSERT_TRUE(trace != NULL);
        EXPECT_GE(trace->num_events, last);
        EXPECT_LE(trace->num_events, last + 1);
        last = trace->num_events;
        log_watch::take();
    }
    EXPECT_EQ(9u, last);
}

TEST_F(test_trace, every_flipped_bit_is_noticed)
{
    const std::string whole = small_binary();

    for (size_t pos = 0; pos < whole.size(); ++pos) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string damaged = whole;

            damaged[pos] ^= 1 << bit;
            EXPECT_EQ(nullptr, parse(damaged))
                    << "byte " << pos << " bit " << bit;
            EXPECT_NE("", log_watch::take());
        }
    }
}

TEST_F(test_trace, flipped_bits_with_right_checksums_do_no_harm)
{
    const std::string whole = small_binary();
    unsigned parsed         = 0;

    for (size_t pos = 12; pos < whole.size(); ++pos) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string damaged = whole;

            damaged[pos] ^= 1 << bit;
            seal(damaged);
            trace_ptr trace = parse(damaged);
            while (!log_watch::take().empty());
            if (trace != NULL) {
                ++parsed;
                expect_round_trips(trace);
                ASSERT_FALSE(HasFailure()) << "byte " << pos << " bit " << bit;
            }
        }
    }
    EXPECT_GT(parsed, 100u);
}

TEST_F(test_trace, newer_version_names_both)
{
    std::string binary = small_binary();

    binary[8] = 7;
    expect_error(binary, UCS_ERR_UNSUPPORTED, "of version 7; accepted are "
                                              "versions up to 1");
    binary[8] = 0;
    expect_error(binary, UCS_ERR_UNSUPPORTED, "of version 0");
    expect_error("ucx_predreg trace 2\n", UCS_ERR_UNSUPPORTED, "of version 2;");
}

TEST_F(test_trace, damage_names_the_place)
{
    const std::string whole = small_binary();
    const std::string chunk = "offset " + std::to_string(m_second) + ": ";
    std::string damaged;

    damaged = whole;
    damaged[m_second + 20] ^= 1;
    expect_error(damaged, UCS_ERR_INVALID_PARAM,
                 chunk + "damaged: the checksum");

    damaged = whole;
    damaged[m_second] ^= 1;
    expect_error(damaged, UCS_ERR_INVALID_PARAM,
                 chunk + "damaged: expected a chunk");

    damaged = whole;
    damaged[m_second + 6] = 2;
    expect_error(damaged, UCS_ERR_INVALID_PARAM, chunk + "damaged: a chunk of "
                                                         "more than 65536");

    damaged = whole + "x";
    EXPECT_EQ(1, parse(damaged)->truncated);
    EXPECT_NE("", log_watch::take());
}

/* A file of one chunk with these records */
static std::string with_records(const std::string &records, uint32_t count)
{
    std::string file("\x89predreg\x01\0\0\0CHNK", 16);
    uint32_t length = records.size();

    file.append((char*)&length, 4);
    file.append((char*)&count, 4);
    file.append(4, '\0');
    file += records;
    return file;
}

TEST_F(test_trace, bad_records_are_named)
{
    const struct {
        std::string records;
        uint32_t    count;
        const char  *message;
    } cases[] = {
        {std::string("\0", 1), 1, "offset 28: a record of unknown type"},
        {"\x08", 1, "a record of unknown type"},
        {"\x17", 1, "a record of unknown type"},
        {std::string("\x15\x05\xff", 3), 2, "offset 30: a record of unknown"},
        {"\x15", 1, "a record that goes beyond its chunk"},
        {"\x10\x05" "abc", 1, "a record that goes beyond its chunk"},
        {"\x15\x05\x15", 1, "offset 30: a chunk that is longer"},
        {"", 1, "a record that goes beyond"},
        {"\x15\x05", 0xffffffff, "offset 30: a record that goes beyond"},
        {"\x15" + std::string(10, '\xff') + '\x01', 1, "more than 64 bits"},
        {"\x15" + std::string(9, '\xff') + '\x02', 1, "more than 64 bits"},
        {std::string("\x10\x03" "a\0b\x01" "c", 7), 1, "a zero in it"},
        {"\x10\x80\x80\x01", 1, "a string of more than 16383 bytes"},
        {"\x10" + std::string(9, '\xff') + '\x01', 1, "of more than 16383"},
        {"\x11\x01\x01x", 1, "domain 1: expected a number up to 0"},
        {"\x12\x01\x01\x19", 1, "a site of too many frames"},
        {"\x13\x01\x01\x01\x01/\x21", 1, "a build ID that is too long"},
        /* begin: time, region 1, which there is none of */
        {std::string("\x01\x02\x01", 3), 1, "a region that was not described"},
        {std::string("\x01\x02\0\x02\0\x02\x02\0\x01", 9), 1,
         "a context that was not described"},
        {std::string("\x01\x02\0\x02\0\x02\x02\0\0\x03", 10), 1,
         "an unknown kind"},
        {std::string("\x01\x02\0\x02\0\x02\x02\0\0\0\x80\x80\x80\x80\x10", 15),
         1, "flags of more than 32 bits"},
        {std::string("\x02\x02\0\x02\x80\x80\x04", 7), 1, "domain above 65535"},
        {std::string("\x03\x02\0\x02\0\x02\x02\0\x03", 9), 1,
         "registered by an unknown"},
    };

    for (const auto &test : cases) {
        std::string file = with_records(test.records, test.count);
        seal(file);
        expect_error(file, UCS_ERR_INVALID_PARAM, test.message);
    }
}

TEST_F(test_trace, nothing_is_allocated_for_claims)
{
    /* Each is well-formed up to where it ends, and claims the utmost */
    const std::string claims[] = {
        with_records("", 0xffffffff), with_records("\x10\xff\x7f", 0xffffffff),
        with_records("\x12\x01\x01\x18", 0xffffffff)
    };

    for (std::string file : claims) {
        memcpy(&file[16], "\0\0\x01\0", 4);
        trace_ptr trace = parse(file);
        ASSERT_TRUE(trace != NULL);
        EXPECT_EQ(1, trace->truncated);
        EXPECT_NE("", log_watch::take());
    }
}

TEST_F(test_trace, other_files_are_no_traces)
{
    const std::string others[] = {
        "", "\n", "# only a comment\n", "Hello, world\n", "\x89pre",
        std::string("\x7f" "ELF\x02\x01\x01\0\0", 9), std::string(100000, '\0'),
        std::string(100000, '\n'), "ucx_predreg", "ucx_predreg trace",
        "\"ucx_predreg trace 1\n", "\xff\xfeu\0c\0x\0"
    };

    for (const auto &other : others) {
        expect_error(other, UCS_ERR_UNSUPPORTED, "test: not a trace: expected");
    }

    expect_error("ucx_predreg trace one\n", UCS_ERR_INVALID_PARAM,
                 "line 1: 'one': expected the version");
    expect_error("ucx_predreg trace 1 2\n", UCS_ERR_INVALID_PARAM,
                 "line 1: '2': expected the end of the line");
}

TEST_F(test_trace, files_are_loaded)
{
    ucs_rcache_trace_t *trace = NULL;
    std::string binary        = small_binary();
    memory_file file(binary);

    ASSERT_EQ(UCS_OK, ucs_rcache_trace_load(file.path().c_str(), &trace));
    trace_ptr loaded(trace);
    EXPECT_EQ(file.path(), loaded->path);
    expect_equal(parse(binary), loaded);
}

TEST_F(test_trace, missing_and_unreadable_files)
{
    const std::string missing = "/nowhere/at/all.trace";
    ucs_rcache_trace_t *trace = NULL;

    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_rcache_trace_load(missing.c_str(), &trace));
    EXPECT_EQ(0u, log_watch::take().find(missing + ": cannot be opened"));
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_load("/proc", &trace));
    EXPECT_EQ(0u, log_watch::take().find("/proc: cannot be read"));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ucs_rcache_trace_load("/proc/self/exe",
                                                         &trace));
    EXPECT_EQ(0u, log_watch::take().find("/proc/self/exe: not a trace"));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ucs_rcache_trace_load("/dev/null", &trace));
    EXPECT_EQ(0u, log_watch::take().find("/dev/null: not a trace"));
}

TEST_F(test_trace, pipes_are_read_to_their_end)
{
    ucs_rcache_trace_t *trace = NULL;
    std::string text          = "ucx_predreg trace 1\n";
    int fds[2];

    ASSERT_EQ(0, pipe(fds));
    for (unsigned i = 0; i < 1000; ++i) {
        text += "unmap " + std::to_string(i) + " 0x1000 4096\n";
    }
    ASSERT_EQ((ssize_t)text.size(), write(fds[1], text.data(), text.size()));
    close(fds[1]);

    std::string path = "/proc/self/fd/" + std::to_string(fds[0]);
    ASSERT_EQ(UCS_OK, ucs_rcache_trace_load(path.c_str(), &trace));
    EXPECT_EQ(1000u, trace->num_events);
    ucs_rcache_trace_free(trace);
    close(fds[0]);
}

TEST_F(test_trace, a_full_disk_shows_when_flushed)
{
    int fd = open("/dev/full", O_WRONLY);
    ucs_rcache_trace_writer_t *writer;
    event_t event = use_begin(1);

    ASSERT_GE(fd, 0);
    ASSERT_EQ(UCS_OK, ucs_rcache_trace_writer_create(fd, &writer));
    for (unsigned i = 0; i < 100000; ++i) {
        ucs_rcache_trace_put_event(writer, &event);
    }
    errno = 0;
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(ENOSPC, errno);
    errno = 0;
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(ENOSPC, errno);
    ucs_rcache_trace_writer_destroy(writer);

    trace_ptr trace = parse(small_binary());
    errno           = 0;
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_write(trace.get(), fd));
    EXPECT_EQ(ENOSPC, errno);

    FILE *stream = fdopen(fd, "w");
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_print(trace.get(), stream));
    fclose(stream);
}

TEST_F(test_trace, nothing_is_written_after_a_failure)
{
    int fds[2];
    ucs_rcache_trace_writer_t *writer;
    event_t event = use_begin(1);
    std::string written(1 << 20, '\0');

    /* A pipe takes a part, then no more, then some again */
    ASSERT_EQ(0, pipe2(fds, O_NONBLOCK));
    ASSERT_EQ(16384, fcntl(fds[1], F_SETPIPE_SZ, 16384));
    ASSERT_EQ(UCS_OK, ucs_rcache_trace_writer_create(fds[1], &writer));
    for (unsigned i = 0; i < 100000; ++i) {
        event.context.window = i;
        ucs_rcache_trace_put_event(writer, &event);
    }
    ssize_t size = read(fds[0], &written[0], written.size());
    ASSERT_EQ(16384, size);
    ucs_rcache_trace_put_event(writer, &event);
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(EAGAIN, errno);
    EXPECT_EQ(-1, read(fds[0], &written[size], 1));
    ucs_rcache_trace_writer_destroy(writer);
    EXPECT_EQ(-1, read(fds[0], &written[size], 1));

    /* What came through is a trace, up to where it ends */
    trace_ptr trace = parse(written.substr(0, size));
    ASSERT_TRUE(trace != NULL);
    EXPECT_GT(trace->num_events, 100u);
    EXPECT_EQ(1, trace->truncated);
    EXPECT_NE("", log_watch::take());
    close(fds[0]);
    close(fds[1]);
}

/* The process, which has no handler, is not ended by SIGXFSZ */
TEST_F(test_trace, a_file_that_may_not_grow_shows_when_flushed)
{
    memory_file file;

    child process([&file]() {
        const struct rlimit limit = {100, RLIM_INFINITY};
        ucs_rcache_trace_writer_t *writer;
        sigset_t set;

        setrlimit(RLIMIT_FSIZE, &limit);
        ucs_rcache_trace_writer_create(file.fd(), &writer);
        for (unsigned i = 0; i < 100; ++i) {
            ucs_rcache_trace_put_counter(writer, "uses", i);
        }
        if ((ucs_rcache_trace_writer_flush(writer) != UCS_ERR_IO_ERROR) ||
            (errno != EFBIG)) {
            return 1;
        }
        ucs_rcache_trace_writer_destroy(writer);

        /* None is left behind, and the program gets those of its own */
        sigpending(&set);
        if (sigismember(&set, SIGXFSZ)) {
            return 2;
        }
        pthread_sigmask(SIG_BLOCK, NULL, &set);
        if (sigismember(&set, SIGXFSZ)) {
            return 3;
        }

        return 0;
    });
    EXPECT_EQ(0, process.reap());
    EXPECT_EQ(100u, file.content().size());
}

TEST_F(test_trace, a_pending_signal_stays_pending)
{
    memory_file file;

    child process([&file]() {
        const struct rlimit limit = {100, RLIM_INFINITY};
        ucs_rcache_trace_writer_t *writer;
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        raise(SIGXFSZ);

        setrlimit(RLIMIT_FSIZE, &limit);
        ucs_rcache_trace_writer_create(file.fd(), &writer);
        for (unsigned i = 0; i < 100; ++i) {
            ucs_rcache_trace_put_counter(writer, "uses", i);
        }
        ucs_rcache_trace_writer_destroy(writer);

        sigpending(&set);
        return sigismember(&set, SIGXFSZ) ? 0 : 1;
    });
    EXPECT_EQ(0, process.reap());
    EXPECT_EQ(100u, file.content().size());
}

/* Between two chunks, without a flush */
TEST_F(test_trace, a_file_that_took_the_number_is_not_written)
{
    memory_file file, other;
    int fd = dup(file.fd());
    ucs_rcache_trace_writer_t *writer;
    event_t event = use_begin(1);

    ASSERT_EQ(UCS_OK, ucs_rcache_trace_writer_create(fd, &writer));
    while (file.content().empty()) {
        ++event.context.window;
        ucs_rcache_trace_put_event(writer, &event);
    }

    const std::string written = file.content();
    ASSERT_EQ(fd, dup2(other.fd(), fd));
    for (unsigned i = 0; i < 100000; ++i) {
        ++event.context.window;
        ucs_rcache_trace_put_event(writer, &event);
    }
    EXPECT_EQ("", other.content());

    /* Nor is what would follow, should the file come back */
    ASSERT_EQ(fd, dup2(file.fd(), fd));
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(EBADF, errno);
    ucs_rcache_trace_writer_destroy(writer);
    EXPECT_EQ(written, file.content());
    close(fd);

    ASSERT_EQ(UCS_OK, ucs_rcache_trace_writer_create(-1, &writer));
    EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_trace_writer_flush(writer));
    EXPECT_EQ(EBADF, errno);
    ucs_rcache_trace_writer_destroy(writer);
}

TEST_F(test_trace, each_failing_allocation_is_survived)
{
    trace_ptr whole            = parse(small_binary());
    const std::string binary   = binary_of(whole);
    const std::string text     = text_of(whole) +
                                 "begin 5 0x5000 1\nend 6 0x5000\n"
                                 "begin 7 0x5000 1\nunmap 1 0 0\n"
                                 "unmap 1 0 0\nunmap 1 0 0\nunmap 1 0 0\n"
                                 "unmap 1 0 0\nunmap 1 0 0\n";
    ucs_rcache_trace_t *trace  = NULL;
    ucs_rcache_trace_writer_t *writer;
    memory_file file(text);
    std::string path = file.path();

    for (const std::string *content : {&binary, &text}) {
        unsigned nth = 0;

        do {
            test_alloc_fail_nth(++nth);
            trace_ptr parsed = parse(*content);
            if (test_alloc_failed()) {
                EXPECT_EQ(UCS_ERR_NO_MEMORY, m_status) << "nth " << nth;
                EXPECT_NE(std::string::npos, log_watch::take().find("memory"));
            }
        } while (test_alloc_failed());
        EXPECT_EQ(UCS_OK, m_status);
        EXPECT_GT(nth, 15u);
    }

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ucs_rcache_trace_load(path.c_str(), &trace));
    EXPECT_NE(std::string::npos, log_watch::take().find("out of memory"));

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ucs_rcache_trace_writer_create(1, &writer));
    EXPECT_NE(std::string::npos, log_watch::take().find("out of memory"));

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ucs_rcache_trace_write(whole.get(), 1));
    EXPECT_NE(std::string::npos, log_watch::take().find("out of memory"));
    test_alloc_fail_nth(0);
}

TEST_F(test_trace, putting_allocates_nothing)
{
    trace_writer writer;
    event_t event = use_begin(0);

    test_alloc_fail_nth(1);
    for (unsigned i = 0; i < 100000; ++i) {
        event.id   = i;
        event.time = i;
        ucs_rcache_trace_put_event(writer, &event);
    }
    EXPECT_EQ(UCS_OK, ucs_rcache_trace_writer_flush(writer));
    EXPECT_FALSE(test_alloc_failed());
    test_alloc_fail_nth(0);
}

/* Three buffers that take turns: what is written of a million events */
TEST_F(test_trace, a_million_events)
{
    constexpr unsigned num_uses = 200000;
    std::vector<event_t> events;
    trace_writer writer;

    for (unsigned i = 0; i < num_uses; ++i) {
        event_t begin = use_begin(i * 100000ul + (i * 7919) % 5000);
        event_t reg, end, deadline, dereg;

        begin.id             = i % 3;
        begin.address       += (i % 3) << 24;
        begin.context.window = (i % 3) * 0x9e3779b97f4a7c15ul;
        reg                  = begin;
        reg.type             = UCS_RCACHE_PRED_EVENT_REG;
        reg.time            += 300;
        dereg                = reg;
        dereg.type           = UCS_RCACHE_PRED_EVENT_DEREG;
        dereg.time          += 60000;
        end                  = begin;
        end.type             = UCS_RCACHE_PRED_EVENT_USE_END;
        end.time            += 50000;
        deadline             = reg;
        deadline.type        = UCS_RCACHE_PRED_EVENT_DEADLINE;
        deadline.time       += 55000;
        deadline.deadline    = deadline.time + 245000;
        deadline.period      = 300000 - i % 1000;
        for (const auto &event : {begin, reg, end, deadline, dereg}) {
            events.push_back(event);
        }
    }

    auto start = std::chrono::steady_clock::now();
    for (const auto &event : events) {
        ucs_rcache_trace_put_event(writer, &event);
    }
    EXPECT_EQ(UCS_OK, ucs_rcache_trace_writer_flush(writer));
    auto put = std::chrono::steady_clock::now();

    std::string binary = writer.close();
    auto parse_begin   = std::chrono::steady_clock::now();
    trace_ptr trace    = parse(binary);
    auto parse_end     = std::chrono::steady_clock::now();
    ASSERT_TRUE(trace != NULL) << log_watch::take();
    ASSERT_EQ(events.size(), trace->num_events);

    auto ns = [&events](std::chrono::steady_clock::duration time) {
        return std::chrono::duration<double, std::nano>(time).count() /
               events.size();
    };
    printf("%.1f bytes an event, put %.0f ns, loaded in %.0f ns\n",
           (double)binary.size() / events.size(), ns(put - start),
           ns(parse_end - parse_begin));
    EXPECT_LT(binary.size(), 16 * events.size());
}
