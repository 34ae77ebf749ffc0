/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_ucx.h"

#include <ucp/api/ucp_compat.h>
#include <uct/ib/predreg/firehose/preload/firehose.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

/* Functions that libucp imports from libuct, between hooks that a test sets and
 * a fake UCX */
class test_preload_uct : public ::testing::Test {
protected:
    void SetUp() override
    {
        s_self = this;
        fake_reset();
        m_hooks.ucp_config   = [](const uct_predreg_real_t*, ucp_config_t*) {};
        m_hooks.md_config    = [](uct_component_h, uct_md_config_t*) {
            told("md_config");
        };
        m_hooks.iface_config = [](const char *transport, uct_iface_config_t*) {
            told(transport);
        };
        m_hooks.allocated    = [](const void*, const char *name) {
            told(std::string("allocated ") + name);
        };
        m_hooks.md_opened    = [](uct_md_h, const char *name, unsigned count) {
            told(name);
            s_self->m_num_domains = count;
        };
        m_hooks.md_closing   = [](uct_md_h) { told("md_closing"); };
        m_hooks.md_query     = [](uct_md_h, uct_md_attr_t*) {
            told("md_query");
        };
        m_hooks.iface_opened = [](uct_md_h, uct_worker_h, uct_iface_h) {
            told("iface_opened");
        };
        m_hooks.mem_reg      = [](uct_md_h, void*, size_t, unsigned flags,
                                  uct_predreg_purpose_t purpose, uct_mem_h*) {
            told("mem_reg");
            s_self->m_flags   = flags;
            s_self->m_purpose = purpose;
            return UCS_ERR_BUSY;
        };
        m_hooks.device_mem_reg = [](uct_md_h, void*, size_t,
                                    const uct_md_mem_reg_params_t *params,
                                    uct_predreg_purpose_t purpose, uct_mem_h*) {
            told("device_mem_reg");
            s_self->m_flags   = params->flags;
            s_self->m_purpose = purpose;
            return UCS_ERR_BUSY;
        };
        m_hooks.mem_dereg    = [](uct_md_h,
                                  const uct_md_mem_dereg_params_t *params) {
            told("mem_dereg");
            s_self->m_dereg = *params;
            return UCS_ERR_BUSY;
        };
        m_hooks.mkey_begin   = [](uct_md_h, uct_mem_h) {
            told("mkey_begin");
            return s_self->m_key_status;
        };
        m_hooks.mkey_pack_v2 = [](uct_md_h, uct_mem_h, const uintptr_t *args,
                                  int is_ucp) {
            told("mkey_pack_v2");
            s_self->m_args.assign(args, args + 4);
            s_self->m_is_ucp = is_ucp;
            return s_self->m_key_status;
        };
        m_hooks.md_query_v2  = [](uct_md_h, uct_md_attr_v2_t*) {
            told("md_query_v2");
        };
        m_hooks.md_enter     = [](uct_md_h) { told("md_enter"); };
        m_hooks.md_leave     = [](uct_md_h) { told("md_leave"); };
        fake_set_hooks(&m_hooks);
    }

    void TearDown() override
    {
        fake_set_hooks(nullptr);
        fake_reset();
    }

    static void told(const std::string &what)
    {
        s_self->m_told += what + " ";
    }

    /* The functions that tell of something that UCX did */
    ucs_status_t call_all_openers()
    {
        uct_md_config_t *config;
        uct_md_attr_t attr;
        uct_md_attr_v2_t attr_v2 = {};
        uct_iface_config_t *iface_config;
        uct_iface_h iface;
        uct_md_h md;

        uct_md_config_read(nullptr, nullptr, nullptr, &config);
        uct_md_open(nullptr, "mlx", config, &md);
        uct_md_query(md, &attr);
        uct_md_query_v2(md, &attr_v2);
        uct_md_iface_config_read(md, "rc", nullptr, nullptr, &iface_config);
        uct_md_iface_config_read(md, nullptr, nullptr, nullptr, &iface_config);
        return uct_iface_open(md, nullptr, nullptr, nullptr, &iface);
    }

