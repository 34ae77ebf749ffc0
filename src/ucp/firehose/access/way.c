/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "way.h"

#include <stdlib.h>

/* If a piece may not have all buckets of its operation, the piece gets 1 / SHARE of the
 * firehoses of the peer. The rest is for other operations, and for the next piece of this
 * operation while a flush of this piece is under way */
#define SHARE 4


void ucp_fh_way_init(ucp_fh_way_t *way, ucp_fh_ways_t *ways, ucp_worker_h worker,
                     ucp_ep_h ep, int is_multi, void (*flushed)(ucp_fh_way_t *way))
{
    way->ways     = ways;
    way->worker   = worker;
    way->ep       = ep;
    way->is_multi = is_multi;
    way->flushed  = flushed;
    way->epoch    = 1;
    atomic_init(&way->refs, 1);
    ucs_list_head_init(&way->dirty);
    ucs_list_head_init(&way->unflushed);
    ucs_list_head_init(&way->flushing);
    ucs_list_head_init(&way->rkeys);
    ucs_list_head_init(&way->trash);
}

void ucp_fh_way_connect(ucp_fh_t *fh, ucp_fh_way_t *way, uint32_t peer,
                        unsigned max_unflushed)
{
    unsigned num = 1;

    way->peer          = peer;
    way->max_unflushed = max_unflushed;
    if (way->is_multi || (way->memos != NULL)) {
        return;
    }

    while ((num < fh->remote.peers[peer].limit) && (num < UCP_FH_MAX_MEMOS)) {
        num *= 2;
    }
    way->memos     = calloc(num, sizeof(*way->memos));
    way->num_memos = (way->memos == NULL) ? 0 : num;
}

void ucp_fh_way_put(ucp_fh_way_t *way)
{
    if (atomic_fetch_sub_explicit(&way->refs, 1, memory_order_acq_rel) == 1) {
        free(way->memos);
        free(way);
    }
}


ucp_fh_run_t ucp_fh_way_run(const ucp_fh_t *fh, const ucp_fh_way_t *way,
                            uint64_t address, size_t length, int takes_all)
{
    uint64_t limit   = fh->remote.peers[way->peer].limit;
    uint64_t part    = ucs_max(1, limit / SHARE);
    uint64_t most    = takes_all ? limit : part;
    ucp_fh_run_t run = {};

    (void)ucp_fh_run_cover(fh->links[way->peer].shift, address, length, &run);
    run.num = (run.num <= most) ? run.num : part;
    return run;
}

/* Under lock: have the table count the writes by memos since the last call */
static void count_quick(ucp_fh_t *fh, ucp_fh_way_t *way)
{
    ucp_fh_remote_count_hits(&fh->remote, way->num_uncounted);
    way->num_uncounted = 0;
}

static void find_key(ucp_fh_t *fh, const ucp_fh_piece_t *piece, uint64_t index,
                     ucp_fh_chunk_t *chunk)
{
    chunk->key  = ucp_fh_remote_key(&fh->remote, &piece->request, index);
    chunk->rkey = ucp_fh_key_find(chunk->key, &piece->way->trash);
}

ucs_status_t ucp_fh_piece_acquire(ucp_fh_t *fh, ucp_fh_piece_t *piece, ucp_fh_way_t *way,
                                  const ucp_fh_run_t *run, ucp_fh_chunk_t *chunk)
{
    ucs_status_t status;

    count_quick(fh, way);
    ucp_fh_way_ref(way);
    piece->way = way;
    status     = ucp_fh_remote_acquire(&fh->remote, &piece->request, way->peer, run);
    if (ucs_likely(status == UCS_OK)) {
        find_key(fh, piece, 0, chunk);
    }
    return status;
}

void ucp_fh_piece_find(ucp_fh_t *fh, const ucp_fh_piece_t *piece, uint64_t address,
                       ucp_fh_chunk_t *chunk)
{
    uint64_t bucket = address >> fh->links[piece->way->peer].shift;

    ucp_fh_lock(fh);
    find_key(fh, piece, bucket - piece->request.run.first, chunk);
    ucp_fh_unlock(fh);
}

/* Merge a rest into the key of a bucket, and unpack the merged key: UCP wants the parts
 * for all memory domains in one key */
