/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_BENCH_URING_REG_H_
#define TEST_BENCH_URING_REG_H_

#include <ucs/type/status.h>

#include <stddef.h>

/** @file uring_reg.h
 *
 * Memory registration without RDMA hardware: io_uring's registered buffers.
 * The kernel pins the pages, as it does for a verbs memory region, and counts
 * them in VmPin of /proc/PID/status.
 *
 * One registration is one slot of a sparse table of buffers. A ring has one
 * table; when all slots are taken, there is one ring more. All functions but
 * init, cleanup and forked may be called by any thread.
 */

/** Slots the kernel lets one ring have. */
#define URING_REG_MAX_SLOTS  (1u << 14)

/** Rings that are made at most. */
#define URING_REG_MAX_RINGS  64

/** Bytes the kernel lets one registration have. */
#define URING_REG_MAX_LENGTH (1ul << 30)


/**
 * Make the first ring.
 *
 * @param [in] num_slots  Slots of each ring.
 * @return UCS_ERR_UNSUPPORTED if the kernel has no io_uring, or no sparse
 *         tables of buffers, or does not permit them; the reason is printed to
 *         the standard error.
 */
ucs_status_t uring_reg_init(unsigned num_slots);

/** Deregister what is still registered. */
void uring_reg_cleanup(void);

/** In a forked child: forget everything, which is the parent's. Handles of the
 *  parent may not be deregistered in the child. */
void uring_reg_forked(void);

/**
 * @return UCS_ERR_EXCEEDS_LIMIT if all slots of all rings are taken,
 *         UCS_ERR_NO_MEMORY if the kernel refuses to pin more,
 *         UCS_ERR_INVALID_ADDR if there is no memory, UCS_ERR_IO_ERROR
 *         otherwise.
 */
ucs_status_t uring_reg(void *address, size_t length, void **handle_p);

ucs_status_t uring_dereg(void *handle);

#endif
