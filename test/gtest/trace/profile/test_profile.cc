/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/trace_test.h>

#include <trace/profile/gather.h>
#include <trace/profile/name.h>
#include <trace/record/places.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>


/* What a recorded run tells the next one */
class test_profile : public trace_test {
protected:
    test_profile() : m_path("/tmp/profile." + std::to_string(getpid()))
    {
        ucs_rcache_profile_init(&m_profile);
    }

    ~test_profile()
    {
        ucs_rcache_profile_free(&m_profile);
        unlink(m_path.c_str());
    }

    /* A module each for two programs, at some place in memory */
    static std::string modules(uint64_t at)
    {
        std::ostringstream text;

        text << "module " << at + 0x1000 << " " << at + 0x2000 << " " << at
             << " \"/opt/bin/app\" 0102\n"
             << "module " << at + 0x10000 << " " << at + 0x20000 << " "
             << at + 0x8000 << " \"/lib/libmpi.so\"\n";
        return text.str();
    }

    static uint64_t name_of(const trace_ptr &trace, unsigned site = 0)
    {
        return ucs_rcache_profile_name(&trace->sites[site], trace->modules,
                                       trace->num_modules);
    }

    uint64_t name_of(const std::string &lines)
    {
        trace_ptr trace = parse_text(lines);

        EXPECT_TRUE(trace != NULL) << log_watch::take();
        return (trace == NULL) ? 0 : name_of(trace);
    }

    /* Make a profile of some traces */
    ucs_status_t gather(const std::vector<std::string> &traces)
    {
        ucs_rcache_profile_gather_t *gather = ucs_rcache_profile_gather_create();

        m_left_out = 0;
        for (auto &lines : traces) {
            trace_ptr trace = parse_text(lines);
            EXPECT_TRUE(trace != NULL) << log_watch::take();
            EXPECT_EQ(UCS_OK, ucs_rcache_profile_gather_add(gather, trace.get(),
                                                            &m_left_out));
        }
        ucs_rcache_profile_free(&m_profile);
        ucs_status_t status = ucs_rcache_profile_gather_finish(gather,
                                                               &m_profile);
        ucs_rcache_profile_gather_destroy(gather);
        return status;
    }

    void write(const std::string &text)
    {
        std::ofstream(m_path) << text;
    }

    /* Load a file with these lines. @return what was logged */
    std::string load(const std::string &text)
    {
        write(text);
        ucs_rcache_profile_free(&m_profile);
        m_status = ucs_rcache_profile_load(m_path.c_str(), &m_profile);
        return log_watch::take();
    }

    std::string written()
    {
        FILE *stream = fopen(m_path.c_str(), "w");
        std::ostringstream text;

        EXPECT_EQ(UCS_OK, ucs_rcache_profile_write(&m_profile, stream));
        fclose(stream);
        text << std::ifstream(m_path).rdbuf();
        return text.str();
    }

    std::string          m_path;
    ucs_rcache_profile_t m_profile;
    uint64_t             m_left_out = 0;
};

/* Wherever its modules are in memory, and whatever file they are of */
TEST_F(test_profile, place_has_the_same_name_in_each_run)
{
    uint64_t name = name_of(modules(0x400000) + "site 0x401100 7 0x401100 "
                            "0x411000\n");

    EXPECT_EQ(name, name_of(modules(0x7f0000000000) +
                            "site 0x7f0000001100 9 0x7f0000001100 "
                            "0x7f0000011000\n"));
    /* The kind of communication counts */
    EXPECT_NE(name, name_of(modules(0x400000) + "site 0x100000000401100 7 "
                            "0x401100 0x411000\n"));
    /* So do all addresses, and how many there are */
    EXPECT_NE(name, name_of(modules(0x400000) + "site 0x401100 7 0x401100 "
                            "0x411001\n"));
    EXPECT_NE(name, name_of(modules(0x400000) + "site 0x401100 7 0x401100\n"));
    /* And the build ID */
    EXPECT_NE(name, name_of("module 0x401000 0x402000 0x400000 "
                            "\"/opt/bin/app\" 0103\n"
                            "module 0x410000 0x420000 0x408000 "
                            "\"/lib/libmpi.so\"\n"
                            "site 0x401100 7 0x401100 0x411000\n"));
    /* Where there is none, the name of the file without its folder */
    EXPECT_EQ(name, name_of("module 0x401000 0x402000 0x400000 "
                            "\"/bin/other\" 0102\n"
                            "module 0x410000 0x420000 0x408000 "
                            "\"/home/me/libmpi.so\"\n"
                            "site 0x401100 7 0x401100 0x411000\n"));
}

