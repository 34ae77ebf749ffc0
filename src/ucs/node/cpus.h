/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_CPUS_H_
#define UCS_RCACHE_PRED_CPUS_H_

#include "node.h"

BEGIN_C_DECLS

/** @file cpus.h
 *
 * Which helper runs on which processor (CF'11, section 5), and the part of the
 * processors for each process: cpus.c. Which processors are idle by the kernel's
 * count (Linux, Documentation/filesystems/proc.rst, "/proc/stat"), and which of
 * them are hardware threads of one core (Documentation/admin-
 * guide/cputopology.rst): watch.c. Any thread, but not in memory hooks.
 *
 * The functions that read files take the folder that has proc and sys: "" is the
 * system's, and tests hand in other folders.
 */

/** A processor is idle if the programs use at most this part of its time. A process
 *  that computes so little can wait for a helper on its processor. */
#define UCS_RCACHE_PRED_IDLE_BUSY_PART 0.125

/** Stands for a processor that the kernel does not list. */
#define UCS_RCACHE_PRED_IDLE_UNKNOWN UINT64_MAX


/**
 * Read for how long each processor has been idle since the system started.
 *
 * @param [out] times  By number of the processor: ns, in steps of a tick, 10
 *                     ms; UNKNOWN for a processor that is offline.
 *
 * @return the number of processors with a known time; 0 if the kernel does not
 *         tell.
 */
unsigned ucs_rcache_pred_idle_read(const char *root, uint64_t times[CPU_SETSIZE]);

/**
 * Find the processors that nobody but helpers has used between two readings. Pure.
 *
 * @param [in] elapsed  Time between the two readings, ns. With less than 35 ms
 *                      no processor is found idle: the kernel counts in steps
 *                      that are too coarse.
 * @param [in] helpers  Time that helpers have run on each processor meanwhile,
 *                      ns.
 */
void ucs_rcache_pred_idle_find(const uint64_t before[CPU_SETSIZE],
                               const uint64_t after[CPU_SETSIZE], uint64_t elapsed,
                               const uint64_t helpers[CPU_SETSIZE], cpu_set_t *idle);

/** Read the number of each processor's core: the number of its first hardware thread. A
 *  processor that the system does not tell of is a core by itself. */
void ucs_rcache_pred_idle_read_cores(const char *root, const cpu_set_t *cpus,
                                     uint16_t cores[CPU_SETSIZE]);


/** The processors. */
typedef struct ucs_rcache_pred_cpus {
    cpu_set_t idle;              /**< Used by helpers alone */
    uint16_t  core[CPU_SETSIZE]; /**< Number of each processor's core. Hardware
                                      threads of one core have the same number */
} ucs_rcache_pred_cpus_t;

/** A process of the node. */
typedef struct ucs_rcache_pred_cpu_user {
    cpu_set_t affinity; /**< Processors to which the launcher has bound the
                             process. If there are none, the process is taken
                             for unbound */
    cpu_set_t usable;   /**< Processors to which its threads could be bound. If
                             there are none, they are unknown, and the process gets
                             no idle processor */
    uint64_t  demand;   /**< Registered bytes of the process lately, on average */
    int       cpu;      /**< Processor that the helper of the process has for
                             itself now; -1: none */
} ucs_rcache_pred_cpu_user_t;

/** The seat of a process of the node. Fields without a comment are as in @ref
 *  ucs_rcache_pred_node_seat_t. */
typedef struct ucs_rcache_pred_cpu_seat {
    int      cpu; /**< Processor where the helper shall run; -1: the helper may
                       run on all processors of the process */
    double   idle;
    unsigned rank;
    unsigned sharers;
    double   share;
} ucs_rcache_pred_cpu_seat_t;


/**
 * Distribute the idle processors, and find each process's share of all. Pure.
 *
 * Each idle processor goes to one helper, in the order of the demand of their
 * processes; processes of equal demand come in the order of @a users, since any
 * rule will do. A process whose helper already has an idle processor counts
 * with a quarter more demand, so that two processes of about the same demand do
 * not hand a processor to and fro, and its helper keeps the processor. Other
 * helpers get a processor with idle siblings if there is one, and preferably
 * one of the mask of their process. Helpers for which no idle processor is left
 * share the idle processors evenly: the aggressive policy of the paper needs
 * that, which has a helper in every process.
 *
 * The share of a process is the sum, over the processors of its mask, of 1
 * divided by the number of processes whose masks have the processor; it is 1 at
 * most. So all shares together are at most the number of processors.
 *
 * @param [in]  cpus   The processors.
 * @param [in]  users  All processes of the node.
 * @param [out] seats  The seat of each process.
 *
 * @return 0 if there is no memory; then the seats are undefined.
 */
int ucs_rcache_pred_cpus_seats(const ucs_rcache_pred_cpus_t *cpus,
                               const ucs_rcache_pred_cpu_user_t *users,
                               unsigned num_users,
                               ucs_rcache_pred_cpu_seat_t *seats);

/** Find the processors of a process: those that are both usable and in its affinity
 *  mask. If the mask is empty, all usable ones; if no processor is both, the mask.
 *  Pure. */
void ucs_rcache_pred_cpus_own(const cpu_set_t *affinity, const cpu_set_t *usable,
                              cpu_set_t *own);

/**
 * Find the processors to which a thread of this process could be bound: online and in
 * the cpuset of the process, whatever its affinity mask is. Starts a thread for that.
 *
 * @param [out] usable  None if the kernel does not tell.
 */
void ucs_rcache_pred_cpus_usable(cpu_set_t *usable);

END_C_DECLS

#endif
