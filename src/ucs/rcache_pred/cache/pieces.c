/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "event.h"
#include "use.h"

#include <ucs/base/align.h>
#include <ucs/rcache_pred/table/dq.h>

#include <ucs/sys/math.h>

/*
 * Uses whose memory the caller registers piece by piece, while it moves the data.
 * These are uses that do not fit the bounds, and uses that were not predicted
 * and are so large that their first byte moves earlier this way. Any thread may
 * call these functions.
 *
 * A use in pieces holds no reference to its region: meanwhile other threads may register
 * the region, or the region may be unmapped and forgotten. The region only counts the use
 * in the field in_pieces. Because of the count, the helper does not register the memory
 * while the use is under way; it learns of the use afterwards, to predict the next one.
 */

/* The size, bytes, down to which pieces are halved while the system refuses them. Pieces
 * of this size fit the reserve that the node holds for this process, and so a transfer
 * can always go on with them. */
static size_t piece_min(const ucs_rcache_pred_t *pred)
{
    return ucs_rcache_pred_min_piece(pred->params.page_size);
}

/* The size of the largest pieces, bytes: the reserve of the bound for pieces has room for
 * as many of them as are in flight at a time. Under lock. */
static size_t piece_max(const ucs_rcache_pred_t *pred)
{
    size_t page      = pred->params.page_size;
    uint64_t reserve = ucs_rcache_pred_bound_reserve(pred->bound.max_bytes,
                                                     page);

    if (reserve == 0) {
        return SIZE_MAX;
    }

    reserve /= UCS_RCACHE_PRED_PIECES_IN_FLIGHT;
    return ucs_max(ucs_round_down(reserve, page), piece_min(pred));
}

/* @return the size of the pieces for a use of @a pages pages, bytes. Under lock. */
static size_t piece_bytes(ucs_rcache_pred_domain_t *domain, size_t pages)
{
    const ucs_rcache_pred_t *pred = domain->pred;
    size_t piece;

    piece = ucs_rcache_pred_piece_pages(&domain->reg_cost, &domain->dereg_cost,
                                        pages) * pred->params.page_size;
    return ucs_min(ucs_max(piece, piece_min(pred)), piece_max(pred));
}

int pred_pieces_pay(ucs_rcache_pred_domain_t *domain,
                    const ucs_rcache_pred_range_t *range)
{
    const ucs_rcache_pred_t *pred = domain->pred;
    size_t pages                  = pred_pages(pred, range);

    return pred->params.pieces &&
           ucs_rcache_pred_pieces_pay(&domain->reg_cost, &domain->dereg_cost,
                                      pages,
                                      piece_bytes(domain, pages) /
                                      pred->params.page_size);
}

void pred_pieces_start(const pred_use_t *use, ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_domain_t *domain = use->domain;
    ucs_rcache_pred_pieces_t *pieces = use->pieces;

    pieces->domain    = domain;
    pieces->region    = region;
    pieces->begin     = use->time;
    pieces->start     = use->range.start;
    pieces->length    = ucs_rcache_pred_range_length(&use->range);
    pieces->context   = *use->context;
    pieces->access    = use->access;
    pieces->piece     = piece_bytes(domain, pred_pages(domain->pred, &use->range));
    pieces->min_piece = 0;
    pieces->id        = pred_has_sink(domain->pred) ?
                        ++domain->pred->table.generations : 0;
    ++domain->pred->stats.uses;
    ++domain->pred->stats.in_pieces;
    if (region != NULL) {
        pieces->generation = region->generation;
        ++region->in_pieces;
        region->extent.renewed = 1; /* The pieces count as a registration of the region */
    }
}

