/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "binary_test.h"

#include <fcntl.h>
#include <unistd.h>


/* Traces that end anywhere, are damaged, or are none; and files that are
 * loaded */
class test_read : public binary_test {
};

TEST_F(test_read, file_may_end_anywhere)
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
            /* The trace up to there is read: a process that was killed has left
             * it so */
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

TEST_F(test_read, records_of_an_unfinished_chunk_are_read)
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

TEST_F(test_read, every_flipped_bit_is_noticed)
{
    const std::string whole = small_binary();

    for (size_t pos = 0; pos < whole.size(); ++pos) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string damaged = whole;

            damaged[pos] ^= 1 << bit;
            if ((pos == 8) && (damaged[pos] > 0) && (damaged[pos] < 3)) {
                continue; /* An older version could say the same */
            }
            EXPECT_EQ(nullptr, parse(damaged))
                    << "byte " << pos << " bit " << bit;
            EXPECT_NE("", log_watch::take());
        }
    }
}

TEST_F(test_read, flipped_bits_with_right_checksums_do_no_harm)
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

TEST_F(test_read, newer_version_names_both)
{
    std::string binary = small_binary();

    binary[8] = 7;
    expect_error(binary, UCS_ERR_UNSUPPORTED, "of version 7; accepted are "
                                              "versions up to 3");
    binary[8] = 0;
    expect_error(binary, UCS_ERR_UNSUPPORTED, "of version 0");
    expect_error("ucx_predreg trace 4\n", UCS_ERR_UNSUPPORTED, "of version 4;");
}

TEST_F(test_read, damage_names_the_place)
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
    std::string file("\x89predreg\x03\0\0\0CHNK", 16);
    uint32_t length = records.size();

    file.append((char*)&length, 4);
    file.append((char*)&count, 4);
    file.append(4, '\0');
    file += records;
    return file;
}

TEST_F(test_read, bad_records_are_named)
{
    const struct {
        std::string records;
        uint32_t    count;
        const char  *message;
    } cases[] = {
        {std::string("\0", 1), 1, "offset 28: a record of unknown type"},
        {"\x09", 1, "a record of unknown type"},
        {"\x18", 1, "a record of unknown type"},
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
        /* A begin: its time, and region 1, which there is none of */
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
        {"\x17\x01", 1, "a record that goes beyond its chunk"},
        {std::string("\x17\x01\0\x01\0", 5), 1, "offset 28: small sends of 0 "
                                                 "bytes: expected 1 to 8192"},
        {std::string("\x17\x01\x81\x40\x01\0", 6), 1, "sends of 8193 bytes"},
        {std::string("\x17\x01\x80\x40\0\0", 6), 1,
         "0 small sends: expected 1"},
        {std::string("\x17\x01\x80\x40\x81\x80\x80\x80\x80\x20\0", 11), 1,
         "1099511627777 small sends: expected 1 to 1099511627776"},
        {"\x17\x01\x80\x40\x02\x03", 1, "3 copied ones of 2 small sends: "
                                         "expected no more"},
    };

    for (const auto &test : cases) {
        std::string file = with_records(test.records, test.count);
        seal(file);
        expect_error(file, UCS_ERR_INVALID_PARAM, test.message);
    }
}

/* Files of a version that has no small sends are read, but have none */
TEST_F(test_read, small_sends_are_of_the_second_version)
{
    std::string file = with_records("\x17\x01\x80\x40\x02\x01", 1);

    seal(file);
    trace_ptr trace = parse(file);
    ASSERT_TRUE(trace != NULL) << log_watch::take();
    ASSERT_EQ(1u, trace->num_sends);
    EXPECT_EQ(8192u, trace->sends[0].length);
    EXPECT_EQ(1u, trace->sends[0].copied);

    file[8] = 1;
    expect_error(file, UCS_ERR_INVALID_PARAM,
                 "offset 28: a record of unknown type");

    file    = with_records("\x15\x03", 1);
    file[8] = 1;
    seal(file);
    trace = parse(file);
    ASSERT_TRUE(trace != NULL) << log_watch::take();
    EXPECT_EQ(3u, trace->lost);
    EXPECT_EQ(0u, trace->num_sends);
}

/* Type, time, a region that is described: id, domain, address, length */
TEST_F(test_read, mappings_are_of_the_third_version)
{
    std::string file = with_records(std::string("\x08\x02\0\0\0\x04\x05", 7), 1);

    seal(file);
    trace_ptr trace = parse(file);
    ASSERT_TRUE(trace != NULL) << log_watch::take();
    ASSERT_EQ(1u, trace->num_events);
    EXPECT_EQ(UCS_RCACHE_PRED_EVENT_MAP, trace->events[0].type);
    EXPECT_EQ(2u, trace->events[0].address);
    EXPECT_EQ(5u, trace->events[0].length);

    file[8] = 2;
    expect_error(file, UCS_ERR_INVALID_PARAM,
                 "offset 28: a record of unknown type");
}

TEST_F(test_read, nothing_is_allocated_for_claims)
{
    /* Each of these is well-formed up to where it ends, and claims to have as
     * many entries as it can */
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

TEST_F(test_read, each_failing_allocation_is_survived)
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
