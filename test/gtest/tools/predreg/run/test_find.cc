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

#include <filesystem>

class test_find : public command_test {
protected:
    /* The path, or an empty string and the status in m_status */
    std::string library(const std::string &folder, const char *wanted = NULL)
    {
        m_status    = 0;
        char *found = capture([&] {
            return predreg_find_library(folder.c_str(),
                                        wanted, &m_status);
        });
        std::string result = (found == NULL) ? "" : found;

        EXPECT_EQ(found == NULL, m_status != 0);
        EXPECT_EQ(found == NULL, !m_errors.empty());
        free(found);
        return result;
    }

    static bool has_command(const char *name)
    {
        char *path = predreg_find_command(name);
        bool found = (path != NULL);

        free(path);
        return found;
    }

    int m_status;
};

TEST_F(test_find, command_in_path) {
    make_folder("a");
    make_folder("b/folder");
    make_file("a/data", "", 0644);
    make_file("b/data", "", 0755);
    make_file("b/prog", "", 0755);
    make_file("only", "", 0755);
    setenv("PATH", (path("a") + ":" + path("b")).c_str(), 1);

    EXPECT_TRUE(has_command("prog"));
    EXPECT_TRUE(has_command("data"));
    EXPECT_FALSE(has_command("only"));
    EXPECT_FALSE(has_command("folder"));
    EXPECT_FALSE(has_command("nothing"));
    EXPECT_FALSE(has_command(""));
    setenv("PATH", path("a").c_str(), 1);
    EXPECT_FALSE(has_command("prog"));
}

TEST_F(test_find, command_in_present_folder) {
    make_file("prog", "", 0755);
    std::filesystem::current_path(path(""));
    for (const char *folders : {"", ":/nowhere", "/nowhere:", "/a::/b"}) {
        setenv("PATH", folders, 1);
        EXPECT_TRUE(has_command("prog")) << folders;
    }
    setenv("PATH", "/nowhere", 1);
    EXPECT_FALSE(has_command("prog"));
}

TEST_F(test_find, command_with_folder) {
    std::string prog = make_file("prog", "", 0755);

    setenv("PATH", "/nowhere", 1);
    EXPECT_TRUE(has_command(prog.c_str()));
    EXPECT_FALSE(has_command(path("").c_str()));
    std::filesystem::current_path(path(""));
    EXPECT_TRUE(has_command("./prog"));
    EXPECT_FALSE(has_command("./other"));
}

TEST_F(test_find, command_without_path) {
    unsetenv("PATH");
    EXPECT_TRUE(has_command("sh"));
}

TEST_F(test_find, library_that_is_wanted) {
    std::string file = make_file("some.so", library_content());

    EXPECT_EQ(file, library("", file.c_str()));
    std::filesystem::current_path(path(""));
    EXPECT_EQ(file, library("", "some.so"));
    EXPECT_EQ(file, library("", "./some.so"));
    EXPECT_EQ(path("link.so"), library("", make_link("link.so", file).c_str()));
}

TEST_F(test_find, library_that_is_not_there) {
    EXPECT_EQ("", library("", path("none.so").c_str()));
    EXPECT_EQ(PREDREG_EXIT_NOT_FOUND, m_status);
    EXPECT_TRUE(contains(m_errors, "--library: '" + path("none.so") + "'"));

    EXPECT_EQ("", library("", make_folder("folder.so").c_str()));
    EXPECT_TRUE(contains(m_errors, "Is a directory")) << m_errors;

    EXPECT_EQ("", library("", "/dev/null"));
    EXPECT_TRUE(contains(m_errors, "Invalid argument")) << m_errors;
}

/* Whatever else is named would be preloaded in vain, or break the ranks */
TEST_F(test_find, library_that_is_another_file) {
    for (const std::string &content : {
            std::string(), std::string("LD_PRELOAD=libuct_predreg.so\n\0", 30),
            library_content("libuct_predreg_core.so"),
            library_content("libm.so.6"), library_content().substr(1)}) {
        std::string file = make_file(PREDREG_LIBRARY, content);

        EXPECT_EQ("", library("", file.c_str()));
        EXPECT_EQ(PREDREG_EXIT_NOT_FOUND, m_status);
        EXPECT_EQ("ucx_predreg: --library: '" + file + "' is not "
                  "libuct_predreg.so of this project; accepted: the path of "
                  "that library\n", m_errors);
    }
}

TEST_F(test_find, library_that_cannot_be_preloaded) {
    for (const char *name : {"a b.so", "a:b.so"}) {
        EXPECT_EQ("", library("", make_file(name, library_content()).c_str()));
        EXPECT_EQ(PREDREG_EXIT_USAGE, m_status);
        EXPECT_TRUE(contains(m_errors, "a space or a colon")) << m_errors;
    }
}

TEST_F(test_find, library_of_build_tree) {
    std::string program = make_folder("src/tools/predreg");
    std::string folder  = make_folder("src/uct/ib/predreg/.libs");

    make_file("src/uct/ib/predreg/.libs/" PREDREG_LIBRARY);
    EXPECT_EQ(folder + "/" PREDREG_LIBRARY, library(program));
}

TEST_F(test_find, library_of_moved_installation) {
    /* The two folders are as far apart as they were configured */
    std::filesystem::path bin = "moved" + std::string(TEST_BINDIR);
    std::filesystem::path lib = "moved" + std::string(TEST_LIBDIR);

    make_folder(bin);
    make_folder(lib);
    make_file(lib / PREDREG_LIBRARY);
    EXPECT_EQ(path(lib / PREDREG_LIBRARY), library(path(bin)));
}

TEST_F(test_find, library_nowhere) {
    std::string found = library(make_folder("bin"));

    if (!found.empty()) {
        GTEST_SKIP() << found << " is installed where this was configured for";
    }

    EXPECT_EQ(PREDREG_EXIT_NOT_FOUND, m_status);
    EXPECT_TRUE(contains(m_errors, PREDREG_LIBRARY " was not found; looked "
                         "for")) << m_errors;
    EXPECT_TRUE(contains(m_errors, path("bin/../../uct/ib/predreg/.libs/")))
            << m_errors;
    EXPECT_TRUE(contains(m_errors, "--library PATH"));

    EXPECT_EQ("", library(""));
}

TEST_F(test_find, folder_of_this_program) {
    char *folder = predreg_executable_folder();

    EXPECT_EQ(std::filesystem::read_symlink("/proc/self/exe").parent_path(),
              folder);
    free(folder);
}
