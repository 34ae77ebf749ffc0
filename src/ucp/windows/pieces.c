/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pieces.h"
#include "way.h"

#include <ucp/firehose/core/outbox.h>
#include <ucp/firehose/core/settle.h>

#include <stdlib.h>

/* A flush of the library begins when so many pieces are not flushed, and the
 * way may have no more firehoses for some of them */
#define MIN_UNFLUSHED 64

/* How many slots a way has at first and at most, powers of two. If two pieces want
 * one slot, the older one is not held any more, unless it has others */
#define MIN_SLOTS 64
#define MAX_SLOTS 4096


ucp_win_piece_t *ucp_win_piece_make(ucp_win_way_t *way)
{
    ucp_win_piece_t *piece = calloc(1, sizeof(*piece));

    if (piece != NULL) {
        piece->way = way;
        ucp_win_way_ref(way);
    }
    return piece;
}

void ucp_win_piece_free(ucp_win_piece_t *piece)
{
    ucp_win_way_put(piece->way);
    free(piece);
}


/* All of this under ucp_fh::lock. A way's slots tell which piece has a bucket */

static ucp_win_piece_t **slot_of(const ucp_win_way_t *way, uint64_t bucket)
{
    return &way->slots[bucket & (way->num_slots - 1)];
}

/* @return how many buckets of a piece have slots */
static uint64_t get_num(const ucp_win_piece_t *piece)
{
    return ucs_min(piece->request.run.num, piece->way->num_slots);
}

static void clear_slots(ucp_win_piece_t *piece)
{
    uint64_t num = get_num(piece);
    ucp_win_piece_t **slot;
    uint64_t i;

    for (i = 0; i < num; ++i) {
        slot = slot_of(piece->way, piece->request.run.first + i);
        if (*slot == piece) {
            *slot = NULL;
        }
    }
}

static int has_slot(const ucp_win_piece_t *piece)
{
    uint64_t num = get_num(piece);
    uint64_t i;

    for (i = 0; i < num; ++i) {
        if (*slot_of(piece->way, piece->request.run.first + i) == piece) {
            return 1;
        }
    }

    return 0;
}

/* A piece gets the slots that it had when there were fewer of them, up to
 * num_old - 1: that with this number, and what has become of it */
static void move_slot(ucp_win_piece_t *piece, uint32_t slot, uint32_t num_old)
{
    uint64_t first = piece->request.run.first;
    uint64_t num   = get_num(piece);
    uint64_t i     = (slot - first) & (num_old - 1);

    for (; i < num; i += num_old) {
        *slot_of(piece->way, first + i) = piece;
    }
}

/* @return 0: there is no memory, and the way has as many as before */
static int add_slots(ucp_win_way_t *way)
{
    ucp_win_piece_t **old = way->slots;
    uint32_t num_old      = way->num_slots;
    uint32_t num          = ucs_max(MIN_SLOTS, 2 * num_old);
    ucp_win_piece_t **slots;
    uint32_t i;

    slots = calloc(num, sizeof(*slots));
    if (slots == NULL) {
        return 0;
    }

    way->slots     = slots;
    way->num_slots = num;
    for (i = 0; i < num_old; ++i) {
        if (old[i] != NULL) {
            move_slot(old[i], i, num_old);
        }
    }
    free(old);
    return 1;
}

/* @return how many slots a piece is worth */
static uint32_t get_weight(const ucp_win_piece_t *piece)
{
    return ucs_min(piece->request.run.num, MAX_SLOTS);
}

static void release(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    if (piece->is_noted) {
        clear_slots(piece);
        piece->way->num_noted -= get_weight(piece);
    }
    ucp_fh_remote_release(&fh->remote, &piece->request);
    ucp_win_piece_free(piece);
}

/* Another piece has a slot of this one now. What is held and has none cannot be
 * found any more, and would stay for as long as nobody wants its firehoses */
static void lost_slot(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    if ((piece->state == UCP_WIN_PIECE_HELD) && !has_slot(piece)) {
        ucs_list_del(&piece->link);
        release(fh, piece);
    }
}

static void fill_slots(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    uint64_t num = get_num(piece);
    ucp_win_piece_t **slot, *old;
    uint64_t i;

    for (i = 0; i < num; ++i) {
        slot  = slot_of(piece->way, piece->request.run.first + i);
        old   = *slot;
        *slot = piece;
        if ((old != NULL) && (old != piece)) {
            lost_slot(fh, old);
        }
    }
}