    static test_preload_uct *s_self;

    uct_predreg_hooks_t       m_hooks       = {};
    uct_md_mem_dereg_params_t m_dereg       = {};
    ucs_status_t              m_key_status  = UCS_OK;
    std::vector<uintptr_t>    m_args;
    int                       m_is_ucp      = -1;
    unsigned                  m_flags       = 0;
    int                       m_purpose     = -1;
    unsigned                  m_num_domains = 0;
    uct_mem_h                 m_memh        = this;
    std::string               m_told;
};

test_preload_uct *test_preload_uct::s_self;

TEST_F(test_preload_uct, the_core_is_told_of_what_was_opened) {
    EXPECT_EQ(UCS_OK, call_all_openers());
    EXPECT_EQ("md_config mlx md_query md_query_v2 rc iface_opened ", m_told);
    EXPECT_EQ(7u, fake_call.count);
}

TEST_F(test_preload_uct, it_is_not_told_of_what_failed) {
    fake_result = UCS_ERR_IO_ERROR;
    EXPECT_EQ(UCS_ERR_IO_ERROR, call_all_openers());
    EXPECT_EQ("", m_told);
    EXPECT_EQ(7u, fake_call.count);
}

TEST_F(test_preload_uct, a_domain_is_closed_after_the_core_was_told) {
    uct_md_close(nullptr);
    EXPECT_EQ("md_closing ", m_told);
    EXPECT_STREQ("uct_md_close", fake_call.name);
}

TEST_F(test_preload_uct, the_core_registers) {
    EXPECT_EQ(UCS_ERR_BUSY, uct_md_mem_reg(nullptr, this, 1, 0, &m_memh));
    EXPECT_EQ("mem_reg ", m_told);
    EXPECT_EQ(0u, fake_call.count);
}

TEST_F(test_preload_uct, programs_that_use_uct_get_what_they_ask_for) {
    uct_md_mem_reg(nullptr, this, 1, 0, &m_memh);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MAPPED, m_purpose);
}

TEST_F(test_preload_uct, ucp_registers_for_the_entry_point_that_was_called) {
    fake_set_is_ucp(1);
    fake_inside = [] {
        uct_mem_h memh;

        uct_md_mem_reg(nullptr, s_self, 1, 0, &memh);
    };
    m_hooks.comm = [](uct_predreg_issuer_t*,
                      const uct_predreg_comm_t*) {};
    ucp_put_nbi(nullptr, this, 1, 0, nullptr);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_ONE_SIDED, m_purpose);
    ucp_put_nbi(nullptr, this, UCT_PREDREG_MIN_LENGTH, 0, nullptr);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_ONE_SIDED, m_purpose);
}

TEST_F(test_preload_uct, ucp_registers_for_firehose) {
    ucp_mem_map_params_t params = {};
    ucp_mem_h memh;

    fake_set_is_ucp(1);
    fake_inside = [] {
        uct_mem_h memh;

        uct_md_mem_reg(nullptr, s_self, 1, 0, &memh);
    };
    predreg_firehose_map_1(nullptr, &params, &memh);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_PINNED, m_purpose);
}

/* The program has called an entry point of UCP by an address that it got in
 * another way */
TEST_F(test_preload_uct, what_ucp_registers_past_us_may_be_anything) {
    fake_set_is_ucp(1);
    uct_md_mem_reg(nullptr, this, 1, 0, &m_memh);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_UNKNOWN, m_purpose);
}

TEST_F(test_preload_uct, the_core_registers_through_both_interfaces) {
    uct_md_mem_reg_params_t params = {};

    params.field_mask = UCT_MD_MEM_REG_FIELD_FLAGS;
    params.flags      = 0x368;
    EXPECT_EQ(UCS_ERR_BUSY,
              uct_md_mem_reg_v2(nullptr, this, 1, &params, &m_memh));
    EXPECT_EQ("mem_reg ", m_told);
    EXPECT_EQ(0x368u, m_flags);
    EXPECT_EQ(0u, fake_call.count);
}

