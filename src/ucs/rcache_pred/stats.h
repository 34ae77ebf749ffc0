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
 * What a process tells of itself, and the one list of the names it does so by:
 * in the summary at its exit, live, at the end of a trace, and in UCX's virtual
 * file system.
 */

/** Names as the user writes them; NULL comes last. */
extern const char *ucs_rcache_pred_policy_names[];
extern const char *ucs_rcache_pred_mode_names[];


/** A process at one time. */
typedef struct ucs_rcache_pred_snapshot {
    int32_t                 rank;   /**< In its job; -1: not known */
    int32_t                 pid;
    uint32_t                policy; /**< ucs_rcache_pred_policy_t, in force */
    uint32_t                mode;   /**< ucs_rcache_pred_mode_t */
    ucs_rcache_pred_stats_t stats;  /**< Under leave-pinned only uses */
    uint64_t                pool_bytes;    /**< Most registered at a time by UCX's
                                                own pools; under leave-pinned,
                                                ever */
    uint64_t                kernel_pinned; /**< By the kernel's count, bytes;
                                                at most, as far as was looked */
    uint64_t                helper_cpu;    /**< Of the helper's thread, ns */
} ucs_rcache_pred_snapshot_t;


typedef enum {
    UCS_RCACHE_PRED_UNIT_COUNT,
    UCS_RCACHE_PRED_UNIT_BYTES,
    UCS_RCACHE_PRED_UNIT_NSEC,
    UCS_RCACHE_PRED_UNIT_LAST
} ucs_rcache_pred_unit_t;

/** A number, or some of a kind, in a snapshot. */
typedef struct ucs_rcache_pred_counter {
    const char             *name;  /**< Of a time: without its unit */
    ucs_rcache_pred_unit_t unit;
    size_t                 offset; /**< Of the uint64_t in the snapshot */
    unsigned               num;    /**< 1, or elements of an array */
    int                    always; /**< Known under leave-pinned as well */
    const char             *help;
} ucs_rcache_pred_counter_t;

/** All of them; one without a name comes last. */
extern const ucs_rcache_pred_counter_t ucs_rcache_pred_counters[];

/** Whether the snapshot knows it: under leave-pinned, UCX's own cache decides
 *  what is registered, and tells nobody. */
int
ucs_rcache_pred_counter_is_known(const ucs_rcache_pred_counter_t *counter,
                                 const ucs_rcache_pred_snapshot_t *snapshot);

/** @param [in] index  Less than num. */
uint64_t
ucs_rcache_pred_counter_get(const ucs_rcache_pred_counter_t *counter,
                            const ucs_rcache_pred_snapshot_t *snapshot,
                            unsigned index);

/** Name and value as in JSON: times in seconds, all digits in the C locale;
 *  null if it is not known. */
void ucs_rcache_pred_counter_to_json(const ucs_rcache_pred_counter_t *counter,
                                     const ucs_rcache_pred_snapshot_t *snapshot,
                                     ucs_string_buffer_t *strb);

/** The members of a JSON object, without its braces; no comma at the end. */
void
ucs_rcache_pred_snapshot_to_json(const ucs_rcache_pred_snapshot_t *snapshot,
                                 ucs_string_buffer_t *strb);

/** A JSON string, quotes included. What is not ASCII passes as it is. */
void ucs_rcache_pred_string_to_json(const char *string,
                                    ucs_string_buffer_t *strb);

/** Room for the name of any counter, with what is appended to it. */
#define UCS_RCACHE_PRED_COUNTER_NAME 64

/**
 * Name of one number, in traces and in the virtual file system: as in JSON, but
 * times end in _ns, and elements of arrays in _0, _1, ...
 */
void ucs_rcache_pred_counter_name(const ucs_rcache_pred_counter_t *counter,
                                  unsigned index,
                                  char name[UCS_RCACHE_PRED_COUNTER_NAME]);

typedef void (*ucs_rcache_pred_counter_cb_t)(void *arg, const char *name,
                                             uint64_t value);

/** All numbers that the snapshot knows, one at a time, by these names. */
void ucs_rcache_pred_counters_for_each(
        const ucs_rcache_pred_snapshot_t *snapshot,
        ucs_rcache_pred_counter_cb_t cb, void *arg);

END_C_DECLS

#endif
