/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md_test.h"

#include <common/log_watch.h>

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/stat/stat.h>

extern "C" {
#include <common/c_access.h>
#include <ucs/memory/memtype_cache.h>
}

/* Memory stays registered where UCX tells when it is freed */
class test_kept : public md_test {
protected:
    void SetUp() override
    {
        const char *events = getenv("UCX_MEM_EVENTS");

        md_test::SetUp();
        if ((events != nullptr) && !strcmp(events, "n")) {
            GTEST_SKIP() << "UCX has no memory events";
        }
    }

    /* The first use registers, for those with other flags as well, and nothing
     * is deregistered before the domain is closed */
    void expect_kept(uct_md_h md, unsigned flags,
                     std::initializer_list<unsigned> others)
    {
        uct_mem_h first = reg(md, flags);

        dereg(md, first);
        EXPECT_EQ(1u, m_regs.count(first));
        for (unsigned other : others) {
            uct_mem_h memh = reg(md, other);
            EXPECT_EQ(first, memh);
            dereg(md, memh);
        }
        EXPECT_EQ(1u, m_num_regs);

        close(md);
        EXPECT_TRUE(m_regs.empty());
    }
};

/* A managed domain that registers memory of devices as well, in a process that
 * has a device. The buffer is memory of it. */
class test_kept_devices : public test_kept {
protected:
    void SetUp() override
    {
        test_kept::SetUp();
        if (IsSkipped()) {
            return;
        }
        set("MAX_PINNED", "256K"); /* It is not about memory of devices */
        m_attr.cap.detect_mem_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
        m_attr.cap.reg_mem_types     = UCS_BIT(UCS_MEMORY_TYPE_HOST) |
                                       UCS_BIT(UCS_MEMORY_TYPE_CUDA);
        m_md = open();
        /* UCX's cache of memory types is made when it is first asked. Where it
         * is switched off, all memory may be that of the device. */
        ucs_memory_info_t info;
        ucs_memtype_cache_lookup(m_buffer, LENGTH, &info);
        ucs_memtype_cache_update(m_buffer, LENGTH, UCS_MEMORY_TYPE_CUDA,
                                 UCS_SYS_DEVICE_ID_UNKNOWN);
    }

    void TearDown() override
    {
        if (m_md != nullptr) { /* Not skipped: there is such a cache */
            ucs_memtype_cache_remove(m_buffer, LENGTH);
        }
        test_kept::TearDown();
    }

    uct_md_h m_md = nullptr;
};

TEST_F(test_kept_devices, memory_of_devices_stays_registered) {
    expect_kept(m_md, SEND, {SEND, RECV, POOL});
}

TEST_F(test_kept_devices, uses_at_the_same_time_share_it) {
    uct_mem_h first  = reg(m_md, SEND);
    uct_mem_h second = reg(m_md, RECV);

    EXPECT_EQ(first, second);
    dereg(m_md, first);
    EXPECT_EQ(1u, m_regs.count(second));
    dereg(m_md, second);
}

TEST_F(test_kept_devices, invalidated_memory_is_registered_anew) {
    uct_mem_h memh = reg(m_md, SEND);

    EXPECT_EQ(1u, invalidate(m_md, memh));
    EXPECT_TRUE(m_regs.empty());
    dereg(m_md, reg(m_md, SEND));
    EXPECT_EQ(2u, m_num_regs);
}

TEST_F(test_kept_devices, a_cache_that_cannot_be_made_is_not_tried_again) {
    test_alloc_fail_nth(1);
    dereg(m_md, reg(m_md, SEND));
    EXPECT_TRUE(test_alloc_failed());
    test_alloc_fail_nth(0);
    EXPECT_NE(std::string::npos, log_watch::take().find("for each use"));
    dereg(m_md, reg(m_md, SEND));
    EXPECT_TRUE(m_regs.empty());
    EXPECT_EQ(2u, m_num_regs);
    EXPECT_EQ("", log_watch::take());
}

TEST_F(test_kept_devices, what_firehose_unpins_is_unpinned) {
    dereg(m_md, reg(m_md, MAP, UCT_PREDREG_PURPOSE_PINNED));
    EXPECT_TRUE(m_regs.empty());
}

TEST_F(test_kept_devices, a_failure_is_the_callers) {
    m_refuse = 2;
    reg(m_md, SEND, UCT_PREDREG_PURPOSE_SEND, UCS_ERR_IO_ERROR);
    m_refuse = 0;
    dereg(m_md, reg(m_md, SEND));
}

/* The caller's completion may be gone when the call has returned */
TEST_F(test_kept_devices, an_invalidation_completes_beside_other_uses) {
    set_ucx(16);

    uct_mem_h first  = reg(m_md, SEND);
    uct_mem_h second = reg(m_md, SEND);
    EXPECT_EQ(first, second);
    EXPECT_EQ(1u, invalidate(m_md, first));
    EXPECT_EQ(1u, m_regs.count(second));
    dereg(m_md, second);
    EXPECT_TRUE(m_regs.empty());
}

