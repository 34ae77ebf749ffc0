/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "iface.h"

#include <uct/api/tl.h>

#include <stdlib.h>
#include <string.h>

/* Bytes that are copied at a time, as many as the buffers of ib have
 * (UCX_IB_SEG_SIZE) */
#define MAX_COPY  8192

/* Bytes of a short put, about as many as an adapter takes with its command */
#define MAX_SHORT 128

/* A copy under way. cma moves it as it moves a buffer of the program. */
typedef struct copy {
    uct_completion_t      comp;     /* Of cma; first */
    uct_completion_t      *user;    /* Of a get; NULL: none */
    uct_unpack_callback_t unpack;   /* NULL: a put */
    void                  *arg;
    size_t                length;
    char                  buffer[];
} copy_t;

/* The same of all interfaces of cma; each thread that opens one writes the same
 * value before it replaces the operation */
static uct_iface_query_func_t _Atomic cma_query;


static void copy_finish(copy_t *copy, ucs_status_t status)
{
    if ((copy->unpack != NULL) && (status == UCS_OK)) {
        copy->unpack(copy->arg, copy->buffer, copy->length);
    }
    free(copy);
}

/* cma has moved a copy */
static void copied(uct_completion_t *comp)
{
    copy_t *copy           = (copy_t*)comp;
    uct_completion_t *user = copy->user;
    ucs_status_t status    = comp->status;

    copy_finish(copy, status);
    if (user == NULL) {
        return;
    }

    if (status != UCS_OK) {
        user->status = status;
    }
    if (--user->count == 0) {
        user->func(user);
    }
}

static copy_t *copy_new(size_t length)
{
    copy_t *copy = calloc(1, sizeof(*copy) + length);

    if (copy != NULL) {
        copy->comp.func  = copied;
        copy->comp.count = 1;
        copy->length     = length;
    }
    return copy;
}

/* Have cma move a copy. @return its status; unless it is UCS_INPROGRESS, the
 * copy is no more */
static ucs_status_t copy_post(copy_t *copy, uct_ep_get_zcopy_func_t post,
                              uct_ep_h ep, uint64_t remote_addr,
                              uct_rkey_t rkey)
{
    const uct_iov_t iov = {
        .buffer = copy->buffer,
        .length = copy->length,
        .count  = 1
    };
    ucs_status_t status;

    status = post(ep, &iov, 1, remote_addr, rkey, &copy->comp);
    if (status != UCS_INPROGRESS) {
        copy_finish(copy, status);
    }
    return status;
}

/* Also a copy, since cma moves nothing at once */
static ucs_status_t put_short(uct_ep_h ep, const void *buffer, unsigned length,
                              uint64_t remote_addr, uct_rkey_t rkey)
{
    copy_t *copy = copy_new(length);
    ucs_status_t status;

    if (copy == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    memcpy(copy->buffer, buffer, length);
    status = copy_post(copy, ep->iface->ops.ep_put_zcopy, ep, remote_addr,
                       rkey);
    return UCS_STATUS_IS_ERR(status) ? status : UCS_OK;
}

static ssize_t put_bcopy(uct_ep_h ep, uct_pack_callback_t pack, void *arg,
                         uint64_t remote_addr, uct_rkey_t rkey)
{
    copy_t *copy = copy_new(MAX_COPY);
    ucs_status_t status;
    size_t length;

    if (copy == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    length       = pack(copy->buffer, arg);
    copy->length = length;
    status       = copy_post(copy, ep->iface->ops.ep_put_zcopy, ep, remote_addr,
                             rkey);
    return UCS_STATUS_IS_ERR(status) ? status : length;
}

static ucs_status_t get_bcopy(uct_ep_h ep, uct_unpack_callback_t unpack,
                              void *arg, size_t length, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp)
{
    copy_t *copy = copy_new(length);

    if (copy == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    copy->unpack = unpack;
    copy->arg    = arg;
    copy->user   = comp;
    return copy_post(copy, ep->iface->ops.ep_get_zcopy, ep, remote_addr, rkey);
}

/* Whether UCP is to find all that it wants of a transport for its own puts
 * and gets */
static int is_one_sided(void)
{
    const char *value = getenv("NATIVE_ONE_SIDED");

    return (value != NULL) && !strcmp(value, "1");
}

static ucs_status_t query(uct_iface_h iface, uct_iface_attr_t *attr)
{
    ucs_status_t status = cma_query(iface, attr);

    if (status == UCS_OK) {
        attr->cap.flags        |= UCT_IFACE_FLAG_PUT_BCOPY |
                                  UCT_IFACE_FLAG_GET_BCOPY;
        attr->cap.put.max_bcopy = MAX_COPY;
        attr->cap.get.max_bcopy = MAX_COPY;
        if (is_one_sided()) {
            attr->cap.flags        |= UCT_IFACE_FLAG_PUT_SHORT;
            attr->cap.put.max_short = MAX_SHORT;
        }
    }
    return status;
}

void iface_complete(uct_iface_h iface)
{
    cma_query               = iface->ops.iface_query;
    iface->ops.iface_query  = query;
    iface->ops.ep_put_short = put_short;
    iface->ops.ep_put_bcopy = put_bcopy;
    iface->ops.ep_get_bcopy = get_bcopy;
}
