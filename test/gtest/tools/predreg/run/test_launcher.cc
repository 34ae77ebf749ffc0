/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

#include <set>

extern "C" {
#include <tools/predreg/run/run.h>
}

typedef std::vector<std::string> strings;

namespace {

/* The strings that were made for arguments live until the program becomes
 * another one. The set is never destroyed: at the exit of this program, or of a
 * child of it, the leak checker has to find what it holds. */
std::set<char*> &kept = *new std::set<char*>;

class test_launcher : public ::testing::Test {
protected:
    /* What a command is started with, so that ranks get the variables */
    static strings args(predreg_launcher_t kind, const strings &command,
                        const strings &vars = {"LD_PRELOAD=/l/ours.so",
                                               "KNOB=1"})
    {
        static std::vector<string_vector> alive;
        string_vector *argv, *variables;
        char **result;

        alive.reserve(1000); /* Pointers to elements stay valid */
        alive.emplace_back(command);
        argv = &alive.back();
        alive.emplace_back(vars);
        variables = &alive.back();

        result = predreg_launcher_args(kind, argv->get(), variables->get());
        EXPECT_TRUE(result != NULL);

        strings copy = strings_of(result);
        for (char **arg = result; *arg != NULL; ++arg) {
            kept.insert(*arg);
        }
        free(result);
        return copy;
    }

    static int preloads(predreg_launcher_t kind, const strings &command)
    {
        return predreg_launcher_preloads(kind, string_vector(command).get());
    }

    static std::string own(char *string)
    {
        std::string copy = string;

        free(string);
        return copy;
    }

    static std::string exported(const std::string &value, const strings &vars)
    {
        return own(predreg_slurm_export(value.c_str(),
                                        string_vector(vars).get()));
    }
};

} // namespace

TEST_F(test_launcher, known_by_name) {
    EXPECT_EQ(PREDREG_LAUNCHER_SRUN, predreg_launcher_by_name("srun"));
    EXPECT_EQ(PREDREG_LAUNCHER_SRUN, predreg_launcher_by_name("/usr/bin/srun"));
    for (const char *name :
         {"mpirun", "mpiexec", "orterun", "prterun", "oshrun", "shmemrun",
          "/usr/bin/mpirun", "mpirun.openmpi", "mpiexec.hydra",
          "mpirun-mpich", "mpirun_rsh", "./mpiexec"}) {
        EXPECT_EQ(PREDREG_LAUNCHER_ASK, predreg_launcher_by_name(name)) << name;
    }
    for (const char *name :
         {"", "sh", "srun2", "srun.old", "mpirunner", "xmpirun", "mpi",
          "mpirun/", "mpirun/a.out"}) {
        EXPECT_EQ(PREDREG_LAUNCHER_NONE, predreg_launcher_by_name(name))
                << name;
    }
}

TEST_F(test_launcher, known_by_version) {
    for (const char *text :
         {"mpirun (Open MPI) 4.1.4\n", "mpirun (OpenRTE) 3.0", "Open RTE 1",
          "prterun (PRTE) 3.0", "PMIx Reference RTE"}) {
        EXPECT_EQ(PREDREG_LAUNCHER_OPENMPI, predreg_launcher_by_version(text))
                << text;
    }
    EXPECT_EQ(PREDREG_LAUNCHER_HYDRA,
              predreg_launcher_by_version("HYDRA build details:\n"));
    EXPECT_EQ(PREDREG_LAUNCHER_NONE, predreg_launcher_by_version(""));
    EXPECT_EQ(PREDREG_LAUNCHER_NONE,
              predreg_launcher_by_version("Intel(R) MPI Library"));
}

TEST_F(test_launcher, whether_it_preloads_by_its_environment) {
    EXPECT_TRUE(preloads(PREDREG_LAUNCHER_NONE, {"sh"}));
    EXPECT_TRUE(preloads(PREDREG_LAUNCHER_SRUN, {"srun", "a.out"}));
    EXPECT_FALSE(preloads(PREDREG_LAUNCHER_HYDRA, {"mpiexec", "a.out"}));
    EXPECT_FALSE(preloads(PREDREG_LAUNCHER_OPENMPI, {"mpirun", "a.out"}));
    EXPECT_TRUE(preloads(PREDREG_LAUNCHER_OPENMPI, {"mpirun", "--app", "f"}));
    EXPECT_TRUE(preloads(PREDREG_LAUNCHER_OPENMPI, {"mpirun", "-app", "f"}));
    EXPECT_FALSE(preloads(PREDREG_LAUNCHER_OPENMPI, {"--app", "a.out"}));
}

