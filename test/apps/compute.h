/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Computation that keeps a processor busy for about the time asked for.
 */

#ifndef TEST_APPS_COMPUTE_H_
#define TEST_APPS_COMPUTE_H_

#include <stdint.h>


/* Measure how much work takes a millisecond. Collective: all ranks measure at
 * the same time, since they will also compute at the same time, and get the
 * same answer. */
uint64_t app_work_per_ms(void);

void app_compute(uint64_t work);

#endif