static ucs_status_t unpack_merged(ucp_ep_h ep, const ucp_fh_key_t *key,
                                  const ucp_fh_rest_t *rest, ucp_rkey_h *rkey_p)
{
    void *merged        = malloc(key->length + rest->length);
    ucs_status_t status = UCS_ERR_INVALID_PARAM;

    if (merged == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    if (ucp_fh_packed_merge(key->packed, key->length, rest->packed, rest->length,
                            merged) > 0) {
        status = ucp_ep_rkey_unpack(ep, merged, rkey_p);
    }
    free(merged);
    return status;
}

/* Unpack the key of a bucket, and keep the unpacked key for other operations. If two threads
 * unpack the same key at once, both unpacked keys stay */
static ucs_status_t unpack(ucp_fh_t *fh, ucp_fh_way_t *way, const ucp_fh_rest_t *rest,
                           ucp_fh_chunk_t *chunk)
{
    ucp_fh_rkey_t *unpacked = malloc(sizeof(*unpacked));
    ucs_status_t status;

    if (unpacked == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    ucp_fh_way_empty_trash(fh, way); /* Now, since keys get there about as often as keys
                                        are unpacked */
    status = (rest == NULL) ?
                     ucp_ep_rkey_unpack(way->ep, chunk->key->packed, &unpacked->rkey) :
                     unpack_merged(way->ep, chunk->key, rest, &unpacked->rkey);
    if (status != UCS_OK) {
        free(unpacked);
        return status;
    }

    chunk->rkey     = unpacked->rkey;
    unpacked->trash = &way->trash;
    ucp_fh_lock(fh);
    ucs_list_add_tail(&chunk->key->unpacked, &unpacked->link);
    ucs_list_add_tail(&way->rkeys, &unpacked->owned_link);
    ucp_fh_unlock(fh);
    return UCS_OK;
}

ucs_status_t ucp_fh_chunk_open(ucp_fh_t *fh, const ucp_fh_piece_t *piece,
                               const ucp_fh_rest_t *rest, uint64_t address, size_t length,
                               int is_write, ucp_fh_chunk_t *chunk)
{
    ucp_fh_way_t *way     = piece->way;
    unsigned shift        = fh->links[way->peer].shift;
    uint64_t bucket       = address >> shift;
    uint64_t end          = ucs_min((bucket + 1) << shift, address + length);
    const ucp_fh_key_t *key = chunk->key;
    ucs_status_t status;

    if ((address < key->start) || (end > key->end)) {
        return UCS_ERR_INVALID_ADDR;
    }

    if (ucs_unlikely(chunk->rkey == NULL)) {
        status = unpack(fh, way, rest, chunk);
        if (status != UCS_OK) {
            return status;
        }
    }

    chunk->length = end - address;
    if (is_write && (way->num_memos > 0)) {
        way->num_quick = 0;
        way->memos[bucket & (way->num_memos - 1)] = (ucp_fh_memo_t){
            .start = ucs_max(key->start, bucket << shift),
            .end   = ucs_min(key->end, (bucket + 1) << shift),
            .rkey  = chunk->rkey,
            .epoch = way->epoch
        };
    }
    return UCS_OK;
}

void ucp_fh_pieces_release(ucp_fh_t *fh, ucs_list_link_t *pieces)
{
    ucp_fh_piece_t *piece;

    if (ucs_list_is_empty(pieces)) {
        return;
    }

    while ((piece = ucp_fh_list_pop(pieces, ucp_fh_piece_t, link)) != NULL) {
        ucp_fh_remote_release(&fh->remote, &piece->request);
        ucp_fh_piece_free(piece);
    }

    /* The library's thread calls ucp_fh_settle(): this thread may be in a callback of
     * UCP */
    if (ucs_unlikely(ucp_fh_is_unsettled(fh))) {
        ucp_fh_wake(fh);
    }
}


static const ucp_fh_peer_t *get_peer(const ucp_fh_t *fh, const ucp_fh_way_t *way)
{
    return &fh->remote.peers[way->peer];
}

void ucp_fh_way_look(ucp_fh_t *fh, ucp_fh_way_t *way)
{
    way->num_quick = 0;
    ucp_fh_lock(fh);
    count_quick(fh, way);
    if (ucp_fh_peer_is_wanted(get_peer(fh, way))) {
        ++way->epoch;
        ucp_fh_acquire_settle(&fh->remote.peers[way->peer]);
        if (ucp_fh_is_unsettled(fh)) {
            ucp_fh_wake(fh);
        }
    }
    ucp_fh_unlock(fh);
    (void)ucp_fh_way_flush(fh, way, UCP_FH_FLUSH_IF_DUE);
}

/* Under lock: put a way with pieces in its lists into the list of its ucp_fh_ways_t, and
 * take a way without pieces out of that list */
static void update_dirty(ucp_fh_way_t *way)
{
    int was_dirty = !ucs_list_is_empty(&way->dirty);
    int is_dirty  = !ucs_list_is_empty(&way->unflushed) ||
                    !ucs_list_is_empty(&way->flushing);

    if (is_dirty && !was_dirty) {
        ucs_list_add_tail(&way->ways->list, &way->dirty);
        ucs_relaxed_add(&way->ways->num, 1);
    } else if (was_dirty && !is_dirty) {
        ucs_list_del(&way->dirty);
        ucs_list_head_init(&way->dirty);
        ucs_relaxed_sub(&way->ways->num, 1);
    }
}

/* Under lock. @return whether a way should be flushed now */
static int is_due(const ucp_fh_t *fh, const ucp_fh_way_t *way)
{
    const ucp_fh_peer_t *peer;

    if ((way->num_flushes > 0) || (way->num_unflushed == 0) || way->is_closing) {
        return 0;
    }

    peer = get_peer(fh, way);
    return ucp_fh_peer_is_wanted(peer) || (way->num_unflushed >= way->max_unflushed) ||
           ucp_fh_peer_has_lent_much(peer, way->num_unflushed, way->num_missed);
}

/* Put a piece, through which UCP has begun writes, among the unflushed pieces of its way.
 * Under lock. @return whether the caller has to flush the way, see is_due() */
static int keep(ucp_fh_t *fh, ucp_fh_piece_t *piece)
{
    ucp_fh_way_t *way = piece->way;

    ucs_list_add_tail(&way->unflushed, &piece->link);
    if (way->num_unflushed++ == 0) {
        update_dirty(way);
    }
    return is_due(fh, way);
}

void ucp_fh_piece_keep(ucp_fh_t *fh, ucp_fh_piece_t *piece)
{
    ucp_fh_way_t *way = piece->way;
    int begins;

    ucp_fh_lock(fh);
    begins = keep(fh, piece);
    ucp_fh_unlock(fh);
    if (ucs_unlikely(begins)) {
        (void)ucp_fh_way_flush(fh, way, UCP_FH_FLUSH_IF_DUE);
    }
}

static void take(ucp_fh_t *fh, ucp_fh_way_t *way, ucs_list_link_t *pieces)
{
    if (way->num_unflushed == 0) {
        return; /* Then the way has no valid memos either, and its epoch can stay */
    }

    ucs_list_splice_tail(pieces, &way->unflushed);
    ucs_list_head_init(&way->unflushed);
    way->num_unflushed = 0;
    way->num_missed    = get_peer(fh, way)->num_missed;
    ++way->epoch;
    count_quick(fh, way);
}

void ucp_fh_way_drop(ucp_fh_t *fh, ucp_fh_way_t *way)
{
    ucp_fh_rkey_t *unpacked;

    take(fh, way, &way->flushing);
    ucp_fh_pieces_release(fh, &way->flushing);
    update_dirty(way);
    while ((unpacked = ucp_fh_list_pop(&way->rkeys, ucp_fh_rkey_t, owned_link)) != NULL) {
        ucs_list_del(&unpacked->link);
        ucs_list_add_tail(&way->trash, &unpacked->owned_link);
    }
}

static int is_of(const ucp_fh_way_t *way, ucp_worker_h worker, ucp_ep_h ep)
{
    return !way->is_closing &&
           ((ep != NULL) ? (way->ep == ep) : (way->worker == worker));
}

/* Whether UCP has not begun a flush for lack of memory: then writes may still be under
 * way, and pieces have to wait for another flush. With any other error the endpoint
 * fails */
static int is_refused(ucs_status_ptr_t request)
{
    return ucs_unlikely(UCS_PTR_STATUS(request) == UCS_ERR_NO_MEMORY);
}

static ucs_status_ptr_t
flush(ucp_fh_t *fh, ucp_worker_h worker, ucp_ep_h ep, const ucp_request_param_t *param,
      ucs_list_link_t *pieces)
{
    ucs_status_ptr_t request;

    request = (ep != NULL) ? ucp_ep_flush_nbx(ep, param) :
                             ucp_worker_flush_nbx(worker, param);
    if (is_refused(request)) {
        ucp_fh_pieces_give_back(fh, pieces);
    }
    return request;
}

ucs_status_ptr_t
ucp_fh_ways_flush(ucp_fh_t *fh, ucp_fh_ways_t *ways, ucp_worker_h worker, ucp_ep_h ep,
                  const ucp_request_param_t *param, ucs_list_link_t *pieces)
{
    ucp_fh_way_t *way, *next;

    ucs_list_head_init(pieces);
    ucp_fh_lock(fh);
    ucs_list_for_each_safe(way, next, &ways->list, dirty) {
        if (is_of(way, worker, ep)) {
            take(fh, way, pieces);
            update_dirty(way);
        }
    }
    ucp_fh_unlock(fh);
    return flush(fh, worker, ep, param, pieces);
}

void ucp_fh_pieces_give_back(ucp_fh_t *fh, ucs_list_link_t *pieces)
{
    ucp_fh_lock(fh);
    while (!ucs_list_is_empty(pieces)) {
        (void)keep(fh, ucs_list_extract_head(pieces, ucp_fh_piece_t, link));
    }
    ucp_fh_unlock(fh);
}

int ucp_fh_ways_have(const ucp_fh_ways_t *ways, ucp_worker_h worker, ucp_ep_h ep)
{
    const ucp_fh_way_t *way;

    ucs_list_for_each(way, &ways->list, dirty) {
        if (is_of(way, worker, ep) && (way->num_unflushed > 0)) {
            return 1;
        }
    }
    return 0;
}

void ucp_fh_way_flushed(ucp_fh_t *fh, ucp_fh_way_t *way)
{
    ucp_fh_lock(fh);
    if (--way->num_flushes == 0) {
        ucp_fh_pieces_release(fh, &way->flushing);
        update_dirty(way);
    }
    ucp_fh_unlock(fh);
    ucp_fh_way_put(way);
}

static void flush_ended(void *request, ucs_status_t status, void *user_data)
{
    ucp_fh_way_t *way = user_data;

    ucp_request_free(request);
    way->flushed(way);
}

static int post_flush(ucp_fh_t *fh, ucp_fh_way_t *way, ucp_ep_h ep)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = flush_ended,
        .user_data    = way
    };
    ucs_status_ptr_t request;

    request = flush(fh, way->worker, ep, &param, &way->flushing);
    if (!UCS_PTR_IS_PTR(request)) {
        way->flushed(way);
    }
    return !is_refused(request);
}

