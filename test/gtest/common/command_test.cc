/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "command_test.h"
#include "child.h"

#include <sys/stat.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

/* Writes down which lines were run, in a build that counts them */
extern "C" void __gcov_dump(void) __attribute__((weak));


string_vector::string_vector(std::initializer_list<std::string> strings) :
    m_strings(strings)
{
    point();
}

string_vector::string_vector(const std::vector<std::string> &strings) :
    m_strings(strings)
{
    point();
}

void string_vector::point()
{
    for (std::string &string : m_strings) {
        m_pointers.push_back(&string[0]);
    }
    m_pointers.push_back(NULL);
}

std::vector<std::string> strings_of(char *const *vector)
{
    std::vector<std::string> strings;

    for (; *vector != NULL; ++vector) {
        strings.push_back(*vector);
    }
    return strings;
}

command_test::command_test() :
    m_old_folder(std::filesystem::current_path()),
    m_environment(strings_of(environ))
{
    std::string name = ::testing::TempDir() + "/predreg-XXXXXX";

    if (mkdtemp(&name[0]) == NULL) {
        throw std::runtime_error("mkdtemp failed");
    }
    m_folder = std::filesystem::canonical(name);

    for (const char *variable : {"LD_PRELOAD", "SLURM_EXPORT_ENV",
                                 "UCX_RCACHE_PRED_POLICY",
                                 "UCX_RCACHE_PRED_SUMMARY",
                                 "UCX_RCACHE_PRED_TRACE"}) {
        unsetenv(variable);
    }
}

command_test::~command_test()
{
    std::filesystem::current_path(m_old_folder);
    std::filesystem::remove_all(m_folder);
    clearenv();
    for (const std::string &variable : m_environment) {
        size_t equals = variable.find('=');

        setenv(variable.substr(0, equals).c_str(),
               variable.substr(equals + 1).c_str(), 1);
    }
}

std::string command_test::path(const std::string &name) const
{
    return m_folder + "/" + name;
}

std::string command_test::make_file(const std::string &name,
                                    const std::string &content, int mode)
{
    std::string file = path(name);

    std::ofstream(file) << content;
    chmod(file.c_str(), mode);
    return file;
}

std::string command_test::make_folder(const std::string &name)
{
    std::filesystem::create_directories(path(name));
    return path(name);
}

std::string command_test::library_content(const std::string &name)
{
    std::string content = "\177ELF...";

    content.push_back('\0');
    content += name;
    content.push_back('\0');
    return content;
}

std::string command_test::make_link(const std::string &name,
                                    const std::string &target)
{
    std::filesystem::create_symlink(target, path(name));
    return path(name);
}

bool command_test::exists(const std::string &name) const
{
    return std::filesystem::exists(std::filesystem::symlink_status(path(name)));
}

std::string command_test::read(const std::string &name) const
{
    std::stringstream content;

    content << std::ifstream(path(name)).rdbuf();
    return content.str();
}

std::string command_test::make_job(const std::string &name, unsigned num_ranks)
{
    make_folder(name);
    for (unsigned rank = 0; rank < num_ranks; ++rank) {
        std::stringstream trace;

        trace << "ucx_predreg trace 1\nmeta rank " << rank << "\n";
        for (unsigned i = 1; i <= 5; ++i) {
            trace << "begin " << i << ".0 0x1000" << rank << "0 8192 id=1 "
                  << "result=miss duration=1000ns caller=0x10 stack=0x20\n"
                  << "end " << i << ".5 id=1\n";
        }
        make_file(name + "/" + std::to_string(rank) + ".trace", trace.str());
    }
    return path(name);
}

int command_test::call(int (*command)(int argc, char **argv),
                       const std::vector<std::string> &args)
{
    std::vector<std::string> all = {"ucx_predreg test"};

    all.insert(all.end(), args.begin(), args.end());
    string_vector vector(all);
    optind = 0; /* Makes getopt() begin anew */
    return capture([&] { return command(vector.count(), vector.get()); });
}

/* What is left to do before a child ends by _exit(). It does not end by exit():
 * a command that cannot become another program leaves what it has allocated to
 * the end of its process, and the leak checker would complain of that. */
static int end_child(int status)
{
    fflush(NULL);
    if (__gcov_dump != NULL) {
        __gcov_dump();
    }
    return status;
}

int command_test::call_in_child(int (*command)(int argc, char **argv),
                                const std::vector<std::string> &args)
{
    std::vector<std::string> all = {"ucx_predreg test"};
    std::string output           = make_file("output");
    std::string errors           = make_file("errors");

    all.insert(all.end(), args.begin(), args.end());
    string_vector vector(all);
    child process([&]() -> int {
        dup2(open(output.c_str(), O_WRONLY), STDOUT_FILENO);
        dup2(open(errors.c_str(), O_WRONLY), STDERR_FILENO);
        optind = 0;
        return end_child(command(vector.count(), vector.get()));
    });

    int status = process.reap();

    m_output = read("output");
    m_errors = read("errors");
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

std::string command_test::variable(const char *name)
{
    const char *value = getenv(name);

    return (value == NULL) ? "-" : value;
}

bool command_test::contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}
