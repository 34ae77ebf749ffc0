/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <ucs/reuse/costs.h>

#include <cmath>
#include <limits>
#include <string>

class test_costs_text : public ::testing::Test {
protected:
    test_costs_text()
    {
        m_costs = {40000.5, 300.25, 9.125, {}};
        for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
            m_costs.copy[i] = 5 + (i * 3.5);
        }
    }

    std::string print() const
    {
        char text[UCS_REUSE_COSTS_TEXT_MAX];

        ucs_reuse_costs_print(&m_costs, text);
        return text;
    }

    bool parse(const std::string &text)
    {
        return ucs_reuse_costs_parse(text.c_str(), &m_read);
    }

    ucs_reuse_costs_t m_costs;
    ucs_reuse_costs_t m_read;
};

TEST_F(test_costs_text, what_is_printed_is_read) {
    EXPECT_EQ(0u, print().find("40000500 300250 9125 5000 8500 12000 "));
    ASSERT_TRUE(parse(print()));
    EXPECT_EQ(m_costs.reg_call, m_read.reg_call);
    EXPECT_EQ(m_costs.reg_page, m_read.reg_page);
    EXPECT_EQ(m_costs.lookup, m_read.lookup);
    for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        EXPECT_EQ(m_costs.copy[i], m_read.copy[i]);
    }
}

TEST_F(test_costs_text, large_numbers_fit) {
    m_costs.reg_call = m_costs.reg_page = m_costs.lookup = 1e30;
    for (double &copy : m_costs.copy) {
        copy = std::numeric_limits<double>::infinity();
    }
    EXPECT_LT(print().size(), UCS_REUSE_COSTS_TEXT_MAX - 1u);
    ASSERT_TRUE(parse(print()));
    EXPECT_EQ(1e9, m_read.reg_call);
    EXPECT_EQ(1e9, m_read.copy[0]);
}

TEST_F(test_costs_text, anything_else_is_refused) {
    const std::string good = print();

    for (const char *bad : {"", " ", "nan", "-1", "inf", "1e3", "0x1", "1.5",
                            "18446744073709551617", "1000000000001"}) {
        std::string text = good;

        /* Instead of the first, of the third and of the last number */
        EXPECT_FALSE(parse(text.replace(0, 8, bad))) << text;
        text = good;
        EXPECT_FALSE(parse(text.replace(good.find("9125"), 4, bad))) << text;
        text = good;
        EXPECT_FALSE(parse(text.replace(good.rfind(' ') + 1, 10, bad)))
                << text;
    }

    for (size_t i = 0; i < good.rfind(' ') + 2; ++i) {
        /* The numbers grow, so that half a last one is less than the one
         * before */
        EXPECT_FALSE(parse(good.substr(0, i))) << i;
    }
    EXPECT_FALSE(parse(good + " 300000"));
    EXPECT_FALSE(parse(good + " "));
    EXPECT_FALSE(parse(" " + good));
    EXPECT_FALSE(parse(good + "x"));
    EXPECT_TRUE(parse(good));
}

TEST_F(test_costs_text, copies_do_not_get_cheaper) {
    m_costs.copy[20] = m_costs.copy[19] - 1;
    EXPECT_FALSE(parse(print()));
    m_costs.copy[20] = m_costs.copy[19];
    EXPECT_TRUE(parse(print()));
}
