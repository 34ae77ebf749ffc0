/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_REGISTER_H_
#define UCT_PREDREG_REGISTER_H_

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stdatomic.h>

/** @file register.h
 *
 * Registering with a memory domain of UCT, and what kinds of memory there are.
 * The cache does it through a table of operations, and those who pass a
 * registration on to UCX do it directly. Any thread; may block in the kernel.
 */

/** How the cache reads its clock, waits, registers, finds its seat and tells
 *  others. Its argument is the thread of the helper. */
extern const ucs_rcache_pred_ops_t uct_predreg_pred_ops;

/** A domain was opened that knows memory of devices. Relaxed: such memory is
 *  there only later. */
extern _Atomic int uct_predreg_devices;


static UCS_F_ALWAYS_INLINE int uct_predreg_has_devices(void)
{
    return atomic_load_explicit(&uct_predreg_devices, memory_order_relaxed);
}

/** Whether memory is of the host. Nothing else is managed: no unmap event tells
 *  when memory of a device goes. */
int uct_predreg_is_host_memory(const void *address, size_t length);

/** Register with the domain, as the program asked for it. */
ucs_status_t uct_predreg_pass_mem_reg(uct_md_h md, void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p);

/**
 * Register any kind of memory with the domain.
 * @return UCS_ERR_NO_MEMORY if there may be no room for it.
 */
ucs_status_t uct_predreg_try_mem_reg(uct_md_h md, void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p);

#endif