TEST_F(test_launcher, program_is_left_alone) {
    EXPECT_EQ(strings({"prog", "-x", "LD_PRELOAD=/u.so", ":"}),
              args(PREDREG_LAUNCHER_NONE,
                   {"prog", "-x", "LD_PRELOAD=/u.so", ":"}));
}

TEST_F(test_launcher, openmpi_sets_all) {
    EXPECT_EQ(strings({"mpirun", "-x", "LD_PRELOAD=/l/ours.so", "-x", "KNOB=1",
                       "-n", "2", "a.out"}),
              args(PREDREG_LAUNCHER_OPENMPI, {"mpirun", "-n", "2", "a.out"}));
}

TEST_F(test_launcher, openmpi_each_program) {
    EXPECT_EQ(strings({"mpirun", "-x", "LD_PRELOAD=/l/ours.so", "-x", "KNOB=1",
                       "a", ":", "-x", "LD_PRELOAD=/l/ours.so", "-x", "KNOB=2",
                       "b"}),
              args(PREDREG_LAUNCHER_OPENMPI,
                   {"mpirun", "a", ":", "-x", "KNOB=2", "b"}));
}

TEST_F(test_launcher, openmpi_user_comes_first) {
    EXPECT_EQ(strings({"mpirun", "-x", "KNOB=1", "-x",
                       "LD_PRELOAD=/l/ours.so:/u.so", "a"}),
              args(PREDREG_LAUNCHER_OPENMPI,
                   {"mpirun", "-x", "LD_PRELOAD=/u.so", "a"}));
    EXPECT_EQ(strings({"mpirun", "-x", "LD_PRELOAD=/l/ours.so", "-x", "KNOB=9",
                       "a"}),
              args(PREDREG_LAUNCHER_OPENMPI,
                   {"mpirun", "-x", "KNOB=9", "a"}));
    /* A name alone exports what is in the environment */
    EXPECT_EQ(strings({"mpirun", "-x", "KNOB=1", "-x", "LD_PRELOAD=/l/ours.so",
                       "a"}),
              args(PREDREG_LAUNCHER_OPENMPI,
                   {"mpirun", "-x", "LD_PRELOAD", "a"}));
}

/* All of these are accepted: the first two by 4.1, all by 5.0 */
TEST_F(test_launcher, openmpi_x_in_each_way_that_it_is_written) {
    for (const char *option : {"-x", "--x"}) {
        EXPECT_EQ(strings({"mpirun", "-x", "KNOB=1", option,
                           "LD_PRELOAD=/l/ours.so:/u.so", "a"}),
                  args(PREDREG_LAUNCHER_OPENMPI,
                       {"mpirun", option, "LD_PRELOAD=/u.so", "a"}));
    }
    for (const std::string option : {"-x=", "--x="}) {
        EXPECT_EQ(strings({"mpirun", "-x", "KNOB=1",
                           option + "LD_PRELOAD=/l/ours.so:/u.so", "a"}),
                  args(PREDREG_LAUNCHER_OPENMPI,
                       {"mpirun", option + "LD_PRELOAD=/u.so", "a"}));
        EXPECT_EQ(strings({"mpirun", option + "KNOB",
                           option + "LD_PRELOAD=/l/ours.so", "a"}),
                  args(PREDREG_LAUNCHER_OPENMPI,
                       {"mpirun", option + "KNOB", option + "LD_PRELOAD",
                        "a"}));
    }

    const strings other = {"-X", "LD_PRELOAD=/u.so", "-xy", "LD_PRELOAD=/u.so",
                           "---x", "LD_PRELOAD=/u.so", "x", "LD_PRELOAD=/u.so"};
    strings command     = {"mpirun"};
    strings result      = {"mpirun", "-x", "LD_PRELOAD=/l/ours.so", "-x",
                           "KNOB=1"};

    command.insert(command.end(), other.begin(), other.end());
    result.insert(result.end(), other.begin(), other.end());
    EXPECT_EQ(result, args(PREDREG_LAUNCHER_OPENMPI, command));
}

