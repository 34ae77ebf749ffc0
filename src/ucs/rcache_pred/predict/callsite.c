/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "history.h"
#include "predict.h"

#include <ucs/base/align.h>

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

uint64_t ucs_rcache_pred_signature_of_way(uint64_t place, uint64_t length)
{
    return not_zero(mix(place ^ mix(length)));
}

uint64_t ucs_rcache_pred_signature_in_phase(uint64_t signature, unsigned phase)
{
    return not_zero(mix(signature ^ mix(phase + 1)));
}


/* How many sites are allocated at a time. Sites never move, since lists link
 * them */
#define CHUNK_SITES 4096

/* How many sites there may be for each region that is known. A region that is
 * used from one place needs two sites in the end, one for its context and one
 * for the longest phase. The sites of shorter phases are not used again, and
 * are replaced */
#define SITES_EACH 3


/* Make room for more sites, within the limit. Without memory the table goes on with its
 * present sites. */
static void table_grow(ucs_rcache_pred_site_table_t *table)
{
    ucs_rcache_pred_site_t *chunk;

    if (table->num_sites == table->limit) {
        return;
    }

    if (table->num_sites % CHUNK_SITES == 0) {
        chunk = calloc(CHUNK_SITES, sizeof(*chunk));
        if (chunk == NULL) {
            return;
        }
        table->chunks[table->num_sites / CHUNK_SITES] = chunk;
    }

    table->hand      = table->num_sites;
    table->num_sites = ucs_min(
            table->limit,
            ucs_round_down(table->num_sites, CHUNK_SITES) +
            CHUNK_SITES);
}

ucs_status_t
ucs_rcache_pred_site_table_init(ucs_rcache_pred_site_table_t *table,
                                unsigned max_sites)
{
    unsigned num_buckets = 1;

    while (num_buckets < max_sites) {
        num_buckets *= 2;
    }

    /* calloc rather than malloc: calloc need not touch pages that are never used */
    table->chunks = calloc(ucs_div_round_up(max_sites, CHUNK_SITES),
                           sizeof(*table->chunks));
    if (table->chunks == NULL) {
        goto err;
    }

    table->buckets = calloc(num_buckets, sizeof(*table->buckets));
    if (table->buckets == NULL) {
        goto err_free_chunks;
    }

    table->max_sites   = max_sites;
    table->limit       = ucs_min(max_sites, UCS_RCACHE_PRED_FIRST_SITES);
    table->num_sites   = 0;
    table->bucket_mask = num_buckets - 1;
    table->hand        = 0;
    table->num_companions = 0;
    table_grow(table);
    if (table->num_sites == 0) {
        goto err_free_buckets;
    }

    return UCS_OK;

err_free_buckets:
    free(table->buckets);
err_free_chunks:
    free(table->chunks);
err:
    return UCS_ERR_NO_MEMORY;
}

void ucs_rcache_pred_site_table_cleanup(ucs_rcache_pred_site_table_t *table)
{
    unsigned i;

    for (i = 0; i < table->num_sites; ++i) {
        free(table->chunks[i / CHUNK_SITES][i % CHUNK_SITES].companions);
    }
    for (i = 0; i * CHUNK_SITES < table->num_sites; ++i) {
        free(table->chunks[i]);
    }
    free(table->buckets);
    free(table->chunks);
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

static ucs_rcache_pred_site_t *
site_allocate(ucs_rcache_pred_site_table_t *table)
{
    ucs_rcache_pred_site_t *site;

    for (;;) {
        if (table->hand == table->num_sites) {
            table->hand = 0;
            table_grow(table);
        }

        site = &table->chunks[table->hand / CHUNK_SITES]
                             [table->hand % CHUNK_SITES];
        ++table->hand;
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
    ucs_list_head_init(&site->followers);
    site->uses = 0;
    site->late = 0;
    ucs_hlist_add_head(site_bucket(table, signature), &site->hash_link);
    ucs_list_add_head(region_sites, &site->region_link);
    ucs_list_head_init(&site->recur_link);
    return site;
}

void ucs_rcache_pred_site_remove(ucs_rcache_pred_site_table_t *table,
                                 ucs_rcache_pred_site_t *site)
{
    ucs_hlist_del(site_bucket(table, site->signature), &site->hash_link);
    ucs_list_del(&site->region_link);
    ucs_list_del(&site->recur_link);
    while (!ucs_list_is_empty(&site->followers)) {
        ucs_rcache_pred_forecast_leave(
                ucs_container_of(site->followers.next,
                                 ucs_rcache_pred_forecast_t, followers));
    }
    ucs_rcache_pred_site_free_companions(table, site);
    site->signature = 0;
}

void ucs_rcache_pred_site_add_companions(ucs_rcache_pred_site_table_t *table,
                                         ucs_rcache_pred_site_t *site)
{
    if ((site->companions == NULL) &&
        (table->num_companions < UCS_RCACHE_PRED_COMPANIONS_MAX)) {
        site->companions       = calloc(1, sizeof(*site->companions));
        table->num_companions += (site->companions != NULL);
    }
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
