/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md/md_test.h"

#include <uct/ib/predreg/entry.h>

/* The functions that the preloaded library calls: they find what the others
 * work on */
class test_entry : public md_test {
protected:
    void SetUp() override
    {
        test_core_select(1);
        md_test::SetUp();
    }

    void TearDown() override
    {
        md_test::TearDown();
        test_core_select(0);
    }

    /* Register and deregister memory of a domain through the hooks */
    void use(uct_md_h md)
    {
        uct_md_mem_dereg_params_t params = {};
        uct_mem_h memh;

        ASSERT_EQ(UCS_OK, uct_predreg_hooks.mem_reg(md, m_buffer, LENGTH, SEND,
                                                    UCT_PREDREG_PURPOSE_SEND,
                                                    &memh));
        EXPECT_EQ(1u, m_regs.count(memh));
        EXPECT_EQ(UCS_OK, uct_predreg_hooks.mkey_begin(md, memh));
        uct_predreg_hooks.md_leave(md);
        params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH;
        params.memh       = memh;
        EXPECT_EQ(UCS_OK, uct_predreg_hooks.mem_dereg(md, &params));
    }
};

TEST_F(test_entry, unknown_domains_are_left_to_ucx) {
    use(reinterpret_cast<uct_md_h>(0x99000));
    EXPECT_EQ(nullptr, test_core_state()->pred);
}

TEST_F(test_entry, known_domains_are_those_of_the_process) {
    uct_predreg_sender_t *sender = nullptr;
    ucs_rcache_pred_idle_t idle  = {};
    uct_md_h md                  = open();

    use(md);
    EXPECT_EQ(1u, test_core_state()->num_managed);
    uct_predreg_hooks.idle(&sender, &idle, nullptr);
    uct_predreg_hooks.closing(nullptr);
}
