/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "check.h"
#include "grant.h"


int ucp_fh_check_is_hit(const ucp_fh_local_t *table, const ucp_fh_run_t *run,
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

static const ucp_fh_exposed_t *
find_exposed(const ucp_fh_local_t *table, ucp_fh_bucket_t bucket)
{
    ucp_fh_run_t run = {.first = bucket, .num = 1};

    return ucp_fh_local_exposed(table, &run);
}

/* Whether some of a pin is being withdrawn: for a peer, which has one key a
 * bucket, something of the same bucket */
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

/* Whether there are registrations, pinned or not, for all that a local pin wants */
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

/* A local pin in the midst of exposed memory has as much of a bucket as peers
 * would, so that the next one is a hit, and a peer's */
static ucp_fh_span_t local_span(const ucp_fh_local_t *table,
                                const ucp_fh_pin_t *pin)
{
    const ucp_fh_exposed_t *exposed = find_exposed(table, pin->run.first);

    return ((exposed == NULL) || is_covered(table, pin) ||
            !ucp_fh_span_is_within(&pin->wanted, &exposed->span)) ?
                   pin->wanted :
                   ucp_fh_span_clip(&exposed->span, table->params.shift,
                                    &pin->run);
}

ucs_status_t ucp_fh_check_span(const ucp_fh_local_t *table,
                               const ucp_fh_pin_t *pin, ucp_fh_span_t *span)
{
    const ucp_fh_exposed_t *exposed;

    if (pin->peer == UCP_FH_LOCAL) {
        *span = local_span(table, pin);
        return UCS_OK;
    }

    exposed = find_exposed(table, pin->run.first);
    if (exposed == NULL) {
        return UCS_ERR_INVALID_ADDR;
    }

    *span = ucp_fh_span_clip(&exposed->span, table->params.shift, &pin->run);
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

ucs_status_t ucp_fh_check(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin)
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
        reg         = ucp_fh_reg_find(table, pin->run.first + i, &pin->span);
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
