/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "history.h"
#include "predict.h"

#include <ucs/sys/math.h>

#include <stdlib.h>


/* The finalizer of SplitMix64 (G. Steele et al., OOPSLA'14). Every bit of the
 * input changes every bit of the output, for the price of some multiplications
 * and shifts */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ul;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebul;
    x ^= x >> 31;
    return x;
}

/* A signature of 0 stands for none */
static uint64_t not_zero(uint64_t hash)
{
    return (hash == 0) ? 1 : hash;
}

uint64_t ucs_rcache_pred_signature(const ucs_rcache_pred_context_t *context,
                                   uint64_t region, uintptr_t address,
                                   uint64_t length)
{
    uint64_t hash;

    hash = mix(context->caller);
    hash = mix(hash ^ context->stack);
    hash = mix(hash ^ context->window);
    hash = mix(hash ^ region);
    hash = mix(hash ^ address);
    return not_zero(mix(hash ^ length));
}

uint64_t
ucs_rcache_pred_signature_of_place(const ucs_rcache_pred_context_t *context)
{
    return not_zero(mix(mix(context->caller) ^ context->stack));
}

uint64_t ucs_rcache_pred_signature_with(uint64_t signature, uint64_t number)
{
    return not_zero(mix(signature ^ mix(number)));
}


/* How many sites there may be for each region that is known. A region that is
 * used from one place needs two sites in the end, one for its context and one
 * for the longest phase. The sites of shorter phases are not used again, and
 * are replaced */
#define SITES_EACH 3

/* How many sites are allocated at a time, by calloc, so that the kernel gives no memory to
 * pages whose sites are never used */
#define CHUNK_SITES 4096

struct ucs_rcache_pred_site_chunk {
    ucs_rcache_pred_site_chunk_t *next;
    ucs_rcache_pred_site_t       sites[CHUNK_SITES];
};


/* Make one more site, within the limit, which is free and at the hand. Without memory the
 * table goes on with its present sites. */
static void table_grow(ucs_rcache_pred_site_table_t *table)
{
    unsigned place = table->num_sites % CHUNK_SITES;
    ucs_rcache_pred_site_chunk_t *chunk;

    if (table->num_sites == table->limit) {
        return;
    }

    if (place == 0) {
        chunk = calloc(1, sizeof(*chunk));
        if (chunk == NULL) {
            return;
        }
        chunk->next   = table->chunks;
        table->chunks = chunk;
    }

    ucs_list_add_head(&table->clock, &table->chunks->sites[place].clock_link);
    ++table->num_sites;
}

ucs_status_t
ucs_rcache_pred_site_table_init(ucs_rcache_pred_site_table_t *table,
                                unsigned max_sites)
{
    unsigned num_buckets = 1;

    while (num_buckets < max_sites) {
        num_buckets *= 2;
    }

    table->buckets = calloc(num_buckets, sizeof(*table->buckets));
    if (table->buckets == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    table->max_sites      = max_sites;
    table->limit          = ucs_min(max_sites, UCS_RCACHE_PRED_FIRST_SITES);
    table->num_sites      = 0;
    table->bucket_mask    = num_buckets - 1;
    table->num_companions = 0;
    table->chunks         = NULL;
    ucs_list_head_init(&table->clock);
    table_grow(table);
    if (table->num_sites == 0) {
        free(table->buckets);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

void ucs_rcache_pred_site_table_cleanup(ucs_rcache_pred_site_table_t *table)
{
    ucs_rcache_pred_site_chunk_t *chunk;
    ucs_rcache_pred_site_t *site;

    ucs_list_for_each(site, &table->clock, clock_link) {
        free(site->companions);
    }
    while ((chunk = table->chunks) != NULL) {
        table->chunks = chunk->next;
        free(chunk);
    }
    free(table->buckets);
}

void ucs_rcache_pred_site_table_expect(ucs_rcache_pred_site_table_t *table,
                                       unsigned regions)
{
    uint64_t sites = (uint64_t)SITES_EACH * regions;

    table->limit = ucs_min(table->max_sites, ucs_max(table->limit, sites));
}

static ucs_hlist_head_t *
site_bucket(ucs_rcache_pred_site_table_t *table, uint64_t signature)
{
    return &table->buckets[signature & table->bucket_mask];
}

/* @return a site that is free: the one at the hand, if it is; or a new one; or, once there
 * are as many as may be, the first one that was not used since the hand passed it last */
static ucs_rcache_pred_site_t *
site_allocate(ucs_rcache_pred_site_table_t *table)
{
    ucs_rcache_pred_site_t *site;
    int is_used;

    site = ucs_list_head(&table->clock, ucs_rcache_pred_site_t, clock_link);
    if (site->signature != 0) {
        table_grow(table);
    }

    do {
        site = ucs_list_head(&table->clock, ucs_rcache_pred_site_t, clock_link);
        ucs_list_del(&site->clock_link);
        ucs_list_add_tail(&table->clock, &site->clock_link);
        is_used          = (site->signature != 0) && site->referenced;
        site->referenced = 0;
    } while (is_used);

    if (site->signature != 0) {
        ucs_rcache_pred_site_remove(table, site);
    }
    return site;
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
    ucs_list_head_init(&site->followers);
    site->uses  = 0;
    site->ended = 0;
    site->late  = 0;
    ucs_hlist_add_head(site_bucket(table, signature), &site->hash_link);
    ucs_list_add_head(region_sites, &site->region_link);
    return site;
}

void ucs_rcache_pred_site_remove(ucs_rcache_pred_site_table_t *table,
                                 ucs_rcache_pred_site_t *site)
{
    ucs_hlist_del(site_bucket(table, site->signature), &site->hash_link);
    ucs_list_del(&site->region_link);
    while (!ucs_list_is_empty(&site->followers)) {
        ucs_rcache_pred_link_leave(site->followers.next);
    }
    ucs_rcache_pred_site_free_companions(table, site);
    site->signature = 0;
}

void ucs_rcache_pred_site_free_companions(ucs_rcache_pred_site_table_t *table,
                                          ucs_rcache_pred_site_t *site)
{
    if (site->companions != NULL) {
        free(site->companions);
        site->companions = NULL;
        --table->num_companions;
    }
}
