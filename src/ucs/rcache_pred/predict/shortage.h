/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_SHORTAGE_H_
#define UCS_RCACHE_PRED_SHORTAGE_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

/** @file shortage.h
 *
 * What a shortage of memory makes worth spending: processes that wait for memory lose
 * time, and giving up memory that is registered may take as much. The paper has no such
 * rule: its helper gives up the same memory whether anybody needs it or not.
 *
 * The functions are pure: they take times as arguments and need no lock.
 */

typedef struct ucs_rcache_pred_shortage {
    double part;     /**< Part of the run time that this process may spend on giving up
                          memory besides its budget, 0 to 1 */
    double waits;    /**< Part of the time in which processes have waited of late */
    int    is_short; /**< Whether memory counts as short */
} ucs_rcache_pred_shortage_t;


/**
 * Take in how long processes have waited for memory since the last call. The part follows
 * the waits with a delay, so that the sum of what may be spent is what was waited, and
 * memory that was given up does not come back as soon as nobody waits.
 *
 * @param [in] waits    Part of the time in which processes have waited for memory.
 * @param [in] procs    How many processes give memory up, 1 or more: each may spend an equal
 *                      part of that.
 * @param [in] own      How long this process itself has waited for memory that it was about
 *                      to register, ns: the kernel had taken that memory since it was given
 *                      up, and to give up more would only add to these waits.
 * @param [in] elapsed  Time since the last call, ns.
 */
void ucs_rcache_pred_shortage_update(ucs_rcache_pred_shortage_t *shortage, double waits,
                                     unsigned procs, double own, double elapsed);

#endif
