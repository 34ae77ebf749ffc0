/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_DOMAIN_H_
#define UCT_PREDREG_DOMAIN_H_

#include <ucs/base/mutex.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <uct/ib/predreg/arena/arena.h>
#include <uct/ib/predreg/compat/rcache.h>
#include <uct/ib/predreg/compat/ucx_api.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/core/types.h>

#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stdatomic.h>

BEGIN_C_DECLS

/** @file domain.h
 *
 * The table of memory domains of UCT that are managed; that have their memory
 * kept, because UCX's cache is switched off for the sake of the managed ones; or,
 * under the leave-pinned policy, that are watched. open.c writes the table, and whoever
 * begins or ends a use reads it. It has room for as many domains as are opened.
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
    ucs_rcache_pred_domain_t *cache; /**< Its domain in the cache; NULL: it is
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
    return (domain->cache == NULL) &&
           (atomic_load_explicit(&domain->kept, memory_order_relaxed) != NULL);
}

/** @return whether this process has got the domain from the one that it was
 *  forked from. Any thread may call this; it takes no lock. */
int uct_predreg_domain_is_inherited(uct_md_h md);

/** Forget that a domain is inherited, since it is closed, or since its handle
 *  now belongs to another one. To be called under core.lock. */
void uct_predreg_domain_disown(uct_md_h md);


/** @return whether the peer's access to the memory is to end with the use. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_is_invalidation(const uct_md_mem_dereg_params_t *params)
{
    return (params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) &&
           (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE);
}

/** Tell a completion that the peer's access has ended. @param [in] comp  Of UCT; NULL:
 *  nobody waits for that. */
void uct_predreg_invalidated(void *comp);


/** Wait until no other thread is in UCX's domain, and enter it. This may wait
 *  for a registration of the helper. A waiting thread of a real-time class
 *  lends its priority to the one that is in the domain. The helper does nothing
 *  in a domain that is not managed, so there nobody is waited for. */
static UCS_F_ALWAYS_INLINE void
uct_predreg_domain_enter(uct_predreg_domain_t *domain)
{
    if (domain->cache != NULL) {
        uct_predreg_enter();
        ucs_mutex_lock(&domain->entered);
    }
}

static UCS_F_ALWAYS_INLINE void
uct_predreg_domain_leave(uct_predreg_domain_t *domain)
{
    if (domain->cache != NULL) {
        ucs_mutex_unlock(&domain->entered);
        uct_predreg_leave();
    }
}


/*
 * Registers memory with a memory domain of UCT, and tells memory of the host
 * from that of devices. The cache registers through a table of operations; the
 * functions that pass a registration on to UCX register directly. One thread
 * at a time is in a domain (domain.h). Any thread may call these functions;
 * they may block in the kernel.
 */

/** The operations by which the cache reads its clock, waits, registers memory,
 *  finds its seat and publishes its counters. Their argument is the state of
 *  the core; that of registrations is the domain. */
extern const ucs_rcache_pred_ops_t uct_predreg_pred_ops;

/** @return whether this is memory of the host. No other memory is managed: see
 *  below. */
int uct_predreg_is_host_memory(const void *address, size_t length);

/** Register memory with the domain exactly as the program asked for it. If the
 *  flags ask for errors to be hidden, nothing is logged of a failure. */
ucs_status_t uct_predreg_pass_mem_reg(uct_predreg_domain_t *domain,
                                      void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p);

/** The same through UCT's second interface, which UCX has from 1.14 on. */
ucs_status_t uct_predreg_pass_mem_reg_v2(uct_predreg_domain_t *domain,
                                         void *address, size_t length,
                                         const uct_md_mem_reg_params_t *params,
                                         uct_mem_h *memh_p);

/**
 * Register any kind of memory with the domain, as above.
 * @return UCS_ERR_NO_MEMORY if there may be no room for it.
 */
ucs_status_t uct_predreg_try_mem_reg(uct_predreg_domain_t *domain,
                                     void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p);

/** Deregister the memory of a handle. The first argument is a domain: a table of
 *  operations may have this function. */
ucs_status_t uct_predreg_dereg_handle(void *domain, uct_mem_h memh);

