/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface.h"
#include "pieces_memh.h"

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/*
 * One-sided operations for whose local buffers there is no room. They cannot go
 * piece by piece, as messages do: an operation that comes after a fence must
 * not be in the send queue before them, hence all of it has to be there when
 * UCP has handed it over. So they are copied through UCX's bounce buffers, a
 * fragment after the other. When the send queue is full UCP is told so; it
 * comes again with the same operation, which goes on from where it stopped.
 */

/* A fragment of a get */
typedef struct copy_fragment {
    struct uct_predreg_copy_get *get;
    void                        *buffer;
} copy_fragment_t;

/* Fragments of a get on their way */
typedef struct uct_predreg_copy_get {
    uct_completion_t comp;      /* Of the fragments; one more while posting */
    uct_completion_t *user;     /* UCP's; NULL while posting, or if given up */
    int              cancelled; /* UCP has given the buffer back */
    copy_fragment_t  fragments[];
} copy_get_t;

typedef struct copy_part {
    const void *buffer;
    size_t     length;
} copy_part_t;


/* Where to go on with an operation */
static size_t copy_resume(uct_predreg_pieces_memh_t *pieces, uint64_t remote_addr)
{
    if (pieces->remote_addr != remote_addr) {
        pieces->remote_addr = remote_addr;
        pieces->done        = 0;
    }

    return pieces->done;
}

static void copy_is_over(uct_predreg_pieces_memh_t *pieces)
{
    pieces->remote_addr = 0;
    pieces->done        = 0;
    pieces->get         = NULL;
}

static size_t copy_pack(void *dest, void *arg)
{
    const copy_part_t *part = arg;

    memcpy(dest, part->buffer, part->length);
    return part->length;
}

static void copy_unpack(void *arg, const void *data, size_t length)
{
    const copy_fragment_t *fragment = arg;

    if (!fragment->get->cancelled) {
        memcpy(fragment->buffer, data, length);
    }
}

ucs_status_t uct_predreg_copy_put(uct_predreg_iface_t *iface, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp)
{
    uct_predreg_pieces_memh_t *pieces = uct_predreg_memh_to_pieces(iov->memh);
    copy_part_t part;
    ssize_t packed;

    copy_resume(pieces, remote_addr);
    while (pieces->done < iov->length) {
        part.buffer = (const char*)iov->buffer + pieces->done;
        part.length = ucs_min(iface->max_put, iov->length - pieces->done);
        packed      = iface->ops.ep_put_bcopy(ep, copy_pack, &part,
                                              remote_addr + pieces->done, rkey);
        if (packed < 0) {
            return (ucs_status_t)packed;
        }

        pieces->done += part.length;
    }

    copy_is_over(pieces);
    return UCS_OK;
}

/* The last fragment has arrived */
static void copy_get_landed(uct_completion_t *comp)
{
    copy_get_t *get        = ucs_container_of(comp, copy_get_t, comp);
    uct_completion_t *user = get->user;

    if (user == NULL) {
        free(get); /* Given up */
        return;
    }

    if ((comp->status != UCS_OK) && (user->status == UCS_OK)) {
        user->status = comp->status;
    }
    free(get);

    if (--user->count == 0) {
        user->func(user);
    }
}

/* For a get of so many bytes in fragments of max */
static copy_get_t *copy_get_new(size_t length, size_t max)
{
    size_t count    = ucs_div_round_up(length, max);
    copy_get_t *get = malloc(sizeof(*get) + count * sizeof(*get->fragments));

    if (get != NULL) {
        get->comp.func   = copy_get_landed;
        get->comp.count  = 1;
        get->comp.status = UCS_OK;
        get->user        = NULL;
        get->cancelled   = 0;
    }
    return get;
}

void uct_predreg_copy_cancel(uct_predreg_pieces_memh_t *pieces)
{
    copy_get_t *get = pieces->get;

    copy_is_over(pieces);
    if (get == NULL) {
        return;
    }

    get->cancelled = 1; /* For what is still to come */
    if (--get->comp.count == 0) {
        free(get);
    }
}

/* All fragments are posted. @return what UCP is told. */
static ucs_status_t copy_get_posted(copy_get_t *get, uct_completion_t *comp)
{
    ucs_status_t status = get->comp.status;

    get->user = comp;
    if (--get->comp.count > 0) {
        return UCS_INPROGRESS;
    }

    free(get);
    return status;
}

/* Post the next fragment */
static ucs_status_t copy_get_fragment(uct_predreg_iface_t *iface, uct_ep_h ep,
                                      const uct_iov_t *iov,
                                      uint64_t remote_addr, uct_rkey_t rkey,
                                      uct_predreg_pieces_memh_t *pieces)
{
    copy_get_t *get           = pieces->get;
    copy_fragment_t *fragment = &get->fragments[pieces->done / iface->max_get];
    size_t length             = ucs_min(iface->max_get,
                                        iov->length - pieces->done);
    ucs_status_t status;

    fragment->get    = get;
    fragment->buffer = (char*)iov->buffer + pieces->done;
    status = iface->ops.ep_get_bcopy(ep, copy_unpack, fragment, length,
                                     remote_addr + pieces->done, rkey,
                                     &get->comp);
    if (status == UCS_INPROGRESS) {
        ++get->comp.count;
        status = UCS_OK;
    }

    if (status == UCS_OK) {
        pieces->done += length;
    }
    return status;
}

ucs_status_t uct_predreg_copy_get(uct_predreg_iface_t *iface, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp)
{
    uct_predreg_pieces_memh_t *pieces = uct_predreg_memh_to_pieces(iov->memh);
    ucs_status_t status           = UCS_OK;
    copy_get_t *get;

    if ((copy_resume(pieces, remote_addr) == 0) && (pieces->get == NULL)) {
        pieces->get = copy_get_new(iov->length, iface->max_get);
    }

    get = pieces->get;
    if (get == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    while ((pieces->done < iov->length) && (status == UCS_OK)) {
        status = copy_get_fragment(iface, ep, iov, remote_addr, rkey, pieces);
    }

    if (status == UCS_ERR_NO_RESOURCE) {
        return status; /* UCP comes again */
    }

    /* If one failed: UCP is told when those before it have landed */
    get->comp.status = status;
    copy_is_over(pieces);
    return copy_get_posted(get, comp);
}