/* What UCP asks for of memory of a device from 1.14 on by its dmabuf, from 1.22 on
 * by its type */
class test_kept_params : public test_kept {
protected:
    void SetUp() override
    {
        test_kept::SetUp();
        if (IsSkipped()) {
            return;
        }
        set_ucx(22);
        test_core_state()->real.uct_md_mem_reg_v2 =
                [](uct_md_h md, void *address, size_t length,
                   const uct_md_mem_reg_params_t *params, uct_mem_h *memh_p) {
                    s_params = *params;
                    return mem_reg(md, address, length, params->flags, memh_p);
                };
        m_md = open();
    }

    uct_mem_h reg_of(uct_md_mem_reg_params_t params, size_t begin = 0,
                     size_t length = LENGTH,
                     uct_predreg_purpose_t purpose = UCT_PREDREG_PURPOSE_MESSAGE)
    {
        uct_mem_h memh = nullptr;

        params.field_mask |= UCT_MD_MEM_REG_FIELD_FLAGS;
        params.flags       = 0x360;
        EXPECT_EQ(UCS_OK,
                  uct_predreg_device_mem_reg(domain(m_md),
                                             (char*)m_buffer + begin, length,
                                             &params, purpose, &memh));
        return memh;
    }

    static uct_md_mem_reg_params_t dmabuf(size_t offset)
    {
        return {UCT_MD_MEM_REG_FIELD_DMABUF_FD |
                UCT_MD_MEM_REG_FIELD_DMABUF_OFFSET, 0, 7, offset,
                UCS_MEMORY_TYPE_HOST};
    }

    static uct_md_mem_reg_params_t cuda()
    {
        return {UCT_MD_MEM_REG_FIELD_MEM_TYPE, 0, -1, 0, UCS_MEMORY_TYPE_CUDA};
    }

    static uct_md_mem_reg_params_t s_params; /* Of the last registration */
    uct_md_h                       m_md = nullptr;
};

uct_md_mem_reg_params_t test_kept_params::s_params;

TEST_F(test_kept_params, a_type_of_memory_is_kept) {
    uct_mem_h first = reg_of(cuda());

    dereg(m_md, first);
    EXPECT_EQ(UCS_MEMORY_TYPE_CUDA, s_params.mem_type);
    for (unsigned i = 0; i < 3; ++i) {
        uct_mem_h memh = reg_of(cuda());
        EXPECT_EQ(first, memh);
        dereg(m_md, memh);
    }
    EXPECT_EQ(1u, m_num_regs);
}

TEST_F(test_kept_params, a_dmabuf_is_kept) {
    dereg(m_md, reg_of(dmabuf(4096)));
    dereg(m_md, reg_of(dmabuf(4096)));
    EXPECT_EQ(1u, m_num_regs);
    EXPECT_EQ(7, s_params.dmabuf_fd);
    EXPECT_EQ(4096u, s_params.dmabuf_offset);
}

TEST_F(test_kept_params, what_overlaps_is_one_part_of_a_dmabuf) {
    dereg(m_md, reg_of(dmabuf(4096), 0, LENGTH / 2));
    /* Begins LENGTH / 4 later, and is registered with what was before it */
    dereg(m_md, reg_of(dmabuf(4096 + LENGTH / 4), LENGTH / 4, LENGTH / 2));
    EXPECT_EQ(2u, m_num_regs);
    EXPECT_EQ(4096u, s_params.dmabuf_offset);
    EXPECT_EQ(1u, m_regs.size());
    EXPECT_EQ(3 * LENGTH / 4, m_regs.begin()->second.length);
}

TEST_F(test_kept_params, a_dmabuf_that_ends_between_them_is_not_shared) {
    dereg(m_md, reg_of(dmabuf(0), 0, LENGTH / 2));
    dereg(m_md, reg_of(dmabuf(0), LENGTH / 4, LENGTH / 2));
    EXPECT_EQ(0u, s_params.dmabuf_offset);
    EXPECT_EQ(LENGTH / 2, m_regs.rbegin()->second.length);
    EXPECT_EQ((char*)m_buffer + LENGTH / 4, m_regs.rbegin()->second.address);
}

TEST_F(test_kept_params, pools_and_firehose_are_passed_on) {
    for (auto purpose : {UCT_PREDREG_PURPOSE_POOL,
                         UCT_PREDREG_PURPOSE_PINNED}) {
        dereg(m_md, reg_of(cuda(), 0, LENGTH, purpose));
        EXPECT_TRUE(m_regs.empty());
    }
}

/* UCX_REG_NONBLOCK_MEM_TYPES=host: nothing is pinned, and each registration would
 * cost a key of the adapter */
