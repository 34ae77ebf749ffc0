/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"

#include <ucs/base/clock.h>
#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>

#include <stdlib.h>
#include <time.h>

/* How long a thread in a callback waits for firehoses, ns. Such a thread cannot flush,
 * and may wait for its own operations */
#define PATIENCE_CALLBACK (10 * UCS_NSEC_PER_SEC)

/* When an operation has waited for firehoses for this time, the log says so, ns */
#define PATIENCE_TELL (10 * UCS_NSEC_PER_SEC)

/* How long this process asks a peer that has no room again and again, ns */
#define PATIENCE_ROOM (60 * UCS_NSEC_PER_SEC)

/* How long a thread sleeps before it asks a peer without room again, ns: each time costs
 * both processes two messages */
#define SLEEP 1000000


void ucp_win_pieces_end(ucs_list_link_t *pieces)
{
    ucp_win_entry_t entry;
    ucp_fh_t *fh;

    if (ucs_list_is_empty(pieces)) {
        return;
    }

    entry = ucp_win_enter_always();
    fh    = ucp_win_fh();
    if (fh != NULL) {
        ucp_fh_lock(fh);
        ucp_fh_pieces_release(fh, pieces);
        ucp_fh_unlock(fh);
    } else {
        while (!ucs_list_is_empty(pieces)) {
            ucp_fh_piece_free(ucs_list_extract_head(pieces, ucp_fh_piece_t, link));
        }
    }
    ucp_win_leave(entry);
}

void ucp_win_piece_end(ucp_fh_piece_t *piece)
{
    ucs_list_link_t pieces;

    ucs_list_head_init(&pieces);
    ucs_list_add_tail(&pieces, &piece->link);
    ucp_win_pieces_end(&pieces);
}

/* Whether more than half of a peer's firehoses are in use by operations */
static int are_scarce(ucp_fh_t *fh, uint32_t peer)
{
    const ucp_fh_peer_t *p = &fh->remote.peers[peer];
    int ret;

    ucp_fh_lock(fh);
    ret = (p->used - p->num_idle) > (p->limit / 2);
    ucp_fh_unlock(fh);
    return ret;
}

int ucp_win_peer_is_scarce(uint32_t peer)
{
    return ucs_unlikely(ucs_relaxed_load(&ucp_win.is_threaded)) &&
           are_scarce(ucp_win_fh(), peer) && !ucp_win.env->is_in_progress();
}

/* Under ucp_fh::lock: the request of a piece has ended. There is nothing to do: a thread
 * waits for the request, and looks at its status */
static void piece_ended(ucp_fh_comp_t *self)
{
}

/* Under ucp_fh::lock: the request of a piece has ended, and no thread waits for it any more */
static void abandoned_ended(ucp_fh_comp_t *self)
{
    ucp_fh_piece_t *piece = ucs_container_of(self, ucp_fh_piece_t, request.comp);

    if (self->status == UCS_OK) {
        ucp_fh_remote_release(piece->request.peer->table, &piece->request);
    }
    ucp_fh_piece_free(piece);
}

static int has_ended(ucp_fh_t *fh, const ucp_fh_piece_t *piece)
{
    int ret;

    ucp_fh_lock(fh);
    ret = (piece->request.comp.status != UCS_INPROGRESS);
    ucp_fh_unlock(fh);
    return ret;
}

/* Wait no longer for the request of a piece. @return 0: the request has ended meanwhile,
 * and this thread still has the piece; else the thread that ends the request frees the
 * piece */
static int give_up(ucp_fh_t *fh, ucp_fh_piece_t *piece)
{
    int is_pending;

    ucp_fh_lock(fh);
    is_pending = (piece->request.comp.status == UCS_INPROGRESS);
    if (is_pending) {
        piece->request.comp.func = abandoned_ended;
    }
    ucp_fh_unlock(fh);
    return is_pending;
}

/* Wait for a request, in a callback, which may not progress its worker: the request ends
 * by other threads of the program and by Firehose's thread. @return 0: this thread has
 * given up, and the thread that ends the request frees the piece */
static int wait_in_callback(ucp_fh_t *fh, ucp_fh_piece_t *piece)
{
    uint64_t end = ucs_monotonic_ns() + PATIENCE_CALLBACK;

    while (!has_ended(fh, piece)) {
        if (ucs_monotonic_ns() > end) {
            return !give_up(fh, piece);
        }
        ucs_give_way(&fh->drive_lock);
    }

    return 1;
}

static void tell_of_wait(uint32_t peer)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&is_told)) {
        ucs_warn("windows: an operation waits for firehoses of process %u since %d s: "
                 "that process does nothing, or another thread uses them that flushes "
                 "nothing; more of UCX_RCACHE_PRED_FIREHOSE_M may help, or "
                 "UCX_RCACHE_PRED_WINDOWS=pin does without", peer,
                 (int)(PATIENCE_TELL / UCS_NSEC_PER_SEC));
    }
}

/* Wait for a request, and flush the way meanwhile, since the firehoses may be in use by
 * operations of this thread. There is no time limit: the operation would have no status
 * to return at its end */
static void wait_outside(ucp_fh_t *fh, ucp_fh_piece_t *piece, const ucp_win_way_t *way)
{
    uint64_t end = ucs_monotonic_ns() + PATIENCE_TELL;

    while (!has_ended(fh, piece)) {
        (void)ucp_fh_way_flush(fh, piece->way, UCP_FH_FLUSH_IF_DUE);
        if ((ucp_worker_progress(way->super.worker) == 0) &&
            !ucp_fh_drive_help(fh)) {
            ucp_win_ways_help(way->context);
            ucs_give_way(&fh->drive_lock);
            if (ucs_monotonic_ns() > end) {
                tell_of_wait(way->super.peer);
            }
        }
    }
}

