/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node_test.h"

#include <sched.h>

#include <atomic>
#include <random>
#include <thread>


/* Many processes at once, some of which are killed or fork */
class test_node_many : public node_test {
protected:
    /* At most what the processes have been granted: it is counted after it was
     * granted, and no longer before it is given back */
    struct granted_t {
        std::atomic<uint64_t> bytes{0};
        std::atomic<uint64_t> regions{0};
        std::atomic<unsigned> grants{0};
        std::atomic<unsigned> refusals{0};
        std::atomic<unsigned> violations{0};
    };

    void ask_at_random(ucs_rcache_pred_node_t *node, granted_t *granted,
                       unsigned rounds, unsigned seed) const;

    /* More than some of the others will ask for */
    static constexpr uint64_t MOST = BOUND * 3 / 4;
    static void hold_most(ucs_rcache_pred_node_t *node, granted_t *granted);
};

void test_node_many::hold_most(ucs_rcache_pred_node_t *node, granted_t *granted)
{
    ASSERT_TRUE(reserve(node, MOST));
    granted->bytes   += MOST;
    granted->regions += 1;
}

void test_node_many::ask_at_random(ucs_rcache_pred_node_t *node,
                                   granted_t *granted, unsigned rounds,
                                   unsigned seed) const
{
    std::mt19937 random(seed);

    for (unsigned i = 0; i < rounds; ++i) {
        uint64_t bytes = 1 + random() % (BOUND / 2);

        if (!reserve(node, bytes)) {
            ++granted->refusals;
            continue;
        }

        uint64_t all_bytes   = granted->bytes.fetch_add(bytes) + bytes;
        uint64_t all_regions = granted->regions.fetch_add(1) + 1;
        granted->violations += (all_bytes > m_params.max_bytes) ||
                               (all_regions > m_params.max_regions);
        ++granted->grants;
        if (random() % 16 == 0) {
            usleep(1); /* Others ask meanwhile */
        }
        granted->regions.fetch_sub(1);
        granted->bytes.fetch_sub(bytes);
        release(node, bytes);
    }
}

