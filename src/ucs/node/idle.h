/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_IDLE_H_
#define UCS_RCACHE_PRED_IDLE_H_

#include <ucs/sys/compiler_def.h>

#include <sched.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file idle.h
 *
 * Which processors are idle, as the kernel counts it (Linux,
 * Documentation/filesystems/proc.rst, "/proc/stat"), and which of them are hardware
 * threads of one core (Documentation/admin-guide/cputopology.rst). Any thread, but
 * not in memory hooks.
 *
 * The functions that read take a folder that has proc and sys; "" is that of the
 * system, others are for tests.
 */

/** A processor is idle if nobody uses more of it than this part. A rank that computes
 *  for less than that can wait for a helper. */
#define UCS_RCACHE_PRED_IDLE_BUSY_PART 0.125

/** Stands for a processor that the kernel does not list. */
#define UCS_RCACHE_PRED_IDLE_UNKNOWN UINT64_MAX


/**
 * Read for how long each processor has been idle since the system started.
 *
 * @param [out] times  ns, in steps of a tick, 10 ms; UNKNOWN for those that are
 *                     offline. By number of the processor.
 *
 * @return how many are known; 0 if the kernel does not tell.
 */
unsigned ucs_rcache_pred_idle_read(const char *root, uint64_t times[CPU_SETSIZE]);

/**
 * Find the processors that nobody but helpers has used between two readings. Pure.
 *
 * @param [in] elapsed  Time between the two, ns. With less than 35 ms no processor is
 *                      found idle: the kernel's steps are too coarse.
 * @param [in] helpers  What helpers have used of each processor meanwhile, ns.
 */
void ucs_rcache_pred_idle_find(const uint64_t before[CPU_SETSIZE],
                               const uint64_t after[CPU_SETSIZE], uint64_t elapsed,
                               const uint64_t helpers[CPU_SETSIZE], cpu_set_t *idle);

/** Read the number of each processor's core: that of its first hardware thread. Those of
 *  which the system does not tell are cores by themselves. */
void ucs_rcache_pred_idle_read_cores(const char *root, const cpu_set_t *cpus,
                                     uint16_t cores[CPU_SETSIZE]);

END_C_DECLS

#endif
