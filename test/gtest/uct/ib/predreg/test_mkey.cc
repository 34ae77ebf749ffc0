/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md/md_test.h"

#include <uct/ib/predreg/entry.h>

#include <string>
#include <vector>

/* Keys that UCP packs for a peer, under UCX 1.18 */
class test_mkey : public md_test {
protected:
    /* A rendezvous that the sender puts: the receiver's memory */
    static constexpr unsigned TARGET = 0x28;

    void SetUp() override
    {
        md_test::SetUp();
        set_ucx(18);
        test_core_state()->real.uct_md_mkey_pack_v2 =
                [](uct_md_h, uct_mem_h, uintptr_t, uintptr_t, uintptr_t,
                   uintptr_t buffer) {
                    visit in_domain;

                    ++s_packed;
                    memset(reinterpret_cast<void*>(buffer), 'k', 8);
                    return s_status;
                };
        s_packed = 0;
        s_status = UCS_OK;
    }

    /* Pack a key for these domains, whose numbers are 0, 1, ... */
    ucs_status_t pack(const std::vector<std::pair<uct_md_h, uct_mem_h>> &parts,
                      int is_ucp = 1)
    {
        uint64_t domains    = (1ull << parts.size()) - 1;
        char *p             = m_message + 1;
        ucs_status_t status = UCS_OK;

        memcpy(p, &domains, sizeof(domains));
        p += 9;
        for (const auto &part : parts) {
            *p++ = 8;
            const uintptr_t args[] = {0, 0, 0, reinterpret_cast<uintptr_t>(p)};
            status = uct_predreg_mkey_pack_v2(test_core_state(), part.first,
                                              part.second, args, is_ucp);
            if (status != UCS_OK) {
                break;
            }
            p += 8;
        }
        return status;
    }

    /* Which domains the key names now */
    uint64_t domains() const
    {
        uint64_t value;

        memcpy(&value, m_message + 1, sizeof(value));
        return value;
    }

    static unsigned     s_packed;
    static ucs_status_t s_status;

    char                m_message[64];
};

unsigned test_mkey::s_packed;
ucs_status_t test_mkey::s_status;

TEST_F(test_mkey, it_is_packed_by_ucx_if_the_memory_fits) {
    uct_md_h md    = open();
    uct_mem_h memh = reg(md, TARGET);

    EXPECT_EQ(1u, m_regs.count(memh));
    EXPECT_EQ(UCS_OK, pack({{md, memh}}));
    EXPECT_EQ(1u, domains());
    EXPECT_EQ(1u, s_packed);
    dereg(md, memh);
}

TEST_F(test_mkey, it_names_no_domain_if_the_memory_does_not_fit) {
    set("MAX_PINNED", "512K");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, TARGET);

    EXPECT_EQ(0u, m_num_regs);
    for (int i = 0; i < 3; ++i) { /* As often as UCP likes */
        EXPECT_EQ(UCS_OK, pack({{md, memh}}));
        EXPECT_EQ(1ull << 63, domains());
    }
    EXPECT_EQ(0u, s_packed);
    EXPECT_EQ("", log_watch::take());
    dereg(md, memh);
}

TEST_F(test_mkey, a_peer_that_is_gone_needs_none_to_be_invalidated) {
    set("MAX_PINNED", "512K");

    uct_md_h md = open();
    EXPECT_EQ(1u, invalidate(md, reg(md, TARGET)));
}

/* Adapters, and a domain that is not managed */
TEST_F(test_mkey, one_domain_without_room_is_enough) {
    set("MAX_PINNED", "1536K"); /* Once the buffer */

    uct_md_h md1     = open(1, 1);
    uct_md_h md2     = open(2, 2);
    auto unmanaged   = reinterpret_cast<uct_md_h>(0x99000);
    uct_mem_h whole  = reg(md1, TARGET);
    uct_mem_h memh   = reg(md2, TARGET);
    EXPECT_EQ(1u, m_regs.size());

    EXPECT_EQ(UCS_OK, pack({{md1, whole}, {md2, memh}, {unmanaged, whole}}));
    EXPECT_EQ(7ull << 61, domains());
    EXPECT_EQ(UCS_OK, pack({{unmanaged, whole}, {md1, whole}}));
    EXPECT_EQ(3u, domains());
    dereg(md2, memh);
    dereg(md1, whole);
}

TEST_F(test_mkey, ucx_fails_to_pack_it) {
    set("MAX_PINNED", "512K");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, TARGET);
    auto unmanaged = reinterpret_cast<uct_md_h>(0x99000);

    s_status = UCS_ERR_IO_ERROR;
    EXPECT_EQ(UCS_ERR_IO_ERROR, pack({{unmanaged, memh}, {md, memh}}));
    s_status = UCS_OK;
    EXPECT_EQ(UCS_OK, pack({{unmanaged, memh}, {md, memh}}));
    EXPECT_EQ(3ull << 62, domains());
    dereg(md, memh);
}

TEST_F(test_mkey, only_ucp_has_one_withdrawn) {
    set("MAX_PINNED", "512K");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, TARGET);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, pack({{md, memh}}, 0));
    EXPECT_NE("", log_watch::take());
    EXPECT_EQ(1u, domains());
    dereg(md, memh);
}

TEST_F(test_mkey, memory_in_pieces_for_other_ends_has_none) {
    set("MAX_PINNED", "512K");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, 0x200);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, pack({{md, memh}}));
    EXPECT_NE("", log_watch::take());
    dereg(md, memh);
}

TEST_F(test_mkey, too_many_domains) {
    set("MAX_PINNED", "512K");

    uct_md_h md    = open(1, 64);
    uct_mem_h memh = reg(md, TARGET);
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, pack({{md, memh}}));
    EXPECT_EQ("memory that does not fit the bounds cannot be received into "
              "with 64 memory domains", log_watch::take());
    dereg(md, memh);
}

/* An interface that does not understand pieces never gets the handle */
TEST_F(test_mkey, a_transport_that_moves_no_pieces) {
    set("MAX_PINNED", "512K");

    uct_md_h md = open();
    uct_predreg_domain_find(md)->whole = 1;
    reg(md, 0x200, UCT_PREDREG_PURPOSE_MESSAGE, UCS_ERR_EXCEEDS_LIMIT);
    EXPECT_NE("", log_watch::take());

    uct_mem_h memh = reg(md, TARGET);
    EXPECT_EQ(UCS_OK, pack({{md, memh}}));
    EXPECT_EQ(1ull << 63, domains());
    dereg(md, memh);
}
