/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "../core/core_test.h"

#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/lean/lean.h>

#include <map>

extern "C" {
#include <common/c_access.h>
}

typedef std::map<std::string, unsigned> lean_t;

/* The settings of a transport that lean changes */
static lean_t lean_of(const char *transport, unsigned ranks)
{
    uct_predreg_lean_t settings[UCT_PREDREG_LEAN_MAX];
    unsigned num = uct_predreg_lean(transport, ranks, settings);
    lean_t lean;

    EXPECT_LE(num, unsigned(UCT_PREDREG_LEAN_MAX));
    for (unsigned i = 0; i < num; ++i) {
        EXPECT_LT(settings[i].lean, settings[i].stock) << settings[i].name;
        lean[settings[i].name] = settings[i].lean;
    }
    return lean;
}

TEST(test_lean_settings, queues_by_the_ranks_of_the_node) {
    EXPECT_EQ((lean_t{{"TX_BUFS_GROW", 128}}), lean_of("rc_verbs", 1));
    EXPECT_EQ((lean_t{{"TX_BUFS_GROW", 128}}), lean_of("rc_verbs", 16));
    EXPECT_EQ((lean_t{{"TX_BUFS_GROW", 128}, {"RX_QUEUE_LEN", 2047},
                      {"FC_WND_SIZE", 256}}), lean_of("rc_mlx5", 17));
    EXPECT_EQ(lean_of("rc_mlx5", 17), lean_of("dc_mlx5", 32));
}

TEST(test_lean_settings, queues_are_never_shorter_than_the_shortest) {
    const lean_t shortest{{"TX_BUFS_GROW", 128}, {"RX_QUEUE_LEN", 1023},
                          {"FC_WND_SIZE", 128}};

    EXPECT_EQ(shortest, lean_of("rc_verbs", 33));
    EXPECT_EQ(shortest, lean_of("rc_verbs", 64));
    EXPECT_EQ(shortest, lean_of("dc_mlx5", UINT_MAX));
}

TEST(test_lean_settings, the_queue_of_ud_stays) {
    EXPECT_EQ((lean_t{{"TX_BUFS_GROW", 128}}), lean_of("ud_verbs", 64));
    EXPECT_EQ((lean_t{{"TX_BUFS_GROW", 128}}), lean_of("ud_mlx5", 2));
}

TEST(test_lean_settings, of_no_other_transport) {
    EXPECT_EQ(lean_t(), lean_of("srd", 64));
    EXPECT_EQ(lean_t(), lean_of("posix", 64));
    EXPECT_EQ(lean_t(), lean_of("", 64));
}


/* A configuration of a transport is a map here, by the prefixes of all tables */
class test_lean : public core_test {
protected:
    typedef std::map<std::string, std::string> config_t;

    void SetUp() override
    {
        core_test::SetUp();
        set("POOLS", "lean");
        start();

        uct_predreg_real_t *real = &test_core_state()->real;
        real->uct_config_get     = [](void *config, const char *name, char *value,
                                      size_t max) {
            auto map  = static_cast<config_t*>(config);
            auto item = map->find(name);

            if (item == map->end()) {
                return UCS_ERR_NO_ELEM;
            }
            snprintf(value, max, "%s", item->second.c_str());
            return UCS_OK;
        };
        /* As UCX: the last two parts of a name are enough */
        real->uct_config_modify  = [](void *config, const char *name,
                                      const char *value) {
            ucs_status_t status = UCS_ERR_NO_ELEM;

            for (auto &item : *static_cast<config_t*>(config)) {
                if ((item.first.size() >= strlen(name)) &&
                    !item.first.compare(item.first.size() - strlen(name),
                                        std::string::npos, name)) {
                    item.second = value;
                    status      = UCS_OK;
                }
            }
            return status;
        };
    }

    void configure(const char *transport = "rc_verbs")
    {
        m_hooks.iface_config(transport,
                             reinterpret_cast<uct_iface_config_t*>(&m_config));
    }

    void start()
    {
        m_hooks = {};
        uct_predreg_lean_addon.start(test_core_state(), &m_hooks, UCS_OK);
    }

    /* What a tool is told, without the ranks of the node */
    static std::string told()
    {
        static const std::string ranks = "64 on this node: ";
        std::string text;

        uct_predreg_lean_addon.tell([](void *arg, const char *word, const char *rest) {
            EXPECT_STREQ("lean", word);
            *static_cast<std::string*>(arg) = rest;
        }, &text);
        if (text.empty()) {
            return text;
        }
        EXPECT_EQ(0u, text.find(ranks));
        return text.substr(ranks.size());
    }

    uct_predreg_hooks_t m_hooks = {};

    const config_t m_stock{{"RC_RC_IB_RX_QUEUE_LEN", "4095"},
                           {"RC_RC_IB_TX_BUFS_GROW", "1024"},
                           {"RC_RC_FC_WND_SIZE", "512"}};
    const config_t m_lean{{"RC_RC_IB_RX_QUEUE_LEN", "1023"},
                          {"RC_RC_IB_TX_BUFS_GROW", "128"},
                          {"RC_RC_FC_WND_SIZE", "128"}};
    config_t       m_config = m_stock;
    const scoped_variable m_ranks{"OMPI_COMM_WORLD_LOCAL_SIZE", "64"};
};

