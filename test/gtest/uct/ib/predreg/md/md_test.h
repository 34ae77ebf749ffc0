/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_MD_TEST_H_
#define PREDREG_GTEST_MD_TEST_H_

#include "../core/core_test.h"

#include <uct/ib/predreg/md/md.h>

#include <ucs/debug/log_def.h>

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <cerrno>
#include <cstring>

/*
 * Memory domains of a fake UCT, which notes what is registered with them. A
 * test opens them as the overridden functions do.
 */
class md_test : public core_test {
protected:
    /* Rendezvous of UCX 1.13: a send, a receive, a pool of UCX's own */
    static constexpr unsigned SEND = 0x368;
    static constexpr unsigned RECV = 0x360;
    static constexpr unsigned POOL = 0x3e4;

    /* The same of a pool of UCP, and of memory that the program maps */
    static constexpr unsigned MAP  = 0x3e0;

    static constexpr size_t LENGTH = 1 << 20;

    struct registration {
        uct_md_h md;
        void     *address;
        size_t   length;
        unsigned flags;
    };

    void SetUp() override
    {
        core_test::SetUp();
        s_self = this;
        /* Once for all tests */
        static const bool installed = (uct_predreg_quiet_install(), true);
        (void)installed;
        set("HELPER", "progress");
        m_attr.cap.flags            = UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH;
        m_attr.cap.detect_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
        strcpy(m_attr.component_name, "ib");

        uct_predreg_real_t *real  = &test_core_state()->real;
        real->uct_md_query        = [](uct_md_h, uct_md_attr_t *attr) {
            *attr = s_self->m_attr;
            return UCS_OK;
        };
        real->uct_md_mem_reg      = mem_reg;
        real->uct_md_mem_dereg_v2 = [](uct_md_h md,
                                       const uct_md_mem_dereg_params_t *params) {
            return mem_dereg(md, params->memh);
        };
        ASSERT_EQ(0, posix_memalign(&m_buffer, 4096, LENGTH));
    }

    void TearDown() override
    {
        for (uct_md_h md : std::set<uct_md_h>(m_opened)) {
            close(md);
        }
        core_test::TearDown();
        test_core_state()->real.uct_md_mem_reg_v2 = nullptr; /* UCX 1.13 has none */
        EXPECT_TRUE(m_regs.empty());
        free(m_buffer);
    }

    /* Let the process have another version of UCX, 1.minor: 1.14 or later */
    static void set_ucx(unsigned minor)
    {
        test_core_set_ucx(minor);
        test_core_state()->real.uct_md_mem_reg_v2 =
                [](uct_md_h md, void *address, size_t length,
                   const uct_md_mem_reg_params_t *params, uct_mem_h *memh_p) {
                    return mem_reg(md, address, length, params->flags, memh_p);
                };
    }

    /* A thread that is in UCX's domains: the only one */
    struct visit {
        visit() { EXPECT_EQ(0, s_self->m_inside++); }
        ~visit() { --s_self->m_inside; }
    };

    static ucs_status_t mem_reg(uct_md_h md, void *address, size_t length,
                                unsigned flags, uct_mem_h *memh_p)
    {
        visit in_domain;

        ++s_self->m_num_regs;
        if (s_self->m_in_reg) {
            std::exchange(s_self->m_in_reg, nullptr)();
        }

        if (s_self->m_refuse > 0) {
            --s_self->m_refuse;
            /* Whatever the flags say, as UCX 1.13 does without its cache */
            ucs_error("ibv_reg_mr failed");
            errno = s_self->m_error;
            return UCS_ERR_IO_ERROR;
        }

        *memh_p = reinterpret_cast<uct_mem_h>(16 * ++s_self->m_next);
        s_self->m_regs[*memh_p] = {md, address, length, flags};
        return UCS_OK;
    }

    static ucs_status_t mem_dereg(uct_md_h md, uct_mem_h memh)
    {
        visit in_domain;

        if (s_self->m_keep > 0) {
            --s_self->m_keep;
            return UCS_ERR_BUSY;
        }
        EXPECT_EQ(1u, s_self->m_regs.erase(memh));
        return UCS_OK;
    }

    /* @param count  How many domains the context has by then */
    uct_md_h open(unsigned number = 1, unsigned count = 1)
    {
        auto md = reinterpret_cast<uct_md_h>(0x1000ul * number);

        uct_predreg_md_opened(test_core_state(), md,
                              ("mlx" + std::to_string(number)).c_str(), count);
        m_opened.insert(md);
        return md;
    }

    void close(uct_md_h md)
    {
        uct_predreg_md_closing(test_core_state(), md);
        m_opened.erase(md);
    }

    /* A domain that was opened */
    static uct_predreg_domain_t *domain(uct_md_h md)
    {
        return uct_predreg_domain_find(md);
    }

    /* Begin a use of the buffer */
    uct_mem_h reg(uct_md_h md, unsigned flags,
                  uct_predreg_purpose_t purpose = UCT_PREDREG_PURPOSE_MESSAGE,
                  ucs_status_t expected = UCS_OK)
    {
        uct_mem_h memh = nullptr;

        EXPECT_EQ(expected, uct_predreg_mem_reg(domain(md), m_buffer, LENGTH,
                                                flags, purpose, &memh));
        return memh;
    }

    static void dereg(uct_md_h md, uct_mem_h memh)
    {
        uct_md_mem_dereg_params_t params = {};

        params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH;
        params.memh       = memh;
        EXPECT_EQ(UCS_OK, uct_predreg_mem_dereg(domain(md), &params));
    }

    struct completion {
        uct_completion_t comp; /* First */
        unsigned         count;
    };

    /* End a use whose peer may still have the key */
    static unsigned invalidate(uct_md_h md, uct_mem_h memh)
    {
        uct_md_mem_dereg_params_t params = {};
        completion done                  = {};

        done.comp.count = 1;
        done.comp.func  = [](uct_completion_t *comp) {
            ++reinterpret_cast<completion*>(comp)->count;
        };
        params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH |
                            UCT_MD_MEM_DEREG_FIELD_FLAGS |
                            UCT_MD_MEM_DEREG_FIELD_COMPLETION;
        params.flags      = UCT_MD_MEM_DEREG_FLAG_INVALIDATE;
        params.memh       = memh;
        params.comp       = &done.comp;
        EXPECT_EQ(UCS_OK, uct_predreg_mem_dereg(domain(md), &params));
        return done.count;
    }

    static md_test *s_self;

    std::map<uct_mem_h, registration> m_regs;
    std::set<uct_md_h>                m_opened;
    uct_md_attr_t                     m_attr     = {};
    void                              *m_buffer  = nullptr;
    unsigned                          m_num_regs = 0;
    unsigned                          m_refuse   = 0; /* So many of the next */
    int                               m_error    = ENOMEM; /* Why */
    unsigned                          m_keep     = 0; /* So many are not
                                                         deregistered */
    std::function<void()>             m_in_reg; /* Called in the next one */
    std::atomic<int>                  m_inside{0};
    uintptr_t                         m_next     = 0;
};

#endif
