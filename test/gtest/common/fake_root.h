/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FAKE_ROOT_H_
#define PREDREG_GTEST_FAKE_ROOT_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/* A folder with files of proc and sys, for what looks there */
class fake_root {
public:
    fake_root()
    {
        char folder[] = "/tmp/predreg_root.XXXXXX";

        EXPECT_NE(nullptr, mkdtemp(folder));
        m_path = folder;
    }

    ~fake_root() { std::filesystem::remove_all(m_path); }

    const char *path() const { return m_path.c_str(); }

    void write(const std::string &path, const std::string &text)
    {
        std::filesystem::path file(m_path + path);

        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    /* For how long each processor has been idle, ticks of 10 ms */
    void stat(const std::vector<unsigned> &idle)
    {
        std::string text = "cpu  9 9 9 9 9 9 9 9 9 9\n";

        for (unsigned cpu = 0; cpu < idle.size(); ++cpu) {
            text += "cpu" + std::to_string(cpu) + " 1 2 3 " +
                    std::to_string(idle[cpu]) + " 0 7 8 9 10 11\n";
        }
        write("/proc/stat", text + "intr 1 2 3\n");
    }

private:
    std::string m_path;
};

#endif
