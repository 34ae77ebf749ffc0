/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "endpoint.h"

#include <stdlib.h>

KHASH_IMPL(uct_predreg_endpoints, uint64_t, struct uct_predreg_endpoint*, 1,
           kh_int64_hash_func, kh_int64_hash_equal)


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

/* @return whether this endpoint is being destroyed, further up the stack. */
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
