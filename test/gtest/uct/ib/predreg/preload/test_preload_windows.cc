/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_ucx.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/* Overriding functions for windows that go through Firehose, between the library that
 * a test is and a fake UCX */
class test_preload_windows : public ::testing::Test {
protected:
    void SetUp() override
    {
        s_self = this;
        fake_reset();
        m_hooks.windows    = [](const predreg_windows_env_t*)
                -> const predreg_windows_t* {
            return s_self->m_is_on ? &s_self->m_windows : nullptr;
        };
        m_hooks.is_managed = [](uct_md_h md, const void*, size_t) {
            return int(md == managed());
        };
        m_hooks.mem_reg    = [](uct_md_h, void*, size_t length, unsigned,
                                uct_predreg_purpose_t purpose, uct_mem_h*) {
            s_self->m_length  = length;
            s_self->m_purpose = purpose;
            return (purpose == UCT_PREDREG_PURPOSE_WHOLE) ? s_self->m_whole_status :
                                                            UCS_OK;
        };
        m_hooks.mkey_pack_v2 = [](uct_md_h, uct_mem_h, const uintptr_t*, int) {
            return UCS_OK;
        };
        m_hooks.comm       = [](uct_predreg_issuer_t*,
                                const uct_predreg_comm_t*) {};
        m_hooks.ucp_config = [](const uct_predreg_real_t*, ucp_config_t*) {};
        m_hooks.idle       = [](uct_predreg_sender_t**, ucs_rcache_pred_idle_t*,
                                ucp_worker_h) {};
        m_hooks.closing    = [](ucp_worker_h) {};
        fill();
        fake_set_hooks(&m_hooks);
    }

    void TearDown() override
    {
        fake_set_purpose(UCT_PREDREG_PURPOSE_UNKNOWN);
        fake_set_hooks(nullptr);
        fake_reset();
    }

    void fill()
    {
        m_windows.serves         = serves;
        m_windows.context_made   = [](ucp_context_h, int is_shared) {
            told(is_shared ? "shared context" : "context");
        };
        m_windows.cleaning       = [](ucp_context_h) { told("cleaning"); };
        m_windows.worker_made    = [](ucp_context_h, ucp_worker_h) {
            told("worker");
        };
        m_windows.worker_destroying = [](ucp_worker_h) { told("destroying"); };
        m_windows.progressed     = [](ucp_worker_h, int is_idle) {
            told(is_idle ? "progressed, idle" : "progressed");
        };
        m_windows.ep_made        = [](ucp_worker_h, ucp_ep_h) { told("ep"); };
        m_windows.ep_closing     = [](ucp_ep_h) -> void* {
            told("closing");
            return s_self->m_serves ? s_self : nullptr;
        };
        m_windows.ep_closed      = [](void *closing, int is_refused) {
            EXPECT_EQ(s_self, closing);
            told(is_refused ? "refused" : "closed");
        };
        m_windows.mem_unmapping  = [](ucp_context_h, ucp_mem_h) {
            told("unmapping");
        };
        m_windows.rkey_compare = [](ucp_rkey_h, ucp_rkey_h, int *result) {
            *result += 5;
        };
        m_windows.rkey_destroying = [](ucp_rkey_h) { told("rkey"); };
        m_windows.request_freeing = [](void*) { return s_self->m_serves; };
        m_windows.packed_release  = [](void*) { return s_self->m_serves; };
        m_windows.needs_flush    = [](ucp_worker_h, ucp_ep_h) {
            return s_self->m_serves;
        };
        m_windows.flush          = [](ucp_worker_h worker, ucp_ep_h ep) {
            told((worker != nullptr) ? "flush worker" : "flush ep");
            return UCS_OK;
        };
        m_windows.mem_map        = [](ucp_context_h, const ucp_mem_map_params_t*,
                                      ucp_mem_h*, ucs_status_t *status_p) {
            *status_p = UCS_ERR_BUSY;
            return s_self->m_serves;
        };
        m_windows.rkey_unpack    = [](ucp_ep_h, const void*, ucp_rkey_h*,
                                      ucs_status_t *status_p) {
            *status_p = UCS_ERR_BUSY;
            return s_self->m_serves;
        };
        m_windows.ucp_put_nbi    = [](ucp_ep_h, const void*, size_t, uint64_t,
                                      ucp_rkey_h) {
            told("put");
            return UCS_ERR_BUSY;
        };
        m_windows.ucp_atomic_add32 = [](ucp_ep_h, uint32_t, uint64_t,
                                        ucp_rkey_h) {
            told("add");
            return UCS_ERR_BUSY;
        };
    }

