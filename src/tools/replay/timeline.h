/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TIMELINE_H_
#define PREDREG_TIMELINE_H_

#include <trace/trace.h>

BEGIN_C_DECLS

/** @file timeline.h
 *
 * A recorded program without what its registrations did to it: when each use
 * would have begun and ended, had nothing ever been waited for. A policy is
 * played over it: the program is taken for one thread of time, and when a use
 * waits, everything after it happens that much later.
 *
 * Times are nanoseconds from the first event, sizes are bytes.
 */

typedef struct predreg_use {
    uint64_t                  begin;
    uint64_t                  end;     /**< >= begin. A use without a recorded
                                            end lasts until the timeline's */
    uint64_t                  address;
    uint64_t                  length;
    ucs_rcache_pred_context_t context;
    uint32_t                  flags;
    uint16_t                  domain;
    uint8_t                   kind;    /**< ucs_rcache_pred_use_kind_t */
} predreg_use_t;

typedef struct predreg_unmap {
    uint64_t time;
    uint64_t start;
    uint64_t end;
} predreg_unmap_t;

/** What an operation takes: ns a page, ns an operation (DESIGN: a pages + b). */
typedef struct predreg_cost {
    double page;
    double op;
} predreg_cost_t;

typedef struct predreg_timeline {
    predreg_use_t   *uses;    /**< By begin */
    size_t          num_uses;
    predreg_unmap_t *unmaps;  /**< By time */
    size_t          num_unmaps;
    unsigned        num_domains; /**< >= 1 */
    uint64_t        duration; /**< Up to the last event, without waits */
    uint64_t        waited;   /**< That were taken out */
    predreg_cost_t  reg;      /**< Fitted to what was recorded */
    predreg_cost_t  dereg;
    int             reg_known; /**< 0: nothing was recorded to fit it to, these
                                    are first guesses */
    int             dereg_known;
} predreg_timeline_t;


/** @return UCS_ERR_NO_MEMORY, or UCS_ERR_INVALID_PARAM (logged) if the trace
 *          makes no sense. */
ucs_status_t predreg_timeline_create(const ucs_rcache_trace_t *trace,
                                     predreg_timeline_t **timeline_p);

void predreg_timeline_destroy(predreg_timeline_t *timeline);

/** What it takes to register (or deregister) a range. */
uint64_t predreg_cost_of(const predreg_cost_t *cost, uint64_t address,
                         uint64_t length);


/** A policy, as it is played. Times are those of the program under it. Each
 *  function returns how long the program waits in it. */
typedef struct predreg_player {
    void     *arg;
    uint64_t (*begin)(void *arg, const predreg_use_t *use, uint64_t now);
    uint64_t (*end)(void *arg, const predreg_use_t *use, uint64_t now);
    void     (*unmap)(void *arg, const predreg_unmap_t *unmap, uint64_t now);
} predreg_player_t;

/**
 * Play all of it. Of events at the same time, ends come before unmaps and these
 * before begins.
 *
 * @param [out] duration_p  The timeline's, and what was waited.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_timeline_play(const predreg_timeline_t *timeline,
                                   const predreg_player_t *player,
                                   uint64_t *duration_p);

END_C_DECLS

#endif
