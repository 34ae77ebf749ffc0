/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */


#include "iface_int.h"

#include <stdlib.h>

/* How long the first transfer in line for room waits before it asks the cache again, ns,
 * even if the cache has counted no release of room meanwhile
 * (ucs_rcache_pred_releases()): room may come from other processes, and from uses that
 * have ended. */
#define ASK_INTERVAL 100000ull

/* After so many refusals by the send queue no further transfer is tried in a call of
 * progress. More than one: the transfers may be on different endpoints, and the queue of
 * one may have a place when that of another is full. */
#define MAX_REFUSED 4


static uct_predreg_transfer_t *
first_in_line(uct_predreg_iface_t *iface, uct_predreg_line_t line)
{
    return ucs_list_is_empty(&iface->lines[line]) ?
           NULL : ucs_list_head(&iface->lines[line], uct_predreg_transfer_t,
                                link);
}

static void leave_line(uct_predreg_transfer_t *transfer)
{
    if (transfer->line != UCT_PREDREG_LINE_NONE) {
        ucs_list_del(&transfer->link);
        transfer->line = UCT_PREDREG_LINE_NONE;
    }
}

/* Put a transfer at the end of a line */
static void line_up(uct_predreg_transfer_t *transfer, uct_predreg_line_t line)
{
    uct_predreg_iface_t *iface = transfer->iface;

    leave_line(transfer);
    if (line == UCT_PREDREG_LINE_NONE) {
        return;
    }

    transfer->line   = line;
    transfer->ticket = iface->tickets++;
    ucs_list_add_tail(&iface->lines[line], &transfer->link);
    uct_predreg_retry_start(iface);
}

/* End a transfer that is over, and call UCP back */
static void transfer_end(uct_predreg_transfer_t *transfer)
{
    uct_completion_t *comp = transfer->comp;
    ucs_status_t status    = transfer->status;

    leave_line(transfer);
    uct_predreg_endpoint_remove(transfer->iface, &transfer->entry);
    free(transfer);
    uct_predreg_completion_invoke(comp, status);
}

/* To be called after uct_predreg_pieces_push(), with the line that it has returned: end
 * the transfer if it is over, else put it at the end of the line. If the transfer stands
 * in this line already, it keeps its place. */
static void transfer_settle(uct_predreg_transfer_t *transfer,
                            uct_predreg_line_t line)
{
    if (uct_predreg_pieces_are_over(transfer)) {
        transfer_end(transfer);
    } else if (line != transfer->line) {
        line_up(transfer, line);
    }
}

/* Whether no transfer waits for room. Then another transfer may ask for room, and gets
 * ahead of nobody */
static int nobody_wants_room(uct_predreg_iface_t *iface)
{
    return ucs_list_is_empty(&iface->lines[UCT_PREDREG_LINE_ROOM]);
}

static void piece_landed(uct_completion_t *comp)
{
    uct_predreg_piece_t *piece       = ucs_container_of(comp,
                                                        uct_predreg_piece_t,
                                                        comp);
    uct_predreg_transfer_t *transfer = piece->transfer;

    uct_predreg_pieces_landed(piece, comp->status);
    /* The piece has given room back, and the transfer takes the room again before others
     * in line: their turn comes when the transfer has ended */
    transfer_settle(transfer, uct_predreg_pieces_push(transfer, 1));
}

static uct_predreg_transfer_t *
transfer_new(uct_predreg_iface_t *iface, uct_ep_get_zcopy_func_t post,
             uct_predreg_copy_func_t copy, uct_ep_h ep, const uct_iov_t *iov,
             uint64_t remote_addr, uct_rkey_t rkey, uct_completion_t *comp)
{
    uct_predreg_transfer_t *transfer;
    unsigned i;

    transfer = calloc(1, sizeof(*transfer));
    if (transfer == NULL) {
        return NULL;
    }

    transfer->iface       = iface;
    transfer->post        = post;
    transfer->copy_func   = copy;
    transfer->ep          = ep;
    transfer->rkey        = rkey;
    transfer->memh        = uct_predreg_memh_to_pieces(iov->memh);
    transfer->domain      = transfer->memh->use.domain;
    transfer->comp        = comp;
    transfer->status      = UCS_OK;
    transfer->start       = (uintptr_t)iov->buffer;
    transfer->remote_addr = remote_addr;
    transfer->length      = iov->length;
    transfer->line        = UCT_PREDREG_LINE_NONE;
    for (i = 0; i < UCS_RCACHE_PRED_PIECES_IN_FLIGHT; ++i) {
        transfer->pieces[i].transfer  = transfer;
        transfer->pieces[i].comp.func = piece_landed;
    }

    transfer->memh->use.min_piece = iface->min_zcopy;
    return transfer;
}