TEST_F(test_preload_uct, the_core_registers_memory_of_devices) {
    uct_md_mem_reg_params_t params = {};

    params.field_mask = UCS_BIT(1); /* A dmabuf */
    EXPECT_EQ(UCS_ERR_BUSY,
              uct_md_mem_reg_v2(nullptr, this, 1, &params, &m_memh));
    EXPECT_EQ("device_mem_reg ", m_told);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MAPPED, m_purpose);
    EXPECT_EQ(0u, fake_call.count);
}

TEST_F(test_preload_uct, what_ucp_has_allocated_is_a_pool) {
    uct_mem_alloc_params_t params = {};
    uct_allocated_memory_t mem    = {};

    fake_set_is_ucp(1);
    mem.address = this;
    ASSERT_EQ(UCS_OK, uct_mem_alloc(1, nullptr, 0, &params, &mem));
    for (int domain = 0; domain < 2; ++domain) {
        m_purpose = -1;
        uct_md_mem_reg(nullptr, this, 1, 0, &m_memh);
        EXPECT_EQ(UCT_PREDREG_PURPOSE_POOL, m_purpose);
    }

    /* A registration of something else ends that */
    uct_md_mem_reg(nullptr, &mem, 1, 0, &m_memh);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_UNKNOWN, m_purpose);
    uct_md_mem_reg(nullptr, this, 1, 0, &m_memh);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_UNKNOWN, m_purpose);
}

TEST_F(test_preload_uct, what_ucp_has_freed_is_no_pool) {
    uct_mem_alloc_params_t params = {};
    uct_allocated_memory_t mem    = {};

    fake_set_is_ucp(1);
    mem.address = this;
    ASSERT_EQ(UCS_OK, uct_mem_alloc(1, nullptr, 0, &params, &mem));
    ASSERT_EQ(UCS_OK, uct_mem_free(&mem));
    uct_md_mem_reg(nullptr, this, 1, 0, &m_memh);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_UNKNOWN, m_purpose);
}

/* UCX maps memory in there, and hooks of mappings may wait for the helper, which may wait
 * for a domain */
TEST_F(test_preload_uct, no_domain_is_entered_while_memory_is_mapped) {
    const uct_alloc_method_t methods[] = {UCT_ALLOC_METHOD_MD,
                                          UCT_ALLOC_METHOD_MMAP};
    uct_mem_alloc_params_t params      = {};
    uct_allocated_memory_t mem         = {};
    uct_md_h mds[]                     = {nullptr, nullptr};

    params.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_MDS;
    params.mds.mds    = mds;
    params.mds.count  = 2;
    uct_mem_alloc(1, methods, 2, &params, &mem);
    mem.method = UCT_ALLOC_METHOD_MD;
    uct_mem_free(&mem);
    EXPECT_EQ("allocated  ", m_told);
}

TEST_F(test_preload_uct, the_core_is_told_whose_memory_was_allocated) {
    uct_mem_alloc_params_t params = {};
    uct_allocated_memory_t mem    = {};

    params.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_NAME;
    params.name       = "ud_tx_skb";
    uct_mem_alloc(1, nullptr, 0, &params, &mem);
    EXPECT_EQ("allocated ud_tx_skb ", m_told);

    fake_result = UCS_ERR_NO_MEMORY;
    uct_mem_alloc(1, nullptr, 0, &params, &mem);
    EXPECT_EQ("allocated ud_tx_skb ", m_told);
}

TEST_F(test_preload_uct, a_domain_that_allocates_is_entered) {
    uct_md_mem_alloc(nullptr, 1, 2, 3, 4, 5, 6, 7);
    EXPECT_EQ("md_enter md_leave ", m_told);
    EXPECT_STREQ("uct_md_mem_alloc", fake_call.name);
    uct_md_mem_free(nullptr, m_memh);
    EXPECT_EQ("md_enter md_leave md_enter md_leave ", m_told);
    EXPECT_STREQ("uct_md_mem_free", fake_call.name);
}

