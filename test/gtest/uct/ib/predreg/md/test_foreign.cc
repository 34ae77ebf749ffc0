/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md_test.h"

#include <common/library.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/md/domain.h>

#include <algorithm>
#include <thread>
#include <vector>

extern "C" {
#include <common/c_access.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/stat/stat.h>
}

/* What UCX registers for itself, and what that leaves to the cache. (How it is
 * counted is in test_memlock.cc.) */
class test_foreign : public md_test {
protected:
    /* A handle that the fake does not give out */
    static uct_mem_h memh(uintptr_t number)
    {
        return reinterpret_cast<uct_mem_h>((1ul << 32) * number);
    }

    void add(uintptr_t number, size_t length, int is_pool = 1,
             uintptr_t address = 0)
    {
        uct_predreg_foreign_add(domain(m_md), memh(number),
                                reinterpret_cast<void*>(address), length,
                                is_pool);
    }

    void remove(uintptr_t number)
    {
        m_regs[memh(number)] = {};
        dereg(m_md, memh(number));
    }

    uct_md_h m_md;

    static ucs_rcache_pred_snapshot_t snapshot()
    {
        ucs_rcache_pred_snapshot_t snapshot;

        uct_predreg_snapshot(test_core_state(), &snapshot);
        return snapshot;
    }

    static uint64_t pools()
    {
        return snapshot().pool_bytes;
    }
};

TEST_F(test_foreign, the_limit_is_what_it_leaves) {
    run_limited([this] {
        m_md = open();
        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));
        add(1, 1024 * KB);
        add(2, 512 * KB, 0);
        EXPECT_EQ(LIMIT - 1536 * KB, uct_predreg_max_bytes(&test_core_state()->knobs));
        EXPECT_EQ(1024 * KB, pools());

        remove(1);
        EXPECT_EQ(LIMIT - 512 * KB, uct_predreg_max_bytes(&test_core_state()->knobs));
        EXPECT_EQ(1024 * KB, pools()) << "the most at a time";
        /* It is not there */
        remove(3);
        remove(2);
        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));
    });
}

/* UCX's names of its pools tell their kinds */
TEST_F(test_foreign, kinds_of_pools) {
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_RC_RECEIVE, uct_predreg_pool_kind("rc_recv_desc"));
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_RC_SEND, uct_predreg_pool_kind("rc_send_desc"));
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_RC_SEND,
              uct_predreg_pool_kind("rc_verbs_short_desc"));
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_RC_SEND,
              uct_predreg_pool_kind("tag_eager_send_desc"));
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_UD_RECEIVE, uct_predreg_pool_kind("ud_recv_skb"));
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_UD_SEND, uct_predreg_pool_kind("ud_tx_skb"));
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_UCP, uct_predreg_pool_kind("ucp_reg_bufs"));
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_OTHER, uct_predreg_pool_kind("srd_recv_desc"));
    EXPECT_EQ(UCS_RCACHE_PRED_POOL_OTHER, uct_predreg_pool_kind(""));
}

TEST_F(test_foreign, pools_count_by_kind) {
    m_md = open();
    uct_predreg_pool_allocated(reinterpret_cast<void*>(0x1000), "rc_recv_desc");
    add(1, 40, 1, 0x1000);
    add(2, 3, 1, 0x2000); /* Nothing was said of this memory */
    uct_predreg_pool_allocated(reinterpret_cast<void*>(0x3000), "ud_tx_skb");
    add(3, 5, 1, 0x3000);
    add(4, 7, 0, 0x3000); /* It is no pool */
    remove(1);
    uct_predreg_pool_allocated(reinterpret_cast<void*>(0x1000), "rc_recv_desc");
    add(1, 20, 1, 0x1000);

    const ucs_rcache_pred_snapshot_t s = snapshot();
    EXPECT_EQ(48u, s.pool_bytes);
    EXPECT_EQ(40u, s.pool_kinds[UCS_RCACHE_PRED_POOL_RC_RECEIVE]) << "at a time";
    EXPECT_EQ(0u, s.pool_kinds[UCS_RCACHE_PRED_POOL_RC_SEND]);
    EXPECT_EQ(5u, s.pool_kinds[UCS_RCACHE_PRED_POOL_UD_SEND]);
    EXPECT_EQ(3u, s.pool_kinds[UCS_RCACHE_PRED_POOL_OTHER]);
    for (uintptr_t number = 1; number <= 4; ++number) {
        remove(number);
    }
}

TEST_F(test_foreign, whole_pages_count) {
    run_limited([this] {
        m_md = open();
        add(1, 2, 0, 0x10000000 + 4096 - 1);
        EXPECT_EQ(LIMIT - 2 * 4096, uct_predreg_max_bytes(&test_core_state()->knobs));
        remove(1);
        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));
    });
}

/* UCX refuses to deregister it */
TEST_F(test_foreign, what_stays_registered_counts) {
    run_limited([this] {
        m_md = open();
        add(1, 1024 * KB);

        uct_md_mem_dereg_params_t params = {};
        params.field_mask                = UCT_MD_MEM_DEREG_FIELD_MEMH;
        params.memh                      = memh(1);
        m_keep                           = 1;
        EXPECT_EQ(UCS_ERR_BUSY, uct_predreg_mem_dereg(domain(m_md), &params));
        EXPECT_EQ(LIMIT - 1024 * KB, uct_predreg_max_bytes(&test_core_state()->knobs));
        remove(1);
        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));
    });
}

