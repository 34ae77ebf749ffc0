/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */


#include "iface_int.h"

#include <ucs/base/align.h>
#include <ucs/base/map.h>

#include <ucs/datastruct/callbackq.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/* Operations that UCP may give pieces handles to, and this library does not replace. An
 * interface with such an operation cannot be wrapped */
#define UNSUPPORTED_CAPS \
    (UCT_IFACE_FLAG_TAG_EAGER_ZCOPY | UCT_IFACE_FLAG_TAG_RNDV_ZCOPY)


/* The states of the wrapped interfaces of this process, by UCT's handle: UCT's structure
 * has no room for a pointer to the state. In a forked child the map keeps the interfaces
 * that the child has inherited, since their operations are replaced. */
static ucs_map_t ifaces = UCS_MAP_INITIALIZER(UCS_RANK_IFACES);


/* @return the state of a wrapped interface */
static UCS_F_ALWAYS_INLINE uct_predreg_iface_t *find(uct_iface_h iface)
{
    return ucs_map_get(&ifaces, iface);
}

static UCS_F_ALWAYS_INLINE int has_pieces(const uct_iov_t *iov, size_t iovcnt)
{
    size_t i;

    for (i = 0; i < iovcnt; ++i) {
        if (uct_predreg_memh_to_pieces(iov[i].memh) != NULL) {
            return 1;
        }
    }

    return 0;
}

/*
 * Start a get or put whose memory is not registered as a whole. UCP passes such memory as a
 * single buffer, with a completion.
 *
 * @param [in] post  The operation for a registered piece.
 * @param [in] copy  The function that moves all data without registration.
 */
static ucs_status_t
pieces_zcopy(uct_predreg_iface_t *self, uct_ep_get_zcopy_func_t post,
             uct_predreg_copy_func_t copy, uct_ep_h ep, const uct_iov_t *iov,
             size_t iovcnt, uint64_t remote_addr, uct_rkey_t rkey,
             uct_completion_t *comp)
{
    uct_predreg_pieces_memh_t *pieces = uct_predreg_memh_to_pieces(iov->memh);

    if ((iovcnt != 1) || (iov->count != 1) || (comp == NULL)) {
        ucs_error("an operation of %zu buffers, the first one repeated %u "
                  "times, that are not registered: 1 and 1 are expected",
                  iovcnt, iov->count);
        return UCS_ERR_UNSUPPORTED;
    }

    /* A forked child must not register anything in its parent's cache */
    if (pieces->one_sided || pieces->use.unfit ||
        uct_predreg_is_inherited(self)) {
        return copy(self, &pieces->copy, ep, iov, remote_addr, rkey, comp);
    }

    return uct_predreg_transfer_start(self, post, copy, ep, iov, remote_addr,
                                      rkey, comp);
}

static ucs_status_t
iface_get_zcopy(uct_ep_h ep, const uct_iov_t *iov, size_t iovcnt,
                uint64_t remote_addr, uct_rkey_t rkey, uct_completion_t *comp)
{
    uct_predreg_iface_t *self = find(ep->iface);

    if (ucs_likely(!has_pieces(iov, iovcnt))) {
        return self->ops.ep_get_zcopy(ep, iov, iovcnt, remote_addr, rkey, comp);
    }

    return pieces_zcopy(self, self->ops.ep_get_zcopy, uct_predreg_copy_get, ep,
                        iov, iovcnt, remote_addr, rkey, comp);
}

static ucs_status_t
iface_put_zcopy(uct_ep_h ep, const uct_iov_t *iov, size_t iovcnt,
                uint64_t remote_addr, uct_rkey_t rkey, uct_completion_t *comp)
{
    uct_predreg_iface_t *self = find(ep->iface);

    if (ucs_likely(!has_pieces(iov, iovcnt))) {
        return self->ops.ep_put_zcopy(ep, iov, iovcnt, remote_addr, rkey, comp);
    }

    return pieces_zcopy(self, self->ops.ep_put_zcopy, uct_predreg_copy_put, ep,
                        iov, iovcnt, remote_addr, rkey, comp);
}

/* What a copied active message consists of: a header and buffers */
typedef struct am_parts {
    const void      *header;
    unsigned        header_length;
    const uct_iov_t *iov;
    size_t          iovcnt;
} am_parts_t;