/* Code that was made while the program ran is at no place that another run has */
TEST_F(test_profile, addresses_outside_of_modules_are_alike)
{
    EXPECT_EQ(name_of(modules(0x400000) + "site 0x401100 7 0x401100 0x999\n"),
              name_of(modules(0x400000) + "site 0x401100 7 0x401100 0x888\n"));
}

TEST_F(test_profile, intervals_of_traces)
{
    std::string common = modules(0x400000) +
                         "site 0x401100 7 0x401100\n"
                         "site 0x401200 7 0x401200\n";
    std::string lines  = common;
    std::ostringstream uses;

    /* From the first place in 10 ms to the second, from there in 100 ms to the first;
     * the last intervals are others */
    for (unsigned i = 0; i < 10; ++i) {
        uint64_t now = (1 + i) * 110000000ul;

        uses << "begin " << now << "ns 0x10000 4096 id=1 caller=0x401100 stack=7\n"
             << "end " << now + 1 << "ns id=1\n"
             << "begin " << now + 10000000 << "ns 0x10000 4096 id=1 "
             << "caller=0x401200 stack=7\n"
             << "end " << now + 10000001 << "ns id=1\n";
    }
    trace_ptr trace = parse_text(lines);
    ASSERT_TRUE(trace != NULL) << log_watch::take();
    uint64_t first = name_of(trace, 0), second = name_of(trace, 1);

    ASSERT_EQ(UCS_OK, gather({lines + uses.str(), lines + uses.str()}));
    ASSERT_EQ(2u, m_profile.num_rows);
    EXPECT_EQ(0u, m_left_out);
    auto row = ucs_rcache_profile_find(&m_profile, first, 4096);
    ASSERT_TRUE(row != NULL);
    EXPECT_EQ(20u, row->uses);
    ASSERT_EQ(3u, row->num_intervals);
    EXPECT_EQ(10000000u, row->intervals[2]);
    row = ucs_rcache_profile_find(&m_profile, second, 4096);
    ASSERT_TRUE(row != NULL);
    EXPECT_EQ(18u, row->uses);
    EXPECT_EQ(100000000u, row->intervals[2]);
    EXPECT_TRUE(ucs_rcache_profile_find(&m_profile, second, 4097) == NULL);
    EXPECT_TRUE(ucs_rcache_profile_find(&m_profile, 0, 0) == NULL);
}

/* Uses of one region, as slices of it that were joined, in bursts every 100 ms. Slice i of
 * burst b begins where start() says. @return the intervals that are gathered */
class test_profile_slices : public test_profile {
protected:
    template <typename F>
    std::vector<uint64_t> gathered(unsigned slices, F start)
    {
        std::ostringstream uses;

        uses << modules(0x400000) << "site 0x401100 7 0x401100\n";
        for (unsigned b = 0; b < 10; ++b) {
            for (unsigned i = 0; i < slices; ++i) {
                uint64_t now = (1 + b) * 100000000ul + i * 1000;

                uses << "begin " << now << "ns " << start(b, i)
                     << " 4096 id=1 caller=0x401100 stack=7\n"
                     << "end " << now + 1 << "ns id=1\n";
            }
        }
        EXPECT_EQ(UCS_OK, gather({uses.str()}));
        EXPECT_EQ(1u, m_profile.num_rows);
        m_uses = (m_profile.num_rows == 1) ? m_profile.rows[0].uses : 0;
        return std::vector<uint64_t>(m_profile.rows[0].intervals,
                                     m_profile.rows[0].intervals +
                                     m_profile.rows[0].num_intervals);
    }

    static constexpr uint64_t PERIOD = 100000000;

    uint64_t m_uses = 0;
};

/* Each slice that was joined has intervals of its own */
TEST_F(test_profile_slices, joined)
{
    for (unsigned slices : {1, 2, 64}) {
        EXPECT_EQ(std::vector<uint64_t>(3, uint64_t{PERIOD}),
                  gathered(slices, [](unsigned b, unsigned i) {
                      return 0x10000 + i * 4096;
                  })) << slices;
        EXPECT_EQ(9u * slices, m_uses);
    }
}

/* In whatever order */
TEST_F(test_profile_slices, in_turns)
{
    auto intervals = gathered(16, [](unsigned b, unsigned i) {
        return 0x10000 + ((i * 5 + b * 3) % 16) * 4096;
    });

    EXPECT_EQ(9u * 16, m_uses);
    for (uint64_t interval : intervals) {
        EXPECT_NEAR(interval, PERIOD, 16000);
    }
}

/* A buffer that moves by less than half is still the same one */
TEST_F(test_profile_slices, moving)
{
    EXPECT_EQ(std::vector<uint64_t>(3, uint64_t{PERIOD}),
              gathered(1, [](unsigned b, unsigned i) {
                  return 0x10000 + b * 2048;
              }));
    EXPECT_EQ(9u, m_uses);
}

