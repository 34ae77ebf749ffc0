/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <tools/trace/binary_test.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>


/* The text form */
class test_trace_text : public binary_test {
protected:
    /* The time that is understood, or -1 */
    uint64_t time_of(const std::string &token)
    {
        trace_ptr trace = parse_text("unmap " + token + " 0 0\n");
        std::string logged = log_watch::take();

        if (trace == NULL) {
            EXPECT_NE(std::string::npos,
                      logged.find("line 2: '" + token + "': expected a time"))
                    << logged;
            return -1;
        }
        return trace->events[0].time;
    }

    std::vector<uint64_t> ids_of(const std::string &lines)
    {
        trace_ptr trace = parse_text(lines);
        std::vector<uint64_t> ids;

        EXPECT_TRUE(trace != NULL) << log_watch::take();
        for (size_t i = 0; (trace != NULL) && (i < trace->num_events); ++i) {
            ids.push_back(trace->events[i].id);
        }
        return ids;
    }

    typedef std::vector<uint64_t> ids_t;
};

TEST_F(test_trace_text, one_buffer_by_hand)
{
    trace_ptr trace = parse("# by hand\n"
                            "\n"
                            "ucx_predreg trace 1\n"
                            "begin 0.100 0x10000 1048576\n"
                            "end 0.102 0x10000\n"
                            "   begin   0.200\t0x10000 1M   # again\r\n"
                            "end 0.202 0x10000");

    ASSERT_TRUE(trace != NULL) << log_watch::take();
    ASSERT_EQ(4u, trace->num_events);
    for (unsigned i = 0; i < 4; i += 2) {
        event_t begin = make_event(UCS_RCACHE_PRED_EVENT_USE_BEGIN,
                                   (100 + 50 * i) * MSEC);
        event_t end   = make_event(UCS_RCACHE_PRED_EVENT_USE_END,
                                   (102 + 50 * i) * MSEC);

        begin.id = end.id = 1;
        begin.address     = 0x10000;
        begin.length      = MB;
        expect_equal(begin, trace->events[i]);
        expect_equal(end, trace->events[i + 1]);
    }
    expect_round_trips(trace);
}

TEST_F(test_trace_text, every_field_has_a_name)
{
    trace_ptr trace = parse_text(
            "begin 1 0x1 2 id=3 domain=4 kind=pieces flags=0x368"
            " result=hit,early duration=5us caller=0x6 stack=0x7 window=0x8\n"
            "end 2 id=3 domain=4 duration=1ms\n"
            "reg 3 0x1 2 id=9 domain=4 result=failed by=helper duration=1e-6\n"
            "dereg 4 0x1 2 by=piece\n"
            "deadline 5 0x1 2 result=ahead deadline=6.5 period=1.5\n"
            "unmet 6 0x1 2 result=kept\n"
            "unmap 7 0x1 2\n"
            "begin 8 0x1 2 kind=last-resort result=late,miss,pieces,failed\n"
            "map 9 0x3 4\n");

    ASSERT_TRUE(trace != NULL) << log_watch::take();
    ASSERT_EQ(9u, trace->num_events);

    const event_t *e = trace->events;
    EXPECT_EQ(3u, e[0].id);
    EXPECT_EQ(4u, e[0].domain);
    EXPECT_EQ(UCS_RCACHE_PRED_USE_PIECES, e[0].kind);
    EXPECT_EQ(0x368u, e[0].flags);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_HIT | UCS_RCACHE_PRED_RESULT_EARLY,
              e[0].result);
    EXPECT_EQ(5 * USEC, e[0].duration);
    EXPECT_EQ(6u, e[0].context.caller);
    EXPECT_EQ(7u, e[0].context.stack);
    EXPECT_EQ(8u, e[0].context.window);
    EXPECT_EQ(UCS_RCACHE_PRED_EVENT_USE_END, e[1].type);
    EXPECT_EQ(4u, e[1].domain);
    EXPECT_EQ(MSEC, e[1].duration);
    EXPECT_EQ(UCS_RCACHE_PRED_EVENT_REG, e[2].type);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_FAILED, e[2].result);
    EXPECT_EQ(UCS_RCACHE_PRED_BY_HELPER, e[2].by);
    EXPECT_EQ(USEC, e[2].duration);
    EXPECT_EQ(UCS_RCACHE_PRED_EVENT_DEREG, e[3].type);
    EXPECT_EQ(UCS_RCACHE_PRED_BY_PIECE, e[3].by);
    EXPECT_EQ(UCS_RCACHE_PRED_EVENT_DEADLINE, e[4].type);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_AHEAD, e[4].result);
    EXPECT_EQ(6500 * MSEC, e[4].deadline);
    EXPECT_EQ(1500 * MSEC, e[4].period);
    EXPECT_EQ(UCS_RCACHE_PRED_EVENT_UNMET, e[5].type);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_KEPT, e[5].result);
    EXPECT_EQ(UCS_RCACHE_PRED_EVENT_UNMAP, e[6].type);
    EXPECT_EQ(UCS_RCACHE_PRED_USE_LAST_RESORT, e[7].kind);
    EXPECT_EQ(UCS_RCACHE_PRED_RESULT_LATE | UCS_RCACHE_PRED_RESULT_MISS |
              UCS_RCACHE_PRED_RESULT_PIECES | UCS_RCACHE_PRED_RESULT_FAILED,
              e[7].result);
    EXPECT_EQ(UCS_RCACHE_PRED_EVENT_MAP, e[8].type);
    EXPECT_EQ(3u, e[8].address);
    EXPECT_EQ(4u, e[8].length);
    expect_round_trips(trace);
}

