/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MD_H_
#define UCT_PREDREG_MD_H_

#include <uct/ib/predreg/compat/ucx_api.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/knobs.h>
#include <uct/ib/predreg/core/types.h>
#include <ucs/stat/stats.h>

#include <ucs/datastruct/string_buffer.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file md.h
 *
 * The functions of memory domains that the core's hooks call (../entry.c), as well as the
 * start, the exit and the fork handlers. Unless a comment says otherwise, any thread may
 * call the functions, and they may wait for locks, for the kernel and for registrations
 * of the helper.
 */


/*
 * Opening, querying and closing of memory domains and interfaces of UCT. A domain enters
 * the table of domains if it is managed or watched, or if all its memory stays
 * registered.
 */

void uct_predreg_md_opened(uct_predreg_core_t *core, uct_md_h md,
                           const char *name, unsigned count);

void uct_predreg_md_closing(uct_predreg_core_t *core, uct_md_h md);

/** Change the costs of a registration in the answer to a query of a domain, if most uses
 *  of memory are hits in a cache of this library: UCP is to reckon with the cost of a
 *  hit. */
void uct_predreg_md_query(uct_predreg_core_t *core, uct_md_h md,
                          uct_md_attr_t *attr);

/** As uct_predreg_md_query(), through UCT's second interface. */
void uct_predreg_md_query_v2(uct_predreg_core_t *core, uct_md_h md,
                             uct_md_attr_v2_t *attr);

/** Replace the operations of an opened interface of a managed domain by operations that
 *  understand pieces handles (iface/iface.h). If the replacement is not possible, the
 *  domain gives out no pieces handles from now on. */
void uct_predreg_iface_opened(uct_predreg_core_t *core, uct_md_h md,
                              uct_worker_h worker, uct_iface_h iface);


/*
 * The begin and the end of uses of memory: the registrations and deregistrations of UCP
 * in a domain of the table. Uses of managed domains go to the cache, uses of watched
 * domains to UCX.
 */

ucs_status_t uct_predreg_mem_reg(uct_predreg_domain_t *domain, void *address,
                                 size_t length, unsigned flags,
                                 uct_predreg_purpose_t purpose,
                                 uct_mem_h *memh_p);

/** As uct_predreg_mem_reg(), through UCT's second interface, where UCP asks for something
 *  besides flags: memory of a device, by its type or its dmabuf. */
ucs_status_t
uct_predreg_device_mem_reg(uct_predreg_domain_t *domain, void *address,
                           size_t length, const uct_md_mem_reg_params_t *params,
                           uct_predreg_purpose_t purpose, uct_mem_h *memh_p);

ucs_status_t uct_predreg_mem_dereg(uct_predreg_domain_t *domain,
                                   const uct_md_mem_dereg_params_t *params);

/** End a use in a domain outside of the table. UCX deregisters the memory, unless a forked
 *  child has inherited a pieces handle: the child's copy is freed, and the use goes on in
 *  the parent. */
ucs_status_t
uct_predreg_unknown_mem_dereg(uct_predreg_core_t *core, uct_md_h md,
                              const uct_md_mem_dereg_params_t *params);


/*
 * The cache of the process, its helper, and its place among the processes of the node.
 * The cache is made when first needed: at the start, or when a forked child opens a
 * memory domain of its own.
 */

/** Make the cache, unless it exists, if memory is to be managed in the process. @return
 *  whether memory is managed: the cache exists. Any thread; may take core.lock. */
int uct_predreg_is_managing(uct_predreg_core_t *core);


/*
 * The next two functions switch UCX's own registration caches off while the library
 * manages memory. The overriding functions for reading configurations of UCX call them.
 */

/** Switch the cache off in a new configuration of UCP. */
void uct_predreg_ucp_config(uct_predreg_core_t *core,
                            const uct_predreg_real_t *real,
                            ucp_config_t *config);

/** Switch the cache off in a configuration of the memory domains of a component
 *  that was just read, if the component is managed. */
void uct_predreg_md_config(uct_predreg_core_t *core, uct_component_h component,
                           uct_md_config_t *config);


/*
 * The components of UCT with managed memory domains (UCX_RCACHE_PRED_COMPONENTS).
 */

/** @return whether UCX finds memory domains of any of these components on the machine.
 *  Makes UCX load its components, as opening a context does. */
int uct_predreg_components_are_here(const uct_predreg_core_t *core);

/** Append the names of these components, or "an RDMA adapter", to a message that ends
 *  with "none of ". */
void uct_predreg_components_tell(const uct_predreg_knobs_t *knobs,
                                 ucs_string_buffer_t *strb);