static void note(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    ucp_win_way_t *way = piece->way;

    if (way->is_closing) {
        return;
    }

    way->peer       = piece->request.peer->index; /* The key may be another way's */
    way->num_noted += get_weight(piece);
    while ((way->num_noted > way->num_slots) && (way->num_slots < MAX_SLOTS) &&
           add_slots(way)) {
    }
    piece->is_noted = 1;
    fill_slots(fh, piece);
}

static int is_wanted(const ucp_win_piece_t *piece)
{
    return ucp_fh_peer_is_wanted(piece->request.peer);
}

/* Release the piece of a peer that is held longest. @return whether there was
 * one */
static int release_oldest(ucp_fh_t *fh, uint32_t peer)
{
    ucs_list_link_t *held = &ucp_win.held[peer];

    if (ucs_list_is_empty(held)) {
        return 0;
    }

    release(fh, ucs_list_extract_head(held, ucp_win_piece_t, link));
    return 1;
}

void ucp_win_pieces_reclaim(ucp_fh_t *fh, uint32_t peer)
{
    while (ucp_fh_peer_is_wanted(&fh->remote.peers[peer]) &&
           release_oldest(fh, peer)) {
    }
}

/* Whether operations, or pieces that are held, have more than half of a peer's
 * firehoses */
static int has_lent_much(const ucp_fh_peer_t *peer)
{
    return (peer->used - peer->num_idle) > (peer->limit / 2);
}

/* The way is in the list of dirty ones if it has pieces */
static void update_dirty(ucp_win_way_t *way)
{
    int was_dirty = !ucs_list_is_empty(&way->dirty);
    int is_dirty  = !ucs_list_is_empty(&way->unflushed) ||
                    !ucs_list_is_empty(&way->flushing);

    if (is_dirty && !was_dirty) {
        ucs_list_add_tail(&ucp_win.dirty, &way->dirty);
        atomic_fetch_add_explicit(&ucp_win.num_dirty, 1, memory_order_relaxed);
    } else if (was_dirty && !is_dirty) {
        ucs_list_del(&way->dirty);
        ucs_list_head_init(&way->dirty);
        atomic_fetch_sub_explicit(&ucp_win.num_dirty, 1, memory_order_relaxed);
    }
}

static void keep(ucp_fh_t *fh, ucp_win_way_t *way, ucp_win_piece_t *piece)
{
    if (!piece->is_noted) {
        note(fh, piece);
    }
    piece->state    = UCP_WIN_PIECE_UNFLUSHED;
    piece->is_dirty = 1;
    ucs_list_add_tail(&way->unflushed, &piece->link);
    ++way->num_unflushed;
}

/* Nothing that has not ended may go through a piece that is held: one that was
 * taken in vain goes back to those that are not flushed */
static void end(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    if (piece->is_dirty) {
        keep(fh, piece->way, piece);
        update_dirty(piece->way);
        return;
    }

    if (!piece->is_noted) {
        note(fh, piece);
    }

    if (is_wanted(piece) || (piece->request.peer->status != UCS_OK) ||
        piece->way->is_closing || !has_slot(piece)) {
        release(fh, piece);
        return;
    }

    piece->state = UCP_WIN_PIECE_HELD;
    ucs_list_add_tail(&ucp_win.held[piece->request.peer->index], &piece->link);
}

/* Take all pieces of a way that are not flushed, for a flush */
static void take_unflushed(ucp_win_way_t *way, ucs_list_link_t *pieces)
{
    ucp_win_piece_t *piece;

    ucs_list_for_each(piece, &way->unflushed, link) {
        piece->state    = UCP_WIN_PIECE_OUT;
        piece->is_dirty = 0;
    }
    ucs_list_splice_tail(pieces, &way->unflushed);
    ucs_list_head_init(&way->unflushed);
    way->num_unflushed = 0;
}

/* @return the first piece of a way that is not flushed, which exists */
static const ucp_win_piece_t *get_first(const ucp_win_way_t *way)
{
    return ucs_list_head((ucs_list_link_t*)&way->unflushed, ucp_win_piece_t,
                         link);
}

/* @return how many pieces the library leaves unflushed. Half of the firehoses are
 * left to operations that callbacks of UCP begin: they cannot wait for a flush,
 * which needs the progress that has called them */
static uint32_t get_most(const ucp_fh_peer_t *peer)
{
    return ucs_max(MIN_UNFLUSHED, ucs_min(peer->limit / 2, UCP_FH_MAX_LENT));
}

int ucp_win_pieces_are_due(const ucp_win_way_t *way)
{
    const ucp_fh_peer_t *peer;

    if ((way->num_flushes > 0) || (way->num_unflushed == 0) ||
        way->is_closing) {
        return 0;
    }

    peer = get_first(way)->request.peer;
    return ucp_fh_peer_is_wanted(peer) ||
           (way->num_unflushed >= get_most(peer));
}

