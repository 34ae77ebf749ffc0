/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "transfer.h"
#include "completion.h"

#include <stdatomic.h>
#include <stdlib.h>

/* How long to ask again for memory that the system refuses, ns. Memory that
 * other processes have registered now may be free a moment later. */
#define REFUSED_TIMEOUT 10000000000ull

/* How many transfers of this process wait. Relaxed: a thread that asks whether
 * it may sleep has itself started the transfers that it would miss. */
static _Atomic unsigned num_waiting;


typedef enum {
    PIECE_FREE,
    PIECE_REGISTERED, /* Registered, but there was no place in the send queue
                         yet */
    PIECE_IN_FLIGHT
} piece_state_t;

struct transfer;

typedef struct transfer_piece {
    uct_completion_t        comp;
    ucs_rcache_pred_piece_t reg;
    struct transfer         *transfer;
    uint64_t                remote_addr;
    piece_state_t           state;
} transfer_piece_t;

typedef struct transfer {
    ucs_list_link_t           list;        /* In iface->transfers */
    uct_predreg_iface_t       *iface;
    uct_ep_get_zcopy_func_t   post;
    uct_ep_h                  ep;
    uct_rkey_t                rkey;
    uct_predreg_pieces_memh_t *memh;
    uct_completion_t          *comp;       /* UCP's completion */
    ucs_status_t              status;      /* The first error */
    uintptr_t                 start;       /* Local address of the data that no
                                              piece is registered for yet, */
    uint64_t                  remote_addr; /* ... its remote address, */
    size_t                    length;      /* ... and its length, bytes */
    int                       waiting;     /* Whether it is to be tried again */
    unsigned                  round;       /* The round of iface in which it was
                                              last tried */
    uint64_t                  number;      /* How many transfers of iface
                                              started before this one */
    ucs_rcache_pred_time_t    refused_at;  /* When the system began to refuse
                                              memory; 0: it does not refuse
                                              any */
    transfer_piece_t          pieces[UCS_RCACHE_PRED_PIECES_IN_FLIGHT];
} transfer_t;


static void transfer_fail(transfer_t *transfer, ucs_status_t status)
{
    if (transfer->status == UCS_OK) {
        transfer->status = status;
    }
    transfer->length = 0; /* No further piece is registered */
}

static void piece_release(transfer_piece_t *piece)
{
    piece->state = PIECE_FREE;
    ucs_rcache_pred_piece_dereg(piece->transfer->memh->use.domain, &piece->reg);
}

/* Register the next piece of the data that is left */
static ucs_status_t piece_prepare(transfer_piece_t *piece)
{
    transfer_t *transfer = piece->transfer;
    ucs_status_t status;

    status = ucs_rcache_pred_piece_reg(&transfer->memh->use, transfer->start,
                                       transfer->length, transfer->memh->flags,
                                       &piece->reg);
    if (status != UCS_OK) {
        return status;
    }

    piece->state           = PIECE_REGISTERED;
    piece->remote_addr     = transfer->remote_addr;
    transfer->start       += piece->reg.length;
    transfer->remote_addr += piece->reg.length;
    transfer->length      -= piece->reg.length;
    return UCS_OK;
}

static ucs_status_t piece_post(transfer_piece_t *piece)
{
    transfer_t *transfer = piece->transfer;
    uct_iov_t iov        = {
        .buffer = (void*)piece->reg.start,
        .length = piece->reg.length,
        .memh   = piece->reg.memh,
        .stride = 0,
        .count  = 1
    };
    ucs_status_t status;

    piece->comp.count  = 1;
    piece->comp.status = UCS_OK;
    status = transfer->post(transfer->ep, &iov, 1, piece->remote_addr,
                            transfer->rkey, &piece->comp);
    if (status == UCS_INPROGRESS) {
        piece->state = PIECE_IN_FLIGHT;
    } else if (status != UCS_ERR_NO_RESOURCE) {
        piece_release(piece);
    }
    return status;
}

