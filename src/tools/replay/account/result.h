/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RESULT_H_
#define PREDREG_RESULT_H_

#include "ledger.h"

#include <ucs/rcache_pred/api/rcache_pred.h>

BEGIN_C_DECLS

/** @file result.h
 *
 * The result of replaying a policy. An account makes it, and the code that
 * prints or draws results reads it.
 */

/** The part of a result that belongs to the uses from one call site. */
typedef struct predreg_replay_site {
    uint64_t caller;
    uint64_t stack;
    uint64_t uses;
    uint64_t hits;
    uint64_t late;
    uint64_t waited;       /**< On the critical path, ns */
    double   byte_seconds; /**< Memory over time registered for its uses,
                                before, while and after they last */
} predreg_replay_site_t;

/** An operation of the helper. */
typedef struct predreg_helper_op {
    uint64_t time;      /**< When it began, ns */
    uint64_t duration;  /**< ns */
    int      is_reg;    /**< Whether it was a registration, else a
                             deregistration */
} predreg_helper_op_t;

typedef struct predreg_replay_result {
    unsigned                policy;    /**< predreg_replay_policy_t */
    uint64_t                limit;     /**< LRU, REGIONS, ARENA: the limit that
                                            was in force */
    predreg_sum_t           pinned;
    double                  pinned_avg_bytes;      /**< Average over the
                                                        duration and, under
                                                        CLAIRVOYANT, the time
                                                        before 0 in which it
                                                        registers */
    uint64_t                uses;
    uint64_t                hits;
    uint64_t                late;
    uint64_t                early;
    uint64_t                wasted;
    uint64_t                refused;   /**< How many uses went without a
                                            registration for lack of room; uses
                                            does not count them */
    uint64_t                answered;  /**< ARENA: how many uses its memory was
                                            registered for already; uses and hits
                                            count them */
    uint64_t                forgotten; /**< PREDICT, ARENA: uses of buffers that
                                            were forgotten, since known_regions
                                            allows no more */
    uint64_t                regs;      /**< Registrations */
    uint64_t                waited;    /**< On the critical path, ns */
    uint64_t                duration;  /**< ns */
    double                  budget;    /**< PREDICT: what giving up memory may
                                            cost, part of the run time;
                                            INFINITY: no bound. Others: INFINITY
                                            */
    uint64_t                spent;     /**< PREDICT: what it has cost, as the
                                            budget counts it, ns */
    uint64_t                helper;    /**< Time that the helper spent on
                                            registrations and deregistrations,
                                            ns */
    uint64_t                prediction_errors[UCS_RCACHE_PRED_ERROR_CLASSES];
    predreg_replay_site_t   *sites;    /**< Sorted by caller, then by stack */
    unsigned                num_sites;
    predreg_helper_op_t     *helper_ops; /**< PREDICT: sorted by time */
    size_t                  num_helper_ops;
} predreg_replay_result_t;


/** Free the arrays of a result. */
void predreg_replay_result_cleanup(predreg_replay_result_t *result);

/** Free what is not needed to sum up ranks: the call sites and the operations
 *  of the helper. */
void predreg_replay_result_shrink(predreg_replay_result_t *result);

END_C_DECLS

#endif
