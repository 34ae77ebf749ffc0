/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "threads_test.h"

#include <mutex>
#include <random>

#include <pthread.h>
#include <signal.h>

/* Threads with lanes that come and go, and hand uses to each other, while
 * handlers of signals unmap memory wherever they have interrupted them */
class test_lanes_storm : public threads_test {
protected:
    static constexpr unsigned NUM_BOXES = 8;

    test_lanes_storm()
    {
        m_num_own   = 16;
        m_num_uses /= 4;
    }

    /* One thread after the other, in so many places */
    void run_storm(unsigned num_places, unsigned num_generations)
    {
        std::vector<std::thread> places;

        s_test = this;
        signal(SIGUSR1, unmap_some);
        m_users.resize(num_places);
        m_threads.emplace_back([this] { send_signals(); });
        for (unsigned i = 0; i < num_places; ++i) {
            places.emplace_back([=] {
                for (unsigned g = 0; g < num_generations; ++g) {
                    std::thread([=] { run_place(i, g); }).join();
                }
            });
        }
        for (auto &place : places) {
            place.join();
        }
        for (auto &box : m_boxes) {
            end_use(box.exchange(NULL));
        }
        EXPECT_GT(m_num_handled, 0u);
    }

    void run_place(unsigned i, unsigned generation)
    {
        s_state = (i + 1) * 7919 + generation;
        {
            std::lock_guard<std::mutex> guard(m_users_lock);
            m_users[i] = pthread_self();
        }
        run_storm_user(i, generation);
        {
            std::lock_guard<std::mutex> guard(m_users_lock);
            m_users[i] = 0;
        }
    }

    void send_signals()
    {
        std::mt19937 random(77);

        while (!m_stop) {
            {
                std::lock_guard<std::mutex> guard(m_users_lock);
                pthread_t user = m_users[random() % m_users.size()];

                if (user != 0) {
                    pthread_kill(user, SIGUSR1);
                }
            }
            std::this_thread::sleep_for(std::chrono::microseconds(
                    random() % 40));
        }
    }

    /* The handler */
    static void unmap_some(int)
    {
        s_state = s_state * 1103515245 + 12345;
        s_test->unmap_one((s_state >> 16) % NUM_BUFFERS);
    }

    void unmap_one(unsigned b)
    {
        uint64_t serial = m_world.serial();
        uint64_t before = m_min_serial[b];

        ++m_num_handled;
        ucs_rcache_pred_unmapped(m_pred, (uintptr_t)buffer(b),
                                 (uintptr_t)buffer(b, 4 * PAGE));
        while ((before < serial) &&
               !m_min_serial[b].compare_exchange_weak(before, serial)) {
        }
    }

    void end_use(use_under_way *u)
    {
        if (u == NULL) {
            return;
        }
        check_use(*u);
        if (ucs_rcache_pred_end(domain(), u->memh) != UCS_OK) {
            fail("a handle in use was not known");
        }
        delete u;
    }

    void run_storm_user(unsigned seed, unsigned generation)
    {
        std::mt19937 random(seed + 1000 * generation);

        for (unsigned i = 0; i < m_num_uses; ++i) {
            use_under_way *u = new use_under_way;
            ucs_status_t status;

            u->b          = pick(random, seed);
            u->offset     = (random() % 4) ? 0 : (random() % (3 * PAGE));
            u->length     = (u->offset == 0) ? 4 * PAGE :
                            1 + random() % (4 * PAGE - u->offset);
            u->min_serial = m_min_serial[u->b];
            status        = try_begin(buffer(u->b, u->offset), u->length,
                                      &u->memh, random() % 4, NULL,
                                      context(random() % 3));
            if (status != UCS_OK) {
                if (!m_may_fail) {
                    fail("no registration should have failed");
                }
                ++m_refused;
                delete u;
                continue;
            }

            check_use(*u);
            if (random() % 8 == 0) {
                u = m_boxes[random() % NUM_BOXES].exchange(u);
            }
            end_use(u);
        }
    }

    static inline test_lanes_storm               *s_test;
    /* Which memory the handlers of a thread unmap, at random */
    static inline thread_local volatile unsigned s_state;

    bool                        m_may_fail = false;
    std::mutex                  m_users_lock; /* Held while one gets a signal */
    std::vector<pthread_t>      m_users;      /* The thread in each place, or
                                                 0 */
    std::atomic<use_under_way*> m_boxes[NUM_BOXES] = {}; /* Uses for others to
                                                            end */
    std::atomic<unsigned>       m_num_handled{0};
};

TEST_F(test_lanes_storm, helper)
{
    run_in_child([this] {
        make_lanes();
        start_poller();
        run_storm(3, 4);
        finish();
    });
}

TEST_F(test_lanes_storm, short_queue)
{
    m_params.dq_size       = 2;
    m_params.known_regions = 16;
    run_in_child([this] {
        make_lanes();
        start_poller();
        start_unmapper();
        run_storm(3, 4);
        finish();
    });
}

TEST_F(test_lanes_storm, progress)
{
    m_params.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    run_in_child([this] {
        make_lanes();
        start_progress();
        run_storm(4, 4);
        finish();
    });
}

TEST_F(test_lanes_storm, many_threads)
{
    m_num_own   = 1;
    m_num_uses /= 30;
    run_in_child([this] {
        make_lanes();
        start_poller();
        run_storm(100, 4);
        finish();
    });
}

TEST_F(test_lanes_storm, bound)
{
    m_params.max_bytes   = 32 * 4 * PAGE;
    m_params.max_regions = 20;
    m_params.dq_size     = 4;
    m_may_fail           = true;
    run_in_child([this] {
        make_lanes();
        m_world.set_bound(m_params.max_bytes, m_params.max_regions);
        start_poller();
        run_storm(4, 4);
        finish();
    });
}

TEST_F(test_lanes_storm, purge_and_failures)
{
    m_may_fail = true;
    run_in_child([this] {
        make_lanes();
        m_world.fail_each(3);
        start_poller();
        m_threads.emplace_back([this] {
            while (!m_stop) {
                ucs_rcache_pred_purge(m_pred);
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        });
        run_storm(4, 4);
        finish();
    });
}
