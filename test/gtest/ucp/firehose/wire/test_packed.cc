/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include <ucp/firehose/wire/wire.h>
}

/* Keys as UCP packs them: parts by the number of their domain */
class test_packed : public ::testing::Test {
protected:
    typedef std::map<unsigned, std::string> parts_t;
    typedef std::vector<uint8_t> key_t;

    static key_t pack(const parts_t &parts, const std::string &rest = "")
    {
        uint64_t domains = 0;
        key_t key(sizeof(domains) + 1, 7); /* The type of the memory is 7 */

        for (auto &part : parts) {
            domains |= 1ull << part.first;
            key.push_back(part.second.size());
            key.insert(key.end(), part.second.begin(), part.second.end());
        }
        memcpy(key.data(), &domains, sizeof(domains));
        key.insert(key.end(), rest.begin(), rest.end());
        return key;
    }

    static key_t strip(key_t key, uint64_t parts)
    {
        key.resize(ucp_fh_packed_strip(key.data(), key.size(), parts));
        return key;
    }

    static key_t merge(const key_t &key, const key_t &other)
    {
        key_t merged(key.size() + other.size());

        merged.resize(ucp_fh_packed_merge(key.data(), key.size(), other.data(),
                                           other.size(), merged.data()));
        return merged;
    }
};

TEST_F(test_packed, ends_with_its_last_part) {
    key_t key = pack({{0, "abc"}, {63, ""}}, "rest");

    EXPECT_EQ(key.size() - 4, ucp_fh_packed_size(key.data(), key.size()));
    EXPECT_EQ(9u, ucp_fh_packed_size(pack({}).data(), 9));
}

TEST_F(test_packed, that_ends_too_early_is_no_key) {
    key_t key = pack({{3, "abc"}, {5, "de"}});
    key_t merged(2 * key.size());
    size_t length;

    for (length = 0; length < key.size(); ++length) {
        EXPECT_EQ(0u, ucp_fh_packed_size(key.data(), length));
        EXPECT_EQ(0u, ucp_fh_packed_merge(key.data(), length, key.data(),
                                           key.size(), merged.data()));
        EXPECT_EQ(0u, ucp_fh_packed_merge(key.data(), key.size(), key.data(),
                                           length, merged.data()));
    }
    EXPECT_EQ(0u, ucp_fh_packed_strip(key.data(), key.size() - 1, 1));
    EXPECT_EQ(pack({{3, "abc"}, {5, "de"}}), key);
}

TEST_F(test_packed, loses_parts) {
    key_t key = pack({{1, "a"}, {4, "bcd"}, {9, "ef"}}, "rest");

    EXPECT_EQ(pack({{1, "a"}, {4, "bcd"}, {9, "ef"}}), strip(key, 0));
    EXPECT_EQ(pack({{4, "bcd"}, {9, "ef"}}), strip(key, 1));
    EXPECT_EQ(pack({{1, "a"}, {9, "ef"}}), strip(key, 2));
    EXPECT_EQ(pack({{1, "a"}, {4, "bcd"}}), strip(key, 4));
    EXPECT_EQ(pack({}), strip(key, 7));
    EXPECT_EQ(pack({}), strip(key, UINT64_MAX));
}

TEST_F(test_packed, of_two_is_one) {
    key_t key = pack({{1, "a"}, {9, "ef"}}, "rest");

    EXPECT_EQ(pack({{1, "a"}, {9, "ef"}}), merge(key, pack({})));
    EXPECT_EQ(pack({{1, "a"}, {9, "ef"}}), merge(pack({}), key));
    EXPECT_EQ(pack({{0, "x"}, {1, "a"}, {4, "bcd"}, {9, "ef"}, {63, "y"}}),
              merge(key, pack({{0, "x"}, {4, "bcd"}, {63, "y"}})));
}

TEST_F(test_packed, the_first_of_two_counts) {
    EXPECT_EQ(pack({{1, "new"}, {2, "z"}}),
              merge(pack({{1, "new"}}), pack({{1, "older"}, {2, "z"}})));
}