TEST_F(test_foreign, the_users_bound_counts_if_it_is_less) {
    set("MAX_PINNED", "2M");
    run_limited([this] {
        m_md = open();
        add(1, 1024 * KB);
        EXPECT_EQ(2048 * KB, uct_predreg_max_bytes(&test_core_state()->knobs));
        add(2, 1536 * KB);
        EXPECT_EQ(LIMIT - 2560 * KB, uct_predreg_max_bytes(&test_core_state()->knobs));
    });
}

TEST_F(test_foreign, the_cache_keeps_to_it) {
    run_limited([this] {
        uct_md_h md = m_md = open();

        dereg(md, reg(md, SEND));
        add(1, LIMIT - LENGTH / 2);
        EXPECT_TRUE(m_regs.empty()) << "it is given up if it was still there";
        reg(md, SEND, UCT_PREDREG_PURPOSE_SEND, UCS_ERR_EXCEEDS_LIMIT);

        remove(1);
        dereg(md, reg(md, SEND));
    });
}

TEST_F(test_foreign, without_memory_only_the_kernel_counts) {
    run_limited([this] {
        m_md = open();
        test_alloc_fail_nth(1);
        add(1, 1024 * KB);
        EXPECT_TRUE(test_alloc_failed());
        test_alloc_fail_nth(0);
        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));
        EXPECT_EQ(0u, pools());
        remove(1);
    });
}

TEST_F(test_foreign, pools_of_a_cache_that_is_watched_do_not_go) {
    set("POLICY", "leave-pinned");
    run_limited([this] {
        m_md = open();
        uct_predreg_pool_add(test_core_state(), nullptr, 1024 * KB);
        uct_predreg_pool_add(test_core_state(), nullptr, 512 * KB);
        EXPECT_EQ(1536 * KB, pools());
        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));
    });
}

TEST_F(test_foreign, the_parents_count_for_nothing) {
    run_limited([this] {
        m_md = open();
        add(1, 1024 * KB);
        uct_predreg_domains_reset();
        uct_predreg_foreign_reset();
        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));

        uct_md_mem_dereg_params_t params = {};
        params.field_mask                = UCT_MD_MEM_DEREG_FIELD_MEMH;
        params.memh                      = memh(1);
        m_regs[memh(1)]                  = {};
        EXPECT_EQ(UCS_OK, uct_predreg_unknown_mem_dereg(test_core_state(), m_md,
                                                        &params));
        EXPECT_EQ(LIMIT, uct_predreg_max_bytes(&test_core_state()->knobs));
        uct_predreg_pool_add(test_core_state(), nullptr, 512 * KB);
        EXPECT_EQ(1024 * KB, pools()) << "those of the child are fewer";
    });
}

TEST_F(test_foreign, most_that_pools_had_at_a_time) {
    run_limited([this] {
        m_md = open();
        add(1, 1000 * KB);
        add(2, 500 * KB, 0);
        add(3, 700 * KB);
        EXPECT_EQ(1700 * KB, pools());
        remove(1);
        add(4, 200 * KB);
        EXPECT_EQ(1700 * KB, pools());
        add(5, 900 * KB);
        EXPECT_EQ(1800 * KB, pools());
    });
}

TEST_F(test_foreign, pools_of_several_threads) {
    set("POLICY", "leave-pinned");
    std::vector<std::thread> threads;

    open();
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (unsigned i = 0; i < 2000 / SANITIZER_SLOWDOWN; ++i) {
                uct_predreg_pool_add(test_core_state(), nullptr, KB);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(4 * (2000 / SANITIZER_SLOWDOWN) * KB, pools());
}

/* Each with handles of its own, which UCX keeps registered at times */
TEST_F(test_foreign, registrations_of_several_threads) {
    run_limited([this] {
        std::vector<std::thread> threads;

        m_md                                  = open();
        test_core_state()->real.uct_md_mem_dereg_v2 =
                [](uct_md_h, const uct_md_mem_dereg_params_t *params) {
                    return (uintptr_t(params->memh) & 64) ? UCS_ERR_BUSY : UCS_OK;
                };
        for (unsigned t = 0; t < 4; ++t) {
            threads.emplace_back([this, t] {
                for (unsigned i = 0; i < 2000 / SANITIZER_SLOWDOWN; ++i) {
                    auto handle = reinterpret_cast<uct_mem_h>(0x10000ul * (t + 1) +
                                                              16 * i);
                    uct_md_mem_dereg_params_t params = {};

                    uct_predreg_foreign_add(domain(m_md), handle, nullptr,
                                            4096, 1);
                    params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH;
                    params.memh       = handle;
                    (void)uct_predreg_mem_dereg(domain(m_md), &params);
                }
            });
        }
        for (auto &thread : threads) {
            thread.join();
        }
        unsigned left = 0; /* Those with the bit */
        for (unsigned i = 0; i < 2000 / SANITIZER_SLOWDOWN; ++i) {
            left += ((16 * i) & 64) != 0;
        }
        EXPECT_EQ(ucs_max(LIMIT - std::min(LIMIT, uint64_t(4 * left * 4096)),
                          UCS_RCACHE_PRED_MIN_BYTES),
                  uct_predreg_max_bytes(&test_core_state()->knobs));
    });
}

TEST_F(test_foreign, pools_may_have_no_room_to_grow) {
    run_limited([] { EXPECT_TRUE(uct_predreg_pools_are_limited()); });
}
