/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <vector>

extern "C" {
#include <ucp/firehose/table/local.h>
}

/* The local table, where what is exposed or wanted begins and ends within
 * buckets, of 16 pages */
class test_edges : public ::testing::Test {
protected:
    static constexpr unsigned SHIFT  = 16;
    static constexpr uint64_t PAGE   = 4096;
    static constexpr uint64_t BUCKET = 16 * PAGE;

    using pinned_t = std::map<uint64_t, uint64_t>; /* Page: pages */

    test_edges()
    {
        ucp_fh_local_params_t params = {};

        params.shift      = SHIFT;
        params.num_peers  = 1;
        params.m          = 4 * BUCKET;
        params.max_victim = 3 * BUCKET;
        EXPECT_EQ(UCS_OK, ucp_fh_local_init(&m_table, &params));
        m_ops.pin = [](void *arg, uint64_t start, uint64_t length,
                       void **handle) {
            test_edges *self = (test_edges*)arg;

            self->m_most = std::max(self->m_most, self->num_pinned() +
                                                          (length / PAGE));
            self->m_handles[++self->m_last] = {start / PAGE, length / PAGE};
            *handle                         = (void*)self->m_last;
            return UCS_OK;
        };
        m_ops.unpin = [](void *arg, void *handle) {
            test_edges *self = (test_edges*)arg;

            EXPECT_EQ(1u, self->m_handles.erase((uint64_t)handle));
            return UCS_OK;
        };
        m_ops.arg = this;
    }

    ~test_edges()
    {
        ucp_fh_local_cleanup(&m_table, &m_ops);
        EXPECT_EQ(pinned_t(), pinned());
    }

    static ucp_fh_span_t span(uint64_t page, uint64_t num)
    {
        return {page * PAGE, (page + num) * PAGE};
    }

    uint64_t num_pinned() const
    {
        uint64_t num = 0;

        for (const auto &handle : m_handles) {
            num += handle.second.second;
        }
        return num;
    }

    pinned_t pinned() const
    {
        pinned_t all;

        for (const auto &handle : m_handles) {
            all.insert(handle.second);
        }
        return all;
    }

    void expose(ucp_fh_exposed_t &exposed, uint64_t page, uint64_t num)
    {
        ucp_fh_span_t all = span(page, num);

        ASSERT_EQ(UCS_OK, ucp_fh_local_expose(&m_table, &exposed, &all));
    }

    void work()
    {
        ucp_fh_work_t work;
        ucp_fh_comp_t *comp;

        while (ucp_fh_local_next_work(&m_table, &work)) {
            ucp_fh_work_do(&work, &m_ops);
            ucp_fh_local_work_done(&m_table, &work);
        }
        while ((comp = ucp_fh_comp_next(&m_table.ended)) != nullptr) {
            comp->func(comp);
        }
    }

    ucs_status_t pin(ucp_fh_pin_t &pin, uint64_t page, uint64_t num)
    {
        ucp_fh_span_t wanted = span(page, num);
        ucs_status_t status;

        pin.comp.func = [](ucp_fh_comp_t *comp) {};
        status        = ucp_fh_local_pin(&m_table, &pin, &wanted, UCP_FH_FORM_WAIT);
        if (status == UCS_INPROGRESS) {
            work();
            status = pin.comp.status;
        }
        return status;
    }

    void release(ucp_fh_pin_t &pin)
    {
        ucp_fh_local_release(&m_table, &pin);
        work();
    }

    /* @return what of each bucket the peer is told, in pages; 0: nothing */
    std::vector<std::pair<uint64_t, uint64_t>>
    serve(std::vector<ucp_fh_bucket_t> unpins,
          std::vector<ucp_fh_bucket_t> pins)
    {
        std::vector<std::pair<uint64_t, uint64_t>> told;
        ucp_fh_serve_t *serve;

        serve = ucp_fh_serve_make(0, unpins.data(), unpins.size(), pins.data(),
                                  pins.size());
        serve->comp.func = [](ucp_fh_comp_t *comp) {};
        if (ucp_fh_local_serve(&m_table, serve) == UCS_INPROGRESS) {
            work();
        }
        for (unsigned i = 0; i < pins.size(); ++i) {
            const ucp_fh_reg_t *reg = ucp_fh_serve_reg(&m_table, serve, i);
            told.push_back({0, 0});
            if (reg != nullptr) {
                told.back() = {reg->span.start / PAGE,
                               (reg->span.end - reg->span.start) / PAGE};
            }
        }
        free(serve);
        work();
        return told;
    }

    ucs_status_t withdraw(ucp_fh_withdraw_t &withdraw,
                          ucp_fh_exposed_t &exposed)
    {
        ucp_fh_span_t gone = exposed.span;

        withdraw.comp.status = UCS_INPROGRESS;
        withdraw.comp.func   = [](ucp_fh_comp_t *comp) {};
        ucp_fh_local_conceal(&m_table, &exposed);
        return ucp_fh_local_withdraw(&m_table, &withdraw, &gone);
    }

