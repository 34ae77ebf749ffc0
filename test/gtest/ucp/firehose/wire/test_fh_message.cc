/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

extern "C" {
#include <ucp/firehose/table/remote.h>
#include <ucp/firehose/wire/wire.h>
}

/* A message is in memory of exactly its length, so that a sanitizer sees who reads
 * beyond; uint64_t, since UCX's buffers are aligned as well */
class test_fh_message : public ::testing::Test {
protected:
    using bytes_t = std::vector<uint64_t>;
    using parse_t = std::function<ucs_status_t(const void*, size_t)>;

    static bytes_t make(ucp_fh_message_type_t type, size_t size)
    {
        bytes_t bytes((size + 7) / 8, 0);
        ucp_fh_header_t *header = (ucp_fh_header_t*)bytes.data();

        header->magic   = UCP_FH_MESSAGE_MAGIC;
        header->version = UCP_FH_MESSAGE_VERSION;
        header->type    = type;
        return bytes;
    }

    static bytes_t make_move(uint32_t num_unpins, uint32_t num_pins)
    {
        bytes_t bytes = make(UCP_FH_MESSAGE_MOVE,
                             ucp_fh_move_size(num_unpins, num_pins));
        std::vector<uint64_t> buckets;

        for (unsigned i = 0; i < num_unpins + num_pins; ++i) {
            buckets.push_back(1000 + i);
        }
        ucp_fh_move_write(bytes.data(), num_unpins, num_pins, buckets.data());
        return bytes;
    }

    /* Three buckets: two with keys of 3 and 8 bytes, and one that was refused */
    static bytes_t make_reply()
    {
        size_t size = ucp_fh_reply_size() + ucp_fh_reply_pin_size(3) +
                      ucp_fh_reply_pin_size(0) + ucp_fh_reply_pin_size(8);
        bytes_t bytes           = make(UCP_FH_MESSAGE_REPLY, size);
        ucp_fh_reply_pin_t pin  = {UCS_OK, 3, 100, 200};
        void *end;

        end = ucp_fh_reply_write(bytes.data(), 77, 3);
        ucp_fh_reply_write_pin(&end, &pin, "abc");
        pin = {UCS_ERR_INVALID_ADDR, 0, 0, 0};
        ucp_fh_reply_write_pin(&end, &pin, nullptr);
        pin = {UCS_OK, 8, 300, 400};
        ucp_fh_reply_write_pin(&end, &pin, "defghijk");
        EXPECT_EQ((uint8_t*)bytes.data() + size, end);
        return bytes;
    }

    static ucs_status_t parse_move(const void *data, size_t length)
    {
        ucp_fh_move_message_t move;

        return ucp_fh_move_parse(data, length, &move);
    }

    static ucs_status_t parse_reply(const void *data, size_t length)
    {
        ucp_fh_reply_message_t reply;

        return ucp_fh_reply_parse(data, length, &reply);
    }

    /* Parse a copy that ends where the message is cut */
    static ucs_status_t
    parse_cut(const bytes_t &bytes, size_t length, const parse_t &parse)
    {
        std::vector<uint8_t> copy(length);

        memcpy(copy.data(), bytes.data(), length);
        return parse(copy.data(), length);
    }

    static void no_other_length(const bytes_t &bytes, const parse_t &parse)
    {
        size_t length = bytes.size() * 8;
        bytes_t longer(bytes);

        EXPECT_EQ(UCS_OK, parse(bytes.data(), length));
        for (size_t cut = sizeof(ucp_fh_header_t); cut < length; ++cut) {
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_cut(bytes, cut, parse)) << cut;
        }
        longer.push_back(0);
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse(longer.data(), length + 8));
    }
};

