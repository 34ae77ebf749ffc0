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
 * Finds the period of a stream of samples. A given number of the last samples
 * is compared: the stream has the period m if each of them equals the sample m
 * before it (F. Freitag et al., "Exploring the Predictability of MPI Messages",
 * IPDPS 2003, and CF'11, section 3.1).
 */

/** How many samples may be compared, at least and at most. A period is shorter
 *  than the number that is compared. */
#define PREDREG_PATTERN_MIN_COMPARED 2
#define PREDREG_PATTERN_MAX_COMPARED 4096

typedef struct predreg_sample {
    uint64_t value;
    uint64_t time;   /**< ns */
} predreg_sample_t;

typedef struct predreg_pattern {
    unsigned         compared; /**< How many samples are compared */
    predreg_sample_t *samples; /**< The last samples, a ring */
    uint64_t         *equal;   /**< For each distance below compared: how many
                                    of the last samples in a row equal the
                                    sample that far before them */
    uint64_t         count;    /**< How many samples were ever added */
} predreg_pattern_t;


/** @param [in] compared  PREDREG_PATTERN_MIN_COMPARED to MAX_COMPARED.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_pattern_init(predreg_pattern_t *pattern,
                                  unsigned compared);

void predreg_pattern_cleanup(predreg_pattern_t *pattern);

/** Add the next sample, which must not be earlier than the one before. */
void predreg_pattern_add(predreg_pattern_t *pattern, uint64_t value,
                         uint64_t time);

/** @return the shortest period of the stream; 0: it has none. */
unsigned predreg_pattern_period(const predreg_pattern_t *pattern);

/**
 * Predict how long it will take until the value of the last sample comes again:
 * as long as it took one period ago.
 *
 * @return that time, ns; 0 if there is no period, or if it took no time.
 */
uint64_t predreg_pattern_interval(const predreg_pattern_t *pattern);

END_C_DECLS

#endif
