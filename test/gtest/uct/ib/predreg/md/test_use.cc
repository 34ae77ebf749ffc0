/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md_test.h"

#include <uct/ib/predreg/core/counters.h>
#include <uct/ib/predreg/core/record.h>
#include <uct/ib/predreg/core/snapshot.h>
#include <uct/ib/predreg/md/comm.h>

/* Registrations that UCP asks for, and what becomes of them. (Those of the cache
 * alone are in test_use.cc of the cache.) */
class test_md_use : public md_test {
protected:
    static ucs_rcache_pred_stats_t stats()
    {
        ucs_rcache_pred_snapshot_t snapshot;

        uct_predreg_snapshot(test_core_state(), &snapshot);
        return snapshot.stats;
    }

    /* The only bit that the domain's own handles do not have */
    static bool is_pieces(uct_mem_h memh)
    {
        return reinterpret_cast<uintptr_t>(memh) & 1;
    }

    uint64_t pools() const
    {
        ucs_rcache_pred_snapshot_t snapshot;

        uct_predreg_snapshot(test_core_state(), &snapshot);
        return snapshot.pool_bytes;
    }
};

TEST_F(test_md_use, it_is_registered_with_the_domain) {
    uct_md_h md    = open();
    uct_mem_h memh = reg(md, SEND);

    ASSERT_EQ(1u, m_regs.count(memh));
    EXPECT_EQ(md, m_regs[memh].md);
    EXPECT_LE(m_regs[memh].address, m_buffer);
    EXPECT_GE(m_regs[memh].length, LENGTH);
    EXPECT_EQ(UCS_OK, uct_predreg_mkey_check(domain(md), memh));
    dereg(md, memh);
    EXPECT_EQ(1u, stats().uses);
}

TEST_F(test_md_use, a_second_use_at_a_time_is_a_hit) {
    uct_md_h md     = open();
    uct_mem_h memh1 = reg(md, SEND);
    uct_mem_h memh2 = reg(md, SEND);

    EXPECT_EQ(memh1, memh2);
    EXPECT_EQ(1u, m_num_regs);
    EXPECT_EQ(1u, stats().hits);
    dereg(md, memh1);
    dereg(md, memh2);
}

TEST_F(test_md_use, pools_are_counted_while_they_are_there) {
    uct_md_h md    = open();
    uct_mem_h memh = reg(md, POOL);

    EXPECT_EQ(0u, stats().uses);
    EXPECT_EQ(LENGTH, pools());
    dereg(md, memh);
    EXPECT_TRUE(m_regs.empty());
    EXPECT_EQ(LENGTH, pools()); /* The most at a time */
}

TEST_F(test_md_use, a_pool_that_is_refused_has_what_is_idle_give_way) {
    uct_md_h md = open();

    dereg(md, reg(md, SEND));
    m_refuse       = 1;
    uct_mem_h memh = reg(md, POOL);
    EXPECT_EQ(1u, m_regs.size());
    EXPECT_EQ(POOL, m_regs[memh].flags);
    dereg(md, memh);
}

TEST_F(test_md_use, arguments_that_are_bad_go_to_uct) {
    uct_md_h md = open();
    uct_mem_h memh;

    ASSERT_EQ(UCS_OK, uct_predreg_mem_reg(domain(md), m_buffer, 0, SEND,
                                          UCT_PREDREG_PURPOSE_SEND, &memh));
    EXPECT_EQ(0u, m_regs[memh].length);
    EXPECT_EQ(0u, stats().uses);
    dereg(md, memh);
}

TEST_F(test_md_use, a_send_that_does_not_fit_is_refused_in_silence) {
    set("MAX_PINNED", "512K");
    reg(open(), SEND, UCT_PREDREG_PURPOSE_SEND, UCS_ERR_EXCEEDS_LIMIT);
    EXPECT_EQ(0u, m_num_regs);
}

TEST_F(test_md_use, mapped_memory_that_does_not_fit_is_an_error) {
    set("MAX_PINNED", "512K");
    reg(open(), RECV, UCT_PREDREG_PURPOSE_MAPPED, UCS_ERR_EXCEEDS_LIMIT);
    EXPECT_EQ(0u, log_watch::take().find(std::to_string(LENGTH) +
                                         " bytes at "));
}

