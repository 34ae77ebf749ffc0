/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "local_int.h"

#include <stdlib.h>

/* Most local pins that are let in before an older local pin that waits for room. After
 * this number, the oldest waiting pin is the next one, like the request with the
 * deadlock-avoidance bit in the remote table (section 4.1 of the paper, "Local Client
 * Requests"). Nothing more is needed against deadlocks, since a waiting pin holds
 * nothing */
#define MAX_PASSED 8


/* @return the registration for a bucket of a pin, by index from 0, or NULL */
static ucp_fh_reg_t *
find_reg(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin, uint64_t index)
{
    return ucp_fh_reg_find(table, pin->run.first + index, &pin->span);
}

int ucp_fh_run_is_pinned(const ucp_fh_local_t *table, const ucp_fh_run_t *run,
                         const ucp_fh_span_t *span)
{
    const ucp_fh_reg_t *reg;
    uint64_t i;

    for (i = 0; i < run->num; ++i) {
        reg = ucp_fh_reg_find(table, run->first + i, span);
        if ((reg == NULL) || (reg->state != UCP_FH_REG_PINNED) ||
            reg->is_withdrawn) {
            return 0;
        }
    }

    return 1;
}

/* Whether memory of a pin is being withdrawn. For a pin of a peer, whether any memory of
 * its bucket is being withdrawn: the peer has one key for all of the bucket */
static int is_withdrawn(const ucp_fh_local_t *table, uint32_t peer,
                        const ucp_fh_run_t *run, const ucp_fh_span_t *span)
{
    ucp_fh_withdraw_t *withdraw = NULL;

    while ((withdraw = ucp_fh_withdraw_next(table, withdraw, run)) != NULL) {
        if ((peer != UCP_FH_LOCAL) ||
            ucp_fh_span_overlaps(&withdraw->span, span)) {
            return 1;
        }
    }

    return 0;
}

/* Whether registrations, pinned or not, cover all memory of a local pin */
static int is_covered(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin)
{
    uint64_t i;

    for (i = 0; i < pin->run.num; ++i) {
        if (ucp_fh_reg_find(table, pin->run.first + i, &pin->wanted) == NULL) {
            return 0;
        }
    }

    return 1;
}

/* Set the memory that a pin needs, pin->span. A local pin within exposed memory gets as
 * much of each bucket as a peer would get, so that the next pin there, local or of a
 * peer, finds the memory pinned. @return UCS_ERR_INVALID_ADDR if a peer wants a bucket
 * that is not exposed */
static ucs_status_t set_span(const ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucp_fh_run_t first = {pin->run.first, 1};
    const ucp_fh_exposed_t *exposed =
            (const ucp_fh_exposed_t*)ucp_fh_places_first(&table->exposed, &first);

    if ((pin->peer != UCP_FH_LOCAL) && (exposed == NULL)) {
        return UCS_ERR_INVALID_ADDR;
    }

    if ((pin->peer == UCP_FH_LOCAL) &&
        ((exposed == NULL) || is_covered(table, pin) ||
         !ucp_fh_span_is_within(&pin->wanted, &exposed->span))) {
        pin->span = pin->wanted;
    } else {
        pin->span = ucp_fh_span_clip(&exposed->span, table->params.shift,
                                     &pin->run);
    }
    return UCS_OK;
}

static ucs_status_t
check_peer(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin)
{
    return (table->holders[pin->peer].num_grants >= table->share) ?
                   UCS_ERR_EXCEEDS_LIMIT :
           (ucp_fh_grant_find(table, pin->peer, pin->run.first) != NULL) ?
                   UCS_ERR_ALREADY_EXISTS : UCS_OK;
}

/* @return UCS_OK if a pin, whose span is set, may be let in; UCS_INPROGRESS if the pin
 * has to wait, for room or for a bucket that is being unpinned; or the error with which
 * the pin ends */
