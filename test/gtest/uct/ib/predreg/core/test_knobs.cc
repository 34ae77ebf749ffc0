/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core_test.h"

#include <ucs/config/global_opts.h>
#include <ucs/config/parser.h>
#include <ucs/sys/string.h>

#include <climits>
#include <map>

class test_knobs : public core_test {
protected:
    template<typename F> static void for_each_range(F check)
    {
        for (auto range = uct_predreg_knob_ranges; range->name != nullptr;
             ++range) {
            SCOPED_TRACE(range->name);
            check(*range);
        }
    }

    /* Set a knob to a number. Bytes are written as such. */
    static ucs_status_t set_number(const uct_predreg_knob_range_t &range,
                                   unsigned long value)
    {
        const bool bytes = strstr(range.name, "PINNED") != nullptr;

        return uct_predreg_knobs_set(test_core_knobs(), range.name,
                                     (std::to_string(value) +
                                      (bytes ? "b" : "")).c_str());
    }

    static unsigned long number(const uct_predreg_knob_range_t &range)
    {
        const char *field = reinterpret_cast<const char*>(test_core_knobs()) +
                            range.offset;

        return (range.size == sizeof(unsigned)) ?
               *reinterpret_cast<const unsigned*>(field) :
               *reinterpret_cast<const unsigned long*>(field);
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
    EXPECT_EQ(UCS_RCACHE_PRED_HELPER_AGGRESSIVE, knobs.helper);
    EXPECT_EQ(2u, knobs.window);
    EXPECT_EQ(8u, knobs.history);
    EXPECT_EQ(SIZE_MAX, knobs.max_pinned);
    EXPECT_EQ(ULONG_MAX, knobs.node_max_regions);
    EXPECT_EQ(UCT_PREDREG_SUMMARY_NONE, knobs.summary);
    EXPECT_STREQ("", knobs.trace);
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
    EXPECT_EQ("UCX_RCACHE_PRED_WINDOW=5 is out of range: accepted are 0 to 4",
              log_watch::take());
}

TEST_F(test_knobs, ends_of_ranges_are_accepted) {
    for_each_range([](const uct_predreg_knob_range_t &range) {
        EXPECT_EQ(UCS_OK, set_number(range, range.min));
        EXPECT_EQ(range.min, number(range));
        if (range.max == ULONG_MAX) {
            EXPECT_EQ(UCS_OK, uct_predreg_knobs_set(test_core_knobs(),
                                                    range.name, "inf"));
        } else {
            EXPECT_EQ(UCS_OK, set_number(range, range.max));
        }
        EXPECT_EQ(range.max, number(range));
    });
}

TEST_F(test_knobs, what_is_beyond_is_refused_with_the_range) {
    for_each_range([](const uct_predreg_knob_range_t &range) {
        const unsigned long before = number(range);
        const std::string name     = std::string("UCX_RCACHE_PRED_") +
                                     range.name + "=";
        std::string message;

        if (range.min > 0) {
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, set_number(range, range.min - 1));
            message = log_watch::take();
            EXPECT_EQ(0u, message.find(name + std::to_string(range.min - 1)))
                    << message;
            EXPECT_NE(std::string::npos,
                      message.find(std::to_string(range.min) + " ")) << message;
        }
        if (range.max != ULONG_MAX) {
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, set_number(range, range.max + 1));
            message = log_watch::take();
            EXPECT_EQ(0u, message.find(name + std::to_string(range.max + 1)))
                    << message;
            EXPECT_NE(std::string::npos,
                      message.find(std::to_string(range.max))) << message;
        }
        EXPECT_EQ(UCS_OK, uct_predreg_knobs_set(
                                  test_core_knobs(), range.name,
                                  (before == ULONG_MAX) ?
                                  "inf" : std::to_string(before).c_str()));
    });
}

TEST_F(test_knobs, queues_have_powers_of_2) {
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_predreg_knobs_set(test_core_knobs(), "DQ_SIZE", "100"));
    EXPECT_EQ("UCX_RCACHE_PRED_DQ_SIZE=100 is not accepted: powers of 2 from 64 "
              "to 1048576 are", log_watch::take());
}

TEST_F(test_knobs, bounds_may_be_infinite) {
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_predreg_knobs_set(test_core_knobs(), "MAX_PINNED", "4K"));
    EXPECT_EQ("UCX_RCACHE_PRED_MAX_PINNED=4096 is out of range: accepted are "
              "262144 and more, and inf", log_watch::take());
}

TEST_F(test_knobs, unknown_names_are_refused) {
    EXPECT_EQ(UCS_ERR_NO_ELEM,
              uct_predreg_knobs_set(test_core_knobs(), "SPEED", "1"));
    EXPECT_EQ("there is no knob UCX_RCACHE_PRED_SPEED", log_watch::take());
}

TEST_F(test_knobs, the_help_tells_the_range) {
    const auto texts = help();

    for_each_range([&](const uct_predreg_knob_range_t &range) {
        auto text = texts.find(std::string("UCX_RCACHE_PRED_") + range.name);
        char bytes[32];
        std::string wanted;

        ASSERT_NE(texts.end(), text);
        if (range.max == ULONG_MAX) {
            ucs_memunits_to_str(range.min, bytes, sizeof(bytes));
            wanted = std::string("Range: ") + bytes + " and more";
            EXPECT_NE(std::string::npos, text->second.find("inf."));
        } else {
            wanted = "Range: " + std::to_string(range.min) + " to " +
                     std::to_string(range.max) + ".";
        }
        EXPECT_NE(std::string::npos, text->second.find(wanted))
                << text->second << " lacks " << wanted;
    });
}

TEST_F(test_knobs, all_are_told) {
    std::map<std::string, std::string> values;

    set("WINDOW", "3");
    uct_predreg_knobs_for_each(test_core_knobs(),
                               [](void *arg, const char *name,
                                  const char *value) {
        (*static_cast<std::map<std::string, std::string>*>(arg))[name] = value;
    }, &values);
    EXPECT_EQ("3", values["WINDOW"]);
    EXPECT_EQ("predict", values["POLICY"]);
    EXPECT_EQ("inf", values["MAX_PINNED"]);
    EXPECT_EQ(15u, values.size());
}

TEST_F(test_knobs, a_cache_is_made_as_they_say) {
    ucs_rcache_pred_params_t params;

    set("MAX_PINNED", "1M");
    set("KNOWN_REGIONS", "99");
    set("HELPER", "progress");
    uct_predreg_knobs_to_params(test_core_knobs(), &params);
    EXPECT_EQ(1ul << 20, params.max_bytes);
    EXPECT_EQ(99u, params.known_regions);
    EXPECT_EQ(UCS_RCACHE_PRED_HELPER_PROGRESS, params.helper);
    EXPECT_TRUE(params.pieces);

    /* Pieces hide what was not predicted: only where that is done */
    set("POLICY", "on-demand");
    uct_predreg_knobs_to_params(test_core_knobs(), &params);
    EXPECT_FALSE(params.pieces);
}
