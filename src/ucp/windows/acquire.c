/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "acquire.h"
#include "flush.h"
#include "packed.h"
#include "way.h"

#include <ucp/firehose/core/drive.h>
#include <ucp/firehose/core/settle.h>
#include <ucp/firehose/wire/key.h>

#include <ucs/base/clock.h>
#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>

#include <stdlib.h>
#include <time.h>

/* A piece has this part of the peer's firehoses at most, so that what follows
 * gets its own while a flush is under way */
#define SHARE 4

/* How long a callback waits for firehoses, which it can do nothing to get, s */
#define PATIENCE_CALLBACK 10

/* After how long it is told that an operation waits for firehoses, s */
#define PATIENCE_TELL     10

/* How long a peer is asked again that has no room, s */
#define PATIENCE_ROOM     60

/* How long a thread sleeps before it asks a peer again that has no room: each time costs
 * both of them two messages, ns */
#define SLEEP 1000000


static time_t now(void)
{
    return ucs_monotonic_ns() / UCS_NSEC_PER_SEC;
}

/* Under ucp_fh::lock. It may have been granted to nobody, see give_up() */
static void piece_ended(ucp_fh_comp_t *self)
{
    ucp_win_piece_t *piece = ucs_container_of(self, ucp_win_piece_t,
                                              request.comp);

    piece->is_ended = 1;
}

/* The same for a piece that nobody waits for any more */
static void abandoned_ended(ucp_fh_comp_t *self)
{
    ucp_win_piece_t *piece = ucs_container_of(self, ucp_win_piece_t,
                                              request.comp);

    if (self->status == UCS_OK) {
        ucp_fh_remote_release(piece->request.peer->table, &piece->request);
    }
    ucp_win_piece_free(piece);
}

static int has_ended(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    int ret;

    ucp_fh_lock(fh);
    ret = piece->is_ended;
    ucp_fh_unlock(fh);
    return ret;
}

/* @return whether the piece is left to whoever ends it: it has not ended */
static int give_up(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    int is_pending;

    ucp_fh_lock(fh);
    is_pending = !piece->is_ended;
    if (is_pending) {
        piece->request.comp.func = abandoned_ended;
    }
    ucp_fh_unlock(fh);
    return is_pending;
}

/* A callback may not progress its worker: other threads, and those of Firehose,
 * make the request end. @return whether it has */
static int wait_in_callback(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    time_t end = now() + PATIENCE_CALLBACK;

    while (!has_ended(fh, piece)) {
        if (now() > end) {
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
                 "UCX_RCACHE_PRED_WINDOWS=pin does without", peer, PATIENCE_TELL);
    }
}

/* Firehoses that this thread has used itself may be among those that are waited
 * for. The wait has no end, as there is nothing yet that could be returned */
