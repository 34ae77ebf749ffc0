/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "grant.h"

#include <stdlib.h>


ucp_fh_grant_t *ucp_fh_grant_find(const ucp_fh_local_t *table, uint32_t peer,
                                  ucp_fh_bucket_t bucket)
{
    ucs_hlist_head_t *head = ucs_rcache_pred_bucket(
            &table->grants, ucp_fh_grant_key(peer, bucket));
    ucp_fh_grant_t *grant;

    ucs_hlist_for_each(grant, head, hash) {
        if ((grant->peer == peer) && (grant->page->bucket == bucket)) {
            return grant;
        }
    }

    return NULL;
}

ucs_status_t ucp_fh_grant_alloc(ucs_list_link_t *list, uint64_t num)
{
    ucp_fh_grant_t *grant;

    ucs_list_head_init(list);
    for (; num > 0; --num) {
        grant = malloc(sizeof(*grant));
        if (grant == NULL) {
            goto err_free_grants;
        }
        ucs_list_add_tail(list, &grant->page_link);
    }
    return UCS_OK;

err_free_grants:
    while (!ucs_list_is_empty(list)) {
        free(ucs_list_extract_head(list, ucp_fh_grant_t, page_link));
    }
    return UCS_ERR_NO_MEMORY;
}

static void insert(ucp_fh_local_t *table, ucp_fh_grant_t *grant)
{
    ucs_rcache_pred_buckets_t *buckets = &table->grants;
    unsigned capacity = ucs_rcache_pred_buckets_capacity(buckets);

    /* Without memory it becomes slower, and nothing else */
    if (table->num_grants >= capacity) {
        free(ucs_rcache_pred_buckets_grow(
                buckets, ucs_rcache_pred_buckets_alloc(capacity), capacity));
    }

    ucs_rcache_pred_buckets_move(buckets);
    ucs_hlist_add_head(ucs_rcache_pred_bucket(
                               buckets, ucp_fh_grant_key(grant->peer,
                                                         grant->page->bucket)),
                       &grant->hash);
    ++table->num_grants;
}

void ucp_fh_grant_add(ucp_fh_local_t *table, ucs_list_link_t *list,
                      uint32_t peer, ucp_fh_page_t *page)
{
    ucp_fh_holder_t *holder = &table->holders[peer];
    ucp_fh_grant_t *grant   = ucs_list_extract_head(list, ucp_fh_grant_t,
                                                    page_link);

    grant->peer = peer;
    grant->page = page;
    ucp_fh_page_grant(table, page);
    ucs_list_add_tail(&page->grants, &grant->page_link);
    ucs_list_add_tail(&holder->grants, &grant->peer_link);
    if (++holder->num_grants == 1) {
        ucs_list_add_tail(&table->holding, &holder->holding);
    }
    insert(table, grant);
}

void ucp_fh_grant_drop(ucp_fh_local_t *table, ucp_fh_grant_t *grant)
{
    ucp_fh_holder_t *holder = &table->holders[grant->peer];
    ucp_fh_page_t *page     = grant->page;

    ucs_hlist_del(ucs_rcache_pred_bucket(&table->grants,
                                         ucp_fh_grant_key(grant->peer,
                                                          page->bucket)),
                  &grant->hash);
    --table->num_grants;
    ucs_list_del(&grant->page_link);
    ucs_list_del(&grant->peer_link);
    if (--holder->num_grants == 0) {
        ucs_list_del(&holder->holding);
    }
    free(grant);
    ucp_fh_page_ungrant(table, page);
}
