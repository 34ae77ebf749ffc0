/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_CLOCK_H_
#define UCS_CLOCK_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>
#include <time.h>

BEGIN_C_DECLS

/** @file clock.h
 *
 * The clocks of the system, in ns. Functions may be called by any thread, in memory
 * hooks and in handlers of signals too: clock_gettime() is safe there (POSIX 2.4.3).
 * A cache has a clock of its own, which is faster, see ucs/host/thread.h.
 */

#define UCS_NSEC_PER_SEC 1000000000ull


/** @return the time of a clock of the system, ns. */
static inline uint64_t ucs_clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ((uint64_t)ts.tv_sec * UCS_NSEC_PER_SEC) + ts.tv_nsec;
}

/** @return the time of CLOCK_MONOTONIC, ns. */
static inline uint64_t ucs_monotonic_ns(void)
{
    return ucs_clock_ns(CLOCK_MONOTONIC);
}

/** @return a time, ns, as a structure of the system. */
static inline struct timespec ucs_clock_timespec(uint64_t time)
{
    return (struct timespec){.tv_sec  = (time_t)(time / UCS_NSEC_PER_SEC),
                             .tv_nsec = (long)(time % UCS_NSEC_PER_SEC)};
}

END_C_DECLS

#endif
