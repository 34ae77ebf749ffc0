/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "callsite.h"

#include <stdlib.h>


ucs_status_t
ucs_rcache_pred_site_table_init(ucs_rcache_pred_site_table_t *table,
                                unsigned num_sites)
{
    unsigned num_buckets = 1;

    while (num_buckets < num_sites) {
        num_buckets *= 2;
    }

    /* calloc rather than malloc: it need not touch the pages of sites that are
     * never used */
    table->sites = calloc(num_sites, sizeof(*table->sites));
    if (table->sites == NULL) {
        goto err;
    }

    table->buckets = calloc(num_buckets, sizeof(*table->buckets));
    if (table->buckets == NULL) {
        goto err_free_sites;
    }

    table->num_sites   = num_sites;
    table->bucket_mask = num_buckets - 1;
    table->hand        = 0;
    return UCS_OK;

err_free_sites:
    free(table->sites);
err:
    return UCS_ERR_NO_MEMORY;
}

void ucs_rcache_pred_site_table_cleanup(ucs_rcache_pred_site_table_t *table)
{
    free(table->buckets);
    free(table->sites);
}

static ucs_hlist_head_t *
site_bucket(ucs_rcache_pred_site_table_t *table, uint64_t signature)
{
    return &table->buckets[signature & table->bucket_mask];
}

static ucs_rcache_pred_site_t *
site_allocate(ucs_rcache_pred_site_table_t *table)
{
    ucs_rcache_pred_site_t *site;

    for (;;) {
        site        = &table->sites[table->hand];
        table->hand = (table->hand + 1) % table->num_sites;
        if (site->signature == 0) {
            return site;
        }

        if (!site->referenced) {
            ucs_rcache_pred_site_remove(table, site);
            return site;
        }

        site->referenced = 0;
    }
}

ucs_rcache_pred_site_t*
ucs_rcache_pred_site_find(ucs_rcache_pred_site_table_t *table,
                          uint64_t signature)
{
    ucs_rcache_pred_site_t *site;

    ucs_hlist_for_each(site, site_bucket(table, signature), hash_link) {
        if (site->signature == signature) {
            return site;
        }
    }

    return NULL;
}

ucs_rcache_pred_site_t*
ucs_rcache_pred_site_get(ucs_rcache_pred_site_table_t *table,
                         uint64_t signature, ucs_list_link_t *region_sites)
{
    ucs_rcache_pred_site_t *site;

    site = ucs_rcache_pred_site_find(table, signature);
    if (site != NULL) {
        site->referenced = 1;
        ucs_list_del(&site->region_link);
        ucs_list_add_head(region_sites, &site->region_link);
        return site;
    }

    site             = site_allocate(table);
    site->signature  = signature;
    site->referenced = 1;
    ucs_rcache_pred_history_init(&site->history);
    ucs_rcache_pred_history_init(&site->next);
    ucs_hlist_add_head(site_bucket(table, signature), &site->hash_link);
    ucs_list_add_head(region_sites, &site->region_link);
    return site;
}

void ucs_rcache_pred_site_remove(ucs_rcache_pred_site_table_t *table,
                                 ucs_rcache_pred_site_t *site)
{
    ucs_hlist_del(site_bucket(table, site->signature), &site->hash_link);
    ucs_list_del(&site->region_link);
    site->signature = 0;
}