void ucs_rcache_pred_end_in_pieces(ucs_rcache_pred_pieces_t *pieces)
{
    ucs_rcache_pred_t *pred = pieces->domain->pred;
    ucs_rcache_pred_dq_entry_t entry;
    ucs_rcache_pred_time_t now;

    if (pred_has_sink(pred)) {
        now = pred_now(pred);
        pred_lock(pred);
        pred_emit_end(pieces->domain, pieces->id, now, now);
        pred_unlock(pred);
    }

    if (pieces->region == NULL) {
        return;
    }

    entry = (ucs_rcache_pred_dq_entry_t){
        .region     = pieces->region,
        .generation = pieces->generation,
        .begin      = pieces->begin,
        .range      = ucs_rcache_pred_range(pieces->start, pieces->length),
        .context    = pieces->context,
        .access     = pieces->access
    };
    pred_lock(pred);
    /* The region may have been unmapped and forgotten meanwhile */
    if (pieces->region->generation == pieces->generation) {
        --pieces->region->in_pieces;
        ucs_rcache_pred_dq_push(&pred->dq, &entry);
    }
    pred_unlock(pred);

    pred_wake(pred);
}

/*
 * Start an attempt to register a piece. Attempts of other threads do not count as pieces:
 * two threads whose memory the system refuses for good would wait for each other for ever.
 *
 * @return whether there are other pieces now. If there are, and the system refuses this
 *         piece, the caller shall try again later: the memory of the other pieces may
 *         have been pinned when the system refused, even if they are gone afterwards.
 */
static int piece_start(ucs_rcache_pred_pieces_t *pieces)
{
    ucs_rcache_pred_t *pred = pieces->domain->pred;
    int others;

    pred_lock(pred);
    /* The bound may have been lowered since the use began */
    pieces->piece = ucs_min(pieces->piece, piece_max(pred));
    others        = (pred->bound.pieces_now > 0);
    pred_unlock(pred);
    return others;
}

/* End an attempt to register a piece that has failed.
 * @param [in] others  What piece_start() has returned.
 * @return the status for the caller: UCS_ERR_NO_RESOURCE tells it to try again later. */
static ucs_status_t piece_fail(ucs_rcache_pred_pieces_t *pieces, int others,
                               ucs_status_t status)
{
    ucs_rcache_pred_t *pred = pieces->domain->pred;

    pieces->unfit = pred_is_unfit(status);
    pred_lock(pred);
    pred->stats.reg_failures   += pieces->unfit;
    pred->stats.refused        += (status == UCS_ERR_NO_MEMORY) ||
                                  (status == UCS_ERR_NO_RESOURCE);
    pred->stats.refused_system += (status == UCS_ERR_NO_MEMORY);
    if ((status == UCS_ERR_NO_MEMORY) &&
        (others || (pred->bound.pieces_now > 0))) {
        status = UCS_ERR_NO_RESOURCE; /* The caller tries again when another
                                         piece has been deregistered */
    }
    pred_unlock(pred);
    return status;
}

static pred_handle_t piece_handle(ucs_rcache_pred_domain_t *domain,
                                  const ucs_rcache_pred_piece_t *piece)
{
    return (pred_handle_t){
        .domain = domain,
        .range  = ucs_rcache_pred_range(piece->start, piece->length),
        .held   = piece->held
    };
}

/* Register a piece for which room was taken */
static ucs_status_t
piece_register(ucs_rcache_pred_pieces_t *pieces, unsigned flags,
               ucs_rcache_pred_piece_t *piece)
{
    ucs_rcache_pred_t *pred      = pieces->domain->pred;
    ucs_rcache_pred_time_t begin = pred_now(pred);
    pred_handle_t handle         = piece_handle(pieces->domain, piece);
    pred_cure_t cure             = {.domain = pieces->domain, .bytes = piece->length};
    ucs_rcache_pred_time_t end;
    ucs_status_t status;

    do {
        status = pred_register(&handle, UCS_RCACHE_PRED_BY_PIECE,
                               flags | pred->params.helper_flags, &end);
    } while ((status == UCS_ERR_NO_MEMORY) && pred_cure(&cure, 0));

    piece->memh = handle.memh;

    pred_lock(pred);
    pred->stats.time_critical += pred_elapsed(begin, end);
    pred->stats.pieces        += (status == UCS_OK);
    pred->bound.pieces_now    += (status == UCS_OK);
    pred_unlock(pred);
    return status;
}

