/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FAKE_WORLD_H_
#define PREDREG_GTEST_FAKE_WORLD_H_

#include "library.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

/*
 * The outside world of a cache: a clock that moves when told to, and memory
 * domains that remember what is registered. Thread safe. What must never
 * happen (a handle deregistered twice, or in another domain) is collected as
 * an error, and check() fails the test for it.
 */
class fake_world {
public:
    /* What the cache passes to reg and dereg as the argument of a domain */
    struct domain {
        fake_world *world;
    };

    struct registration {
        const domain *dom;
        uintptr_t    address;
        size_t       length;
        unsigned     flags;
        uint64_t     serial; /* Numbers them as they started */
    };

    /* How long an operation takes: so many ns for each page, and so many in
     * all */
    struct cost {
        uint64_t page;
        uint64_t op;
    };

    typedef std::function<void(const registration&)> hook_t;

    static const ucs_rcache_pred_ops_t ops;

    fake_world();

    /* Clock */
    uint64_t now() const { return m_now; }
    void advance(uint64_t time) { m_now += time; }
    void advance_to(uint64_t time);
    /* Let the clock jump forward or back, as a correct one would not */
    void jump(int64_t time) { m_now += time; }
    /* Let the clock advance by so much each time it is read. Tests with several
     * threads need time to pass although nobody advances it. */
    void set_tick(uint64_t tick) { m_tick = tick; }
    /* How often the clock was read */
    uint64_t num_now() const { return m_num_now; }

    void set_page_size(size_t size) { m_page_size = size; }
    size_t page_size() const { return m_page_size; }

    /* Registration */
    void set_reg_cost(uint64_t page, uint64_t op) { m_reg_cost = {page, op}; }
    void set_dereg_cost(uint64_t page, uint64_t op);
    /* Let the nth registration from now on fail, and those after it, so many in
     * all; none if nth is 0 */
    void fail_nth_reg(unsigned nth, unsigned times = 1,
                      ucs_status_t status = UCS_ERR_IO_ERROR);
    /* Let one in so many registrations fail; none if it is 0 */
    void fail_each(unsigned each) { m_fail_each = each; }
    /* Refuse registrations that would exceed so many bytes in all */
    void limit_bytes(size_t bytes) { m_limit = bytes; }
    /* Refuse registrations beyond so many at a time */
    void limit_keys(uint64_t keys) { m_keys = keys; }
    /* Let deregistrations fail: they leave the memory registered */
    void fail_deregs(bool fail) { m_fail_deregs = fail; }
    /* Called in the middle of an operation: its time has passed, and whether it
     * succeeds is not decided yet */
    hook_t on_reg, on_dereg;
    /* Called before and after an operation, by the thread that does it */
    std::function<void()> on_enter, on_leave;

    bool is_live(const void *memh) const;
    /* Whether the handle is live and covers all of the range */
    bool covers(const void *memh, const void *address, size_t length) const;
    registration get(const void *memh) const;
    /* How many live registrations start at the address */
    unsigned num_live_at(const void *address) const;
    size_t num_live() const;
    unsigned num_regs() const { return m_num_regs; }   /* Successful ones */
    unsigned num_deregs() const { return m_num_deregs; }

    /* Bytes of whole pages that are registered or being registered: now, at
     * most until now, and integrated over time */
    uint64_t bytes_now() const { return m_bytes_now; }
    uint64_t bytes_peak() const { return m_bytes_peak; }
    uint64_t byte_ns();
    /* Registrations, likewise */
    uint64_t regions_now() const { return m_regions_now; }
    uint64_t regions_peak() const { return m_regions_peak; }

    /* Somebody else registers or, with negative numbers, deregisters whole
     * pages: no domain of the cache does it, but it counts as the others do */
    void occupy(int64_t bytes, int64_t regions);

    /* From now on it is an error if this is exceeded at any instant */
    void set_bound(uint64_t bytes, uint64_t regions = UINT64_MAX);

    /* How many registrations have been started */
    uint64_t serial() const { return m_serial; }

    /* Start counting registrations and bytes anew; nothing must be live */
    void reset_counters();

    /* Expect that the handle is not deregistered any more: check() does not
     * call it a leak */
    void abandon(void *memh);

    /* The seat that the cache is told it has among the processes of a node */
    ucs_rcache_pred_seat_t seat;
    /* The number of idle processors changes between 0 and 1 each time the cache
     * has asked for its seat so many times; never if 0 */
    unsigned               seat_turns;
    uint64_t demand() const { return m_demand; }
    unsigned num_seats() const { return m_num_seats; }

    /* ops, with functions that tell how long processes wait for memory */
    static ucs_rcache_pred_ops_t ops_with_waits();
    /* For which part of the time they do */
    double                waits = 0;
    /* How many pages registrations have waited for */
    std::atomic<uint64_t> faults{0};

    /* Where registrations are counted as keys of a device, if anywhere */
    ucs_rcache_pred_node_t *node  = nullptr;
    unsigned               device = 0;
    /* Whether keys may have been short, when a registration was refused */
    bool                   may_lack_keys = true;

    unsigned num_wakes() const { return m_num_wakes; }

    /* Fail the test for errors and leaks */
    void check() const;

private:
    typedef std::lock_guard<std::mutex> guard;

    static ucs_rcache_pred_time_t op_now(void *arg);
    static void op_wait(void *arg, ucs_rcache_pred_time_t until);
    static void op_wake(void *arg);
    static ucs_status_t op_reg(void *arg, void *address, size_t length,
                               unsigned flags, void **memh_p);
    static ucs_status_t op_dereg(void *arg, void *memh);
    static void op_enter(void *arg);
    static void op_leave(void *arg);
    static int op_may_lack_keys(void *arg);
    static void op_seat(void *arg, uint64_t demand,
                        ucs_rcache_pred_seat_t *seat);

    static double op_waits(void *arg, unsigned *procs_p);
    static uint64_t op_faults(void *arg);

    ucs_status_t reg(registration r, void **memh_p);
    ucs_status_t dereg(const domain *dom, void *memh);
    static void run_hook(hook_t hook, const registration &r);
    ucs_status_t reg_verdict();
    void account(int64_t pages, int64_t regions);

    std::atomic<uint64_t>         m_now;
    std::atomic<uint64_t>         m_num_now;
    uint64_t                      m_tick;
    std::atomic<unsigned>         m_num_wakes;
    uint64_t                      m_demand;
    std::atomic<unsigned>         m_num_seats;
    std::atomic<uint64_t>         m_serial;
    cost                          m_reg_cost;
    cost                          m_dereg_cost;
    unsigned                      m_fail_countdown;
    unsigned                      m_fail_times;
    unsigned                      m_fail_each = 0;
    ucs_status_t                  m_fail_status;
    bool                          m_fail_deregs;
    size_t                        m_limit;
    uint64_t                      m_keys;
    size_t                        m_page_size;

    mutable std::mutex            m_lock; /* What follows */
    std::map<void*, registration> m_live;
    uintptr_t                     m_next_memh;
    unsigned                      m_num_regs;
    unsigned                      m_num_deregs;
    uint64_t                      m_bytes_now;
    uint64_t                      m_bytes_peak;
    uint64_t                      m_regions_now;
    uint64_t                      m_regions_peak;
    uint64_t                      m_max_bytes;
    uint64_t                      m_max_regions;
    uint64_t                      m_byte_ns;
    uint64_t                      m_account_time;
    std::vector<std::string>      m_errors;
};

#endif
