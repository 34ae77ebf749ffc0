/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound_test.h"

#include <common/log_watch.h>

/* Few keys, that is, registrations at a time: known beforehand, or learned from what the
 * device refuses */
class test_scarce_keys : public bound_test {
protected:
    void SetUp() override
    {
        m_world.set_reg_cost(100, 100 * USEC);
        bound(UINT64_MAX, 4);
    }

    /* Use each of so many slices of one array for a while */
    void use_slices(unsigned count, size_t apart = PAGE, size_t length = PAGE)
    {
        for (unsigned i = 0; i < count; ++i) {
            end(begin(buffer(0, i * apart), length));
            m_world.advance(MSEC);
        }
    }

    /* Use buffers far away, so that all slices give way */
    void use_others()
    {
        for (unsigned i = 1; i < 4; ++i) {
            end(begin(buffer(i), PAGE));
        }
        ASSERT_EQ(3 * PAGE, m_world.bytes_now());
    }

    uint64_t hits() { return stats().hits; }
};

TEST_F(test_scarce_keys, slices_that_touch_are_registered_together)
{
    use_slices(32);
    EXPECT_EQ(0u, hits());
    use_slices(32);
    EXPECT_GE(hits(), 28u);
    EXPECT_EQ(32 * PAGE, m_world.bytes_now());
    EXPECT_GE(3u, m_world.num_live());
    uint64_t before = hits();
    use_slices(32);
    EXPECT_EQ(before + 32, hits());
    EXPECT_EQ(0u, stats().refused);
}

TEST_F(test_scarce_keys, slices_of_neighbouring_pages_are_too)
{
    use_slices(16, PAGE, 100);
    use_slices(16, PAGE, 100);
    EXPECT_GE(hits(), 13u);
    EXPECT_EQ(16 * PAGE, m_world.bytes_now());
}

TEST_F(test_scarce_keys, pages_that_nobody_has_used_are_not_registered)
{
    use_slices(16, 3 * PAGE, 2 * PAGE);
    use_slices(16, 3 * PAGE, 2 * PAGE);
    EXPECT_EQ(0u, hits());
    EXPECT_EQ(3u * 2 * PAGE, m_world.bytes_peak());
}

TEST_F(test_scarce_keys, many_keys_are_one_for_each_slice)
{
    bound(UINT64_MAX, 64);
    use_slices(32);
    use_slices(32);
    EXPECT_EQ(32u, m_world.num_live());
}

/* Registering all of a large array for the first use of a small part would take long */
TEST_F(test_scarce_keys, together_takes_four_times_as_long_at_most)
{
    m_world.set_reg_cost(100 * USEC, 100 * USEC);
    recreate();
    use_slices(32);
    use_slices(32);
    m_world.on_reg = [this](const fake_world::registration &r) {
        EXPECT_LE(r.length, 8 * PAGE);
    };
    use_slices(32);
    m_world.on_reg = nullptr;
}

TEST_F(test_scarce_keys, slices_in_use_are_left_alone)
{
    use_slices(8);
    void *memh   = begin(buffer(0, 3 * PAGE), PAGE);
    void *others = begin(buffer(0, 5 * PAGE), PAGE);

    EXPECT_TRUE(m_world.is_live(memh));
    EXPECT_GE(m_world.bytes_peak(), 4 * PAGE);
    EXPECT_LE(m_world.bytes_now(), 8 * PAGE) << "no page is pinned twice";
    end(memh);
    end(others);
}

TEST_F(test_scarce_keys, memory_that_is_gone_is_not_registered_with_it)
{
    use_slices(8);
    unmap(buffer(0, 4 * PAGE), 2 * PAGE);
    poll();
    m_world.on_reg = [this](const fake_world::registration &r) {
        uintptr_t gone = (uintptr_t)buffer(0, 4 * PAGE);

        EXPECT_TRUE((r.address + r.length <= gone) || (r.address >= gone + 2 * PAGE));
    };
    end(begin(buffer(0), PAGE));
    end(begin(buffer(0, 7 * PAGE), PAGE));
    m_world.on_reg = nullptr;
}