TEST_F(test_trace_text, times)
{
    EXPECT_EQ(0u, time_of("0"));
    EXPECT_EQ(SEC, time_of("1"));
    EXPECT_EQ(SEC, time_of("1s"));
    EXPECT_EQ(250 * MSEC, time_of("0.25"));
    EXPECT_EQ(250 * MSEC, time_of(".25"));
    EXPECT_EQ(2 * SEC, time_of("2."));
    EXPECT_EQ(1500u, time_of("1.5us"));
    EXPECT_EQ(40 * MSEC, time_of("40ms"));
    EXPECT_EQ(7u, time_of("7ns"));
    EXPECT_EQ(123456789012u, time_of("123.456789012"));
    EXPECT_EQ(10 * USEC, time_of("1e-05"));
    EXPECT_EQ(10 * USEC, time_of("1e-05s"));
    EXPECT_EQ(2500 * SEC, time_of("2.5e+3"));
    EXPECT_EQ(0u, time_of("1e-999999999999"));
    EXPECT_EQ(0u, time_of("0e999999999999"));

    /* What scripts print for 0.1 * 3, and for 1/3 */
    EXPECT_EQ(300 * MSEC, time_of("0.30000000000000004"));
    EXPECT_EQ(333333333u, time_of("0.3333333333333333333333333333333333333"));

    /* Rounded */
    EXPECT_EQ(1u, time_of("0.0000000005"));
    EXPECT_EQ(0u, time_of("0.00000000049999999999999999999999999"));
    EXPECT_EQ(2u, time_of("1.9ns"));
    EXPECT_EQ(1u, time_of("0.00000000051"));

    /* As large as there are */
    EXPECT_EQ(UINT64_MAX - 1, time_of("18446744073709551614ns"));
    EXPECT_EQ(UINT64_MAX - 1, time_of("18446744073.709551614"));

    for (const char *bad : {"18446744073709551616ns", "18446744074", "-1", "+1",
                            "1e99", "", "s", "1m", "1 ms", "0x10", "1e", "1e-",
                            "1.2.3", ".", "nan", "inf", "1,5", "ten", "1sec"}) {
        if (std::string(bad).find(' ') == std::string::npos && *bad) {
            EXPECT_EQ((uint64_t)-1, time_of(bad)) << bad;
        }
    }
}

TEST_F(test_trace_text, lengths_have_units)
{
    trace_ptr trace = parse_text("unmap 1 0 4096\nunmap 2 0 64K\nunmap 3 0 2M\n"
                                 "unmap 4 0 0x10G\n"
                                 "unmap 5 0 18446744073709551615\n");
    ASSERT_TRUE(trace != NULL);
    EXPECT_EQ(4096u, trace->events[0].length);
    EXPECT_EQ(64 * KB, trace->events[1].length);
    EXPECT_EQ(2 * MB, trace->events[2].length);
    EXPECT_EQ(16384 * MB, trace->events[3].length);
    EXPECT_EQ(UINT64_MAX, trace->events[4].length);

    for (const char *bad : {"-1", "0x0x1", "4k", "4KB", "K", "1.5M",
                            "18446744073709551616", "17179869184G", "0x", "0xg", "4096x"}) {
        expect_text_error(std::string("unmap 1 0 ") + bad + "\n",
                          std::string("line 2: '") + bad +
                          "': expected a length in bytes");
    }
}