int ucp_fh_way_flush(ucp_fh_t *fh, ucp_fh_way_t *way, ucp_fh_flush_when_t when)
{
    /* If any thread may use the worker, another thread may close the program's endpoint
     * at any time: flush the whole worker instead. But not if this thread closes the
     * endpoint (UCP_FH_FLUSH_ALWAYS): UCX 1.18 fails an assertion if an endpoint is
     * closed by force before a flush of the whole worker has ended */
    int has_ep = !way->is_multi || way->owns_ep || (when == UCP_FH_FLUSH_ALWAYS);
    int begins;

    ucp_fh_lock(fh);
    begins = (when == UCP_FH_FLUSH_IF_DUE)   ? is_due(fh, way) :
             (when == UCP_FH_FLUSH_IF_DIRTY) ? (way->num_unflushed > 0) : 1;
    if (begins) {
        take(fh, way, &way->flushing);
        ++way->num_flushes;
        ucp_fh_way_ref(way);
    }
    ucp_fh_unlock(fh);
    return begins && post_flush(fh, way, has_ep ? way->ep : NULL);
}

ucp_fh_way_t *ucp_fh_ways_find_due(ucp_fh_t *fh, const ucp_fh_ways_t *ways,
                                   ucp_worker_h worker)
{
    ucp_fh_way_t *way;

    ucs_list_for_each(way, &ways->list, dirty) {
        if ((way->worker == worker) && is_due(fh, way)) {
            return way;
        }
    }
    return NULL;
}

void ucp_fh_ways_flush_due(ucp_fh_t *fh, ucp_fh_ways_t *ways, ucp_worker_h worker)
{
    int has_begun = 1; /* 0: UCP has no memory for a flush, and the next call of this
                          function tries again */
    ucp_fh_way_t *way;

    while (has_begun) {
        ucp_fh_lock(fh);
        way = ucp_fh_ways_find_due(fh, ways, worker);
        if (way != NULL) {
            ucp_fh_way_ref(way);
        }
        ucp_fh_unlock(fh);
        if (way == NULL) {
            return;
        }

        has_begun = ucp_fh_way_flush(fh, way, UCP_FH_FLUSH_IF_DUE);
        ucp_fh_way_put(way);
    }
}

void ucp_fh_way_empty_trash(ucp_fh_t *fh, ucp_fh_way_t *way)
{
    ucp_fh_rkey_t *unpacked;

    for (;;) {
        ucp_fh_lock(fh);
        unpacked = ucp_fh_list_pop(&way->trash, ucp_fh_rkey_t, owned_link);
        ucp_fh_unlock(fh);
        if (unpacked == NULL) {
            return;
        }

        ucp_rkey_destroy(unpacked->rkey);
        free(unpacked);
    }
}