/*
 * Register and post a piece, if any data is left for it.
 *
 * @return UCS_OK if the piece has landed already, so that the next one can take
 *         its place; UCS_INPROGRESS if nothing can be done until it lands; or
 *         the error.
 */
static ucs_status_t piece_advance(transfer_piece_t *piece)
{
    transfer_t *transfer = piece->transfer;
    ucs_status_t status;

    if ((piece->state == PIECE_FREE) && (transfer->length > 0)) {
        status = piece_prepare(piece);
        if (status != UCS_OK) {
            return status;
        }
    }

    if (piece->state != PIECE_REGISTERED) {
        return UCS_INPROGRESS; /* The piece is in flight, or no data is left for
                                  it */
    }

    if (transfer->status != UCS_OK) {
        piece_release(piece);
        return UCS_INPROGRESS;
    }

    return piece_post(piece);
}

static int transfer_is_over(const transfer_t *transfer)
{
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_PIECES_IN_FLIGHT; ++i) {
        if (transfer->pieces[i].state != PIECE_FREE) {
            return 0;
        }
    }

    return transfer->length == 0;
}

static void transfer_set_waiting(transfer_t *transfer, int waiting)
{
    if (waiting != transfer->waiting) {
        transfer->waiting         = waiting;
        transfer->iface->waiting += waiting ? 1u : -1u;
        atomic_fetch_add_explicit(&num_waiting, waiting ? 1u : -1u,
                                  memory_order_relaxed);
    }
}

int uct_predreg_may_sleep(void)
{
    return atomic_load_explicit(&num_waiting, memory_order_relaxed) == 0;
}

/* Whether the transfer asks again for memory that the system has refused */
static int transfer_is_patient(transfer_t *transfer)
{
    const uct_predreg_env_t *env = &transfer->iface->env;
    ucs_rcache_pred_time_t now   = env->now(env->now_arg);

    if (transfer->refused_at == 0) {
        transfer->refused_at = now;
    }

    return now < transfer->refused_at + REFUSED_TIMEOUT;
}

/* Bring a piece, and those that take its place, as far as possible now. @return
 * whether it is to be tried again, which after a failure of the transfer means
 * only to release it. */
static int piece_push(transfer_piece_t *piece)
{
    transfer_t *transfer = piece->transfer;
    ucs_status_t status;

    do {
        status = piece_advance(piece);
        if (!UCS_STATUS_IS_ERR(status)) {
            transfer->refused_at = 0;
        }
    } while (status == UCS_OK);

    if (status == UCS_INPROGRESS) {
        return 0;
    }

    if ((status != UCS_ERR_NO_RESOURCE) &&
        ((status != UCS_ERR_NO_MEMORY) || !transfer_is_patient(transfer))) {
        transfer_fail(transfer, status);
    }
    return 1;
}

/* Bring a transfer as far as possible now */
static void transfer_advance(transfer_t *transfer)
{
    int waiting = 0;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_PIECES_IN_FLIGHT; ++i) {
        waiting |= piece_push(&transfer->pieces[i]);
    }

    /* A failed transfer still waits: its pieces that were not posted have to be
     * released */
    transfer_set_waiting(transfer, waiting && !transfer_is_over(transfer));
}

/* To be called after transfer_advance(). If the transfer is over, it ends and
 * UCP is called back; if it waits, the progress of its worker will try again */
static void transfer_end_or_wait(transfer_t *transfer)
{
    uct_completion_t *comp = transfer->comp;
    ucs_status_t status    = transfer->status;

    if (transfer_is_over(transfer)) {
        ucs_list_del(&transfer->list);
        free(transfer);
        uct_predreg_completion_invoke(comp, status);
    } else if (transfer->waiting) {
        uct_predreg_retry_start(transfer->iface);
    }
}

static void piece_landed(uct_completion_t *comp)
{
    transfer_piece_t *piece = ucs_container_of(comp, transfer_piece_t, comp);
    transfer_t *transfer    = piece->transfer;

    piece_release(piece);
    if (comp->status != UCS_OK) {
        transfer_fail(transfer, comp->status);
    }

    transfer_advance(transfer);
    transfer_end_or_wait(transfer);
}

