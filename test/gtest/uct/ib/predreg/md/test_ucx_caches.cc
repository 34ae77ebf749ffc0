/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "../core/core_test.h"

#include <uct/ib/predreg/md/md.h>

#include <map>

extern "C" {
#include <common/c_access.h>
}

/* UCX's own caches are switched off in configurations, which are maps here. The
 * handle of a component is its name */
class test_ucx_caches : public core_test {
protected:
    typedef std::map<std::string, std::string> config_t;

    void SetUp() override
    {
        core_test::SetUp();
        set("HELPER", "progress");

        uct_predreg_real_t *real = &test_core_state()->real;
        real->ucp_config_print   = [](const ucp_config_t *config, FILE *stream,
                                      const char*, ucs_config_print_flags_t) {
            for (auto &item : *reinterpret_cast<const config_t*>(config)) {
                fprintf(stream, "UCX_%s=%s\n", item.first.c_str(),
                        item.second.c_str());
            }
        };
        real->ucp_config_modify  = [](ucp_config_t *config, const char *name,
                                      const char *value) {
            (*reinterpret_cast<config_t*>(config))[name] = value;
            return UCS_OK;
        };
        real->uct_config_get     = [](void *config, const char *name,
                                      char *value, size_t max) {
            auto map  = static_cast<config_t*>(config);
            auto item = map->lower_bound(name);

            /* As UCX: the beginning of a name is enough */
            if ((item == map->end()) || (item->first.find(name) != 0)) {
                return UCS_ERR_NO_ELEM;
            }
            snprintf(value, max, "%s", item->second.c_str());
            return UCS_OK;
        };
        real->uct_config_modify  = [](void *config, const char *name,
                                      const char *value) {
            auto map = static_cast<config_t*>(config);

            if (s_prefix != NULL) {
                /* As UCX from 1.17 on: with the prefix of the component */
                if (strncmp(name, s_prefix, strlen(s_prefix))) {
                    return UCS_ERR_NO_ELEM;
                }
                name += strlen(s_prefix);
            }
            (*map)[name] = value;
            return UCS_OK;
        };
        s_prefix                 = NULL;
        real->uct_component_query = [](uct_component_h component,
                                       uct_component_attr_t *attr) {
            snprintf(attr->name, sizeof(attr->name), "%s",
                     reinterpret_cast<const char*>(component));
            attr->md_resource_count = s_num_domains;
            return UCS_OK;
        };
        real->uct_query_components       = [](uct_component_h **components,
                                              unsigned *count) {
            static char ib[] = "ib", knem[] = "knem", cma[] = "cma";
            static char *names[] = {ib, knem, cma};

            *components = reinterpret_cast<uct_component_h*>(names);
            *count      = 3;
            return UCS_OK;
        };
        real->uct_release_component_list = [](uct_component_h*) {};
        s_num_domains                    = 1;
    }

    void ucp_config()
    {
        uct_predreg_ucp_config(test_core_state(), &test_core_state()->real,
                               reinterpret_cast<ucp_config_t*>(&m_ucp));
    }

    void md_config(const char *component = "ib")
    {
        uct_predreg_md_config(test_core_state(),
                              reinterpret_cast<uct_component_h>(
                                      const_cast<char*>(component)),
                              reinterpret_cast<uct_md_config_t*>(&m_md));
    }

    /* Why it steps aside */
    static std::string reason()
    {
        const std::string prefix  = "predictive registration steps aside: ";
        const std::string message = log_watch::take();

        EXPECT_TRUE(test_core_state()->aside);
        EXPECT_EQ(0u, message.find(prefix)) << message;
        return message.substr(std::min(message.size(), prefix.size()));
    }

    static uct_predreg_settings_t settings_of(const char *component)
    {
        uct_predreg_settings_t settings;

        test_core_settings_of(component, &settings);
        return settings;
    }

    /* Let UCP tell another version: 1.minor */
    static void use_ucx(unsigned minor)
    {
        static unsigned s_minor;

        s_minor = minor;
        test_core_set_ucx(minor);
        test_core_state()->real.ucp_get_version = [](unsigned *major,
                                               unsigned *minor,
                                               unsigned *release) {
            *major   = 1;
            *minor   = s_minor;
            *release = 0;
        };
    }