ucs_status_t
uct_predreg_transfer_start(uct_predreg_iface_t *iface,
                           uct_ep_get_zcopy_func_t post,
                           uct_predreg_copy_func_t copy, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp)
{
    uct_predreg_transfer_t *transfer;
    uct_predreg_line_t line;
    ucs_status_t status;

    transfer = transfer_new(iface, post, copy, ep, iov, remote_addr, rkey, comp);
    if (transfer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = uct_predreg_endpoint_add(iface, ep, &transfer->entry);
    if (status != UCS_OK) {
        goto out_free;
    }

    line = uct_predreg_pieces_push(transfer, nobody_wants_room(iface));
    if (!uct_predreg_pieces_are_over(transfer)) {
        line_up(transfer, line);
        return UCS_INPROGRESS;
    }

    /* The transfer has landed or failed at once. UCP learns so from the value returned,
     * and is not called back */
    status = transfer->status;
    uct_predreg_endpoint_remove(iface, &transfer->entry);

out_free:
    free(transfer);
    return status;
}

/* Whether the first transfer in line for room would be refused again. In a forked child no
 * transfer waits for room: all of them fail. */
static int is_in_vain(const uct_predreg_iface_t *iface,
                      const uct_predreg_transfer_t *first)
{
    /* If the clock went back, the difference is a large number, and the transfer asks */
    return !uct_predreg_is_inherited(iface) &&
           (iface->releases == ucs_rcache_pred_releases(first->domain)) &&
           (iface->env.now(iface->env.now_arg) - iface->asked_at < ASK_INTERVAL);
}

static unsigned serve_room(uct_predreg_iface_t *iface)
{
    uint64_t end   = iface->tickets;
    unsigned count = 0;
    uct_predreg_transfer_t *transfer;
    uct_predreg_line_t line;

    while (((transfer = first_in_line(iface, UCT_PREDREG_LINE_ROOM)) != NULL) &&
           (transfer->ticket < end) && !is_in_vain(iface, transfer)) {
        line = uct_predreg_pieces_push(transfer, 1);
        if (line == UCT_PREDREG_LINE_ROOM) {
            /* Read the number after the attempt, since the attempt to register reserves
             * room, and counts as a release when it fails and gives the room back */
            iface->releases = ucs_rcache_pred_releases(transfer->domain);
            iface->asked_at = iface->env.now(iface->env.now_arg);
            break;
        }

        ++count;
        transfer_settle(transfer, line);
    }

    return count;
}

static unsigned serve_place(uct_predreg_iface_t *iface)
{
    uint64_t end     = iface->tickets;
    unsigned count   = 0;
    unsigned refused = 0;
    uct_predreg_transfer_t *transfer;
    uct_predreg_line_t line;

    while (((transfer = first_in_line(iface, UCT_PREDREG_LINE_PLACE)) !=
            NULL) && (transfer->ticket < end) && (refused < MAX_REFUSED)) {
        line = uct_predreg_pieces_push(transfer, nobody_wants_room(iface));
        if (line == UCT_PREDREG_LINE_PLACE) {
            ++refused;
            line_up(transfer, line); /* At the end: the turn of the others comes first */
            continue;
        }

        ++count;
        transfer_settle(transfer, line);
    }

    return count;
}

/* Call UCP back for all transfers in line OVER */
static void serve_over(uct_predreg_iface_t *iface)
{
    uct_predreg_transfer_t *transfer;

    while ((transfer = first_in_line(iface, UCT_PREDREG_LINE_OVER)) != NULL) {
        transfer_end(transfer);
    }
}

unsigned uct_predreg_transfer_retry(uct_predreg_iface_t *iface)
{
    unsigned count = serve_place(iface);

    return count + serve_room(iface);
}

int uct_predreg_transfer_is_idle(uct_predreg_iface_t *iface)
{
    return ucs_list_is_empty(&iface->lines[UCT_PREDREG_LINE_ROOM]) &&
           ucs_list_is_empty(&iface->lines[UCT_PREDREG_LINE_PLACE]);
}

/* Let all transfers of an endpoint fail. A transfer that is over then gets into the line
 * OVER, where serve_over() finds it. @param closed  Whether pieces in flight will never
 * land: they count as landed. */
static void
cancel_endpoint(uct_predreg_endpoint_t *endpoint, int closed)
{
    uct_predreg_transfer_t *transfer;
    uct_predreg_entry_t *entry;
    unsigned i;

    ucs_list_for_each(entry, &endpoint->entries, list) {
        if (entry->is_flush) {
            continue;
        }

        transfer = ucs_container_of(entry, uct_predreg_transfer_t, entry);
        uct_predreg_pieces_fail(transfer, UCS_ERR_CANCELED);
        for (i = 0; closed && (i < UCS_RCACHE_PRED_PIECES_IN_FLIGHT); ++i) {
            if (transfer->pieces[i].state == UCT_PREDREG_PIECE_IN_FLIGHT) {
                uct_predreg_pieces_landed(&transfer->pieces[i],
                                          UCS_ERR_CANCELED);
            }
        }

        leave_line(transfer);
        if (uct_predreg_pieces_are_over(transfer)) {
            transfer->line = UCT_PREDREG_LINE_OVER;
            ucs_list_add_tail(&transfer->iface->lines[UCT_PREDREG_LINE_OVER],
                              &transfer->link);
        }
    }
}

void uct_predreg_transfer_cancel(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    uct_predreg_endpoint_t *endpoint = uct_predreg_endpoint_find(iface, ep);

    if (endpoint != NULL) {
        cancel_endpoint(endpoint, 0);
        serve_over(iface);
    }
}

void uct_predreg_transfer_cancel_all(uct_predreg_iface_t *iface, int closed)
{
    uct_predreg_endpoint_t *endpoint;

    ucs_list_for_each(endpoint, &iface->all_endpoints, list) {
        cancel_endpoint(endpoint, closed);
    }
    serve_over(iface);
}
