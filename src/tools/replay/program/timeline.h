/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TIMELINE_H_
#define PREDREG_TIMELINE_H_

#include "costs.h"

#include <tools/trace/trace.h>

BEGIN_C_DECLS

/** @file timeline.h
 *
 * A recorded program without the effects of its registrations: the begin and
 * end of each use, as if the program had never waited for a registration; and
 * the loop over all events in which a policy makes the program wait anew.
 *
 * Times are nanoseconds from the first event, sizes are bytes.
 */

typedef struct predreg_use {
    uint64_t                  begin;
    uint64_t                  end;     /**< >= begin. A use without a recorded
                                            end lasts until the end of the
                                            timeline */
    uint64_t                  address;
    uint64_t                  length;
    ucs_rcache_pred_context_t context;
    uint32_t                  flags;
    uint16_t                  domain;
    uint8_t                   kind;    /**< ucs_rcache_pred_use_kind_t */
    uint64_t                  fresh;   /**< Registered by this use for the first time, its
                                            memory takes so much longer, ns: the system
                                            makes pages, and caches know nothing of them */
} predreg_use_t;

/** A use as recorded, ns by the clock of the trace. */
typedef struct predreg_recorded {
    uint64_t begin;
    uint64_t ready; /**< When its memory was registered */
    uint64_t end;   /**< UINT64_MAX: the trace has no end of the use */
} predreg_recorded_t;

/** An unmap, or a mapping that an arena could serve. */
typedef struct predreg_unmap {
    uint64_t time;
    uint64_t start;
    uint64_t end;
} predreg_unmap_t, predreg_map_t;

typedef struct predreg_timeline {
    predreg_use_t    *uses;       /**< Sorted by begin */
    size_t           num_uses;
    predreg_recorded_t *recorded; /**< Of each use */
    predreg_unmap_t  *unmaps;     /**< Sorted by time */
    size_t           num_unmaps;
    predreg_map_t    *maps;       /**< Sorted by time */
    size_t           num_maps;
    unsigned         num_domains; /**< >= 1 */
    uint64_t         duration;    /**< Time of the last event, without waits */
    uint64_t         waited;      /**< Sum of the removed waits */
    double           partners;    /**< Each wait of the rank delays it by this part of the
                                       wait once more, see predreg_partners_part(). Less if
                                       the recording has no time for that */
    predreg_cost_t   reg;         /**< Cost of registrations, fitted to the
                                       recording */
    predreg_cost_t   dereg;
    predreg_spread_t reg_spread;  /**< How recorded registrations differ from reg */
    predreg_spread_t dereg_spread;
    predreg_cost_t   reg_guess;   /**< The guess of what the recording does not tell of
                                       reg */
    predreg_points_t first_uses;  /**< The measurements that reg comes from if the
                                       recording has no event of a registration */
    int              reg_known;   /**< 0: the recording has no measurement; reg
                                       is a first guess */
    int              dereg_known;
    int              reg_page_known;   /**< 0: all measurements have the same size, and
                                            the cost of a page is a first guess */
    int              dereg_page_known;
} predreg_timeline_t;


/** @param [in] partners  As the field of the timeline; 0: the rank waits for itself alone.
 *  @return UCS_ERR_INVALID_PARAM (logged) if no program can have had the events
 *          of the trace. */
ucs_status_t predreg_timeline_create(const ucs_rcache_trace_t *trace, double partners,
                                     predreg_timeline_t **timeline_p);

void predreg_timeline_destroy(predreg_timeline_t *timeline);


/** The functions of a policy for the events of a timeline. Times are times of
 *  the program under the policy. */
typedef struct predreg_player {
    void     *arg;
    /** A use begins, or ends. @return how long the program waits then, ns. */
    uint64_t (*begin)(void *arg, const predreg_use_t *use, uint64_t now);
    uint64_t (*end)(void *arg, const predreg_use_t *use, uint64_t now);
    void     (*unmap)(void *arg, const predreg_unmap_t *unmap, uint64_t now);
    /** NULL: the policy has no arena. */
    void     (*map)(void *arg, const predreg_map_t *map, uint64_t now);
    /** Whether the waits that begin() returns have the time of fresh memory; else it is
     *  added to them. */
    int      counts_fresh;
} predreg_player_t;

/**
 * Play a policy over a timeline. The program is one flow of time: after a wait
 * under the policy, all further events happen later by the wait and by the part of it that
 * the rank waits for its partners. Of events at the same time, ends of uses come first, then
 * unmaps, maps, and begins of uses.
 *
 * @return the duration of the timeline, plus all waits.
 */
uint64_t predreg_timeline_play(const predreg_timeline_t *timeline,
                               const predreg_player_t *player);

END_C_DECLS

#endif
