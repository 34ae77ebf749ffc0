/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SCHEDULE_H_
#define PREDREG_SCHEDULE_H_

#include "kept.h"

BEGIN_C_DECLS

/** @file schedule.h
 *
 * The schedules of strict-lru and bounded: which uses register under the bounds of the
 * parameters, and which registrations give way before. A use and a registration are told
 * by the index of the use in the timeline. Waits change no order of events, so that the
 * whole schedule is known before the program is played.
 */

typedef struct predreg_schedule_params {
    int            is_lru;      /**< strict-lru; else bounded */
    uint64_t       max_bytes;   /**< The bounds; UINT64_MAX: none */
    uint64_t       max_regions;
    uint64_t       max_steps;   /**< The most steps, of some 0.1 us each */
    predreg_cost_t reg;         /**< Costs of registrations */
    predreg_cost_t dereg;
} predreg_schedule_params_t;

/** A use is served by a registration, or a registration gives way before the use. */
typedef struct predreg_decision {
    size_t registration; /**< The use itself: it registers; PREDREG_NO_USE: the use is
                              refused */
    int    gives_way;
} predreg_decision_t;

typedef struct predreg_schedule {
    predreg_decision_t *decisions; /**< In the order of playing. The caller frees them */
    size_t             num;
} predreg_schedule_t;


/**
 * Make a schedule.
 *
 * @return UCS_ERR_UNSUPPORTED (logged) if that would take more steps than the parameters
 *         allow. Then the schedule needs no cleanup.
 */
ucs_status_t predreg_schedule_make(const predreg_timeline_t *timeline,
                                   const predreg_schedule_params_t *params,
                                   predreg_schedule_t *schedule);

END_C_DECLS

#endif
