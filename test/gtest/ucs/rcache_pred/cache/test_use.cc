/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pieces_use.h>

#include <random>


/* Begin and end of use, invalidate and unmap, as one thread sees them */
class test_use : public pred_test {
protected:
    void SetUp() override { create(); }

    static void count_cb(void *arg) { ++*(unsigned*)arg; }
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

TEST_F(test_use, start_address_names_the_region)
{
    void *memh = begin(buffer(0), 10000);

    EXPECT_NE(memh, begin(buffer(0, PAGE), 100));
    EXPECT_EQ(0u, stats().hits);
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
    EXPECT_EQ(1u, test_pred_num_regions(m_pred));
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
    /* Both, or the two uses would take turns in undoing each other's */
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
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
}

TEST_F(test_use, on_demand_shares_nothing)
{
    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *memh0 = begin(buffer(0), PAGE), *memh1 = begin(buffer(0), PAGE);

    EXPECT_NE(memh0, memh1);
    end(memh0);
    EXPECT_TRUE(m_world.is_live(memh1));
    end(memh1);
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
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
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

/* Failures */

TEST_F(test_use, failed_registration_is_reported)
{
    void *memh;

    m_world.fail_nth_reg(1, 2, UCS_ERR_IO_ERROR);
    EXPECT_EQ(UCS_ERR_IO_ERROR, try_begin(buffer(0), PAGE, &memh));

    stats_t s = stats();
    EXPECT_EQ(1u, s.reg_failures);
    EXPECT_EQ(0u, s.regs_critical);
    EXPECT_EQ(0u, s.bytes_now);

    end(begin(buffer(0), PAGE)); /* and is no obstacle later */
}

TEST_F(test_use, failed_on_demand_registration_leaves_nothing)
{
    void *memh;

    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    m_world.fail_nth_reg(1, 2);
    EXPECT_NE(UCS_OK, try_begin(buffer(0), PAGE, &memh));
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
}

TEST_F(test_use, any_registration_may_fail)
{
    unsigned nth = 0;
    unsigned total;
    void *memh;

    /* A little of everything, once without a failure, then with the nth
     * registration failing, for every n, be it a use's or the helper's */
    do {
        m_world.fail_nth_reg(nth, 2);
        unsigned serial = m_world.serial(), failed = 0;

        for (unsigned i = 0; i < 12; ++i) {
            for (unsigned b = 0; b < 3; ++b) {
                size_t length = (1 + (i + b) % 3) * PAGE;
                unsigned access = (i == 7) ? ACCESS_WRITE : ACCESS_READ;
                if (try_begin(buffer(b), length, &memh, access) == UCS_OK) {
                    EXPECT_TRUE(m_world.covers(memh, buffer(b), length));
                    run(MSEC);
                    end(memh);
                } else {
                    ++failed;
                }
                run(30 * MSEC);
            }
        }

        total = m_world.serial() - serial;
        EXPECT_LE(failed, (nth > 0) ? 1u : 0u);
        EXPECT_EQ(failed, stats().reg_failures);
        EXPECT_EQ(m_world.bytes_now(), stats().bytes_now);
        EXPECT_EQ(m_world.num_regs(),
                  stats().regs_critical + stats().regs_helper);
        run_until_asleep();
        EXPECT_EQ(0u, m_world.num_live());
        EXPECT_EQ(m_world.num_deregs(), stats().deregs);
        m_world.fail_nth_reg(0);
        recreate();
    } while (++nth <= total);
    EXPECT_GT(nth, 20u);
}

TEST_F(test_use, refused_registration_evicts_the_farthest_deadline)
{
    void *near = buffer(0), *far = buffer(1);

    keep_two(near, far);
    m_world.limit_bytes(2 * PAGE);
    void *memh = begin(buffer(2), PAGE);
    EXPECT_EQ(1u, m_world.num_live_at(near));
    EXPECT_EQ(0u, m_world.num_live_at(far));
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(0u, stats().reg_failures);
    end(memh);
}

TEST_F(test_use, refused_registration_evicts_what_nobody_predicts_first)
{
    void *near = buffer(1), *far = buffer(2);

    keep_two(near, far);
    end(begin(buffer(0), PAGE)); /* The helper has not looked at it yet */
    m_world.limit_bytes(3 * PAGE);
    void *memh = begin(buffer(3), PAGE);
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
    EXPECT_EQ(1u, m_world.num_live_at(far));
    end(memh);
}

TEST_F(test_use, as_many_are_evicted_as_it_takes)
{
    for (unsigned i = 0; i < 8; ++i) {
        end(begin(buffer(i), PAGE));
    }

    m_world.limit_bytes(8 * PAGE);
    void *memh = begin(buffer(10), 3 * PAGE);
    EXPECT_EQ(3u, stats().evictions);
    EXPECT_EQ(8 * PAGE, m_world.bytes_now());
    end(memh);
}

TEST_F(test_use, memory_in_use_is_not_evicted)
{
    void *memh0 = begin(buffer(0), PAGE), *memh;

    end(begin(buffer(1), PAGE));
    m_world.limit_bytes(2 * PAGE);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, try_begin(buffer(2), 2 * PAGE, &memh));
    EXPECT_TRUE(m_world.is_live(memh0));
    EXPECT_EQ(1u, stats().reg_failures);

    m_world.limit_bytes(3 * PAGE);
    end(begin(buffer(2), 2 * PAGE));
    end(memh0);
}

TEST_F(test_use, other_domains_make_room_as_well)
{
    domain_t *other = new_domain("fake1");

    end(begin(buffer(0), PAGE, 0, other), other);
    m_world.limit_bytes(PAGE);
    end(begin(buffer(1), PAGE));
    EXPECT_EQ(0u, m_world.num_live_at(buffer(0)));
}

TEST_F(test_use, lack_of_room_once_is_one_eviction)
{
    end(begin(buffer(0), PAGE));
    m_world.fail_nth_reg(1, 1, UCS_ERR_NO_MEMORY);
    end(begin(buffer(1), PAGE));
    EXPECT_EQ(1u, stats().evictions);
    EXPECT_EQ(0u, stats().reg_failures);
}

TEST_F(test_use, memory_that_cannot_be_registered_evicts_nothing)
{
    void *memh;

    end(begin(buffer(0), PAGE));
    m_world.fail_nth_reg(1, 2, UCS_ERR_IO_ERROR);
    EXPECT_EQ(UCS_ERR_IO_ERROR, try_begin(buffer(1), PAGE, &memh));
    EXPECT_EQ(0u, stats().evictions);
    EXPECT_EQ(1u, m_world.num_live());
}

TEST_F(test_use, memory_not_to_be_managed_evicts_nothing)
{
    void *memh;

    end(begin(buffer(0), PAGE));
    m_world.fail_nth_reg(1, 1, UCS_ERR_UNSUPPORTED);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, try_begin(buffer(1), PAGE, &memh));
    EXPECT_EQ(0u, stats().evictions);
    EXPECT_EQ(1u, m_world.num_live());
}

