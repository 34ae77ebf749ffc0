/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound_test.h"

#include <random>


/* Bounds are kept by programs of any kind */
class test_bound_kept : public bound_test {
protected:
    void run_random_program(unsigned seed, bool refusals = false);
    void run_periodic_program(unsigned *failed_p);
};

/* Uses of all kinds, up to six at a time, begin and end in no order, in two
 * domains. A few buffers are used more often than others. */
void test_bound_kept::run_random_program(unsigned seed, bool refusals)
{
    std::mt19937 random(seed);
    std::vector<pieces_use> uses_in_pieces;
    std::vector<std::pair<void*, domain_t*> > uses;

    for (unsigned i = 0; i < 4000; ++i) {
        domain_t *dom = domain(random() % 8 == 0);
        void *address = buffer(random() % (random() % 2 ? 4 : 24),
                               (random() % 2) * 100);
        size_t length = 1 + random() % (m_params.max_bytes / 2);
        void *memh;

        switch (random() % 16) {
        case 0: case 1: case 2: case 3: case 4: case 5:
            if ((uses.size() < 3) &&
                (try_begin(address, length, &memh, 0, dom) == UCS_OK)) {
                uses.push_back({memh, dom});
            }
            break;
        case 6: case 7: case 8: case 9:
            if (!uses.empty()) {
                end(uses.front().first, uses.front().second);
                uses.erase(uses.begin());
            }
            break;
        case 10: case 11:
            if (uses_in_pieces.size() < 3) {
                uses_in_pieces.emplace_back(m_world, dom, address, 2 * length);
                ASSERT_TRUE((uses_in_pieces.back().begin() == UCS_OK) ||
                            uses_in_pieces.back().is_in_pieces());
            }
            break;
        case 12: case 13:
            for (auto &use : uses_in_pieces) {
                if (use.is_in_pieces() && (use.left() > 0)) {
                    use.next();
                }
            }
            break;
        case 14:
            if (!uses_in_pieces.empty()) {
                uses_in_pieces.front().end();
                uses_in_pieces.erase(uses_in_pieces.begin());
            }
            break;
        default:
            if (random() % 4 == 0) {
                unmap(address, length);
            } else if (random() % 8 == 0) {
                ucs_rcache_pred_purge(m_pred);
            }
        }

        run(random() % (2 * MSEC));
        check_accounting(refusals);
        validate();
    }

    for (auto &use : uses_in_pieces) {
        use.end();
    }
    for (auto &use : uses) {
        end(use.first, use.second);
    }
    run_until_asleep();
    check_accounting(refusals);
    EXPECT_EQ(0u, stats().regions_now);
}

/* Eight buffers are used in turns, three at a time and some of them in pieces:
 * a program that the helper can predict */
void test_bound_kept::run_periodic_program(unsigned *failed_p)
{
    const size_t pages[8] = {30, 60, 90, 30, 60, 90, 300, 120};
    std::deque<pieces_use> uses;

    *failed_p = 0;
    for (unsigned i = 0; i < 8 * 6; ++i) {
        unsigned b    = i % 8;
        size_t length = pages[b] * PAGE;
        void *memh    = NULL;

        if (b % 2 == 0) {
            uses.push_back(pieces(buffer(b), length));
            if ((uses.back().begin() != UCS_OK) &&
                !uses.back().is_in_pieces()) {
                ++*failed_p;
                uses.pop_back();
            }
        } else if ((try_begin(buffer(b), length, &memh) == UCS_OK) ||
                   /* As the owner of a cache does for lack of room */
                   (ucs_rcache_pred_unguard(m_pred) &&
                    (try_begin(buffer(b), length, &memh) == UCS_OK))) {
            EXPECT_TRUE(m_world.covers(memh, buffer(b), length));
        } else {
            ++*failed_p;
        }

        run(4 * MSEC);
        if (uses.size() > 1) {
            *failed_p += (uses.front().finish() != UCS_OK);
            uses.pop_front();
        }
        if (memh != NULL) {
            end(memh);
        }
        run(MSEC);
    }

    while (!uses.empty()) {
        *failed_p += (uses.front().finish() != UCS_OK);
        uses.pop_front();
    }
}

