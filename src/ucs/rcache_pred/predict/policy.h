/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_POLICY_H_
#define UCS_RCACHE_PRED_POLICY_H_

#include "cost.h"
#include "timeq.h"

/** @file policy.h
 *
 * The decisions of the helper (CF'11, section 3.2). Pure functions of the time
 * and of what things cost.
 */

/** What the helper's work takes, ns. */
typedef struct ucs_rcache_pred_times {
    ucs_rcache_pred_time_t reg;      /**< Register this region */
    ucs_rcache_pred_time_t dereg;    /**< Deregister this region */
    ucs_rcache_pred_time_t dq_item;  /**< Process an entry of the deregistration
                                          queue, deregistration apart: t_hash,
                                          t_cache and t_insert of the paper */
    ucs_rcache_pred_time_t rq_item;  /**< Process an entry of the registration
                                          queue, registration apart: t_update */
    ucs_rcache_pred_time_t wakeup;   /**< How late a sleep may end */
    ucs_rcache_pred_time_t share;    /**< Turns of others on the helper's
                                          processor: n (t_slice + t_cs) of
                                          inequality (2). 0: it has its own */
    ucs_rcache_pred_time_t margin;   /**< Time that a deregistration must gain
                                          to be worth it */
} ucs_rcache_pred_times_t;


/**
 * Deregistration condition, inequalities (1) and (2) of the paper: is there
 * time to deregister the region now and to register it again before its
 * deadline? And is the time in between worth it?
 */
int ucs_rcache_pred_may_deregister(const ucs_rcache_pred_times_t *times,
                                   ucs_rcache_pred_time_t now,
                                   ucs_rcache_pred_time_t deadline);

/**
 * Registration condition: the latest time at which the registration can still
 * be put off for one more entry of the deregistration queue, or for a sleep.
 * From then on the region is due.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_due_time(const ucs_rcache_pred_times_t *times,
                         ucs_rcache_pred_time_t deadline);

/**
 * What a deregistration must gain where the program itself registers and
 * deregisters: 64 times what these cost. They take at most 1/64 of the region's
 * period from the program, if each is on its critical path. (The factor is
 * ours: 1.6 %.)
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_own_margin(const ucs_rcache_pred_times_t *times);

/**
 * n (t_slice + t_cs) of inequality (2): the turns of the helpers on one
 * processor, 0 if there is one for each. t_cs, some us, is not added: the time
 * from when a helper should run until it does is measured, see wakeup.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_share(const ucs_rcache_pred_seat_t *seat);

/** A change of mode takes so many seats in a row that ask for it. */
#define UCS_RCACHE_PRED_MODE_VOTES 4

/**
 * Who shall do the helper's work, now that the process has this seat.
 *
 * @param [in]    mode   Who does it.
 * @param [inout] votes  Seats in a row that asked for the other.
 */
ucs_rcache_pred_mode_t
ucs_rcache_pred_choose_mode(ucs_rcache_pred_helper_t helper,
                            const ucs_rcache_pred_seat_t *seat,
                            ucs_rcache_pred_mode_t mode, unsigned *votes);

/** Deadlines closer than this are moved apart: one item of each queue. */
ucs_rcache_pred_time_t
ucs_rcache_pred_spacing(const ucs_rcache_pred_times_t *times);

/**
 * Move the deadline of a new element, and those before it, earlier until each
 * leaves @a gap to the next (CF'11, "Adjusting Registration Deadlines").
 */
void ucs_rcache_pred_space_deadlines(ucs_list_link_t *queue,
                                     ucs_rcache_pred_timeq_elem_t *elem,
                                     ucs_rcache_pred_time_t gap);

/**
 * How much of a bound whole regions leave for pieces of transfers that must get
 * on (see pieces.c): 1/16, at least 128 KiB, so that small bounds hold two pieces
 * of 64 KiB, and at most 4 MiB.
 *
 * @param [in] max_bytes  The bound; UINT64_MAX: none.
 */
uint64_t ucs_rcache_pred_bound_reserve(uint64_t max_bytes);

/**
 * In pieces of how many pages a transfer of @a pages is registered best. With
 * pieces of c pages, (a c + b) passes before the first byte moves, and each of
 * the pages / c pieces costs b more than it would as part of one registration;
 * the sum is least for c = sqrt(pages b / a), where a and b are those of
 * registration, with b of deregistration added.
 *
 * @param [in] reg, dereg  Costs of whole operations.
 * @return 1..pages.
 */
size_t ucs_rcache_pred_piece_pages(const ucs_rcache_pred_cost_t *reg,
                                   const ucs_rcache_pred_cost_t *dereg,
                                   size_t pages);

/**
 * Whether pieces of so many pages move the first byte of a transfer earlier by
 * more than all of them cost besides: a c + (pages / c) b < a pages, with the a
 * and b of @ref ucs_rcache_pred_piece_pages. Never with less than two pieces.
 */
int ucs_rcache_pred_pieces_pay(const ucs_rcache_pred_cost_t *reg,
                               const ucs_rcache_pred_cost_t *dereg,
                               size_t pages, size_t piece);

#endif