TEST_F(test_use, only_the_last_attempt_is_not_quiet)
{
    std::vector<unsigned> flags;
    void *memh;

    end(begin(buffer(0), PAGE));
    m_world.on_reg = [&](const auto &r) { flags.push_back(r.flags); };
    m_world.fail_nth_reg(1, 3, UCS_ERR_NO_MEMORY);
    EXPECT_NE(UCS_OK, try_begin(buffer(1), PAGE, &memh, HINT));
    m_world.on_reg = nullptr;
    /* A first one, one after the only eviction, and that which may be heard */
    EXPECT_EQ((std::vector<unsigned>{HINT | HELPER_FLAG, HINT | HELPER_FLAG,
                                     HINT}), flags);
    EXPECT_EQ(1u, stats().reg_failures);
}

TEST_F(test_use, what_is_not_let_go_of_stays_counted)
{
    void *memh = begin(buffer(0), PAGE);

    m_world.fail_deregs(true);
    end(memh);
    ucs_rcache_pred_poll(m_pred);
    EXPECT_NE(std::string::npos,
              log_watch::take().find("fake0: failed to deregister"));
    EXPECT_EQ(PAGE, stats().bytes_now);
    EXPECT_EQ(0u, stats().deregs);

    m_world.fail_deregs(false);
    EXPECT_NE(memh, begin(buffer(0), PAGE));
    m_world.abandon(memh);
    destroy();
}

