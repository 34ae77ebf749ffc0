/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_DOMAIN_H_
#define UCT_PREDREG_DOMAIN_H_

#include <ucs/base/map.h>
#include <ucs/base/mutex.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
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
 * The table of UCT's memory domains. A domain is managed; or all its memory is kept,
 * because UCX's cache is off for the sake of managed domains; or the domain is watched,
 * under the leave-pinned policy. open.c writes the table, the begin and the end of a use
 * read the table. The table has room for any number of domains.
 *
 * UCX's domains are not thread safe: docs/design/domains.md lists the unlocked state of
 * their functions. UCP has one thread at a time in a domain, but the helper is another
 * thread. So all calls into a managed domain go through @ref
 * uct_predreg_domain_enter.
 */

/** The owner of a handle that the cache does not know. The owner embeds this structure in its
 *  note of the handle. */
typedef struct uct_predreg_owner {
    /** A use of the handle ends. @return the status for UCP. */
    ucs_status_t (*end)(struct uct_predreg_owner *owner, uct_predreg_domain_t *domain,
                        const uct_md_mem_dereg_params_t *params);
} uct_predreg_owner_t;

/** Begins and ends uses of memory that an add-on keeps registered, such as the arena's:
 *  these uses need no cache. The add-on sets the answerer of a domain when the domain is
 *  opened, and the answerer is asked before the cache. */
typedef struct uct_predreg_answerer {
    /** Begin a use of the answerer's memory.
     *  @param [in] kind  ucs_rcache_pred_use_kind_t.
     *  @return 0: the memory is not the answerer's, and the cache is to begin the use;
     *          else the use has begun, and end() ends it. */
    int (*begin)(uct_predreg_domain_t *domain, const void *address, size_t length,
                 unsigned flags, unsigned kind, uct_mem_h *memh_p);

    /** End a use, if begin() has begun it. @return 0: it has not, and the cache is to end
     *  the use. */
    int (*end)(uct_predreg_domain_t *domain, const uct_md_mem_dereg_params_t *params);
} uct_predreg_answerer_t;


struct uct_predreg_domain {
    /** UCT's handle; NULL: the domain is closed, and its place is free. Written under
     *  core.lock, after the other fields. Relaxed: a thread uses a memory domain only
     *  after its opening, and whoever gave it the domain made sure that it sees the
     *  writes of the opening. */
    _Atomic(uct_md_h)        key;
    /** The next place, or NULL. Written once, under core.lock, with release: a reader of
     *  the pointer sees the place initialised. */
    _Atomic(uct_predreg_domain_t*) next;
    /** In a forked child: UCT's handle of the parent's domain in this place at the fork,
     *  until the child closes that domain, or opens one with the same handle; NULL: none.
     *  Relaxed, and written under core.lock. */
    _Atomic(uct_md_h)        inherited;

    /* These ten fields are constant while the domain is in the table, but that a forked child
     * clears node */
    uct_md_h                 md;     /**< UCT's handle */
    uct_predreg_core_t       *core;  /**< State of the process */
    char                     name[64]; /**< Its name; a longer one is cut off */
    ucs_rcache_pred_domain_t *cache; /**< Its domain in the cache; NULL: the domain is
                                          only watched, or all memory is kept */
    ucs_rcache_pred_node_t   *node;  /**< Where its keys are counted; NULL: nowhere, as
                                          in a forked child */
    unsigned                 device; /**< Number of its device there */
    const uct_predreg_answerer_t *answerer; /**< NULL: none */
    unsigned                 answerer_number; /**< The domain's number at the answerer */
    unsigned                 number; /**< Its number in traces: numbers count from 0 in
                                          the order of opening */
    uct_predreg_settings_t   settings; /**< The settings of UCX's cache, which is off for
                                            the domain */
    /** The cache of the domain's memory that stays registered (kept.c); NULL: none. In a
     *  managed domain the first use of such memory makes the cache, under core.lock, and
     *  writes the pointer with release. */
    _Atomic(uct_predreg_kept_t*) kept;
    /** Whether making the cache of kept memory has failed, once and for all. Under
     *  core.lock; relaxed. */
    _Atomic(int)              is_kept_refused;
    /** Whether the domain gives out no pieces handles, because one of its interfaces
     *  would not understand a pieces handle. Relaxed: a handle given out during the
     *  opening of the interface does no harm, because nobody can use the interface
     *  yet. */
    _Atomic(int)              whole;

    /** Folder of the process's control group of version 2; NULL: none, or no memory.
     *  Constant while the domain is in the table */
    char                      *group;
    /** When the kernel is to be asked again why the device refuses memory, CLOCK_MONOTONIC,
     *  ns; and its last answer, ucs_rcache_pred_lack_kind_t. Written by refused.c.
     *  Relaxed: both are advice */
    _Atomic(uint64_t)         ask_time;
    _Atomic(unsigned)         lack;

