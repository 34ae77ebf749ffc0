/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface.h"
#include "pieces_memh.h"

#include <uct/ib/predreg/core/state.h>

#include <ucs/datastruct/callbackq.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Transfers whose local memory is registered piece by piece. Two pieces are in
 * flight at a time: when one has landed it is deregistered, and the next one
 * registered and posted, while the other one keeps the adapter busy. Nobody
 * hands anything to another thread; what a registration takes, the adapter does
 * not wait for.
 *
 * A transfer that finds no room or no place in the send queue tries again each
 * time its worker makes progress.
 */

#define PIECES_IN_FLIGHT 2

/* Memory that the system refuses is asked for again for so long, ns: what is in
 * use now may not be then */
#define REFUSED_TIMEOUT 10000000000ull

/* Transfers that wait. Relaxed: a program that is about to sleep and the
 * transfers it would miss are of one thread. */
static _Atomic unsigned num_waiting;


typedef enum {
    PIECE_FREE,
    PIECE_REGISTERED,  /* Could not be posted yet */
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
    ucs_list_link_t         list;        /* In iface->transfers */
    uct_predreg_iface_t     *iface;
    uct_ep_get_zcopy_func_t post;
    uct_ep_h                ep;
    uct_rkey_t              rkey;
    uct_predreg_pieces_memh_t *memh;
    uct_completion_t        *comp;       /* UCP's */
    ucs_status_t            status;      /* First error */
    uintptr_t               start;       /* What is not registered yet: local */
    uint64_t                remote_addr; /* ... and remote */
    size_t                  length;
    int                     waiting;     /* For room, or a place in the send
                                            queue */
    unsigned                round;       /* Of iface, when it was last tried */
    uint64_t                number;      /* Of iface, in order of their start */
    ucs_rcache_pred_time_t  refused_at;  /* By the system, since then; 0: not */
    transfer_piece_t        pieces[PIECES_IN_FLIGHT];
} transfer_t;

/* A flush that waits for the transfers of its endpoint */
typedef struct flush {
    ucs_list_link_t  list;
    uct_ep_h         ep;
    unsigned         flags;
    uint64_t         number; /* Of the first transfer it does not wait for */
    uct_completion_t *comp;
} flush_t;


/* As UCT's own function, which is not installed: the first error is kept, and
 * the last of count operations calls back */
static void completion_invoke(uct_completion_t *comp, ucs_status_t status)
{
    if ((status != UCS_OK) && (comp->status == UCS_OK)) {
        comp->status = status;
    }

    if (--comp->count == 0) {
        comp->func(comp);
    }
}

static void transfer_fail(transfer_t *transfer, ucs_status_t status)
{
    if (transfer->status == UCS_OK) {
        transfer->status = status;
    }
    transfer->length = 0; /* Nothing more is posted */
}

static void piece_release(transfer_piece_t *piece)
{
    piece->state = PIECE_FREE;
    ucs_rcache_pred_piece_dereg(piece->transfer->memh->use.domain, &piece->reg);
}

/* Register the next piece of what is left */
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

/* Bring a piece into flight, if there is anything left for it.
 * @return UCS_OK if it may be called again at once. */
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
        return UCS_INPROGRESS; /* In flight, or nothing left */
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

    for (i = 0; i < PIECES_IN_FLIGHT; ++i) {
        if (transfer->pieces[i].state != PIECE_FREE) {
            return 0;
        }
    }

    return transfer->length == 0;
}

static void transfer_set_waiting(transfer_t *transfer, int waiting)
{
    if (waiting != transfer->waiting) {
        transfer->waiting = waiting;
        atomic_fetch_add_explicit(&num_waiting, waiting ? 1u : -1u,
                                  memory_order_relaxed);
    }
}

int uct_predreg_may_sleep(void)
{
    return atomic_load_explicit(&num_waiting, memory_order_relaxed) == 0;
}

/* Whether to try again after the system has refused memory */
static int transfer_is_patient(transfer_t *transfer)
{
    ucs_rcache_pred_time_t now =
            ucs_rcache_pred_thread_now(uct_predreg_core.thread);

    if (transfer->refused_at == 0) {
        transfer->refused_at = now;
    }

    return now < transfer->refused_at + REFUSED_TIMEOUT;
}

/* Bring a piece as far as possible. @return whether it waits. */
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

/* Get on with a transfer as far as possible */
static void transfer_advance(transfer_t *transfer)
{
    int waiting = 0;
    unsigned i;

    for (i = 0; i < PIECES_IN_FLIGHT; ++i) {
        waiting |= piece_push(&transfer->pieces[i]);
    }

    /* If it failed, for pieces that were not posted to be released */
    transfer_set_waiting(transfer, waiting && !transfer_is_over(transfer));
}

static void iface_progress_start(uct_predreg_iface_t *iface);

/* After getting on: if the transfer is over it ends, and UCP's callback is
 * called; if it waits, its worker's progress will try again */
