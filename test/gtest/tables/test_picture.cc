/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include "../../tables/picture.h"
#include "../../tables/plot.h"
}

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>


class test_picture : public ::testing::Test {
protected:
    static constexpr uint64_t MIB = 1 << 20;
    static constexpr uint64_t SEC = 1000000000;

    /* What a function writes to a stream */
    template<typename F> static std::string written(F func)
    {
        char *text  = NULL;
        size_t size = 0;
        FILE *out   = open_memstream(&text, &size);
        func(out);
        fclose(out);
        std::string result(text, size);
        free(text);
        return result;
    }

    static std::string picture(const std::vector<predreg_chart_t> &charts)
    {
        return written([&](FILE *out) {
            predreg_picture_write(out, "A <title>", "below", charts.data(),
                                  charts.size());
        });
    }

    static size_t count(const std::string &text, const std::string &pattern)
    {
        std::regex regex(pattern);
        return std::distance(std::sregex_iterator(text.begin(), text.end(),
                                                  regex),
                             std::sregex_iterator());
    }

    /* The y coordinate of the second line of a label, by what it says */
    static double label_y(const std::string &text, const std::string &label)
    {
        std::regex regex("y=\"([0-9.]+)\" class=\"label\"[^>]*>" + label + "<");
        std::smatch match;
        EXPECT_TRUE(std::regex_search(text, match, regex)) << label;
        return match.empty() ? 0 : std::stod(match[1]);
    }

    const predreg_step_t m_steps[4] = {
        {0, 64 * MIB}, {SEC, 0}, {int64_t(2 * SEC), 32 * MIB},
        {int64_t(3 * SEC), 0}
    };
};

TEST_F(test_picture, axis_is_round)
{
    predreg_axis_t axis = predreg_axis_choose(100 * MIB);
    EXPECT_EQ(100. * MIB, axis.top);
    EXPECT_EQ(50. * MIB, axis.step);
    EXPECT_EQ(0, predreg_axis_depth(&axis, axis.top));
    EXPECT_EQ(1, predreg_axis_depth(&axis, 0));

    /* Between two and five lines of the grid, whatever the peak */
    for (uint64_t peak = 2; peak < (1ul << 60); peak += 1 + peak / 3) {
        axis = predreg_axis_choose(peak);
        EXPECT_GE(axis.top, peak);
        EXPECT_GE(axis.top / axis.step, 1) << peak;
        EXPECT_LE(axis.top / axis.step, 5) << peak;
    }
}

TEST_F(test_picture, lines_keep_peaks)
{
    predreg_axis_t axis = predreg_axis_choose(1000);
    std::vector<predreg_column_t> columns(PREDREG_CURVE_COLUMNS,
                                          predreg_column_t{0, 0, 0});
    columns[10] = {100, 1000, 200}; /* Rises to 1000 and falls to 200 */
    columns[11] = {200, 200, 200};
    EXPECT_EQ("<path class=\"x\" d=\"M0 1000H10V0V900V800H12V1000H1000\"/>",
              written([&](FILE *out) {
                  predreg_plot_line(out, columns.data(), PREDREG_CURVE_COLUMNS,
                                    &axis, "x");
              }));
    EXPECT_EQ("<path class=\"x\" d=\"M0 1000H10V0V900V800H11\"/>",
              written([&](FILE *out) {
                  predreg_plot_line(out, columns.data(), 11, &axis, "x");
              }));
    EXPECT_EQ("<path class=\"area\" d=\"M0 1000H10V0H11V800H12V1000"
              "H1000V1000Z\"/>", written([&](FILE *out) {
                  predreg_plot_area(out, columns.data(), &axis);
              }));
}

TEST_F(test_picture, chart_of_each_program)
{
    predreg_series_t series[] = {
        {"leave-pinned", m_steps, 2, 3 * SEC, 50. * MIB},
        {"predict & co", m_steps, 4, 2 * SEC, 20. * MIB}
    };
    std::string text = picture({{"first", series, 2}, {"second", series, 1},
                                {"third", series + 1, 1}});

    EXPECT_EQ(0u, text.find("<?xml"));
    EXPECT_EQ("</svg>\n", text.substr(text.size() - 7));
    EXPECT_EQ(count(text, "<svg "), count(text, "</svg>"));
    EXPECT_EQ(3u, count(text, "class=\"stretch\""));
    EXPECT_EQ(4u, count(text, "class=\"line[01]\" d=\"M0 1000H0V0"));
    EXPECT_EQ(1u, count(text, ">second</text>"));
    EXPECT_EQ(2u, count(text, ">predict &amp; co</text>"));
    EXPECT_EQ(2u, count(text, "A &lt;title&gt;"));

    /* A line ends with its program, the axis with the longest line */
    EXPECT_EQ(1u, count(text, "class=\"line1\" d=\"[^\"]*H667\""));
    EXPECT_EQ(3u, count(text, "class=\"line0\" d=\"[^\"]*H1000\""));
    EXPECT_EQ(2u, count(text, ">3.00\xc2\xa0s</text>"));
}

TEST_F(test_picture, labels_do_not_overlap)
{
    predreg_series_t series[] = {
        {"low", m_steps, 4, 3 * SEC, 0},
        {"high", m_steps, 4, 3 * SEC, 60. * MIB},
        {"lower", m_steps, 4, 3 * SEC, 0},
        {"middle", m_steps, 4, 3 * SEC, 59. * MIB}
    };
    std::string text = picture({{"crowded", series, 4}});
    std::vector<double> y;
    for (auto label : {"high", "middle", "low", "lower"}) {
        y.push_back(label_y(text, label));
    }
    for (size_t i = 1; i < y.size(); ++i) {
        EXPECT_GE(y[i], y[i - 1] + 27);
    }
    EXPECT_LE(y.back(), 60 + 35 + 190); /* Above the lower edge of the chart */
}

TEST_F(test_picture, nothing_registered)
{
    predreg_series_t series = {"none", NULL, 0, 0, 0};
    std::string text        = picture({{"empty", &series, 1}});
    EXPECT_EQ(1u, count(text, "class=\"line0\" d=\"M0 1000H0\""));
    EXPECT_EQ(count(picture({}), "<text"), 2u);
}