/* If all together cannot be registered, for example since they do not allow the same
 * access, the use is registered alone, and so are the next ones */
TEST_F(test_scarce_keys, use_is_registered_alone_if_need_be)
{
    use_slices(8);
    use_others();
    m_world.fail_nth_reg(1);
    void *memh = begin(buffer(0), PAGE);

    EXPECT_EQ(PAGE, m_world.get(memh).length);
    end(memh);
    use_others();
    uint64_t serial = m_world.serial();
    memh            = begin(buffer(0), PAGE);
    EXPECT_EQ(PAGE, m_world.get(memh).length);
    EXPECT_EQ(serial + 1, m_world.serial()) << "not tried again";
    end(memh);
}


/* A device that has so many keys, which nobody knows */
class test_learned_keys : public test_scarce_keys {
protected:
    static constexpr unsigned KEYS = 40;

    void SetUp() override
    {
        m_node = join();
        m_world.set_reg_cost(100, 100 * USEC);
        m_world.set_bound(UINT64_MAX);
        create();
        count_keys();
    }

    void TearDown() override
    {
        test_scarce_keys::TearDown();
        ucs_rcache_pred_node_leave(m_node);
    }

    void count_keys()
    {
        m_world.node   = m_node;
        m_world.device = ucs_rcache_pred_node_device(m_node, 1);

        const ucs_rcache_pred_limits_t limits = {
            .max_bytes     = UINT64_MAX,
            .max_regions   = UINT64_MAX,
            .node          = m_node,
            .device        = m_world.device
        };

        ucs_rcache_pred_domain_limit(domain(), &limits);
    }

    ucs_rcache_pred_node_keys_t keys()
    {
        ucs_rcache_pred_node_keys_t keys;

        ucs_rcache_pred_node_get_keys(m_node, 0, &keys);
        return keys;
    }

    /* Another process of the job that uses the device */
    ucs_rcache_pred_node_t *join()
    {
        ucs_rcache_pred_node_params_t params = {
            .max_bytes   = UCS_RCACHE_PRED_NODE_UNLIMITED,
            .max_regions = UCS_RCACHE_PRED_NODE_UNLIMITED
        };
        ucs_rcache_pred_node_t *node = NULL;

        EXPECT_EQ(UCS_OK, pred_node_join_as(&params, 0x6b657973ul << 32 | getpid(),
                                            ucs_rcache_pred_procid_self(), &node));
        EXPECT_EQ(0u, ucs_rcache_pred_node_device(node, 1));
        return node;
    }

    ucs_status_t try_begin(void *address, size_t length)
    {
        ucs_rcache_pred_context_t context = {};
        void *memh;

        return ucs_rcache_pred_begin(domain(), address, length, 0, &context, &memh);
    }

    /* Use so many buffers, the first ones smaller than the others */
    void use_buffers(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            end(begin(buffer(i), (i < 10) ? PAGE : 2 * PAGE));
            m_world.advance(MSEC);
        }
    }

    ucs_rcache_pred_node_t *m_node;
};

TEST_F(test_learned_keys, refusal_tells_how_many_there_are)
{
    m_world.limit_keys(KEYS);
    use_buffers(KEYS);
    EXPECT_EQ(UINT64_MAX, keys().limit);
    EXPECT_EQ(KEYS, keys().keys);

    end(begin(buffer(KEYS), 2 * PAGE));
    EXPECT_EQ(KEYS - KEYS / 20, keys().limit);
    EXPECT_NE(std::string::npos, log_watch::take().find("has no more keys"));

    uint64_t refused = m_world.serial() - m_world.num_regs();
    use_buffers(3 * KEYS);
    EXPECT_EQ(refused, m_world.serial() - m_world.num_regs()) << "no other is refused";
    EXPECT_EQ(0u, stats().refused);
    EXPECT_EQ("", log_watch::take()) << "one line a job";
}

