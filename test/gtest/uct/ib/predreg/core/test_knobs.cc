/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core_test.h"

#include <ucs/base/strb.h>
#include <uct/ib/predreg/core/knobs.h>

#include <ucs/config/global_opts.h>
#include <ucs/config/parser.h>
#include <ucs/sys/string.h>

#include <climits>
#include <cmath>
#include <map>

extern "C" {
#include <common/c_access.h>
}

#define BYTES "256K to 8388607T, with a unit such as in 64M, or inf"

class test_knobs : public core_test {
protected:
    template<typename F> static void for_each_range(F check)
    {
        for (auto range = uct_predreg_knob_table; range->field.name != nullptr;
             ++range) {
            if (range->field.type == &uct_predreg_knob_number) {
                SCOPED_TRACE(range->field.name);
                check(*range);
            }
        }
    }

    /* A value is not accepted, changes nothing, and the one message names the
     * variable, what was typed, and what is accepted */
    static void refused(const std::string &name, const std::string &text,
                        const std::string &accepted)
    {
        const uct_predreg_knobs_t before = test_core_state()->knobs;

        SCOPED_TRACE(text);
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_predreg_knobs_set(&test_core_state()->knobs, name.c_str(),
                                        text.c_str()));
        EXPECT_EQ("UCX_RCACHE_PRED_" + name + "=" + text +
                  " is not accepted; accepted: " + accepted, log_watch::take());
        EXPECT_EQ(0, memcmp(&before, &test_core_state()->knobs, sizeof(before)));
    }

    static std::string accepted(const uct_predreg_knob_t &values)
    {
        UCS_STRB(text, 256);

        uct_predreg_knob_accepted(&values, &text);
        return ucs_string_buffer_cstr(&text);
    }

    static std::string decimal(__uint128_t number)
    {
        std::string text;

        do {
            text.insert(0, 1, '0' + (number % 10));
            number /= 10;
        } while (number > 0);
        return text;
    }

    /* Set a knob to a number. Bytes are written as such. */
    static ucs_status_t set_number(const uct_predreg_knob_t &range,
                                   unsigned long value)
    {
        const bool bytes = strstr(range.field.name, "PINNED") != nullptr;

        return uct_predreg_knobs_set(&test_core_state()->knobs, range.field.name,
                                     (std::to_string(value) +
                                      (bytes ? "b" : "")).c_str());
    }

    static unsigned long number(const uct_predreg_knob_t &range)
    {
        const char *field = reinterpret_cast<const char*>(&test_core_state()->knobs) +
                            range.field.offset;

        return (range.size == sizeof(unsigned)) ?
               *reinterpret_cast<const unsigned*>(field) :
               *reinterpret_cast<const unsigned long*>(field);
    }

    static std::string value_of(const std::string &name)
    {
        std::pair<std::string, std::string> search(name, "");

        uct_predreg_knobs_for_each(&test_core_state()->knobs,
                                   [](void *arg, const char *name,
                                      const char *value) {
            auto search = static_cast<std::pair<std::string, std::string>*>(arg);

            if (search->first == name) {
                search->second = value;
            }
        }, &search);
        return search.second;
    }

    /* The help of all knobs, by name, in one line each */
    static std::map<std::string, std::string> help()
    {
        std::map<std::string, std::string> help;
        char *text  = nullptr;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);

        ucs_config_parser_print_all_opts(
                stream, UCS_DEFAULT_ENV_PREFIX,
                static_cast<ucs_config_print_flags_t>(
                        UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_DOC),
                &ucs_config_global_list);
        fclose(stream);

        std::istringstream lines(text);
        std::string line, doc;
        while (std::getline(lines, line)) {
            size_t equals = line.find('=');

            if (line[0] == '#') {
                doc += line.substr(1) + " ";
            } else if (equals != std::string::npos) {
                help[line.substr(0, equals)] = doc;
                doc.clear();
            }
        }
        free(text);
        return help;
    }
};

