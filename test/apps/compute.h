/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Computation that keeps a processor busy for about the time asked for.
 */

#ifndef TEST_APPS_COMPUTE_H_
#define TEST_APPS_COMPUTE_H_

#include <stdint.h>


/* How much work is a millisecond? Collective: asked of all ranks at a time, as
 * they will also compute at a time, and answered the same for all. */
uint64_t app_work_per_ms(void);

void app_compute(uint64_t work);

#endif
