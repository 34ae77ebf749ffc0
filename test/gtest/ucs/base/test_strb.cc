/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/base/strb.h>

#include <gtest/gtest.h>

#include <string>

TEST(test_strb, a_short_text_is_whole) {
    UCS_STRB(strb, 64);

    EXPECT_STREQ("", ucs_string_buffer_cstr(&strb));
    ucs_string_buffer_appendf(&strb, "%d, ", 1);
    ucs_string_buffer_appendf(&strb, "%d", 2);
    EXPECT_STREQ("1, 2", ucs_string_buffer_cstr(&strb));
}

/* If libucs did not know that this memory is not its own, it would hand it to
 * realloc() */
TEST(test_strb, a_long_text_is_cut_off) {
    const std::string text(1000, 'x');

    UCS_STRB(strb, 64);
    ucs_string_buffer_appendf(&strb, "%s", text.c_str());
    ucs_string_buffer_appendf(&strb, "%s", text.c_str());
    EXPECT_EQ(strb_memory, ucs_string_buffer_cstr(&strb));
    EXPECT_EQ(text.substr(0, 63), ucs_string_buffer_cstr(&strb));
}