/* Open MPI 4.1 refuses -x beside its list of variables */
TEST_F(test_launcher, openmpi_list_of_variables) {
    for (const char *option : {"-mca", "--mca", "--gmca"}) {
        EXPECT_EQ(strings({"mpirun", option, "mca_base_env_list",
                           "A=1;LD_PRELOAD=/l/ours.so:/u.so;KNOB=1", "a"}),
                  args(PREDREG_LAUNCHER_OPENMPI,
                       {"mpirun", option, "mca_base_env_list",
                        "A=1;LD_PRELOAD=/u.so", "a"}));
    }

    EXPECT_EQ(strings({"mpirun", "--mca", "mca_base_env_list",
                       "KNOB=9;LD_PRELOAD=/l/ours.so", "a"}),
              args(PREDREG_LAUNCHER_OPENMPI,
                   {"mpirun", "--mca", "mca_base_env_list", "KNOB=9", "a"}));
}

TEST_F(test_launcher, openmpi_list_of_variables_in_the_environment) {
    setenv("OMPI_MCA_mca_base_env_list", "A", 1);
    EXPECT_EQ(strings({"mpirun", "--mca", "mca_base_env_list",
                       "A;LD_PRELOAD=/l/ours.so;KNOB=1", "a"}),
              args(PREDREG_LAUNCHER_OPENMPI, {"mpirun", "a"}));
    unsetenv("OMPI_MCA_mca_base_env_list");
}

TEST_F(test_launcher, openmpi_x_at_the_end) {
    EXPECT_EQ(strings({"mpirun", "-x", "LD_PRELOAD=/l/ours.so", "-x", "KNOB=1",
                       "-x"}),
              args(PREDREG_LAUNCHER_OPENMPI, {"mpirun", "-x"}));
}

TEST_F(test_launcher, openmpi_many_programs_have_room) {
    strings command = {"mpirun"};

    command.insert(command.end(), 100, ":");
    EXPECT_EQ(1 + 100 + 101 * 4,
              (int)args(PREDREG_LAUNCHER_OPENMPI, command).size());
}

TEST_F(test_launcher, hydra_sets_all) {
    EXPECT_EQ(strings({"mpiexec", "-genv", "LD_PRELOAD", "/l/ours.so", "-genv",
                       "KNOB", "1", "-n", "2", "a"}),
              args(PREDREG_LAUNCHER_HYDRA, {"mpiexec", "-n", "2", "a"}));
}

TEST_F(test_launcher, hydra_user_comes_first) {
    EXPECT_EQ(strings({"mpiexec", "-genv", "KNOB", "1", "-genv", "LD_PRELOAD",
                       "/l/ours.so:/u.so", "a"}),
              args(PREDREG_LAUNCHER_HYDRA,
                   {"mpiexec", "-genv", "LD_PRELOAD", "/u.so", "a"}));
    EXPECT_EQ(strings({"mpiexec", "-genv", "LD_PRELOAD", "/l/ours.so", "-genv",
                       "KNOB", "3", "a"}),
              args(PREDREG_LAUNCHER_HYDRA,
                   {"mpiexec", "-genv", "KNOB", "3", "a"}));
    /* -env of one program counts more than -genv */
    EXPECT_EQ(strings({"mpiexec", "-genv", "LD_PRELOAD", "/l/ours.so", "-genv",
                       "KNOB", "1", "-env", "LD_PRELOAD", "/l/ours.so:/u.so",
                       "a"}),
              args(PREDREG_LAUNCHER_HYDRA,
                   {"mpiexec", "-env", "LD_PRELOAD", "/u.so", "a"}));
}