TEST_F(test_trace_text, length_of_0)
{
    for (const char *type : {"begin", "reg", "dereg"}) {
        expect_text_error(std::string(type) + " 1 0x1000 0 id=1\n",
                          "line 2: a length of 0: expected 1 or more");
        /* It may have failed for that */
        EXPECT_TRUE(parse_text(std::string(type) +
                               " 1 0x1000 0 id=1 result=failed\n") != NULL);
    }
    EXPECT_TRUE(parse_text("unmap 1 0x1000 0\n") != NULL);
}

TEST_F(test_trace_text, regions_without_number_are_known_by_their_address)
{
    EXPECT_EQ((ids_t{1, 2, 1, 2}),
              ids_of("begin 1 0x1000 1\nbegin 2 0x2000 1\n"
                     "end 3 0x1000\nend 4 0x2000\n"));

    /* Domains have regions of their own */
    EXPECT_EQ((ids_t{1, 2, 2, 1}),
              ids_of("begin 1 0x1000 1\nbegin 2 0x1000 1 domain=1\n"
                     "end 3 0x1000 domain=1\nend 4 0x1000\n"));

    /* The same memory with another length is the same region */
    EXPECT_EQ((ids_t{1, 1, 1, 1}),
              ids_of("begin 1 0x1000 1\nbegin 2 0x1000 9\n"
                     "end 3 0x1000\nend 4 0x1000\n"));

    /* So are other events there, but for pieces and unmaps */
    EXPECT_EQ((ids_t{1, 1, 1, 1, 1, 0, 0}),
              ids_of("begin 1 0x1000 1\nreg 2 0x1000 1\n"
                     "deadline 3 0x1000 1\nunmet 4 0x1000 1\n"
                     "dereg 5 0x1000 1\nreg 6 0x1000 1 by=piece\n"
                     "unmap 7 0x1000 1\n"));

    /* New numbers come after those that are given */
    EXPECT_EQ((ids_t{10, 11, 10, 11, 10}),
              ids_of("begin 1 0x1000 1 id=10\nbegin 2 0x2000 1\n"
                     "end 3 0x1000\nend 4 0x2000\nreg 5 0x1000 1\n"));

    /* By time, wherever the lines are */
    EXPECT_EQ((ids_t{1, 1, 2, 2}),
              ids_of("end 4 0x2000\nend 2 0x1000\nbegin 3 0x2000 1\n"
                     "begin 1 0x1000 1\n"));

    expect_text_error("begin 1 0x1000 1 id=18446744073709551615\n"
                      "begin 2 0x2000 1\n",
                      "line 3: expected id=NUMBER");
}

TEST_F(test_trace_text, ends_have_begins)
{
    expect_text_error("begin 1 0x1000 1\nend 2 0x2000\n",
                      "line 3: the end of a use, region 2, that has not begun");
    expect_text_error("begin 1 0x1000 1\nend 2 0x1000\n\nend 3 0x1000\n",
                      "line 5: the end of a use, region 1");
    expect_text_error("end 1 0x1000\nbegin 2 0x1000 1\n", "line 2: the end");
    expect_text_error("end 1 id=5\n", "line 2: the end of a use, region 5");
    expect_text_error("end 1\n", "the line ends: expected an address, such as "
                                 "0x7f0012340000 or id=NUMBER");
    expect_text_error("end 1 domain=1\n", "either an address or id=NUMBER");
    expect_text_error("end 1 0x1000 id=1\n", "either an address or id=NUMBER");
    EXPECT_EQ((ids_t{1}), ids_of("lost 1\nend 1 0x1000\n"));
}