    /* How many domains each component has */
    static unsigned s_num_domains;

    /* What the names of a component's settings begin with where they are changed */
    static const char *s_prefix;

    config_t m_ucp = {
        {"PROTO_ENABLE", "n"},
        {"RCACHE_ENABLE", "try"},
        {"TLS", "all"}
    };
    config_t m_md  = {
        {"RCACHE_MEM_PRIO", "1000"},
        {"REG_METHODS", "rcache,odp,direct"}
    };
};

unsigned test_ucx_caches::s_num_domains;
const char *test_ucx_caches::s_prefix;

/* That of UCP from 1.16 on serves all components */
TEST_F(test_ucx_caches, without_domains_to_manage_that_of_ucp_stays_on) {
    s_num_domains = 0;
    ucp_config();
    EXPECT_EQ("try", m_ucp["RCACHE_ENABLE"]);
    EXPECT_FALSE(test_core_state()->ucp_cache_is_off);
    EXPECT_FALSE(test_core_state()->aside);
}

TEST_F(test_ucx_caches, they_are_switched_off) {
    ucp_config();
    md_config();
    EXPECT_EQ("n", m_ucp["RCACHE_ENABLE"]);
    EXPECT_TRUE(test_core_state()->ucp_cache_is_off);
    EXPECT_EQ("all", m_ucp["TLS"]);
    EXPECT_EQ("direct", m_md["REG_METHODS"]);
    EXPECT_EQ("1000", m_md["RCACHE_MEM_PRIO"]);
    EXPECT_FALSE(test_core_state()->aside);
    EXPECT_FALSE(test_core_state()->fenced_puts);
}

/* By ucp_config_modify(), before it makes a context of it */
TEST_F(test_ucx_caches, the_program_may_switch_that_of_ucp_on_again) {
    ucp_config();
    m_ucp["RCACHE_ENABLE"] = "y";
    ucp_config();
    EXPECT_EQ("y", m_ucp["RCACHE_ENABLE"]);
    EXPECT_EQ("UCX_RCACHE_ENABLE=y keeps UCX's own cache on", reason());
}

/* Then no domain loses a cache by this library */
TEST_F(test_ucx_caches, the_user_may_have_switched_that_of_ucp_off) {
    m_ucp["RCACHE_ENABLE"] = "n";
    ucp_config();
    EXPECT_EQ("n", m_ucp["RCACHE_ENABLE"]);
    EXPECT_FALSE(test_core_state()->ucp_cache_is_off);
    EXPECT_FALSE(test_core_state()->aside);
}

TEST_F(test_ucx_caches, leave_pinned_leaves_them_on) {
    set("POLICY", "leave-pinned");
    ucp_config();
    md_config();
    EXPECT_EQ("try", m_ucp["RCACHE_ENABLE"]);
    EXPECT_EQ("rcache,odp,direct", m_md["REG_METHODS"]);
}

TEST_F(test_ucx_caches, the_cost_model_fences_puts) {
    m_ucp["PROTO_ENABLE"] = "y";
    ucp_config();
    EXPECT_TRUE(test_core_state()->fenced_puts);
}

/* What does not fit the bounds goes other ways under any of them, where there
 * is no low limit of locked memory */
TEST_F(test_ucx_caches, bounds_leave_the_protocols_as_they_are) {
    set("MAX_PINNED", "64M");
    set("MAX_REGIONS", "64");
    for (unsigned minor : {13, 16, 18, 21, 22}) {
        use_ucx(minor);
        for (const char *value : {"n", "y"}) {
            m_ucp["PROTO_ENABLE"]  = value;
            m_ucp["RCACHE_ENABLE"] = "try";
            ucp_config();
            if (!uct_predreg_pools_are_limited()) {
                EXPECT_EQ(value, m_ucp["PROTO_ENABLE"]) << minor;
            }
            EXPECT_EQ("n", m_ucp["RCACHE_ENABLE"]) << minor;
        }
    }
}

