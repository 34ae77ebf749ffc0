/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_test.h"

#include <common/log_watch.h>

/* Contexts of UCP that are made */
class test_making : public eager_test {
protected:
    void SetUp() override
    {
        eager_test::SetUp();
        m_config["ZCOPY_THRESH"] = "auto";
        m_config["PROTO_ENABLE"] = "y";
        s_gain_from              = 100;
    }

    void TearDown() override
    {
        uct_predreg_eager_closing(ucp());
        eager_test::TearDown();
    }

    /* Make a context with these features; @return what is listed */
    uct_predreg_eager_context_t *make(uint64_t features)
    {
        ucp_params_t params = {};
        uct_predreg_making_t making;

        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features   = features;
        uct_predreg_eager_making(test_core_state(), &test_core_state()->real,
                                 [] { return s_gain_from; }, &params, nullptr,
                                 &making);
        m_inside = m_config["ZCOPY_THRESH"];
        uct_predreg_eager_made(test_core_state(), &test_core_state()->real, &making,
                               nullptr, m_fails ? nullptr : ucp());
        return test_eager_listed(ucp());
    }

    /* From which lengths on UCP puts and gets without a copy */
    typedef std::pair<size_t, size_t> minimums_t;

    static minimums_t query(uint64_t caps = UCT_IFACE_FLAG_PUT_BCOPY |
                                            UCT_IFACE_FLAG_GET_BCOPY)
    {
        uct_iface_attr_t attr = {};

        attr.cap.flags         = caps;
        attr.cap.get.min_zcopy = 65;
        uct_predreg_eager_iface_query(&attr);
        return {attr.cap.put.min_zcopy, attr.cap.get.min_zcopy};
    }

    static size_t s_gain_from;
    std::string m_inside; /* The threshold that UCP reads */
    bool m_fails = false;
};

size_t test_making::s_gain_from;

TEST_F(test_making, the_threshold_is_set_for_ucp_alone) {
    uct_predreg_eager_context_t *context = make(UCP_FEATURE_TAG);

    ASSERT_NE(nullptr, context);
    EXPECT_EQ("256", m_inside);
    EXPECT_EQ("auto", m_config["ZCOPY_THRESH"]);
    EXPECT_EQ(size_t(UCT_PREDREG_SEND_MIN), context->min_length);
}

TEST_F(test_making, messages_by_rendezvous_are_left_alone) {
    typedef std::pair<std::string, size_t> case_t;

    for (const case_t &c : {case_t("auto", 8192), case_t("4096", 4095),
                            case_t("1m", 8192), case_t("0", 0),
                            case_t("intra:1k", 8192)}) {
        m_config["RNDV_THRESH"]       = c.first;
        uct_predreg_eager_context_t *context = make(UCP_FEATURE_TAG);

        ASSERT_NE(nullptr, context);
        EXPECT_EQ(c.second, context->max_length) << c.first;
        uct_predreg_eager_closing(ucp());
    }
}

TEST_F(test_making, messages_that_never_gain_are_left_alone) {
    s_gain_from                   = 2049;
    uct_predreg_eager_context_t *context = make(UCP_FEATURE_TAG);

    ASSERT_NE(nullptr, context);
    EXPECT_EQ("2049", m_inside);
    EXPECT_EQ(2049u, context->min_length);
    uct_predreg_eager_closing(ucp());

    s_gain_from = 0;
    m_modified.clear();
    EXPECT_EQ(nullptr, make(UCP_FEATURE_TAG));
    EXPECT_EQ("auto", m_inside);
    EXPECT_TRUE(m_modified.empty());
    EXPECT_NE(std::string::npos, log_watch::take().find("small sends are copied"));
}

TEST_F(test_making, each_kind_of_messages) {
    for (uint64_t feature : {UCP_FEATURE_TAG, UCP_FEATURE_AM,
                             UCP_FEATURE_STREAM}) {
        EXPECT_NE(nullptr, make(feature | UCP_FEATURE_WAKEUP));
        uct_predreg_eager_closing(ucp());
        EXPECT_EQ(nullptr, test_eager_listed(ucp()));
    }
}

