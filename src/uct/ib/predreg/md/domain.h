/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_DOMAIN_H_
#define UCT_PREDREG_DOMAIN_H_

#include "types.h"

#include <ucs/base/mutex.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>
#include <uct/ib/predreg/arena/arena.h>
#include <uct/ib/predreg/compat/settings.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/core/types.h>

#include <stdatomic.h>

/** @file domain.h
 *
 * The table of memory domains of UCT that are managed; that have their memory
 * kept, because UCX's cache is switched off for the sake of the managed ones; or,
 * under the leave-pinned policy, that are watched. The functions that open and
 * close domains (open.h) write it, those that use domains (use.h) read it. It
 * has room for as many domains as are opened.
 *
 * UCX's domains are not thread safe: docs/design/domains.md lists what their
 * functions change without a lock. UCP has one thread at a time in a domain,
 * but the helper is another one. So whatever enters a managed domain goes
 * through @ref uct_predreg_domain_enter.
 */

/** How many domains a part of the table holds. Few processes have more. */
#define UCT_PREDREG_DOMAINS_PART 16


struct uct_predreg_domain {
    /* These eight fields are constant while the domain is in the table */
    uct_md_h                 md;     /**< UCT's handle */
    uct_predreg_core_t       *core;  /**< State of the process that it belongs
                                          to */
    char                     name[64]; /**< Its name; a longer one is cut off */
    ucs_rcache_pred_domain_t *super; /**< Its domain in the cache; NULL: it is
                                          only watched, or all memory is kept */
    uct_predreg_arena_t      *arena; /**< The arena whose slabs are registered in
                                          it; NULL: there is none */
    unsigned                 arena_number; /**< Its number there */
    unsigned                 number; /**< Its number in traces: domains are
                                          numbered from 0 as they are opened */
    uct_predreg_settings_t   settings; /**< What is set of the cache of UCX that
                                            is switched off for it */
    /** Its memory that stays registered; NULL: there is none. Of a managed domain
     *  it is made when the first such memory is registered, under core.lock, with
     *  release. */
    _Atomic(uct_predreg_kept_t*) kept;
    /** Whether that could not be made, which is not tried again. Under core.lock;
     *  relaxed. */
    _Atomic(int)              is_kept_refused;
    /** Whether no pieces handles are given out in this domain, because one of
     *  its interfaces would not understand them. Relaxed: a handle that is
     *  given out while that interface is being opened does no harm, because
     *  nobody can use the interface yet. */
    _Atomic(int)              whole;

    /** Held by the thread that is in UCX's domain. What else may be held then, and
     *  which locks are taken meanwhile, as by hooks of memory that UCX frees there:
     *  docs/design/locks.md. The thread may come again: UCX calls some of its
     *  functions by others, and callbacks from within a deregistration. */
    ucs_mutex_t              entered;
};


/** A part of the table. Parts are added, and never removed. */
typedef struct uct_predreg_domains {
    /** UCT's handles of the domains; NULL where a place is free. Written under
     *  core.lock, after the domain. Relaxed: a thread gets a memory domain only
     *  after it was opened, from somebody who made sure that the thread also
     *  sees what was written before. */
    _Atomic(uct_md_h)                    keys[UCT_PREDREG_DOMAINS_PART];
    uct_predreg_domain_t                 domains[UCT_PREDREG_DOMAINS_PART];
    /** UCT's handles of the domains that were in these places when this process
     *  was forked, until they are closed; NULL: there is none. Relaxed, and
     *  written, as keys. */
    _Atomic(uct_md_h)                    inherited[UCT_PREDREG_DOMAINS_PART];
    /** Written once, under core.lock, with release: who sees a part sees it
     *  initialised. */
    _Atomic(struct uct_predreg_domains*) next;
} uct_predreg_domains_t;

/** The first part of the table. Only the functions below may use it. */
extern uct_predreg_domains_t uct_predreg_domains;


/** @return the domain in the table, or NULL if there is none: it is neither
 *  managed nor watched. Any thread may call this; it takes no lock. */
static UCS_F_ALWAYS_INLINE uct_predreg_domain_t *
uct_predreg_domain_find(uct_md_h md)
{
    uct_predreg_domains_t *part = &uct_predreg_domains;
    unsigned i;

    do {
        for (i = 0; i < UCT_PREDREG_DOMAINS_PART; ++i) {
            if (atomic_load_explicit(&part->keys[i], memory_order_relaxed) ==
                md) {
                return &part->domains[i];
            }
        }
        part = atomic_load_explicit(&part->next, memory_order_acquire);
    } while (part != NULL);

    return NULL;
}

/** Find a free place for a domain that was opened. To be called under
 *  core.lock, as the next two functions.
 *  @return the place, for the caller to fill in; NULL if there is no memory. */
uct_predreg_domain_t *uct_predreg_domain_new(uct_predreg_core_t *core,
                                             uct_md_h md);

/** Enter a domain into the table, once its fields are filled in. */
void uct_predreg_domain_add(uct_predreg_domain_t *domain);

/** Take a domain out of the table. */
void uct_predreg_domain_remove(uct_predreg_domain_t *domain);

/** Call a function for each domain of the table, while none is opened or closed. */
void uct_predreg_domains_for_each(void (*func)(uct_predreg_domain_t *domain, void *arg),
                                  void *arg);

/** Take all domains out of the table in a forked child: they are the parent's.
 *  There is no other thread. Neither allocates nor frees memory. */
void uct_predreg_domains_reset(void);

/** @return whether all memory of a domain stays registered: the domain is neither
 *  managed nor watched. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_domain_keeps_all(const uct_predreg_domain_t *domain)
{
    /* Relaxed: where the first is true, it was made before the domain was entered
     * into the table */
    return (domain->super == NULL) &&
           (atomic_load_explicit(&domain->kept, memory_order_relaxed) != NULL);
}

/** @return whether this process has got the domain from the one that it was
 *  forked from. Any thread may call this; it takes no lock. */
int uct_predreg_domain_is_inherited(uct_md_h md);

/** Forget that a domain is inherited, since it is closed, or since its handle
 *  now belongs to another one. To be called under core.lock. */
void uct_predreg_domain_disown(uct_md_h md);


/** Wait until no other thread is in UCX's domain, and enter it. This may wait
 *  for a registration of the helper. A waiting thread of a real-time class
 *  lends its priority to the one that is in the domain. The helper does nothing
 *  in a domain that is not managed, so there nobody is waited for. */
static UCS_F_ALWAYS_INLINE void
uct_predreg_domain_enter(uct_predreg_domain_t *domain)
{
    if (domain->super != NULL) {
        uct_predreg_enter();
        ucs_mutex_lock(&domain->entered);
    }
}

static UCS_F_ALWAYS_INLINE void
uct_predreg_domain_leave(uct_predreg_domain_t *domain)
{
    if (domain->super != NULL) {
        ucs_mutex_unlock(&domain->entered);
        uct_predreg_leave();
    }
}

#endif
