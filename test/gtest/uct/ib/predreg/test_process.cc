/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md/md_test.h"
#include "vm_events.h"

#include <common/child.h>

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/entry.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/record/record.h>
#include <uct/ib/predreg/stat/stat.h>

#include <tools/trace/trace.h>

#include <sys/mman.h>

#include <future>
#include <thread>

/* UCM's own, which it has no installed header for */
extern "C" {
#include <ucs/rcache_pred/cache/cache.h>
#include <common/c_access.h>

void ucm_event_enter(void);
void ucm_event_enter_exclusive(void);
void ucm_event_leave(void);
}

/* Memory that is unmapped, and forks */
class test_process : public md_test {
protected:
    void SetUp() override
    {
        md_test::SetUp();
        test_vm_events_init(UCS_OK);
    }

    /* Whether a use that begins while another one is under way shares its
     * registration, if something happens in between */
    template <typename F> bool is_shared_after(uct_md_h md, F happens)
    {
        uct_mem_h first = reg(md, SEND);

        happens();
        uct_mem_h second = reg(md, SEND);
        dereg(md, first);
        dereg(md, second);
        return first == second;
    }

    /* Fork handlers stay for as long as the process: run a test with them in a
     * process of its own. */
    template <typename F> static void run_with_fork_handlers(F func)
    {
        child process([func]() -> int {
            EXPECT_EQ(UCS_OK,
                      uct_predreg_fork_handlers_install(test_core_state()));
            func();
            return child_status();
        });

        EXPECT_EQ(0, process.reap());
    }

    /* The same in a child of that process */
    template <typename F> static void run_in_child(F func)
    {
        child process([func]() -> int {
            func();
            return child_status();
        });

        EXPECT_EQ(0, process.reap());
    }

    static uint64_t pools()
    {
        ucs_rcache_pred_snapshot_t snapshot;

        uct_predreg_snapshot(test_core_state(), &snapshot);
        return snapshot.pool_bytes;
    }

    static uint64_t firehose_requests()
    {
        ucs_rcache_pred_snapshot_t snapshot;

        uct_predreg_snapshot(test_core_state(), &snapshot);
        return snapshot.firehose_requests;
    }

    /* Events of a type in the only trace of a folder */
    static unsigned num_events(const std::string &folder,
                               ucs_rcache_pred_event_type_t type)
    {
        unsigned count = 0;

        for (auto &entry : std::filesystem::directory_iterator(folder)) {
            ucs_rcache_trace_t *trace;

            if (ucs_rcache_trace_load(entry.path().c_str(), &trace) != UCS_OK) {
                ADD_FAILURE() << entry.path();
                continue;
            }
            for (size_t i = 0; i < trace->num_events; ++i) {
                count += (trace->events[i].type == type);
            }
            ucs_rcache_trace_free(trace);
        }
        return count;
    }
};

TEST_F(test_process, unmapped_memory_is_registered_anew) {
    ASSERT_EQ(UCS_OK, uct_predreg_vm_events_start(test_core_state()));
    EXPECT_EQ(UCT_PREDREG_VM_EVENT_PRIORITY, test_vm_events_priority());

    uct_md_h md = open();
    EXPECT_FALSE(is_shared_after(md, [this] {
        test_vm_unmapped(m_buffer, LENGTH);
    }));
    /* Its last page, and the one after it */
    EXPECT_FALSE(is_shared_after(md, [this] {
        test_vm_unmapped((char*)m_buffer + LENGTH - 4096, 4096);
    }));
    EXPECT_TRUE(is_shared_after(md, [this] {
        test_vm_unmapped((char*)m_buffer + LENGTH, 4096);
    }));
}

TEST_F(test_process, without_a_domain_nobody_cares) {
    ASSERT_EQ(UCS_OK, uct_predreg_vm_events_start(test_core_state()));
    test_vm_unmapped(m_buffer, LENGTH);
}

TEST_F(test_process, a_child_leaves_its_parents_cache_alone) {
    ASSERT_EQ(UCS_OK, uct_predreg_vm_events_start(test_core_state()));

    uct_md_h md = open();
    EXPECT_TRUE(is_shared_after(md, [this] {
        test_core_state()->pid = getppid(); /* As before the fork handler ran */
        test_vm_unmapped(m_buffer, LENGTH);
        test_core_state()->pid = getpid();
    }));
}