TEST_F(test_kept, memory_that_is_not_pinned_stays_registered) {
    expect_kept(open(), RECV | UCT_MD_MEM_FLAG_NONBLOCK,
                {SEND | UCT_MD_MEM_FLAG_NONBLOCK});
}

/* Where UCX_MEMTYPE_CACHE=n, all may be memory of a device, whatever the domain
 * registers */
TEST_F(test_kept_devices, a_domain_for_the_host_keeps_it_as_well) {
    m_attr.cap.reg_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    expect_kept(open(2), SEND, {SEND, RECV});
}


/* A domain of UCX 1.16 that is not managed, and whose registrations only UCP's
 * cache has kept, which is off */
class test_kept_domain : public test_kept {
protected:
    /* What UCX 1.16 and later ask for: data that the receiver gets, or puts, or
     * its peer gets; a pool of UCP's own */
    static constexpr unsigned GET = 0x200, PUT = 0x100, RTS = 0x368;

    void SetUp() override
    {
        test_kept::SetUp();
        set_ucx(16);
        m_attr.cap.flags = UCT_MD_FLAG_REG;
        strcpy(m_attr.component_name, "cuda_ipc");
    }

    uct_md_h open_kept()
    {
        test_core_state()->ucp_cache_is_off = 1;
        return open();
    }
};

TEST_F(test_kept_domain, its_memory_stays_registered) {
    expect_kept(open_kept(), RTS, {GET, PUT, RTS});
    EXPECT_EQ(0u, uct_predreg_num_passed(test_core_state()));
}

TEST_F(test_kept_domain, memory_is_registered_for_all_that_was_asked) {
    uct_md_h md     = open_kept();
    uct_mem_h first = reg(md, GET);
    uct_mem_h both  = reg(md, PUT);

    EXPECT_NE(first, both);
    EXPECT_EQ(GET | PUT, m_regs[both].flags & UCT_MD_MEM_ACCESS_ALL);
    EXPECT_EQ(1u, m_regs.count(first)); /* It is still in use */
    dereg(md, first);
    EXPECT_EQ(0u, m_regs.count(first));
    dereg(md, both);
    for (unsigned flags : {GET, PUT}) {
        uct_mem_h memh = reg(md, flags);
        EXPECT_EQ(both, memh);
        dereg(md, memh);
    }
}

TEST_F(test_kept_domain, pools_are_passed_on) {
    uct_md_h md    = open_kept();
    uct_mem_h pool = reg(md, RTS, UCT_PREDREG_PURPOSE_POOL);

    dereg(md, pool);
    EXPECT_TRUE(m_regs.empty());
}

TEST_F(test_kept_domain, what_firehose_unpins_is_unpinned) {
    uct_md_h md = open_kept();

    dereg(md, reg(md, MAP, UCT_PREDREG_PURPOSE_PINNED));
    EXPECT_TRUE(m_regs.empty());
}

TEST_F(test_kept_domain, its_cost_is_that_of_a_hit) {
    uct_md_h md        = open_kept();
    uct_md_attr_t attr = {};

    uct_predreg_md_query(test_core_state(), md, &attr);
    EXPECT_DOUBLE_EQ(50e-9, attr.reg_cost.c);
}

TEST_F(test_kept_domain, nothing_is_kept_beside_a_cache_of_ucp) {
    EXPECT_EQ(nullptr, domain(open()));
}

/* Those that have no cache of their own in this version */
TEST_F(test_kept_domain, more_components_are_kept_by_version) {
    const struct {
        unsigned   minor;
        const char *name;
        bool       is_kept;
    } cases[] = {
        {16, "gdr_copy", true}, {17, "gdr_copy", true}, {18, "gdr_copy", false},
        {17, "gga", false}, {18, "gga", true}, {23, "gga", true}
    };

    for (auto &item : cases) {
        set_ucx(item.minor);
        strcpy(m_attr.component_name, item.name);
        uct_md_h md = open_kept();
        EXPECT_EQ(item.is_kept, domain(md) != nullptr)
                << item.minor << " " << item.name;
        close(md);
    }
}

TEST_F(test_kept_domain, other_domains_are_left_alone) {
    for (const char *name : {"cuda_cpy", "self", "knem2"}) {
        strcpy(m_attr.component_name, name);
        EXPECT_EQ(nullptr, domain(open_kept())) << name;
    }

    set_ucx(15);
    strcpy(m_attr.component_name, "knem");
    EXPECT_EQ(nullptr, domain(open()));
}

TEST_F(test_kept_domain, failures_are_the_callers) {
    uct_md_h md = open_kept();

    m_refuse = 2;
    reg(md, RTS, UCT_PREDREG_PURPOSE_MESSAGE, UCS_ERR_IO_ERROR);
    m_refuse = 0;
    dereg(md, reg(md, RTS));
}
