/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md_test.h"

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/entry.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/record/record.h>
#include <uct/ib/predreg/core/comm.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/stat/stat.h>

#include <ucs/memory/memtype_cache.h>
#include <ucs/node/node_int.h>

#include <chrono>
#include <thread>
#include <vector>

/* Registrations that UCP asks for, and what becomes of them. (Those of the
 * cache alone are in test_use.cc of the cache.) */
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

    static ucs_rcache_pred_snapshot_t snapshot()
    {
        ucs_rcache_pred_snapshot_t snapshot;

        uct_predreg_snapshot(test_core_state(), &snapshot);
        return snapshot;
    }

    ucs_rcache_pred_idle_t m_idle = {};
};

TEST_F(test_md_use, keys_are_counted_whoever_asks_for_them) {
    set("POLICY", "on-demand");
    uct_md_h first = open(1), second = open(2);

    uct_mem_h send = reg(first, SEND), pool = reg(second, POOL);
    EXPECT_EQ(2u, snapshot().keys_now);

    m_refuse = 3; /* It is tried quietly at first */
    reg(first, POOL, UCT_PREDREG_PURPOSE_MESSAGE, UCS_ERR_IO_ERROR);
    log_watch::take();
    EXPECT_EQ(2u, snapshot().keys_now);

    /* The helper is not needed: what ends is deregistered at once */
    dereg(first, send);
    EXPECT_EQ(1u, snapshot().keys_now);

    uct_md_mem_dereg_params_t params = {};
    params.field_mask                = UCT_MD_MEM_DEREG_FIELD_MEMH;
    params.memh                      = pool;
    m_keep                           = 1;
    EXPECT_EQ(UCS_ERR_BUSY, uct_predreg_mem_dereg(domain(second), &params));
    EXPECT_EQ(1u, snapshot().keys_now);
    dereg(second, pool);
    EXPECT_EQ(0u, snapshot().keys_now);
    EXPECT_EQ(2u, snapshot().keys_peak);
}

/* What UCX and add-ons register counts towards the limit as well: the device makes no
 * difference */
TEST_F(test_md_use, keys_of_a_device_are_counted_whoever_asks_for_them) {
    ucs_rcache_pred_node_keys_t keys;
    uct_md_h md    = open();
    uct_mem_h pool = reg(md, POOL), send = reg(md, SEND);
    const uct_predreg_domain_t *dom = domain(md);

    ASSERT_EQ(uct_predreg_node(), dom->node);
    ucs_rcache_pred_node_get_keys(dom->node, dom->device, &keys);
    EXPECT_EQ(2u, keys.keys);
    dereg(md, pool);
    ucs_rcache_pred_node_get_keys(dom->node, dom->device, &keys);
    EXPECT_EQ(1u, keys.keys);
    dereg(md, send);
}

/* A process that nobody has refused a key knows no limit; all processes of the job learn
 * of a refusal */
TEST_F(test_md_use, the_limit_of_keys_is_that_of_the_device) {
    ucs_rcache_pred_node_keys_t keys;

    open();
    EXPECT_EQ(UINT64_MAX, snapshot().keys_limit);
    ASSERT_NE(nullptr, uct_predreg_node());
    EXPECT_FALSE(ucs_rcache_pred_node_get_scarce_keys(uct_predreg_node(), &keys));
}

TEST_F(test_md_use, it_is_registered_with_the_domain) {
    uct_md_h md    = open();
    uct_mem_h memh = reg(md, SEND);

    ASSERT_EQ(1u, m_regs.count(memh));
    EXPECT_EQ(md, m_regs[memh].md);
    EXPECT_LE(m_regs[memh].address, m_buffer);
    EXPECT_GE(m_regs[memh].length, LENGTH);
    EXPECT_EQ(UCS_OK, uct_predreg_hooks.mkey_begin(md, memh));
    uct_predreg_hooks.md_leave(md);
    dereg(md, memh);
    EXPECT_EQ(1u, stats().uses);
}

/* UCX notes so of all that is mapped of late, once its cache of memory types is
 * in use */
