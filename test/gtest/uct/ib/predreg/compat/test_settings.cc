/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <uct/ib/predreg/compat/rcache.h>
}

#include <cstring>
#include <map>
#include <string>

/* What a site has set of UCX's caches */
class test_settings : public ::testing::Test {
protected:
    typedef std::map<std::string, std::string> config_t;

    void read(config_t config, size_t max = sizeof(m_told))
    {
        uct_predreg_settings_init(&m_settings);
        uct_predreg_settings_read(&m_settings, "UCX_IB_",
                                  [](void *arg, const char *name, char *value,
                                     size_t max) {
                                      auto config = static_cast<config_t*>(arg);
                                      auto item   = config->find(name);

                                      if (item == config->end()) {
                                          return 0;
                                      }
                                      snprintf(value, max, "%s",
                                               item->second.c_str());
                                      return 1;
                                  }, &config, m_told, max);
    }

    uct_predreg_settings_t m_settings;
    char                   m_told[512] = "";
};

TEST_F(test_settings, defaults_of_all_versions_are_not_told)
{
    const config_t common = {
        {"RCACHE_MAX_SIZE", "inf"}, {"RCACHE_MAX_REGIONS", "inf"},
        {"RCACHE_PURGE_ON_FORK", "y"}, {"RCACHE_OVERHEAD", "auto"}
    };

    for (const char *unreleased : {"512M", "inf"}) {
        for (const char *align : {"16", "64"}) {
            config_t config                 = common;
            config["RCACHE_MEM_PRIO"]       = (*align == '1') ? "1000" : "500";
            config["RCACHE_MAX_UNRELEASED"] = unreleased;
            config["RCACHE_ADDR_ALIGN"]     = align;
            read(config);
            EXPECT_STREQ("", m_told);
            EXPECT_EQ(UINT64_MAX, m_settings.max_bytes);
            EXPECT_EQ(UINT64_MAX, m_settings.max_regions);
            EXPECT_EQ(1, m_settings.purge_on_fork);
            EXPECT_GT(0, m_settings.overhead);
        }
    }
}

TEST_F(test_settings, are_taken_over)
{
    read({{"RCACHE_MAX_SIZE", "16M"}, {"RCACHE_MAX_REGIONS", "1000"},
          {"RCACHE_PURGE_ON_FORK", "n"}, {"RCACHE_OVERHEAD", "0.05us"},
          {"RCACHE_MAX_UNRELEASED", "1M"}, {"RCACHE_MEM_PRIO", "900"}});
    EXPECT_EQ(16ul << 20, m_settings.max_bytes);
    EXPECT_EQ(1000u, m_settings.max_regions);
    EXPECT_EQ(0, m_settings.purge_on_fork);
    EXPECT_NEAR(50e-9, m_settings.overhead, 1e-12);
    EXPECT_EQ(1ul << 20, m_settings.max_unreleased);
    EXPECT_EQ(900u, m_settings.event_priority);
    EXPECT_STREQ("UCX_IB_RCACHE_MAX_SIZE=16M, UCX_IB_RCACHE_MAX_REGIONS=1000, "
                 "UCX_IB_RCACHE_PURGE_ON_FORK=n, UCX_IB_RCACHE_OVERHEAD=0.05us, "
                 "UCX_IB_RCACHE_MAX_UNRELEASED=1M (no effect), "
                 "UCX_IB_RCACHE_MEM_PRIO=900 (no effect)", m_told);
}

TEST_F(test_settings, are_told_once)
{
    read({{"RCACHE_MAX_SIZE", "16M"}});
    read({{"RCACHE_MAX_SIZE", "16M"}});
    EXPECT_STREQ("UCX_IB_RCACHE_MAX_SIZE=16M", m_told);
}

TEST_F(test_settings, text_is_cut_off)
{
    read({{"RCACHE_MAX_SIZE", "16M"}, {"RCACHE_MAX_REGIONS", "7"}}, 30);
    EXPECT_EQ(29u, strlen(m_told));
    read({{"RCACHE_PURGE_ON_FORK", "n"}}, 30);
    EXPECT_EQ(29u, strlen(m_told));
}

TEST_F(test_settings, what_ucx_does_not_write_is_left_alone)
{
    read({{"RCACHE_MAX_SIZE", "much"}, {"RCACHE_MAX_REGIONS", "many"},
          {"RCACHE_OVERHEAD", "5 ages"}});
    EXPECT_EQ(UINT64_MAX, m_settings.max_bytes);
    EXPECT_EQ(UINT64_MAX, m_settings.max_regions);
    EXPECT_GT(0, m_settings.overhead);
    EXPECT_STREQ("", m_told);
}

TEST_F(test_settings, of_a_component_or_of_ucp)
{
    uct_predreg_cache_settings_t list[2] = {};
    uct_predreg_settings_t values;

    uct_predreg_settings_init(&list[0].values);
    list[0].values.max_regions = 1;
    uct_predreg_settings_init(&list[1].values);
    list[1].values.max_regions = 2;
    strcpy(list[1].component, "ib");

    uct_predreg_settings_of(list, 2, "ib", &values);
    EXPECT_EQ(2u, values.max_regions);
    uct_predreg_settings_of(list, 2, "cma", &values);
    EXPECT_EQ(1u, values.max_regions);
    uct_predreg_settings_of(list, 0, "ib", &values);
    EXPECT_EQ(UINT64_MAX, values.max_regions);
}