/* Reserve room for a piece of at most max bytes. A piece that is not the last one ends at
 * a page boundary, so that no page belongs to two pieces, and leaves at least min bytes
 * for the pieces after it.
 *
 * @return 0 if there is no room. */
static int piece_reserve(ucs_rcache_pred_domain_t *domain, uintptr_t start,
                         size_t length, size_t max, size_t min,
                         ucs_rcache_pred_piece_t *piece)
{
    ucs_rcache_pred_t *pred = domain->pred;
    size_t page             = pred->params.page_size;
    ucs_rcache_pred_range_t range;
    pred_reservation_t room;

    piece->start  = start;
    piece->length = ucs_min(length, max - (start % page));
    if ((piece->length < length) && (length - piece->length < min)) {
        piece->length -= page; /* The last piece gets this page */
    }

    range = ucs_rcache_pred_range(piece->start, piece->length);
    room  = pred_domain_reservation(domain, &range, PRED_PART_PIECE);
    if (!pred_reserve(pred, &room, 0)) {
        return 0;
    }

    piece->held = room.held;
    return 1;
}

static void piece_unreserve(ucs_rcache_pred_domain_t *domain,
                            const ucs_rcache_pred_piece_t *piece)
{
    pred_handle_t handle    = piece_handle(domain, piece);
    pred_reservation_t room = pred_reservation(domain->pred, &handle.range,
                                               PRED_PART_PIECE);

    room.held = piece->held;
    pred_bound_give(domain->pred, &room);
}

/* Register a piece of the present size or, if there is no room for that, of the
 * smallest size */
static ucs_status_t piece_try(ucs_rcache_pred_pieces_t *pieces, uintptr_t start,
                              size_t length, unsigned flags,
                              ucs_rcache_pred_piece_t *piece)
{
    ucs_rcache_pred_t *pred = pieces->domain->pred;
    ucs_status_t status;

    if (!piece_reserve(pieces->domain, start, length, pieces->piece,
                       pieces->min_piece, piece) &&
        !piece_reserve(pieces->domain, start, length, piece_min(pred),
                       pieces->min_piece, piece)) {
        return UCS_ERR_NO_RESOURCE;
    }

    status = piece_register(pieces, flags, piece);
    if (status != UCS_OK) {
        piece_unreserve(pieces->domain, piece);
    }
    return status;
}

/* Halve the size of the pieces of a use, down to the least size. @return 0 if they had
 * the least size already, so that the caller gives up. */
static int piece_halve(ucs_rcache_pred_pieces_t *pieces)
{
    const ucs_rcache_pred_t *pred = pieces->domain->pred;
    size_t least                  = piece_min(pred);

    if (pieces->piece <= least) {
        return 0;
    }

    pieces->piece = ucs_round_down(pieces->piece / 2,
                                               pred->params.page_size);
    pieces->piece = ucs_max(pieces->piece, least);
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
        status = piece_fail(pieces, others, status);
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
    pred_lock(pred);
    ++domain->releasing;
    ++pred->bound.releasing;
    pred_unlock(pred);
    pred_deregister(&handle, UCS_RCACHE_PRED_BY_PIECE);

    /* Count the piece until here: if the system refuses a piece of another use before,
     * that use is told to try again */
    pred_lock(pred);
    --pred->bound.pieces_now;
    pred_unlock(pred);
    pred_publish(pred);
}

uint64_t ucs_rcache_pred_releases(const ucs_rcache_pred_domain_t *domain)
{
    /* Relaxed: see pred_bound_t */
    return ucs_relaxed_load(&domain->pred->bound.releases);
}
