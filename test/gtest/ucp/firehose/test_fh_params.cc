/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/log_watch.h>

#include <gtest/gtest.h>

extern "C" {
#include <ucp/firehose/firehose_int.h>
}

#include <cstdlib>


class test_fh_params : public ::testing::Test {
protected:
    static constexpr uint64_t MIB = 1ul << 20;

    test_fh_params()
    {
        unsetenv("UCX_RCACHE_PRED_FIREHOSE_M");
        unsetenv("UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM");
        m_params.num_procs = 4;
    }

    ~test_fh_params()
    {
        unsetenv("UCX_RCACHE_PRED_FIREHOSE_M");
        unsetenv("UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM");
    }

    ucs_status_t get(uint64_t room = UINT64_MAX)
    {
        return ucp_fh_settings_get(&m_params, room, &m_settings);
    }

    /* A value is refused, with one line that says this */
    void refuse(const char *message,
                ucs_status_t status = UCS_ERR_INVALID_PARAM)
    {
        EXPECT_EQ(status, get());
        EXPECT_EQ(message, log_watch::take());
    }

    ucp_fh_init_params_t m_params = {};
    ucp_fh_settings_t m_settings  = {};
};


/* Programs that were built with the header of soname 0 have these: another layout wants
 * another soname (CONTRIBUTING.md). The library sets all fields of the last two */
TEST_F(test_fh_params, layout_of_soname_0)
{
    EXPECT_EQ(8u, offsetof(ucp_fh_init_params_t, context));
    EXPECT_EQ(16u, offsetof(ucp_fh_init_params_t, num_procs));
    EXPECT_EQ(20u, offsetof(ucp_fh_init_params_t, index));
    EXPECT_EQ(24u, offsetof(ucp_fh_init_params_t, m));
    EXPECT_EQ(32u, offsetof(ucp_fh_init_params_t, max_victim));
    EXPECT_EQ(40u, offsetof(ucp_fh_init_params_t, bucket));
    EXPECT_EQ(48u, offsetof(ucp_fh_init_params_t, max_region));
    EXPECT_EQ(56u, offsetof(ucp_fh_init_params_t, slack));
    EXPECT_EQ(64u, offsetof(ucp_fh_init_params_t, err_mode));

    EXPECT_EQ(32u, offsetof(ucp_fh_stats_t, bytes));
    EXPECT_EQ(64u, offsetof(ucp_fh_stats_t, damaged));
    EXPECT_EQ(72u, sizeof(ucp_fh_stats_t));
    EXPECT_EQ(16u, offsetof(ucp_fh_hold_attr_t, memh));
    EXPECT_EQ(24u, sizeof(ucp_fh_hold_attr_t));
}

TEST_F(test_fh_params, defaults) {
    EXPECT_EQ(UCS_OK, get());
    EXPECT_EQ(256 * MIB, m_settings.local.m);
    EXPECT_EQ(64 * MIB, m_settings.local.max_victim);
    EXPECT_EQ(18u, m_settings.local.shift);
    EXPECT_EQ(4u, m_settings.local.num_peers);
    EXPECT_EQ(UCP_ERR_HANDLING_MODE_PEER, m_settings.err_mode);
}

TEST_F(test_fh_params, buckets_of_many_processes_are_pages) {
    m_params.num_procs = 8192;
    EXPECT_EQ(UCS_OK, get());
    EXPECT_EQ(12u, m_settings.local.shift);
}

TEST_F(test_fh_params, processes) {
    m_params.num_procs = 0;
    refuse("firehose: a job of 0 processes; accepted: 1 to 1048576");
    m_params.num_procs = 4000000000u;
    refuse("firehose: a job of 4000000000 processes; accepted: 1 to 1048576");
    m_params.num_procs = 1048576;
    refuse("firehose: M is 268435456 bytes, less than a bucket of "
           "4096 bytes for each of 1048576 processes; accepted: 4294967296 bytes "
           "and more (M is what the program or UCX_RCACHE_PRED_FIREHOSE_M says, "
           "or less if bounds leave less)", UCS_ERR_EXCEEDS_LIMIT);
    m_params.field_mask = UCP_FH_PARAM_FIELD_M;
    m_params.m          = 1ul << 40;
    EXPECT_EQ(UCS_OK, get());
}

TEST_F(test_fh_params, index) {
    m_params.index = 4;
    refuse("firehose: process 4; accepted: 0 to 3");
    m_params.index = 3;
    EXPECT_EQ(UCS_OK, get());
    EXPECT_EQ(3u, m_settings.index);
}

