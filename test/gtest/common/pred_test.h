/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_PRED_TEST_H_
#define PREDREG_GTEST_PRED_TEST_H_

#include "fake_world.h"
#include "log_watch.h"

#include <deque>

/* A cache in a fake world, and a helper that is polled on its fake clock */
class pred_test : public ::testing::Test {
public:
    typedef ucs_rcache_pred_stats_t   stats_t;
    typedef ucs_rcache_pred_context_t context_t;
    typedef ucs_rcache_pred_domain_t  domain_t;

    /* Bits of the flags of a use */
    static constexpr unsigned ACCESS_READ  = 0x1;
    static constexpr unsigned ACCESS_WRITE = 0x2;
    /* A flag that does not widen access */
    static constexpr unsigned HINT         = 0x10;
    static constexpr unsigned HELPER_FLAG  = 0x100;

    static context_t context(uint64_t caller, uint64_t window = 0);

    ucs_status_t try_begin(void *address, size_t length, void **memh_p,
                           unsigned flags = 0, domain_t *dom = NULL,
                           const context_t &ctx = context(1));
    /* Fails the test if it does not succeed or the handle does not cover the
     * use */
    void *begin(void *address, size_t length, unsigned flags = 0,
                domain_t *dom = NULL, const context_t &ctx = context(1));
    void end(void *memh, domain_t *dom = NULL);

protected:
    pred_test();
    ~pred_test();
    void TearDown() override;

    /* Create the cache with m_params, and a domain */
    void create();
    void recreate(); /* with changed parameters */
    void set_policy(ucs_rcache_pred_policy_t policy);
    domain_t *new_domain(const char *name);
    domain_t *domain(unsigned index = 0);
    void destroy_domain(unsigned index);
    void destroy();

    /* An address in memory that does not exist: nothing here touches it */
    static void *buffer(unsigned index, size_t offset = 0);

    void use(void *address, size_t length, uint64_t duration = 10 * USEC,
             const context_t &ctx = context(1));

    /* Let the helper do one round now; @return when it wants the next one */
    uint64_t poll();
    /* Let time pass, and poll the helper whenever it has asked for that */
    void run_until(uint64_t time);
    void run(uint64_t time) { run_until(now() + time); }
    /* Let time pass, and check that the helper sleeps in the end without a time
     * to wake up. Few tests predict a use in more than an hour. */
    void run_until_asleep(uint64_t limit = 3600 * SEC);

    uint64_t now() const { return m_world.now(); }
    stats_t stats();
    void validate();
    /* Compare the counters with what the world counted. With refusals the
     * integral over time may be larger: a registration that the system refuses
     * is counted while others are given up for it. */
    void check_accounting(bool refusals = false);

    /* A completion that adds one to the unsigned that its argument points to */
    static void count_cb(void *arg) { ++*(unsigned*)arg; }

    /* Unmap memory as a memory hook does, and fail the test if the library
     * allocates in it */
    void unmap(void *address, size_t length);

    /* Make two regions that are kept registered, since their uses come too
     * often for a deregistration in between. The next use of near is predicted
     * earlier than that of far. */
    void keep_two(void *near, void *far);

    fake_world               m_world;
    ucs_rcache_pred_params_t m_params;
    ucs_rcache_pred_t        *m_pred;

private:
    std::deque<fake_world::domain> m_fake_domains;
    std::vector<domain_t*>         m_domains;
    uint64_t                       m_next_poll;
    unsigned                       m_wakes_seen;
};


/* A program that communicates, and makes a context of every communication as
 * the overridden functions do */
class program {
public:
    typedef std::function<void(void*, size_t, const pred_test::context_t&)>
            use_t;

    program(use_t use, unsigned window_length = 2) :
        m_use(use), m_window{}, m_window_length(window_length)
    {
    }

    void communicate(uintptr_t caller, void *address, size_t length,
                     ucs_rcache_pred_comm_t comm = UCS_RCACHE_PRED_COMM_RECV)
    {
        pred_test::context_t context;

        ucs_rcache_pred_context_add(&m_window, m_window_length, comm,
                                    address, (void*)caller,
                                    0x7fff0000ul, &context);
        m_use(address, length, context);
    }

private:
    use_t                    m_use;
    ucs_rcache_pred_window_t m_window;
    unsigned                 m_window_length;
};

#endif
