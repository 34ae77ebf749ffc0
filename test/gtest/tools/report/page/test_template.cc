/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/page/template.h>
}

#include <cstdlib>
#include <cstring>
#include <string>


class test_template : public ::testing::Test {
protected:
    static std::string fill(const std::string &text, const std::string &json,
                            ucs_status_t expected = UCS_OK)
    {
        char *page  = NULL;
        size_t size = 0;
        FILE *out   = open_memstream(&page, &size);

        EXPECT_EQ(expected, predreg_template_write(text.c_str(), json.c_str(),
                                                   out)) << text;
        fclose(out);
        std::string result(page, size);
        free(page);
        return result;
    }
};

TEST_F(test_template, text_and_numbers)
{
    EXPECT_EQ("a b c", fill("a {{name}} c", "{\"name\":\"b\"}"));
    EXPECT_EQ("12 -3.5", fill("{{n}} {{m}}", "{\"n\":12,\"m\":-3.5}"));
    EXPECT_EQ("x", fill("{{a.b.c}}", "{\"a\":{\"d\":[1,{}],\"b\":{\"c\":\"x\"}}}"));
    EXPECT_EQ("", fill("{{none}}{{a.none}}{{a}}", "{\"a\":null}"));
}

TEST_F(test_template, nothing_is_markup)
{
    EXPECT_EQ("&lt;b&gt; &amp;amp; &quot;&#39;",
              fill("{{t}}", "{\"t\":\"<b> &amp; \\\"'\"}"));
    EXPECT_EQ("\\\t\xef\xbf\xbd\xef\xbf\xbd",
              fill("{{t}}", "{\"t\":\"\\\\\\u0009\\u001b\x7f\"}"));
    EXPECT_EQ("{{t}}", fill("{{t}}", "{\"t\":\"{{t}}\"}"));
    EXPECT_EQ("\xc3\xa9\xe2\x82\xac", fill("{{t}}",
                                           "{\"t\":\"\xc3\xa9\xe2\x82\xac\"}"));
}

/* What is in an element for scripts ends at the first </script, whatever it is
 * in; and U+2028 ends a line of old JavaScript */
TEST_F(test_template, json_in_a_script)
{
    EXPECT_EQ("{\"t\":\"\\u003c/script\\u003e\\u003c!--\\u0026\"}",
              fill("{{json}}", "{\"t\":\"</script><!--&\"}"));
    EXPECT_EQ("{\"t\":\"\\u2028\\u2029\xe2\x80\xaa\"}",
              fill("{{json}}",
                   "{\"t\":\"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\"}"));
}

TEST_F(test_template, formats)
{
    const std::string json = "{\"a\":3,\"b\":4,\"z\":0,\"m\":1048576}";

    EXPECT_EQ("1.00\xc2\xa0MiB", fill("{{bytes m}}", json));
    EXPECT_EQ("75.0\xc2\xa0%", fill("{{percent a / b}}", json));
    EXPECT_EQ("\xe2\x80\x93", fill("{{percent a / z}}", json));
    EXPECT_EQ("\xe2\x88\x92" "25.0\xc2\xa0%", fill("{{percent a - b / b}}", json));
    EXPECT_EQ("1,048,576", fill("{{count m}}", json));
    EXPECT_EQ("&lt;\xc2\xa0" "0.01\xc2\xa0%", fill("{{percent b / m}}", json));
    EXPECT_EQ("3.00\xc2\xa0s", fill("{{seconds a}}", json));
    EXPECT_EQ("75.0% 0.0% 100.0%",
              fill("{{bar a / b}} {{bar a / z}} {{bar b / a}}", json));
    EXPECT_EQ("1.3 12", fill("{{fixed b / a}} {{number a * b}}", json));
    EXPECT_EQ("8", fill("{{number a + 5}}", json));
    EXPECT_EQ("", fill("{{bytes none}}{{count none - a}}", json));
}

TEST_F(test_template, sections)
{
    const std::string json = "{\"yes\":true,\"no\":false,\"text\":\"x\","
                             "\"empty\":\"\",\"list\":[],\"zero\":0,\"n\":2}";

    for (const char *name : {"yes", "text", "n", "text = 'x'", "n = 2", "n > 1",
                             "n < 3"}) {
        EXPECT_EQ("[a]", fill(std::string("[{{#") + name + "}}a{{/}}{{^" + name +
                              "}}b{{/}}]", json)) << name;
    }
    for (const char *name : {"no", "empty", "list", "zero", "none", "text = 'y'",
                             "text = 'xx'", "none = 'x'", "n > 2", "none > 1",
                             "none = 0"}) {
        EXPECT_EQ("[b]", fill(std::string("[{{#") + name + "}}a{{/}}{{^" + name +
                              "}}b{{/}}]", json)) << name;
    }
    EXPECT_EQ("13", fill("1{{#no}}{{#yes}}2{{/yes}}{{^no}}2{{/}}{{/no}}3", json));
}

TEST_F(test_template, names_are_looked_up_from_the_inside)
{
    const std::string json =
        "{\"n\":1,\"o\":{\"n\":2,\"m\":null},\"m\":5,"
        "\"l\":[{\"n\":3},{\"k\":[{\"n\":4},{}]},{}]}";

    EXPECT_EQ("1 2 1", fill("{{n}} {{#o}}{{n}}{{/o}} {{n}}", json));
    EXPECT_EQ("", fill("{{#o}}{{m}}{{/o}}", json)); /* Null is there */
    EXPECT_EQ("3 1 1 ", fill("{{@l}}{{n}} {{/l}}", json));
    EXPECT_EQ("41", fill("{{@l}}{{@k}}{{n}}{{/k}}{{/l}}", json));
    EXPECT_EQ("xx", fill("{{@o}}x{{/o}}", json)); /* Of its members */
}

TEST_F(test_template, mistakes)
{
    for (const char *text : {"{{#a}}", "a{{/}}b", "{{a", "{{#a}}{{/}}{{/}}",
                             "{{money a}}", "{{bytes a ! b}}", "{{bytes a /}}"}) {
        fill(text, "{\"a\":1,\"b\":1}", UCS_ERR_INVALID_PARAM);
    }
}

TEST_F(test_template, no_more_objects_than_there_is_room)
{
    std::string begin, end;

    for (unsigned i = 0; i < 40; ++i) {
        begin += "{{#a}}";
        end   += "{{/}}";
    }
    fill(begin + end, "{\"a\":1}", UCS_ERR_INVALID_PARAM);
}

TEST_F(test_template, values)
{
    EXPECT_EQ("", fill("{{count s}}{{count none}}", "{\"s\":\"1\"}"));
    EXPECT_EQ("1 0", fill("{{number t + 0}} {{number z + 0}}",
                          "{\"t\":true,\"z\":null}"));
    EXPECT_EQ("xx", fill("{{@l}}x{{/l}}",
                         "{\"l\":[{\"a\":[\"]}\\\"\",{}]},2]}"));
    EXPECT_EQ("", fill("{{@l}}x{{/l}}", "{\"l\":[]}"));
    EXPECT_EQ("", fill("{{a}}", "{}"));
    EXPECT_EQ("", fill("{{a}}", "{\"ab\":1}"));
    EXPECT_EQ("1", fill("{{a}}", "{\"ab\":{\"a\":2},\"a\":1}"));
}
