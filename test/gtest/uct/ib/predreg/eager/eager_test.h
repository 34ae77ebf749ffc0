/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_EAGER_TEST_H_
#define PREDREG_GTEST_EAGER_TEST_H_

#include "eager_access.h"

#include "../core/core_test.h"

#include <uct/ib/predreg/eager/eager.h>

#include <map>
#include <set>
#include <vector>

/* Small sends of a program, between this library and a UCP that registers
 * nothing, and does with a send what a test says */
class eager_test : public core_test {
protected:
    static constexpr size_t PAGE       = 4096;
    static constexpr size_t LENGTH     = 1024;
    static constexpr unsigned PAGES    = 64;
    static constexpr unsigned HOT_FROM = 3; /* Sends */

    /* What UCP does with a send */
    enum outcome_t {
        DONE,    /* It is over at once */
        PENDING, /* It returns a request, and calls back later */
        CALLED,  /* It calls back, and then returns a request */
        FAILED
    };

    void SetUp() override;
    void TearDown() override;

    /* Make the context and the worker of the test */
    void add(int flag_decides = 0, size_t min_length = UCT_PREDREG_SEND_MIN);
    void close();

    char *page(unsigned i)
    {
        return m_memory + PAGE * i;
    }

    ucp_ep_h ep()
    {
        return reinterpret_cast<ucp_ep_h>(m_ep);
    }

    ucp_worker_h worker()
    {
        return reinterpret_cast<ucp_worker_h>(m_worker);
    }

    ucp_context_h ucp()
    {
        return reinterpret_cast<ucp_context_h>(m_ucp);
    }

    /* The program sends. What was changed of it stays in m_changes and m_send.
     * @return whether it was sent hot */
    bool send(const void *buffer, size_t length = LENGTH);
    /* UCP calls back for the oldest request */
    void complete(ucs_status_t status = UCS_OK);
    /* Send until it is hot */
    void heat(const void *buffer, size_t length = LENGTH);

    bool is_cold()
    {
        return (m_changes == UCT_PREDREG_SEND_DATATYPE) ||
               (m_changes == UCT_PREDREG_SEND_FAST);
    }

    bool is_left_alone()
    {
        return m_changes == 0;
    }

    /* As the domain that hot buffers are registered in gives room */
    static int give_way()
    {
        return uct_predreg_hot_give_way([](void *domain, uct_mem_h memh) {
            EXPECT_EQ(s_self->m_domain, domain);
            EXPECT_EQ(1u, s_self->m_uses.erase(memh));
        });
    }

    /* What is registered with UCP, address and length of each handle */
    std::map<ucp_mem_h, std::pair<char*, size_t>> m_mapped;
    /* What of that a domain has in use */
    std::set<uct_mem_h> m_uses;
    void *m_domain          = &m_uses;
    unsigned m_num_mapped   = 0;
    unsigned m_num_failed   = 0; /* That could not be mapped */
    unsigned m_num_swallowed = 0; /* Handles returned of uses that had ended */
    ucs_status_t m_map_status = UCS_OK;

    /* How the program sends */
    ucp_request_param_t m_param     = {};
    uct_predreg_message_t m_message = UCT_PREDREG_MESSAGE_TAG;
    outcome_t m_outcome             = DONE;
    bool m_is_zcopy                 = true; /* If it is hot */

    unsigned m_changes              = 0;
    uct_predreg_send_t m_send       = {};
    uct_predreg_sender_t *m_sender  = nullptr;
    uct_predreg_eager_context_t *m_context = nullptr;

    /* Sends in flight: the callback and its argument */
    std::vector<std::pair<ucp_send_nbx_callback_t, void*>> m_flying;

    /* The program's callback */
    static void called(void *request, ucs_status_t status, void *user_data)
    {
        s_self->m_called.emplace_back(status, user_data);
    }
    std::vector<std::pair<ucs_status_t, void*>> m_called;

    /* A configuration of UCP, as it is printed */
    std::map<std::string, std::string> m_config;
    std::vector<std::string> m_modified;

    static eager_test *s_self;

private:
    static ucs_status_t mem_map(ucp_context_h context,
                                const ucp_mem_map_params_t *params,
                                ucp_mem_h *memh_p);
    static ucs_status_t mem_unmap(ucp_context_h context, ucp_mem_h memh);
    static ucs_status_t create_generic(const ucp_generic_dt_ops_t *ops,
                                       void *context,
                                       ucp_datatype_t *datatype_p);
    static void config_print(const ucp_config_t *config, FILE *stream,
                             const char *title,
                             ucs_config_print_flags_t flags);
    static ucs_status_t config_modify(ucp_config_t *config, const char *name,
                                      const char *value);

    char *m_memory;
    void *m_ep[16];
    char m_worker[64];
    char m_ucp[64];
    uintptr_t m_last_handle = 0x1000;
};

#endif
