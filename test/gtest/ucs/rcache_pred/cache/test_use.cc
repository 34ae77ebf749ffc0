/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pred_test.h>

#include <random>


/* Begin and end of uses in one thread; and purge, fork and the end of a
 * domain */
class test_use : public pred_test {
protected:
    void SetUp() override { create(); }
};

TEST_F(test_use, average_of_much_memory_over_long_is_right)
{
    /* 10 GiB for an hour is more byte-nanoseconds than 64 bits hold */
    void *memh = begin(buffer(0), 10 * 1024 * MB);

    m_world.advance(3600 * SEC);
    EXPECT_NEAR(10. * 1024 * MB, stats().bytes_avg, 1. * MB);
    EXPECT_EQ(UINT64_MAX, stats().byte_ns);
    end(memh);
}

TEST_F(test_use, first_use_registers)
{
    void *memh = begin(buffer(0), 10000, HINT | ACCESS_READ);

    EXPECT_EQ((uintptr_t)buffer(0), m_world.get(memh).address);
    EXPECT_EQ(10000u, m_world.get(memh).length);
    EXPECT_EQ(HINT | ACCESS_READ | HELPER_FLAG, m_world.get(memh).flags);

    stats_t s = stats();
    EXPECT_EQ(1u, s.uses);
    EXPECT_EQ(0u, s.hits);
    EXPECT_EQ(0u, s.late);
    EXPECT_EQ(1u, s.regs_critical);
    EXPECT_EQ(3 * PAGE, s.bytes_now);
    EXPECT_EQ(3 * 50u + 10000, s.time_critical);
    end(memh);
}

TEST_F(test_use, region_found_registered_is_a_hit)
{
    void *memh = begin(buffer(0), 10000);

    end(memh);
    EXPECT_EQ(memh, begin(buffer(0), 10000));
    EXPECT_EQ(memh, begin(buffer(0), 1));

    stats_t s = stats();
    EXPECT_EQ(3u, s.uses);
    EXPECT_EQ(2u, s.hits);
    EXPECT_EQ(1u, s.regs_critical);
    end(memh);
    end(memh);
}

TEST_F(test_use, hit_does_not_allocate_and_takes_no_time)
{
    end(begin(buffer(0), 10000));
    uint64_t before = now(), critical = stats().time_critical;

    test_alloc_fail_nth(1);
    end(begin(buffer(0), 10000));
    EXPECT_FALSE(test_alloc_failed());
    test_alloc_fail_nth(0);
    EXPECT_EQ(before, now());
    EXPECT_EQ(critical, stats().time_critical);
}

TEST_F(test_use, end_only_hands_over)
{
    void *memh = begin(buffer(0), 10000);
    uint64_t before = now();

    end(memh);
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(before, now());

    poll();
    EXPECT_FALSE(m_world.is_live(memh));
    EXPECT_EQ(0u, stats().bytes_now);
}

TEST_F(test_use, longer_use_registers_anew)
{
    void *old_memh = begin(buffer(0), PAGE);
    end(old_memh);

    void *memh = begin(buffer(0), 4 * PAGE);
    EXPECT_NE(old_memh, memh);
    EXPECT_FALSE(m_world.is_live(old_memh));
    EXPECT_EQ(4 * PAGE, stats().bytes_now);
    EXPECT_EQ(4 * PAGE, stats().bytes_peak);
    EXPECT_EQ(1u, m_pred->table.count);
    end(memh);
}

TEST_F(test_use, longer_use_leaves_a_use_under_way_alone)
{
    void *memh_short = begin(buffer(0), PAGE);
    void *memh_long  = begin(buffer(0), 4 * PAGE);

    EXPECT_TRUE(m_world.is_live(memh_short));
    EXPECT_NE(memh_short, memh_long);
    end(memh_short);
    EXPECT_TRUE(m_world.is_live(memh_long));
    end(memh_long);

    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_use, uses_of_different_lengths_end_in_any_order)
{
    void *memh_short = begin(buffer(0), PAGE);
    void *memh_long  = begin(buffer(0), 4 * PAGE);

    end(memh_long);
    poll();
    EXPECT_TRUE(m_world.is_live(memh_short));
    EXPECT_FALSE(m_world.is_live(memh_long));
    end(memh_short);
}

TEST_F(test_use, wider_access_registers_anew)
{
    void *old_memh = begin(buffer(0), PAGE, ACCESS_READ);
    end(old_memh);

    void *memh = begin(buffer(0), PAGE, ACCESS_WRITE);
    EXPECT_NE(old_memh, memh);
    EXPECT_FALSE(m_world.is_live(old_memh));
    /* The new registration allows both kinds of access, or the two uses would
     * take turns in replacing each other's */
    EXPECT_EQ(ACCESS_READ | ACCESS_WRITE | HELPER_FLAG,
              m_world.get(memh).flags);
    end(memh);
}