TEST_F(test_making, contexts_without_messages_are_left_alone) {
    EXPECT_EQ(nullptr, make(UCP_FEATURE_RMA));
    EXPECT_EQ(nullptr, make(UCP_FEATURE_WAKEUP));
    EXPECT_EQ("auto", m_inside);
    EXPECT_TRUE(m_modified.empty());
}

TEST_F(test_making, puts_and_gets_are_copied_beside_messages) {
    ASSERT_NE(nullptr, make(UCP_FEATURE_TAG | UCP_FEATURE_RMA));
    EXPECT_EQ("256", m_inside);

    /* Not before and after the worker is made */
    EXPECT_EQ(minimums_t(0, 65), query());
    uct_predreg_eager_making_worker(ucp());
    EXPECT_EQ(minimums_t(16384, 8193), query());
    EXPECT_EQ(minimums_t(0, 65), query(UCT_IFACE_FLAG_PUT_ZCOPY));
    uct_predreg_eager_add_worker(ucp(), nullptr);
    EXPECT_EQ(minimums_t(0, 65), query());
}

TEST_F(test_making, interfaces_of_other_contexts_stay) {
    make(UCP_FEATURE_TAG);
    uct_predreg_eager_making_worker(ucp());
    EXPECT_EQ(minimums_t(0, 65), query());
    uct_predreg_eager_closing(ucp());

    /* The user has wished for it */
    m_config["ZCOPY_THRESH"] = "2K";
    make(UCP_FEATURE_TAG | UCP_FEATURE_RMA);
    uct_predreg_eager_making_worker(ucp());
    EXPECT_EQ(minimums_t(0, 65), query());
}

TEST_F(test_making, the_users_threshold_stays) {
    m_config["ZCOPY_THRESH"] = "2K";
    uct_predreg_eager_context_t *context = make(UCP_FEATURE_TAG);

    ASSERT_NE(nullptr, context);
    EXPECT_EQ(2048u, context->min_length);
    EXPECT_EQ("2K", m_inside);
    EXPECT_TRUE(m_modified.empty());
}

TEST_F(test_making, a_threshold_below_ours) {
    m_config["ZCOPY_THRESH"] = "0";
    uct_predreg_eager_context_t *context = make(UCP_FEATURE_TAG);

    ASSERT_NE(nullptr, context);
    EXPECT_EQ(size_t(UCT_PREDREG_SEND_MIN), context->min_length);
}

TEST_F(test_making, users_who_want_copies_get_them) {
    for (auto value : {"inf", "16K", "8193"}) {
        m_config["ZCOPY_THRESH"] = value;
        EXPECT_EQ(nullptr, make(UCP_FEATURE_TAG)) << value;
        EXPECT_EQ(value, m_inside);
    }
}

TEST_F(test_making, without_the_cost_model_the_flag_decides) {
    m_config["PROTO_ENABLE"] = "n";
    uct_predreg_eager_context_t *context = make(UCP_FEATURE_TAG);

    ASSERT_NE(nullptr, context);
    EXPECT_TRUE(context->flag_decides);
    uct_predreg_eager_closing(ucp());

    m_config["PROTO_ENABLE"] = "y";
    context = make(UCP_FEATURE_TAG);
    ASSERT_NE(nullptr, context);
    EXPECT_FALSE(context->flag_decides);
}

TEST_F(test_making, settings_that_are_not_found) {
    m_config.clear();
    EXPECT_EQ(nullptr, make(UCP_FEATURE_TAG));
    m_config["PROTO_ENABLE"] = "y";
    m_config.erase("ZCOPY_THRESH");
    EXPECT_EQ(nullptr, make(UCP_FEATURE_TAG));
    EXPECT_TRUE(m_modified.empty());
}

TEST_F(test_making, a_context_that_fails) {
    m_fails = true;
    EXPECT_EQ(nullptr, make(UCP_FEATURE_TAG));
    EXPECT_EQ("auto", m_config["ZCOPY_THRESH"]);
}