/** Deregister memory with the domain exactly as the program asked for it. */
ucs_status_t
uct_predreg_pass_mem_dereg(uct_predreg_domain_t *domain,
                           const uct_md_mem_dereg_params_t *params);


/*
 * Memory that stays registered until it is freed, because nothing would be won by
 * deregistering it and its registration is dear. In a managed domain that is
 * memory of devices, such as GPUs, also by its dmabuf; memory that is registered
 * without pinning it; and, where nobody tells it from that of devices
 * (UCX_MEMTYPE_CACHE=n), memory of the host. In some domains that are not managed
 * (@ref uct_predreg_compat_t), such as those of knem and cuda_ipc, it is all. UCX
 * keeps it in a cache that is switched off for the sake of the managed domains;
 * this is a cache of the same kind and settings, one for each domain. The memory
 * counts against no bound of ours.
 *
 * Any thread may call the functions that register; they may block. The domain
 * is opened and closed under core.lock.
 */

/** Make the cache of a domain. @return NULL if it cannot be made, because UCM
 *  does not tell when memory is freed, or there is no memory. */
uct_predreg_kept_t *uct_predreg_kept_create(uct_predreg_domain_t *domain);

/** @return the cache of a domain; NULL: the domain has none. Any thread may call
 *          this, and the next one. */
uct_predreg_kept_t *uct_predreg_kept_of(uct_predreg_domain_t *domain);

/** @return the cache of a domain; that of a managed domain is made by the first call,
 *          under core.lock. NULL: the domain has none, or it could not be made, which is
 *          said once. */
uct_predreg_kept_t *uct_predreg_kept_need(uct_predreg_domain_t *domain);

/** Deregister all memory, and forget the cache; NULL: do nothing. */
void uct_predreg_kept_destroy(uct_predreg_kept_t *kept);

/**
 * Begin a use.
 *
 * @param [in] params  What it asks for besides flags, as a dmabuf, see @ref
 *                     uct_predreg_compat_is_of_device; NULL: nothing. If what the
 *                     cache would register is not all in the dmabuf, as where it is
 *                     one with other memory, exactly what is asked for is registered,
 *                     for this use alone.
 * @return what the registration returned, if it takes one.
 */
ucs_status_t uct_predreg_kept_reg(uct_predreg_kept_t *kept, void *address,
                                  size_t length, unsigned flags,
                                  const uct_md_mem_reg_params_t *params,
                                  uct_mem_h *memh_p);

/** End a use. The memory stays registered, unless the program invalidates it.
 *  @return UCS_ERR_NO_ELEM if the handle is not one of this cache. */
ucs_status_t uct_predreg_kept_dereg(uct_predreg_kept_t *kept,
                                    const uct_md_mem_dereg_params_t *params);


/*
 * Watching: under the leave-pinned policy this library only observes the
 * domains, whose registrations UCX's own cache keeps. It passes all uses on to
 * that cache, and records them if a trace is asked for.
 */

/** Make the clock and the recorder, once in each process, if a trace is asked
 *  for. To be called under core.lock. */
void uct_predreg_watch_open(uct_predreg_core_t *core);

/** Register memory with UCX, and record that a use has begun.
 *  @param [in] kind  The ucs_rcache_pred_use_kind_t that the use would have if
 *                    it were managed */
ucs_status_t uct_predreg_watch_mem_reg(uct_predreg_domain_t *domain,
                                       void *address, size_t length,
                                       unsigned flags, unsigned kind,
                                       uct_mem_h *memh_p);

/** Deregister memory with UCX, and record that a use has ended, if it was a
 *  use. */
ucs_status_t
uct_predreg_watch_mem_dereg(uct_predreg_domain_t *domain,
                            const uct_md_mem_dereg_params_t *params);

/** Record that memory is being unmapped. UCM calls this inside a memory
 *  hook. */
void uct_predreg_watch_unmapped(uct_predreg_core_t *core, uintptr_t start,
                                size_t length);

/** Forget all uses in a forked child: the parent's uses do not end there. */
void uct_predreg_watch_reset(void);

END_C_DECLS

#endif