/* Where bytes are short, no limit on keys is learned */
TEST_F(test_learned_keys, bytes_are_no_keys)
{
    m_world.limit_bytes(KEYS * PAGE);
    for (unsigned i = 0; i < 4 * KEYS; ++i) {
        end(begin(buffer(i), PAGE));
        m_world.advance(MSEC);
    }
    EXPECT_EQ(UINT64_MAX, keys().limit);
    EXPECT_EQ(0u, stats().refused);
}

/* Where the kernel says that something else was short, neither is one */
TEST_F(test_learned_keys, what_the_kernel_tells_are_no_keys)
{
    m_world.may_lack_keys = false;
    m_world.limit_keys(KEYS);
    use_buffers(3 * KEYS);
    EXPECT_EQ(UINT64_MAX, keys().limit);
    EXPECT_EQ(0u, stats().refused);

    m_world.may_lack_keys = true;
    use_buffers(3 * KEYS);
    EXPECT_EQ(KEYS - KEYS / 20, keys().limit);
    log_watch::take();
}

/* It is advice: what has to be registered is registered beyond it */
TEST_F(test_learned_keys, uses_at_a_time_may_exceed_it)
{
    std::vector<void*> memhs;

    m_world.limit_keys(KEYS);
    use_buffers(KEYS);
    end(begin(buffer(KEYS), 2 * PAGE));
    log_watch::take();
    m_world.limit_keys(UINT64_MAX);
    for (unsigned i = 0; i < 2 * KEYS; ++i) {
        memhs.push_back(begin(buffer(i), PAGE));
    }
    EXPECT_EQ(2 * KEYS, keys().keys);
    EXPECT_EQ(0u, stats().refused);
    for (void *memh : memhs) {
        end(memh);
    }
}

TEST_F(test_learned_keys, keys_are_given_back_with_the_memory)
{
    use_buffers(10);
    EXPECT_EQ(10u, keys().keys);
    unmap(buffer(1), PAGE);
    end(begin(buffer(20), PAGE)); /* Deregisters what is gone */
    EXPECT_EQ(10u, keys().keys);
}

/* Another process has far less than its share of the keys */
TEST_F(test_learned_keys, others_are_given_keys)
{
    ucs_rcache_pred_node_t *other = join();

    m_params.budget = 0;
    recreate();
    count_keys();
    use_buffers(KEYS);
    EXPECT_TRUE(ucs_rcache_pred_node_ask_keys(other, 0, 100 * MSEC));
    ucs_rcache_pred_poll(m_pred);
    EXPECT_EQ(0u, stats().evictions) << "used in the last 40 ms";

    EXPECT_TRUE(ucs_rcache_pred_node_ask_keys(other, 0, 0));
    ucs_rcache_pred_poll(m_pred);
    EXPECT_EQ(KEYS / 2 / 8 + 1, stats().evictions_node) << "a part of its share";
    ucs_rcache_pred_poll(m_pred);
    EXPECT_EQ(KEYS - stats().evictions_node, keys().keys) << "once for each time";
    ucs_rcache_pred_node_leave(other);
}

TEST_F(test_learned_keys, refusal_asks_the_others)
{
    ucs_rcache_pred_node_t *other = join();
    uint64_t idle;

    ucs_rcache_pred_node_key_taken(other, 0);
    m_world.limit_keys(0);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, try_begin(buffer(0), PAGE));
    EXPECT_TRUE(ucs_rcache_pred_node_is_asked(other));
    EXPECT_TRUE(ucs_rcache_pred_node_lacks(other, 0, &idle));
    EXPECT_EQ(0u, idle);
    ucs_rcache_pred_node_leave(other);
}

TEST_F(test_learned_keys, refusal_costs_a_part_of_what_is_idle)
{
    use_buffers(KEYS);
    m_world.limit_keys(0);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, try_begin(buffer(KEYS), 2 * PAGE));
    EXPECT_EQ(16u, stats().evictions_system) << "two attempts";
    EXPECT_EQ(KEYS - 16, keys().keys);
}
