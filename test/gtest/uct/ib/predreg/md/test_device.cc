/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md_test.h"

extern "C" {
#include <ucs/memory/memtype_cache.h>
}

/* A managed domain that registers memory of devices as well, in a process that
 * has a device. The buffer is memory of it. */
class test_md_device : public md_test {
protected:
    void SetUp() override
    {
        const char *events = getenv("UCX_MEM_EVENTS");

        md_test::SetUp();
        if ((events != nullptr) && !strcmp(events, "n")) {
            GTEST_SKIP() << "UCX has no memory events";
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
        md_test::TearDown();
    }

    uct_md_h m_md = nullptr;
};

TEST_F(test_md_device, memory_of_devices_stays_registered) {
    uct_mem_h first = reg(m_md, SEND);
    dereg(m_md, first);
    EXPECT_EQ(1u, m_regs.count(first));

    for (unsigned flags : {SEND, RECV, POOL}) {
        uct_mem_h memh = reg(m_md, flags);
        EXPECT_EQ(first, memh);
        dereg(m_md, memh);
    }
    EXPECT_EQ(1u, m_num_regs);

    close(m_md);
    EXPECT_TRUE(m_regs.empty());
}

TEST_F(test_md_device, uses_at_the_same_time_share_it) {
    uct_mem_h first  = reg(m_md, SEND);
    uct_mem_h second = reg(m_md, RECV);

    EXPECT_EQ(first, second);
    dereg(m_md, first);
    EXPECT_EQ(1u, m_regs.count(second));
    dereg(m_md, second);
}

TEST_F(test_md_device, invalidated_memory_is_registered_anew) {
    uct_mem_h memh = reg(m_md, SEND);

    EXPECT_EQ(1u, invalidate(m_md, memh));
    EXPECT_TRUE(m_regs.empty());
    dereg(m_md, reg(m_md, SEND));
    EXPECT_EQ(2u, m_num_regs);
}

TEST_F(test_md_device, a_failure_is_the_callers) {
    m_refuse = 2;
    reg(m_md, SEND, UCT_PREDREG_PURPOSE_SEND, UCS_ERR_IO_ERROR);
    m_refuse = 0;
    dereg(m_md, reg(m_md, SEND));
}
