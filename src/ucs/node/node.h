/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_NODE_H_
#define UCS_RCACHE_PRED_NODE_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file node.h
 *
 * What the processes of one user on one node tell each other: how much memory each
 * has registered, for a bound that all of them keep together; which processors are
 * idle; and which processes keep their helper threads where there are too few
 * processors (section 5 of the paper CF'11, see ucs/rcache_pred/api/rcache_pred.h).
 *
 * Each process has a slot in shared memory, and is its only writer. The share of a
 * killed process is not lost: another process that finds its slot clears the slot.
 * The shared memory is freed with the last process, however the process ended. The
 * share of an ended process stays as long as a forked child of the process lives
 * and has not run another program (exec), since the child keeps the memory of its
 * parent registered. A process that runs another program without leaving keeps its
 * share until the process ends or joins again.
 *
 * The processes of a node are those of one effective user with the same IPC name
 * space, whatever other name spaces they are in; others have bounds of their own.
 *
 * Uses ucs/base. The cache calls these functions; the core of uct/ib/predreg joins
 * and leaves. All functions but join, leave and update are thread safe and lock-
 * free. A forked child must not use the parent's membership: the child forgets it,
 * without freeing anything, and joins itself.
 */

typedef struct ucs_rcache_pred_node ucs_rcache_pred_node_t;


/** Stands for no bound. */
#define UCS_RCACHE_PRED_NODE_UNLIMITED UINT64_MAX

typedef struct ucs_rcache_pred_node_params {
    uint64_t max_bytes;   /**< Bound on the registered bytes of all processes,
                               or UNLIMITED. Processes need not have the same
                               bound: each keeps its own */
    uint64_t max_regions; /**< Bound on registered regions, or UNLIMITED */
    uint64_t reserve;     /**< Bytes of the bound that belong to this process
                               from joining to leaving, for registrations that
                               must not fail */
    uint64_t reserve_regions; /**< Regions of the bound that belong to this process,
                                   as reserve */
    const char *bytes_name;   /**< Users' name of the bound on bytes, for messages;
                                   NULL if UNLIMITED */
    const char *regions_name; /**< Users' name of the bound on regions; NULL if
                                   UNLIMITED */
    const char *root;     /**< The folder of proc and sys; NULL: the system's.
                               Others are for tests */
    cpu_set_t affinity;   /**< Processors to which the launcher has bound this
                               process. If there are none, the process is taken for
                               unbound */
} ucs_rcache_pred_node_params_t;


/**
 * Become one of the node's processes. May wait up to a second for others that
 * join at the same time.
 *
 * @return UCS_ERR_EXCEEDS_LIMIT if the reserve does not fit the bound beside
 *         what other processes have; UCS_ERR_NO_RESOURCE if there are too many
 *         processes; UCS_ERR_UNSUPPORTED if there is no shared memory, or
 *         UCS_ERR_NO_MEMORY. Logged, naming the bound and its
 *         value.
 */
ucs_status_t
ucs_rcache_pred_node_join(const ucs_rcache_pred_node_params_t *params,
                          ucs_rcache_pred_node_t **node_p);

/** Give the share back, and leave the processes of the node. */
void ucs_rcache_pred_node_leave(ucs_rcache_pred_node_t *node);


/**
 * Let several processes join that exist in a simulation alone, in one thread of this
 * process. They share a node that nobody else sees. For each of them, the functions from
 * @ref ucs_rcache_pred_node_reserve to @ref ucs_rcache_pred_node_get_totals may be called.
 *
 * @param [in]  params  Of each process.
 * @param [out] nodes   @a num members, at least one, for
 *                      @ref ucs_rcache_pred_node_simulate_end.
 * @return as @ref ucs_rcache_pred_node_join.
 */
ucs_status_t
ucs_rcache_pred_node_simulate(const ucs_rcache_pred_node_params_t *params, unsigned num,
                              ucs_rcache_pred_node_t **nodes);

/** Give the share of a simulated process back. It calls nothing more. */
void ucs_rcache_pred_node_simulate_leave(ucs_rcache_pred_node_t *node);

/** Free all that was simulated. */
void ucs_rcache_pred_node_simulate_end(ucs_rcache_pred_node_t **nodes, unsigned num);


/**
 * Reserve room in the bounds for regions, with their bytes, before they are
 * registered; either number may be 0. The bounds are kept at every instant: two
 * processes that ask at once for the last room may both be refused, but never
 * both be served. Before a refusal, the call looks at 16 slots at most, with a
 * system call for each, and takes back the shares of dead processes.
 *
 * @return 0 if there is no room.
 */
int ucs_rcache_pred_node_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                 uint64_t regions);

/** @return whether this reservation does not fit a bound even if no process has
 *  registered anything: together with the reserve of this process it is above a
 *  bound, or above 2^63 - 1. */
int ucs_rcache_pred_node_never_fits(const ucs_rcache_pred_node_t *node,
                                    uint64_t bytes, uint64_t regions);

