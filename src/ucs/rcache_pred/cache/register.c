/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "event.h"

#include <ucs/rcache_pred/table/victim.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/* How many idle regions of its own a process gives up at most for an attempt to register
 * that the system refuses, unless their bytes are fewer than were refused */
#define REFUSED_PART 8

/* How many regions at most give way to other processes in one round. If that is not enough,
 * the others ask again with their next uses */
#define ANSWER_STEPS 64

/* When nobody has asked for so long, ns, the thread sleeps until the next ask wakes it. To
 * be woken for each ask would take more time where there are many */
#define QUIET_TIME 250000000

/* Each region that gives way moves the share of predicted ones
 * by 1 / FORETOLD_FADE of the distance */
#define FORETOLD_FADE 8

/*
 * Registers and deregisters memory, and measures what that costs. Deregisters idle regions
 * for room within a bound, for what the system refuses, and for other processes of the node.
 * Any thread may call these functions.
 */


/* Wait for the turn of this thread in the domain. The caller measures the cost of the
 * registration without this wait, which depends on other threads, and not on the
 * memory. */
static void domain_enter(const ucs_rcache_pred_domain_t *domain)
{
    if (domain->pred->ops.enter != NULL) {
        domain->pred->ops.enter(domain->arg);
    }
}

static void domain_leave(const ucs_rcache_pred_domain_t *domain)
{
    if (domain->pred->ops.leave != NULL) {
        domain->pred->ops.leave(domain->arg);
    }
}

/* How many pages this thread has waited for so far, which were in swap; 0 while memory is
 * not short */
static uint64_t count_faults(ucs_rcache_pred_t *pred, int is_short)
{
    return is_short ? pred->ops.faults(pred->params.arg) : 0;
}

/* While memory is short, note whether a registration has waited for pages that were in swap,
 * or for room for pages, and how long. Under lock. @return whether it has. */
static int note_read_back(pred_shortage_t *shortage, const ucs_rcache_pred_cost_t *cost,
                          size_t pages, ucs_rcache_pred_time_t time, uint64_t faults)
{
    ucs_rcache_pred_time_t usual = ucs_rcache_pred_cost_estimate(cost, NULL, pages);
    int has_waited               = (faults > 0) || (time > UCS_RCACHE_PRED_SLOW_TIMES * usual);

    if (has_waited) {
        shortage->read_back += pred_elapsed(usual, time);
        shortage->waited    += pred_elapsed(usual, time);
    }
    shortage->pages += pages;
    return has_waited;
}

/* Add the time of an operation to the estimates of its cost. Under lock. */
static void learn_cost(const pred_handle_t *handle, int is_reg,
                       ucs_rcache_pred_time_t time)
{
    ucs_rcache_pred_domain_t *domain = handle->domain;
    ucs_rcache_pred_region_t *region = handle->region;
    ucs_rcache_pred_own_t *own       = NULL;

    if ((region != NULL) && (region->generation == handle->id)) {
        own = is_reg ? &region->own_reg : &region->own_dereg;
    }
    ucs_rcache_pred_cost_update(is_reg ? &domain->reg_cost : &domain->dereg_cost, own,
                                pred_pages(domain->pred, &handle->range), time);
}

/* Add the time of an operation to the estimates of its cost, unless it has waited for
 * memory, and emit its event. Under lock. */
static void account(const pred_handle_t *handle,
                    ucs_rcache_pred_event_type_t type, ucs_rcache_pred_by_t by,
                    ucs_rcache_pred_time_t begin, ucs_rcache_pred_time_t end,
                    int has_waited, ucs_status_t status)
{
    if ((status == UCS_OK) && !has_waited) {
        learn_cost(handle, type == UCS_RCACHE_PRED_EVENT_REG,
                   pred_elapsed(begin, end));
    }

    /* UCS_ERR_UNSUPPORTED means that the cache does not manage this memory.
     * Such an attempt is no event */
    if (pred_has_sink(handle->domain->pred) && (status != UCS_ERR_UNSUPPORTED)) {
        pred_emit_registration(type, by, handle, begin, end, status);
    }
}