TEST_F(test_knobs, defaults_are_accepted) {
    uct_predreg_knobs_t knobs;

    ASSERT_EQ(UCS_OK, uct_predreg_knobs_read(&knobs));
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_PREDICT, knobs.policy);
    EXPECT_EQ(UCS_RCACHE_PRED_HELPER_CONSERVATIVE, knobs.helper);
    EXPECT_EQ(2u, knobs.window);
    EXPECT_EQ(8u, knobs.history);
    EXPECT_EQ(SIZE_MAX, knobs.max_pinned);
    EXPECT_EQ(ULONG_MAX, knobs.node_max_regions);
    EXPECT_EQ(UCT_PREDREG_SUMMARY_NONE, knobs.summary);
    EXPECT_STREQ("", knobs.trace);
    EXPECT_FALSE(knobs.eager);
    EXPECT_EQ(25, knobs.eager_fraction);
    EXPECT_EQ(20, knobs.eager_adapt);
    uct_predreg_knobs_cleanup(&knobs);
}

TEST_F(test_knobs, the_environment_is_read) {
    scoped_variable policy("UCX_RCACHE_PRED_POLICY", "on-demand");
    scoped_variable pinned("UCX_RCACHE_PRED_MAX_PINNED", "4M");
    uct_predreg_knobs_t knobs;

    ASSERT_EQ(UCS_OK, uct_predreg_knobs_read(&knobs));
    EXPECT_EQ(UCS_RCACHE_PRED_POLICY_ON_DEMAND, knobs.policy);
    EXPECT_EQ(4ul << 20, knobs.max_pinned);
    uct_predreg_knobs_cleanup(&knobs);
}

TEST_F(test_knobs, the_environment_is_checked) {
    scoped_variable window("UCX_RCACHE_PRED_WINDOW", "5");
    uct_predreg_knobs_t knobs;

    EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_predreg_knobs_read(&knobs));
    uct_predreg_knobs_cleanup(&knobs);
    EXPECT_EQ("UCX_RCACHE_PRED_WINDOW=5 is not accepted; accepted: whole "
              "numbers from 0 to 4", log_watch::take());
    EXPECT_EQ(2u, knobs.window);
}

TEST_F(test_knobs, ends_of_ranges_are_accepted) {
    for_each_range([](const uct_predreg_knob_t &range) {
        EXPECT_EQ(UCS_OK, set_number(range, range.min));
        EXPECT_EQ(range.min, number(range));
        if (range.max == ULONG_MAX) {
            EXPECT_EQ(UCS_OK, uct_predreg_knobs_set(&test_core_state()->knobs,
                                                    range.field.name, "inf"));
        } else {
            EXPECT_EQ(UCS_OK, set_number(range, range.max));
        }
        EXPECT_EQ(range.max, number(range));
    });
}

/* A number that 32 or 64 bits do not hold would wrap to one in the range */
TEST_F(test_knobs, numbers_do_not_wrap) {
    for_each_range([](const uct_predreg_knob_t &values) {
        const __uint128_t one = 1;

        for (int bits : {31, 32, 33, 63, 64, 65, 100}) {
            if ((one << bits) > values.max) {
                refused(values.field.name, decimal((one << bits) + values.min),
                        accepted(values));
            }
        }
    });
    refused("MAX_PINNED", "17592186044422M", BYTES);
    refused("MAX_PINNED", "18446744073709551616b", BYTES);
    refused("NODE_MAX_PINNED", "16777216T", BYTES);
    refused("NODE_MAX_PINNED", "8388608T", BYTES);
    refused("KNOWN_REGIONS", "4294967312",
            "whole numbers from 16 to 16777216");
}

