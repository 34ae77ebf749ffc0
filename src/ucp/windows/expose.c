/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"

#include <ucs/base/align.h>

#include <ucs/debug/log_def.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Shortest memory that becomes a window, bytes: shorter memory is pinned as a whole,
 * since a window would save little */
#define MIN_LENGTH (1ul << 20)


/* The bytes of a window before its whole buckets, or after these: they are pinned, and
 * not exposed, if another window shares their bucket */
typedef struct {
    ucp_mem_h memh;   /* NULL: the window has no such bytes */
    void      *packed;
    size_t    length; /* Bytes of @a packed */
} edge_t;


/* A window. Does not change once it is exposed */
typedef struct {
    ucp_win_range_t range;
    edge_t          head;
    edge_t          tail;
    ucp_fh_mem_h    mem;
} window_t;


/* Whether memory is large enough for a window, and peers may read and write it */
static int is_large(const ucp_mem_map_params_t *params)
{
    const unsigned prot = UCP_MEM_MAP_PROT_REMOTE_READ |
                          UCP_MEM_MAP_PROT_REMOTE_WRITE;

    return (params->field_mask & UCP_MEM_MAP_PARAM_FIELD_LENGTH) &&
           (params->length >= MIN_LENGTH) &&
           (!(params->field_mask & UCP_MEM_MAP_PARAM_FIELD_PROT) ||
            ((params->prot & prot) == prot)) &&
           (!(params->field_mask & UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE) ||
            (params->memory_type == UCS_MEMORY_TYPE_HOST));
}

/* Fields and flags of ucp_mem_map_params_t in UCX 1.13 to 1.23 (ucp.h), as numbers, since
 * the headers of the build may lack some. Memory of another process
 * (EXPORTED_MEMH_BUFFER) and memory that the program wants pinned now (LOCK) are not
 * served. Memory with SYMMETRIC_RKEY is served: that flag is only a hint that keys of
 * peers are equal */
#define KNOWN_FIELDS  0x3fu
#define SERVED_FIELDS 0x1fu
#define KNOWN_FLAGS   0x1fu
#define SERVED_FLAGS  0x0fu

/* @return whether memory with these fields and flags may be a window. Memory with unknown
 *         fields or flags is left to UCP, and the log says so */
static int is_served(const ucp_mem_map_params_t *params)
{
    uint64_t fields = params->field_mask;
    unsigned flags  = (fields & UCP_MEM_MAP_PARAM_FIELD_FLAGS) ? params->flags : 0;

    if ((fields & ~(uint64_t)KNOWN_FIELDS) || (flags & ~KNOWN_FLAGS)) {
        ucp_win_tell_pinned("memory is mapped with a field or flag of "
                            "ucp_mem_map_params_t that is not known here");
    }
    return !(fields & ~(uint64_t)SERVED_FIELDS) && !(flags & ~SERVED_FLAGS);
}

static ucs_status_t
edge_map(ucp_context_h context, uint64_t start, uint64_t end, edge_t *edge)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = (void*)start,
        .length     = end - start
    };
    ucs_status_t status;

    memset(edge, 0, sizeof(*edge));
    if (start == end) {
        return UCS_OK;
    }

    status = ucp_mem_map(context, &params, &edge->memh);
    if (status != UCS_OK) {
        return status;
    }

    status = ucp_rkey_pack(context, edge->memh, &edge->packed, &edge->length);
    if (status != UCS_OK) {
        ucp_mem_unmap(context, edge->memh);
    }
    return status;
}

static void edge_unmap(ucp_context_h context, edge_t *edge)
{
    if (edge->memh != NULL) {
        ucp_rkey_buffer_release(edge->packed);
        ucp_mem_unmap(context, edge->memh);
    }
}

/* Find the range of mapped memory */
static ucs_status_t measure(ucp_mem_h memh, window_t *window)
{
    ucp_mem_attr_t attr = {
        .field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH
    };
    ucs_status_t status;

    status = ucp_mem_query(memh, &attr);
    if (status != UCS_OK) {
        return status;
    }

    window->range.start = (uintptr_t)attr.address;
    window->range.end   = window->range.start + attr.length;
    return UCS_OK;
}

