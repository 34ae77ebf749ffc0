/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "binary_test.h"

#include <common/no_memory.h>

#include <fcntl.h>
#include <unistd.h>

extern "C" {
#include <tools/trace/trace_int.h>
}


/* Traces that end anywhere, are damaged, or are none; and files that are
 * loaded */
class test_read : public binary_test {
};

TEST_F(test_read, file_may_end_anywhere)
{
    const std::string whole  = small_binary();
    const trace_ptr expected = parse(whole);

    for (size_t size = 0; size < whole.size(); ++size) {
        trace_ptr trace = parse(whole.substr(0, size));

        if (size < 8) {
            EXPECT_EQ(UCS_ERR_UNSUPPORTED, m_status);
            EXPECT_NE("", log_watch::take());
            continue;
        }

        ASSERT_TRUE(trace != NULL) << log_watch::take();
        if (size == m_second) {
            /* The trace up to there is read: a process that was killed has left
             * it so */
            EXPECT_EQ(0, trace->truncated);
            EXPECT_EQ(1u, trace->num_events);
        } else if (trace->truncated) {
            EXPECT_NE(std::string::npos,
                      log_watch::take().find("the file ends too early"));
        } else {
            /* Before or after the two bytes with which zlib begins */
            EXPECT_GE(2u, size - HEAD - get_u32(whole, 12));
        }

        ASSERT_LE(trace->num_events, expected->num_events);
        EXPECT_LE(trace->num_events, 1u + (size > m_second));
        for (size_t i = 0; i < trace->num_events; ++i) {
            expect_equal(expected->events[i], trace->events[i]);
        }
        expect_round_trips(trace);
        ASSERT_FALSE(HasFailure()) << "size " << size;
    }
}

TEST_F(test_read, records_before_the_end_are_read)
{
    trace_writer writer;

    for (unsigned i = 0; i < 1000; ++i) {
        event_t event = make_event(UCS_RCACHE_PRED_EVENT_UNMAP, i);
        event.length  = i * 0x123456789abcdull;
        ucs_rcache_trace_put_event(writer, &event);
    }

    std::string whole = writer.close();
    size_t last       = 0;
    for (size_t size = HEAD + 10; size < whole.size(); ++size) {
        trace_ptr trace = parse(whole.substr(0, size));
        ASSERT_TRUE(trace != NULL);
        EXPECT_GE(trace->num_events, last);
        last = trace->num_events;
        log_watch::take();
    }
    EXPECT_EQ(1000u, last);
}

/* By a checksum: one of the head with the fields, one of the records */
TEST_F(test_read, every_flipped_bit_is_noticed)
{
    const std::string whole  = small_binary();
    const trace_ptr expected = parse(whole);
    unsigned unnoticed       = 0;

    for (size_t pos = 0; pos < whole.size(); ++pos) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string damaged = whole;

            damaged[pos] ^= 1 << bit;
            trace_ptr trace = parse(damaged);
            if (log_watch::take().empty()) {
                /* A bit without meaning, such as those that fill a byte */
                ++unnoticed;
                expect_equal(expected, trace);
                ASSERT_FALSE(HasFailure()) << "byte " << pos << " bit " << bit;
            } else {
                EXPECT_TRUE((trace == NULL) || trace->truncated);
            }
        }
    }
    EXPECT_LT(unnoticed, 32u);
}