/** Warn of each name in UCX_RCACHE_PRED_COMPONENTS that no component of UCX has; of ib,
 *  the default, only if the log level is info or higher. To be called when UCX reads a
 *  configuration of a component: before, UCX may not have loaded its components. */
void uct_predreg_components_check(const uct_predreg_core_t *core);


/*
 * Two kinds of memory that is registered past the cache. Memory of UCX's own in managed
 * domains: the functions count the memory (memlock.h), set the cache's bound to the rest
 * of the system's limit, and publish the live counters. And memory whose owner, such as
 * Firehose, decides how long it stays pinned: the memory counts within the bounds.
 */

/** @return how many bytes the cache may register beside UCX's own registrations;
 *  UINT64_MAX: there is no bound. */
uint64_t uct_predreg_max_bytes(const uct_predreg_knobs_t *knobs);

/** @return whether there is any bound on the registrations of the process: a knob, or the
 *  limit of locked memory. */
int uct_predreg_has_bounds(const uct_predreg_knobs_t *knobs);

/** @return whether the limit of locked memory may leave UCX's own pools no room
 *  to grow. */
int uct_predreg_pools_are_limited(void);

/** Count a pool in a watched domain. The pool counts for good, since UCX's own cache
 *  decides when to deregister the pool. */
void uct_predreg_pool_add(uct_predreg_core_t *core, const void *address, size_t length);

/**
 * Count memory of UCX's own in a managed domain, until it is deregistered.
 *
 * @param [in] is_pool  Whether the memory is a pool: until its end it counts among the
 *                      bytes of pools as well (uct_predreg_core_t::pool_bytes).
 */
void uct_predreg_foreign_add(uct_predreg_domain_t *domain, uct_mem_h memh,
                             void *address, size_t length, int is_pool);

/**
 * Register memory in a managed domain until its owner ends the use, within the bounds:
 * idle regions of the cache give way. The end of the use gives the room back.
 *
 * @return UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds,
 *         UCS_ERR_NO_MEMORY if the system has no room, or another error of UCX.
 *         After an error nothing is registered, and nothing was logged.
 */
ucs_status_t uct_predreg_pinned_reg(uct_predreg_domain_t *domain,
                                      void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p);

/** @return the kind of a pool of UCX's own with this name. Pure. */
ucs_rcache_pred_pool_t uct_predreg_pool_kind(const char *name);

/** Note that UCX has allocated memory in this thread, for a pool or other use with the
 *  name. */
void uct_predreg_pool_allocated(const void *address, const char *name);

/** @return the kind of a pool that is about to be registered: what the thread has noted of
 *          the memory. */
ucs_rcache_pred_pool_t uct_predreg_pool_of(const void *address);

/** Count a registered pool. */
void uct_predreg_pool_begin(uct_predreg_core_t *core, ucs_rcache_pred_pool_t kind,
                            size_t length);

/** Count a pool no longer among those that are registered now. */
void uct_predreg_pool_end(ucs_rcache_pred_pool_t kind, size_t length);

/** Set the counts of pools that are registered now to 0; for
 *  uct_predreg_foreign_reset(). */
void uct_predreg_pools_reset(void);

/** Set the counts of memory to 0 in a forked child, which has one thread: registrations
 *  of the parent do not count in the child. Neither allocates nor frees memory. */
void uct_predreg_foreign_reset(void);


/*
 * Keeps UCX from logging errors of registrations that somebody can do without: those of
 * the helper, first attempts, and those for sends, which UCP copies instead. Such a
 * registration has the flag UCT_MD_MEM_FLAG_HIDE_ERRORS. UCX 1.13 to 1.15 heed the flag
 * only in their own cache (ib_md.c: uct_ib_mem_reg() and uct_ib_rcache_mem_reg_cb()). As
 * this cache is switched off, they would log an error for each send of read-only memory.
 *
 * Only messages of the calling thread are dropped. Where UCX registers a large
 * buffer by several threads of its own (UCX_IB_REG_MT_THRESH), these threads log their
 * errors.
 */

/** Have UCX's log ask this library about each message from now on. To be called once. */
void uct_predreg_quiet_install(void);

/** Drop the warnings and errors of the thread from now on. Calls nest. */
void uct_predreg_quiet_begin(void);

/** End one call of uct_predreg_quiet_begin(). */
void uct_predreg_quiet_end(void);

/** Drop the next error that the thread logs, if it is UCP's about a failed registration:
 *  UCP goes on without the registration, but logs an error all the same (1.16 and later
 *  without PROTO_ENABLE, rndv.c). */
void uct_predreg_quiet_once(void);

END_C_DECLS

#endif
