/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PATTERN_H_
#define PREDREG_PATTERN_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file pattern.h
 *
 * Periodicity of a stream of samples: it has the period m if each of the last
 * samples, as many as are compared, equals the one m before it (F. Freitag et
 * al., "Exploring the Predictability of MPI Messages", IPDPS 2003, and CF'11,
 * section 3.1).
 */

/** How many samples may be compared. A period is shorter. */
#define PREDREG_PATTERN_MIN_COMPARED 2
#define PREDREG_PATTERN_MAX_COMPARED 4096

typedef struct predreg_sample {
    uint64_t value;
    uint64_t time;   /**< ns */
} predreg_sample_t;

typedef struct predreg_pattern {
    unsigned         compared; /**< So many samples are compared */
    predreg_sample_t *samples; /**< The last of them, a ring */
    uint64_t         *equal;   /**< How many of the last samples in a row equal
                                    the one that far before: by distance, less
                                    than compared */
    uint64_t         count;    /**< Samples ever seen */
} predreg_pattern_t;


/** @param [in] compared  PREDREG_PATTERN_MIN_COMPARED to MAX_COMPARED.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_pattern_init(predreg_pattern_t *pattern,
                                  unsigned compared);

void predreg_pattern_cleanup(predreg_pattern_t *pattern);

/** The next sample; not earlier than the one before. */
void predreg_pattern_add(predreg_pattern_t *pattern, uint64_t value,
                         uint64_t time);

/** @return the shortest period there is; 0: none. */
unsigned predreg_pattern_period(const predreg_pattern_t *pattern);

/**
 * How long it will take until the value of the last sample comes again: as long
 * as one period ago.
 *
 * @return ns; 0: there is no period, or it took no time.
 */
uint64_t predreg_pattern_interval(const predreg_pattern_t *pattern);

END_C_DECLS

#endif