    static int serves(ucp_rkey_h)
    {
        return s_self->m_serves;
    }

    static void told(const char *what)
    {
        s_self->m_told.push_back(what);
    }

    /* A context, by which windows are loaded if they are on */
    void make_context(uint64_t features)
    {
        ucp_params_t params = {};
        ucp_context_h context;

        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features   = features;
        ucp_init_version(1, 13, &params, fake_config, &context);
    }

    static uct_md_h managed()
    {
        return (uct_md_h)&s_self->m_hooks;
    }

    static test_preload_windows *s_self;

    uct_predreg_hooks_t      m_hooks = {};
    predreg_windows_t        m_windows = {};
    std::vector<std::string> m_told;
    int                      m_is_on = 1;
    int                      m_serves = 1;
    size_t                   m_length = 0;
    uct_predreg_purpose_t    m_purpose = UCT_PREDREG_PURPOSE_UNKNOWN;
    ucs_status_t             m_whole_status = UCS_OK;
};

test_preload_windows *test_preload_windows::s_self;

TEST_F(test_preload_windows, are_loaded_for_one_sided_contexts) {
    m_is_on = 0;
    make_context(UCP_FEATURE_RMA);
    EXPECT_FALSE(fake_is_shared);
    m_is_on = 1;
    make_context(UCP_FEATURE_TAG);
    EXPECT_FALSE(fake_is_shared);
    EXPECT_EQ(0u, m_told.size());

    make_context(UCP_FEATURE_TAG | UCP_FEATURE_RMA);
    EXPECT_TRUE(fake_is_shared);
    EXPECT_EQ(std::vector<std::string>{"context"}, m_told);
}

TEST_F(test_preload_windows, are_told_what_the_program_has_asked_for) {
    ucp_params_t params = {};
    ucp_context_h context;

    params.field_mask        = UCP_PARAM_FIELD_FEATURES |
                               UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features          = UCP_FEATURE_RMA;
    ucp_init_version(1, 13, &params, fake_config, &context);
    params.mt_workers_shared = 1;
    ucp_init_version(1, 13, &params, fake_config, &context);
    params.field_mask        = UCP_PARAM_FIELD_FEATURES;
    ucp_init_version(1, 13, &params, fake_config, &context);
    EXPECT_TRUE(fake_is_shared);
    EXPECT_EQ((std::vector<std::string>{"context", "shared context", "context"}),
              m_told);
}

TEST_F(test_preload_windows, know_the_fields_of_later_versions) {
    /* As 1.20 has it, whichever version this is built with */
    struct {
        ucp_params_t old;
        size_t       room[2];
    } params = {};
    const char *name  = "a name";
    size_t local_id   = 7;
    char *fields      = (char*)&params;
    size_t end        = offsetof(ucp_params_t, name) + sizeof(name);
    ucp_context_h context;

    params.old.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME |
                            UCS_BIT(9);
    params.old.features   = UCP_FEATURE_RMA;
    params.old.name       = name;
    memcpy(fields + end, &local_id, sizeof(local_id));
    ucp_init_version(1, 13, &params.old, fake_config, &context);
    EXPECT_TRUE(fake_is_shared);
    EXPECT_EQ(std::vector<std::string>{"context"}, m_told);
    EXPECT_EQ(name, fake_params.name);
    EXPECT_EQ(7u, fake_params.node_local_id);
}

