/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/base/json.h>
#include <ucs/base/number.h>

#include <gtest/gtest.h>

#include <string>

class test_json : public ::testing::Test {
protected:
    ~test_json()
    {
        ucs_string_buffer_cleanup(&m_text);
    }

    std::string take()
    {
        std::string text = ucs_string_buffer_cstr(&m_text);

        ucs_string_buffer_reset(&m_text);
        m_json.needs_comma = 0;
        return text;
    }

    std::string string(const char *value)
    {
        ucs_json_string(&m_json, NULL, value);
        return take();
    }

    ucs_string_buffer_t m_text = UCS_STRING_BUFFER_INITIALIZER;
    ucs_json_t          m_json = {&m_text, 0};
};

TEST_F(test_json, strings) {
    EXPECT_EQ("null", string(NULL));
    EXPECT_EQ("\"\"", string(""));
    EXPECT_EQ("\"a\\\"\\\\b\\u000a\"", string("a\"\\b\n"));
    EXPECT_EQ("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
              string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    /* Cut off, too long forms, surrogates, beyond the last character */
    EXPECT_EQ("\"?\"", string("\xc3"));
    EXPECT_EQ("\"?a\"", string("\xff" "a"));
    EXPECT_EQ("\"??\"", string("\xc0\x80"));
    EXPECT_EQ("\"???\"", string("\xe0\x80\x80"));
    EXPECT_EQ("\"???\"", string("\xed\xa0\x80"));
    EXPECT_EQ("\"????\"", string("\xf0\x80\x80\x80"));
    EXPECT_EQ("\"????\"", string("\xf4\x90\x80\x80"));
    EXPECT_EQ("\"????\"", string("\xf5\x80\x80\x80"));
}

TEST_F(test_json, members) {
    ucs_json_begin(&m_json, NULL, '{');
    ucs_json_string(&m_json, "a", "b");
    ucs_json_begin(&m_json, "list", '[');
    ucs_json_printf(&m_json, NULL, "%d", 1);
    ucs_json_begin(&m_json, NULL, '{');
    ucs_json_end(&m_json, '}');
    ucs_json_bool(&m_json, NULL, 0);
    ucs_json_end(&m_json, ']');
    ucs_json_printf(&m_json, "x\"", "%.2f", 0.5);
    ucs_json_end(&m_json, '}');
    EXPECT_EQ("{\"a\":\"b\",\"list\":[1,{},false],\"x\\\"\":0.50}", take());
}


class test_base_number : public ::testing::Test {
protected:
    /* @return -1 if it is none */
    static long parse(const char *text, int is_bytes = 1)
    {
        unsigned long value;

        return ucs_number_parse(text, is_bytes, &value) ? (long)value : -1;
    }
};

TEST_F(test_base_number, whole) {
    EXPECT_EQ(0, parse("0", 0));
    EXPECT_EQ(17, parse("017", 0));
    for (const char *bad : {"", "-1", "+1", " 1", "1 ", "1k", "0x1", "a",
                            "18446744073709551616"}) {
        EXPECT_EQ(-1, parse(bad, 0)) << bad;
    }
}

TEST_F(test_base_number, bytes) {
    EXPECT_EQ(5, parse("5"));
    EXPECT_EQ(5, parse("5B"));
    for (const char *text : {"64m", "64M", "64mb", "64MB", "64MiB", "64mIb"}) {
        EXPECT_EQ(64 << 20, parse(text)) << text;
    }
    EXPECT_EQ(1l << 10, parse("1KiB"));
    EXPECT_EQ(3l << 30, parse("3g"));
    EXPECT_EQ(2l << 40, parse("2TB"));
    for (const char *bad : {"1bb", "1ib", "1mi", "1mbb", "1x", "1 m", "m", "1.5m",
                            "1m1", "16777216t", "1K\xc3"}) {
        EXPECT_EQ(-1, parse(bad)) << bad;
    }
}
