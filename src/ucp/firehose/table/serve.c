/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "check.h"
#include "pin.h"

#include <stdlib.h>
#include <string.h>


/* Where the parts of a message are in its memory */
typedef struct {
    size_t runs;
    size_t served;
    size_t buckets;
    size_t end;
} layout_t;


static layout_t get_layout(uint32_t num_pins, uint32_t num_unpins)
{
    layout_t layout;

    layout.runs    = sizeof(ucp_fh_serve_t);
    layout.served  = layout.runs + (num_pins * sizeof(ucp_fh_pin_t));
    layout.buckets = layout.served + (num_pins * sizeof(ucp_fh_served_t));
    layout.end     = layout.buckets + (((size_t)num_pins + num_unpins) *
                                       sizeof(ucp_fh_bucket_t));
    return layout;
}

/* Buckets may be NULL if there are none */
static void copy_buckets(ucp_fh_bucket_t *to, const ucp_fh_bucket_t *from,
                         uint32_t num)
{
    if (num > 0) {
        memcpy(to, from, num * sizeof(*to));
    }
}

ucp_fh_serve_t *
ucp_fh_serve_make(uint32_t peer, const ucp_fh_bucket_t *unpins,
                  uint32_t num_unpins, const ucp_fh_bucket_t *pins,
                  uint32_t num_pins)
{
    layout_t layout = get_layout(num_pins, num_unpins);
    ucp_fh_serve_t *serve;

    serve = malloc(layout.end);
    if (serve == NULL) {
        return NULL;
    }

    *serve = (ucp_fh_serve_t){
        .peer       = peer,
        .num_unpins = num_unpins,
        .num_pins   = num_pins,
        .unpins     = UCS_PTR_BYTE_OFFSET(serve, layout.buckets),
        .served     = UCS_PTR_BYTE_OFFSET(serve, layout.served),
        .runs       = UCS_PTR_BYTE_OFFSET(serve, layout.runs)
    };
    serve->pins = serve->unpins + num_unpins;
    copy_buckets(serve->unpins, unpins, num_unpins);
    copy_buckets(serve->pins, pins, num_pins);
    return serve;
}

void ucp_fh_serve_free(ucp_fh_serve_t *serve)
{
    free(serve);
}

/* Whether a peer was not told yet that it has a firehose on a bucket */
static int is_pending(ucp_fh_local_t *table, uint32_t peer,
                      ucp_fh_bucket_t bucket)
{
    ucp_fh_pin_t *pin;

    ucs_list_for_each(pin, &table->active, link) {
        if ((pin->peer == peer) && ucp_fh_run_has(&pin->run, bucket)) {
            return 1;
        }
    }

    return 0;
}

/* Take back what the peer gives back. @return UCS_ERR_INVALID_PARAM if it does
 * not have it */
static ucs_status_t take_back(ucp_fh_local_t *table,
                              const ucp_fh_serve_t *serve)
{
    ucp_fh_grant_t *grant;
    uint32_t i;

    for (i = 0; i < serve->num_unpins; ++i) {
        grant = ucp_fh_grant_find(table, serve->peer, serve->unpins[i]);
        if ((grant == NULL) ||
            is_pending(table, serve->peer, serve->unpins[i])) {
            return UCS_ERR_INVALID_PARAM;
        }
        ucp_fh_grant_drop(table, grant);
    }

    return UCS_OK;
}

/* The run of adjacent buckets whose first one has this index. Requests of
 * several threads may be in it: what one asks for that nobody may have does not
 * concern its neighbours. Nor does other exposed memory: what is between may
 * not be mapped */
static ucp_fh_run_t get_run(const ucp_fh_local_t *table,
                            const ucp_fh_serve_t *serve, uint32_t index)
{
    ucp_fh_run_t run = {.first = serve->pins[index], .num = 1};
    const ucp_fh_exposed_t *exposed;
    ucp_fh_bucket_t end;

    exposed = ucp_fh_check_exposed(table, run.first);
    while (index + run.num < serve->num_pins) {
        end = ucp_fh_run_end(&run);
        if ((serve->pins[index + run.num] != end) ||
            (ucp_fh_check_exposed(table, end) != exposed)) {
            break;
        }
        ++run.num;
    }

    return run;
}

static uint32_t
count_runs(const ucp_fh_local_t *table, const ucp_fh_serve_t *serve)
{
    uint32_t count = 0;
    uint32_t index = 0;

    while (index < serve->num_pins) {
        index += get_run(table, serve, index).num;
        ++count;
    }

    return count;
}

/* Begin to pin the run whose first bucket has this index. @return the index of
 * the next run */
static uint32_t begin_run(ucp_fh_local_t *table, ucp_fh_serve_t *serve,
                          uint32_t index, ucp_fh_pin_t *pin)
{
    ucp_fh_run_t run = get_run(table, serve, index);
    ucs_status_t status;

    ucp_fh_pin_init(pin, &run, serve->peer);
    pin->serve  = serve;
    pin->served = index;
    status      = ucp_fh_pin_begin(table, pin);
    if (status != UCS_INPROGRESS) {
        ucp_fh_pin_end(table, pin, status);
    }
    return index + run.num;
}

ucs_status_t ucp_fh_local_serve(ucp_fh_local_t *table, ucp_fh_serve_t *serve)
{
    uint32_t index = 0;
    ucs_status_t status;
    uint32_t i;

    if (table->holders[serve->peer].has_failed) {
        return UCS_ERR_UNREACHABLE;
    }

    status = take_back(table, serve);

    /* One more than there are, so that it does not end while they begin */
    serve->num_runs = count_runs(table, serve);
    serve->num_left = serve->num_runs + 1;
    for (i = 0; (status == UCS_OK) && (i < serve->num_runs); ++i) {
        index = begin_run(table, serve, index, &serve->runs[i]);
    }

    --serve->num_left;
    ucp_fh_pin_settle(table);
    return (status != UCS_OK) ? status :
           (serve->num_left == 0) ? UCS_OK : UCS_INPROGRESS;
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
