/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface_int.h"

#include <ucs/base/relaxed.h>

#include <ucs/datastruct/callbackq.h>

#include <stdatomic.h>
#include <stdlib.h>

KHASH_IMPL(uct_predreg_endpoints, uint64_t, struct uct_predreg_endpoint*, 1,
           kh_int64_hash_func, kh_int64_hash_equal)

/* After so many refusals by the send queue no further flush is tried in a call of
 * progress */
#define MAX_REFUSED 4

typedef struct flush {
    uct_predreg_entry_t entry;  /* First */
    uct_ep_h            ep;
    unsigned            flags;
    uint64_t            ticket; /* Taken when the flush started or was last tried */
    uct_completion_t    *comp;  /* UCP's completion */
} flush_t;


/* Number of interfaces of this process on which something waits, so that the worker's
 * progress calls retry_func. Relaxed: a thread that asks whether it may sleep has to see
 * only the work that it has started itself. */
static _Atomic(unsigned) num_retrying;


unsigned uct_predreg_forks;


/* Add @a count to num_retrying, 1 or -1u, unless the interface is inherited: a forked
 * child never waits for interfaces of its parent */
static void count_retrying(const uct_predreg_iface_t *iface, unsigned count)
{
    if (!uct_predreg_is_inherited(iface)) {
        ucs_relaxed_add(&num_retrying, count);
    }
}

void uct_predreg_retry_start(uct_predreg_iface_t *iface)
{
    if (iface->retry_id == UCS_CALLBACKQ_ID_NULL) {
        iface->env.progress_register(iface->worker, iface->retry_func, iface, 0,
                                     &iface->retry_id);
        count_retrying(iface, 1);
    }
}

void uct_predreg_retry_stop(uct_predreg_iface_t *iface)
{
    if (iface->retry_id != UCS_CALLBACKQ_ID_NULL) {
        iface->env.progress_unregister(iface->worker, &iface->retry_id);
        count_retrying(iface, -1u);
    }
}

int uct_predreg_may_sleep(void)
{
    return ucs_relaxed_load(&num_retrying) == 0;
}

void uct_predreg_endpoints_forked(void)
{
    ++uct_predreg_forks;
    ucs_relaxed_store(&num_retrying, 0);
}


void uct_predreg_endpoints_init(uct_predreg_iface_t *iface)
{
    kh_init_inplace(uct_predreg_endpoints, &iface->endpoints);
    ucs_list_head_init(&iface->all_endpoints);
}

void uct_predreg_endpoints_cleanup(uct_predreg_iface_t *iface)
{
    kh_destroy_inplace(uct_predreg_endpoints, &iface->endpoints);
}

uct_predreg_endpoint_t *
uct_predreg_endpoint_find(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    khiter_t iter = kh_get(uct_predreg_endpoints, &iface->endpoints,
                           (uintptr_t)ep);

    return (iter == kh_end(&iface->endpoints)) ?
           NULL : kh_value(&iface->endpoints, iter);
}

/* @return whether a caller of the present function is destroying an endpoint. */
static int is_dying(const uct_predreg_iface_t *iface, uct_ep_h ep)
{
    const uct_predreg_watch_t *watch;

    for (watch = iface->watches; watch != NULL; watch = watch->outer) {
        if (watch->dying && (watch->ep == ep)) {
            return 1;
        }
    }

    return 0;
}

static uct_predreg_endpoint_t *
endpoint_new(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    uct_predreg_endpoint_t *endpoint;
    khiter_t iter;
    int ret;

    endpoint = malloc(sizeof(*endpoint));
    if (endpoint == NULL) {
        return NULL;
    }

    iter = kh_put(uct_predreg_endpoints, &iface->endpoints, (uintptr_t)ep,
                  &ret);
    if (ret == UCS_KH_PUT_FAILED) {
        free(endpoint);
        return NULL;
    }

    kh_value(&iface->endpoints, iter) = endpoint;
    endpoint->ep                      = ep;
    ucs_list_head_init(&endpoint->entries);
    ucs_list_add_tail(&iface->all_endpoints, &endpoint->list);
    return endpoint;
}

ucs_status_t uct_predreg_endpoint_add(uct_predreg_iface_t *iface, uct_ep_h ep,
                                      uct_predreg_entry_t *entry)
{
    uct_predreg_endpoint_t *endpoint = uct_predreg_endpoint_find(iface, ep);

    if (iface->closing || is_dying(iface, ep)) {
        return UCS_ERR_CANCELED;
    }

    if (endpoint == NULL) {
        endpoint = endpoint_new(iface, ep);
    }

    if (endpoint == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    entry->endpoint = endpoint;
    ucs_list_add_tail(&endpoint->entries, &entry->list);
    return UCS_OK;
}

void uct_predreg_endpoint_remove(uct_predreg_iface_t *iface,
                                 uct_predreg_entry_t *entry)
{
    uct_predreg_endpoint_t *endpoint = entry->endpoint;

    ucs_list_del(&entry->list);
    while (!ucs_list_is_empty(&endpoint->entries)) {
        entry = ucs_list_head(&endpoint->entries, uct_predreg_entry_t, list);
        if (!entry->is_flush) {
            return;
        }

        ucs_list_del(&entry->list);
        ucs_list_add_tail(&iface->ready, &entry->list);
        uct_predreg_retry_start(iface);
    }

    uct_predreg_endpoint_forget(iface, endpoint->ep);
    ucs_list_del(&endpoint->list);
    free(endpoint);
}

void uct_predreg_endpoint_forget(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    khiter_t iter = kh_get(uct_predreg_endpoints, &iface->endpoints,
                           (uintptr_t)ep);

    if (iter != kh_end(&iface->endpoints)) {
        kh_value(&iface->endpoints, iter)->ep = NULL;
        kh_del(uct_predreg_endpoints, &iface->endpoints, iter);
    }
}

void uct_predreg_watch_begin(uct_predreg_iface_t *iface, uct_ep_h ep, int dying,
                             uct_predreg_watch_t *watch)
{
    uct_predreg_watch_t *other;

    for (other = iface->watches; dying && (other != NULL);
         other = other->outer) {
        other->gone |= (other->ep == ep);
    }

    watch->ep      = ep;
    watch->dying   = dying;
    watch->gone    = 0;
    watch->outer   = iface->watches;
    iface->watches = watch;
}

int uct_predreg_watch_end(uct_predreg_iface_t *iface,
                          uct_predreg_watch_t *watch)
{
    iface->watches = watch->outer;
    return watch->gone;
}


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

/* Take the first flush out of a list, if its ticket is lower than @a end. @return NULL if
 * the list is empty, or the ticket is not lower */
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

/* Cancel the waiting flushes of an endpoint */
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

/* Cancel the ready flushes of an endpoint; NULL: of all endpoints */
static void cancel_ready(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    flush_t *flush, *next;

    ucs_list_for_each_safe(flush, next, &iface->ready, entry.list) {
        if ((ep == NULL) || (flush->ep == ep)) {
            cancel_later(iface, &flush->entry);
        }
    }
}

/* Tell UCP of the cancelled flushes */
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
