/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_CORE_TEST_H_
#define PREDREG_GTEST_CORE_TEST_H_

#include "core_access.h"

#include <common/child.h>
#include <common/log_watch.h>

#include <gtest/gtest.h>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

/* Writes down which lines were run, in a build that counts them */
extern "C" void __gcov_dump(void) __attribute__((weak));

/* The exit status of a child that ends by _exit(), which would not count what
 * it ran, and that need not release what it leaves to its parent */
inline int child_status()
{
    if (__gcov_dump != NULL) {
        __gcov_dump();
    }
    return ::testing::Test::HasFailure();
}

/* A core of its own for each test, and a folder for files */
class core_test : public ::testing::Test {
protected:
    /* Most systems let every process lock this much */
    static constexpr uint64_t KB    = 1024;
    static constexpr uint64_t LIMIT = 4096 * KB;

    static constexpr int CANNOT_LIMIT = 77; /* Exit status of a child */

    /* The process may lock no more than LIMIT bytes from now on.
     * @return whether that could be done. */
    static bool set_limit()
    {
        struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3,
                                                  0};
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
        struct rlimit limit = {LIMIT, LIMIT};

        if (syscall(SYS_capget, &header, data) != 0) {
            return false;
        }
        data[0].effective &= ~(1u << CAP_IPC_LOCK);
        return (setrlimit(RLIMIT_MEMLOCK, &limit) == 0) &&
               (syscall(SYS_capset, &header, data) == 0);
    }

    /* Run a test in a process that may lock no more than LIMIT bytes */
    template <typename F> static void run_limited(F func)
    {
        child process([func]() -> int {
            if (!set_limit()) {
                return CANNOT_LIMIT;
            }
            func();
            return child_status();
        });
        int status = process.reap();

        if (WIFEXITED(status) && (WEXITSTATUS(status) == CANNOT_LIMIT)) {
            GTEST_SKIP() << "the limit on locked memory cannot be set";
        }
        EXPECT_EQ(0, status);
    }

    void SetUp() override
    {
        char name[] = "/tmp/predreg_core_XXXXXX";

        ASSERT_NE(nullptr, mkdtemp(name));
        m_folder = name;
        test_core_init();
    }

    void TearDown() override
    {
        test_core_cleanup();
        std::filesystem::remove_all(m_folder);
    }

    /* Set a knob by its name */
    static void set(const std::string &name, const std::string &value)
    {
        ASSERT_EQ(UCS_OK, uct_predreg_knobs_set(&test_core_state()->knobs, name.c_str(),
                                                value.c_str()));
    }

    static std::string read(const std::string &path)
    {
        std::ifstream stream(path);
        std::stringstream text;

        text << stream.rdbuf();
        return text.str();
    }

    std::string m_folder;
};

/* A variable of the environment, for as long as this lives */
class scoped_variable {
public:
    scoped_variable(const std::string &name, const std::string &value) :
        m_name(name)
    {
        setenv(name.c_str(), value.c_str(), 1);
    }

    ~scoped_variable()
    {
        unsetenv(m_name.c_str());
    }

private:
    const std::string m_name;
};

#endif
