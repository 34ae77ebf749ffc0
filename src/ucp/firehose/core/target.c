/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "target.h"
#include "outbox.h"
#include "peer.h"

#include <stdlib.h>


/* The number of the key of a bucket: buckets of one region have the same, and come one
 * after the other */
static uint32_t count_keys(const ucp_fh_serve_t *serve, size_t *size_p)
{
    const void *last = NULL;
    uint32_t num     = 0;
    const ucp_fh_handle_t *handle;
    uint32_t i;

    *size_p = ucp_fh_reply_size(serve->num_pins);
    for (i = 0; i < serve->num_pins; ++i) {
        if ((serve->served[i].status == UCS_OK) &&
            (serve->served[i].handle != last)) {
            handle   = last = serve->served[i].handle;
            *size_p += ucp_fh_reply_key_size(handle->packed_length);
            ++num;
        }
    }

    return num;
}

/* What of a region is exposed: peers are to keep within it, since they get whole
 * buckets */
static void clip(const ucp_fh_t *fh, const ucp_fh_run_t *region,
                 ucp_fh_reply_key_t *key)
{
    uint64_t start = region->first << fh->shift;
    uint64_t end   = ucp_fh_run_end(region) << fh->shift;
    struct ucp_fh_mem *mem;

    key->start = end;
    key->end   = start;
    ucs_list_for_each(mem, &fh->mems, link) {
        if ((mem->start < end) && (mem->end > start)) {
            key->start = ucs_min(key->start, ucs_max(start, mem->start));
            key->end   = ucs_max(key->end, ucs_min(end, mem->end));
        }
    }
}

static void write_pins(const ucp_fh_serve_t *serve, ucp_fh_reply_pin_t *pins)
{
    const void *last = NULL;
    uint32_t num     = 0;
    uint32_t i;

    for (i = 0; i < serve->num_pins; ++i) {
        pins[i] = (ucp_fh_reply_pin_t){.status = serve->served[i].status};
        if (pins[i].status == UCS_OK) {
            num        += (serve->served[i].handle != last);
            last        = serve->served[i].handle;
            pins[i].key = num - 1;
        }
    }
}

static void
write_keys(const ucp_fh_t *fh, const ucp_fh_serve_t *serve, void *end)
{
    const ucp_fh_handle_t *last = NULL;
    const ucp_fh_served_t *served;
    ucp_fh_reply_key_t key;
    uint32_t i;

    for (i = 0; i < serve->num_pins; ++i) {
        served = &serve->served[i];
        if ((served->status == UCS_OK) && (served->handle != last)) {
            last       = served->handle;
            key.length = last->packed_length;
            key.unused = 0;
            clip(fh, &served->region, &key);
            ucp_fh_reply_write_key(&end, &key, last->packed);
        }
    }
}

/* Under lock, so that no handle goes away meanwhile: a peer that gives back what it was
 * not told of yet would see to that */
static void reply(ucp_fh_t *fh, const ucp_fh_serve_t *serve)
{
    ucp_fh_reply_pin_t *pins;
    ucp_fh_parcel_t *parcel;
    uint32_t num_keys;
    size_t size;

    if (serve->num_pins == 0) {
        return;
    }

    num_keys = count_keys(serve, &size);
    parcel   = ucp_fh_parcel_make(fh, serve->peer, UCP_FH_MESSAGE_REPLY, size);
    if (parcel == NULL) {
        ucp_fh_peer_fail(fh, serve->peer, UCS_ERR_NO_MEMORY);
        return;
    }

    pins = ucp_fh_reply_write(parcel->data, serve->number, serve->num_pins,
                              num_keys);
    write_pins(serve, pins);
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
        ucp_fh_peer_fail(fh, parcel->slot, UCS_ERR_NO_MEMORY);
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
            ucp_fh_peer_fail(fh, slot, UCS_ERR_NO_MEMORY);
            return;
        }

        ucp_fh_recall_write(parcel->data, first, num);
        ucp_fh_outbox_post(fh, parcel);
    }
}

void ucp_fh_target_recall(ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    uint32_t slot;

    for (slot = ucp_fh_local_next_holder(&fh->local, 0); slot != UCP_FH_LOCAL;
         slot = ucp_fh_local_next_holder(&fh->local, slot + 1)) {
        recall_from(fh, slot, run);
    }
}