static size_t am_pack(void *dest, void *arg)
{
    const am_parts_t *parts = arg;
    char *end               = (char*)dest + parts->header_length;
    const char *src;
    size_t i;
    unsigned n;

    memcpy(dest, parts->header, parts->header_length);
    for (i = 0; i < parts->iovcnt; ++i) {
        src = parts->iov[i].buffer;
        for (n = 0; n < parts->iov[i].count; ++n) {
            memcpy(end, src, parts->iov[i].length);
            end += parts->iov[i].length;
            src += parts->iov[i].stride;
        }
    }

    return end - (char*)dest;
}

/* Send an active message. If its memory is not registered as a whole, the message is
 * copied: all of it fits into a copy, see iface_is_supported() */
static ucs_status_t
iface_am_zcopy(uct_ep_h ep, uint8_t id, const void *header,
               unsigned header_length, const uct_iov_t *iov, size_t iovcnt,
               unsigned flags, uct_completion_t *comp)
{
    uct_predreg_iface_t *self = find(ep->iface);
    am_parts_t parts          = {
        .header        = header,
        .header_length = header_length,
        .iov           = iov,
        .iovcnt        = iovcnt
    };
    ssize_t packed;

    if (ucs_likely(!has_pieces(iov, iovcnt))) {
        return self->ops.ep_am_zcopy(ep, id, header, header_length, iov, iovcnt,
                                     flags, comp);
    }

    packed = self->ops.ep_am_bcopy(ep, id, am_pack, &parts, flags);
    return (packed < 0) ? (ucs_status_t)packed : UCS_OK;
}

/* Cancel all transfers and flushes of an endpoint. @return 0 if UCP, when called back,
 * has destroyed the endpoint. */
static int cancel(uct_predreg_iface_t *self, uct_ep_h ep)
{
    uct_predreg_watch_t watch;

    uct_predreg_watch_begin(self, ep, 0, &watch);
    uct_predreg_transfer_cancel(self, ep);
    uct_predreg_flush_cancel(self, ep);
    return !uct_predreg_watch_end(self, &watch);
}

static ucs_status_t
iface_ep_flush(uct_ep_h ep, unsigned flags, uct_completion_t *comp)
{
    uct_predreg_iface_t *self = find(ep->iface);

    if (ucs_likely(uct_predreg_endpoint_find(self, ep) == NULL)) {
        return self->ops.ep_flush(ep, flags, comp);
    }

    if (!(flags & UCT_FLUSH_FLAG_CANCEL)) {
        return uct_predreg_flush_start(self, ep, flags, comp);
    }

    return cancel(self, ep) ? self->ops.ep_flush(ep, flags, comp) :
                              UCS_ERR_CANCELED;
}

static ucs_status_t
iface_flush(uct_iface_h iface, unsigned flags, uct_completion_t *comp)
{
    uct_predreg_iface_t *self = find(iface);

    if (ucs_likely(ucs_list_is_empty(&self->all_endpoints))) {
        return self->ops.iface_flush(iface, flags, comp);
    }

    /* Without a completion the caller asks again until all endpoints are flushed. A flush
     * with a completion is refused, as UCX's own interfaces do */
    return (comp == NULL) ? UCS_INPROGRESS : UCS_ERR_UNSUPPORTED;
}

static void iface_ep_destroy(uct_ep_h ep)
{
    uct_predreg_iface_t *self = find(ep->iface);
    uct_predreg_watch_t watch;

    uct_predreg_watch_begin(self, ep, 1, &watch);
    uct_predreg_transfer_cancel(self, ep);
    uct_predreg_flush_cancel(self, ep);
    self->ops.ep_destroy(ep); /* Pieces in flight land in this call */
    uct_predreg_endpoint_forget(self, ep);
    uct_predreg_watch_end(self, &watch);
}

static void iface_close(uct_iface_h iface)
{
    uct_predreg_iface_t *self      = find(iface);
    uct_iface_close_func_t closing = self->ops.iface_close;

    self->closing = 1;
    uct_predreg_transfer_cancel_all(self, 0);
    uct_predreg_flush_cancel_all(self);
    uct_predreg_retry_stop(self);

    /* The interface leaves the map before it closes, since afterwards another
     * interface may get its address */
    iface->ops = self->ops;
    (void)ucs_map_take(&ifaces, iface);
    closing(iface);

    /* Endpoints that were not destroyed before may have left pieces in
     * flight */
    uct_predreg_transfer_cancel_all(self, 1);
    uct_predreg_endpoints_cleanup(self);
    free(self);
}