TEST_F(test_use, any_allocation_may_fail)
{
    ucs_rcache_pred_domain_t *dom;
    ucs_rcache_pred_t *pred;
    fake_world::domain fake = {&m_world};
    ucs_status_t status;
    unsigned nth = 0;
    context_t ctx = context(1);
    unsigned called = 0, lost = 0;
    void *memh;

    m_params.max_bytes = MB;
    for (bool failed = true; failed;) {
        test_alloc_fail_nth(++nth);
        status = ucs_rcache_pred_create(&m_params, &pred);
        if (status == UCS_OK) {
            status = ucs_rcache_pred_domain_create(pred, "d", &fake, &dom);
            if (status == UCS_OK) {
                pieces_use pieces(m_world, dom, buffer(1), MB);
                EXPECT_EQ(UCS_INPROGRESS, pieces.begin()) << "whatever happens";
                EXPECT_EQ(UCS_OK, pieces.finish());
                EXPECT_EQ(16u, pieces.num_pieces());

                status = ucs_rcache_pred_begin(dom, buffer(0), PAGE, 0, &ctx,
                                               &memh);
                if (status == UCS_OK) {
                    status = ucs_rcache_pred_invalidate(dom, memh, count_cb,
                                                        &called);
                    if (status != UCS_OK) {
                        /* The use goes on */
                        EXPECT_TRUE(m_world.is_live(memh));
                        EXPECT_EQ(UCS_OK, ucs_rcache_pred_end(dom, memh));
                    }
                }
                ucs_rcache_pred_domain_destroy(dom);
            }
            ucs_rcache_pred_destroy(pred);
        }
        failed = test_alloc_failed();
        test_alloc_fail_nth(0);
        if (status == UCS_OK) {
            lost += failed;
        } else {
            EXPECT_TRUE(failed);
            EXPECT_EQ(UCS_ERR_NO_MEMORY, status) << nth;
        }
        m_world.check();
    }

    EXPECT_GT(nth, 8u);
    EXPECT_EQ(2u, lost) << "what a use in pieces can do without";
    EXPECT_EQ(1u + lost, called);
}

TEST_F(test_use, parameters_out_of_range_are_named)
{
    ucs_rcache_pred_params_t params;
    ucs_rcache_pred_t *pred;

    auto expect_refused = [&](const char *what) {
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  ucs_rcache_pred_create(&params, &pred));
        EXPECT_NE(std::string::npos, log_watch::take().find(what)) << what;
    };

    (params = m_params).policy = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
    expect_refused("policy 2");
    (params = m_params).helper = UCS_RCACHE_PRED_HELPER_LAST;
    expect_refused("helper 4");
    (params = m_params).history = 0;
    expect_refused("history of 0");
    (params = m_params).history = UCS_RCACHE_PRED_MAX_HISTORY + 1;
    expect_refused("history of 17");
    (params = m_params).max_sites = 15;
    expect_refused("15 call sites");
    (params = m_params).known_regions = 15;
    expect_refused("15 regions");
    (params = m_params).max_bytes = UCS_RCACHE_PRED_MIN_BYTES - 1;
    expect_refused("bounds of 262143 bytes");
    (params = m_params).max_regions = 3;
    expect_refused("and 3 regions");
    (params = m_params).dq_size = 0;
    expect_refused("of 0 entries");
    (params = m_params).dq_size = 1;
    expect_refused("of 1 entries");
    (params = m_params).dq_size = 48;
    expect_refused("of 48 entries");
}

/* Invalidate */