ucs_status_t pred_register(pred_handle_t *handle, ucs_rcache_pred_by_t by,
                           unsigned flags, ucs_rcache_pred_time_t *end_p)
{
    ucs_rcache_pred_t *pred = handle->domain->pred;
    size_t length           = ucs_rcache_pred_range_length(&handle->range);
    int is_short            = ucs_relaxed_load(&pred->shortage.is_short);
    ucs_rcache_pred_time_t begin;
    ucs_status_t status;
    int has_waited = 0;
    uint64_t faults;

    domain_enter(handle->domain);
    faults = count_faults(pred, is_short);
    begin  = pred_now(pred);
    status = pred->ops.mem_reg(handle->domain->arg, (void*)handle->range.start,
                               length, flags, &handle->memh);
    *end_p = pred_now(pred);
    faults = count_faults(pred, is_short) - faults;
    domain_leave(handle->domain);

    pred_lock(pred);
    if (status == UCS_OK) {
        handle->domain->bytes_now += length;
        ++handle->domain->regions_now;
    }
    if ((status == UCS_OK) && is_short) {
        has_waited = note_read_back(&pred->shortage, &handle->domain->reg_cost,
                                    pred_pages(pred, &handle->range),
                                    pred_elapsed(begin, *end_p), faults);
    }
    account(handle, UCS_RCACHE_PRED_EVENT_REG, by, begin, *end_p, has_waited,
            status);
    pred_unlock(pred);
    return status;
}

pred_handle_t pred_take_handle(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_extent_t *extent)
{
    pred_handle_t handle = pred_extent_handle(extent);

    handle.memh = ucs_rcache_pred_extent_take_memh(&pred->table, extent);
    /* The extent cannot give way any more: lower its rank now. Otherwise a search for a
     * victim would come upon each such extent, and lower the rank then. */
    ucs_rcache_pred_extent_rank(&pred->table, extent);
    ++handle.domain->releasing;
    ++pred->bound.releasing;
    return handle;
}

ucs_rcache_pred_time_t
pred_deregister(const pred_handle_t *handle, ucs_rcache_pred_by_t by)
{
    ucs_rcache_pred_domain_t *domain = handle->domain;
    ucs_rcache_pred_t *pred          = domain->pred;
    ucs_rcache_pred_time_t begin, end;
    ucs_status_t status;
    pred_reservation_t room;

    domain_enter(domain);
    begin  = pred_now(pred);
    status = pred->ops.mem_dereg(domain->arg, handle->memh);
    end    = pred_now(pred);
    domain_leave(domain);
    if (status == UCS_OK) {
        room         = pred_reservation(pred, &handle->range, PRED_PART_WHOLE);
        room.held    = handle->held;
        room.offered = handle->offered;
        /* Give room back to the node before this process: a thread that waits until this
         * handle is deregistered has to find room in both */
        if (pred->params.node != NULL) {
            pred_bound_give_node(pred, &room);
        }
    } else {
        /* Memory that could not be deregistered stays pinned, and stays
         * counted */
        ucs_warn("%s: failed to deregister %p..%p: %s", domain->name,
                 (void*)handle->range.start, (void*)handle->range.end,
                 ucs_status_string(status));
    }

    pred_lock(pred);
    if (status == UCS_OK) {
        (void)pred_bound_give_own(pred, &room, end);
        pred_bound_note_release(&pred->bound);
        ++pred->stats.deregs;
        domain->bytes_now -= ucs_rcache_pred_range_length(&handle->range);
        --domain->regions_now;
    }
    account(handle, UCS_RCACHE_PRED_EVENT_DEREG, by, begin, end, 0, status);
    --pred->bound.releasing;
    --domain->releasing; /* The domain may be destroyed from here on */
    pred_unlock(pred);
    return end;
}