void ucp_win_pieces_begin_flush(ucp_win_way_t *way)
{
    take_unflushed(way, &way->flushing);
    ++way->num_flushes;
}

void ucp_win_pieces_end_flush(ucp_win_way_t *way, ucs_list_link_t *pieces)
{
    if (--way->num_flushes == 0) {
        ucs_list_splice_tail(pieces, &way->flushing);
        ucs_list_head_init(&way->flushing);
        update_dirty(way);
    }
}

void ucp_win_pieces_undo_flush(ucp_fh_t *fh, ucp_win_way_t *way)
{
    while (!ucs_list_is_empty(&way->flushing)) {
        keep(fh, way, ucs_list_extract_head(&way->flushing, ucp_win_piece_t,
                                            link));
    }
    --way->num_flushes;
}


/* The rest without it */

/* Whether an operation may take the piece that the slot of its first bucket has. None
 * of a peer that was given up, which may unpin what this process has had. Of those
 * held, none that has more buckets than are wanted: all of them would be in use until a
 * flush, for which a callback of UCP that needs others cannot wait */
static int may_take(const ucp_win_piece_t *piece, const ucp_fh_run_t *run,
                    int is_read)
{
    if (!ucp_fh_run_has(&piece->request.run, run->first) ||
        is_wanted(piece) || (piece->request.peer->status != UCS_OK)) {
        return 0;
    }

    switch (piece->state) {
    case UCP_WIN_PIECE_HELD:
        return piece->request.run.num <= run->num;
    case UCP_WIN_PIECE_UNFLUSHED:
        return !is_read;
    default:
        return 0;
    }
}

ucp_win_piece_t *ucp_win_piece_take(ucp_fh_t *fh, ucp_win_way_t *way,
                                    const ucp_fh_run_t *run, int is_read)
{
    ucp_win_piece_t *piece;

    ucp_fh_lock(fh);
    piece = (way->num_slots == 0) ? NULL : *slot_of(way, run->first);
    if ((piece == NULL) || !may_take(piece, run, is_read)) {
        piece = NULL;
        goto out;
    }

    /* The way stays in the list of dirty ones: it gets the piece back at once */
    ucs_list_del(&piece->link);
    way->num_unflushed -= (piece->state == UCP_WIN_PIECE_UNFLUSHED);
    piece->state        = UCP_WIN_PIECE_OUT;
    ucp_fh_remote_count_hits(&fh->remote, 1);

out:
    ucp_fh_unlock(fh);
    return piece;
}

static void free_all(ucs_list_link_t *pieces)
{
    while (!ucs_list_is_empty(pieces)) {
        ucp_win_piece_free(ucs_list_extract_head(pieces, ucp_win_piece_t,
                                                 link));
    }
}

static void end_all(ucp_fh_t *fh, ucs_list_link_t *pieces)
{
    int is_unsettled;

    if (fh == NULL) {
        free_all(pieces);
        return;
    }

    ucp_fh_lock(fh);
    while (!ucs_list_is_empty(pieces)) {
        end(fh, ucs_list_extract_head(pieces, ucp_win_piece_t, link));
    }
    is_unsettled = ucp_fh_is_unsettled(fh);
    ucp_fh_unlock(fh);

    /* What follows from it calls UCP, and this may be a callback of UCP: the library's
     * thread does it */
    if (is_unsettled) {
        ucp_fh_wake(fh);
    }
}

void ucp_win_pieces_end(ucs_list_link_t *pieces)
{
    ucp_win_entry_t entry;

    if (!ucs_list_is_empty(pieces)) {
        entry = ucp_win_enter_always();
        end_all(ucp_win_fh(), pieces);
        ucp_win_leave(entry);
    }
}

int ucp_win_pieces_keep(ucp_win_way_t *way, ucs_list_link_t *pieces)
{
    ucp_fh_t *fh = ucp_win_fh();
    int is_due;

    if (ucs_list_is_empty(pieces)) {
        return 0;
    }

    ucp_fh_lock(fh);
    while (!ucs_list_is_empty(pieces)) {
        keep(fh, way, ucs_list_extract_head(pieces, ucp_win_piece_t, link));
    }
    update_dirty(way);
    is_due = ucp_win_pieces_are_due(way);
    ucp_fh_unlock(fh);
    return is_due;
}

/* The endpoint of one that is closing may not be there any more, and another one may
 * have its address: then a flush of that one covers nothing of this one */
