/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/run/run.h>
}

#include <algorithm>
#include <filesystem>

class test_run_options : public command_test {
protected:
    /* @return what the parser returns; everything else is in the members */
    int parse(const std::vector<std::string> &args)
    {
        std::vector<std::string> all = {"ucx_predreg run"};

        all.insert(all.end(), args.begin(), args.end());
        m_args = std::make_unique<string_vector>(all);
        optind = 0;
        return capture([&] {
            return predreg_run_parse(m_args->count(), m_args->get(), m_records,
                                     &m_opts);
        });
    }

    /* It is refused with a message that has this in it */
    void expect_refused(const std::vector<std::string> &args,
                        const std::string &message)
    {
        EXPECT_EQ(PREDREG_EXIT_USAGE, parse(args));
        EXPECT_TRUE(contains(m_errors, message)) << m_errors;
        EXPECT_EQ("", m_output);
    }

    std::string command() const { return m_args->get()[optind]; }

    std::unique_ptr<string_vector> m_args;
    predreg_run_opts_t             m_opts;
    int                            m_records = 0;
};

TEST_F(test_run_options, none) {
    EXPECT_EQ(0, parse({"prog", "--policy", "bad"}));
    EXPECT_EQ("", m_errors);
    EXPECT_EQ("prog", command());
    EXPECT_EQ(NULL, m_opts.library);
    EXPECT_EQ(NULL, m_opts.summary_file);
    EXPECT_FALSE(m_opts.summary);
    EXPECT_EQ("-", variable("UCX_RCACHE_PRED_POLICY"));
}

TEST_F(test_run_options, end_of_options) {
    EXPECT_EQ(0, parse({"--policy=predict", "--", "--help"}));
    EXPECT_EQ("--help", command());
}

TEST_F(test_run_options, policy) {
    for (const char *policy : {"predict", "on-demand", "leave-pinned",
                               "Predict"}) {
        EXPECT_EQ(0, parse({"--policy", policy, "prog"})) << m_errors;
        EXPECT_EQ(policy, variable("UCX_RCACHE_PRED_POLICY"));
    }
    expect_refused({"--policy", "fast", "prog"},
                   "--policy: unknown value 'fast'; accepted: predict, "
                   "on-demand, leave-pinned\n");
    expect_refused({"--policy"}, "run --help lists what is accepted");
}

/* A value in the environment is refused by the name of its variable */
TEST_F(test_run_options, environment_is_checked_too) {
    setenv("UCX_RCACHE_PRED_POLICY", "slow", 1);
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"prog"}));
    EXPECT_EQ("UCX_RCACHE_PRED_POLICY=slow is not accepted; accepted: predict, "
              "on-demand, leave-pinned", log_watch::take());
    EXPECT_EQ(0, parse({"--policy=predict", "prog"}));
    setenv("UCX_RCACHE_PRED_SUMMARY", "xml", 1);
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"prog"}));
    EXPECT_EQ("UCX_RCACHE_PRED_SUMMARY=xml is not accepted; accepted: n, text, "
              "json", log_watch::take());
    EXPECT_EQ(0, parse({"--summary=n", "prog"}));
    EXPECT_FALSE(m_opts.summary);
    setenv("UCX_RCACHE_PRED_SUMMARY", "N", 1);
    EXPECT_EQ(0, parse({"prog"}));
    EXPECT_FALSE(m_opts.summary);
}

TEST_F(test_run_options, summary) {
    EXPECT_EQ(0, parse({"--summary", "prog"}));
    EXPECT_TRUE(m_opts.summary);
    EXPECT_EQ("text", variable("UCX_RCACHE_PRED_SUMMARY"));
    EXPECT_EQ(0, parse({"--summary=json", "prog"}));
    EXPECT_EQ("json", variable("UCX_RCACHE_PRED_SUMMARY"));
    expect_refused({"--summary=html", "prog"},
                   "--summary: unknown value 'html'; accepted: n, text, json");
}

