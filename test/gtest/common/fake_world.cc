/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_world.h"

#include <algorithm>


const ucs_rcache_pred_ops_t fake_world::ops = {
    fake_world::op_now, fake_world::op_wait, fake_world::op_wake,
    fake_world::op_reg, fake_world::op_dereg, fake_world::op_enter,
    fake_world::op_leave, fake_world::op_seat, nullptr, nullptr, nullptr,
    nullptr, nullptr,
    fake_world::op_may_lack_keys
};

fake_world::fake_world() :
    seat{1, 1, 4 * MSEC, 1}, seat_turns(0), m_now(SEC), m_num_now(0),
    m_tick(0), m_num_wakes(0), m_demand(0), m_num_seats(0), m_serial(0),
    m_reg_cost{50, 10000}, m_dereg_cost{10, 5000}, m_fail_countdown(0),
    m_fail_times(0), m_fail_status(UCS_OK), m_fail_deregs(false),
    m_limit(SIZE_MAX), m_keys(UINT64_MAX), m_page_size(PAGE), m_next_memh(0x10000), m_num_regs(0), m_num_deregs(0),
    m_bytes_now(0), m_bytes_peak(0), m_regions_now(0), m_regions_peak(0),
    m_max_bytes(UINT64_MAX), m_max_regions(UINT64_MAX), m_byte_ns(0),
    m_account_time(m_now)
{
}

void fake_world::advance_to(uint64_t time)
{
    uint64_t now = m_now;

    while ((now < time) && !m_now.compare_exchange_weak(now, time)) {
    }
}

void fake_world::set_dereg_cost(uint64_t page, uint64_t op)
{
    m_dereg_cost = {page, op};
}

void fake_world::fail_nth_reg(unsigned nth, unsigned times,
                              ucs_status_t status)
{
    m_fail_countdown = nth;
    m_fail_times     = times;
    m_fail_status    = status;
}

void fake_world::set_bound(uint64_t bytes, uint64_t regions)
{
    guard g(m_lock);
    m_max_bytes   = bytes;
    m_max_regions = regions;
}

bool fake_world::is_live(const void *memh) const
{
    guard g(m_lock);
    return m_live.count(const_cast<void*>(memh)) > 0;
}

bool fake_world::covers(const void *memh, const void *address,
                        size_t length) const
{
    guard g(m_lock);
    auto it = m_live.find(const_cast<void*>(memh));

    return (it != m_live.end()) &&
           (it->second.address <= (uintptr_t)address) &&
           (it->second.address + it->second.length >=
            (uintptr_t)address + length);
}

fake_world::registration fake_world::get(const void *memh) const
{
    guard g(m_lock);
    return m_live.at(const_cast<void*>(memh));
}

unsigned fake_world::num_live_at(const void *address) const
{
    guard g(m_lock);
    return std::count_if(m_live.begin(), m_live.end(),
                         [address](const auto &entry) {
                             return entry.second.address == (uintptr_t)address;
                         });
}

size_t fake_world::num_live() const
{
    guard g(m_lock);
    return m_live.size();
}

uint64_t fake_world::byte_ns()
{
    guard g(m_lock);
    account(0, 0);
    return m_byte_ns;
}

void fake_world::reset_counters()
{
    guard g(m_lock);
    EXPECT_TRUE(m_live.empty());
    m_num_regs = m_num_deregs = m_bytes_peak = m_regions_peak = m_byte_ns = 0;
    m_account_time = m_now;
}

void fake_world::abandon(void *memh)
{
    guard g(m_lock);
    EXPECT_EQ(1u, m_live.erase(memh));
}

void fake_world::check() const
{
    guard g(m_lock);

    for (const auto &error : m_errors) {
        ADD_FAILURE() << error;
    }

    for (const auto &entry : m_live) {
        ADD_FAILURE() << "leaked " << entry.second.length << " bytes at "
                      << (void*)entry.second.address << ", handle "
                      << entry.first;
    }
}

/* Under the lock */
void fake_world::account(int64_t pages, int64_t regions)
{
    m_byte_ns      += m_bytes_now * (m_now - m_account_time);
    m_account_time  = m_now;
    m_bytes_now    += pages * (int64_t)m_page_size;
    m_regions_now  += regions;
    m_bytes_peak    = std::max(m_bytes_peak, m_bytes_now);
    m_regions_peak  = std::max(m_regions_peak, m_regions_now);

    if (((pages > 0) || (regions > 0)) &&
        ((m_bytes_now > m_max_bytes) || (m_regions_now > m_max_regions))) {
        m_errors.push_back("the bound was exceeded: " +
                           std::to_string(m_bytes_now) + " bytes, " +
                           std::to_string(m_regions_now) + " regions");
    }
}

void fake_world::occupy(int64_t bytes, int64_t regions)
{
    guard g(m_lock);
    account(bytes / (int64_t)m_page_size, regions);
}

