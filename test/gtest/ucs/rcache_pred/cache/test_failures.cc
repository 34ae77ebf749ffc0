/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/pieces_use.h>


/* Registrations, deregistrations and allocations that fail, and parameters
 * that are refused */
class test_failures : public pred_test {
protected:
    void SetUp() override { create(); }
};

TEST_F(test_failures, failed_registration_is_reported)
{
    void *memh;

    m_world.fail_nth_reg(1, 2, UCS_ERR_IO_ERROR);
    EXPECT_EQ(UCS_ERR_IO_ERROR, try_begin(buffer(0), PAGE, &memh));

    stats_t s = stats();
    EXPECT_EQ(1u, s.reg_failures);
    EXPECT_EQ(0u, s.regs_critical);
    EXPECT_EQ(0u, s.bytes_now);

    end(begin(buffer(0), PAGE)); /* A failure is no obstacle to a later use */
}

TEST_F(test_failures, failed_on_demand_registration_leaves_nothing)
{
    void *memh;

    set_policy(UCS_RCACHE_PRED_POLICY_ON_DEMAND);
    m_world.fail_nth_reg(1, 2);
    EXPECT_NE(UCS_OK, try_begin(buffer(0), PAGE, &memh));
    EXPECT_EQ(0u, m_pred->table.count);
}

/* Nobody learns of a use that has not begun, and nobody would forget its region */
TEST_F(test_failures, uses_that_are_refused_leave_nothing)
{
    void *memh;

    m_params.known_regions = 16;
    m_params.max_bytes     = MB;
    recreate();
    m_world.fail_nth_reg(1, UINT_MAX, UCS_ERR_UNSUPPORTED);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(UCS_ERR_UNSUPPORTED, try_begin(buffer(i), PAGE, &memh));
        EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT, try_begin(buffer(i), 2 * MB, &memh));
    }
    EXPECT_EQ(0u, m_pred->table.count);

    /* Its memory is unmapped by another thread meanwhile */
    m_world.on_reg = [this](const auto &r) {
        unmap((void*)r.address, PAGE);
    };
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, try_begin(buffer(0), PAGE, &memh));
    EXPECT_EQ(0u, m_pred->table.count);
    m_world.on_reg = nullptr;
}

TEST_F(test_failures, any_registration_may_fail)
{
    unsigned nth = 0;
    unsigned total;
    void *memh;

    /* A program that does a little of everything runs once without a failure.
     * Then, for every n, its nth registration fails, be it a use's or the
     * helper's. */
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
        /* What could not be had again is guarded from then on */
        EXPECT_LE(m_world.num_live(), (nth > 0) ? 1u : 0u);
        EXPECT_EQ(m_world.num_deregs(), stats().deregs);
        m_world.fail_nth_reg(0);
        recreate();
    } while (++nth <= total);
    EXPECT_GT(nth, 20u);
}

TEST_F(test_failures, memory_that_cannot_be_registered_evicts_nothing)
{
    void *memh;

    end(begin(buffer(0), PAGE));
    m_world.fail_nth_reg(1, 2, UCS_ERR_IO_ERROR);
    EXPECT_EQ(UCS_ERR_IO_ERROR, try_begin(buffer(1), PAGE, &memh));
    EXPECT_EQ(0u, stats().evictions);
    EXPECT_EQ(1u, m_world.num_live());
}

TEST_F(test_failures, memory_not_to_be_managed_evicts_nothing)
{
    void *memh;

    end(begin(buffer(0), PAGE));
    m_world.fail_nth_reg(1, 1, UCS_ERR_UNSUPPORTED);
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, try_begin(buffer(1), PAGE, &memh));
    EXPECT_EQ(0u, stats().evictions);
    EXPECT_EQ(1u, m_world.num_live());
}

TEST_F(test_failures, only_the_last_attempt_is_not_quiet)
{
    std::vector<unsigned> flags;
    void *memh;

    end(begin(buffer(0), PAGE));
    m_world.on_reg = [&](const auto &r) { flags.push_back(r.flags); };
    m_world.fail_nth_reg(1, 3, UCS_ERR_NO_MEMORY);
    EXPECT_NE(UCS_OK, try_begin(buffer(1), PAGE, &memh, HINT));
    m_world.on_reg = nullptr;
    /* The first attempt and the one after the only eviction are quiet. The last
     * one may log why it failed. */
    EXPECT_EQ((std::vector<unsigned>{HINT | HELPER_FLAG, HINT | HELPER_FLAG,
                                     HINT}), flags);
    EXPECT_EQ(1u, stats().reg_failures);
}

TEST_F(test_failures, what_is_not_let_go_of_stays_counted)
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

TEST_F(test_failures, any_allocation_may_fail)
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
                        /* The use goes on if its region could not be
                         * invalidated */
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
    EXPECT_EQ(1u, lost) << "what a use in pieces can do without";
    EXPECT_EQ(1u + lost, called);
}

TEST_F(test_failures, parameters_out_of_range_are_named)
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
    (params = m_params).page_size = 2048;
    expect_refused("page size of 2048 bytes");
    (params = m_params).page_size = 12288;
    expect_refused("page size of 12288 bytes");
    (params = m_params).page_size = 2 * MB;
    expect_refused("page size of 2097152 bytes");
}