TEST_F(test_read, flipped_bits_with_right_checksums_do_no_harm)
{
    const std::string records = unpack(packed(small_binary()));
    unsigned parsed           = 0;

    for (size_t pos = 0; pos < records.size(); ++pos) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string damaged = records;

            damaged[pos] ^= 1 << bit;
            trace_ptr trace = parse(make_file("", pack(damaged)));
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

TEST_F(test_read, other_versions_are_told_what_to_do)
{
    std::string binary = small_binary();

    for (char version : {0, 3, 5, 7}) {
        binary[8] = version;
        expect_error(binary, UCS_ERR_UNSUPPORTED, "a binary trace of version " +
                     std::to_string(version) + "; accepted is version 4, and "
                     "text, which `ucx_predreg dump` of the release");
    }
    expect_error("ucx_predreg trace 4\n", UCS_ERR_UNSUPPORTED, "of version 4;");
}

TEST_F(test_read, damage_is_named)
{
    const std::string whole = small_binary();
    std::string damaged     = whole;

    damaged[HEAD] ^= 1;
    expect_error(damaged, UCS_ERR_INVALID_PARAM, "offset 0: damaged: the "
                                                 "checksum of the head");

    damaged = whole;
    damaged[whole.size() - 1] ^= 1;
    expect_error(damaged, UCS_ERR_INVALID_PARAM, "damaged: incorrect data");
    expect_error(whole + "x", UCS_ERR_INVALID_PARAM,
                 "damaged: expected the end");
    expect_error(make_file("", pack("\x15")), UCS_ERR_INVALID_PARAM,
                 "offset 0: damaged: expected the end");
    expect_error(make_file("", "x" + pack("")), UCS_ERR_INVALID_PARAM,
                 "offset 0: damaged: incorrect header check");
    expect_error(make_file(std::string(16384, 'x') + '\0', pack("")),
                 UCS_ERR_INVALID_PARAM, "a field of more than 16383 bytes");
}

TEST_F(test_read, bad_records_are_named)
{
    const std::string text("\x03\0abc", 5), none("\0\0", 2);
    const struct {
        std::string record;
        const char  *message;
    } cases[] = {
        {record(21, "abc"), "offset 12: a record that is too short"},
        {record(16, std::string("\x05\0abc", 5)), "a record that is too short"},
        {record(16, std::string("\x03\0a\0b", 5)), "a string with a zero in it"},
        {record(16, std::string("\0\x40", 2)), "a string of more than 16383"},
        {record(17, std::string("\x01\0", 2) + text), "domain 1: expected a "
                                                      "number up to 0"},
        {record(18, numbers({1, 2}) + '\x19'), "a site of too many frames"},
        {record(19, numbers({1, 2, 3}) + text + '\x21'),
         "a build ID that is too long"},
        {record(19, numbers({1, 2, 3}) + text + "\x03xy"), "is too short"},
        /* A use: time, address, length, id; domain, result; duration; kind */
        {record(1, numbers({1, 2, 3, 4}) + std::string("\0\0\0", 3) +
                   numbers({5}) + '\x03'), "an unknown kind or doer"},
        {record(3, numbers({1, 2, 3, 4}) + std::string("\0\0\0\x03", 4)),
         "an unknown kind or doer"},
        {record(3, numbers({1, 2, 0, 4})), "a length of 0: expected 1"},
        {record(23, numbers({1, 0, 1, 0})), "small sends of 0 bytes: expected "
                                            "1 to 8192"},
        {record(23, numbers({1, 8193, 1, 0})), "small sends of 8193 bytes"},
        {record(23, numbers({1, 8192, 0, 0})), "0 small sends: expected 1"},
        {record(23, numbers({1, 8192, (1ul << 40) + 1, 0})),
         "1099511627777 small sends: expected 1 to 1099511627776"},
        {record(23, numbers({1, 8192, 2, 3})), "3 copied ones of 2 small "
                                               "sends: expected no more"},
    };

    for (const auto &test : cases) {
        expect_error(make_file("", pack(record(21, numbers({1})) +
                                        test.record)),
                     UCS_ERR_INVALID_PARAM, test.message);
    }
}

/* What later versions add is left out, and what they wrote before it is not
 * missed */
TEST_F(test_read, unknown_parts_are_skipped)
{
    const std::string fields("rank\0" "3\0news\0of tomorrow\0", 24);
    const std::string records = record(9, "?") + record(65535, "") +
                                record(0, std::string(65535, 'x')) +
                                record(7, numbers({1, 2, 3, 4, 5})) +
                                record(21, numbers({1})) +
                                record(2, numbers({6}));
    trace_ptr trace           = parse(make_file(fields, pack(records)));

    ASSERT_TRUE(trace != NULL) << log_watch::take();
    EXPECT_STREQ("3", ucs_rcache_trace_get_meta(trace.get(), "rank"));
    EXPECT_STREQ("of tomorrow", ucs_rcache_trace_get_meta(trace.get(), "news"));
    ASSERT_EQ(2u, trace->num_events);
    EXPECT_EQ(3u, trace->events[0].length);
    EXPECT_EQ(6u, trace->events[1].time);
    EXPECT_EQ(0u, trace->events[1].id);
    expect_round_trips(trace);
}

/* What is known before the first record can be read without zlib */
TEST_F(test_read, first_fields_are_plain)
{
    trace_writer writer;

    put_meta(writer, "rank", "7");
    put_meta(writer, "command", "a b");
    put_lost(writer, 1);
    put_meta(writer, "late", "1");

    std::string file = writer.close();
    EXPECT_EQ(HEAD, file.find(std::string("rank\0" "7\0command\0a b\0", 19)));
    EXPECT_EQ(std::string::npos, file.find("late"));
    EXPECT_STREQ("1", ucs_rcache_trace_get_meta(parse(file).get(), "late"));
}

/* A small file does not take all memory, or for ever */
TEST_F(test_read, no_more_is_unpacked_than_allowed)
{
    const std::string bomb = make_file("", pack(std::string(10 << 20, '\0')));

    for (size_t max : {1ul << 20, 10ul << 20}) {
        const trace_source_t source = {"bomb", "offset"};
        trace_builder_t builder;

        trace_builder_init(&builder, &source);
        EXPECT_EQ((max < 10ul << 20) ? UCS_ERR_EXCEEDS_LIMIT : UCS_OK,
                  trace_read(&builder, bomb.data(), bomb.size(), max));
        EXPECT_EQ((max < 10ul << 20) ? "bomb: unpacks to more than 1048576 "
                                       "bytes, which is not accepted of a file "
                                       "of this size" : "", log_watch::take());
        trace_builder_cleanup(&builder);
    }
}

TEST_F(test_read, other_files_are_no_traces)
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

TEST_F(test_read, files_are_loaded)
{
    ucs_rcache_trace_t *trace = NULL;
    std::string binary        = small_binary();
    memory_file file(binary);

    ASSERT_EQ(UCS_OK, ucs_rcache_trace_load(file.path().c_str(), &trace));
    trace_ptr loaded(trace);
    EXPECT_EQ(file.path(), loaded->path);
    expect_equal(parse(binary), loaded);
}

TEST_F(test_read, missing_and_unreadable_files)
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

TEST_F(test_read, pipes_are_read_to_their_end)
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

/* What is no trace may be of any length, or have no end */
TEST_F(test_read, no_more_is_read_of_other_files)
{
    ucs_rcache_trace_t *trace = NULL;

    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ucs_rcache_trace_load("/dev/zero", &trace));
    EXPECT_EQ(0u, log_watch::take().find("/dev/zero: not a trace"));

    for (const char *begin : {"", "# A comment\n", "ucx\n", "\n ucx_predreg t"}) {
        memory_file file(begin + std::string(1000000, 'x'));
        int fd = open(file.path().c_str(), O_RDONLY);

        EXPECT_EQ(UCS_ERR_UNSUPPORTED,
                  ucs_rcache_trace_load_fd(fd, "file", -1ul / 2, &trace));
        EXPECT_EQ(0u, log_watch::take().find("file: not a trace")) << begin;
        EXPECT_EQ(65536, lseek(fd, 0, SEEK_CUR)) << begin;
        close(fd);
    }
}