static void wait_outside(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    ucp_win_way_t *way = piece->way;
    time_t end         = now() + PATIENCE_TELL;

    while (!has_ended(fh, piece)) {
        (void)ucp_win_way_flush_if_due(way);
        if ((ucp_worker_progress(way->worker) == 0) &&
            !ucp_fh_drive_help(fh)) {
            ucp_win_ways_help(way->context);
            ucs_give_way(&fh->drive_lock);
            if (now() > end) {
                tell_of_wait(piece->request.peer->index);
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

/* @return whether a request has ended that was not granted at once. If not, it
 * is left to whoever ends it */
static int wait(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    ucp_fh_settle(fh);
    if (ucp_win.env->is_in_progress()) {
        return wait_in_callback(fh, piece);
    }

    wait_outside(fh, piece);
    return 1;
}

/* @param [out] is_answer_p  Whether the status is what the peer has answered */
static ucs_status_t
try_acquire(ucp_fh_t *fh, ucp_win_way_t *way, uint32_t peer,
            const ucp_fh_run_t *run, ucp_win_piece_t **piece_p,
            int *is_answer_p)
{
    ucp_win_piece_t *piece = ucp_win_piece_make(way);
    ucs_status_t status;

    *is_answer_p = 0;
    if (piece == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    piece->request.comp.func = piece_ended;
    ucp_fh_lock(fh);
    status = ucp_fh_remote_acquire(&fh->remote, &piece->request, peer, run);
    ucp_win_pieces_reclaim(fh, peer);
    ucp_fh_unlock(fh);
    if (status == UCS_INPROGRESS) {
        if (!wait(fh, piece)) {
            complain_of_callback();
            return UCS_ERR_NO_RESOURCE;
        }
        status       = piece->request.comp.status;
        *is_answer_p = 1;
    }

    if (status != UCS_OK) {
        ucp_win_piece_free(piece);
        return status;
    }

    *piece_p = piece;
    return UCS_OK;
}

/* The buckets that a piece may have, from an address on */
static ucp_fh_run_t get_run(const ucp_fh_t *fh, uint32_t peer, uint64_t address,
                            size_t length)
{
    const ucp_fh_link_t *link = &fh->links[peer];
    uint64_t most             = ucs_max(1, link->limit / SHARE);
    ucp_fh_run_t run          = {};

    (void)ucp_fh_run_cover(link->shift, address, length, &run);
    run.num = ucs_min(run.num, most);
    return run;
}

/* The peer has no room just now. @param [inout] end_p  Until when it is asked; 0: it was
 * not yet. @return whether it is to be asked again */
static int has_patience(time_t *end_p)
{
    if (ucp_win.env->is_in_progress()) {
        return 0;
    }

    if (*end_p == 0) {
        *end_p = now() + PATIENCE_ROOM;
    }
    return now() <= *end_p;
}

static void complain_of_room(uint32_t peer, size_t length, ucs_status_t status)
{
    ucs_error("windows: process %u has had no room to pin %zu bytes for %d s: %s; "
              "accepted: bounds (UCX_RCACHE_PRED_MAX_PINNED, "
              "UCX_RCACHE_PRED_MAX_REGIONS, those of the node, ulimit -l) that "
              "leave it room for M + MAXVICTIM beside what else is pinned, or "
              "less of both (UCX_RCACHE_PRED_FIREHOSE_M and "
              "UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM)", peer, length,
              PATIENCE_ROOM, ucs_status_string(status));
}

/* Let the peer, which has no room, get some: from this process, or meanwhile from
 * others. Not in a callback */
static void make_room(ucp_fh_t *fh, ucp_win_way_t *way, uint32_t peer,
                      const ucp_fh_run_t *run)
{
    struct timespec pause = {.tv_nsec = SLEEP};

    (void)ucp_worker_progress(way->worker);
    ucp_win_ways_help(way->context);
    if (!ucp_win_pieces_shed(fh, peer, run->num)) {
        nanosleep(&pause, NULL);
    }
}

/* Ask the peer for firehoses, again if it has no room for them just now. @param length
 * Bytes of the access, for the log */
static ucs_status_t
acquire(ucp_fh_t *fh, ucp_win_way_t *way, uint32_t peer, const ucp_fh_run_t *run,
        size_t length, ucp_win_piece_t **piece_p)
{
    time_t end = 0;
    ucs_status_t status;
    int is_answer;

    for (;;) {
        status = try_acquire(fh, way, peer, run, piece_p, &is_answer);
        if (!is_answer || ((status != UCS_ERR_EXCEEDS_LIMIT) &&
                           (status != UCS_ERR_NO_MEMORY))) {
            return status;
        }

        if (!has_patience(&end)) {
            if (end != 0) {
                complain_of_room(peer, length, status);
            }
            return status;
        }
        make_room(fh, way, peer, run);
    }
}

/* @return whether a callback of UCP has closed the endpoint while its piece was waited
 * for. Then the piece is released */
static int is_closed(ucp_win_piece_t *piece)
{
    ucs_list_link_t pieces;
    int ret = ucp_win_way_closes(piece->way);

    if (ret) {
        ucs_list_head_init(&pieces);
        ucs_list_add_tail(&pieces, &piece->link);
        ucp_win_pieces_end(&pieces);
    }
    return ret;
}

ucs_status_t ucp_win_acquire(ucp_win_way_t *way, uint32_t peer,
                             uint64_t address, size_t length, int is_read,
                             ucp_win_piece_t **piece_p)
{
    ucp_fh_t *fh     = ucp_win_fh();
    ucp_fh_run_t run = get_run(fh, peer, address, length);
    ucs_status_t status;

    *piece_p = ucp_win_piece_take(fh, way, &run, is_read);
    if (*piece_p != NULL) {
        return UCS_OK;
    }

    ucp_win_way_ref(way);
    status = acquire(fh, way, peer, &run, length, piece_p);
    if ((status == UCS_OK) && is_closed(*piece_p)) {
        status = UCS_ERR_CANCELED;
    }
    ucp_win_way_put(way);
    return status;
}

/* Unpack a key for a way, merged with that of domains which need no pinned
 * memory, so that UCP finds what it would have found in one key for all */
static ucs_status_t
unpack(ucp_win_way_t *way, const ucp_fh_key_t *key, const void *rest,
       size_t rest_length, ucp_rkey_h *rkey_p)
{
    void *merged = malloc(key->length + rest_length);
    ucs_status_t status;

    if (merged == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = UCS_ERR_INVALID_PARAM;
    if (ucp_win_packed_merge(key->packed, key->length, rest, rest_length,
                             merged) > 0) {
        status = ucp_ep_rkey_unpack(way->ep, merged, rkey_p);
    }
    free(merged);
    return status;
}

/* Keep an unpacked key for others. If two threads do so at once, both stay */
static ucs_status_t
unpack_and_keep(ucp_fh_t *fh, ucp_win_way_t *way, ucp_fh_key_t *key,
                const void *rest, size_t rest_length, ucp_rkey_h *rkey_p)
{
    ucp_fh_rkey_t *unpacked = malloc(sizeof(*unpacked));
    ucs_status_t status;

    if (unpacked == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = unpack(way, key, rest, rest_length, &unpacked->rkey);
    if (status != UCS_OK) {
        free(unpacked);
        return status;
    }

    *rkey_p         = unpacked->rkey;
    unpacked->trash = &way->trash;
    ucp_fh_lock(fh);
    ucp_fh_key_add(key, unpacked);
    ucs_list_add_tail(&way->rkeys, &unpacked->owned_link);
    ucp_fh_unlock(fh);
    return UCS_OK;
}

/* @return whether the key that the piece has is that of a part, and goes as far as
 * its bucket does or the part */
static int
has_key(const ucp_win_piece_t *piece, uint64_t address, uint64_t end)
{
    return (piece->rkey != NULL) && (address >= piece->start) &&
           (address < piece->bucket_end) &&
           (ucs_min(end, piece->bucket_end) <= piece->end);
}

/* Find the key of the bucket of an address */
static ucs_status_t find_key(ucp_win_piece_t *piece, const void *rest,
                             size_t rest_length, uint64_t address)
{
    ucp_fh_t *fh    = ucp_win_fh();
    unsigned shift  = fh->links[piece->request.peer->index].shift;
    uint64_t bucket = address >> shift;
    ucp_fh_key_t *key;
    int has_trash;

    ucp_fh_lock(fh);
    key         = ucp_fh_remote_key(&fh->remote, &piece->request,
                                    bucket - piece->request.run.first);
    piece->rkey = ucp_fh_key_find(key, &piece->way->trash);
    has_trash   = !ucs_list_is_empty(&piece->way->trash);
    ucp_fh_unlock(fh);
    if (has_trash) {
        ucp_win_way_empty_trash(piece->way);
    }

    piece->bucket_end = (bucket + 1) << shift;
    piece->start      = ucs_max(bucket << shift, key->start);
    piece->end        = ucs_min(piece->bucket_end, key->end);
    return (piece->rkey != NULL) ? UCS_OK :
           unpack_and_keep(fh, piece->way, key, rest, rest_length,
                           &piece->rkey);
}

ucs_status_t
ucp_win_find_part(ucp_win_piece_t *piece, const void *rest, size_t rest_length,
                  uint64_t address, size_t length, ucp_win_part_t *part)
{
    uint64_t end = address + length;
    ucs_status_t status;

    if (!has_key(piece, address, end)) {
        status = find_key(piece, rest, rest_length, address);
        if (status != UCS_OK) {
            return status;
        }

        if (!has_key(piece, address, end)) {
            return UCS_ERR_INVALID_ADDR;
        }
    }

    part->rkey   = piece->rkey;
    part->length = ucs_min(end, piece->bucket_end) - address;
    return UCS_OK;
}