/* The command that was meant to be a format would not be found */
TEST_F(test_run_options, summary_without_an_equals_sign) {
    for (const char *format : {"json", "text", "N"}) {
        expect_refused({"--summary", format, "prog"},
                       std::string("--summary: its format follows an equals "
                                   "sign; accepted: --summary=") + format);
        EXPECT_EQ(0, parse({"--summary", "--", format, "prog"}));
        EXPECT_EQ(format, command());
        EXPECT_EQ(0, parse({"--summary", "--set=WINDOW=1", format}));
        EXPECT_EQ(0, parse({"--summary=text", format}));
    }
    EXPECT_EQ(0, parse({"--summary", "prog", "json"}));
}

TEST_F(test_run_options, summary_file) {
    std::string file = path("summary");

    EXPECT_EQ(0, parse({"--summary-file", file, "prog"}));
    EXPECT_TRUE(m_opts.summary);
    EXPECT_EQ("text", variable("UCX_RCACHE_PRED_SUMMARY"));
    EXPECT_EQ(file, variable("UCX_RCACHE_PRED_SUMMARY_FILE"));
    EXPECT_TRUE(exists("summary"));

    expect_refused({"--summary-file", path("no/summary"), "prog"},
                   "--summary-file: cannot write to '" + path("no/summary") + "'");
    expect_refused({"--summary-file", make_file("x", "ucx_predreg trace 1\n"), "prog"},
                   "--summary-file: '" + path("x") + "' is a trace; accepted: another");
}

/* The name meant the file of the summary, and -o the folder of traces */
TEST_F(test_run_options, output_is_refused) {
    for (m_records = 0; m_records < 2; ++m_records) {
        expect_refused({"--output", path("summary"), "prog"}, "ucx_predreg: --output: "
                       "accepted: --summary-file " + path("summary") + " for the summary");
        EXPECT_FALSE(exists("summary"));
    }
}

TEST_F(test_run_options, summary_file_is_appended_to) {
    make_file("summary", "before\n");
    std::filesystem::current_path(path(""));
    EXPECT_EQ(0, parse({"--summary=json", "--summary-file=summary", "prog"}));
    EXPECT_EQ("json", variable("UCX_RCACHE_PRED_SUMMARY"));
    EXPECT_EQ(path("summary"), variable("UCX_RCACHE_PRED_SUMMARY_FILE"));
    EXPECT_EQ("before\n", read("summary"));
}

TEST_F(test_run_options, set) {
    EXPECT_EQ(0, parse({"--set", "window=3", "--set",
                        "UCX_RCACHE_PRED_MAX_PINNED=1g",
                        "--set=summary_file=a=b", "--set=trace=", "prog"}));
    EXPECT_EQ("3", variable("UCX_RCACHE_PRED_WINDOW"));
    EXPECT_EQ("1g", variable("UCX_RCACHE_PRED_MAX_PINNED"));
    EXPECT_EQ("a=b", variable("UCX_RCACHE_PRED_SUMMARY_FILE"));
    EXPECT_EQ("", variable("UCX_RCACHE_PRED_TRACE"));
    for (const char *bad : {"WINDOW", "=2", "", "UCX_RCACHE_PRED_=2"}) {
        expect_refused({"--set", bad, "prog"},
                       std::string("--set: '") + bad +
                       "'; accepted: KNOB=VALUE");
    }
}

/* A knob that there is not is refused before anything starts */
TEST_F(test_run_options, set_unknown_knob) {
    const std::string all = "accepted: POLICY, COMPONENTS, HELPER, BUDGET, "
                            "UNWIND, ";

    for (const char *name : {"HISTRY", "histroy", "History_",
                             "UCX_RCACHE_PRED_HISTRY"}) {
        expect_refused({std::string("--set=") + name + "=3", "prog"},
                       "', the nearest is HISTORY; " + all);
    }
    expect_refused({"--set=MAX_PINED=3m", "prog"},
                   "--set: there is no knob 'MAX_PINED', the nearest is "
                   "MAX_PINNED; ");
    expect_refused({"--set=UCX_TLS=rc", "prog"},
                   "--set: there is no knob 'UCX_TLS'; " + all);
    expect_refused({"--set=X,Y=1", "prog"}, "there is no knob 'X,Y'; ");
    expect_refused({"--set=" + std::string(1000, 'x') + "=1", "prog"}, all);
    EXPECT_EQ("-", variable("UCX_RCACHE_PRED_HISTRY"));
}

