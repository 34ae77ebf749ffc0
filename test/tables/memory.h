/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TABLES_MEMORY_H_
#define TABLES_MEMORY_H_

#include <tools/replay/account/ledger.h>

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** @file memory.h
 *
 * How much user memory the ranks of a run had registered, from samples of what
 * the kernel counts as pinned, which includes the memory pools of UCX.
 *
 * Averages are taken from the first registration of user memory to the end of
 * UCX, that is, to the last sample at which all of the rank's pools were
 * registered. Both are the same points of the program under each policy: the
 * first use of a buffer registers it under all of them, and the pools go when
 * the program ends. Setting up connections, which takes a time that varies,
 * does not count.
 */

/** A line of what test/apps/pinwatch writes. */
typedef struct {
    int64_t  time;   /**< ns, since any moment; not less than the sample before
                          it */
    pid_t    pid;
    uint64_t pinned; /**< bytes, of the process */
} memory_sample_t;

typedef struct {
    double         average;  /**< bytes; over time, and then over ranks */
    double         peak;     /**< bytes; the highest of all ranks */
    predreg_step_t *curve;   /**< Of rank 0, from its first registration on;
                                  to be freed by the caller. NULL: none */
    size_t         num_steps;
    int64_t        duration; /**< of the curve, ns */
} memory_t;


/**
 * @param [in]  pools     Bytes that the pools of UCX registered, by rank. Ranks
 *                        are started in order, so the process ids in ascending
 *                        order are those of the ranks.
 * @param [out] memory    Left alone on error.
 * @return NULL, or why it cannot be told.
 */
const char *memory_analyse(const memory_sample_t *samples, size_t num_samples,
                           const uint64_t *pools, unsigned num_ranks,
                           memory_t *memory);

#endif