/* More slices than are known: of 100 others 63 have intervals at most, and none takes those
 * of the one that is used all the time */
TEST_F(test_profile_slices, very_many)
{
    auto intervals = gathered(200, [](unsigned b, unsigned i) {
        return 0x10000 + (i % 2) * i * 4096;
    });

    EXPECT_GE(m_uses, 10u * 100 - 1);
    EXPECT_LE(m_uses, 10u * 100 - 1 + 9 * 63);
    EXPECT_EQ(2000u, intervals[0]);
    EXPECT_EQ(uint64_t{PERIOD}, intervals[1]);
}

TEST_F(test_profile, what_is_left_out)
{
    std::string site = modules(0x400000) + "site 0x401100 7 0x401100\n";
    std::string from = " caller=0x401100 stack=7\n";

    EXPECT_EQ(UCS_OK, gather({site + "begin 1s 0x10000 4096 id=1" + from +
                              "end 2s id=1\n"
                              "begin 3s 0x10000 4096 id=2" + from +
                              "end 4s id=2\n"
                              "begin 5s 0x10000 4096 id=1 result=failed" + from +
                              "begin 6s 0x10000 4096 id=1 result=hit,kept" + from +
                              "end 7s id=1\n"}));
    EXPECT_EQ(0u, m_profile.num_rows);
    EXPECT_EQ(0u, m_left_out);

    EXPECT_EQ(UCS_OK, gather({"begin 1s 0x10000 4096 id=1" + from +
                              "end 2s id=1\n"
                              "begin 3s 0x10000 4096 id=1" + from +
                              "end 4s id=1\n"}));
    EXPECT_EQ(0u, m_profile.num_rows);
    EXPECT_EQ(2u, m_left_out);
}

TEST_F(test_profile, percentiles)
{
    std::string lines = modules(0x400000) + "site 0x401100 7 0x401100\n";
    std::mt19937 random(1);
    uint64_t now = 1000;

    /* 1 to 10000 ns in any order, which is more than is kept */
    for (unsigned i = 0; i < 10000; ++i) {
        std::ostringstream use;
        use << "begin " << now << "ns 0x10000 4096 id=1 caller=0x401100 stack=7\n"
            << "end " << now << "ns id=1\n";
        lines += use.str();
        now   += 1 + random() % 10000;
    }
    ASSERT_EQ(UCS_OK, gather({lines}));
    ASSERT_EQ(1u, m_profile.num_rows);
    EXPECT_EQ(9999u, m_profile.rows[0].uses);
    EXPECT_NEAR(1000, m_profile.rows[0].intervals[0], 500);
    EXPECT_NEAR(9000, m_profile.rows[0].intervals[1], 500);
    EXPECT_NEAR(5000, m_profile.rows[0].intervals[2], 1000);
}

TEST_F(test_profile, file)
{
    std::string text = "ucx_predreg profile 1\n"
                       "place 00000000000000ff length 100 uses 7 intervals 5\n"
                       "place 00000000000000ff length 4096 uses 7 intervals 5 9 "
                       "7\n"
                       "place ffffffffffffffff length 18446744073709551615 uses "
                       "18446744073709551615 intervals 1 2 3 "
                       "4611686018427387903\n";

    EXPECT_EQ("", load(text));
    ASSERT_EQ(UCS_OK, m_status);
    EXPECT_EQ(3u, m_profile.num_rows);
    EXPECT_EQ(text, written());

    /* In any order, with comments */
    EXPECT_EQ("", load("ucx_predreg profile 1\n# a comment" +
                       std::string(1000, 'x') + "\n\n"
                       "place ff length 2 uses 1 intervals 3\n"
                       "place 1 length 9 uses 1 intervals 3\n"
                       "place ff length 1 uses 1 intervals 3\n"));
    ASSERT_EQ(UCS_OK, m_status);
    EXPECT_EQ(9u, m_profile.rows[0].length);
    EXPECT_EQ(1u, m_profile.rows[1].length);
}

TEST_F(test_profile, many_rows)
{
    ucs_rcache_profile_row_t row = {.num_intervals = 1};
    std::mt19937_64 random(1);

    row.intervals[0] = 1;
    for (unsigned i = 0; i < 100000; ++i) {
        row.name   = random() % 50000;
        row.length = i;
        ASSERT_EQ(UCS_OK, ucs_rcache_profile_add(&m_profile, &row));
    }
    ASSERT_EQ(UCS_OK, ucs_rcache_profile_sort(&m_profile));
    for (size_t i = 0; i < m_profile.num_rows; i += 97) {
        ASSERT_EQ(&m_profile.rows[i],
                  ucs_rcache_profile_find(&m_profile, m_profile.rows[i].name,
                                          m_profile.rows[i].length));
    }
    ASSERT_EQ(UCS_OK, ucs_rcache_profile_add(&m_profile, &row));
    EXPECT_EQ(UCS_ERR_ALREADY_EXISTS, ucs_rcache_profile_sort(&m_profile));
}

