/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "flush.h"
#include "completion.h"
#include "endpoint.h"

#include <stdlib.h>

/* How many flushes that the send queue refuses are tried in a progress call */
#define MAX_REFUSED 4

typedef struct flush {
    uct_predreg_entry_t entry;  /* First */
    uct_ep_h            ep;
    unsigned            flags;
    uint64_t            ticket; /* Taken when it started or was last tried */
    uct_completion_t    *comp;  /* UCP's completion */
} flush_t;


ucs_status_t uct_predreg_flush_start(uct_predreg_iface_t *iface, uct_ep_h ep,
                                     unsigned flags, uct_completion_t *comp)
{
    ucs_status_t status;
    flush_t *flush;

    if (comp == NULL) {
        return UCS_INPROGRESS;
    }

    flush = malloc(sizeof(*flush));
    if (flush == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    flush->entry.is_flush = 1;
    flush->ep             = ep;
    flush->flags          = flags;
    flush->comp           = comp;
    flush->ticket         = iface->tickets++;
    status                = uct_predreg_endpoint_add(iface, ep, &flush->entry);
    if (status != UCS_OK) {
        free(flush);
        return status;
    }

    return UCS_INPROGRESS;
}

/* Take the first flush out of a list, if its ticket is an earlier one */
static flush_t *take_first(ucs_list_link_t *list, uint64_t end)
{
    flush_t *flush;

    if (ucs_list_is_empty(list)) {
        return NULL;
    }

    flush = ucs_list_head(list, flush_t, entry.list);
    if (flush->ticket >= end) {
        return NULL;
    }

    ucs_list_del(&flush->entry.list);
    return flush;
}

/* End a flush that is in no list any more */
static void flush_end(flush_t *flush, ucs_status_t status)
{
    uct_completion_t *comp = flush->comp;

    free(flush);
    if (status != UCS_INPROGRESS) {
        uct_predreg_completion_invoke(comp, status);
    }
}

unsigned uct_predreg_flush_retry(uct_predreg_iface_t *iface)
{
    uint64_t end     = iface->tickets;
    unsigned count   = 0;
    unsigned refused = 0;
    ucs_status_t status;
    flush_t *flush;

    while ((refused < MAX_REFUSED) &&
           ((flush = take_first(&iface->ready, end)) != NULL)) {
        status = iface->ops.ep_flush(flush->ep, flush->flags, flush->comp);
        if (status == UCS_ERR_NO_RESOURCE) {
            ++refused;
            flush->ticket = iface->tickets++;
            ucs_list_add_tail(&iface->ready, &flush->entry.list);
        } else {
            ++count;
            flush_end(flush, status);
        }
    }

    return count;
}

static void cancel_later(uct_predreg_iface_t *iface, uct_predreg_entry_t *entry)
{
    ucs_list_del(&entry->list);
    ucs_list_add_tail(&iface->cancelled, &entry->list);
}

/* Cancel the flushes of an endpoint that wait for its transfers */
static void
cancel_waiting(uct_predreg_iface_t *iface, uct_predreg_endpoint_t *endpoint)
{
    uct_predreg_entry_t *entry, *next;

    ucs_list_for_each_safe(entry, next, &endpoint->entries, list) {
        if (entry->is_flush) {
            cancel_later(iface, entry);
        }
    }
}

/* Cancel the flushes of an endpoint, or of all if it is NULL, that are ready */
static void cancel_ready(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    flush_t *flush, *next;

    ucs_list_for_each_safe(flush, next, &iface->ready, entry.list) {
        if ((ep == NULL) || (flush->ep == ep)) {
            cancel_later(iface, &flush->entry);
        }
    }
}

/* Tell UCP of the flushes that were cancelled */
static void tell_cancelled(uct_predreg_iface_t *iface)
{
    flush_t *flush;

    while ((flush = take_first(&iface->cancelled, UINT64_MAX)) != NULL) {
        flush_end(flush, UCS_ERR_CANCELED);
    }
}

void uct_predreg_flush_cancel(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    uct_predreg_endpoint_t *endpoint = uct_predreg_endpoint_find(iface, ep);

    if (endpoint != NULL) {
        cancel_waiting(iface, endpoint);
    }
    cancel_ready(iface, ep);
    tell_cancelled(iface);
}

void uct_predreg_flush_cancel_all(uct_predreg_iface_t *iface)
{
    uct_predreg_endpoint_t *endpoint;

    ucs_list_for_each(endpoint, &iface->all_endpoints, list) {
        cancel_waiting(iface, endpoint);
    }
    cancel_ready(iface, NULL);
    tell_cancelled(iface);
}