/**
 * Ask the other processes to deregister idle memory until there is room for
 * these bytes and regions, see @ref ucs_rcache_pred_node_is_asked: for a
 * process that was refused and cannot make the room itself, or that has given up
 * memory which it needs earlier than others need theirs. Nobody is asked if the
 * room can never be there, see @ref ucs_rcache_pred_node_never_fits.
 *
 * @param [in] idle  Only memory that nobody will use for longer than that shall
 *                   give way, ns; 0: any.
 */
void ucs_rcache_pred_node_ask(ucs_rcache_pred_node_t *node, uint64_t bytes,
                              uint64_t regions, uint64_t idle);

/** Give back room for regions, with their bytes, after they were deregistered. */
void ucs_rcache_pred_node_release(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                  uint64_t regions);

/**
 * Offer to deregister regions for processes that have asked. The missing room
 * shrinks at once, so that no other process deregisters memory for the same
 * need.
 *
 * @return 0 if no room is missing any more: the regions should stay. Otherwise
 *         the caller deregisters the regions, and then calls @ref
 *         ucs_rcache_pred_node_release_offered.
 */
int ucs_rcache_pred_node_offer(ucs_rcache_pred_node_t *node, unsigned device,
                               uint64_t bytes, uint64_t regions);

/** As @ref ucs_rcache_pred_node_release, for regions that were offered: the
 *  offer has taken them off the missing room already. */
void ucs_rcache_pred_node_release_offered(ucs_rcache_pred_node_t *node,
                                          uint64_t bytes, uint64_t regions);

/**
 * Have other processes wake a thread of this process when they ask. To be called once,
 * before the thread starts.
 *
 * @return what the thread has to wait for; it lasts as long as the membership.
 */
sem_t *ucs_rcache_pred_node_wakeups(ucs_rcache_pred_node_t *node);

/** @return whether the next ask will wake this process's thread, which may sleep until
 *  then: no process has asked since @ref ucs_rcache_pred_node_is_asked. */
int ucs_rcache_pred_node_may_sleep(ucs_rcache_pred_node_t *node);

/** @return whether another process has asked for room or keys since the last call. If
 *  nobody has asked, the call takes one load of shared memory. */
int ucs_rcache_pred_node_is_asked(ucs_rcache_pred_node_t *node);

/**
 * @param [in]  device  Number of the device whose keys were asked for;
 *                      UCS_RCACHE_PRED_NODE_DEVICES: room in the bounds.
 * @param [out] idle    For how long, ns, nobody will use what shall give way.
 *
 * @return whether some of what was asked for is still missing.
 */
int ucs_rcache_pred_node_lacks(const ucs_rcache_pred_node_t *node, unsigned device,
                               uint64_t *idle);


/** The sums over all processes of the node. */
typedef struct ucs_rcache_pred_node_totals {
    uint64_t bytes;   /**< Bytes registered or reserved */
    uint64_t regions;
    unsigned procs;
} ucs_rcache_pred_node_totals_t;

/** Get the sums over all processes of the node. */
void ucs_rcache_pred_node_get_totals(ucs_rcache_pred_node_t *node,
                                     ucs_rcache_pred_node_totals_t *totals);


/* Keys: the registrations that a device can have at a time, by all processes together.
 * The processes of one job on the node count theirs, and learn from refusals how many keys
 * there are (limit.h). That is advice: nothing is refused because of it. The times are of
 * CLOCK_MONOTONIC, ns */

/** How many devices of jobs the node knows at a time. */
#define UCS_RCACHE_PRED_NODE_DEVICES 32

/** The keys of a device. */
typedef struct ucs_rcache_pred_node_keys {
    uint64_t keys;  /**< Keys of all processes of the job on the node */
    uint64_t all;   /**< Keys of all jobs of this user on the node */
    uint64_t limit; /**< How many they may have; UINT64_MAX: none was refused */
    unsigned procs; /**< Processes of the job that use the device */
} ucs_rcache_pred_node_keys_t;

/** @return the name of a device of a job, from the hashes of their names; not 0. */
static inline uint64_t ucs_rcache_pred_node_device_name(uint64_t device, uint64_t job)
{
    return (device << 32) | (job & UINT32_MAX) | 1;
}

/** @return whether two names are of the same device, of whichever jobs. */
static inline int ucs_rcache_pred_node_same_device(uint64_t name, uint64_t other)
{
    return (name >> 32) == (other >> 32);
}

/** Count keys of a device from now on.
 *  @param [in] name  See @ref ucs_rcache_pred_node_device_name.
 *  @return the number of the device in the functions below; UCS_RCACHE_PRED_NODE_DEVICES
 *          if there are too many. */
unsigned ucs_rcache_pred_node_device(ucs_rcache_pred_node_t *node, uint64_t name);

/** Set how many keys the processes of the job may have at a time, instead of learning
 *  it. The last process that does so decides for all of them. */
