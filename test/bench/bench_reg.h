/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_BENCH_BENCH_REG_H_
#define TEST_BENCH_BENCH_REG_H_

#include <ucs/type/status.h>

#include <stddef.h>

/** @file bench_reg.h
 *
 * What both caches register with: io_uring's registered buffers, see
 * uring_reg.h, or nothing at all. Hits register nothing, so that what is timed
 * is the same; and no machine here pins a million regions.
 */

/** From now on only handles are given out, 64 bytes apart as those of a driver
 *  that allocates them. Both functions below then count as done. */
void bench_reg_pretend(void);

ucs_status_t bench_reg(void *address, size_t length, void **handle_p);

ucs_status_t bench_dereg(void *handle);

#endif