TEST_F(test_trace_text, errors_name_line_word_and_what_was_expected)
{
    const struct {
        const char *lines, *message;
    } cases[] = {
        {"begins 1 0 0\n", "line 2: 'begins': expected begin, end, reg, dereg, "
                           "deadline, unmet, unmap, map (version 3), meta, "
                           "domain, site, module, sends (version 2), counter, "
                           "lost or truncated"},
        {"\n# x\nbegin\n", "line 4: the line ends: expected a time in seconds"},
        {"begin 1\n", "the line ends: expected an address"},
        {"begin 1 0\n", "the line ends: expected a length"},
        {"begin 1 here 1\n", "'here': expected an address, such as 0x7f00"},
        {"begin 1 0 1 2\n", "'2': expected id=, domain=, result=, duration=, "
                            "kind=, flags=, caller=, stack=, window="},
        {"begin 1 0 1 by=use\n", "'by=use': expected id="},
        {"begin 1 0 1 id\n", "'id': expected id="},
        {"begin 1 0 1 i=1\n", "'i=1': expected id="},
        {"begin 1 0 1 id=1 id=1\n", "'id=1': expected each only once"},
        {"begin 1 0 1 id=x\n", "'id=x': expected a number from 0 to "
                               "18446744073709551615 (or 0x...)"},
        {"begin 1 0 1 domain=65536\n", "'domain=65536': expected a number from "
                                       "0 to 65535"},
        {"begin 1 0 1 flags=0x100000000\n", "from 0 to 4294967295"},
        {"begin 1 0 1 kind=half\n", "'kind=half': expected whole, pieces or "
                                    "last-resort"},
        {"begin 1 0 1 kind=\n", "'kind=': expected whole"},
        {"begin 1 0 1 result=\n", "'result=': expected one or more"},
        {"begin 1 0 1 result=hit,\n", "'result=hit,': expected one or more "
                                      "(a,b) of hit, early, late, miss, pieces, "
                                      "failed, kept or ahead"},
        {"reg 1 0 1 by=me\n", "'by=me': expected use, helper or piece"},
        {"begin 1 0 1 duration=x\n", "'duration=x': expected a time in "},
        {"unmap 1 0 1 id=1\n", "'id=1': expected the end of the line"},
        {"meta\n", "the line ends: expected a string (key)"},
        {"meta a\n", "the line ends: expected a string (value)"},
        {"meta a b c\n", "'c': expected the end of the line"},
        {"meta a \"b\n", "'b': expected a quotation mark at its end"},
        {"meta a \"\\q\"\n", "'': expected up to 16383 bytes, none of them "
                             "zero, and after \\ one of"},
        {"meta a \"x\\x4\"\n", "'x': expected up to 16383 bytes"},
        {"meta a \"x\\x00\"\n", "'x': expected up to 16383 bytes"},
        {"meta a \"x\\", "'x': expected up to 16383 bytes"},
        {"domain 1 x\n", "line 2: domain 1: expected a number up to 0"},
        {"domain x y\n", "'x': expected a number from 0"},
        {"domain 0\n", "the line ends: expected a string (name)"},
        {"site 1\n", "the line ends: expected an address, such as "
                     "0x7f0012340000 (stack)"},
        {"site 1 2 x\n", "'x': expected an address"},
        {"site 1 2 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 "
         "24 25\n", "a site of more than 24 frames"},
        {"module 1 2 3\n", "the line ends: expected a string (path)"},
        {"module 1 2 3 / 123\n", "'123': expected an even number"},
        {"module 1 2 3 / xy\n", "'xy': expected an even number"},
        {"module 1 2 3 / 00112233445566778899aabbccddeeff"
         "00112233445566778899aabbccddeeff00\n", "'00112233445566778899aabbccddeeff00112233...': "
                          "expected an even number"},
        {"counter x\n", "the line ends: expected a number from 0"},
        {"counter x -1\n", "'-1': expected a number from 0"},
        {"lost\n", "the line ends: expected a number"},
        {"sends\n", "the line ends: expected an address"},
        {"sends 1\n", "the line ends: expected a number"},
        {"sends 1 256\n", "the line ends: expected a number"},
        {"sends 1 256 x\n", "'x': expected a number"},
        {"sends 1 256 2 1 1\n", "'1': expected the end of the line"},
        {"sends 1 8193 2\n", "small sends of 8193 bytes: expected 1 to 8192"},
        {"sends 1 256 0\n", "0 small sends: expected 1 to 1099511627776"},
        {"sends 1 256 2 3\n", "3 copied ones of 2 small sends"},
        {"truncated 1\n", "'1': expected the end of the line"},
        {"\x01\x02\n", "'?\?': expected begin"},
    };

    for (const auto &test : cases) {
        expect_text_error(test.lines, test.message);
    }

    expect_text_error(std::string("meta a b\0c\n", 11), "'b': expected up to "
                                                        "16383 bytes");
    expect_text_error("meta a " + std::string(16384, 'x') + "\n",
                      "xxx...': expected up to 16383 bytes");
    expect_text_error("meta a \"" + std::string(16384, 'x') + "\"\n",
                      "xxx...': expected up to 16383 bytes");
}

TEST_F(test_trace_text, second_header_is_an_error)
{
    expect_text_error("ucx_predreg trace 1\n",
                      "line 2: 'ucx_predreg': expected");
}