TEST_F(test_preload_windows, say_once_which_fields_are_not_known) {
    ucp_params_t params = {};
    ucp_context_h context;
    std::string said;

    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCS_BIT(20);
    params.features   = UCP_FEATURE_RMA;
    testing::internal::CaptureStderr();
    ucp_init_version(1, 13, &params, fake_config, &context);
    ucp_init_version(1, 13, &params, fake_config, &context);
    said = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(fake_is_shared);
    EXPECT_EQ(0u, m_told.size());
    EXPECT_NE(std::string::npos, said.find("field_mask is 0x100001"));
    EXPECT_EQ(said.find("windows are pinned"), said.rfind("windows are pinned"));
}

TEST_F(test_preload_windows, that_are_not_loaded_change_nothing) {
    ucp_rkey_h rkey = nullptr;

    m_is_on = 0;
    make_context(UCP_FEATURE_RMA);
    EXPECT_FALSE(fake_is_shared);
    ucp_put_nbi(nullptr, this, 1, 0, rkey);
    EXPECT_STREQ("ucp_put_nbi", fake_comm.name);
    ucp_atomic_add32(nullptr, 1, 0, rkey);
    EXPECT_STREQ("ucp_atomic_add32", fake_call.name);
    ucp_worker_flush((ucp_worker_h)this);
    EXPECT_STREQ("ucp_worker_flush", fake_call.name);
    ucp_request_free(this);
    EXPECT_STREQ("ucp_request_free", fake_call.name);
    EXPECT_EQ(0u, m_told.size());
}

TEST_F(test_preload_windows, get_what_is_theirs) {
    ucp_mem_map_params_t params = {};
    ucp_rkey_h rkey             = nullptr;
    ucp_mem_h memh;

    make_context(UCP_FEATURE_RMA);
    fake_comm.name = nullptr;
    EXPECT_EQ(UCS_ERR_BUSY, ucp_put_nbi(nullptr, this, 1, 0, rkey));
    EXPECT_EQ(nullptr, fake_comm.name);
    EXPECT_EQ(UCS_ERR_BUSY, ucp_atomic_add32(nullptr, 1, 0, rkey));
    EXPECT_EQ(UCS_ERR_BUSY, ucp_mem_map(nullptr, &params, &memh));
    EXPECT_EQ(UCS_ERR_BUSY, ucp_ep_rkey_unpack(nullptr, this, &rkey));
    ucp_worker_flush((ucp_worker_h)this);
    ucp_ep_flush((ucp_ep_h)this);
    EXPECT_EQ((std::vector<std::string>{"context", "put", "add", "flush worker",
                                        "flush ep"}), m_told);
    ucp_request_free(this);
    EXPECT_STREQ("ucp_request_release", fake_call.name);
}

TEST_F(test_preload_windows, leave_the_rest_to_ucp) {
    ucp_mem_map_params_t params = {};
    ucp_rkey_h rkey             = nullptr;
    ucp_mem_h memh;

    make_context(UCP_FEATURE_RMA);
    m_serves = 0;
    ucp_put_nbi(nullptr, this, 1, 0, rkey);
    EXPECT_STREQ("ucp_put_nbi", fake_comm.name);
    ucp_atomic_add32(nullptr, 1, 0, rkey);
    EXPECT_STREQ("ucp_atomic_add32", fake_call.name);
    ucp_mem_map(nullptr, &params, &memh);
    EXPECT_STREQ("ucp_mem_map", fake_call.name);
    ucp_ep_rkey_unpack(nullptr, this, &rkey);
    EXPECT_STREQ("ucp_ep_rkey_unpack", fake_call.name);
    ucp_ep_flush((ucp_ep_h)this);
    EXPECT_STREQ("ucp_ep_flush", fake_call.name);
    ucp_rkey_buffer_release(this);
    EXPECT_STREQ("ucp_rkey_buffer_release", fake_call.name);
    ucp_request_free(this);
    EXPECT_STREQ("ucp_request_free", fake_call.name);
    EXPECT_EQ(std::vector<std::string>{"context"}, m_told);
}

