/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/draw/html.h>
}

#include <cstdlib>
#include <string>


class test_html : public ::testing::Test {
protected:
    test_html() { m_out = open_memstream(&m_text, &m_size); }

    ~test_html()
    {
        if (m_out != NULL) {
            fclose(m_out);
        }
        free(m_text);
    }

    /* All that was written; the stream is closed */
    std::string written()
    {
        fclose(m_out);
        m_out = NULL;
        return std::string(m_text, m_size);
    }

    std::string escaped(const std::string &text)
    {
        predreg_html_text(m_out, text.c_str());
        return written();
    }

    FILE   *m_out;
    char   *m_text = NULL;
    size_t m_size  = 0;
};

TEST_F(test_html, markup_is_text)
{
    EXPECT_EQ("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;",
              escaped("<script>alert(\"1\")</script>"));
}

TEST_F(test_html, attributes_are_not_left)
{
    EXPECT_EQ("&quot; onload=&#39;x&#39; &amp;lt;",
              escaped("\" onload='x' &lt;"));
}

TEST_F(test_html, utf8_is_kept)
{
    EXPECT_EQ("é – 漢 🚀", escaped("é – 漢 🚀"));
}

TEST_F(test_html, what_is_not_utf8_is_replaced)
{
    /* Byte of no character; overlong '<'; half a surrogate; beyond Unicode */
    EXPECT_EQ("�a��b���c����d",
              escaped("\xff" "a" "\xc0\xbc" "b" "\xed\xa0\x80" "c"
                      "\xf4\x90\x80\x80" "d"));
}

TEST_F(test_html, character_cut_off_by_the_end)
{
    EXPECT_EQ("x��", escaped("x\xe2\x82"));
}

TEST_F(test_html, character_cut_off_by_markup)
{
    EXPECT_EQ("�&lt;", escaped("\xe2<"));
}

TEST_F(test_html, control_characters_are_replaced)
{
    EXPECT_EQ("a\n\tb���c", escaped("a\n\tb\r\x1b\x7f" "c"));
}

TEST_F(test_html, formatted_text_is_escaped)
{
    predreg_html_print(m_out, "%s & %d", "<b>", 3);
    EXPECT_EQ("&lt;b&gt; &amp; 3", written());
}

TEST_F(test_html, element_ends_with_its_name)
{
    predreg_html_element(m_out, "td class=\"n\"", "%s", "1 < 2");
    EXPECT_EQ("<td class=\"n\">1 &lt; 2</td>\n", written());
}