TEST_F(test_profile, damaged_files)
{
    const std::string header = "ucx_predreg profile 1\n";
    const std::string rows[] = {
        "place ff length 1 uses 1 intervals",
        "place ff length 1 uses 1 intervals ",
        "place ff length 1 uses 1 intervals 0",
        "place ff length 1 uses 1 intervals x",
        "place ff length 1 uses 1 intervals -18446744073709551615",
        "place ff length 1 uses 1 intervals 5 ",
        "place ff length 1 uses 1 intervals 5,6",
        "place ff length 1 uses 1 intervals 1 2 3 4 5",
        "place ff length 1 uses 1 intervals 4611686018427387904",
        "place ff length 1 uses 1 intervals 99999999999999999999",
        "place xy length 1 uses 1 intervals 5",
        "place 10000000000000000 length 1 uses 1 intervals 5",
        "place ff length 18446744073709551616 uses 1 intervals 5",
        "place ff length 1 uses -1 intervals 5",
        "place ff length 0 uses 1 intervals 5",
        "place ff length 1 uses intervals 5",
        "nonsense",
        std::string(1000, 'x')
    };

    for (auto &row : rows) {
        std::string logged = load(header + "place 1 length 1 uses 1 intervals 1\n" +
                                  row + "\n");
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, m_status) << row;
        EXPECT_NE(std::string::npos, logged.find(":3: '" + row.substr(0, 20)))
                << logged;
        EXPECT_EQ(0u, m_profile.num_rows);
    }

    for (auto text : {"", "\n", "ucx_predreg trace 1\n", "ucx_predreg profile\n",
                      "ucx_predreg profile 2\n"}) {
        std::string logged = load(text);
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, m_status) << text;
        EXPECT_NE(std::string::npos, logged.find("is no profile")) << logged;
    }

    EXPECT_NE(std::string::npos,
              load(header + "place 1 length 1 uses 1 intervals 1\n"
                   "place 1 length 1 uses 2 intervals 2\n").find("two rows"));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, m_status);

    /* It may have been cut in the last number */
    EXPECT_NE(std::string::npos,
              load(header + "place 1 length 1 uses 1 intervals 12").find(":2:"));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, m_status);

    m_status = ucs_rcache_profile_load("/nowhere", &m_profile);
    EXPECT_EQ(UCS_ERR_IO_ERROR, m_status);
    EXPECT_NE(std::string::npos, log_watch::take().find("/nowhere"));
}

/* Nothing is waited for where a file is expected, and nothing is read without an
 * end */
TEST_F(test_profile, no_files)
{
    ASSERT_EQ(0, mkfifo(m_path.c_str(), 0600));
    for (auto path : {m_path.c_str(), "/dev/zero", "/tmp"}) {
        EXPECT_EQ(UCS_ERR_IO_ERROR, ucs_rcache_profile_load(path, &m_profile));
        EXPECT_NE(std::string::npos,
                  log_watch::take().find(std::string(path) +
                                         ": is no regular file"));
        EXPECT_EQ(0u, m_profile.num_rows);
    }
}

/* The names of places in this process */
class test_places : public ::testing::Test {
protected:
    test_places()
    {
        EXPECT_EQ(UCS_OK, ucs_rcache_record_places_create(&m_places));
    }

    ~test_places() { ucs_rcache_record_places_destroy(m_places); }

    UCS_F_NOINLINE ucs_rcache_pred_context_t communicate(uint64_t stack)
    {
        ucs_rcache_pred_context_t context = {
            (uintptr_t)__builtin_return_address(0), stack, 0
        };

        EXPECT_EQ(0u, ucs_rcache_record_places_name(m_places, &context));
        ucs_rcache_record_places_note(m_places, &context);
        return context;
    }

    ucs_rcache_record_places_t *m_places;
};

TEST_F(test_places, names)
{
    std::vector<ucs_rcache_pred_context_t> contexts;

    for (unsigned i = 0; i < 2; ++i) {
        contexts.push_back(communicate(i));
    }
    contexts.push_back(communicate(0));

    uint64_t name = ucs_rcache_record_places_name(m_places, &contexts[0]);
    EXPECT_NE(0u, name);
    /* The path of calls has another number in each run */
    EXPECT_EQ(name, ucs_rcache_record_places_name(m_places, &contexts[1]));
    EXPECT_NE(name, ucs_rcache_record_places_name(m_places, &contexts[2]));

    for (unsigned i = 0; i < 10; ++i) {
        ucs_rcache_record_places_note(m_places, &contexts[0]);
    }
    EXPECT_EQ(name, ucs_rcache_record_places_name(m_places, &contexts[0]));
}
