/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "target.h"
#include "outbox.h"
#include "peer.h"

#include <stdlib.h>


/* The exposed memory that a bucket is in, mostly that of the one before it. NULL: it
 * was withdrawn meanwhile */
static const ucp_fh_part_t *
find_part(const ucp_fh_t *fh, ucp_fh_bucket_t bucket,
          const ucp_fh_part_t *before)
{
    ucp_fh_run_t run = {.first = bucket, .num = 1};

    return ((before != NULL) &&
            ucp_fh_run_has(&before->exposed.place.run, bucket)) ?
                   before : ucp_fh_part_find(fh, &run);
}

static size_t get_size(const ucp_fh_t *fh, const ucp_fh_serve_t *serve)
{
    size_t size = ucp_fh_reply_size();
    const ucp_fh_handle_t *handle;
    const ucp_fh_reg_t *reg;
    uint32_t i;

    for (i = 0; i < serve->num_pins; ++i) {
        reg    = ucp_fh_serve_reg(&fh->local, serve, i);
        handle = (reg == NULL) ? NULL : reg->handle;
        size  += ucp_fh_reply_pin_size((handle == NULL) ?
                                               0 : handle->packed_length);
    }

    return size;
}

/* What of a bucket is exposed: peers are to keep within it, since they get whole
 * pages, and maybe what a local pin wants beside it */
static void clip(const ucp_fh_span_t *span, const ucp_fh_part_t *part,
                 ucp_fh_reply_pin_t *pin)
{
    pin->start = span->start;
    pin->end   = span->end;
    if (part == NULL) {
        pin->end = pin->start;
    } else {
        pin->start = ucs_max(pin->start, part->start);
        pin->end   = ucs_min(pin->end, part->end);
    }
}

static void
write_pins(const ucp_fh_t *fh, const ucp_fh_serve_t *serve, void *end)
{
    const ucp_fh_part_t *part = NULL;
    const ucp_fh_handle_t *handle;
    const ucp_fh_reg_t *reg;
    ucp_fh_reply_pin_t pin;
    ucs_status_t status;
    uint32_t i;

    for (i = 0; i < serve->num_pins; ++i) {
        reg = ucp_fh_serve_reg(&fh->local, serve, i);
        if (reg == NULL) {
            /* Or the peer has given it back before it had it */
            status = serve->pins[i].comp.status;
            pin    = (ucp_fh_reply_pin_t){
                .status = (status == UCS_OK) ? UCS_ERR_CANCELED : status
            };
            ucp_fh_reply_write_pin(&end, &pin, NULL);
            continue;
        }

        handle     = reg->handle;
        part       = find_part(fh, reg->bucket, part);
        pin.status = UCS_OK;
        pin.length = handle->packed_length;
        clip(&reg->span, part, &pin);
        ucp_fh_reply_write_pin(&end, &pin, handle->packed);
    }
}

/* Under lock, so that no handle goes away meanwhile */
static void reply(ucp_fh_t *fh, const ucp_fh_serve_t *serve)
{
    ucp_fh_parcel_t *parcel;

    if (serve->num_pins == 0) {
        return;
    }

    parcel = ucp_fh_parcel_make(fh, serve->peer, UCP_FH_MESSAGE_REPLY,
                                get_size(fh, serve));
    if (parcel == NULL) {
        ucp_fh_peer_give_up(fh, serve->peer);
        return;
    }

    write_pins(fh, serve, ucp_fh_reply_write(parcel->data, serve->number,
                                             serve->num_pins));
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