TEST_F(test_fh_message, header) {
    bytes_t bytes           = make(UCP_FH_MESSAGE_BYE, sizeof(ucp_fh_header_t));
    ucp_fh_header_t *header = (ucp_fh_header_t*)bytes.data();

    EXPECT_EQ(header, ucp_fh_message_header(header, sizeof(*header)));
    EXPECT_EQ(nullptr, ucp_fh_message_header(header, sizeof(*header) - 1));
    EXPECT_EQ(nullptr, ucp_fh_message_header(header, 0));
    ++header->magic;
    EXPECT_EQ(nullptr, ucp_fh_message_header(header, sizeof(*header)));
    --header->magic;
    ++header->version;
    EXPECT_EQ(nullptr, ucp_fh_message_header(header, sizeof(*header)));
    --header->version;
    header->type = UCP_FH_MESSAGE_LAST;
    EXPECT_EQ(nullptr, ucp_fh_message_header(header, sizeof(*header)));
}

TEST_F(test_fh_message, move) {
    bytes_t bytes = make_move(2, 3);
    ucp_fh_move_message_t move;

    ASSERT_EQ(UCS_OK, ucp_fh_move_parse(bytes.data(), ucp_fh_move_size(2, 3),
                                        &move));
    EXPECT_EQ(2u, move.num_unpins);
    EXPECT_EQ(3u, move.num_pins);
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_EQ(1000 + i, move.buckets[i]);
    }
}

TEST_F(test_fh_message, move_of_another_length) {
    no_other_length(make_move(2, 3), parse_move);
    no_other_length(make_move(0, 0), parse_move);
}

TEST_F(test_fh_message, move_of_too_many) {
    EXPECT_EQ(UCS_OK, parse_move(make_move(UCP_FH_MAX_MOVE, 1).data(),
                                 ucp_fh_move_size(UCP_FH_MAX_MOVE, 1)));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              parse_move(make_move(UCP_FH_MAX_MOVE + 1, 1).data(),
                         ucp_fh_move_size(UCP_FH_MAX_MOVE + 1, 1)));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              parse_move(make_move(1, UCP_FH_MAX_MOVE + 1).data(),
                         ucp_fh_move_size(1, UCP_FH_MAX_MOVE + 1)));
}

TEST_F(test_fh_message, reply) {
    bytes_t bytes = make_reply();
    ucp_fh_reply_message_t reply;
    ucp_fh_reply_pin_t pin;
    const uint8_t *cursor;

    ASSERT_EQ(UCS_OK, ucp_fh_reply_parse(bytes.data(), bytes.size() * 8,
                                         &reply));
    EXPECT_EQ(77u, reply.move);
    ASSERT_EQ(3u, reply.num_pins);

    cursor = reply.pins;
    EXPECT_EQ(0, memcmp("abc", ucp_fh_reply_next_pin(&cursor, &pin), 3));
    EXPECT_EQ(UCS_OK, pin.status);
    EXPECT_EQ(100u, pin.start);
    EXPECT_EQ(200u, pin.end);
    EXPECT_EQ(3u, pin.length);
    ucp_fh_reply_next_pin(&cursor, &pin);
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, pin.status);
    EXPECT_EQ(0u, pin.length);
    EXPECT_EQ(0, memcmp("defghijk", ucp_fh_reply_next_pin(&cursor, &pin), 8));
    EXPECT_EQ(300u, pin.start);
    EXPECT_EQ((uint8_t*)(bytes.data() + bytes.size()), cursor);
}

TEST_F(test_fh_message, reply_of_another_length) {
    no_other_length(make_reply(), parse_reply);
}

TEST_F(test_fh_message, reply_with_wrong_pins) {
    struct {
        int32_t  status;
        uint32_t length;
    } cases[] = {
        {UCS_OK, 0},               /* A firehose without a key */
        {UCS_OK, 9},               /* The next bucket would begin elsewhere */
        {UCS_OK, UCP_FH_MAX_KEY},  /* Longer than the message */
        {UCS_OK, UCP_FH_MAX_KEY + 1},
        {UCS_OK, UINT32_MAX},
        {UCS_ERR_NO_MEMORY, 3},    /* A key without a firehose */
        {UCS_INPROGRESS, 0},       /* No error, and not there either */
        {UCS_ERR_LAST - 1, 0}
    };

    for (const auto &c : cases) {
        bytes_t bytes = make_reply();
        ucp_fh_reply_message_t reply;
        ucp_fh_reply_pin_t *pin;

        ASSERT_EQ(UCS_OK, ucp_fh_reply_parse(bytes.data(), bytes.size() * 8,
                                             &reply));
        pin         = (ucp_fh_reply_pin_t*)reply.pins;
        pin->status = c.status;
        pin->length = c.length;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  parse_reply(bytes.data(), bytes.size() * 8))
                << c.status << " " << c.length;
    }
}