static ucs_status_t
expose_from(ucp_fh_t *fh, window_t *window, uint64_t first, uint64_t last)
{
    window->range.first = first;
    window->range.last  = last;
    return ucp_fh_expose_apart(fh, (void*)first, last - first, &window->mem);
}

/* Expose a window. If another window shares its first or last bucket, expose only its
 * whole buckets. @return UCS_ERR_INVALID_ADDR if it then has no whole bucket, or another
 * error */
static ucs_status_t expose(ucp_fh_t *fh, window_t *window)
{
    uint64_t bucket = UCS_BIT(fh->shift);
    uint64_t first  = ucs_round_up(window->range.start, bucket);
    uint64_t last   = ucs_round_down(window->range.end, bucket);
    ucs_status_t status;

    status = expose_from(fh, window, window->range.start, window->range.end);
    if (status != UCS_ERR_ALREADY_EXISTS) {
        return status;
    }

    return (first < last) ? expose_from(fh, window, first, last) :
                            UCS_ERR_INVALID_ADDR;
}

/* Pack UCP's own key, and take out the parts of managed domains, those whose memory
 * libuct_predreg.so registers: these domains have registered only one page */
static ucs_status_t
pack_rest(ucp_context_h context, ucp_mem_h memh, void **rest_p, size_t *length_p)
{
    uint64_t parts;
    ucs_status_t status;

    status = ucp_win.env->pack(context, memh, rest_p, length_p, &parts);
    if (status != UCS_OK) {
        return status;
    }

    *length_p = ucp_fh_packed_strip(*rest_p, *length_p, parts);
    if (*length_p == 0) {
        ucp_rkey_buffer_release(*rest_p);
        ucs_error("windows: UCP has packed a key that is not understood");
        return UCS_ERR_UNSUPPORTED;
    }

    return UCS_OK;
}

static ucp_win_key_t
make_key(const window_t *window, const void *rest, size_t rest_length)
{
    return (ucp_win_key_t){
        .head.index   = ucp_win.env->index,
        .head.job     = ucp_win.job,
        .head.range   = window->range,
        .head.lengths = {ucp_win.address_length, rest_length,
                         window->head.length, window->tail.length},
        .parts        = {ucp_win.address, rest, window->head.packed,
                         window->tail.packed}
    };
}

/* Check the length of the key to a window. @return UCS_ERR_EXCEEDS_LIMIT if the key is
 * too long for programs, as it may be with many memory domains; or another error */
static ucs_status_t
check_key(const window_t *window, ucp_context_h context, ucp_mem_h memh)
{
    size_t rest_length;
    ucs_status_t status;
    ucp_win_key_t key;
    void *rest;

    status = pack_rest(context, memh, &rest, &rest_length);
    if (status != UCS_OK) {
        return status;
    }

    key = make_key(window, rest, rest_length);
    ucp_rkey_buffer_release(rest);
    return (ucp_win_key_size(&key) <= UCP_WIN_KEY_MAX) ? UCS_OK :
                                                         UCS_ERR_EXCEEDS_LIMIT;
}

