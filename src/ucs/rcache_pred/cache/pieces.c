/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "event.h"
#include "register.h"
#include "use.h"

#include <ucs/sys/math.h>

/*
 * Uses whose memory is registered piece by piece, by whoever moves the data:
 * one that does not fit the bounds, and one that nobody predicted and that is
 * large enough for the first byte to move earlier so. Any thread.
 *
 * A use in pieces holds no reference to its region, which others may register,
 * or which may be unmapped and forgotten meanwhile. The use is only noted in the
 * region: the next one can be predicted then, and the helper does not register
 * the memory for the use that is under way.
 */

/* Pieces are halved down to this when the system refuses them, bytes; two fit
 * what the node holds for this process */
#define PIECE_MIN (64ul << 10)


/* The size of the largest pieces that the bound has room for, since two fly at a
 * time, bytes. Under lock. */
static size_t piece_max(const ucs_rcache_pred_t *pred)
{
    uint64_t reserve = ucs_rcache_pred_bound_reserve(pred->bound.max_bytes);

    if (reserve == 0) {
        return SIZE_MAX;
    }

    return ucs_max(ucs_align_down(reserve / 2, UCS_RCACHE_PRED_PAGE_SIZE),
                   PIECE_MIN);
}

/* Size of the pieces for a use of so many pages, bytes. Under lock. */
static size_t piece_bytes(ucs_rcache_pred_domain_t *domain, size_t pages)
{
    size_t piece;

    piece = ucs_rcache_pred_piece_pages(&domain->reg_cost, &domain->dereg_cost,
                                        pages) * UCS_RCACHE_PRED_PAGE_SIZE;
    return ucs_min(ucs_max(piece, PIECE_MIN), piece_max(domain->pred));
}

int pred_pieces_pay(ucs_rcache_pred_domain_t *domain, uintptr_t start,
                    size_t length)
{
    size_t pages = ucs_rcache_pred_pages(start, length);

    return domain->pred->params.pieces &&
           ucs_rcache_pred_pieces_pay(&domain->reg_cost, &domain->dereg_cost,
                                      pages,
                                      piece_bytes(domain, pages) /
                                      UCS_RCACHE_PRED_PAGE_SIZE);
}

void pred_pieces_start(ucs_rcache_pred_domain_t *domain,
                       ucs_rcache_pred_region_t *region, uintptr_t start,
                       size_t length, ucs_rcache_pred_time_t now,
                       const ucs_rcache_pred_context_t *context,
                       ucs_rcache_pred_pieces_t *pieces)
{
    pieces->domain    = domain;
    pieces->region    = region;
    pieces->begin     = now;
    pieces->length    = length;
    pieces->context   = *context;
    pieces->piece     = piece_bytes(domain,
                                    ucs_rcache_pred_pages(start, length));
    pieces->min_piece = 0;
    pieces->id        = pred_has_sink(domain->pred) ?
                        ++domain->pred->table.generations : 0;
    ++domain->pred->stats.uses;
    ++domain->pred->stats.in_pieces;
    if (region != NULL) {
        pieces->generation = region->generation;
        ++region->in_pieces;
    }
}

void ucs_rcache_pred_end_in_pieces(ucs_rcache_pred_pieces_t *pieces)
{
    ucs_rcache_pred_t *pred = pieces->domain->pred;
    ucs_rcache_pred_dq_entry_t entry;
    ucs_rcache_pred_time_t now;

    if (pred_has_sink(pred)) {
        now = pred_now(pred);
        ucs_spin_lock(&pred->lock);
        pred_emit_end(pieces->domain, pieces->id, now, now);
        ucs_spin_unlock(&pred->lock);
    }

    if (pieces->region == NULL) {
        return;
    }

    ucs_spin_lock(&pred->lock);
    if (pieces->region->generation == pieces->generation) {
        --pieces->region->in_pieces;
    }
    ucs_spin_unlock(&pred->lock);

    entry.region     = pieces->region;
    entry.generation = pieces->generation;
    entry.begin      = pieces->begin;
    entry.length     = pieces->length;
    entry.context    = pieces->context;
    ucs_rcache_pred_dq_push(&pred->dq, &entry);
    pred_wake(pred);
}

/*
 * An attempt to register a piece starts, and counts as a piece until it has
 * failed.
 *
 * @return whether there are others: one of them may be gone by the time the
 *         system refuses this one, and its memory was still pinned.
 */
static int piece_start(ucs_rcache_pred_pieces_t *pieces)
{
    ucs_rcache_pred_t *pred = pieces->domain->pred;
    int others;

    ucs_spin_lock(&pred->lock);
    /* The bound may have been lowered since the use began */
    pieces->piece = ucs_min(pieces->piece, piece_max(pred));
    others        = (pred->bound.pieces_now > 0);
    ++pred->bound.pieces_now;
    ucs_spin_unlock(&pred->lock);
    return others;
}

/* A piece could not be registered. @return the status its user is given, which
 * says whether to try again. */
static ucs_status_t piece_fail(ucs_rcache_pred_t *pred, int others,
                               ucs_status_t status)
{
    ucs_spin_lock(&pred->lock);
    --pred->bound.pieces_now;
    pred->stats.refused += (status == UCS_ERR_NO_MEMORY) ||
                           (status == UCS_ERR_NO_RESOURCE);
    if ((status == UCS_ERR_NO_MEMORY) &&
        (others || (pred->bound.pieces_now > 0))) {
        status = UCS_ERR_NO_RESOURCE; /* Until one of them is released */
    }
    ucs_spin_unlock(&pred->lock);
    return status;
}