TEST_F(test_use, invalidate_deregisters_and_then_calls_back)
{
    struct arg {
        fake_world *world;
        void       *memh;
        unsigned   called;
    } a = {&m_world, begin(buffer(0), PAGE), 0};

    auto cb = [](void *p) {
        ++((arg*)p)->called;
        EXPECT_FALSE(((arg*)p)->world->is_live(((arg*)p)->memh));
    };

    ASSERT_EQ(UCS_OK, ucs_rcache_pred_invalidate(domain(), a.memh, cb, &a));
    EXPECT_EQ(1u, a.called);

    poll();
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
    end(begin(buffer(0), PAGE));
    EXPECT_EQ(1u, a.called);
}

TEST_F(test_use, invalidate_waits_for_the_other_uses)
{
    unsigned called = 0;
    void *memh      = begin(buffer(0), PAGE);

    begin(buffer(0), PAGE);
    begin(buffer(0), PAGE);
    end(memh);
    ASSERT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    poll();
    EXPECT_EQ(0u, called);
    EXPECT_TRUE(m_world.is_live(memh));

    void *new_memh = begin(buffer(0), PAGE); /* Not served by the old one */
    EXPECT_NE(memh, new_memh);

    end(memh);
    EXPECT_EQ(1u, called);
    EXPECT_FALSE(m_world.is_live(memh));
    EXPECT_TRUE(m_world.is_live(new_memh));
    end(new_memh);
    poll();
    EXPECT_EQ(1u, called);
}

TEST_F(test_use, every_invalidate_is_called_back)
{
    unsigned called = 0;
    void *memh      = begin(buffer(0), PAGE);

    begin(buffer(0), PAGE);
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    EXPECT_EQ(0u, called);
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    EXPECT_EQ(2u, called);
}

TEST_F(test_use, invalidate_on_demand)
{
    unsigned called = 0;

    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    void *memh = begin(buffer(0), PAGE);
    EXPECT_EQ(UCS_OK,
              ucs_rcache_pred_invalidate(domain(), memh, count_cb, &called));
    EXPECT_EQ(1u, called);
    poll();
}

TEST_F(test_use, foreign_handle_is_not_invalidated)
{
    unsigned called = 0;

    EXPECT_EQ(UCS_ERR_NO_ELEM,
              ucs_rcache_pred_invalidate(domain(), (void*)0x1234, count_cb,
                                         &called));
    EXPECT_EQ(0u, called);
}

TEST_F(test_use, callback_may_begin_another_use)
{
    struct arg {
        test_use *self;
        void     *memh;
    } a = {this, NULL};

    auto cb = [](void *p) {
        arg *a  = (arg*)p;
        a->memh = a->self->begin(buffer(0), PAGE);
    };

    ASSERT_EQ(UCS_OK, ucs_rcache_pred_invalidate(domain(),
                                                 begin(buffer(0), PAGE), cb,
                                                 &a));
    end(a.memh);
}

/* Unmap */

TEST_F(test_use, unmapped_while_idle)
{
    void *memh = begin(buffer(0), PAGE);

    end(memh);
    unmap(buffer(0), PAGE);
    EXPECT_EQ(1u, stats().unmapped);

    /* New memory at the same address, before the helper has done anything */
    void *new_memh = begin(buffer(0), PAGE);
    EXPECT_NE(memh, new_memh);
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
    EXPECT_TRUE(m_world.is_live(new_memh));
    end(new_memh);
}

TEST_F(test_use, unmapped_while_in_use)
{
    void *memh = begin(buffer(0), PAGE);

    unmap(buffer(0), PAGE);
    void *new_memh = begin(buffer(0), PAGE);
    EXPECT_NE(memh, new_memh);

    run(SEC);
    EXPECT_TRUE(m_world.is_live(memh));
    end(memh);
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
    EXPECT_TRUE(m_world.is_live(new_memh));
    end(new_memh);
}

TEST_F(test_use, unmapped_while_being_registered_by_a_use)
{
    m_world.on_reg = [this](const auto &) { unmap(buffer(0), PAGE); };
    void *memh     = begin(buffer(0), PAGE);
    m_world.on_reg = nullptr;

    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_NE(memh, begin(buffer(0), PAGE));
    end(memh);
    poll();
    EXPECT_FALSE(m_world.is_live(memh));
}

