/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COSTS_H_
#define PREDREG_COSTS_H_

#include <tools/trace/trace.h>
#include <ucs/base/line.h>
#include <ucs/reuse/costs.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file costs.h
 *
 * The time of a registration or deregistration, as a linear function of the
 * number of pages, and two estimates of this function from a recording:
 *
 * - Many measurements of registrations alone: the line of least squares, without those
 *   that were interrupted.
 * - A few measurements of first uses, some of which are far too long, because
 *   the kernel touched a page for the first time, or because another process
 *   had the processor: a line through quartiles, by medians.
 *
 * timeline.c collects the measurements of a rank; the report puts the first
 * uses of all ranks together.
 */

/** The size of a page in all replays, bytes. Replay treats a trace of a machine
 *  with larger pages as if the machine had pages of this size, and counts too
 *  few bytes for small buffers. */
#define PREDREG_PAGE_SIZE 4096ul

/** The time of an operation: ns for each page, plus ns for the operation. */
typedef struct predreg_cost {
    double page;
    double op;
} predreg_cost_t;

/** How recorded operations took other times than a line says: a list of factors. An empty
 *  list is all 0: none did. */
typedef struct predreg_spread {
    double *factors;
    size_t num;
} predreg_spread_t;

/** @return the factor of an operation by its number: the recorded ones again and again. */
static inline double predreg_spread_of(const predreg_spread_t *spread, size_t number)
{
    return (spread->num == 0) ? 1 : spread->factors[number % spread->num];
}

/**
 * Get the costs of small sends and of small registrations on the machine of a trace, as the
 * recorded process has measured them.
 *
 * @param [out] costs  Undefined unless this returns 1.
 * @return whether the trace has costs, and they are not damaged.
 */
int predreg_trace_costs(const ucs_rcache_trace_t *trace, ucs_reuse_costs_t *costs);


/** The largest cost of an operation, and of each of its pages, ns. Sums of
 *  costs below this limit stay far below 64 bits. */
#define PREDREG_REPLAY_MAX_COST 1e12

/** @return whether both parts of a cost are between 0 and the maximum. */
static inline int predreg_replay_cost_is_valid(const predreg_cost_t *cost)
{
    return (cost->op >= 0) && (cost->op <= PREDREG_REPLAY_MAX_COST) &&
           (cost->page >= 0) && (cost->page <= PREDREG_REPLAY_MAX_COST);
}

/** @return the time to register, or to deregister, all pages of a range,
 *  rounded, ns. */
uint64_t predreg_cost_of(const predreg_cost_t *cost, uint64_t address,
                         uint64_t length);

/** @return the time to copy a message that is refused room, ns: once, by the program, at
 *          the rate at which UCX expects to copy. */
uint64_t predreg_copy_time(uint64_t length);


/**
 * Fit a line to all measurements. No cost can be negative. So if the line falls, the
 * level line through the mean of the times replaces it, and if the line begins below 0, a
 * line through the origin replaces it.
 *
 * @param [in]  guess         The result if there is no measurement. If all measurements
 *                            have the same size, the cost of a page is that of the guess.
 * @param [out] page_known_p  Whether the sizes of the measurements differ enough to tell
 *                            the cost of a page.
 * @return whether there is a measurement.
 */
int predreg_fit_line(const ucs_line_t *fit, const predreg_cost_t *guess,
                     predreg_cost_t *cost, int *page_known_p);


/** A measurement of a first use. */
typedef struct predreg_point {
    double pages;
    double time;  /**< ns */
} predreg_point_t;

/** Measurements of first uses, in any order. An empty list is all 0. */
typedef struct predreg_points {
    predreg_point_t *points;
    size_t          num_points;
} predreg_points_t;

/** Add the measurement of an operation on a range, ns. */
void predreg_points_add(predreg_points_t *points, uint64_t address,
                        uint64_t length, uint64_t time);

/** Add all measurements of another list. */
void predreg_points_add_all(predreg_points_t *points,
                            const predreg_points_t *others);

void predreg_points_cleanup(predreg_points_t *points);

/** Get how measurements differ from a line, in the order in which they were added.
 *  @param [out] spread  Empty at first. */
void predreg_points_spread(const predreg_points_t *points, const predreg_cost_t *cost,
                           predreg_spread_t *spread);

/**
 * Put a line through all measurements, and sort the measurements.
 *
 * A disturbance only makes a measurement longer. So the lower quartile of each
 * size counts; a size is a quarter of an octave. The slope is the median of the
 * slopes between any two quartiles, weighted by their distance and by the
 * number of measurements behind both (Theil and Sen, with weights). Half of the
 * measurements are on each side of the line. Neither cost can be negative: a
 * level line replaces a falling one, and a line from the origin replaces a line
 * with a negative begin.
 *
 * @param [in]  guess         As in predreg_fit_line().
 * @param [out] page_known_p  Whether there are measurements of several sizes.
 * @return whether there is a measurement.
 */
int predreg_points_line(predreg_points_t *points, const predreg_cost_t *guess,
                        predreg_cost_t *cost, int *page_known_p);


/** Sum measurements up for predreg_fit_line().
 *  @param [in] usual  Leave out those that take several times as long as by the line of
 *                     predreg_points_line(): another process had the processor meanwhile.
 *                     One of them in a hundred would change the costs of all. First
 *                     registrations take several times as long for reasons of their own. */
void predreg_points_sum(const predreg_points_t *points, int usual, ucs_line_t *fit);


/**
 * The first uses in a recording under leave-pinned, where UCX's own cache registers. The
 * first use of some memory waits for the registration of this memory, and so the wait
 * measures the registration. A use of registered memory measures nothing. A use that
 * overlaps a registered region and does not cover all of it measures nothing either,
 * since UCX registers both together as one region.
 *
 * If UCX's cache was full and has deregistered memory, the replay does not know. A later
 * use of such memory is not taken for a measurement.
 */
typedef struct predreg_first_uses {
    predreg_points_t points;      /**< The measurements */
    void             *registered; /**< The registered memory; see ranges.h */
    unsigned         num_domains; /**< The highest number of a used domain, plus 1 */
} predreg_first_uses_t;

/** Whether memory was registered before. */
typedef enum {
    PREDREG_FIRST_NOT,    /**< All of the memory was registered before */
    PREDREG_FIRST_PARTLY, /**< A part was, and UCX registers that part's region with the
                               memory as one region */
    PREDREG_FIRST_ALONE   /**< No memory was registered before, or only regions that lie
                               within the memory and are registered anew with it */
} predreg_first_t;

/** Add a use, or a registration. The caller passes those of a trace, and its unmaps, in the
 *  order of their times. Before the first one, the structure is all zeros.
 *  @param [in]  duration  How long the use took to begin, ns; 0: not measured. */
predreg_first_t predreg_first_uses_begin(predreg_first_uses_t *uses, unsigned domain,
                                         uint64_t address, uint64_t length,
                                         uint64_t duration);

/** Add an unmap, which ends the registration of the memory. */
void predreg_first_uses_unmap(predreg_first_uses_t *uses, uint64_t start,
                              uint64_t end);

void predreg_first_uses_cleanup(predreg_first_uses_t *uses);

END_C_DECLS

#endif