static transfer_t *
transfer_new(uct_predreg_iface_t *iface, uct_ep_get_zcopy_func_t post,
             uct_ep_h ep, const uct_iov_t *iov, uint64_t remote_addr,
             uct_rkey_t rkey, uct_completion_t *comp)
{
    transfer_t *transfer;
    unsigned i;

    transfer = calloc(1, sizeof(*transfer));
    if (transfer == NULL) {
        return NULL;
    }

    transfer->iface       = iface;
    transfer->post        = post;
    transfer->ep          = ep;
    transfer->rkey        = rkey;
    transfer->memh        = uct_predreg_memh_to_pieces(iov->memh);
    transfer->comp        = comp;
    transfer->status      = UCS_OK;
    transfer->start       = (uintptr_t)iov->buffer;
    transfer->remote_addr = remote_addr;
    transfer->length      = iov->length;
    transfer->round       = iface->round;
    transfer->number      = iface->started++;
    for (i = 0; i < UCS_RCACHE_PRED_PIECES_IN_FLIGHT; ++i) {
        transfer->pieces[i].transfer  = transfer;
        transfer->pieces[i].comp.func = piece_landed;
    }

    transfer->memh->use.min_piece = iface->min_zcopy;
    return transfer;
}

ucs_status_t
uct_predreg_transfer_start(uct_predreg_iface_t *iface,
                           uct_ep_get_zcopy_func_t post, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp)
{
    transfer_t *transfer;
    ucs_status_t status;

    transfer = transfer_new(iface, post, ep, iov, remote_addr, rkey, comp);
    if (transfer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    transfer_advance(transfer);
    if (transfer_is_over(transfer)) {
        /* The transfer landed or failed at once. The value returned tells UCP
         * so, which is not called back */
        status = transfer->status;
        free(transfer);
        return status;
    }

    ucs_list_add_tail(&iface->transfers, &transfer->list);
    if (transfer->waiting) {
        uct_predreg_retry_start(iface);
    }
    return UCS_INPROGRESS;
}

int uct_predreg_transfer_is_before(uct_predreg_iface_t *iface, uct_ep_h ep,
                                   uint64_t number)
{
    transfer_t *transfer;

    ucs_list_for_each(transfer, &iface->transfers, list) {
        if (((ep == NULL) || (transfer->ep == ep)) &&
            (transfer->number < number)) {
            return 1;
        }
    }

    return 0;
}

int uct_predreg_transfer_is_active(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    return uct_predreg_transfer_is_before(iface, ep, UINT64_MAX);
}

/* Find a transfer that waits and was not tried in this round. The search starts
 * anew each time, because UCP's callbacks may start and end transfers. */
static transfer_t *next_waiting(uct_predreg_iface_t *iface)
{
    transfer_t *transfer;

    ucs_list_for_each(transfer, &iface->transfers, list) {
        if (transfer->waiting && (transfer->round != iface->round)) {
            return transfer;
        }
    }

    return NULL;
}

/* Try each waiting transfer once more. @return how many of them no longer
 * wait. */
static unsigned retry_round(uct_predreg_iface_t *iface)
{
    unsigned count = 0;
    transfer_t *transfer;

    while ((transfer = next_waiting(iface)) != NULL) {
        transfer->round = iface->round;
        transfer_advance(transfer);
        count += !transfer->waiting;
        transfer_end_or_wait(transfer);
    }

    return count;
}

unsigned uct_predreg_transfer_retry(uct_predreg_iface_t *iface)
{
    ++iface->round;
    return retry_round(iface);
}

void uct_predreg_transfer_cancel(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    transfer_t *transfer;

    /* The new round begins before any transfer is tried: a transfer that a
     * callback starts meanwhile belongs to this round, and is left alone */
    ++iface->round;
    ucs_list_for_each(transfer, &iface->transfers, list) {
        if ((ep == NULL) || (transfer->ep == ep)) {
            transfer_fail(transfer, UCS_ERR_CANCELED);
            transfer_set_waiting(transfer, 1);
        }
    }

    retry_round(iface);
}