TEST_F(test_preload_windows, are_told_what_becomes_of_a_close) {
    static char request[8];

    make_context(UCP_FEATURE_RMA);
    for (m_serves = 0; m_serves < 2; ++m_serves) {
        m_told.clear();
        fake_result = 0;
        ucp_ep_destroy(nullptr);
        EXPECT_EQ(nullptr, ucp_disconnect_nb(nullptr));
        fake_result = (intptr_t)request;
        EXPECT_EQ(request, ucp_ep_close_nb(nullptr, 0));
        fake_result = UCS_ERR_NO_MEMORY;
        EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_MEMORY),
                  ucp_ep_close_nbx(nullptr, nullptr));
        fake_result = UCS_ERR_INVALID_PARAM;
        EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM),
                  ucp_ep_close_nbx(nullptr, nullptr));
        EXPECT_EQ(m_serves ? (std::vector<std::string>{
                              "closing", "closed", "closing", "closed", "closing",
                              "closed", "closing", "closed", "closing",
                              "refused"}) :
                             std::vector<std::string>(5, "closing"), m_told);
    }
    fake_result = 0;
}

TEST_F(test_preload_windows, are_told_of_all_that_ends) {
    make_context(UCP_FEATURE_RMA);
    m_told.clear();
    m_serves = 0;
    ucp_rkey_destroy(nullptr);
    ucp_ep_destroy(nullptr);
    ucp_ep_close_nb(nullptr, 0);
    ucp_ep_close_nbx(nullptr, nullptr);
    ucp_disconnect_nb(nullptr);
    ucp_mem_unmap(nullptr, nullptr);
    ucp_worker_progress(nullptr);
    ucp_worker_destroy(nullptr);
    ucp_cleanup(nullptr);
    EXPECT_EQ((std::vector<std::string>{"rkey", "closing", "closing", "closing",
                                        "closing", "unmapping",
                                        "progressed, idle",
                                        "destroying", "cleaning"}), m_told);
}

TEST_F(test_preload_windows, register_a_page_with_managed_domains) {
    uct_mem_h memh;

    fake_set_is_ucp(1);
    fake_set_purpose(UCT_PREDREG_PURPOSE_WINDOW);
    uct_md_mem_reg(managed(), this, 1 << 20, 0, &memh);
    EXPECT_EQ(4096u, m_length);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MAPPED, m_purpose);
    uct_md_mem_reg(nullptr, this, 1 << 20, 0, &memh);
    EXPECT_EQ(1u << 20, m_length);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MAPPED, m_purpose);

    fake_set_purpose(UCT_PREDREG_PURPOSE_MAPPED);
    uct_md_mem_reg(managed(), this, 1 << 20, 0, &memh);
    EXPECT_EQ(1u << 20, m_length);
}

/* All of a put or get in place of each part that is registered for it, and no more than
 * that once it was refused */