TEST_F(test_knobs, what_is_no_number_is_refused) {
    for_each_range([](const uct_predreg_knob_t &values) {
        for (const char *text : {"", " ", "auto", "lots", "x8", "64x", "64 ",
                                 " 64", "64.0", "-64", "+64", "0x40", "1e3",
                                 "64,", "64Mi", "64MBx", "64MiBs", "64KK",
                                 "infx", "-4294967232",
                                 "-18446744073709551552"}) {
            refused(values.field.name, text, accepted(values));
        }
    });
    refused("WINDOW", "inf", "whole numbers from 0 to 4");
    refused("MAX_REGIONS", "64M", "whole numbers from 4 to "
            "9223372036854775807, or inf");
}

TEST_F(test_knobs, bounds_have_units) {
    static const struct {
        const char *text;
        size_t     bytes;
    } good[] = {
        {"262144", 262144}, {"262144b", 262144}, {"262144B", 262144},
        {"0256K", 262144}, {"256kb", 262144}, {"1M", 1ul << 20},
        {"1MB", 1ul << 20}, {"3g", 3ul << 30}, {"8388607T", 8388607ul << 40},
        {"inf", SIZE_MAX}, {"INF", SIZE_MAX}, {"9223372036854775807",
                                               SIZE_MAX / 2}
    };

    for (const auto &one : good) {
        set("MAX_PINNED", one.text);
        EXPECT_EQ(one.bytes, test_core_state()->knobs.max_pinned) << one.text;
    }
}

TEST_F(test_knobs, percentages_have_decimals) {
    static const struct {
        const char *text;
        double     percent;
        const char *printed;
    } good[] = {
        {"0", 0, "0"}, {"1", 1, "1"}, {"0.2", 0.2, "0.2"}, {"00.50", 0.5, "0.5"},
        {"3.", 3, "3"}, {"0.000001", 1e-6, "0.000001"}, {"100", 100, "100"},
        {"99.9999999999", 100, "100"}, {"inf", INFINITY, "inf"},
        {"INF", INFINITY, "inf"}
    };

    for (const auto &one : good) {
        set("BUDGET", one.text);
        if (std::isinf(one.percent)) {
            EXPECT_TRUE(std::isinf(test_core_state()->knobs.budget));
        } else {
            EXPECT_NEAR(one.percent, test_core_state()->knobs.budget, 1e-9);
        }
        EXPECT_EQ(one.printed, value_of("BUDGET"));
    }

    for (const char *text : {"", ".", ".5", "-1", "+1", "nan", "1,5", "1e1",
                             "0x1", "1 ", " 1", "1%", "100.1", "1.5.5", "infx",
                             "99999999999999999999999999", "auto"}) {
        refused("BUDGET", text, "numbers from 0 to 100, such as 0.5, or inf");
    }
}

/* A buffer that is never counted, or registered before its first send, is not
 * what these are for */
TEST_F(test_knobs, percentages_of_reuse_are_finite) {
    const std::string fraction = "numbers from 1 to 100, such as 1.5";

    for (const char *text : {"inf", "0", "0.99", "100.1", "", "nan"}) {
        refused("EAGER_FRACTION", text, fraction);
    }
    refused("EAGER_ADAPT", "inf", "numbers from 0 to 100, such as 0.5");

    set("EAGER_FRACTION", "1");
    set("EAGER_ADAPT", "0");
    EXPECT_EQ(1, test_core_state()->knobs.eager_fraction);
    EXPECT_EQ(0, test_core_state()->knobs.eager_adapt);
    set("EAGER_FRACTION", "100");
    set("EAGER_ADAPT", "12.5");
    EXPECT_EQ(100, test_core_state()->knobs.eager_fraction);
    EXPECT_EQ("12.5", value_of("EAGER_ADAPT"));
}

TEST_F(test_knobs, what_is_beyond_is_refused) {
    for_each_range([](const uct_predreg_knob_t &values) {
        if (values.min > 0) {
            refused(values.field.name, std::to_string(values.min - 1),
                    accepted(values));
        }
        if (values.max != ULONG_MAX) {
            refused(values.field.name, std::to_string(values.max + 1),
                    accepted(values));
        }
    });
    refused("MAX_PINNED", "4K", BYTES);
}