/* Under the lock */
ucs_status_t fake_world::reg_verdict()
{
    if (m_fail_countdown > 1) {
        --m_fail_countdown;
    } else if ((m_fail_countdown == 1) && (m_fail_times > 0)) {
        --m_fail_times;
        return m_fail_status;
    }

    if ((m_fail_each > 0) && (m_serial % m_fail_each == 0)) {
        return UCS_ERR_IO_ERROR;
    }

    return ((m_bytes_now > m_limit) || (m_regions_now > m_keys)) ?
           UCS_ERR_NO_MEMORY : UCS_OK;
}

/* The hook is passed by value, since it may set itself to NULL while it runs */
void fake_world::run_hook(hook_t hook, const registration &r)
{
    if (hook) {
        hook(r);
    }
}

ucs_status_t fake_world::reg(registration r, void **memh_p)
{
    size_t pages = ucs_rcache_pred_pages(r.address, r.length, m_page_size);
    ucs_status_t status;

    {
        guard g(m_lock);
        account(pages, +1);
    }

    r.serial = ++m_serial;
    advance(m_reg_cost.page * pages + m_reg_cost.op);
    run_hook(on_reg, r);

    guard g(m_lock);
    status = reg_verdict();
    if (status != UCS_OK) {
        account(-(int64_t)pages, -1);
        return status;
    }

    if (node != nullptr) {
        ucs_rcache_pred_node_key_taken(node, device);
    }
    ++m_num_regs;
    m_next_memh += 0x40; /* No handle is given out twice */
    *memh_p      = (void*)m_next_memh;
    m_live.emplace(*memh_p, r);
    return UCS_OK;
}

ucs_status_t fake_world::dereg(const domain *dom, void *memh)
{
    registration r;
    size_t pages;

    {
        guard g(m_lock);
        auto it = m_live.find(memh);
        if ((it == m_live.end()) || (it->second.dom != dom)) {
            m_errors.push_back((it == m_live.end()) ?
                               "a handle was deregistered that is not live" :
                               "a handle was deregistered in another domain");
            return UCS_OK;
        }

        if (m_fail_deregs) {
            return UCS_ERR_BUSY;
        }

        r     = it->second;
        pages = ucs_rcache_pred_pages(r.address, r.length, m_page_size);
        m_live.erase(it);
    }

    advance(m_dereg_cost.page * pages + m_dereg_cost.op);
    run_hook(on_dereg, r);

    guard g(m_lock);
    account(-(int64_t)pages, -1);
    if (node != nullptr) {
        ucs_rcache_pred_node_key_given(node, device);
    }
    ++m_num_deregs;
    return UCS_OK;
}

ucs_rcache_pred_time_t fake_world::op_now(void *arg)
{
    fake_world *world = (fake_world*)arg;

    ++world->m_num_now;
    return world->m_now += world->m_tick;
}

void fake_world::op_wait(void *arg, ucs_rcache_pred_time_t until)
{
    ((fake_world*)arg)->advance_to(until);
}

int fake_world::op_may_lack_keys(void *arg)
{
    return ((const domain*)arg)->world->may_lack_keys;
}

void fake_world::op_wake(void *arg)
{
    ++((fake_world*)arg)->m_num_wakes;
}

ucs_status_t fake_world::op_reg(void *arg, void *address, size_t length,
                                unsigned flags, void **memh_p)
{
    domain *dom = (domain*)arg;

    return dom->world->reg({dom, (uintptr_t)address, length, flags, 0},
                           memh_p);
}

ucs_status_t fake_world::op_dereg(void *arg, void *memh)
{
    domain *dom = (domain*)arg;

    return dom->world->dereg(dom, memh);
}

void fake_world::op_enter(void *arg)
{
    fake_world *world = ((domain*)arg)->world;

    if (world->on_enter) {
        world->on_enter();
    }
}

void fake_world::op_leave(void *arg)
{
    fake_world *world = ((domain*)arg)->world;

    if (world->on_leave) {
        world->on_leave();
    }
}

/* Only one round of the helper at a time asks for the seat: these need no
 * lock */
void fake_world::op_seat(void *arg, uint64_t demand,
                         ucs_rcache_pred_seat_t *seat)
{
    fake_world *world = (fake_world*)arg;

    world->m_demand = demand;
    ++world->m_num_seats;
    *seat = world->seat;
    if (world->seat_turns > 0) {
        seat->idle = (world->m_num_seats / world->seat_turns) % 2;
    }
}

double fake_world::op_waits(void *arg, unsigned *procs_p)
{
    *procs_p = 1;
    return ((fake_world*)arg)->waits;
}

uint64_t fake_world::op_faults(void *arg)
{
    return ((fake_world*)arg)->faults;
}

ucs_rcache_pred_ops_t fake_world::ops_with_waits()
{
    ucs_rcache_pred_ops_t result = ops;

    result.waits  = op_waits;
    result.faults = op_faults;
    return result;
}
