/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pieces.h"
#include "flush.h"
#include "held.h"
#include "post.h"

#include <ucp/firehose/core/outbox.h>
#include <ucp/firehose/core/settle.h>

#include <stdlib.h>

/* An operation that cannot have all of its firehoses at once uses this part of the
 * peer's at a time, so that others get theirs, and so do its own pieces that
 * follow while a flush is under way */
#define SHARE 4


/* What of a piece is in one bucket */
typedef struct {
    uint64_t   index;  /* Of the bucket, counted from that of the piece */
    ucp_rkey_h rkey;
    size_t     length; /* Bytes, from ucp_fh_op_t::posted on */
} part_t;


/* Post a part. The buffer of an operation that has failed is left alone */
static ucs_status_t
post_part(ucp_fh_op_t *op, ucp_fh_piece_t *piece, const part_t *part)
{
    ucs_status_ptr_t request;

    atomic_fetch_add(&op->pending, 1);
    atomic_fetch_add(&piece->pending, 1);
    request     = ucp_fh_post_next(op, ucp_fh_is_write(op->kind, &op->param) ? NULL : piece,
                              part->length, part->rkey);
    op->posted += part->length;
    if (ucp_fh_is_write(op->kind, &op->param) || !UCS_PTR_IS_PTR(request)) {
        atomic_fetch_sub(&piece->pending, 1); /* Not the last one */
    }
    if (!UCS_PTR_IS_PTR(request)) {
        atomic_fetch_sub(&op->pending, 1); /* Nor here */
    }
    return UCS_PTR_IS_ERR(request) ? UCS_PTR_STATUS(request) : UCS_OK;
}

/* Find the key of a part. Under lock */
static ucp_fh_key_t *
find_key(const ucp_fh_op_t *op, ucp_fh_piece_t *piece, part_t *part)
{
    ucp_fh_key_t *key = ucp_fh_remote_key(&op->worker->fh->remote,
                                          &piece->request, part->index);

    part->rkey = ucp_fh_key_find(key, &op->worker->trash);
    return key;
}

/* How much of an operation a part covers. @return UCS_ERR_INVALID_ADDR if not
 * all of it is exposed */
static ucs_status_t
measure_part(const ucp_fh_op_t *op, const ucp_fh_piece_t *piece,
             const ucp_fh_key_t *key, part_t *part)
{
    unsigned shift = op->worker->fh->links[op->way->peer.slot].shift;
    uint64_t start = op->remote + op->posted;
    uint64_t end   = ucs_min((piece->request.run.first + part->index + 1) <<
                                     shift,
                             op->remote + op->length);

    part->length = end - start;
    return ((start >= key->start) && (end <= key->end)) ? UCS_OK :
                                                          UCS_ERR_INVALID_ADDR;
}

/* Writes that follow this one to the same memory need not ask the table: note the
 * key that it is posted with, see held.h */
static void remember(const ucp_fh_op_t *op, const ucp_fh_piece_t *piece,
                     const ucp_fh_key_t *key, const part_t *part)
{
    unsigned shift         = op->worker->fh->links[op->way->peer.slot].shift;
    ucp_fh_bucket_t bucket = piece->request.run.first + part->index;

    if (ucp_fh_is_write(op->kind, &op->param) && !op->worker->is_multi) {
        ucp_fh_held_add(op->way, bucket, ucs_max(key->start, bucket << shift),
                        ucs_min(key->end, (bucket + 1) << shift), part->rkey);
    }
}

/* Post what goes through a piece that is granted. @a key is that of its first
 * part */
static ucs_status_t
post_parts(ucp_fh_op_t *op, ucp_fh_piece_t *piece, ucp_fh_key_t *key,
           part_t *part)
{
    ucp_fh_t *fh = op->worker->fh;
    ucs_status_t status;

    for (;;) {
        status = measure_part(op, piece, key, part);
        if (status != UCS_OK) {
            return status;
        }

        if (ucs_unlikely(part->rkey == NULL)) {
            status = ucp_fh_worker_unpack(op->way, key, &part->rkey);
            if (status != UCS_OK) {
                return status;
            }
        }

        remember(op, piece, key, part);
        status = post_part(op, piece, part);
        if ((status != UCS_OK) || (++part->index == piece->request.run.num)) {
            return status;
        }

        ucp_fh_lock(fh);
        key = find_key(op, piece, part);
        ucp_fh_unlock(fh);
    }
}

/* Post the operations that one piece serves. The piece of a write ends by the flush after
 * it, any other one by the completion of its last operation */
