/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "check.h"
#include "pin.h"

#include <stdlib.h>

/* So many local pins that came later are let in before the oldest that waits
 * for room, and then no more until it is: what the deadlock-avoidance bit is
 * for remote requests (section 4.1 of the paper, "Local Client Requests"). More
 * is not needed, since a pin that waits holds nothing */
#define MAX_PASSED 8


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

/* Take registrations out that were added and that nobody uses yet */
static void remove_regs(ucp_fh_local_t *table, uint64_t num)
{
    ucp_fh_reg_t *reg;

    for (; num > 0; --num) {
        reg = ucs_list_tail(&table->to_pin, ucp_fh_reg_t, link);
        ucs_list_del(&reg->link);
        ucp_fh_reg_destroy(table, reg);
    }
}

/* Add registrations for all buckets of a pin that none covers */
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

/* @return UCS_OK, or UCS_ERR_NO_MEMORY, and nothing is counted */
static ucs_status_t count(ucp_fh_local_t *table, const ucp_fh_pin_t *pin)
{
    uint64_t i;

    if (pin->peer != UCP_FH_LOCAL) {
        return ucp_fh_grant_add(table, pin->peer,
                                ucp_fh_reg_find(table, pin->run.first,
                                                &pin->span));
    }

    for (i = 0; i < pin->run.num; ++i) {
        ucp_fh_reg_use(table, ucp_fh_reg_find(table, pin->run.first + i,
                                              &pin->span));
    }
    return UCS_OK;
}

/* Let a pin in that may be. @return UCS_OK, or UCS_ERR_NO_MEMORY */
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

/* @return the oldest local pin that waits, or NULL */
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

/* Whether a local pin has to wait although there may be room for it */
static int is_held_back(const ucp_fh_pin_t *pin, const ucp_fh_pin_t *oldest)
{
    return (pin->peer == UCP_FH_LOCAL) && (oldest != NULL) &&
           (oldest != pin) && (oldest->passed >= MAX_PASSED);
}

static void note_passed(const ucp_fh_pin_t *pin, ucp_fh_pin_t *oldest)
{
    if ((pin->peer == UCP_FH_LOCAL) && (oldest != NULL) && (oldest != pin)) {
        ++oldest->passed;
    }
}

/* @return as ucp_fh_pin_begin(), but UCS_INPROGRESS also if it is not let in */
static ucs_status_t try_begin(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                              ucp_fh_pin_t *oldest)
{
    ucs_status_t status;

    if (is_held_back(pin, oldest)) {
        return UCS_INPROGRESS;
    }

    status = ucp_fh_check_span(table, pin, &pin->span);
    if (status != UCS_OK) {
        return status;
    }

    status = ucp_fh_check(table, pin);
    if (status != UCS_OK) {
        return status;
    }

    status = let_in(table, pin);
    if (status != UCS_OK) {
        return status;
    }

    note_passed(pin, oldest);
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

    if (!ucp_fh_check_is_hit(table, &pin->run, &pin->wanted)) {
        return UCS_ERR_NO_RESOURCE;
    }

    status = try_begin(table, pin, get_oldest(table));
    return (status == UCS_INPROGRESS) ? UCS_ERR_NO_RESOURCE : status;
}

int ucp_fh_pin_advance(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucp_fh_reg_t *reg;

    for (; pin->num_done < pin->run.num; ++pin->num_done) {
        reg = ucp_fh_reg_find(table, pin->run.first + pin->num_done, &pin->span);
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
        ucp_fh_reg_unuse(table, ucp_fh_reg_find(table, pin->run.first + i,
                                                &pin->span));
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

        /* It is in the queue still, in which it keeps its place if it is not
         * let in */
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