/* @return for how long nobody will use an idle region, ns: until its next use. A use that
 *         is late is expected to be as late once more, and one that nobody expects as long
 *         from now as the last one ago. */
static uint64_t idle_time(const ucs_rcache_pred_t *pred,
                          const ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t deadline = ucs_rcache_pred_region_deadline(region);
    ucs_rcache_pred_time_t now      = pred_now(pred);

    return (deadline == UCS_RCACHE_PRED_TIME_INF) ? pred_elapsed(region->begin, now) :
           (deadline > now)                       ? (deadline - now) :
                                                    (now - deadline);
}

/* Find the idle extent whose next use is farthest away, if that use is expected after the
 * deadline. NULL: there is no such extent. Under the lock, which is released for a while
 * if the search takes long.
 *
 * @param [in] domain  The domain of which the extent has to be; NULL: any. */
static ucs_rcache_pred_extent_t *
find_victim(ucs_rcache_pred_t *pred, const ucs_rcache_pred_domain_t *domain,
            ucs_rcache_pred_time_t deadline)
{
    ucs_rcache_pred_extent_t *victim;

    while (!ucs_rcache_pred_table_victim(&pred->table, domain, &victim)) {
        pred_unlock(pred);
        pred_lock(pred);
    }

    return ((victim != NULL) &&
            (ucs_rcache_pred_region_deadline(ucs_rcache_pred_region_of(victim)) >
             deadline)) ?
           victim : NULL;
}

/* Count whether the next use of a region that gives way was predicted. Under lock. */
static void note_foretold(pred_bound_t *bound, const ucs_rcache_pred_region_t *region)
{
    bound->foretold += (region->foretold ? (PRED_FORETOLD_ALL / FORETOLD_FADE) : 0) -
                       (bound->foretold / FORETOLD_FADE);
}

/* Take the handle of a victim, and count the eviction by what had no room. If a use
 * registers the victim again, it loses time because room was scarce, and not because of a
 * decision of the helper: the field evicted tells the use. Under lock. */
static pred_handle_t take_victim(ucs_rcache_pred_t *pred,
                                 ucs_rcache_pred_extent_t *victim,
                                 pred_scarce_t scarce)
{
    victim->evicted = 1;
    note_foretold(&pred->bound, ucs_rcache_pred_region_of(victim));
    ++pred->stats.evictions;
    pred->stats.evictions_node   += (scarce == PRED_SCARCE_NODE);
    pred->stats.evictions_system += (scarce == PRED_SCARCE_SYSTEM);
    return pred_take_handle(pred, victim);
}

uint64_t pred_evict_of(ucs_rcache_pred_t *pred, const ucs_rcache_pred_domain_t *domain,
                       ucs_rcache_pred_time_t deadline, pred_scarce_t scarce,
                       uint64_t releases, uint64_t *idle_p, int *wait_p)
{
    const pred_bound_t *bound = &pred->bound;
    ucs_rcache_pred_extent_t *victim;
    pred_handle_t handle;

    pred_lock(pred);
    victim = find_victim(pred, domain, deadline);
    if (victim == NULL) {
        *wait_p = (bound->releasing > 0) || (bound->ahead_now > 0) ||
                  (ucs_relaxed_load(&bound->releases) != releases);
        pred_unlock(pred);
        return 0;
    }

    *idle_p = idle_time(pred, ucs_rcache_pred_region_of(victim));
    handle  = take_victim(pred, victim, scarce);
    pred_unlock(pred);

    pred_deregister(&handle, UCS_RCACHE_PRED_BY_USE);
    return pred_page_bytes(pred, &handle.range);
}

uint64_t pred_evict(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t deadline,
                    pred_scarce_t scarce)
{
    uint64_t idle;
    int wait;

    return pred_evict_of(pred, NULL, deadline, scarce, 0, &idle, &wait);
}

/* Offer an extent to other processes of the node. @return whether they still lacked its
 * room or key, so that the offer counts and the caller gives up the extent. */