static ucs_status_t
window_make(ucp_fh_t *fh, ucp_context_h context, ucp_mem_h memh)
{
    window_t *window = calloc(1, sizeof(*window));
    const ucp_win_range_t *range;
    ucs_status_t status;

    if (window == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    range  = &window->range;
    status = measure(memh, window);
    if (status != UCS_OK) {
        goto err_free;
    }

    status = expose(fh, window);
    if (status != UCS_OK) {
        goto err_free;
    }

    status = edge_map(context, range->start, range->first, &window->head);
    if (status != UCS_OK) {
        goto err_unexpose;
    }

    status = edge_map(context, range->last, range->end, &window->tail);
    if (status != UCS_OK) {
        goto err_unmap_head;
    }

    status = check_key(window, context, memh);
    if (status != UCS_OK) {
        goto err_unmap_tail;
    }

    status = ucs_map_put(&ucp_win.windows, memh, window);
    if (status != UCS_OK) {
        goto err_unmap_tail;
    }
    return UCS_OK;

err_unmap_tail:
    edge_unmap(context, &window->tail);
err_unmap_head:
    edge_unmap(context, &window->head);
err_unexpose:
    ucp_fh_unexpose(window->mem);
err_free:
    free(window);
    return status;
}

static const char *why_pinned(ucs_status_t status)
{
    switch (status) {
    case UCS_ERR_INVALID_ADDR:
        return "a window has no bucket for itself";
    case UCS_ERR_ALREADY_EXISTS:
        return "a window overlaps another one";
    case UCS_ERR_EXCEEDS_LIMIT:
        return "the key to a window would be longer than 1024 bytes";
    default:
        return ucs_status_string(status);
    }
}

int ucp_win_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
                    ucp_mem_h *memh_p, ucs_status_t *status_p)
{
    unsigned num;
    ucp_fh_t *fh;

    if (!is_large(params) ||
        (ucs_map_find(&ucp_win.contexts, context) == NULL) ||
        !is_served(params)) {
        return 0;
    }

    fh = ucp_win_start(context);
    if (fh == NULL) {
        return 0;
    }

    *status_p = ucp_win.env->map(context, params, memh_p, &num);
    if ((*status_p != UCS_OK) || (num == 0)) {
        return 1; /* If no domain is managed, none pins memory, and no window is needed */
    }

    *status_p = window_make(fh, context, *memh_p);
    if (*status_p == UCS_OK) {
        return 1;
    }

    /* The caller maps the memory anew, without a window. If UCP has allocated the memory,
     * it may be freed, since nobody has its address yet */
    ucp_win_tell_pinned(why_pinned(*status_p));
    ucp_mem_unmap(context, *memh_p);
    return 0;
}

/* Do work of this thread: a peer may wait for the work. The peer may unmap a window at
 * the same time, and wait until this thread has flushed its operations */
static void help(void *context)
{
    ucp_win_ways_help(context);
}

void ucp_win_mem_unmapping(ucp_context_h context, ucp_mem_h memh)
{
    window_t *window = ucs_map_take(&ucp_win.windows, memh);

    if (window == NULL) {
        return;
    }

    /* If Firehose has ended, nothing is pinned any more: the context is destroyed, and
     * the edges with it. Else flush the operations of this thread first: a peer that
     * unmaps their target waits for their end, and this thread may never call UCP
     * again */
    if (ucp_win_fh() != NULL) {
        ucp_win_ways_flush(context);
        (void)ucp_fh_unexpose_with(window->mem, ucp_win.env->is_in_progress() ?
                                   NULL : help, context);
        edge_unmap(context, &window->head);
        edge_unmap(context, &window->tail);
    }
    free(window);
}

int ucp_win_is_window(ucp_mem_h memh)
{
    return ucs_map_find(&ucp_win.windows, memh) != NULL;
}

static ucs_status_t
pack(const window_t *window, const void *rest, size_t rest_length,
     void **packed_p, size_t *length_p)
{
    ucp_win_key_t key = make_key(window, rest, rest_length);

    *length_p = ucp_win_key_size(&key);
    *packed_p = malloc(*length_p);
    if (*packed_p == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    ucp_win_key_write(&key, *packed_p);
    return UCS_OK;
}

int ucp_win_rkey_pack(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                      size_t *length_p, ucs_status_t *status_p)
{
    window_t *window = ucs_map_find(&ucp_win.windows, memh);
    size_t rest_length;
    void *rest;

    if (window == NULL) {
        return 0;
    }

    *status_p = pack_rest(context, memh, &rest, &rest_length);
    if (*status_p != UCS_OK) {
        return 1;
    }

    *status_p = pack(window, rest, rest_length, packed_p, length_p);
    ucp_rkey_buffer_release(rest);
    return 1;
}

int ucp_win_packed_release(void *packed)
{
    if ((packed == NULL) || !ucp_win_key_is(packed)) {
        return 0;
    }

    free(packed);
    return 1;
}
