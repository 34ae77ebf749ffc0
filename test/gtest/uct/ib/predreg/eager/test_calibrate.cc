/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_map.h"

#include <uct/ib/predreg/eager/calibrate.h>
#include <uct/ib/predreg/eager/costs_file.h>
#include <uct/ib/predreg/eager/costs_key.h>

#include <common/command_test.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;

class test_calibrate : public command_test {
protected:
    test_calibrate()
    {
        setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
        setenv("HOME", path("home").c_str(), 1);
        m_map.call       = 40000;
        m_map.page_cost  = 300;
        m_map.params.key = "UCX 1.18.1, domains mlx5_0";
    }

    /* @return whether it was measured */
    bool calibrate()
    {
        unsigned before = m_map.num_mapped;

        m_costs = {};
        EXPECT_EQ(UCS_OK, uct_predreg_calibrate(&m_map.params, &m_costs));
        EXPECT_NEAR(40000, m_costs.reg_call, 1);
        EXPECT_NEAR(300, m_costs.reg_page, 1);
        return m_map.num_mapped > before;
    }

    /* The one file that there is */
    std::string file() const
    {
        std::string found;

        for (const auto &entry :
             fs::recursive_directory_iterator(path("cache"))) {
            if (entry.is_regular_file()) {
                EXPECT_EQ("", found) << entry.path();
                found = entry.path();
            }
        }
        return found;
    }

    static std::string content(const std::string &name)
    {
        std::ifstream stream(name);

        return {std::istreambuf_iterator<char>(stream), {}};
    }

    /* With this content it is measured anew, and what is kept then is good */
    void damaged(const std::string &text)
    {
        const std::string name = file();

        std::ofstream(name, std::ios::trunc) << text;
        EXPECT_TRUE(calibrate()) << text;
        EXPECT_EQ(name, file());
        EXPECT_FALSE(calibrate()) << text;
    }

    fake_map          m_map;
    ucs_reuse_costs_t m_costs;
};

TEST_F(test_calibrate, it_is_measured_once) {
    char expected[PATH_MAX];
    char depends[UCT_PREDREG_COSTS_KEY_MAX];

    EXPECT_TRUE(calibrate());
    const auto measured = m_costs;
    EXPECT_FALSE(calibrate());
    for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        EXPECT_NEAR(measured.copy[i], m_costs.copy[i], 0.001);
    }

    /* A user who looks finds what it is about */
    const std::string text = content(file());
    uct_predreg_costs_depends(m_map.params.key, depends);
    EXPECT_TRUE(contains(text, std::string("\ndepends=") + depends + "\n"))
            << text;
    EXPECT_TRUE(contains(text, "\nmeasured=20")) << text;
    uct_predreg_costs_path(depends, expected);
    EXPECT_EQ(expected, file());

    struct stat st;
    ASSERT_EQ(0, stat(file().c_str(), &st));
    EXPECT_EQ(0600u, st.st_mode & 0777);
    ASSERT_EQ(0, stat(path("cache/ucx-predreg").c_str(), &st));
    EXPECT_EQ(0700u, st.st_mode & 0777);
}

TEST_F(test_calibrate, home_has_a_cache_folder) {
    make_folder("home");
    for (const char *none : {"", "relative", (const char*)nullptr}) {
        fs::remove_all(path("home/.cache"));
        if (none == nullptr) {
            unsetenv("XDG_CACHE_HOME");
        } else {
            setenv("XDG_CACHE_HOME", none, 1);
        }
        EXPECT_TRUE(calibrate());
        EXPECT_FALSE(calibrate());
        EXPECT_TRUE(exists("home/.cache/ucx-predreg"));
    }

    /* It may be elsewhere */
    fs::remove_all(path("home/.cache"));
    make_folder("scratch");
    make_link("home/.cache", path("scratch"));
    EXPECT_TRUE(calibrate());
    EXPECT_FALSE(calibrate());
    EXPECT_TRUE(exists("scratch/ucx-predreg"));
}

TEST_F(test_calibrate, without_a_folder_nothing_is_kept) {
    char name[PATH_MAX];

    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    EXPECT_TRUE(calibrate());
    EXPECT_TRUE(calibrate());
    uct_predreg_costs_path("x", name);
    EXPECT_STREQ("", name);

    setenv("HOME", "/nowhere/at/all", 1);
    EXPECT_TRUE(calibrate());
    EXPECT_TRUE(calibrate());

    /* A file is where the folder should be */
    setenv("XDG_CACHE_HOME", make_file("file").c_str(), 1);
    EXPECT_TRUE(calibrate());
    setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
    make_folder("cache");
    make_file("cache/ucx-predreg");
    EXPECT_TRUE(calibrate());
    EXPECT_TRUE(calibrate());

    setenv("XDG_CACHE_HOME", ("/" + std::string(2 * PATH_MAX, 'x')).c_str(), 1);
    EXPECT_TRUE(calibrate());
    uct_predreg_costs_path("x", name);
    EXPECT_STREQ("", name);
    setenv("XDG_CACHE_HOME", ("/" + std::string(PATH_MAX - 5, 'x')).c_str(), 1);
    EXPECT_TRUE(calibrate());
    uct_predreg_costs_path("x", name);
    EXPECT_STREQ("", name);
}