/* Whatever byte is damaged, what is accepted is within the message: a sanitizer sees
 * it otherwise */
TEST_F(test_fh_message, reply_with_any_byte_damaged) {
    unsigned accepted = 0;

    for (size_t i = sizeof(ucp_fh_header_t); i < make_reply().size() * 8; ++i) {
        for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
            bytes_t bytes = make_reply();
            ucp_fh_reply_message_t reply;
            ucp_fh_reply_pin_t pin;
            const uint8_t *cursor;

            ((uint8_t*)bytes.data())[i] = value;
            if (ucp_fh_reply_parse(bytes.data(), bytes.size() * 8, &reply) !=
                UCS_OK) {
                continue;
            }

            ++accepted;
            cursor = reply.pins;
            for (unsigned k = 0; k < reply.num_pins; ++k) {
                const uint8_t *packed = (const uint8_t*)
                        ucp_fh_reply_next_pin(&cursor, &pin);
                EXPECT_LE(packed + pin.length,
                          (uint8_t*)(bytes.data() + bytes.size()));
            }
        }
    }
    EXPECT_GT(accepted, 0u);
}

TEST_F(test_fh_message, recall) {
    bytes_t bytes = make(UCP_FH_MESSAGE_RECALL, ucp_fh_recall_size());
    ucp_fh_run_t written = {5, UCP_FH_MAX_MOVE};
    ucp_fh_run_t recall;

    ucp_fh_recall_write(bytes.data(), &written);
    ASSERT_EQ(UCS_OK, ucp_fh_recall_parse(bytes.data(), ucp_fh_recall_size(),
                                          &recall));
    EXPECT_EQ(5u, recall.first);
    EXPECT_EQ((uint64_t)UCP_FH_MAX_MOVE, recall.num);
    no_other_length(bytes, [](const void *data, size_t length) {
        ucp_fh_run_t parsed;

        return ucp_fh_recall_parse(data, length, &parsed);
    });
}

TEST_F(test_fh_message, recall_of_nonsense) {
    const ucp_fh_run_t cases[] = {{5, 0}, {5, UCP_FH_MAX_MOVE + 1},
                                  {UINT64_MAX - 1, 2}};
    ucp_fh_run_t recall;

    for (const auto &c : cases) {
        bytes_t bytes = make(UCP_FH_MESSAGE_RECALL, ucp_fh_recall_size());

        ucp_fh_recall_write(bytes.data(), &c);
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  ucp_fh_recall_parse(bytes.data(), ucp_fh_recall_size(),
                                      &recall)) << c.first << " " << c.num;
    }
}

TEST_F(test_fh_message, address) {
    struct {
        ucp_fh_address_t head;
        char             rest[10];
    } address = {};
    size_t length        = sizeof(address.head) + 10;
    const auto is_wrong  = [&](std::function<void()> change) {
        ucp_fh_address_t saved = address.head;

        change();
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, ucp_fh_address_check(&address, length));
        address.head = saved;
    };

    address.head.magic   = UCP_FH_ADDRESS_MAGIC;
    address.head.version = UCP_FH_MESSAGE_VERSION;
    address.head.shift   = 12;
    address.head.share   = 1;
    address.head.length  = 10;
    EXPECT_EQ(UCS_OK, ucp_fh_address_check(&address, length));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, ucp_fh_address_check(&address, length - 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucp_fh_address_check(&address, sizeof(address.head)));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, ucp_fh_address_check(&address, 0));
    is_wrong([&] { ++address.head.magic; });
    is_wrong([&] { ++address.head.version; });
    is_wrong([&] { address.head.shift = UCP_FH_MIN_SHIFT - 1; });
    is_wrong([&] { address.head.shift = UCP_FH_MAX_SHIFT + 1; });
    is_wrong([&] { address.head.share = 0; });
    is_wrong([&] { ++address.head.length; });
}