TEST_F(test_preload_windows, register_what_has_parts_as_a_whole) {
    char *buffer = (char*)this;
    uct_mem_h memh;

    fake_set_is_ucp(1);
    fake_set_purpose(UCT_PREDREG_PURPOSE_ONE_SIDED);
    fake_set_whole(buffer, 1000);
    for (size_t offset : {0, 300, 900}) {
        uct_md_mem_reg(managed(), buffer + offset, 100, 0, &memh);
        EXPECT_EQ(1000u, m_length);
        EXPECT_EQ(UCT_PREDREG_PURPOSE_WHOLE, m_purpose);
    }

    uct_md_mem_reg(managed(), buffer + 950, 100, 0, &memh);
    EXPECT_EQ(100u, m_length);
    uct_md_mem_reg(managed(), buffer - 1, 100, 0, &memh);
    EXPECT_EQ(100u, m_length);
    uct_md_mem_reg(nullptr, buffer, 100, 0, &memh);
    EXPECT_EQ(100u, m_length);
    fake_set_purpose(UCT_PREDREG_PURPOSE_MESSAGE);
    uct_md_mem_reg(managed(), buffer, 100, 0, &memh);
    EXPECT_EQ(100u, m_length);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_MESSAGE, m_purpose);

    m_whole_status = UCS_ERR_EXCEEDS_LIMIT;
    fake_set_purpose(UCT_PREDREG_PURPOSE_ONE_SIDED);
    EXPECT_EQ(UCS_OK, uct_md_mem_reg(managed(), buffer, 100, 0, &memh));
    EXPECT_EQ(100u, m_length);
    EXPECT_EQ(UCT_PREDREG_PURPOSE_ONE_SIDED, m_purpose);
    EXPECT_EQ(0u, fake_set_whole(nullptr, 0));
}

TEST_F(test_preload_windows, know_the_parts_of_managed_domains) {
    uint64_t parts;

    fake_set_is_ucp(1);
    fake_pack_window(1, nullptr);
    uct_md_mkey_pack_v2(nullptr, nullptr, 0, 0, 0, 0);
    uct_md_mkey_pack_v2(managed(), nullptr, 0, 0, 0, 0);
    fake_set_is_ucp(0); /* As where libuct calls itself */
    uct_md_mkey_pack_v2(managed(), nullptr, 0, 0, 0, 0);
    fake_set_is_ucp(1);
    uct_md_mkey_pack_v2(nullptr, nullptr, 0, 0, 0, 0);
    uct_md_mkey_pack_v2(managed(), nullptr, 0, 0, 0, 0);
    fake_pack_window(0, &parts);
    EXPECT_EQ(10u, parts);
}

TEST_F(test_preload_windows, refine_how_ucp_compares_keys) {
    int result = 0;

    make_context(UCP_FEATURE_RMA);
    EXPECT_EQ(UCS_OK, ucp_rkey_compare(nullptr, nullptr, nullptr, nullptr, &result));
    EXPECT_STREQ("ucp_rkey_compare", fake_call.name);
    EXPECT_EQ(5, result);
    fake_result = UCS_ERR_INVALID_PARAM;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ucp_rkey_compare(nullptr, nullptr, nullptr, nullptr, nullptr));
}

/* Open MPI 4 reads a table of keys, and unpacks what comes before the first one */
TEST_F(test_preload_windows, keep_ucp_from_the_key_before_a_table) {
    const size_t entry = 2 * sizeof(uint64_t) + 1024;
    const size_t bytes = sizeof(uint64_t) + 32 * entry;
    std::vector<uint64_t> heap((1024 + bytes) / sizeof(uint64_t), 0xa5a5);
    char *table        = (char*)heap.data() + 1024;
    char *first        = table + sizeof(uint64_t) + 2 * sizeof(uint64_t);
    char nothing[sizeof(uint64_t) + sizeof(uint8_t)] = {};
    ucp_rkey_h rkey    = nullptr;

    ucp_ep_rkey_unpack(nullptr, first - entry, &rkey);
    EXPECT_EQ(first - entry, fake_unpacked);
    ucp_get_nbi(nullptr, table, bytes, 0, rkey);
    ucp_get_nbi(nullptr, this, 8, 0, rkey);
    ucp_ep_rkey_unpack(nullptr, first, &rkey);
    EXPECT_EQ(first, fake_unpacked);
    ucp_ep_rkey_unpack(nullptr, first - entry, &rkey);
    EXPECT_EQ(0, memcmp(nothing, fake_unpacked, sizeof(nothing)));
}
