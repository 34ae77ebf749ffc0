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

class test_trace_folder : public command_test {
protected:
    int prepare(const std::string &folder, bool force)
    {
        return capture([&] {
            return predreg_trace_folder_prepare(folder.c_str(), force,
                                                &m_is_new);
        });
    }

    int clear(const std::string &folder)
    {
        return capture([&] {
            return predreg_trace_folder_clear(folder.c_str());
        });
    }

    int m_is_new = -1;
};

TEST_F(test_trace_folder, is_made) {
    EXPECT_EQ(0, prepare(path("new"), false));
    EXPECT_TRUE(exists("new"));
    EXPECT_EQ(1, m_is_new);
    EXPECT_EQ(0, prepare(path("new"), false));
    EXPECT_EQ(0, m_is_new);
    EXPECT_EQ("", m_errors);
}

TEST_F(test_trace_folder, cannot_be_made) {
    EXPECT_EQ(PREDREG_EXIT_USAGE, prepare(path("no/new"), false));
    EXPECT_EQ(0, m_is_new);
    EXPECT_TRUE(contains(m_errors, "-o: cannot make '" + path("no/new") + "'"))
            << m_errors;
    EXPECT_EQ(PREDREG_EXIT_USAGE, prepare(make_file("file"), false));
    EXPECT_TRUE(contains(m_errors, "-o: '" + path("file") + "': Not a dir"))
            << m_errors;
}

TEST_F(test_trace_folder, other_files_stay) {
    std::string folder = make_folder("f");

    make_file("f/notes.txt", "text");
    make_file("f/trace", "text");
    EXPECT_EQ(0, prepare(folder, false));
    EXPECT_EQ(0, prepare(folder, true));
    EXPECT_EQ(0, clear(folder));
    EXPECT_TRUE(exists("f/notes.txt"));
    EXPECT_TRUE(exists("f/trace"));
}

TEST_F(test_trace_folder, traces_only_by_force) {
    std::string folder = make_job("job", 2);

    make_file("job/notes.txt", "text");
    EXPECT_EQ(PREDREG_EXIT_USAGE, prepare(folder, false));
    EXPECT_TRUE(contains(m_errors, "has traces in it, as ")) << m_errors;
    EXPECT_TRUE(contains(m_errors, "--force to remove them"));

    EXPECT_EQ(0, prepare(folder, true));
    EXPECT_TRUE(exists("job/0.trace"));
    EXPECT_EQ(0, clear(folder));
    EXPECT_FALSE(exists("job/0.trace"));
    EXPECT_FALSE(exists("job/1.trace"));
    EXPECT_TRUE(exists("job/notes.txt"));
}

TEST_F(test_trace_folder, empty_files_named_as_by_ranks) {
    std::string folder = make_folder("f");

    make_file("f/rank-12.trace");
    make_file("f/rank-3.host.trace");
    EXPECT_EQ(0, prepare(folder, true)) << m_errors;
    EXPECT_EQ(0, clear(folder));
    EXPECT_FALSE(exists("f/rank-12.trace"));
    EXPECT_FALSE(exists("f/rank-3.host.trace"));
}

TEST_F(test_trace_folder, what_is_no_trace_is_not_removed) {
    std::string folder = make_folder("f");

    make_folder("g");
    for (const char *content : {"my own file", ""}) {
        make_file("f/own.trace", content);
        EXPECT_EQ(PREDREG_EXIT_USAGE, prepare(folder, true));
        EXPECT_TRUE(contains(m_errors, "'own.trace' in '" + folder +
                             "' is no trace and is not removed")) << m_errors;
        EXPECT_TRUE(exists("f/own.trace"));
    }

    /* A name that the recorder gives does not make it one */
    make_file("g/rank-3.host.trace", "my own file");
    EXPECT_EQ(PREDREG_EXIT_USAGE, prepare(path("g"), true));
    EXPECT_TRUE(contains(m_errors, "'rank-3.host.trace' in ")) << m_errors;
}

TEST_F(test_trace_folder, cannot_be_removed) {
    std::string folder = make_folder("f/rank-1.trace");

    EXPECT_EQ(PREDREG_EXIT_USAGE, clear(path("f")));
    EXPECT_TRUE(contains(m_errors, "--force: cannot remove 'rank-1.trace'"))
            << m_errors;
    EXPECT_EQ(PREDREG_EXIT_USAGE, clear(path("none")));
    EXPECT_TRUE(contains(m_errors, "--force: '" + path("none") + "'"));
}