static ucs_status_t
check(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin)
{
    uint64_t num_unused = 0;
    const ucp_fh_reg_t *reg;
    ucs_status_t status;
    uint64_t i;

    if (is_withdrawn(table, pin->peer, &pin->run, &pin->span)) {
        return UCS_ERR_INVALID_ADDR;
    }

    if (pin->peer != UCP_FH_LOCAL) {
        status = check_peer(table, pin);
        if (status != UCS_OK) {
            return status;
        }
    }

    for (i = 0; i < pin->run.num; ++i) {
        reg         = find_reg(table, pin, i);
        num_unused += (reg == NULL) || (reg->uses == 0);
        if (reg == NULL) {
            continue;
        }

        if (reg->is_withdrawn) {
            return reg->is_kept ? UCS_ERR_INVALID_ADDR : UCS_INPROGRESS;
        }
        if (reg->state == UCP_FH_REG_UNPINNING) {
            return UCS_INPROGRESS;
        }
    }

    return ((pin->peer == UCP_FH_LOCAL) &&
            (table->num_local + num_unused > table->max_local)) ?
                   UCS_INPROGRESS :
                   UCS_OK;
}

void ucp_fh_pin_init(ucp_fh_pin_t *pin, const ucp_fh_run_t *run, uint32_t peer)
{
    pin->comp.status = UCS_INPROGRESS;
    pin->run         = *run;
    pin->wanted      = (ucp_fh_span_t){};
    pin->span        = pin->wanted;
    pin->peer        = peer;
    pin->state       = UCP_FH_PIN_ENDED;
    pin->passed      = 0;
    pin->num_done    = 0;
    pin->serve       = NULL;
}

/* Remove the registrations added last, which have no uses yet */
static void remove_regs(ucp_fh_local_t *table, uint64_t num)
{
    ucp_fh_reg_t *reg;

    for (; num > 0; --num) {
        reg = ucs_list_tail(&table->to_pin, ucp_fh_reg_t, link);
        ucs_list_del(&reg->link);
        ucp_fh_reg_destroy(table, reg);
    }
}

/* Add the missing registrations of a pin */
static ucs_status_t
add_regs(ucp_fh_local_t *table, const ucp_fh_pin_t *pin, uint64_t *num_p)
{
    ucp_fh_bucket_t bucket = pin->run.first;

    *num_p = 0;
    for (; bucket < ucp_fh_run_end(&pin->run); ++bucket) {
        if (ucp_fh_reg_find(table, bucket, &pin->span) != NULL) {
            continue;
        }

        if (ucp_fh_reg_add(table, bucket, &pin->span) == NULL) {
            remove_regs(table, *num_p);
            return UCS_ERR_NO_MEMORY;
        }
        ++*num_p;
    }
    return UCS_OK;
}

/* Begin the uses of a local pin, or give a peer its firehose. @return UCS_OK, or
 * UCS_ERR_NO_MEMORY: then nothing was begun */
static ucs_status_t count(ucp_fh_local_t *table, const ucp_fh_pin_t *pin)
{
    uint64_t i;

    if (pin->peer != UCP_FH_LOCAL) {
        return ucp_fh_grant_add(table, pin->peer, find_reg(table, pin, 0));
    }

    for (i = 0; i < pin->run.num; ++i) {
        ucp_fh_reg_use(table, find_reg(table, pin, i));
    }
    return UCS_OK;
}

/* Let a pin in for which check() said UCS_OK. @return UCS_OK, or UCS_ERR_NO_MEMORY */
static ucs_status_t let_in(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucs_status_t status;
    uint64_t num_regs;

    status = add_regs(table, pin, &num_regs);
    if (status != UCS_OK) {
        return status;
    }

    status = count(table, pin);
    if (status != UCS_OK) {
        remove_regs(table, num_regs);
        return status;
    }

    pin->state    = UCP_FH_PIN_ACTIVE;
    pin->num_done = 0;
    ucs_list_add_tail(&table->active, &pin->link);
    return UCS_OK;
}

/* @return the oldest waiting local pin, or NULL */
static ucp_fh_pin_t *get_oldest(const ucp_fh_local_t *table)
{
    ucp_fh_pin_t *pin;

    ucs_list_for_each(pin, &table->queue, link) {
        if (pin->peer == UCP_FH_LOCAL) {
            return pin;
        }
    }

    return NULL;
}

/* Whether a pin is a local one that would be let in before the oldest waiting local
 * pin */
static int passes(const ucp_fh_pin_t *pin, const ucp_fh_pin_t *oldest)
{
    return (pin->peer == UCP_FH_LOCAL) && (oldest != NULL) && (oldest != pin);
}

/* Let a pin in if nothing hinders it. @return as ucp_fh_pin_begin(); but a pin with
 * UCS_INPROGRESS that was not let in is still UCP_FH_PIN_ENDED, and in no list */
