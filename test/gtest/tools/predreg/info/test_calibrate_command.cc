/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>
#include <common/sanitizer.h>

extern "C" {
#include <tools/predreg/info/info.h>
#include <tools/predreg/common/command.h>
}

#include <getopt.h>

/* The sub-command as it was built, and what it prints of facts that are made
 * up. With domains to measure it is run by test/info.sh. */
class test_calibrate_command : public command_test {
protected:
    test_calibrate_command()
    {
        m_facts.knobs.eager_fraction   = 25;
        m_facts.knobs.components.names = &m_component;
        m_facts.knobs.components.count = 1;
    }

    ~test_calibrate_command()
    {
        predreg_probe_cleanup(&m_facts.probe);
    }

    int calibrate(const std::vector<std::string> &args)
    {
        return call(from_build, args);
    }

    /* A registration of 40 us, and copies of so many nanoseconds a class */
    static std::string costs(unsigned nsec)
    {
        std::string text = "40000000 0 15000";

        for (unsigned i = 1; i <= UCS_REUSE_NUM_CLASSES; ++i) {
            text += " " + std::to_string(1000 * nsec * i);
        }
        return text;
    }

    void read(std::string lines)
    {
        predreg_probe_read(&lines[0], &m_facts.probe);
    }

    void text()
    {
        capture([this]() {
            predreg_calibrate_print_text(&m_facts);
            return 0;
        });
    }

    void json()
    {
        capture([this]() {
            predreg_calibrate_print_json(&m_facts);
            return 0;
        });
    }

    predreg_facts_t m_facts = {};

private:
    static int from_build(int argc, char **argv)
    {
        optind = 0;
        return predreg_calibrate_from(TEST_TOP_BUILDDIR "/src/tools/predreg",
                                      argc, argv);
    }

    char m_name[3]    = "ib";
    char *m_component = m_name;
};

TEST_F(test_calibrate_command, arguments) {
    EXPECT_EQ(PREDREG_EXIT_USAGE, calibrate({"--remeasure"}));
    EXPECT_TRUE(contains(m_errors, "calibrate --help lists what is accepted"))
            << m_errors;
    EXPECT_EQ(PREDREG_EXIT_NOT_FOUND, calibrate({"nonesuch"}));
    EXPECT_TRUE(contains(m_errors, "'nonesuch' was not found")) << m_errors;
    EXPECT_EQ(PREDREG_EXIT_USAGE, calibrate({"--set", "EAGR=y"}));
    EXPECT_TRUE(contains(m_errors, "no knob 'EAGR', the nearest is EAGER"))
            << m_errors;
    EXPECT_EQ("", m_output);
}

/* Whatever there is here, a component that there is not has no domains */
TEST_F(test_calibrate_command, nothing_to_calibrate) {
    if (ADDRESS_SANITIZER) {
        GTEST_SKIP() << "the library cannot be preloaded into the probe";
    }

    EXPECT_EQ(1, calibrate({"--set", "COMPONENTS=none"}));
    EXPECT_TRUE(contains(m_errors, "UCX has no memory domain of none here"))
            << m_errors;
    EXPECT_TRUE(contains(m_output, "tcp: not managed: its transports do not "
                                   "need registrations\n")) << m_output;
    EXPECT_FALSE(contains(m_output, "break-even,")) << m_output;

    EXPECT_EQ(1, calibrate({"--json", "--set", "COMPONENTS=none"}));
    EXPECT_EQ(0u, m_output.find("{\"type\":\"calibrate\",\"fraction\":25,\"ucx\":\"1."));
    EXPECT_EQ(m_output.size() - 1, m_output.find('\n'));
    EXPECT_TRUE(contains(m_output, ",\"ucp\":null,\"domains\":[{\"component\":"))
            << m_output;
}

TEST_F(test_calibrate_command, what_was_measured) {
    read("version 1 18 1\ndomain tcp tcp 1 0\ndomain ib mlx5_0 1 1\n"
         "cost 4096 30000 10000 21\ncost 1048576 30000 10000 21\n"
         "domain ib mlx5_1 1 1\nnocost 4096 bytes: no memory\nunopened ib mlx5_2 gone\n"
         "started\nstatus\npolicy predict\nmanaged mlx5_0\nsmall " + costs(10) + "\n");
    text();

    /* 4 KB: 320 - 15 ns are saved, 40000 / 305 = 131.1 */
    for (std::string part : {"UCX 1.18.1; a buffer is registered after 25 %",
                             "\n     4096      320.0            40.00"
                             "                132               33\n",
                             "\n      128       10.0            40.00"
                             "              never            never\n",
                             "  It pays from 129 bytes on.\n",
                             "\ntcp: not managed: its transports do not need ",
                             "\nib mlx5_0: managed\n  registration     40.00 us + 0.000",
                             "\nib mlx5_1: refused: 4096 bytes: no memory\n",
                             "\nib mlx5_2: cannot be opened: gone\n"}) {
        EXPECT_TRUE(contains(m_output, part)) << part << m_output;
    }

    json();
    for (std::string part : {"{\"type\":\"calibrate\",\"fraction\":25,\"ucx\":\"1.18.1\",\"ucp\":{"
                             "\"registration_call_us\":"
                             "40.0000,\"registration_page_us\":0.0000,"
                             "\"lookup_ns\":15.000,\"pays_from\":129,"
                             "\"lengths\":[{\"bytes\":128,\"copy_ns\":10.000,"
                             "\"registration_us\":40.0000,\"break_even\":null,"
                             "\"registered_after\":null},",
                             "{\"component\":\"tcp\",\"name\":\"tcp\","
                             "\"managed\":false},",
                             "\"name\":\"mlx5_0\",\"managed\":true,"
                             "\"registration_call_us\":40.0000,",
                             "\"break_even\":132,\"registered_after\":33}"}) {
        EXPECT_TRUE(contains(m_output, part)) << part << m_output;
    }
}

TEST_F(test_calibrate_command, it_never_pays) {
    read("version 1 13 1\ndomain ib mlx5_0 1 1\nstarted\nstatus\npolicy predict\n"
         "managed mlx5_0\nsmall " + costs(0) + "\n");
    text();
    EXPECT_TRUE(contains(m_output, "  It never pays: ")) << m_output;
    EXPECT_FALSE(contains(m_output, "It pays from")) << m_output;
    json();
    EXPECT_TRUE(contains(m_output, "\"pays_from\":null")) << m_output;
}

/* What UCP takes without the library is not what its sends would */
TEST_F(test_calibrate_command, aside) {
    read("started\nstatus\naside CACHE_ON\nwhy x\nsmall " + costs(10) + "\n");
    text();
    EXPECT_FALSE(contains(m_output, "UCP, with")) << m_output;
    json();
    EXPECT_TRUE(contains(m_output, "\"ucp\":null")) << m_output;
}

TEST_F(test_calibrate_command, pays_from) {
    ucs_reuse_costs_t costs = {40000, 0, 15, {}};

    for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs.copy[i] = i; /* 15 ns are gained upon first by class 16 */
    }
    EXPECT_EQ(16u * UCS_REUSE_STEP + 1, predreg_calibrate_pays_from(&costs));
    costs.lookup = 63;
    EXPECT_EQ(0u, predreg_calibrate_pays_from(&costs));
}