TEST_F(test_process, leave_pinned_records_what_is_unmapped) {
    set("POLICY", "leave-pinned");
    set("TRACE", m_folder + "/traces");
    ASSERT_EQ(UCS_OK, uct_predreg_vm_events_start(test_core_state()));

    uct_md_h md = open();
    dereg(md, reg(md, SEND));
    test_vm_unmapped(m_buffer, LENGTH);
    test_vm_unmapped(m_buffer, 1); /* No use was that short */
    uct_predreg_record_finish(test_core_state());
    EXPECT_EQ(1u, num_events(m_folder + "/traces",
                             UCS_RCACHE_PRED_EVENT_UNMAP));
}

/* What an arena could have served, under any policy */
TEST_F(test_process, large_mappings_are_recorded) {
    const int prot  = PROT_READ | PROT_WRITE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;

    set("TRACE", m_folder + "/traces");
    set("ARENA_MIN", "1M");
    ASSERT_EQ(UCS_OK, uct_predreg_vm_events_start(test_core_state()));

    uct_md_h md = open();
    dereg(md, reg(md, SEND));
    void *at = (void*)0x10000000;
    test_vm_mapped(NULL, 1 << 20, prot, flags, at);
    test_vm_mapped(NULL, 2 << 20, prot, flags | MAP_NORESERVE, at);
    test_vm_remapped(at, 4096, 1 << 20, at);
    /* These are not */
    test_vm_mapped(NULL, (1 << 20) - 1, prot, flags, at);
    test_vm_mapped(NULL, 1 << 20, PROT_READ, flags, at);
    test_vm_mapped(NULL, 1 << 20, prot, MAP_PRIVATE, at);
    test_vm_mapped(NULL, 1 << 20, prot, MAP_SHARED | MAP_ANONYMOUS, at);
    test_vm_mapped(at, 1 << 20, prot, flags, at);
    test_vm_mapped(NULL, 1 << 20, prot, flags, MAP_FAILED);
    test_vm_remapped(at, 1 << 20, 4096, at);
    test_vm_remapped(at, 4096, 1 << 20, MAP_FAILED);
    test_core_state()->pid = getppid(); /* In a child, before its fork handler ran */
    test_vm_mapped(NULL, 1 << 20, prot, flags, at);
    test_core_state()->pid = getpid();

    test_vm_unmapped(at, 1 << 20); /* Which no use was of */
    test_vm_unmapped(at, 4096);
    uct_predreg_record_finish(test_core_state());
    EXPECT_EQ(3u, num_events(m_folder + "/traces", UCS_RCACHE_PRED_EVENT_MAP));
    EXPECT_EQ(1u, num_events(m_folder + "/traces",
                             UCS_RCACHE_PRED_EVENT_UNMAP));
}

TEST_F(test_process, memory_events_that_are_missing_are_told) {
    test_vm_events_init(UCS_ERR_UNSUPPORTED);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              uct_predreg_vm_events_start(test_core_state()));
}

/* Another thread is in a call of mmap() when this one forks */
TEST_F(test_process, a_forked_child_may_ask_for_memory_events) {
    run_with_fork_handlers([] {
        std::promise<void> entered;

        std::thread([&entered] {
            ucm_event_enter();
            entered.set_value();
            pause();
        }).detach();
        entered.get_future().wait();
        run_in_child([] {
            alarm(10); /* Rather than hang */
            ucm_event_enter_exclusive();
            ucm_event_leave();
        });
    });
}

/* In UCX, with the lock of the domain. What was idle is deregistered later */
TEST_F(test_process, a_handler_may_fork_within_a_registration) {
    set("BUDGET", "0"); /* What is idle stays */
    run_with_fork_handlers([this] {
        uct_md_h md = open();
        std::vector<char> page(4096);
        uct_mem_h memh;

        dereg(md, reg(md, SEND));
        m_in_reg = [] { run_in_child([] {}); };
        ASSERT_EQ(UCS_OK, uct_predreg_hooks.mem_reg(md, page.data(), 4096,
                                                    SEND,
                                                    UCT_PREDREG_PURPOSE_SEND,
                                                    &memh));
        EXPECT_EQ(2u, m_regs.size()) << "nothing was deregistered";
        uct_md_mem_dereg_params_t params = {};
        params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH;
        params.memh       = memh;
        EXPECT_EQ(UCS_OK, uct_predreg_hooks.mem_dereg(md, &params));

        unsigned before = m_num_regs;
        dereg(md, reg(md, SEND));
        EXPECT_EQ(before + 1, m_num_regs) << "the child may have its pages";
        close(md);
    });
}