static void transfer_end_or_wait(transfer_t *transfer)
{
    uct_completion_t *comp = transfer->comp;
    ucs_status_t status    = transfer->status;

    if (transfer_is_over(transfer)) {
        ucs_list_del(&transfer->list);
        free(transfer);
        completion_invoke(comp, status);
    } else if (transfer->waiting) {
        iface_progress_start(transfer->iface);
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

/* Whether a transfer of the endpoint, or of any if NULL, that started before
 * the one of this number has not ended */
static int has_transfer_before(uct_predreg_iface_t *iface, uct_ep_h ep,
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

static void flush_try(uct_predreg_iface_t *iface, flush_t *flush)
{
    uct_completion_t *comp = flush->comp;
    ucs_status_t status;

    status = iface->ops.ep_flush(flush->ep, flush->flags, comp);
    if (status == UCS_ERR_NO_RESOURCE) {
        return;
    }

    ucs_list_del(&flush->list);
    free(flush);
    if (status != UCS_INPROGRESS) {
        completion_invoke(comp, status);
    }
}

/* The next transfer that waits and was not tried in this round; callbacks of
 * UCP may start and end others in between */
static transfer_t *iface_next_waiting(uct_predreg_iface_t *iface)
{
    transfer_t *transfer;

    ucs_list_for_each(transfer, &iface->transfers, list) {
        if (transfer->waiting && (transfer->round != iface->round)) {
            return transfer;
        }
    }

    return NULL;
}

/* Called by the worker's progress: try again what waits */
static unsigned iface_progress(void *arg)
{
    uct_predreg_iface_t *iface = arg;
    int waiting                = 0;
    unsigned count             = 0;
    transfer_t *transfer;
    flush_t *flush, *tmp;

    ++iface->round;
    while ((transfer = iface_next_waiting(iface)) != NULL) {
        transfer->round = iface->round;
        transfer_advance(transfer);
        waiting |= transfer->waiting;
        count   += !transfer->waiting;
        transfer_end_or_wait(transfer);
    }

    ucs_list_for_each_safe(flush, tmp, &iface->flushes, list) {
        if (!has_transfer_before(iface, flush->ep, flush->number)) {
            flush_try(iface, flush);
            ++count;
        }
    }

    if (!waiting && ucs_list_is_empty(&iface->flushes)) {
        uct_predreg_core.real.uct_worker_progress_unregister_safe(
                iface->worker, &iface->progress);
    }
    return count;
}

static void iface_progress_start(uct_predreg_iface_t *iface)
{
    /* No-op if it is started */
    uct_predreg_core.real.uct_worker_progress_register_safe(
            iface->worker, iface_progress, iface, 0, &iface->progress);
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
    transfer->memh->use.min_piece = iface->min_zcopy;
    transfer->comp        = comp;
    transfer->status      = UCS_OK;
    transfer->start       = (uintptr_t)iov->buffer;
    transfer->remote_addr = remote_addr;
    transfer->length      = iov->length;
    transfer->round       = iface->round;
    transfer->number      = iface->started++;
    for (i = 0; i < PIECES_IN_FLIGHT; ++i) {
        transfer->pieces[i].transfer  = transfer;
        transfer->pieces[i].comp.func = piece_landed;
    }

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
        /* At once, or failed at once: then there is nothing to call back for */
        status = transfer->status;
        free(transfer);
        return status;
    }

    ucs_list_add_tail(&iface->transfers, &transfer->list);
    if (transfer->waiting) {
        iface_progress_start(iface);
    }
    return UCS_INPROGRESS;
}

int uct_predreg_transfer_is_active(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    return has_transfer_before(iface, ep, UINT64_MAX);
}

void uct_predreg_transfer_cancel(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    transfer_t *transfer;

    /* One at a time: callbacks of UCP may end others */
    ++iface->round;
    ucs_list_for_each(transfer, &iface->transfers, list) {
        if ((ep == NULL) || (transfer->ep == ep)) {
            transfer_fail(transfer, UCS_ERR_CANCELED);
            transfer_set_waiting(transfer, 1);
        }
    }

    while ((transfer = iface_next_waiting(iface)) != NULL) {
        transfer->round = iface->round;
        transfer_advance(transfer);
        transfer_end_or_wait(transfer);
    }
}

ucs_status_t uct_predreg_transfer_flush(uct_predreg_iface_t *iface, uct_ep_h ep,
                                        unsigned flags, uct_completion_t *comp)
{
    flush_t *flush;

    if (comp == NULL) {
        return UCS_INPROGRESS; /* The caller will ask again */
    }

    flush = malloc(sizeof(*flush));
    if (flush == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    flush->ep     = ep;
    flush->flags  = flags;
    flush->comp   = comp;
    flush->number = iface->started;
    ucs_list_add_tail(&iface->flushes, &flush->list);
    iface_progress_start(iface);
    return UCS_INPROGRESS;
}

void uct_predreg_transfer_forget_ep(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    flush_t *flush, *tmp;

    ucs_list_for_each_safe(flush, tmp, &iface->flushes, list) {
        if ((ep == NULL) || (flush->ep == ep)) {
            ucs_list_del(&flush->list);
            completion_invoke(flush->comp, UCS_ERR_CANCELED);
            free(flush);
        }
    }

    if (ep == NULL) {
        uct_predreg_core.real.uct_worker_progress_unregister_safe(
                iface->worker, &iface->progress);
    }
}