static void complain_of_callback(void)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&is_told)) {
        ucs_error("windows: a callback of UCP has begun an operation, and all "
                  "firehoses to its peer are in use by operations that are not "
                  "complete; UCX_RCACHE_PRED_FIREHOSE_M may be too low, or "
                  "UCX_RCACHE_PRED_WINDOWS=pin does without");
    }
}

/* Wait for a request that was not granted at once. @return 0: this thread has given up,
 * and the thread that ends the request frees the piece */
static int wait(ucp_fh_t *fh, ucp_fh_piece_t *piece, const ucp_win_way_t *way)
{
    ucp_fh_settle(fh);
    if (ucp_win.env->is_in_progress()) {
        return wait_in_callback(fh, piece);
    }

    wait_outside(fh, piece, way);
    return 1;
}

/* Get a piece, or fail: the peer is asked once.
 *
 * @param [out] is_answer_p  Whether this thread has waited, so that the status is the
 *                           answer of the peer */
static ucs_status_t
try_acquire(ucp_fh_t *fh, ucp_win_way_t *way, const ucp_fh_run_t *run, uint64_t address,
            ucp_fh_piece_t **piece_p, ucp_fh_chunk_t *chunk, int *is_answer_p)
{
    ucp_fh_piece_t *piece = malloc(sizeof(*piece));
    ucs_status_t status;

    *is_answer_p = 0;
    if (piece == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    piece->request.comp.func = piece_ended;
    ucp_fh_lock(fh);
    status = ucp_fh_piece_acquire(fh, piece, &way->super, run, chunk);
    ucp_fh_unlock(fh);
    if (ucs_unlikely(status == UCS_INPROGRESS)) {
        if (!wait(fh, piece, way)) {
            complain_of_callback();
            return UCS_ERR_NO_RESOURCE;
        }
        status       = piece->request.comp.status;
        *is_answer_p = 1;
    }

    if (status != UCS_OK) {
        ucp_fh_piece_free(piece);
        return status;
    }

    if (*is_answer_p) {
        ucp_fh_piece_find(fh, piece, address, chunk);
    }
    *piece_p = piece;
    return UCS_OK;
}

/* A peer has answered that there is no room. @return whether to ask the peer again.
 *
 * @param [inout] end_p  Time until which to ask, set here at the first answer; 0: this is
 *                       the first answer */
static int has_patience(uint64_t *end_p)
{
    if (ucp_win.env->is_in_progress()) {
        return 0;
    }

    if (*end_p == 0) {
        *end_p = ucs_monotonic_ns() + PATIENCE_ROOM;
    }
    return ucs_monotonic_ns() <= *end_p;
}

static void complain_of_room(uint32_t peer, size_t length, ucs_status_t status)
{
    ucs_error("windows: process %u has had no room to pin %zu bytes for %d s: %s; "
              "accepted: bounds (UCX_RCACHE_PRED_MAX_PINNED, "
              "UCX_RCACHE_PRED_MAX_REGIONS, those of the node, ulimit -l) that "
              "leave it room for M + MAXVICTIM beside what else is pinned, or "
              "less of both (UCX_RCACHE_PRED_FIREHOSE_M and "
              "UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM)", peer, length,
              (int)(PATIENCE_ROOM / UCS_NSEC_PER_SEC), ucs_status_string(status));
}

/* Give unused firehoses back to a peer, @a num at most. @return whether there were any */
static int shed(ucp_fh_t *fh, uint32_t peer, uint64_t num)
{
    int are_shed;

    ucp_fh_lock(fh);
    are_shed = (ucp_fh_remote_shed(&fh->remote, peer, num) > 0);
    ucp_fh_unlock(fh);
    if (are_shed) {
        ucp_fh_settle(fh);
    }
    return are_shed;
}

/* Help a peer without room to get room: give unused firehoses back, or, if there are
 * none, sleep while other processes may do so. Not in a callback */
static void make_room(ucp_fh_t *fh, ucp_win_way_t *way, const ucp_fh_run_t *run)
{
    struct timespec pause = {.tv_nsec = SLEEP};

    (void)ucp_worker_progress(way->super.worker);
    ucp_win_ways_help(way->context);
    if (!shed(fh, way->super.peer, run->num)) {
        nanosleep(&pause, NULL);
    }
}

/* Whether a peer has answered that there is no room: when asked again, there may be
 * room */
static int is_refusal(ucs_status_t status)
{
    return (status == UCS_ERR_EXCEEDS_LIMIT) || (status == UCS_ERR_NO_MEMORY);
}

ucs_status_t ucp_win_acquire(ucp_win_way_t *way, uint64_t address, size_t length,
                             ucp_fh_piece_t **piece_p, ucp_fh_chunk_t *chunk)
{
    ucp_fh_t *fh     = ucp_win_fh();
    ucp_fh_run_t run = ucp_fh_way_run(fh, &way->super, address, length, 0);
    uint64_t end       = 0;
    ucs_status_t status;
    int is_answer;

    ucp_fh_way_ref(&way->super);
    while (is_refusal(status = try_acquire(fh, way, &run, address, piece_p, chunk,
                                           &is_answer)) &&
           is_answer && has_patience(&end)) {
        make_room(fh, way, &run);
    }

    if ((status == UCS_OK) && (is_answer || (end != 0)) && way->super.is_closing) {
        /* A callback of UCP has closed the endpoint while this thread has waited */
        ucp_win_piece_end(*piece_p);
        *piece_p = NULL; /* The caller ends the piece that it has */
        status   = UCS_ERR_CANCELED;
    } else if (is_refusal(status) && is_answer && (end != 0)) {
        complain_of_room(way->super.peer, length, status);
    }
    ucp_fh_way_put(&way->super);
    return status;
}
