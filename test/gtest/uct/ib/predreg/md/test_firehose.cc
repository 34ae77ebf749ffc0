/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md_test.h"

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/firehose/firehose.h>

extern "C" {
#include <common/c_access.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/stat/stat.h>
}

/* What UCP registers for libucp_firehose.so. (How Firehose takes a refusal is
 * in table/test_local.cc.) */
class test_firehose_regs : public md_test {
protected:
    static constexpr uct_predreg_purpose_t PINS = UCT_PREDREG_PURPOSE_PINNED;

    static ucs_rcache_pred_snapshot_t snapshot()
    {
        ucs_rcache_pred_snapshot_t snapshot;

        uct_predreg_snapshot(test_core_state(), &snapshot);
        return snapshot;
    }

    static void expect(uint64_t bytes, uint64_t regions, uint64_t peak)
    {
        const ucs_rcache_pred_subsystem_stats_t &part =
                snapshot().stats
                        .subsystems[UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE];

        EXPECT_EQ(bytes, part.bytes_now);
        EXPECT_EQ(regions, part.regions_now);
        EXPECT_EQ(peak, part.bytes_peak);
        EXPECT_EQ(0u, snapshot().stats.uses - m_uses);
    }

    /* A use, after which its memory stays registered until it gives way */
    void use(uct_md_h md)
    {
        dereg(md, reg(md, SEND));
        ++m_uses;
    }

    static uint64_t m_uses;

    void SetUp() override
    {
        md_test::SetUp();
        m_uses = 0;
    }
};

uint64_t test_firehose_regs::m_uses;

TEST_F(test_firehose_regs, it_counts_within_the_bounds) {
    set("MAX_PINNED", "1536K");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, MAP, PINS);
    EXPECT_EQ(m_buffer, m_regs[memh].address);
    EXPECT_EQ(LENGTH, m_regs[memh].length);
    expect(LENGTH, 1, LENGTH);
    EXPECT_EQ(LENGTH, snapshot().stats.bytes_now);
    reg(md, SEND, UCT_PREDREG_PURPOSE_SEND, UCS_ERR_EXCEEDS_LIMIT);

    dereg(md, memh);
    EXPECT_TRUE(m_regs.empty());
    expect(0, 0, LENGTH);
    use(md);
}

TEST_F(test_firehose_regs, whole_pages_count) {
    uct_md_h md = open();
    uct_mem_h memh;

    ASSERT_EQ(UCS_OK, uct_predreg_mem_reg(domain(md), (char*)m_buffer + 4095, 2,
                                          MAP, PINS, &memh));
    expect(8192, 1, 8192);
    dereg(md, memh);
}

TEST_F(test_firehose_regs, each_domain_counts) {
    uct_md_h first = open(1), second = open(2);
    uct_mem_h one  = reg(first, MAP, PINS);
    uct_mem_h two  = reg(second, MAP, PINS);

    expect(2 * LENGTH, 2, 2 * LENGTH);
    dereg(first, one);
    expect(LENGTH, 1, 2 * LENGTH);
    dereg(second, two);
}

TEST_F(test_firehose_regs, what_is_idle_gives_way) {
    set("MAX_PINNED", "1536K");
    set("BUDGET", "0"); /* Nothing else gives it up on a busy machine */

    uct_md_h md = open();
    use(md);
    EXPECT_EQ(1u, m_regs.size());
    uct_mem_h memh = reg(md, MAP, PINS);
    EXPECT_EQ(1u, m_regs.size());
    expect(LENGTH, 1, LENGTH);
    dereg(md, memh);
}

/* Firehose says so itself, once nothing of its own gives way any more */
TEST_F(test_firehose_regs, what_does_not_fit_is_refused_in_silence) {
    set("MAX_PINNED", "512K");

    uct_md_h md = open();
    reg(md, MAP, PINS, UCS_ERR_EXCEEDS_LIMIT);
    EXPECT_EQ(0u, m_num_regs);
    expect(0, 0, 0);
    ucs_log_dispatch("src/ucp/core/ucp_mm.c", 1, "f", UCS_LOG_LEVEL_ERROR,
                     &ucs_global_opts.log_component, "dropped");
    EXPECT_EQ("", log_watch::take());
}

TEST_F(test_firehose_regs, few_regions) {
    set("MAX_REGIONS", "4");

    /* One is for pieces of messages */
    uct_md_h md = open();
    std::vector<uct_mem_h> memhs;
    for (unsigned i = 0; i < 3; ++i) {
        memhs.push_back(reg(md, MAP, PINS));
    }
    reg(md, MAP, PINS, UCS_ERR_EXCEEDS_LIMIT);
    for (uct_mem_h memh : memhs) {
        dereg(md, memh);
    }
    expect(0, 0, 3 * LENGTH);
}

TEST_F(test_firehose_regs, locked_memory_counts_once) {
    run_limited([this] {
        uct_md_h md    = open();
        uct_mem_h memh = reg(md, MAP, PINS);

        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));
        expect(LENGTH, 1, LENGTH);
        dereg(md, memh);
    });
}

