/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COST_H_
#define PREDREG_COST_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file cost.h
 *
 * How long registrations and deregistrations take: a linear function of the
 * number of pages.
 */

/** The size of a page, bytes, in all replays. A trace of a machine with larger
 *  pages is replayed as if it had these: what its small buffers pin is then
 *  counted too low. */
#define PREDREG_PAGE_SIZE 4096ul

/** How long an operation takes: ns for each page, plus ns for the operation. */
typedef struct predreg_cost {
    double page;
    double op;
} predreg_cost_t;

/** The most that an operation may cost, and also each of its pages, ns. With
 *  this limit times, which are sums of costs, stay far below 64 bits. */
#define PREDREG_REPLAY_MAX_COST 1e12

/** @return whether a cost is in range: from 0 to the maximum. */
static inline int predreg_replay_cost_is_valid(const predreg_cost_t *cost)
{
    return (cost->op >= 0) && (cost->op <= PREDREG_REPLAY_MAX_COST) &&
           (cost->page >= 0) && (cost->page <= PREDREG_REPLAY_MAX_COST);
}

/** @return how long it takes to register, or to deregister, all pages of a
 *  range, rounded, ns. */
uint64_t predreg_cost_of(const predreg_cost_t *cost, uint64_t address,
                         uint64_t length);

END_C_DECLS

#endif
