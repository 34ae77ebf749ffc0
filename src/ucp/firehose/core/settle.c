/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "settle.h"
#include "mover.h"
#include "outbox.h"
#include "peer.h"
#include "pinning.h"

#include <ucp/firehose/wire/key.h>


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

/* Moves and dead keys, which need no more than the lock */
static void collect(ucp_fh_t *fh)
{
    ucp_fh_move_t *move;
    ucp_fh_key_t *key;
    uint32_t slot;

    while ((move = ucp_fh_remote_next_move(&fh->remote)) != NULL) {
        ucp_fh_mover_post(fh, move);
    }
    /* There is no memory for a move. Whoever waits for it, here or at the peer,
     * would wait for as long as that is so */
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
        ucp_fh_pinning_complain(work);
    }
    if (is_refused && !pthread_equal(pthread_self(), fh->thread)) {
        ucp_fh_wake(fh); /* The library's thread tries again */
    }
}

/* Under lock. @return an operation to be carried out. There is none while another
 * thread carries one out, which then does the next ones as well: UCP registers under
 * a lock of its context, for which threads spin. Two at once gain nothing, and one
 * that has taken the processor from the other would keep it, spinning, for all of
 * its time slice */
static int next_work(ucp_fh_t *fh, ucp_fh_work_t *work)
{
    if (fh->is_working) {
        return 0;
    }

    fh->is_working  = ucp_fh_local_next_work(&fh->local, work);
    fh->pinned_peak = ucs_max(fh->pinned_peak, fh->local.num_pinned);
    return fh->is_working;
}

/* Do one thing. @return whether there was one */
static int settle_one(ucp_fh_t *fh)
{
    ucp_fh_parcel_t *parcel = NULL;
    ucp_fh_call_t *call     = NULL;
    int has_work            = 0;
    ucp_fh_work_t work;

    ucp_fh_lock(fh);
    collect(fh);
    if (!ucs_list_is_empty(&fh->outbox)) {
        parcel = ucs_list_extract_head(&fh->outbox, ucp_fh_parcel_t, link);
    } else if (!ucs_list_is_empty(&fh->calls)) {
        call = ucs_list_extract_head(&fh->calls, ucp_fh_call_t, link);
    } else {
        has_work = next_work(fh, &work);
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
        /* Each step may lead to others */
    }
}