/* As where it has interrupted the begin of a use. The parent goes on, and the child
 * gets there */
TEST_F(test_process, a_handler_may_fork_under_the_lock_of_the_cache) {
    set("BUDGET", "0"); /* What is idle stays */
    run_with_fork_handlers([this] {
        uct_md_h md = open();

        dereg(md, reg(md, SEND));
        alarm(10); /* Rather than hang */
        pred_lock(test_core_state()->pred);
        run_in_child([] { EXPECT_EQ(nullptr, test_core_state()->pred); });
        pred_unlock(test_core_state()->pred);
        alarm(0);

        unsigned before = m_num_regs;
        dereg(md, reg(md, SEND));
        EXPECT_EQ(before + 1, m_num_regs);
        close(md);
    });
}

/* As around the packing of a key */
TEST_F(test_process, a_handler_may_fork_in_a_domain_that_is_entered) {
    set("BUDGET", "0"); /* What is idle stays */
    run_with_fork_handlers([this] {
        uct_md_h md = open();

        dereg(md, reg(md, SEND));
        alarm(10);
        uct_predreg_hooks.md_enter(md);
        run_in_child([] {});
        uct_predreg_hooks.md_leave(md);
        alarm(0);
        EXPECT_EQ(1u, m_regs.size());
        run_in_child([] {});
        EXPECT_EQ(0u, m_regs.size()) << "outside of it all is as ever";
        close(md);
    });
}

TEST_F(test_process, a_forked_child_starts_with_nothing) {
    run_with_fork_handlers([this] {
        uct_md_h md = open();
        reg(md, POOL);
        uct_predreg_count_passed(test_core_state());
        EXPECT_EQ(LENGTH, pools());

        test_core_count_firehose(2, 1);
        run_in_child([this, md] {
            EXPECT_EQ(nullptr, test_core_state()->pred);
            EXPECT_EQ(0u, test_core_state()->num_opened);
            EXPECT_EQ(0u, test_core_state()->num_managed);
            EXPECT_EQ(0u, uct_predreg_num_passed(test_core_state()));
            EXPECT_EQ(0u, test_core_state()->kernel_pinned);
            EXPECT_EQ(0u, pools());
            EXPECT_EQ(0u, firehose_requests());

            /* The parent's domain is nobody's: it is passed on */
            EXPECT_EQ(nullptr, domain(md));

            /* Its own is managed */
            open(2);
            EXPECT_EQ(1u, test_core_state()->num_managed);
            EXPECT_NE(nullptr, test_core_state()->pred);
        });
        EXPECT_EQ(1u, test_core_state()->num_managed);
        EXPECT_EQ(LENGTH, pools());
        EXPECT_EQ(2u, firehose_requests());
    });
}

TEST_F(test_process, a_forked_child_frees_its_copies_of_pieces_handles) {
    set("MAX_PINNED", "512K");
    run_with_fork_handlers([this] {
        uct_md_h md    = open();
        uct_mem_h memh = reg(md, RECV); /* In pieces: it does not fit */
        ASSERT_TRUE(reinterpret_cast<uintptr_t>(memh) & 1);

        run_in_child([&] {
            uct_md_mem_dereg_params_t params = {};

            params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH;
            params.memh       = memh;
            EXPECT_EQ(UCS_OK, uct_predreg_unknown_mem_dereg(test_core_state(),
                                                            md, &params));

            /* The next domain that UCX makes there is another one */
            close(md);
            m_regs[memh] = {};
            EXPECT_EQ(UCS_OK, uct_predreg_unknown_mem_dereg(test_core_state(),
                                                            md, &params));
            EXPECT_TRUE(m_regs.empty());
        });

        dereg(md, memh);
    });
}

TEST_F(test_process, nothing_idle_is_registered_while_a_process_forks) {
    run_with_fork_handlers([this] {
        uct_md_h md = open();

        /* Uses that come this often are kept registered */
        for (unsigned i = 0; (i < 10000) && ((i < 10) || m_regs.empty()); ++i) {
            dereg(md, reg(md, SEND));
        }
        EXPECT_FALSE(m_regs.empty());

        run_in_child([] {});
        EXPECT_TRUE(m_regs.empty());

        /* The cache goes on as before */
        dereg(md, reg(md, SEND));
        EXPECT_EQ(1u, test_core_state()->num_managed);
    });
}