TEST_F(test_md_use, a_receive_that_does_not_fit_is_in_pieces) {
    set("MAX_PINNED", "512K");

    uct_md_h md = open();
    for (auto purpose : {UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_PURPOSE_SEND,
                         UCT_PREDREG_PURPOSE_ONE_SIDED}) {
        uct_mem_h memh = reg(md, RECV, purpose);

        EXPECT_TRUE(is_pieces(memh));
        EXPECT_EQ(UCS_ERR_UNSUPPORTED,
                  uct_predreg_mkey_check(domain(md), memh));
        EXPECT_NE("", log_watch::take());
        dereg(md, memh);
    }
    EXPECT_EQ(0u, m_num_regs);
}

TEST_F(test_md_use, pieces_are_invalidated_at_once) {
    set("MAX_PINNED", "512K");

    uct_md_h md = open();
    EXPECT_EQ(1u, invalidate(md, reg(md, RECV)));
}

TEST_F(test_md_use, fenced_puts_are_in_pieces_only_if_need_be) {
    test_core_set_fenced_puts(1);

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, RECV);
    EXPECT_FALSE(is_pieces(memh)); /* It fits */
    dereg(md, memh);
}

TEST_F(test_md_use, an_invalidation_deregisters) {
    uct_md_h md    = open();
    uct_mem_h memh = reg(md, SEND);

    EXPECT_EQ(1u, invalidate(md, memh));
    EXPECT_TRUE(m_regs.empty());
}

TEST_F(test_md_use, memory_of_the_host_is_managed_beside_devices) {
    m_attr.cap.detect_mem_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, SEND);
    dereg(md, memh);
    EXPECT_LE(stats().uses, 1u); /* None if UCX's cache of types is off */
}

TEST_F(test_md_use, a_communication_is_found_by_its_buffer) {
    ucs_rcache_pred_window_t window = {};
    uct_predreg_comm_t comm         = {};
    uct_md_h md                     = open();

    comm.kind   = UCS_RCACHE_PRED_COMM_SEND;
    comm.buffer = m_buffer;
    comm.caller = this;
    comm.stack  = &comm;
    uct_predreg_comm(test_core_state(), &window, &comm);
    EXPECT_EQ(0u, comm.changed);
    dereg(md, reg(md, SEND));
    uct_predreg_idle(test_core_state());
    EXPECT_EQ(1u, stats().uses);
}

TEST_F(test_md_use, without_a_cache_progress_has_nothing_to_do) {
    uct_predreg_idle(test_core_state());
}

TEST_F(test_md_use, leave_pinned_passes_on_and_counts) {
    set("POLICY", "leave-pinned");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, RECV);
    EXPECT_EQ(1u, m_regs.count(memh));
    EXPECT_EQ(1u, uct_predreg_num_passed(test_core_state()));
    dereg(md, memh);

    uct_mem_h pool = reg(md, POOL);
    EXPECT_EQ(LENGTH, pools());
    EXPECT_EQ(1u, uct_predreg_num_passed(test_core_state()));
    dereg(md, pool);
}

TEST_F(test_md_use, leave_pinned_records_a_trace) {
    ucs_rcache_pred_window_t window = {};
    uct_predreg_comm_t comm         = {};

    set("POLICY", "leave-pinned");
    set("TRACE", m_folder + "/traces");

    uct_md_h md     = open();
    ASSERT_TRUE(test_core_has_recorder());
    comm.buffer = m_buffer;
    uct_predreg_comm(test_core_state(), &window, &comm);
    uct_mem_h memh1 = reg(md, RECV, UCT_PREDREG_PURPOSE_SEND);
    uct_mem_h memh2 = reg(md, SEND);
    uct_mem_h pool  = reg(md, POOL);
    m_refuse        = 1;
    reg(md, SEND, UCT_PREDREG_PURPOSE_SEND, UCS_ERR_IO_ERROR);
    for (uct_mem_h memh : {pool, memh1, memh2}) {
        dereg(md, memh);
    }
    uct_predreg_record_finish(test_core_state());
    EXPECT_FALSE(std::filesystem::is_empty(m_folder + "/traces"));
}
