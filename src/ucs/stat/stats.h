/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_STATS_H_
#define UCS_RCACHE_PRED_STATS_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/datastruct/string_buffer.h>
#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file stats.h
 *
 * The counters that a process shows, and the one list of their names. They are
 * shown in the summary at the process's exit, as live counters, at the end of a
 * trace, and in UCX's virtual file system.
 */

/** Names as the user writes them; NULL comes last. */
extern const char *ucs_rcache_pred_policy_names[];
extern const char *ucs_rcache_pred_mode_names[];


/** Kinds of UCX's own pools, by which settings of UCX decide their size. */
typedef enum {
    UCS_RCACHE_PRED_POOL_RC_RECEIVE, /**< Receive queues of the transports RC and DC */
    UCS_RCACHE_PRED_POOL_RC_SEND,    /**< What RC and DC send from */
    UCS_RCACHE_PRED_POOL_UD_RECEIVE,
    UCS_RCACHE_PRED_POOL_UD_SEND,
    UCS_RCACHE_PRED_POOL_UCP,        /**< Pools of UCP's, such as bounce buffers */
    UCS_RCACHE_PRED_POOL_OTHER,      /**< Pools whose names are not known */
    UCS_RCACHE_PRED_POOL_LAST
} ucs_rcache_pred_pool_t;

/** Names of the kinds, as in the counters pool_NAME_bytes; NULL comes last. */
extern const char *ucs_rcache_pred_pool_names[];


/** The state of a process at one instant. */
typedef struct ucs_rcache_pred_snapshot {
    int32_t                 rank;   /**< Rank of the process in its job; -1: not
                                         known */
    int32_t                 pid;
    uint32_t                policy; /**< The policy in force, a
                                         ucs_rcache_pred_policy_t */
    uint32_t                mode;   /**< ucs_rcache_pred_mode_t */
    double                  budget; /**< Percent of the run time; INFINITY: no
                                         bound. Has a meaning only under
                                         predict */
    ucs_rcache_pred_stats_t stats;  /**< Statistics of the cache; under
                                         leave-pinned only uses is known */
    uint64_t                pool_bytes;    /**< Most bytes registered at a time by UCX's
                                                own pools; under leave-pinned, bytes ever
                                                registered by the pools */
    uint64_t                pool_kinds[UCS_RCACHE_PRED_POOL_LAST]; /**< Likewise, of
                                                                        each kind */
    uint64_t                kernel_pinned; /**< Most bytes that the kernel has
                                                counted as pinned, whenever its
                                                count was read */
    uint64_t                keys_now;      /**< Registrations now, each of which takes a
                                                key of its device: of all subsystems, of
                                                UCX's own pools and of kept memory */
    uint64_t                keys_peak;     /**< Largest value that keys_now has had */
    uint64_t                keys_limit;    /**< How many keys the processes of the job on
                                                this node may have, by what they have
                                                learned of the process's devices or the
                                                user says: the least of these numbers.
                                                UINT64_MAX: no device has refused a key */
    uint64_t                pressure;      /**< How long processes that share this one's
                                                memory have waited for memory, as far as
                                                memory that is given up can help them,
                                                ns */
    uint64_t                helper_cpu;    /**< Processor time of the helper
                                                thread, ns */
    uint64_t                eager_sends;   /**< Small sends that the library has
                                                looked at, to find reused
                                                buffers */
    uint64_t                eager_hot;     /**< Small sends from a registered
                                                buffer, without a copy */
    uint64_t                eager_bytes_saved; /**< Bytes of small sends that
                                                    were not copied */
    uint64_t                eager_buffers_hot; /**< How often a buffer became
                                                    hot: it was registered for
                                                    its small sends */
    uint64_t                arena_answered;  /**< Uses of memory of the arena,
                                                  which needed no registration
                                                  of their own */
    uint64_t                arena_committed; /**< Bytes of the arena that have
                                                  physical memory */
    uint64_t                arena_live;      /**< Bytes of the arena that the
                                                  program has mapped */
    uint64_t                arena_refused;   /**< Mappings by the program that
                                                  found no room in the arena */
    uint64_t                arena_zero;      /**< Time for filling memory of the
                                                  arena with zeros, ns */
    uint64_t                firehose_requests; /**< Requests for firehoses */
    uint64_t                firehose_hits;     /**< Requests for firehoses that
                                                    needed no message */
} ucs_rcache_pred_snapshot_t;


