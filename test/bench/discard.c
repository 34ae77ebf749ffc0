/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * A transport that takes messages and drops them, to time what is above it: the
 * interfaces of UCX's tcp, whose operations that send are replaced. Preloaded
 * after the library that is measured. A program connects first, and then sets
 * discard_is_on.
 */

#include <uct/api/uct.h>
#include <uct/api/tl.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Copies go to one after the other of so many bounce buffers, as far apart as
 * those of an adapter's pool */
#define RING   64
#define STRIDE (8192 + 256)


#define MAX_SHORT 204

__attribute__((visibility("default"))) int discard_is_on;

/* The operations that were replaced; those of all interfaces are the same */
static uct_iface_ops_t real;
static char ring[RING][STRIDE];
static unsigned place;


static char *next_bounce(void)
{
    place = (place + 1) % RING;
    return ring[place];
}

/* Messages of more than MAX_SHORT bytes are copied or not, as over an adapter,
 * whose send queue has room for about as many */
static ucs_status_t iface_query(uct_iface_h iface, uct_iface_attr_t *attr)
{
    ucs_status_t status = real.iface_query(iface, attr);

    attr->cap.am.max_short = MAX_SHORT;
    return status;
}

static ucs_status_t am_short(uct_ep_h ep, uint8_t id, uint64_t header,
                             const void *payload, unsigned length)
{
    if (!discard_is_on) {
        return real.ep_am_short(ep, id, header, payload, length);
    }

    memcpy(next_bounce(), payload, length);
    return UCS_OK;
}

static ssize_t am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack,
                        void *arg, unsigned flags)
{
    return discard_is_on ? (ssize_t)pack(next_bounce(), arg) :
                           real.ep_am_bcopy(ep, id, pack, arg, flags);
}

static ucs_status_t
am_zcopy(uct_ep_h ep, uint8_t id, const void *header, unsigned header_length,
         const uct_iov_t *iov, size_t iovcnt, unsigned flags,
         uct_completion_t *comp)
{
    if (!discard_is_on) {
        return real.ep_am_zcopy(ep, id, header, header_length, iov, iovcnt,
                                flags, comp);
    }

    memcpy(next_bounce(), header, header_length);
    return UCS_OK;
}

__attribute__((visibility("default"))) ucs_status_t
uct_iface_open(uct_md_h md, uct_worker_h worker,
               const uct_iface_params_t *params,
               const uct_iface_config_t *config, uct_iface_h *iface_p)
{
    __typeof__(&uct_iface_open) open = dlsym(RTLD_NEXT, "uct_iface_open");
    ucs_status_t status = open(md, worker, params, config, iface_p);
    uct_iface_ops_t *ops;

    if ((status == UCS_OK) && (params->field_mask &
                               UCT_IFACE_PARAM_FIELD_OPEN_MODE) &&
        !strcmp(params->mode.device.tl_name, "tcp")) {
        ops              = &(*iface_p)->ops;
        real             = *ops;
        ops->iface_query = iface_query;
        ops->ep_am_short = am_short;
        ops->ep_am_bcopy = am_bcopy;
        ops->ep_am_zcopy = am_zcopy;
    }
    return status;
}
