/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PARTNERS_H_
#define PREDREG_PARTNERS_H_

#include "timeline.h"

BEGIN_C_DECLS

/** @file partners.h
 *
 * How much of the registrations of other ranks each rank of a job waits for. The sender
 * of a message registers its buffer, then tells the receiver, which registers its own:
 * both have lost the time of two registrations. Of ranks that register at the same time,
 * each has lost only its own.
 *
 * The trace of a rank has its own waits only. But the uses of a message end at about the
 * same time in both ranks, are as long, and are a send and a receive, so that traces whose
 * clocks agree tell which uses belong together, and what one rank did while the other
 * waited.
 *
 * Threads: the functions share no state; a caller owns what it has created.
 */

typedef struct predreg_partners predreg_partners_t;


predreg_partners_t *predreg_partners_create(void);

void predreg_partners_destroy(predreg_partners_t *partners);

/** Add the next rank of a job, by its whole trace, or by the begin of a long one. A trace
 *  without clocks counts as a rank without uses. */
void predreg_partners_add(predreg_partners_t *partners, const ucs_rcache_trace_t *trace,
                          const predreg_timeline_t *timeline);

/** Compare the ranks, once all of them are added. */
void predreg_partners_compare(predreg_partners_t *partners);

/**
 * @param [in] rank  Number of traces that were added before that of the rank.
 * @return for how long the rank has waited for registrations of its partners, as a part of
 *         what the partners have waited for them or the rank for its own, whichever is
 *         longer: 0 to 1; 0 if nothing is known of partners.
 */
double predreg_partners_part(const predreg_partners_t *partners, size_t rank);

END_C_DECLS

#endif