/* So is one in the environment, which UCX would warn of, unless the program does
 * not use UCX */
TEST_F(test_run_options, unknown_knob_in_the_environment) {
    setenv("UCX_RCACHE_PRED_HISTRY", "3", 1);
    expect_refused({"prog"}, "ucx_predreg: UCX_RCACHE_PRED_HISTRY: there is no "
                   "knob 'HISTRY', the nearest is HISTORY; accepted: POLICY, ");
    unsetenv("UCX_RCACHE_PRED_HISTRY");
    setenv("UCX_RCACHE_PRED_history", "3", 1);
    expect_refused({"prog"}, "UCX_RCACHE_PRED_history: there is no knob "
                   "'history', the nearest is HISTORY; ");
    unsetenv("UCX_RCACHE_PRED_history");
    setenv("UCX_RCACHE_PRED_", "", 1);
    expect_refused({"prog"}, "UCX_RCACHE_PRED_: there is no knob ''; ");
    unsetenv("UCX_RCACHE_PRED_");
    EXPECT_EQ(0, parse({"prog"}));
}

/* So is a value that the library would not accept, wherever it is set */
TEST_F(test_run_options, values_are_checked) {
    for (const char *bad : {"HISTORY=17", "HISTORY=8x", "HISTORY=4294967304",
                            "HISTORY=-4294967288", "HISTORY=auto",
                            "MAX_PINNED=17592186044422M", "MAX_PINNED=1=2",
                            "KNOWN_REGIONS=4294967312", "DQ_SIZE=1000"}) {
        const std::string variable = std::string("UCX_RCACHE_PRED_") + bad;
        const size_t equals        = variable.find('=');
        const std::string name     = variable.substr(0, equals);

        EXPECT_EQ(PREDREG_EXIT_USAGE,
                  parse({std::string("--set=") + bad, "prog"}));
        EXPECT_EQ(0u, log_watch::take().find(variable + " is not accepted; "
                                             "accepted: "));

        setenv(name.c_str(), variable.substr(equals + 1).c_str(), 1);
        EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"prog"}));
        EXPECT_EQ(0u, log_watch::take().find(variable + " is not accepted; "
                                             "accepted: "));
        unsetenv(name.c_str());
    }
    setenv("UCX_RCACHE_PRED_DQ_SIZE", "1000", 1);
    EXPECT_EQ(0, parse({"--set=DQ_SIZE=1024", "prog"}));
}

/* Jobs that set them are to run */
TEST_F(test_run_options, gone_knobs_have_no_effect) {
    EXPECT_EQ(0, parse({"--set=PROFILE=app.profile", "prog"}));
    EXPECT_EQ("ucx_predreg: --set: PROFILE has no effect: there is no such knob "
              "any more\n", m_errors);

    setenv("UCX_RCACHE_PRED_PEERS", "y", 1);
    EXPECT_EQ(0, parse({"prog"}));
    EXPECT_EQ("", m_errors);
    unsetenv("UCX_RCACHE_PRED_PEERS");
}

TEST_F(test_run_options, library) {
    EXPECT_EQ(0, parse({"--library", "/x/y.so", "prog"}));
    EXPECT_STREQ("/x/y.so", m_opts.library);
}