TEST_F(test_md_use, memory_of_no_known_type_is_the_hosts_without_devices) {
    ucs_memory_info_t info;
    uct_md_h md = open();

    bool has_cache = ucs_memtype_cache_lookup(m_buffer, LENGTH, &info) !=
                     UCS_ERR_UNSUPPORTED;
    ucs_memtype_cache_update(m_buffer, LENGTH, UCS_MEMORY_TYPE_UNKNOWN,
                             UCS_SYS_DEVICE_ID_UNKNOWN);
    dereg(md, reg(md, SEND));
    EXPECT_EQ(1u, stats().uses);
    /* There is no such cache under UCX_MEM_EVENTS=n, which a removal does not
     * look at */
    if (has_cache) {
        ucs_memtype_cache_remove(m_buffer, LENGTH);
    }
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

/* As ucp_reg_bufs: active messages would fail without it */
TEST_F(test_md_use, pools_of_ucp_are_not_held_to_the_bound) {
    set("MAX_PINNED", "512K");

    uct_md_h md    = open();
    uct_mem_h memh = reg(md, MAP, UCT_PREDREG_PURPOSE_SEND);
    EXPECT_EQ(LENGTH, pools());
    EXPECT_EQ(0u, stats().uses);
    EXPECT_EQ(m_buffer, m_regs[memh].address);
    dereg(md, memh);

    /* What the program maps is */
    reg(md, MAP, UCT_PREDREG_PURPOSE_MAPPED, UCS_ERR_EXCEEDS_LIMIT);
    EXPECT_EQ(0u, log_watch::take().find(std::to_string(LENGTH) +
                                         " bytes at "));
}

TEST_F(test_md_use, a_pool_that_is_refused_has_what_is_idle_give_way) {
    uct_md_h md = open();

    dereg(md, reg(md, SEND));
    m_refuse       = 1;
    uct_mem_h memh = reg(md, POOL);
    EXPECT_EQ(1u, m_regs.size());
    /* Loud if the helper has deregistered the idle memory before */
    EXPECT_EQ(POOL, m_regs[memh].flags & ~(unsigned)UCT_MD_MEM_FLAG_HIDE_ERRORS);
    dereg(md, memh);
}

/* The other one may hold them idle, and give some up within ms */
TEST_F(test_md_use, a_pool_waits_for_the_keys_of_another_process) {
    ucs_rcache_pred_node_params_t params = {
        .max_bytes   = UCS_RCACHE_PRED_NODE_UNLIMITED,
        .max_regions = UCS_RCACHE_PRED_NODE_UNLIMITED
    };
    ucs_rcache_pred_node_t *other = nullptr;
    uct_md_h md                   = open();
    const uct_predreg_domain_t *dom = domain(md);

    ASSERT_EQ(UCS_OK, ucs_rcache_pred_node_join(&params, &other));
    uint64_t name = atomic_load(&dom->node->shm->devices[dom->device].name);
    ASSERT_EQ(dom->device, ucs_rcache_pred_node_device(other, name));
    ucs_rcache_pred_node_key_taken(other, dom->device);

    m_refuse = 5;
    dereg(md, reg(md, POOL));
    EXPECT_EQ(0u, m_refuse);
    EXPECT_TRUE(ucs_rcache_pred_node_is_asked(other));
    EXPECT_EQ("", log_watch::take());

    m_refuse = 5;
    dereg(md, reg(md, MAP, UCT_PREDREG_PURPOSE_MAPPED));
    EXPECT_EQ(0u, m_refuse);
    EXPECT_EQ("", log_watch::take()) << "the memory is registered";
    ucs_rcache_pred_node_leave(other);
}

TEST_F(test_md_use, a_pool_that_is_refused_for_good_is_told_once) {
    uct_md_h md = open();
    uct_mem_h memh;

    m_refuse = 2;
    EXPECT_EQ(UCS_ERR_IO_ERROR,
              uct_predreg_mem_reg(domain(md), m_buffer, LENGTH, POOL,
                                  UCT_PREDREG_PURPOSE_MESSAGE, &memh));
    EXPECT_EQ("ibv_reg_mr failed", log_watch::take());
}

/* As of memory that cannot be written to, or must not be touched */
TEST_F(test_md_use, a_send_that_the_system_refuses_is_silent) {
    uct_md_h md = open();

    m_error = EFAULT;
    for (auto purpose : {UCT_PREDREG_PURPOSE_SEND,
                         UCT_PREDREG_PURPOSE_MESSAGE}) {
        m_refuse = 1;
        reg(md, SEND, purpose, UCS_ERR_IO_ERROR);
        EXPECT_EQ("", log_watch::take());
    }

    /* Nothing is remembered against it */
    dereg(md, reg(md, SEND));
}

TEST_F(test_md_use, what_ucp_needs_and_the_system_refuses_is_told_once) {
    uct_md_h md = open();

    m_error  = EFAULT;
    m_refuse = 3; /* It is tried quietly at first */
    reg(md, RECV, UCT_PREDREG_PURPOSE_MAPPED, UCS_ERR_IO_ERROR);
    EXPECT_EQ("ibv_reg_mr failed", log_watch::take());
    EXPECT_EQ("", log_watch::take());
}

TEST_F(test_md_use, messages_of_others_are_not_held_back) {
    uct_md_h md = open();

    m_in_reg = [] {
        std::thread other([] { ucs_error("of another thread"); });
        other.join();
    };
    dereg(md, reg(md, SEND));
    EXPECT_EQ("of another thread", log_watch::take());
    ucs_error("after it");
    EXPECT_EQ("after it", log_watch::take());
}

/* UCX's domains are not thread safe, and the helper is one thread more */
TEST_F(test_md_use, one_thread_at_a_time_is_in_a_domain) {
    std::vector<std::thread> others;
    uct_md_h md    = open();
    uct_mem_h pool = reg(md, POOL);

    m_in_reg = [&] {
        others.emplace_back([=] { dereg(md, pool); });
        others.emplace_back([=] { reg(md, POOL); });
        others.emplace_back([=] {
            ASSERT_EQ(UCS_OK, uct_predreg_hooks.mkey_begin(md, pool));
            { visit in_domain; }
            uct_predreg_hooks.md_leave(md);
        });
        /* Time to come in, if they are let in */
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    dereg(md, reg(md, SEND));
    for (std::thread &other : others) {
        other.join();
    }
    EXPECT_EQ(3u, others.size());

    /* The pool that was made meanwhile */
    for (auto &entry : std::map<uct_mem_h, registration>(m_regs)) {
        if ((entry.second.flags & POOL) == POOL) {
            dereg(md, entry.first);
        }
    }
}

/* UCX 1.13 packs keys by the function that packs them for an invalidation */
TEST_F(test_md_use, a_thread_may_enter_a_domain_again) {
    uct_md_h md    = open();
    uct_mem_h memh = reg(md, SEND);

    EXPECT_EQ(UCS_OK, uct_predreg_hooks.mkey_begin(md, memh));
    EXPECT_EQ(UCS_OK, uct_predreg_hooks.mkey_begin(md, memh));
    uct_predreg_hooks.md_leave(md);
    uct_predreg_hooks.md_leave(md);
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

/* UCX 1.18 without its cost model: the receiver of what the sender puts */
TEST_F(test_md_use, ucp_says_nothing_of_what_it_copies_instead) {
    test_core_set_ucx(18);
    set("MAX_PINNED", "512K");

    uct_md_h md = open();
    reg(md, 0, UCT_PREDREG_PURPOSE_MESSAGE, UCS_ERR_EXCEEDS_LIMIT);
    for (const char *message : {"dropped", "the next one"}) {
        ucs_log_dispatch("src/ucp/core/ucp_mm.c", 1, "f", UCS_LOG_LEVEL_ERROR,
                         &ucs_global_opts.log_component, "%s", message);
    }
    EXPECT_EQ("the next one", log_watch::take());

    reg(md, 0, UCT_PREDREG_PURPOSE_MESSAGE, UCS_ERR_EXCEEDS_LIMIT);
    ucs_error("of somebody else");
    EXPECT_EQ("of somebody else", log_watch::take());
}

TEST_F(test_md_use, mapped_memory_that_does_not_fit_is_an_error) {
    set("MAX_PINNED", "512K");
    reg(open(), RECV, UCT_PREDREG_PURPOSE_MAPPED, UCS_ERR_EXCEEDS_LIMIT);

    std::string message = log_watch::take();
    EXPECT_EQ(0u, message.find(std::to_string(LENGTH) + " bytes at "));
    EXPECT_NE(std::string::npos,
              message.find("(UCX_RCACHE_PRED_MAX_PINNED=512K), and cannot be "
                           "registered in pieces: peers may access"))
            << message;
}


/* In place of parts of a put or get: one registration for all of them */
TEST_F(test_md_use, the_whole_in_place_of_parts) {
    uct_md_h md     = open();
    uct_mem_h memh1 = reg(md, SEND, UCT_PREDREG_PURPOSE_WHOLE);
    uct_mem_h memh2 = reg(md, SEND, UCT_PREDREG_PURPOSE_WHOLE);

    EXPECT_EQ(memh1, memh2);
    EXPECT_EQ(1u, m_num_regs);
    EXPECT_EQ(2u, stats().uses);
    dereg(md, memh1);
    dereg(md, memh2);
    reg(md, SEND | UCT_MD_MEM_FLAG_LOCK, UCT_PREDREG_PURPOSE_WHOLE,
        UCS_ERR_UNSUPPORTED);
}

/* The parts may fit: nobody is told, and it is not in pieces */
TEST_F(test_md_use, a_whole_that_does_not_fit_is_refused_in_silence) {
    set("MAX_PINNED", "512K");
    reg(open(), RECV, UCT_PREDREG_PURPOSE_WHOLE, UCS_ERR_EXCEEDS_LIMIT);
    EXPECT_EQ(0u, m_num_regs);
    EXPECT_EQ("", log_watch::take());
    ucs_error("of somebody else");
    EXPECT_EQ("of somebody else", log_watch::take());
}

TEST_F(test_md_use, a_receive_that_does_not_fit_is_in_pieces) {
    set("MAX_PINNED", "512K");

    uct_md_h md = open();
    for (auto purpose : {UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_PURPOSE_SEND,
                         UCT_PREDREG_PURPOSE_ONE_SIDED}) {
        uct_mem_h memh = reg(md, RECV, purpose);

        EXPECT_TRUE(is_pieces(memh));
        EXPECT_EQ(UCS_ERR_UNSUPPORTED,
                  uct_predreg_mkey_begin(domain(md), memh));
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
    test_core_state()->fenced_puts = 1;

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
    while (!log_watch::take().empty()) {
        /* Which is said once a process, as is what cannot be kept where there are no
         * memory events */
    }
}

TEST_F(test_md_use, a_communication_is_found_by_its_buffer) {
    uct_predreg_issuer_t issuer = {};
    uct_predreg_comm_t comm     = {};
    uct_md_h md                 = open();

    comm.kind   = UCS_RCACHE_PRED_COMM_SEND;
    comm.buffer = m_buffer;
    comm.caller = this;
    comm.stack  = &comm;
    uct_predreg_comm(test_core_state(), &issuer, &comm);
    dereg(md, reg(md, SEND));
    uct_predreg_idle(test_core_state(), &m_idle);
    EXPECT_EQ(1u, stats().uses);
}

TEST_F(test_md_use, a_communication_is_not_remembered_without_a_domain) {
    uct_predreg_issuer_t issuer = {};
    uct_predreg_comm_t comm     = {};
    ucs_rcache_pred_context_t context;
    char buffer[64]; /* One that no other test has told of */

    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));
    comm.buffer = buffer;
    comm.caller = this;
    uct_predreg_comm(test_core_state(), &issuer, &comm);
    uct_predreg_posted_get(buffer, &context);
    EXPECT_EQ(0u, context.caller);

    open();
    uct_predreg_comm(test_core_state(), &issuer, &comm);
    uct_predreg_posted_get(buffer, &context);
    EXPECT_EQ((uintptr_t)this, context.caller);
}

/* A function of a library, from which it calls UCP */
static UCS_F_NOINLINE void
communicate(uct_predreg_issuer_t *issuer, const void *buffer)
{
    uct_predreg_comm_t comm = {};

    comm.buffer = buffer;
    comm.caller = __builtin_return_address(0);
    comm.stack  = __builtin_frame_address(0);
    uct_predreg_comm(test_core_state(), issuer, &comm);
}

static UCS_F_NOINLINE void library(uct_predreg_issuer_t *issuer,
                                   const void *buffer)
{
    communicate(issuer, buffer);
    asm volatile(""); /* This keeps the call from being a tail call */
}

/* A function of the program, with two calls of the library */
static UCS_F_NOINLINE void solve(uct_predreg_issuer_t *issuer,
                                 const void *first, const void *second)
{
    library(issuer, first);
    asm volatile("");
    library(issuer, second);
    asm volatile("");
}

TEST_F(test_md_use, calls_of_one_caller_are_told_apart_by_their_path) {
    uct_predreg_issuer_t issuer = {};
    char buffers[2][64]; /* Those that no other test has told of */

    open();
    for (bool has_paths : {false, true}) {
        ucs_rcache_pred_context_t first = {}, second = {}, again = {};

        if (has_paths) {
            ASSERT_EQ(UCS_OK, test_core_make_paths());
        }
        for (unsigned i = 0; i < 2; ++i) {
            again = first;
            solve(&issuer, buffers[0], buffers[1]);
            uct_predreg_posted_get(buffers[0], &first);
            uct_predreg_posted_get(buffers[1], &second);
            EXPECT_EQ(first.caller, second.caller);
            EXPECT_EQ(has_paths, first.stack != second.stack);
        }
        EXPECT_EQ(again.stack, first.stack) << "a path has one number";
    }
}

/* The helper thread starts with the first domain. Before that a program that
 * waits would find its first round overdue, and miss the thread */
TEST_F(test_md_use, without_a_domain_no_round_is_overdue) {
    ASSERT_TRUE(uct_predreg_is_managing(test_core_state()));
    uct_predreg_idle(test_core_state(), &m_idle);
    EXPECT_EQ(0u, stats().helper_rounds);

    open();
    uct_predreg_idle(test_core_state(), &m_idle);
    EXPECT_EQ(1u, stats().helper_rounds);
}

TEST_F(test_md_use, without_a_cache_progress_has_nothing_to_do) {
    uct_predreg_idle(test_core_state(), &m_idle);
    EXPECT_EQ(UCS_RCACHE_PRED_IDLE_MAX - 1u, m_idle.skip);
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
    uct_predreg_issuer_t issuer = {};
    uct_predreg_comm_t comm     = {};

    set("POLICY", "leave-pinned");
    set("TRACE", m_folder + "/traces");

    uct_md_h md     = open();
    ASSERT_TRUE(uct_predreg_recorder(test_core_state()) != nullptr);
    comm.buffer = m_buffer;
    uct_predreg_comm(test_core_state(), &issuer, &comm);
    uct_mem_h memh1 = reg(md, RECV, UCT_PREDREG_PURPOSE_SEND);
    uct_mem_h memh2 = reg(md, SEND);
    uct_mem_h pool  = reg(md, POOL);
    m_refuse        = 1;
    reg(md, SEND, UCT_PREDREG_PURPOSE_SEND, UCS_ERR_IO_ERROR);
    EXPECT_EQ("ibv_reg_mr failed", log_watch::take()); /* UCX's business */
    for (uct_mem_h memh : {pool, memh1, memh2}) {
        dereg(md, memh);
    }
    uct_predreg_record_finish(test_core_state());
    EXPECT_FALSE(std::filesystem::is_empty(m_folder + "/traces"));
}
