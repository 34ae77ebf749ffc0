/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/ib/predreg/compat/packed_key.h>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

/* Keys as UCP packs them (ucp_rkey_pack_memh()), and as it reads them
 * (ucp_ep_rkey_unpack_internal()) */
class test_packed_key : public ::testing::Test {
protected:
    using part = std::pair<unsigned, std::string>; /* Domain, and what it
                                                      packs */

    /* Pack a key. @param withdrawn  Domains whose handles are keyless. */
    std::string pack(const std::vector<part> &parts, uint64_t withdrawn,
                     unsigned num_domains = 8)
    {
        uint64_t domains = 0;

        for (const auto &p : parts) {
            domains |= 1ull << p.first;
        }

        /* Not aligned, in memory that was used for other keys before */
        m_end = m_memory + 3;
        append(&domains, sizeof(domains));
        append("\0", 1);
        for (const auto &p : parts) {
            char length = p.second.size();

            append(&length, 1);
            pack_part(p, withdrawn & (1ull << p.first), num_domains);
        }
        return std::string(m_memory + 3, m_end);
    }

    void pack_part(const part &p, bool is_keyless, unsigned num_domains)
    {
        memset(m_end, 'u', p.second.size());
        uct_predreg_packed_key_part(&m_key, m_end);
        if (is_keyless) {
            EXPECT_EQ(UCS_OK, uct_predreg_packed_key_withdraw(&m_key,
                                                              num_domains));
        } else {
            memcpy(m_end, p.second.data(), p.second.size());
        }
        m_end += p.second.size();
    }

    void append(const void *data, size_t length)
    {
        memcpy(m_end, data, length);
        m_end += length;
    }

    /* What a peer reads that reaches the first so many domains */
    static std::vector<part>
    unpack(const std::string &key, unsigned num_domains = 8)
    {
        const char *p = key.data() + sizeof(uint64_t) + 1;
        std::vector<part> parts;
        uint64_t domains;

        memcpy(&domains, key.data(), sizeof(domains));
        for (unsigned i = 0; i < UCT_PREDREG_PACKED_KEY_BITS; ++i) {
            if (!(domains & (1ull << i))) {
                continue;
            }

            size_t length = uint8_t(*p++);
            if (i < num_domains) {
                parts.emplace_back(i, std::string(p, length));
            }
            p += length;
        }
        EXPECT_EQ(key.data() + key.size(), p);
        return parts;
    }

    uct_predreg_packed_key_t m_key = {};
    char                     m_memory[256];
    char                     *m_end;
};

TEST_F(test_packed_key, nothing_is_withdrawn_unasked) {
    const std::vector<part> parts = {{1, "12345678"}, {5, "abc"}, {7, ""}};

    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(parts, unpack(pack(parts, 0)));
    }
}

TEST_F(test_packed_key, what_is_withdrawn_is_as_long_and_has_nothing) {
    const std::vector<part> parts = {{5, "12345678"}};
    std::string key               = pack(parts, 1 << 5);

    EXPECT_EQ(pack(parts, 0).size(), key.size());
    EXPECT_TRUE(unpack(key).empty());
    EXPECT_EQ(std::string(8, '\0'), key.substr(10));
}

/* Whichever of several domains has no room */
TEST_F(test_packed_key, it_is_withdrawn_as_a_whole) {
    const std::vector<part> parts = {{0, "12"}, {3, "12345678"}, {6, "abc"}};

    for (uint64_t withdrawn : {1 << 0, 1 << 3, 1 << 6, (1 << 0) | (1 << 6),
                               (1 << 0) | (1 << 3) | (1 << 6)}) {
        EXPECT_TRUE(unpack(pack(parts, withdrawn)).empty()) << withdrawn;
        EXPECT_EQ(parts, unpack(pack(parts, 0))); /* The next one is not */
    }
}

TEST_F(test_packed_key, a_domain_without_a_key_of_its_own) {
    EXPECT_TRUE(unpack(pack({{2, ""}, {4, ""}}, 1 << 4)).empty());
}

TEST_F(test_packed_key, a_context_with_many_domains) {
    EXPECT_TRUE(unpack(pack({{62, "1"}}, 1ull << 62, 63), 63).empty());
    EXPECT_TRUE(unpack(pack({{0, "1"}, {60, "2"}}, 1, 62), 62).empty());
}

TEST_F(test_packed_key, a_context_with_too_many) {
    const std::string key = pack({{60, "1"}, {62, "2"}}, 0);

    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT,
              uct_predreg_packed_key_withdraw(&m_key, 63));
    EXPECT_EQ(key, std::string(m_memory + 3, m_end));
}

/* Another key is packed behind one that was given up */
TEST_F(test_packed_key, after_a_part_that_failed) {
    const std::vector<part> parts = {{1, "12345678"}, {5, "abc"}};

    pack({{0, "1"}, {1, "2"}, {2, "3"}}, 0);
    pack_part({3, "x"}, false, 8); /* Does not belong to it */
    uct_predreg_packed_key_fail(&m_key);
    EXPECT_TRUE(unpack(pack(parts, 1 << 5)).empty());
}

/* Its memory has gone to another key, whose first part happens to be where the
 * next part of the first key would have been */
TEST_F(test_packed_key, after_one_that_was_left_unfinished) {
    char *start = m_memory + 20;
    uint64_t domains;

    domains = 0x3;
    memcpy(start - 10, &domains, sizeof(domains));
    start[-1] = 2;
    uct_predreg_packed_key_part(&m_key, start);

    domains = 0x10;
    memcpy(start + 3 - 10, &domains, sizeof(domains));
    start[2] = 8;
    uct_predreg_packed_key_part(&m_key, start + 3);
    EXPECT_EQ(start + 3 - 10, m_key.start);
    EXPECT_EQ(0u, m_key.left);
}