TEST_F(test_read, header_may_come_late)
{
    ucs_rcache_trace_t *trace = NULL;
    std::string header        = "ucx_predreg trace 1\n";

    for (unsigned length : {65500u, 65520u, 65536u, 200000u}) {
        memory_file file("#" + std::string(length, '.') + "\n\n" + header);

        ASSERT_EQ(UCS_OK, ucs_rcache_trace_load(file.path().c_str(), &trace))
                << log_watch::take();
        ucs_rcache_trace_free(trace);
    }
}

TEST_F(test_read, no_more_is_read_than_allowed)
{
    ucs_rcache_trace_t *trace = NULL;
    std::string text          = "ucx_predreg trace 1\n#" +
                                std::string(300000, '.') + "\n";
    memory_file file(text);

    for (size_t max_size : {text.size() - 1, text.size(), 65536ul}) {
        int fd              = open(file.path().c_str(), O_RDONLY);
        ucs_status_t status = ucs_rcache_trace_load_fd(fd, "file", max_size,
                                                       &trace);

        close(fd);
        if (max_size >= text.size()) {
            ASSERT_EQ(UCS_OK, status) << log_watch::take();
            ucs_rcache_trace_free(trace);
        } else {
            EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, status);
            EXPECT_EQ("file: is longer than " + std::to_string(max_size) +
                      " bytes; accepted: that, or a longer file that does not "
                      "grow while it is read", log_watch::take());
        }
    }
}

TEST_F(test_read, each_failing_allocation_ends_it)
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
        EXPECT_GT(end_without_memory([&]() {
            parse(*content);
            return false;
        }, "test: "), 15u);
    }

    EXPECT_GT(end_without_memory([&]() {
        ucs_rcache_trace_load(path.c_str(), &trace);
        return false;
    }, path + ": "), 15u);

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ucs_rcache_trace_writer_create(1, &writer));
    EXPECT_NE(std::string::npos, log_watch::take().find("out of memory"));

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ucs_rcache_trace_write(whole.get(), 1));
    EXPECT_NE(std::string::npos, log_watch::take().find("out of memory"));
    test_alloc_fail_nth(0);
}