TEST_F(test_ucx_caches, a_low_limit_has_1_16_to_1_21_use_others) {
    run_limited([this] {
        for (unsigned minor : {16, 18, 21, 22}) {
            use_ucx(minor);
            m_ucp["PROTO_ENABLE"] = "y";
            ucp_config();
            EXPECT_EQ((minor < 22) ? "n" : "y", m_ucp["PROTO_ENABLE"]);
        }
    });
}

TEST_F(test_ucx_caches, below_a_low_limit_the_user_knows_better) {
    run_limited([this] {
        scoped_variable proto("UCX_PROTO_ENABLE", "y");

        use_ucx(18);
        m_ucp["PROTO_ENABLE"] = "y";
        ucp_config();
        EXPECT_EQ("y", m_ucp["PROTO_ENABLE"]);
        EXPECT_TRUE(test_core_state()->fenced_puts);
    });
}

/* There may be no key until something is deregistered, which waits for its end */
TEST_F(test_ucx_caches, no_registration_is_tried_without_end) {
    for (unsigned minor : {13, 14, 16, 18, 21, 22}) {
        use_ucx(minor);
        s_prefix = (minor < 17) ? NULL : "IB_";
        m_md     = {{"REG_RETRY_CNT", "inf"}};
        md_config();
        EXPECT_EQ((minor < 18) ? "inf" : "7", m_md["REG_RETRY_CNT"]) << minor;

        m_md = {{"REG_RETRY_CNT", "3"}}; /* A file of UCX's says so */
        md_config();
        EXPECT_EQ("3", m_md["REG_RETRY_CNT"]) << minor;

        m_md = {{"REG_RETRY_CNT", "inf"}};
        md_config("mlx"); /* It is not managed */
        EXPECT_EQ("inf", m_md["REG_RETRY_CNT"]) << minor;

        scoped_variable user("UCX_IB_REG_RETRY_CNT", "inf");
        md_config();
        EXPECT_EQ("inf", m_md["REG_RETRY_CNT"]) << minor;
    }
}

TEST_F(test_ucx_caches, what_is_off_stays_off) {
    scoped_variable ucp("UCX_RCACHE_ENABLE", "n");
    scoped_variable md("UCX_IB_REG_METHODS", "direct");

    m_ucp["RCACHE_ENABLE"] = "n";
    m_md["REG_METHODS"]    = "direct";
    ucp_config();
    md_config();
    EXPECT_FALSE(test_core_state()->aside);
}

TEST_F(test_ucx_caches, the_user_may_say_off_in_each_way_that_ucx_takes) {
    m_ucp["RCACHE_ENABLE"] = "n";
    m_md                   = {{"RCACHE", "n"}};
    set("COMPONENTS", "knem");
    for (const char *off : {"n", "N", "no", "No", "NO", "0"}) {
        scoped_variable ucp("UCX_RCACHE_ENABLE", off);
        scoped_variable md("UCX_KNEM_RCACHE", off);

        ucp_config();
        md_config("knem");
        EXPECT_FALSE(test_core_state()->aside) << off;
    }
}

/* gdr_copy has had a cache again since then */
TEST_F(test_ucx_caches, from_1_17_on_settings_have_a_prefix) {
    use_ucx(18);
    s_prefix = "GDR_COPY_";
    m_md     = {{"RCACHE", "try"}};
    set("COMPONENTS", "gdr_copy");
    md_config("gdr_copy");
    EXPECT_EQ("n", m_md["RCACHE"]);
}

TEST_F(test_ucx_caches, of_registration_methods_ucx_takes_the_very_word) {
    scoped_variable variable("UCX_IB_REG_METHODS", "DIRECT");

    ucp_config();
    EXPECT_EQ("UCX_IB_REG_METHODS=DIRECT chooses other than direct "
              "registration", reason());
}