static ucs_status_t try_begin(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                              ucp_fh_pin_t *oldest)
{
    ucs_status_t status;

    if (passes(pin, oldest) && (oldest->passed >= MAX_PASSED)) {
        return UCS_INPROGRESS;
    }

    status = set_span(table, pin);
    if (status != UCS_OK) {
        return status;
    }

    status = check(table, pin);
    if (status != UCS_OK) {
        return status;
    }

    status = let_in(table, pin);
    if (status != UCS_OK) {
        return status;
    }

    if (passes(pin, oldest)) {
        ++oldest->passed;
    }
    return ucp_fh_pin_advance(table, pin) ? UCS_OK : UCS_INPROGRESS;
}

ucs_status_t ucp_fh_pin_begin(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucs_status_t status = try_begin(table, pin, get_oldest(table));

    if ((status == UCS_INPROGRESS) && (pin->state == UCP_FH_PIN_ENDED)) {
        pin->state = UCP_FH_PIN_QUEUED;
        ucs_list_add_tail(&table->queue, &pin->link);
    }
    return status;
}

ucs_status_t ucp_fh_pin_hit(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucs_status_t status;

    if (!ucp_fh_run_is_pinned(table, &pin->run, &pin->wanted)) {
        return UCS_ERR_NO_RESOURCE;
    }

    status = try_begin(table, pin, get_oldest(table));
    return (status == UCS_INPROGRESS) ? UCS_ERR_NO_RESOURCE : status;
}

int ucp_fh_pin_advance(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucp_fh_reg_t *reg;

    for (; pin->num_done < pin->run.num; ++pin->num_done) {
        reg = find_reg(table, pin, pin->num_done);
        if (reg->state != UCP_FH_REG_PINNED) {
            ucs_list_add_tail(&reg->waiters, &pin->wait);
            return 0;
        }
    }

    ucs_list_del(&pin->link);
    pin->state = (pin->peer == UCP_FH_LOCAL) ? UCP_FH_PIN_PINNED :
                                               UCP_FH_PIN_ENDED;
    return 1;
}

void ucp_fh_pin_end(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                    ucs_status_t status)
{
    ucp_fh_serve_t *serve = pin->serve;

    if (serve == NULL) {
        ucp_fh_comp_end(&pin->comp, &table->ended, status);
        return;
    }

    pin->comp.status = status;
    if (--serve->num_left == 0) {
        ucp_fh_comp_end(&serve->comp, &table->ended,
                        table->holders[serve->peer].has_failed ?
                                UCS_ERR_UNREACHABLE : UCS_OK);
    }
}

void ucp_fh_pin_drop(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    uint64_t i;

    if (pin->peer != UCP_FH_LOCAL) {
        ucp_fh_grant_drop(table, ucp_fh_grant_find(table, pin->peer,
                                                   pin->run.first));
        return;
    }

    for (i = 0; i < pin->run.num; ++i) {
        ucp_fh_reg_unuse(table, find_reg(table, pin, i));
    }
}

void ucp_fh_pin_fail(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                     ucs_status_t status)
{
    if (pin->state == UCP_FH_PIN_ACTIVE) {
        ucs_list_del(&pin->wait);
        ucp_fh_pin_drop(table, pin);
    }

    ucs_list_del(&pin->link);
    pin->state = UCP_FH_PIN_ENDED;
    ucp_fh_pin_end(table, pin, status);
}

void ucp_fh_pin_settle(ucp_fh_local_t *table)
{
    ucp_fh_pin_t *oldest = NULL;
    ucp_fh_pin_t *pin, *next;
    ucs_list_link_t *prev;
    ucs_status_t status;

    ucs_list_for_each_safe(pin, next, &table->queue, link) {
        if ((oldest == NULL) && (pin->peer == UCP_FH_LOCAL)) {
            oldest = pin;
        }

        /* A pin that cannot be let in is put back in its place in the queue */
        prev = pin->link.prev;
        ucs_list_del(&pin->link);
        pin->state = UCP_FH_PIN_ENDED;
        status     = try_begin(table, pin, oldest);
        if ((status == UCS_INPROGRESS) && (pin->state == UCP_FH_PIN_ENDED)) {
            pin->state = UCP_FH_PIN_QUEUED;
            ucs_list_insert_after(prev, &pin->link);
            continue;
        }

        oldest = (oldest == pin) ? NULL : oldest;
        if (status != UCS_INPROGRESS) {
            ucp_fh_pin_end(table, pin, status);
        }
    }
}
