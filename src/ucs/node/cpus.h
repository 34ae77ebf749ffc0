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
 * The functions that read take the folder of proc and sys; "" is the system's,
 * others are for tests.
 */

/** A processor is idle if nobody uses more than so much of it. A rank that computes
 *  for less time can wait for a helper. */
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

/** Read the number of each processor's core: the number of its first hardware thread. A
 *  processor that the system does not tell of is a core by itself. */
void ucs_rcache_pred_idle_read_cores(const char *root, const cpu_set_t *cpus,
                                     uint16_t cores[CPU_SETSIZE]);


/** The processors. */
typedef struct ucs_rcache_pred_cpus {
    cpu_set_t idle;              /**< Used by helpers alone */
    uint16_t  core[CPU_SETSIZE]; /**< Number of each one's core. Hardware threads of
                                      one core have the same number */
} ucs_rcache_pred_cpus_t;

/** A process of the node. */
typedef struct ucs_rcache_pred_cpu_user {
    cpu_set_t affinity; /**< Processors to which its launcher has bound it. If there
                             are none, the process is taken for unbound */
    cpu_set_t usable;   /**< Processors to which its threads could be bound. If
                             there are none, they are unknown, and the process gets
                             no idle processor */
    uint64_t  demand;   /**< Bytes it has had registered lately, on average */
    int       cpu;      /**< Processor that its helper has for itself now; -1: none */
} ucs_rcache_pred_cpu_user_t;

/** What a process of the node gets: as @ref ucs_rcache_pred_node_seat_t. */
typedef struct ucs_rcache_pred_cpu_seat {
    int      cpu; /**< Processor where its helper shall run; -1: those of the
                       process */
    double   idle;
    unsigned rank;
    unsigned sharers;
    double   share;
} ucs_rcache_pred_cpu_seat_t;


/**
 * Distribute the idle processors, and find each process's share of all. Pure.
 *
 * Each idle processor goes to one helper, in the order of the demand of their
 * processes; ties by their order in @a users, since any rule will do. A process
 * whose helper has an idle processor counts with a quarter more, so that two of
 * about the same demand do not hand the processor to and fro, and keeps the
 * processor. Others get a processor with idle siblings if there is one, and
 * preferably one of their own mask. The late helpers share the idle processors,
 * beginning with the fewest helpers: for the aggressive way of the paper.
 *
 * The share of a process adds up, over the processors of its mask, 1 divided by the
 * number of processes whose masks have the processor, and is 1 at most. So all
 * shares together are at most the number of processors.
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

/** The processors of a process: the usable ones of its mask, as far as both are
 *  known. Pure. */
void ucs_rcache_pred_cpus_own(const cpu_set_t *affinity, const cpu_set_t *usable,
                              cpu_set_t *own);

/**
 * Processors to which a thread of this process could be bound: online and in its
 * cpuset, whatever its affinity mask is. Starts a thread.
 *
 * @param [out] usable  None if the kernel does not tell.
 */
void ucs_rcache_pred_cpus_usable(cpu_set_t *usable);

END_C_DECLS

#endif
