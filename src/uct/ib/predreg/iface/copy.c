/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */


#include "iface_int.h"

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>


/* A fragment of a get */
typedef struct copy_fragment {
    struct uct_predreg_copy_get *get;
    void                        *buffer;
} copy_fragment_t;

/* A get with fragments on their way */
typedef struct uct_predreg_copy_get {
    uct_completion_t comp;      /* Counts the fragments on their way, plus one
                                   until all are posted */
    uct_completion_t *user;     /* UCP's completion; NULL until all fragments
                                   are posted, and if the get was cancelled */
    int              cancelled; /* Whether UCP has taken its buffer back */
    copy_fragment_t  fragments[];
} copy_get_t;

/* Source of a fragment of a put */
typedef struct copy_part {
    const void *buffer;
    size_t     length;
} copy_part_t;


static void copy_is_over(uct_predreg_copy_t *copy)
{
    memset(copy, 0, sizeof(*copy));
}

static int copy_is_same(const uct_predreg_copy_op_t *a,
                        const uct_predreg_copy_op_t *b)
{
    return (a->kind == b->kind) && (a->ep == b->ep) &&
           (a->buffer == b->buffer) && (a->length == b->length) &&
           (a->remote_addr == b->remote_addr) && (a->rkey == b->rkey) &&
           (a->comp == b->comp);
}

/* Go on with an operation that is stuck half-way, or start a new operation. At the start
 * the operation that was stuck before is given up: if UCP calls again with its arguments,
 * it starts from its first byte. */
static void copy_resume(uct_predreg_copy_t *copy, char kind,
                        uct_ep_h ep, const uct_iov_t *iov, uint64_t remote_addr,
                        uct_rkey_t rkey, uct_completion_t *comp)
{
    uct_predreg_copy_op_t op = {
        .kind        = kind,
        .ep          = ep,
        .buffer      = iov->buffer,
        .length      = iov->length,
        .remote_addr = remote_addr,
        .rkey        = rkey,
        .comp        = comp
    };

    if (!copy_is_same(&copy->stuck, &op)) {
        uct_predreg_copy_cancel(copy);
        copy->stuck = op;
    }
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

ucs_status_t uct_predreg_copy_put(uct_predreg_iface_t *iface,
                                  uct_predreg_copy_t *copy, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp)
{
    copy_part_t part;
    ucs_status_t status;
    ssize_t packed;

    copy_resume(copy, 'p', ep, iov, remote_addr, rkey, comp);
    while (copy->done < iov->length) {
        part.buffer = (const char*)iov->buffer + copy->done;
        part.length = ucs_min(iface->max_put, iov->length - copy->done);
        packed      = iface->ops.ep_put_bcopy(ep, copy_pack, &part,
                                              remote_addr + copy->done, rkey);
        if (packed == UCS_ERR_NO_RESOURCE) {
            return UCS_ERR_NO_RESOURCE;
        }

        if (packed < 0) {
            copy_is_over(copy);
            return (ucs_status_t)packed;
        }

        copy->done += part.length;
    }

    /* The data is under way. The put ends when the data is there, as a put without a copy:
     * UCP may tell the peer that it is there through another endpoint (rendezvous by put of
     * UCX 1.13 to 1.15 with several rails) */
    status = iface->ops.ep_flush(ep, 0, comp);
    if (status != UCS_ERR_NO_RESOURCE) {
        copy_is_over(copy);
    }
    return status;
}

/* The last fragment has arrived, and all fragments were posted or UCP has cancelled the
 * get */
static void copy_get_landed(uct_completion_t *comp)
{
    copy_get_t *get        = ucs_container_of(comp, copy_get_t, comp);
    uct_completion_t *user = get->user;
    ucs_status_t status;

    if (user == NULL) {
        free(get); /* UCP has cancelled the get */
        return;
    }

    status = comp->status;
    free(get);
    uct_predreg_completion_invoke(user, status);
}

/* Allocate the structure that keeps track of a get of @a length bytes, in fragments of @a
 * max bytes */
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

void uct_predreg_copy_cancel(uct_predreg_copy_t *copy)
{
    copy_get_t *get = copy->get;

    copy_is_over(copy);
    if (get == NULL) {
        return;
    }

    get->cancelled = 1; /* Fragments that arrive from now on are dropped */
    if (--get->comp.count == 0) {
        free(get);
    }
}

/* To be called when no further fragment will be posted. @return the status for UCP. */
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
                                      uct_predreg_copy_t *copy)
{
    copy_get_t *get           = copy->get;
    copy_fragment_t *fragment = &get->fragments[copy->done / iface->max_get];
    size_t length             = ucs_min(iface->max_get,
                                        iov->length - copy->done);
    ucs_status_t status;

    fragment->get    = get;
    fragment->buffer = (char*)iov->buffer + copy->done;
    status = iface->ops.ep_get_bcopy(ep, copy_unpack, fragment, length,
                                     remote_addr + copy->done, rkey,
                                     &get->comp);
    if (status == UCS_INPROGRESS) {
        ++get->comp.count;
        status = UCS_OK;
    }

    if (status == UCS_OK) {
        copy->done += length;
    }
    return status;
}

ucs_status_t uct_predreg_copy_get(uct_predreg_iface_t *iface,
                                  uct_predreg_copy_t *copy, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp)
{
    ucs_status_t status;
    copy_get_t *get;

    copy_resume(copy, 'g', ep, iov, remote_addr, rkey, comp);
    if (copy->get == NULL) {
        copy->get = copy_get_new(iov->length, iface->max_get);
    }

    get = copy->get;
    if (get == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = get->comp.status; /* A fragment may have failed since it was
                                  posted */
    while ((copy->done < iov->length) && (status == UCS_OK)) {
        status = copy_get_fragment(iface, ep, iov, remote_addr, rkey, copy);
    }

    if (status == UCS_ERR_NO_RESOURCE) {
        return status; /* UCP will call again with the same operation */
    }

    /* If a fragment could not be posted, UCP gets the error when the fragments
     * before it have landed */
    get->comp.status = status;
    copy_is_over(copy);
    return copy_get_posted(get, comp);
}
