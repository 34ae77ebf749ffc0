/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_H_
#define PREDREG_REPLAY_H_

#include "ledger.h"
#include "timeline.h"

#include <ucs/rcache_pred/api/rcache_pred.h>

BEGIN_C_DECLS

/** @file replay.h
 *
 * A recorded program under another policy, on a virtual clock. Deterministic:
 * the same trace and parameters give the same result, bit for bit.
 */

typedef enum {
    PREDREG_REPLAY_PREDICT,      /**< This library's, by its own code */
    PREDREG_REPLAY_ON_DEMAND,    /**< Likewise */
    PREDREG_REPLAY_LEAVE_PINNED, /**< Never deregistered, as UCX's cache does */
    PREDREG_REPLAY_LRU,          /**< Likewise, up to so many bytes */
    PREDREG_REPLAY_REGIONS,      /**< Likewise, up to so many regions */
    PREDREG_REPLAY_PERIODICITY,  /**< The periodicity-based predictor the paper
                                      compares with (its reference 8) */
    PREDREG_REPLAY_CLAIRVOYANT,  /**< Knows the future: no schedule without
                                      waiting uses fewer byte-seconds */
    PREDREG_REPLAY_LAST
} predreg_replay_policy_t;

extern const char *predreg_replay_policy_names[];


typedef struct predreg_replay_params {
    predreg_replay_policy_t  policy;
    uint64_t                 limit;   /**< LRU: bytes; REGIONS: regions; 0: half
                                           of leave-pinned's peak */
    predreg_cost_t           reg;     /**< Usually the timeline's */
    predreg_cost_t           dereg;
    uint64_t                 wakeup;  /**< PREDICT: how long the helper takes to
                                           wake, ns */
    unsigned                 window;  /**< PERIODICITY: uses that are compared
                                           with those a period before, at least
                                           2, at most 4096; periods are
                                           shorter */
    ucs_rcache_pred_params_t cache;   /**< PREDICT, ON_DEMAND: what knobs set;
                                           ops, arg, node and policy are not
                                           looked at. The sink, if there is one,
                                           is told what happens; its clock is
                                           ahead of the program's */
} predreg_replay_params_t;


/** Of the uses from one place in the program. */
typedef struct predreg_replay_site {
    uint64_t caller;
    uint64_t stack;
    uint64_t uses;
    uint64_t hits;
    uint64_t late;
    uint64_t waited;       /**< On the critical path, ns */
    double   byte_seconds; /**< Registered for its uses: while they last, before
                                and after */
} predreg_replay_site_t;

/** What the helper did. */
typedef struct predreg_helper_op {
    uint64_t time;      /**< It began */
    uint64_t duration;  /**< ns */
    int      is_reg;    /**< A registration, else a deregistration */
} predreg_helper_op_t;

typedef struct predreg_replay_result {
    predreg_replay_policy_t policy;
    uint64_t                limit;     /**< LRU, REGIONS: that was kept to */
    predreg_sum_t           pinned;
    double                  pinned_avg_bytes;      /**< Over duration; CLAIRVOYANT:
                                                        and the time before 0 in
                                                        which it registers */
    uint64_t                uses;
    uint64_t                hits;
    uint64_t                late;
    uint64_t                early;
    uint64_t                wasted;
    uint64_t                refused;   /**< Not among the uses: there was no
                                            room, they went without */
    uint64_t                regs;      /**< Registrations */
    uint64_t                waited;    /**< On the critical path, ns */
    uint64_t                duration;  /**< ns */
    uint64_t                helper;    /**< The helper's time in registrations
                                            and deregistrations, ns */
    uint64_t                prediction_errors[UCS_RCACHE_PRED_ERROR_CLASSES];
    predreg_replay_site_t   *sites;    /**< By caller, then stack */
    unsigned                num_sites;
    predreg_helper_op_t     *helper_ops; /**< PREDICT, PERIODICITY. By time */
    size_t                  num_helper_ops;
} predreg_replay_result_t;


/** What an operation takes at most, or a page of it, ns: so that times stay far
 *  below 64 bits. */
#define PREDREG_REPLAY_MAX_COST 1e12

/** Whether a cost is one: from 0 to the maximum. */
static inline int predreg_replay_cost_is_valid(const predreg_cost_t *cost)
{
    return (cost->op >= 0) && (cost->op <= PREDREG_REPLAY_MAX_COST) &&
           (cost->page >= 0) && (cost->page <= PREDREG_REPLAY_MAX_COST);
}

/** Those of the library's own knobs, and the costs of the timeline.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_replay_params_default(const predreg_timeline_t *timeline,
                                           predreg_replay_policy_t policy,
                                           predreg_replay_params_t *params);

/** @return UCS_ERR_INVALID_PARAM (logged, naming the value and what is accepted)
 *          or UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_replay(const predreg_timeline_t *timeline,
                            const predreg_replay_params_t *params,
                            predreg_replay_result_t *result);

void predreg_replay_result_cleanup(predreg_replay_result_t *result);

END_C_DECLS

#endif