void ucs_rcache_pred_node_fix_keys(ucs_rcache_pred_node_t *node, unsigned device,
                                   uint64_t keys);

/** Have the processes of the job keep below a number of keys which the kernel says that
 *  they may have. The last process that does so decides for all of them. */
void ucs_rcache_pred_node_know_keys(ucs_rcache_pred_node_t *node, unsigned device,
                                    uint64_t keys, uint64_t now);

/** @param [in] what  Number of something to be told once a job, 0 to 63.
 *  @return whether no process of the job has told this of the device so far. */
int ucs_rcache_pred_node_tells_first(ucs_rcache_pred_node_t *node, unsigned device,
                                     unsigned what);

/** Count a registration that there is now, or is no more. */
void ucs_rcache_pred_node_key_taken(ucs_rcache_pred_node_t *node, unsigned device);
void ucs_rcache_pred_node_key_given(ucs_rcache_pred_node_t *node, unsigned device);

/** @return whether this process should take one more key without giving one up: the
 *          processes have not reached the limit that was learned, or this process has less
 *          than its equal share of it. */
int ucs_rcache_pred_node_has_key(const ucs_rcache_pred_node_t *node, unsigned device);

/** This process has to give up a registration for another one because of the limit: the
 *  limit may rise. */
void ucs_rcache_pred_node_lacks_key(ucs_rcache_pred_node_t *node, unsigned device,
                                    uint64_t now);

/** A registration was refused, and giving up another one has cured that.
 *  @param [out] keys  The keys now.
 *  @return whether it is the first one that the job has heard of. */
int ucs_rcache_pred_node_key_refused(ucs_rcache_pred_node_t *node, unsigned device,
                                     uint64_t now, ucs_rcache_pred_node_keys_t *keys);

/**
 * Ask the other processes of the job to deregister idle memory, as @ref
 * ucs_rcache_pred_node_ask does: for a process that was refused a key, or has given one
 * up. A process that has much less than its equal share asks for a part of the
 * difference, since the next buffers need keys as well.
 *
 * @return whether other processes have keys.
 */
int ucs_rcache_pred_node_ask_keys(ucs_rcache_pred_node_t *node, unsigned device,
                                  uint64_t idle);

void ucs_rcache_pred_node_get_keys(const ucs_rcache_pred_node_t *node, unsigned device,
                                   ucs_rcache_pred_node_keys_t *keys);

/** Get the keys of that device of this process which has the least limit. Takes no longer
 *  than looking at the devices, if none of them has a limit.
 *  @return whether one of them has a limit. */
int ucs_rcache_pred_node_get_scarce_keys(const ucs_rcache_pred_node_t *node,
                                         ucs_rcache_pred_node_keys_t *keys);


/** The part of an idle processor that counts for a helper if the sibling, the
 *  other hardware thread of the core, is busy: a busy helper would slow down
 *  the program on the sibling. Two threads of a core do 1.2 to 1.3 times the
 *  work of one. */
#define UCS_RCACHE_PRED_SIBLING_PART 0.5

/** This process's and its helper's part of the node's processors. */
typedef struct ucs_rcache_pred_node_seat {
    unsigned  procs;   /**< Processes of the node */
    double    idle;    /**< Part of a processor that the helper has for itself:
                            1, @ref UCS_RCACHE_PRED_SIBLING_PART beside a busy
                            sibling, or 0 without a processor of its own */
    unsigned  rank;    /**< How many helpers with a processor of their own belong to
                            processes with more demand */
    unsigned  sharers; /**< How many helpers share the processor of this helper,
                            itself included, supposing that every process has a
                            helper: n of the paper's inequality (2) */
    double    share;   /**< Part of a processor for this process, 0 to 1: the
                            sum over the processors of its mask, each divided by
                            the number of processes that may run there */
    cpu_set_t cpus;    /**< Processors of the helper: an idle one where there is
                            one, else those of the process */
} ucs_rcache_pred_node_seat_t;

/**
 * Tell the other processes the needs of this one, and find out its seat. Called from
 * time to time, by the helper or in its place, one thread at a time.
 *
 * One process at a time takes a look for all: how long each processor was idle
 * since the last look, by the kernel's count, which processes have died, and
 * which helper gets which processor. The other processes read the results. A
 * look is due 200 ms after the last one (50 ms during a process's first
 * second), and 200 times the duration of a look. Until the first look at a
 * process, the process has no idle processor, and a share of 1.
 *
 * @param [in]  demand  Registered bytes of the process lately, on average. Idle
 *                      processors are distributed by demand.
 * @param [in]  busy    Processor time of the helper's thread so far, ns, since
 *                    the time of helpers does not make a processor busy.
 * @param [out] seat    The seat of the process.
 */
void ucs_rcache_pred_node_update(ucs_rcache_pred_node_t *node, uint64_t demand,
                                 uint64_t busy,
                                 ucs_rcache_pred_node_seat_t *seat);

END_C_DECLS

#endif