TEST_F(test_firehose_regs, the_system_has_no_room) {
    uct_md_h md = open();

    use(md);
    m_refuse       = 1;
    uct_mem_h memh = reg(md, MAP, PINS);
    EXPECT_EQ(1u, m_regs.size()) << "what is idle gives way";
    dereg(md, memh);

    m_refuse = 2;
    reg(md, MAP, PINS, UCS_ERR_NO_MEMORY);
    expect(0, 0, LENGTH);
    EXPECT_EQ("", log_watch::take());
}

/* What UCX has registered then is deregistered. The first allocation is the
 * fake's */
TEST_F(test_firehose_regs, no_memory_to_note_it) {
    uct_md_h md    = open();
    unsigned tries = 0;

    for (unsigned nth = 2; nth < 5; ++nth) {
        m_in_reg = [nth] { test_alloc_fail_nth(nth); };
        uct_mem_h memh = reg(md, MAP, PINS);
        tries         += test_alloc_failed();
        test_alloc_fail_nth(0);
        EXPECT_EQ(1u, m_regs.size()) << nth;
        EXPECT_EQ(nth - 1 + tries, m_num_regs);
        expect(LENGTH, 1, LENGTH);
        dereg(md, memh);
        expect(0, 0, LENGTH);
    }
    EXPECT_LT(0u, tries);
}

TEST_F(test_firehose_regs, another_error_is_handed_on) {
    uct_md_h md = open();

    m_error  = EFAULT;
    m_refuse = 1;
    reg(md, MAP, PINS, UCS_ERR_IO_ERROR);
    EXPECT_EQ(1u, m_num_regs);
    expect(0, 0, LENGTH);
}

TEST_F(test_firehose_regs, what_stays_registered_counts) {
    uct_md_mem_dereg_params_t params = {};
    uct_md_h md                      = open();
    uct_mem_h memh                   = reg(md, MAP, PINS);

    params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH;
    params.memh       = memh;
    m_keep            = 1;
    EXPECT_EQ(UCS_ERR_BUSY, uct_predreg_mem_dereg(domain(md), &params));
    expect(LENGTH, 1, LENGTH);
    dereg(md, memh);
    expect(0, 0, LENGTH);
}

/* The cache of UCX decides there what stays registered */
TEST_F(test_firehose_regs, under_leave_pinned_it_is_passed_on) {
    set("POLICY", "leave-pinned");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, MAP, PINS);
    EXPECT_EQ(LENGTH, m_regs[memh].length);
    dereg(md, memh);
    EXPECT_TRUE(m_regs.empty());
}

TEST_F(test_firehose_regs, memory_that_is_not_pinned_does_not_count) {
    set_ucx(18);
    set("MAX_PINNED", "512K");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, MAP | UCT_MD_MEM_FLAG_NONBLOCK, PINS);
    expect(0, 0, 0);
    dereg(md, memh);
}

/* What is left for pieces of messages is not Firehose's */
TEST_F(test_firehose_regs, room) {
    uct_predreg_core_t *core = test_core_state();

    EXPECT_EQ(UINT64_MAX, uct_predreg_firehose_room(core, 0)) << "no domain yet";
    open(1);
    EXPECT_EQ(UINT64_MAX, uct_predreg_firehose_room(core, 0)) << "no bounds";
    set("NODE_MAX_PINNED", "1M");
    EXPECT_EQ((1024 - 128) * KB, uct_predreg_firehose_room(core, 0));
    {
        scoped_variable size("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
        EXPECT_EQ((256 - 128) * KB, uct_predreg_firehose_room(core, 0))
                << "the bound of the node is for 4 ranks";
    }
    set("MAX_PINNED", "640K");
    EXPECT_EQ((640 - 128) * KB, uct_predreg_firehose_room(core, 0));
    open(2);
    EXPECT_EQ((640 - 128) * KB / 2, uct_predreg_firehose_room(core, 0));
    EXPECT_EQ((640 - 128) * KB, uct_predreg_firehose_room(core, 1))
            << "one is of another context";
}

TEST_F(test_firehose_regs, there_is_room_for_so_much) {
    set("MAX_PINNED", "2M");

    uct_md_h md       = open();
    size_t room       = uct_predreg_firehose_room(test_core_state(), 0);
    size_t more       = room + 4096;
    void *memory      = aligned_alloc(4096, more);
    uct_mem_h memh    = nullptr;

    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT,
              uct_predreg_mem_reg(domain(md), memory, more, MAP, PINS, &memh));
    ASSERT_EQ(UCS_OK,
              uct_predreg_mem_reg(domain(md), memory, room, MAP, PINS, &memh));
    dereg(md, memh);
    free(memory);
}

TEST_F(test_firehose_regs, requests_are_counted) {
    test_core_count_firehose(3, 1);
    test_core_count_firehose(1, 1);
    EXPECT_EQ(4u, snapshot().firehose_requests);
    EXPECT_EQ(2u, snapshot().firehose_hits);
}
