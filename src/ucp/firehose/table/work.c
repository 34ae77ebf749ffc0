/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "local_int.h"


/* Fill in an operation that pins or unpins a registration. The registration is in no list
 * any more. @return 1: there is an operation */
static int set_work(ucp_fh_reg_t *reg, int is_pin, ucp_fh_work_t *work)
{
    *work = (ucp_fh_work_t){
        .reg    = reg,
        .is_pin = is_pin,
        .start  = reg->span.start,
        .length = reg->span.end - reg->span.start,
        .handle = reg->handle,
        .status = UCS_INPROGRESS
    };
    reg->state = is_pin ? UCP_FH_REG_PINNING : UCP_FH_REG_UNPINNING;
    return 1;
}

static int unpin(ucp_fh_local_t *table, ucp_fh_reg_t *reg, ucp_fh_work_t *work)
{
    ++table->num_unpinning;
    return set_work(reg, 0, work);
}

static int unpin_victim(ucp_fh_local_t *table, ucp_fh_work_t *work)
{
    ucp_fh_reg_t *reg = ucs_list_head(&table->victims, ucp_fh_reg_t, link);

    ucp_fh_reg_revive(table, reg);
    return unpin(table, reg, work);
}

/* Make an operation that unpins a registration which is not in use: a victim, or, if
 * there is none, a doomed registration that could not be unpinned before. @return whether
 * there is one */
static int unpin_any(ucp_fh_local_t *table, ucp_fh_work_t *work)
{
    ucp_fh_reg_t *reg;

    if (table->num_victims > 0) {
        return unpin_victim(table, work);
    }

    reg = ucp_fh_list_pop(&table->doomed, ucp_fh_reg_t, link);
    return (reg != NULL) && unpin(table, reg, work);
}

/* @return whether there is an operation that brings the first queued registration
 *         nearer to being pinned */
static int next_pin(ucp_fh_local_t *table, ucp_fh_work_t *work)
{
    if (ucs_list_is_empty(&table->to_pin)) {
        table->is_short   = 0;
        table->is_refused = 0;
        return 0;
    }

    if (table->is_refused && (table->num_victims == 0)) {
        return 0;
    }
    table->is_refused = 0;

    /* When an operation that is under way has unpinned memory, the system may have
     * room */
    if (table->is_short && (table->num_unpinning > 0)) {
        return 0;
    }

    if (table->is_short && (table->num_victims > 0)) {
        return unpin_victim(table, work);
    }

    table->is_short = 0;
    if (table->num_pinned < table->max_pinned) {
        ++table->num_pinned;
        return set_work(ucs_list_extract_head(&table->to_pin, ucp_fh_reg_t,
                                              link), 1, work);
    }

    /* Unpin nothing if an operation that is under way unpins memory and makes room */
    return (table->num_unpinning > 0) ? 0 : unpin_any(table, work);
}

int ucp_fh_local_next_work(ucp_fh_local_t *table, ucp_fh_work_t *work)
{
    ucp_fh_reg_t *reg;

    ucs_list_for_each(reg, &table->doomed, link) {
        if (!reg->is_kept) {
            ucs_list_del(&reg->link);
            return unpin(table, reg, work);
        }
    }

    if (next_pin(table, work)) {
        return 1;
    }

    if ((table->num_victims > table->max_local) && !table->keeps_victims) {
        return unpin_victim(table, work);
    }

    return 0;
}

void ucp_fh_work_do(ucp_fh_work_t *work, const ucp_fh_pin_ops_t *ops)
{
    work->status = work->is_pin ? ops->pin(ops->arg, work->start, work->length,
                                           &work->handle) :
                                  ops->unpin(ops->arg, work->handle);
}

/* @return an active pin that uses a registration, or waits for it, or NULL */
static ucp_fh_pin_t *
find_user(const ucp_fh_local_t *table, const ucp_fh_reg_t *reg)
{
    ucp_fh_pin_t *pin;

    ucs_list_for_each(pin, &table->active, link) {
        if (ucp_fh_run_has(&pin->run, reg->bucket) &&
            (ucp_fh_reg_find(table, reg->bucket, &pin->span) == reg)) {
            return pin;
        }
    }

    return NULL;
}