TEST_F(test_fh_params, fields) {
    m_params.field_mask = UCS_BIT(6) | UCP_FH_PARAM_FIELD_M;
    m_params.m          = MIB;
    refuse("firehose: a field mask with 0x40, which this version of the library "
           "does not know; accepted: within 0x3f");
    m_params.field_mask = UCP_FH_PARAM_FIELD_ERR_MODE;
    m_params.err_mode   = (ucp_err_handling_mode_t)7;
    refuse("firehose: error handling mode 7; accepted: 0 and 1 "
           "(UCP_ERR_HANDLING_MODE_NONE and PEER)");
    m_params.err_mode   = UCP_ERR_HANDLING_MODE_NONE;
    EXPECT_EQ(UCS_OK, get());
    EXPECT_EQ(UCP_ERR_HANDLING_MODE_NONE, m_settings.err_mode);
}

TEST_F(test_fh_params, bytes) {
    m_params.field_mask = UCP_FH_PARAM_FIELD_M;
    m_params.m          = (1ul << 40) + 1;
    refuse("firehose: M of 1099511627777 bytes; accepted: up to 1099511627776");
    m_params.m          = 0;
    refuse("firehose: M is 0 bytes, less than a bucket of 4096 "
           "bytes for each of 4 processes; accepted: 16384 bytes and more (M is "
           "what the program or UCX_RCACHE_PRED_FIREHOSE_M says, or less if "
           "bounds leave less)", UCS_ERR_EXCEEDS_LIMIT);
    m_params.field_mask = UCP_FH_PARAM_FIELD_MAXVICTIM;
    m_params.max_victim = UINT64_MAX;
    refuse("firehose: MAXVICTIM of 18446744073709551615 bytes; accepted: up to "
           "1099511627776");
}

/* What earlier versions had is accepted, and one line says that it is without
 * effect */
TEST_F(test_fh_params, regions_of_several_buckets) {
    m_params.field_mask = UCP_FH_PARAM_FIELD_MAX_REGION |
                          UCP_FH_PARAM_FIELD_SLACK;
    m_params.max_region = 1;
    EXPECT_EQ(UCS_OK, get());
    EXPECT_EQ("", log_watch::take());
    m_params.max_region = 64;
    m_params.slack      = UINT64_MAX;
    EXPECT_EQ(UCS_OK, get());
    EXPECT_EQ("firehose: max_region and slack are without effect: a bucket is "
              "what is registered. Choose larger buckets "
              "(UCP_FH_PARAM_FIELD_BUCKET) in place of several together",
              log_watch::take());
    EXPECT_EQ(UCS_OK, get());
    EXPECT_EQ("", log_watch::take());
}

TEST_F(test_fh_params, bucket) {
    m_params.field_mask = UCP_FH_PARAM_FIELD_BUCKET;
    m_params.bucket     = 2048;
    refuse("firehose: buckets of 2048 bytes; accepted: a power of 2 from 4096 to "
           "1099511627776");
    m_params.bucket     = 12288;
    refuse("firehose: buckets of 12288 bytes; accepted: a power of 2 from 4096 to "
           "1099511627776");
    m_params.bucket     = 1ul << 41;
    refuse("firehose: buckets of 2199023255552 bytes; accepted: a power of 2 from "
           "4096 to 1099511627776");
}

TEST_F(test_fh_params, environment) {
    setenv("UCX_RCACHE_PRED_FIREHOSE_M", "16m", 1);
    setenv("UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM", "8m", 1);
    EXPECT_EQ(UCS_OK, get());
    EXPECT_EQ(16 * MIB, m_settings.local.m);
    EXPECT_EQ(8 * MIB, m_settings.local.max_victim);
    setenv("UCX_RCACHE_PRED_FIREHOSE_M", "much", 1);
    refuse("firehose: UCX_RCACHE_PRED_FIREHOSE_M=much is not accepted; accepted: "
           "4K to 1T, with a unit such as in 64M");
}

TEST_F(test_fh_params, bounds_lower_both) {
    EXPECT_EQ(UCS_OK, get(32 * MIB));
    EXPECT_NE("", log_watch::take());
    EXPECT_EQ(32 * MIB, m_settings.local.m + m_settings.local.max_victim);
    EXPECT_GT(m_settings.local.m, 3 * m_settings.local.max_victim);
}
