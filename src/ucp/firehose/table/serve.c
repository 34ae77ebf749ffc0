/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "check.h"
#include "pin.h"

#include <stdlib.h>


ucp_fh_serve_t *
ucp_fh_serve_make(uint32_t peer, const ucp_fh_bucket_t *unpins,
                  uint32_t num_unpins, const ucp_fh_bucket_t *pins,
                  uint32_t num_pins)
{
    ucp_fh_serve_t *serve;
    uint32_t i;

    serve = malloc(sizeof(*serve) + (num_pins * sizeof(*serve->pins)) +
                   (num_unpins * sizeof(*unpins)));
    if (serve == NULL) {
        return NULL;
    }

    *serve = (ucp_fh_serve_t){
        .peer       = peer,
        .num_unpins = num_unpins,
        .num_pins   = num_pins,
        .unpins     = (ucp_fh_bucket_t*)&serve->pins[num_pins]
    };
    for (i = 0; i < num_unpins; ++i) {
        serve->unpins[i] = unpins[i];
    }
    for (i = 0; i < num_pins; ++i) {
        ucp_fh_pin_init(&serve->pins[i], &(ucp_fh_run_t){pins[i], 1}, peer);
        serve->pins[i].serve = serve;
    }
    return serve;
}

void ucp_fh_serve_free(ucp_fh_serve_t *serve)
{
    free(serve);
}

/* Take back what the peer gives back. @return UCS_ERR_INVALID_PARAM if it does
 * not have it, or cannot know yet that it does, since it is not pinned */
static ucs_status_t
take_back(ucp_fh_local_t *table, const ucp_fh_serve_t *serve)
{
    ucp_fh_grant_t *grant;
    uint32_t i;

    for (i = 0; i < serve->num_unpins; ++i) {
        grant = ucp_fh_grant_find(table, serve->peer, serve->unpins[i]);
        if ((grant == NULL) || (grant->reg->state != UCP_FH_REG_PINNED)) {
            return UCS_ERR_INVALID_PARAM;
        }
        ucp_fh_grant_drop(table, grant);
    }

    return UCS_OK;
}

ucs_status_t ucp_fh_local_serve(ucp_fh_local_t *table, ucp_fh_serve_t *serve)
{
    ucs_status_t status, pinned;
    uint32_t i;

    if (table->holders[serve->peer].has_failed) {
        return UCS_ERR_UNREACHABLE;
    }

    /* One more than there are, so that it does not end while they begin */
    serve->num_left = serve->num_pins + 1;
    status          = take_back(table, serve);
    for (i = 0; (status == UCS_OK) && (i < serve->num_pins); ++i) {
        pinned = ucp_fh_pin_begin(table, &serve->pins[i]);
        if (pinned != UCS_INPROGRESS) {
            ucp_fh_pin_end(table, &serve->pins[i], pinned);
        }
    }

    --serve->num_left;
    ucp_fh_pin_settle(table);
    return (status != UCS_OK) ? status :
           (serve->num_left == 0) ? UCS_OK : UCS_INPROGRESS;
}

const ucp_fh_reg_t *
ucp_fh_serve_reg(const ucp_fh_local_t *table, const ucp_fh_serve_t *serve,
                 uint32_t index)
{
    const ucp_fh_pin_t *pin = &serve->pins[index];
    const ucp_fh_grant_t *grant;

    grant = (pin->comp.status != UCS_OK) ?
                    NULL :
                    ucp_fh_grant_find(table, serve->peer, pin->run.first);
    return ((grant == NULL) || (grant->reg->state != UCP_FH_REG_PINNED)) ?
                   NULL : grant->reg;
}

static void fail_pins(ucp_fh_local_t *table, ucs_list_link_t *pins,
                      uint32_t peer)
{
    ucp_fh_pin_t *pin, *next;

    ucs_list_for_each_safe(pin, next, pins, link) {
        if (pin->peer == peer) {
            ucp_fh_pin_fail(table, pin, UCS_ERR_UNREACHABLE);
        }
    }
}

void ucp_fh_local_fail_peer(ucp_fh_local_t *table, uint32_t peer)
{
    ucp_fh_holder_t *holder = &table->holders[peer];

    holder->has_failed = 1;
    fail_pins(table, &table->queue, peer);
    fail_pins(table, &table->active, peer);
    while (!ucs_list_is_empty(&holder->grants)) {
        ucp_fh_grant_drop(table, ucs_list_head(&holder->grants, ucp_fh_grant_t,
                                               peer_link));
    }
    ucp_fh_pin_settle(table);
}
