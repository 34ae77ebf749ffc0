/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/message.h>
#include <tools/predreg/info/options.h>
}

class test_info_options : public command_test {
protected:
    int parse(const std::vector<std::string> &args)
    {
        std::vector<std::string> all = {"ucx_predreg info"};

        all.insert(all.end(), args.begin(), args.end());
        string_vector vector(all);
        optind     = 0;
        int status = capture([&] {
            return predreg_info_parse(vector.count(), vector.get(), &m_opts);
        });
        m_command = (status == 0) ? strings_of((char**)m_opts.command) :
                                    std::vector<std::string>();
        m_library = (m_opts.library == NULL) ? "-" : m_opts.library;
        return status;
    }

    static unsigned processes(const std::vector<std::string> &args)
    {
        string_vector vector(args);
        return predreg_info_processes(vector.get());
    }

    static bool chooses_pml(const std::vector<std::string> &args)
    {
        string_vector vector(args);
        return predreg_info_chooses_pml(vector.get());
    }

    predreg_info_opts_t      m_opts = {};
    /* Copies: the arguments are gone when parse() has returned */
    std::vector<std::string> m_command;
    std::string              m_library;
};

TEST_F(test_info_options, none) {
    EXPECT_EQ(0, parse({}));
    EXPECT_FALSE(m_opts.json);
    EXPECT_EQ("-", m_library);
    EXPECT_TRUE(m_command.empty());
}

TEST_F(test_info_options, command) {
    using strings = std::vector<std::string>;

    EXPECT_EQ(0, parse({"--json", "mpirun", "--json", "-np", "2"}));
    EXPECT_TRUE(m_opts.json);
    EXPECT_EQ(strings({"mpirun", "--json", "-np", "2"}), m_command);

    EXPECT_EQ(0, parse({"--library", "/x", "--", "--json"}));
    EXPECT_FALSE(m_opts.json);
    EXPECT_EQ("/x", m_library);
    EXPECT_EQ(strings({"--json"}), m_command);
}

/* Whether the value is good is told later, as what is wrong in the environment */
TEST_F(test_info_options, set) {
    EXPECT_EQ(0, parse({"--set", "window=many"}));
    EXPECT_EQ("many", variable("UCX_RCACHE_PRED_WINDOW"));
}

TEST_F(test_info_options, refused) {
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"--set", "WINDOW"}));
    EXPECT_TRUE(contains(m_errors, "--set: 'WINDOW'; accepted: KNOB=VALUE"));
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"--xml"}));
    EXPECT_TRUE(contains(m_errors, "info --help lists what is accepted"));
}

TEST_F(test_info_options, processes) {
    EXPECT_EQ(1u, processes({}));
    EXPECT_EQ(1u, processes({"mpirun"}));
    EXPECT_EQ(4u, processes({"mpirun", "-x", "A", "-np", "4", "prog"}));
    EXPECT_EQ(4u, processes({"/usr/bin/srun", "-n", "4", "prog"}));
    EXPECT_EQ(1u, processes({"mpirun", "-np"}));
    EXPECT_EQ(1u, processes({"mpirun", "-np", "x"}));
    /* These are the arguments of a program */
    EXPECT_EQ(1u, processes({"prog", "-np", "4"}));
}

TEST_F(test_info_options, chooses_pml) {
    EXPECT_FALSE(chooses_pml({}));
    EXPECT_FALSE(chooses_pml({"mpirun", "-np", "4", "prog"}));
    EXPECT_TRUE(chooses_pml({"mpirun", "--mca", "pml", "ucx", "prog"}));
    EXPECT_TRUE(chooses_pml({"oshrun", "--mca", "spml", "ucx", "prog"}));
}