TEST_F(test_trace_text, prints_what_can_be_read_by_people)
{
    trace_ptr trace = parse_text(
            "meta command \"mpirun -n 2 ./a.out\"\nmeta rank 0\n"
            "begin 0.1 0x10000 1M result=miss duration=40us\n"
            "end 0.102 0x10000\n");

    EXPECT_EQ("ucx_predreg trace 3\n"
              "meta command \"mpirun -n 2 ./a.out\"\n"
              "meta rank 0\n"
              "begin 0.100000000 0x10000 1048576 id=1 result=miss "
              "duration=40000ns\n"
              "end 0.102000000 id=1\n", text_of(trace));
}

TEST_F(test_trace_text, small_sends)
{
    trace_ptr trace = parse_text("sends 0x1000 4096 100 7\nsends 0x1000 300 2\n"
                                 "sends 0 256 1099511627776\n");

    ASSERT_TRUE(trace != NULL) << log_watch::take();
    ASSERT_EQ(3u, trace->num_sends);
    EXPECT_EQ(0x1000u, trace->sends[0].address);
    EXPECT_EQ(4096u, trace->sends[0].length);
    EXPECT_EQ(100u, trace->sends[0].count);
    EXPECT_EQ(7u, trace->sends[0].copied);
    EXPECT_EQ(0u, trace->sends[1].copied);
    EXPECT_EQ("ucx_predreg trace 3\nsends 0x1000 4096 100 7\n"
              "sends 0x1000 300 2\nsends 0x0 256 1099511627776\n",
              text_of(trace));
    expect_round_trips(trace);
}

TEST_F(test_trace_text, the_first_version_has_no_small_sends)
{
    expect_error("ucx_predreg trace 1\nsends 0x1000 4096 100\n",
                 UCS_ERR_INVALID_PARAM, "line 2: 'sends': expected begin");
}

TEST_F(test_trace_text, the_second_version_has_no_mappings)
{
    expect_error("ucx_predreg trace 2\nmap 1 0x1000 4096\n",
                 UCS_ERR_INVALID_PARAM, "line 2: 'map': expected begin");
}

TEST_F(test_trace_text, truncated_is_kept)
{
    trace_ptr trace = parse_text("truncated\n");

    ASSERT_TRUE(trace != NULL);
    EXPECT_EQ(1, trace->truncated);
    expect_round_trips(trace);
}

/* The blocks of a document that begin with a line of ``` and this name */
static std::vector<std::string> document_blocks(const std::string &name)
{
    std::ifstream document(TEST_TOP_SRCDIR "/docs/trace-format.md");
    std::vector<std::string> blocks;
    bool inside = false;
    std::string line;

    while (std::getline(document, line)) {
        if (line == "```" + name) {
            blocks.push_back("");
            inside = true;
        } else if (line == "```") {
            inside = false;
        } else if (inside) {
            blocks.back() += line + "\n";
        }
    }
    return blocks;
}

/* Lines of an offset, bytes, and, after two spaces, what they are */
static std::string document_bytes(const std::string &block)
{
    std::istringstream lines(block);
    std::string bytes, line;

    while (std::getline(lines, line)) {
        EXPECT_EQ(bytes.size(), std::stoul(line, NULL, 16)) << line;

        std::istringstream digits(line.substr(4, 24));
        unsigned byte;
        while (digits >> std::hex >> byte) {
            bytes.push_back(byte);
        }
    }
    return bytes;
}

TEST_F(test_trace_text, documented_examples)
{
    auto texts = document_blocks("trace");
    auto bytes = document_blocks("hex");

    ASSERT_EQ(2u, texts.size());
    ASSERT_EQ(2u, bytes.size());

    trace_ptr minimal = parse(texts[0]);
    ASSERT_TRUE(minimal != NULL) << log_watch::take();
    EXPECT_EQ(4u, minimal->num_events);

    std::string plain   = document_bytes(bytes[0]);
    std::string records = document_bytes(bytes[1]);
    trace_ptr text      = parse(texts[1]);
    trace_ptr binary    = parse(plain + pack(records));
    ASSERT_TRUE((text != NULL) && (binary != NULL)) << log_watch::take();
    expect_equal(text, binary);
    EXPECT_EQ(texts[1], text_of(binary));
    EXPECT_EQ(plain, binary_of(text).substr(0, plain.size()));
    EXPECT_EQ(records, unpack(packed(binary_of(text))));
}