TEST_F(test_calibrate, without_a_key_nothing_is_kept) {
    m_map.params.key = nullptr;
    EXPECT_TRUE(calibrate());
    EXPECT_TRUE(calibrate());
    EXPECT_FALSE(exists("cache"));

    const std::string longest(UCT_PREDREG_COSTS_KEY_MAX, 'x');
    for (const char *key : {longest.c_str(), ""}) {
        m_map.params.key = key;
        EXPECT_TRUE(calibrate());
        EXPECT_TRUE(calibrate());
        EXPECT_FALSE(exists("cache"));
    }
}

TEST_F(test_calibrate, each_key_has_a_file) {
    EXPECT_TRUE(calibrate());
    m_map.params.key = "UCX 1.18.1, domains mlx5_1";
    EXPECT_TRUE(calibrate());
    EXPECT_FALSE(calibrate());
    m_map.params.key = "UCX 1.18.1, domains mlx5_0";
    EXPECT_FALSE(calibrate());

    /* Whose line breaks would end the line */
    m_map.params.key = "UCX\nend\n";
    EXPECT_TRUE(calibrate());
    EXPECT_FALSE(calibrate());
}

TEST_F(test_calibrate, damaged_files_are_replaced) {
    EXPECT_TRUE(calibrate());
    const std::string good = content(file());
    const auto with        = [&](const std::string &part,
                                 const std::string &other) {
        std::string text = good;

        EXPECT_TRUE(contains(good, part));
        return text.replace(text.find(part), part.size(), other);
    };

    for (size_t i = 0; i < good.size() - 1; i += 7) {
        damaged(good.substr(0, i));
    }
    damaged("\n\n\n");
    damaged(std::string(100, '\0'));
    damaged("\177ELF" + std::string(5000, '\xff'));
    damaged(good + std::string(1 << 20, 'x'));
    damaged(with("format=1", "format=2"));
    damaged(with("mlx5_0", "mlx5_1"));
    damaged(with("costs=40000", "costs=-40000"));
    damaged(with("costs=40000", "costs=nan"));
    damaged(with("costs=40000", "costs=4000000000"));
    damaged(with("costs=40000", "costs=1 40000"));
    damaged(with("end\n", ""));
    damaged(with("costs", "cost"));
}

/* No other file is left, whatever happened */
TEST_F(test_calibrate, links_are_not_followed) {
    EXPECT_TRUE(calibrate());
    const std::string name = file();
    const std::string good = content(name);
    const auto victim      = make_file("victim", good);

    /* A file: not read, and replaced instead of written to */
    fs::remove(name);
    fs::create_symlink(victim, name);
    EXPECT_TRUE(calibrate());
    EXPECT_FALSE(fs::is_symlink(name));
    EXPECT_EQ(good, content(victim));
    EXPECT_FALSE(calibrate());

    /* The folder: nothing is kept */
    fs::rename(path("cache/ucx-predreg"), path("elsewhere"));
    fs::remove(path("elsewhere") / fs::path(name).filename());
    make_link("cache/ucx-predreg", path("elsewhere"));
    EXPECT_TRUE(calibrate());
    EXPECT_TRUE(calibrate());
    EXPECT_TRUE(fs::is_empty(path("elsewhere")));
}

TEST_F(test_calibrate, what_others_may_write_is_not_read) {
    EXPECT_TRUE(calibrate());
    const std::string name = file();

    for (int mode : {0620, 0602, 0666}) {
        ASSERT_EQ(0, chmod(name.c_str(), mode));
        EXPECT_TRUE(calibrate()) << mode;
        EXPECT_FALSE(calibrate()) << mode;
    }

    ASSERT_EQ(0, chmod(path("cache/ucx-predreg").c_str(), 0777));
    EXPECT_TRUE(calibrate());
    ASSERT_EQ(0, chmod(path("cache/ucx-predreg").c_str(), 0700));
    EXPECT_FALSE(calibrate());

    /* A pipe does not keep us waiting */
    fs::remove(name);
    ASSERT_EQ(0, mkfifo(name.c_str(), 0600));
    EXPECT_TRUE(calibrate());
    EXPECT_FALSE(calibrate());
}