TEST_F(test_run_options, of_record) {
    expect_refused({"--force", "prog"}, "run --help lists what is accepted");
    m_records = 1;
    EXPECT_EQ(0, parse({"-o", path("folder"), "prog"})) << m_errors;
    EXPECT_EQ(path("folder"), variable("UCX_RCACHE_PRED_TRACE"));
    EXPECT_TRUE(m_opts.is_new_folder);
    EXPECT_FALSE(m_opts.force);
    EXPECT_EQ(0, parse({"--force", "--folder", path("folder"), "prog"}));
    EXPECT_FALSE(m_opts.is_new_folder);
    EXPECT_TRUE(m_opts.force);
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"-o", path("no/folder"), "prog"}));
}

TEST_F(test_run_options, option_that_is_a_knob) {
    for (const char *option : {"--max-pinned=1g", "--MAX_PINNED",
                               "--max-pinned"}) {
        expect_refused({option, "1g", "prog"}, "ucx_predreg: MAX_PINNED is a "
                       "knob; accepted: --set MAX_PINNED=VALUE\n");
    }
    for (const char *option : {"--max-pined=1g", "-x", "--=1"}) {
        expect_refused({option, "prog"}, "run --help lists what is accepted");
        EXPECT_FALSE(contains(m_errors, "knob")) << option;
    }
}

TEST_F(test_run_options, bad_arguments) {
    expect_refused({}, "no command to run; accepted: ucx_predreg run");
    expect_refused({"--policy=predict"}, "no command to run");
    expect_refused({"--wrong", "prog"}, "run --help lists what is accepted");
}


class test_environment : public command_test {
};

TEST_F(test_environment, vars) {
    setenv("UCX_RCACHE_PRED_WINDOW", "3", 1);
    setenv("UCX_TLS", "rc", 1);
    setenv("MY_UCX_RCACHE_PRED_WINDOW", "3", 1);
    setenv("LD_PRELOAD", "/a.so", 1);

    char **vars = predreg_env_vars("/l/b.so");
    std::vector<std::string> found = strings_of(vars);

    ASSERT_LE(2u, found.size());
    EXPECT_EQ("LD_PRELOAD=/l/b.so:/a.so", found[0]);
    EXPECT_EQ(1, std::count(found.begin(), found.end(),
                            "UCX_RCACHE_PRED_WINDOW=3"));
    for (size_t i = 1; i < found.size(); ++i) {
        EXPECT_EQ(0u, found[i].find("UCX_RCACHE_PRED_"));
    }
    for (char **var = vars; *var != NULL; ++var) {
        free(*var);
    }
    free(vars);
}

TEST_F(test_environment, unset_knobs) {
    for (const char *name : {"UCX_RCACHE_PRED_A", "UCX_RCACHE_PRED_B",
                             "UCX_RCACHE_PRED_C", "UCX_RCACHE_PREDICT"}) {
        setenv(name, "1", 1);
    }
    predreg_env_unset_knobs();
    EXPECT_EQ("-", variable("UCX_RCACHE_PRED_A"));
    EXPECT_EQ("-", variable("UCX_RCACHE_PRED_B"));
    EXPECT_EQ("-", variable("UCX_RCACHE_PRED_C"));
    EXPECT_EQ("1", variable("UCX_RCACHE_PREDICT"));
}

TEST_F(test_environment, path) {
    EXPECT_EQ(0, predreg_env_set_path("-o", "PATH_OF_TEST", "/x/../y"));
    EXPECT_EQ("/x/../y", variable("PATH_OF_TEST"));

    std::filesystem::current_path(make_folder("here"));
    EXPECT_EQ(0, predreg_env_set_path("-o", "PATH_OF_TEST", "traces"));
    EXPECT_EQ(path("here/traces"), variable("PATH_OF_TEST"));

    std::filesystem::remove(path("here"));
    EXPECT_EQ(PREDREG_EXIT_USAGE, capture([] {
        return predreg_env_set_path("-o", "PATH_OF_TEST", "traces");
    }));
    EXPECT_TRUE(contains(m_errors, "-o: the present folder is unknown"));
}