static pred_handle_t piece_handle(ucs_rcache_pred_domain_t *domain,
                                  const ucs_rcache_pred_piece_t *piece)
{
    return (pred_handle_t){
        .domain = domain,
        .start  = piece->start,
        .length = piece->length,
        .held   = piece->held
    };
}

/* Register a piece for which there is room */
static ucs_status_t
piece_register(ucs_rcache_pred_pieces_t *pieces, unsigned flags,
               ucs_rcache_pred_piece_t *piece)
{
    ucs_rcache_pred_t *pred      = pieces->domain->pred;
    ucs_rcache_pred_time_t begin = pred_now(pred);
    pred_handle_t handle         = piece_handle(pieces->domain, piece);
    ucs_rcache_pred_time_t end;
    ucs_status_t status;

    do {
        status = pred_register(&handle, UCS_RCACHE_PRED_BY_PIECE,
                               flags | pred->params.helper_flags, &end);
    } while ((status == UCS_ERR_NO_MEMORY) && pred_evict(pred, 0));

    piece->memh = handle.memh;

    ucs_spin_lock(&pred->lock);
    pred->stats.time_critical += pred_elapsed(begin, end);
    pred->stats.pieces        += (status == UCS_OK);
    ucs_spin_unlock(&pred->lock);
    return status;
}

/* Reserve room for a piece of at most max bytes. It ends at a page boundary, so
 * that no page belongs to two pieces, and leaves either nothing or at least min
 * bytes for the last one.
 *
 * @return 0 if there is no room. */
static int piece_reserve(ucs_rcache_pred_t *pred, uintptr_t start,
                         size_t length, size_t max, size_t min,
                         ucs_rcache_pred_piece_t *piece)
{
    pred_reservation_t room;

    piece->start  = start;
    piece->length = ucs_min(length, max - (start % UCS_RCACHE_PRED_PAGE_SIZE));
    if ((piece->length < length) && (length - piece->length < min)) {
        piece->length -= UCS_RCACHE_PRED_PAGE_SIZE; /* For the last one */
    }

    room = pred_reservation(piece->start, piece->length, PRED_PART_PIECE);
    if (!pred_reserve(pred, &room, 0)) {
        return 0;
    }

    piece->held = room.held;
    return 1;
}

static void
piece_unreserve(ucs_rcache_pred_t *pred, const ucs_rcache_pred_piece_t *piece)
{
    pred_reservation_t room;

    room      = pred_reservation(piece->start, piece->length, PRED_PART_PIECE);
    room.held = piece->held;
    pred_bound_give(pred, &room);
}

/* Register a piece of the present size, or of the smallest, if there is room */
static ucs_status_t piece_try(ucs_rcache_pred_pieces_t *pieces, uintptr_t start,
                              size_t length, unsigned flags,
                              ucs_rcache_pred_piece_t *piece)
{
    ucs_rcache_pred_t *pred = pieces->domain->pred;
    ucs_status_t status;

    if (!piece_reserve(pred, start, length, pieces->piece, pieces->min_piece,
                       piece) &&
        !piece_reserve(pred, start, length, PIECE_MIN, pieces->min_piece,
                       piece)) {
        return UCS_ERR_NO_RESOURCE;
    }

    status = piece_register(pieces, flags, piece);
    if (status != UCS_OK) {
        piece_unreserve(pred, piece);
    }
    return status;
}

/* @return whether pieces can be smaller than they were. */
static int piece_halve(ucs_rcache_pred_pieces_t *pieces)
{
    if (pieces->piece <= PIECE_MIN) {
        return 0;
    }

    pieces->piece = ucs_max(ucs_align_down(pieces->piece / 2,
                                           UCS_RCACHE_PRED_PAGE_SIZE),
                            PIECE_MIN);
    return 1;
}

ucs_status_t ucs_rcache_pred_piece_reg(ucs_rcache_pred_pieces_t *pieces,
                                       uintptr_t start, size_t length,
                                       unsigned flags,
                                       ucs_rcache_pred_piece_t *piece)
{
    int others = piece_start(pieces);
    ucs_status_t status;

    do {
        status = piece_try(pieces, start, length, flags, piece);
    } while ((status == UCS_ERR_NO_MEMORY) && piece_halve(pieces));

    if (status != UCS_OK) {
        status = piece_fail(pieces->domain->pred, others, status);
    }
    pred_publish(pieces->domain->pred);
    return status;
}

void ucs_rcache_pred_piece_dereg(ucs_rcache_pred_domain_t *domain,
                                 const ucs_rcache_pred_piece_t *piece)
{
    ucs_rcache_pred_t *pred = domain->pred;
    pred_handle_t handle    = piece_handle(domain, piece);

    handle.memh = piece->memh;
    ucs_spin_lock(&pred->lock);
    ++domain->releasing;
    ++pred->bound.releasing;
    ucs_spin_unlock(&pred->lock);
    pred_deregister(&handle, UCS_RCACHE_PRED_BY_PIECE);

    /* Only now, so that who is refused meanwhile is told to try again */
    ucs_spin_lock(&pred->lock);
    --pred->bound.pieces_now;
    ucs_spin_unlock(&pred->lock);
    pred_publish(pred);
}
