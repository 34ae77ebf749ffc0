/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_DOMAIN_H_
#define UCT_PREDREG_DOMAIN_H_

#include "types.h"

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>
#include <uct/ib/predreg/core/types.h>

#include <stdatomic.h>

/** @file domain.h
 *
 * The table of memory domains of UCT that are managed or, under the
 * leave-pinned policy, watched. The functions that open and close domains
 * (open.h) write it, those that use domains (use.h) read it.
 */

/** How many memory domains the table holds at a time. Further domains are left
 *  alone. */
#define UCT_PREDREG_MAX_DOMAINS 16


struct uct_predreg_domain {
    /** UCT's handle, by which the entry is found; NULL: the entry is free.
     *  Written under core.lock, after the other fields. Read without the lock
     *  and relaxed: a thread gets a memory domain only after it was opened. */
    _Atomic(uct_md_h)        md;
    uct_predreg_core_t       *core;  /**< State of the process that it belongs
                                          to */
    ucs_rcache_pred_domain_t *super; /**< Its domain in the cache; NULL: it is
                                          only watched */
    unsigned                 number; /**< Its number in traces: domains are
                                          numbered from 0 as they are opened */
    /** Whether no pieces handles are given out in this domain, because one of
     *  its interfaces would not understand them. Relaxed: a handle that is
     *  given out while that interface is being opened does no harm, because
     *  nobody can use the interface yet. */
    _Atomic int              whole;
};

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

/** Forget all domains in a forked child: they are the parent's. */
void uct_predreg_domains_reset(void);

#endif