    /** The owners of handles that the cache does not know. Any thread. */
    ucs_map_t                owners;

    /** Held by the thread in UCX's domain. docs/design/locks.md tells which locks may be
     *  held when this mutex is taken, and which may be taken while it is held: memory
     *  hooks take some when UCX frees memory. The thread may enter again, since some
     *  functions of UCX call others, and a deregistration calls callbacks. */
    ucs_mutex_t              entered;
};


/** The first place of the table, or NULL. Written as uct_predreg_domain_t::next. Only the
 *  functions below may use it. */
extern _Atomic(uct_predreg_domain_t*) uct_predreg_domains;


/** @return the domain of the table with UCT's handle; NULL: the table has no such domain,
 *  and the library has nothing to do with it. Any thread; no lock. */
static UCS_F_ALWAYS_INLINE uct_predreg_domain_t *
uct_predreg_domain_find(uct_md_h md)
{
    uct_predreg_domain_t *domain = atomic_load_explicit(&uct_predreg_domains,
                                                        memory_order_acquire);

    while ((domain != NULL) &&
           (ucs_relaxed_load(&domain->key) != md)) {
        domain = atomic_load_explicit(&domain->next, memory_order_acquire);
    }
    return domain;
}

/** Find a free place for a domain that was opened. To be called under
 *  core.lock, as the next two functions.
 *  @return the place, for the caller to fill in; NULL if there is no memory. */
uct_predreg_domain_t *uct_predreg_domain_new(uct_predreg_core_t *core,
                                             uct_md_h md);

/** Enter a domain into the table, once its fields are filled in. */
void uct_predreg_domain_add(uct_predreg_domain_t *domain);

/** Take a domain out of the table. To be called when no handle of the domain has an owner
 *  any more. */
void uct_predreg_domain_remove(uct_predreg_domain_t *domain);

/** Call a function for each domain of the table. The caller makes sure that no domain is
 *  opened or closed meanwhile. */
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
    /* Relaxed: a domain that is unknown to the cache gets its cache of kept memory, if
     * any, before it enters the table */
    return (domain->cache == NULL) &&
           (ucs_relaxed_load(&domain->kept) != NULL);
}


/** Note the owner of a handle, which a registration has returned. Any thread, as for the next
 *  function; may allocate memory. @return UCS_OK or UCS_ERR_NO_MEMORY. */
static inline ucs_status_t
uct_predreg_own(uct_predreg_domain_t *domain, uct_mem_h memh, uct_predreg_owner_t *owner)
{
    return ucs_map_put(&domain->owners, memh, owner);
}

/** Forget the owner of a handle, before the memory is deregistered: afterwards another
 *  registration may get the handle. */
static inline void uct_predreg_disown(uct_predreg_domain_t *domain, uct_mem_h memh)
{
    (void)ucs_map_take(&domain->owners, memh);
}


/** @return whether this process is a forked child, and has inherited the domain from its
 *  parent. Any thread; no lock. */
int uct_predreg_domain_is_inherited(uct_md_h md);

/** Forget an inherited domain: the domain is closed, or another domain has got its
 *  handle. To be called under core.lock. */
void uct_predreg_domain_disown(uct_md_h md);


/** @return whether the peer's access to the memory is to end with the use. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_is_invalidation(const uct_md_mem_dereg_params_t *params)
{
    return (params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) &&
           (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE);
}

/** Tell a completion of UCP that the peer's access to some memory has ended.
 *  @param [in] comp  A uct_completion_t; NULL: nobody waits for the end. */
void uct_predreg_invalidated(void *comp);


/** Wait until no other thread is in UCX's domain, and enter the domain. The wait may last
 *  for a registration of the helper. A waiting thread of a real-time class lends its
 *  priority to the thread in the domain. The helper does nothing in an unmanaged domain,
 *  so there is no wait there. */
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
 * Registration of memory with a memory domain of UCT. The cache registers through a table
 * of operations; the other functions pass a registration on to UCX. One thread at a time
 * is in a domain. Any thread; the functions may block in the kernel.
 */

/** The operations that the cache calls: clock, waiting, registration, the helper's seat,
 *  live counters (core/state.h). Their argument is the state of the core; for
 *  registrations and for entering a domain, the domain. */
extern const ucs_rcache_pred_ops_t uct_predreg_pred_ops;

/** @return whether the memory is the host's. Memory of devices is not managed but kept: see
 *  uct_predreg_kept_create(). */
int uct_predreg_is_host_memory(const void *address, size_t length);