/* End with an error all active pins that use a registration, or wait for it */
static void
fail_users(ucp_fh_local_t *table, ucp_fh_reg_t *reg, ucs_status_t status)
{
    uint64_t left = reg->uses + reg->num_grants;

    /* The loop does not read @a reg after the last pin: a queued registration is freed
     * with it */
    for (; left > 0; --left) {
        ucp_fh_pin_fail(table, find_user(table, reg), status);
    }
}

static void pinned(ucp_fh_local_t *table, ucp_fh_reg_t *reg, void *handle)
{
    UCS_LIST_HEAD(waiters);
    ucp_fh_pin_t *pin;

    reg->state  = UCP_FH_REG_PINNED;
    reg->handle = handle;
    if (!ucp_fh_reg_is_used(reg)) {
        ucp_fh_reg_idle(table, reg);
        return;
    }

    ucs_list_splice_tail(&waiters, &reg->waiters);
    ucs_list_head_init(&reg->waiters);
    while ((pin = ucp_fh_list_pop(&waiters, ucp_fh_pin_t, wait)) != NULL) {
        if (ucp_fh_pin_advance(table, pin)) {
            ucp_fh_pin_end(table, pin, UCS_OK);
        }
    }
}

/* Whether to try again to pin a registration: the system had no room, the registration is
 * still wanted, and there may be room soon, after this process has unpinned other
 * registrations or, unless the table is impatient, others have freed memory */
static int may_try_again(const ucp_fh_local_t *table, const ucp_fh_reg_t *reg,
                         ucs_status_t status)
{
    return ((status == UCS_ERR_EXCEEDS_LIMIT) ||
            (status == UCS_ERR_NO_MEMORY)) &&
           ucp_fh_reg_is_used(reg) && !reg->is_withdrawn &&
           ((table->num_victims > 0) || (table->num_unpinning > 0) ||
            !table->is_impatient);
}

/* A registration could not be pinned: queue it again, or end its pins with the error.
 * @return whether the pins have ended */
static int
not_pinned(ucp_fh_local_t *table, ucp_fh_reg_t *reg, ucs_status_t status)
{
    --table->num_pinned;
    if (!may_try_again(table, reg, status)) {
        fail_users(table, reg, status);
        ucp_fh_reg_destroy(table, reg);
        return 1;
    }

    reg->state = UCP_FH_REG_QUEUED;
    ucs_list_add_head(&table->to_pin, &reg->link);
    if ((table->num_victims > 0) || (table->num_unpinning > 0)) {
        table->is_short = 1;
    } else {
        table->is_refused = 1;
    }
    return 0;
}

static void unpinned(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    --table->num_pinned;
    --table->num_unpinning;
    table->is_short = 0;
    ucp_fh_reg_destroy(table, reg);
}

static void
not_unpinned(ucp_fh_local_t *table, ucp_fh_reg_t *reg, ucs_status_t status)
{
    reg->state = UCP_FH_REG_PINNED;
    --table->num_unpinning;
    ucp_fh_reg_idle(table, reg);
    table->keeps_victims = 1;
    if (reg->is_withdrawn && !reg->is_kept) {
        reg->is_kept = 1;
        ucp_fh_reg_gone(table, reg, status);
    }

    /* If the first queued registration needs the room, end its pins with the error: to
     * try one victim after the other could go on for ever */
    if (!ucs_list_is_empty(&table->to_pin) &&
        (table->is_short || (table->num_pinned >= table->max_pinned))) {
        fail_users(table, ucs_list_head(&table->to_pin, ucp_fh_reg_t, link),
                   status);
        table->is_short = 0;
    }
}

int ucp_fh_local_work_done(ucp_fh_local_t *table, const ucp_fh_work_t *work)
{
    ucp_fh_reg_t *reg = work->reg;
    int has_failed    = 0;

    if (work->is_pin && (work->status == UCS_OK)) {
        pinned(table, reg, work->handle);
    } else if (work->is_pin) {
        has_failed = not_pinned(table, reg, work->status);
    } else if (work->status == UCS_OK) {
        unpinned(table, reg);
    } else {
        not_unpinned(table, reg, work->status);
    }

    ucp_fh_pin_settle(table);
    return has_failed;
}

void ucp_fh_local_try_again(ucp_fh_local_t *table, int is_last)
{
    table->is_refused    = 0;
    table->is_impatient |= is_last;
}

void ucp_fh_local_be_patient(ucp_fh_local_t *table)
{
    table->is_impatient = 0;
}