TEST_F(test_preload_uct, a_domain_is_entered_to_attach_memory) {
    EXPECT_EQ(UCS_OK, uct_md_mem_attach(nullptr, nullptr, nullptr, &m_memh));
    EXPECT_EQ("md_enter md_leave ", m_told);
    EXPECT_STREQ("uct_md_mem_attach", fake_call.name);
}

TEST_F(test_preload_uct, the_core_deregisters) {
    EXPECT_EQ(UCS_ERR_BUSY, uct_md_mem_dereg(nullptr, m_memh));
    EXPECT_EQ(m_memh, m_dereg.memh);
    EXPECT_EQ(uint64_t(UCT_MD_MEM_DEREG_FIELD_MEMH), m_dereg.field_mask);

    m_dereg.flags = UCT_MD_MEM_DEREG_FLAG_INVALIDATE;
    uct_md_mem_dereg_params_t params = m_dereg;
    EXPECT_EQ(UCS_ERR_BUSY, uct_md_mem_dereg_v2(nullptr, &params));
    EXPECT_EQ(unsigned(UCT_MD_MEM_DEREG_FLAG_INVALIDATE), m_dereg.flags);
    EXPECT_EQ("mem_dereg mem_dereg ", m_told);
    EXPECT_EQ(0u, fake_call.count);
}

TEST_F(test_preload_uct, a_key_is_packed_if_there_is_one) {
    EXPECT_EQ(UCS_OK, uct_md_mkey_pack(nullptr, m_memh, nullptr));
    EXPECT_EQ(1u, fake_call.count);
    EXPECT_EQ("mkey_begin md_leave ", m_told);

    m_told       = "";
    m_key_status = UCS_ERR_UNSUPPORTED;
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, uct_md_mkey_pack(nullptr, m_memh, nullptr));
    EXPECT_EQ(1u, fake_call.count);
    EXPECT_EQ("mkey_begin ", m_told);
}

TEST_F(test_preload_uct, the_core_packs_keys_of_the_second_interface) {
    m_key_status = UCS_ERR_BUSY;
    for (int is_ucp : {0, 1}) {
        fake_set_is_ucp(is_ucp);
        m_told      = "";
        EXPECT_EQ(UCS_ERR_BUSY,
                  uct_md_mkey_pack_v2(nullptr, m_memh, 1, 2, 3, 4));
        EXPECT_EQ("mkey_pack_v2 ", m_told);
        EXPECT_EQ((std::vector<uintptr_t>{1, 2, 3, 4}), m_args);
        EXPECT_EQ(is_ucp, m_is_ucp);
    }
    EXPECT_EQ(0u, fake_call.count);
}

TEST_F(test_preload_uct, the_domains_of_a_context_are_counted) {
    static uct_md_h md;
    ucp_params_t params = {};
    ucp_context_h context;

    uct_md_open(nullptr, "lone", nullptr, &md);
    EXPECT_EQ(0u, m_num_domains);

    fake_set_is_ucp(1);
    for (int i = 0; i < 2; ++i) {
        fake_inside_init = [] {
            uct_md_open(nullptr, "first", nullptr, &md);
            uct_md_open(nullptr, "second", nullptr, &md);
        };
        ucp_init_version(1, 13, &params, fake_config, &context);
        EXPECT_EQ(2u, m_num_domains);
    }
}

TEST_F(test_preload_uct, without_the_core_all_goes_to_ucx) {
    uct_md_mem_dereg_params_t params   = {};
    uct_md_mem_reg_params_t reg_params = {};

    fake_set_hooks(nullptr);
    call_all_openers();
    uct_md_mem_reg(nullptr, this, 1, 0, &m_memh);
    uct_md_mem_reg_v2(nullptr, this, 1, &reg_params, &m_memh);
    uct_md_mem_dereg(nullptr, m_memh);
    uct_md_mem_dereg_v2(nullptr, &params);
    uct_md_mkey_pack(nullptr, m_memh, nullptr);
    uct_md_mkey_pack_v2(nullptr, m_memh, 0, 0, 0, 0);
    uct_md_close(nullptr);
    EXPECT_EQ("", m_told);
    EXPECT_EQ(14u, fake_call.count);
}