TEST_F(test_calibrate, files_of_others_are_not_read) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give files away";
    }

    EXPECT_TRUE(calibrate());
    ASSERT_EQ(0, chown(file().c_str(), 65534, 65534));
    EXPECT_TRUE(calibrate());
    EXPECT_FALSE(calibrate());
    ASSERT_EQ(0, chown(path("cache/ucx-predreg").c_str(), 65534, 65534));
    EXPECT_TRUE(calibrate());
    EXPECT_TRUE(calibrate());
}

TEST_F(test_calibrate, a_full_disk_leaves_nothing) {
    EXPECT_TRUE(calibrate());
    const std::string name = file();
    const std::string good = content(name);

    /* A folder cannot be replaced by a file */
    fs::remove(name);
    fs::create_directory(name);
    EXPECT_TRUE(calibrate());
    EXPECT_TRUE(calibrate());
    EXPECT_EQ("", file());
}

/* Many ranks start at once */
TEST_F(test_calibrate, writers_do_not_disturb_each_other) {
    const ucs_reuse_costs_t costs = {40000, 300, 15, {}};
    std::vector<std::thread> threads;
    ucs_reuse_costs_t read;

    ASSERT_EQ(nullptr, uct_predreg_costs_store("x", &costs));
    for (unsigned i = 0; i < 4; ++i) {
        threads.emplace_back([&]() {
            for (unsigned k = 0; k < 100; ++k) {
                uct_predreg_costs_store("x", &costs);
            }
        });
    }
    for (unsigned k = 0; k < 400; ++k) {
        EXPECT_EQ(nullptr, uct_predreg_costs_load("x", &read));
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_NE("", file());
}

TEST_F(test_calibrate, failures_are_not_kept) {
    m_map.fails_at = 1;
    EXPECT_EQ(UCS_ERR_IO_ERROR,
              uct_predreg_calibrate(&m_map.params, &m_costs));
    EXPECT_FALSE(exists("cache"));
}

/* What the command ucx_predreg has kept knows nothing of this table */
TEST_F(test_calibrate, lookups_are_measured_always) {
    EXPECT_TRUE(calibrate());
    EXPECT_EQ(UCT_PREDREG_MEASURE_LOOKUP_NSEC +
              UCT_PREDREG_MEASURE_HOT_NSEC, m_costs.lookup);

    m_map.params.lookup = [](void *arg, const void *buffer) {
        fake_map::s_now += 7;
    };
    EXPECT_FALSE(calibrate());
    EXPECT_NEAR(7 + UCT_PREDREG_MEASURE_HOT_NSEC, m_costs.lookup, 0.5);

    m_map.params.lookup = nullptr;
    EXPECT_FALSE(calibrate());
    EXPECT_EQ(UCT_PREDREG_MEASURE_LOOKUP_NSEC +
              UCT_PREDREG_MEASURE_HOT_NSEC, m_costs.lookup);
}

/* A guess serves this process, but not others */
TEST_F(test_calibrate, guesses_are_not_kept) {
    m_map.call      = 2000000;
    m_map.page_cost = 0;
    EXPECT_EQ(UCS_OK, uct_predreg_calibrate(&m_map.params, &m_costs));
    EXPECT_NEAR(2000000, m_costs.reg_call, 1);
    EXPECT_FALSE(exists("cache"));
}

TEST_F(test_calibrate, keys_do_not_depend_on_the_order) {
    const char *some[]  = {"mlx5_1", "mlx5_0", "mlx5_1"};
    const char *other[] = {"mlx5_0", "mlx5_1"};
    char first[UCT_PREDREG_COSTS_KEY_MAX], second[UCT_PREDREG_COSTS_KEY_MAX];

    uct_predreg_costs_key(1, 18, 1, some, 3, first);
    uct_predreg_costs_key(1, 18, 1, other, 2, second);
    EXPECT_STREQ("UCX 1.18.1, domains mlx5_0 mlx5_1", first);
    EXPECT_STREQ(first, second);
    uct_predreg_costs_key(1, 13, 1, nullptr, 0, first);
    EXPECT_STREQ("UCX 1.13.1", first);

    const std::string longest(2 * UCT_PREDREG_COSTS_KEY_MAX, 'x');
    const char *names[] = {longest.c_str()};
    uct_predreg_costs_key(1, 13, 1, names, 1, first);
    EXPECT_STREQ("", first);
}

TEST_F(test_calibrate, the_machine_is_part_of_the_key) {
    char depends[UCT_PREDREG_COSTS_KEY_MAX];
    char host[256];

    ASSERT_EQ(0, gethostname(host, sizeof(host)));
    uct_predreg_costs_depends("KEY", depends);
    EXPECT_EQ(0u, std::string(depends).find("KEY, processor "));
    EXPECT_TRUE(contains(depends, std::string(", host ") + host + ", pages of " +
                                  std::to_string(fake_map::page()) + " bytes"));
}
