/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/replay/policies/policies.h>
}

#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>


class test_policies : public ::testing::Test {
protected:
    /* The policies of the table as they are given, with the placeholder of
     * their limit in capitals: "predict", "lru=BYTES" */
    static std::set<std::string> table()
    {
        std::set<std::string> names;
        for (auto &policy : predreg_policies) {
            std::string name = policy.name;
            if (policy.limit != PREDREG_LIMIT_NONE) {
                name += std::string("=") +
                        predreg_limit_kinds[policy.limit].placeholder;
            }
            names.insert(name);
        }
        return names;
    }

    /* What stands between two strings in a file of the project */
    static std::string part(const std::string &path, const std::string &begin,
                            const std::string &end)
    {
        std::ifstream file(TEST_TOP_SRCDIR "/" + path);
        std::stringstream stream;
        stream << file.rdbuf();
        std::string text = stream.str();
        size_t first     = text.find(begin);
        size_t last      = text.find(end, first + begin.size());
        EXPECT_NE(std::string::npos, first) << path << ": no " << begin;
        EXPECT_NE(std::string::npos, last) << path << ": no " << end;
        return (last == std::string::npos) ?
               "" : text.substr(first, last - first);
    }

    static std::set<std::string>
    matches(const std::string &text, const std::string &pattern)
    {
        std::set<std::string> found;
        std::regex regex(pattern);
        for (std::sregex_iterator i(text.begin(), text.end(), regex), end;
             i != end; ++i) {
            std::string name = (*i)[1];
            if ((*i)[2].matched) {
                name += "=";
                for (char c : (*i)[2].str()) {
                    name += toupper(c);
                }
            }
            found.insert(name);
        }
        return found;
    }
};

TEST_F(test_policies, rows_are_complete)
{
    for (auto &policy : predreg_policies) {
        ASSERT_NE(nullptr, policy.name);
        SCOPED_TRACE(policy.name);
        EXPECT_NE(nullptr, policy.label);
        EXPECT_NE(nullptr, policy.brief);
        EXPECT_NE(nullptr, policy.note);
        EXPECT_NE(nullptr, policy.replay);
        ASSERT_LT(policy.limit, PREDREG_LIMIT_LAST);
        if (policy.limit != PREDREG_LIMIT_NONE) {
            EXPECT_NE(nullptr, predreg_limit_kinds[policy.limit].placeholder);
            EXPECT_NE(nullptr, predreg_limit_kinds[policy.limit].example);
        }
    }
}

TEST_F(test_policies, each_has_a_place_in_reports)
{
    std::set<unsigned> seen;
    for (unsigned place = 0; place < PREDREG_REPLAY_LAST; ++place) {
        auto policy = predreg_policy_at(place);
        ASSERT_NE(PREDREG_REPLAY_LAST, policy) << "nobody at " << place;
        EXPECT_EQ(place, predreg_policies[policy].place);
        seen.insert(policy);
    }
    EXPECT_EQ(size_t(PREDREG_REPLAY_LAST), seen.size());
    EXPECT_EQ(PREDREG_REPLAY_LAST, predreg_policy_at(PREDREG_REPLAY_LAST));
}

TEST_F(test_policies, found_by_name)
{
    for (unsigned policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        const char *name = predreg_policies[policy].name;
        EXPECT_EQ(policy, predreg_policy_find(name, strlen(name)));
        EXPECT_EQ(PREDREG_REPLAY_LAST,
                  predreg_policy_find(name, strlen(name) - 1));
    }
    EXPECT_EQ(PREDREG_REPLAY_LRU, predreg_policy_find("lru=4096", 3));
    EXPECT_EQ(PREDREG_REPLAY_LAST, predreg_policy_find("", 0));
    EXPECT_EQ(PREDREG_REPLAY_LAST, predreg_policy_find("predicts", 8));
}

/* Names in the first column of the table */
TEST_F(test_policies, documentation_has_all)
{
    std::string column;
    std::istringstream rows(part("docs/replay.md", "## The policies", "\n\n`"));
    for (std::string row; std::getline(rows, row);) {
        if (row.compare(0, 2, "| ") == 0) {
            column += row.substr(0, row.find('|', 1)) + "\n";
        }
    }
    EXPECT_EQ(table(), matches(column, "`([a-z-]+)=?([A-Z]+)?`"));
}

TEST_F(test_policies, manual_has_all)
{
    std::string text = part("src/tools/predreg/ucx_predreg.1",
                            ".It Fl \\-policy Ar policy Ns Op , Ns Ar policy",
                            ".It Fl \\-set");
    EXPECT_EQ(table(), matches(text, "\\.Cm ([a-z-]+)(?: Ns Op = Ns Ar "
                                     "([a-z]+))?"));
}
