/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_COMMAND_TEST_H_
#define PREDREG_GTEST_COMMAND_TEST_H_

#include "log_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>


/* A vector of strings up to a NULL, as C has them */
class string_vector {
public:
    string_vector(std::initializer_list<std::string> strings);
    explicit string_vector(const std::vector<std::string> &strings);

    int count() const { return m_strings.size(); }
    char **get() { return m_pointers.data(); }

private:
    void point();

    std::vector<std::string> m_strings;
    std::vector<char*>       m_pointers;
};

/* The strings of a vector up to a NULL */
std::vector<std::string> strings_of(char *const *vector);


/* A test in an empty folder, whose changes of the environment are undone */
class command_test : public ::testing::Test {
protected:
    command_test();
    ~command_test();

    /* A file or folder in the folder of this test */
    std::string path(const std::string &name) const;
    std::string make_file(const std::string &name,
                          const std::string &content = "", int mode = 0644);
    std::string make_folder(const std::string &name);
    /* What a file has to have in it to be taken for a library of this name */
    static std::string library_content(
            const std::string &name = "libuct_predreg.so");
    std::string make_link(const std::string &name, const std::string &target);
    bool exists(const std::string &name) const;
    std::string read(const std::string &name) const;

    /* A folder of traces of a job, named after their ranks. @return its path */
    std::string make_job(const std::string &name, unsigned num_ranks);

    /* What is printed while func() runs goes to m_output and m_errors, where it
     * returns */
    template <typename F> auto capture(F func)
    {
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        auto result = func();
        m_output    = ::testing::internal::GetCapturedStdout();
        m_errors    = ::testing::internal::GetCapturedStderr();
        return result;
    }

    /* Call a function as main() calls a sub-command. @return what it does */
    int call(int (*command)(int argc, char **argv),
             const std::vector<std::string> &args);

    /* The same in a process of its own, which may end, or become another
     * program. @return its exit status */
    int call_in_child(int (*command)(int argc, char **argv),
                      const std::vector<std::string> &args);

    /* The variable of the environment, or "-" if it is not set */
    static std::string variable(const char *name);

    static bool contains(const std::string &text, const std::string &part);

    std::string m_output;
    std::string m_errors;

private:
    std::string              m_folder;
    std::string              m_old_folder;
    std::vector<std::string> m_environment;
};

#endif
