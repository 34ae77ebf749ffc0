/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "target.h"
#include "outbox.h"
#include "peer.h"

#include <stdlib.h>


/* What a key is for: the part of a region that was exposed at a time. Beside it
 * there may be bytes that are not, before other memory in the same region */
typedef struct {
    const ucp_fh_handle_t *handle;
    const ucp_fh_part_t   *part; /* NULL: it was withdrawn meanwhile */
} scope_t;


/* The exposed memory that a bucket is in, mostly that of the one before it */
static const ucp_fh_part_t *
find_part(const ucp_fh_t *fh, ucp_fh_bucket_t bucket,
          const ucp_fh_part_t *before)
{
    ucp_fh_run_t run = {.first = bucket, .num = 1};

    return ((before != NULL) &&
            ucp_fh_run_has(&before->exposed.place.run, bucket)) ?
                   before : ucp_fh_part_find(fh, &run);
}

/* @return whether a bucket has a key, and another one than the bucket before
 *         it. Buckets of one key come one after the other */
static int is_next_key(const ucp_fh_t *fh, const ucp_fh_serve_t *serve,
                       uint32_t i, scope_t *scope)
{
    const ucp_fh_served_t *served = &serve->served[i];
    scope_t before                = *scope;

    if (served->status != UCS_OK) {
        return 0;
    }

    scope->handle = served->handle;
    scope->part   = find_part(fh, serve->pins[i], before.part);
    return (scope->handle != before.handle) || (scope->part != before.part);
}

static uint32_t
count_keys(const ucp_fh_t *fh, const ucp_fh_serve_t *serve, size_t *size_p)
{
    scope_t scope = {};
    uint32_t num  = 0;
    uint32_t i;

    *size_p = ucp_fh_reply_size(serve->num_pins);
    for (i = 0; i < serve->num_pins; ++i) {
        if (is_next_key(fh, serve, i, &scope)) {
            *size_p += ucp_fh_reply_key_size(scope.handle->packed_length);
            ++num;
        }
    }

    return num;
}

/* What of a region is exposed: peers are to keep within it, since they get
 * whole pages, and maybe what a local pin wants beside it */
static void clip(const ucp_fh_span_t *region, const ucp_fh_part_t *part,
                 ucp_fh_reply_key_t *key)
{
    key->start = region->start;
    key->end   = region->end;
    if (part == NULL) {
        key->end = key->start;
    } else {
        key->start = ucs_max(key->start, part->start);
        key->end   = ucs_min(key->end, part->end);
    }
}

static void write_pins(const ucp_fh_t *fh, const ucp_fh_serve_t *serve,
                       ucp_fh_reply_pin_t *pins)
{
    scope_t scope = {};
    uint32_t num  = 0;
    uint32_t i;

    for (i = 0; i < serve->num_pins; ++i) {
        pins[i] = (ucp_fh_reply_pin_t){.status = serve->served[i].status};
        if (pins[i].status == UCS_OK) {
            num        += is_next_key(fh, serve, i, &scope);
            pins[i].key = num - 1;
        }
    }
}

static void
write_keys(const ucp_fh_t *fh, const ucp_fh_serve_t *serve, void *end)
{
    scope_t scope = {};
    ucp_fh_reply_key_t key;
    uint32_t i;

    for (i = 0; i < serve->num_pins; ++i) {
        if (is_next_key(fh, serve, i, &scope)) {
            key.length = scope.handle->packed_length;
            key.unused = 0;
            clip(&serve->served[i].region, scope.part, &key);
            ucp_fh_reply_write_key(&end, &key, scope.handle->packed);
        }
    }
}

/* Under lock, so that no handle goes away meanwhile: a peer that gives back
 * what it was not told of yet would see to that */
static void reply(ucp_fh_t *fh, const ucp_fh_serve_t *serve)
{
    ucp_fh_reply_pin_t *pins;
    ucp_fh_parcel_t *parcel;
    uint32_t num_keys;
    size_t size;

    if (serve->num_pins == 0) {
        return;
    }

    num_keys = count_keys(fh, serve, &size);
    parcel   = ucp_fh_parcel_make(fh, serve->peer, UCP_FH_MESSAGE_REPLY, size);
    if (parcel == NULL) {
        ucp_fh_peer_give_up(fh, serve->peer);
        return;
    }

    pins = ucp_fh_reply_write(parcel->data, serve->number, serve->num_pins,
                              num_keys);
    write_pins(fh, serve, pins);
    write_keys(fh, serve, pins + serve->num_pins);
    ++fh->num_answered;
    ucp_fh_outbox_post(fh, parcel);
}

/* Serving has ended that could not at once. Called under lock */
static void served(ucp_fh_comp_t *self)
{
    ucp_fh_serve_t *serve = ucs_container_of(self, ucp_fh_serve_t, comp);

    if (self->status == UCS_OK) {
        reply(serve->arg, serve);
    }
    ucp_fh_serve_free(serve);
}

/* Under lock. Takes what is to be served */
static ucs_status_t begin(ucp_fh_t *fh, ucp_fh_serve_t *serve)
{
    ucs_status_t status = ucp_fh_local_serve(&fh->local, serve);

    if (status == UCS_INPROGRESS) {
        return UCS_OK;
    }

    if (status == UCS_OK) {
        reply(fh, serve);
    }
    ucp_fh_serve_free(serve);
    return (status == UCS_ERR_UNREACHABLE) ? UCS_OK : status;
}

ucs_status_t ucp_fh_target_move(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    const ucp_fh_header_t *header = (const ucp_fh_header_t*)parcel->data;
    ucp_fh_move_message_t message;
    ucp_fh_serve_t *serve;
    ucs_status_t status;

    status = ucp_fh_move_parse(parcel->data, parcel->length, &message);
    if (status != UCS_OK) {
        return status;
    }

    serve = ucp_fh_serve_make(parcel->slot, message.buckets, message.num_unpins,
                              message.buckets + message.num_unpins,
                              message.num_pins);
    ucp_fh_lock(fh);
    if (serve == NULL) {
        ucp_fh_peer_give_up(fh, parcel->slot);
        goto out_unlock;
    }

    serve->comp.func = served;
    serve->arg       = fh;
    serve->number    = header->number;
    status           = begin(fh, serve);
out_unlock:
    ucp_fh_unlock(fh);
    return status;
}

static void recall_from(ucp_fh_t *fh, uint32_t slot, const ucp_fh_run_t *run)
{
    uint64_t first = run->first;
    ucp_fh_parcel_t *parcel;
    uint64_t num;

    for (; first < ucp_fh_run_end(run); first += num) {
        num    = ucs_min(ucp_fh_run_end(run) - first, UCP_FH_MAX_MOVE);
        parcel = ucp_fh_parcel_make(fh, slot, UCP_FH_MESSAGE_RECALL,
                                    ucp_fh_recall_size());
        if (parcel == NULL) {
            ucp_fh_peer_give_up(fh, slot);
            return;
        }

        ucp_fh_recall_write(parcel->data, first, num);
        ucp_fh_outbox_post(fh, parcel);
    }
}

void ucp_fh_target_recall(ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    uint32_t slot;

    while ((slot = ucp_fh_local_next_holder(&fh->local)) != UCP_FH_LOCAL) {
        recall_from(fh, slot, run);
    }
}