/* The bounds are kept */

TEST_F(test_bound_kept, kept_by_any_program)
{
    uint64_t helper = 0, peak = 0;

    for (unsigned seed = 1; seed <= 8; ++seed) {
        m_params.pieces = seed % 2;
        bound((seed % 4 < 2) ? BOUND : UCS_RCACHE_PRED_MIN_BYTES);
        new_domain("fake1");
        run_random_program(seed);
        EXPECT_GT(stats().evictions, 0u);
        EXPECT_GT(stats().refused, 0u);
        EXPECT_GT(stats().pieces, 0u);
        helper += stats().regs_helper;
        peak    = std::max(peak, m_world.bytes_peak());
    }
    EXPECT_GT(helper, 0u);
    EXPECT_EQ(BOUND, peak) << "nothing came near the bound";
}

TEST_F(test_bound_kept, kept_by_any_program_on_demand)
{
    m_params.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    for (unsigned seed = 1; seed <= 4; ++seed) {
        bound((seed % 2) ? BOUND : UCS_RCACHE_PRED_MIN_BYTES);
        new_domain("fake1");
        run_random_program(seed);
        EXPECT_GT(stats().refused, 0u);
        EXPECT_GT(stats().pieces, 0u);
        EXPECT_EQ(0u, stats().evictions);
        EXPECT_EQ(0u, m_pred->table.count);
    }
}

TEST_F(test_bound_kept, number_of_regions_is_kept_by_any_program)
{
    for (unsigned max_regions = 4; max_regions <= 6; ++max_regions) {
        bound(64 * MB, max_regions);
        new_domain("fake1");
        run_random_program(max_regions);
        EXPECT_EQ(max_regions, m_world.regions_peak());
        EXPECT_GT(stats().evictions, 0u);
        EXPECT_GT(stats().refused, 0u);
    }
}

TEST_F(test_bound_kept, kept_by_any_program_on_a_system_that_refuses)
{
    for (unsigned seed = 1; seed <= 4; ++seed) {
        bound(BOUND);
        new_domain("fake1");
        m_world.limit_bytes(BOUND * 2 / 3);
        run_random_program(seed, true);
        EXPECT_GT(stats().evictions, 0u);
    }
}

TEST_F(test_bound_kept, periodic_program_is_predicted_within_it)
{
    unsigned failed;

    run_periodic_program(&failed);
    EXPECT_EQ(0u, stats().reg_failures);
    EXPECT_GT(stats().regs_helper, 0u);
    EXPECT_GT(stats().hits, 0u);
    EXPECT_GT(stats().in_pieces, 0u);
    check_accounting();
}

TEST_F(test_bound_kept, any_registration_may_fail)
{
    const ucs_status_t statuses[] = {UCS_ERR_IO_ERROR, UCS_ERR_NO_MEMORY};
    unsigned nth, total, failed, expected;

    for (ucs_status_t status : statuses) {
        nth = expected = 0;
        do {
            bound(BOUND);
            m_world.fail_nth_reg(nth, 2, status);
            unsigned serial = m_world.serial();

            run_periodic_program(&failed);
            m_world.fail_nth_reg(0);
            total    = m_world.serial() - serial;
            expected = (nth == 0) ? failed : expected;
            EXPECT_LE(failed, expected + 2) << nth;
            ucs_rcache_pred_unguard(m_pred); /* What could not be had again */
            run_until_asleep();
            EXPECT_EQ(0u, stats().bytes_now) << nth;
            EXPECT_EQ(0u, stats().regions_now) << nth;
            check_accounting(status == UCS_ERR_NO_MEMORY);
        } while (++nth <= total);
        EXPECT_GT(nth, 40u);
    }
}