/** Register memory with the domain exactly as the program asked for it. If the
 *  flags ask for errors to be hidden, nothing is logged of a failure. */
ucs_status_t uct_predreg_pass_mem_reg(uct_predreg_domain_t *domain,
                                      void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p);

/** As uct_predreg_pass_mem_reg(), through UCT's second interface, of UCX 1.14 and later. */
ucs_status_t uct_predreg_pass_mem_reg_v2(uct_predreg_domain_t *domain,
                                         void *address, size_t length,
                                         const uct_md_mem_reg_params_t *params,
                                         uct_mem_h *memh_p);

/**
 * Register any kind of memory with the domain, as uct_predreg_pass_mem_reg().
 * @return UCX's status; UCS_ERR_NO_MEMORY if a failure may come from a lack of room.
 */
ucs_status_t uct_predreg_try_mem_reg(uct_predreg_domain_t *domain,
                                     void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p);

/*
 * Refusals (refused.c). A device refuses memory in the same way whatever is short. The
 * kernel knows of its own limits, and is asked for these first; what is left are keys or
 * memory of the device. Any thread; the functions read files and may log.
 */

/** Find the control group of the process, and keep to what it may have of the domain's
 *  device. To be called when the domain is opened, after its keys are counted. */
void uct_predreg_refused_init(uct_predreg_domain_t *domain);

void uct_predreg_refused_cleanup(uct_predreg_domain_t *domain);

/** The device has refused memory for lack of room: find out what was short, unless the
 *  last answer is no older than a tenth of a second, and say once a job which limit of
 *  the kernel it was. */
void uct_predreg_ask_why_refused(uct_predreg_domain_t *domain, const void *address,
                                 size_t length);

/** @return whether keys may have been short at the last refusal. */
int uct_predreg_may_lack_keys(const uct_predreg_domain_t *domain);


/** Deregister the memory of a handle. The first argument is a uct_predreg_domain_t, and a
 *  pointer to void since the function stands in a table of operations. */
ucs_status_t uct_predreg_dereg_handle(void *domain, uct_mem_h memh);

/** Deregister memory with the domain exactly as the program asked for it. */
ucs_status_t
uct_predreg_pass_mem_dereg(uct_predreg_domain_t *domain,
                           const uct_md_mem_dereg_params_t *params);


/*
 * Memory that stays registered until its end, because giving the registration up saves
 * nothing, and registering is dear. In a managed domain: memory of devices, such as GPUs,
 * also by dmabuf; memory registered without pinning; and, if nobody tells the host's
 * memory from a device's (UCX_MEMTYPE_CACHE=n), memory of the host. In some unmanaged
 * domains (@ref uct_predreg_compat_t), such as knem and cuda_ipc, all memory. UCX's own
 * cache for such memory is off for the sake of the managed domains; kept.c has a cache of
 * the same kind and settings, one for each domain. The memory counts against no bound of
 * the library.
 *
 * Any thread may register; the functions may block. Domains are opened and closed under
 * core.lock.
 */

/** Make a domain's cache of kept memory, which stays registered after its uses. @return
 *  NULL if the cache cannot be made, because UCM does not tell when memory is freed, or
 *  there is no memory. */
uct_predreg_kept_t *uct_predreg_kept_create(uct_predreg_domain_t *domain);

/** @return the domain's cache of kept memory; NULL: none. Any thread, as for the next
 *  function. */
uct_predreg_kept_t *uct_predreg_kept_of(uct_predreg_domain_t *domain);

/** @return the domain's cache of kept memory. The first call for a managed domain makes
 *  the cache, under core.lock. NULL: the domain has no such cache, or making the cache
 *  has failed, of which a single warning is logged. */
uct_predreg_kept_t *uct_predreg_kept_need(uct_predreg_domain_t *domain);

/** Deregister all memory of a cache of kept memory, and destroy the cache; NULL: do
 *  nothing. */
void uct_predreg_kept_destroy(uct_predreg_kept_t *kept);

/**
 * Begin a use of memory that stays registered after the end of the use, unless UCP ends
 * the use with an invalidation.
 *
 * @param [in] params  What the use asks for besides flags, such as a dmabuf, see @ref
 *                     uct_predreg_compat_is_of_device; NULL: nothing. If the cache cannot
 *                     register its region with these parameters, for example because a
 *                     region joined from several uses is not wholly in the dmabuf,
 *                     exactly the requested memory is registered, for this use alone.
 * @return UCS_OK, or the error of the registration that the use needs.
 */
ucs_status_t uct_predreg_kept_reg(uct_predreg_kept_t *kept, void *address,
                                  size_t length, unsigned flags,
                                  const uct_md_mem_reg_params_t *params,
                                  uct_mem_h *memh_p);

END_C_DECLS

#endif
