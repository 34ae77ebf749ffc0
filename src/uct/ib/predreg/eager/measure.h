/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MEASURE_H_
#define UCT_PREDREG_MEASURE_H_

#include <ucs/base/relaxed.h>
#include <ucs/reuse/costs.h>

#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file measure.h
 *
 * Measures how long it takes to register a small buffer, to copy it, and to look it up in
 * the table: these times give the break-even number of sends.
 */

/** How long measuring may take, by default. A single call of the caller's functions
 *  may take longer, and so may other programs on the processor. */
#define UCT_PREDREG_MEASURE_MAX_NSEC 5000000

/** How long measuring the copies alone may take: the program waits for the result when it
 *  makes its first context. */
#define UCT_PREDREG_MEASURE_GAIN_MAX_NSEC 1000000

/** V, the cost of a lookup in the table (ucs/reuse/costs.h), where the caller gives no
 *  lookup, nanoseconds: the longest hit of the table that its test has seen. */
#define UCT_PREDREG_MEASURE_LOOKUP_NSEC 15

/** How long a measurement may take that is repeated while the program runs. */
#define UCT_PREDREG_MEASURE_LOOK_MAX_NSEC 250000

/** A part of V, nanoseconds. Without the time of the copy, a send from a registered
 *  buffer takes this much longer than a copied send, for changed parameters, a callback,
 *  and UCP's zero-copy protocol. With the copies as measured here, V is then as large as
 *  the copy of 2.2 KB: on an AMD EPYC both kinds of sends were seen to take equally long
 *  there. */
#define UCT_PREDREG_MEASURE_HOT_NSEC 20


typedef struct {
    /** Register memory. The memory was touched, and each call has another range, so that
     *  a cache below this function never has the answer. unmap() gets the handle. */
    ucs_status_t (*map)(void *arg, void *address, size_t length,
                        void **handle_p);
    /** Deregister. */
    void         (*unmap)(void *arg, void *handle);
    void         *arg;

    /** Find a buffer in a table; NULL: a lookup is taken to last
     *  UCT_PREDREG_MEASURE_LOOKUP_NSEC. */
    void         (*lookup)(void *lookup_arg, const void *buffer);
    void         *lookup_arg;

    /** How long to measure, nanoseconds; 0: UCT_PREDREG_MEASURE_MAX_NSEC. */
    uint64_t     max_nsec;

    /** The clock, nanoseconds; NULL: the monotonic clock of the system. */
    uint64_t     (*now)(void);
} uct_predreg_measure_params_t;


/**
 * Measure. All results are finite and not negative, and the copy of a longer
 * message never takes less than the copy of a shorter one.
 *
 * Allocates, maps and unmaps memory: the caller must not hold a lock that a memory hook
 * takes.
 *
 * @return UCS_INPROGRESS if there was so little time that the costs are a guess,
 *         the error of map, or UCS_ERR_NO_MEMORY.
 */
ucs_status_t uct_predreg_measure(const uct_predreg_measure_params_t *params,
                                 ucs_reuse_costs_t *costs);

/**
 * Measure from which length on a copy takes longer than
 * UCT_PREDREG_MEASURE_HOT_NSEC: shorter messages never gain, whatever a
 * registration takes. As uct_predreg_measure(), but in
 * UCT_PREDREG_MEASURE_GAIN_MAX_NSEC.
 *
 * @param [in]  clock        Nanoseconds; NULL: the monotonic clock of the system.
 * @param [out] by_string_p  Which lengths the string instruction copies faster
 *                           than memcpy().
 * @return bytes, up to UCS_REUSE_MAX_LENGTH; 0: no message gains, or there is no
 *         memory.
 */
size_t uct_predreg_measure_gain_from(uint64_t (*clock)(void),
                                     ucs_reuse_copy_classes_t *by_string_p);

END_C_DECLS

#endif