TEST_F(test_use, unmapped_while_being_registered_by_the_helper)
{
    void *memh = NULL;

    use(buffer(0), PAGE);
    run(100 * MSEC);
    use(buffer(0), PAGE);
    ASSERT_EQ(0u, (run(10 * MSEC), m_world.num_live()));
    m_world.on_reg = [this](const auto &) { unmap(buffer(0), PAGE); };
    run(88 * MSEC);
    m_world.on_reg = nullptr;
    ASSERT_EQ(1u, stats().regs_helper);
    EXPECT_EQ(1u, stats().unmapped);

    memh = begin(buffer(0), PAGE);
    EXPECT_EQ(2 + 1u, stats().regs_critical) << "not the helper's";
    end(memh);
    run_until_asleep();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_use, unmapped_while_its_registration_fails)
{
    void *memh;

    m_world.on_reg = [this](const auto &) {
        unmap(buffer(0), PAGE);
        /* The helper looks while it is still under way */
        ucs_rcache_pred_poll(m_pred);
    };
    m_world.fail_nth_reg(1, 2);
    EXPECT_NE(UCS_OK, try_begin(buffer(0), PAGE, &memh));
    m_world.on_reg = nullptr;

    run(SEC);
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
}

TEST_F(test_use, unmapped_memory_is_deregistered_without_communication)
{
    end(begin(buffer(0), PAGE));
    end(begin(buffer(0), PAGE));
    run_until_asleep();
    void *memh = begin(buffer(0), PAGE);
    run_until_asleep();

    unmap(buffer(0), PAGE);
    run(MSEC);
    end(memh);
    run(10 * MSEC);
    EXPECT_EQ(0u, m_world.num_live());
    EXPECT_EQ(0u, test_pred_num_regions(m_pred));
}

TEST_F(test_use, unmap_touches_what_it_overlaps)
{
    void *before = begin(buffer(0), PAGE);
    void *into   = begin(buffer(0, PAGE), 2 * PAGE);
    void *inside = begin(buffer(0, 2 * PAGE), PAGE);
    void *around = begin(buffer(0, PAGE / 2), 8 * PAGE);
    void *after  = begin(buffer(0, 4 * PAGE), PAGE);

    for (void *memh : {before, into, inside, around, after}) {
        end(memh);
    }

    unmap(buffer(0, 2 * PAGE), 2 * PAGE);
    EXPECT_EQ(3u, stats().unmapped);
    EXPECT_EQ(before, begin(buffer(0), PAGE));
    EXPECT_NE(into, begin(buffer(0, PAGE), 2 * PAGE));
    EXPECT_NE(inside, begin(buffer(0, 2 * PAGE), PAGE));
    EXPECT_NE(around, begin(buffer(0, PAGE / 2), 8 * PAGE));
    EXPECT_EQ(after, begin(buffer(0, 4 * PAGE), PAGE));
}

TEST_F(test_use, unmap_counts_a_region_once)
{
    end(begin(buffer(0), PAGE));
    unmap(buffer(0), PAGE);
    unmap(buffer(0), PAGE);
    EXPECT_EQ(1u, stats().unmapped);
}

TEST_F(test_use, unmap_of_everything)
{
    void *memh = begin(buffer(0), PAGE);

    end(begin(buffer(1), PAGE));
    ucs_rcache_pred_unmapped(m_pred, 0, UINTPTR_MAX);
    EXPECT_EQ(2u, stats().unmapped);
    end(memh);
    poll();
    EXPECT_EQ(0u, m_world.num_live());
}

TEST_F(test_use, unmap_of_nothing_does_not_wake)
{
    end(begin(buffer(0), PAGE));
    run_until_asleep();
    unsigned wakes = m_world.num_wakes();

    unmap(buffer(1), PAGE);
    EXPECT_EQ(wakes, m_world.num_wakes());
    EXPECT_TRUE(test_pred_is_asleep(m_pred));
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