TEST_F(test_node_many, threads_of_some_processes_keep_the_bound)
{
    std::vector<std::thread> threads;
    granted_t granted;

    params(BOUND, 3);
    /* So that some are refused even if each thread is done before the next one
     * starts */
    hold_most(join(), &granted);
    for (unsigned i = 0; i < 6; ++i) {
        auto node = (i % 2) ? m_nodes.back() : join(); /* Two of each */
        threads.emplace_back([this, &granted, node, i] {
            ask_at_random(node, &granted, 4000 / SANITIZER_SLOWDOWN, i);
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    release(m_nodes[0], MOST);
    EXPECT_EQ(0u, granted.violations);
    EXPECT_GT(granted.grants, 0u);
    EXPECT_GT(granted.refusals, 0u);
    expect_totals(m_nodes[0], 0, 0, 4);
}

/* Each process has as much as is lacked, and all look at the same time: one of
 * them offers it */
TEST_F(test_node_many, one_of_many_processes_offers)
{
    static constexpr unsigned NUM = 6, ROUNDS = 200;
    shared<std::atomic<unsigned>> joined, round, looked, offers;
    std::vector<child> children;

    params(NUM * 100);
    auto node = join();
    for (unsigned i = 0; i < NUM; ++i) {
        children.emplace_back([&] {
            ucs_rcache_pred_node_t *own;

            if ((try_join(&own, ucs_rcache_pred_procid_self()) != UCS_OK) ||
                !reserve(own, 100)) {
                return 1;
            }

            ++*joined;
            for (unsigned next = 1; next <= ROUNDS; ++next) {
                while (*round < next) {
                    sched_yield();
                }
                *offers += is_asked(own) &&
                           ucs_rcache_pred_node_offer(own, UCS_RCACHE_PRED_NODE_DEVICES,
                                                      100, 1);
                ++*looked;
            }
            ucs_rcache_pred_node_leave(own);
            return 0;
        });
    }

    ASSERT_TRUE(wait_until([&] { return *joined == NUM; }));
    for (unsigned i = 1; i <= ROUNDS; ++i) {
        ask(node, 100);
        ++*round;
        ASSERT_TRUE(wait_until([&] { return *looked == i * NUM; }));
        ASSERT_EQ(i, *offers);
    }
    for (auto &c : children) {
        EXPECT_EQ(0, c.reap());
    }
}

TEST_F(test_node_many, processes_keep_the_bound_while_others_are_killed)
{
    constexpr unsigned NUM = 4;
    shared<std::atomic<unsigned>> done;
    std::vector<child> children;
    /* Those that are killed do not take back what they have counted */
    shared<granted_t> granted, uncounted;

    params(BOUND, 3);
    auto node = join();
    /* Some processes are refused, however they meet */
    hold_most(node, &*granted);
    for (unsigned i = 0; i < NUM; ++i) {
        children.emplace_back([&, i] {
            ucs_rcache_pred_node_t *own;

            if (try_join(&own, ucs_rcache_pred_procid_self()) != UCS_OK) {
                ++*done;
                return 1;
            }
            ask_at_random(own, &*granted, 3000 / SANITIZER_SLOWDOWN, i);
            ucs_rcache_pred_node_leave(own);
            ++*done;
            return 0;
        });
    }

    for (unsigned i = 0; (i < 5000) && (*done < NUM); ++i) {
        child victim([&] {
            ucs_rcache_pred_node_t *own;

            if (try_join(&own, ucs_rcache_pred_procid_self()) == UCS_OK) {
                ask_at_random(own, &*uncounted, UINT_MAX, getpid());
            }
            return 0;
        });
        usleep(2000 + victim.pid() * 997 % 3000);
    }

    for (auto &c : children) {
        EXPECT_EQ(0, c.reap());
    }
    EXPECT_EQ(0u, granted->violations);
    EXPECT_GT(granted->grants, 0u);
    EXPECT_GT(granted->refusals, 0u);
    release(node, MOST);
    EXPECT_TRUE(reserve(node, BOUND)) << "something of the killed is left";
    /* Dead processes that had nothing were in nobody's way until now */
    pred_node_reap(node, UCS_RCACHE_PRED_NODE_SLOTS);
    expect_totals(node, BOUND, 1, 1);
}

TEST_F(test_node_many, share_of_a_killed_process_is_there_at_the_next_reserve)
{
    params(BOUND, 1);
    auto node = join();

    for (unsigned i = 0; i < 10; ++i) {
        shared<granted_t> granted;
        child victim([&] {
            ucs_rcache_pred_node_t *own;

            if (try_join(&own, ucs_rcache_pred_procid_self()) == UCS_OK) {
                ask_at_random(own, &*granted, UINT_MAX, i);
            }
            return 0;
        });

        ASSERT_TRUE(wait_until([&] { return granted->grants > 10 * i; }));
        victim.kill_only();
        ASSERT_TRUE(reserve(node, BOUND)) << "round " << i;
        /* The process may have had nothing when it was killed */
        pred_node_reap(node, UCS_RCACHE_PRED_NODE_SLOTS);
        expect_totals(node, BOUND, 1, 1);
        release(node, BOUND);
    }
}

TEST_F(test_node_many, nothing_is_left_when_all_are_killed)
{
    shared<std::atomic<unsigned>> joined;
    std::vector<child> children;

    for (unsigned i = 0; i < 3; ++i) {
        children.emplace_back([&] {
            ucs_rcache_pred_node_t *own;

            if (try_join(&own, ucs_rcache_pred_procid_self()) != UCS_OK) {
                return 1;
            }
            ++*joined;
            ask_at_random(own, &*shared<granted_t>(), UINT_MAX, i);
            return 0;
        });
    }

    ASSERT_TRUE(wait_until([&] { return *joined == 3; }));
    EXPECT_TRUE(test_node_exists(m_key));
    for (auto &c : children) {
        kill(c.pid(), SIGKILL);
    }
    for (auto &c : children) {
        c.kill_only();
    }
    EXPECT_FALSE(test_node_exists(m_key));
}


/* fork */

TEST_F(test_node_many, forked_child_is_a_process_of_its_own)
{
    auto node = join();

    reserve(node, 700);
    child forked([&] {
        ucs_rcache_pred_node_t *own;

        if (try_join(&own, ucs_rcache_pred_procid_self()) != UCS_OK) {
            return 1;
        }
        if (totals(own).bytes != 700) {
            return 2;
        }
        return reserve(own, 300) ? 0 : 3; /* The child ends without leaving */
    });
    EXPECT_EQ(0, forked.reap());
    expect_totals(node, 1000, 2, 2);
    EXPECT_TRUE(reserve(node, 300));
}

TEST_F(test_node_many, memory_lives_as_long_as_a_forked_child_has_it)
{
    auto node = join();
    child forked([] {
        pause();
        return 0;
    });

    leave(node);
    EXPECT_TRUE(test_node_exists(m_key));
    forked.kill_and_reap();
    EXPECT_FALSE(test_node_exists(m_key));
}

/* A child that was forked has the descriptors by which the memory of its parent
 * stays registered, until it runs another program */
class test_node_heirs : public test_node_many {
protected:
    /* A process that reserves all there is and forks a child. Both live on */
    void start(bool exec)
    {
        m_parent.emplace_back([this, exec] {
            ucs_rcache_pred_node_t *own;
            pid_t pid;

            if ((try_join(&own, ucs_rcache_pred_procid_self()) != UCS_OK) ||
                !reserve(own, BOUND)) {
                return 1;
            }

            pid = fork();
            if (pid == 0) {
                if (exec) {
                    execlp("sleep", "sleep", "1000", NULL);
                }
                pause();
                _exit(1);
            }
            *m_heir = pid;
            pause();
            return 0;
        });
        ASSERT_TRUE(wait_until([this] { return *m_heir != 0; }));
    }

    ~test_node_heirs()
    {
        if (*m_heir != 0) {
            kill(*m_heir, SIGKILL);
        }
    }

    shared<std::atomic<pid_t>> m_heir;
    std::vector<child>         m_parent;
};

TEST_F(test_node_heirs, share_stays_as_long_as_one_of_them_lives)
{
    auto node = join();

    start(false);
    m_parent[0].kill_and_reap();
    EXPECT_FALSE(reserve(node, 1));
    EXPECT_EQ(0u, pred_node_reap(node, UCS_RCACHE_PRED_NODE_SLOTS));
    expect_totals(node, BOUND, 1, 2);

    kill(*m_heir, SIGKILL);
    EXPECT_TRUE(wait_until([node] { return reserve(node, BOUND); }));
}

TEST_F(test_node_heirs, one_that_runs_another_program_has_nothing)
{
    auto node = join();

    start(true);
    m_parent[0].kill_and_reap();
    EXPECT_TRUE(wait_until([node] { return reserve(node, BOUND); }));
    EXPECT_EQ(0, kill(*m_heir, 0)) << "it lives";
}

TEST_F(test_node_many, processes_of_other_name_spaces_meet)
{
    ucs_rcache_pred_node_t *own;

    /* Not all are tried: PID and user name spaces need processes of their
     * own */
    params(UNLIMITED);
    ASSERT_EQ(UCS_OK, ucs_rcache_pred_node_join(&m_params, &own));
    child contained([this, own] {
        ucs_rcache_pred_node_t *node;
        unsigned slot = test_node_slot(own);

        if (unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS) != 0) {
            return 77;
        }
        if (ucs_rcache_pred_node_join(&m_params, &node) != UCS_OK) {
            return 1;
        }
        return (node->shm->slots[slot].owner == own->self) ? 0 : 2;
    });

    int status = contained.reap();
    ucs_rcache_pred_node_leave(own);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77)) {
        GTEST_SKIP() << "needs the right to make name spaces";
    }
    EXPECT_EQ(0, status);
}