/* None at all, but not so little that it would be none */
TEST_F(test_knobs, arena) {
    refused("ARENA", "4K", "0, or 1M to 1T, with a unit such as in 64M");
    set("ARENA", "1M");
    EXPECT_EQ(1ul << 20, test_core_state()->knobs.arena);
    set("ARENA", "0");
    EXPECT_EQ(0u, test_core_state()->knobs.arena);
    EXPECT_EQ("0", value_of("ARENA"));
}

TEST_F(test_knobs, queues_have_powers_of_2) {
    refused("DQ_SIZE", "100", "powers of 2 from 64 to 1048576");
}

TEST_F(test_knobs, other_names_are_refused) {
    refused("POLICY", "fast", "predict, on-demand, leave-pinned");
    refused("HELPER", "", "conservative, aggressive, progress, off");
    refused("SUMMARY", "xml", "n, text, json");
    refused("PIECES", "maybe", "y, n");
    refused("EAGER", "2", "y, n");
    for (const char *text : {"y", "YES", "1", "n", "no", "0"}) {
        set("PIECES", text);
    }
    set("POLICY", "ON-DEMAND");
}

/* What was typed is not allowed to push what is accepted out of the message */
TEST_F(test_knobs, long_texts_are_cut_off) {
    const std::string text(100000, '9');

    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_predreg_knobs_set(&test_core_state()->knobs, "WINDOW", text.c_str()));
    EXPECT_EQ("UCX_RCACHE_PRED_WINDOW=" + text.substr(0, 100) +
              "... is not accepted; accepted: whole numbers from 0 to 4",
              log_watch::take());
}

TEST_F(test_knobs, texts_replace_each_other) {
    set("TRACE", "/tmp/first");
    set("TRACE", "/tmp/second");
    EXPECT_STREQ("/tmp/second", test_core_state()->knobs.trace);
    set("TRACE", "");
    EXPECT_STREQ("", test_core_state()->knobs.trace);
}

TEST_F(test_knobs, lists_are_separated_by_commas) {
    static const struct {
        const char *text;
        unsigned   count;
        const char *printed;
    } lists[] = {
        {"ib", 1, "ib"}, {"ib,cma", 2, "ib,cma"}, {"", 0, ""}, {",", 0, ""},
        {",ib,,cma,", 2, "ib,cma"}, {"a,b,c,d,e,f", 6, "a,b,c,d,e,f"}
    };

    for (const auto &list : lists) {
        set("COMPONENTS", list.text);
        EXPECT_EQ(list.count, test_core_state()->knobs.components.count);
        EXPECT_EQ(list.printed, value_of("COMPONENTS"));
    }
}

/* Each is printed such that reading it gives the same */
TEST_F(test_knobs, values_are_printed_as_they_are_read) {
    static const struct {
        const char *name;
        const char *value;
    } good[] = {
        {"POLICY", "leave-pinned"}, {"HELPER", "off"}, {"BUDGET", "2.5"},
        {"WINDOW", "4"}, {"DQ_SIZE", "128"}, {"MAX_PINNED", "3M"},
        {"MAX_PINNED", "inf"}, {"MAX_REGIONS", "4"}, {"MAX_REGIONS", "inf"},
        {"NODE_MAX_PINNED", "8388607T"}, {"PIECES", "n"}, {"PIECES", "y"},
        {"SUMMARY", "json"}, {"SUMMARY_FILE", "a b"}, {"TRACE", ""}
    };

    for (const auto &one : good) {
        set(one.name, one.value);
        EXPECT_EQ(one.value, value_of(one.name)) << one.name;
    }
}

