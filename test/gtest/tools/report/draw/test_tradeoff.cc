/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/draw/tradeoff.h>
}

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>


class test_tradeoff : public ::testing::Test {
protected:
    static std::string draw(const std::vector<predreg_mark_t> &marks)
    {
        char *buffer = NULL;
        size_t size  = 0;
        FILE *out    = open_memstream(&buffer, &size);

        predreg_tradeoff_write(out, "a <label>", marks.data(), marks.size(),
                               0.01);
        fclose(out);
        std::string text(buffer, size);
        free(buffer);
        return text;
    }

    /* All matches of the first group of a pattern */
    static std::vector<std::string> find(const std::string &text,
                                         const std::string &pattern)
    {
        const std::regex regex(pattern);
        std::vector<std::string> found;

        for (std::sregex_iterator i(text.begin(), text.end(), regex), end;
             i != end; ++i) {
            found.push_back((*i)[1]);
        }
        return found;
    }

    static std::vector<std::string> labels(const std::string &text)
    {
        return find(text, "class=\"label[^>]*>([^<]*)<");
    }

    static predreg_mark_t mark(const char *label, double memory, double extra,
                               int on_line = 0)
    {
        return {label, memory, memory, extra, on_line, 0};
    }
};

TEST_F(test_tradeoff, points_that_are_apart)
{
    std::string text = draw({mark("0 %", 100e6, 0, 1), mark("1 %", 50e6, .01, 1),
                             mark("inf", 10e6, .02, 1),
                             mark("on-demand", 5e6, 0)});

    EXPECT_EQ((std::vector<std::string>{"0 %", "1 %", "inf", "on-demand"}),
              labels(text)) << "from above to below";
    EXPECT_EQ(4u, find(text, "(<circle)").size());
    EXPECT_NE(std::string::npos, text.find("aria-label=\"a &lt;label&gt;\""));
}

TEST_F(test_tradeoff, points_that_lie_together)
{
    EXPECT_EQ((std::vector<std::string>{"0 %", "0.2 % – inf", "on-demand"}),
              labels(draw({mark("0 %", 100e6, 0, 1), mark("0.2 %", 50e6, 0, 1),
                           mark("1 %", 49e6, .0001, 1), mark("inf", 50e6, 0, 1),
                           mark("on-demand", 50e6, 0)})))
            << "on-demand is no point of the line";
}

TEST_F(test_tradeoff, far_points_are_at_the_edge)
{
    std::string text = draw({mark("0 %", 100e6, 0, 1), mark("inf", 5e6, .4, 1),
                             mark("on-demand", 10e6, 22.5)});

    EXPECT_EQ((std::vector<std::string>{"0 %", "on-demand 24×", "inf +40 %"}),
              labels(text));
    for (const std::string &x : find(text, "<circle cx=\"([0-9.-]+)\"")) {
        EXPECT_LE(0, std::stod(x));
        EXPECT_GE(240, std::stod(x)) << "labels are to the right of that";
    }
}

/* Labels neither cover each other nor leave the drawing */
TEST_F(test_tradeoff, labels_have_room)
{
    std::vector<predreg_mark_t> marks;

    for (double memory : {0., 100e6}) {
        marks.clear();
        for (unsigned i = 0; i < 12; ++i) {
            marks.push_back(mark("x", memory, 0));
        }
        marks.push_back(mark(NULL, 100e6, 0));

        double last = -100;
        auto ys     = find(draw(marks), "y=\"([0-9.-]+)\" class=\"label");
        EXPECT_EQ(12u, ys.size());
        for (const std::string &y : ys) {
            EXPECT_LE(last + 12.9, std::stod(y));
            EXPECT_LE(0, std::stod(y));
            EXPECT_GE(190, std::stod(y));
            last = std::stod(y);
        }
    }
}

TEST_F(test_tradeoff, numbers_beyond_all_sense)
{
    std::string text = draw({mark("0 %", 0, 0, 1), mark("1 %", 1e30, 1e30, 1),
                             mark("inf", 1e19, -1, 1)});

    EXPECT_EQ(std::string::npos, text.find("nan"));
    EXPECT_EQ(3u, labels(text).size());
}
