/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_WAITS_H_
#define PREDREG_WAITS_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file waits.h
 *
 * The clock of a recorded program that never waited: takes the waits of all its
 * threads out of the times of its events. timeline.c calls these functions for
 * the events of a trace, in the order of their times.
 */

typedef struct predreg_waits {
    uint64_t origin; /**< Recorded time of the first event, ns */
    uint64_t until;  /**< When all waits that have begun so far have ended,
                          recorded time, ns */
    uint64_t sum;    /**< Length of the waits that have begun so far, ns. A time
                          in which several threads wait counts once */
} predreg_waits_t;


/** @param [in] origin  Recorded time of the first event, ns. */
void predreg_waits_init(predreg_waits_t *waits, uint64_t origin);

/** @return when an event would have happened if the program had never waited,
 *          ns after the first event. */
uint64_t predreg_waits_time(const predreg_waits_t *waits, uint64_t time);

/**
 * Take a wait out of the times. If several threads wait at the same time, that
 * time is taken out once, since it passed only once for the rest of the
 * program.
 *
 * @param [in] time  When the wait began, ns. No earlier than in calls before.
 */
void predreg_waits_add(predreg_waits_t *waits, uint64_t time,
                       uint64_t duration);

END_C_DECLS

#endif