/* All can be cleaned up then */
TEST_F(test_knobs, without_memory_there_are_no_lists) {
    const uct_predreg_knobs_t nothing = {};
    uct_predreg_knobs_t knobs;

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, uct_predreg_knobs_default(&knobs));
    test_alloc_fail_nth(0);
    EXPECT_EQ(0, memcmp(&nothing, &knobs, sizeof(knobs)));
    uct_predreg_knobs_cleanup(&knobs);

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY,
              uct_predreg_knobs_set(&test_core_state()->knobs, "COMPONENTS", "x"));
    test_alloc_fail_nth(0);
    EXPECT_EQ("", value_of("COMPONENTS"));
    set("COMPONENTS", "y");
}

TEST_F(test_knobs, unknown_names_are_refused) {
    EXPECT_EQ(UCS_ERR_NO_ELEM,
              uct_predreg_knobs_set(&test_core_state()->knobs, "SPEED", "1"));
    EXPECT_EQ("there is no knob UCX_RCACHE_PRED_SPEED", log_watch::take());
}

/* What the papers and the tests vary is read, and shown to no user */
TEST_F(test_knobs, the_help_tells_what_is_accepted) {
    const auto texts = help();

    for_each_range([&](const uct_predreg_knob_t &range) {
        auto text = texts.find(std::string("UCX_RCACHE_PRED_") +
                               range.field.name);

        if (range.field.is_hidden) {
            EXPECT_EQ(texts.end(), text);
        } else {
            ASSERT_NE(texts.end(), text);
            EXPECT_NE(std::string::npos, text->second.find(accepted(range)));
        }
    });
    EXPECT_EQ(texts.end(), texts.find("UCX_RCACHE_PRED_WINDOW"));
}

TEST_F(test_knobs, all_are_told) {
    std::map<std::string, std::string> values;

    set("WINDOW", "3");
    uct_predreg_knobs_for_each(&test_core_state()->knobs,
                               [](void *arg, const char *name,
                                  const char *value) {
        (*static_cast<std::map<std::string, std::string>*>(arg))[name] = value;
    }, &values);
    EXPECT_EQ("3", values["WINDOW"]);
    EXPECT_EQ("predict", values["POLICY"]);
    EXPECT_EQ("inf", values["MAX_PINNED"]);
    EXPECT_EQ("ib", values["COMPONENTS"]);
    EXPECT_EQ("1", values["BUDGET"]);
    EXPECT_EQ("n", values["EAGER"]);
    EXPECT_EQ("25", values["EAGER_FRACTION"]);
    EXPECT_EQ("20", values["EAGER_ADAPT"]);
    EXPECT_EQ("0", values["ARENA"]);
    EXPECT_EQ("128K", values["ARENA_MIN"]);
    EXPECT_EQ("slab", values["ARENA_KEYS"]);
    EXPECT_EQ("n", values["ARENA_STRICT"]);
    EXPECT_EQ("256M", values["FIREHOSE_M"]);
    EXPECT_EQ("64M", values["FIREHOSE_MAXVICTIM"]);
    EXPECT_EQ("pin", values["WINDOWS"]);
    EXPECT_EQ("y", values["UNWIND"]);
}

TEST_F(test_knobs, a_cache_is_made_as_they_say) {
    ucs_rcache_pred_params_t params;

    set("MAX_PINNED", "1M");
    set("KNOWN_REGIONS", "99");
    set("HELPER", "progress");
    uct_predreg_knobs_to_params(&test_core_state()->knobs, &params);
    EXPECT_EQ(1ul << 20, params.max_bytes);
    EXPECT_EQ(99u, params.known_regions);
    EXPECT_EQ(UCS_RCACHE_PRED_HELPER_PROGRESS, params.helper);
    EXPECT_TRUE(params.pieces);

    /* A recording on demand has whole registrations */
    set("POLICY", "on-demand");
    uct_predreg_knobs_to_params(&test_core_state()->knobs, &params);
    EXPECT_TRUE(params.pieces);
    set("TRACE", "/tmp");
    uct_predreg_knobs_to_params(&test_core_state()->knobs, &params);
    EXPECT_FALSE(params.pieces);
}
