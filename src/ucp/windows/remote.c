/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"

#include <ucs/debug/log_def.h>

#include <stdlib.h>
#include <string.h>

/* The library begins no flush of a way with fewer unflushed pieces than this, unless
 * other requests, or the peer, want the way's firehoses */
#define MIN_UNFLUSHED 64


int ucp_win_serves(ucp_rkey_h rkey)
{
    return ucp_win_remote_find(rkey) != NULL;
}

/* Connect to a peer by the address in its key. The first message to the peer has the
 * address of this process, by which the peer connects as well */
static ucs_status_t get_known(ucp_fh_t *fh, const ucp_win_key_t *key)
{
    size_t length = key->head.lengths[UCP_WIN_KEY_ADDRESS];
    uint32_t peer = key->head.index;
    ucs_status_t status;
    void *address;
    int is_known;

    /* To connect waits for the lock under which messages are sent */
    ucp_fh_lock(fh);
    is_known = (peer < fh->num_procs) && (fh->links[peer].ep != NULL);
    ucp_fh_unlock(fh);
    if (is_known) {
        return UCS_OK;
    }

    address = malloc(length); /* Aligned, unlike the address in the key */
    if (address == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    memcpy(address, key->parts[UCP_WIN_KEY_ADDRESS], length);
    status = ucp_fh_connect(fh, peer, address, length);
    free(address);
    return (status == UCS_ERR_ALREADY_EXISTS) ? UCS_OK : status;
}

/* Merge UCP's own key into the key to an edge, and unpack the merged key */
static ucs_status_t unpack_edge(ucp_ep_h ep, const ucp_win_key_t *key,
                                ucp_win_key_part_t part, ucp_rkey_h *rkey_p)
{
    uint8_t merged[UCP_WIN_KEY_MAX];

    *rkey_p = NULL;
    if (key->head.lengths[part] == 0) {
        return UCS_OK;
    }

    if (ucp_fh_packed_merge(key->parts[part], key->head.lengths[part],
                            key->parts[UCP_WIN_KEY_REST],
                            key->head.lengths[UCP_WIN_KEY_REST], merged) == 0) {
        return UCS_ERR_INVALID_PARAM;
    }

    return ucp_ep_rkey_unpack(ep, merged, rkey_p);
}

static void destroy_edge(ucp_rkey_h rkey)
{
    if (rkey != NULL) {
        ucp_rkey_destroy(rkey);
    }
}

static ucp_win_remote_t *
remote_alloc(const ucp_win_key_t *key, ucp_win_way_t *way)
{
    size_t length            = key->head.lengths[UCP_WIN_KEY_REST];
    ucp_win_remote_t *remote = calloc(1, sizeof(*remote) + length);

    if (remote == NULL) {
        return NULL;
    }

    remote->way         = way;
    remote->peer        = key->head.index;
    remote->range       = key->head.range;
    remote->rest.packed = remote->packed;
    remote->rest.length = length;
    memcpy(remote->packed, key->parts[UCP_WIN_KEY_REST], length);
    return remote;
}

/* Make the window of a peer for an unpacked key. Unless this fails, the window has the
 * caller's reference to the way */
static ucs_status_t
make(ucp_win_way_t *way, const ucp_win_key_t *key, ucp_rkey_h rkey)
{
    ucp_win_remote_t *remote;
    ucs_status_t status;

    remote = remote_alloc(key, way);
    if (remote == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = unpack_edge(way->super.ep, key, UCP_WIN_KEY_HEAD, &remote->head);
    if (status != UCS_OK) {
        goto err_free;
    }

    status = unpack_edge(way->super.ep, key, UCP_WIN_KEY_TAIL, &remote->tail);
    if (status != UCS_OK) {
        goto err_destroy_head;
    }

    status = ucs_map_put(&ucp_win.remotes, rkey, remote);
    if (status != UCS_OK) {
        goto err_destroy_tail;
    }
    return UCS_OK;

err_destroy_tail:
    destroy_edge(remote->tail);
err_destroy_head:
    destroy_edge(remote->head);
err_free:
    free(remote);
    return status;
}

/* @return why a key cannot be used here, or NULL */
static const char *
check(const ucp_win_key_t *key, const ucp_win_way_t *way, ucs_status_t status)
{
    return (status == UCS_ERR_UNSUPPORTED) ? "it is of another version of this "
                                             "library" :
           (status != UCS_OK)              ? "it is damaged" :
           (key->head.job != ucp_win.job)  ? "the peer is of another job, which "
                                             "takes UCX_RCACHE_PRED_WINDOWS="
                                             "pin in both" :
           (way == NULL)                   ? "its endpoint is of a context that "
                                             "was not made for UCP_FEATURE_RMA, "
                                             "or there was no memory to note it" :
                                             NULL;
}

void ucp_win_way_connect(ucp_fh_t *fh, ucp_win_way_t *way, uint32_t peer)
{
    unsigned half = ucs_min(fh->remote.peers[peer].limit / 2, UCP_FH_MAX_LENT);

    ucp_fh_lock(fh);
    ucp_fh_way_connect(fh, &way->super, peer, ucs_max(MIN_UNFLUSHED, half));
    ucp_fh_unlock(fh);
}

static ucs_status_t
unpack(ucp_win_way_t *way, const ucp_win_key_t *key, ucp_rkey_h *rkey_p)
{
    ucp_fh_t *fh = ucp_win_start_access(way->context);
    ucs_status_t status;

    if (fh == NULL) {
        ucs_error("windows: Firehose is not there for the context of an endpoint "
                  "whose peer has a window; UCX_RCACHE_PRED_WINDOWS=pin does "
                  "without");
        return UCS_ERR_UNSUPPORTED;
    }

    status = get_known(fh, key);
    if (status != UCS_OK) {
        return status;
    }

    ucp_win_way_connect(fh, way, key->head.index);

    status = ucp_ep_rkey_unpack(way->super.ep, key->parts[UCP_WIN_KEY_REST], rkey_p);
    if (status != UCS_OK) {
        return status;
    }

    status = make(way, key, *rkey_p);
    if (status != UCS_OK) {
        ucp_rkey_destroy(*rkey_p);
    }
    return status;
}

int ucp_win_rkey_unpack(ucp_ep_h ep, const void *packed, ucp_rkey_h *rkey_p,
                        ucs_status_t *status_p)
{
    ucp_win_entry_t entry;
    ucp_win_way_t *way;
    ucp_win_key_t key;
    const char *error;

    if (!ucp_win_key_is(packed)) {
        return 0;
    }

    way   = ucp_win_way_find(ep);
    if (way != NULL) {
        ucp_fh_way_ref(&way->super);
    }
    error = check(&key, way, ucp_win_key_read(packed, &key));
    if (error != NULL) {
        ucs_error("windows: the key to a window cannot be used: %s", error);
        *status_p = UCS_ERR_UNSUPPORTED;
    } else {
        entry     = ucp_win_enter_always();
        *status_p = unpack(way, &key, rkey_p);
        ucp_win_leave(entry);
    }

    if ((*status_p != UCS_OK) && (way != NULL)) {
        ucp_fh_way_put(&way->super);
    }
    return 1;
}

void ucp_win_rkey_destroying(ucp_rkey_h rkey)
{
    ucp_win_remote_t *remote = ucs_map_take(&ucp_win.remotes, rkey);

    if (remote == NULL) {
        return;
    }

    destroy_edge(remote->head);
    destroy_edge(remote->tail);
    ucp_fh_way_put(&remote->way->super);
    free(remote);
}

static int compare(uint64_t first, uint64_t second)
{
    return (first > second) - (first < second);
}

/* Compare two keys further if UCP has found their parts for domains without need for
 * pinned memory equal. The program may use equal keys in place of each other: both have
 * to be of the same memory of the same process. Keys to other memory than windows come
 * first */
void ucp_win_rkey_compare(ucp_rkey_h rkey1, ucp_rkey_h rkey2, int *result_p)
{
    const ucp_win_remote_t *remote1 = ucp_win_remote_find(rkey1);
    const ucp_win_remote_t *remote2 = ucp_win_remote_find(rkey2);
    int result;

    if (*result_p != 0) {
        return;
    }

    if ((remote1 == NULL) || (remote2 == NULL)) {
        *result_p = (remote1 != NULL) - (remote2 != NULL);
        return;
    }

    result    = compare(remote1->peer, remote2->peer);
    result    = (result != 0) ? result :
                                compare(remote1->range.start, remote2->range.start);
    *result_p = (result != 0) ? result :
                                compare(remote1->range.end, remote2->range.end);
}