/* The worker's progress calls this function while transfers or flushes wait */
static unsigned iface_retry(void *arg)
{
    uct_predreg_iface_t *self = arg;
    unsigned count;

    count  = uct_predreg_transfer_retry(self);
    count += uct_predreg_flush_retry(self);

    /* Checked at the end, since UCP's callbacks may have started transfers or flushes that
     * wait now */
    if (uct_predreg_transfer_is_idle(self) && ucs_list_is_empty(&self->ready)) {
        uct_predreg_retry_stop(self);
    }
    return count;
}

/* Whether the data can be copied instead if UCP uses a pieces handle for the operation
 * zcopy. If the interface has the operation zcopy, it must also have bcopy, which copies
 * up to @a max bytes at a time */
static int
has_copying(uint64_t caps, uint64_t zcopy, uint64_t bcopy, size_t max)
{
    return !(caps & zcopy) || ((caps & bcopy) && (max > 0));
}

/* Whether an interface can be wrapped. Active messages are copied as a whole, so the
 * longest one has to fit into a copy. A piece can be as short as a page, so gets and puts
 * of a page have to be accepted */
static int iface_is_supported(const uct_iface_attr_t *attr)
{
    uint64_t caps = attr->cap.flags;

    return !(caps & UNSUPPORTED_CAPS) &&
           has_copying(caps, UCT_IFACE_FLAG_AM_ZCOPY, UCT_IFACE_FLAG_AM_BCOPY,
                       attr->cap.am.max_bcopy) &&
           has_copying(caps, UCT_IFACE_FLAG_PUT_ZCOPY, UCT_IFACE_FLAG_PUT_BCOPY,
                       attr->cap.put.max_bcopy) &&
           has_copying(caps, UCT_IFACE_FLAG_GET_ZCOPY, UCT_IFACE_FLAG_GET_BCOPY,
                       attr->cap.get.max_bcopy) &&
           (attr->cap.am.max_zcopy <= attr->cap.am.max_bcopy) &&
           (attr->cap.get.min_zcopy <= ucs_page_size()) &&
           (attr->cap.put.min_zcopy <= ucs_page_size());
}

static void iface_init(uct_predreg_iface_t *self, uct_iface_h iface,
                       const uct_iface_attr_t *attr, uct_worker_h worker,
                       const uct_predreg_env_t *env)
{
    unsigned i;

    self->ops        = iface->ops;
    self->env        = *env;
    self->worker     = worker;
    self->retry_func = iface_retry;
    self->retry_id   = UCS_CALLBACKQ_ID_NULL;
    self->min_zcopy  = ucs_max(attr->cap.get.min_zcopy,
                               attr->cap.put.min_zcopy);
    self->max_put    = attr->cap.put.max_bcopy;
    self->max_get    = attr->cap.get.max_bcopy;
    self->forks      = uct_predreg_forks;
    uct_predreg_endpoints_init(self);
    ucs_list_head_init(&self->ready);
    ucs_list_head_init(&self->cancelled);
    for (i = 0; i < UCT_PREDREG_LINE_NONE; ++i) {
        ucs_list_head_init(&self->lines[i]);
    }
}

static void replace_ops(uct_iface_ops_t *ops)
{
    ops->ep_get_zcopy = iface_get_zcopy;
    ops->ep_put_zcopy = iface_put_zcopy;
    ops->ep_am_zcopy  = iface_am_zcopy;
    ops->ep_flush     = iface_ep_flush;
    ops->ep_destroy   = iface_ep_destroy;
    ops->iface_flush  = iface_flush;
    ops->iface_close  = iface_close;
}

ucs_status_t uct_predreg_iface_wrap(uct_iface_h iface, uct_worker_h worker,
                                    const uct_predreg_env_t *env)
{
    uct_predreg_iface_t *self;
    uct_iface_attr_t attr;
    ucs_status_t status;

    if ((iface->ops.iface_query(iface, &attr) != UCS_OK) ||
        !iface_is_supported(&attr)) {
        ucs_debug("interface %p has operations that pieces are not made for",
                  iface);
        return UCS_ERR_UNSUPPORTED;
    }

    self = calloc(1, sizeof(*self));
    if (self == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    iface_init(self, iface, &attr, worker, env);
    status = ucs_map_put(&ifaces, iface, self);
    if (status != UCS_OK) {
        free(self);
        return status;
    }

    replace_ops(&iface->ops);
    return UCS_OK;
}

void uct_predreg_ifaces_reset(void)
{
    ucs_map_forked(&ifaces, UCS_RANK_IFACES);
    uct_predreg_endpoints_forked();
}
