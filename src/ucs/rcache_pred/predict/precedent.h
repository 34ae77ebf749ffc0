/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PRECEDENT_H_
#define UCS_RCACHE_PRED_PRECEDENT_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file precedent.h
 *
 * What followed the uses of any region in one place of the program, with one
 * length: a precedent for other regions that were used once in the same way. A
 * region asks for one, and waits if there is none yet.
 *
 * In some places buffers are used once that never come again, or buffers whose
 * next uses are of different loops. So a precedent has credit: each region that
 * follows it takes some, and gives back more if its use comes when it is
 * expected. Who asks for more than that waits.
 *
 * The functions are pure; only the helper calls them, so that they need no lock.
 */

/** How many intervals of a way of use are remembered, the last ones. They tell
 *  less than as many of one region would, since they are of about the same time:
 *  with more of them, a history that is told would take intervals for steady
 *  before it has seen one itself. */
#define UCS_RCACHE_PRED_PRECEDENT_DEPTH 2

/** So many regions may follow a precedent before any of them has shown that it is
 *  right: so many registrations may be for nothing. */
#define UCS_RCACHE_PRED_PRECEDENT_CREDIT 4

/** What is given back for each of them that was right: two more may follow in its
 *  place. So regions in turns are told faster than they are used. */
#define UCS_RCACHE_PRED_PRECEDENT_MET 2

/** The most that a precedent is given credit, so that it is not followed for long
 *  after the program has changed. */
#define UCS_RCACHE_PRED_PRECEDENT_MAX_CREDIT 64

/** With each so many intervals that are added, a precedent without credit gets
 *  some for one region. */
#define UCS_RCACHE_PRED_PRECEDENT_RETRY 64

/* Precedents are kept in sets of so many, by the hash of the way of use. A new
 * one replaces the one of its set that was added to longest ago. */
#define UCS_RCACHE_PRED_PRECEDENT_SETS 256
#define UCS_RCACHE_PRED_PRECEDENT_WAYS 4


/** What is known of one way of use. */
typedef struct ucs_rcache_pred_precedent {
    uint64_t               way;     /**< See @ref
                                         ucs_rcache_pred_signature_of_way;
                                         0: none is here */
    uint64_t               added;   /**< Number of the table's last addition
                                         here */
    ucs_list_link_t        waiting; /**< Who waits for the first interval that
                                         is added next: those that began to wait
                                         first come first */
    uint64_t               count;   /**< How many intervals there were */
    unsigned               credit;  /**< How many regions may follow it */
    ucs_rcache_pred_time_t intervals[UCS_RCACHE_PRED_PRECEDENT_DEPTH];
} ucs_rcache_pred_precedent_t;


/** The ways of use that were seen lately. */
typedef struct ucs_rcache_pred_precedent_table {
    uint64_t                    additions; /**< How many there were */
    ucs_rcache_pred_precedent_t sets[UCS_RCACHE_PRED_PRECEDENT_SETS]
                                    [UCS_RCACHE_PRED_PRECEDENT_WAYS];
} ucs_rcache_pred_precedent_table_t;


/** Let a table have no precedents. */
void ucs_rcache_pred_precedent_init(ucs_rcache_pred_precedent_table_t *table);

/** Add how long after a use of a region its next one has begun, ns, > 0. */
void ucs_rcache_pred_precedent_add(ucs_rcache_pred_precedent_table_t *table,
                                   uint64_t way,
                                   ucs_rcache_pred_time_t interval);

/**
 * Ask what is to be followed.
 *
 * @param [out] intervals  Room for UCS_RCACHE_PRED_PRECEDENT_DEPTH. The last one
 *                         was added last.
 * @return how many intervals are known of a way of use; 0: none, or there is no
 *         credit.
 */
unsigned
ucs_rcache_pred_precedent_ask(const ucs_rcache_pred_precedent_table_t *table,
                              uint64_t way, ucs_rcache_pred_time_t *intervals);

/** Follow a precedent that was found so: takes credit for one. */
void ucs_rcache_pred_precedent_follow(ucs_rcache_pred_precedent_table_t *table,
                                      uint64_t way);

/** The use of a region that has followed a precedent came when it was
 *  expected. */
void ucs_rcache_pred_precedent_met(ucs_rcache_pred_precedent_table_t *table,
                                   uint64_t way);

/** Let a link wait until a way of use can be followed. It is not waiting
 *  yet. If the precedent is replaced, it waits no more. */
void ucs_rcache_pred_precedent_wait(ucs_rcache_pred_precedent_table_t *table,
                                    uint64_t way, ucs_list_link_t *link);

/** Stop waiting. All zeros is a link that has not waited. */
void ucs_rcache_pred_precedent_leave(ucs_list_link_t *link);

/** @return whoever has waited for longest for a way of use, and does not wait any
 *          more; NULL if nobody waits, or nothing is known yet, or there is no
 *          credit. */
ucs_list_link_t *
ucs_rcache_pred_precedent_release(ucs_rcache_pred_precedent_table_t *table,
                                  uint64_t way);

END_C_DECLS

#endif
