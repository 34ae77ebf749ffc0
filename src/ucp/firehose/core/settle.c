/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <uct/ib/predreg/firehose/preload/firehose.h>

#include <ucs/debug/log_def.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Both functions are NULL where libuct_predreg.so is not preloaded: then ucp_mem_map()
 * pins the memory, and there are no bounds but M + MAXVICTIM */
#pragma weak predreg_firehose_map_1
#pragma weak predreg_firehose_room_2


uint64_t ucp_fh_preloaded_room(ucp_context_h context)
{
    return (predreg_firehose_room_2 != NULL) ? predreg_firehose_room_2(context) :
                                               UINT64_MAX;
}

/* Most messages in the log that memory could not be pinned */
#define MAX_TOLD 10


static ucs_status_t map(ucp_fh_t *fh, uint64_t start, uint64_t length,
                        ucp_mem_h *memh_p)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = (void*)start,
        .length     = length
    };

    return (predreg_firehose_map_1 != NULL) ?
                   predreg_firehose_map_1(fh->mem_context, &params, memh_p) :
                   ucp_mem_map(fh->mem_context, &params, memh_p);
}

static ucs_status_t
pin(void *arg, uint64_t start, uint64_t length, void **handle_p)
{
    ucp_fh_t *fh = arg;
    ucp_fh_handle_t *handle;
    ucs_status_t status;

    handle = malloc(sizeof(*handle));
    if (handle == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = map(fh, start, length, &handle->memh);
    if (status != UCS_OK) {
        goto err_free_handle;
    }

    /* The key is packed here, once for all peers */
    status = ucp_rkey_pack(fh->mem_context, handle->memh, &handle->packed,
                           &handle->packed_length);
    if (status != UCS_OK) {
        goto err_unmap;
    }

    *handle_p = handle;
    return UCS_OK;

err_unmap:
    ucp_mem_unmap(fh->mem_context, handle->memh);
err_free_handle:
    free(handle);
    return status;
}

/* Log that memory could not be pinned, and that no further try follows */
static void complain(const ucp_fh_work_t *work)
{
    static _Atomic(int) is_explained;
    static _Atomic(int) num_told;

    /* Thousands of pins may fail, for lack of room or for another reason: few messages
     * say so. Relaxed: the flags order nothing but the messages */
    if (work->status != UCS_ERR_EXCEEDS_LIMIT) {
        if (ucs_relaxed_load(&num_told) < MAX_TOLD) {
            ucs_relaxed_add(&num_told, 1);
            ucs_warn("firehose: %" PRIu64 " bytes at 0x%" PRIx64
                     " could not be pinned: %s (this is said %d times at most)",
                     work->length, work->start,
                     ucs_status_string(work->status), MAX_TOLD);
        }
        return;
    }

    if (!atomic_exchange_explicit(&is_explained, 1, memory_order_relaxed)) {
        ucs_warn("firehose: %" PRIu64 " bytes at 0x%" PRIx64 " were not "
                 "pinned, nor may others be that this does not say: the bounds "
                 "of libuct_predreg.so (UCX_RCACHE_PRED_MAX_PINNED, "
                 "UCX_RCACHE_PRED_MAX_REGIONS, those of the node, ulimit -l) "
                 "leave no room; accepted: M + MAXVICTIM and what else the "
                 "program has in use", work->length, work->start);
    }
}

static ucs_status_t unpin(void *arg, void *arg_handle)
{
    ucp_fh_t *fh            = arg;
    ucp_fh_handle_t *handle = arg_handle;
    ucs_status_t status;

    status = ucp_mem_unmap(fh->mem_context, handle->memh);
    if (status != UCS_OK) {
        ucs_warn("firehose: memory could not be unpinned: %s",
                 ucs_status_string(status));
        return status;
    }

    ucp_rkey_buffer_release(handle->packed);
    free(handle);
    return UCS_OK;
}

ucp_fh_pin_ops_t ucp_fh_pinning_ops(ucp_fh_t *fh)
{
    return (ucp_fh_pin_ops_t){.pin = pin, .unpin = unpin, .arg = fh};
}

int ucp_fh_is_unsettled(const ucp_fh_t *fh)
{
    const ucp_fh_local_t *local = &fh->local;

    return !ucs_list_is_empty((ucs_list_link_t*)&fh->remote.senders) ||
           !ucs_list_is_empty((ucs_list_link_t*)&fh->remote.dead) ||
           !ucs_list_is_empty((ucs_list_link_t*)&fh->outbox) ||
           !ucs_list_is_empty((ucs_list_link_t*)&fh->calls) ||
           !ucs_list_is_empty((ucs_list_link_t*)&local->to_pin) ||
           !ucs_list_is_empty((ucs_list_link_t*)&local->doomed) ||
           (local->num_victims > local->max_local);
}

/* Under lock: do the work that needs no other lock. Make messages of the moves of the
 * remote table, and free the keys of firehoses that were given back */
static void collect(ucp_fh_t *fh)
{
    ucp_fh_move_t *move;
    ucp_fh_key_t *key;
    uint32_t slot;

    while ((move = ucp_fh_remote_next_move(&fh->remote)) != NULL) {
        ucp_fh_mover_post(fh, move);
    }
    /* There is no memory for a move: give up its peer, since a thread of this process or
     * of the peer may wait for the move */
    if (ucs_unlikely(!ucs_list_is_empty(&fh->remote.senders))) {
        slot = ucs_list_head(&fh->remote.senders, ucp_fh_peer_t, send)->index;
        ucp_fh_peer_give_up(fh, slot);
    }
    while ((key = ucp_fh_remote_next_key(&fh->remote)) != NULL) {
        ucp_fh_key_free(key);
    }
}

static void send_one(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    uint32_t slot = parcel->slot;
    ucs_status_t status;

    status = ucp_fh_outbox_send(fh, parcel);
    if (status != UCS_OK) {
        ucp_fh_lock(fh);
        ucp_fh_peer_fail(fh, slot, status);
        ucp_fh_unlock(fh);
    }
}

static void do_work(ucp_fh_t *fh, ucp_fh_work_t *work)
{
    ucp_fh_pin_ops_t ops = ucp_fh_pinning_ops(fh);
    int has_failed, is_refused;

    ucp_fh_work_do(work, &ops);
    ucp_fh_lock(fh);
    fh->is_working = 0;
    has_failed     = ucp_fh_local_work_done(&fh->local, work);
    is_refused     = fh->local.is_refused;
    ucp_fh_unlock(fh);
    if (has_failed) {
        complain(work);
    }
    if (is_refused && !pthread_equal(pthread_self(), fh->thread)) {
        ucp_fh_wake(fh); /* The library's thread tries to pin again later */
    }
}

/* Under lock. @return whether there is an operation for this thread. While another thread
 * carries out an operation, there is none: that thread carries out the next ones as well.
 * Two threads at once would gain nothing, since UCP registers memory under a spin lock of
 * its context, and one of them could spin for a whole time slice while the other has no
 * processor */
static int next_work(ucp_fh_t *fh, ucp_fh_work_t *work)
{
    if (fh->is_working) {
        return 0;
    }

    fh->is_working  = ucp_fh_local_next_work(&fh->local, work);
    fh->pinned_peak = ucs_max(fh->pinned_peak, fh->local.num_pinned);
    return fh->is_working;
}

/* Send a message, call a callback, or carry out an operation. @return whether there was
 * any */
static int settle_one(ucp_fh_t *fh)
{
    ucp_fh_call_t *call = NULL;
    int has_work        = 0;
    ucp_fh_parcel_t *parcel;
    ucp_fh_work_t work;

    ucp_fh_lock(fh);
    collect(fh);
    parcel = ucp_fh_list_pop(&fh->outbox, ucp_fh_parcel_t, link);
    if (parcel == NULL) {
        call     = ucp_fh_list_pop(&fh->calls, ucp_fh_call_t, link);
        has_work = (call == NULL) && next_work(fh, &work);
    }
    ucp_fh_unlock(fh);

    if (parcel != NULL) {
        send_one(fh, parcel);
    } else if (call != NULL) {
        call->func(call);
    } else if (has_work) {
        do_work(fh, &work);
    }
    return (parcel != NULL) || (call != NULL) || has_work;
}

void ucp_fh_settle(ucp_fh_t *fh)
{
    while (settle_one(fh)) {
        /* Again, since a step may lead to further ones */
    }
}
