/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PRESSURE_H_
#define UCS_RCACHE_PRED_PRESSURE_H_

#include <ucs/sys/compiler_def.h>

#include <limits.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file pressure.h
 *
 * Whether memory is short: how long processes have waited for it of late, in the
 * whole system and in the control group of this process (Linux,
 * Documentation/accounting/psi.rst, and "memory.pressure" of cgroup-v2.rst;
 * groups of version 1 do not tell). No
 * descriptor is kept between two looks. One thread at a time; not in memory
 * hooks.
 */

/** Memory is short if some process has waited for it in this part of the time:
 *  one that is clearly slowed down. */
#define UCS_RCACHE_PRED_PRESSURE_PART 0.1

/** How many files are looked at */
#define UCS_RCACHE_PRED_PRESSURE_FILES 2

typedef struct ucs_rcache_pred_pressure {
    char     files[UCS_RCACHE_PRED_PRESSURE_FILES][PATH_MAX]; /**< Empty: there
                                                                   is none */
    uint64_t waited[UCS_RCACHE_PRED_PRESSURE_FILES]; /**< At the last look,
                                                          microseconds */
    uint64_t time;  /**< Of the last look, ns */
} ucs_rcache_pred_pressure_t;


/** Begin to watch, from a time on. */
void ucs_rcache_pred_pressure_init(ucs_rcache_pred_pressure_t *pressure,
                                   uint64_t now);

/** The same with files of the caller's choice, for tests. NULL: none. */
void ucs_rcache_pred_pressure_init_files(ucs_rcache_pred_pressure_t *pressure,
                                         const char *system,
                                         const char *group, uint64_t now);

/** @return whether memory has been short since the last look. 0 where the system
 *          does not tell.
 *
 * @param [in] now  Nanoseconds, by the same clock as before. */
int ucs_rcache_pred_pressure_look(ucs_rcache_pred_pressure_t *pressure,
                                  uint64_t now);

END_C_DECLS

#endif