TEST_F(test_use, wider_access_leaves_a_use_under_way_alone)
{
    void *memh_read  = begin(buffer(0), PAGE, ACCESS_READ);
    void *memh_write = begin(buffer(0), PAGE, ACCESS_WRITE);

    EXPECT_TRUE(m_world.is_live(memh_read));
    end(memh_read);
    end(memh_write);
}

TEST_F(test_use, narrower_access_is_a_hit)
{
    void *memh = begin(buffer(0), PAGE, ACCESS_READ | ACCESS_WRITE);

    end(memh);
    EXPECT_EQ(memh, begin(buffer(0), PAGE, ACCESS_READ));
    end(memh);
}

TEST_F(test_use, flags_that_do_not_widen_access_do_not_matter)
{
    void *memh = begin(buffer(0), PAGE, ACCESS_READ);

    end(memh);
    EXPECT_EQ(memh, begin(buffer(0), PAGE, ACCESS_READ | HINT));
    end(memh);
}

TEST_F(test_use, memory_stays_registered_until_the_last_end)
{
    void *memh = begin(buffer(0), PAGE);

    EXPECT_EQ(memh, begin(buffer(0), PAGE));
    EXPECT_EQ(memh, begin(buffer(0), PAGE));
    for (unsigned i = 0; i < 2; ++i) {
        end(memh);
        run(SEC);
        EXPECT_TRUE(m_world.is_live(memh));
    }
    end(memh);
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
}

TEST_F(test_use, on_demand_registers_every_time)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);

    for (unsigned i = 0; i < 3; ++i) {
        void *memh = begin(buffer(0), PAGE);
        EXPECT_EQ(1u, m_world.num_live());
        end(memh);
        EXPECT_EQ(0u, m_world.num_live());
    }

    stats_t s = stats();
    EXPECT_EQ(3u, s.uses);
    EXPECT_EQ(0u, s.hits);
    EXPECT_EQ(3u, s.regs_critical);
    EXPECT_EQ(3u, s.deregs);
    EXPECT_EQ(3u * (50 + 10000 + 10 + 5000), s.time_critical);
    EXPECT_EQ(0u, m_pred->table.count);
}

/* As parts of memory that the program has mapped: nothing is pinned twice, and what is
 * under way outlives the end of the mapping */
TEST_F(test_use, on_demand_shares_what_is_registered)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *mapped = begin(buffer(0), 4 * PAGE, ACCESS_READ | ACCESS_WRITE);
    void *memh   = begin(buffer(0, PAGE + 100), PAGE, ACCESS_READ);

    EXPECT_EQ(mapped, memh);
    EXPECT_EQ(mapped, begin(buffer(0), 4 * PAGE));
    EXPECT_EQ(4 * PAGE, stats().bytes_now);
    EXPECT_EQ(2u, stats().hits);
    end(mapped);
    end(mapped);
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, m_pred->table.count);
    EXPECT_EQ(1u, stats().regs_critical);
    EXPECT_EQ(1u, stats().deregs);
}

TEST_F(test_use, on_demand_shares_no_more_than_is_registered)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *memh   = begin(buffer(0), 2 * PAGE, ACCESS_READ);
    void *longer = begin(buffer(0, PAGE), 2 * PAGE, ACCESS_READ);
    void *writes = begin(buffer(0), PAGE, ACCESS_WRITE);

    EXPECT_NE(memh, longer);
    EXPECT_NE(memh, writes);
    EXPECT_EQ(longer, begin(buffer(0, 2 * PAGE), PAGE, ACCESS_READ));
    for (void *used : {memh, longer, longer, writes}) {
        end(used);
    }
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, stats().bytes_now);
}

TEST_F(test_use, on_demand_shares_nothing_that_was_unmapped)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *mapped = begin(buffer(0), 4 * PAGE);
    void *memh   = begin(buffer(0, PAGE), PAGE);
    void *later;

    unmap(buffer(0, 3 * PAGE), PAGE);
    later = begin(buffer(0, PAGE), PAGE);
    EXPECT_NE(mapped, later);
    end(mapped);
    poll();
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
    poll();
    EXPECT_FALSE(m_world.is_live(mapped));
    EXPECT_TRUE(m_world.is_live(later));
    end(later);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_use, on_demand_memory_unmapped_while_in_use)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *memh = begin(buffer(0), PAGE);

    unmap(buffer(0), PAGE);
    poll();
    end(memh);
    poll();
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, m_pred->table.count);
}

