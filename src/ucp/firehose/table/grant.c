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
        if ((grant->peer == peer) && (grant->reg->bucket == bucket)) {
            return grant;
        }
    }

    return NULL;
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
                                                         grant->reg->bucket)),
                       &grant->hash);
    ++table->num_grants;
}

ucs_status_t
ucp_fh_grant_add(ucp_fh_local_t *table, uint32_t peer, ucp_fh_reg_t *reg)
{
    ucp_fh_holder_t *holder = &table->holders[peer];
    ucp_fh_grant_t *grant   = malloc(sizeof(*grant));

    if (grant == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    grant->peer = peer;
    grant->reg  = reg;
    ucp_fh_reg_grant(table, reg);
    ucs_list_add_tail(&reg->grants, &grant->reg_link);
    ucs_list_add_tail(&holder->grants, &grant->peer_link);
    if (++holder->num_grants == 1) {
        ucs_list_add_tail(&table->holding, &holder->holding);
    }
    insert(table, grant);
    return UCS_OK;
}

void ucp_fh_grant_drop(ucp_fh_local_t *table, ucp_fh_grant_t *grant)
{
    ucp_fh_holder_t *holder = &table->holders[grant->peer];
    ucp_fh_reg_t *reg       = grant->reg;

    ucs_hlist_del(ucs_rcache_pred_bucket(&table->grants,
                                         ucp_fh_grant_key(grant->peer,
                                                          reg->bucket)),
                  &grant->hash);
    --table->num_grants;
    ucs_list_del(&grant->reg_link);
    ucs_list_del(&grant->peer_link);
    if (--holder->num_grants == 0) {
        ucs_list_del(&holder->holding);
    }
    free(grant);
    ucp_fh_reg_ungrant(table, reg);
}