TEST_F(test_launcher, hydra_variables_in_each_way_that_they_are_written) {
    for (const std::string option : {"-genv", "--genv"}) {
        const strings with_library = {
            "mpiexec", "-genv", "KNOB", "1", option,
            "LD_PRELOAD=/l/ours.so:/u.so", "a"
        };

        EXPECT_EQ(with_library,
                  args(PREDREG_LAUNCHER_HYDRA,
                       {"mpiexec", option, "LD_PRELOAD=/u.so", "a"}));
        EXPECT_EQ(strings({"mpiexec", "-genv", "KNOB", "1", option,
                           "LD_PRELOAD", "/l/ours.so:/u.so", "a"}),
                  args(PREDREG_LAUNCHER_HYDRA,
                       {"mpiexec", option, "LD_PRELOAD", "/u.so", "a"}));
        EXPECT_EQ(strings({"mpiexec", "-genv", "KNOB", "1",
                           option + "=LD_PRELOAD", "/l/ours.so:/u.so", "a"}),
                  args(PREDREG_LAUNCHER_HYDRA,
                       {"mpiexec", option + "=LD_PRELOAD", "/u.so", "a"}));
        EXPECT_EQ(strings({"mpiexec", option + "=KNOB=2",
                           option + "=LD_PRELOAD=/l/ours.so:/u.so", "a"}),
                  args(PREDREG_LAUNCHER_HYDRA,
                       {"mpiexec", option + "=KNOB=2",
                        option + "=LD_PRELOAD=/u.so", "a"}));
    }

    for (const std::string option : {"-env", "--env"}) {
        EXPECT_EQ(strings({"mpiexec", "-genv", "LD_PRELOAD", "/l/ours.so",
                           "-genv", "KNOB", "1", option,
                           "LD_PRELOAD=/l/ours.so:/u.so", "a"}),
                  args(PREDREG_LAUNCHER_HYDRA,
                       {"mpiexec", option, "LD_PRELOAD=/u.so", "a"}));
    }
}

TEST_F(test_launcher, hydra_option_at_the_end) {
    for (const strings &end : std::vector<strings>{
                 {"-genv"}, {"-env"}, {"-env", "LD_PRELOAD"}, {"-env="}}) {
        strings command = {"mpiexec"};
        strings result  = {"mpiexec", "-genv", "LD_PRELOAD", "/l/ours.so",
                           "-genv", "KNOB", "1"};

        command.insert(command.end(), end.begin(), end.end());
        result.insert(result.end(), end.begin(), end.end());
        EXPECT_EQ(result, args(PREDREG_LAUNCHER_HYDRA, command));
    }
}

TEST_F(test_launcher, slurm_option) {
    EXPECT_EQ(strings({"srun", "-n", "2", "a"}),
              args(PREDREG_LAUNCHER_SRUN, {"srun", "-n", "2", "a"}));
    EXPECT_EQ(strings({"srun", "--export=HOME,LD_PRELOAD,KNOB", "a"}),
              args(PREDREG_LAUNCHER_SRUN, {"srun", "--export=HOME", "a"}));
    EXPECT_EQ(strings({"srun", "--export", "HOME,LD_PRELOAD,KNOB", "a"}),
              args(PREDREG_LAUNCHER_SRUN, {"srun", "--export", "HOME", "a"}));
}

TEST_F(test_launcher, slurm_options_of_the_program_are_its_own) {
    strings command = {"srun", "-n", "2", "a", "--export=HOME"};

    EXPECT_EQ(command, args(PREDREG_LAUNCHER_SRUN, command));
    command = {"srun", "--", "--export=HOME"};
    EXPECT_EQ(command, args(PREDREG_LAUNCHER_SRUN, command));
    command = {"srun", "--ntasks=2", "a", "--export", "HOME"};
    EXPECT_EQ(command, args(PREDREG_LAUNCHER_SRUN, command));
}

TEST_F(test_launcher, slurm_list) {
    const strings vars = {"LD_PRELOAD=/l/ours.so:/e.so", "KNOB=1,2"};

    EXPECT_EQ("LD_PRELOAD,KNOB", exported("", vars));
    EXPECT_EQ("LD_PRELOAD,KNOB", exported("NONE", vars));
    EXPECT_EQ("LD_PRELOAD,KNOB", exported("nil", vars));
    EXPECT_EQ("ALL,LD_PRELOAD,KNOB", exported("ALL", vars));
    EXPECT_EQ("A,B=1,LD_PRELOAD,KNOB", exported("A,B=1", vars));
    /* What the user names stays as it is */
    EXPECT_EQ("KNOB=5,LD_PRELOAD", exported("KNOB=5", vars));
    EXPECT_EQ("KNOBS,LD_PRELOAD,KNOB", exported("KNOBS", vars));
    EXPECT_EQ("MY_KNOB,LD_PRELOAD,KNOB", exported("MY_KNOB", vars));
    EXPECT_EQ("A,LD_PRELOAD,KNOB", exported("A,LD_PRELOAD", vars));
    /* The user's libraries replace those of the environment */
    EXPECT_EQ("A,LD_PRELOAD=/l/ours.so:/u.so,B,KNOB",
              exported("A,LD_PRELOAD=/u.so,B", vars));
    EXPECT_EQ("LD_PRELOAD=/l/ours.so,LD_PRELOAD=/l/ours.so:/u.so,KNOB",
              exported("LD_PRELOAD=,LD_PRELOAD=/u.so", vars));
}