static int is_of(const ucp_win_way_t *way, ucp_worker_h worker, ucp_ep_h ep)
{
    return !way->is_closing &&
           ((ep != NULL) ? (way->ep == ep) : (way->worker == worker));
}

void ucp_win_pieces_take_dirty(ucp_win_way_t *way, ucs_list_link_t *pieces)
{
    take_unflushed(way, pieces);
    ucs_list_splice_tail(pieces, &way->flushing);
    ucs_list_head_init(&way->flushing);
    update_dirty(way);
}

int ucp_win_pieces_take(ucp_worker_h worker, ucp_ep_h ep,
                        ucs_list_link_t *pieces)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucp_win_way_t *way, *next;

    ucs_list_head_init(pieces);
    if (fh == NULL) {
        return 0;
    }

    ucp_fh_lock(fh);
    ucs_list_for_each_safe(way, next, &ucp_win.dirty, dirty) {
        if (is_of(way, worker, ep)) {
            ucp_win_pieces_take_dirty(way, pieces);
        }
    }
    ucp_fh_unlock(fh);
    return !ucs_list_is_empty(pieces);
}

void ucp_win_pieces_give_back(ucs_list_link_t *pieces)
{
    ucp_win_piece_t *piece;
    ucs_list_link_t one;

    while (!ucs_list_is_empty(pieces)) {
        piece = ucs_list_extract_head(pieces, ucp_win_piece_t, link);
        ucs_list_head_init(&one);
        ucs_list_add_tail(&one, &piece->link);
        (void)ucp_win_pieces_keep(piece->way, &one);
    }
}

static int has_dirty(ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_win_way_t *way;

    ucs_list_for_each(way, &ucp_win.dirty, dirty) {
        if (is_of(way, worker, ep)) {
            return 1;
        }
    }

    return 0;
}

int ucp_win_pieces_exist(ucp_worker_h worker, ucp_ep_h ep)
{
    int ret = 0;
    ucp_win_entry_t entry;
    ucp_fh_t *fh;

    if (atomic_load_explicit(&ucp_win.num_dirty, memory_order_relaxed) == 0) {
        return 0;
    }

    entry = ucp_win_enter();
    fh    = (entry == UCP_WIN_REFUSED) ? NULL : ucp_win_fh();
    if (fh != NULL) {
        ucp_fh_lock(fh);
        ret = has_dirty(worker, ep);
        ucp_fh_unlock(fh);
    }
    ucp_win_leave(entry);
    return ret;
}

void ucp_win_pieces_close(ucp_fh_t *fh, ucp_win_way_t *way)
{
    ucp_win_piece_t *piece, *next;

    ucp_fh_lock(fh);
    way->is_closing = 1;
    ucs_list_for_each_safe(piece, next, &ucp_win.held[way->peer], link) {
        if (piece->way == way) {
            ucs_list_del(&piece->link);
            release(fh, piece);
        }
    }
    free(way->slots);
    way->slots     = NULL;
    way->num_slots = 0;
    ucp_fh_unlock(fh);
}

void ucp_win_pieces_drop(ucp_fh_t *fh)
{
    ucs_list_link_t pieces;
    uint32_t i;

    ucs_list_head_init(&pieces);
    for (i = 0; i < fh->num_procs; ++i) {
        while (release_oldest(fh, i)) {
        }
    }

    while (!ucs_list_is_empty(&ucp_win.dirty)) {
        ucp_win_pieces_take_dirty(ucs_list_head(&ucp_win.dirty, ucp_win_way_t, dirty),
                                  &pieces);
    }
    while (!ucs_list_is_empty(&pieces)) {
        release(fh, ucs_list_extract_head(&pieces, ucp_win_piece_t, link));
    }
}

int ucp_win_pieces_shed(ucp_fh_t *fh, uint32_t peer, uint64_t num)
{
    int are_shed;

    ucp_fh_lock(fh);
    while ((fh->remote.peers[peer].num_idle < num) &&
           release_oldest(fh, peer)) {
    }
    are_shed = (ucp_fh_remote_shed(&fh->remote, peer, num) > 0);
    ucp_fh_unlock(fh);
    if (are_shed) {
        ucp_fh_settle(fh);
    }
    return are_shed;
}

int ucp_win_pieces_are_scarce(ucp_fh_t *fh, uint32_t peer)
{
    int are_scarce;

    ucp_fh_lock(fh);
    while (has_lent_much(&fh->remote.peers[peer]) && release_oldest(fh, peer)) {
    }
    are_scarce = has_lent_much(&fh->remote.peers[peer]);
    ucp_fh_unlock(fh);
    return are_scarce;
}
