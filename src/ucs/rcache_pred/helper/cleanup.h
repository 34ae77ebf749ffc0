/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_CLEANUP_H_
#define UCS_RCACHE_PRED_HELPER_CLEANUP_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/cleanup.h
 *
 * What the helper clears away: stale regions, those whose entries the DQ has
 * lost, and those that nobody has used for long.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** Deregister and forget stale regions, at most @a steps of them.
 *  @return whether there are more. */
int pred_reap_stale(ucs_rcache_pred_t *pred, unsigned steps);

/** Process the last use of a region of which the DQ has lost all entries, if
 *  there is such a region. @return whether there was. */
int pred_process_lost(ucs_rcache_pred_t *pred);

/** If there are too many unregistered regions, forget some that were not used
 *  for long. @return whether another round may find more of them. */
int pred_collect_garbage(ucs_rcache_pred_t *pred);

#endif