TEST_F(test_launcher, preload_join) {
    EXPECT_EQ("/l/a.so", own(predreg_preload_join("/l/a.so", NULL)));
    EXPECT_EQ("/l/a.so", own(predreg_preload_join("/l/a.so", "")));
    EXPECT_EQ("/l/a.so", own(predreg_preload_join("/l/a.so", " : :")));
    EXPECT_EQ("/l/a.so:/b.so:c.so",
              own(predreg_preload_join("/l/a.so", "/b.so c.so")));
    /* Other files of that name are the same library */
    EXPECT_EQ("/l/a.so:/b.so",
              own(predreg_preload_join("/l/a.so", "/old/a.so:/b.so:a.so")));
    EXPECT_EQ("/l/a.so:/aa.so:a.so.1",
              own(predreg_preload_join("/l/a.so", "/aa.so:a.so.1")));
    EXPECT_EQ("a.so:b.so", own(predreg_preload_join("a.so", "b.so")));
    /* A program refuses to run where a sanitizer is not the first library */
    EXPECT_EQ("/g/libasan.so.8:libtsan.so.2:/l/a.so:/b.so:/libasan/c.so",
              own(predreg_preload_join("/l/a.so",
                                       "/b.so /g/libasan.so.8:/libasan/c.so "
                                       "libtsan.so.2")));
    EXPECT_EQ("libasan.so.8:/l/a.so:/u.so",
              own(predreg_preload_merge("libtsan.so.2:/l/a.so:/b.so",
                                        "/u.so:libasan.so.8")));
}

TEST_F(test_launcher, preload_has_library) {
    for (const char *value :
         {PREDREG_LIBRARY, "/x/" PREDREG_LIBRARY, "a.so:" PREDREG_LIBRARY,
          "a.so " PREDREG_LIBRARY ":b.so",
          "my" PREDREG_LIBRARY ":/y/" PREDREG_LIBRARY}) {
        EXPECT_TRUE(predreg_preload_has_library(value)) << value;
    }
    for (const char *value : {"", "a.so", "my" PREDREG_LIBRARY,
                              PREDREG_LIBRARY ".1", PREDREG_LIBRARY "/a.so"}) {
        EXPECT_FALSE(predreg_preload_has_library(value)) << value;
    }
    EXPECT_FALSE(predreg_preload_has_library(NULL));
}


class test_launcher_version : public command_test {
protected:
    predreg_launcher_t ask(const std::string &script, int timeout = 20000)
    {
        std::string launcher = make_file("mpirun", "#!/bin/sh\n" + script,
                                         0755);

        return capture([&] {
            return predreg_launcher_ask(&launcher[0], timeout);
        });
    }
};

TEST_F(test_launcher_version, is_read) {
    EXPECT_EQ(PREDREG_LAUNCHER_OPENMPI,
              ask("test \"$*\" = --version && echo 'mpirun (Open MPI) 4.1'"));
    EXPECT_EQ(PREDREG_LAUNCHER_HYDRA, ask("echo HYDRA >&2; exit 3"));
    EXPECT_EQ(PREDREG_LAUNCHER_NONE, ask("echo something else"));
    EXPECT_EQ("", m_errors);
}

TEST_F(test_launcher_version, much_text) {
    /* More than what is kept of it, and than what a pipe holds */
    EXPECT_EQ(PREDREG_LAUNCHER_HYDRA,
              ask("echo HYDRA; i=0; while [ $i -lt 3000 ]; do "
                  "echo a line of some forty characters or so; "
                  "i=$((i + 1)); done"));
    EXPECT_EQ("", m_errors);
}

TEST_F(test_launcher_version, takes_too_long) {
    EXPECT_EQ(PREDREG_LAUNCHER_HYDRA, ask("echo HYDRA; sleep 100", 1000));
    EXPECT_TRUE(contains(m_errors, "did not end within 1 s")) << m_errors;
}

TEST_F(test_launcher_version, not_there) {
    char name[] = "/nowhere/mpirun";

    EXPECT_EQ(PREDREG_LAUNCHER_NONE, predreg_launcher_ask(name, 20000));
}
