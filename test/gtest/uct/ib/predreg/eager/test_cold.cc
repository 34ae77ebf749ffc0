/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/ib/predreg/eager/eager_int.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

/* The datatype of sends that are copied */
class test_cold : public ::testing::Test {
protected:
    static std::string data(size_t length)
    {
        std::string bytes(length, 0);

        for (size_t i = 0; i < length; ++i) {
            bytes[i] = char(i * 7 + (i >> 8));
        }
        return bytes;
    }

    /* What is packed in fragments of this length, the first one shorter */
    static std::string pack(const std::string &bytes, size_t first,
                            size_t fragment)
    {
        void *state = uct_predreg_cold_ops.start_pack(nullptr, bytes.data(),
                                                      bytes.size());
        std::string packed;
        size_t max = first;

        EXPECT_EQ(bytes.size(), uct_predreg_cold_ops.packed_size(state));
        while (packed.size() < bytes.size()) {
            std::vector<char> room(max + 1, 'x');
            size_t length = uct_predreg_cold_ops.pack(state, packed.size(),
                                                      room.data(), max);

            EXPECT_EQ(std::min(max, bytes.size() - packed.size()), length);
            EXPECT_EQ('x', room[length]); /* Not more than that */
            if (length == 0) {
                break;
            }
            packed.append(room.data(), length);
            max = fragment;
        }
        uct_predreg_cold_ops.finish(state);
        return packed;
    }
};

TEST_F(test_cold, packs_all_at_once) {
    for (size_t length : {1, 255, 256, 1023, 1024, 1025, 4096, 8192, 65535}) {
        std::string bytes = data(length);

        EXPECT_EQ(bytes, pack(bytes, length, length));
        EXPECT_EQ(bytes, pack(bytes, 100000, 1));
    }
}

TEST_F(test_cold, packs_in_fragments_at_every_offset) {
    std::string bytes = data(5000);

    for (size_t first = 1; first <= bytes.size(); first += 37) {
        ASSERT_EQ(bytes, pack(bytes, first, 1031));
    }
    for (size_t fragment = 1; fragment < 50; ++fragment) {
        ASSERT_EQ(bytes, pack(bytes, fragment, fragment));
    }
}

TEST_F(test_cold, what_does_not_fit_is_not_sent_so) {
    auto low  = reinterpret_cast<void*>(0x7fffffffffff);
    auto high = reinterpret_cast<void*>(uintptr_t(1) << 48);

    EXPECT_TRUE(uct_predreg_cold_can_send(low, UCT_PREDREG_SEND_MAX));
    EXPECT_TRUE(uct_predreg_cold_can_send(low, 65535));
    EXPECT_FALSE(uct_predreg_cold_can_send(low, 65536));
    EXPECT_FALSE(uct_predreg_cold_can_send(high, 1));
}

TEST_F(test_cold, nothing_is_received) {
    char byte;

    EXPECT_EQ(nullptr, uct_predreg_cold_ops.start_unpack(nullptr, &byte, 1));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              uct_predreg_cold_ops.unpack(nullptr, 0, &byte, 1));
}