TEST_F(test_use, foreign_handle_is_not_ours_to_end)
{
    void *memh = begin(buffer(0), PAGE);

    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_rcache_pred_end(domain(), (void*)0x1234));
    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_rcache_pred_end(domain(), NULL));
    end(memh);
    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_rcache_pred_end(domain(), memh));
    poll();
    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_rcache_pred_end(domain(), memh));
}

TEST_F(test_use, handle_of_another_domain_is_foreign)
{
    domain_t *other = new_domain("fake1");
    void *memh      = begin(buffer(0), PAGE);

    EXPECT_EQ(UCS_ERR_NO_ELEM, ucs_rcache_pred_end(other, memh));
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
}

TEST_F(test_use, domains_do_not_share_registrations)
{
    domain_t *other = new_domain("fake1");
    void *memh0     = begin(buffer(0), PAGE);
    void *memh1     = begin(buffer(0), PAGE, 0, other);

    EXPECT_NE(memh0, memh1);
    EXPECT_EQ(0u, stats().hits);
    end(memh0);
    end(memh1, other);
    EXPECT_EQ(memh0, begin(buffer(0), PAGE));
    EXPECT_EQ(memh1, begin(buffer(0), PAGE, 0, other));
    end(memh0);
    end(memh1, other);
}

/* Accounting */

TEST_F(test_use, accounting_is_exact)
{
    std::mt19937 random(1);
    std::vector<void*> memhs;

    for (unsigned i = 0; i < 3000; ++i) {
        if ((memhs.size() < 8) && (random() % 2)) {
            memhs.push_back(begin(buffer(random() % 12, random() % PAGE),
                                  1 + random() % (20 * PAGE)));
        } else if (!memhs.empty()) {
            end(memhs.back());
            memhs.pop_back();
        }
        if (random() % 50 == 0) {
            unmap(buffer(random() % 12), 10 * PAGE);
        }
        if (random() % 100 == 0) {
            ucs_rcache_pred_purge(m_pred);
        }
        run(random() % (2 * MSEC));
        check_accounting();
    }

    for (void *memh : memhs) {
        end(memh);
    }
    run_until_asleep();
    check_accounting();
    EXPECT_EQ(0u, stats().bytes_now);
}

TEST_F(test_use, duration_counts_while_there_is_a_domain)
{
    uint64_t start = now();

    run(SEC);
    EXPECT_EQ(now() - start, stats().duration);
    new_domain("fake1");
    run(SEC);
    destroy_domain(0);
    run(SEC);
    EXPECT_EQ(now() - start, stats().duration);

    destroy_domain(1);
    uint64_t duration = now() - start;
    run(SEC);
    EXPECT_EQ(duration, stats().duration);

    new_domain("fake2");
    run(SEC);
    EXPECT_EQ(duration + SEC, stats().duration);
}

/* Purge and fork */

TEST_F(test_use, purge_deregisters_what_is_idle)
{
    void *memh = begin(buffer(0), PAGE);

    end(begin(buffer(1), PAGE));
    ucs_rcache_pred_purge(m_pred);
    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_EQ(PAGE, stats().bytes_now);
    end(memh);
    ucs_rcache_pred_purge(m_pred);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_use, life_goes_on_after_quiesce)
{
    void *memh = begin(buffer(0), PAGE);

    ucs_rcache_pred_quiesce(m_pred);
    ucs_rcache_pred_resume(m_pred);
    end(memh);
    poll();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_use, destroying_the_domain_calls_back_who_waits_for_a_use)
{
    unsigned called = 0;
    void *memh      = begin(buffer(0), PAGE);

    begin(buffer(0), PAGE); /* Does not end */
    ASSERT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    EXPECT_EQ(0u, called);
    destroy_domain(0);
    EXPECT_EQ(1u, called);
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_use, destroying_the_domain_deregisters_what_is_in_use)
{
    begin(buffer(0), PAGE);
    end(begin(buffer(1), PAGE));
    destroy_domain(0);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, stats().bytes_now);
}

TEST_F(test_use, memory_that_cannot_exist_is_refused)
{
    uintptr_t top = UINTPTR_MAX - 2 * PAGE + 1;
    void *memh;

    for (auto policy : {UCS_RCACHE_PRED_POLICY_PREDICT,
                        UCS_RCACHE_PRED_POLICY_ON_DEMAND}) {
        set_policy(policy);
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, try_begin(buffer(0), 0, &memh));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, try_begin(buffer(0), SIZE_MAX, &memh));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  try_begin((void*)top, 2 * PAGE, &memh));
        EXPECT_EQ(0u, stats().bytes_peak);
        EXPECT_EQ(0u, stats().uses);
        EXPECT_EQ(0u, m_pred->table.count);

        ASSERT_EQ(UCS_OK, try_begin((void*)top, PAGE, &memh));
        end(memh);
    }
}