    using told_t = std::vector<std::pair<uint64_t, uint64_t>>;

    ucp_fh_local_t   m_table;
    ucp_fh_pin_ops_t m_ops;
    uint64_t         m_last = 0;
    uint64_t         m_most = 0; /* Pages that were pinned at a time */
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> m_handles;
};


TEST_F(test_edges, peers_have_what_is_exposed)
{
    ucp_fh_exposed_t exposed;

    /* From within bucket 0 to within bucket 2 */
    expose(exposed, 5, 30);
    EXPECT_EQ(told_t({{5, 11}, {16, 16}, {32, 3}, {0, 0}}),
              serve({}, {0, 1, 2, 3}));
    EXPECT_EQ(pinned_t({{5, 11}, {16, 16}, {32, 3}}), pinned());
    serve({0, 1, 2}, {});
}

TEST_F(test_edges, other_memory_is_pinned_by_itself)
{
    ucp_fh_exposed_t first, second;

    /* There may be a hole from page 20 to 35 */
    expose(first, 5, 15);
    expose(second, 35, 4);
    EXPECT_EQ(told_t({{5, 11}, {16, 4}, {35, 4}}), serve({}, {0, 1, 2}));
    serve({0, 1, 2}, {});
}

TEST_F(test_edges, local_pin_beside_what_is_exposed)
{
    ucp_fh_exposed_t exposed;
    ucp_fh_pin_t before, across, within, other;

    expose(exposed, 5, 6);
    serve({}, {0});
    ASSERT_EQ(UCS_OK, pin(before, 1, 2));
    EXPECT_EQ(pinned_t({{1, 2}, {5, 6}}), pinned());
    ASSERT_EQ(UCS_OK, pin(across, 3, 4));
    EXPECT_EQ(pinned_t({{1, 2}, {3, 4}, {5, 6}}), pinned());

    /* What a registration covers is a hit; it is counted where it was */
    ASSERT_EQ(UCS_OK, pin(within, 7, 2));
    EXPECT_EQ(3u, m_handles.size());
    EXPECT_EQ(3u, m_table.num_local);

    /* A fourth registration of the bucket is more than MAXVICTIM */
    {
        ucp_fh_span_t wanted = span(12, 1);
        other.comp.func      = [](ucp_fh_comp_t *comp) {};
        EXPECT_EQ(UCS_INPROGRESS,
                  ucp_fh_local_pin(&m_table, &other, &wanted, UCP_FH_FORM_WAIT));
        work();
        EXPECT_EQ(UCS_INPROGRESS, other.comp.status);
    }
    release(before);
    EXPECT_EQ(UCS_OK, other.comp.status);
    release(across);
    release(within);
    release(other);
    serve({0}, {});
    EXPECT_EQ(0u, m_table.num_local);
    EXPECT_GE((4u + 3u) * 16u, m_most);
}

TEST_F(test_edges, local_pin_within_what_is_exposed)
{
    ucp_fh_exposed_t exposed;
    ucp_fh_pin_t one;

    /* It has as much as a peer, which finds it then */
    expose(exposed, 5, 20);
    ASSERT_EQ(UCS_OK, pin(one, 6, 1));
    EXPECT_EQ(pinned_t({{5, 11}}), pinned());
    EXPECT_EQ(told_t({{5, 11}}), serve({}, {0}));
    EXPECT_EQ(1u, m_handles.size());
    release(one);
    serve({0}, {});
}

TEST_F(test_edges, what_is_exposed_later)
{
    ucp_fh_exposed_t exposed;
    ucp_fh_pin_t narrow, wide;

    ASSERT_EQ(UCS_OK, pin(narrow, 6, 1));
    ASSERT_EQ(UCS_OK, pin(wide, 2, 14));
    expose(exposed, 5, 6);
    /* The wide one covers it: what of that is exposed is the caller's matter */
    EXPECT_EQ(told_t({{2, 14}}), serve({}, {0}));
    release(wide);
    release(narrow);
    EXPECT_EQ(pinned_t({{2, 14}, {6, 1}}), pinned());
    serve({0}, {});
}

TEST_F(test_edges, withdrawal_waits_for_its_own)
{
    ucp_fh_exposed_t exposed;
    ucp_fh_withdraw_t gone;
    ucp_fh_pin_t before, across;

    expose(exposed, 5, 30);
    serve({}, {0, 1});
    ASSERT_EQ(UCS_OK, pin(before, 1, 2));
    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, exposed));
    serve({0, 1}, {});
    EXPECT_EQ(UCS_OK, gone.comp.status);
    EXPECT_EQ(pinned_t({{1, 2}}), pinned());

    expose(exposed, 5, 30);
    ASSERT_EQ(UCS_OK, pin(across, 3, 4));
    EXPECT_EQ(UCS_INPROGRESS, withdraw(gone, exposed));
    work();
    EXPECT_EQ(UCS_INPROGRESS, gone.comp.status);
    /* Nobody gets more of it, but what is beside it */
    {
        ucp_fh_pin_t other;
        EXPECT_EQ(UCS_ERR_INVALID_ADDR, pin(other, 20, 1));
        ASSERT_EQ(UCS_OK, pin(other, 1, 1));
        release(other);
    }
    release(across);
    EXPECT_EQ(UCS_OK, gone.comp.status);
    release(before);
}