/* Up to UCX 1.15 they are those of the domain, later those of UCP */
TEST_F(test_ucx_caches, their_settings_are_taken_over) {
    m_md["RCACHE_MAX_SIZE"]     = "16M";
    m_ucp["RCACHE_MAX_REGIONS"] = "100";
    ucp_config();
    md_config();

    EXPECT_EQ(16ul << 20, settings_of("ib").max_bytes);
    EXPECT_EQ(UINT64_MAX, settings_of("ib").max_regions);
    EXPECT_EQ(100u, settings_of("cma").max_regions);
    EXPECT_EQ(UINT64_MAX, settings_of("cma").max_bytes);
    EXPECT_STREQ("UCX_RCACHE_MAX_REGIONS=100, UCX_IB_RCACHE_MAX_SIZE=16M",
                 test_core_state()->told_settings);
}

TEST_F(test_ucx_caches, components_without_a_cache_are_left_alone) {
    m_md.clear();
    md_config();
    EXPECT_TRUE(m_md.empty());
}

TEST_F(test_ucx_caches, other_components_keep_theirs) {
    md_config("cma");
    EXPECT_EQ("rcache,odp,direct", m_md["REG_METHODS"]);

    m_md = {{"RCACHE", "try"}};
    md_config("knem");
    EXPECT_EQ("try", m_md["RCACHE"]);

    set("COMPONENTS", "cma");
    m_md = {{"REG_METHODS", "rcache,odp,direct"}};
    md_config("ib");
    EXPECT_EQ("rcache,odp,direct", m_md["REG_METHODS"]);
}

TEST_F(test_ucx_caches, those_of_all_chosen_components_are_switched_off) {
    set("COMPONENTS", "ib,knem");
    md_config("ib");
    EXPECT_EQ("direct", m_md["REG_METHODS"]);

    m_md = {{"RCACHE", "try"}};
    md_config("knem");
    EXPECT_EQ("n", m_md["RCACHE"]);
}

TEST_F(test_ucx_caches, an_unknown_ucp_is_left_alone) {
    m_ucp.erase("RCACHE_ENABLE");
    ucp_config();
    EXPECT_EQ(0u, m_ucp.count("RCACHE_ENABLE"));
}

TEST_F(test_ucx_caches, the_user_keeps_the_one_of_ucp) {
    scoped_variable variable("UCX_RCACHE_ENABLE", "y");

    m_ucp["RCACHE_ENABLE"] = "y";
    ucp_config();
    md_config();
    EXPECT_EQ("UCX_RCACHE_ENABLE=y keeps UCX's own cache on", reason());
    EXPECT_EQ("rcache,odp,direct", m_md["REG_METHODS"]);
}

TEST_F(test_ucx_caches, the_user_keeps_the_one_of_the_domain) {
    scoped_variable variable("UCX_IB_REG_METHODS", "rcache");

    ucp_config();
    EXPECT_EQ("UCX_IB_REG_METHODS=rcache chooses other than direct "
              "registration", reason());
    EXPECT_EQ("try", m_ucp["RCACHE_ENABLE"]);
}

TEST_F(test_ucx_caches, the_user_keeps_the_one_of_a_chosen_component) {
    scoped_variable variable("UCX_KNEM_RCACHE", "y");

    set("COMPONENTS", "ib,knem");
    ucp_config();
    EXPECT_EQ("UCX_KNEM_RCACHE=y keeps UCX's own cache on", reason());
}

TEST_F(test_ucx_caches, the_user_may_keep_that_of_another_component) {
    scoped_variable ib("UCX_IB_REG_METHODS", "rcache");
    scoped_variable knem("UCX_KNEM_RCACHE", "y");

    set("COMPONENTS", "cma");
    ucp_config();
    EXPECT_FALSE(test_core_state()->aside);
    EXPECT_EQ("n", m_ucp["RCACHE_ENABLE"]);
}

TEST_F(test_ucx_caches, a_file_keeps_the_one_of_ucp) {
    m_ucp["RCACHE_ENABLE"] = "y";
    ucp_config();
    EXPECT_EQ("UCX_RCACHE_ENABLE=y keeps UCX's own cache on", reason());
}

TEST_F(test_ucx_caches, a_file_keeps_the_one_of_the_domain) {
    m_md["REG_METHODS"] = "odp";
    md_config();
    EXPECT_EQ("UCX_IB_REG_METHODS=odp chooses other than direct registration",
              reason());
}
