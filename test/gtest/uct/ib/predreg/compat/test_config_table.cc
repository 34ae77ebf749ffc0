/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/ib/predreg/compat/config_table.h>

#include <ucp/api/ucp.h>

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <vector>

/* That UCX reads and lists what is made of the knobs is seen in test_knobs, with
 * the UCX that is there. This looks at the words for any version. */
class test_config_table : public ::testing::Test {
protected:
    static int read(const char *text, void *dest, const void *field)
    {
        return 1;
    }

    static int write(char *buf, size_t max, const void *src, const void *field)
    {
        return 1;
    }

    static void release(void *value, const void *field)
    {
    }

    static void help(char *buf, size_t max, const void *field)
    {
    }

    static const uct_predreg_config_type_t type;
    static const uct_predreg_config_field_t fields[];
    static const uct_predreg_config_table_t table;

    /* The words of the two settings: those that every version has, and the ones
     * at the end of each */
    static void check(unsigned minor, size_t step)
    {
        std::vector<void*> words(4 * step, (void*)1);

        SCOPED_TRACE(minor);
        ASSERT_EQ(2 * step, uct_predreg_config_make(&table, 0, minor,
                                                    words.data(), words.size()));
        for (size_t i = 0; i < 2; ++i) {
            void **word = &words[i * step];

            EXPECT_STREQ(fields[i].name, (const char*)word[0]);
            EXPECT_STREQ(fields[i].dfl_value, (const char*)word[1]);
            EXPECT_STREQ(fields[i].doc, (const char*)word[2]);
            EXPECT_EQ(fields[i].offset, (size_t)word[3]);
            EXPECT_EQ((void*)read, word[4]);
            EXPECT_EQ((void*)write, word[5]);
            EXPECT_EQ(nullptr, word[6]);
            EXPECT_EQ((void*)release, word[7]);
            EXPECT_EQ((void*)help, word[8]);
            EXPECT_EQ((void*)&fields[i], word[step - 1]);
        }
        for (size_t i = 2 * step; i < 3 * step; ++i) {
            EXPECT_EQ(nullptr, words[i]); /* The end */
        }
        EXPECT_EQ((void*)1, words[3 * step]);
    }
};

const uct_predreg_config_type_t test_config_table::type = {
    read, write, release, help
};

const uct_predreg_config_field_t test_config_table::fields[] = {
    {"FIRST", "1", "The first", 8, &type, 0},
    {"SECOND", "two", "The second", 24, &type, 0},
    {"HIDDEN", "3", "The third", 32, &type, 1},
    {nullptr, nullptr, nullptr, 0, nullptr, 0}
};

const uct_predreg_config_table_t test_config_table::table = {
    "Settings", "PREFIX_", fields, sizeof(fields[0]), 40
};

TEST_F(test_config_table, a_type_has_five_functions_and_an_argument) {
    check(13, 10);
    check(15, 10);
    check(16, 10);
}

TEST_F(test_config_table, from_1_17_it_has_six_functions) {
    check(17, 11);
    check(18, 11);
    check(23, 11);
}

/* The sixth may be called at any time */
TEST_F(test_config_table, the_sixth_function_does_nothing) {
    void *words[33];

    uct_predreg_config_make(&table, 0, 17, words, 33);
    ASSERT_NE(nullptr, words[9]);
    reinterpret_cast<void (*)(void*, const void*)>(words[9])(nullptr, nullptr);
}

TEST_F(test_config_table, what_is_hidden_is_read_alone) {
    void *words[40];

    EXPECT_EQ(20u, uct_predreg_config_make(&table, 0, 13, words, 40));
    ASSERT_EQ(30u, uct_predreg_config_make(&table, 1, 13, words, 40));
    EXPECT_STREQ("HIDDEN", (const char*)words[20]);
    EXPECT_EQ(nullptr, words[30]);
}

TEST_F(test_config_table, what_does_not_fit_is_left_out) {
    void *words[21];

    words[20] = (void*)1;
    EXPECT_EQ(10u, uct_predreg_config_make(&table, 0, 13, words, 20));
    EXPECT_EQ(nullptr, words[10]);
    EXPECT_EQ((void*)1, words[20]);
}

/* The UCX that is there tells its version through UCP */
TEST(test_ucs_version, symbols_tell_the_version) {
    unsigned major, minor, release, expected;
    void *ucp = dlopen("libucp.so.0", RTLD_LAZY);

    ASSERT_NE(nullptr, ucp) << dlerror();
    auto get_version = reinterpret_cast<decltype(&ucp_get_version)>(
            dlsym(ucp, "ucp_get_version"));
    ASSERT_NE(nullptr, get_version);
    get_version(&major, &minor, &release);
    ASSERT_EQ(1u, major);
    expected = (minor >= 18) ? 18 : (minor >= 17) ? 17 : (minor >= 15) ? 15 : 13;
    EXPECT_EQ(expected, uct_predreg_ucs_minor());
    dlclose(ucp);
}