/* Many pieces of memory are pinned, and withdrawn at a time. @return seconds of
 * processor time */
static double withdraw_pieces(unsigned num)
{
    std::vector<ucp_fh_withdraw_t> withdraws(num);
    std::vector<ucp_fh_exposed_t> exposed(num);
    ucp_fh_local_params_t params = {};
    clock_t start                = clock();
    unsigned num_left            = 0;
    ucp_fh_pin_ops_t ops         = {};
    ucp_fh_work_t work;
    ucp_fh_local_t table;

    params.shift      = 12;
    params.num_peers  = 1;
    params.m          = (uint64_t)num << 12;
    params.max_victim = params.m;
    ops.pin           = [](void *, uint64_t, uint64_t, void **handle) {
        *handle = nullptr;
        return UCS_OK;
    };
    ops.unpin = [](void *, void *) { return UCS_OK; };
    EXPECT_EQ(UCS_OK, ucp_fh_local_init(&table, &params));
    for (unsigned i = 0; i < num; ++i) {
        /* From the middle to both ends, as for a tree anything is */
        uint64_t page      = 2 * ((i % 2) ? num + i : num - i);
        ucp_fh_span_t span = {page << 12, (page + 1) << 12};
        ucp_fh_pin_t pin;

        pin.comp.func = [](ucp_fh_comp_t *) {};
        EXPECT_EQ(UCS_OK, ucp_fh_local_expose(&table, &exposed[i], &span));
        EXPECT_EQ(UCS_INPROGRESS, ucp_fh_local_pin(&table, &pin, &span, UCP_FH_FORM_WAIT));
        while (ucp_fh_local_next_work(&table, &work)) {
            ucp_fh_work_do(&work, &ops);
            ucp_fh_local_work_done(&table, &work);
        }
        EXPECT_NE(nullptr, ucp_fh_comp_next(&table.ended));
        ucp_fh_local_release(&table, &pin);
    }
    for (unsigned i = 0; i < num; ++i) {
        ucp_fh_span_t span = exposed[i].span;
        ucp_fh_local_conceal(&table, &exposed[i]);
        num_left += ucp_fh_local_withdraw(&table, &withdraws[i], &span) ==
                    UCS_INPROGRESS;
    }
    EXPECT_EQ(num, num_left);
    while (ucp_fh_local_next_work(&table, &work)) {
        ucp_fh_work_do(&work, &ops);
        ucp_fh_local_work_done(&table, &work);
    }
    while (ucp_fh_comp_next(&table.ended) != nullptr) {
        --num_left;
    }
    EXPECT_EQ(0u, num_left);
    ucp_fh_local_cleanup(&table, &ops);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

TEST_F(test_edges, many_pieces)
{
    double few = 1e9, many = 1e9;

    for (unsigned i = 0; i < 3; ++i) {
        few  = std::min(few, withdraw_pieces(2000));
        many = std::min(many, withdraw_pieces(32000));
    }
    /* 16 times as many: it takes that long, and not 256 times */
    EXPECT_GT(80 * few, many);
}

TEST_F(test_edges, failure_concerns_one_registration)
{
    ucp_fh_exposed_t exposed;
    ucp_fh_pin_t beside, other;
    ucp_fh_work_t first, second;
    ucp_fh_span_t wanted = span(1, 2);

    expose(exposed, 5, 6);
    beside.comp.func = other.comp.func = [](ucp_fh_comp_t *comp) {};
    ASSERT_EQ(UCS_INPROGRESS, ucp_fh_local_pin(&m_table, &beside, &wanted, UCP_FH_FORM_WAIT));
    wanted = span(6, 1);
    ASSERT_EQ(UCS_INPROGRESS, ucp_fh_local_pin(&m_table, &other, &wanted, UCP_FH_FORM_WAIT));
    ASSERT_TRUE(ucp_fh_local_next_work(&m_table, &first));
    ASSERT_TRUE(ucp_fh_local_next_work(&m_table, &second));
    first.status = UCS_ERR_IO_ERROR;
    EXPECT_TRUE(ucp_fh_local_work_done(&m_table, &first));
    ucp_fh_work_do(&second, &m_ops);
    EXPECT_FALSE(ucp_fh_local_work_done(&m_table, &second));
    work();
    EXPECT_EQ(UCS_ERR_IO_ERROR, beside.comp.status);
    EXPECT_EQ(UCS_OK, other.comp.status);
    release(other);
}
