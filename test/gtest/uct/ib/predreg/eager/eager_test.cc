/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/api/uct.h>

#include "eager_test.h"

#include <uct/api/tl.h>

#include <sys/mman.h>

eager_test *eager_test::s_self;

/* The transport accepts all */
static ucs_status_t
am_zcopy(uct_ep_h ep, uint8_t id, const void *header, unsigned header_length,
         const uct_iov_t *iov, size_t iovcnt, unsigned flags,
         uct_completion_t *comp)
{
    return UCS_INPROGRESS;
}

void eager_test::SetUp()
{
    core_test::SetUp();
    s_self = this;
    test_core_state()->real.ucp_mem_map           = mem_map;
    test_core_state()->real.ucp_mem_unmap         = mem_unmap;
    test_core_state()->real.ucp_dt_create_generic = create_generic;
    test_core_state()->real.ucp_config_print      = config_print;
    test_core_state()->real.ucp_config_modify     = config_modify;
    uct_predreg_endpoints_forget();

    m_memory = static_cast<char*>(mmap(nullptr, PAGE * PAGES,
                                       PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(MAP_FAILED, static_cast<void*>(m_memory));
    m_ep[0] = m_worker;
}

void eager_test::TearDown()
{
    close();
    EXPECT_TRUE(m_mapped.empty());
    munmap(m_memory, PAGE * PAGES);
    uct_predreg_endpoints_forget();
    core_test::TearDown();
}

void eager_test::add(int flag_decides, size_t min_length)
{
    m_context = test_eager_add(test_core_state(), &test_core_state()->real, ucp(),
                               min_length, flag_decides, HOT_FROM);
    ASSERT_NE(nullptr, m_context);
    uct_predreg_eager_add_worker(ucp(), worker());
}

void eager_test::close()
{
    if (m_context != nullptr) {
        uct_predreg_eager_remove_worker(worker());
        uct_predreg_eager_closing(ucp());
        m_context = nullptr;
    }
}

bool eager_test::send(const void *buffer, size_t length)
{
    uct_iface_t iface;
    uct_iov_t iov = {};

    m_send         = {};
    m_send.message = m_message;
    m_changes      = uct_predreg_eager_send(&m_sender, ep(), buffer, length, &m_param,
                                            &m_send);
    if (!(m_changes & UCT_PREDREG_SEND_HOT)) {
        return false;
    }

    EXPECT_FALSE(m_changes & UCT_PREDREG_SEND_DATATYPE);
    auto mapped = m_mapped.find(m_send.memh);
    EXPECT_NE(m_mapped.end(), mapped);
    if (mapped != m_mapped.end()) {
        EXPECT_LE(mapped->second.first, buffer);
        EXPECT_GE(mapped->second.first + mapped->second.second,
                  static_cast<const char*>(buffer) + length);
    }

    if (m_is_zcopy && (m_outcome != FAILED)) {
        iov.buffer            = const_cast<void*>(buffer);
        iov.length            = length;
        iov.count             = 1;
        iface.ops.ep_am_zcopy = am_zcopy;
        uct_predreg_eager_iface_opened(&iface);
        iface.ops.ep_am_zcopy(nullptr, 0, nullptr, 0, &iov, 1, 0, nullptr);
    }

    switch (m_outcome) {
    case DONE:
        uct_predreg_eager_sent(m_sender, &m_send, length, nullptr);
        break;
    case FAILED:
        uct_predreg_eager_sent(m_sender, &m_send, length,
                               UCS_STATUS_PTR(UCS_ERR_CONNECTION_RESET));
        break;
    case CALLED:
        m_send.cb(m_ep, UCS_OK, m_send.user_data);
        uct_predreg_eager_sent(m_sender, &m_send, length, m_ep);
        break;
    case PENDING:
        m_flying.emplace_back(m_send.cb, m_send.user_data);
        uct_predreg_eager_sent(m_sender, &m_send, length, m_ep);
        break;
    }
    return true;
}

void eager_test::complete(ucs_status_t status)
{
    auto send = m_flying.front();

    m_flying.erase(m_flying.begin());
    send.first(m_ep, status, send.second);
}

void eager_test::heat(const void *buffer, size_t length)
{
    for (unsigned i = 1; i < HOT_FROM; ++i) {
        EXPECT_FALSE(send(buffer, length));
        EXPECT_TRUE(is_cold());
    }
    EXPECT_TRUE(send(buffer, length));
}

ucs_status_t eager_test::mem_map(ucp_context_h context,
                                 const ucp_mem_map_params_t *params,
                                 ucp_mem_h *memh_p)
{
    EXPECT_EQ(s_self->ucp(), context);
    EXPECT_TRUE(params->field_mask & UCP_MEM_MAP_PARAM_FIELD_ADDRESS);
    EXPECT_TRUE(params->field_mask & UCP_MEM_MAP_PARAM_FIELD_LENGTH);
    EXPECT_EQ(0u, uintptr_t(params->address) % PAGE);
    if (s_self->m_map_status != UCS_OK) {
        ++s_self->m_num_failed;
        return s_self->m_map_status;
    }

    s_self->m_last_handle += 16;
    ++s_self->m_num_mapped;
    *memh_p                   = reinterpret_cast<ucp_mem_h>(
            s_self->m_last_handle);
    s_self->m_mapped[*memh_p] = {static_cast<char*>(params->address),
                                 params->length};
    s_self->m_uses.insert(*memh_p);
    uct_predreg_hot_registered(s_self->m_domain, *memh_p);
    return UCS_OK;
}

ucs_status_t eager_test::mem_unmap(ucp_context_h context, ucp_mem_h memh)
{
    EXPECT_EQ(s_self->ucp(), context);
    EXPECT_EQ(1u, s_self->m_mapped.erase(memh));
    if (uct_predreg_hot_is_returning()) {
        ++s_self->m_num_swallowed;
        EXPECT_EQ(0u, s_self->m_uses.count(memh));
    } else {
        EXPECT_EQ(1u, s_self->m_uses.erase(memh));
    }
    return UCS_OK;
}

ucs_status_t eager_test::create_generic(const ucp_generic_dt_ops_t *ops,
                                        void *context,
                                        ucp_datatype_t *datatype_p)
{
    *datatype_p = 0x1000 | UCP_DATATYPE_GENERIC;
    return UCS_OK;
}

void eager_test::config_print(const ucp_config_t *config, FILE *stream,
                              const char *title,
                              ucs_config_print_flags_t flags)
{
    for (auto &setting : s_self->m_config) {
        fprintf(stream, "UCX_%s=%s\n", setting.first.c_str(),
                setting.second.c_str());
    }
}

ucs_status_t eager_test::config_modify(ucp_config_t *config, const char *name,
                                       const char *value)
{
    s_self->m_config[name] = value;
    s_self->m_modified.push_back(std::string(name) + "=" + value);
    return UCS_OK;
}