TEST_F(test_lean, changes_what_is_as_in_ucx) {
    configure();
    EXPECT_EQ(m_lean, m_config);
    EXPECT_EQ("UCX_RC_VERBS_RX_QUEUE_LEN=1023 (UCX: 4095), "
              "UCX_RC_VERBS_FC_WND_SIZE=128 (UCX: 512), "
              "UCX_RC_VERBS_TX_BUFS_GROW=128 (UCX: 1024)", told());

    /* The configuration for a second worker is told of once */
    const std::string once = told();
    m_config = m_stock;
    configure();
    EXPECT_EQ(m_lean, m_config);
    EXPECT_EQ(once, told());
}

TEST_F(test_lean, nothing_by_default) {
    set("POOLS", "stock");
    start();
    EXPECT_EQ(nullptr, m_hooks.iface_config);
    EXPECT_EQ("", told());
}

TEST_F(test_lean, nothing_if_the_library_has_stepped_aside) {
    test_core_state()->aside = UCT_PREDREG_ASIDE_FORK;
    configure();
    EXPECT_EQ(m_stock, m_config);
    test_core_state()->aside = UCT_PREDREG_ASIDE_NONE;
}

/* By its own name, that of its family, and that of all transports; also if the user has
 * set UCX's default. The window goes with the queue */
TEST_F(test_lean, what_the_user_has_set_stays) {
    for (auto name : {"UCX_RC_VERBS_RX_QUEUE_LEN", "UCX_RC_RX_QUEUE_LEN",
                      "UCX_IB_RX_QUEUE_LEN", "UCX_RC_FC_WND_SIZE"}) {
        scoped_variable variable(name, "4095");

        m_config = m_stock;
        configure();
        EXPECT_EQ("4095", m_config["RC_RC_IB_RX_QUEUE_LEN"]) << name;
        EXPECT_EQ("512", m_config["RC_RC_FC_WND_SIZE"]) << name;
        EXPECT_EQ("128", m_config["RC_RC_IB_TX_BUFS_GROW"]) << name;
    }
    EXPECT_EQ("UCX_RC_VERBS_RX_QUEUE_LEN as it is, UCX_RC_VERBS_FC_WND_SIZE as it "
              "is, UCX_RC_VERBS_TX_BUFS_GROW=128 (UCX: 1024)", told());
}

TEST_F(test_lean, what_a_file_has_set_stays) {
    m_config["RC_RC_IB_TX_BUFS_GROW"] = "16";
    configure();
    EXPECT_EQ("16", m_config["RC_RC_IB_TX_BUFS_GROW"]);
    EXPECT_EQ("1023", m_config["RC_RC_IB_RX_QUEUE_LEN"]);
}

TEST_F(test_lean, settings_of_another_transport_are_no_matter) {
    scoped_variable ud("UCX_UD_VERBS_RX_QUEUE_LEN", "256");
    scoped_variable mlx5("UCX_RC_MLX5_RX_QUEUE_LEN", "256");

    configure();
    EXPECT_EQ(m_lean, m_config);
}

TEST_F(test_lean, dc_takes_settings_of_rc) {
    const config_t stock{{"DC_RC_IB_RX_QUEUE_LEN", "4095"},
                         {"DC_RC_IB_TX_BUFS_GROW", "1024"},
                         {"DC_RC_FC_WND_SIZE", "512"}};

    m_config = stock;
    configure("dc_mlx5");
    EXPECT_EQ("1023", m_config["DC_RC_IB_RX_QUEUE_LEN"]);

    scoped_variable variable("UCX_RC_RX_QUEUE_LEN", "4095");
    m_config = stock;
    configure("dc_mlx5");
    EXPECT_EQ("4095", m_config["DC_RC_IB_RX_QUEUE_LEN"]);
}

TEST_F(test_lean, ud) {
    m_config = {{"UD_IB_RX_QUEUE_LEN", "4096"}, {"UD_IB_TX_BUFS_GROW", "1024"}};
    configure("ud_mlx5");
    EXPECT_EQ((config_t{{"UD_IB_RX_QUEUE_LEN", "4096"}, {"UD_IB_TX_BUFS_GROW", "128"}}),
              m_config);

    m_config = {{"IB_RX_QUEUE_LEN", "4096"}, {"IB_TX_BUFS_GROW", "1024"}};
    configure("ud_verbs");
    EXPECT_EQ((config_t{{"IB_RX_QUEUE_LEN", "4096"}, {"IB_TX_BUFS_GROW", "128"}}),
              m_config);
}

/* Of a later version, for example */
TEST_F(test_lean, a_configuration_without_the_settings) {
    const config_t other{{"NEW_IB_RX_QUEUE_LEN", "4095"}};

    m_config = other;
    configure();
    EXPECT_EQ(other, m_config);
}