static int offer(ucs_rcache_pred_t *pred, unsigned device,
                 const ucs_rcache_pred_extent_t *extent)
{
    pred_reservation_t room = pred_reservation(pred, &extent->range,
                                               PRED_PART_WHOLE);

    return ucs_rcache_pred_node_offer(pred->node, device, room.bytes, room.regions);
}

/* Deregister one idle region that nobody will use for longer than @a idle, ns, if other
 * processes still lack room, or keys of the device of @a domain. @return whether there was
 * such a region. */
static int evict_for_others(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_domain_t *domain, unsigned device,
                            uint64_t idle)
{
    ucs_rcache_pred_extent_t *victim;
    pred_handle_t handle;

    pred_lock(pred);
    victim = find_victim(pred, domain, 0);
    if ((victim == NULL) ||
        (idle_time(pred, ucs_rcache_pred_region_of(victim)) <= idle) ||
        !offer(pred, device, victim)) {
        pred_unlock(pred);
        return 0;
    }

    handle         = take_victim(pred, victim, PRED_SCARCE_NODE);
    handle.offered = (domain == NULL);
    pred_unlock(pred);

    pred_deregister(&handle, UCS_RCACHE_PRED_BY_USE);
    return 1;
}

/* Give up what other processes lack: keys of the device of a domain, or room in the bounds
 * of the node (NULL, UCS_RCACHE_PRED_NODE_DEVICES) */
static void answer(ucs_rcache_pred_t *pred, const ucs_rcache_pred_domain_t *domain,
                   unsigned device)
{
    unsigned left = ANSWER_STEPS;
    uint64_t idle;

    if (ucs_rcache_pred_node_lacks(pred->node, device, &idle)) {
        while ((left-- > 0) && evict_for_others(pred, domain, device, idle)) {
        }
    }
}

void pred_answer_node(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_domain_t *domain;

    if ((pred->node == NULL) || !ucs_rcache_pred_node_is_asked(pred->node)) {
        return;
    }

    pred->asked = pred_now(pred);
    answer(pred, NULL, UCS_RCACHE_PRED_NODE_DEVICES);
    ucs_list_for_each(domain, &pred->domains, list) {
        if (pred_counts_keys(domain)) {
            answer(pred, domain, domain->limits.device);
        }
    }
}

ucs_rcache_pred_time_t
pred_answer_due(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    return ((pred->node == NULL) ||
            ((pred_elapsed(pred->asked, now) > QUIET_TIME) &&
             ucs_rcache_pred_node_may_sleep(pred->node))) ?
           UCS_RCACHE_PRED_TIME_INF : (now + PRED_ANSWER_INTERVAL);
}

int pred_ask_keys(const ucs_rcache_pred_domain_t *domain, uint64_t idle)
{
    return pred_may_lack_keys(domain) &&
           ucs_rcache_pred_node_ask_keys(domain->limits.node, domain->limits.device,
                                         idle);
}

int pred_cure(pred_cure_t *cure, ucs_rcache_pred_time_t deadline)
{
    ucs_rcache_pred_domain_t *domain = cure->domain;
    uint64_t bytes                   = 0;
    int wait;

    if ((cure->regions < REFUSED_PART) || (cure->given < cure->bytes)) {
        /* Another device may have other keys */
        bytes = pred_evict_of(domain->pred, pred_may_lack_keys(domain) ? domain : NULL,
                              deadline, PRED_SCARCE_SYSTEM, 0, &cure->idle, &wait);
    }

    cure->given   += bytes;
    cure->regions += (bytes > 0);
    if ((bytes == 0) && (deadline == 0)) {
        cure->others = pred_ask_keys(domain, 0);
    }
    return bytes > 0;
}

int ucs_rcache_pred_cure(ucs_rcache_pred_domain_t *domain, size_t length)
{
    pred_cure_t cure = {.domain = domain, .bytes = length};

    while (pred_cure(&cure, 0)) {
    }
    return cure.others || (cure.regions > 0);
}