typedef enum {
    UCS_RCACHE_PRED_UNIT_COUNT,
    UCS_RCACHE_PRED_UNIT_LIMIT, /**< A count that is not known as long as it is
                                     UINT64_MAX */
    UCS_RCACHE_PRED_UNIT_BYTES,
    UCS_RCACHE_PRED_UNIT_NSEC,
    UCS_RCACHE_PRED_UNIT_LAST
} ucs_rcache_pred_unit_t;

/** A number in a snapshot, or an array of numbers of one kind. */
typedef struct ucs_rcache_pred_counter {
    const char             *name;  /**< Name of the counter, without a unit */
    ucs_rcache_pred_unit_t unit;
    size_t                 offset; /**< Offset of its uint64_t, or of the array,
                                        in the snapshot */
    unsigned               num;    /**< Number of elements if it is an array,
                                        else 1 */
    int                    always; /**< Not 0: the counter is known under
                                        leave-pinned as well */
} ucs_rcache_pred_counter_t;

/** All counters. The array ends with a counter that has no name. */
extern const ucs_rcache_pred_counter_t ucs_rcache_pred_counters[];

/** @return whether the snapshot has a value of the counter. Under leave-pinned
 *          most counters are not known, since UCX's own cache registers memory and
 *          does not tell how much. A limit is known if there is one. */
int
ucs_rcache_pred_counter_is_known(const ucs_rcache_pred_counter_t *counter,
                                 const ucs_rcache_pred_snapshot_t *snapshot);

/** @param [in] index  Element of the counter if it is an array, less than num; else 0.
 *  @return the value in the snapshot. */
uint64_t
ucs_rcache_pred_counter_get(const ucs_rcache_pred_counter_t *counter,
                            const ucs_rcache_pred_snapshot_t *snapshot,
                            unsigned index);

/** Append a snapshot as the members of a JSON object, without the braces of the object
 *  and without a comma at the end. Times are in seconds, with a decimal point in every
 *  locale; an unknown value is null. */
void
ucs_rcache_pred_snapshot_to_json(const ucs_rcache_pred_snapshot_t *snapshot,
                                 ucs_string_buffer_t *strb);

/** Room for the name of any counter, including what
 *  ucs_rcache_pred_counter_name() appends. */
#define UCS_RCACHE_PRED_COUNTER_NAME 64

/**
 * Get the name of one number of a counter in traces and in the virtual file system: the
 * name in JSON, but with _ns at the end for times, and _0, _1, ... for elements of
 * arrays.
 */
void ucs_rcache_pred_counter_name(const ucs_rcache_pred_counter_t *counter,
                                  unsigned index,
                                  char name[UCS_RCACHE_PRED_COUNTER_NAME]);

typedef void (*ucs_rcache_pred_counter_cb_t)(void *arg, const char *name,
                                             uint64_t value);

/** Call @a cb for each number that the snapshot knows, with the name from
 *  ucs_rcache_pred_counter_name(). */
void ucs_rcache_pred_counters_for_each(
        const ucs_rcache_pred_snapshot_t *snapshot,
        ucs_rcache_pred_counter_cb_t cb, void *arg);

/** Append the bytes of UCX's own pools, those of each kind that is there, such as
 *  " (rc_receive 38.0 MiB, ud_send 2.0 MiB)"; nothing if there are none. */
void ucs_rcache_pred_pools_text(const uint64_t *kinds, ucs_string_buffer_t *strb);

END_C_DECLS

#endif