static void post_piece(ucp_fh_op_t *op, ucp_fh_piece_t *piece,
                       ucp_fh_key_t *key, part_t *part)
{
    ucp_fh_t *fh = op->worker->fh;
    int is_due;

    ucp_fh_op_note(op, post_parts(op, piece, key, part));
    if (!ucp_fh_is_write(op->kind, &op->param)) {
        ucp_fh_end_part_of_piece(piece);
        return;
    }

    ucp_fh_lock(fh);
    ucp_fh_flush_later(piece);
    is_due = ucp_fh_flush_is_due(op->way);
    ucp_fh_unlock(fh);
    if (ucs_unlikely(is_due)) {
        ucp_fh_flush_way(op->way);
    }
}

/* Under lock: a piece was granted or has failed. Its operation goes on by a
 * thread that may use its worker */
static void piece_ended(ucp_fh_comp_t *self)
{
    ucp_fh_piece_t *piece  = ucs_container_of(self, ucp_fh_piece_t,
                                              request.comp);
    ucp_fh_worker_h worker = piece->way->worker;

    ucs_list_add_tail(&worker->ready, &piece->op->ready);
    if (worker->is_multi) {
        ucp_fh_wake(worker->fh);
    }
}

/* Under lock. @return the next piece of an operation: all that is left of it, if
 * there are as many firehoses. Where several threads want them, one that gets all
 * at once is done when it gets its turn. If it asked for them bit by bit, it
 * would queue up for each, and threads that do not have a processor just now,
 * while others run, would fall behind (fairness, section 5 of the paper). But
 * while remote pins hold some, the thread may have such a pin itself, and would
 * wait for ever for those it holds */
static ucp_fh_run_t next_run(const ucp_fh_op_t *op)
{
    uint32_t slot             = op->way->peer.slot;
    const ucp_fh_link_t *link = &op->worker->fh->links[slot];
    const ucp_fh_peer_t *peer = &op->worker->fh->remote.peers[slot];
    uint64_t part             = ucs_max(1, link->limit / SHARE);
    uint64_t most             = (peer->num_holds == 0) ? link->limit : part;
    ucp_fh_run_t run          = {};

    (void)ucp_fh_run_cover(link->shift, op->remote + op->posted,
                           op->length - op->posted, &run);
    run.num = (run.num <= most) ? run.num : part;
    return run;
}

static ucp_fh_piece_t *make_piece(ucp_fh_op_t *op)
{
    ucp_fh_piece_t *piece = malloc(sizeof(*piece));

    if (piece != NULL) {
        piece->op                = op;
        piece->way               = op->way;
        piece->request.comp.func = piece_ended;
        atomic_init(&piece->pending, 1);
    }
    return piece;
}

/* Ask for the next piece, and post it if it is there. @return UCS_INPROGRESS if
 * it is not: another thread may go on with the operation then */
static ucs_status_t begin_piece(ucp_fh_op_t *op)
{
    ucp_fh_t *fh          = op->worker->fh;
    part_t part           = {};
    ucp_fh_key_t *key     = NULL;
    ucp_fh_piece_t *piece = make_piece(op);
    ucs_status_t status;
    ucp_fh_run_t run;

    if (piece == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    ucp_fh_lock(fh);
    ucp_fh_worker_count(op->worker);
    run       = next_run(op);
    op->piece = piece;
    status    = ucp_fh_remote_acquire(&fh->remote, &piece->request,
                                      op->way->peer.slot, &run);
    if (ucs_likely(status == UCS_OK)) {
        key = find_key(op, piece, &part);
    }
    ucp_fh_unlock(fh);

    if (ucs_likely(status == UCS_OK)) {
        post_piece(op, piece, key, &part);
    } else if (status != UCS_INPROGRESS) {
        free(piece);
    }
    return status;
}

void ucp_fh_pieces_begin(ucp_fh_op_t *op)
{
    ucp_fh_worker_h worker = op->worker;
    ucs_status_t status;

    while ((op->posted < op->length) && (atomic_load(&op->error) == UCS_OK)) {
        status = begin_piece(op);
        if (status == UCS_INPROGRESS) {
            /* From here on, the operation may be gone */
            ucp_fh_settle(worker->fh);
            if (worker->is_multi) {
                ucp_fh_wake(worker->fh);
            }
            return;
        }
        ucp_fh_op_note(op, status);
    }

    ucp_fh_lock(worker->fh);
    ucs_list_del(&op->link);
    ucp_fh_unlock(worker->fh);
    ucp_fh_op_end_part(op);
}

void ucp_fh_pieces_resume(ucp_fh_op_t *op)
{
    ucp_fh_t *fh          = op->worker->fh;
    ucp_fh_piece_t *piece = op->piece;
    part_t part           = {};
    ucp_fh_key_t *key;

    if (piece->request.comp.status != UCS_OK) {
        ucp_fh_op_note(op, piece->request.comp.status);
        free(piece);
    } else {
        ucp_fh_lock(fh);
        key = find_key(op, piece, &part);
        ucp_fh_unlock(fh);
        post_piece(op, piece, key, &part);
    }
    ucp_fh_pieces_begin(op);
}
