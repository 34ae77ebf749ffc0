/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/calibrate/calibrate.h>
#include <tools/predreg/calibrate/output.h>
#include <tools/predreg/calibrate/table.h>
#include <tools/predreg/common/message.h>
#include <tools/predreg/info/probe.h>
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
        predreg_probe_cleanup(&m_facts.asked);
        predreg_probe_cleanup(&m_facts.rehearsal);
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

    /* As if the library managed memory */
    void managed()
    {
        m_facts.is_rehearsed      = 1;
        m_facts.rehearsal.printed = strdup("predict, uses 0");
    }

    static void read(std::string lines, predreg_probe_t *probe)
    {
        predreg_probe_read(&lines[0], probe);
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
    EXPECT_EQ(1, calibrate({"--set", "COMPONENTS=none"}));
    EXPECT_TRUE(contains(m_errors, "no memory domain of UCX is managed here"))
            << m_errors;
    EXPECT_TRUE(contains(m_output, "tcp: not managed: its transports do not "
                                   "need registrations\n")) << m_output;
    EXPECT_FALSE(contains(m_output, "break-even,")) << m_output;

    EXPECT_EQ(1, calibrate({"--json", "--set", "COMPONENTS=none"}));
    EXPECT_EQ(0u, m_output.find("{\"fraction\":25,\"ucx\":\"1."));
    EXPECT_EQ(m_output.size() - 1, m_output.find('\n'));
    EXPECT_TRUE(contains(m_output, ",\"ucp\":null,\"domains\":[{\"component\":"))
            << m_output;
}

TEST_F(test_calibrate_command, what_was_measured) {
    read("version 1 18 1\ndomain tcp tcp 1 0\ndomain ib mlx5_0 1 1\n"
         "small " + costs(10) + "\ndomain ib mlx5_1 1 1\nnocost small buffers: "
         "no memory\nunopened ib mlx5_2 gone\n", &m_facts.asked);
    read("used mlx5_0\nsmall " + costs(10) + "\n",
         &m_facts.rehearsal);
    managed();
    text();

    /* 4 KB: 320 - 15 ns are saved, 40000 / 305 = 131.1 */
    for (std::string part : {"UCX 1.18.1; a buffer is registered after 25 %",
                             "\n     4096      320.0            40.00"
                             "                132               33\n",
                             "\n      128       10.0            40.00"
                             "              never            never\n",
                             "  It pays from 129 bytes on.\n",
                             "\ntcp: not managed: its transports do not need ",
                             "\nib mlx5_0: managed\n",
                             "\nib mlx5_1: refused: small buffers: no memory\n",
                             "\nib mlx5_2: cannot be opened: gone\n"}) {
        EXPECT_TRUE(contains(m_output, part)) << part << m_output;
    }

    json();
    for (std::string part : {"{\"fraction\":25,\"ucx\":\"1.18.1\",\"ucp\":{"
                             "\"fraction\":25,\"registration_call_us\":"
                             "40.0000,\"registration_page_us\":0.0000,"
                             "\"lookup_ns\":15.000,\"pays_from\":129,"
                             "\"lengths\":[{\"bytes\":128,\"copy_ns\":10.000,"
                             "\"registration_us\":40.0000,\"break_even\":null,"
                             "\"registered_after\":null},",
                             "{\"component\":\"tcp\",\"name\":\"tcp\","
                             "\"managed\":false},",
                             "\"name\":\"mlx5_0\",\"managed\":true,"
                             "\"registration_call_us\":",
                             "\"break_even\":132,\"registered_after\":33}"}) {
        EXPECT_TRUE(contains(m_output, part)) << part << m_output;
    }
}

TEST_F(test_calibrate_command, it_never_pays) {
    read("version 1 13 1\ndomain ib mlx5_0 1 1\nsmall " + costs(0) + "\n",
         &m_facts.asked);
    read("small " + costs(0) + "\n", &m_facts.rehearsal);
    managed();
    text();
    EXPECT_TRUE(contains(m_output, "  It never pays: ")) << m_output;
    EXPECT_FALSE(contains(m_output, "It pays from")) << m_output;
    json();
    EXPECT_TRUE(contains(m_output, "\"pays_from\":null")) << m_output;
}

/* What UCP takes without the library is not what its sends would */
TEST_F(test_calibrate_command, without_the_library) {
    read("small " + costs(10) + "\n", &m_facts.rehearsal);
    m_facts.rehearsal.printed = strdup("stepping aside");
    text();
    EXPECT_FALSE(contains(m_output, "UCP, with")) << m_output;
    json();
    EXPECT_TRUE(contains(m_output, "\"ucp\":null")) << m_output;
}

/* A probe that was damaged on its way is not believed */
TEST_F(test_calibrate_command, damaged_costs) {
    read("small 1 2 3\ndomain ib mlx5_0 1 1\nsmall nan\n", &m_facts.asked);
    EXPECT_FALSE(m_facts.asked.has_small);
    EXPECT_FALSE(m_facts.asked.domains[0].has_small);
}

TEST_F(test_calibrate_command, table) {
    predreg_calibrate_row_t rows[PREDREG_CALIBRATE_ROWS];
    ucs_reuse_costs_t costs = {40000, 0, 15, {}};

    for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs.copy[i] = i; /* 15 ns are gained upon first by class 16 */
    }
    EXPECT_EQ(16u * UCS_REUSE_STEP + 1, predreg_calibrate_pays_from(&costs));
    predreg_calibrate_table(&costs, 1, rows);
    EXPECT_EQ(128u, rows[0].bytes);
    EXPECT_EQ(8192u, rows[PREDREG_CALIBRATE_ROWS - 1].bytes);
    for (const auto &row : rows) {
        EXPECT_EQ(row.break_even, row.after);
        EXPECT_EQ(row.bytes < predreg_calibrate_pays_from(&costs),
                  row.break_even == UCS_REUSE_NEVER);
    }

    costs.lookup = 63;
    EXPECT_EQ(0u, predreg_calibrate_pays_from(&costs));
}
