/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_DOMAIN_H_
#define UCT_PREDREG_DOMAIN_H_

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stdatomic.h>

/** @file domain.h
 *
 * The table of memory domains of UCT that are managed or, under the
 * leave-pinned policy, watched. Uses nothing else of the core. What opens and
 * closes domains (open.h) writes it, what uses them (use.h) reads it.
 */

/** Memory domains in the table at a time; more are left alone. */
#define UCT_PREDREG_MAX_DOMAINS 16


typedef struct uct_predreg_domain {
    /** Key; NULL: this entry is free. Written under core.lock, after the rest.
     *  Read without it and relaxed: a thread that uses a memory domain has been
     *  handed it after it was opened. */
    _Atomic(uct_md_h)        md;
    ucs_rcache_pred_domain_t *super; /**< NULL: watched only */
    unsigned                 number; /**< In events: in the order in which they
                                          were opened, from 0 */
    /** No handles of pieces are given out: an interface of the domain would not
     *  understand them. Relaxed: a handle that is given out while an interface
     *  is being opened was given out before that interface can be handed it. */
    _Atomic int              whole;
} uct_predreg_domain_t;

extern uct_predreg_domain_t uct_predreg_domains[UCT_PREDREG_MAX_DOMAINS];


/**
 * Find the entry of a domain. Any thread.
 *
 * @param [in] md  NULL finds a free entry, under core.lock.
 * @return NULL if there is none: the domain is neither managed nor watched.
 */
static UCS_F_ALWAYS_INLINE uct_predreg_domain_t *
uct_predreg_domain_find(uct_md_h md)
{
    uct_predreg_domain_t *domain;

    for (domain = uct_predreg_domains;
         domain < uct_predreg_domains + UCT_PREDREG_MAX_DOMAINS; ++domain) {
        if (atomic_load_explicit(&domain->md, memory_order_relaxed) == md) {
            return domain;
        }
    }

    return NULL;
}

/** In a forked child: the domains are the parent's. */
void uct_predreg_domains_reset(void);

#endif
