/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "domain.h"

#include <ucs/base/wait.h>

#include <stdlib.h>


uct_predreg_domains_t uct_predreg_domains;


/* The place of a domain in the keys of its part */
static _Atomic(uct_md_h) *key_of(const uct_predreg_domain_t *domain)
{
    uct_predreg_domains_t *part;

    for (part = &uct_predreg_domains;
         (domain < part->domains) ||
         (domain >= part->domains + UCT_PREDREG_DOMAINS_PART);
         part = atomic_load_explicit(&part->next, memory_order_relaxed)) {
    }

    return &part->keys[domain - part->domains];
}

/* Add a part to the table. Its keys are all NULL. */
static uct_predreg_domain_t *add_part(void)
{
    uct_predreg_domains_t *last = &uct_predreg_domains;
    uct_predreg_domains_t *part = calloc(1, sizeof(*part));
    uct_predreg_domains_t *next;

    if (part == NULL) {
        return NULL;
    }

    /* Relaxed: only threads that hold core.lock write this */
    while ((next = atomic_load_explicit(&last->next, memory_order_relaxed)) !=
           NULL) {
        last = next;
    }
    atomic_store_explicit(&last->next, part, memory_order_release);
    return part->domains;
}

uct_predreg_domain_t *uct_predreg_domain_new(uct_predreg_core_t *core,
                                             uct_md_h md)
{
    /* NULL is the key of a free place */
    uct_predreg_domain_t *domain = uct_predreg_domain_find(NULL);

    uct_predreg_domain_disown(md);
    if (domain == NULL) {
        domain = add_part();
    }

    if (domain != NULL) {
        domain->md      = md;
        domain->core    = core;
        domain->super   = NULL;
        domain->arena   = NULL;
        uct_predreg_settings_init(&domain->settings);
        atomic_store_explicit(&domain->kept, NULL, memory_order_relaxed);
        atomic_store_explicit(&domain->is_kept_refused, 0,
                              memory_order_relaxed);
        atomic_store_explicit(&domain->whole, 0, memory_order_relaxed);
        ucs_mutex_init(&domain->entered, UCS_RANK_DOMAIN, UCS_MUTEX_LENDS | UCS_MUTEX_RECURSIVE);
    }
    return domain;
}

void uct_predreg_domain_add(uct_predreg_domain_t *domain)
{
    /* Relaxed: see uct_predreg_domains_t */
    atomic_store_explicit(key_of(domain), domain->md, memory_order_relaxed);
}

void uct_predreg_domain_remove(uct_predreg_domain_t *domain)
{
    /* Relaxed: see uct_predreg_domains_t */
    atomic_store_explicit(key_of(domain), NULL, memory_order_relaxed);
}

void uct_predreg_domains_for_each(void (*func)(uct_predreg_domain_t *domain, void *arg),
                                  void *arg)
{
    uct_predreg_domains_t *part;
    unsigned i;

    for (part = &uct_predreg_domains; part != NULL;
         part = atomic_load_explicit(&part->next, memory_order_acquire)) {
        for (i = 0; i < UCT_PREDREG_DOMAINS_PART; ++i) {
            if (atomic_load_explicit(&part->keys[i], memory_order_relaxed) != NULL) {
                func(&part->domains[i], arg);
            }
        }
    }
}

void uct_predreg_domains_reset(void)
{
    uct_predreg_domains_t *part;
    uct_md_h md;
    unsigned i;

    for (part = &uct_predreg_domains; part != NULL;
         part = atomic_load_explicit(&part->next, memory_order_relaxed)) {
        for (i = 0; i < UCT_PREDREG_DOMAINS_PART; ++i) {
            md = atomic_load_explicit(&part->keys[i], memory_order_relaxed);
            if (md != NULL) {
                /* A domain that the parent had inherited is forgotten here */
                atomic_store_explicit(&part->inherited[i], md,
                                      memory_order_relaxed);
                atomic_store_explicit(&part->keys[i], NULL,
                                      memory_order_relaxed);
            }
        }
    }
}

/* Find where a domain is noted as inherited. @return NULL if it is not. */
static _Atomic(uct_md_h) *find_inherited(uct_md_h md)
{
    uct_predreg_domains_t *part;
    unsigned i;

    for (part = &uct_predreg_domains; part != NULL;
         part = atomic_load_explicit(&part->next, memory_order_acquire)) {
        for (i = 0; i < UCT_PREDREG_DOMAINS_PART; ++i) {
            if (atomic_load_explicit(&part->inherited[i],
                                     memory_order_relaxed) == md) {
                return &part->inherited[i];
            }
        }
    }

    return NULL;
}

int uct_predreg_domain_is_inherited(uct_md_h md)
{
    return find_inherited(md) != NULL;
}

void uct_predreg_domain_disown(uct_md_h md)
{
    _Atomic(uct_md_h) *place = find_inherited(md);

    if (place != NULL) {
        atomic_store_explicit(place, NULL, memory_order_relaxed);
    }
}
